"""How long files and functions of the package are, how many arguments functions take, and where modules lie.

    python tests/house_report.py            a table to read
    python tests/house_report.py --json     the same numbers for programs

Nothing here is a limit: it says where to look first. tests/test_conventions.py holds the few numbers that are.
"""

import argparse
import ast
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "stickslip"
MANY_ARGUMENTS = 12
SHOWN = 12
"""Files and functions that are listed, longest first."""


@dataclass(frozen=True)
class Lines:
    """Median, ninth decile and maximum of numbers of lines."""

    p50: int
    p90: int
    most: int


@dataclass(frozen=True)
class Function:
    """A function or method; ``self`` and ``cls`` are no arguments."""

    place: str
    """File, line and name."""
    lines: int
    arguments: int


@dataclass(frozen=True)
class Room:
    """A folder of the package with all below it; "" is what lies in the package itself."""

    modules: int
    lines: int


@dataclass(frozen=True)
class House:
    """What was measured."""

    files: int
    file_lines: Lines
    function_lines: Lines
    longest_files: dict[str, int]
    longest_functions: list[Function]
    wide: list[Function]
    """All with more than MANY_ARGUMENTS, most arguments first."""
    folders_by_depth: dict[int, int]
    """Folders with modules, by how far below the package they are."""
    rooms: dict[str, Room]


def measure(package: Path = PACKAGE) -> House:
    """Read all modules of a package."""
    files = sorted(package.rglob("*.py"))
    texts = {file.relative_to(package): file.read_text(encoding="utf-8") for file in files}
    lines = {file.as_posix(): len(text.splitlines()) for file, text in texts.items()}
    functions = [function for file, text in texts.items() for function in functions_of(file.as_posix(), text)]
    folders = {file.parent for file in texts}
    modules, room_lines = Counter[str](), Counter[str]()
    for file in texts:
        room = file.parts[0] if len(file.parts) > 1 else ""
        modules[room] += 1
        room_lines[room] += lines[file.as_posix()]
    return House(
        len(files),
        spread(list(lines.values())),
        spread([function.lines for function in functions]),
        dict(sorted(lines.items(), key=lambda item: -item[1])[:SHOWN]),
        sorted(functions, key=lambda function: -function.lines)[:SHOWN],
        sorted((f for f in functions if f.arguments > MANY_ARGUMENTS), key=lambda function: -function.arguments),
        dict(sorted(Counter(len(folder.parts) for folder in folders).items())),
        {room: Room(modules[room], room_lines[room]) for room in sorted(modules)},
    )


def functions_of(file: str, text: str) -> Iterator[Function]:
    """All functions of a module, nested ones too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = [item.arg for item in (*node.args.posonlyargs, *node.args.args)]
            own = len(given) - (given[:1] in (["self"], ["cls"])) + len(node.args.kwonlyargs)
            last = node.end_lineno or node.lineno
            yield Function(f"{file}:{node.lineno} {node.name}", last - node.lineno + 1, own)


def spread(numbers: Sequence[int]) -> Lines:
    """Median, ninth decile and maximum: numbers of the list themselves."""
    ordered = sorted(numbers)
    return Lines(ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, 9 * len(ordered) // 10)], ordered[-1])


def text_of(house: House) -> str:
    """The report as lines."""
    of_files, of_functions = house.file_lines, house.function_lines
    lines = [
        f"{house.files} files; lines: median {of_files.p50}, 90 % at most {of_files.p90}, longest {of_files.most}",
        f"functions; lines: median {of_functions.p50}, 90 % at most {of_functions.p90}, longest {of_functions.most}",
        "folders by depth: " + ", ".join(f"{depth}: {count}" for depth, count in house.folders_by_depth.items()),
        "",
        "modules  lines  room",
        *(f"{room.modules:7d} {room.lines:6d}  {name or '(package)'}" for name, room in house.rooms.items()),
        "",
        "longest files",
        *(f"{count:7d}  {file}" for file, count in house.longest_files.items()),
        "",
        "longest functions",
        *(f"{function.lines:7d}  {function.place}" for function in house.longest_functions),
        "",
        f"{len(house.wide)} functions with more than {MANY_ARGUMENTS} arguments",
        *(f"{function.arguments:7d}  {function.place}" for function in house.wide),
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="numbers for programs")
    arguments = parser.parse_args()
    house = measure()
    print(json.dumps(asdict(house), indent=1) if arguments.json else text_of(house))


if __name__ == "__main__":
    main()
