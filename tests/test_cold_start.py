"""The second process that compiles beside the first run: there while it is needed, and gone with the run."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from child_process import output
from stickslip import cold_start, jit, simulation
from stickslip.compiled import first_use
from stickslip.warmup import stacked


@pytest.mark.parametrize(("cold", "cores", "started"), [(True, 2, True), (False, 2, False), (True, 1, False)])
def test_a_second_process_compiles_only_where_it_helps(
    monkeypatch: pytest.MonkeyPatch, cold: bool, cores: int, started: bool
) -> None:
    monkeypatch.setattr(jit, "is_cold", lambda module: cold)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    with cold_start.compiled_beside() as helper:
        assert (helper is not None) == started
        if helper is not None:
            with pytest.raises(subprocess.TimeoutExpired):  # it takes longer to import the package
                helper.wait(0.02)
    assert helper is None or helper.returncode is not None


def test_it_is_gone_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "is_cold", lambda module: True)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with pytest.raises(ZeroDivisionError), cold_start.compiled_beside() as helper:
        _ = 1 / 0
    assert helper is not None
    assert helper.returncode is not None


def test_what_it_compiles_is_found_by_a_run() -> None:
    code = (
        "from stickslip import cold_start, jit, warmup; from stickslip.simulation import Simulation;"
        "cold_start.compile_from_the_end(); before = jit.compiled_count();"
        "Simulation(warmup.stacked('box', 'sphere'), 0.002).run(2); assert jit.compiled_count() == before;"
        "print(jit.is_cold('stickslip.solvers.prox.first_sweeps'), jit.is_cold('stickslip.step'))"
    )
    assert output("-c", code).split() == ["False", "True"]  # step.py has no kernels


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_first_step_of_the_compiled_driver_says_that_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    helpers: list[str] = []

    @contextmanager
    def second_process() -> Iterator[None]:
        helpers.append("begins")
        yield
        helpers.append("ends")

    monkeypatch.setattr(first_use, "second_process", second_process)
    monkeypatch.setattr(first_use, "PERIOD", 1e-4)
    monkeypatch.setattr(simulation, "is_ready", lambda *_: False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    sim = simulation.Simulation(stacked("box"), 0.002, driver="compiled")
    sim.run(3)
    assert helpers == ["begins", "ends"]
    (line, rest) = sys.stderr.getvalue().split("\n")
    assert rest == ""
    assert line.rsplit("\r", 1)[1].startswith("compiling the compiled driver")
    # elsewhere nothing is written, and where nothing need be compiled nobody helps
    for ready, terminal, expected in ((False, False, 4), (True, True, 4)):
        monkeypatch.setattr(simulation, "is_ready", lambda *_, ready=ready: ready)
        monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
        simulation.Simulation(stacked("box"), 0.002, driver="compiled").step()
        assert sys.stderr.getvalue() == ""
        assert len(helpers) == expected
