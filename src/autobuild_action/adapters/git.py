"""Git: the one module that runs it.

The git directory is ours alone. No file of a work tree, of the system or of a user's home can configure these
commands: hooks, filters, attributes, drivers, helpers and protocols are all fixed here (docs/design.md, "Git").
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from autobuild_action.errors import ForgeError, PushRefusedError, SupersededError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FIXED = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.autocrlf": "false",
    "core.symlinks": "true",
    "core.fileMode": "true",
    "core.quotePath": "false",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "commit.gpgSign": "false",
    "credential.helper": "",
    "submodule.recurse": "false",
    "diff.external": "",
    "gc.auto": "0",
    "advice.detachedHead": "false",
    "safe.directory": "*",
    "protocol.allow": "never",
}
"""``safe.directory`` is harmless here: no configuration of a directory that an agent can write is ever read."""

RAW = "* -text -ident -filter -working-tree-encoding !eol !diff !merge\n"
"""``info/attributes`` outranks the tree's own: every file is checked out and taken back byte by byte."""

PASSED_ON = ("PATH", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")
PASSED_ON_CA = ("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE")
MOVED = ("stale info", "fetch first", "non-fast-forward", "cannot lock ref", "reference already exists")


class GitError(ForgeError):
    """A git command failed; ``what`` quotes its words."""


@dataclass(frozen=True, kw_only=True)
class Author:
    """Who our commits are by."""

    name: str
    email: str


@dataclass(frozen=True, kw_only=True)
class Remote:
    """The repository on GitHub; the token goes into the environment of fetch and push and nowhere else."""

    url: str
    token: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """The header that carries the token, as git's configuration by environment."""
        if not self.token:
            return {}
        parts = urlsplit(self.url)
        basic = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{parts.scheme}://{parts.netloc}/.extraheader",
            "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {basic}",
        }

    def __repr__(self) -> str:
        """Never the token."""
        return f"Remote({self.url!r})"


@dataclass(frozen=True, kw_only=True)
class Update:
    """One ref to push: ``commit`` becomes the value of ``ref``."""

    commit: str
    ref: str


class Git:
    """A bare repository of ours, and the remote it serves."""

    def __init__(self, folder: Path, remote: Remote | None = None) -> None:
        """Use ``folder`` as the git directory; :meth:`create` makes it."""
        self.folder = folder
        self._remote = remote

    # --- running git

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        work: Path | None = None,
        index: Path | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> bytes:
        """Run ``git ARGS`` on our git directory and answer its stdout; raises :class:`GitError`."""
        done = subprocess.run(
            [_git(), *self._options(work), *args],
            input=stdin,
            capture_output=True,
            env=_environment(index) | dict(env or {}),
            cwd=cwd or work or self.folder,
            check=False,
        )
        if done.returncode != 0:
            words = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
            raise GitError(f"git {args[0]} failed: {words}")
        return done.stdout

    def text(self, *args: str, stdin: bytes = b"") -> str:
        """The stripped stdout of a git command."""
        return self.run(*args, stdin=stdin).decode(errors="replace").strip()

    def _options(self, work: Path | None) -> list[str]:
        config = FIXED | {f"protocol.{scheme}.allow": "always" for scheme in self._schemes()}
        options = [part for key, value in config.items() for part in ("-c", f"{key}={value}")]
        return [f"--git-dir={self.folder}", *([f"--work-tree={work}"] if work else []), *options]

    def _schemes(self) -> tuple[str, ...]:
        """Only the scheme of the server; plain http only to loopback (tests, the demo)."""
        if not self._remote:
            return ()
        parts = urlsplit(self._remote.url)
        if parts.scheme == "http" and parts.hostname not in {"127.0.0.1", "localhost", "::1"}:
            raise ForgeError(
                "The server's address begins with http://, which would send the token in the clear.",
                "Use an https:// address.",
            )
        return (parts.scheme or "file",)

    def create(self) -> None:
        """Make the git directory if it is not there."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (self.folder / "HEAD").exists():
            self.run("init", "--quiet", "--bare", "--template=", "--initial-branch=autobuild", str(self.folder))
            (self.folder / "info").mkdir(exist_ok=True)
            (self.folder / "info/attributes").write_text(RAW)

    # --- objects

    def blob(self, content: bytes) -> str:
        """Store ``content``; answers its id."""
        return self.text("hash-object", "-w", "--stdin", "--no-filters", stdin=content)

    def blobs(self, paths: Sequence[bytes], *, cwd: Path, store: bool = True) -> list[str]:
        """Store the files ``paths`` (below ``cwd``) just as they are, or only name them; answers their ids in order.

        ``--stdin-paths`` undoes quotes and octal escapes, so that a name could lead out of ``cwd``, and drops a
        carriage return at the end: the files with such names are read here.
        """
        hashing = ("hash-object", "--no-filters", *(["-w"] if store else []))
        plain = [path for path in paths if not (path[:1] == b'"' or path[-1:] == b"\r" or b"\n" in path)]
        lines = b"".join(path + b"\n" for path in plain)
        answer = self.run(*hashing, "--stdin-paths", stdin=lines, cwd=cwd) if plain else b""
        ids = dict(zip(plain, answer.decode().split(), strict=True))
        for path in paths:
            if path not in ids:
                ids[path] = self.text(*hashing, "--stdin", stdin=(cwd / os.fsdecode(path)).read_bytes())
        return [ids[path] for path in paths]

    def sizes(self, ids: Sequence[str]) -> list[int]:
        """The sizes of blobs, in order."""
        asked = "".join(f"{id_}\n" for id_ in ids).encode()
        return [int(size) for size in self.text("cat-file", "--batch-check=%(objectsize)", stdin=asked).split()]

    def file_tree(self, name: str, content: bytes) -> str:
        """A tree with one file."""
        return self.text("mktree", stdin=f"100644 blob {self.blob(content)}\t{name}\n".encode())

    def tree(self, commit: str) -> str:
        """A commit's tree."""
        return self.text("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")

    def commit(self, tree: str, parents: Iterable[str], message: str, author: Author, *, at: str = "") -> str:
        """Make a commit, now or ``at`` a time in git's own form; answers its id."""
        who = {
            "GIT_AUTHOR_NAME": author.name,
            "GIT_AUTHOR_EMAIL": author.email,
            "GIT_COMMITTER_NAME": author.name,
            "GIT_COMMITTER_EMAIL": author.email,
        } | ({"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at} if at else {})
        options = [part for parent in parents for part in ("-p", parent)]
        made = self.run("commit-tree", tree, *options, "-F", "-", stdin=message.encode(), env=who)
        return made.decode().strip()

    def read(self, commit: str, path: str) -> bytes | None:
        """A file at a commit, None where it is not there (or is no file)."""
        with suppress(GitError):
            return self.run("cat-file", "blob", f"{commit}:{path}")
        return None

    def has(self, commit: str) -> bool:
        """True where the commit is here."""
        with suppress(GitError):
            self.run("cat-file", "-e", f"{commit}^{{commit}}")
            return True
        return False

    def paths(self, commit: str) -> list[str]:
        """All file names at a commit; names that are not UTF-8 are shown with escapes."""
        listed = self.run("ls-tree", "-r", "-z", "--name-only", commit)
        return [name.decode(errors="backslashreplace") for name in listed.split(b"\0") if name]

    def diff(self, base: str, head: str) -> str:
        """The unified diff as GitHub shows it (``-U3 -M``); what is not UTF-8 is replaced."""
        options = (
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "-U3",
            "-M",
            "--src-prefix=a/",
            "--dst-prefix=b/",
        )
        return self.run("diff", *options, base, head, "--").decode(errors="replace")

    def numstat(self, base: str, head: str) -> list[tuple[str, int, int]]:
        """Changed paths with lines added and removed (0 for binary files)."""
        listed = self.run("diff", "--no-ext-diff", "--no-textconv", "--numstat", "-z", "--no-renames", base, head, "--")
        rows = [row.split(b"\t", 2) for row in listed.split(b"\0") if row]
        return [(path.decode(errors="backslashreplace"), _number(more), _number(less)) for more, less, path in rows]

    def ignored(self, candidates: Sequence[bytes], tree: Path, rules: Path) -> set[bytes]:
        """Which of ``candidates`` the ``.gitignore`` files below ``tree`` and the file ``rules`` ignore."""
        options = ("-c", f"core.excludesFile={rules}", "check-ignore", "--no-index", "-z", "--stdin")
        command = [_git(), *self._options(tree), *options]
        asked = terminated(b"./" + path for path in candidates)  # a colon in front would be pathspec magic
        done = subprocess.run(command, input=asked, capture_output=True, env=_environment(None), cwd=tree, check=False)
        if done.returncode > 1:
            raise GitError(f"git check-ignore failed: {done.stderr.decode(errors='replace')}")
        return {path.removeprefix(b"./") for path in done.stdout.split(b"\0")}

    # --- the remote

    @property
    def _url(self) -> str:
        if not self._remote:
            raise ForgeError("This repository has no remote.")
        return self._remote.url

    def fetch(self, *refspecs: str, depth: int | None = None) -> None:
        """Fetch from the remote; raises :class:`GitError` where a named ref is not there."""
        remote = self._remote.environment if self._remote else {}
        shallow = [f"--depth={depth}"] if depth else []
        self.run(
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            *shallow,
            self._url,
            *refspecs,
            env=remote,
        )

    def remote_refs(self, *patterns: str) -> dict[str, str]:
        """The remote's refs that match, with their commits."""
        remote = self._remote.environment if self._remote else {}
        lines = self.run("ls-remote", "--quiet", "--refs", self._url, *patterns, env=remote).decode().splitlines()
        return {ref: commit for commit, _, ref in (line.partition("\t") for line in lines)}

    def push(self, *updates: Update) -> None:
        """Push all updates or none, never forced; a branch is read back before anyone is told of it.

        Raises ``SupersededError`` where a ref was moved by somebody else, ``PushRefusedError`` with the server's
        words where it said no, and tries once more where the connection broke.
        """
        for last in (False, True):
            try:
                self._push(updates)
            except GitError as exc:
                if self._arrived(updates):
                    return
                if any(word in exc.what for word in MOVED):
                    raise SupersededError("The branch on GitHub was moved by somebody else.") from exc
                if "remote rejected" in exc.what or last:
                    raise PushRefusedError(_refusal(exc.what)) from exc
            else:
                if not any(update.ref.startswith("refs/heads/") for update in updates) or self._arrived(updates):
                    return
                raise SupersededError("The branch on GitHub is not what was just pushed.")

    def _push(self, updates: Sequence[Update]) -> None:
        remote = self._remote.environment if self._remote else {}
        specs = [f"{update.commit}:{update.ref}" for update in updates]
        self.run("push", "--quiet", "--atomic", "--no-verify", self._url, *specs, env=remote)

    def _arrived(self, updates: Sequence[Update]) -> bool:
        refs = self.remote_refs(*(update.ref for update in updates))
        return all(refs.get(update.ref) == update.commit for update in updates)


def terminated(parts: Iterable[bytes]) -> bytes:
    """A list as git reads it with ``-z``."""
    return b"".join(part + b"\0" for part in parts)


def _git() -> str:
    found = shutil.which("git")
    if not found:
        raise ForgeError("git is not installed.", "Install git 2.30 or newer.")
    return found


def _environment(index: Path | None) -> dict[str, str]:
    kept = {name: os.environ[name] for name in (*PASSED_ON, *PASSED_ON_CA) if name in os.environ}
    fixed = {
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    return kept | fixed | ({"GIT_INDEX_FILE": str(index)} if index else {})


def _number(field: bytes) -> int:
    return int(field) if field.isdigit() else 0


def _refusal(words: str) -> str:
    """The server's own lines of a failed push, without git's advice."""
    lines = [line for line in words.splitlines() if re.match(r"\s*(remote:|!|error:|fatal:|git push failed)", line)]
    return "\n".join(lines) or words
