"""The public names have types that a program outside of the package is checked against."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"
GOOD = """
import numpy as np
import stickslip
from stickslip import Drive, Scene, Simulation, Worlds

scene = Scene(gravity=(0, 0, -9.81))
ground: stickslip.Body = scene.add_half_space(friction=0.5)
box = scene.add_box((0.2, 0.2, 0.2), position=(0, 0, 0.1), mass=1.0)
hinge: stickslip.Joint = scene.add_revolute_joint(None, box, axis=(0, 1, 0), drive=Drive(1.0, 2.0))
scene.save("scene.toml")
again: Scene = Scene.load("scene.toml")
sim = Simulation(scene, dt=0.002, quality="exact")
height: float = float(sim.position(box)[2])
status: str = sim.step().certificate.status
summary: stickslip.RunSummary = sim.summary()
worlds = Worlds(scene, 4, dt=0.01)
"""
BAD = {
    'Simulation(scene, quality="nice")': "quality",
    "scene.add_box((0.2, 0.2))": "add_box",
    "scene.add_sphere(0.1, frictoin=0.5)": "frictoin",
    "height_wrong: str = sim.time": "height_wrong",
}


@pytest.mark.slow
def test_a_program_outside_is_checked(tmp_path: Path) -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed (extra dev)")
    assert (SOURCE / "stickslip" / "py.typed").is_file()
    program = tmp_path / "program.py"
    program.write_text(GOOD + "\n".join(BAD) + "\n")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--ignore-missing-imports",
        program.name,
    ]
    environment = {"MYPYPATH": str(SOURCE), "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("program.py")]
    errors = [line for line in lines if ": error:" in line]
    first = GOOD.count("\n") + 1
    wrong = [line for line in errors if int(line.split(":")[1]) < first]
    assert wrong == [], done.stdout
    for k, text in enumerate(BAD):
        assert any(line.startswith(f"program.py:{first + k}:") for line in errors), (text, done.stdout)
