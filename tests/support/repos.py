"""Real repositories and trees, small: what is in them, byte by byte, and what a walk finds that follows nothing."""

from __future__ import annotations

import os
import pickle
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

from autobuild_action.adapters.git import Author, Git, Remote
from autobuild_action.adapters.workspace import PLAYER, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from autobuild_action.adapters.takeover import Taken

T = TypeVar("T")
ROOT = os.geteuid() == 0
NOBODY = 65534
AUTHOR = Author(name="autobuild", email="autobuild@example.org")
EXECUTABLE, LINK, SUBMODULE = "100755", "120000", "160000"
Content = bytes | str | tuple[str, bytes]
"""A plain file's content, or a mode and the content, a link's target or a submodule's commit."""

Entry = tuple[str, bytes]


def bare(folder: Path, remote: Remote | None = None) -> Git:
    git = Git(folder, remote)
    git.create()
    return git


def commit(git: Git, files: Mapping[str, Content], *parents: str, message: str = "Base") -> str:
    """A commit of exactly these files."""
    index = git.folder / "builders-index"
    index.unlink(missing_ok=True)
    lines = b""
    for path, content in files.items():
        mode, data = entry(content)
        id_ = data.decode() if mode == SUBMODULE else git.blob(data)
        lines += f"{mode} {id_}\t".encode() + os.fsencode(path) + b"\0"
    git.run("update-index", "-z", "--index-info", stdin=lines, index=index)
    tree = git.run("write-tree", index=index).decode().strip()
    return git.commit(tree, parents, message, AUTHOR)


def entry(content: Content) -> Entry:
    if isinstance(content, tuple):
        return content
    return "100644", content.encode() if isinstance(content, str) else content


def entries(files: Mapping[str, Content]) -> dict[str, Entry]:
    return {path: entry(content) for path, content in files.items()}


def files_of(git: Git, tree: str) -> dict[str, Entry]:
    """Path to mode and content of everything in a tree."""
    rows = [row.split(b"\t", 1) for row in git.run("ls-tree", "-r", "-z", tree).split(b"\0") if row]
    found = {os.fsdecode(path): meta.decode().split() for meta, path in rows}
    contents = blobs(git, [id_ for _, kind, id_ in found.values() if kind == "blob"])
    return {path: (mode, contents.get(id_, id_.encode())) for path, (mode, _, id_) in found.items()}


def blobs(git: Git, ids: Iterable[str]) -> dict[str, bytes]:
    """Id to content, all in one call."""
    rest = git.run("cat-file", "--batch", stdin="".join(f"{id_}\n" for id_ in ids).encode())
    found = {}
    while rest:
        head, _, rest = rest.partition(b"\n")
        id_, _, size = head.decode().split()
        found[id_], rest = rest[: int(size)], rest[int(size) + 1 :]
    return found


def walk(folder: Path) -> dict[str, tuple[str, int, bytes]]:
    """Everything below a folder but its own ``.git``: kind, permissions, and content or target."""
    found = {}
    waiting = [path for path in folder.iterdir() if path.name != ".git"]
    while waiting:
        path = waiting.pop()
        state = path.lstat()
        kind = stat.filemode(state.st_mode)[0]
        content = path.read_bytes() if kind == "-" else os.fsencode(path.readlink()) if kind == "l" else b""
        found[str(path.relative_to(folder))] = (kind, stat.S_IMODE(state.st_mode), content)
        waiting += path.iterdir() if kind == "d" else ()
    return found


def write(folder: Path, path: str, content: bytes | str = "new\n") -> Path:
    """A file, with the folders it needs."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def deep(folder: Path, name: str, depth: int) -> None:
    """Folders in folders, deeper than a path can say, with a file in the last."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def keep(_: Path) -> bool:
    """Hand a tree over to nobody else."""
    return False


def played(workspace: Workspace, base: str, change: Callable[[Path], object]) -> Taken:
    """A Player's session that makes this change, and its tree taken over."""
    change(workspace.prepare(PLAYER, base, keep))
    return workspace.take(base)


def as_nobody(folder: Path, call: Callable[[], T]) -> T:
    """What ``call`` answers in a child process without root's rights, which may write in ``folder``."""
    if not ROOT:
        return call()
    os.chown(folder, NOBODY, NOBODY)
    read, wrote = os.pipe()
    child = os.fork()
    if not child:
        _answer_as_nobody(call, wrote)
    os.close(wrote)
    with os.fdopen(read, "rb") as pipe:
        answer = pickle.load(pipe)  # noqa: S301  our own child wrote it
    os.waitpid(child, 0)
    if isinstance(answer, BaseException):
        raise answer
    return cast("T", answer)


def _answer_as_nobody(call: Callable[[], object], wrote: int) -> NoReturn:
    try:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        answer = call()
    except BaseException as exc:  # noqa: BLE001  the parent raises it
        answer = exc
    with os.fdopen(wrote, "wb") as pipe:
        pickle.dump(answer, pipe)
    os._exit(0)
