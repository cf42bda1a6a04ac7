"""The report says what happened, where the work is, what is left and what a person can do."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from autobuild_action import blocked, render, words
from autobuild_action.model import (
    RESULT_OF,
    Baseline,
    Category,
    CheckResult,
    Done,
    PullRequestMode,
    Reason,
    Result,
    Severity,
    Why,
)
from tests.support import build
from tests.support.golden import golden

if TYPE_CHECKING:
    from collections.abc import Callable

    from autobuild_action.journal import Journal
    from autobuild_action.model import Fact

PLACE = render.Place(build.SERVER, build.REPOSITORY)
STOPS = [reason for reason, result in RESULT_OF.items() if result in {Result.BLOCKED, Result.FAILED}]
"""Every reason that has a report."""
UNCLEAR = "Is an unknown city an error (exit 2) or an empty answer (exit 0)? AC-2 and the title disagree."
UNSAFE = "The issue asks to send every user's location to a third party."
FAULTS = ("Criterion AC-2 is answered 0 times; answer each exactly once.", "There is no criterion AC-9.")


def story(reason: Reason) -> Journal:
    """A journal as it looks when a run ends for this reason."""
    return STORIES[reason]() if reason in STORIES else build.ended_by(reason)


def stalled() -> Journal:
    turns = [build.feedback_turn(turn) for turn in (1, 2, 3)]
    end = build.ended(Reason.STALLED, detail="Three verdicts in a row asked for the same things.")
    return build.journal(*build.first_turn(turns[0], build.opened(), *turns[1:], end))


def no_tool() -> Journal:
    absent = build.check(CheckResult.ABSENT, output="sh: 1: pytest: not found")
    detail = "The check `tests` cannot run on the base commit: the command was not found."
    end = build.ended(Reason.ENVIRONMENT, detail=detail)
    return build.journal(build.started(), Baseline(checks=(absent,)), end)


def bad_key() -> Journal:
    lost = build.player(1, why=Why.AUTH, detail="invalid x-api-key")
    return build.journal(*build.first_turn(lost, build.ended(Reason.AUTH, detail="invalid x-api-key")))


def no_verdict() -> Journal:
    none = build.judged(1, None, faults=FAULTS)
    turn: list[Fact] = [build.player(1), build.committed(1), build.measured(1), none, none]
    end = build.ended(Reason.COACH_ERROR, detail=" ".join(FAULTS))
    return build.journal(*build.first_turn(turn, build.opened(), end))


def asked(reason: Reason, category: Category, question: str) -> Journal:
    found = build.issue(question, category=category, path=None, line=None)
    return build.journal(*build.first_turn(build.feedback_turn(1, found), build.opened(), build.ended(reason)))


STORIES: dict[Reason, Callable[[], Journal]] = {
    Reason.MAX_TURNS: build.blocked,
    Reason.STALLED: stalled,
    Reason.NEEDS_CLARIFICATION: lambda: asked(Reason.NEEDS_CLARIFICATION, Category.AMBIGUOUS_REQUIREMENT, UNCLEAR),
    Reason.UNSAFE_REQUEST: lambda: asked(Reason.UNSAFE_REQUEST, Category.UNSAFE_REQUEST, UNSAFE),
    Reason.ENVIRONMENT: no_tool,
    Reason.AUTH: bad_key,
    Reason.COACH_ERROR: no_verdict,
}


@pytest.mark.parametrize("reason", STOPS)
def test_the_report_of_each_reason_reads_as_its_golden_file(reason: Reason) -> None:
    made = blocked.report(story(reason), PLACE)
    assert made == golden(f"report-{reason}", made)


@pytest.mark.parametrize("reason", STOPS)
def test_every_report_says_why_and_what_to_do_and_is_signed(reason: Reason) -> None:
    made = blocked.report(story(reason), PLACE)
    assert made.startswith(f"### {words.REASON[reason].headline}\n")
    assert "**What you can do**\n\n- " in made
    assert made.split("\n")[-1] == render.marker(build.JOURNAL, "1/0/report")
    assert not re.search(r"\{\w+\}", made)


def test_the_report_names_branch_commit_and_draft() -> None:
    made = blocked.report(build.blocked(), PLACE)
    assert PLACE.tree("autobuild/issue-7") in made
    assert PLACE.commit(build.sha(3)) in made
    assert PLACE.pull(12) in made
    assert "git fetch origin autobuild/issue-7 && git switch autobuild/issue-7" in made


def test_where_nothing_was_committed_nothing_is_offered_to_take_over() -> None:
    stopped = build.journal(*build.first_turn(build.player(1), build.ended(Reason.CANCELLED)))
    made = blocked.report(stopped, PLACE)
    assert "Nothing was committed." in made
    assert "/autobuild retry" in made
    assert "delete the branch" not in made
    assert "git fetch" not in made


def test_work_of_an_earlier_attempt_is_still_there() -> None:
    made = build.blocked().append(
        [build.started(2), build.ended(Reason.CANCELLED, attempt=2)], run=build.RUN, at=build.NOON
    )
    report = blocked.report(made, PLACE)
    assert PLACE.commit(build.sha(3)) in report
    assert report.endswith(" 2/0/report -->")
    assert "Of all attempts: 1.02 USD." in report


def test_an_issue_of_two_turns_is_said_to_come_back_and_one_of_one_turn_is_not() -> None:
    again = build.issue(category=Category.SECURITY, path="src/a.py", criterion="AC-1")
    once = build.issue(category=Category.EDGE_CASE, path="src/b.py")
    made = build.journal(
        *build.first_turn(
            build.feedback_turn(1, again, once),
            build.feedback_turn(2, replace(again, description="other words", line=99)),
            build.ended(Reason.STALLED),
        )
    )
    part = blocked.report(made, PLACE).split("#### What keeps coming back")[1].split("####")[0]
    assert "| security | `src/a.py` | AC-1 | 1.1, 1.2 |" in part
    assert "edge case" not in part


def test_only_open_criteria_are_listed() -> None:
    part = blocked.report(build.blocked(), PLACE).split("#### Criteria still open: 2 of 3")[1].split("####")[0]
    assert "AC-1" not in part
    assert "| AC-2 |" in part
    assert "✘ not met" in part
    assert "– not tested" in part


def test_a_failing_check_is_shown_with_its_tail_and_a_required_one_first() -> None:
    facts = build.feedback_turn(1)
    facts[2] = build.measured(
        1,
        build.check(CheckResult.FAILED, name="lint", required=False),
        build.check(name="build"),
        build.check(CheckResult.FAILED, failures=("t::new",), output="begin " + "x" * 9000 + " the end"),
    )
    made = build.journal(*build.first_turn(facts, build.ended(Reason.MAX_TURNS)))
    part = blocked.report(made, PLACE).split("#### Checks that did not pass")[1].split("####")[0]
    assert part.index("`tests`") < part.index("`lint`")
    assert "`build`" not in part
    assert "`t::new`" in part
    assert "characters left out …]" in part
    assert " the end\n```" in part


def test_only_the_questions_are_listed_where_the_issue_is_unclear() -> None:
    question = build.issue("Which one?", category=Category.AMBIGUOUS_REQUIREMENT, path=None)
    other = build.issue("A bug.", category=Category.WRONG_BEHAVIOUR)
    made = build.journal(
        *build.first_turn(build.feedback_turn(1, question, other), build.ended(Reason.NEEDS_CLARIFICATION))
    )
    part = blocked.report(made, PLACE).split("#### What is unclear")[1].split("####")[0]
    assert "Which one?" in part
    assert "A bug." not in part


def test_where_no_pull_request_bears_the_last_review_it_stands_in_the_report() -> None:
    start = replace(build.started(), pull_request=PullRequestMode.ON_APPROVAL)
    made = build.journal(start, build.feedback_turn(1), build.ended(Reason.MAX_TURNS))
    report = blocked.report(made, PLACE)
    assert "<details><summary>The last review</summary>" in report
    (document,) = re.findall(r"^```json\n(.*?)\n```$", report, re.DOTALL | re.MULTILINE)
    assert json.loads(document)["verdict"]["decision"] == "feedback"
    assert report.count("<!--") == 1
    posted = made.append([Done(key="1/1/review", github_id=1, url="u")], run=build.RUN, at=build.NOON)
    assert "The last review" not in blocked.report(posted, PLACE)


def test_a_report_of_many_and_long_things_fits() -> None:
    made = build.many_issues(100)
    full = made.append([build.ended(Reason.MAX_TURNS)], run=build.RUN, at=build.NOON)
    report = blocked.report(full, PLACE)
    assert len(report) <= 60_000
    assert "18 more are in the review." in report
    many = [build.issue(id_=f"I1.1.{n}", severity=Severity.MUST_FIX, description="`" * 2000) for n in range(100)]
    huge = build.journal(
        build.started(contract=build.task("x", ["`*" * 1000] * 200)),
        build.feedback_turn(1, *many),
        build.ended(Reason.MAX_TURNS),
    )
    assert len(blocked.report(huge, PLACE)) <= 60_000


def test_an_attempt_that_goes_on_has_no_report() -> None:
    with pytest.raises(ValueError, match="has not ended"):
        blocked.report(build.running(), PLACE)


def test_the_summary_of_a_blocked_run_is_its_report() -> None:
    made = render.job_summary(build.blocked(), PLACE)
    assert made.startswith("## Issue 7: ")
    assert "### Blocked: the turn limit is reached" in made
    assert "<!--" not in made
