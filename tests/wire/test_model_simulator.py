"""The scripted model server, driven by the real SDK and the CLI that it bundles."""

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests
from claude_agent_sdk import ClaudeAgentOptions, ResultError, ResultMessage, query

from simulators.model import (
    Answer,
    CutStream,
    Garbage,
    Hang,
    ModelServer,
    Refuse,
    Request,
    Say,
    Script,
    Session,
    Usage,
    Use,
    load,
    structured,
)

PLAYER_TOOLS = ["Read", "Write", "Edit", "Bash", "Glob", "Grep"]
COACH_TOOLS = ["Read", "Glob", "Grep"]
SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
DONE = structured({"summary": "done"})


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own set-up may send a session anywhere but to the simulator."""
    for name in os.environ:
        if name.upper().startswith(("CLAUDE", "ANTHROPIC", "AWS_")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)


async def play(
    server: ModelServer,
    folder: Path,
    role: str = "Player",
    prompt: str = "Begin.",
    **env: str,
) -> ResultMessage:
    """One real session, as the product starts them."""
    tools = PLAYER_TOOLS if role == "Player" else COACH_TOOLS
    options = ClaudeAgentOptions(
        cwd=folder,
        model="claude-sonnet-5-5",
        tools=tools,
        allowed_tools=tools,
        system_prompt=f"You are the {role} of a test.",
        permission_mode="dontAsk",
        setting_sources=[],
        strict_mcp_config=True,
        verbatim_prompts=True,
        max_turns=20,
        max_buffer_size=64 * 2**20,
        output_format={"type": "json_schema", "schema": SCHEMA},
        session_id=str(uuid.uuid4()),
        extra_args={"no-session-persistence": None},
        env={
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
            "CLAUDE_CODE_MAX_RETRIES": "3",
            "ENABLE_TOOL_SEARCH": "false",  # or else a DeferredToolPlaceholder is offered too
            **env,
        },
    )
    result = None
    with suppress(ResultError):  # follows the result of a failed session
        async with asyncio.timeout(60):
            async for message in query(prompt=prompt, options=options):  # to its end, or the CLI outlives it
                result = message if isinstance(message, ResultMessage) else result
    assert result
    return result


def run(server: ModelServer, folder: Path, role: str = "Player", **more: str) -> ResultMessage:
    return asyncio.run(play(server, folder, role, **more))


def post(url: str, *, key: str = "key", **body: Any) -> requests.Response:
    """One bare request, for what the CLI cannot be made to send."""
    headers = {"X-Claude-Code-Session-Id": "s", "x-api-key": key}
    hello = {"role": "user", "content": "hello"}
    whole = {"system": "You are the Coach.", "messages": [hello], **body}
    return requests.post(f"{url}/v1/messages?beta=true", json=whole, headers=headers, timeout=20)


def one(role: str, *replies: Any, **more: Any) -> Script:
    return Script(roles={role: [Session(replies=list(replies), **more)]})


def test_a_player_writes_runs_and_reports(tmp_path: Path) -> None:
    write = Use("Write", {"file_path": "hello.txt", "content": "forty-two\n"})
    replies = [[Say("Writing."), write], Use("Bash", {"command": "cat hello.txt"}), DONE]
    script = one("player", *replies, forbid=["forty-two"])  # what a session itself adds later may be there
    with ModelServer(script) as server:
        result = run(server, tmp_path)
    server.check()
    assert (tmp_path / "hello.txt").read_text() == "forty-two\n"
    assert (result.is_error, result.terminal_reason) == (False, "completed")
    assert result.structured_output == {"summary": "done"}
    first, *_, last = server.requests
    assert sorted(first.tools) == sorted([*PLAYER_TOOLS, "StructuredOutput"])
    assert (first.role, first.session, first.model) == ("player", 1, "claude-sonnet-5-5")
    assert first.session_id == result.session_id
    assert "You are the Player of a test." in first.system
    assert "Begin." in first.first_user_text
    assert "forty-two" not in first.text
    assert "forty-two" in last.text


def test_a_coach_reads_and_answers_what_it_read(tmp_path: Path) -> None:
    (tmp_path / "proof.txt").write_text("R7 exit 0\n")

    def verdict(request: Request) -> Use:
        return structured({"summary": request.tool_results[-1].split("R")[1].split()[0]})

    script = one("coach", Use("Read", {"file_path": str(tmp_path / "proof.txt")}), verdict)
    with ModelServer(script) as server:
        result = run(server, tmp_path, "Coach")
    server.check()
    assert result.structured_output == {"summary": "7"}
    assert sorted(server.requests[0].tools) == sorted([*COACH_TOOLS, "StructuredOutput"])


def test_an_overloaded_service_recovers(tmp_path: Path) -> None:
    with ModelServer(one("player", Refuse(times=2), DONE)) as server:
        result = run(server, tmp_path)
    server.check()
    assert result.structured_output == {"summary": "done"}
    assert [request.step for request in server.requests] == [0, 0, 0]


@pytest.mark.parametrize("fault", [CutStream(), Garbage(), Hang(seconds=0.1)])
def test_a_broken_answer_is_asked_for_again(tmp_path: Path, fault: Any) -> None:
    with ModelServer(one("player", Use("Bash", {"command": "true"}), fault, DONE)) as server:
        result = run(server, tmp_path)
    server.check()
    assert result.structured_output == {"summary": "done"}
    assert [request.step for request in server.requests] == [0, 1, 1]


def test_faults_come_in_their_order_before_the_answer() -> None:
    busy = Refuse(times=2, status=429, error_type="rate_limit_error", headers={"retry-after": "3"})
    with ModelServer(one("coach", busy, Garbage(), CutStream(), Hang(seconds=0.3), Say("hi"))) as server:
        refused = [post(server.url) for _ in range(2)]
        garbage, cut = (post(server.url, stream=True).text for _ in range(2))
        begin = time.monotonic()
        with pytest.raises(requests.ConnectionError):
            post(server.url)
        assert time.monotonic() - begin >= 0.3
        assert post(server.url).json()["content"] == [{"type": "text", "text": "hi"}]
    server.check()
    assert [(each.status_code, each.headers["retry-after"]) for each in refused] == [(429, "3")] * 2
    assert garbage.startswith("data: {this is not")
    assert "message_start" in cut
    assert "message_stop" not in cut


def test_a_lasting_fault_ends_the_session(tmp_path: Path) -> None:
    with ModelServer(one("player", Refuse(status=500, error_type="api_error", times=None))) as server:
        result = run(server, tmp_path, CLAUDE_CODE_MAX_RETRIES="1")
    server.check()
    assert (result.is_error, result.api_error_status) == (True, 500)


def test_a_session_that_is_not_scripted_is_refused_and_reported(tmp_path: Path) -> None:
    with ModelServer(one("player", DONE)) as server:
        result = run(server, tmp_path, "Coach")
    assert result.is_error
    assert "not scripted" in str(result.result)
    assert server.violations == ["coach: asked for session 1, 0 scripted"]
    assert server.unplayed == ["player session 1: never started"]
    with pytest.raises(AssertionError, match=r"coach: asked for session 1(.|\n)*player session 1: never"):
        server.check()


def test_replies_that_nobody_asked_for_are_reported() -> None:
    with ModelServer(one("coach", Say("one"), Refuse(times=2), Say("two"))) as server:
        post(server.url)
    assert server.unplayed == ["coach session 1, step 2: asked 0 of 3 times"]


def test_more_requests_than_replies_are_reported(tmp_path: Path) -> None:
    with ModelServer(one("player", Use("Bash", {"command": "true"}))) as server:
        assert run(server, tmp_path).is_error
    assert server.violations == ["player session 1, step 2: 1 answers scripted"]


def test_the_first_request_is_held_against_expect_and_forbid(tmp_path: Path) -> None:
    script = one("player", DONE, expect=["AC-1", "the Player", "AC-9"], forbid=["secret", "AC-1"])
    with ModelServer(script) as server:
        run(server, tmp_path, prompt="Do AC-1.")
    assert server.violations == [
        "player session 1: the first request lacks 'AC-9'",
        "player session 1: the first request holds 'AC-1'",
    ]


def test_a_tool_that_is_not_offered_is_a_violation_unless_the_script_means_it() -> None:
    with ModelServer(one("coach", Use("Bash", {}))) as server:
        assert post(server.url, tools=[{"name": "Read"}]).status_code == 400
    assert server.violations == ["coach session 1, step 1: the tool Bash is not offered, only Read"]
    with ModelServer(one("coach", Use("Bash", {}, offered=False))) as server:
        assert post(server.url).json()["stop_reason"] == "tool_use"
    server.check()


def test_a_function_of_the_script_that_fails_is_a_violation() -> None:
    def broken(request: Request) -> Say:
        return Say(request.tool_results[0])

    with ModelServer(one("coach", broken)) as server:
        assert post(server.url).status_code == 400
    assert "IndexError" in server.violations[0]


def test_sessions_of_a_role_run_in_parallel(tmp_path: Path) -> None:
    """Each session gets its own answers, whichever comes first."""

    def own(number: int) -> Callable[[Request], Use]:
        return lambda request: structured({"summary": f"{number} {request.session_id}"})

    both = [Session(replies=[Use("Glob", {"pattern": "*"}), own(number)]) for number in (1, 2)]
    script = Script(roles={"player": both, "coach": both})

    for n in range(4):
        (tmp_path / str(n)).mkdir()

    async def all_four(server: ModelServer) -> list[ResultMessage]:
        roles = ["Player", "Coach", "Player", "Coach"]
        return await asyncio.gather(*(play(server, tmp_path / str(n), r) for n, r in enumerate(roles)))

    with ModelServer(script) as server:
        results = asyncio.run(all_four(server))
    server.check()
    answers = [str(result.structured_output["summary"]).split() for result in results]
    assert sorted(number for number, _ in answers) == ["1", "1", "2", "2"]
    assert [session for _, session in answers] == [result.session_id for result in results]


def test_streamed_and_whole_answers_say_the_same() -> None:
    """Ids of messages differ, as the CLI needs it; ids of tool calls stay."""
    long = "word " * 100
    answer = Answer(
        blocks=[Say(long), Use("Read", {"file_path": long})],
        stop_reason="max_tokens",
        usage=Usage(input_tokens=7, output_tokens=9),
    )
    tools = [{"name": "Read"}]
    with ModelServer(one("coach", answer)) as server:
        whole = post(server.url, tools=tools).json()
        stream = post(server.url, tools=tools, stream=True)
    server.check()
    built = _built([json.loads(line[6:]) for line in stream.text.splitlines() if line.startswith("data: ")])
    assert stream.headers["content-type"] == "text/event-stream"
    assert built.pop("id") != whole.pop("id")
    assert built == whole
    assert whole["content"][1] == {
        "type": "tool_use",
        "id": "toolu_coach_1_1_2",
        "name": "Read",
        "input": {"file_path": long},
    }
    assert whole["usage"]["output_tokens"] == 9


def _built(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Put a message together from its events, as a client does."""
    message: dict[str, Any] = events[0]["message"]
    pieces: list[str] = []
    for event in events:
        match str(event["type"]):
            case "content_block_start":
                message["content"].append(event["content_block"])
                pieces = []
            case "content_block_delta":
                pieces.append(event["delta"].get("text") or event["delta"]["partial_json"])
            case "content_block_stop":
                block = message["content"][event["index"]]
                text = "".join(pieces)
                block.update({"text": text} if block["type"] == "text" else {"input": json.loads(text)})
            case "message_delta":
                message.update(event["delta"])
                message["usage"].update(event["usage"])
            case _:
                pass
    assert events[-1] == {"type": "message_stop"}
    return message


@pytest.mark.parametrize(
    ("stop_reason", "blocks", "times"),
    [
        ("refusal", [], 1),
        ("refusal", [Say("No.")], 2),
        ("max_tokens", [Say("And")], 4),
    ],
)
def test_a_stop_reason_ends_the_session(tmp_path: Path, stop_reason: str, blocks: list[Say], times: int) -> None:
    answer = Answer(blocks=blocks, stop_reason=stop_reason)
    with ModelServer(one("player", *[answer] * times)) as server:
        result = run(server, tmp_path)
    server.check()
    assert (result.is_error, result.terminal_reason) == (True, "api_error")


def test_usage_becomes_cost(tmp_path: Path) -> None:
    usage = Usage(input_tokens=1_000, output_tokens=200, cache_read_input_tokens=3_000)
    with ModelServer(one("player", Answer(blocks=[DONE], usage=usage))) as server:
        result = run(server, tmp_path)
    assert result.usage is not None
    assert {name: result.usage[name] for name in ("input_tokens", "output_tokens")} == {
        "input_tokens": 1_000,
        "output_tokens": 200,
    }
    assert result.total_cost_usd


def test_only_known_keys_are_served() -> None:
    with ModelServer(one("coach", Say("hello")), api_keys={"good"}) as server:
        assert post(server.url, key="bad").json()["error"]["type"] == "authentication_error"
        assert post(server.url, key="good").status_code == 200
        bearer = {"Authorization": "Bearer good", "X-Claude-Code-Session-Id": "s"}
        again = requests.post(f"{server.url}/v1/messages", json=server.requests[1].body, headers=bearer, timeout=5)
        assert again.status_code == 200
        assert [request.role for request in server.requests] == [None, "coach", "coach"]
    server.check()


def test_roles_can_be_found_in_other_ways_and_answers_can_take_their_time() -> None:
    script = one("claude-x", Say("hello"))
    begin = time.monotonic()
    with ModelServer(script, find_role=lambda request: request.model, latency=0.2, pace=0.05) as server:
        assert post(server.url, model="claude-x", stream=True).status_code == 200
    server.check()
    assert time.monotonic() - begin > 0.2 + 6 * 0.05


def test_probes_and_token_counts_are_answered_and_other_paths_are_not() -> None:
    with ModelServer(Script(roles={})) as server:
        assert requests.head(server.url, timeout=5).status_code == 200
        assert requests.get(f"{server.url}/v1/models", timeout=5).status_code == 200
        body = {"messages": [{"role": "user", "content": "x" * 40}]}
        counted = requests.post(f"{server.url}/v1/messages/count_tokens", json=body, timeout=5)
        assert counted.json() == {"input_tokens": 10}
        server.check()
        assert requests.post(f"{server.url}/v1/files", timeout=5).status_code == 404
    assert server.violations == ["POST /v1/files is not simulated"]


def test_the_server_ends_while_a_reply_hangs() -> None:
    with ModelServer(one("coach", Hang(seconds=600))) as server:
        connection = _ask(server)
        _wait_for(lambda: bool(server.requests))
        begin = time.monotonic()
    assert time.monotonic() - begin < 5
    with pytest.raises(http.client.RemoteDisconnected):
        connection.getresponse()
    connection.close()


def test_a_client_that_leaves_does_no_harm(capfd: pytest.CaptureFixture[str]) -> None:
    with ModelServer(one("coach", Say("word " * 4_000)), pace=0.005) as server:
        _ask(server).close()
        _wait_for(lambda: bool(server.requests))
        time.sleep(0.1)
    server.check()
    assert capfd.readouterr() == ("", "")


def _ask(server: ModelServer) -> http.client.HTTPConnection:
    """Send a request without waiting for the answer."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    body = {"system": "You are the Coach.", "messages": [], "stream": True}
    connection.request("POST", "/v1/messages", json.dumps(body), {"X-Claude-Code-Session-Id": "s"})
    return connection


def _wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


FILE = """
coach:
- expect: [hello]
  replies:
  - refuse: {status: 500, error_type: api_error}
  - hang: {seconds: 0.1}
  - cut_stream: {times: 2}
  - garbage: {}
  - [{say: one}, {use: Read, input: {file_path: a}}]
  - structured: {summary: done}
  - {use: Bash, input: {}, offered: false}
  - {blocks: [{say: No.}], stop_reason: refusal, usage: {output_tokens: 3}}
"""


def test_a_script_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(FILE)
    assert load(file) == one(
        "coach",
        Refuse(status=500, error_type="api_error"),
        Hang(seconds=0.1),
        CutStream(times=2),
        Garbage(),
        [Say("one"), Use("Read", {"file_path": "a"})],
        structured({"summary": "done"}),
        Use("Bash", {}, offered=False),
        Answer(blocks=[Say("No.")], stop_reason="refusal", usage=Usage(output_tokens=3)),
        expect=["hello"],
    )


@pytest.mark.parametrize(("hello", "status", "said"), [("hello", 0, ""), ("bye", 1, "lacks 'hello'")])
def test_the_command_serves_a_file_and_judges_at_its_end(tmp_path: Path, hello: str, status: int, said: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"coach": [{"expect": ["hello"], "replies": [{"say": "hi"}]}]}))
    command = [sys.executable, "-m", "simulators.model", "--script", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        message = {"role": "user", "content": hello}
        answer = post(url, messages=[message])
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
    assert answer.json()["content"] == [{"type": "text", "text": "hi"}]
    assert (process.returncode, said in errors) == (status, True)
