"""The log: plain, grouped by turn, and safe to print, since GitHub's runner obeys what it reads there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console as RichConsole

from autobuild_action import telling, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from autobuild_action.adapters.trace import Trace
    from autobuild_action.journal import Journal
    from autobuild_action.model import Fact, Role

TARGETS = ("file_path", "path", "pattern", "command")
LONGEST_TARGET = 120
TOOLS = {"mcp__autobuild__run": "run", "StructuredOutput": "gives its answer"}
COLOURS = {"player": "cyan", "coach": "magenta"}


class Console:
    """Where people watch a run; every word of an agent passes :func:`text.log_safe` first."""

    def __init__(self, trace: Trace, redact: Callable[[str], str], *, in_actions: bool, verbose: bool) -> None:
        """``in_actions`` speaks the runner's commands for groups; ``verbose`` shows the agents' texts too."""
        self._rich = RichConsole(file=sys.stdout, highlight=False, soft_wrap=True, markup=False, emoji=False)
        self._trace = trace
        self._redact = redact
        self._in_actions = in_actions
        self._verbose = verbose
        self._group = ""

    def say(self, words: str, style: str = "") -> None:
        """One thing for people to know."""
        for line in text.log_safe(self._redact(words)).splitlines():
            self._rich.print(f"  {line}" if self._group else line, style=style or None)

    def warn(self, words: str) -> None:
        """Something was left out or could not be done."""
        self._trace.event("warning", {"text": words})
        self.say(f"warning: {words}", "yellow")

    def group(self, title: str) -> None:
        """Begin a group, ending the one before."""
        if title == self._group:
            return
        self.end_group()
        self._group = title
        shown = text.log_safe(title)
        self._rich.print(f"::group::{shown}" if self._in_actions else f"── {shown}", style="bold")

    def end_group(self) -> None:
        """End the group."""
        if self._group and self._in_actions:
            self._rich.print("::endgroup::")
        self._group = ""

    def fact(self, journal: Journal, fact: Fact) -> None:
        """What a step led to."""
        told = telling.line(journal, fact)
        if told:
            self.say(told)

    def session(self, role: Role, turn: str, event: str, data: Mapping[str, Any]) -> None:
        """What a session does: tool and target; implements ``Witness``."""
        self._trace.event(f"{role}.{event}", {"turn": turn, **data})
        self.group(turn)
        if event == "tool":
            self.say(f"{role} · {_tool(data['name'])} {_target(data['input'])}".rstrip(), COLOURS[role])
        elif event == "run":
            self.say(f"{role} · {data['answer']}", COLOURS[role])
        elif event == "text" and self._verbose:
            self.say(f"{role} · {data['text']}", "dim")


def _tool(name: str) -> str:
    return TOOLS.get(name, name)


def _target(given: Mapping[str, Any]) -> str:
    target = next((str(given[name]) for name in TARGETS if name in given), "")
    line = " ".join(target.split())
    return line if len(line) <= LONGEST_TARGET else f"{line[:LONGEST_TARGET]}…"
