"""Physical residuals: the reference implementation for discs, closed forms for the other sets and laws."""

import importlib.util
import math
import os
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from stickslip.contact.gallery import GALLERY
from stickslip.contact.laws import BOX_SET
from stickslip.contact.physical import PhysicalResidual, physical_residual
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.contact.residual import residual
from stickslip.io.problem_file import load_problem
from stickslip.solvers.registry import make_solver

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("STICKSLIP_DATA", ROOT.parent / "shared" / "data")) / "fc3d"
LOCAL = [file for file in sorted(DATA.glob("*.npz")) if "W_data" in np.load(file).files]
needs_data = pytest.mark.skipif(not LOCAL, reason=f"no problems in {DATA}; set STICKSLIP_DATA to the data folder")
# sweeps without the compiler take minutes
KINDS = ["zero", "random"] if os.environ.get("NUMBA_DISABLE_JIT") == "1" else ["zero", "random", "solved"]
NAMES = {
    "signorini": "signorini_max", "penetration": "penetration_max", "tension": "tension_max",
    "complementarity": "compl_max", "cone": "cone_max", "cone_relative": "cone_rel", "dissipation": "mdp_max",
    "dissipation_relative": "mdp_rel",
}  # fmt: skip


def reference():
    spec = importlib.util.spec_from_file_location("check_residual", DATA / "check_residual.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def impulses(problem: ContactProblem, kind: str) -> np.ndarray:
    m = problem.row_count
    if kind == "zero":
        return np.zeros(m)
    if kind == "solved":
        return make_solver("prox-gs", max_iterations=60).solve(problem).lam
    rng = np.random.default_rng(m)
    lam = rng.normal(size=m) * np.repeat(problem.free_speed / problem.weight, 3) * 10.0 ** rng.uniform(-3, 1, size=m)
    lam[::3] = np.abs(lam[::3]) * rng.choice([-1.0, 0.0, 1.0, 1.0], size=m // 3)
    return lam


@needs_data
@pytest.mark.filterwarnings("ignore::stickslip.errors.ProblemWarning")  # W that is not quite symmetric
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file", LOCAL, ids=lambda file: file.stem)
def test_the_reference_says_the_same(file: Path, kind: str) -> None:
    """To rounding: 1e-12 of the largest terms that each measure subtracts."""
    check = reference()
    W, q, mu = check.load(file)
    problem = load_problem(file)
    lam = impulses(problem, kind)
    ours, theirs = physical_residual(problem, lam, problem.velocity(lam)), check.physical(W, q, mu, lam)
    # a sum of products of both signs is as exact as its terms are large
    terms = float((abs(W) @ np.abs(lam) + np.abs(q)).max())
    velocity, impulse = terms, float(np.abs(lam).max())
    sizes = {
        "signorini": velocity, "penetration": velocity, "tension": impulse, "complementarity": velocity * impulse,
        "cone": impulse, "cone_relative": 1.0, "dissipation": velocity * impulse * (1.0 + mu.max()),
        "dissipation_relative": len(mu) * (1.0 + mu.max()) * max(1.0, terms / np.linalg.norm(q)),
    }  # fmt: skip
    for name, other in NAMES.items():
        assert getattr(ours, name) == pytest.approx(theirs[other], rel=1e-12, abs=1e-12 * sizes[name]), name
    assert (ours.open, ours.stick, ours.slip) == (theirs["n_open"], theirs["n_stick"], theirs["n_slip"])
    assert ours.consistency == 0.0
    found, expected = residual(problem, lam), check.natural_map(W, q, mu, lam)
    least = 1e-12 * terms / np.linalg.norm(q)
    assert found.scaled == pytest.approx(expected["rel_scaled"], rel=1e-12, abs=least)
    assert found.velocity == pytest.approx(expected["scaled"], rel=1e-12, abs=1e-12 * terms)
    size = max(expected["norm_q"], expected["norm_r"], expected["norm_u"])
    assert found.siconos == pytest.approx(expected["rel"], rel=1e-12, abs=1e-12 * (terms + impulse) / size)


@pytest.mark.parametrize("name", [name for name, make in GALLERY.items() if make().impulses is not None])
def test_known_solutions_have_none(name: str) -> None:
    known = GALLERY[name]()
    assert known.impulses is not None
    found = physical_residual(known.problem, known.impulses, known.v)
    errors = [getattr(found, item.name) for item in fields(found) if item.name not in ("open", "stick", "slip")]
    assert max(errors) < 1e-12


@pytest.mark.parametrize(
    ("name", "state"),
    [("one-contact-open", (1, 0, 0)), ("one-contact-stick", (0, 1, 0)), ("one-contact-slip", (0, 0, 1)),
     ("ellipse-slips", (0, 0, 1)), ("disc-spins", (0, 0, 1)), ("disc-stops", (0, 1, 0)), ("hanging-pair", (0, 0, 0))],
)  # fmt: skip
def test_contacts_are_open_stick_or_slip(name: str, state: tuple[int, int, int]) -> None:
    known = GALLERY[name]()
    assert known.impulses is not None
    found = physical_residual(known.problem, known.impulses)
    assert (found.open, found.stick, found.slip) == state


def one(lam: list[float], q: list[float], mu: float = 0.5) -> PhysicalResidual:
    """One contact with W = I, so that u = lam + q."""
    return physical_residual(from_delassus(np.eye(3), q, [mu]), np.array(lam))


def test_each_error_of_one_contact() -> None:
    pressed = one([0.0, 0.0, 0.0], [-2.0, 0.0, 0.0])
    assert (pressed.penetration, pressed.signorini, pressed.tension) == (2.0, 2.0, 0.0)
    pulled = one([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    assert (pulled.tension, pulled.signorini, pulled.penetration, pulled.cone) == (1.0, 1.0, 0.0, 0.5)
    held_open = one([1.0, 0.0, 0.0], [2.0, 0.0, 0.0])
    assert (held_open.complementarity, held_open.signorini) == (3.0, 1.0)
    too_much = one([1.0, 3.0, -4.0], [-1.0, -3.0, 4.0])
    assert too_much.cone == pytest.approx(4.5)
    assert too_much.cone_relative == pytest.approx(4.5 / 4.0)
    across = one([1.0, 0.5, 0.0], [-1.0, -0.5, 2.0])  # friction at its bound, across the slip of 2 m/s
    assert across.dissipation == pytest.approx(0.5 * 2.0)
    feeding = one([1.0, 0.5, 0.0], [-1.0, 1.5, 0.0])  # along the slip of 2 m/s
    assert feeding.wrong_dissipation == pytest.approx(1.0)
    assert feeding.dissipation == pytest.approx(2.0)


def test_frictionless_directions_bear_nothing() -> None:
    assert one([1.0, 0.3, -0.4], [-1.0, 0.0, 0.0], mu=0.0).cone == pytest.approx(0.5)


def test_gauge_and_support_of_other_sets() -> None:
    """An ellipse with semi-axes 0.6 and 0.2; a box is held along each axis."""
    known = GALLERY["ellipse-slips"]()
    problem, lam = known.problem, np.array([2.0, 0.0, 0.8])
    found = physical_residual(problem, lam)
    assert found.cone == pytest.approx(0.6 * (0.8 / 0.2 - 2.0))
    u = problem.constraint_velocity(problem.velocity(lam))
    assert found.dissipation == pytest.approx(abs(2.0 * math.hypot(0.6 * u[1], 0.2 * u[2]) + 0.8 * u[2]))
    boxes = problem.laws._replace(friction_set=np.array([BOX_SET], dtype=np.int32))
    boxed = ContactProblem(problem.momentum, problem.J, problem.bias, boxes)
    assert physical_residual(boxed, np.array([2.0, 1.2, -0.4])).cone < 1e-15
    most = 2.0 * (0.6 * abs(u[1]) + 0.2 * abs(u[2]))
    assert physical_residual(boxed, lam).dissipation == pytest.approx(abs(most + 0.8 * u[2]))


def test_bilateral_limit_and_consistency() -> None:
    known = GALLERY["hanging-pair"]()
    problem = known.problem
    assert known.impulses is not None
    none = physical_residual(problem, np.zeros(4))
    assert none.bilateral == pytest.approx(0.2)
    assert none.limit == pytest.approx(0.0)  # both fall equally fast
    pulled = physical_residual(problem, np.array([0.0, 0.0, 0.0, -1.0]))
    assert pulled.limit > 0.1
    moved = known.v.copy()
    moved[0] += 0.25
    assert physical_residual(problem, known.impulses, moved).consistency == pytest.approx(0.25)


def test_json_names_the_units() -> None:
    found = one([0.0, 0.0, 0.0], [-2.0, 0.0, 0.0]).to_json()
    assert found["penetration_m_per_s"] == 2.0
    assert {"signorini_m_per_s", "cone_N_s", "dissipation_J", "consistency_m_per_s", "cone_relative"} <= set(found)
