"""Warnings while a simulation runs, each kind once, and its summary in sentences."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from stickslip import Scene, Simulation, SimulationWarning, make_solver
from stickslip.cli import main


def ground() -> Scene:
    scene = Scene()
    scene.add_half_space(name="floor")
    return scene


def warned(sim: Simulation, steps: int = 3) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        sim.run(steps)
    return [str(each.message) for each in found if each.category is SimulationWarning]


def test_a_quiet_run_warns_of_nothing() -> None:
    scene = ground()
    scene.add_box((0.2, 0.2, 0.2), position=(0, 0, 0.1))
    sim = Simulation(scene, dt=0.002)
    assert str(sim.summary()) == "No step has been taken yet."
    assert warned(sim, 120) == []  # long enough for the compiled driver, where its kernels are in the cache
    text = str(sim.summary())
    assert text.startswith("120 steps to t = 0.24 s")
    assert "All converged." in text
    assert sim.summary().warnings == ()


def test_overlap_at_the_start_is_said_once() -> None:
    scene = ground()
    scene.add_box((0.2, 0.2, 0.2), position=(0, 0, 0.0), name="box")
    sim = Simulation(scene, dt=0.002)
    told = warned(sim)
    assert len([text for text in told if "where they start" in text]) == 1
    assert "'floor'" in told[0]
    assert "'box'" in told[0]
    assert "100 mm" in told[0]
    assert warned(sim) == []
    assert told[0] in sim.summary().warnings
    assert "warning" in str(sim.summary())
    assert "<p>" in sim.summary()._repr_html_()


def test_warnings_point_at_the_code_of_the_user() -> None:
    scene = ground()
    scene.add_box((0.2, 0.2, 0.2), position=(0, 0, 0.0))
    sim = Simulation(scene, dt=0.002)
    with pytest.warns(SimulationWarning) as found:
        sim.step()
    assert found[0].filename == __file__


def test_bodies_as_large_as_houses_are_doubted() -> None:
    corners = np.array([(0, 0, 0), (40, 0, 0), (0, 40, 0), (0, 0, 40)])
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    scene = ground()
    scene.add_mesh(corners, faces, (0, 0, 1), name="bracket")
    with pytest.warns(SimulationWarning, match=r"'bracket' is .* m across.*units='mm'"):
        Simulation(scene)
    scene = ground()
    bracket = scene.add_mesh(corners, faces, (0, 0, 1), units="mm")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = Simulation(scene)
    assert np.ptp(sim.bounds(bracket), axis=0) == pytest.approx(0.04)
    scene.add_mesh(corners, faces, (0, 0, 2), scale=0.001)
    for wrong in ({"units": "mile"}, {"scale": -1.0}, {"scale": 1.0, "units": "m"}):
        with pytest.raises(ValueError, match=r"units|scale"):
            scene.add_mesh(corners, faces, **wrong)  # type: ignore[arg-type]


def heavy_on_light() -> Scene:
    scene = ground()
    for k in range(6):
        scene.add_box((0.2, 0.2, 0.2), position=(0, 0, 0.1 + 0.2 * k), mass=10.0**k)
    return scene


def test_steps_that_do_not_converge_and_deep_overlaps_are_said() -> None:
    sim = Simulation(heavy_on_light(), dt=0.01, solver=make_solver("prox-gs", max_iterations=1))
    told = warned(sim, 40)
    assert sum("did not converge" in text for text in told) == 1
    assert sum("overlap by" in text for text in told) == 1
    assert "did not converge: " in str(sim.summary())


def test_energy_that_comes_from_nowhere_is_said() -> None:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_sphere(0.1, (0, 0, 0), kind="static")
    scene.add_sphere(0.1, (0.15, 0, 0), name="pushed")  # the first step pushes it out
    sim = Simulation(scene, dt=0.001)
    assert any("energy came from nowhere" in text for text in warned(sim, 3))


def test_commands_say_it_after_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep.py").write_text(
        "import stickslip\n\ndef build():\n    scene = stickslip.Scene()\n    scene.add_half_space()\n"
        "    scene.add_box((0.2, 0.2, 0.2))\n    return scene\n"
    )
    assert main(["run", str(tmp_path / "deep.py"), "--steps", "2", "--json"]) == 0
    printed = capsys.readouterr()
    assert "where they start" in json.loads(printed.out)["warnings"][0]
    assert printed.err == ""
    assert main(["run", str(tmp_path / "deep.py"), "--steps", "2"]) == 0
    assert "warning: bodies" in " ".join(capsys.readouterr().out.split())
