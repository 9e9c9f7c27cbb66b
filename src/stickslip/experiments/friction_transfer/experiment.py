"""Does exactness matter? Plans found under soft and simplified contact, done under the exact law, and back.

No paper: the column of the paper has what people expect. Laws are in settings.py, tasks in challenges.py, planning and
doing in transfer.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from stickslip.experiments import reproduction
from stickslip.experiments.friction_transfer import transfer as runs
from stickslip.experiments.friction_transfer.challenges import CHALLENGES
from stickslip.experiments.friction_transfer.settings import DT, EXACT, SETTINGS
from stickslip.experiments.friction_transfer.transfer import Transfer
from stickslip.experiments.report import Claim, Row, listed, write_table
from stickslip.experiments.reproduction import Asked, Drawing, Experiment, Study, Task
from stickslip.view.drawing import canvas, save

SOLVED = 1e-6
"""Residuals below it are of steps that obey the exact law."""
SEEN = 1e-3
"""Residuals above it are of steps that do not."""


def _rows(name: str, found: Transfer) -> list[Row]:
    """Scores of plans under all laws, and the largest residuals."""
    rows = []
    for planned, done in found.outcomes:
        pair = f"planned {planned}, done {done}"
        rows.append(Row(name, f"{pair}: score", None, found.score(planned, done), "mm"))
        rows.append(Row(name, f"{pair}: largest residual", None, found.most(planned, done, "residual"), "1"))
        rows.append(Row(name, f"{pair}: deepest overlap", None, found.most(planned, done, "penetration"), "mm"))
    return rows


def _witness(name: str, found: Transfer) -> Claim:
    """Whether certificates tell the laws apart, each with its own plan."""
    exact = max(found.most(law, EXACT, "residual") for law in SETTINGS)
    wrong = {law: found.most(law, law, "residual") for law in SETTINGS if law != EXACT}
    return Claim(
        name, "Certificates tell steps of a wrong law from those of the exact one", f"above {SEEN:g}, below {SOLVED:g}",
        ", ".join(f"{law} {x:.1e}" for law, x in wrong.items()) + f"; exact at most {exact:.1e}",
        exact < SOLVED and min(wrong[law] for law in WRONG[name]) > SEEN,
    )  # fmt: skip


WRONG: Mapping[str, tuple[str, ...]] = {
    "push": ("soft", "penalty"), "slide": ("soft", "penalty", "box"), "gap": ("penalty",), "slope": ("soft", "penalty"),
}  # fmt: skip
"""Laws that are wrong about what a challenge asks for."""


def _push(found: Transfer) -> Claim:
    own = {law: found.score(law, law) for law in WRONG["push"]}
    there = max(abs(found.score(law, EXACT)) for law in SETTINGS)
    return Claim(
        "push", "Plans found on soft friction move what friction holds, and do nothing on the exact law",
        "creep is made use of", _told(own) + f"; all of them on exact: at most {there:.1e} mm",
        min(own.values()) > 100.0 * max(there, 1e-4),
    )  # fmt: skip


def _slide(found: Transfer) -> Claim:
    there = found.score("box", EXACT)
    return Claim(
        "slide", "A throw that hits under box friction misses on the exact law by far more than one planned there",
        "another way, another length",
        f"box on box {found.score('box', 'box'):.3g} mm, on exact {there:.3g} mm; exact on exact "
        f"{found.score(EXACT, EXACT):.3g} mm",
        there > 5.0 * found.score(EXACT, EXACT),
    )  # fmt: skip


def _gap(found: Transfer) -> Claim:
    own, there, exact = found.score("penalty", "penalty"), found.score("penalty", EXACT), found.score(EXACT, EXACT)
    return Claim(
        "gap", "A plan that squeezes through what is too narrow is stuck on the exact law, where another way is found",
        "overlap is made use of",
        f"penalty on penalty {own:.0f} mm, {found.most('penalty', 'penalty', 'penetration'):.1f} mm deep; on exact "
        f"{there:.0f} mm; exact on exact, around the posts, {exact:.0f} mm",
        own > 1000.0 and there < 80.0 < exact,
    )  # fmt: skip


def _slope(found: Transfer) -> Claim:
    drift = {law: found.score(EXACT, law) for law in WRONG["slope"]}
    return Claim(
        "slope", "A plan that does nothing, since friction holds, drifts on soft friction", "exact plans fail there",
        _told(drift) + f"; exact {found.score(EXACT, EXACT):.1e} mm",
        min(drift.values()) > 100.0 * max(found.score(EXACT, EXACT), 1e-4),
    )  # fmt: skip


JUDGED: Mapping[str, Callable[[Transfer], Claim]] = {"push": _push, "slide": _slide, "gap": _gap, "slope": _slope}


def _told(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{law} {x:.3g} mm" for law, x in scores.items())


def _draw(found: Transfer, picture: Path, table: Path) -> None:
    """Scores as a matrix: rows are laws of planning, columns laws of doing."""
    laws = list(SETTINGS)
    figure, axes = canvas(1, 1, 5.2, 4.2)
    axis = axes[0, 0]
    scores = [[found.score(planned, done) for done in laws] for planned in laws]
    axis.imshow(scores, cmap="Blues", aspect="auto")
    middle = 0.5 * (max(map(max, scores)) + min(map(min, scores)))
    for i, row in enumerate(scores):
        for j, score in enumerate(row):
            axis.text(j, i, f"{score:.3g}", ha="center", va="center", color="white" if score > middle else "black")
    axis.set_xticks(range(len(laws)), laws)
    axis.set_yticks(range(len(laws)), laws)
    axis.set(xlabel="done under", ylabel="planned under", title=f"{found.challenge} [mm]")
    save(figure, picture)
    header = (
        "planned",
        "done",
        "seed",
        "score_mm",
        "residual",
        "penetration_mm",
        "gliding_gap_mm",
        "direction_degrees",
    )
    write_table(
        table, header,
        [(*pair, seed, *vars(each).values()) for pair, own in found.outcomes.items() for seed, each in enumerate(own)],
    )  # fmt: skip


def _measured(task: Task[None]) -> Transfer:
    return runs.transfer(task.experiment, task.quick, task.tell)


EXPERIMENTS: Mapping[str, Experiment[None]] = {
    name: Experiment(
        _measured, _rows, lambda own, found: [JUDGED[own](found), _witness(own, found)],
        (Drawing(f"{challenge.words}. Scores of plans, in mm; {'more' if challenge.more else 'less'} is better.",
                 _draw),),
    )
    for name, challenge in CHALLENGES.items()
}  # fmt: skip


def _settings(asked: Asked, _: None) -> dict[str, str]:
    samples, rounds, seeds = runs.size(asked.quick)
    laws = {
        law: f"{each.solver}{', ' + listed(each.options) if each.options else ''}: {each.words}"
        for law, each in SETTINGS.items()
    }
    return {**laws, "planning": f"cross-entropy, {rounds} rounds of {samples} sequences, {seeds} seeds, dt {DT:g} s"}


def _notes(asked: Asked, _: None) -> list[str]:
    return [
        "Scores are medians over seeds, errors the largest of all steps and seeds, against the exact law.",
        "Penalty has its automatic stiffness, which is as high as the step allows; softer springs overlap more.",
    ]


STUDY = Study(
    "friction-transfer", "Does exactness matter? Plans on soft contact and on exact contact", EXPERIMENTS,
    lambda asked: None, _settings, _notes,
)  # fmt: skip
reproduce = partial(reproduction.reproduce, STUDY)
"""Plans and does, in this process, and reports."""
