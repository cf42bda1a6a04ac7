"""An agent's answer becomes values of the model, or it is said what is wrong with it."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from autobuild_action.model import (
    Category,
    CheckResult,
    ClaimStatus,
    CriterionStatus,
    Decision,
    EvidenceKind,
    EvidenceRef,
    Issue,
    Previous,
    PreviousStatus,
    Ruling,
    Severity,
    TestChange,
)
from autobuild_action.shapes import read_report, read_verdict, report_schema, verdict_schema
from tests.support import build, facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from autobuild_action.model import Task

TASK = build.task()
EVIDENCE = {"kind": "file", "ref": "src/weather.py:3", "note": "here"}
ISSUE = {
    "severity": "must_fix",
    "category": "wrong_behaviour",
    "criterion": "AC-2",
    "path": "src/weather.py",
    "line": 3,
    "end_line": 4,
    "description": "It exits 0.",
    "suggestion": "Exit 2.",
    "replacement": "sys.exit(2)\n",
}
VERDICT: dict[str, Any] = {
    "decision": "feedback",
    "summary": "Not yet.",
    "criteria": [
        {"id": "AC-1", "status": "met", "evidence": [EVIDENCE]},
        {"id": "AC-2", "status": "not_met", "evidence": []},
        {"id": "AC-3", "status": "not_tested", "evidence": []},
    ],
    "issues": [ISSUE, {"severity": "nice_to_have", "category": "other", "description": "A typo."}],
    "previous": [{"issue": "I1.1.1", "status": "resolved", "note": "it is"}],
    "test_changes": [{"test": "tests/t.py::a", "criterion": "AC-3", "note": "new text"}],
}
REPORT: dict[str, Any] = {
    "summary": "Done.",
    "criteria": [{"id": "AC-1", "claim": "partly", "note": "half"}],
    "tests_run": [{"command": "pytest", "result": "failed"}],
    "concerns": ["slow"],
    "disputed": [{"issue": "I1.1.1", "reason": "it is right", "path": "a.py", "line": 3}],
}


def changed(value: dict[str, Any], path: str, new: object) -> dict[str, Any]:
    """A copy with ``new`` at a path such as ``issues.0.line``."""
    made = deepcopy(value)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    at: Any = made
    for step in steps:
        at = at[step]
    at[last] = new
    return made


# --- the verdict ------------------------------------------------------------------------------------


def test_a_verdict_is_read_and_its_issues_get_ids_of_ours() -> None:
    verdict, faults = read_verdict(VERDICT, TASK, attempt=2, turn=3)
    assert faults == ()
    assert verdict
    assert (verdict.decision, verdict.summary) == (Decision.FEEDBACK, "Not yet.")
    assert verdict.criteria == (
        Ruling(
            id="AC-1",
            status=CriterionStatus.MET,
            evidence=(EvidenceRef(kind=EvidenceKind.FILE, ref="src/weather.py:3", note="here"),),
        ),
        Ruling(id="AC-2", status=CriterionStatus.NOT_MET),
        Ruling(id="AC-3", status=CriterionStatus.NOT_TESTED),
    )
    assert verdict.issues == (
        Issue(
            id="I2.3.1",
            severity=Severity.MUST_FIX,
            category=Category.WRONG_BEHAVIOUR,
            criterion="AC-2",
            path="src/weather.py",
            line=3,
            end_line=4,
            description="It exits 0.",
            suggestion="Exit 2.",
            replacement="sys.exit(2)\n",
        ),
        Issue(id="I2.3.2", severity=Severity.NICE_TO_HAVE, category=Category.OTHER, description="A typo."),
    )
    assert verdict.previous == (Previous(issue="I1.1.1", status=PreviousStatus.RESOLVED, note="it is"),)
    assert verdict.test_changes == (TestChange(test="tests/t.py::a", criterion="AC-3", note="new text"),)


def test_no_answer_is_no_verdict() -> None:
    assert read_verdict(None, TASK, attempt=1, turn=1) == (None, ("There was no structured verdict.",))


@pytest.mark.parametrize(
    ("path", "new", "place"),
    [
        ("decision", "revise", "$.decision"),
        ("decision", "APPROVE", "$.decision"),
        ("summary", "", "$.summary"),
        ("summary", "x" * 2001, "$.summary"),
        ("criteria.0.id", "AC-4", "$.criteria[0].id"),
        ("criteria.0.id", "ac-1", "$.criteria[0].id"),
        ("criteria.0.status", "passed", "$.criteria[0].status"),
        ("criteria.0.evidence.0.kind", "prose", "$.criteria[0].evidence[0].kind"),
        ("criteria.0.evidence.0.ref", "", "$.criteria[0].evidence[0].ref"),
        ("issues.0.severity", "blocker", "$.issues[0].severity"),
        ("issues.0.category", "style", "$.issues[0].category"),
        ("issues.0.criterion", "AC-9", "$.issues[0].criterion"),
        ("issues.0.line", 0, "$.issues[0].line"),
        ("issues.0.line", "3", "$.issues[0].line"),
        ("issues.0.description", "x" * 2001, "$.issues[0].description"),
        ("issues.0.score", 10, "$.issues[0]"),
        ("issues.0.id", "I1.1.1", "$.issues[0]"),
        ("previous.0.status", "done", "$.previous[0].status"),
        ("test_changes.0.criterion", "AC-9", "$.test_changes[0].criterion"),
        ("confidence", 0.9, "$"),
        ("issues", [ISSUE] * 101, "$.issues"),
        ("issues", "none", "$.issues"),
    ],
)
def test_an_answer_that_does_not_fit_is_no_verdict_and_the_place_is_named(path: str, new: object, place: str) -> None:
    verdict, faults = read_verdict(changed(VERDICT, path, new), TASK, attempt=1, turn=1)
    assert verdict is None
    assert len(faults) == 1
    assert faults[0].startswith(f"{place}: ")
    assert len(faults[0]) <= 340


@pytest.mark.parametrize("missing", list(VERDICT))
def test_an_answer_without_one_of_its_parts_is_no_verdict(missing: str) -> None:
    rest = {name: value for name, value in VERDICT.items() if name != missing}
    assert read_verdict(rest, TASK, attempt=1, turn=1) == (None, (f"$: '{missing}' is a required property",))


@pytest.mark.parametrize("path", ["criterion", "path", "line", "end_line", "suggestion", "replacement"])
def test_what_an_issue_need_not_have_may_be_null_or_left_out(path: str) -> None:
    with_null, _ = read_verdict(changed(VERDICT, f"issues.0.{path}", None), TASK, attempt=1, turn=1)
    left_out = deepcopy(VERDICT)
    del left_out["issues"][0][path]
    without, _ = read_verdict(left_out, TASK, attempt=1, turn=1)
    assert with_null
    assert getattr(with_null.issues[0], path) is None
    assert with_null == without


def test_many_faults_are_named_at_once_and_bounded() -> None:
    wrong = changed(VERDICT, "issues", [{**ISSUE, "severity": "x", "category": "y"}] * 30)
    _, faults = read_verdict(wrong, TASK, attempt=1, turn=1)
    assert len(faults) == 20


def test_the_most_that_a_verdict_may_hold_is_read() -> None:
    verdict, faults = read_verdict(changed(VERDICT, "issues", [ISSUE] * 100), TASK, attempt=1, turn=1)
    assert faults == ()
    assert verdict
    assert verdict.issues[99].id == "I1.1.100"


def test_half_a_surrogate_pair_does_not_get_past_the_edge() -> None:
    verdict, _ = read_verdict(changed(VERDICT, "summary", "cut \ud83d here \U0001f600"), TASK, attempt=1, turn=1)
    assert verdict
    assert verdict.summary == "cut ? here \U0001f600"
    report = read_report(changed(REPORT, "concerns", ["\udc80"]), TASK)
    assert report
    assert report.concerns == ("?",)


# --- the report -------------------------------------------------------------------------------------


def test_a_report_is_read() -> None:
    report = read_report(REPORT, TASK)
    assert report
    assert report.summary == "Done."
    assert report.criteria == (facts.claim("AC-1", ClaimStatus.PARTLY, "half"),)
    assert report.tests_run == (facts.said("pytest", CheckResult.FAILED),)
    assert report.concerns == ("slow",)
    (dispute,) = report.disputed
    assert (dispute.issue, dispute.reason, dispute.path, dispute.line) == ("I1.1.1", "it is right", "a.py", 3)


@pytest.mark.parametrize(
    ("path", "new"),
    [
        ("summary", 5),
        ("summary", "x" * 2001),
        ("criteria.0.claim", "finished"),
        ("criteria.0.id", "AC-9"),
        ("tests_run.0.result", "absent"),
        ("tests_run.0.exit_code", 0),
        ("concerns", ["x"] * 51),
        ("disputed.0.line", 0),
        ("done", True),
    ],
)
def test_a_report_that_does_not_fit_is_none(path: str, new: object) -> None:
    assert read_report(changed(REPORT, path, new), TASK) is None


def test_there_is_no_field_in_which_a_player_could_declare_the_task_done() -> None:
    assert set(report_schema(TASK)["properties"]) == {"summary", "criteria", "tests_run", "concerns", "disputed"}
    assert read_report(None, TASK) is None
    assert read_report({}, TASK) is None


# --- the schemas ------------------------------------------------------------------------------------


def test_the_schemas_are_closed_over_the_tasks_criteria() -> None:
    ids = ["AC-1", "AC-2", "AC-3"]
    verdict = verdict_schema(TASK)["properties"]
    assert verdict["criteria"]["items"]["properties"]["id"] == {"enum": ids}
    assert verdict["issues"]["items"]["properties"]["criterion"] == {"enum": [*ids, None]}
    assert verdict["test_changes"]["items"]["properties"]["criterion"] == {"enum": ids}
    assert report_schema(TASK)["properties"]["criteria"]["items"]["properties"]["id"] == {"enum": ids}


@pytest.mark.parametrize("schema", [verdict_schema, report_schema])
def test_one_tasks_schema_does_not_leak_into_anothers(schema: Callable[[Task], dict[str, Any]]) -> None:
    first = schema(TASK)
    second = schema(build.task(criteria=["only one"]))
    assert first["properties"]["criteria"]["items"]["properties"]["id"] == {"enum": ["AC-1", "AC-2", "AC-3"]}
    assert second["properties"]["criteria"]["items"]["properties"]["id"] == {"enum": ["AC-1"]}


@pytest.mark.parametrize("schema", [verdict_schema(TASK), report_schema(TASK)])
def test_the_schemas_are_what_the_cli_takes(schema: dict[str, Any]) -> None:
    jsonschema.Draft7Validator.check_schema(schema)
    assert "$schema" not in json.dumps(schema)
    assert list(open_objects(schema)) == []


def open_objects(schema: Any) -> Any:
    """Every object that would take a field we do not know."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            yield schema
        for part in schema.values():
            yield from open_objects(part)


def test_the_schemas_list_what_the_model_knows() -> None:
    verdict = verdict_schema(TASK)["properties"]
    issue = verdict["issues"]["items"]["properties"]
    assert set(issue["severity"]["enum"]) == set(Severity)
    assert set(issue["category"]["enum"]) == set(Category)
    assert set(verdict["decision"]["enum"]) == set(Decision)
    assert set(verdict["previous"]["items"]["properties"]["status"]["enum"]) == set(PreviousStatus)
    ruling = verdict["criteria"]["items"]["properties"]
    assert set(ruling["status"]["enum"]) == set(CriterionStatus)
    assert set(ruling["evidence"]["items"]["properties"]["kind"]["enum"]) == set(EvidenceKind)
    assert set(report_schema(TASK)["properties"]["criteria"]["items"]["properties"]["claim"]["enum"]) == set(
        ClaimStatus
    )
