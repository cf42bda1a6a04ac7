"""The bare repositories: plain git in a subprocess, with an environment of its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

CONFIG = """
[http]
	receivepack = true
[receive]
	procReceiveRefs = refs
	hideRefs = refs/pull
	hideRefs = refs/forks
	advertisePushOptions = true
	autogc = false
[uploadpack]
	allowAnySHA1InWant = true
	allowFilter = true
	hideRefs = refs/forks
[gc]
	auto = 0
[core]
	quotePath = false
"""
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
STATUS = {"A": "added", "D": "removed", "M": "modified", "T": "changed", "R": "renamed"}
PERSON = "A Person <person@users.noreply.github.com>"


def environment() -> dict[str, str]:
    """Nothing of the caller's git: no GIT_* variable, no configuration of user or machine."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {**kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """One hunk; every line in it may carry a comment, on either side."""

    left: range
    right: range
    text: str

    def lines(self, side: str) -> range:
        return self.left if side == "LEFT" else self.right


@dataclass(frozen=True, kw_only=True)
class ChangedFile:
    path: str
    previous: str
    status: str
    blob: str
    hunks: tuple[Hunk, ...]

    def count(self, sign: str) -> int:
        return sum(line.startswith(sign) for hunk in self.hunks for line in hunk.text.splitlines()[1:])

    def hunk(self, line: int, side: str) -> Hunk | None:
        return next((hunk for hunk in self.hunks if line in hunk.lines(side)), None)


class Git:
    """One bare repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # of commits, never of branches: what they answer can't change
        self.diff = lru_cache(maxsize=256)(self._diff)
        self.commits = lru_cache(maxsize=256)(self._commits)
        self.merge_base = lru_cache(maxsize=256)(self._merge_base)

    def create(self, branch: str, object_format: str) -> None:
        command = [
            "git",
            "init",
            "--quiet",
            "--bare",
            "--template=",
            f"--initial-branch={branch}",
            f"--object-format={object_format}",
            str(self.folder),
        ]
        subprocess.run(command, check=True, env=environment())
        with (self.folder / "config").open("a") as config:
            config.write(CONFIG)
        hook = self.folder / "hooks" / "proc-receive"
        hook.parent.mkdir()
        hook.write_text(f"#!{sys.executable} -IS\n" + Path(__file__).with_name("hook.py").read_text())
        hook.chmod(0o755)
        self.refuse({})

    def refuse(self, reasons: Mapping[str, str]) -> None:
        """Which refs the server refuses from now on: pattern -> GitHub's reason."""
        (self.folder / "refusals.json").write_text(json.dumps(reasons))

    def raw(self, *args: str, stdin: bytes = b"") -> bytes:
        done = subprocess.run(
            ["git", f"--git-dir={self.folder}", *args],
            input=stdin,
            capture_output=True,
            check=False,
            env=environment(),
        )
        if done.returncode:
            raise GitError(f"git {' '.join(args)}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def __call__(self, *args: str, stdin: bytes = b"") -> str:
        return self.raw(*args, stdin=stdin).decode(errors="surrogateescape").strip()

    def commit(self, ref: str, files: Mapping[str, str | bytes | None], *, message: str, author: str = PERSON) -> str:
        """A commit on top of `ref`, or a first one; None deletes a file, a `#!` makes it executable."""
        parent = self.resolve(ref)
        start = [
            f"commit {ref}",
            f"author {author} now",
            f"committer {author} now",
            f"data <<EOM\n{message}\nEOM",
        ]
        stream = "\n".join([*start, *([f"from {parent}"] if parent else [])]).encode() + b"\n"
        for path, text in files.items():
            stream += b"D " + path.encode() + b"\n" if text is None else blob(path, text)
        self.raw("fast-import", "--quiet", "--date-format=now", "--force", stdin=stream + b"\ndone\n")
        return self.sha(ref)

    def sha(self, revision: str) -> str:
        found = self.resolve(revision)
        if not found:
            raise GitError(f"no such commit: {revision}")
        return found

    def resolve(self, revision: str) -> str | None:
        try:
            return self("rev-parse", "--quiet", "--verify", "--end-of-options", revision + "^{commit}")
        except GitError:
            return None

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        lines = self("for-each-ref", "--format=%(refname) %(objectname)", prefix).splitlines()
        return dict(line.split(" ", 1) for line in lines)

    def _commits(self, base: str, head: str) -> list[str]:
        return self("rev-list", "--reverse", f"{base}..{head}").split()

    def is_ancestor(self, old: str, new: str) -> bool:
        return self.merge_base(old, new) == old

    def _merge_base(self, one: str, other: str) -> str | None:
        try:
            return self("merge-base", one, other)
        except GitError:
            return None

    def files(self, revision: str) -> dict[str, str]:
        """Path -> text of every file of a commit."""
        listing = [line.split("\t", 1) for line in self("ls-tree", "-r", "-z", revision).split("\0") if line]
        blobs = [(path, meta.split()[2]) for meta, path in listing if meta.split()[1] == "blob"]
        return {path: self.raw("cat-file", "blob", sha).decode(errors="surrogateescape") for path, sha in blobs}

    def _diff(self, base: str, head: str) -> tuple[ChangedFile, ...]:
        """The changes of base...head as the page "Files changed" has them."""
        start = self.merge_base(base, head)
        if start is None:
            return ()
        fields = self("diff", "--raw", "-z", "-M", "--no-abbrev", start, head).split("\0")
        patch = self("diff", "-U3", "-M", "--no-color", "--no-ext-diff", start, head)
        sections = re.split(r"^diff --git .*\n", patch, flags=re.MULTILINE)[1:]
        changed = []
        while len(fields) > 1:
            meta = fields.pop(0).split()
            previous = fields.pop(0)
            path = fields.pop(0) if meta[4][0] == "R" else previous
            section = sections.pop(0)
            kind = STATUS[meta[4][0]]
            changed.append(ChangedFile(path=path, previous=previous, status=kind, blob=meta[3], hunks=hunks(section)))
        return tuple(changed)


def blob(path: str, text: str | bytes) -> bytes:
    content = text.encode() if isinstance(text, str) else text
    mode = b"100755" if content.startswith(b"#!") else b"100644"
    return b"M %s inline %s\ndata %d\n%s\n" % (mode, path.encode(), len(content), content)


def hunks(section: str) -> tuple[Hunk, ...]:
    found = []
    for text in re.split(r"^(?=@@ )", section, flags=re.MULTILINE)[1:]:
        match = HUNK.match(text)
        if match:
            old, old_count, new, new_count = (int(number or 1) for number in match.groups())
            left, right = range(old, old + old_count), range(new, new + new_count)
            found.append(Hunk(left=left, right=right, text=text.rstrip("\n")))
    return tuple(found)


class GitError(Exception):
    """git said no."""
