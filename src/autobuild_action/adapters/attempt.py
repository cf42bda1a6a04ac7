"""One attempt, from the claim of the issue to the last word about it."""

from __future__ import annotations

import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from autobuild_action import config, render
from autobuild_action import journal as journals
from autobuild_action.adapters import store
from autobuild_action.adapters.git import GitError
from autobuild_action.adapters.github import GithubForge
from autobuild_action.adapters.studio import Studio
from autobuild_action.effects import announced, closed, closed_key
from autobuild_action.errors import AutobuildError, CancelledRunError, ForgeError
from autobuild_action.lifecycle import GoOn
from autobuild_action.lines import commentable
from autobuild_action.loop import Run, play
from autobuild_action.model import AttemptStarted, Command, Done, Ended, Outcome, Reason
from autobuild_action.publisher import Publisher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from autobuild_action.adapters.console import Console
    from autobuild_action.adapters.git import Git
    from autobuild_action.adapters.github import Repo
    from autobuild_action.adapters.intake import Case
    from autobuild_action.adapters.runner import Runner
    from autobuild_action.adapters.trace import Trace
    from autobuild_action.config import Inputs
    from autobuild_action.journal import Journal
    from autobuild_action.model import Fact, Level
    from autobuild_action.place import Place

STARTED = "eyes"
LONGEST_DIFF = 2_000_000
"""Characters; reading a longer one for the places of comments costs gigabytes, and nobody reviews it line by line."""


@dataclass(kw_only=True)
class Production:
    """What an attempt is made with."""

    repo: Repo
    git: Git
    place: Place
    inputs: Inputs
    runner: Runner
    trace: Trace
    console: Console
    environ: Mapping[str, str]
    redact: Callable[[str], str]
    started: float = field(default_factory=time.monotonic)
    began: bool = False
    """True once the attempt is in the journal, from where on it reports its own end."""

    def run(self, case: Case) -> tuple[Journal, Outcome]:
        """Claim the issue, play, and say how it ended. Raises ``RunningError`` where another run has the issue."""
        lease = store.LeaseStore(self.git, self.repo.author, case.issue, is_over=self.repo.run_is_over)
        journal = case.journal or store.new(self.repo.name, case.issue, case.branch, case.base)
        journal_ref, lease_ref = store.refs(case.issue)
        lease.take(
            journal.id,
            self.runner.run,
            seconds=case.settings.run_timeout_minutes * 60,
            head=case.refs.get(lease_ref),
            now=_now(),
        )
        head = case.refs.get(journal_ref)
        log = store.JournalStore(self.git, self.repo.author, journal, self.runner.run, head=head)
        log.tell, log.redact = self.console.fact, self.redact
        try:
            outcome = self._attempt(case, log)
        finally:
            with suppress(AutobuildError):
                lease.release(_now())
        return log.journal, outcome

    def preview(self, case: Case) -> Journal:
        """The journal as it would begin: what a dry run renders its texts from."""
        journal = case.journal or store.new(self.repo.name, case.issue, case.branch, case.base)
        facts = self._start(case, journal, self._studio(case).level)
        return journal.append(facts, run=self.runner.run, at=_now())

    def _attempt(self, case: Case, log: store.JournalStore) -> Outcome:
        forge = GithubForge(self.repo, case.issue, self.redact)
        publisher = Publisher(forge, self.place, lines=self._lines, warn=self.console.warn, inherited=log.journal)
        with suppress(ForgeError):
            self.repo.react(issue=case.issue, comment=case.request.trigger.id or None, content=STARTED)
        studio = self._studio(case)
        if not isinstance(case.meaning, GoOn):
            self._close(log, publisher)
            started = self._start(case, log.journal, studio.level)
            log.add(*started, *announced(log.journal, started))
        self.began = True
        outcome = self._play(log, publisher, studio)
        self.console.group("Finish")
        ended = _ended(log.journal, outcome)
        log.add(ended, *announced(log.journal, [ended]))
        publisher.show(log)
        log.add(Done(key=closed_key(log.journal), github_id=None, url=""))
        self.runner.set_summary(self.redact(render.job_summary(log.journal, self.place)))
        self.trace.keep("journal.json", journals.dumps(log.journal))
        return outcome

    def _close(self, log: store.JournalStore, publisher: Publisher) -> None:
        """Say the last word of an attempt whose run died before it could, before another one begins."""
        if not log.journal.attempts or closed(log.journal):
            return
        if log.journal.attempt.ended is None:
            log.add(_ended(log.journal, Outcome(reason=Reason.CANCELLED, detail="Its run ended without a word.")))
        publisher.show(log)

    def _play(self, log: store.JournalStore, publisher: Publisher, studio: Studio) -> Outcome:
        """The loop. Whatever ends it early becomes its outcome here, so that it is reported on the issue."""
        try:
            publisher.show(log)
            with studio.open(log) as cast:
                return play(
                    Run(
                        log=log,
                        publisher=publisher,
                        player=cast.player,
                        checker=cast.checks,
                        coach=cast.coach,
                        seconds_left=studio.seconds_left,
                    )
                )
        except AutobuildError as exc:
            return Outcome(reason=exc.reason, detail=str(exc))
        except KeyboardInterrupt:
            return Outcome(reason=CancelledRunError.reason)
        except Exception as exc:  # noqa: BLE001  an unforeseen end is reported like any other
            self.trace.event("internal-error", {"traceback": traceback.format_exc()})
            return Outcome(reason=Reason.INTERNAL, detail=f"{type(exc).__name__}: {exc}"[:500])

    def _start(self, case: Case, journal: Journal, level: Level) -> list[Fact]:
        """The facts that begin an attempt; a comment's command is taken up with it."""
        trigger, settings = case.request.trigger, case.settings
        notes = (*case.task.notes, case.note) if case.note else case.task.notes
        started = AttemptStarted(
            attempt=len(journal.attempts) + 1,
            trigger=trigger,
            contract=replace(case.task, notes=notes),
            base_commit=self._base_commit(case, journal),
            start_commit=case.branch_head or case.base_commit,
            limits=config.limits(settings, case.task),
            guidance=case.text,
            config_sha256=settings.sha256,
            isolation=level,
            strictness=settings.strictness,
            pull_request=settings.pull_request,
        )
        command = Command(comment_id=trigger.id, login=trigger.login, text=case.text)
        return [command, started] if trigger.id else [started]

    def _base_commit(self, case: Case, journal: Journal) -> str:
        """Where the branch left the base: as the last attempt knew it while the branch is there, else now."""
        if not (case.branch_head and journal.attempts):
            return case.base_commit
        return journal.attempt.started.base_commit

    def _studio(self, case: Case) -> Studio:
        seconds = case.settings.run_timeout_minutes * 60
        return Studio(
            settings=case.settings,
            inputs=self.inputs,
            git=self.git,
            author=self.repo.author,
            environ=self.environ,
            console=self.console,
            branch=case.branch,
            hidden=self.runner.event_path if self.runner.closed else self.trace.folder / "trace.jsonl",
            seconds_left=lambda: seconds - (time.monotonic() - self.started),
        )

    def _lines(self, base: str, head: str) -> Mapping[str, tuple[range, ...]]:
        with suppress(GitError):
            diff = self.git.diff(base, head)
            return commentable(diff) if len(diff) < LONGEST_DIFF else {}
        return {}


def _ended(journal: Journal, outcome: Outcome) -> Ended:
    return Ended(
        attempt=journal.attempt.number,
        result=outcome.result,
        reason=outcome.reason,
        detail=outcome.detail[:2000],
    )


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
