"""Plots of runs: courses tell what happened, peaks survive thinning, every axis has its unit."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip
from stickslip.io.recording import Recorder, read_recording
from stickslip.simulation import Simulation
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.view.course import ENERGIES, ERRORS, Course, course_of_recording, course_of_rows, course_row
from stickslip.view.report.plots import (
    FLOWS,
    PLOTS,
    comparison_figure,
    legend_figure,
    run_figure,
    thinned,
    usual_stages,
)

pytest.importorskip("matplotlib")


def falling_box(solver: ProxGaussSeidel | str = "auto") -> Simulation:
    scene = stickslip.Scene()
    scene.add_half_space()
    scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.15), velocity=(0.5, 0, 0))
    return Simulation(scene, dt=0.005, solver=solver)


def course(label: str, solver: ProxGaussSeidel | str = "auto", steps: int = 60) -> Course:
    rows: list = []
    falling_box(solver).run(steps, lambda result: rows.append(course_row(result)))
    return course_of_rows(label, rows)


def empty_course() -> Course:
    return course_of_rows("empty", [])


@pytest.fixture(scope="module")
def good() -> Course:
    return course("good")


@pytest.fixture(scope="module")
def bad() -> Course:
    found = course("bad", ProxGaussSeidel(max_iterations=1, tolerance=1e-15, subspace=0))
    assert not found.converged.all()
    return found


def test_courses_of_a_run_and_of_its_recording_agree(tmp_path):
    sim, rows = falling_box(), []
    with Recorder(tmp_path / "run.h5", sim) as record:
        for _ in range(40):
            result = sim.step()
            record(result)
            rows.append(course_row(result))
    noted = course_of_rows("auto", rows)
    read = course_of_recording(read_recording(tmp_path / "run.h5"))
    assert read.label == "auto"
    for name in ("time", "stands_for", *ERRORS, "contacts", "iterations", "converged", "status"):
        assert np.array_equal(getattr(noted, name), getattr(read, name)), name
    assert all(np.array_equal(noted.energy[name], read.energy[name]) for name in ENERGIES)
    assert all(np.array_equal(noted.timings[name], read.timings[name]) for name in read.timings)


def test_flows_of_energy_add_up_to_its_change(good):
    flows = sum(sign * good.cumulated(name) for name, sign in FLOWS.items())
    change = good.total_energy - good.total_energy[0]
    assert flows - flows[0] == pytest.approx(change, abs=1e-9 * np.abs(good.total_energy).max())


def test_frames_stand_for_the_steps_left_out(tmp_path):
    sim = falling_box()
    with Recorder(tmp_path / "run.h5", sim, every=5) as record:
        sim.run(23, record)
    found = course_of_recording(read_recording(tmp_path / "run.h5"))
    assert found.stands_for.tolist() == [5, 5, 5, 5, 3]
    assert found.sparse


def test_stages_of_a_usual_step_add_up_to_it(good):
    busy = np.linspace(1.0, 3.0, len(good))
    timings = {"collide": 0.1 * busy, "solve": 0.3 * busy}
    timings["solve"][7] = 99.0  # a step that compiled
    usual = usual_stages(replace(good, timings=timings, loaded=np.zeros(len(good), dtype=bool)))
    assert usual["solve"] == pytest.approx(3.0 * usual["collide"])
    assert sum(usual.values()) == pytest.approx(0.8, rel=0.03)  # the median of 0.4 busy
    assert usual_stages(empty_course()) == {}


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5])
def test_stages_of_short_runs_are_those_of_steps_that_did_not_compile(steps):
    seconds = np.array([50.0, 0.1, 0.2, 60.0, 0.3])[:steps]
    found = replace(course("short", steps=steps), timings={"solve": seconds})
    assert usual_stages(found)["solve"] == pytest.approx((50.0, 0.1, 0.15, 0.2, 0.25)[steps - 1])
    noted = replace(found, loaded=np.arange(steps) % 3 == 0)
    assert usual_stages(noted)["solve"] == pytest.approx((50.0, 0.1, 0.15, 0.15, 0.2)[steps - 1])
    assert usual_stages(replace(found, loaded=np.ones(steps, dtype=bool)))["solve"] == usual_stages(found)["solve"]


def test_a_step_that_is_cut_off_tells_the_likely_reason(good):
    (plot,) = [plot for plot in PLOTS if plot.name == "stages"]

    def title(slow: int, **changes: object) -> str:
        seconds = np.full(len(good), 0.01)
        seconds[slow] = 26.9
        shown = replace(good, timings={"solve": seconds}, **changes)
        return run_figure(plot, [shown]).axes[0].get_title(loc="right")

    none = np.zeros(len(good), dtype=bool)
    assert title(0, loaded=none) == "cut off: 26.9 s at t = 0.005 s (the first: kernels may have been compiled)"
    assert title(3, loaded=none) == "cut off: 26.9 s at t = 0.02 s"
    assert title(3, loaded=~none) == "cut off: 26.9 s at t = 0.02 s (kernels were compiled or loaded)"


def test_thinning_keeps_peaks():
    time = np.linspace(0.0, 10.0, 50_001)
    values = np.sin(time)
    values[[777, 31_313]] = 9.0, -9.0
    values[5] = np.nan
    x, y = thinned(time, values)
    assert len(x) <= 2002
    assert (np.diff(x) > 0.0).all()
    assert (x[0], x[-1]) == (time[0], time[-1])
    assert x[np.nanargmax(y)] == time[777]
    assert x[np.nanargmin(y)] == time[31_313]
    assert thinned(time[:50], values[:50])[0] is not None
    assert len(thinned(time[:50], values[:50])[0]) == 50


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_every_axis_has_a_unit(plot, good, bad):
    for courses in ([good], [good, bad], [bad], [empty_course()], [empty_course(), good]):
        figure = run_figure(plot, courses)
        axis = figure.axes[0]
        labels = [axis.get_xlabel(), axis.get_ylabel()]
        names = [text.get_text() for text in (*axis.get_xticklabels(), *axis.get_yticklabels())]
        if not any(map(len, courses)):
            continue
        # an axis along which solvers or entries of the ledger stand has their names instead
        assert all("[" in label or (label == "" and {"good", "work"} & set(names)) for label in labels), labels


def test_steps_that_did_not_converge_are_marked(good, bad):
    (plot,) = [plot for plot in PLOTS if plot.name == "iterations"]
    marks = [line for line in run_figure(plot, [bad]).axes[0].lines if line.get_marker() == "x"]
    assert len(marks) == 1
    failed = bad.time[~bad.converged]
    assert np.isin(marks[0].get_xdata(), failed).all()
    assert not [line for line in run_figure(plot, [good]).axes[0].lines if line.get_marker() == "x"]


def test_all_solvers_are_in_the_legend(good, bad):
    for figure in (legend_figure([good, bad]), comparison_figure({"scene": [good, bad], "other": [bad, good]})):
        legends = [legend for part in (figure, *figure.subfigs) for legend in part.legends]
        legends += [axis.get_legend() for axis in figure.axes if axis.get_legend()]
        texts = {text.get_text() for legend in legends for text in legend.get_texts()}
        assert texts >= {"good", "bad", "did not converge"}


def test_a_run_of_one_step_is_seen_as_points():
    one, points = course("one", steps=1), 0
    for plot in PLOTS:
        for line in run_figure(plot, [one]).axes[0].lines:
            if len(line.get_xdata()) == 1:
                assert line.get_marker() not in ("None", "")
                points += 1
    assert points >= 5
