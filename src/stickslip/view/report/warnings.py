"""What a person should know before trusting a run, in words: which contact, when, by how much.

Thresholds are relative to what the scene is made of (weights, sizes, the speed that gravity gives in a step), so that
a warning means the same for a watch and for a cathedral. Only recorded frames can be judged. Of bodies and contacts,
those frames are read that their certificates single out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from stickslip.names import visible
from stickslip.view.course import Course, course_of_recording
from stickslip.view.quantity_words import (
    count_words,
    length_words,
    number_words,
    ordinal,
    percent_words,
    speed_words,
    time_words,
)
from stickslip.view.report.suspect_contacts import (
    cone_excess,
    culprit_words,
    feeding_friction,
    misdirected_friction,
    pair_name,
    yielding_contact,
)
from stickslip.view.scene_scales import SceneScales, body_name, scene_scales
from stickslip.view.solver_law import solver_law
from stickslip.view.status_words import LAW_WORDS, NOT_OF_THE_SOLVER, STATUS_WORDS

if TYPE_CHECKING:
    from stickslip.io.recording import Recording

Severity = Literal["error", "warning", "note"]
ORDER: tuple[Severity, ...] = ("error", "warning", "note")
"""The worst first."""

MANY_FAILED, GROSS = 0.1, 0.01
"""Share of steps that did not converge, and residual of the law, above which a run is wrong: forces by per cents, and
not in a few steps."""
OVERLAP, DEEP_OVERLAP = 0.01, 0.1
"""Overlap over the size of the smaller body: visible in a picture; changes what happens."""
FORCE_SHARE = 0.01
"""Friction outside its cone over the weight of a usual body: what a bathroom scale would show."""
FORCE_NOISE = 1e-3
"""Friction outside its cone over the largest contact force of the step: less are the last digits of an impact."""
APPROACH = 0.1
"""Forbidden approach over the speed that gravity gives in a step: ten such steps are a step that nothing held."""
POWER = 0.1
"""Power with which friction feeds motion, over that of gravity on a usual body that it has sped up for a step."""
DIRECTION = 0.1
"""[rad] angle of friction to the direction of most dissipation: six degrees turn a path visibly."""
MOMENTUM, MUCH_MOMENTUM = 1e-3, 0.1
"""Share of momentum created or lost: the digits that a drawing shows; what everybody sees."""
ENERGY, MUCH_ENERGY = 0.01, 0.1
"""Energy that came from nowhere over that which moved in the run."""
GLIDING = 0.01
"""Gap across which a contact pushes over the size of a usual body: visible in a picture."""
FAR = 20.0
"""Distance from the start over the size of the scene at which a body has left it."""
FAST = 30.0
"""Speed over that which the fall through the scene, its own speeds and its motors give."""
MOST_LOOKS = 64
"""Frames that are read in search of one thing, at most."""


@dataclass(frozen=True)
class RunWarning:
    """One thing to know about a run."""

    severity: Severity
    """"error": do not trust it; "warning": look twice; "note": it happened, and may be meant."""
    time: float | None
    """[s] when, None where it is about the whole run."""
    text: str


def run_warnings(recording: Recording) -> list[RunWarning]:
    """Warnings of a recorded run, the worst first; empty where there is nothing to say."""
    course = course_of_recording(recording)
    found = list(_about_recording(recording, course))
    if len(course):
        scales = scene_scales(recording)
        for part in (
            _unconverged(recording, course),
            _overlap(recording, course, scales),
            _cone(recording, course, scales),
            _dissipation(recording, course, scales),
            _approach(recording, course, scales),
            _momentum(course),
            _energy(course, scales),
            _gliding(recording, course, scales),
            _broken_joints(recording),
            _strays(recording, scales),
        ):
            found.extend(part)
    return sorted(found, key=lambda warning: ORDER.index(warning.severity))


# ---- the recording itself --------------------------------------------------------------------------------------------


def _about_recording(recording: Recording, course: Course) -> Iterator[RunWarning]:
    if not recording.complete:
        end = (
            f"after {len(course)} frames, at t = {time_words(course.time[-1])}"
            if len(course)
            else "before its first frame"
        )
        yield RunWarning(
            "warning", float(course.time[-1]) if len(course) else None,
            f"the recording ends {end}, without the end of the run: it was stopped, failed, or still goes on",
        )  # fmt: skip
    if not len(course):
        yield RunWarning("warning", None, "the recording has no frames: there is nothing to judge")
    elif course.sparse:
        most = int(course.stands_for.max())
        yield RunWarning(
            "note", None,
            f"only every {ordinal(most)} step was recorded, and only those {len(course)} are judged here; what happens "
            "in the steps between is not seen, and sums of energy are estimates",
        )  # fmt: skip


def _unconverged(recording: Recording, course: Course) -> Iterator[RunWarning]:
    failed = np.flatnonzero(~course.converged)
    if not len(failed):
        return
    kinds, counts = np.unique(course.status[failed], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    how = ", ".join(f"{counts[k]} {STATUS_WORDS.get(str(kinds[k]), str(kinds[k]))}" for k in order)
    worst = int(failed[course.natural_residual[failed].argmax()])
    kind = "recorded steps" if course.sparse else "steps"
    tolerance = recording.solver_options.get("tolerance")
    asked = f" of {tolerance:g}" if isinstance(tolerance, float) else ""
    wrong = len(failed) > MANY_FAILED * len(course) and course.natural_residual[worst] > GROSS
    wrong |= any(word in kinds for word in NOT_OF_THE_SOLVER[:3])
    others = [word for word in NOT_OF_THE_SOLVER[1:] if word in kinds]
    failing = "did not converge" if others else f"did not reach the solver's tolerance{asked}"
    details = "".join(_how_far(recording, word) for word in others)
    yield RunWarning(
        "error" if wrong else "warning", _at(course, worst),
        f"{len(failed)} of {len(course)} {kind} {failing} ({how}); the largest residual of the contact law is "
        f"{course.natural_residual[worst]:.2g}, at t = {time_words(course.time[worst])}{details}",
    )  # fmt: skip


def _how_far(recording: Recording, word: str) -> str:
    """How far joints are apart or bodies turn where a step says so, as an addition to a sentence."""
    if word == "joints-apart":
        return f"; rigid joints are apart by up to {1e3 * np.nanmax(recording.certificate['joint_error']):.3g} mm"
    if word == "turned-too-far":
        return f"; a touching body turns by up to {np.nanmax(recording.certificate['turn']):.2g} rad in one step"
    return ""


# ---- contacts --------------------------------------------------------------------------------------------------------


def _overlap(recording: Recording, course: Course, scales: SceneScales) -> Iterator[RunWarning]:
    """The deepest overlap of the run, by its share of the smaller body."""
    frame = int(course.penetration.argmax())
    depth = float(course.penetration[frame])
    contacts = recording.contacts(frame) if depth > 0.0 else None
    if contacts is None or not len(contacts):
        return
    size = np.minimum(scales.size[contacts.body_a], scales.size[contacts.body_b])
    worst = int((-contacts.gap / size).argmax())
    deepest = -float(contacts.gap[worst])
    share = deepest / float(size[worst])
    if share < OVERLAP:
        return
    count = int((course.penetration > OVERLAP * float(size[worst])).sum())
    pair = pair_name(recording, contacts, worst)
    springs = "; contacts of this scene are springs, which need overlap to push" if scales.springs else ""
    yield RunWarning(
        "error" if share > DEEP_OVERLAP else "warning", _at(course, frame),
        f"bodies overlap by {length_words(deepest)} at t = {time_words(course.time[frame])}, contact {pair}: "
        f"{percent_words(share)} of the size of the smaller one; {_steps(count, course)} above "
        f"{percent_words(OVERLAP)}{springs}",
    )  # fmt: skip


def _cone(recording: Recording, course: Course, scales: SceneScales) -> Iterator[RunWarning]:
    """The largest friction force outside its cone that is more than the last digits of a large force."""
    above = np.flatnonzero(course.cone_violation > FORCE_SHARE * scales.weight)
    for frame in above[np.argsort(-course.cone_violation[above], kind="stable")][:MOST_LOOKS]:
        contacts = recording.contacts(int(frame))
        violation = float(course.cone_violation[frame])
        largest = float(np.linalg.norm(contacts.force, axis=1).max(initial=0.0))
        if violation <= FORCE_NOISE * largest:
            continue
        suspect = cone_excess(contacts)
        when = f"at t = {time_words(course.time[frame])}"
        words = f"friction exceeded its cone by {number_words(violation, 'N')} {when}"
        if suspect is not None:
            name = pair_name(recording, contacts, suspect.contact)
            if suspect.pulls:
                words = f"a contact pulled by {number_words(violation, 'N')} {when}, contact {name}"
            elif suspect.certain:
                words += f", contact {name} (normal force {number_words(suspect.normal_force, 'N')})"
            else:
                words += f", probably contact {name}, whose friction depends on the direction"
        yield RunWarning(
            "warning", _at(course, frame),
            f"{words}; {_steps(len(above), course)} above {number_words(FORCE_SHARE * scales.weight, 'N')}",
        )  # fmt: skip
        return


def _dissipation(recording: Recording, course: Course, scales: SceneScales) -> Iterator[RunWarning]:
    """Friction that feeds the motion, and the angle by which it points the wrong way."""
    frame = int(course.wrong_dissipation.argmax())
    power = float(course.wrong_dissipation[frame])
    if power > POWER * scales.power:
        who = culprit_words(recording, frame, feeding_friction(recording, frame, power))
        yield RunWarning(
            "warning", _at(course, frame),
            f"friction fed the motion with {number_words(power, 'W')} at t = {time_words(course.time[frame])}{who}; it "
            "should only brake",
        )  # fmt: skip
    # friction of slow slip has hardly a direction: the angle counts where the law is violated visibly, too
    wrong = (course.direction_error > DIRECTION) & (course.wrong_dissipation > POWER * scales.power)
    law = LAW_WORDS.get(solver_law(recording))
    if wrong.any():
        frame = int(np.where(wrong, course.direction_error, 0.0).argmax())
        angle = float(np.rad2deg(course.direction_error[frame]))
        why = f"; {law}" if law else ""
        who = culprit_words(recording, frame, misdirected_friction(recording, frame, np.deg2rad(angle)))
        yield RunWarning(
            "warning", _at(course, frame),
            f"sliding friction pointed {angle:.0f} degrees away from the direction that brakes most at "
            f"t = {time_words(course.time[frame])}{who}; "
            f"{_steps(int(wrong.sum()), course)} above {np.rad2deg(DIRECTION):.0f} degrees{why}",
        )  # fmt: skip


def _approach(recording: Recording, course: Course, scales: SceneScales) -> Iterator[RunWarning]:
    frame = int(course.velocity_violation.argmax())
    speed = float(course.velocity_violation[frame])
    if speed <= APPROACH * scales.speed:
        return
    what = "contacts or joints" if recording.model.joints.count else "contacts"
    above = int((course.velocity_violation > APPROACH * scales.speed).sum())
    who = culprit_words(recording, frame, yielding_contact(recording, frame, speed))
    yield RunWarning(
        "warning", _at(course, frame),
        f"{what} gave way by {speed_words(speed)} at t = {time_words(course.time[frame])}{who}: "
        f"{speed / scales.speed:.2g} times what gravity gives in a step; {_steps(above, course)} above "
        f"{speed_words(APPROACH * scales.speed)}",
    )  # fmt: skip


def _gliding(recording: Recording, course: Course, scales: SceneScales) -> Iterator[RunWarning]:
    gap = np.nan_to_num(course.gliding_gap)
    frame = int(gap.argmax())
    share = float(gap[frame]) / scales.length
    if share <= GLIDING:
        return
    law = LAW_WORDS.get(solver_law(recording))
    yield RunWarning(
        "warning", _at(course, frame),
        f"a contact pushed across a gap of {length_words(float(gap[frame]))} at t = {time_words(course.time[frame])}, "
        f"{percent_words(share)} of the size of a usual body" + (f"; {law}" if law else ""),
    )  # fmt: skip


# ---- balances --------------------------------------------------------------------------------------------------------


def _momentum(course: Course) -> Iterator[RunWarning]:
    frame = int(course.momentum_relative.argmax())
    share = float(course.momentum_relative[frame])
    if share > MOMENTUM:
        above = int((course.momentum_relative > MOMENTUM).sum())
        yield RunWarning(
            "error" if share > MUCH_MOMENTUM else "warning", _at(course, frame),
            f"{percent_words(share)} of the momentum exchanged in a step was created or lost at "
            f"t = {time_words(course.time[frame])}; {_steps(above, course)} above {percent_words(MOMENTUM)}",
        )  # fmt: skip


def _energy(course: Course, scales: SceneScales) -> Iterator[RunWarning]:
    """The largest rise of energy that no work, no spring and no fall explains, over the energy that moved.

    Impacts are booked over mean velocities, so the discretisation gives back part of what they take: both together tell
    what was made. Taking overlaps apart counts as well.
    """
    made = np.concatenate([[0.0], course.cumulated("numerical") - course.cumulated("impact")])
    low = np.minimum.accumulate(made)
    end = int((made - low).argmax())
    gain = float(made[end] - low[end])
    energy = course.energy
    moved = float(energy["kinetic"].max() + np.ptp(energy["potential"]) + np.ptp(energy["elastic"]))
    moved += float(np.abs(energy["work"] * course.stands_for).sum()) + scales.energy
    if gain <= ENERGY * moved:
        return
    start = int(np.flatnonzero(made[: end + 1] == low[end])[-1])
    times = np.concatenate([[course.time[0]], course.time])
    yield RunWarning(
        "error" if gain > MUCH_ENERGY * moved else "warning", round(float(times[end]), 9),
        f"{number_words(gain, 'J')} of energy came from nowhere (time discretisation, overlaps pushed apart) from "
        f"t = {time_words(times[start])} to {time_words(times[end])}, {percent_words(gain / moved)} of what moved",
    )  # fmt: skip


# ---- bodies and joints -----------------------------------------------------------------------------------------------


def _broken_joints(recording: Recording) -> Iterator[RunWarning]:
    names = recording.model.joint_names
    if not names:
        return
    for joint in np.flatnonzero(recording.joint_broken[len(recording) - 1])[:MOST_LOOKS]:

        def broken(frame: int, joint: int = int(joint)) -> bool:
            return bool(recording.joint_broken[frame][joint])

        frame = _first(recording, broken)
        when = time_words(recording.time[frame])
        yield RunWarning(
            "note", round(float(recording.time[frame]), 9), f"joint {visible(names[joint])} broke at t = {when}"
        )


def _strays(recording: Recording, scales: SceneScales) -> Iterator[RunWarning]:
    """Bodies that ended far outside the scene, or much faster than anything in it could make them."""
    last = len(recording) - 1
    place, speed = scales.places(recording, last), scales.speeds(recording, last)
    away = np.linalg.norm(place - scales.middle, axis=1)
    far = np.flatnonzero(scales.moves & (away > FAR * scales.extent))
    fast = np.flatnonzero(scales.moves & (speed > FAST * scales.usual_speed) & (away <= FAR * scales.extent))
    for bodies, kind in ((far, "left the scene"), (fast, "is much faster than anything in the scene could make it")):
        if not len(bodies):
            continue
        worst = int(bodies[away[bodies].argmax() if kind.startswith("left") else speed[bodies].argmax()])
        others = f", and {len(bodies) - 1} more" if len(bodies) > 1 else ""
        yield RunWarning(
            "warning", round(float(recording.time[last]), 9),
            f"body {body_name(recording.model, worst)} {kind}: at t = {time_words(recording.time[last])} it is "
            f"{away[worst]:.3g} m from the middle of the scene, which measured {scales.extent:.3g} m, and moves at "
            f"{speed[worst]:.3g} m/s{others}",
        )  # fmt: skip


def _first(recording: Recording, happened: Callable[[int], bool]) -> int:
    """The first frame at which something that stays has happened, by bisection; it has at the last one."""
    low, high = 0, len(recording) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if happened(middle) else (middle + 1, high)
    return low


# ---- words -----------------------------------------------------------------------------------------------------------


def verdict(recording: Recording, warnings: list[RunWarning]) -> str:
    """The run in one sentence."""
    frames = len(recording)
    if not frames:
        return "There is nothing to judge: the recording has no frames."
    errors = sum(warning.severity == "error" for warning in warnings)
    others = sum(warning.severity == "warning" for warning in warnings)
    converged = int(np.count_nonzero(recording.certificate["converged"]))
    steps = "recorded step" if recording.every > 1 else "step"
    all_did = converged == frames
    lower = f"every {steps} converged" if all_did else f"only {converged} of {frames} {steps}s converged"
    found = f"{'is' if errors + others == 1 else 'are'} {count_words(errors + others, 'warning')}"
    if errors:
        return f"Do not trust this run as it is: {lower}, and there {found}."
    if others:
        return f"Look twice: {lower}, {'but' if all_did else 'and'} there {found}."
    return f"{lower[0].upper()}{lower[1:]}, and there is nothing to warn of."


def _at(course: Course, frame: int) -> float:
    """[s] time of a frame, without the last digits of a sum of steps."""
    return round(float(course.time[frame]), 9)


def _steps(count: int, course: Course) -> str:
    kind = "recorded steps" if course.sparse else "steps"
    return f"{count} of {len(course)} {kind} {'is' if count == 1 else 'are'}"
