"""Vector environments: a task over many worlds at once, as gymnasium has them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip import checks
from stickslip.arrays import Array, Bools, LongInts
from stickslip.errors import InputError, WorldsWarning
from stickslip.learning.acting import Actions
from stickslip.learning.extra import gymnasium
from stickslip.learning.infos import StepInfo, infos, masked
from stickslip.learning.pictures import Pictures
from stickslip.learning.randomisation import SAME, checked, draw, set_factors
from stickslip.learning.task import Moment, Task
from stickslip.model.stepping import Stepping
from stickslip.names import shown
from stickslip.solvers.protocol import Solver
from stickslip.solvers.registry import DEFAULT, make_solver
from stickslip.worlds.worlds import Worlds

Options = dict[str, Any]
AutoresetMode = gymnasium.vector.AutoresetMode
MODES = {mode.name.lower(): mode for mode in AutoresetMode}
"""Modes of resetting by the words that users give."""
RENDER_MODES = (None, "human", "rgb_array")


class VectorEnvironment(gymnasium.vector.VectorEnv[Array, Array, Any]):
    """N environments of one task, which are the worlds of one ``Worlds``; what is returned is a copy.

    World k, reset with seed s, does what a single environment with seed s + k does, bit for bit.
    """

    def __init__(
        self, task: Task, num_envs: int = 1, *, autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None, max_episode_steps: int | None = -1, frame_skip: int | None = None,
        action_repeat: int = 1, randomise: Mapping[str, Any] | None = None,
        forces: Mapping[str, tuple[str, str | None]] | None = None, threads: int | None = None,
        picture_size: tuple[int, int] = (640, 480), solver: str | Solver | None = None,
    ) -> None:  # fmt: skip
        """frame_skip: steps of the simulation in one of the environment; action_repeat: of those, with rewards summed.

        max_episode_steps: -1, that of the task; None, no end. randomise: ranges of the numbers in which worlds differ
        (``randomisation.FACTORS`` and ``EPISODE``). forces: contact forces in infos, beside those of the task. solver:
        another one than "auto"; those but "auto" and "dense" are of the Python driver, which is slow.
        """
        if render_mode not in RENDER_MODES:
            raise InputError(f"environment: render_mode is {shown(render_mode)}; it must be human, rgb_array or None")
        if isinstance(autoreset_mode, str) and autoreset_mode.lower() not in MODES:
            raise InputError(f"environment: autoreset_mode is {shown(autoreset_mode)}; known: {', '.join(MODES)}")
        self.task = task if forces is None else replace(task, forces={**task.forces, **forces})
        self.num_envs = checks.whole("environment", "num_envs", num_envs, 1)
        self.mode = MODES[autoreset_mode.lower()] if isinstance(autoreset_mode, str) else autoreset_mode
        self.substeps = checks.whole("environment", "frame_skip", frame_skip or task.substeps, 1)
        self.repeat = checks.whole("environment", "action_repeat", action_repeat, 1)
        self.limit = task.max_episode_steps if max_episode_steps == -1 else max_episode_steps
        self.render_mode, self.randomisation = render_mode, checked(randomise)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorldsWarning)  # ``worlds.reason`` says so, and docs/learning.md
            stepping = Stepping(dt=task.dt, margin=task.margin)
            if solver is None:
                solver = make_solver(DEFAULT, tolerance=task.tolerance) if task.tolerance else DEFAULT
            self.worlds = Worlds(task.scene(), self.num_envs, stepping=stepping, threads=threads, solver=solver)
        self.actions = Actions(task, self.worlds, self.substeps, self.randomisation.most("latency"))
        self.moment = Moment(self.worlds, self.actions.count)
        self.period = task.dt * self.substeps * self.repeat
        """[s] of a step of the environment."""
        self.metadata = {
            "render_modes": ["human", "rgb_array"], "render_fps": max(1, round(1.0 / self.period)),
            "autoreset_mode": self.mode,
        }  # fmt: skip
        self.diverged_count = 0
        """Worlds that diverged since the environment was made, and were cut and reset."""
        n = self.num_envs
        self.factors: dict[str, Array] = {}
        """By which numbers of the scene differ, (N,) by name."""
        self._ended: Bools = np.zeros(n, dtype=np.bool_)
        self._seeded = False
        self._episode = {name: np.full(n, x) for name, x in SAME.items()}
        self._pictures = Pictures(self.worlds, self.moment, task, picture_size, render_mode == "human")
        self.worlds.reset()
        self.task.reset(self.moment, np.arange(n))
        self._seen = self._looked()
        width = self._seen.shape[1]
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (width,), np.float64)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.actions.count,), np.float32)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, n)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, n)

    # ---- resetting --------------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Options | None = None
    ) -> tuple[Array, Options]:
        """Start episodes anew: of all worlds, or of those of ``options["reset_mask"]`` (N,).

        seed: an int s seeds world k with s + k; a list one by one; None: generators go on.
        """
        n, given = self.num_envs, dict(options or {})
        chosen = np.arange(n)
        if given.get("reset_mask") is not None:
            mask = np.asarray(given["reset_mask"])
            if mask.dtype != np.bool_ or mask.shape != (n,) or not mask.any():
                raise InputError(f"environment: reset_mask is {shown(mask)}; ({n},) truth values, one true, are needed")
            chosen = np.flatnonzero(mask)
        self._seed(seed)
        if len(chosen) == n:
            self._draw_worlds()
        self._restart(chosen)
        if self.render_mode == "human":
            self._pictures.show()
        fresh = np.isin(np.arange(n), chosen)
        return self._observed(fresh), masked(self._infos(np.ones(n, dtype=np.bool_)), fresh)

    def _seed(self, seed: int | Sequence[int | None] | None) -> None:
        n = self.num_envs
        if seed is None:
            if not self._seeded:
                self.moment.random = [gymnasium.utils.seeding.np_random(None)[0] for _ in range(n)]
        else:
            seeds = [seed + k for k in range(n)] if isinstance(seed, int | np.integer) else list(seed)
            if len(seeds) != n:
                raise InputError(f"environment: {len(seeds)} seeds are given for {n} worlds")
            for k, each in enumerate(seeds):
                if each is not None:
                    self.moment.random[k] = gymnasium.utils.seeding.np_random(int(each))[0]
        self._seeded = True

    def _draw_worlds(self) -> None:
        """Numbers of the scene in which worlds differ, once for all episodes until all are reset again."""
        names = self.randomisation.of_worlds
        if names:
            drawn = [draw(self.randomisation.ranges, names, random) for random in self.moment.random]
            self.factors = {name: np.array([each[name] for each in drawn]) for name in names}
            set_factors(self.worlds, self.factors)

    def _restart(self, chosen: LongInts) -> None:
        """Put some worlds where their episodes start."""
        self.worlds.reset(chosen)
        self.moment.steps[chosen] = 0
        self.moment.action[chosen] = 0.0
        self._ended[chosen] = False
        names = self.randomisation.of_episodes
        for k in chosen.tolist() if names else ():
            for name, x in draw(self.randomisation.ranges, names, self.moment.random[k]).items():
                self._episode[name][k] = x
        self.task.reset(self.moment, chosen)
        self.actions.forget(chosen)

    # ---- stepping ---------------------------------------------------------------------------------------------

    def step(self, actions: ArrayLike) -> tuple[Array, Array, Bools, Bools, Options]:
        """Observations (N, m), rewards (N,), terminated (N,), truncated (N,) and infos after actions (N, k)."""
        given = self._checked(actions)
        pending = self._ended.copy()
        if self.mode == AutoresetMode.DISABLED and pending.any():
            raise InputError(
                f"environment: the episode of world {int(np.argmax(pending))} has ended; reset it with "
                'options={"reset_mask": ...} before the next step'
            )
        going = ~pending
        rewards, terminated, told = self._advance(given, going)
        lost = self.worlds.diverged & going
        self.diverged_count += int(lost.sum())
        self.moment.steps += going
        truncated = lost & ~terminated
        if self.limit is not None:
            truncated |= going & (self.moment.steps >= self.limit)
        ended = terminated | truncated
        self._ended = ended.copy()
        if pending.any():
            self._restart(np.flatnonzero(pending))
            told.clear(pending)
        all_of_them = np.ones(self.num_envs, dtype=np.bool_)
        seen, extra = self._observed(all_of_them), Options()
        if self.mode == AutoresetMode.SAME_STEP and ended.any():
            final = np.full(self.num_envs, None, dtype=object)
            for k in np.flatnonzero(ended).tolist():
                final[k] = seen[k].copy()
            extra = {"final_obs": final, "_final_obs": ended.copy(), "final_info": masked(told.infos(), ended),
                     "_final_info": ended.copy()}  # fmt: skip
            self._restart(np.flatnonzero(ended))
            told.clear(ended)
            seen = self._observed(ended)
        if self.render_mode == "human":
            self._pictures.show()
        return seen, rewards, terminated, truncated, {**masked(told.infos(), all_of_them), **extra}

    def _checked(self, actions: ArrayLike) -> Array:
        shape = (self.num_envs, self.actions.count)
        try:
            given = np.asarray(actions, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"environment: actions are {shown(actions)}; an array {shape} is needed") from None
        if given.shape != shape:
            raise InputError(f"environment: actions have shape {given.shape}; {shape} is needed")
        if not np.isfinite(given).all():
            k = int(np.argmin(np.isfinite(given).all(axis=1)))
            raise InputError(f"environment: the action of world {k} is {given[k]}; it must be finite")
        return np.clip(given, -1.0, 1.0)

    def _advance(self, given: Array, going: Bools) -> tuple[Array, Bools, StepInfo]:
        """Steps of the simulation under actions (N, k); those of worlds that wait for a reset do not count."""
        noise = self._episode["action_noise"]
        if noise.any():
            given = np.clip(given + self._noise(noise, self.actions.count, going), -1.0, 1.0)
        rewards, terminated = np.zeros(self.num_envs), np.zeros(self.num_envs, dtype=np.bool_)
        told = StepInfo(self.num_envs)
        self.moment.action[:] = given
        strong = given if "strength" not in self.randomisation.ranges else given * self._episode["strength"][:, None]
        for _ in range(self.repeat):
            counts = going & ~terminated & ~self.worlds.diverged
            certificate = self.actions.apply(self.moment, strong, self._episode["latency"])
            parts = self.task.reward(self.moment)
            parts = parts if isinstance(parts, Mapping) else {"reward": parts}
            told.add(certificate, parts, counts)
            for part in parts.values():
                rewards += np.where(counts, part, 0.0)
            terminated |= counts & self.task.terminated(self.moment)
        told.finish(self.worlds, self.moment, self.task.forces)
        return rewards, terminated, told

    def _looked(self) -> Array:
        """(N, m) observations without noise, in an array of their own."""
        found = np.array(self.task.observe(self.moment), dtype=np.float64)
        if found.ndim != 2 or found.shape[0] != self.num_envs:
            raise InputError(
                f"task {self.task.name!r}: observations have shape {found.shape}; ({self.num_envs}, m) is needed"
            )
        if not np.isfinite(found).all():
            k, column = np.argwhere(~np.isfinite(found))[0]
            raise InputError(f"task {self.task.name!r}: observation {column} of world {k} is {found[k, column]}")
        return found

    def _observed(self, fresh: Bools) -> Array:
        """(N, m) observations, of which those of some worlds are new; in an array of their own."""
        found, noise = self._looked(), self._episode["observation_noise"]
        if noise.any():
            found += self._noise(noise, found.shape[1], fresh)
        self._seen = np.where(fresh[:, None], found, self._seen)
        return self._seen.copy()

    def _noise(self, deviation: Array, width: int, chosen: Bools) -> Array:
        """(N, width) normal numbers of some worlds: a world draws what it would draw alone, whatever others do."""
        found = np.zeros((self.num_envs, width))
        for k in np.flatnonzero(chosen & (deviation > 0.0)).tolist():
            found[k] = deviation[k] * self.moment.random[k].standard_normal(width)
        return found

    def _infos(self, cleared: Bools) -> Options:
        told = StepInfo(self.num_envs)
        told.finish(self.worlds, self.moment, self.task.forces)
        told.clear(cleared)
        return infos(told)

    # ---- looking at it ----------------------------------------------------------------------------------------

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Pictures (h, w, 3) of all worlds, where render_mode is "rgb_array"."""
        if self.render_mode == "rgb_array":
            return tuple(self._pictures.picture(k) for k in range(self.num_envs))
        return None

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window."""
        self._pictures.close()
