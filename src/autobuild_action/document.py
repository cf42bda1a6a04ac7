"""The verdict as machine-readable JSON, completed by what the orchestrator knows, within a size."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from autobuild_action.journal import unstructure
from autobuild_action.text import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from autobuild_action.journal import Journal
    from autobuild_action.model import Attempt, Turn

MOST = 50_000
"""Characters of JSON in a review; the journal and the trace have all of it."""
MOST_ENTRIES = 20
"""What long lists are cut to where the JSON would be longer."""
SCHEMA = 1

_SPELT_OUT = {  # hidden characters, controls and lone surrogates: the same JSON, and nothing hides in it
    code: json.dumps(chr(code))[1:-1]
    for first, last in (*HIDDEN, (0x7F, 0x9F), (0x2028, 0x2029), (0xD800, 0xDFFF), (0xFFFE, 0xFFFF))
    for code in range(first, last + 1)
}


def dumps(journal: Journal, attempt: Attempt, turn: Turn, limit: int = MOST) -> str:
    """The document of a turn with a verdict; ``cut`` in it names what was left out to keep ``limit``."""
    found = complete(journal, attempt, turn)
    made = _json(found)
    for shorten in _STAGES:
        if len(made) <= limit:
            return made
        found["cut"] += sorted(set(shorten(found)))
        made = _json(found)
    if len(made) > limit:  # one line instead of many, before anything else is lost
        made = _json(found, indent=None)
    return made if len(made) <= limit else _least(found)


def complete(journal: Journal, attempt: Attempt, turn: Turn) -> dict[str, Any]:
    """Everything about a judged turn, uncut."""
    judged = turn.judgements[-1]
    measured = attempt.measured(turn.commit) if turn.commit else None
    decided = turn.decided
    sessions = [ended.session for ended in turn.sessions] + [judged.session for judged in turn.judgements]
    return {
        "schema": SCHEMA,
        "journal": journal.id,
        "task": {
            "issue": journal.issue,
            "title": attempt.task.title,
            "type": attempt.task.type.value,
            "sha256": attempt.task.sha256,
        },
        "attempt": attempt.number,
        "turn": turn.number,
        "commit": turn.commit,
        "decision": decided.decision.value if decided else None,
        "verdict": unstructure(judged.verdict),
        "gate": {
            "rules": [unstructure(rule) for rule in decided.rules] if decided else [],
            "issues": [unstructure(issue) for issue in decided.issues] if decided else [],
        },
        "evidence": {
            "checks": [unstructure(run) for run in measured.checks] if measured else [],
            "audit": [unstructure(row) for row in measured.audit] if measured else [],
            "diff": _diff(unstructure(measured.diff)) if measured else None,
            "ledger": [unstructure(entry) for entry in judged.ledger],
            "refused_paths": [unstructure(path) for path in getattr(turn.change, "refused", ())],
            "needs_person": list(getattr(turn.change, "needs_person", ())),
        },
        "sessions": [unstructure(session) for session in sessions],
        "cost_usd": round(turn.cost_usd, 6),
        "cut": [],
    }


def _diff(diff: dict[str, Any]) -> dict[str, Any]:
    return {name: diff[name] for name in ("files", "insertions", "deletions")}  # git has the paths


def _json(document: dict[str, Any], indent: int | None = 1) -> str:
    made = json.dumps(document, ensure_ascii=False, indent=indent)
    made = made.translate(_SPELT_OUT)
    return made.replace("<!--", "\\u003c!--").replace("```", "\\u0060\\u0060\\u0060")


# --- making it smaller: output tails, then the ledger's texts, then notes; then long words -----------


def _shortened(holder: dict[str, Any], name: str, limit: int) -> bool:
    """Keep the last ``limit`` characters of an output; true where that took something away."""
    value = holder.get(name)
    if not isinstance(value, str) or len(value) <= limit:
        return False
    holder[name] = f"[{len(value) - limit} characters left out]" + (value[-limit:] if limit else "")
    return True


def _begun(holder: dict[str, Any], name: str, limit: int) -> bool:
    """Keep the first ``limit`` characters of a text; true where that took something away."""
    value = holder.get(name)
    if not isinstance(value, str) or len(value) <= limit + 40:
        return False
    holder[name] = value[:limit] + f"[{len(value) - limit} characters left out]"
    return True


def _outputs(limit: int) -> Callable[[dict[str, Any]], Iterator[str]]:
    def shorten(document: dict[str, Any]) -> Iterator[str]:
        evidence = document["evidence"]
        for kind in ("checks", "ledger"):
            if sum(_shortened(entry, "output", limit) for entry in evidence[kind]):
                yield f"evidence.{kind}[].output: to {limit} characters each"

    return shorten


def _ledger(document: dict[str, Any]) -> Iterator[str]:
    if sum(_begun(entry, "command", 100) for entry in document["evidence"]["ledger"]):
        yield "evidence.ledger[].command: to 100 characters each"


def _notes(document: dict[str, Any]) -> Iterator[str]:
    verdict = document["verdict"]
    refs = [ref for ruling in verdict["criteria"] for ref in ruling["evidence"]]
    for name, holders in (
        ("verdict.criteria[].evidence[].note", refs),
        ("verdict.previous[].note", verdict["previous"]),
        ("verdict.test_changes[].note", verdict["test_changes"]),
    ):
        if sum(_begun(holder, "note", 0) for holder in holders):
            yield f"{name}: left out"


def _lists(document: dict[str, Any]) -> Iterator[str]:
    evidence = document["evidence"]
    for name in ("ledger", "audit", "refused_paths", "needs_person"):
        if len(evidence[name]) > MOST_ENTRIES:
            yield f"evidence.{name}: the first {MOST_ENTRIES} of {len(evidence[name])}"
            evidence[name] = evidence[name][:MOST_ENTRIES]
    for run in evidence["checks"]:
        failures = (run["counts"] or {}).get("failures", ())
        if len(failures) > MOST_ENTRIES:
            yield f"evidence.checks[].counts.failures: the first {MOST_ENTRIES} each"
            run["counts"]["failures"] = failures[:MOST_ENTRIES]


def _texts(limit: int) -> Callable[[dict[str, Any]], Iterator[str]]:
    def shorten(document: dict[str, Any]) -> Iterator[str]:
        issues = document["verdict"]["issues"] + document["gate"]["issues"]
        for name in ("replacement", "suggestion", "description", "path"):
            if sum(_begun(issue, name, limit) for issue in issues):
                yield f"issues[].{name}: the first {limit} characters each"
        rows = [
            *document["gate"]["rules"],
            *document["evidence"]["audit"],
            *document["evidence"]["refused_paths"],
        ]
        texts = [
            *document["evidence"]["checks"],
            *document["sessions"],
            document["verdict"],
            document["task"],
        ]
        names = ("detail", "claim", "measured", "path", "why", "command", "summary", "title")
        if sum(_begun(holder, name, limit) for holder in (*rows, *texts) for name in names):
            yield f"other texts: the first {limit} characters each"
        for ruling in document["verdict"]["criteria"]:
            if sum(_begun(ref, "ref", limit) for ref in ruling["evidence"]):
                yield f"verdict.criteria[].evidence[].ref: the first {limit} characters each"

    return shorten


def _hints(document: dict[str, Any]) -> Iterator[str]:
    for issue in document["verdict"]["issues"] + document["gate"]["issues"]:
        for name in ("replacement", "suggestion"):
            if issue[name] is not None:
                issue[name] = None
                yield f"issues[].{name}: left out"


_STAGES = (
    _outputs(4000),
    _outputs(1000),
    _outputs(0),
    _ledger,
    _notes,
    _lists,
    _texts(600),
    _texts(200),
    _hints,
    _texts(60),
)


def _least(document: dict[str, Any]) -> str:
    """What is never left out: the decision, each criterion's state, each issue by its place."""
    names = ("id", "severity", "category", "criterion", "line")
    verdict = document["verdict"]
    issues = [{name: issue[name] for name in names} for issue in verdict["issues"] + document["gate"]["issues"]]
    least = {name: document[name] for name in ("schema", "journal", "attempt", "turn", "commit", "decision")}
    states = {ruling["id"]: ruling["status"] for ruling in verdict["criteria"]}
    cut = ["everything but the decision, the criteria's states and the issues' ids and kinds"]
    return _json(
        least | {"verdict": {"decision": verdict["decision"], "criteria": states, "issues": issues}, "cut": cut},
        indent=None,
    )
