"""What notebooks show: one line, a small table, and a picture where one can be drawn."""

import base64
import re
import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from stickslip import Scene, Simulation, elastic, tet_generators
from stickslip.contact.problem import from_delassus
from stickslip.errors import MissingDependencyError
from stickslip.view import notebook
from stickslip.view.picture import picture

SCRIPT = "<script>alert(1)</script>"


def stack(name: str = "lower") -> Scene:
    scene = Scene()
    scene.add_half_space(name="ground")
    scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), name=name)
    scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.3), name="upper")
    return scene


@pytest.fixture(scope="module")
def stepped() -> Simulation:
    sim = Simulation(stack(), dt=0.005)
    sim.run(2)
    return sim


def rows(html: str) -> dict[str, str]:
    """The first two cells of each row of the tables."""
    lines = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in re.findall(r"<tr>(.*?)</tr>", html)]
    return {cells[0]: cells[1] for cells in lines if len(cells) > 1}


def pixels(html: str) -> np.ndarray:
    found = re.search(r'src="data:image/png;base64,([^"]+)"', html)
    assert found, "there is no picture"
    return np.asarray(Image.open(BytesIO(base64.b64decode(found[1], validate=True))))


def test_one_line_says_what_it_is(stepped: Simulation) -> None:
    result = stepped.last
    assert repr(stack()) == "Scene(3 rigid bodies, 1 material)"
    assert repr(stepped.model) == "Model(3 rigid bodies, 12 velocities)"
    assert repr(stepped.state) == f"State(t = 0.01 s, 2 steps, digest {stepped.state.digest()[:8]})"
    assert (
        repr(stepped) == "Simulation(t = 0.01 s, 2 steps, converged, solver auto, Model(3 rigid bodies, 12 velocities))"
    )
    assert repr(result).startswith("StepResult(t = 0.01 s, converged, 8 contacts, ")
    assert repr(result.problem) == "ContactProblem(8 contacts, 0 other blocks, 24 rows, 12 velocities, 0.005 s)"
    assert re.fullmatch(
        r"Solution\(converged, \d+ iterations, residual [\d.e+-]+; 24 impulses, 12 velocities\)", repr(result.solution)
    )


def test_lines_stay_short_where_there_is_much() -> None:
    scene = Scene()
    for k in range(300):
        scene.add_sphere(0.1, (k, 0, 0))
    scene.add_soft(tet_generators.box((1, 1, 1), (6, 6, 6)), elastic(1e5, 0.3), (0, 5, 0))
    sim = Simulation(scene)
    for shown in (scene, sim, sim.model, sim.state):
        assert len(repr(shown)) < 160
        assert "\n" not in repr(shown)
    assert repr(scene) == "Scene(300 rigid bodies, 1 soft body, 1 material)"
    assert repr(sim.model) == "Model(300 rigid bodies, 1 soft body of 343 nodes, 2829 velocities)"
    assert len(notebook.state_html(sim.state)) < 5000


def test_a_scene_shows_what_it_holds_and_a_picture() -> None:
    html = stack()._repr_html_()
    seen = rows(html)
    assert (seen["rigid bodies"], seen["of these dynamic"], seen["materials"]) == ("3", "2", "1")
    assert (seen["ground"], seen["lower"], seen["upper"]) == ("static", "dynamic", "dynamic")
    drawn = pixels(html)
    assert drawn.shape == (180, 320, 3)
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 50


def test_a_long_list_of_bodies_is_cut() -> None:
    scene = Scene()
    for k in range(20):
        scene.add_sphere(0.1, (k, 0, 0), name=f"ball {k}")
    html = scene._repr_html_()
    assert "ball 7<" in html
    assert "ball 8<" not in html
    assert "and 12 more" in html


def test_a_simulation_shows_how_its_last_step_ended(stepped: Simulation) -> None:
    html = stepped._repr_html_()
    seen = rows(html)
    assert (seen["status"], seen["contacts"], seen["solver"], seen["steps"]) == ("converged", "8", "auto", "2")
    assert pixels(html).shape == (180, 320, 3)
    assert "status" not in rows(Simulation(stack())._repr_html_())


def test_parts_of_a_step_are_tables(stepped: Simulation) -> None:
    result = stepped.last
    certificate = rows(result.certificate._repr_html_())
    assert certificate["status"] == "converged"
    assert float(certificate["overlap"].split()[0]) == pytest.approx(result.certificate.penetration_mm, rel=0.01)
    assert rows(result._repr_html_())["contacts"] == "8"
    problem = rows(result.problem._repr_html_())
    assert (problem["contact blocks"], problem["rows"], problem["unknown velocities"]) == ("8", "24", "12")
    solution = rows(result.solution._repr_html_())
    assert solution["status"] == "converged"
    assert solution["iterations"] == str(result.solution.iterations)
    assert rows(stepped.model._repr_html_())["unknown velocities"] == "12"
    assert rows(stepped.state._repr_html_())["digest"] == stepped.state.digest()[:16]


def test_a_soft_body_is_drawn() -> None:
    scene = Scene()
    scene.add_soft(tet_generators.box((1, 1, 1), (2, 2, 2)), elastic(1e5, 0.3), name="jelly")
    html = scene._repr_html_()
    assert rows(html)["jelly"] == "soft"
    assert pixels(html).shape == (180, 320, 3)


def test_names_are_shown_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "render_frame", lambda *_, **__: np.zeros((4, 4, 3), np.uint8))

    class Beads:
        name = SCRIPT + "beads"

        def compile(self, context: object) -> object:
            return context

    scene = stack(SCRIPT)
    scene.add_bodies(Beads())
    assert "<script" not in scene._repr_html_()
    assert scene._repr_html_().count("&lt;script&gt;") == 2


def test_names_of_solvers_and_counts_are_shown_and_not_run(stepped: Simulation) -> None:
    solution = stepped.last.solution.changed(method=SCRIPT, counts={SCRIPT: 3})
    assert "<script" not in solution._repr_html_()


@pytest.mark.parametrize("error", [ValueError(SCRIPT), MissingDependencyError(SCRIPT), MemoryError()])
def test_a_broken_picture_leaves_the_table(
    error: Exception, stepped: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(picture, "render_frame", broken)
    for html in (stack()._repr_html_(), stepped._repr_html_()):
        assert rows(html)["rigid bodies"] == "3"
        assert "no picture: " in html
        assert "<img" not in html
        assert "<script" not in html


def test_an_empty_scene_and_an_empty_problem_have_tables() -> None:
    assert "gravity" in rows(Scene()._repr_html_())
    problem = from_delassus(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    assert rows(problem._repr_html_())["rows"] == "0"


def test_lower_layers_load_nothing_of_views_until_asked() -> None:
    code = (
        "import sys, stickslip; scene = stickslip.Scene(); scene.add_sphere(1.0); repr(scene);"
        "assert not any(name.startswith('stickslip.view') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
