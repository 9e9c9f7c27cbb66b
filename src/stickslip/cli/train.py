"""``stickslip train`` and ``stickslip play``: policies for the environments, learned and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from stickslip.cli.output import plain_number, print_json, progress, say
from stickslip.errors import InputError
from stickslip.fields_as_arguments import fields_as_arguments


@dataclass(frozen=True)
class TrainOptions:
    """What ``stickslip train`` is asked for."""

    env: Annotated[
        str | None,
        typer.Argument(metavar="ENV", help="An environment (stickslip list environments), or my.py:TASK."),
    ] = None
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the policy, logs and checkpoints.")] = None
    timesteps: Annotated[int | None, typer.Option(help="Steps over all worlds. Default: the task's own.")] = None
    seed: Annotated[int, typer.Option(help="Of worlds, networks and noise.")] = 0
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of PPO, as envs or learning_rate.")
    ] = None
    randomise: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=LOW:HIGH", help="A range in which worlds differ, as friction=0.5:1.5."),
    ] = None
    threads: Annotated[int | None, typer.Option(help="Threads that step worlds. Default: one for each core.")] = None
    on: Annotated[str, typer.Option(help="Where worlds are stepped: here, or ray.")] = "here"
    address: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster. Default: one of this machine alone.")
    ] = None
    workers: Annotated[
        int | None, typer.Option(help="Workers of Ray that step the worlds. Default: one for each core.")
    ] = None
    checkpoint_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 100_000
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint of --out.")] = False
    episodes: Annotated[int, typer.Option(help="Episodes by which the policy is judged at the end; 0 for none.")] = 10
    film: Annotated[bool, typer.Option(help="Write a film of the policy, policy.mp4.")] = True
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False


@fields_as_arguments(TrainOptions)
def train(asked: TrainOptions) -> None:
    """Train a policy by PPO, and write what it has learned, its curves, checkpoints and a film into a folder.

    Logs: progress.csv, and what tensorboard --logdir DIR shows. Needs the extra "train" (docs/learning.md).

    Examples:

    stickslip train CartPole --out cartpole

    stickslip train Hopper --timesteps 1000000 --seed 3 --out hopper

    stickslip train PushBox --out push --randomise friction=0.5:1.5

    stickslip train --resume --out hopper

    stickslip train Ant --on ray --workers 8 --out ant
    """
    if asked.out is None:
        raise InputError("train: no folder to write to; give --out DIR")
    if asked.env is None and not asked.resume:
        raise InputError("train: no environment; give one (stickslip list environments), or --resume --out DIR")
    for name, least in (("timesteps", 1), ("episodes", 0), ("checkpoint-every", 1)):
        value = getattr(asked, name.replace("-", "_"))
        if value is not None and value < least:
            raise InputError(f"{name} is {value}; it must be at least {least}")
    if asked.on != "ray" and (asked.address is not None or asked.workers is not None):
        raise InputError(f"train: on is {asked.on}; address and workers are of Ray, give --on ray")
    where = asked.on if asked.address is None else f"{asked.on}:{asked.address}"
    from stickslip.learning.trainer import read_config
    from stickslip.learning.trainer import train as learn
    from stickslip.scenes.parameters import parse_assignments

    options: dict[str, Any] = {"randomise": _ranges(asked.randomise or [])}
    if asked.threads is not None:
        options["threads"] = asked.threads
    if asked.resume:
        total = read_config(asked.out)["timesteps"]
    else:
        from stickslip.learning.registration import task_named
        from stickslip.learning.settings import settings_for

        total = asked.timesteps or settings_for(task_named(asked.env or "").name, {}).timesteps
    with progress(total) as advance:
        found = learn(
            asked.env or "", asked.out, asked.timesteps, asked.seed, settings=parse_assignments(asked.set_ or []),
            options=options, resume=asked.resume, checkpoint_every=asked.checkpoint_every, tell=advance,
            on=where, workers=asked.workers,
        )  # fmt: skip
    found |= _judged(asked.out, asked.episodes, asked.film)
    if asked.json:
        print_json(found)
        return
    say(f"{found['env']}: {found['timesteps']:,} steps in {plain_number(found['seconds'])} s, seed {found['seed']}")
    _say_errors("training", found["worst"])
    if "evaluation" in found:
        own = found["evaluation"]
        say(f"{own['episodes']} episodes of the policy: return {plain_number(own['return_mean'])} +- "
            f"{plain_number(own['return_std'])}, {plain_number(own['seconds_mean'])} s long")  # fmt: skip
        _say_errors("evaluation", own["worst"])
    if "film" in found:
        say(f"film: {found['film']}")
    say(f"written to {found['out']}; stickslip play {found['out']} shows it")


def _judged(out: Path, episodes: int, film: bool) -> dict[str, Any]:
    """An evaluation, which is written too, and a film, as they are asked for."""
    import json

    from stickslip.files import whole_file
    from stickslip.learning.policy import Policy, evaluate
    from stickslip.learning.policy import film as write_film

    found: dict[str, Any] = {}
    if not episodes and not film:
        return found
    policy = Policy(out)
    if episodes:
        found["evaluation"] = evaluate(policy, episodes)
        with whole_file(out / "evaluation.json") as temporary:
            temporary.write_text(json.dumps(found["evaluation"], indent=2) + "\n")
    if film:
        with progress(100) as advance:
            write_film(
                policy, out / "policy.mp4", seconds=10.0,
                tell=lambda done, total: advance(100 * done // total, f"film: {done} of {total}"),
            )  # fmt: skip
        found["film"] = str(out / "policy.mp4")
    return found


def play(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What stickslip train --out wrote.")],
    render: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a film (.mp4, .gif) in the place of showing it live.")
    ] = None,
    episodes: Annotated[int, typer.Option(help="Episodes to show.")] = 3,
    seed: Annotated[int, typer.Option(help="Of the first episode.")] = 0,
    seconds: Annotated[float, typer.Option(help="Length of a film at most.")] = 20.0,
    width: Annotated[int, typer.Option(help="Width of a film in pixels, even.")] = 640,
    height: Annotated[int, typer.Option(help="Height of a film in pixels, even.")] = 480,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show a trained policy live in the browser, or write a film of it without a display.

    Examples:

    stickslip play hopper

    stickslip play hopper --render hopper.mp4 --episodes 1
    """
    for name, value in (("episodes", episodes), ("width", width), ("height", height)):
        if value < 1:
            raise InputError(f"{name} is {value}; it must be at least 1")
    from stickslip.learning.policy import Policy, evaluate_one, film

    policy = Policy(folder)
    if render is not None:
        with progress(100) as advance:
            found = film(
                policy, render, episodes, seed, (width, height), seconds,
                lambda done, total: advance(100 * done // total, f"{render.name}: {done} of {total}"),
            )  # fmt: skip
    else:
        env = policy.environment(1, render_mode="human", autoreset_mode="disabled")
        try:
            found = {"returns": [evaluate_one(policy, env, seed + k) for k in range(episodes)]}
        finally:
            env.close()
    if json:
        print_json(found)
        return
    say("returns: " + ", ".join(plain_number(x) for x in found["returns"]))
    if render is not None:
        say(f"written to {render}")


def _ranges(given: list[str]) -> dict[str, list[float]]:
    """Ranges KEY=LOW:HIGH."""
    found: dict[str, list[float]] = {}
    for each in given:
        name, equals, numbers = each.partition("=")
        try:
            low, _, high = numbers.partition(":")
            found[name.replace("-", "_")] = [float(low), float(high or low)]
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(f"randomise is {each!r}; KEY=LOW:HIGH is needed, as friction=0.5:1.5")
    return found


def _say_errors(what: str, worst: Mapping[str, float]) -> None:
    """The largest errors of all steps, so that a policy which lives on them is seen."""
    if "residual" in worst:
        lost = f", {worst['diverged']:.0f} worlds diverged" if "diverged" in worst else ""
        say(f"{what}: largest residual {worst['residual']:.1e}, deepest overlap "
            f"{1e3 * worst['penetration']:.2g} mm{lost}")  # fmt: skip
