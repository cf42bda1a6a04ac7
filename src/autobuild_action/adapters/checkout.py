"""Checkouts: work trees that are handed to somebody untrusted, read when they come back, and made whole again.

What was changed is told by the stat data of an index that only we see, by the system's own time of change where that
could be forged, and byte by byte in the end. Nothing of the tree configures any of it.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from autobuild_action.adapters.git import Author, Git, GitError, Remote, terminated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PATHS_A_CALL = 500
BYTES_A_CALL = 50_000
SUBMODULE = "160000"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
LONG_AGO = "946684800 +0000"
AGENTS_CONFIG = """\
[core]
	repositoryformatversion = 0
	bare = false
[user]
	name = agent
	email = agent@localhost
"""


class Checkout:
    """A work tree of ours that is kept and brought back to a commit, with an index that only we see."""

    def __init__(self, git: Git, folder: Path, index: Path) -> None:
        """Check out into ``folder``; ``index`` lies outside of it."""
        self.git = git
        self.folder = folder
        self._index = index

    def restore(self, commit: str, *, template: Path | None = None) -> None:
        """Make the folder exactly ``commit``, plus the files of ``template`` that the commit lacks."""
        try:
            self._bring_back(commit)
        except (GitError, OSError, subprocess.SubprocessError):  # too odd to mend: begin anew
            _remove([os.fsencode(path) for path in (self.folder, self._index, f"{self._index}.lock")])
            self._bring_back(commit)
        if template:
            _fill(template, self.folder)

    def _bring_back(self, commit: str) -> None:
        """What does not belong goes first: git would look through a link in a folder's place and find all well."""
        self._stand()
        listed = self.git.run("ls-tree", "-r", "-z", commit).split(b"\0")
        entries = {path: meta for meta, _, path in (row.partition(b"\t") for row in listed if row)}
        modules = {path for path, meta in entries.items() if meta.startswith(SUBMODULE.encode())}
        _remove(list(_strangers(os.fsencode(self.folder), set(entries), modules)))
        if young := self._young():  # git would take them for untouched
            self._run("update-index", "-z", "--force-remove", "--stdin", stdin=terminated(young))
        self._run("read-tree", "--reset", "-u", commit)
        if gone := self._stale()[1]:
            raise GitError(f"{len(gone)} files did not come back.")

    def _stand(self) -> None:
        """See to it that the folder is one, whatever an agent put in its place."""
        if self.folder.is_symlink() or not self.folder.is_dir():
            self.folder.unlink(missing_ok=True)
            self.folder.mkdir(parents=True)

    def settle(self) -> None:
        """Note the files' state anew after their owner was changed, so that only later changes count."""
        self._run("update-index", "-q", "--refresh")

    def hand_over(self) -> None:
        """From now on the tree is somebody else's."""
        self._handed_over.unlink(missing_ok=True)
        self._handed_over.touch()

    @property
    def _handed_over(self) -> Path:
        """A file that was made at the hand-over, by the clock of the tree's own file system."""
        return self._index.with_name(f"{self._index.name}.handed-over")

    def changed(self) -> tuple[list[bytes], list[bytes]]:
        """Tracked paths whose file isn't as in the index, and those that are gone.

        Stat data tells which to look at; those are compared byte by byte, so that a file written anew as it was
        counts as unchanged. No filter runs: attributes in the tree cannot matter. Submodules are passed over.
        """
        self._stand()
        suspects, gone = self._stale()
        suspects += [path for path in self._young() if path not in {*suspects, *gone}]
        return self._differing(suspects), gone

    def _stale(self) -> tuple[list[bytes], list[bytes]]:
        """Tracked paths whose stat data is not the index's, and those that are gone."""
        fields = self._run("diff-files", "--raw", "-z", "--no-renames", "--ignore-submodules=all").split(b"\0")
        pairs = zip(fields[::2], fields[1::2], strict=False)
        found = [(meta.rsplit(b" ", 1)[-1], path) for meta, path in pairs if not meta.startswith(b":160000")]
        return [path for state, path in found if state != b"D"], [path for state, path in found if state == b"D"]

    def _young(self) -> list[bytes]:
        """Tracked files touched since the hand-over although git may take them for untouched.

        It compares whole seconds, so that a file changed within the second of its hand-over looks clean when it has
        its old size and a forged time of modification. The system's own time of change can't be forged.
        """
        if not (self._handed_over.exists() and self._index.exists()):
            return []
        since = self._handed_over.stat().st_ctime_ns
        recorded = _times_of_change(self._index.read_bytes())
        return [path for path, second in recorded if second >= since // 10**9 and self._touched(path) >= since]

    def _touched(self, path: bytes) -> int:
        with suppress(OSError):
            return os.lstat(os.path.join(os.fsencode(self.folder), path)).st_ctime_ns
        return 0

    def _differing(self, suspects: Sequence[bytes]) -> list[bytes]:
        if not suspects:
            return []
        entries = self._entries(suspects)
        suspects = [path for path in suspects if entries[path][0] != SUBMODULE]
        ids = [entries[path][1] for path in suspects]
        shapes = [(entries[path][0], size) for path, size in zip(suspects, self.git.sizes(ids), strict=True)]
        alike = [path for path, shape in zip(suspects, shapes, strict=True) if self._shape(path) == shape]
        now = dict(zip(alike, self.git.blobs(alike, cwd=self.folder, store=False), strict=True))
        return [path for path, id_ in zip(suspects, ids, strict=True) if now.get(path) != id_]

    def _shape(self, path: bytes) -> tuple[str, int]:
        """A regular file's mode as git notes it (empty where there is nothing to read), and its size."""
        full = os.path.join(os.fsencode(self.folder), path)
        state = os.lstat(full)
        readable = stat.S_ISREG(state.st_mode) and os.access(full, os.R_OK)
        return ("" if not readable else "100755" if state.st_mode & 0o111 else "100644"), state.st_size

    def tracked(self) -> set[bytes]:
        """The paths in the index."""
        return set(self._run("ls-files", "-z").split(b"\0")) - {b""}

    def remove_tracked(self) -> None:
        """Leave only what is not tracked."""
        self._run("read-tree", "--reset", "-u", EMPTY_TREE)

    def _entries(self, paths: Sequence[bytes]) -> dict[bytes, tuple[str, str]]:
        """The index at ``paths`` (all of it, where they are too many to name): path to mode and object id."""
        named = [os.fsdecode(path) for path in paths] if sum(map(len, paths)) <= BYTES_A_CALL else []
        listed = self._run("--literal-pathspecs", "ls-files", "--stage", "-z", "--", *named)
        rows = (row.split(b"\t", 1) for row in listed.split(b"\0") if row)
        return {path: (meta[:6].decode(), meta[7:-2].decode()) for meta, path in rows}

    def record(self, entries: Sequence[tuple[str, str, bytes]], gone: Sequence[bytes]) -> tuple[str, set[bytes]]:
        """Put (mode, id, path) entries and removals into the index; answers the tree, and what git left out.

        It passes over a path that it holds to be dangerous, and says so in passing only.
        """
        lines = [f"{mode} {id_}\t".encode() + path for mode, id_, path in entries]
        lines += [b"0 " + b"0" * 40 + b"\t" + path for path in gone]
        if lines:
            self._run("update-index", "-z", "--index-info", stdin=terminated(lines))
        there = self._entries([path for _, _, path in entries]) if entries else {}
        left_out = {path for mode, id_, path in entries if there.get(path) != (mode, id_)}
        return self._run("write-tree").decode().strip(), left_out

    def _run(self, *args: str, stdin: bytes = b"") -> bytes:
        return self.git.run(*args, work=self.folder, index=self._index, stdin=stdin)

    def seed(self, commit: str, store: Path) -> None:
        """Give the folder a throw-away ``.git`` (one commit of its tree, no remote), made in ``store``.

        Agents may use it as they like; we never read it. The copy of our index spares their first ``git status``
        reading every file.
        """
        root = _root(self.git, commit, store)
        target = self.folder / ".git"
        shutil.copytree(store, target)
        (target / "config").write_text(AGENTS_CONFIG)
        (target / "HEAD").write_text(f"{root}\n")
        shutil.copyfile(self._index, target / "index")


def _root(git: Git, commit: str, store: Path) -> str:
    """A commit of the same tree without history, the same one whenever asked; ``store`` has it and nothing else."""
    Git(store).create()
    author = Author(name="autobuild", email="autobuild@localhost")
    root = git.commit(git.tree(commit), (), "The tree as it is before this session\n", author, at=LONG_AGO)
    if not Git(store).text("for-each-ref", f"refs/seeds/{root}"):
        earlier = Git(store).text("for-each-ref", "--format=delete %(refname)", "refs/seeds/")
        Git(git.folder, Remote(url=str(store))).run("push", "--quiet", str(store), f"{root}:refs/seeds/{root}")
        Git(store).run("update-ref", "--stdin", stdin=f"{earlier}\n".encode() if earlier else b"")
    return root


def _times_of_change(index: bytes) -> Iterator[tuple[bytes, int]]:
    """Path and recorded time of change, in seconds, of every entry of an index file (gitformat-index, version 2)."""
    start = 12
    for _ in range(int.from_bytes(index[8:12], "big")):
        end = index.index(b"\0", start + 62)
        yield index[start + 62 : end], int.from_bytes(index[start : start + 4], "big")
        start += (end - start + 8) & ~7


def _strangers(folder: bytes, tracked: set[bytes], modules: set[bytes]) -> Iterator[bytes]:
    """Full paths of all that is not tracked, or not the kind of thing that is; folders get their usual mode.

    ``git clean`` leaves pipes, sockets and the ``.git`` of a nested repository whose files are tracked. The walk goes
    down by handles that follow no link, so that a link in a folder's place is a stranger and never a way out.
    """
    folders = {b""}
    for path in tracked:
        while (path := path.rpartition(b"/")[0]) not in folders:
            folders.add(path)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield from _strangers_below(handle, folder, b"", (folders, tracked, modules))
    finally:
        os.close(handle)


def _strangers_below(
    handle: int, folder: bytes, prefix: bytes, known: tuple[set[bytes], set[bytes], set[bytes]]
) -> Iterator[bytes]:
    folders, tracked, modules = known
    os.fchmod(handle, 0o755)  # the sandbox decides who may reach the tree
    with os.scandir(handle) as found:
        entries = [(os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in found]
    for name, is_folder in entries:
        path = prefix + name
        if is_folder and (path in folders or path in modules):
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
            try:
                yield from _strangers_below(below, folder, path + b"/", known)
            finally:
                os.close(below)
        elif is_folder or path not in tracked:
            yield os.path.join(folder, path)


def _remove(paths: Sequence[bytes]) -> None:
    """Remove files and whole folders, however deep they are and whatever their modes."""
    for start in range(0, len(paths), PATHS_A_CALL):
        some = paths[start : start + PATHS_A_CALL]
        remove = [b"rm", b"-rf", b"--", *some]
        if subprocess.run(remove, check=False, capture_output=True).returncode != 0:
            subprocess.run([b"chmod", b"-R", b"u+rwX", b"--", *some], check=False, capture_output=True)
            subprocess.run(remove, check=True, capture_output=True)


def _fill(template: Path, folder: Path) -> None:
    """Copy what ``folder`` lacks from ``template``, links as links, times kept; what is there stays."""
    lacking = []
    with os.scandir(template) as found:
        for entry in found:
            here = folder / entry.name
            if not os.path.lexists(here):
                lacking.append(entry.path)
            elif entry.is_dir(follow_symlinks=False) and here.is_dir() and not here.is_symlink():
                _fill(Path(entry.path), here)
    for start in range(0, len(lacking), PATHS_A_CALL):
        copy = ["cp", "--archive", "--reflink=auto", f"--target-directory={folder}", "--"]
        subprocess.run([*copy, *lacking[start : start + PATHS_A_CALL]], check=True, capture_output=True)
