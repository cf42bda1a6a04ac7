"""`python -m simulators.demo`: the main job on this machine alone; `--model real` takes the real model."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table

from simulators.demo import job, pages, story
from simulators.demo.screen import Screen
from simulators.github import Event, GitHub, Repository
from simulators.github.state import ACTIONS
from simulators.model import ModelServer
from simulators.runner import PERMISSIONS, Runner, Step

WRONG, NO_KEY, INTERRUPTED = 1, 3, 130
BUDGET_USD = 2
SERVICE = "https://api.anthropic.com"
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


@dataclass(frozen=True, kw_only=True)
class Service:
    """The model's service: the scripted one, or the real one with the caller's key."""

    url: str
    inputs: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    script: ModelServer | None = None

    @property
    def faults(self) -> list[str]:
        """What was not as scripted; nothing can be said of the real one."""
        return self.script.violations + self.script.unplayed if self.script else []


@dataclass(frozen=True, kw_only=True)
class Played:
    """One run of the action, for the table at the end."""

    what: str
    step: Step
    seconds: float
    sessions: int
    github: int
    model: int | None

    @property
    def result(self) -> str:
        outputs = self.step.outputs
        return outputs.get("result", f"none, exit {self.step.exit_code}")


@dataclass(kw_only=True)
class Demo:
    """The story, played on these two."""

    screen: Screen
    folder: Path
    hub: GitHub
    repo: Repository
    runner: Runner
    service: Service
    played: list[Played] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def approved_in_two_turns(self) -> None:
        number = self._ask(story.REFRESH_TITLE, story.REFRESH_BODY)
        step = self._label(number, "A label, two turns, an approval")
        pull = step.outputs.get("pull-request-number", "")
        if pull:
            self._show(f"pull-request-{pull}.md", pages.pull_request(self.repo, self.repo.pull(int(pull))))
        self._show(f"issue-{number}.md", pages.comments(self.repo, number))
        if self.service.script:
            self._expect(step, result="approved", turns="2")
            reviews = [review.body for review in self.repo.reviews(int(pull))] if pull else [""]
            self._check("the Player's false claim was found", "contradicted" in reviews[0])

    def blocked_then_approved(self) -> None:
        number = self._ask(story.SIGN_OUT_TITLE, story.SIGN_OUT_BODY)
        step = self._label(number, "A label, the only turn used up")
        self._expect(step, result="blocked", reason="max_turns", turns="1")
        self._show(f"issue-{number}-blocked.md", list(pages.comments(self.repo, number))[-2:])
        self.screen.chapter(f"alice comments on issue #{number}")
        self.screen.markdown(story.RETRY)
        event = self.repo.comment_event(number, story.RETRY, author="alice")
        step = self._play("Her advice, one more turn, an approval", event)
        self._expect(step, result="approved", turns="1")
        pull = self.repo.pull(int(step.outputs.get("pull-request-number") or 0))
        page = list(pages.pull_request(self.repo, pull))
        self._show(f"pull-request-{pull.number}.md", page, shown=page[-3:])

    # --- the steps

    def _ask(self, title: str, body: str) -> int:
        number = self.repo.open_issue(author="alice", title=title, body=body).number
        self.screen.chapter(f"alice opens issue #{number} and labels it `autobuild`")
        for section in pages.issue(self.repo, number):
            self.screen.section(section.title)
            self.screen.markdown(section.text)
        return number

    def _label(self, number: int, what: str) -> Step:
        return self._play(what, self.repo.label_event(number, "autobuild", sender="alice"))

    def _play(self, what: str, event: Event) -> Step:
        self.screen.section(f"The action runs on the event `{event.name}.{event.payload['action']}`")
        github, model, started = len(self.hub.journal), self._model_requests, time.monotonic()
        step = job.run(self.runner, event, self.screen.log())
        self.played.append(
            Played(
                what=what,
                step=step,
                seconds=time.monotonic() - started,
                sessions=_sessions(step),
                github=len(self.hub.journal) - github,
                model=self._model_requests - model if self.service.script else None,
            )
        )
        return step

    @property
    def _model_requests(self) -> int:
        return len(self.service.script.requests) if self.service.script else 0

    def _show(
        self, name: str, page: Iterable[pages.Section], *, shown: Iterable[pages.Section] | None = None
    ) -> None:
        """Print a page, and keep it whole in a file."""
        page = list(page)
        path = self.folder / "pages" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n\n".join(f"# {one.title}\n\n{one.text}" for one in page), encoding="utf-8")
        for section in page if shown is None else shown:
            self.screen.section(section.title)
            self.screen.markdown(pages.abridged(section.text, f"pages/{name}"))

    # --- was it as it should be?

    def _expect(self, step: Step, **outputs: str) -> None:
        for name, value in outputs.items():
            found = step.outputs.get(name, "")
            self._check(f"{name} is {value}, not {found or 'missing'}", found == value)
        self._check(f"the step's exit status is 0, not {step.exit_code}", step.exit_code == 0)

    def _check(self, what: str, held: bool) -> None:
        if not held:
            self.wrong.append(f"run {len(self.played)}: expected that {what}")
