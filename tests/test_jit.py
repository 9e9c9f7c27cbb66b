"""The one Numba module: nothing compiles at import, no edit is answered from a stale cache, no kernel needs Numba."""

import ast
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import stickslip
from stickslip import jit

SOURCE = Path(jit.__file__).resolve().parent


def run_python(code: str, **environment: str) -> Any:
    """Run code in a fresh interpreter; its last printed line is JSON."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean | environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# Import


def test_import_of_the_package_loads_neither_numba_nor_scipy():
    loaded = run_python(
        "import json, sys, stickslip; print(json.dumps([m for m in ('numba', 'scipy') if m in sys.modules]))"
    )
    assert loaded == []


IMPORT_EVERYTHING = """
import importlib, json, pkgutil
import stickslip, stickslip.jit
names = [info.name for info in pkgutil.walk_packages(stickslip.__path__, "stickslip.")]
for name in names:
    if not name.endswith("__main__"):
        try:
            importlib.import_module(name)
        except stickslip.MissingDependencyError as error:  # of an extra that is not installed: it must say which
            assert "pip install 'stickslip[" in str(error), error
print(json.dumps({"modules": len(names), "kernels": len(stickslip.jit.KERNELS),
                  "compiled": stickslip.jit.compiled_count()}))
"""


def test_import_of_every_module_compiles_nothing():
    result = run_python(IMPORT_EVERYTHING)
    assert result["modules"] > 10
    assert result["kernels"] > 10
    assert result["compiled"] == 0


def test_the_digest_follows_every_import_that_python_sees():
    """Imports are found without a parser, for speed: whatever the parser finds must be among them."""
    modules = [info.name for info in pkgutil.walk_packages(stickslip.__path__, "stickslip.")]
    assert sum(map(len, map(jit.imported_modules, modules))) > 500
    for module in modules:
        names = set()
        for node in ast.parse(jit.source(module)).body:
            if isinstance(node, ast.ImportFrom):
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
        expected = {name for name in names if jit.module_file(name)} - {module, "stickslip.jit"}
        assert expected <= set(jit.imported_modules(module))


# Cache: a package in miniature with the real jit.py, in which caller.py calls a kernel of callee.py

CALLEE = "from stickslip.jit import kernel\n\n@kernel\ndef twice(x):\n    return {factor} * x\n"
CALLER = """
from stickslip.jit import kernel
from stickslip.inner.callee import twice

@kernel
def twice_plus_one(x):
    return twice(x) + 1.0
"""
BYSTANDER = "from stickslip.jit import kernel\n\n@kernel\ndef half(x):\n    return 0.5 * x\n"
CALL_ALL = """
import json
from stickslip.caller import twice_plus_one
from stickslip.bystander import half
result = [twice_plus_one(10.0), half(10.0)]
hits = [sum(k.stats.cache_hits.values()) for k in (twice_plus_one, half)]
misses = [sum(k.stats.cache_misses.values()) for k in (twice_plus_one, half)]
print(json.dumps({"result": result, "hits": hits, "misses": misses}))
"""


def search_path(package: Path) -> str:
    """A path for modules on which the miniature comes before all others that there are."""
    return os.pathsep.join(filter(None, [str(package.parent), os.environ.get("PYTHONPATH")]))


@pytest.fixture
def miniature(tmp_path):
    """Write the miniature package; returns its folder and a function that runs CALL_ALL in it."""
    package = tmp_path / "sources" / "stickslip"
    (package / "inner").mkdir(parents=True)
    shutil.copy(SOURCE / "jit.py", package / "jit.py")
    (package / "__init__.py").touch()
    (package / "inner" / "__init__.py").touch()
    (package / "inner" / "callee.py").write_text(CALLEE.format(factor=2.0))
    (package / "caller.py").write_text(CALLER)
    (package / "bystander.py").write_text(BYSTANDER)

    def run():
        # an edit within the second of the last one, of the same length, would be answered from Python's bytecode
        places = {"PYTHONPATH": search_path(package), "STICKSLIP_CACHE_DIR": str(tmp_path / "cache")}
        return run_python(CALL_ALL, **places, PYTHONPYCACHEPREFIX=tempfile.mkdtemp(dir=tmp_path))

    return package, tmp_path / "cache", run


def files_of(cache: Path, module: str) -> dict[str, bytes]:
    """Cached files of one module of the miniature: path below the cache folder -> content."""
    return {str(f.relative_to(cache)): f.read_bytes() for f in sorted(cache.glob(f"{module}-*/**/*")) if f.is_file()}


def test_second_run_compiles_nothing(miniature):
    _, _, run = miniature
    first, second = run(), run()
    assert first["result"] == second["result"] == [21.0, 5.0]
    assert first["hits"] == [0, 0]
    assert first["misses"] == [1, 1]
    assert second["hits"] == [1, 1]
    assert second["misses"] == [0, 0]


def test_edit_of_a_called_kernel_is_not_answered_from_a_stale_cache(miniature):
    package, cache, run = miniature
    assert run()["result"] == [21.0, 5.0]
    bystander = files_of(cache, "bystander")
    assert bystander

    (package / "inner" / "callee.py").write_text(CALLEE.format(factor=3.0))
    edited = run()
    assert edited["result"] == [31.0, 5.0]
    assert edited["misses"] == [1, 0], "the caller compiles again, the bystander does not"
    assert files_of(cache, "bystander") == bystander

    (package / "inner" / "callee.py").write_text(CALLEE.format(factor=2.0))
    undone = run()
    assert undone["result"] == [21.0, 5.0]
    assert undone["misses"] == [0, 0], "the kernels of the first version are still there"


def test_edit_of_an_imported_constant_is_not_answered_from_a_stale_cache(miniature):
    # A kernel freezes the globals it reads, so a module that holds only numbers is part of the digest as well.
    package, _, run = miniature
    (package / "numbers.py").write_text("OFFSET = 1.0\n")
    (package / "caller.py").write_text(
        CALLER.replace("1.0", "OFFSET") + "\n\nfrom stickslip.numbers import OFFSET  # noqa: E402\n"
    )
    assert run()["result"][0] == 21.0
    (package / "numbers.py").write_text("OFFSET = 5.0\n")
    assert run()["result"][0] == 25.0


def test_cache_folder_that_cannot_be_written_is_replaced_by_a_temporary_one(miniature, tmp_path):
    package, _, _ = miniature
    blocked, temporary = tmp_path / "a_file", tmp_path / "temporary"
    blocked.write_text("not a folder")
    temporary.mkdir()
    nowhere = {"PYTHONPATH": search_path(package), "TMPDIR": str(temporary), "STICKSLIP_CACHE_DIR": str(blocked)}
    homeless = nowhere | {"STICKSLIP_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": str(blocked)}
    first, second = run_python(CALL_ALL, **nowhere), run_python(CALL_ALL, **homeless)
    assert first["result"] == second["result"] == [21.0, 5.0]
    assert [first["misses"], second["hits"]] == [[1, 1], [1, 1]]
    assert not list(package.rglob("*.nbi")), "kernels beside the source would go stale"

    (own,) = temporary.iterdir()
    own.chmod(0o777)  # somebody else could have put kernels there
    third = run_python(CALL_ALL, **nowhere)
    assert third["result"] == [21.0, 5.0]
    assert third["misses"] == [1, 1]
    assert list(temporary.iterdir()) == [own], "the folder of the third run is gone with it"

    own.chmod(0o700)
    own.rename(temporary / "moved")
    own.symlink_to(temporary / "moved")
    assert run_python(CALL_ALL, **nowhere)["misses"] == [1, 1]


READ_BEYOND = """
import json
import numpy as np
from stickslip.bystander import half
try:
    half(np.zeros(1))
    caught = False
except IndexError:
    caught = True
print(json.dumps(caught))
"""


def test_bounds_are_checked_although_the_cache_has_unchecked_kernels(miniature):
    package, cache, _ = miniature
    (package / "bystander.py").write_text(BYSTANDER.replace("0.5 * x", "0.5 * x[2]"))
    places = {"PYTHONPATH": search_path(package), "STICKSLIP_CACHE_DIR": str(cache)}
    assert run_python(READ_BEYOND, **places) is False
    assert run_python(READ_BEYOND, NUMBA_BOUNDSCHECK="1", **places) is True
    assert run_python(READ_BEYOND, **places) is False


CALL_BY_KERNELS = """
import json
from stickslip.caller import third, sums
from stickslip.jit import KERNELS
result = [sums(2, 5.0), third(7.0, 2), third(7.0, 0)]
count = {kernel.py_func.__name__: sum(len(k.overloads) for k in KERNELS if k.py_func is kernel.py_func)
         for kernel in (third, sums)}
print(json.dumps({"result": result, "count": count}))
"""
CONSTANTS = """
import numpy as np
from stickslip.jit import kernel

@kernel
def third(x, k):
    return x / 3.0 + k

@kernel
def sums(k, x):
    return third(x, 0) + third(x, 1) + third(x, k) + third(x, np.int32(k))
"""


def test_a_kernel_is_compiled_once_for_kernels_and_once_for_python_whatever_numbers_it_is_given(miniature):
    package, cache, _ = miniature
    (package / "caller.py").write_text(CONSTANTS)
    places = {"PYTHONPATH": search_path(package), "STICKSLIP_CACHE_DIR": str(cache)}
    for _ in range(2):  # compiled, then from the cache
        found = run_python(CALL_BY_KERNELS, **places)
        assert found["result"] == [4.0 * (5.0 / 3.0) + 5.0, 7.0 / 3.0 + 2.0, 7.0 / 3.0]
        assert found["count"]["third"] <= 2


COLLECT = """
import gc, json
from stickslip.bystander import half
seen = []
for switch, number in ((gc.enable, 1.0), (gc.disable, 1)):
    switch()
    half(number)
    seen.append(gc.isenabled())
print(json.dumps([seen, len(half.overloads)]))
"""


def test_the_garbage_collector_is_as_before_after_compiling(miniature):
    package, cache, _ = miniature
    assert run_python(COLLECT, PYTHONPATH=search_path(package), STICKSLIP_CACHE_DIR=str(cache)) == [[True, False], 2]


# Kernels as plain Python, and with bounds checked

SMALL_SCENE = """
import json
from stickslip.scene.scene import Scene
from stickslip.simulation import Simulation
scene = Scene()
scene.add_half_space()
scene.add_box(size=(0.2, 0.2, 0.2), position=(0.0, 0.0, 0.0999))
scene.add_sphere(radius=0.1, position=(0.02, 0.0, 0.2999))
scene.add_capsule(radius=0.05, length=0.2, position=(0.5, 0.0, 0.0499), rotation=(0.5**0.5, 0.0, 0.5**0.5, 0.0))
sim = Simulation(scene, dt=0.002)
sim.run(steps=3)
print(json.dumps({"q": sim.state.body_pose.ravel().tolist(), "v": sim.state.body_velocity.ravel().tolist()}))
"""


@pytest.fixture(scope="module")
def compiled_run():
    return run_python(SMALL_SCENE)


@pytest.mark.slow
@pytest.mark.parametrize("switch", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_kernels_run_without_compiler_and_with_bounds_checked(switch, compiled_run, tmp_path):
    # The compiler may contract a*b + c to one rounding, so a few units in the last place may differ. Bounds are checked
    # in code that is not optimised, which compiles in half of the time, and in a cache of its own.
    quick = {"NUMBA_OPT": "0", "STICKSLIP_CACHE_DIR": str(tmp_path)}
    other = run_python(SMALL_SCENE, **{switch: "1"}, **quick)
    assert other["q"] == pytest.approx(compiled_run["q"], rel=1e-12, abs=1e-12)
    assert other["v"] == pytest.approx(compiled_run["v"], rel=1e-9, abs=1e-9)


def test_two_writers_of_one_kernel_keep_what_both_have_compiled(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    both_have_read = threading.Barrier(2)
    read = jit._SharedIndex._load_index

    def read_and_wait(index):
        found = read(index)
        with suppress(threading.BrokenBarrierError):  # where one waits until the other has written, it waits in vain
            both_have_read.wait(0.2)
        return found

    monkeypatch.setattr(jit._SharedIndex, "_load_index", read_and_wait)
    writers = [jit._SharedIndex(str(tmp_path), "kernel", "stamp") for _ in range(2)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda writer, key: writer.save(key, f"code for {key}"), writers, ("int", "float")))
    monkeypatch.undo()
    assert [writers[0].load(key) for key in ("int", "float")] == ["code for int", "code for float"]
