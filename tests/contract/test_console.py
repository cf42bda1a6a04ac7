"""The log: what people read there, and that the runner obeys nothing in it but our own groups."""

from __future__ import annotations

import json
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autobuild_action.adapters.console import Console
from autobuild_action.adapters.trace import LONGEST_TEXT, Trace
from autobuild_action.model import Role
from autobuild_action.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "ghs_0123456789abcdefABCDEF"
COMMANDS = (
    *("set-env", "set-output", "save-state", "add-path", "add-mask", "add-matcher", "remove-matcher", "debug"),
    *("warning", "error", "notice", "group", "endgroup", "echo", "stop-commands", "internal-set-repo-path"),
)
POSITIONS = (
    "{}",
    "   {}",
    "\t{}",
    "text {}",
    "text\n{}",
    "text\r\n{}",
    "text\r{}",
    "text\n\n  {}\n",
    "text\u2028{}",
    "text\x0b{}",
    "text\x85{}",
    "\x1b[0m{}",
    "\u200b{}",
    "\ufeff{}",
    "\x00{}",
    "[bold]{}[/bold]",
)
FORMS = ("::{} name=x::value", "##[{} name=x]value", "##[{}]", "::{}::")


class Log:
    """What a console of this kind prints, and its trace."""

    def __init__(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, in_actions: bool = True) -> None:
        self._redact = Redactor([SECRET])
        self._in_actions = in_actions
        self._capsys = capsys
        self.trace = Trace(tmp_path / "trace", self._redact)

    @cached_property
    def console(self) -> Console:
        """Made when it is first used: pytest's standard output is another one for each phase of a test."""
        return Console(self.trace, self._redact, in_actions=self._in_actions, verbose=True)

    def printed(self) -> str:
        return self._capsys.readouterr().out

    def events(self) -> list[dict[str, Any]]:
        lines = (self.trace.folder / "trace.jsonl").read_bytes().split(b"\n")
        return [json.loads(line) for line in lines if line]


@pytest.fixture
def log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Log:
    return Log(tmp_path, capsys)


def obeyed(output: str) -> list[str]:
    """The commands that actions/runner finds: ``::`` where a line begins after white space, ``##[`` anywhere."""
    lines = re.split(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", output)
    hidden = re.compile("[\x00-\x08\x0e-\x1b\u200b-\u200f\u2060\ufeff]|\x1b\\[[0-9;]*m")
    stripped = [hidden.sub("", line).strip() for line in lines]
    return [line for line in stripped if line.startswith("::") or "##[" in line]


SAY: dict[str, Callable[[Console, str], object]] = {
    "said": lambda console, words: console.say(words),
    "warned": lambda console, words: console.warn(words),
    "a tool's name": lambda console, words: console.session(
        Role.PLAYER, "Turn 1", "tool", {"name": words, "input": {"command": "x"}}
    ),
    "a tool's target": lambda console, words: console.session(
        Role.COACH, "Turn 1", "tool", {"name": "Read", "input": {"file_path": words}}
    ),
    "a model's text": lambda console, words: console.session(Role.PLAYER, "Turn 1", "text", {"text": words}),
}


class TestCommands:
    @pytest.mark.parametrize("how", SAY)
    def test_nothing_foreign_is_obeyed(self, log: Log, how: str) -> None:
        tried = 0
        for command in COMMANDS:
            for form in FORMS:
                for position in POSITIONS:
                    SAY[how](log.console, position.format(form.format(command)))
                    tried += 1
        output = log.printed()
        assert set(obeyed(output)) <= {"::group::Turn 1"}
        assert output.count("value") >= tried // 2, "it is shown all the same"

    def test_a_groups_title_is_no_command(self, log: Log) -> None:
        log.console.group("x\n::add-mask::y ##[group]z")
        log.console.end_group()
        assert obeyed(log.printed()) == ["::group::x", "::endgroup::"]

    def test_groups_follow_each_other_and_are_opened_once(self, log: Log) -> None:
        for title in ("Preflight", "Turn 1", "Turn 1", "Turn 2"):
            log.console.group(title)
            log.console.say("words")
        log.console.end_group()
        log.console.end_group()
        assert obeyed(log.printed()) == [
            "::group::Preflight",
            "::endgroup::",
            "::group::Turn 1",
            "::endgroup::",
            "::group::Turn 2",
            "::endgroup::",
        ]

    def test_on_a_laptop_there_are_no_commands_at_all(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        log = Log(tmp_path, capsys, in_actions=False)
        log.console.group("Turn 1")
        log.console.say("words")
        log.console.end_group()
        output = log.printed()
        assert obeyed(output) == []
        assert "── Turn 1" in output
        assert "  words\n" in output


class TestText:
    @pytest.mark.parametrize(
        "words",
        [
            "half a pair \ud800",
            "a byte \udce9",
            "\x00",
            "\x1b[31mred\x1b[0m",
            "\u202egnp",
            "[red]x[/red]",
            ":smile:",
            "x" * 5000,
        ],
    )
    def test_every_text_can_be_printed(self, log: Log, words: str) -> None:
        for say in SAY.values():
            say(log.console, words)
        output = log.printed()
        assert "\x1b" not in output
        assert "\u202e" not in output
        output.encode("utf-8")

    def test_markup_of_ours_is_no_markup_of_theirs(self, log: Log) -> None:
        log.console.say("[bold]x[/bold] :smile: [link=file:///etc]y[/link]")
        assert log.printed() == "[bold]x[/bold] :smile: [link=file:///etc]y[/link]\n"

    def test_a_long_line_stays_one(self, log: Log) -> None:
        log.console.say("word " * 500)
        assert log.printed().count("\n") == 1

    def test_secrets_are_redacted_in_log_and_trace(self, log: Log) -> None:
        for say in SAY.values():
            say(log.console, f"before {SECRET} after")
        log.trace.keep("page.md", SECRET)
        kept = "".join(path.read_text() for path in log.trace.folder.iterdir())
        assert SECRET not in log.printed() + kept
        assert kept.count("[redacted]") == len(SAY) + 1 - 1  # what is said is not traced

    def test_a_models_text_is_shown_only_when_asked_for(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        trace = Trace(tmp_path / "trace", str)
        console = Console(trace, str, in_actions=True, verbose=False)
        console.session(Role.PLAYER, "Turn 1", "text", {"text": "thinking"})
        console.session(Role.PLAYER, "Turn 1", "tool", {"name": "Bash", "input": {"command": "a\n  b"}})
        output = capsys.readouterr().out
        assert "thinking" not in output
        assert "player · Bash a b\n" in output


class TestTrace:
    def test_every_event_is_a_line_of_json(self, log: Log) -> None:
        for words in ("a\nb", "\u2028", "\ud800", '"quoted"', "ünï"):
            log.trace.event("kind", {"text": words})
        assert [event["text"] for event in log.events()] == ["a\nb", "\u2028", "\ud800", '"quoted"', "ünï"]
        assert {event["kind"] for event in log.events()} == {"kind"}

    def test_what_is_no_json_is_shown_as_python_does(self, log: Log) -> None:
        log.trace.event("kind", {"path": Path("/x"), "bytes": b"\xff"})
        assert log.events()[0]["bytes"] == "b'\\xff'"

    def test_a_giant_event_is_cut_and_still_a_line_of_json(self, log: Log) -> None:
        log.trace.event("kind", {"text": "x" * 10 * LONGEST_TEXT})
        [event] = log.events()
        assert event["kind"] == "kind"
        assert len(event["cut"]) == LONGEST_TEXT

    def test_its_folder_is_hidden_from_agents_and_opened_for_the_runners_user_in_the_end(self, tmp_path: Path) -> None:
        trace = Trace(tmp_path / "a" / "b", str)
        assert trace.folder.stat().st_mode & 0o777 == 0o700
        trace.open()
        assert trace.folder.stat().st_mode & 0o777 == 0o755
