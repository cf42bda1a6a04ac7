"""The agents' structured answers: their schemas, and the step from JSON to values of the model."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema

from autobuild_action.journal import structure
from autobuild_action.model import Report, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autobuild_action.model import Task


@cache
def _schema(name: str) -> dict[str, Any]:
    text = (files("autobuild_action") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def report_schema(task: Task) -> dict[str, Any]:
    """The Player's schema, closed over the task's criteria."""
    return _closed("report", task)


def verdict_schema(task: Task) -> dict[str, Any]:
    """The Coach's schema, closed over the task's criteria: an unknown id cannot be said."""
    schema = _closed("verdict", task)
    ids = [criterion.id for criterion in task.criteria]
    schema["properties"]["issues"]["items"]["properties"]["criterion"] = {"enum": [*ids, None]}
    schema["properties"]["test_changes"]["items"]["properties"]["criterion"] = {"enum": ids}
    return schema


def _closed(name: str, task: Task) -> dict[str, Any]:
    schema = copy.deepcopy(_schema(name))
    ids = [criterion.id for criterion in task.criteria]
    schema["properties"]["criteria"]["items"]["properties"]["id"] = {"enum": ids}
    return schema


def _unicode(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The same JSON without halves of surrogate pairs: such text can be neither stored nor sent on."""
    made: Mapping[str, Any] | None = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    return made


def read_report(value: Mapping[str, Any] | None, task: Task) -> Report | None:
    """The report, None where there is none or it does not fit: claims are never worth a failed turn."""
    value = _unicode(value)
    if value is None or not jsonschema.Draft7Validator(report_schema(task)).is_valid(value):
        return None
    return structure(value, Report)


def read_verdict(
    value: Mapping[str, Any] | None, task: Task, *, attempt: int, turn: int
) -> tuple[Verdict | None, tuple[str, ...]]:
    """The verdict with ids for its issues, or None and what is wrong with the answer."""
    value = _unicode(value)
    if value is None:
        return None, ("There was no structured verdict.",)
    validator = jsonschema.Draft7Validator(verdict_schema(task))
    errors = sorted(validator.iter_errors(value), key=lambda error: error.json_path)
    if errors:
        return None, tuple(f"{error.json_path}: {error.message[:300]}" for error in errors[:20])
    verdict = structure(value, Verdict)
    issues = tuple(
        replace(issue, id=f"I{attempt}.{turn}.{number}") for number, issue in enumerate(verdict.issues, start=1)
    )
    return replace(verdict, issues=issues), ()
