"""Everything an attempt plays on, opened in order and closed whatever happens: sandbox, trees, broker, roles."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autobuild_action import prompting, render
from autobuild_action.adapters import claude
from autobuild_action.adapters.broker import Broker
from autobuild_action.adapters.checks import Checks
from autobuild_action.adapters.roles import ModelCoach, ModelPlayer, Stage
from autobuild_action.adapters.sandbox import HostSandbox
from autobuild_action.adapters.selftest import self_test
from autobuild_action.adapters.workspace import Workspace
from autobuild_action.config import NO_CHECK, Isolation
from autobuild_action.detect import detect
from autobuild_action.errors import AuthError, SetupError
from autobuild_action.evidence import unusable
from autobuild_action.model import Baseline, Check, CheckResult, Level
from autobuild_action.ports import Bounds, EndedBy, Identity, Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from autobuild_action.adapters.console import Console
    from autobuild_action.adapters.git import Author, Git
    from autobuild_action.adapters.takeover import Taken
    from autobuild_action.config import Inputs, Settings
    from autobuild_action.journal import Journal
    from autobuild_action.model import CheckRun
    from autobuild_action.ports import Log

PUBLIC_MODEL = "https://api.anthropic.com"
NOTES = ("CLAUDE.md", "AGENTS.md")
SETUP_SECONDS = 1800
TEMPLATE = "template"
SELF_TESTED = {True: "self-test passed", False: "nothing is kept apart, as asked for"}
FOREIGN = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


@dataclass(frozen=True, kw_only=True)
class Open:
    """The opened roles."""

    player: ModelPlayer
    coach: ModelCoach
    checks: Checks


@dataclass(frozen=True, kw_only=True)
class Studio:
    """How to open what an attempt plays on."""

    settings: Settings
    inputs: Inputs
    git: Git
    author: Author
    environ: Mapping[str, str]
    console: Console
    branch: str
    hidden: Path
    seconds_left: Callable[[], float]

    @property
    def level(self) -> Level:
        """The isolation level that this run will have; raises ``SetupError`` where none may be had."""
        if self.settings.isolation is Isolation.AUTO:
            if os.geteuid() == 0:
                return Level.UID
            raise SetupError(
                "No isolation level can be had here: `uid` needs root.",
                "Run the action in its container, or ask for `isolation: none` by name.",
            )
        return Level(self.settings.isolation.value)

    @contextmanager
    def open(self, log: Log) -> Iterator[Open]:
        """Preflight, then the roles: nothing here calls a model. Raises what ends the attempt."""
        attempt = log.journal.attempt
        self._credentials()
        with self._folder() as folder, self._broker() as broker:
            self.console.group("Preflight")
            sandbox = HostSandbox(folder / "box", self.level)
            self_test(sandbox, self.git.folder, folder / "probe" / "work", hidden=self.hidden)
            self.console.say(f"isolation level `{sandbox.level}`: {SELF_TESTED[sandbox.level is not Level.NONE]}")
            self._fetch(attempt.started.base_commit, attempt.started.start_commit)
            workspace = Workspace(self.git, folder / "trees", self.author)
            base = attempt.started.base_commit
            checks = Checks(
                self._checks(base),
                workspace,
                sandbox,
                remote_head=lambda: self.git.remote_refs(f"refs/heads/{self.branch}").get(f"refs/heads/{self.branch}"),
                say=self.console.say,
                seconds_left=self.seconds_left,
            )
            self._set_up(workspace, sandbox, base, folder)
            if attempt.baseline is None:
                log.note(self._baseline(checks, base))  # goes with the first commit; cheap to repeat
            stage = Stage(
                workspace=workspace,
                sandbox=sandbox,
                broker=broker,
                cli=_reachable_cli(folder),
                witness=self.console,
                seconds_left=self.seconds_left,
                notes=prompting.instructions(self._notes(base)),
                checks=checks.checks,
            )
            yield Open(
                player=ModelPlayer(
                    stage, model=self.settings.player_model, mode=self.settings.mode, message=self._message
                ),
                coach=ModelCoach(stage, model=self.settings.coach_model),
                checks=checks,
            )

    # --- the pieces

    def _fetch(self, *commits: str) -> None:
        """Fetch the commits of an attempt that a new runner lacks: its branches may have moved on since."""
        for commit in commits:
            if not self.git.has(commit):
                self.git.fetch(commit, depth=1)

    def _credentials(self) -> None:
        """Refuse, before any effect on the model's side, what this version cannot keep from the agents."""
        foreign = [name for name in FOREIGN if self.environ.get(name)]
        if foreign:
            raise AuthError(
                f"{', '.join(foreign)} is set, but cloud providers' own credentials are not supported.",
                "Put a gateway in front of the provider and name it by ANTHROPIC_BASE_URL.",
            )

    def _broker(self) -> Broker:
        return Broker(
            self.environ.get("ANTHROPIC_BASE_URL") or PUBLIC_MODEL,
            api_key=self.inputs.anthropic_api_key or None,
            oauth_token=self.inputs.oauth_token or None,
            environ=self.environ,
        )

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """A folder that every uid may pass through and none may list; gone at the end."""
        folder = Path(tempfile.mkdtemp(prefix="autobuild-"))
        folder.chmod(0o711)
        try:
            yield folder
        finally:
            remove = ["rm", "-rf", "--", str(folder)]  # Python's own way ends at a thousand levels of folders
            subprocess.run(remove, check=False, capture_output=True)

    def _checks(self, base: str) -> tuple[Check, ...]:
        """The configured checks, else the one command, else what the project looks like (docs/design.md, "Checks")."""
        settings = self.settings
        if settings.checks:
            return settings.checks
        if settings.check_command == NO_CHECK:
            return ()
        if settings.check_command:
            return (Check(name="tests", command=settings.check_command),)
        found = detect(self.git.paths(base), lambda path: (self.git.read(base, path) or b"").decode(errors="replace"))
        if found is None:
            raise SetupError(
                "No check was found: nothing here looks like a test command.",
                "Name one with `check-command`, or say `check-command: none` to go without.",
            )
        self.console.say(f"found the check `{found.command}`")
        return (found,)

    def _set_up(self, workspace: Workspace, sandbox: HostSandbox, base: str, folder: Path) -> None:
        """Run ``setup-command`` once on the base commit; what it leaves becomes the template of every checkout."""
        command = self.settings.setup_command
        if not command:
            return
        self.console.say(f"set-up: {command}")
        session = "setup"
        tree = workspace.prepare(TEMPLATE, base, lambda tree: sandbox.own(session, tree, writable=True))
        spec = Spec(
            session=session,
            identity=Identity.SETUP,
            argv=("sh", "-c", command),
            work=tree,
            limits=Bounds(seconds=min(SETUP_SECONDS, self.seconds_left())),
            network=True,
            env={"CI": "true"},
        )
        try:
            ended = sandbox.run(spec)
            if ended.ended_by is not EndedBy.EXIT or ended.exit_code != 0:
                how = f"exit {ended.exit_code}" if ended.exit_code is not None else f"ended by {ended.ended_by}"
                tail = ended.output[-3000:]
                raise SetupError(
                    f"`setup-command` failed ({how}): {tail}", "Correct it and comment `/autobuild retry`."
                )
            home = folder / "home-template"
            copy = ["cp", "--archive", "--reflink=auto", str(sandbox.temp(session).parent / "home"), str(home)]
            subprocess.run(copy, check=True, capture_output=True)
        finally:
            sandbox.end(session)
        shutil.rmtree(tree / ".git", ignore_errors=True)
        workspace.template = tree
        sandbox.home_template = home

    def _baseline(self, checks: Checks, base: str) -> Baseline:
        """The checks before anyone worked; red is normal, not runnable is not."""
        runs = checks.run_all(base)
        for run in runs:
            if run.required and (unusable(run) or self._missing_runner(run)):
                raise SetupError(
                    f"The check `{run.name}` (`{run.command}`) can't run here: {run.why}. {run.output[-1500:]}",
                    "Install what it needs with `setup-command`, or correct `check-command`.",
                )
        return Baseline(checks=runs)

    def _missing_runner(self, run: CheckRun) -> bool:
        """True where a check that we found ourselves gives no report on a base that has tests: nothing runs them."""
        found = not (self.settings.checks or self.settings.check_command)
        return found and run.result is CheckResult.ABSENT and run.counts is None

    def _notes(self, base: str) -> list[tuple[str, str]]:
        found = ((name, self.git.read(base, name)) for name in NOTES)
        return [(name, content.decode(errors="replace")) for name, content in found if content]

    def _message(self, journal: Journal, turn: int, taken: Taken) -> str:
        return render.commit_message(journal.attempt, journal.issue, turn, taken.paths)


def _reachable_cli(folder: Path) -> Path:
    """The CLI's executable where every uid can start it: linked or copied, unless it is reachable as it is."""
    cli = claude.bundled_cli()
    if all(parent.stat().st_mode & 0o001 for parent in cli.parents):
        return cli
    copy = folder / "cli" / cli.name
    copy.parent.mkdir()
    with suppress(OSError):
        os.link(cli, copy)
        return copy
    shutil.copy2(cli, copy)
    return copy
