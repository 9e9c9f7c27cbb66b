"""`newton` on a device of Warp against the kernels of this process, on the CPU device, which every machine has."""

import sys
from pathlib import Path

import numpy as np
import pytest

import stickslip
from stickslip.contact.gallery import GALLERY
from stickslip.errors import InputError, MissingDependencyError
from stickslip.solvers.newton.newton import NonsmoothNewton

EQUAL = {64: 1e-10, 32: 1e-4}
"""Relative difference of impulses after the same iterations, by precision."""
PAPER = {
    "linear": "pcr", "preconditioner": "jacobi", "friction": "fixed-point", "linear_tolerance": 0.0,
    "linear_iterations": 30,
}  # fmt: skip
NEVER = 1e-200
"""A tolerance that is not reached: both take all iterations."""
MANY = {"painleve-rod": 28}
"""Iterations where 8 lead away first, so that the best iterates are different ones."""
DEVICE = {"device": "cpu"}


@pytest.fixture(autouse=True, scope="module")
def warp():
    """Warp, without which there is nothing to test."""
    return pytest.importorskip("warp", reason="the extra 'gpu' is not installed")


@pytest.mark.parametrize("precision", [64, 32])
@pytest.mark.parametrize("name", GALLERY)
def test_iterates_are_those_of_this_process(name, precision):
    problem = GALLERY[name]().problem.checked()
    options = {**PAPER, "max_iterations": MANY.get(name, 8), "tolerance": NEVER}
    here = NonsmoothNewton(**options).run(problem, None, None)
    there = NonsmoothNewton(**options, **DEVICE, precision=precision).run(problem, None, None)
    bound = EQUAL[precision]
    if name == "heavy-chain" and precision == 32:
        bound = 1e-3  # masses from 1 to 1e5: a condition number of 1e5 times the rounding of 32 bit
    assert np.abs(there.lam - here.lam).max() <= bound * np.abs(here.lam).max()


def test_a_step_is_the_same_in_64_bit_and_converges_in_32(box_and_pendulum):
    expected = stickslip.Simulation(box_and_pendulum, dt=0.01, solver="newton")
    expected.run(5)
    for precision, tolerance, distance in ((64, 1e-9, 1e-9), (32, 1e-5, 1e-5)):
        solver = NonsmoothNewton(**PAPER, **DEVICE, precision=precision, tolerance=tolerance)
        sim = stickslip.Simulation(box_and_pendulum, dt=0.01, solver=solver)
        for _ in range(5):
            assert sim.step().certificate.status == "converged"
        assert np.abs(sim.state.q - expected.state.q).max() < distance


def test_soft_bodies_are_condensed_for_it():
    scene = stickslip.Scene()
    scene.add_half_space()
    mesh = stickslip.tet_generators.box((0.1, 0.1, 0.1), (1, 1, 1))
    scene.add_soft(mesh, stickslip.elastic(1e5, 0.3), position=(0, 0, 0.05))
    sim = stickslip.Simulation(scene, dt=0.005, solver=NonsmoothNewton(**PAPER, **DEVICE, tolerance=1e-7))
    for _ in range(3):
        found = sim.step()
        assert found.certificate.status == "converged"
    assert found.problem.contact_count == 4


def test_bits_are_the_same_in_every_run():
    problem = GALLERY["stack-of-five"]().problem.checked()
    solver = NonsmoothNewton(**PAPER, **DEVICE, precision=32, tolerance=1e-6)
    first, second = (solver.run(problem, None, None) for _ in range(2))
    assert np.array_equal(first.lam, second.lam)


def test_kernels_compile_for_cards(warp, tmp_path: Path):
    from stickslip.solvers.newton import warp_kernels

    if not warp.is_cuda_available() and not warp.get_cuda_supported_archs():
        pytest.skip("this Warp has no compiler for CUDA")
    warp.compile_aot_module(warp_kernels, arch=75, module_dir=tmp_path, use_ptx=True)
    (code,) = tmp_path.glob("*.ptx")
    assert code.read_text().count(".entry") == 2 * len(warp_kernels.FLOPS)


def test_work_is_counted_from_arguments():
    from stickslip.solvers.newton.on_device import Iterate

    problem = GALLERY["box-sticks-on-slope"]().problem.checked()  # 12 rows, 6 unknowns
    for precision, size in ((64, 8), (32, 4)):
        solver = NonsmoothNewton(**PAPER, **DEVICE, precision=precision)
        iterate = Iterate(solver, problem, np.zeros(12), np.zeros(6))
        linear, rest = iterate.work
        entries = iterate.tables.chain[2].nnz
        product = iterate.linear_launches[2].work
        assert product.bytes == entries * (size + 4) + 13 * 4 + (6 + 12) * size
        assert product.flops == 2 * entries
        assert (linear.launches, rest.launches) == (9, 16)


def test_errors_say_what_would_be_right(monkeypatch):
    with pytest.raises(InputError, match="device 'cuda:99' is unknown; this machine has cpu"):
        NonsmoothNewton(device="cuda:99").run(GALLERY["stack-of-five"]().problem.checked(), None, None)
    with pytest.raises(InputError, match="precision is 32, linear 'auto'"):
        NonsmoothNewton(precision=32)
    with pytest.raises(InputError, match="precision is 16; it must be 64 or 32"):
        NonsmoothNewton(device="cpu", precision=16)
    with pytest.raises(InputError, match="linear is 'direct'; on a device it must be 'auto' or 'pcr'"):
        NonsmoothNewton(device="cpu", linear="direct")
    monkeypatch.setitem(sys.modules, "warp", None)
    monkeypatch.delitem(sys.modules, "stickslip.solvers.newton.warp_kernels", raising=False)
    monkeypatch.delattr("stickslip.solvers.newton.warp_kernels", raising=False)
    with pytest.raises(MissingDependencyError, match=r"stickslip\[gpu\]"):
        NonsmoothNewton(device="cpu").run(GALLERY["stack-of-five"]().problem.checked(), None, None)


@pytest.fixture
def box_and_pendulum():
    """A box that slides on a plane, and a pendulum apart from it: two islands, contacts in one and a joint in one."""
    scene = stickslip.Scene()
    scene.add_half_space()
    scene.add_box((0.2, 0.2, 0.2), position=(0, 0, 0.1), mass=1.0, velocity=(0.5, 0, 0))
    rod = scene.add_box((0.4, 0.05, 0.05), position=(2.2, 0, 1), mass=1.0)
    scene.add_revolute(None, rod, point=(2, 0, 1), axis=(0, 1, 0))
    return scene
