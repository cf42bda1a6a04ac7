"""The publisher: makes every effect that is due, each at most once, whatever GitHub answers.

A creation is written down as an intent before it and as done after it. Only where an intent has no result is GitHub
searched for what we may have created already, by our marker, our author and the journal's id.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from autobuild_action import blocked, render
from autobuild_action.decide import decide
from autobuild_action.effects import (
    Bring,
    Create,
    Creation,
    State,
    due,
    may_not_open,
    moment,
    number,
)
from autobuild_action.errors import ForgeError, RefusedError, UnknownOutcomeError
from autobuild_action.journal import NO_DRAFT
from autobuild_action.model import Done, Implement, Intent, Judge, Measure, Outcome, PullRequestMode, Weigh
from autobuild_action.words import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from autobuild_action.journal import Journal
    from autobuild_action.model import Turn
    from autobuild_action.place import Place
    from autobuild_action.ports import Forge, Log, Posted

MOST_WRITES = 3
UNPROCESSABLE = 422
NO_DRAFT_WORDS = "draft pull requests are not supported"
VITAL = (Creation.STATUS, Creation.REPORT, Creation.APPROVED)
"""What must be said; where GitHub refuses these, the run has failed and says so in its log."""


class Publisher:
    """Brings GitHub to what the journal says."""

    def __init__(
        self,
        forge: Forge,
        place: Place,
        *,
        lines: Callable[[str, str], Mapping[str, Sequence[range]]],
        warn: Callable[[str], None],
        inherited: Journal | None = None,
    ) -> None:
        """``lines(base, head)`` gives the lines that comments may be on; ``warn`` hears what was left out.

        ``inherited`` is the journal as this run found it: only its intents can have been tried by another one.
        Without it every intent counts as tried.
        """
        self._forge = forge
        self._place = place
        self._lines = lines
        self._warn = warn
        self._inherited = inherited
        self._shown: set[str] = set()
        self._tried: set[str] = set()

    def show(self, log: Log) -> None:
        """Make every effect that is due."""
        while effect := next(due(log.journal, self._shown), None):
            if isinstance(effect, Create):
                self._create_once(effect, log)
            else:
                self._bring(effect, log.journal)
                self._shown.add(effect.version)

    # --- creations

    def _create_once(self, effect: Create, log: Log) -> None:
        found = self._find(effect, log.journal) if self._may_exist(effect, log.journal) else None
        if not log.journal.intended(effect.key):
            log.add(Intent(key=effect.key))
        self._tried.add(effect.key)
        try:
            posted = found or self._create_surely(effect, log.journal)
        except RefusedError as exc:
            self._refused(effect, exc, log)
        else:
            log.note(Done(key=effect.key, github_id=posted.id, url=posted.url))
            self._shown |= _shown_by(effect, log.journal)

    def _may_exist(self, effect: Create, journal: Journal) -> bool:
        """True once this run or an earlier one has tried; there is one pull request, so any attempt's try counts."""
        before = self._inherited or journal
        tried = self._tried | {fact.key for fact in before.facts if isinstance(fact, Intent)}
        if effect.what is Creation.PULL_REQUEST:
            return any(key.endswith(f"/{effect.what}") for key in tried)
        return effect.key in tried

    def _create_surely(self, effect: Create, journal: Journal) -> Posted:
        """Create it; after an answer that leaves it open, look first and only then write again."""
        for last in range(MOST_WRITES):
            try:
                return self._create(effect, journal)
            except UnknownOutcomeError:
                found = self._find(effect, journal)
                if found:
                    return found
                if last == MOST_WRITES - 1:
                    raise
        raise AssertionError("unreachable")

    def _refused(self, effect: Create, refusal: RefusedError, log: Log) -> None:
        if effect.what in VITAL:
            raise refusal
        key = effect.key
        if effect.what is Creation.PULL_REQUEST and NO_DRAFT_WORDS in refusal.what.lower():
            key = f"{key.rpartition('/')[0]}/{NO_DRAFT}"
        self._warn(f"GitHub refused to create the {effect.what}: {refusal.what}")
        log.note(Done(key=key, github_id=None, url="", refused=refusal.what[:1000]))

    def _create(self, effect: Create, journal: Journal) -> Posted:
        match effect.what:
            case Creation.STATUS:
                return self._forge.create_comment(self._status(journal))
            case Creation.REPORT:
                return self._forge.create_comment(blocked.report(journal, self._place))
            case Creation.APPROVED:
                return self._forge.create_comment(render.approved_text(journal, self._place))
            case Creation.PULL_REQUEST:
                return self._open_pull_request(journal)
            case Creation.REVIEW:
                return self._review(journal, _turn(effect.turn))

    def _find(self, effect: Create, journal: Journal) -> Posted | None:
        if effect.what is Creation.PULL_REQUEST:
            return self._forge.find_pull_request(journal.branch)
        marker = render.marker(journal.id, effect.key)
        pull_request = number(journal)
        if effect.what is Creation.REVIEW and pull_request:
            return self._forge.find_review(pull_request, marker)
        return self._forge.find_comment(marker)

    def _open_pull_request(self, journal: Journal) -> Posted:
        attempt = journal.attempt
        drafts = attempt.started.pull_request is PullRequestMode.DRAFT and not journal.refused_draft
        return self._forge.create_pull_request(
            branch=journal.branch,
            base=journal.base,
            title=render.pull_request_title(attempt.task, journal.issue),
            body=render.pull_request_body(journal, self._place),
            draft=drafts,
        )

    def _review(self, journal: Journal, turn: Turn) -> Posted:
        """The review; where GitHub refuses a line after all, everything goes into the body."""
        commit = turn.commit or ""
        if may_not_open(journal):
            return self._forge.create_comment(render.review(journal, turn, self._place, {}).body)
        lines = self._lines(journal.attempt.started.base_commit, commit)
        try:
            return self._send_review(journal, turn, lines)
        except RefusedError as exc:
            if exc.status != UNPROCESSABLE:
                raise
        found = self._forge.find_review(
            number(journal) or 0,
            render.marker(journal.id, render.review_key(journal.attempt.number, turn.number)),
        )
        return found or self._send_review(journal, turn, {})

    def _send_review(self, journal: Journal, turn: Turn, lines: Mapping[str, Sequence[range]]) -> Posted:
        review = render.review(journal, turn, self._place, lines)
        comments = [_inline(comment) for comment in review.comments]
        commit = turn.commit or ""
        return self._forge.create_review(number(journal) or 0, commit=commit, body=review.body, comments=comments)

    # --- states

    def _bring(self, effect: Bring, journal: Journal) -> None:
        """Set a state; one that GitHub refuses or cannot take now is said once and done without."""
        for last in range(MOST_WRITES):
            try:
                self._set(effect, journal)
            except UnknownOutcomeError as exc:
                if last == MOST_WRITES - 1:
                    self._warn(f"The {effect.what} could not be brought up to date: {exc.what}")
            except RefusedError as exc:
                self._warn(f"GitHub refused the {effect.what}: {exc.what}")
                return
            else:
                return

    def _set(self, effect: Bring, journal: Journal) -> None:
        pull_request = number(journal) or 0
        match effect.what:
            case State.STATUS:
                self._forge.edit_comment(_id(journal, journal.attempt.number), self._status(journal))
            case State.OLD_STATUS:
                self._retire(journal)
            case State.PULL_REQUEST:
                body = render.pull_request_body(journal, self._place)
                self._forge.edit_pull_request(pull_request, body=body)
            case State.COMMIT_STATUS:
                self._commit_status(journal, effect.turn)
            case State.LABEL:
                self._forge.set_label(effect.label)
            case State.DRAFT:
                self._forge.set_draft(pull_request, draft=True)
            case State.READY:
                self._forge.set_draft(pull_request, draft=False)
            case State.REVIEWER:
                self._forge.ask_review(pull_request, journal.attempt.started.trigger.login)

    def _status(self, journal: Journal) -> str:
        return render.status_comment(journal, self._place, phase=phase(journal))

    def _retire(self, journal: Journal) -> None:
        """The last attempt's status comment gets a link to the new one."""
        old = journal.attempts[-2]
        newer = journal.done(render.status_key(journal.attempt.number))
        if newer and _id(journal, old.number):
            text = render.superseded_status(journal, self._place, old, newer.url)
            self._forge.edit_comment(_id(journal, old.number), text)

    def _commit_status(self, journal: Journal, turn: Turn | None) -> None:
        attempt = journal.attempt
        of = turn or attempt.ended
        commit = turn.commit if turn else attempt.head
        if of is None or commit is None:
            raise ForgeError("There is no commit to set a status on.")
        state, description = render.commit_status(journal, of)
        pull_request = number(journal)
        url = self._place.pull(pull_request) if pull_request else self._place.issue(journal.issue)
        self._forge.set_status(commit, state=state, description=description, url=url)


def phase(journal: Journal) -> Phase:
    """What the attempt does next, in the words of the status comment."""
    if journal.attempt.baseline is None:
        return Phase.STARTING
    match decide(journal.attempt, seconds_left=math.inf):
        case Implement():
            return Phase.PLAYER
        case Measure():
            return Phase.CHECKS
        case Judge() | Weigh():
            return Phase.COACH
        case Outcome():
            return Phase.FINISHING


def _shown_by(effect: Create, journal: Journal) -> set[str]:
    """The state that a text has from its creation on needs no edit."""
    return {f"{moment(journal.attempt)}/{effect.what}"}


def _id(journal: Journal, attempt: int) -> int:
    done = journal.done(render.status_key(attempt))
    return (done.github_id if done else None) or 0


def _turn(turn: Turn | None) -> Turn:
    if turn is None:
        raise ValueError("a review is about a turn")
    return turn


def _inline(comment: render.InlineComment) -> dict[str, object]:
    made: dict[str, object] = {
        "path": comment.path,
        "body": comment.body,
        "line": comment.line,
        "side": "RIGHT",
    }
    if comment.start_line is not None:
        made |= {"start_line": comment.start_line, "start_side": "RIGHT"}
    return made
