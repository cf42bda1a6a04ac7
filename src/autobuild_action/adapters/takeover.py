"""Taking a tree back from an agent: our own walk, path by path, so that nothing is run and nothing silently lost.

Tracked files are compared by the stat data of an index only we can write; everything else is found by walking with
directory handles that follow no link. Each path ends as an entry, a removal, a refusal, or is ignored as the
*base* commit's ``.gitignore`` files say: what the agent wrote about ignoring, attributes or git does not count.
"""

from __future__ import annotations

import filecmp
import os
import stat
import tempfile
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autobuild_action import paths
from autobuild_action.model import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autobuild_action.adapters.checkout import Checkout
    from autobuild_action.adapters.git import Git

MOST_PATHS_KEPT = 500
DEEPEST = 200
LONGEST_NAME = 500
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
    changed, gone = checkout.changed()
    tracked = checkout.tracked()
    root = os.open(checkout.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = [path for path in _walk(root, sorting) if path not in tracked]
    finally:
        os.close(root)
    new = [path for path in _not_ignored(checkout.git, base, found) if not _lent(template, checkout.folder, path)]
    removed = [path for path in gone if sorting.allowed(path)]
    fitting = _fitting(new, tracked.difference(removed), set(gone).difference(removed), sorting) if new else []
    for path in changed + fitting:
        sorting.sort(checkout.folder, path)
    ids = checkout.git.blobs([path for _, path in sorting.files], cwd=checkout.folder)
    entries = [(mode, id_, path) for (mode, path), id_ in zip(sorting.files, ids, strict=True)]
    entries += [("120000", checkout.git.blob(target), path) for path, target in sorting.links]
    tree, left_out = checkout.record(entries, removed)
    for path in sorted(left_out):
        sorting.refuse(path, "git holds its name to be dangerous")
    names = sorted({shown(path) for path in {path for _, _, path in entries}.difference(left_out).union(removed)})
    return Taken(
        tree=tree,
        paths=tuple(names)[:MOST_PATHS_KEPT],
        refused=_capped(sorting.refused),
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
    size: int = 0

    def sort(self, folder: Path, path: bytes) -> None:
        """Put one existing path on the list it belongs to."""
        if not self.allowed(path):
            return
        full = os.path.join(os.fsencode(folder), path)
        try:
            state = os.lstat(full)
        except OSError as exc:
            self.refuse(path, f"it can't be looked at: {exc.strerror}")
            return
        if stat.S_ISLNK(state.st_mode):
            self._link(path, os.readlink(full))
        elif why := _file_refusal(path, full, state) or self._one_too_many(state.st_size):
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
        name = shown(path)
        self.refused.append(Refused(path=name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…", why=why))

    def _link(self, path: bytes, target: bytes) -> None:
        why = paths.link_refusal(os.fsdecode(path), os.fsdecode(target))
        if why:
            self.refuse(path, why)
        else:
            self.links.append((path, target))

    def _one_too_many(self, size: int) -> str | None:
        if len(self.files) >= paths.MOST_FILES:
            return f"more than {paths.MOST_FILES} files in one turn"
        if self.size + size > paths.MOST_BYTES:
            return f"more than {paths.MOST_BYTES:,} bytes in one turn"
        self.size += size
        return None


def _file_refusal(path: bytes, full: bytes, state: os.stat_result) -> str | None:
    if not stat.S_ISREG(state.st_mode):
        return SPECIAL.get(stat.S_IFMT(state.st_mode), "not a regular file")
    if state.st_nlink > 1:
        return "a hard link, whose other name may be anywhere"
    if state.st_size > paths.LARGEST_FILE:
        return f"{state.st_size:,} bytes; at most {paths.LARGEST_FILE:,} are taken"
    if not os.access(full, os.R_OK):
        return "it cannot be read"
    if path.lower().endswith(b".gitattributes"):
        return paths.content_refusal(os.fsdecode(path), Path(os.fsdecode(full)).read_bytes())
    return None


def _fitting(new: list[bytes], staying: set[bytes], kept_back: set[bytes], sorting: _Sorting) -> list[bytes]:
    """The new paths that neither push out one that stays nor are the same as another to some file systems."""
    folders = {folder for path in kept_back for folder in _folders(path)}
    names = {_folded(path): path for path in staying}
    fitting = []
    for path in new:
        if above := next((folder for folder in _folders(path) if folder in staying), None):
            sorting.refuse(path, f"it lies below `{shown(above)}`, which stays as it was")
        elif path in folders:
            sorting.refuse(path, "it would replace a folder of which something has to stay")
        elif (other := names.setdefault(_folded(path), path)) != path:
            sorting.refuse(path, f"its name is that of `{shown(other)}` where case and Unicode forms don't count")
        else:
            fitting.append(path)
    return fitting


def _folders(path: bytes) -> Iterator[bytes]:
    while path := path.rpartition(b"/")[0]:
        yield path


def _folded(path: bytes) -> bytes:
    """A name as file systems see it that know neither case nor forms of Unicode."""
    if path.isascii():
        return path.lower()
    return os.fsencode(unicodedata.normalize("NFC", unicodedata.normalize("NFC", os.fsdecode(path)).casefold()))


def _capped(refused: list[Refused]) -> tuple[Refused, ...]:
    """At most :data:`MOST_PATHS_KEPT`, the last of which says how many more there were."""
    if len(refused) <= MOST_PATHS_KEPT:
        return tuple(refused)
    more = len(refused) - MOST_PATHS_KEPT + 1
    return (*refused[: MOST_PATHS_KEPT - 1], Refused(path="…", why=f"{more:,} more paths were refused"))


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
            try:
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
            except OSError as exc:
                sorting.refuse(path, f"the folder can't be opened: {exc.strerror}")
                continue
            try:
                yield from _walk(below, sorting, path + b"/", depth + 1)
            finally:
                os.close(below)


def _lent(template: Path | None, folder: Path, path: bytes) -> bool:
    """True where a path is from the template and still is what it was."""
    if template is None:
        return False
    ours, theirs = (Path(os.fsdecode(os.path.join(os.fsencode(top), path))) for top in (template, folder))
    try:
        was, now = ours.lstat(), theirs.lstat()
    except OSError:
        return False
    if was.st_mode != now.st_mode or was.st_size != now.st_size:
        return False
    if was.st_mtime_ns == now.st_mtime_ns:
        return True
    return stat.S_ISREG(now.st_mode) and filecmp.cmp(ours, theirs, shallow=False)


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
