"""From a request to a case: everything that has to be known, and in order, before an attempt may start."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from autobuild_action import answers, config, effects, events
from autobuild_action.adapters import store
from autobuild_action.errors import ClarificationError, ConfigurationError
from autobuild_action.lifecycle import Answer, PullState, admit
from autobuild_action.task import freeze, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autobuild_action.adapters.git import Git
    from autobuild_action.adapters.github import Repo
    from autobuild_action.config import Inputs, Settings
    from autobuild_action.events import Build, Retry, Snapshot
    from autobuild_action.journal import Journal
    from autobuild_action.lifecycle import GoOn, Start
    from autobuild_action.model import RunId, Task
    from autobuild_action.place import Place

BRANCH = "autobuild/issue-"
DEFAULT_LABEL = "autobuild"


@dataclass(frozen=True, kw_only=True)
class Case:
    """An issue as this run found it: the remote's refs, the journal so far, the settings and the contract."""

    issue: int
    request: Build | Retry
    base: str
    base_commit: str
    refs: Mapping[str, str]
    journal: Journal | None
    settings: Settings
    task: Task
    note: str
    meaning: Start | GoOn | Answer

    @property
    def branch(self) -> str:
        """The branch of the work."""
        return self.journal.branch if self.journal else f"{BRANCH}{self.issue}"

    @property
    def branch_head(self) -> str | None:
        """Where the branch is on the remote."""
        return self.refs.get(f"refs/heads/{self.branch}")

    @property
    def text(self) -> str:
        """What a person wrote behind ``retry``, as far as people can see it."""
        return visible(self.request.text)[0] if isinstance(self.request, events.Retry) else ""


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Reads what a request is about."""

    repo: Repo
    git: Git
    place: Place
    inputs: Inputs
    run: RunId

    def issue_of(self, request: Build | Retry) -> int | None:
        """The issue that a request is about, None for a pull request: but a retry on ours is about its issue."""
        if isinstance(request, events.Build):
            dispatched = request.snapshot is None
            return None if dispatched and self.repo.is_pull_request(request.issue) else request.issue
        if not request.on_pull_request:
            return request.number
        repository, branch = self.repo.branch_of(request.number)
        number = branch.removeprefix(BRANCH).partition("-")[0]
        ours = repository.lower() == self.repo.name.lower() and branch.startswith(BRANCH) and number.isdecimal()
        return int(number) if ours else None

    def case(self, issue: int, request: Build | Retry) -> Case | Answer:
        """The case; an ``Answer`` where a few words are all there is to do.

        Raises ``ConfigurationError`` and ``ClarificationError`` for what a person has to correct first.
        """
        base = self.inputs.base_branch or self.repo.default_branch
        refs = self._fetch(issue, base)
        base_commit = refs.get(f"refs/heads/{base}")
        if not base_commit:
            raise ConfigurationError(f"There is no branch `{base}` to start from.", "Push a first commit to it.")
        journal = self._journal(issue, refs)
        if journal and request.trigger.id and journal.consumed(request.trigger.id):
            return Answer(text="", why="already handled: an earlier run took this comment up")
        settings = self._settings(base_commit)
        if request.trigger.kind == "label" and settings.label.casefold() != self._label.casefold():
            return Answer(
                text="", why=f"the label that starts a run here is `{settings.label}`, by {self.inputs.config_file}"
            )
        snapshot = request.snapshot or self.repo.issue(issue)
        if snapshot.state != "open":
            return Answer(text=answers.closed_issue())
        if request.snapshot is None and self._edited(issue, request):
            if not (journal and journal.attempts):
                return Answer(text=answers.edited_since())
            task, note = journal.attempt.task, answers.old_contract()
        else:
            task, note = self._frozen(snapshot, settings), ""
        return Case(
            issue=issue,
            request=request,
            base=base,
            base_commit=base_commit,
            refs=refs,
            journal=journal,
            settings=settings,
            task=task,
            note=note,
            meaning=self._meaning(journal, request, task, refs),
        )

    @property
    def _label(self) -> str:
        """The label by which the event was let through: the input's."""
        return self.inputs.values.get("label", DEFAULT_LABEL)

    def _frozen(self, snapshot: Snapshot, settings: Settings) -> Task:
        try:
            return freeze(snapshot.title, snapshot.body, labels=snapshot.labels)
        except ClarificationError as exc:
            exc.fail_on_blocked = settings.fail_on_blocked
            raise

    def _fetch(self, issue: int, base: str) -> dict[str, str]:
        """Fetch what this issue needs, shallow, and answer the remote's refs."""
        names = [f"refs/heads/{base}", f"refs/heads/{BRANCH}{issue}", *store.refs(issue)]
        refs = {name: commit for name, commit in self.git.remote_refs(*names).items() if name in names}
        if refs:
            self.git.fetch(*dict.fromkeys(refs.values()), depth=1)
        return refs

    def _journal(self, issue: int, refs: Mapping[str, str]) -> Journal | None:
        head = refs.get(store.refs(issue)[0])
        return store.read(self.git, head) if head else None

    def _settings(self, base_commit: str) -> Settings:
        content = self.git.read(base_commit, self.inputs.config_file)
        text = content.decode(errors="replace") if content is not None else None
        return config.settings(self.inputs, text, file_name=self.inputs.config_file)

    def _edited(self, issue: int, request: Build | Retry) -> bool:
        """True where the issue was edited after the trigger; a dispatch's time is that of its run."""
        asked = datetime.fromisoformat(request.trigger.at) if request.trigger.at else self.repo.run_created(self.run)
        edited = self.repo.edited_at(issue) if asked else None
        return asked is not None and edited is not None and edited > asked

    def _meaning(
        self, journal: Journal | None, request: Build | Retry, task: Task, refs: Mapping[str, str]
    ) -> Start | GoOn | Answer:
        number = effects.number(journal) if journal else None
        return admit(
            journal,
            place=self.place,
            pull=self.repo.pull_state(number) if number else PullState.NONE,
            retry=isinstance(request, events.Retry),
            news=_news(journal, request, task, refs),
        )


def _news(journal: Journal | None, request: Build | Retry, task: Task, refs: Mapping[str, str]) -> bool:
    """True where the request brings something new: a text, an edited contract, or people's commits."""
    if journal is None or not journal.attempts:
        return True
    heads = [attempt.head for attempt in journal.attempts if attempt.head]
    moved = bool(heads) and refs.get(f"refs/heads/{journal.branch}") != heads[-1]  # or gone
    text = isinstance(request, events.Retry) and bool(request.text)
    return text or moved or journal.attempt.task.sha256 != task.sha256
