"""Where the meshes of a robot file are: ``package://``, ``file://`` and relative names, and what may be opened.

A name is looked for (1) in the folders that the caller gives, (2) upwards from the file in folders of the package's
name, (3) on ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, (4) with leading folders of the name dropped, in the folders above
the file: files that were taken out of their package, or of a repository, are found so.

A mesh must lie in the folder of its file or of its package: the nearest folder above the file with a package.xml, or
else the one above where the file's own is called urdf, robots or the like. Names that lead elsewhere, by "..", are
rejected unless the caller allows them. Names are compared, and links of the file system followed: whoever installs a
package makes those.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from stickslip.names import shown

LEVELS = 6
"""Folders above the file that are searched; never the root of the file system."""
SUBFOLDERS = ("urdf", "urdfs", "robots", "robot", "xacro", "model", "models", "description", "xml")
"""Names of folders within a package that hold the descriptions themselves."""


@dataclass
class MeshPaths:
    """The folders in which meshes of one robot file are looked for, and all paths tried so far."""

    file: Path
    package_dirs: Sequence[Path] = ()
    allow_outside: bool = False
    tried: list[str] = field(default_factory=list)
    """For the report: one line a name, and what came of it."""
    _known: dict[str, Path] = field(default_factory=dict)

    def find(self, name: str) -> Path:
        """The file that a name in the robot file means; ValueError, which says why, where there is none."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> Path:
        tried: list[str] = []
        for candidate, root in self._candidates(name.strip().replace("\\", "/")):
            path = Path(os.path.normpath(candidate))
            if not self.allow_outside and not path.is_relative_to(os.path.normpath(root)):
                self.tried.append(f"{shown(name)}: rejected, {path} is outside {root}")
                raise ValueError(
                    f"{shown(name)} leads to {path}, outside the folder {root}; move the mesh there, "
                    "name its folder in package_dirs, or give allow_outside=True"
                )
            if str(path) in tried:
                continue
            if path.is_file():
                self.tried.append(f"{shown(name)}: {path}")
                return path
            tried.append(str(path))
        self.tried.append(f"{shown(name)}: not found, tried {', '.join(tried)}")
        raise ValueError(
            f"the mesh {shown(name)} is not there; tried {', '.join(tried)}; give its folder in package_dirs"
        )

    def _candidates(self, name: str) -> Iterator[tuple[Path, Path]]:
        """Paths, and the folders that they must be in."""
        scheme, separator, rest = name.partition("://")
        if separator and scheme in ("package", "model"):
            yield from self._of_package(unquote(rest) if "%" in rest else rest)
        elif separator and scheme == "file":
            yield from self._of_path(rest)
        elif separator:
            raise ValueError(
                f"{shown(name)} is none of package://, model://, file:// and plain paths; nothing is loaded"
            )
        else:
            yield from self._of_path(name)

    def _of_package(self, rest: str) -> Iterator[tuple[Path, Path]]:
        package, _, inner = rest.lstrip("/").partition("/")
        for folder in self.package_dirs:
            yield folder / package / inner, folder / package
            if folder.name == package:
                yield folder / inner, folder
        for folder in self._above():
            if folder.name == package:
                yield folder / inner, folder
            if (folder / package).is_dir():
                yield folder / package / inner, folder / package
        for root in _ros_folders():
            yield root / package / inner, root / package
            if root.name == package:
                yield root / inner, root
        yield from self._shortened([package, *inner.split("/")])

    def _of_path(self, name: str) -> Iterator[tuple[Path, Path]]:
        home = self._home()
        if os.path.isabs(name):
            inside = [root for root in (home, *self.package_dirs) if Path(os.path.normpath(name)).is_relative_to(root)]
            yield Path(name), inside[0] if inside else home
            return
        yield self.file.parent / name, home
        for folder in self.package_dirs:
            yield folder / name, folder
        yield from self._shortened(name.split("/"))

    def _shortened(self, parts: list[str]) -> Iterator[tuple[Path, Path]]:
        """The name with more and more of its leading folders dropped, in the caller's folders and above the file."""
        parts = [part for part in parts if part not in ("", ".")]
        if ".." in parts:
            return  # would not be the folders that the file means
        for start in range(len(parts)):
            for folder in (*self.package_dirs, *self._above()):
                yield folder.joinpath(*parts[start:]), folder

    def _above(self) -> list[Path]:
        """The file's folder and those above it, from the nearest."""
        folders = [self.file.parent, *self.file.parent.parents][: LEVELS + 1]
        return [folder for folder in folders if folder != folder.parent] or folders[:1]

    def _home(self) -> Path:
        above = self._above()
        for folder in above:
            if (folder / "package.xml").is_file():
                return folder
        return above[1] if above[0].name.lower() in SUBFOLDERS and len(above) > 1 else above[0]


def mesh_paths(file: Path, package_dirs: Sequence[str | os.PathLike[str]], allow_outside: bool) -> MeshPaths:
    """The search for the meshes of a file, all its folders absolute."""
    folders = tuple(Path(os.path.abspath(folder)) for folder in package_dirs)
    return MeshPaths(Path(os.path.abspath(file)), folders, allow_outside)


def _ros_folders() -> list[Path]:
    found = [folder for folder in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if folder]
    prefixes = [folder for folder in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if folder]
    return [Path(folder) for folder in found] + [Path(folder) / "share" for folder in prefixes]
