"""Filling of a surface with fTetWild."""

import sys

import numpy as np
import pytest

from stickslip.errors import InputError, MissingDependencyError
from stickslip.geometry.generators import jack
from stickslip.geometry.mesh_shapes import BOX_TRIANGLES
from stickslip.geometry.tet_meshing import fill_surface
from stickslip.geometry.triangle_mesh import mass_of

CUBE = np.array([[1.0 if i >> k & 1 else -1.0 for k in range(3)] for i in range(8)])


def test_a_jack_is_filled() -> None:
    pytest.importorskip("pytetwild", reason="surfaces are filled by pytetwild (extra tetwild)", exc_type=ImportError)
    vertices, triangles = jack(reach=0.03, width=0.014, tip=0.01, chamfer=0.002)
    mesh = fill_surface(vertices, triangles, edge_length=0.008, where="jack")
    assert mesh.volume == pytest.approx(mass_of(vertices, triangles)[0], rel=0.05)
    assert mesh.piece_count == 1
    report = mesh.quality()
    assert report.mean_ratio.min() > 0.15
    assert report.euler == 2


@pytest.mark.slow
def test_few_elements() -> None:
    pytest.importorskip("pytetwild", reason="surfaces are filled by pytetwild (extra tetwild)", exc_type=ImportError)
    mesh = fill_surface(CUBE, BOX_TRIANGLES, edge_length=1.0, coarsen=True)
    assert mesh.volume == pytest.approx(8.0, rel=0.01)
    assert len(mesh.tets) < 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edge_length": 0.0}, "edge_length is 0"),
        ({"edge_length": 5.0}, r"must be below the body's size, 3\.464 m"),
        ({"deviation": 0.5}, "deviation is 0.5"),
        ({"stop_energy": 2.0}, "stop_energy is 2.0; it must be above 3"),
    ],
)
def test_options(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fill_surface(CUBE, BOX_TRIANGLES, **options)  # type: ignore[arg-type]


def test_a_surface_with_a_hole_is_refused() -> None:
    with pytest.raises(InputError, match="lid: it has a hole"):
        fill_surface(CUBE, BOX_TRIANGLES[:-1], where="lid")


def test_without_pytetwild(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytetwild", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'stickslip\[tetwild\]'"):
        fill_surface(CUBE, BOX_TRIANGLES)
