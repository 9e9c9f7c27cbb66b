"""Conventions of the source that ruff, mypy and import-linter cannot see."""

import ast
import re
from pathlib import Path

from stickslip.schemes import SCHEMES

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "stickslip"
SOURCES = sorted(PACKAGE.rglob("*.py"))
KERNEL_DECORATORS = {"kernel", "inner_kernel", "parallel_kernel"}


def is_kernel(function: ast.FunctionDef) -> bool:
    return any(isinstance(item, ast.Name) and item.id in KERNEL_DECORATORS for item in function.decorator_list)


def lacks_annotation(function: ast.FunctionDef) -> bool:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    bare = [item.arg for item in arguments if item.annotation is None and item.arg not in ("self", "cls")]
    return bool(bare) or (function.returns is None and function.name != "__init__")


def test_only_kernels_go_without_annotations():
    bare = []
    for file in SOURCES:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        nested = {inner for outer in functions if is_kernel(outer) for inner in ast.walk(outer)}
        lacking = [f.name for f in functions if lacks_annotation(f) and not is_kernel(f) and f not in nested]
        bare += [f"{file.relative_to(PACKAGE)}: {name}" for name in lacking]
    assert not bare, f"functions without full annotations: {bare}"


def test_every_cited_paper_is_in_the_bibliography():
    bibliography = (PACKAGE.parents[1] / "docs" / "references.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"^@\w+\{(\w+),", bibliography, flags=re.MULTILINE))
    cited = {key for file in SOURCES for key in re.findall(r"\[([a-z]+\d{4})\]", file.read_text(encoding="utf-8"))}
    assert cited <= known


def test_schemes_differ_by_their_rules_alone():
    """What a scheme does differently is a field of its rule; no other line asks for its name."""
    comparing = []
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                texts = {item.value for item in ast.walk(node) if isinstance(item, ast.Constant)}
                comparing += [f"{file.relative_to(PACKAGE)}:{node.lineno}"] if texts & set(SCHEMES) else []
    assert not comparing


def test_what_A_is_made_of_is_asked_for_in_few_places():
    """Code that differs by the parts of A belongs into the methods of Inertia."""
    parts = {"DenseBlocks", "SparseBlocks", "GivenInverse"}
    asked = []
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                if parts & {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}:
                    asked.append(f"{file.relative_to(PACKAGE)}:{node.lineno}")
    assert len(asked) <= 10, asked


def test_folders_are_at_most_two_deep():
    assert all(len(file.relative_to(PACKAGE).parts) <= 2 for file in SOURCES)


def test_no_file_is_longer_than_400_lines():
    long = [file.name for file in SOURCES if len(file.read_text(encoding="utf-8").splitlines()) > 400]
    assert not long


def test_children_that_get_signals_are_started_as_from_a_terminal():
    """A job in the background ignores Ctrl-C, and so would its children; ``child_process.start`` mends that."""
    files = set(Path(__file__).parent.rglob("*.py")) - {Path(__file__), Path(__file__).with_name("child_process.py")}
    texts = {file.name: file.read_text(encoding="utf-8") for file in files}
    sending = {name for name, text in texts.items() if re.search(r"\bSIG(INT|TERM|HUP)\b", text)}
    assert sending
    assert not [name for name in sending if "Popen(" in texts[name]]
