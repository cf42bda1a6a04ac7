"""The action: from the runner's event to a pull request. This is the composition root."""

from __future__ import annotations

import os
import resource
import signal
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autobuild_action import answers, config, effects, events, prompting, render
from autobuild_action.adapters import claude
from autobuild_action.adapters.attempt import Production
from autobuild_action.adapters.console import Console
from autobuild_action.adapters.git import Git, Remote
from autobuild_action.adapters.github import GithubForge, Repo
from autobuild_action.adapters.intake import DEFAULT_LABEL, Intake
from autobuild_action.adapters.runner import read_runner
from autobuild_action.adapters.trace import Trace
from autobuild_action.errors import (
    AuthError,
    AutobuildError,
    ForgeError,
    RunningError,
    action_exit,
)
from autobuild_action.lifecycle import Answer
from autobuild_action.model import Outcome, Reason
from autobuild_action.place import Place
from autobuild_action.redact import Redactor
from autobuild_action.words import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from autobuild_action.adapters.intake import Case
    from autobuild_action.adapters.runner import Runner
    from autobuild_action.config import Inputs
    from autobuild_action.events import Build, Help, Refused, Retry
    from autobuild_action.journal import Journal

REFUSED = "confused"


def main(environ: Mapping[str, str] | None = None) -> int:
    """Run the action; answers the exit status of the step."""
    environ = dict(os.environ) if environ is None else environ
    inputs = config.read_inputs(environ)
    redact = Redactor([inputs.github_token, inputs.anthropic_api_key, inputs.oauth_token])
    try:
        runner = read_runner(environ)
    except AutobuildError as exc:
        print(redact(str(exc)))  # noqa: T201  there is no log yet
        return 1
    trace = Trace(runner.folder / "trace", redact)
    console = Console(trace, redact, in_actions=runner.in_actions, verbose=inputs.verbose)
    runner.close()
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    job = Job(runner=runner, inputs=inputs, trace=trace, console=console, environ=environ, redact=redact)
    end = _guarded(job)
    console.end_group()
    console.say(f"result: {end.result}" + (f" ({end.reason})" if end.reason.value != end.result.value else ""), "bold")
    if end.detail:
        console.say(end.detail)
    runner.set_outputs(job.outputs(end))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kilobytes on Linux
    trace.open()
    trace.event("end", {"result": end.result, "reason": end.reason, "peak_rss_mb": round(peak, 1)})
    return action_exit(end.result, fail_on_blocked=job.fail_on_blocked)


def _guarded(job: Job) -> Outcome:
    """Run the job; whatever it raises becomes an outcome."""
    try:
        return job.run()
    except AutobuildError as exc:
        return Outcome(reason=exc.reason, detail=str(exc))
    except KeyboardInterrupt:
        return Outcome(reason=Reason.CANCELLED)
    except Exception as exc:  # noqa: BLE001  the last resort: a red step that says what happened
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
    redact: Callable[[str], str]
    fail_on_blocked: bool = False
    journal: Journal | None = None

    def run(self) -> Outcome:
        """Read the event, and do what it asks for if its sender may ask."""
        label = self.inputs.values.get("label", DEFAULT_LABEL)
        request = events.parse(self.runner.event_name, self.runner.event, label=label)
        if isinstance(request, events.Ignored):
            return Outcome(reason=Reason.IGNORED, detail=request.why)
        self.console.say(f"{request.trigger.kind} by {request.sender.login} in {self.runner.repository}")
        if not self.inputs.github_token:
            raise AuthError("There is no token for GitHub.", "Give `github-token`, or leave its default alone.")
        spacing = float(self.environ.get("AUTOBUILD_WRITE_SPACING", "1.0"))
        self.repo = Repo(self.runner.server, self.inputs.github_token, self.runner.repository, pause=spacing)
        self.place = Place(self.runner.server.url, self.runner.repository)
        allowed = events.authorise(request.sender, self.repo.role(request.sender.login), private=self.repo.private)
        if isinstance(allowed, events.Refused):
            return self._refuse(request, allowed)
        if isinstance(request, events.Help):
            return self._help(request, label)
        return self._build(request)

    # --- answers without an attempt

    def _refuse(self, request: Build | Retry | Help, refused: Refused) -> Outcome:
        number, comment = _number(request), request.trigger.id or None
        if refused.answer == "comment":
            self._say_once(number, f"refused-{comment or 'label'}", answers.refusal(refused.why))
        if not self.inputs.dry_run:
            with suppress(ForgeError):
                self.repo.react(issue=number, comment=comment, content=REFUSED)
        return Outcome(reason=Reason.IGNORED, detail=f"refused: {refused.why}")

    def _help(self, request: Help, label: str) -> Outcome:
        why = f"I did not understand that: {request.why}.\n\n" if request.why else ""
        self._say_once(request.number, f"help-{request.trigger.id}", why + answers.help_text(label))
        return Outcome(reason=Reason.IGNORED, detail=request.why or "help")

    def _say(self, issue: int, request: Build | Retry, effect: str, text: str) -> None:
        self._say_once(issue, f"{effect}-{request.trigger.id or self.runner.run.id}", text)

    def _say_once(self, number: int, effect: str, text: str) -> None:
        """Comment where there is no attempt; a re-run of the job finds the comment and stays silent."""
        if self.inputs.dry_run:
            self.console.say(f"would comment on {number}:\n{text}")
            return
        forge, marker = GithubForge(self.repo, number), render.marker("none", f"0/0/{effect}")
        if not forge.find_comment(marker):
            forge.create_comment(f"{text}\n\n{marker}")

    # --- an attempt

    def _build(self, request: Build | Retry) -> Outcome:
        if not self.inputs.dry_run:
            claude.warm_up()
        git = self._git()
        intake = Intake(repo=self.repo, git=git, place=self.place, inputs=self.inputs, run=self.runner.run)
        issue = intake.issue_of(request)
        if issue is None:
            return Outcome(reason=Reason.IGNORED, detail=f"#{_number(request)} is a pull request, and not ours")
        try:
            case = intake.case(issue, request)
        except AutobuildError as exc:
            self.fail_on_blocked = getattr(exc, "fail_on_blocked", False)
            return self._not_started(issue, request, exc)
        answer = case if isinstance(case, Answer) else case.meaning
        if isinstance(answer, Answer):
            if answer.text:
                self._say(issue, request, "answer", answer.text)
            return Outcome(reason=Reason.IGNORED, detail=answer.why)
        if isinstance(case, Answer):
            raise TypeError(case)
        self.fail_on_blocked = case.settings.fail_on_blocked
        production = self._production(git)
        return self._dry_run(case, production) if self.inputs.dry_run else self._attempt(case, production)

    def _git(self) -> Git:
        remote = Remote(url=f"{self.runner.server.url}/{self.runner.repository}.git", token=self.inputs.github_token)
        git = Git(self.runner.folder / "git", remote)
        git.create()
        return git

    def _production(self, git: Git) -> Production:
        return Production(
            repo=self.repo,
            git=git,
            place=self.place,
            inputs=self.inputs,
            runner=self.runner,
            trace=self.trace,
            console=self.console,
            environ=self.environ,
            redact=self.redact,
        )

    def _attempt(self, case: Case, production: Production) -> Outcome:
        try:
            self.journal, outcome = production.run(case)
        except RunningError as exc:
            url = exc.cure or self.place.issue(case.issue)
            self._say(case.issue, case.request, "running", answers.already_running(url))
            return Outcome(reason=Reason.IGNORED, detail=f"already running: {url}")
        except AutobuildError as exc:
            if production.began:
                raise
            return self._not_started(case.issue, case.request, exc)
        return outcome

    def _not_started(self, issue: int, request: Build | Retry, exc: AutobuildError) -> Outcome:
        """A fault that comes before any attempt: said on the issue, and nothing else is done."""
        text = answers.not_started(exc.reason, exc.what, exc.cure)
        self._say(issue, request, "not-started", text)
        if exc.reason is Reason.NEEDS_CLARIFICATION and not self.inputs.dry_run:
            with suppress(ForgeError):
                GithubForge(self.repo, issue).set_label(effects.NEEDS_INFO_LABEL)
        self.runner.set_summary(text)
        return Outcome(reason=exc.reason, detail=str(exc))

    def _dry_run(self, case: Case, production: Production) -> Outcome:
        """Print the contract, the plan, the prompts and the first texts; no model is called and nothing changes."""
        say, group = self.console.say, self.console.group
        group("Dry run: the contract")
        say(case.task.text)
        group("Dry run: what would happen")
        for line in answers.dry_run_plan(case.branch, case.base_commit, config.limits(case.settings, case.task)):
            say(line)
        group("Dry run: the prompts")
        for name in prompting.SYSTEM_PROMPTS:
            say(f"--- {name}\n{prompting.preview(name, case.task, case.settings.mode)}")
        group("Dry run: the first texts")
        journal = production.preview(case)
        say(f"--- status comment\n{render.status_comment(journal, self.place, phase=Phase.STARTING)}")
        say(f"--- pull request\n{render.pull_request_body(journal, self.place)}")
        return Outcome(reason=Reason.PLANNED)

    def outputs(self, end: Outcome) -> dict[str, object]:
        """The action's outputs, from the journal where there is one."""
        journal = self.journal
        attempt = journal.attempt if journal and journal.attempts else None
        number = effects.number(journal) if journal else None
        cost = journal.cost_of(self.runner.run) if journal else 0.0
        return {
            "result": end.result,
            "reason": end.reason,
            "turns": len(attempt.turns) if attempt else 0,
            "branch": journal.branch if journal and attempt and attempt.head else "",
            "commit": (attempt.head if attempt else None) or "",
            "pull-request-number": number or "",
            "pull-request-url": self.place.pull(number) if number else "",
            "cost-usd": f"{cost:.4f}",
            "trace-path": self.runner.trace_on_host,
        }


def _number(request: Build | Retry | Help) -> int:
    return request.issue if isinstance(request, events.Build) else request.number
