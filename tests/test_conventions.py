"""Conventions of the source that ruff, mypy and import-linter cannot see."""

import ast
import json
import re
from pathlib import Path

from child_process import output
from house_report import measure
from stickslip import Scene, Simulation
from stickslip.model.schemes import SCHEMES

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "stickslip"
SOURCES = sorted(PACKAGE.rglob("*.py"))
HOUSE = Path(__file__).with_name("house_report.py")
WIDE_FUNCTIONS = 12
"""Functions with more arguments than house_report.MANY_ARGUMENTS that there may be; the aim is 12, so lower it."""
KERNEL_DECORATORS = {
    "kernel",
    "inner_kernel",
    "large_kernel",
    "plain_kernel",
    "parallel_kernel",
    "allocating_kernel",
    "bare_kernel",
    "bare_threaded_kernel",
    "view_kernel",
    "wp.func",
    "wp.kernel",
}


def is_kernel(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(item) in KERNEL_DECORATORS for item in function.decorator_list)


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


def test_no_class_is_there_to_be_inherited_once():
    """What one class needs is functions on plain records, not a class for each of its files."""
    heirs: dict[str, list[str]] = {}
    plain, made = set(), set()
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                plain |= set() if node.bases else {node.name}
                for base in node.bases:
                    heirs.setdefault(ast.unparse(base), []).append(node.name)
            elif isinstance(node, ast.Call):
                made.add(ast.unparse(node.func))
    mixins = {name for name in plain - made if len(heirs.get(name, [])) == 1}
    assert not mixins
    assert Scene.__bases__ == Simulation.__bases__ == (object,)


def test_folders_are_at_most_two_deep_and_long_lists_of_arguments_become_fewer():
    """Lengths are told, not limited: the report says which files and functions to look at first."""
    found = measure(PACKAGE)
    print(f"lines of a file: 90 % have at most {found.file_lines.p90}, the longest {found.file_lines.most}")
    assert max(found.folders_by_depth) <= 2
    wide = [f"{function.place} ({function.arguments})" for function in found.wide]
    assert len(wide) <= WIDE_FUNCTIONS, wide


def test_the_report_of_the_house_prints_what_it_measured():
    found = json.loads(output(HOUSE, "--json"))
    assert found["file_lines"]["p50"] <= found["file_lines"]["p90"] <= found["file_lines"]["most"]
    assert found["files"] == sum(room["modules"] for room in found["rooms"].values()) == len(SOURCES)
    assert [function["lines"] for function in found["longest_functions"]] == sorted(
        (function["lines"] for function in found["longest_functions"]), reverse=True
    )
    assert found["longest_functions"][0]["place"] in output(HOUSE)


def test_children_that_get_signals_are_started_as_from_a_terminal():
    """A job in the background ignores Ctrl-C, and so would its children; ``child_process.start`` mends that."""
    files = set(Path(__file__).parent.rglob("*.py")) - {Path(__file__), Path(__file__).with_name("child_process.py")}
    texts = {file.name: file.read_text(encoding="utf-8") for file in files}
    sending = {name for name, text in texts.items() if re.search(r"\bSIG(INT|TERM|HUP)\b", text)}
    assert sending
    assert not [name for name in sending if "Popen(" in texts[name]]


def test_the_step_reads_top_to_bottom_and_knows_no_kind_of_body():
    """step.py: one function of at most 40 lines; it, the system and the certificate know protocols alone."""
    tree = ast.parse((PACKAGE / "step.py").read_text(encoding="utf-8"))
    step = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "step")
    assert step.end_lineno is not None
    assert step.end_lineno - step.lineno + 1 <= 40
    assert [item.arg for item in step.args.args] == [
        "model", "state", "control", "method", "options", "workspace", "tried",
    ]  # fmt: skip
    words = re.compile("|".join(["soft", "joint", r"\brods?\b", r"\btrees?\b", *SCHEMES]), re.IGNORECASE)
    for name in ("step.py", "constraints/system.py", "certify/certificate.py"):
        assert not words.findall((PACKAGE / name).read_text(encoding="utf-8")), name


def test_nobody_remembers_between_steps_but_a_workspace():
    """No memory at the level of a module that depends on what was simulated before: it would be shared."""
    remembering = []
    for file in SOURCES:
        if file.relative_to(PACKAGE).parts[0] in ("view", "experiments", "scenes", "cli", "io", "jit.py"):
            continue
        text = file.read_text(encoding="utf-8")
        remembering += [str(file)] if re.search(r"Weak\w*Dictionary|lru_cache", text) else []
    assert not remembering
