"""A turn's verdict as a pull request review: words, criteria, issues on their lines, the whole JSON."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from autobuild_action import document, tables, text, words
from autobuild_action.model import CriterionStatus, Decision, Owner, Severity
from autobuild_action.place import issue_key, marker, review_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autobuild_action.journal import Journal
    from autobuild_action.model import Attempt, Criterion, Issue, Turn, Verdict
    from autobuild_action.place import Place

MOST_INLINE = 25
"""More comments in one review meet GitHub's limit on abuse."""
PROSE = 20_000
"""Characters of everything but the JSON."""
CRITERIA = 8_000
"""Characters of the checklist; beyond them its evidence stands in the JSON alone."""


@dataclass(frozen=True)
class InlineComment:
    """A comment on the right side of the diff; ``start_line`` is None where it is about one line."""

    path: str
    body: str
    line: int
    start_line: int | None = None


@dataclass(frozen=True)
class Review:
    """A review's body and its comments on lines."""

    body: str
    comments: tuple[InlineComment, ...] = ()


def review(journal: Journal, turn: Turn, place: Place, lines: Mapping[str, Sequence[range]]) -> Review:
    """The review of a turn; ``lines`` has each path's commentable lines, one range per hunk of the diff.

    Without ``lines`` every issue stands in the body: so it is posted where there is no pull request.
    """
    attempt = attempt_of(journal, turn)
    on_lines, in_body = _placed(turn, lines)
    signature = marker(journal.id, review_key(attempt.number, turn.number))
    told = _told(journal, turn, _prose(attempt, turn, place, on_lines, in_body), text.WHOLE_BODY - 200)
    comments = tuple(_inline(journal, attempt, turn, issue) for issue in on_lines)
    return Review(body=f"{told}\n\n{signature}", comments=comments)


def quoted(journal: Journal, turn: Turn, place: Place, room: int) -> str:
    """The review as a part of another text, within ``room`` characters, where it cannot be posted itself."""
    _, in_body = _placed(turn, {})
    return _told(journal, turn, _prose(attempt_of(journal, turn), turn, place, [], in_body), room)


def _told(journal: Journal, turn: Turn, prose: str, room: int) -> str:
    limit = min(room - len(prose) - 100, document.MOST)
    made = document.dumps(journal, attempt_of(journal, turn), turn, limit)
    fold = "<details><summary>The whole verdict as JSON</summary>"
    return f"{prose}\n\n{fold}\n\n```json\n{made}\n```\n\n</details>"


def attempt_of(journal: Journal, turn: Turn) -> Attempt:
    """The attempt that a turn belongs to, the last one that has it."""
    found = [attempt for attempt in journal.attempts if turn in attempt.turns]
    return found[-1] if found else journal.attempt


# --- which issue goes where -------------------------------------------------------------------------


def _placed(turn: Turn, lines: Mapping[str, Sequence[range]]) -> tuple[list[Issue], list[Issue]]:
    """The issues that become comments on lines, and the others; the weightiest get the lines."""
    on_lines: list[Issue] = []
    in_body: list[Issue] = []
    for issue in tables.by_severity(turn.issues):
        fits = len(on_lines) < MOST_INLINE and _hunk(issue, lines) is not None
        (on_lines if fits else in_body).append(issue)
    return on_lines, in_body


def _hunk(issue: Issue, lines: Mapping[str, Sequence[range]]) -> range | None:
    """The hunk that holds every line of the issue, None where GitHub would refuse the comment."""
    if issue.path is None or issue.line is None:
        return None
    last = issue.end_line or issue.line
    hunks = lines.get(issue.path, ())
    return next((hunk for hunk in hunks if issue.line in hunk and last in hunk and last >= issue.line), None)


# --- words ------------------------------------------------------------------------------------------


def _prose(attempt: Attempt, turn: Turn, place: Place, on_lines: list[Issue], in_body: list[Issue]) -> str:
    verdict = turn.verdict
    if verdict is None:
        raise ValueError(f"turn {turn.number} has no verdict to publish")
    parts = [
        _headline(attempt, turn, verdict),
        text.block(verdict.summary, 2000),
        f"#### Criteria\n\n{_checklist(attempt, turn, place)}",
        _issues(turn, place, on_lines, in_body),
        _earlier(verdict),
        _measured(attempt, turn),
        "_Reviewed by a model; this is not a human approval._",
    ]
    return text.cut("\n\n".join(part for part in parts if part), PROSE)


def _headline(attempt: Attempt, turn: Turn, verdict: Verdict) -> str:
    of = f"{words.turn(attempt, turn.number)} of {attempt.started.limits.max_turns}".lower()
    overriding = tables.overriding(turn)
    if overriding:
        rules = "\n".join(tables.rule_line(rule) for rule in overriding)
        return f"{_override(of, world=any(rule.owner is Owner.WORLD for rule in overriding))}\n\n{rules}"
    decision = turn.decided.decision if turn.decided else verdict.decision
    if decision is Decision.APPROVE:
        return f"### Approved, {of}\n\nThe Coach approves this commit, and everything that was measured agrees."
    return f"### Changes asked for, {of}\n\n{_to_do(turn)}"


def _override(of: str, *, world: bool) -> str:
    if world:
        return f"### Not approved, {of}\n\nThe Coach approved this commit, but **the approval does not count**:"
    return (
        f"### Changes asked for by the gate, {of}\n\n"
        "The Coach approved, and **the gate overrode it**: what was measured does not allow an approval."
    )


def _to_do(turn: Turn) -> str:
    must = len(turn.must_fix)
    if must:
        return f"{words.plural(must, 'issue')} must be fixed before this can be approved."
    return "No issue must be fixed by itself, but not every criterion is met yet."


def _checklist(attempt: Attempt, turn: Turn, place: Place) -> str:
    listed = attempt.task.criteria[: tables.MOST_ROWS]
    lines = [_criterion(found, turn, place, 200) for found in listed]
    if sum(len(line) for line in lines) > CRITERIA:
        lines = [_criterion(found, turn, None, 80) for found in listed]
    more = len(attempt.task.criteria) - len(lines)
    shown = [*lines, *([f"- {more} more are in the JSON below."] if more > 0 else [])]
    return "\n".join(shown) + f"\n\n{tables.criteria_met(attempt, turn)} of {len(attempt.task.criteria)} met."


def _criterion(criterion: Criterion, turn: Turn, place: Place | None, limit: int) -> str:
    """One line of the checklist; without ``place`` it leaves the evidence to the JSON."""
    found = tables.ruling(turn, criterion.id)
    met = found is not None and found.status is CriterionStatus.MET
    not_tested = " · _not tested_" if found and found.status is CriterionStatus.NOT_TESTED else ""
    refs = tables.evidence(found, place, turn.commit) if place else "–"
    shown = f" ({refs})" if refs != "–" else ""
    said = text.inline(criterion.text, limit)
    return f"- [{'x' if met else ' '}] **{text.inline(criterion.id, 20)}** {said}{shown}{not_tested}"


def _issues(turn: Turn, place: Place, on_lines: list[Issue], in_body: list[Issue]) -> str:
    if not turn.issues:
        return ""
    head = f"#### Issues: {tables.counted(turn.issues)}"
    lines = [f"{words.plural(len(on_lines), 'comment')} on the lines below."] if on_lines else []
    return "\n\n".join([head, *lines, *_by_severity(turn, place, in_body)])


def _by_severity(turn: Turn, place: Place, issues: list[Issue]) -> list[str]:
    """A list per severity: full texts where there is room for them, else their beginnings, else fewer."""
    for limit in (2000, 500, 200):
        lines = [_listed(turn, place, issue, limit) for issue in issues]
        if sum(len(line) for line in lines) < PROSE // 2:
            return _under_heads(issues, lines)
    lines = [_listed(turn, place, issue, 200) for issue in issues]
    fitting = [line for line, total in zip(lines, accumulate(map(len, lines)), strict=True) if total < PROSE // 2]
    rest = words.plural(len(issues) - len(fitting), "issue")
    return [*_under_heads(issues[: len(fitting)], fitting), f"{rest} more, in the JSON below."]


def _under_heads(issues: list[Issue], lines: list[str]) -> list[str]:
    """The lines of issues that are sorted by severity, under a head for each."""
    found = []
    for severity in Severity:
        mine = [line for issue, line in zip(issues, lines, strict=True) if issue.severity is severity]
        if mine:
            found.append(f"**{words.SEVERITY[severity].capitalize()}**\n\n" + "\n".join(mine))
    return found


def _listed(turn: Turn, place: Place, issue: Issue, limit: int) -> str:
    what = " · ".join(part for part in (_kind(issue), tables.where(issue, place, turn.commit)) if part)
    hint = f" _Suggestion:_ {text.inline(issue.suggestion, limit)}" if issue.suggestion else ""
    return f"- {what}: {text.inline(issue.description, limit)}{hint}"


def _kind(issue: Issue) -> str:
    parts = [words.CATEGORY[issue.category], issue.criterion or "", issue.id]
    return " · ".join(text.inline(part, 60) for part in parts if part)


def _earlier(verdict: Verdict) -> str:
    if not verdict.previous:
        return ""
    lines = [
        f"- {text.inline(found.issue, 40)}: {words.PREVIOUS[found.status]}"
        + (f". {text.inline(found.note, 200)}" if found.note else "")
        for found in verdict.previous[:30]
    ]
    more = len(verdict.previous) - 30
    return "#### Earlier issues\n\n" + "\n".join([*lines, *([f"- {more} more in the JSON below."] if more > 0 else [])])


def _measured(attempt: Attempt, turn: Turn) -> str:
    measured = attempt.measured(turn.commit) if turn.commit else None
    if measured is None:
        return ""
    parts = [
        "#### Measured",
        tables.checks(measured, attempt.baseline),
        tables.audit(measured),
        tables.ledger(turn),
    ]
    return "\n\n".join(part for part in parts if part)


# --- on the lines -----------------------------------------------------------------------------------


def _inline(journal: Journal, attempt: Attempt, turn: Turn, issue: Issue) -> InlineComment:
    """The comment of an issue whose place :func:`_hunk` has found to be legal."""
    first, last = issue.line or 0, issue.end_line or issue.line or 0
    parts = [
        f"**{words.SEVERITY[issue.severity].capitalize()}** · {_kind(issue)}",
        text.block(issue.description, 2000),
        f"_Suggestion:_ {text.inline(issue.suggestion, 2000)}" if issue.suggestion else "",
        _replacement(issue),
        marker(journal.id, issue_key(attempt.number, turn.number, issue.id)),
    ]
    return InlineComment(
        path=issue.path or "",
        body="\n\n".join(part for part in parts if part),
        line=last,
        start_line=first if last > first else None,
    )


def _replacement(issue: Issue) -> str:
    """The new text to apply with one click, or as plain code where that would not be safe."""
    if issue.replacement is None:
        return ""
    if text.suggestible(issue.replacement):
        return text.suggestion(issue.replacement)
    return "_Suggested text, not offered for one click since it holds hidden characters or is very long:_\n\n" + (
        text.fenced(issue.replacement, 4000)
    )
