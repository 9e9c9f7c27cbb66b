"""The runner of attacks: whatever a case does to its process, it is a failure of that case alone."""

import json
import sys

import pytest
import run

FAKE = """
import os, signal, time
from outcome import Outcome

SECONDS = 10.0  # wall time: a busy machine must not make an honest case slow
MEGABYTES = 100

def attack(seed, index):
    out = Outcome()
    out.counts["seen"] += 1
    if index == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if index == 2:
        time.sleep(600.0)
    if index == 3:
        out.fail("lie", f"of seed {seed}")
    if index == 4:
        raise RuntimeError("unexpected")
    if index == 5:
        bytearray(b"x") * 250_000_000
    if index == 6:
        os._exit(7)
    return out
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    (tmp_path / "fake_attack.py").write_text(FAKE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(run, "TRIALS", 1)
    monkeypatch.setattr(run, "SETTLED", 0)
    yield {"fake": "fake_attack"}
    sys.modules.pop("fake_attack", None)


def test_every_way_to_fail_is_told_apart_and_the_run_goes_on(fake):
    found = run.run_attacks(fake, 5, 2, cases=9)["fake"]
    assert found.cases == 9
    assert sorted(found.failures) == [
        "seed 5 case 1: crash: the process ended with SIGSEGV",
        "seed 5 case 2: time: more than 10 s, 1 times",
        "seed 5 case 3: lie: of seed 5",
        "seed 5 case 4: crash: RuntimeError at fake_attack.py:18: unexpected",
        next(text for text in found.failures if text.startswith("seed 5 case 5: memory: ")),
        "seed 5 case 6: crash: the process ended with exit code 7",
    ]
    assert found.counts["seen"] == 5  # 0, 3, 5, 7, 8; the others ended before they could say so


def test_report_and_exit_code(fake, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "MODULES", fake)
    path = tmp_path / "report.json"
    assert run.main(["--seed", "1", "--cases", "1", "--processes", "1", "--report", str(path), "--json"]) == 0
    report = json.loads(path.read_text())
    assert json.loads(capsys.readouterr().out) == report
    assert (report["seed"], report["cases"], report["failed"]) == (1, 1, 0)
    assert run.main(["--seed", "1", "--case", "3"]) == 1
    assert "seed 1 case 3: lie: of seed 1" in capsys.readouterr().out
    with pytest.raises(RuntimeError, match="unexpected"):
        run.main(["--seed", "1", "--case", "4"])


def test_a_module_that_is_missing_is_an_error_only_when_asked_for(monkeypatch):
    monkeypatch.setattr(run, "MODULES", {"problems": "problem_attack", "ghosts": "no_such_attack"})
    assert run.chosen_modules(None) == {"problems": "problem_attack"}
    with pytest.raises(SystemExit, match=r"ghosts.*no_such_attack\.py"):
        run.chosen_modules("ghosts")
    with pytest.raises(SystemExit, match="'none' is unknown"):
        run.chosen_modules("none")
