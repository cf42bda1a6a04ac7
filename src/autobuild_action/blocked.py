"""The report on an attempt that was not approved, computed from the journal and never written by a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autobuild_action import tables, text, words
from autobuild_action.gate import passed
from autobuild_action.model import Category, CheckRun, CriterionStatus, Reason
from autobuild_action.place import marker, report_key, review_key
from autobuild_action.review import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autobuild_action.journal import Journal
    from autobuild_action.model import Attempt, Ended, Issue, Turn
    from autobuild_action.place import Place

MOST_ISSUES = 15
LEAST_REVIEW = 25_000
"""Room for the last review where it was posted nowhere else."""
TAIL = 2000
"""Characters of a failing check's output."""


_ASKED = {
    Reason.NEEDS_CLARIFICATION: ("What is unclear", Category.AMBIGUOUS_REQUIREMENT),
    Reason.UNSAFE_REQUEST: ("What looks unsafe", Category.UNSAFE_REQUEST),
}
"""The ends that are about some of the issues alone; these come first."""


def report(journal: Journal, place: Place) -> str:
    """The report on the last attempt, which has ended."""
    parts = report_parts(journal, place)
    room = text.WHOLE_BODY - sum(len(part) + 2 for part in parts) - 300
    parts += [_unposted_review(journal, place, room)] if room > LEAST_REVIEW else []
    signature = marker(journal.id, report_key(journal.attempt.number))
    return text.cut("\n\n".join([*(part for part in parts if part), signature]))


def report_parts(journal: Journal, place: Place) -> list[str]:
    """Its sections, each a piece of Markdown; what there is nothing to say about is left out."""
    attempt = journal.attempt
    ended = attempt.ended
    if ended is None:
        raise ValueError(f"attempt {attempt.number} has not ended")
    parts = [
        f"### {words.REASON[ended.reason].headline}",
        _what(attempt, ended),
        _last_issues(attempt, ended, place) if ended.reason in _ASKED else "",
        _work(journal, place),
        _next(journal, attempt, ended),
        _last_issues(attempt, ended, place) if ended.reason not in _ASKED else "",
        _faults(attempt, ended),
        _open_criteria(attempt),
        _recurring(journal),
        _failing(attempt),
        _attempts(journal, place),
        _cost(journal, attempt),
    ]
    return [part for part in parts if part]


def _what(attempt: Attempt, ended: Ended) -> str:
    meaning = tables.fill(words.REASON[ended.reason].meaning, attempt)
    detail = text.block(ended.detail, 2000)
    if detail and "\n" not in detail:
        detail = f"_Details:_ {detail}"
    shown = (meaning, detail) if not _faults(attempt, ended) else (meaning,)
    return "\n\n".join(part for part in shown if part)


def _work(journal: Journal, place: Place) -> str:
    if not tables.has_work(journal):
        return "Nothing was committed."
    head = next(attempt.head for attempt in reversed(journal.attempts) if attempt.head)
    number = tables.pull_request_number(journal)
    draft = f", draft pull request [#{number}]({place.pull(number)})" if number else ""
    return (
        f"**Where the work is:** branch {tables.branch_link(journal, place)}, "
        f"last commit {tables.commit_link(place, head)}{draft}. It stays as it is."
    )


def _next(journal: Journal, attempt: Attempt, ended: Ended) -> str:
    steps = words.REASON[ended.reason].next
    if not tables.has_work(journal):
        steps = tuple(step for step in steps if step not in {words.TAKE_OVER, words.GIVE_UP})
    lines = [f"- {tables.fill(step, attempt, journal.branch, journal.issue)}" for step in steps]
    return "**What you can do**\n\n" + "\n".join(lines) if lines else ""


# --- what is left to do -----------------------------------------------------------------------------


def _last_issues(attempt: Attempt, ended: Ended, place: Place) -> str:
    """The last list of must-fix issues, or of the questions where those ended the attempt."""
    turn = next((turn for turn in reversed(attempt.turns) if turn.must_fix), None)
    if turn is None:
        return ""
    title, issues = _asked(turn, ended.reason)
    shown = [f"{number}. {_listed(issue, place, turn)}" for number, issue in enumerate(issues[:MOST_ISSUES], 1)]
    more = len(issues) - MOST_ISSUES
    return f"#### {title}\n\n" + "\n".join([*shown, *([f"\n{more} more are in the review."] if more > 0 else [])])


def _asked(turn: Turn, reason: Reason) -> tuple[str, list[Issue]]:
    if reason not in _ASKED:
        return f"What turn {turn.number} left to fix", list(turn.must_fix)
    title, category = _ASKED[reason]
    return title, [issue for issue in turn.must_fix if issue.category is category]


def _listed(issue: Issue, place: Place, turn: Turn) -> str:
    where = tables.where(issue, place, turn.commit)
    criterion = f" ({text.inline(issue.criterion, 20)})" if issue.criterion else ""
    hint = f" _Suggestion:_ {text.inline(issue.suggestion, 300)}" if issue.suggestion else ""
    return f"{where + ': ' if where else ''}{text.inline(issue.description, 600)}{criterion}{hint}"


def _faults(attempt: Attempt, ended: Ended) -> str:
    """Why the Coach's last answer was no verdict."""
    judgements = attempt.turns[-1].judgements if attempt.turns else ()
    faults = judgements[-1].faults if judgements and judgements[-1].verdict is None else ()
    if ended.reason is not Reason.COACH_ERROR or not faults:
        return ""
    return "#### Why the last answer does not count\n\n" + "\n".join(
        f"- {text.inline(one, 300)}" for one in faults[:10]
    )


def _open_criteria(attempt: Attempt) -> str:
    turn = tables.last_judged(attempt)
    found = [(criterion, tables.ruling(turn, criterion.id)) for criterion in attempt.task.criteria]
    rows = [
        (text.cell(criterion.id, 20), text.cell(criterion.text, 300), tables.criterion_state(ruling))
        for criterion, ruling in found
        if ruling is None or ruling.status is not CriterionStatus.MET
    ]
    if turn is None or not rows:
        return ""
    head = f"#### Criteria still open: {len(rows)} of {len(found)}"
    return f"{head}\n\n" + text.table(("", "criterion", "state"), rows[:40]) + tables.left_out(len(rows), 40)


def _recurring(journal: Journal) -> str:
    """The issues that two or more turns had, told by category, path and criterion."""
    seen: dict[tuple[str, str | None, str | None], list[str]] = {}
    for attempt in journal.attempts:
        for turn in attempt.turns:
            for fingerprint in dict.fromkeys(issue.fingerprint for issue in turn.issues):
                seen.setdefault(fingerprint, []).append(f"{attempt.number}.{turn.number}")
    rows = [_recurring_row(print_, turns) for print_, turns in seen.items() if len(turns) > 1]
    if not rows:
        return ""
    return "#### What keeps coming back\n\n" + text.table(("kind", "where", "criterion", "attempt.turn"), rows[:20])


def _recurring_row(fingerprint: tuple[str, str | None, str | None], turns: list[str]) -> tuple[str, ...]:
    category, path, criterion = fingerprint
    where = text.cell_code(path, 200) if path else "–"
    return (category.replace("_", " "), where, text.cell(criterion or "–", 20), ", ".join(turns[-10:]))


def _unposted_review(journal: Journal, place: Place, room: int) -> str:
    """The last review where there is no pull request to bear it."""
    attempt = journal.attempt
    turn = tables.last_judged(attempt)
    if turn is None or tables.pull_request_number(journal):
        return ""
    if journal.done(review_key(attempt.number, turn.number)):  # it is a comment on the issue
        return ""
    fold = "<details><summary>The last review</summary>"
    return f"{fold}\n\n{quoted(journal, turn, place, room)}\n\n</details>"


# --- what was measured ------------------------------------------------------------------------------


def _failing(attempt: Attempt) -> str:
    runs = list(_not_passed(attempt))
    if not runs:
        return ""
    return "#### Checks that did not pass\n\n" + "\n\n".join(_check(run) for run in runs[:3])


def _not_passed(attempt: Attempt) -> Iterable[CheckRun]:
    """Of the last measurement; of the base commit where nothing else was measured; required ones first."""
    measured = attempt.measured(attempt.head) if attempt.head else None
    runs = measured.checks if measured else ()
    if not attempt.turns and attempt.baseline:
        runs = attempt.baseline.checks
    failing = [run for run in runs if not passed(run, attempt.baseline)]
    return sorted(failing, key=lambda run: not run.required)


def _check(run: CheckRun) -> str:
    exit_code = "no exit code" if run.exit_code is None else f"exit code {run.exit_code}"
    why = f", {text.inline(run.why, 200)}" if run.why else ""
    counts = f"; tests: {tables.tests(run)}" if run.counts else ""
    names = ", ".join(text.code(name, 150) for name in (run.counts.failures if run.counts else ())[:10])
    named = f"{words.CHECK[run.result]} {text.code(run.name, 60)} ({text.code(run.command, 120)})"
    head = f"{named}: {exit_code}{why}{counts}"
    return "\n\n".join(
        part
        for part in (
            head,
            f"Failing: {names}" if names else "",
            text.fenced(run.output, TAIL, "text") if run.output.strip() else "",
        )
        if part
    )


def _cost(journal: Journal, attempt: Attempt) -> str:
    one = f"Cost of this attempt: {tables.usd(attempt)} of {attempt.started.limits.budget_usd:.2f}."
    return f"{one} Of all attempts: {tables.usd(*journal.attempts)}." if len(journal.attempts) > 1 else one


def _attempts(journal: Journal, place: Place) -> str:
    last = journal.attempt
    turns = f"\n\n{tables.turns(last, place)}" if last.turns else ""
    return f"#### Attempts\n\n{tables.attempts(journal)}{turns}"
