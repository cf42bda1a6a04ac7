"""The broker as a real process between a real client and a small model service of our own."""

import asyncio
import base64
import contextlib
import datetime as dt
import http.client
import ipaddress
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ResultError, ResultMessage, query
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from autobuild_action.adapters import meter
from autobuild_action.adapters.broker import Broker, BrokerLostError
from autobuild_action.errors import AuthError, SetupError
from simulators.model import ModelServer, Script, Session, Use, structured

KEY = "sk-ant-sentinel-0123456789"
BODY = {"model": "claude-sonnet-5-5", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
USAGE = {
    "input_tokens": 1015,
    "cache_read_input_tokens": 22000,
    "cache_creation_input_tokens": 2000,
    "output_tokens": 1,
}
MESSAGE = {
    "type": "message",
    "model": "claude-sonnet-5-5",
    "content": [],
    "usage": {**USAGE, "output_tokens": 155},
}
SONNET = (1015 * 2 + 2000 * 2.5 + 22000 * 0.1 + 155 * 10) / 1e6  # dollars of MESSAGE, by hand


@dataclass(frozen=True)
class Seen:
    path: str
    headers: Mapping[str, str]
    body: bytes


class Service(BaseHTTPRequestHandler):
    """The model's side: remembers what came and answers as the test says."""

    protocol_version = "HTTP/1.1"
    seen: list[Seen]
    answer: Callable[["Service"], None]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.seen.append(Seen(self.path, dict(self.headers.items()), body))
        self.close_connection = True
        type(self).answer(self)

    def do_CONNECT(self) -> None:
        """As a proxy: connect to wherever, and note whom it was for."""
        self.seen.append(Seen(self.path, dict(self.headers.items()), b""))
        host, _, port = self.path.partition(":")
        self.close_connection = True
        with socket.create_connection((host, int(port))) as far:
            self.send_response_only(200)
            self.end_headers()
            back = threading.Thread(target=_copy, args=(far, self.connection))
            back.start()
            _copy(self.connection, far)
            back.join()

    def log_message(self, *_: object) -> None: ...

    def head(self, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def json(self, value: object, status: int = 200, **headers: str) -> None:
        content = json.dumps(value).encode()
        self.head(status, content_type="application/json", content_length=str(len(content)), **headers)
        self.wfile.write(content)

    def chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))

    def stream(self, *pieces: bytes, end: bool = True) -> None:
        self.head(content_type="text/event-stream", transfer_encoding="chunked")
        for piece in pieces:
            self.chunk(piece)
        if end:
            self.chunk(b"")


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)


@dataclass
class Running:
    url: str
    seen: list[Seen] = field(default_factory=list)


@contextlib.contextmanager
def service(
    answer: Callable[[Service], None], tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> Iterator[Running]:
    seen: list[Seen] = []
    handler = type("Scripted", (Service,), {"seen": seen, "answer": staticmethod(answer)})
    server = ThreadingHTTPServer((host, 0), handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Running(f"http{'s' if tls else ''}://{host}:{server.server_port}", seen)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def brokered(answer: Callable[[Service], None], **how: Any) -> Iterator[tuple[Broker, Running]]:
    with service(answer) as running, Broker(running.url, **{"api_key": KEY, "environ": {}, **how}) as broker:
        yield broker, running


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def error(self) -> tuple[int, str]:
        return self.status, json.loads(self.body)["error"]["type"]


def send(
    broker: Broker,
    nonce: str,
    body: object = BODY,
    path: str = "/v1/messages?beta=true",
    method: str = "POST",
    **headers: str,
) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(broker.url.removeprefix("http://"), timeout=20)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, content, {"x-api-key": nonce, **headers})
    return connection


def ask(broker: Broker, nonce: str, *args: Any, **more: str) -> Answer:
    with contextlib.closing(send(broker, nonce, *args, **more)) as connection:
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers.items()), response.read())


def raw(broker: Broker, text: str) -> bytes:
    """What comes back for bytes that no client library would send."""
    host, port = broker.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(text.replace("\n", "\r\n").encode())
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def event(kind: str, **more: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def events(model: str = "claude-sonnet-5-5", output: int = 155, **usage: Any) -> list[bytes]:
    tricky = 'data: {"type":"message_delta","usage":{"output_tokens":999999}}\n'
    return [
        event("message_start", message={"model": model, "usage": {**USAGE, **usage}}),
        b": ping\n\n",
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": tricky}),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": output}),
        event("message_stop"),
    ]


def plain(to: Service) -> None:
    to.json(MESSAGE)


def eventually(true: Callable[[], bool], seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return true()


# --- the key ----------------------------------------------------------------------------------------


def test_the_service_gets_the_key_and_never_the_nonce() -> None:
    with brokered(plain) as (broker, running):
        nonce = broker.open(1.0)
        more = {"x-evil": "1", "cookie": f"c={nonce}", "anthropic-version": "2023-06-01"}
        answer = ask(broker, nonce, **more, authorization=f"Bearer {nonce}")
    assert (answer.status, json.loads(answer.body)) == (200, MESSAGE)
    (seen,) = running.seen
    headers = {name.lower(): value for name, value in seen.headers.items()}
    assert (seen.path, json.loads(seen.body)) == ("/v1/messages?beta=true", BODY)
    assert set(headers) == {"host", "x-api-key", "anthropic-version", "content-length", "accept-encoding"}
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert nonce not in repr(seen)


def test_a_bearer_nonce_is_enough() -> None:
    with brokered(plain) as (broker, running):
        nonce = broker.open(1.0)
        head = f"POST /v1/messages HTTP/1.1\nHost: broker.local\nAuthorization: Bearer {nonce}\n"
        assert raw(broker, f"{head}Content-Length: 2\n\n{{}}").startswith(b"HTTP/1.1 200")
    assert len(running.seen) == 1


def test_an_oauth_token_goes_as_bearer_with_its_beta() -> None:
    with brokered(plain, api_key=None, oauth_token="oat-token") as (broker, running):
        nonce = broker.open(1.0)
        ask(broker, nonce, **{"anthropic-beta": "claude-code-20250219,effort-2025-11-24"})
        ask(broker, nonce)
    first, second = running.seen
    assert first.headers["authorization"] == "Bearer oat-token"
    assert first.headers["anthropic-beta"] == "claude-code-20250219,effort-2025-11-24,oauth-2025-04-20"
    assert second.headers["anthropic-beta"] == "oauth-2025-04-20"
    assert "x-api-key" not in {name.lower() for name in first.headers}


def test_the_key_wins_over_the_token() -> None:
    with brokered(plain, oauth_token="oat-token") as (broker, running):
        ask(broker, broker.open(1.0))
    assert "oat-token" not in repr(running.seen)
    assert KEY in repr(running.seen)


def pid_of(broker: Broker) -> int:
    assert broker.url  # it runs
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return max(int(pid) for pid in children if "broker_server" in Path(f"/proc/{pid}/cmdline").read_text())


linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@linux
def test_the_key_is_in_no_command_line_environment_or_repr() -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HTTPS_PROXY": "http://proxy:1",
        "INPUT_ANTHROPIC-API-KEY": KEY,
        "GITHUB_TOKEN": "t",
    }
    with Broker("http://127.0.0.1:9", api_key=KEY, environ=environ) as broker:
        pid = pid_of(broker)
        names = {line.partition("=")[0] for line in Path(f"/proc/{pid}/environ").read_text().split("\0")}
        assert names - {""} == {"PATH", "HTTPS_PROXY", "PYTHONPATH"}
        assert KEY not in Path(f"/proc/{pid}/cmdline").read_text() + Path(f"/proc/{pid}/environ").read_text()
        assert KEY not in repr(broker)


@linux
@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="needs setpriv to be less than root")
def test_the_same_user_cannot_look_into_the_process() -> None:
    program = f"""if True:
        import subprocess
        from autobuild_action.adapters.broker import Broker
        broker = Broker("http://127.0.0.1:9", api_key={KEY!r})
        with broker, subprocess.Popen(["sleep", "9"]) as other:
            broker.open(1.0)
            for pid in (other.pid, broker._process._process.pid):
                for file in ("environ", "mem", "maps"):
                    try:
                        open(f"/proc/{{pid}}/{{file}}", "rb").close()
                    except PermissionError:
                        print("kept from us", file, "of", "another" if pid == other.pid else "the broker")
            other.kill()"""
    weak = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    argv = [*weak, sys.executable, "-c", program]
    shown = subprocess.run(argv, capture_output=True, check=True, text=True, env={"PYTHONPATH": "src"}).stdout
    assert shown.splitlines() == [f"kept from us {file} of the broker" for file in ("environ", "mem", "maps")]


# --- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/messages"),
        ("PUT", "/v1/messages"),
        ("DELETE", "/v1/messages"),
        ("BREW", "/v1/messages"),
        ("POST", "/v1/files"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/messages/"),
        ("POST", "/v1/messages/../files"),
        ("POST", "/v1/messages%2fbatches"),
        ("POST", "/v1/messages?beta=true&x=1"),
        ("POST", "http://127.0.0.1/v1/messages"),
        ("POST", "/"),
    ],
)
def test_only_messages_can_be_posted(method: str, path: str) -> None:
    with brokered(plain) as (broker, running):
        nonce = broker.open(1.0)
        answer = ask(broker, nonce, BODY, path, method)
        assert answer.error == (403, "permission_error")
        assert broker.close(nonce).refused == 1
    assert running.seen == []


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "broker.local:80", ""])
def test_only_the_own_host_is_served(host: str) -> None:
    with brokered(plain) as (broker, running):
        assert ask(broker, broker.open(1.0), Host=host).error == (403, "permission_error")
    assert running.seen == []


def test_no_host_and_two_hosts_are_refused() -> None:
    with brokered(plain) as (broker, running):
        nonce = broker.open(1.0)
        for hosts in ("", "Host: broker.local\nHost: broker.local\n"):
            head = f"POST /v1/messages HTTP/1.1\n{hosts}x-api-key: {nonce}\nContent-Length: 2\n\n{{}}"
            assert raw(broker, head).startswith(b"HTTP/1.1 403")
    assert running.seen == []


def test_a_nonce_counts_only_while_its_session_is_open() -> None:
    with brokered(plain) as (broker, running):
        first, second = broker.open(1.0), broker.open(1.0)
        assert len({first, second}) == 2
        assert len(base64.urlsafe_b64decode(first + "=")) == 32
        assert ask(broker, first).status == 200
        assert broker.close(first).requests == 1
        for wrong in (first, KEY, "", second[:-1]):
            answer = ask(broker, wrong)
            assert answer.error == (401, "authentication_error")
            assert answer.headers["x-should-retry"] == "false"
        assert ask(broker, second).status == 200
        assert broker.close(second).refused == 4
        with pytest.raises(BrokerLostError, match="no such session"):
            broker.close(second)
    assert len(running.seen) == 2


def test_a_body_of_100_mb_is_refused_and_the_refusal_arrives() -> None:
    with brokered(plain) as (broker, running):
        nonce = broker.open(1.0)
        assert ask(broker, nonce, b"x" * 100_000_000).error == (413, "request_too_large")
        assert ask(broker, nonce).status == 200
        assert broker.close(nonce).refused == 1
    assert len(running.seen) == 1


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ("", 411),
        ("Transfer-Encoding: chunked\n", 411),
        ("Content-Length: 2\nTransfer-Encoding: chunked\n", 411),
        ("Content-Length: 2\nContent-Length: 30\n", 411),
        ("Content-Length: -2\n", 400),
        ("Content-Length: 0x2\n", 400),
        ("Content-Length: 3\n", 400),
        ("Content-Length: 99999999999999999999999\n", 413),
        ("Content-Length: 2\nanthropic-beta: a\n b\n", 400),
    ],
)
def test_unclear_framing_is_refused(lines: str, status: int) -> None:
    with brokered(plain) as (broker, running):
        head = f"POST /v1/messages HTTP/1.1\nHost: broker.local\nx-api-key: {broker.open(1.0)}\n{lines}\n{{}}"
        assert raw(broker, head).startswith(f"HTTP/1.1 {status} ".encode())
    assert running.seen == []


def test_nothing_is_smuggled_behind_a_request() -> None:
    with brokered(plain) as (broker, running):
        head = f"POST /v1/messages HTTP/1.1\nHost: broker.local\nx-api-key: {broker.open(1.0)}\n"
        assert raw(broker, f"{head}Content-Length: 2\n\n{{}}" * 2).count(b"HTTP/1.1 ") == 1
    assert len(running.seen) == 1


@pytest.mark.parametrize(
    ("part", "status"),
    [
        ({"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]}, 403),
        ({"tools": [{"name": "Read"}, {"type": "web_search_20250305", "name": "web_search"}]}, 403),
        ({"tools": ["web_search"]}, 403),
        ({"tools": {"type": "web_search_20250305"}}, 403),
        ({"mcp_servers": [{"type": "url", "url": "https://evil.example"}]}, 403),
        ({"speed": "fast"}, 403),
        (
            {"messages": [{"content": [{"type": "image", "source": {"type": "url", "url": "https://e.example"}}]}]},
            403,
        ),
        ([1], 400),
    ],
)
def test_the_service_is_not_made_to_reach_out(part: Any, status: int) -> None:
    with brokered(plain) as (broker, running):
        assert ask(broker, broker.open(1.0), part).status == status
    assert running.seen == []


@pytest.mark.parametrize("body", [b'{"tools": [{"type": "x"}], "tools": []}', b"{", b"\xff", b"[" * 100_000])
def test_a_body_that_two_readers_could_read_differently_is_refused(body: bytes) -> None:
    with brokered(plain) as (broker, running):
        assert ask(broker, broker.open(1.0), body).error == (400, "invalid_request_error")
    assert running.seen == []


def test_the_sessions_own_tools_pass() -> None:
    tools = [
        {"name": "Read", "input_schema": {}},
        {"type": "custom", "name": "run"},
        {"name": "x", "defer_loading": True},
    ]
    with brokered(plain) as (broker, _):
        assert ask(broker, broker.open(1.0), {**BODY, "tools": tools}).status == 200


# --- answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("framing", ["chunked", "by byte", "until closed"])
def test_a_stream_passes_byte_by_byte(framing: str) -> None:
    content = b"".join(events())

    def answer(to: Service) -> None:
        if framing == "until closed":
            to.head(content_type="text/event-stream", connection="close")
            to.wfile.write(content)
        else:
            to.stream(*([content] if framing == "chunked" else [bytes([byte]) for byte in content]))

    with brokered(answer) as (broker, _):
        nonce = broker.open(1.0)
        got = ask(broker, nonce)
        used = broker.close(nonce).usage
    assert (got.status, got.body, got.headers["content-type"]) == (200, content, "text/event-stream")
    assert used.cost_usd == pytest.approx(SONNET)
    assert not used.estimated


def test_the_first_event_arrives_before_the_last_is_sent() -> None:
    first, *rest = events()
    arrived = threading.Event()

    def answer(to: Service) -> None:
        to.head(content_type="text/event-stream", transfer_encoding="chunked")
        to.chunk(first)
        assert arrived.wait(10)
        for piece in [*rest, b""]:
            to.chunk(piece)

    with brokered(answer) as (broker, _), contextlib.closing(send(broker, broker.open(1.0))) as connection:
        response = connection.getresponse()
        got = b""
        while len(got) < len(first):
            got += response.read1()
        assert got == first
        arrived.set()
        assert response.read() == b"".join(rest)


def test_eight_streams_at_once_and_a_ninth_is_asked_to_wait() -> None:
    together = threading.Barrier(9)

    def answer(to: Service) -> None:
        first, *rest = events()
        to.head(content_type="text/event-stream", transfer_encoding="chunked")
        to.chunk(first)
        together.wait(10)
        together.wait(10)
        for piece in [*rest, b""]:
            to.chunk(piece)

    with brokered(answer) as (broker, _), ThreadPoolExecutor(8) as pool:
        nonce, other = broker.open(10.0), broker.open(10.0)
        futures = [pool.submit(ask, broker, nonce) for _ in range(8)]
        together.wait(10)
        ninth = ask(broker, nonce)
        together.wait(10)
        answers = [future.result() for future in futures]
        used = broker.close(nonce)
        assert broker.close(other).requests == 0
    assert ninth.error == (429, "rate_limit_error")
    assert "x-should-retry" not in ninth.headers
    assert [answer.body for answer in answers] == [b"".join(events())] * 8
    assert (used.requests, used.refused, used.usage.output_tokens) == (8, 1, 8 * 155)
    assert used.usage.cost_usd == pytest.approx(8 * SONNET)


def test_an_error_of_the_service_passes_unchanged() -> None:
    error = {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
        "request_id": "r",
    }
    with brokered(lambda to: to.json(error, 529, retry_after="7", x_should_retry="true", set_cookie="c")) as (
        broker,
        _,
    ):
        nonce = broker.open(1.0)
        answer = ask(broker, nonce)
        used = broker.close(nonce)
    assert (answer.status, json.loads(answer.body)) == (529, error)
    assert (answer.headers["retry-after"], answer.headers["x-should-retry"]) == ("7", "true")
    assert "set-cookie" not in {name.lower() for name in answer.headers}
    assert (used.requests, used.refused, used.usage.cost_usd) == (1, 0, 0)


@pytest.mark.parametrize("sized", [True, False])
def test_a_cut_answer_is_cut_for_the_client_too(*, sized: bool) -> None:
    def answer(to: Service) -> None:
        if sized:
            to.head(content_type="application/json", content_length="5000")
            to.wfile.write(json.dumps(MESSAGE).encode()[:-9])
        else:
            to.stream(*events()[:3], end=False)

    with brokered(answer) as (broker, _):
        nonce = broker.open(1.0)
        with pytest.raises(http.client.IncompleteRead):
            ask(broker, nonce)
        used = broker.close(nonce).usage
    assert used.input_tokens == (len(json.dumps(BODY)) // 4 if sized else 1015)
    assert used.output_tokens > 1
    assert used.estimated


def test_a_service_that_is_not_there_is_a_502_that_may_be_tried_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with Broker(url, api_key=KEY, environ={}) as broker:
        nonce = broker.open(1.0)
        answer = ask(broker, nonce)
        used = broker.close(nonce)
    assert answer.error == (502, "api_error")
    assert b"ConnectionRefusedError" in answer.body
    assert "x-should-retry" not in answer.headers
    assert (used.requests, used.refused) == (0, 0)


# --- tokens and money -------------------------------------------------------------------------------


def test_usage_and_cost_of_both_kinds_of_answer() -> None:
    def answer(to: Service) -> None:
        if json.loads(to.seen[-1].body)["stream"]:
            to.stream(*events())
        else:
            plain(to)

    with brokered(answer) as (broker, _):
        nonce = broker.open(1.0)
        ask(broker, nonce, {**BODY, "stream": False})
        ask(broker, nonce)
        used = broker.close(nonce)
    assert (used.usage.input_tokens, used.usage.output_tokens) == (2030, 310)
    assert (used.usage.cache_read_tokens, used.usage.cache_write_tokens) == (44000, 4000)
    assert used.usage.cost_usd == pytest.approx(2 * 0.01078)
    assert (used.requests, used.refused, used.over_budget, used.usage.estimated) == (2, 0, False, False)


def test_counting_tokens_is_free() -> None:
    with brokered(lambda to: to.json({"input_tokens": 5})) as (broker, running):
        nonce = broker.open(1.0)
        assert ask(broker, nonce, BODY, "/v1/messages/count_tokens?beta=true").status == 200
        used = broker.close(nonce)
    assert (used.requests, used.usage.cost_usd, used.usage.estimated) == (1, 0, False)
    assert running.seen[0].path == "/v1/messages/count_tokens?beta=true"


@pytest.mark.parametrize(
    ("model", "dollars"),
    [  # of a million tokens of input and a million of output
        ("claude-opus-5-5", 24),
        ("claude-opus-5", 30),
        ("claude-opus-5-20260724", 30),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", 30),
        ("anthropic/claude-opus-4.8", 30),
        ("claude-opus-4-1-20250805", 90),
        ("claude-opus-4-20250514", 90),
        ("claude-sonnet-5-5", 12),
        ("claude-sonnet-5@20260101", 12),
        ("claude-sonnet-4-6", 18),
        ("claude-sonnet-4-20250514", 18),
        ("claude-3-7-sonnet-20250219", 18),
        ("claude-haiku-4-5-20251001", 6),
        ("claude-3-5-haiku-20241022", 4.8),
        ("claude-haiku-5-5", 3),
        ("claude-fable-5-1", 60),
        ("claude-fable-5-2", 48),
        ("claude-opus-5-7", None),
        ("claude-sonnet-50", None),
        ("gpt-9", None),
    ],
)
def test_a_model_has_its_price_and_a_later_version_has_none(model: str, dollars: float | None) -> None:
    tally = meter.Meter(model, 9, streamed=False)
    tally.feed(
        json.dumps({**MESSAGE, "model": model, "usage": {"input_tokens": 10**6, "output_tokens": 10**6}}).encode()
    )
    assert tally.tally().cost_usd == pytest.approx(dollars or 90)
    assert tally.tally().estimated == (dollars is None)


def test_a_short_prompt_is_cheaper_where_the_list_says_so() -> None:
    assert meter.price_of("claude-haiku-5-5", 100_000) == (0.1, 0.5, 0.01)
    assert meter.price_of("claude-haiku-5-5", 100_001) == (0.5, 2.5, 0.05)


def test_cache_written_for_an_hour_costs_twice_the_input() -> None:
    written = {"ephemeral_1h_input_tokens": 500, "ephemeral_5m_input_tokens": 1500}
    with brokered(lambda to: to.stream(*events(cache_creation=written))) as (broker, _):
        nonce = broker.open(1.0)
        ask(broker, nonce)
        assert broker.close(nonce).usage.cost_usd == pytest.approx(SONNET + 500 * 0.75 * 2 / 1e6)


def test_the_answers_model_decides_and_else_the_requests() -> None:
    with brokered(lambda to: to.stream(*events("claude-opus-5-5"))) as (broker, _):
        nonce = broker.open(1.0)
        ask(broker, nonce)
        opus = (1015 * 4 + 2000 * 5 + 22000 * 0.2 + 155 * 20) / 1e6
        assert broker.close(nonce).usage.cost_usd == pytest.approx(opus)
    with brokered(lambda to: to.stream(*events("alias-of-the-gateway"))) as (broker, _):
        nonce = broker.open(1.0)
        ask(broker, nonce)
        assert broker.close(nonce).usage.cost_usd == pytest.approx(SONNET)


def test_an_answer_without_usage_is_charged_by_its_size_as_an_estimate() -> None:
    with brokered(lambda to: to.json({"x": "y" * 3992})) as (broker, _):
        nonce = broker.open(1.0)
        ask(broker, nonce, b"{}" + b" " * 3998)
        used = broker.close(nonce).usage
    assert (used.input_tokens, used.output_tokens, used.estimated) == (1000, 1000, True)
    assert used.cost_usd == pytest.approx(1000 * 90 / 1e6)


def test_a_used_up_budget_ends_the_session_and_only_it() -> None:
    with brokered(plain) as (broker, running):
        poor, rich, broke = broker.open(1.5 * SONNET), broker.open(1.0), broker.open(0)
        answers = [ask(broker, poor) for _ in range(4)]
        assert ask(broker, rich).status == 200
        assert ask(broker, broke).status == 402
        used, other = broker.close(poor), broker.close(rich)
    assert [answer.status for answer in answers] == [200, 200, 402, 402]
    assert answers[-1].error == (402, "billing_error")
    assert b"budget of this session is used up" in answers[-1].body
    assert answers[-1].headers["x-should-retry"] == "false"
    assert (used.over_budget, used.requests, used.refused) == (True, 2, 2)
    assert used.usage.cost_usd == pytest.approx(2 * SONNET)
    assert (other.over_budget, other.refused) == (False, 0)
    assert len(running.seen) == 3


def test_leaving_early_does_not_spare_the_cost() -> None:
    first, *rest = events()
    gone, done = threading.Event(), threading.Event()

    def answer(to: Service) -> None:
        to.head(content_type="text/event-stream", transfer_encoding="chunked")
        to.chunk(first)
        assert gone.wait(10)
        for piece in [*[event("ping")] * 50, *rest, b""]:
            to.chunk(piece)
            time.sleep(0.002)
        done.set()

    with brokered(answer) as (broker, _):
        nonce = broker.open(1.0)
        connection = send(broker, nonce)
        response = connection.getresponse()
        response.read1()
        response.close()
        connection.close()
        gone.set()
        assert done.wait(10)
        time.sleep(0.2)  # what the service has sent, the broker has yet to read
        used = broker.close(nonce).usage
    assert used.cost_usd == pytest.approx(SONNET)
    assert not used.estimated


@pytest.mark.parametrize("begun", [True, False])
def test_closing_a_session_cuts_what_it_has_under_way(*, begun: bool) -> None:
    waiting, cut = threading.Event(), threading.Event()

    def answer(to: Service) -> None:
        if begun:
            to.head(content_type="text/event-stream", transfer_encoding="chunked")
            to.chunk(events()[0])
        waiting.set()
        if not to.connection.recv(1):
            cut.set()

    with (
        brokered(answer) as (broker, _),
        contextlib.closing(send(broker, nonce := broker.open(1.0))) as connection,
    ):
        assert waiting.wait(10)
        if begun:
            connection.getresponse().read1()
        began = time.monotonic()
        used = broker.close(nonce)
        assert time.monotonic() - began < 1
        assert cut.wait(5)
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            connection.getresponse().read()
    assert (used.requests, used.usage.estimated) == (1, True)
    assert used.usage.input_tokens == (1015 if begun else len(json.dumps(BODY)) // 4)


def test_closing_a_session_cuts_a_request_that_is_still_coming_in() -> None:
    with brokered(plain) as (broker, running):
        nonce = broker.open(1.0)
        host, port = broker.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as client:
            head = f"POST /v1/messages HTTP/1.1\r\nHost: broker.local\r\nx-api-key: {nonce}\r\n"
            client.sendall(f"{head}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n{{".encode())
            assert client.recv(100).startswith(b"HTTP/1.1 100")
            began = time.monotonic()
            assert broker.close(nonce).requests == 0
            assert time.monotonic() - began < 1.5  # it would wait two seconds for the rest
            with contextlib.suppress(ConnectionError):
                client.sendall(b"}")
                assert client.recv(100)[9:12] in (b"", b"401")  # cut, or not yet let in
    assert running.seen == []


# --- the process ------------------------------------------------------------------------------------


def test_without_a_usable_key_it_says_what_to_do() -> None:
    with pytest.raises(AuthError, match="Give anthropic-api-key"):
        Broker("http://127.0.0.1:9", api_key="  ")
    with pytest.raises(AuthError, match="Copy it again") as raised:
        Broker("http://127.0.0.1:9", api_key=f"{KEY}\nmore")
    assert KEY not in str(raised.value)
    with brokered(plain, api_key=f" {KEY}\n") as (broker, running):
        ask(broker, broker.open(1.0))
    assert KEY in running.seen[0].headers.values()


@pytest.mark.parametrize(
    ("url", "environ"),
    [
        ("ftp://model.example", {}),
        ("api.anthropic.com", {}),
        ("https://user:password@model.example", {}),
        ("https://model.example:port", {}),
        ("https://model.example", {"HTTPS_PROXY": "socks5://proxy.example"}),
    ],
)
def test_an_address_that_cannot_be_used_is_named_before_the_first_session(url: str, environ: dict[str, str]) -> None:
    with (
        Broker(url, api_key=KEY, environ=environ) as broker,
        pytest.raises(SetupError, match="could not start") as raised,
    ):
        broker.open(1.0)
    assert KEY not in str(raised.value)


def test_it_works_only_between_start_and_stop() -> None:
    broker = Broker("http://127.0.0.1:9", api_key=KEY, environ={})
    with pytest.raises(RuntimeError, match="not started"):
        broker.open(1.0)
    with broker:
        broker.open(1.0)
    broker.stop()
    with pytest.raises(RuntimeError, match="stopped"):
        _ = broker.url


@linux
def test_a_killed_broker_is_reported_and_the_next_session_gets_a_new_one() -> None:
    with brokered(plain) as (broker, _):
        lost = broker.open(1.0)
        os.kill(pid_of(broker), signal.SIGKILL)
        with pytest.raises(BrokerLostError, match="exit status -9"):
            broker.close(lost)
        nonce = broker.open(1.0)
        assert ask(broker, lost).status == 401
        assert ask(broker, nonce).status == 200
        assert broker.close(nonce).requests == 1


@linux
def test_the_process_ends_with_its_orchestrator_however_that_ended() -> None:
    program = f"""if True:
        import time
        from autobuild_action.adapters.broker import Broker
        with Broker("http://127.0.0.1:9", api_key={KEY!r}) as broker:
            print(broker.url, flush=True)
            time.sleep(60)"""
    argv = [sys.executable, "-c", program]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env={"PYTHONPATH": "src"}, text=True) as parent:
        assert parent.stdout
        host, port = parent.stdout.readline().strip().removeprefix("http://").split(":")
        assert not refuses(host, int(port))
        parent.kill()
    assert eventually(lambda: refuses(host, int(port)))  # 20 ms on an idle machine


def refuses(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) != 0


def test_many_threads_may_open_and_close() -> None:
    with brokered(plain) as (broker, _), ThreadPoolExecutor(8) as pool:

        def session(_: int) -> tuple[int, int]:
            nonce = broker.open(1.0)
            return ask(broker, nonce).status, broker.close(nonce).requests

        assert list(pool.map(session, range(40))) == [(200, 1)] * 40


# --- the way to the service -------------------------------------------------------------------------


FAR = "127.0.0.2"
"""A loopback address of Linux that isn't the one no proxy is asked for."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a self-signed certificate in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "model.test")])
    now = dt.datetime.now(dt.UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + dt.timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(FAR))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    file.write_bytes(private + built.public_bytes(serialization.Encoding.PEM))
    return file


def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@linux
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"])
def test_https_trusts_the_certificates_of_the_environment(certificate: Path, variable: str) -> None:
    with service(plain, tls(certificate), FAR) as running:
        with Broker(running.url, api_key=KEY, environ={variable: str(certificate)}) as broker:
            nonce = broker.open(1.0)
            assert ask(broker, nonce).status == 200
            assert broker.close(nonce).usage.output_tokens == 155
        with Broker(running.url, api_key=KEY, environ={}) as broker:
            answer = ask(broker, broker.open(1.0))
    assert answer.status == 502
    assert b"CERTIFICATE_VERIFY_FAILED" in answer.body
    assert len(running.seen) == 1


@linux
def test_https_goes_through_the_proxy_in_a_tunnel(certificate: Path) -> None:
    with service(plain, tls(certificate), FAR) as running, service(plain) as proxy:
        login = proxy.url.replace("http://", "http://user:p%40ss@")
        environ = {"HTTPS_PROXY": login, "SSL_CERT_FILE": str(certificate)}
        with Broker(running.url, api_key=KEY, environ=environ) as broker:
            assert ask(broker, broker.open(1.0)).status == 200
        with Broker(running.url, api_key=KEY, environ={**environ, "NO_PROXY": FAR}) as broker:
            assert ask(broker, broker.open(1.0)).status == 200
    assert len(running.seen) == 2
    (tunnel,) = proxy.seen
    assert tunnel.path == running.url.removeprefix("https://")
    headers = {name.lower(): value for name, value in tunnel.headers.items()}
    assert headers["proxy-authorization"] == f"Basic {base64.b64encode(b'user:p@ss').decode()}"
    assert KEY not in repr(tunnel)
    assert "proxy-authorization" not in {name.lower() for name in running.seen[0].headers}


@linux
def test_plain_http_asks_the_proxy_for_the_whole_address() -> None:
    with service(plain) as proxy:
        environ = {"http_proxy": proxy.url.replace("http://", "http://user:pass@")}
        with Broker("http://gateway.test:8080/base/", api_key=KEY, environ=environ) as broker:
            assert ask(broker, broker.open(1.0)).status == 200
    (seen,) = proxy.seen
    assert seen.path == "http://gateway.test:8080/base/v1/messages?beta=true"
    assert seen.headers["Host"] == "gateway.test:8080"
    assert "proxy-authorization" in {name.lower() for name in seen.headers}


# --- the real client --------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
TOOLS = ["Read", "Write", "Edit", "Bash", "Glob", "Grep"]


async def play(broker: Broker, nonce: str, folder: Path) -> ResultMessage:
    options = ClaudeAgentOptions(
        cwd=folder,
        model="claude-sonnet-5-5",
        tools=TOOLS,
        allowed_tools=TOOLS,
        system_prompt="You are the Player of a test.",
        permission_mode="dontAsk",
        setting_sources=[],
        strict_mcp_config=True,
        verbatim_prompts=True,
        max_turns=20,
        output_format={"type": "json_schema", "schema": SCHEMA},
        extra_args={"no-session-persistence": None},
        env={
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "ANTHROPIC_BASE_URL": broker.url,
            "ANTHROPIC_API_KEY": nonce,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        },
    )
    result = None
    with contextlib.suppress(ResultError):  # follows a result that is an error
        async with asyncio.timeout(60):
            async for message in query(prompt="Begin.", options=options):  # to the end: that closes all of it
                result = message if isinstance(message, ResultMessage) else result
    assert result
    return result


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own set-up may send a session anywhere but to the broker."""
    for name in os.environ:
        if name.upper().startswith(("CLAUDE", "ANTHROPIC", "AWS_")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)


def script(*replies: Any) -> Script:
    return Script(roles={"player": [Session(replies=replies)]})


DONE = structured({"summary": "done"})


@pytest.mark.usefixtures("clean_environment")
def test_a_real_session_runs_through_it_and_never_holds_the_key(tmp_path: Path) -> None:
    look = Use("Bash", {"command": "env; cat /proc/$PPID/environ | tr '\\0' '\\n'"})
    with (
        ModelServer(script(look, DONE), api_keys={KEY}) as server,
        Broker(server.url, api_key=KEY, environ={}) as broker,
    ):
        nonce = broker.open(1.0)
        result = asyncio.run(play(broker, nonce, tmp_path))
        used = broker.close(nonce)
    server.check()
    assert (result.is_error, result.structured_output) == (False, {"summary": "done"})
    assert nonce in server.requests[-1].text  # the agent can look at its own nonce, which is worth nothing now
    assert KEY not in server.requests[-1].text
    assert {request.api_key for request in server.requests} == {KEY}
    assert (used.requests, used.refused, used.over_budget) == (2, 0, False)
    assert used.usage.cost_usd == pytest.approx(result.total_cost_usd)


@pytest.mark.usefixtures("clean_environment")
def test_a_real_session_ends_at_once_when_its_budget_is_used_up(tmp_path: Path) -> None:
    replies = [Use("Bash", {"command": "true"}), DONE]
    with (
        ModelServer(script(*replies)) as server,
        Broker(server.url, api_key=KEY, environ={}) as broker,
    ):
        nonce = broker.open(0.0001)
        began = time.monotonic()
        result = asyncio.run(play(broker, nonce, tmp_path))
        seconds = time.monotonic() - began
        used = broker.close(nonce)
    assert (result.is_error, result.terminal_reason, result.api_error_status) == (True, "api_error", 402)
    assert "budget of this session is used up" in str(result.result)
    assert (used.requests, used.refused, used.over_budget) == (1, 1, True)
    assert seconds < 20  # of which the CLI itself takes most; a retry would take minutes


@pytest.mark.usefixtures("clean_environment")
def test_a_real_session_ends_at_once_when_it_is_closed(tmp_path: Path) -> None:
    with ModelServer(script()) as server, Broker(server.url, api_key=KEY, environ={}) as broker:
        nonce = broker.open(1.0)
        broker.close(nonce)
        other = broker.open(1.0)
        result = asyncio.run(play(broker, nonce, tmp_path))
        assert broker.close(other).refused == 1
    assert (result.is_error, result.api_error_status) == (True, 401)
    assert server.requests == []
