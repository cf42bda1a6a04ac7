"""Every path of a hostile tree ends committed, removed, refused by name or ignored; then the tree is brought back."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from autobuild_action import paths
from autobuild_action.adapters.git import Git
from autobuild_action.adapters.takeover import MOST_PATHS_KEPT, Taken, shown
from autobuild_action.adapters.workspace import PLAYER, Workspace
from tests.support.repos import (
    AUTHOR,
    EXECUTABLE,
    LINK,
    ROOT,
    SUBMODULE,
    Content,
    as_nobody,
    bare,
    commit,
    deep,
    entries,
    files_of,
    keep,
    played,
    walk,
    write,
)

MIB = 2**20
BASE: Mapping[str, Content] = {
    ".github/workflows/ci.yml": "on: push\n",
    ".gitignore": "*.log\n/build/\n",
    "CLAUDE.md": "Be good.\n",
    "README.md": "# A project\n",
    "docs/CLAUDE.md": "Be short.\n",
    "docs/guide.md": "Guide\n",
    "latest": (LINK, b"src/app.py"),
    "run.sh": (EXECUTABLE, b"#!/bin/sh\n"),
    "src/app.py": "print(1)\n",
    "src/util/io.py": "x = 1\n",
}
Change = Callable[[Path], object]
Result = tuple[dict[str, tuple[str, bytes]], dict[str, str], bool]


@dataclass(frozen=True)
class Case:
    """What a Player did to :data:`BASE`, and where each of the paths ends."""

    change: Change
    committed: Mapping[str, Content] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """path as shown, and words of the reason"""
    base: Mapping[str, Content] = field(default_factory=dict)
    """more of the base commit"""


def many(*changes: Change) -> Change:
    def change(tree: Path) -> None:
        for one in changes:
            one(tree)

    return change


def wrote(path: str, content: bytes | str = "new\n") -> Change:
    return lambda tree: write(tree, path, content)


def removed(path: str) -> Change:
    return lambda tree: shutil.rmtree(tree / path) if (tree / path).is_dir() else (tree / path).unlink()


def linked(path: str, target: str | Path) -> Change:
    return lambda tree: (tree / path).symlink_to(target)


def moded(path: str, mode: int) -> Change:
    return lambda tree: (tree / path).chmod(mode)


def as_bytes(name: bytes) -> Change:
    return lambda tree: (tree / os.fsdecode(name)).write_bytes(b"new\n")


def listening(path: str) -> Change:
    def change(tree: Path) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(tree / path))

    return change


def fifo(path: str) -> Change:
    return lambda tree: os.mkfifo(tree / path)


def git(*command: str, at: str = ".") -> Change:
    """The Player's own git, as configured by the Player."""
    identity = {f"GIT_{who}_{what}": "p@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **identity}
    return lambda tree: subprocess.run(["git", *command], cwd=tree / at, env=env, check=True, capture_output=True)


def forged(path: str, content: str) -> Change:
    """Changed at once after the hand-over, of the same size, with the old time of modification."""

    def change(tree: Path) -> None:
        file = tree / path
        before = file.stat()
        assert before.st_size == len(content)
        file.write_text(content)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    return change


def same_again(*names: str) -> Change:
    """Files written anew, just as they were."""

    def change(tree: Path) -> None:
        for name in names:
            content = (tree / name).read_bytes()
            (tree / name).unlink()
            (tree / name).write_bytes(content)

    return change


def sparse(path: str, size: int) -> Change:
    def change(tree: Path) -> None:
        with (tree / path).open("wb") as file:
            file.truncate(size)

    return change


def everything_gone(tree: Path) -> None:
    for path in tree.iterdir():
        removed(path.name)(tree)


NAMES = (
    "two\nlines.py",
    "tab\there.py",
    "-rf",
    "--help",
    "$(id).py",
    "`id`.py",
    "; rm -rf x",
    '"quoted',
    '"\\057etc\\057hostname"',
    '"..\\057..\\057README.md"',
    "return\r",
    ":!magic",
    ":(exclude)magic",
    ":(glob)**",
    ":/top",
    "back\\slash",
    "*",
    "[a]",
    " space ",
    "über/naïve.py",
    "\u202egnp.py",
    "\x1b[31mred",
    "e" * 255,
)
NOT_UTF8 = (b"caf\xe9.py", b"\xf0\x9f", b'\xff\n"')
LIKE_GIT = {
    ".GIT": "git directory",
    "git~1": "git directory",
    ".git::$INDEX_ALLOCATION": "git directory",
    ".git ": "git directory",
    ".git.": "git directory",
    ".git:x": "git directory",
    "git~1.": "git directory",
    ".git\\x": "git directory",
    ".g\u200cit": "git directory",
}
NESTED = "a nested repository's own folder"
OUTSIDE = Path("/etc")
E_NFC, E_NFD = "é.py", unicodedata.normalize("NFD", "é.py")

CASES: dict[str, Case] = {
    # H-36, H-37: names
    **{
        f"nothing but the name {name}": Case(wrote(name), committed={name: "new\n"})
        for name in (":/top", ":(top)x", ":(nonsense)x", ":(attr:x)y", ":!x", "[a]", "*")
    },
    "odd names": Case(many(*map(wrote, NAMES)), committed=dict.fromkeys(NAMES, "new\n")),
    "names that are not UTF-8": Case(
        many(*map(as_bytes, NOT_UTF8)), committed={os.fsdecode(name): "new\n" for name in NOT_UTF8}
    ),
    # H-25, H-27, H-28, H-30: git
    "a nested repository": Case(
        many(
            wrote("vendor/lib/a.py"),
            git("init", "-q", at="vendor/lib"),
            git("add", ".", at="vendor/lib"),
            git("commit", "-qm", "x", at="vendor/lib"),
            wrote("vendor/lib/b.py"),
        ),
        committed={"vendor/lib/a.py": "new\n", "vendor/lib/b.py": "new\n"},
        refused={"vendor/lib/.git": NESTED},
    ),
    "an empty nested repository": Case(
        many(wrote("vendor/x"), git("init", "-q", "inner", at="vendor")),
        committed={"vendor/x": "new\n"},
        refused={"vendor/inner/.git": NESTED},
    ),
    "a repository in a tracked folder": Case(
        many(git("init", "-q", at="src"), wrote("src/app.py")),
        committed={"src/app.py": "new\n"},
        refused={"src/.git": NESTED},
    ),
    "a nested work tree's pointer": Case(wrote("sub/.git", "gitdir: /\n"), refused={"sub/.git": NESTED}),
    "its own .git deleted": Case(many(removed(".git"), wrote("x.py")), committed={"x.py": "new\n"}),
    "its own .git made a file": Case(
        many(removed(".git"), wrote(".git", "gitdir: /\n"), wrote("x.py")), committed={"x.py": "new\n"}
    ),
    "its own .git made a link": Case(many(removed(".git"), linked(".git", "/")), committed={}),
    "its own history rewritten and its tree committed": Case(
        many(
            wrote("x.py"),
            git("checkout", "-q", "--orphan", "other"),
            git("add", "."),
            git("commit", "-qm", "all mine"),
            wrote("README.md"),
        ),
        committed={"x.py": "new\n", "README.md": "new\n"},
    ),
    "changes hidden by assume-unchanged": Case(
        many(git("update-index", "--assume-unchanged", "README.md"), wrote("README.md")),
        committed={"README.md": "new\n"},
    ),
    "changes hidden by skip-worktree": Case(
        many(git("update-index", "--skip-worktree", "README.md"), wrote("README.md")), committed={"README.md": "new\n"}
    ),
    "a sparse checkout": Case(
        git("sparse-checkout", "set", "--no-cone", "/README.md"),
        removed=("run.sh", "latest", "src/app.py", "src/util/io.py", "docs/guide.md", ".gitignore"),
        refused={
            ".github/workflows/ci.yml": "people only",
            "CLAUDE.md": "instructs agents",
            "docs/CLAUDE.md": "instructs agents",
        },
    ),
    "files hidden by info/exclude": Case(
        many(wrote(".git/info/exclude", "*\n"), wrote("x.py")), committed={"x.py": "new\n"}
    ),
    "files hidden by its own .gitignore": Case(
        many(wrote(".gitignore", "*\n"), wrote("x.py"), wrote("sub/.gitignore", "*\n"), wrote("sub/y.py")),
        committed={".gitignore": "*\n", "x.py": "new\n", "sub/.gitignore": "*\n", "sub/y.py": "new\n"},
    ),
    "files that the base ignores, whatever its own .gitignore says": Case(
        many(wrote(".gitignore", "!*\n"), wrote("debug.log"), wrote("build/out"), wrote("sub/build/out")),
        committed={".gitignore": "!*\n", "sub/build/out": "new\n"},
    ),
    "what building and testing leaves behind": Case(
        many(
            *map(
                wrote,
                ("__pycache__/x.pyc", "src/__pycache__/x.pyc", "a.pyc", ".venv/bin/python", "node_modules/x/x.js"),
            ),
            *map(wrote, (".pytest_cache/v", ".coverage", "x.egg-info/PKG-INFO", ".DS_Store", "target/x")),
        ),
    ),
    "leftovers that the project keeps": Case(
        many(wrote("node_modules/x/x.js"), wrote("a.pyc")),
        base={".gitignore": "!node_modules/\n"},
        committed={"node_modules/x/x.js": "new\n"},
    ),
    "an ignored file that is tracked": Case(
        wrote("kept.log"), base={"kept.log": "old\n"}, committed={"kept.log": "new\n"}
    ),
    # H-29: attributes, submodules
    "submodules declared": Case(
        wrote(".gitmodules", '[submodule "x"]\n\turl = --upload-pack=id\n'), refused={".gitmodules": "submodules"}
    ),
    "files below a submodule": Case(
        many(wrote("sub/x.py"), wrote("y.py")),
        base={"sub": (SUBMODULE, b"1" * 40)},
        committed={"y.py": "new\n"},
        refused={"sub/x.py": "`sub`, which stays"},
    ),
    "a submodule's folder removed": Case(removed("sub"), base={"sub": (SUBMODULE, b"1" * 40)}),
    "attributes that name a driver": Case(
        many(
            wrote(".gitattributes", "*.py filter=lfs\n"),
            wrote("src/.gitattributes", "* working-tree-encoding=UTF-16\n"),
        ),
        refused={".gitattributes": "attributes that name", "src/.gitattributes": "attributes that name"},
    ),
    "attributes without a driver, and files as they are": Case(
        many(wrote(".gitattributes", "* text eol=crlf ident\n"), wrote("x.txt", "$Id$\nlf\ncrlf\r\n")),
        committed={".gitattributes": "* text eol=crlf ident\n", "x.txt": "$Id$\nlf\ncrlf\r\n"},
    ),
    # H-31 to H-35: links and special files
    "a link to a file outside": Case(linked("shadow", "/etc/shadow"), refused={"shadow": "absolute path"}),
    "a link to the root": Case(linked("all", "/"), refused={"all": "absolute path"}),
    "a link that climbs out": Case(linked("src/up", "../../secret"), refused={"src/up": "out of the tree"}),
    "links that stay inside": Case(
        many(linked("src/readme", "../README.md"), linked("nowhere", "not/there"), linked("here", ".")),
        committed={
            "src/readme": (LINK, b"../README.md"),
            "nowhere": (LINK, b"not/there"),
            "here": (LINK, b"."),
        },
    ),
    "a link whose target is not UTF-8": Case(
        linked("cafe", os.fsdecode(b"caf\xe9")), committed={"cafe": (LINK, b"caf\xe9")}
    ),
    "a tracked file swapped for a link outside": Case(
        many(removed("README.md"), linked("README.md", "/etc/hostname")), refused={"README.md": "absolute path"}
    ),
    "a tracked file swapped for a link inside": Case(
        many(removed("README.md"), linked("README.md", "run.sh")), committed={"README.md": (LINK, b"run.sh")}
    ),
    "a tracked folder swapped for a link outside": Case(
        many(removed("src"), linked("src", OUTSIDE)),
        removed=("src/app.py", "src/util/io.py"),
        refused={"src": "absolute path"},
    ),
    "a tracked folder swapped for a link inside": Case(
        many(wrote("other/app.py", "print(1)\n"), removed("src"), linked("src", "other")),
        committed={"other/app.py": "print(1)\n", "src": (LINK, b"other")},
        removed=("src/app.py", "src/util/io.py"),
    ),
    "a tracked link swapped for a file": Case(many(removed("latest"), wrote("latest")), committed={"latest": "new\n"}),
    "a tracked link turned elsewhere": Case(
        many(removed("latest"), linked("latest", "run.sh")), committed={"latest": (LINK, b"run.sh")}
    ),
    "a named pipe": Case(
        many(fifo("pipe"), wrote("x.py")), committed={"x.py": "new\n"}, refused={"pipe": "named pipe"}
    ),
    "a tracked file swapped for a pipe": Case(
        many(removed("README.md"), fifo("README.md")), refused={"README.md": "named pipe"}
    ),
    "a socket": Case(listening("s"), refused={"s": "a socket"}),
    "a hard link to a tracked file": Case(
        lambda tree: os.link(tree / "README.md", tree / "again"), refused={"again": "hard link"}
    ),
    # H-38, H-39: names that are the same somewhere
    "the same name but for case": Case(wrote("readme.md"), refused={"readme.md": "`README.md`"}),
    "two new names that are the same but for case": Case(
        many(wrote("Add.py"), wrote("add.py")), committed={"Add.py": "new\n"}, refused={"add.py": "`Add.py`"}
    ),
    "two new names that are the same but for the form of Unicode": Case(
        many(wrote(E_NFC), wrote(E_NFD)), committed={E_NFD: "new\n"}, refused={E_NFC: f"`{E_NFD}`"}
    ),
    "a file renamed in nothing but case": Case(
        many(removed("README.md"), wrote("readme.md")), committed={"readme.md": "new\n"}, removed=("README.md",)
    ),
    "names that some system takes for .git": Case(
        many(*(wrote(f"{name}/config") for name in LIKE_GIT), wrote("x.py")),
        committed={"x.py": "new\n"},
        refused={f"{shown(os.fsencode(name))}/config": words for name, words in LIKE_GIT.items()},
    ),
    "a link that NTFS takes for .gitmodules": Case(linked("GITMOD~1", "README.md"), refused={"GITMOD~1": "dangerous"}),
    # H-40 to H-46: sizes and modes
    "300 folders deep": Case(
        many(lambda tree: deep(tree, "n", 300), wrote("x.py")),
        committed={"x.py": "new\n"},
        refused={"n/" * 200 + "n": "200 folders deep"},
    ),
    "1,100 folders deep": Case(lambda tree: deep(tree, "n", 1100), refused={"n/" * 200 + "n": "200 folders deep"}),
    "a path longer than the system takes": Case(
        many(lambda tree: deep(tree, "n" * 250, 20), wrote("x.py")),
        committed={"x.py": "new\n"},
        refused={f"{'n' * 250}/{'n' * 249}…": "longer than 4000 bytes"},
    ),
    "such a path where a file was": Case(
        many(
            removed("README.md"),
            lambda tree: (tree / "README.md").mkdir(),
            lambda tree: deep(tree / "README.md", "n" * 250, 20),
        ),
        removed=("README.md",),
        refused={f"README.md/{'n' * 250}/{'n' * 239}…": "longer than 4000 bytes"},
    ),
    "a sparse file of 5 GB": Case(
        many(sparse("big", 5 * 10**9), wrote("x.py")),
        committed={"x.py": "new\n"},
        refused={"big": "5,000,000,000 bytes"},
    ),
    "a tracked file grown to 5 GB": Case(sparse("README.md", 5 * 10**9), refused={"README.md": "5,000,000,000 bytes"}),
    "a file one byte too large": Case(
        lambda tree: write(tree, "big", b"x" * (10 * MIB + 1)), refused={"big": "10,485,761 bytes"}
    ),
    "a file just small enough": Case(
        lambda tree: write(tree, "big", b"x" * 10 * MIB), committed={"big": b"x" * 10 * MIB}
    ),
    "an empty file": Case(wrote("empty", b""), committed={"empty": b""}),
    "bytes of every kind": Case(wrote("bin", bytes(range(256)) * 9), committed={"bin": bytes(range(256)) * 9}),
    "an empty folder": Case(lambda tree: (tree / "empty/er").mkdir(parents=True)),
    "a setuid program": Case(many(wrote("su", "#!"), moded("su", 0o4755)), committed={"su": (EXECUTABLE, b"#!")}),
    "a tracked program made setuid, a file open to all": Case(many(moded("run.sh", 0o6777), moded("README.md", 0o666))),
    "an exec bit set, another taken": Case(
        many(moded("README.md", 0o755), moded("run.sh", 0o644)),
        committed={"README.md": (EXECUTABLE, b"# A project\n"), "run.sh": "#!/bin/sh\n"},
    ),
    "everything removed": Case(
        everything_gone,
        removed=("README.md", "run.sh", "latest", "src/app.py", "src/util/io.py", "docs/guide.md", ".gitignore"),
        refused={
            ".github/workflows/ci.yml": "people only",
            "CLAUDE.md": "instructs agents",
            "docs/CLAUDE.md": "instructs agents",
        },
    ),
    # Kinds changed, things moved
    "a file where a folder was": Case(
        many(removed("src"), wrote("src")), committed={"src": "new\n"}, removed=("src/app.py", "src/util/io.py")
    ),
    "a folder where a file was": Case(
        many(removed("README.md"), wrote("README.md/x.py")),
        committed={"README.md/x.py": "new\n"},
        removed=("README.md",),
    ),
    "a folder renamed": Case(
        lambda tree: (tree / "src").rename(tree / "lib"),
        committed={"lib/app.py": "print(1)\n", "lib/util/io.py": "x = 1\n"},
        removed=("src/app.py", "src/util/io.py"),
    ),
    "a change of the same size with a forged time": Case(
        forged("src/app.py", "print(2)\n"), committed={"src/app.py": "print(2)\n"}
    ),
    "files written anew as they were, protected ones too": Case(
        same_again(".github/workflows/ci.yml", "CLAUDE.md", "README.md", "src/app.py")
    ),
    # §6.4: what only people change
    "protected files changed, removed and made": Case(
        many(
            wrote("CLAUDE.md"),
            removed(".github"),
            wrote("sub/.github/x"),
            wrote(".Claude/settings.json"),
            wrote("x.py"),
        ),
        committed={"x.py": "new\n"},
        refused={
            "CLAUDE.md": "instructs agents",
            ".github/workflows/ci.yml": "people only",
            "sub/.github/x": "people only",
            ".Claude/settings.json": "configures agents",
        },
    ),
    "a protected file pushed out by a folder": Case(
        many(removed("CLAUDE.md"), wrote("CLAUDE.md/x")),
        refused={"CLAUDE.md": "instructs agents", "CLAUDE.md/x": "`CLAUDE.md`, which stays"},
    ),
    "a protected file pushed out by a file where its folder was": Case(
        many(removed("docs"), wrote("docs")),
        removed=("docs/guide.md",),
        refused={"docs/CLAUDE.md": "instructs agents", "docs": "something has to stay"},
    ),
    "nothing at all": Case(lambda _: None),
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """One for all: what a case leaves behind would be met by the next."""
    folder = tmp_path_factory.mktemp("takeover")
    return Workspace(bare(folder / "git"), folder / "trees", AUTHOR)


@pytest.fixture(scope="module")
def base(workspace: Workspace) -> str:
    return commit(workspace.git, BASE)


@pytest.fixture(scope="module")
def pristine(workspace: Workspace, base: str) -> dict[str, tuple[str, int, bytes]]:
    """What a walk finds in a checkout of :data:`BASE`."""
    return walk(workspace.prepare("pristine", base, keep))


def listed(taken: Taken) -> dict[str, str]:
    return {refused.path: refused.why for refused in taken.refused}


@pytest.mark.parametrize("name", CASES)
def test_every_path_ends_somewhere_and_the_tree_is_brought_back(
    workspace: Workspace, base: str, pristine: Mapping[str, object], name: str
) -> None:
    case = CASES[name]
    files = {**BASE, **case.base}
    if case.base:
        base = commit(workspace.git, files)
        pristine = walk(workspace.prepare("pristine with more", base, keep))

    taken = played(workspace, base, case.change)

    expected = {path: entry for path, entry in entries(files).items() if path not in case.removed}
    assert files_of(workspace.git, taken.tree) == expected | entries(case.committed)
    assert sorted(listed(taken)) == sorted(case.refused)
    for path, words in case.refused.items():
        assert words in listed(taken)[path]
    assert set(taken.paths) == {shown(os.fsencode(path)) for path in (*case.committed, *case.removed)}
    assert walk(workspace.prepare(PLAYER, base, keep)) == pristine
    assert not workspace.touched(PLAYER)


@pytest.mark.parametrize("name", ["a tracked folder swapped for a link outside", "a nested repository"])
def test_the_next_turn_goes_on_from_what_was_committed(workspace: Workspace, base: str, name: str) -> None:
    first = workspace.commit(1, base, played(workspace, base, CASES[name].change), "Turn 1")
    tree = workspace.prepare(PLAYER, first.commit, keep)
    fresh = workspace.prepare("fresh", first.commit, keep)
    assert walk(tree) == walk(fresh)
    write(tree, "second.py")
    second = workspace.commit(2, first.commit, workspace.take(base), "Turn 2")
    before = files_of(workspace.git, first.tree)
    assert files_of(workspace.git, second.tree) == before | entries({"second.py": "new\n"})
    assert workspace.git.text("rev-list", second.commit).split() == [second.commit, first.commit, base]


def test_links_and_folders_outside_are_neither_read_nor_cleaned(
    workspace: Workspace, base: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    for name in ("app.py", "util/io.py", "mine.txt"):
        write(outside, name, "theirs\n")
    before = walk(outside)
    taken = played(workspace, base, many(removed("src"), linked("src", outside), linked("also", outside)))
    assert all(b"theirs" not in content for _, content in files_of(workspace.git, taken.tree).values())
    workspace.prepare(PLAYER, base, keep)
    assert walk(outside) == before


@pytest.mark.parametrize(
    "put_there",
    [lambda _: None, lambda tree: tree.symlink_to("/etc"), lambda tree: tree.write_text("x"), os.mkfifo],
    ids=["nothing", "a link", "a file", "a pipe"],
)
def test_the_folder_itself_may_be_gone(
    workspace: Workspace, tmp_path: Path, put_there: Callable[[Path], object]
) -> None:
    base = commit(workspace.git, {"a.py": "1\n", "b/c.py": "2\n"})

    def change(tree: Path) -> None:
        tree.rename(tmp_path / "elsewhere")
        put_there(tree)

    taken = played(workspace, base, change)
    assert (files_of(workspace.git, taken.tree), taken.paths) == ({}, ("a.py", "b/c.py"))
    assert sorted(walk(workspace.prepare(PLAYER, base, keep))) == ["a.py", "b", "b/c.py"]


def test_of_ten_thousand_files_some_are_taken_and_the_rest_is_counted(workspace: Workspace) -> None:
    base = commit(workspace.git, {"a.py": "1\n"})

    def change(tree: Path) -> None:
        for number in range(10_000):
            (tree / f"f{number:05}").touch()

    taken = played(workspace, base, change)
    rows = workspace.git.run("ls-tree", "--name-only", taken.tree).decode().splitlines()
    assert rows == ["a.py", *(f"f{number:05}" for number in range(paths.MOST_FILES))]
    assert len(taken.refused) == len(taken.paths) == MOST_PATHS_KEPT
    assert taken.refused[0].path == f"f{paths.MOST_FILES:05}"
    assert "more than 5000 files" in taken.refused[0].why
    assert taken.refused[-1].why == f"{10_000 - paths.MOST_FILES - MOST_PATHS_KEPT + 1:,} more paths were refused"


def test_names_may_be_too_long_for_a_command_line(workspace: Workspace, base: str) -> None:
    below = "/".join(["n" * 250] * 15)
    names = [f"{below}/{number:03}{'x' * 200}" for number in range(550)]
    before = files_of(workspace.git, workspace.git.tree(base))
    taken = played(workspace, base, many(*map(wrote, names)))
    assert files_of(workspace.git, taken.tree) == before | entries(dict.fromkeys(names, "new\n"))
    assert below.partition("/")[0] not in walk(workspace.prepare(PLAYER, base, keep))


@pytest.mark.skipif(not ROOT, reason="only root can make a device")
def test_a_device_is_refused(workspace: Workspace, base: str) -> None:
    try:
        taken = played(workspace, base, lambda tree: os.mknod(tree / "null", 0o20666, os.makedev(1, 3)))
    except PermissionError:
        pytest.skip("this root may not make devices")
    assert listed(taken) == {"null": "a device"}
    assert "null" not in walk(workspace.prepare(PLAYER, base, keep))


def test_a_hard_link_from_outside_is_refused(workspace: Workspace, base: str, tmp_path: Path) -> None:
    secret = write(tmp_path, "secret", "theirs\n")
    taken = played(
        workspace,
        base,
        many(
            lambda tree: os.link(secret, tree / "mine"),
            removed("README.md"),
            lambda tree: os.link(secret, tree / "README.md"),
        ),
    )
    assert sorted(listed(taken)) == ["README.md", "mine"]
    assert files_of(workspace.git, taken.tree) == entries(BASE)


def test_what_a_person_has_to_see_is_named(workspace: Workspace, base: str) -> None:
    taken = played(workspace, base, many(wrote("tests/conftest.py"), wrote("Makefile"), wrote("x.py")))
    assert taken.needs_person == ("Makefile", "tests/conftest.py")


def unreadable(workspace: Workspace, base: str) -> Result:
    fresh = walk(workspace.prepare("fresh", base, keep))
    change = many(
        *map(wrote, ("x.py", "secret.py", "closed/y.py", "shut/z.py")),
        moded("secret.py", 0),
        moded("README.md", 0),
        moded("closed", 0),
        moded("shut", 0o500),
        moded("docs", 0),
    )
    taken = played(workspace, base, change)
    files = files_of(workspace.git, taken.tree)
    return files, listed(taken), walk(workspace.prepare(PLAYER, base, keep)) == fresh


def test_what_root_may_read_is_taken_whatever_its_mode(workspace: Workspace, base: str) -> None:
    if not ROOT:
        pytest.skip("for root")
    files, refused, back = unreadable(workspace, base)
    new = dict.fromkeys(("x.py", "secret.py", "closed/y.py", "shut/z.py"), "new\n")
    assert (files, refused, back) == (entries({**BASE, **new}), {}, True)


def test_what_others_may_not_read_is_refused_by_name() -> None:
    """At level `none` outside of containers we are nobody special."""
    folder = Path(tempfile.mkdtemp(prefix="autobuild-test-"))
    try:
        files, refused, back = as_nobody(folder, lambda: _unreadable_in(folder))
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=True)
        shutil.rmtree(folder)
    assert files == entries({**BASE, "x.py": "new\n", "shut/z.py": "new\n"})
    assert {path: "Permission denied" in why or "read" in why for path, why in refused.items()} == dict.fromkeys(
        ("secret.py", "README.md", "closed", "docs"), True
    )
    assert back


def _unreadable_in(folder: Path) -> Result:
    workspace = Workspace(bare(folder / "git"), folder / "trees", AUTHOR)
    return unreadable(workspace, commit(workspace.git, BASE))


def test_git_objects_never_come_from_outside(workspace: Workspace, base: str) -> None:
    """`hash-object --stdin-paths` undoes the quotes and escapes of a name, which then leads anywhere."""
    git = workspace.git
    name = '"' + "".join(f"\\{byte:03o}" for byte in b"/etc/passwd") + '"'
    taken = played(workspace, base, wrote(name, "mine\n"))
    assert files_of(git, taken.tree)[name] == ("100644", b"mine\n")
    assert not git_has_content_of(git, Path("/etc/passwd"))


def git_has_content_of(git: Git, file: Path) -> bool:
    id_ = git.text("hash-object", "--no-filters", "--stdin", stdin=file.read_bytes())
    return (git.folder / "objects" / id_[:2] / id_[2:]).exists()
