"""Every text that the bot posts about an attempt: status, pull request, commit, summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autobuild_action import tables, text, words
from autobuild_action.answers import (
    already_approved,
    already_running,
    closed_issue,
    edited_since,
    help_text,
    merged,
    not_started,
    nothing_new,
    old_contract,
    refusal,
)
from autobuild_action.blocked import report_parts
from autobuild_action.model import AttemptStarted, Decision, Level, Outcome, Reason, Result, Turn
from autobuild_action.place import (
    Place,
    approved_key,
    issue_key,
    marker,
    pull_request_key,
    report_key,
    review_key,
    status_key,
)
from autobuild_action.review import InlineComment, Review, review

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autobuild_action.journal import Journal
    from autobuild_action.model import Attempt, Ended, Task

__all__ = [
    "InlineComment",
    "Place",
    "Review",
    "already_approved",
    "already_running",
    "approved_key",
    "approved_text",
    "closed_issue",
    "commit_message",
    "commit_status",
    "edited_since",
    "help_text",
    "issue_key",
    "job_summary",
    "marker",
    "merged",
    "not_started",
    "nothing_new",
    "old_contract",
    "pull_request_body",
    "pull_request_key",
    "pull_request_title",
    "refusal",
    "report_key",
    "review",
    "review_key",
    "status_comment",
    "status_key",
    "superseded_status",
]

WAITING = (
    "- Workflow runs on a bot's pull request may wait: "
    "somebody with write access starts them on this page with “Approve workflows to run”."
)
NOT_HUMAN = "Reviewed by a model; this is not a human approval."
MOST_PATHS = 20
"""Changed files that a commit message names."""
SUMMARY = 225_000
"""Characters of the job summary: within 900 KB even if each takes four bytes."""


def _signed(parts: Sequence[str], journal: Journal, key: str) -> str:
    return text.cut("\n\n".join([*(part for part in parts if part), marker(journal.id, key)]))


# --- the status comment -----------------------------------------------------------------------------


def status_comment(journal: Journal, place: Place, *, phase: str) -> str:
    """The status of the last attempt; ``phase`` is a :class:`words.Phase` or words of its own."""
    attempt = journal.attempt
    return _signed(_status(journal, attempt, place, phase), journal, status_key(attempt.number))


def superseded_status(journal: Journal, place: Place, attempt: Attempt, newer_url: str) -> str:
    """The status of an older attempt, which ends with a link to the newer one."""
    parts = [
        *_status(journal, attempt, place, ""),
        f"[Attempt {attempt.number + 1}]({newer_url}) goes on from here.",
    ]
    return _signed(parts, journal, status_key(attempt.number))


def _status(journal: Journal, attempt: Attempt, place: Place, phase: str) -> list[str]:
    return [
        f"### {_state(attempt, phase)}",
        _ended_note(journal, attempt, place),
        tables.turns(attempt, place) if attempt.turns else "",
        _criteria_line(attempt),
        _no_pull_request(journal, attempt),
        tables.links(journal, place, _run_url(journal, attempt)),
        _limits(attempt),
    ]


def _state(attempt: Attempt, phase: str) -> str:
    if attempt.ended:
        return f"autobuild · {words.REASON[attempt.ended.reason].headline}"
    doing = words.phase(phase) or text.inline(phase, 100)
    turn = f"turn {_number(attempt, phase)} of {attempt.started.limits.max_turns}"
    return f"autobuild · {turn}" + (f", {doing}" if doing else "")


def _number(attempt: Attempt, phase: str) -> int:
    """The turn that is played: a Player that is at work after a decision is in the next one already."""
    if not attempt.turns:
        return 1
    last = attempt.turns[-1]
    over = phase == words.Phase.PLAYER and (last.decided is not None or last.idle)
    return last.number + 1 if over else last.number


def _lower(headline: str) -> str:
    return headline[0].lower() + headline[1:]


def _ended_note(journal: Journal, attempt: Attempt, place: Place) -> str:
    if not attempt.ended:
        return ""
    number = tables.pull_request_number(journal)
    if attempt.ended.result is Result.APPROVED and number:
        return f"[Pull request #{number}]({place.pull(number)}) is ready for your review. {NOT_HUMAN}"
    if attempt.ended.result is Result.APPROVED:
        return f"The work is ready for your review; how to open the pull request is said below. {NOT_HUMAN}"
    return f"{_meaning(attempt)} What happened and what you can do is in the report below."


def _meaning(attempt: Attempt) -> str:
    if not attempt.ended:
        return ""
    return tables.fill(words.REASON[attempt.ended.reason].meaning, attempt)


def _criteria_line(attempt: Attempt) -> str:
    turn = tables.last_judged(attempt)
    if turn is None:
        return ""
    met = tables.criteria_met(attempt, turn)
    open_ids = [criterion.id for criterion in attempt.task.criteria if not tables.met(turn, criterion.id)]
    rest = f"; open: {text.inline(', '.join(open_ids[:20]), 300)}" if open_ids else ""
    return f"**Criteria** at the verdict of turn {turn.number}: {met} of {len(attempt.task.criteria)} met{rest}."


def _no_pull_request(journal: Journal, attempt: Attempt) -> str:
    """Why there is no pull request though one was asked for, and where its reviews are."""
    draft, found = journal.refused_draft, journal.pull_request
    refusal = draft.refused if draft else found.refused if found else ""
    if not refusal or (found and found.github_id) or attempt.ended:
        return ""
    instead = "It is opened on approval, with all reviews." if draft else "The reviews are comments here."
    return f"There is no draft pull request, since GitHub said: {text.inline(refusal, 200)} {instead}"


def _run_url(journal: Journal, attempt: Attempt) -> str:
    """The run that last wrote something of this attempt."""
    url = ""
    mine = False
    for entry in journal.entries:
        if isinstance(entry.fact, AttemptStarted):
            mine = entry.fact.attempt == attempt.number
        url = entry.run.url if mine else url
    return url


def _limits(attempt: Attempt) -> str:
    limits = attempt.started.limits
    return (
        f"<sub>Attempt {attempt.number}, started by {tables.starter(attempt)}. "
        f"Cost: {tables.usd(attempt)} of {limits.budget_usd:.2f}. "
        f"Limits: {words.plural(limits.max_turns, 'turn')}, {limits.run_seconds // 60} minutes a run, "
        f"{limits.session_seconds // 60} a session.</sub>"
    )


# --- the pull request -------------------------------------------------------------------------------


def pull_request_title(task: Task, issue: int) -> str:
    """The issue's title as plain text: it becomes the subject of a squash commit."""
    return text.plain(task.title, 110) or f"Build issue {issue}"


def pull_request_body(journal: Journal, place: Place) -> str:
    """What a reviewer needs, what needs a person first."""
    attempt = journal.attempt
    turn = tables.last_judged(attempt)
    parts = [
        _stage(journal, attempt, place),
        _for_a_person(journal, attempt),
        f"Closes #{journal.issue}",
        f"### What was asked\n\n{tables.criteria(attempt, turn, place)}",
        _measured(attempt, place),
        _history(journal, place),
        f"### How it was made\n\n{_how(journal, attempt)}",
    ]
    return _signed(parts, journal, pull_request_key(journal))


def _stage(journal: Journal, attempt: Attempt, place: Place) -> str:
    issue = f"[issue {journal.issue}]({place.issue(journal.issue)})"
    if not attempt.ended:
        return f"**Work in progress** on {issue}: it opens for review when the Coach approves. {NOT_HUMAN}"
    if attempt.ended.result is Result.APPROVED:
        return f"Built for {issue} and ready for your review. **{NOT_HUMAN}**"
    headline = _lower(words.REASON[attempt.ended.reason].headline)
    return f"**Not approved** ({headline}). The report is in {issue}. {NOT_HUMAN}"


def _for_a_person(journal: Journal, attempt: Attempt) -> str:
    """What no model may decide, before anything else."""
    turns = [turn for one in journal.attempts for turn in one.turns]
    refused, person = tables.refused_and_person(turns)
    parts = []
    if person:
        parts.append("These paths need a person's eyes before anything is merged or run:\n\n" + _short(person))
    if refused:
        parts.append("These changes were kept out of the branch:\n\n" + _short(refused))
    if attempt.started.isolation is Level.NONE:
        parts.append(f"Isolation {words.ISOLATION[Level.NONE]}")
    return "### Look at this first\n\n" + "\n\n".join(parts) if parts else ""


def _short(lines: list[str], most: int = 30) -> str:
    more = len(lines) - most
    return "\n".join([*lines[:most], *([f"- and {more} more"] if more > 0 else [])])


def _measured(attempt: Attempt, place: Place) -> str:
    commit = attempt.head
    measured = attempt.measured(commit) if commit else None
    if measured is None:
        return ""
    parts = [
        f"### What was measured on {tables.commit_link(place, commit)}",
        f"{tables.changed(measured)}.",
        tables.checks(measured, attempt.baseline),
        tables.audit(measured),
    ]
    return "\n\n".join(part for part in parts if part)


def _history(journal: Journal, place: Place) -> str:
    played = [attempt for attempt in journal.attempts if attempt.turns][-10:]
    if not played:
        return ""
    parts = []
    for attempt in played:
        title = f"Attempt {attempt.number}\n\n" if len(played) > 1 else ""
        parts.append(title + tables.turns(attempt, place))
    return "### Turns\n\n" + "\n\n".join(parts)


def _how(journal: Journal, attempt: Attempt) -> str:
    isolation = attempt.started.isolation
    return "\n".join(
        [
            f"- Cost: {tables.usd(*journal.attempts)} in {words.plural(len(journal.attempts), 'attempt')}.",
            f"- Models: {_models(attempt)}.",
            *([f"- Isolation {words.ISOLATION[isolation]}"] if isolation is not Level.NONE else []),
            WAITING,
            "- To have something changed, comment `/autobuild retry` followed by what to do.",
        ]
    )


def _models(attempt: Attempt) -> str:
    sessions = [ended.session for turn in attempt.turns for ended in turn.sessions]
    sessions += [judged.session for turn in attempt.turns for judged in turn.judgements]
    named = dict.fromkeys((session.role.value.capitalize(), session.model) for session in sessions)
    return ", ".join(f"{role} {text.code(model, 60)}" for role, model in named) or "none yet"


# --- commit status, commit message ------------------------------------------------------------------


def commit_status(journal: Journal, of: Turn | Outcome | Ended) -> tuple[str, str]:
    """State and description (at most 140 characters) of the commit status, for a turn or for the end."""
    if isinstance(of, Turn):
        state, said = _turn_status(journal, of)
    else:
        result = of.result
        state = {Result.APPROVED: "success", Result.BLOCKED: "failure", Result.FAILED: "error"}.get(result, "pending")
        said = words.REASON[of.reason].short
    return state, text.plain(said, 140)


def _turn_status(journal: Journal, turn: Turn) -> tuple[str, str]:
    said = f"turn {turn.number} of {journal.attempt.started.limits.max_turns}"
    if not turn.decided:
        return "pending", f"{said}: not judged yet"
    if turn.decided.decision is Decision.APPROVE:
        return "success", f"{said}: {words.REASON[Reason.APPROVED].short}"
    if tables.overriding(turn):
        names = ", ".join(rule.name for rule in tables.overriding(turn))
        return "failure", f"{said}: the gate overrode an approval ({names})"
    return "failure", f"{said}: feedback, {tables.counted(turn.issues)}"


def commit_message(attempt: Attempt, issue: int, turn: int, paths: Sequence[str]) -> str:
    """The message of a turn's commit: ours, but for the issue's title and the paths, both made plain."""
    title = text.plain(attempt.task.title, 72)
    shown = [f"  {text.plain(path, 100)}" for path in paths[:MOST_PATHS]]
    more = [f"  and {len(paths) - MOST_PATHS} more"] if len(paths) > MOST_PATHS else []
    parts = [
        f"autobuild: {words.turn(attempt, turn).lower()} of issue {issue}",
        title,
        "\n".join([f"{words.plural(len(paths), 'file')} changed:", *shown, *more]),
        f"Autobuild-Issue: {issue}\nAutobuild-Attempt: {attempt.number}\nAutobuild-Turn: {turn}\n",
    ]
    return "\n\n".join(part for part in parts if part)


# --- where no pull request may be opened, and the run's own page ------------------------------------


def approved_text(journal: Journal, place: Place) -> str:
    """The comment on the issue where GitHub lets Actions open no pull request: how a person opens it."""
    found = journal.pull_request
    said = f"\n\nGitHub said: {text.inline(found.refused, 300)}" if found and found.refused else ""
    attempt = journal.attempt
    url = place.compare(journal.base, journal.branch)
    parts = [
        "### Approved: one click is left to you",
        f"{_where_it_is(journal, place)}, but this repository lets Actions open no pull request.{said}",
        f"**[Open the pull request]({url})**, with `Closes #{journal.issue}` in its text.",
        f"So that the bot can do it the next time, allow it once:\n{words.SETTING}.",
        tables.criteria(attempt, tables.last_judged(attempt), place),
        f"Cost: {tables.usd(*journal.attempts)}. {NOT_HUMAN}",
    ]
    return _signed(parts, journal, approved_key(attempt.number))


def _where_it_is(journal: Journal, place: Place) -> str:
    head = tables.commit_link(place, journal.attempt.head)
    return f"The work is on branch {tables.branch_link(journal, place)} at {head}"


def job_summary(journal: Journal, place: Place) -> str:
    """The same facts on the run's page."""
    attempt = journal.attempt
    stopped = attempt.ended is not None and attempt.ended.result in {Result.BLOCKED, Result.FAILED}
    parts = [
        f"## Issue {journal.issue}: {text.inline(attempt.task.title, 200)}",
        *(report_parts(journal, place) if stopped else _status(journal, attempt, place, "")),
        "" if stopped else tables.criteria(attempt, tables.last_judged(attempt), place),
        _measured(attempt, place),
    ]
    return text.cut("\n\n".join(part for part in parts if part), SUMMARY)
