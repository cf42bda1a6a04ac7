"""HTTP on loopback: one origin for REST, GraphQL and git, with a journal and the faults of a test."""

from __future__ import annotations

import base64
import json
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal, cast

from simulators.github import githttp, rest
from simulators.github.call import Answer
from simulators.github.refusals import bad_credentials

if TYPE_CHECKING:
    from simulators.github.hub import GitHub
    from simulators.github.state import Token

REST, GRAPHQL = "/api/v3", "/api/graphql"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong with one request: `before` its effect, or `after` it (done, but the answer is lost).

    `body` is sent as JSON, or as it is if it's text (a page of HTML, JSON cut short); `drop` closes the
    connection without an answer; `delay` waits that many seconds first.
    """

    when: Literal["before", "after"] = "before"
    status: int = 502
    body: object = field(default_factory=lambda: {"message": "Server Error"})
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    delay: float = 0


@dataclass(frozen=True, kw_only=True)
class Request:
    """One line of the journal."""

    method: str
    template: str
    """such as `/repos/{owner}/{repo}/issues`; the path itself for git and GraphQL"""
    path: str
    login: str | None
    status: int
    """0: the connection was dropped"""
    body: Any
    answer: Any
    """as sent and answered; None for git"""


class Server:
    def __init__(self, hub: GitHub, port: int) -> None:
        self._http = _Server(("127.0.0.1", port), _Handler)
        self._http.hub = hub
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="github")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """No thread and no connection is left, however long clients would have kept theirs."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.hang_up()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128
    hub: GitHub

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[socket.socket] = set()
        self.ending = threading.Event()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)  # before its thread starts, so that none is forgotten
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._open.discard(request)

    def hang_up(self) -> None:
        self.ending.set()
        for connection in tuple(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is its own affair; anything else is ours."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "github.com", ""
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        server = cast("_Server", self.server)
        data = self._read()
        server.ending.wait(server.hub.latency)
        exchange = Exchange(server, self.command, self.path, dict(self.headers.items()), data)
        answer = exchange.run()
        if answer is None:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._send(answer)

    do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815  # the names http.server calls

    def _read(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _send(self, answer: Answer) -> None:
        raw = answer.body if isinstance(answer.body, bytes) else b"" if answer.body is None else _text(answer.body)
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json; charset=utf-8", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def date_time_string(self, timestamp: float | None = None) -> str:  # noqa: ARG002  # the clock is the hub's
        return format_datetime(cast("_Server", self.server).hub.now(), usegmt=True)

    def log_message(self, *args: object) -> None:
        """The journal is the log."""


def _text(body: object) -> bytes:
    return (body if isinstance(body, str) else json.dumps(body)).encode()


class Exchange:
    """One request and what becomes of it."""

    def __init__(self, server: _Server, method: str, target: str, headers: Mapping[str, str], data: bytes) -> None:
        self.hub, self.wait = server.hub, server.ending.wait
        self.method, self.target, self.data = method, target, data
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.is_git = not target.startswith("/api/")
        self.path = target if self.is_git else "/graphql" if target == GRAPHQL else target.removeprefix(REST)
        self.body = data if self.is_git else self._json()

    def _json(self) -> Any:
        try:
            return json.loads(self.data) if self.data else None
        except ValueError:
            self.hub.violations.append(f"{self.method} {self.path}: the body isn't JSON")
            return None

    def run(self) -> Answer | None:
        """The answer; None means: hang up."""
        path = self.path if self.is_git else self.path.partition("?")[0]
        fault = self.hub.fault(self.method, path, self.body) if self.hub.fault else None
        token = self._token()
        answer = Answer(0)
        if fault is None or fault.when == "after":
            answer = self._tried(token)
        if fault:
            self.wait(fault.delay)
            answer = Answer(0 if fault.drop else fault.status, fault.body, dict(fault.headers), answer.template)
        self._note(answer, token, path)
        return None if answer.status == 0 else answer

    def _tried(self, token: Token | None) -> Answer:
        try:
            return self._answer(token)
        except Exception:  # noqa: BLE001  # a bug of the simulator must reach the test, not only a thread's stderr
            self.hub.violations.append(f"{self.method} {self.path}: the simulator broke\n{traceback.format_exc()}")
            return Answer(500, {"message": "Server Error"})

    def _answer(self, token: Token | None) -> Answer:
        if self.is_git:
            path, _, query = self.target.partition("?")
            request = githttp.GitRequest(
                method=self.method, path=path, query=query, headers=self.headers, data=self.data, token=token
            )
            return githttp.answer(self.hub, request)
        if token is None and "authorization" in self.headers:
            return Answer(401, bad_credentials().body)
        with self.hub.lock:
            if self.path == "/graphql":
                from simulators.github import graphql  # noqa: PLC0415  # a quarter of a second that most tests needn't pay

                return graphql.answer(self.hub, self.body, token)
            answer = rest.answer(self.hub, self.method, self.path, self.body, token)
        reset = str(int(self.hub.now().timestamp()) + 3600)
        limits = {"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": reset}
        answer.headers = {**limits, **answer.headers}
        return answer

    def _token(self) -> Token | None:
        """From `token T`, `Bearer T`, or basic with the token as password, as git sends it."""
        scheme, _, value = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            value = base64.b64decode(value).decode(errors="replace").partition(":")[2]
        return self.hub.tokens.get(value)

    def _note(self, answer: Answer, token: Token | None, path: str) -> None:
        self.hub.journal.append(
            Request(
                method=self.method,
                template=answer.template or path,
                path=path,
                login=token.user.login if token else None,
                status=answer.status,
                body=None if self.is_git else self.body,
                answer=None if self.is_git else answer.body,
            )
        )
