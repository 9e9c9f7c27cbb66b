"""Robot files through importers: mass, degrees of freedom, inertia, what is dropped, and the time that reading takes.

For every MJCF and URDF file of a folder: what stickslip, MuJoCo, Pinocchio and Newton (where installed) make of it.
MJCF is compared with its own engine, URDF with the file itself, as the standard library reads it, and with Pinocchio's
mass matrix. "inertia" is the largest relative difference of the eigenvalues of the mass matrix in the posture of the
file, which depend on no order of coordinates; Newton has no such matrix at hand: there it is that of the principal
moments of all bodies (in single precision). "lost" are parts that the file has, the importer has not, and nothing was
said of; what an importer does not let count is left out.

Times are CPU times, with no hulls and records kept and with all of them, kernels compiled before, over those of
MuJoCo's compiler for the same file in the same run (URDF: over Pinocchio's, with its collision shapes).
``robot_imports.json`` keeps counts and ratios of an earlier run; ``--check`` exits with 1 where a count differs or a
ratio grew by more than 1.5, and ``--record`` writes the file anew.

Run: python benchmarks/bench_robot_imports.py [--folder DIR] [--only panda] [--rounds 1] [--json] [--check] [--record]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from robot_importers import IMPORTERS, as_written, is_urdf
from stickslip.files import whole_file

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "shared" / "data" / "robots"
KEPT = HERE / "robot_imports.json"
WORSE = 1.5
"""Factor by which a ratio of times may grow before ``--check`` fails."""
SAME = 1e-9
"""Relative difference up to which masses and inertias are equal; masses of others may be in single precision."""
SINGLE = 1e-6
SMALL = 0.05
"""[s] below which times are noise, and no ratio is kept."""

Found = dict[str, Any]


def model_files(folder: Path, only: str) -> list[str]:
    """All URDF files of a folder, and MJCF files whose root says so and that are no part of others without bodies."""
    files = [str(file) for file in sorted(folder.rglob("*.urdf"))]
    for file in sorted(folder.rglob("*.xml")):
        try:
            root = ElementTree.parse(file).getroot()
        except ElementTree.ParseError:
            continue
        if root.tag == "mujoco" and (root.find("worldbody") is not None or root.find("include") is not None):
            files.append(str(file))
    return [file for file in files if only in file]


def run(importer: str, files: list[str]) -> dict[str, Found]:
    """What an importer makes of files; where it ends its process, that is what came of the file."""
    found: dict[str, Found] = {}
    while len(found) < len(files):
        left = [file for file in files if file not in found]
        command = [sys.executable, str(HERE / "robot_importers.py"), importer]
        done = subprocess.run(command, input="\n".join(left), capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            each = json.loads(line)
            found[each.pop("file")] = each
        if done.returncode:
            ended = [file for file in left if file not in found][:1]
            found |= {file: {"refused": f"the process ended with {done.returncode}"} for file in ended}
    return found


def measured(files: list[str], rounds: int) -> dict[str, dict[str, Found]]:
    """By file and importer, the smallest times of some rounds; importers that are not installed are left out."""
    found: dict[str, dict[str, Found]] = {file: {} for file in files}
    for importer in IMPORTERS:
        for _ in range(rounds):
            for file, each in run(importer, files).items():
                best = found[file].setdefault(importer, each)
                for key in ("seconds", "seconds_warm"):
                    if key in best and key in each:
                        best[key] = min(best[key], each[key])
    for of_file in found.values():
        for importer in [name for name, each in of_file.items() if "missing" in each]:
            del of_file[importer]
    return found


def difference(ours: list[float], theirs: list[float]) -> float | None:
    """Largest relative difference of sorted numbers, over the largest; None where there are not as many."""
    if len(ours) != len(theirs) or not ours:
        return 0.0 if len(ours) == len(theirs) else None
    return float(np.abs(np.array(ours) - np.array(theirs)).max() / np.abs(theirs).max())


def lost(each: Found, truth: Found) -> dict[str, int]:
    """How many parts of each kind an importer has dropped without a word, of those that it counts."""
    missing = {}
    for kind, count in each["kept"].items():
        short = truth["kept"].get(kind, count) - count - each.get("said", {}).get(kind, 0)
        if short > 0:
            missing[kind] = short
    return missing


def judged(file: str, of_file: dict[str, Found]) -> dict[str, Found]:
    """By importer: refused, or mass, degrees of freedom, inertia and lost parts, each beside the truth."""
    if is_urdf(file):
        try:
            truth = as_written(file)
        except ElementTree.ParseError as error:
            truth = {"refused": f"malformed: {error}"}
        inertia = of_file.get("pinocchio", {}).get("moments")
    else:
        truth, inertia = of_file.get("mujoco", {}), of_file.get("mujoco", {}).get("moments")
    rows: dict[str, Found] = {}
    for importer, each in of_file.items():
        if "refused" in each or "refused" in truth or not truth:
            rows[importer] = {"refused": each.get("refused", "")}
            continue
        exact = SAME if importer == "stickslip" else SINGLE
        same = abs(each["mass"] - truth["mass"]) <= exact * max(abs(truth["mass"]), 1e-12)
        row: Found = {"mass": each["mass"], "dofs": each["dofs"], "same_mass": same}
        row["same_dofs"] = each["dofs"] == truth["dofs"]
        row["lost"] = lost(each, truth)
        row["inertia"] = None
        if "moments" in each and inertia is not None:
            row["inertia"] = difference(each["moments"], inertia)
        elif "bodies" in each and "bodies" in of_file.get("stickslip", {}):
            row["inertia"] = difference(each["bodies"], of_file["stickslip"]["bodies"])
        row["warnings"] = each.get("warnings", 0)
        rows[importer] = row
    return rows


def ratios(file: str, of_file: dict[str, Found]) -> dict[str, float]:
    """CPU time of our import, cold and warm, over that of MuJoCo, of URDF over that of Pinocchio."""
    own, other = of_file.get("stickslip", {}), of_file.get("pinocchio" if is_urdf(file) else "mujoco", {})
    if "seconds" not in own or other.get("seconds", 0.0) < SMALL:
        return {}
    return {"cold": own["seconds"] / other["seconds"], "warm": own["seconds_warm"] / other["seconds"]}


def cell(row: Found) -> str:
    """One importer of one file in the table."""
    if "refused" in row:
        return f"refused: {row['refused'][-70:]}" if row["refused"] else "-"
    parts = [f"{row['mass']:.5g} kg" + ("" if row["same_mass"] else " (differs)")]
    parts.append(f"{row['dofs']} dofs" + ("" if row["same_dofs"] else " (differs)"))
    inertia = row["inertia"]
    parts.append(
        "inertia not comparable" if inertia is None else "inertia =" if inertia <= SAME else f"inertia {inertia:.0e}"
    )
    if row["lost"]:
        parts.append("lost: " + ", ".join(f"{count} {kind}" for kind, count in row["lost"].items()))
    if row["warnings"]:
        parts.append(f"{row['warnings']} warnings")
    return ", ".join(parts)


def main() -> None:
    """Measure, print, compare and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder with .xml and .urdf files")
    parser.add_argument("--only", default="", help="files with this in their names")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--check", action="store_true", help="exit with 1 where something got worse")
    parser.add_argument("--record", action="store_true", help="keep counts and ratios")
    options = parser.parse_args()
    files = model_files(options.folder, options.only)
    if not files:
        print(f"no robot files in {options.folder}: nothing to do")
        return
    found = measured(files, options.rounds)
    result = {}
    for file, of_file in found.items():
        name = Path(file).relative_to(options.folder).as_posix()
        times = {key: of_file.get("stickslip", {}).get(key) for key in ("seconds", "seconds_warm")}
        result[name] = {"importers": judged(file, of_file), "ratios": ratios(file, of_file), **times}
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print_table(result)
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    worse = [line for name, each in result.items() for line in compared(name, each, known.get(name))]
    print("\n".join(worse), file=sys.stderr if options.json else sys.stdout)
    if options.record:
        with whole_file(KEPT) as part:
            part.write_text(json.dumps(known | {name: kept(each) for name, each in result.items()}, indent=1) + "\n")
    if options.check and worse:
        sys.exit(1)


def print_table(result: dict[str, Found]) -> None:
    """One block a file: each importer in a line."""
    for name, each in result.items():
        ratio = ", ".join(f"{key} {value:.2f}" for key, value in each["ratios"].items())
        times = [f"{each[key]:.2f} s" for key in ("seconds", "seconds_warm") if each[key] is not None]
        print(
            f"{name}: {' cold, '.join(times)}{' warm' if times else ''}{f'; over the other: {ratio}' if ratio else ''}"
        )
        for importer, row in each["importers"].items():
            print(f"  {importer:10} {cell(row)}")
    own = [each["importers"].get("stickslip", {}) for each in result.values()]
    good = sum(bool(row.get("same_mass") and row.get("same_dofs") and not row.get("lost")) for row in own)
    exact = sum(row.get("inertia") is not None and row["inertia"] <= SAME for row in own)
    print(f"{len(own)} files, {good} complete here, {exact} with the inertia of the reference")
    slow = max((each["seconds"] or 0.0 for each in result.values()), default=0.0)
    slow_warm = max((each["seconds_warm"] or 0.0 for each in result.values()), default=0.0)
    print(f"slowest import: {slow:.2f} s cold, {slow_warm:.2f} s warm, CPU time")


def kept(each: Found) -> Found:
    """What is recorded of a file."""
    own = each["importers"].get("stickslip", {})
    if "refused" in own:
        return {"refused": True}
    counts = {key: own[key] for key in ("dofs", "warnings", "lost", "same_mass", "same_dofs")}
    return {
        **counts,
        "mass": float(f"{own['mass']:.9g}"),
        "ratios": {k: round(v, 2) for k, v in each["ratios"].items()},
    }


def compared(name: str, each: Found, was: Found | None) -> list[str]:
    """What differs from an earlier run, in words."""
    if was is None:
        return []
    now, lines = kept(each), []
    for key in ("refused", "dofs", "mass", "warnings", "lost", "same_mass", "same_dofs"):
        if now.get(key) != was.get(key):
            lines.append(f"{name}: {key} was {was.get(key)}, now {now.get(key)}")
    for key, value in now.get("ratios", {}).items():
        before = was.get("ratios", {}).get(key)
        if before is not None and value > WORSE * before and value - before > 0.1:
            lines.append(f"{name}: {key} import over the other was {before:.2f}, now {value:.2f}")
    return lines


if __name__ == "__main__":
    main()
