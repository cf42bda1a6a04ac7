"""The action: from the runner's event to a pull request. This is the composition root; it knows every adapter."""

from __future__ import annotations

import os
import signal
import time
import traceback
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from autobuild_action import answers, config, effects, events, prompting, render
from autobuild_action import journal as journals
from autobuild_action.adapters import store
from autobuild_action.adapters.console import Console
from autobuild_action.adapters.git import Git, GitError, Remote
from autobuild_action.adapters.github import GithubForge, Repo
from autobuild_action.adapters.runner import read_runner
from autobuild_action.adapters.studio import Studio
from autobuild_action.adapters.trace import Trace
from autobuild_action.errors import (
    AuthError,
    AutobuildError,
    CancelledRunError,
    ClarificationError,
    ConfigurationError,
    ForgeError,
    RunningError,
    action_exit,
)
from autobuild_action.lifecycle import Answer, GoOn, PullState, admit
from autobuild_action.lines import commentable
from autobuild_action.loop import Run, play
from autobuild_action.model import RESULT_OF, AttemptStarted, Command, Ended, Outcome, Reason, Result
from autobuild_action.place import Place
from autobuild_action.publisher import Publisher
from autobuild_action.redact import Redactor
from autobuild_action.task import freeze

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autobuild_action.adapters.runner import Runner
    from autobuild_action.config import Inputs, Settings
    from autobuild_action.events import Build, Help, Retry, Snapshot
    from autobuild_action.journal import Journal
    from autobuild_action.model import Task

REACTION_STARTED = "eyes"
REACTION_REFUSED = "confused"


def main(environ: Mapping[str, str] | None = None) -> int:
    """Run the action; answers the exit status of the step."""
    environ = dict(os.environ) if environ is None else environ
    inputs = config.read_inputs(environ)
    secrets = (inputs.github_token, inputs.anthropic_api_key, inputs.oauth_token)
    redact = Redactor(secrets)
    try:
        runner = read_runner(environ)
    except AutobuildError as exc:
        print(redact(str(exc)))  # noqa: T201  there is no log yet
        return 1
    trace = Trace(runner.folder / "trace", redact)
    console = Console(trace, redact, in_actions=runner.in_actions, verbose=inputs.verbose)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    job = Job(runner=runner, inputs=inputs, trace=trace, console=console, environ=environ)
    end = _guarded(job)
    console.end_group()
    console.say(f"result: {end.result} ({end.reason})", "bold")
    if end.detail:
        console.say(end.detail)
    runner.set_outputs(job.outputs(end))
    return action_exit(end.result, fail_on_blocked=job.fail_on_blocked)


def _guarded(job: Job) -> Outcome:
    """Run the job; whatever it raises becomes an outcome. The one broad ``except`` of the product."""
    try:
        return job.run()
    except AutobuildError as exc:
        return Outcome(reason=exc.reason, detail=str(exc))
    except KeyboardInterrupt:
        return Outcome(reason=Reason.CANCELLED)
    except Exception as exc:  # noqa: BLE001
        job.trace.event("internal-error", {"traceback": traceback.format_exc()})
        return Outcome(reason=Reason.INTERNAL, detail=f"{type(exc).__name__}: {exc}")


@dataclass(kw_only=True)
class Job:
    """One run of the action."""

    runner: Runner
    inputs: Inputs
    trace: Trace
    console: Console
    environ: Mapping[str, str]
    log: store.JournalStore | None = None
    fail_on_blocked: bool = False

    def __post_init__(self) -> None:
        """Take the time: the run's deadline counts from here."""
        self._started = time.monotonic()

    def run(self) -> Outcome:
        """Read the event, and do what it asks for if its sender may ask."""
        label = self.inputs.values.get("label", "autobuild")
        request = events.parse(self.runner.event_name, self.runner.event, label=label)
        if isinstance(request, events.Ignored):
            return Outcome(reason=Reason.IGNORED, detail=request.why)
        if not self.inputs.github_token:
            raise AuthError(
                "There is no token for GitHub.", "Give `github-token`, or leave its default alone."
            )
        self.repo = Repo(
            self.runner.server, self.inputs.github_token, self.runner.repository, pause=self._pause
        )
        self.place = Place(self.runner.server.url, self.runner.repository)
        number = request.issue if isinstance(request, events.Build) else request.number
        allowed = events.authorise(
            request.sender, self.repo.role(request.sender.login), private=self.repo.private
        )
        if isinstance(allowed, events.Refused):
            return self._refuse(number, request, allowed)
        if isinstance(request, events.Help):
            return self._help(number, request, label)
        issue = self._issue_of(number, request)
        return self._build(issue, request)

    @property
    def _pause(self) -> float:
        """Seconds between two writes: GitHub asks for one; tests and the demo have no such limit."""
        return float(self.environ.get("AUTOBUILD_WRITE_SPACING", "1.0"))

    # --- answers without a run

    def _refuse(self, number: int, request: Build | Retry | Help, refused: events.Refused) -> Outcome:
        comment = request.trigger.id or None
        if refused.answer == "comment":
            self._say_once(number, f"refused-{comment or 'label'}", answers.refusal(refused.why))
        with suppress(ForgeError):
            self.repo.react(issue=number, comment=comment, content=REACTION_REFUSED)
        return Outcome(reason=Reason.IGNORED, detail=f"refused: {refused.why}")

    def _help(self, number: int, request: Help, label: str) -> Outcome:
        text = answers.help_text(label)
        why = f"I did not understand that: {request.why}.\n\n" if request.why else ""
        self._say_once(number, f"help-{request.trigger.id}", why + text)
        return Outcome(reason=Reason.IGNORED, detail=f"help: {request.why}" if request.why else "help")

    def _say_once(self, number: int, effect: str, text: str) -> None:
        """Comment where there is no attempt; a re-run of the job finds it and stays silent."""
        forge, marker = GithubForge(self.repo, number), render.marker("none", f"0/0/{effect}")
        if not forge.find_comment(marker):
            forge.create_comment(f"{text}\n\n{marker}")

    def _issue_of(self, number: int, request: Build | Retry) -> int:
        """The issue that a request is about; a pull request of ours stands for its issue."""
        if isinstance(request, events.Build) or not request.on_pull_request:
            return number
        repository, branch = self.repo.branch_of(number)
        issue = branch.removeprefix("autobuild/issue-").partition("-")[0]
        if repository.lower() != self.runner.repository.lower() or not branch.startswith("autobuild/issue-"):
            raise RunningError("This pull request is not one of autobuild's.")
        return int(issue) if issue.isdecimal() else number

    # --- a run

    def _build(self, issue: int, request: Build | Retry) -> Outcome:
        self.forge = GithubForge(self.repo, issue)
        self.git = self._open_git()
        base = self.inputs.base_branch or self.repo.default_branch
        refs = self._fetch(issue, base)
        base_commit = refs.get(f"refs/heads/{base}")
        if not base_commit:
            raise ConfigurationError(
                f"There is no branch `{base}` to start from.", "Push a first commit to it."
            )
        journal = self._journal(issue, refs)
        try:
            settings = self._settings(base_commit)
            task, note = self._task(issue, request, journal, settings)
        except (ConfigurationError, ClarificationError) as exc:
            return self._not_started(issue, request, exc)
        if self.inputs.dry_run:
            return self._dry_run(issue, task, settings, base_commit)
        if request.trigger.id and journal and journal.consumed(request.trigger.id):
            return Outcome(
                reason=Reason.IGNORED, detail="already handled: this comment was taken up by an earlier run"
            )
        retry = isinstance(request, events.Retry)
        text = request.text if isinstance(request, events.Retry) else ""
        meaning = admit(
            journal,
            place=self.place,
            pull=self._pull_state(journal),
            retry=retry,
            text=text,
            contract_changed=bool(
                journal and journal.attempts and journal.attempt.task.sha256 != task.sha256
            ),
            moved=self._moved(journal, refs),
        )
        if isinstance(meaning, Answer):
            self._say_once(issue, f"answer-{request.trigger.id or self.runner.run.id}", meaning.text)
            return Outcome(reason=Reason.IGNORED, detail="nothing to do: see the comment")
        journal = journal or store.new(self.runner.repository, issue, f"autobuild/issue-{issue}", base)
        lease = store.LeaseStore(self.git, self.repo.author, issue, is_over=self.repo.run_is_over)
        try:
            self._take(lease, journal, settings, refs, issue)
        except RunningError as exc:
            url = exc.cure or self.place.issue(issue)
            self._say_once(
                issue, f"running-{request.trigger.id or self.runner.run.id}", answers.already_running(url)
            )
            return Outcome(reason=Reason.IGNORED, detail=f"already running: {url}")
        try:
            go_on = isinstance(meaning, GoOn)
            return self._attempt(journal, refs, request, task, note, settings, base_commit, go_on=go_on)
        finally:
            with suppress(AutobuildError):
                lease.release(datetime.now(UTC))

    def _open_git(self) -> Git:
        remote = Remote(
            url=f"{self.runner.server.url}/{self.runner.repository}.git", token=self.inputs.github_token
        )
        git = Git(self.runner.folder / "git", remote)
        git.create()
        return git

    def _fetch(self, issue: int, base: str) -> dict[str, str]:
        """Fetch what this issue needs, shallow, and answer the remote's refs."""
        names = [f"refs/heads/{base}", f"refs/heads/autobuild/issue-{issue}", *store.refs(issue)]
        refs = {name: commit for name, commit in self.git.remote_refs(*names).items() if name in names}
        if refs:
            self.git.fetch(*refs.values(), depth=1)
        return refs

    def _journal(self, issue: int, refs: Mapping[str, str]) -> Journal | None:
        head = refs.get(store.refs(issue)[0])
        return store.read(self.git, head) if head else None

    def _settings(self, base_commit: str) -> Settings:
        content = self.git.read(base_commit, self.inputs.config_file)
        text = content.decode(errors="replace") if content is not None else None
        settings = config.settings(self.inputs, text, file_name=self.inputs.config_file)
        self.fail_on_blocked = settings.fail_on_blocked
        return settings

    def _task(
        self, issue: int, request: Build | Retry, journal: Journal | None, settings: Settings
    ) -> tuple[Task, str]:
        """The contract, and a remark on it: the event's own copy, else the issue unless it was edited meanwhile."""
        del settings
        snapshot = request.snapshot
        if snapshot is None:
            snapshot = self.repo.issue(issue)
            if self._edited(issue, request, snapshot):
                if journal and journal.attempts:
                    return journal.attempt.task, answers.old_contract()
                raise ClarificationError(answers.edited_since())
        if snapshot.state != "open":
            raise ClarificationError(answers.closed_issue())
        return freeze(snapshot.title, snapshot.body, labels=snapshot.labels), ""

    def _edited(self, issue: int, request: Build | Retry, snapshot: Snapshot) -> bool:
        """True where the issue was edited after the trigger; a dispatch has no time of its own, so now counts."""
        del snapshot
        edited = self.repo.edited_at(issue)
        if edited is None or not request.trigger.at:
            return False
        return edited > datetime.fromisoformat(request.trigger.at)

    def _pull_state(self, journal: Journal | None) -> PullState:
        number = effects.number(journal) if journal else None
        return self.repo.pull_state(number) if number else PullState.NONE

    def _moved(self, journal: Journal | None, refs: Mapping[str, str]) -> bool:
        if not journal or not journal.attempts:
            return False
        known = next((attempt.head for attempt in reversed(journal.attempts) if attempt.head), None)
        return known is not None and refs.get(f"refs/heads/{journal.branch}") not in (None, known)

    def _take(
        self,
        lease: store.LeaseStore,
        journal: Journal,
        settings: Settings,
        refs: Mapping[str, str],
        issue: int,
    ) -> None:
        now = datetime.now(UTC).replace(microsecond=0)
        seconds = settings.run_timeout_minutes * 60
        lease.take(journal.id, self.runner.run, seconds=seconds, head=refs.get(store.refs(issue)[1]), now=now)

    def _attempt(
        self,
        journal: Journal,
        refs: Mapping[str, str],
        request: Build | Retry,
        task: Task,
        note: str,
        settings: Settings,
        base_commit: str,
        *,
        go_on: bool,
    ) -> Outcome:
        """Play one attempt to its outcome and say so."""
        head = refs.get(store.refs(journal.issue)[0])
        log = self.log = store.JournalStore(self.git, self.repo.author, journal, self.runner.run, head=head)
        warn = self.console.warn
        publisher = Publisher(self.forge, self.place, lines=self._lines, warn=warn)
        with suppress(ForgeError):
            self.repo.react(issue=journal.issue, comment=request.trigger.id or None, content=REACTION_STARTED)
        with ExitStack() as stack:
            studio = Studio(
                settings=settings,
                inputs=self.inputs,
                git=self.git,
                author=self.repo.author,
                environ=self.environ,
                console=self.console,
                branch=journal.branch,
                seconds_left=lambda: settings.run_timeout_minutes * 60 - (time.monotonic() - self._started),
            )
            if not go_on:
                log.add(
                    *self._started_facts(journal, refs, request, task, note, settings, base_commit, studio)
                )
            outcome = self._play(log, publisher, studio, stack)
        return self._finish(log, publisher, outcome)

    def _started_facts(
        self,
        journal: Journal,
        refs: Mapping[str, str],
        request: Build | Retry,
        task: Task,
        note: str,
        settings: Settings,
        base_commit: str,
        studio: Studio,
    ) -> list[AttemptStarted | Command]:
        text = request.text if isinstance(request, events.Retry) else ""
        branch_head = refs.get(f"refs/heads/{journal.branch}")
        earlier = journal.attempts[-1].started.base_commit if branch_head and journal.attempts else None
        if earlier and not self.git.has(earlier):
            self.git.fetch(earlier, depth=1)
        started = AttemptStarted(
            attempt=len(journal.attempts) + 1,
            trigger=request.trigger,
            contract=replace(task, notes=(*task.notes, note)) if note else task,
            base_commit=earlier or base_commit,
            start_commit=branch_head or base_commit,
            limits=config.limits(settings, task),
            guidance=text,
            config_sha256=settings.sha256,
            isolation=studio.level,
            strictness=settings.strictness,
            pull_request=settings.pull_request,
        )
        if not request.trigger.id:
            return [started]
        return [Command(comment_id=request.trigger.id, login=request.trigger.login, text=text), started]

    def _play(
        self, log: store.JournalStore, publisher: Publisher, studio: Studio, stack: ExitStack
    ) -> Outcome:
        """The loop; errors that end a run become its outcome here, in one place."""
        try:
            publisher.show(log)
            stage = stack.enter_context(studio.open(log))
            return play(
                Run(
                    log=log,
                    publisher=publisher,
                    player=stage.player,
                    checker=stage.checks,
                    coach=stage.coach,
                    seconds_left=studio.seconds_left,
                )
            )
        except AutobuildError as exc:
            return Outcome(reason=exc.reason, detail=str(exc))
        except KeyboardInterrupt:
            return Outcome(reason=CancelledRunError.reason)
        except Exception as exc:  # noqa: BLE001  so that an unforeseen end is reported on the issue too
            self.trace.event("internal-error", {"traceback": traceback.format_exc()})
            return Outcome(reason=Reason.INTERNAL, detail=f"{type(exc).__name__}: {exc}"[:500])

    def _finish(self, log: store.JournalStore, publisher: Publisher, outcome: Outcome) -> Outcome:
        """Write the end down, and bring GitHub to it."""
        self.console.group("Finish")
        ended = Ended(
            attempt=log.journal.attempt.number,
            result=RESULT_OF[outcome.reason],
            reason=outcome.reason,
            detail=outcome.detail[:2000],
        )
        log.add(ended)
        publisher.show(log)
        log.add()  # the last effects' ids
        self.runner.set_summary(render.job_summary(log.journal, self.place))
        self.trace.keep("journal.json", journals.dumps(log.journal))
        return outcome

    def _not_started(self, issue: int, request: Build | Retry, exc: AutobuildError) -> Outcome:
        """A fault that comes before any attempt: said on the issue, nothing else changed."""
        text = answers.not_started(exc.reason, exc.what, exc.cure)
        self._say_once(issue, f"not-started-{request.trigger.id or self.runner.run.id}", text)
        if exc.reason is Reason.NEEDS_CLARIFICATION:
            with suppress(ForgeError):
                self.forge.set_label(effects.NEEDS_INFO_LABEL)
        self.runner.set_summary(text)
        return Outcome(reason=exc.reason, detail=str(exc))

    def _lines(self, base: str, head: str) -> Mapping[str, tuple[range, ...]]:
        with suppress(GitError):
            return commentable(self.git.diff(base, head))
        return {}

    def _dry_run(self, issue: int, task: Task, settings: Settings, base_commit: str) -> Outcome:
        """Print the contract, the plan and the prompts; no model, no effect."""
        limits = config.limits(settings, task)
        say = self.console.say
        self.console.group("Dry run: the contract")
        say(task.text)
        self.console.group("Dry run: what would happen")
        say(f"branch autobuild/issue-{issue} from {base_commit}, at most {limits.max_turns} turns")
        say(
            f"effects, in this order: lease and journal refs; reaction; status comment; label {effects.RUNNING_LABEL}"
        )
        say(
            f"after the first turn: pull request ({settings.pull_request}); after each: a review and a commit status"
        )
        say("at the end: the pull request opened for review, or a report; label, status, outputs")
        self.console.group("Dry run: the prompts")
        for name in ("player_system", "coach_system"):
            say(f"--- {name}")
            say(prompting.preview(name, task, settings.mode))
        return Outcome(reason=Reason.PLANNED)

    def outputs(self, end: Outcome) -> dict[str, object]:
        """The action's outputs, from the journal where there is one."""
        journal = self.log.journal if self.log else None
        attempt = journal.attempt if journal and journal.attempts else None
        number = effects.number(journal) if journal else None
        return {
            "result": end.result,
            "reason": end.reason,
            "turns": len(attempt.turns) if attempt else 0,
            "branch": journal.branch if journal and attempt and attempt.head else "",
            "commit": (attempt.head if attempt else None) or "",
            "pull-request-number": number or "",
            "pull-request-url": self.place.pull(number) if number else "",
            "cost-usd": f"{sum(one.cost_usd for one in journal.attempts):.4f}" if journal else "0.0000",
            "trace-path": self.runner.trace_on_host,
        }


__all__ = ["Job", "Result", "main"]
