"""``stickslip robot``: tree, JSON, exit codes."""

import json

import pytest

from stickslip.cli import main

TEXT = """<robot name="arm">
<link name="base"/>
<link name="upper">
  <inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
  <collision><geometry><box size="0.1 0.1 0.4"/></geometry></collision>
  <visual><geometry><sphere radius="0.1"/></geometry></visual>
</link>
<link name="lower"><inertial><mass value="1"/><inertia ixx="{}" iyy="0.1" izz="0.1"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="2" effort="5" velocity="3"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
  <mimic joint="shoulder"/></joint>
{}</robot>
"""


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(TEXT.format(0.1, ""))
    return file


def test_json_has_counts_mass_and_warnings(arm, capsys):
    assert main(["robot", str(arm), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = {
        "file": str(arm), "format": "urdf", "links": 3, "joints": 2, "dofs": 2, "actuators": 1, "mass": 3.0,
        "shapes": 1, "loops": 0, "warnings": [],
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected
    assert [item["parent"] for item in found["tree"]] == [None, "base", "upper"]
    assert found["tree"][1]["joints"][0]["limits"] == [-1.0, 2.0]


def test_the_tree_shows_joints_ranges_masses_and_shapes(arm, capsys):
    assert main(["robot", str(arm)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "arm (urdf): 3 links, 2 joints, 2 dofs, 1 actuator, 1 shape, 3 kg"
    assert lines[2] == "  upper: revolute shoulder [-1, 2] rad; 2 kg; box; 1 visual"
    assert "  shoulder: position on shoulder, force [-5, 5]" in lines


def test_a_floating_base_has_six_more_dofs(arm, capsys):
    assert main(["robot", str(arm), "--json", "--floating"]) == 0
    assert json.loads(capsys.readouterr().out)["dofs"] == 8


def test_warnings_fail_only_when_asked_to(arm, capsys):
    arm.write_text(TEXT.format(0.1, "<smell/>"))
    assert main(["robot", str(arm)]) == 0
    assert "line 13, <smell>" in capsys.readouterr().out
    assert main(["robot", str(arm), "--strict", "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["warnings"]) == 1


def test_bad_files_are_one_line_and_exit_code_two(arm, tmp_path, capsys):
    arm.write_text(TEXT.format(-0.1, ""))
    assert main(["robot", str(arm)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "arm.urdf, line 8, <inertial>: the inertia of link 'lower'" in error
    assert main(["robot", str(arm), "--repair", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["repaired"]) == 1
    assert main(["robot", str(tmp_path / "none.urdf")]) == 2
    assert main(["robot", str(arm), "--render", str(tmp_path / "arm.gif")]) == 2
    assert main(["robot", str(arm), "--exact-meshes", "--convex-pieces"]) == 2


def test_names_drive_no_terminal(arm, capsys):
    arm.write_text(TEXT.format(0.1, "").replace('name="arm"', 'name="arm&#x9b;31m"'))
    assert main(["robot", str(arm)]) == 0
    assert "\x9b" not in capsys.readouterr().out


def test_robots_that_are_built_in_have_names(arm, tmp_path, capsys):
    assert main(["list", "robots", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)["robots"]]
    assert {"panda", "yumi", "humanoid"} <= set(names)
    assert main(["robot", "yumi", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dofs"] == 18
    picture = tmp_path / "hand.png"
    assert main(["robot", "franka-hand", "--render", str(picture), "--width", "64", "--height", "64"]) == 0
    assert picture.stat().st_size > 1000
    capsys.readouterr()
    assert main(["robot", "pandda"]) == 2
    assert "known: panda, franka-hand" in capsys.readouterr().err
    assert main(["robot", "panda", "--repair"]) == 2
    assert "--repair is for files" in capsys.readouterr().err
