"""The orchestrator's hand on the broker: starts its process, opens and closes sessions, stops it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from autobuild_action.errors import AuthError, SetupError
from autobuild_action.model import Usage

_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
_CERTIFICATES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
)
PASSED_ON = ("PATH", *_PROXIES, *map(str.upper, _PROXIES), *_CERTIFICATES)
"""The whole environment of the broker, as far as it is there."""

ANSWER_SECONDS = 20


class BrokerLostError(SetupError):
    """The broker's process is gone, and with it what its sessions used; `open` starts another one."""


@dataclass(frozen=True, kw_only=True)
class BrokerUsage:
    """What one session used; `refused` counts all that was turned away while it was open."""

    usage: Usage
    requests: int
    refused: int
    over_budget: bool


class Broker:
    """The process that holds the model key, for the length of a `with` block. Any thread may use it."""

    def __init__(
        self,
        upstream: str,
        *,
        api_key: str | None = None,
        oauth_token: str | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """The key wins if both are given, as in Claude Code; proxies and certificates come from `environ`."""
        secrets_given = {"api_key": _checked(api_key), "oauth_token": _checked(oauth_token)}
        if not any(secrets_given.values()):
            raise AuthError(
                "There is no key for the model.",
                "Give anthropic-api-key or claude-code-oauth-token, from a secret of the repository.",
            )
        self._greeting = {"upstream": upstream, **secrets_given}
        self._environ = {name: environ[name] for name in PASSED_ON if name in environ}
        self._lock = threading.RLock()
        self._process: _Process | None = None

    def __enter__(self) -> Self:
        """Start the process without waiting for it; the first use of `url` or `open` does."""
        self._process = _Process(self._environ, self._greeting)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where sessions find the model; ask after each `open`, which may have started a new process."""
        with self._lock:
            return f"http://127.0.0.1:{self._running.port}"

    def open(self, budget_usd: float) -> str:
        """Let a session in: its nonce stands for the key at `url`, until closed or until so much is spent."""
        nonce = secrets.token_urlsafe(32)
        with self._lock:
            if self._running.ended:
                self._running.end()
                self._process = _Process(self._environ, self._greeting)
            self._running.ask({"open": nonce, "budget_usd": budget_usd})
        return nonce

    def close(self, nonce: str) -> BrokerUsage:
        """Shut a session out, cut what it has under way, and say what it used."""
        with self._lock:
            answer = self._running.ask({"close": nonce})
        return BrokerUsage(**{**answer, "usage": Usage(**answer["usage"])})

    def stop(self) -> None:
        """End the process; more than once is fine."""
        with self._lock:
            process, self._process = self._process, None
            if process:
                process.end()

    @property
    def _running(self) -> _Process:
        if not self._process:
            raise RuntimeError("the broker was not started, or is stopped")
        return self._process


class _Process:
    """A broker's process and the line to it: a pair of sockets, which nobody else can open."""

    def __init__(self, environ: Mapping[str, str], greeting: Mapping[str, object]) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-m", "autobuild_action.adapters.broker_server"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={**environ, "PYTHONPATH": str(Path(__file__).parents[2])},
                process_group=0,  # an interrupt from the keyboard is for us alone; it ends when we do
            )
        self._line.settimeout(ANSWER_SECONDS)
        self._answers = self._line.makefile("rb")
        self._tell(greeting)

    @cached_property
    def port(self) -> int:
        answer = self._answer()
        if "error" in answer:
            raise SetupError(f"The broker could not start: {answer['error']}.", "Look at ANTHROPIC_BASE_URL.")
        return int(answer["port"])

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def ask(self, command: Mapping[str, object]) -> dict[str, Any]:
        _ = self.port  # comes first on the line
        self._tell(command)
        answer = self._answer()
        if "error" in answer:
            raise BrokerLostError(f"The broker says: {answer['error']}.", "Start the run again.")
        return answer

    def end(self) -> None:
        self._answers.close()
        self._line.close()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _tell(self, command: Mapping[str, object]) -> None:
        with contextlib.suppress(ConnectionError):  # the missing answer will say it
            self._line.sendall(json.dumps(command).encode() + b"\n")

    def _answer(self) -> dict[str, Any]:
        try:
            line = self._answers.readline()
        except OSError:  # reset, or silent for too long: either way it's of no use any more
            line = b""
        if not line:
            self._process.kill()
            status = self._process.wait()
            raise BrokerLostError(f"The broker's process ended, exit status {status}.", "Start the run again.")
        return dict(json.loads(line))


def _checked(secret: str | None) -> str | None:
    """A secret without the white space that pasting adds."""
    secret = (secret or "").strip()
    if not (secret.isascii() and secret.isprintable()) or " " in secret:
        raise AuthError(
            "The key for the model has characters that no key has.",
            "Copy it again, whole and on one line, into the repository's secret.",
        )
    return secret or None
