"""The two issues, from their opening to their pull requests; what happened is kept for the table at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from simulators.demo import job, pages, story
from simulators.demo.screen import Screen
from simulators.github import Event, GitHub, Repository
from simulators.model import ModelServer
from simulators.runner import Runner, Step

PERSON = "alice"


@dataclass(frozen=True, kw_only=True)
class Played:
    """One run of the action."""

    what: str
    step: Step
    seconds: float
    sessions: int
    github: int
    model: int

    @property
    def result(self) -> str:
        return self.step.outputs.get("result", f"exit {self.step.exit_code}")


@dataclass(kw_only=True)
class Tour:
    """The story, played; `model` is None where the real one answers, which may do as it likes."""

    screen: Screen
    folder: Path
    hub: GitHub
    repo: Repository
    runner: Runner
    model: ModelServer | None
    played: list[Played] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def approved_in_two_turns(self) -> None:
        number = self._ask(story.REFRESH_TITLE, story.REFRESH_BODY)
        step = self._label(number, f"#{number} labelled")
        pull = step.outputs.get("pull-request-number")
        if pull:
            self._show(f"pull-request-{pull}.md", pages.pull_request(self.repo, self.repo.pull(int(pull))))
        self._show(f"issue-{number}.md", pages.below(self.repo, number))
        if self.model:
            self._expect(step, result="approved", reason="approved", turns="2")
            told = bool(pull) and "contradicted" in self.repo.reviews(int(pull or 0))[0].body
            self._check("the first review contradicts the Player's claim", held=told)
        else:
            self._check("it is approved or blocked", held=step.outputs.get("result") in {"approved", "blocked"})

    def blocked_then_approved(self) -> None:
        number = self._ask(story.SIGN_OUT_TITLE, story.SIGN_OUT_BODY)
        step = self._label(number, f"#{number} labelled")
        self._expect(step, result="blocked", reason="max_turns", turns="1")
        page = list(pages.below(self.repo, number))
        self._show(f"issue-{number}-blocked.md", page, shown=page[-2:])

        self.screen.chapter(f"{PERSON} comments on issue #{number}")
        self.screen.markdown(story.RETRY)
        event = self.repo.comment_event(number, story.RETRY, author=PERSON)
        step = self._play(f"#{number} retried", event)
        self._expect(step, result="approved", reason="approved", turns="1")
        self._show(f"issue-{number}.md", pages.below(self.repo, number), shown=())
        pull = step.outputs.get("pull-request-number")
        if pull:
            found = self.repo.pull(int(pull))
            page = list(pages.pull_request(self.repo, found))
            self.screen.section(f"Pull request #{pull} is {pages.state(found)}")
            self._show(f"pull-request-{pull}.md", page, shown=page[-2:])

    # --- the steps

    def _ask(self, title: str, body: str) -> int:
        number = self.repo.open_issue(author=PERSON, title=title, body=body).number
        self.screen.chapter(f"{PERSON} opens issue #{number} and labels it `autobuild`")
        self.screen.section(title)
        self.screen.markdown(pages.abridged(body))
        return number

    def _label(self, number: int, what: str) -> Step:
        return self._play(what, self.repo.label_event(number, "autobuild", sender=PERSON))

    def _play(self, what: str, event: Event) -> Step:
        self.screen.chapter(f"GitHub sends `{event.name}.{event.payload['action']}`, and the action runs")
        github, model, started = len(self.hub.journal), self._asked, time.monotonic()
        step = job.run(self.runner, event, self.screen.log())
        played = Played(
            what=what,
            step=step,
            seconds=time.monotonic() - started,
            sessions=_sessions(step),
            github=len(self.hub.journal) - github,
            model=self._asked - model,
        )
        self.played.append(played)
        return step

    @property
    def _asked(self) -> int:
        return len(self.model.requests) if self.model else 0

    def _show(self, name: str, page: Iterable[pages.Section], *, shown: Iterable[pages.Section] | None = None) -> None:
        """Keep a page whole in a file, and print it, or only some of it."""
        page = list(page)
        path = self.folder / "pages" / name
        path.parent.mkdir(exist_ok=True)
        whole = "\n\n".join(f"# {section.title}\n\n{section.text}" for section in page)
        path.write_text(whole + "\n", encoding="utf-8")
        for section in page if shown is None else shown:
            self.screen.section(section.title)
            self.screen.markdown(pages.abridged(section.text, f"pages/{name}"))

    # --- was it as it should be?

    def _expect(self, step: Step, **outputs: str) -> None:
        for name, value in outputs.items():
            found = step.outputs.get(name)
            self._check(f"{name} is {value} (it is {found})", held=found == value)
        self._check(f"the step ends with exit status 0 (it is {step.exit_code})", held=step.exit_code == 0)

    def _check(self, what: str, *, held: bool) -> None:
        if not held:
            self.wrong.append(f"{self.played[-1].what}: expected that {what}")


def _sessions(step: Step) -> int:
    """The sessions of the last attempt, as the journal in the trace has them."""
    path = step.trace / "journal.json"
    facts = json.loads(path.read_text(encoding="utf-8"))["facts"] if path.exists() else []
    starts = [number for number, fact in enumerate(facts) if fact["kind"] == "attempt_started"]
    return sum("session" in fact for fact in facts[starts[-1] if starts else 0 :])
