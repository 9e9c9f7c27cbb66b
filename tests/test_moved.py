"""Modules that have moved are still found by their old names, with a warning; nothing here uses those."""

import ast
import re
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import stickslip
from child_process import output
from stickslip.moved import MOVED, PACKAGE

SOURCE = Path(stickslip.__file__).parent
ROOT = Path(__file__).resolve().parents[1]
TOOK_A_NAME = {
    ".".join(("stickslip", *file.parent.relative_to(SOURCE).parts)): text.split('names_of("')[1].split('"')[0]
    for file in SOURCE.rglob("__init__.py")
    if 'names_of("' in (text := file.read_text(encoding="utf-8"))
}
"""Folders that have the name of a module which moved into them, and where it is there."""
STARTS = re.compile(r"^\s*(from|import) stickslip", re.MULTILINE)
EVERY_MODULE = """
import importlib, pkgutil, sys, warnings
warnings.filterwarnings("error", message=".* has moved to ", category=DeprecationWarning)
import stickslip
optional, count = ("pydrake", "mujoco", "pybullet", "viser", "IPython", "matplotlib", "PIL"), 0
for module in pkgutil.walk_packages(stickslip.__path__, "stickslip."):
    if module.name != "stickslip.__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            assert (error.name or "").split(".")[0] in optional, error
        except stickslip.MissingDependencyError as error:  # of an extra that is not installed: it must say which
            assert "pip install 'stickslip[" in str(error), error
        count += 1
print(count)
"""


def forget(name: str) -> None:
    """Let a module be looked for again under its old name."""
    sys.modules.pop(name, None)
    folder, _, leaf = name.rpartition(".")
    if folder in sys.modules:
        vars(sys.modules[folder]).pop(leaf, None)


@pytest.mark.parametrize("old", MOVED)
def test_old_names_give_the_module_itself_and_warn(old: str) -> None:
    name = PACKAGE + old
    try:
        new = import_module(PACKAGE + MOVED[old])
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    spec, loader, own_name = new.__spec__, new.__loader__, new.__name__
    forget(name)
    with pytest.warns(DeprecationWarning, match=f"{name} has moved to {PACKAGE}{MOVED[old]}"):
        found = import_module(name)
    assert found is new
    assert (found.__spec__, found.__loader__, found.__name__) == (spec, loader, own_name)
    assert spec is not None
    assert spec.name == PACKAGE + MOVED[old]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert import_module(PACKAGE + MOVED[old]) is new
    forget(name)


@pytest.mark.parametrize("folder", TOOK_A_NAME)
def test_folders_with_the_name_of_a_module_hand_on_its_names(folder: str) -> None:
    home = import_module(TOOK_A_NAME[folder])
    tree = ast.parse(Path(str(home.__file__)).read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    defined |= {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    package = import_module(folder)
    modules = {file.stem for file in Path(str(package.__file__)).parent.glob("*.py")}
    public = sorted(name for name in defined - modules - vars(package).keys() if not name.startswith("_"))
    assert public
    for name in public:
        with pytest.warns(DeprecationWarning, match=rf"{folder}\.{name} has moved to {TOOK_A_NAME[folder]}\.{name}"):
            assert getattr(package, name) is getattr(home, name)
    with pytest.raises(AttributeError):
        package.no_such_name  # noqa: B018


def test_modules_of_such_folders_are_no_old_names() -> None:
    """``from folder import module`` asks the folder first; it must not answer with what the moved module imported."""
    code = """
import warnings
warnings.simplefilter("error", DeprecationWarning)
from stickslip.experiments.todorov2010 import drop, runs
from stickslip.solvers.cond import steps
from stickslip.scene import joints
print(drop.__name__, steps.__name__, joints.__name__)
"""
    names = "stickslip.experiments.todorov2010.drop stickslip.solvers.cond.steps stickslip.scene.joints"
    assert output("-c", code).split() == names.split()


def test_no_module_of_the_package_uses_an_old_name() -> None:
    assert int(output("-c", EVERY_MODULE)) > 400


def imported_by(file: Path) -> set[str]:
    """Absolute names of modules, and of names in them, that a file imports, in texts for other processes too."""
    names, texts = set(), [file.read_text(encoding="utf-8")]
    while texts:
        try:
            tree = ast.parse(texts.pop())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and STARTS.search(node.value):
                texts.append(node.value)
    return names


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "examples"])
def test_no_file_imports_by_an_old_name(folder: str) -> None:
    if not (ROOT / folder).is_dir():
        pytest.skip("not in this copy of the sources")
    old_modules = {PACKAGE + old for old in MOVED}
    using = []
    for file in (ROOT / folder).rglob("*.py"):
        for name in imported_by(file):
            parent, _, leaf = name.rpartition(".")
            inside = SOURCE.joinpath(*parent.split(".")[1:])
            from_folder = parent in TOOK_A_NAME and not ((inside / f"{leaf}.py").exists() or (inside / leaf).is_dir())
            if name in old_modules or from_folder:
                using.append(f"{file.relative_to(ROOT)}: {name}")
    assert not using
