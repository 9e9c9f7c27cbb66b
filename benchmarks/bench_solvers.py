"""The tables of docs/solvers.md: every solver simulates heavy-stack, arch, chain and wall.

Prints what the command at the top of that page prints; with --write it takes the place of the page's tables. CPU times,
so that other work on the machine shows little. Runs that are not done within their time limit are cut off there: it
takes ten minutes at most. Run: python benchmarks/bench_solvers.py [--write]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "solvers.md"
COMMAND = (
    "compare heavy-stack arch chain wall --simulate --set wall.torsion=0 --time 1 --time-limit 10 --cpu --markdown"
)
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def with_tables(page: str, tables: str) -> str:
    """The page with what stands between the two marks replaced."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end and f"stickslip {COMMAND}" in before):
        raise SystemExit(f"{PAGE} lacks its marks, or names another command than stickslip {COMMAND}")
    return f"{before}{begin}\n\n{tables.strip()}\n\n{end}{after}"


def main() -> int:
    page = PAGE.read_text(encoding="utf-8")
    with_tables(page, "")  # complains now, not after the measurements
    command = [sys.executable, "-m", "stickslip", *COMMAND.split()]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    print(run.stdout, end="")
    if "--write" in sys.argv[1:] and run.stdout:
        PAGE.write_text(with_tables(page, run.stdout), encoding="utf-8")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
