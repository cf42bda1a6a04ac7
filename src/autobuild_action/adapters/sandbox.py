"""The sandbox at the levels ``uid`` and ``none``: a clean environment, own folders, limits, and a sure end.

``uid`` (needs root) gives every session a fresh uid and gid without any capability; ``none`` runs as the caller and
keeps nothing apart, which is why it has to be asked for by name.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shlex
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING

from autobuild_action.errors import SetupError
from autobuild_action.model import Level
from autobuild_action.ports import Ended, EndedBy, Spec

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_UID, LAST_UID = 20001, 60000
HEAD, TAIL = 10_000, 20_000
MARK = "AUTOBUILD_SESSION"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
KEPT_WITH_NETWORK = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")
QUIET_ROUNDS = 2
ROUNDS = 200
"""How often a uid's processes are killed before we give up; a fork bomb dies within a few rounds."""


class HostSandbox:
    """Processes of a run on this very host, without a container."""

    def __init__(self, folder: Path, level: Level, *, home_template: Path | None = None) -> None:
        """Keep homes and launchers below ``folder``; raises ``SetupError`` where ``level`` cannot be had."""
        if level is Level.UID and os.geteuid() != 0:
            raise SetupError(
                "Isolation level `uid` needs root, and this process is not root.",
                "Run the action in its container, or ask for `isolation: none` by name.",
            )
        self.level = level
        self.home_template = home_template
        self._folder = folder
        self._uids = _free_uids()
        self._owners: dict[str, int] = {}
        self._run = secrets.token_hex(8)
        folder.mkdir(parents=True, exist_ok=True)

    def own(self, session: str, tree: Path, *, writable: bool) -> bool:
        """Give a work tree to this session: its folder can be entered by nobody else."""
        if self.level is Level.NONE:
            return False
        uid = self._uid(session)
        if writable:
            _chown_all(tree, uid)
        os.chown(tree.parent, 0, uid)
        tree.parent.chmod(0o710)
        return writable

    def launcher(self, spec: Spec) -> Path:
        """A script that becomes ``spec.argv`` with the script's own arguments after it."""
        folder = self._session_folder(spec.session)
        script = folder / "launch"
        script.write_text(f'#!/bin/sh\nexec {shlex.join(self._command(spec))} "$@"\n')
        script.chmod(0o700)
        return script

    def run(self, spec: Spec) -> Ended:
        """Run ``spec.argv`` to its end or its limits; both streams as one bounded text."""
        started = time.monotonic()
        process = subprocess.Popen(
            self._command(spec),
            cwd=spec.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdout is not None  # noqa: S101  PIPE above
        output = _Output(process.stdout, spec.limits.output_bytes)
        ended_by = self._wait(process, output, started + spec.limits.seconds, spec.session)
        process.stdout.close()
        return Ended(
            exit_code=process.returncode if ended_by is EndedBy.EXIT else None,
            ended_by=ended_by,
            seconds=round(time.monotonic() - started, 2),
            output=output.text,
        )

    def put(self, session: str, name: str, text: str) -> str:
        """A file in the session's TMPDIR."""
        path = self.temp(session) / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
        return str(path)

    def temp(self, session: str) -> Path:
        """The session's TMPDIR."""
        return self._session_folder(session) / "tmp"

    def mark(self, session: str) -> str:
        """What its processes carry; another run on this host, whose sessions may have the same names, has another."""
        return f"{session}.{self._run}"

    def end(self, session: str) -> None:
        """Kill everything of this session and remove its HOME and TMPDIR."""
        if self.level is Level.UID:
            if session in self._owners:
                _kill_uid(self._owners.pop(session))
        else:
            _kill_marked(self.mark(session))
        _remove(self._folder / session)

    # --- starting

    def _command(self, spec: Spec) -> list[str]:
        environment = self._environment(spec)
        clean = ["env", "-i", *(f"{name}={value}" for name, value in environment.items())]
        limits = [
            "prlimit",
            f"--nproc={spec.limits.processes}",
            f"--fsize={spec.limits.file_bytes}",
            "--core=0",
            "--",
        ]
        return [*clean, *(limits if self.level is Level.UID else []), *self._drop(spec.session), *spec.argv]

    def _drop(self, session: str) -> list[str]:
        """Give up root for good; the process dies with the thread that started it."""
        if self.level is Level.NONE:
            return []
        uid = self._uid(session)
        return [
            "setpriv",
            f"--reuid={uid}",
            f"--regid={uid}",
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
            "--no-new-privs",
            "--pdeathsig=KILL",
            "--",
        ]

    def _environment(self, spec: Spec) -> dict[str, str]:
        folder = self._session_folder(spec.session)
        kept = (*KEPT, *(KEPT_WITH_NETWORK if spec.network else ()))
        passed = {name: os.environ[name] for name in kept if name in os.environ}
        own = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), MARK: self.mark(spec.session)}
        return {"PATH": PATH, "LANG": "C.UTF-8"} | passed | dict(spec.env) | own

    def _session_folder(self, session: str) -> Path:
        """HOME and TMPDIR of a session, made at its first use."""
        folder = self._folder / session
        if folder.exists():
            return folder
        folder.mkdir(mode=0o711)
        (folder / "tmp").mkdir(mode=0o700)
        if self.home_template:
            shutil.copytree(self.home_template, folder / "home", symlinks=True)
        else:
            (folder / "home").mkdir(mode=0o700)
        if self.level is Level.UID:
            for name in ("home", "tmp"):
                _chown_all(folder / name, self._uid(session))
        return folder

    def _uid(self, session: str) -> int:
        if session not in self._owners:
            self._owners[session] = next(self._uids)
        return self._owners[session]

    # --- ending

    def _wait(self, process: subprocess.Popen[bytes], output: _Output, deadline: float, session: str) -> EndedBy:
        ended_by = EndedBy.EXIT
        while process.poll() is None:
            if output.too_much.wait(timeout=0.02):
                ended_by = EndedBy.OUTPUT
            elif time.monotonic() > deadline:
                ended_by = EndedBy.DEADLINE
            else:
                continue
            break
        self._kill(process, session)
        output.finish()
        if ended_by is EndedBy.EXIT and process.returncode < 0:
            return EndedBy.KILLED
        return ended_by

    def _kill(self, process: subprocess.Popen[bytes], session: str) -> None:
        """The process is over or must be: so is all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if self.level is Level.UID:
            _kill_uid(self._uid(session))
        else:
            _kill_marked(self.mark(session))
        process.wait()


class _Output:
    """Reads a stream to its end in the background, keeping its head and tail."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self.too_much = threading.Event()
        self._stream, self._most = stream, most
        self._head, self._tail, self._size = b"", b"", 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def text(self) -> str:
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        left_out = self._size - len(self._head) - len(self._tail)
        return head + tail if left_out <= 0 else f"{head}\n[… {left_out:,} bytes left out …]\n{tail}"

    def finish(self) -> None:
        """Wait for the end of the stream; a survivor that holds it open is not waited for."""
        self._thread.join(timeout=2)

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while chunk := os.read(self._stream.fileno(), 65536):
                self._size += len(chunk)
                room = max(0, HEAD - len(self._head))
                self._head += chunk[:room]
                self._tail = (self._tail + chunk[room:])[-TAIL:]
                if self._size > self._most:
                    self.too_much.set()


def _free_uids() -> Iterator[int]:
    """Uids nobody has, from a random one on: two runs on one host must not end each other's sessions."""
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            taken.add(path.stat().st_uid)
    start = FIRST_UID + secrets.randbelow(LAST_UID - FIRST_UID)
    return (uid for uid in chain(range(start, LAST_UID), range(FIRST_UID, start)) if uid not in taken)


def _chown_all(folder: Path, uid: int) -> None:
    command = ["chown", "--recursive", "--no-dereference", f"{uid}:{uid}", str(folder)]
    subprocess.run(command, check=True, capture_output=True)


def _remove(folder: Path) -> None:
    """Remove a folder however deep it is (Python's own way ends at a thousand levels) and whatever its modes."""
    remove = ["rm", "-rf", "--", str(folder)]
    if subprocess.run(remove, check=False, capture_output=True).returncode != 0:
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(folder)], check=False, capture_output=True)
        subprocess.run(remove, check=False, capture_output=True)


def _kill_uid(uid: int) -> None:
    """Kill every process of a uid from within, where a fork bomb cannot outrun us, until none is left."""
    kill = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "sh", "-c", "kill -9 -1"]
    for _ in range(ROUNDS):
        if not _lives(uid):
            return
        subprocess.run(kill, check=False, capture_output=True)
    raise SetupError(f"Processes of uid {uid} cannot be ended.", "This is a defect of the sandbox: please report it.")


def _lives(uid: int) -> bool:
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if path.stat().st_uid == uid and "\nState:\tZ" not in (path / "status").read_text():
                return True
    return False


def _kill_marked(carried: str) -> None:
    """Kill what carries a session's mark in its environment (Linux; elsewhere the process group was all).

    Until twice in a row nothing is found, since a process may start another meanwhile and shows no environment while
    it becomes another program.
    """
    mark = f"{MARK}={carried}".encode()
    quiet = 0
    for _ in range(ROUNDS):
        found = False
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (path / "environ").read_bytes().split(b"\0"):
                    found = True
                    os.kill(int(path.name), signal.SIGKILL)
        quiet = 0 if found else quiet + 1
        if quiet == QUIET_ROUNDS:
            return
