"""Taking a tree back from an agent: our own walk, path by path, so that nothing is run and nothing silently lost.

Tracked files are compared by the stat data of an index only we can write; everything else is found by walking with
directory handles that follow no link. Each path ends as an entry, a removal, a refusal, or is ignored as the
*base* commit's ``.gitignore`` files say: what the agent wrote about ignoring, attributes or git does not count.
"""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autobuild_action import paths
from autobuild_action.model import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autobuild_action.adapters.git import Checkout, Git

MOST_PATHS_KEPT = 500
DEEPEST = 200
LEFTOVERS = """\
__pycache__/
*.py[cod]
.pytest_cache/
.mypy_cache/
.ruff_cache/
.hypothesis/
.tox/
.nox/
.venv/
venv/
*.egg-info/
.coverage
.coverage.*
node_modules/
.gradle/
target/
.DS_Store
"""
"""What building and testing leaves behind, ignored unless the project's own rules say otherwise."""

SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What a Player's tree came to: its tree object, and what was kept out or needs a look."""

    tree: str
    paths: tuple[str, ...]
    refused: tuple[Refused, ...]
    needs_person: tuple[str, ...]


def take_over(checkout: Checkout, base: str, template: Path | None) -> Taken:
    """Record the tree below ``checkout`` as it is now; what is refused stays as it was handed out."""
    sorting = _Sorting()
    tracked = checkout.tracked()
    changed, gone = checkout.changed()
    root = os.open(checkout.folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        new = [path for path in _walk(root, sorting) if path not in tracked and not _in(template, path)]
    finally:
        os.close(root)
    for path in changed + _not_ignored(checkout.git, base, new):
        sorting.sort(checkout.folder, path)
    removed = [path for path in gone if sorting.allowed(path)]
    ids = checkout.git.blobs([path for _, path in sorting.files], cwd=checkout.folder)
    entries = [(mode, id_, path) for (mode, path), id_ in zip(sorting.files, ids, strict=True)]
    entries += [("120000", checkout.git.blob(target), path) for path, target in sorting.links]
    names = sorted({shown(path) for _, _, path in entries} | {shown(path) for path in removed})
    return Taken(
        tree=checkout.record(entries, removed),
        paths=tuple(names)[:MOST_PATHS_KEPT],
        refused=tuple(sorting.refused[:MOST_PATHS_KEPT]),
        needs_person=tuple(name for name in names if paths.needs_person(name))[:MOST_PATHS_KEPT],
    )


def shown(path: bytes) -> str:
    """A path as people see it: bytes that are not UTF-8 and control characters as escapes."""
    text = path.decode(errors="backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


@dataclass
class _Sorting:
    """Where each path of a tree goes."""

    files: list[tuple[str, bytes]] = field(default_factory=list)
    links: list[tuple[bytes, bytes]] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def sort(self, folder: Path, path: bytes) -> None:
        """Put one existing path on the list it belongs to."""
        full = os.path.join(os.fsencode(folder), path)
        state = os.lstat(full)
        if not self.allowed(path):
            return
        if stat.S_ISLNK(state.st_mode):
            self._link(path, os.readlink(full))
        elif why := _file_refusal(path, full, state) or self._one_too_many():
            self.refuse(path, why)
        else:
            self.files.append(("100755" if state.st_mode & 0o111 else "100644", path))

    def allowed(self, path: bytes) -> bool:
        """False, and noted, where the policy refuses to touch this path at all."""
        why = paths.refusal(os.fsdecode(path))
        if why:
            self.refuse(path, why)
        return not why

    def refuse(self, path: bytes, why: str) -> None:
        """Note what is kept out."""
        self.refused.append(Refused(path=shown(path), why=why))

    def _link(self, path: bytes, target: bytes) -> None:
        why = paths.link_refusal(os.fsdecode(path), os.fsdecode(target))
        if why:
            self.refuse(path, why)
        else:
            self.links.append((path, target))

    def _one_too_many(self) -> str | None:
        return f"more than {paths.MOST_FILES} files in one turn" if len(self.files) >= paths.MOST_FILES else None


def _file_refusal(path: bytes, full: bytes, state: os.stat_result) -> str | None:
    if not stat.S_ISREG(state.st_mode):
        return SPECIAL.get(stat.S_IFMT(state.st_mode), "not a regular file")
    if state.st_size > paths.LARGEST_FILE:
        return f"{state.st_size:,} bytes; at most {paths.LARGEST_FILE:,} are taken"
    if not os.access(full, os.R_OK):
        return "it cannot be read"
    if path.lower().endswith(b".gitattributes"):
        return paths.content_refusal(os.fsdecode(path), Path(os.fsdecode(full)).read_bytes())
    return None


def _walk(handle: int, sorting: _Sorting, prefix: bytes = b"", depth: int = 0) -> Iterator[bytes]:
    """Every path below a directory handle that is not a directory, relative, without following links."""
    with os.scandir(handle) as found:
        entries = sorted((os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in found)
    for name, is_folder in entries:
        path = prefix + name
        if name == b".git":
            if prefix:
                sorting.refuse(path, "a nested repository's own folder; its files are taken as ordinary files")
        elif not is_folder:
            yield path
        elif depth >= DEEPEST:
            sorting.refuse(path, f"more than {DEEPEST} folders deep")
        else:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
            try:
                yield from _walk(below, sorting, path + b"/", depth + 1)
            finally:
                os.close(below)


def _in(template: Path | None, path: bytes) -> bool:
    return template is not None and os.path.lexists(os.path.join(os.fsencode(template), path))


def _not_ignored(git: Git, base: str, candidates: list[bytes]) -> list[bytes]:
    """Those paths that the base commit's ignore files, and :data:`LEFTOVERS`, do not ignore."""
    if not candidates:
        return []
    with tempfile.TemporaryDirectory(prefix="autobuild-ignore-") as name:
        folder = Path(name)
        rules = folder / "leftovers"
        rules.write_text(LEFTOVERS)
        tree = folder / "tree"
        tree.mkdir()
        for path in git.paths(base):
            if path.rsplit("/", 1)[-1] == ".gitignore":
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                (tree / path).write_bytes(git.read(base, path) or b"")
        ignored = git.ignored(candidates, tree, rules)
    return [path for path in candidates if path not in ignored]
