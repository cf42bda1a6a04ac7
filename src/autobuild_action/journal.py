"""The journal: an append-only list of facts, its JSON form, and the views that the rest reads."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import cattrs
from cattrs.strategies import configure_tagged_union

from autobuild_action.errors import JournalError
from autobuild_action.model import (
    Attempt,
    AttemptStarted,
    Baseline,
    Command,
    Committed,
    Decided,
    Done,
    Ended,
    Entry,
    Fact,
    Intent,
    Issue,
    Judged,
    Measured,
    PlayerEnded,
    PreviousStatus,
    RunId,
    Turn,
    Unchanged,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")

SCHEMA = 1
NO_DRAFT = "draft-refused"
"""The effect under which a refused draft is written down."""
DAMAGED = "Put an earlier commit of the journal's ref back, or delete the ref to start anew."
KINDS: dict[type[Fact], str] = {
    AttemptStarted: "attempt_started",
    Baseline: "baseline",
    PlayerEnded: "player_ended",
    Committed: "committed",
    Unchanged: "unchanged",
    Measured: "measured",
    Judged: "judged",
    Decided: "decided",
    Intent: "intent",
    Done: "done",
    Command: "command",
    Ended: "ended",
}


@dataclass(frozen=True, kw_only=True)
class Journal:
    """The durable record of all attempts at one issue; the only state there is."""

    id: str
    repository: str
    issue: int
    branch: str
    base: str
    entries: tuple[Entry, ...] = ()

    def append(self, facts: Iterable[Fact], *, run: RunId, at: datetime) -> Journal:
        """The journal with ``facts`` at its end."""
        start = len(self.entries) + 1
        added = tuple(Entry(seq=start + n, at=at, run=run, fact=fact) for n, fact in enumerate(facts))
        return replace(self, entries=self.entries + added)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What happened, oldest first."""
        return tuple(entry.fact for entry in self.entries)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The facts grouped by attempt and turn."""
        return _attempts(self.facts)

    @property
    def attempt(self) -> Attempt:
        """The last attempt; every journal that is played has one."""
        return self.attempts[-1]

    def done(self, key: str) -> Done | None:
        """What became of the creation with this key, None while that is unknown."""
        return next((fact for fact in self.facts if isinstance(fact, Done) and fact.key == key), None)

    def intended(self, key: str) -> bool:
        """True once a creation with this key may have been tried."""
        return any(isinstance(fact, Intent) and fact.key == key for fact in self.facts)

    @property
    def pull_request(self) -> Done | None:
        """The pull request, or GitHub's refusal of one; the last word counts."""
        found = [fact for fact in self.facts if isinstance(fact, Done) and fact.key.endswith("/pull-request")]
        return found[-1] if found else None

    @property
    def judged_turns(self) -> tuple[Turn, ...]:
        """Every turn of every attempt on which the gate has spoken, oldest first."""
        return tuple(turn for attempt in self.attempts for turn in attempt.turns if turn.decided)

    @property
    def open_issues(self) -> tuple[Issue, ...]:
        """The Coach's issues that no later verdict called resolved or withdrawn, oldest first."""
        issues: dict[str, Issue] = {}
        for turn in self.judged_turns:
            verdict = turn.verdict
            for answer in verdict.previous if verdict else ():
                if answer.status is not PreviousStatus.OPEN:
                    issues.pop(answer.issue, None)
            issues |= {issue.id: issue for issue in (verdict.issues if verdict else ())}
        return tuple(issues.values())

    @property
    def refused_draft(self) -> Done | None:
        """GitHub's word that this repository has no drafts, so that it is asked once."""
        refused = (fact for fact in self.facts if isinstance(fact, Done) and fact.key.endswith(f"/{NO_DRAFT}"))
        return next(refused, None)

    def cost_of(self, run: RunId) -> float:
        """US dollars that the sessions of one workflow run cost."""
        facts = (entry.fact for entry in self.entries if entry.run == run)
        return sum(fact.session.usage.cost_usd for fact in facts if isinstance(fact, (PlayerEnded, Judged)))

    def consumed(self, comment_id: int) -> bool:
        """True once the command in this comment was taken up."""
        return any(isinstance(fact, Command) and fact.comment_id == comment_id for fact in self.facts)


def _attempts(facts: Iterable[Fact]) -> tuple[Attempt, ...]:
    attempts: list[Attempt] = []
    for fact in facts:
        if isinstance(fact, AttemptStarted):
            attempts.append(Attempt(started=fact))
        elif attempts:
            attempts[-1] = _with(attempts[-1], fact)
    return tuple(attempts)


def _with(attempt: Attempt, fact: Fact) -> Attempt:
    match fact:
        case Baseline():
            return replace(attempt, baseline=fact)
        case Ended():
            return replace(attempt, ended=fact)
        case PlayerEnded() | Committed() | Unchanged() | Measured() | Judged() | Decided():
            return replace(attempt, turns=_with_turn(attempt.turns, fact))
        case _:
            return attempt


def _with_turn(
    turns: tuple[Turn, ...], fact: PlayerEnded | Committed | Unchanged | Measured | Judged | Decided
) -> tuple[Turn, ...]:
    before, turn = turns, Turn(number=fact.turn)
    if turns and turns[-1].number == fact.turn:
        before, turn = turns[:-1], turns[-1]
    match fact:
        case PlayerEnded():
            turn = replace(turn, sessions=(*turn.sessions, fact))
        case Committed() | Unchanged():
            turn = replace(turn, change=fact)
        case Measured():
            turn = replace(turn, measured=fact)
        case Judged():
            turn = replace(turn, judgements=(*turn.judgements, fact))
        case Decided():
            turn = replace(turn, decided=fact)
    return (*before, turn)


# --- JSON -------------------------------------------------------------------------------------------


@cache
def converter() -> cattrs.Converter:
    """The codec of all values in :mod:`model`; unknown kinds of fact are the caller's business."""
    made = cattrs.Converter(omit_if_default=False, forbid_extra_keys=False)
    made.register_structure_hook(datetime, lambda text, _: datetime.fromisoformat(text))
    made.register_unstructure_hook(datetime, lambda at: at.astimezone(UTC).isoformat(timespec="seconds"))
    configure_tagged_union(Fact, made, tag_generator=lambda kind: KINDS[kind], tag_name="kind")
    return made


def structure(value: object, kind: type[T]) -> T:
    """A JSON value as the dataclass ``kind``; raises cattrs' errors where it does not fit."""
    made: T = converter().structure(value, kind)
    return made


def unstructure(value: object) -> Any:  # noqa: ANN401  JSON has no better type
    """A value of :mod:`model` as plain JSON."""
    return converter().unstructure(value)


def dumps(journal: Journal) -> str:
    """The text of ``journal.json``."""
    pull_request = journal.pull_request
    document = {
        "schema": SCHEMA,
        "id": journal.id,
        "repository": journal.repository,
        "issue": journal.issue,
        "branch": journal.branch,
        "base": journal.base,
        "pull_request": pull_request.github_id if pull_request else None,
        "facts": [_entry(entry) for entry in journal.entries],
    }
    return json.dumps(document, indent=1) + "\n"  # ASCII, since a model's text may hold half a surrogate pair


def loads(text: str) -> Journal:
    """The journal of a ``journal.json``; facts of a kind we do not know are left out (a newer minor)."""
    try:
        document = json.loads(text)
        schema = document["schema"]
    except (ValueError, KeyError, TypeError, RecursionError) as exc:
        raise JournalError("The journal is not readable JSON.", DAMAGED) from exc
    if schema != SCHEMA:
        newer = f"The journal has schema {schema!r}; this version reads schema {SCHEMA}."
        raise JournalError(newer, "Use the version of the action that wrote it, or a newer one.")
    try:
        return _read(document)
    except (cattrs.BaseValidationError, ValueError, KeyError, TypeError, AttributeError) as exc:
        raise JournalError(f"The journal is damaged: {type(exc).__name__}.", DAMAGED) from exc


def _read(document: dict[str, Any]) -> Journal:
    known = set(KINDS.values())
    return Journal(
        id=document["id"],
        repository=document["repository"],
        issue=document["issue"],
        branch=document["branch"],
        base=document["base"],
        entries=tuple(_structured(raw) for raw in document["facts"] if raw.get("kind") in known),
    )


def _entry(entry: Entry) -> dict[str, Any]:
    made = converter()
    head = {"seq": entry.seq, "at": made.unstructure(entry.at), "run": made.unstructure(entry.run)}
    body: dict[str, Any] = made.unstructure(entry.fact, unstructure_as=Fact)
    return head | body


def _structured(raw: dict[str, Any]) -> Entry:
    made = converter()
    return Entry(
        seq=raw["seq"],
        at=made.structure(raw["at"], datetime),
        run=made.structure(raw["run"], RunId),
        fact=made.structure(raw, Fact),  # type: ignore[arg-type]  # a union is no type to mypy
    )
