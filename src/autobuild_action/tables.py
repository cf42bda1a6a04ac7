"""The pieces that several texts share: turns, criteria, checks, cost, links; journal in, Markdown out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autobuild_action import text, words
from autobuild_action.gate import passed
from autobuild_action.model import (
    Attempt,
    CheckResult,
    Committed,
    CriterionStatus,
    EvidenceKind,
    Owner,
    Severity,
    Unchanged,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autobuild_action.journal import Journal
    from autobuild_action.model import (
        Baseline,
        CheckRun,
        EvidenceRef,
        Issue,
        Measured,
        Rule,
        Ruling,
        Turn,
    )
    from autobuild_action.place import Place

MOST_REFS = 3
"""Pieces of evidence shown for a criterion."""
LEAST_SHOWN = 0.01
"""US dollars; less than a cent is said so."""
MOST_ROWS = 40
"""Rows of any table; the journal has the rest."""


# --- small things -----------------------------------------------------------------------------------


def usd(*parts: Attempt | Turn) -> str:
    """What it cost, with ``about`` where a price was estimated. No dollar sign: GitHub reads two as math."""
    about = "about " if any(_estimated(part) for part in parts) else ""
    cost = sum(part.cost_usd for part in parts)
    return f"{about}{'< 0.01' if 0 < cost < LEAST_SHOWN else f'{cost:.2f}'} USD"


def _estimated(part: Attempt | Turn) -> bool:
    turns = part.turns if isinstance(part, Attempt) else (part,)
    played = [ended.session for turn in turns for ended in turn.sessions]
    judged = [ended.session for turn in turns for ended in turn.judgements]
    return any(session.usage.estimated for session in played + judged)


def fill(sentence: str, attempt: Attempt, branch: str = "", issue: int = 0) -> str:
    """A sentence of :mod:`words` with this attempt's values."""
    limits = attempt.started.limits
    return sentence.format(
        branch=branch,
        issue=issue,
        turns=words.plural(limits.max_turns, "turn"),
        more_turns=words.plural(limits.max_turns, "more turn"),
        budget=f"{limits.budget_usd:.2f}",
        minutes=limits.run_seconds // 60,
    )


def commit_link(place: Place, sha: str | None) -> str:
    """The short form of a commit, as a link."""
    return f"[`{sha[:7]}`]({place.commit(sha)})" if sha else "–"


def branch_link(journal: Journal, place: Place) -> str:
    """The branch, as a link to its files."""
    return f"[{text.code(journal.branch, 200)}]({place.tree(journal.branch)})"


def pull_request_number(journal: Journal) -> int | None:
    """The pull request's number, None while there is none."""
    found = journal.pull_request
    return found.github_id if found else None


def links(journal: Journal, place: Place, run_url: str = "") -> str:
    """Where the work is: branch, pull request, run."""
    number = pull_request_number(journal)
    parts = [f"branch {branch_link(journal, place)}"] if has_work(journal) else []
    parts += [f"pull request [#{number}]({place.pull(number)})"] if number else []
    parts += [f"[run]({run_url})"] if run_url else []
    return " · ".join(parts)


def has_work(journal: Journal) -> bool:
    """True once any attempt has a commit."""
    return any(attempt.head for attempt in journal.attempts)


def where(issue: Issue, place: Place, commit: str | None) -> str:
    """The place of an issue of a verdict, linked where that can be done; empty where it has none."""
    if not issue.path:
        return ""
    until = f"-{issue.end_line}" if issue.line and issue.end_line and issue.end_line > issue.line else ""
    shown = text.cell_code(issue.path + (f":{issue.line}{until}" if issue.line else ""), 200)
    address = place.blob(commit, issue.path, issue.line, issue.end_line) if commit else None
    return f"[{shown}]({address})" if address else shown


def counted(issues: Iterable[Issue]) -> str:
    """``2 must fix, 1 should fix``; a dash where there is nothing."""
    listed = list(issues)
    numbers = [(severity, sum(issue.severity is severity for issue in listed)) for severity in Severity]
    return ", ".join(f"{number} {words.SEVERITY[severity]}" for severity, number in numbers if number) or "–"


def by_severity(issues: Iterable[Issue]) -> list[Issue]:
    """The weightiest first, otherwise in the order given."""
    return sorted(issues, key=lambda issue: list(Severity).index(issue.severity))


def overriding(turn: Turn) -> list[Rule]:
    """The broken rules that turned an ``approve`` into feedback; none where nothing was overridden."""
    decided, verdict = turn.decided, turn.verdict
    if not decided or not verdict or verdict.decision is decided.decision:
        return []
    return [rule for rule in decided.rules if not rule.held]


def starter(attempt: Attempt) -> str:
    """Who started an attempt, and how."""
    trigger = attempt.started.trigger
    return f"{text.cell_code(trigger.login, 60)} ({text.cell(trigger.kind, 20)})"


def rule_line(rule: Rule) -> str:
    """A broken rule: its name, what it asks, what was found."""
    asks = f" ({words.RULE[rule.name]})" if rule.name in words.RULE else ""
    detail = f": {text.inline(rule.detail, 500)}" if rule.detail else "."
    return f"- {text.code(rule.name, 60)}{asks} does not hold{detail}"


# --- tables -----------------------------------------------------------------------------------------


def turns(attempt: Attempt, place: Place) -> str:
    """One row per turn: commit, checks, verdict, open issues, cost."""
    head = (">turn", "commit", "checks", "verdict", "open issues", ">cost")
    return text.table(head, [_turn_row(attempt, turn, place) for turn in attempt.turns[-MOST_ROWS:]])


def _turn_row(attempt: Attempt, turn: Turn, place: Place) -> tuple[str, ...]:
    commit = commit_link(place, turn.commit)
    if isinstance(turn.change, Unchanged):
        commit = f"{commit} (no change)" if turn.commit else "no change"
    measured = attempt.measured(turn.commit) if turn.commit else None
    checks = check_marks(measured, attempt.baseline)
    open_issues = counted(turn.issues) if turn.verdict else "–"
    return (str(turn.number), commit, checks, verdict_word(turn), open_issues, usd(turn))


def check_marks(measured: Measured | None, baseline: Baseline | None) -> str:
    """``✔ tests, ✘ lint``; a dash where nothing was measured or the project has no check."""
    if not measured or not measured.checks:
        return "–"
    shown = [f"{mark(run, baseline)} {text.cell_code(run.name, 40)}" for run in measured.checks[:6]]
    more = len(measured.checks) - 6
    return " ".join([*shown, f"and {more} more"] if more > 0 else shown)


def mark(run: CheckRun, baseline: Baseline | None) -> str:
    """✔, ✘ or –; tests that failed before the Player came are not charged."""
    return words.CHECK[CheckResult.PASSED if passed(run, baseline) else run.result]


def verdict_word(turn: Turn) -> str:
    """The decision on a turn in a word or three."""
    if turn.decided and overriding(turn):
        world = any(rule.owner is Owner.WORLD for rule in overriding(turn))
        return "approve, not counted" if world else "feedback (the gate's)"
    if turn.decided:
        return turn.decided.decision.value
    return "none that counts" if turn.judgements else "–"


def last_judged(attempt: Attempt) -> Turn | None:
    """The last turn that has a verdict."""
    return next((turn for turn in reversed(attempt.turns) if turn.verdict), None)


def ruling(turn: Turn | None, criterion_id: str) -> Ruling | None:
    """What the turn's verdict says on a criterion."""
    verdict = turn.verdict if turn else None
    return next((found for found in verdict.criteria if found.id == criterion_id), None) if verdict else None


def criterion_state(found: Ruling | None) -> str:
    """``✔ met`` and so on; a dash before the first verdict."""
    return words.CRITERION[found.status] if found else "– not judged"


def criteria(attempt: Attempt, turn: Turn | None, place: Place) -> str:
    """The contract: each criterion, its state at ``turn``'s verdict, and the evidence for it."""
    rows = []
    for criterion in attempt.task.criteria[:MOST_ROWS]:
        found = ruling(turn, criterion.id)
        commit = turn.commit if turn else None
        rows.append(
            (
                text.cell(criterion.id, 20),
                text.cell(criterion.text, 300),
                criterion_state(found),
                evidence(found, place, commit),
            )
        )
    return text.table(("", "criterion", "state", "evidence"), rows) + left_out(len(attempt.task.criteria))


def left_out(total: int, shown: int = MOST_ROWS) -> str:
    """A sentence on the rows that a table does not show."""
    return f"\n\n{total - shown} more are not shown here." if total > shown else ""


def evidence(found: Ruling | None, place: Place, commit: str | None) -> str:
    """The first pieces of evidence of a ruling, files as links."""
    refs = found.evidence if found else ()
    shown = [reference(ref, place, commit) for ref in refs[:MOST_REFS]]
    return ", ".join([*shown, f"and {len(refs) - MOST_REFS} more"] if len(refs) > MOST_REFS else shown) or "–"


def reference(ref: EvidenceRef, place: Place, commit: str | None) -> str:
    """One piece of evidence."""
    shown = text.cell_code(ref.ref, 120)
    if ref.kind is not EvidenceKind.FILE:
        return f"{ref.kind.value} {shown}"
    path, _, lines = ref.ref.rpartition(":")
    first, _, last = lines.partition("-")
    address = place.blob(commit, path, _number(first), _number(last)) if commit else None
    return f"[{shown}]({address})" if address else shown


def _number(digits: str) -> int | None:
    """A line's number; what has ten digits is none."""
    return int(digits) if re.fullmatch(r"[0-9]{1,9}", digits) else None


def checks(measured: Measured, baseline: Baseline | None) -> str:
    """Each check on the commit: result, exit code, tests, time."""
    if not measured.checks:
        return "This project has no check (`check-command: none`): nothing was measured."
    head = ("check", "result", ">exit code", "tests", ">time")
    rows = [
        (
            text.cell_code(run.name, 60) + ("" if run.required else " (optional)"),
            f"{mark(run, baseline)} {_result(run, baseline)}",
            "–" if run.exit_code is None else str(run.exit_code),
            tests(run),
            f"{run.seconds:.1f} s",
        )
        for run in measured.checks[:MOST_ROWS]
    ]
    return text.table(head, rows) + left_out(len(measured.checks))


def _result(run: CheckRun, baseline: Baseline | None) -> str:
    if run.result is CheckResult.FAILED and passed(run, baseline):
        return "only tests that failed before"
    why = f": {text.cell(run.why, 150)}" if run.why and run.result is not CheckResult.PASSED else ""
    return run.result.value + why


def tests(run: CheckRun) -> str:
    """``20 run, 1 failed, 2 skipped``; a dash without JUnit."""
    counts = run.counts
    if not counts:
        return "–"
    skipped = f", {counts.skipped} skipped" if counts.skipped else ""
    return f"{counts.run} run, {counts.failed} failed{skipped}"


def audit(measured: Measured) -> str:
    """The Player's claims beside what was measured; empty where it claimed nothing."""
    if not measured.audit:
        return ""
    rows = [
        (text.cell(row.claim, 150), text.cell(row.measured, 150), words.AUDIT[row.result])
        for row in measured.audit[:MOST_ROWS]
    ]
    return text.table(("the Player's claim", "measured", ""), rows) + left_out(len(measured.audit))


def ledger(turn: Turn) -> str:
    """The commands that the Coach had run, so that a cited ``R1`` can be looked at."""
    entries = turn.judgements[-1].ledger if turn.judgements else ()
    rows = [
        (entry.id, text.cell_code(entry.command, 200), "–" if entry.exit_code is None else str(entry.exit_code))
        for entry in entries[:MOST_ROWS]
    ]
    head = ("run", "what the Coach tried", "exit code")
    return text.table(head, rows) + left_out(len(entries)) if rows else ""


def changed(measured: Measured) -> str:
    """``3 files changed, 40 lines added, 2 removed``."""
    diff = measured.diff
    files = words.plural(diff.files, "file")
    return f"{files} changed, {words.plural(diff.insertions, 'line')} added, {diff.deletions:,} removed"


def attempts(journal: Journal) -> str:
    """One row per attempt: who started it, turns, cost, how it ended."""
    rows = []
    for attempt in journal.attempts[-MOST_ROWS:]:
        ended = words.REASON[attempt.ended.reason].headline if attempt.ended else "running"
        rows.append((str(attempt.number), starter(attempt), str(len(attempt.turns)), usd(attempt), ended))
    return text.table((">attempt", "started by", ">turns", ">cost", "end"), rows)


def refused_and_person(attempt_turns: Iterable[Turn]) -> tuple[list[str], list[str]]:
    """What the path policy kept out, and the changed paths that a person must look at; each path once."""
    refused: dict[str, str] = {}
    person: dict[str, None] = {}
    for turn in attempt_turns:
        if turn.change:
            refused |= {found.path: found.why for found in turn.change.refused}
        if isinstance(turn.change, Committed):
            person |= dict.fromkeys(turn.change.needs_person)
    kept_out = [f"- {text.code(path, 200)}: {text.inline(why, 200)}" for path, why in refused.items()]
    return kept_out, [f"- {text.code(path, 200)}" for path in person]


def criteria_met(attempt: Attempt, turn: Turn | None) -> int:
    """How many criteria the turn's verdict found met."""
    return sum(met(turn, criterion.id) for criterion in attempt.task.criteria)


def met(turn: Turn | None, criterion_id: str) -> bool:
    """True where the turn's verdict found the criterion met."""
    found = ruling(turn, criterion_id)
    return found is not None and found.status is CriterionStatus.MET
