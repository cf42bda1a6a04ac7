"""The HTTP side: serves a script on loopback until the `with` block ends."""

import json
import re
import socketserver
import sys
from collections.abc import Container, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Event, Thread
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from . import wire
from .request import Request
from .script import Answer, CutStream, Fault, Garbage, Hang, Refuse, Script
from .stage import RoleFinder, Stage


def role_in_system(request: Request) -> str | None:
    """Find the role in the sentence that begins each of our role prompts."""
    found = re.search(r"\bYou are the (Player|Coach|Planner)\b", request.system_text)
    return found[1].lower() if found else None


class ModelServer(ThreadingHTTPServer):
    """A scripted Messages API; `check()` after the run says whether it went as written."""

    request_queue_size = 64

    def __init__(  # noqa: PLR0913  one setting each
        self,
        script: Script,
        *,
        latency: float = 0.0,
        pace: float = 0.0,
        port: int = 0,
        host: str = "127.0.0.1",
        api_keys: Container[str] | None = None,
        find_role: RoleFinder = role_in_system,
    ) -> None:
        """Wait `latency` seconds before an answer and `pace` between its events; port 0 takes a free one."""
        self.latency, self.pace, self.api_keys = latency, pace, api_keys
        self.stage = Stage(script, find_role)
        self.serials = count(1)
        self.ended = Event()
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        super().__init__((host, port), _Handler)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    @property
    def requests(self) -> list[Request]:
        """Every message request in order of arrival, the unscripted and the unauthorised ones too."""
        return list(self.stage.requests)

    @property
    def violations(self) -> list[str]:
        """What was asked against the script, each once."""
        return list(self.stage.violations)

    @property
    def unplayed(self) -> list[str]:
        return self.stage.unplayed

    def check(self) -> None:
        """Raise AssertionError unless exactly the script was played."""
        faults = [f"violation: {line}" for line in self.violations]
        faults += [f"unplayed: {line}" for line in self.unplayed]
        if faults:
            raise AssertionError("\n".join(faults))

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # HTTPServer's own asks the resolver for a name

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        exc = sys.exception()
        if not isinstance(exc, ConnectionError):  # clients may leave whenever they like
            self.stage.blame(f"the simulator failed: {exc!r}")


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer  # type: ignore[mutable-override]  # socketserver sets it
    protocol_version = "HTTP/1.1"
    timeout: ClassVar[float | None] = 60

    def do_GET(self) -> None:
        self._json(200, {})

    do_HEAD = do_GET  # noqa: N815  the name is HTTP's

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = urlsplit(self.path).path
        if path not in {"/v1/messages", "/v1/messages/count_tokens"}:
            self.server.stage.blame(f"POST {path} is not simulated")
            return self._error(404, "not_found_error", f"no such path: {path}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(path=path, headers=headers, body=json.loads(content))
        keys = self.server.api_keys
        if keys is not None and request.api_key not in keys:
            self.server.stage.note(request)
            return self._error(401, "authentication_error", "invalid x-api-key")
        if path.endswith("/count_tokens"):
            return self._json(200, {"input_tokens": len(request.text) // 4})
        return self._perform(*self.server.stage.play(request))

    def _perform(self, request: Request, reply: Answer | Fault) -> None:
        self.server.ended.wait(self.server.latency)
        match reply:
            case Answer():
                message = wire.message(reply, request, next(self.server.serials))
                self._stream(wire.events(message)) if request.streamed else self._json(200, message)
            case Refuse():
                self._error(reply.status, reply.error_type, reply.message, reply.headers)
            case Hang():
                self.server.ended.wait(reply.seconds)
                self.close_connection = True
            case CutStream():
                begun = wire.message(Answer(blocks=()), request, next(self.server.serials))
                self._stream([next(wire.events(begun)), wire.CUT])
            case Garbage():
                self._stream([wire.GARBAGE])

    def _error(self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        self._json(status, {"type": "error", "error": {"type": kind, "message": message}}, headers)

    def _json(self, status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(value).encode()
        head = {"content-type": "application/json", "content-length": str(len(content))}
        self._head(status, {**head, **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(content)

    def _stream(self, events: Iterable[bytes]) -> None:
        self._head(200, {"content-type": "text/event-stream"})
        for event in events:
            self.wfile.write(event)
            self.wfile.flush()
            self.server.ended.wait(self.server.pace)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing: what was asked is in `requests`."""
