"""The one module that touches the Claude Agent SDK: one fresh ``query()`` for each session.

How results are read follows what was measured with SDK 0.2.184 and CLI 2.1.327: ``subtype == "success"`` proves
nothing, an answer exists only as ``structured_output``, and the stream is read to its end, since leaving it at the
``ResultMessage`` leaves the CLI running (the public ``query()`` does not close its inner generator).
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autobuild_action.model import SessionEnd, Why

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from claude_agent_sdk import ClaudeAgentOptions, Message, ResultMessage

BUFFER = 64 * 2**20
"""The default of 1 MiB kills a session at the edit of a larger file, after the file was changed."""

ENVIRONMENT = {
    "IS_SANDBOX": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
    "CLAUDE_CODE_MAX_RETRIES": "4",
    "BASH_DEFAULT_TIMEOUT_MS": "300000",
    "BASH_MAX_TIMEOUT_MS": "900000",
    "ENABLE_TOOL_SEARCH": "false",
    "GIT_TERMINAL_PROMPT": "0",
}
"""What every CLI of ours is started with, beside its own HOME, TMPDIR and the broker's address."""

SETTINGS = {
    "attribution": {"commit": "", "pr": ""},
    "includeCoAuthoredBy": False,
    "disableAllHooks": True,
}
RUN_TOOL = "mcp__autobuild__run"


@dataclass(frozen=True, kw_only=True)
class Call:
    """One session to play."""

    id: str
    model: str
    launcher: Path
    work: Path
    system_file: str
    keep_preset: bool
    prompt: str
    tools: tuple[str, ...]
    schema: Mapping[str, Any]
    max_steps: int
    budget_usd: float
    seconds: float
    run: Callable[[str], str] | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of it; ``structured`` is None where the session gave no answer of the asked shape."""

    end: SessionEnd
    why: Why | None
    detail: str
    structured: dict[str, Any] | None
    seconds: float
    commands: tuple[str, ...]


@dataclass
class _Seen:
    """What the stream of messages told so far."""

    result: ResultMessage | None = None
    stderr: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)


def warm_up() -> None:
    """Begin to import the SDK, which takes most of a second, beside whatever else there is to wait for."""
    threading.Thread(target=bundled_cli).start()


def bundled_cli() -> Path:
    """The Claude Code executable that the SDK's wheel brings."""
    import claude_agent_sdk  # noqa: PLC0415  0.7 s, wanted beside other waiting only

    return Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"


def play(call: Call, on_event: Callable[[str, dict[str, Any]], None]) -> Answer:
    """Play one session to its end; ``on_event`` hears of every message as (kind, plain data)."""
    started = time.monotonic()
    seen = _Seen()
    error: Exception | None = None
    try:
        asyncio.run(_listen(call, seen, on_event))
    except Exception as exc:  # noqa: BLE001  the SDK's own classes and anyio's groups: all mean "the CLI failed"
        error = exc
    end, why, detail = _reading(seen, error)
    result = seen.result
    structured = result.structured_output if result else None
    return Answer(
        end=end,
        why=why,
        detail=detail,
        structured=structured if isinstance(structured, dict) and end is not SessionEnd.FAILED else None,
        seconds=round(time.monotonic() - started, 2),
        commands=tuple(seen.commands),
    )


async def _listen(call: Call, seen: _Seen, on_event: Callable[[str, dict[str, Any]], None]) -> None:
    from claude_agent_sdk import ResultError, ResultMessage, query  # noqa: PLC0415  see bundled_cli

    with suppress(ResultError):  # follows every result that is an error; the result itself says it better
        async with asyncio.timeout(call.seconds):
            async for message in query(prompt=call.prompt, options=_options(call, seen)):
                _note(message, seen, on_event)
                if isinstance(message, ResultMessage):
                    seen.result = message


def _options(call: Call, seen: _Seen) -> ClaudeAgentOptions:
    from claude_agent_sdk import ClaudeAgentOptions  # noqa: PLC0415  see bundled_cli

    tools = [*call.tools, *([RUN_TOOL] if call.run else [])]
    return ClaudeAgentOptions(
        cli_path=call.launcher,
        cwd=call.work,
        model=call.model,
        tools=list(call.tools),
        allowed_tools=tools,
        permission_mode="dontAsk",
        setting_sources=[],
        strict_mcp_config=True,
        mcp_servers={"autobuild": _run_server(call.run)} if call.run else {},
        skills=[],
        verbatim_prompts=True,
        system_prompt=_system_prompt(call),
        output_format={"type": "json_schema", "schema": dict(call.schema)},
        max_turns=call.max_steps,
        max_budget_usd=round(call.budget_usd, 4),
        max_buffer_size=BUFFER,
        session_id=call.id,
        settings=json.dumps(SETTINGS),
        extra_args=_extra_arguments(call),
        stderr=seen.stderr.append,
    )


def _system_prompt(call: Call) -> Any:  # noqa: ANN401  the SDK's union of TypedDicts
    """By a file, since a contract in argv would fail with E2BIG from 128 KiB on."""
    if call.keep_preset:
        return {"type": "preset", "preset": "claude_code"}
    return {"type": "file", "path": call.system_file}


def _extra_arguments(call: Call) -> dict[str, str | None]:
    """What the SDK has no option for: the preset takes its appendix as a file only this way."""
    arguments: dict[str, str | None] = {"no-session-persistence": None, "disable-slash-commands": None}
    return arguments | ({"append-system-prompt-file": call.system_file} if call.keep_preset else {})


def _run_server(run: Callable[[str], str]) -> Any:  # noqa: ANN401  the SDK's own server type
    from claude_agent_sdk import create_sdk_mcp_server, tool  # noqa: PLC0415  see bundled_cli

    @tool(
        "run",
        "Run a shell command in a throw-away copy of the judged commit. The answer begins with the "
        "id to cite as evidence (R1, R2, ...), the exit code and the time; then the command's output.",
        {"command": str},
    )
    async def run_command(arguments: dict[str, Any]) -> dict[str, Any]:
        text = await asyncio.to_thread(run, str(arguments.get("command", "")))
        return {"content": [{"type": "text", "text": text}]}

    return create_sdk_mcp_server(name="autobuild", tools=[run_command])


def _note(message: Message, seen: _Seen, on_event: Callable[[str, dict[str, Any]], None]) -> None:
    from claude_agent_sdk import AssistantMessage, SystemMessage, TextBlock, ToolUseBlock  # noqa: PLC0415

    if isinstance(message, SystemMessage):
        on_event("system", {"subtype": message.subtype, "data": message.data})
    elif isinstance(message, AssistantMessage):
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                if block.name == "Bash":
                    seen.commands.append(str(block.input.get("command", "")))
                on_event("tool", {"name": block.name, "input": block.input})
            elif isinstance(block, TextBlock):
                on_event("text", {"text": block.text})
    else:
        on_event(type(message).__name__, {"message": repr(message)[:20_000]})


# --- reading the end --------------------------------------------------------------------------------

CUT_SHORT = {"max_turns": Why.STEPS, "budget_exhausted": Why.BUDGET}
NO_ANSWER = {"structured_output_retry_exhausted"}


def _reading(seen: _Seen, error: Exception | None) -> tuple[SessionEnd, Why | None, str]:
    """How the session ended, why, and the error's own words."""
    result = seen.result
    if isinstance(error, TimeoutError) and result is None:
        return SessionEnd.CUT_SHORT, Why.TIME, "the session's time was over"
    if result is None:
        words = str(error or "the session ended without a result")
        return SessionEnd.FAILED, Why.CRASH, " ".join([words, *seen.stderr[-5:]])[:2000]
    reason = str(result.terminal_reason or "")
    if reason in CUT_SHORT:
        return (
            SessionEnd.CUT_SHORT,
            CUT_SHORT[reason],
            f"the session's limit of {CUT_SHORT[reason]} was reached",
        )
    if reason in NO_ANSWER:
        return SessionEnd.COMPLETED, None, "the answer never had the asked shape"
    if result.is_error or reason != "completed":
        return SessionEnd.FAILED, _failure(result), _words(result)
    return SessionEnd.COMPLETED, None, ""


def _failure(result: ResultMessage) -> Why:
    status = result.api_error_status
    words = _words(result)
    if status in (401, 402, 403) or "credit balance" in words or "Not logged in" in words:
        return Why.AUTH
    if result.stop_reason == "refusal":
        return Why.REFUSAL
    if status is None and result.terminal_reason != "api_error":
        return Why.CRASH
    return Why.MODEL


def _words(result: ResultMessage) -> str:
    return " ".join([str(result.result or ""), *(str(error) for error in result.errors or [])]).strip()[:2000]
