"""The terminal: Markdown rendered for people who look, as it is for a file or a pipe."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

GROUP = "::group::"
WIDEST = 110
COLOURS = {"player": "cyan", "coach": "magenta", "check": "green", "result": "bold", "warning": "yellow"}


class Screen:
    """Where the demo speaks."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, emoji=False, markup=False)
        self._console.width = min(self._console.width, WIDEST)

    @property
    def is_terminal(self) -> bool:
        return self._console.is_terminal

    def chapter(self, title: str) -> None:
        self._console.print()
        self._console.print(Rule(Text(title, style="bold"), align="left", characters="━"))

    def section(self, title: str) -> None:
        self._console.print()
        self._console.print(Text(f"── {title}", style="bold blue"), soft_wrap=True)

    def say(self, text: object = "", style: str = "") -> None:
        self._console.print(text, style=style or None, soft_wrap=isinstance(text, str))

    def markdown(self, text: str) -> None:
        """A text of GitHub's, indented by two."""
        self._console.print()
        if self.is_terminal:
            self._console.print(Padding(Markdown(text, hyperlinks=False, code_theme="ansi_dark"), (0, 2)))
        else:
            self.say("\n".join(f"  {line}".rstrip() for line in text.splitlines()))

    def log(self) -> Callable[[str], None]:
        """Who shows the lines of a step as they come, with the seconds since now."""
        started = time.monotonic()

        def show(line: str) -> None:
            if line.startswith(GROUP):
                self._console.print(Text(f"\n  {line.removeprefix(GROUP)}", style="bold"))
            elif (words := line.strip()) and not line.startswith("::"):
                style = COLOURS.get(re.split(r"\W", words, maxsplit=1)[0], "")
                entry = Text.assemble((f"  {time.monotonic() - started:5.1f} s  ", "dim"), (words, style))
                if self.is_terminal:
                    self._console.print(entry, no_wrap=True, overflow="ellipsis")
                else:
                    self._console.print(entry, soft_wrap=True)

        return show
