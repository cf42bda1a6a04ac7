"""The process that holds the model key: forwards and meters the calls of open sessions, up to their budgets.

Started by `broker.py`; standard library only, since every run waits for its start. Everything it is told
comes in by the pipe, and all that goes out is one line of JSON for each command.
"""

import contextlib
import ctypes
import json
import socket
import socketserver
import sys
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from autobuild_action.adapters.admission import RefusedError, Session, screened, unauthorised, unreachable
from autobuild_action.adapters.meter import Meter
from autobuild_action.adapters.upstream import Upstream

PATHS = ("/v1/messages", "/v1/messages/count_tokens")
LARGEST_BODY = 32 * 2**20
ONLY = "only POST of messages is served here"
REQUEST_HEADERS = (
    "accept",
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "content-type",
    "user-agent",
    "x-app",
)
REQUEST_HEADER_FAMILIES = ("x-claude-code-", "x-stainless-")
FINAL = (401, 403)
"""Answers that another try cannot change; the CLI would try a refused key four times, for nine seconds."""

RESPONSE_HEADERS = (
    "content-encoding",
    "content-type",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
)
RESPONSE_HEADER_FAMILIES = ("anthropic-ratelimit-",)


class Server(ThreadingHTTPServer):
    """Serves the open sessions; sessions come and go by the commands of `obey`."""

    request_queue_size = 64

    def __init__(self, upstream: Upstream, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.upstream = upstream
        self.hosts = (f"127.0.0.1:{self.server_address[1]}", "broker.local")
        self.sessions: dict[str, Session] = {}
        self.strangers = 0
        self._lock = threading.Lock()

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # HTTPServer's own asks the resolver for a name

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing; a client may leave whenever it likes, and a trace could hold anything."""

    def refuse(self, session: Session | None) -> None:
        """Count a refusal, for its session if it has one."""
        if session:
            session.refuse()
        else:
            with self._lock:
                self.strangers += 1

    def obey(self, command: Mapping[str, Any]) -> dict[str, object]:
        """Open or close a session; the answer to a close is its usage."""
        match command:
            case {"open": str(nonce), "budget_usd": float() | int() as budget_usd}:
                self.sessions[nonce] = Session(budget_usd, self.strangers)
                return {}
            case {"close": str(nonce)} if session := self.sessions.pop(nonce, None):
                return session.close(self.strangers)
        return {"error": "no such session or command"}


class Handler(BaseHTTPRequestHandler):
    """One request on one connection: checked, forwarded, metered. Then the connection ends."""

    server: Server  # type: ignore[mutable-override]  # what the standard library sets, by a narrower name
    protocol_version = "HTTP/1.1"
    timeout: ClassVar[float | None] = 60
    disable_nagle_algorithm = True
    gone = False
    """The client closed its side before the answer was complete."""

    def do_POST(self) -> None:
        self.close_connection = True  # nothing can be smuggled behind a request that is the only one
        session = None
        try:
            target = self._target()
            session = self._session()
            with session.place(self.connection):
                self._forward(session, target, self._body())
        except RefusedError as refused:
            self._refuse(refused, session)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer what the base class refuses: unreadable requests, and methods other than POST."""
        self.close_connection = True
        if code == HTTPStatus.NOT_IMPLEMENTED:  # what it says to other methods
            self._refuse(RefusedError(403, "permission_error", ONLY), None)
        else:
            self._refuse(RefusedError(code, "invalid_request_error", "the request is not readable"), None)

    def log_message(self, *_: object) -> None:
        """Keep no log."""

    def _target(self) -> str:
        hosts = self.headers.get_all("host", [])
        path, _, query = self.path.partition("?")
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            raise RefusedError(403, "permission_error", "this is not the host that was asked for")
        if path not in PATHS or query not in ("", "beta=true"):
            raise RefusedError(403, "permission_error", ONLY)
        return self.path

    def _session(self) -> Session:
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        session = self.server.sessions.get(self.headers.get("x-api-key", bearer))
        if not session:
            raise unauthorised()
        return session

    def _body(self) -> bytes:
        lengths = self.headers.get_all("content-length", [])
        if "transfer-encoding" in self.headers or len(lengths) != 1:
            raise RefusedError(411, "invalid_request_error", "the length of the request must be given, once")
        digits = lengths[0].strip()
        if not (digits.isascii() and digits.isdecimal()):
            raise RefusedError(400, "invalid_request_error", "the length of the request must be a number")
        if len(digits) > 9 or int(digits) > LARGEST_BODY:  # noqa: PLR2004  enough digits for any limit
            raise RefusedError(413, "request_too_large", f"requests are limited to {LARGEST_BODY} bytes")
        body = self.rfile.read(int(digits))
        if len(body) < int(digits):
            raise RefusedError(400, "invalid_request_error", "the request was cut short")
        return body

    def _headers(self) -> dict[str, str]:
        kept = {}
        for name in dict.fromkeys(map(str.lower, self.headers)):
            if name in REQUEST_HEADERS or name.startswith(REQUEST_HEADER_FAMILIES):
                kept[name] = ",".join(self.headers.get_all(name, []))
                if not kept[name].isprintable():  # no folded lines, no control characters
                    raise RefusedError(400, "invalid_request_error", "a header is not plain text")
        return kept

    def _forward(self, session: Session, target: str, body: bytes) -> None:
        request, headers = screened(body), self._headers()
        model, upstream = str(request.get("model")), self.server.upstream
        billed = target.partition("?")[0] == PATHS[0]  # counting tokens is free
        try:
            connection = upstream.connect()
        except (OSError, HTTPException) as exc:
            raise unreachable(exc) from exc
        with contextlib.closing(connection), session.request(connection.sock):
            try:
                response = upstream.ask(connection, target, headers, body)
            except (OSError, HTTPException) as exc:
                if billed and session.closed:  # cut by us: the service may have worked, and will ask for it
                    session.charge(Meter(model, len(body), streamed=True).tally())
                raise unreachable(exc) from exc
            with response:
                streamed = "event-stream" in response.headers.get("content-type", "")
                meter = Meter(model, len(body), streamed=streamed)
                whole = self._relay(response, meter)
            if billed and response.status == HTTPStatus.OK:
                session.charge(meter.tally())
            if whole:  # the end mark comes after the charge: the next request meets an up-to-date budget
                self._send(b"0\r\n\r\n")

    def _relay(self, response: HTTPResponse, meter: Meter) -> bool:
        """Pass the answer on as it comes, but for the end mark; tell whether it came whole."""
        self._send_head(response)
        try:
            while piece := response.read1(2**16):
                self._send(b"%x\r\n%b\r\n" % (len(piece), piece))
                meter.feed(piece)
        except (OSError, HTTPException):
            return False  # the client's connection breaks off as the service's did
        return response.headers.get("content-length", str(meter.received)) == str(meter.received)

    def _send_head(self, response: HTTPResponse) -> None:
        self.send_response_only(response.status, response.reason)
        for name, value in response.headers.items():
            if name.lower() in RESPONSE_HEADERS or name.lower().startswith(RESPONSE_HEADER_FAMILIES):
                self.send_header(name, value)
        if response.status in FINAL:
            self.send_header("x-should-retry", "false")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("connection", "close")
        try:
            self.end_headers()
        except OSError:
            self.gone = True

    def _send(self, content: bytes) -> None:
        """Write to the client while it is there; one that left early does not spare its session the cost."""
        if not self.gone:
            try:
                self.wfile.write(content)
            except OSError:
                self.gone = True

    def _refuse(self, refused: RefusedError, session: Session | None) -> None:
        if refused.status != HTTPStatus.BAD_GATEWAY:
            self.server.refuse(session)
        self.send_response_only(refused.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(refused.body)))
        if refused.final:
            self.send_header("x-should-retry", "false")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(refused.body)
        self._drain()

    def _drain(self) -> None:
        """Read away what the client still sends: closing on it would reset the answer before it is read."""
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(2)
        for _ in range(4096):
            if not self.rfile.read1(2**16):
                break


def serve(upstream: Mapping[str, Any]) -> Server:
    """Begin to serve, in a thread."""
    server = Server(Upstream(upstream["upstream"], upstream["api_key"], upstream["oauth_token"]))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 60}, daemon=True).start()
    return server


def main() -> None:
    """Obey the lines of standard input until it ends, which it does with the orchestrator at the latest."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: the same uid can't read our memory either
    lines = iter(sys.stdin.buffer.readline, b"")
    try:
        server = serve(json.loads(next(lines)))
    except (OSError, ValueError) as exc:
        say({"error": str(exc)})
        return
    say({"port": server.server_address[1]})
    for line in lines:
        say(server.obey(json.loads(line)))


def say(answer: Mapping[str, object]) -> None:
    """Answer one command."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
