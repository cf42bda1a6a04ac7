"""Who may start a run, and what is answered where none starts: the job as a process, without a single model call."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulators.github import Event
from simulators.model import Request
from simulators.runner import Step
from tests.support.world import (
    BODY,
    BOT,
    CONFIG,
    SUB,
    World,
    approves,
    plays,
    read,
    report,
    world,
    write,
)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A public repository in which nobody starts anything; no model is scripted at all."""
    with world(tmp_path_factory.mktemp("quiet")) as it:
        yield it
        it.check()


def unmoved(it: World, step: Step) -> None:
    """Nothing was started: green, ignored, no model asked, no branch, no label of ours."""
    assert (step.exit_code, step.outputs["result"], step.outputs["turns"]) == (0, "ignored", "0")
    assert it.model.requests == []
    assert it.hub.violations == []
    assert not [ref for ref in it.repo.git.refs() if ref.startswith(("refs/autobuild/", "refs/heads/autobuild/"))]
    assert not [name for name in it.labels if name.startswith("autobuild:")]


def writes_of(it: World, before: int) -> list[tuple[str, str]]:
    return it.writes[before:]


def test_a_stranger_gets_a_reaction_and_no_word(quiet: World) -> None:
    before, said = len(quiet.writes), quiet.said
    step = quiet.comment("/autobuild retry and be quick", author="mallory")
    unmoved(quiet, step)
    asked = quiet.repo.comments(1)[-1]
    assert writes_of(quiet, before) == [("POST", f"/repos/octo/calc/issues/comments/{asked.id}/reactions")]
    assert [(reaction.user.login, reaction.content) for reaction in asked.reactions] == [(BOT, "confused")]
    assert quiet.said == said
    assert "no write access" in step.log


def test_somebody_who_may_only_triage_is_told_once_why_it_does_not_start(quiet: World) -> None:
    said = len(quiet.said)
    event = quiet.repo.label_event(quiet.issue, "autobuild", sender="trudy")
    unmoved(quiet, quiet.run(event))
    (answer,) = quiet.said[said:]
    assert "`trudy` may set labels here but not write, and a run needs write access" in answer
    assert (BOT, "confused") in quiet.repo.reactions(1)


def test_a_bot_is_told_that_only_people_start_runs(quiet: World) -> None:
    said = len(quiet.said)
    quiet.hub.bot("helper[bot]")
    unmoved(quiet, quiet.comment("/autobuild retry", author="helper[bot]"))
    (answer,) = quiet.said[said:]
    assert "`helper[bot]` is not a person" in answer


def test_a_refusal_that_is_delivered_twice_is_said_once(quiet: World) -> None:
    event = quiet.repo.comment_event(quiet.issue, "/autobuild retry", author="trudy")
    said = len(quiet.said)
    quiet.run(event)
    unmoved(quiet, quiet.run(event))
    assert len(quiet.said) == said + 1


def test_an_unknown_verb_is_answered_with_the_help(quiet: World) -> None:
    said = len(quiet.said)
    unmoved(quiet, quiet.comment("/autobuild retyr please @all"))
    (answer,) = quiet.said[said:]
    assert "there is no command `retyr`" in answer
    assert "| `/autobuild retry` |" in answer
    assert "@all" not in answer


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"label": {"name": "bug"}}, "the label is `bug`, not `autobuild`"),
        ({"action": "unlabeled"}, "only a new label starts a run"),
    ],
)
def test_an_event_that_is_not_ours_asks_github_for_nothing(quiet: World, change: dict[str, Any], why: str) -> None:
    event = quiet.repo.label_event(quiet.issue, "autobuild", sender="alice")
    before = len(quiet.hub.journal)
    payload = {**event.payload, **change}
    payload["label"] = {**event.payload["label"], **change.get("label", {})}
    step = quiet.run(Event(event.name, payload))
    unmoved(quiet, step)
    assert len(quiet.hub.journal) == before
    assert why in step.log


@pytest.mark.parametrize(
    ("body", "action", "why"),
    [
        ("/autobuild retry", "edited", "only new comments count"),
        ("> /autobuild retry\n\nWhat does that do?", "created", "does not begin with"),
    ],
)
def test_an_edited_or_quoted_command_asks_github_for_nothing(quiet: World, body: str, action: str, why: str) -> None:
    event = quiet.repo.comment_event(quiet.issue, body, author="alice")
    before = len(quiet.hub.journal)
    step = quiet.run(dataclasses.replace(event, payload={**event.payload, "action": action}))
    unmoved(quiet, step)
    assert len(quiet.hub.journal) == before
    assert why in step.log


# --- faults that a person has to correct first ------------------------------------------------------


def test_every_fault_of_the_configuration_is_said_in_one_comment(tmp_path: Path) -> None:
    config = "max-turns: 99\nmax-turn: 3\nmode: fast\ngithub-token: ghp_0123456789\n"
    with world(tmp_path, config=config, inputs={"strictness": "very", "max-budget-usd": "0"}) as it:
        step = it.label()
        it.check()
        assert (step.exit_code, step.outputs["result"], step.outputs["reason"]) == (1, "failed", "configuration")
        (said,) = it.said
        for fault in (
            "`max-turns` must be a whole number from 1 to 10, not `99`",
            "`max-turn` is no setting; did you mean `max-turns`?",
            "`mode` must be one of tdd, standard, not `fast`",
            "`strictness` must be one of",
            "`max-budget-usd` must be a number above 0",
            "`github-token` is a secret: remove it from the repository and revoke it",
        ):
            assert fault in said
        assert CONFIG in said
        assert "ghp_0123456789" not in said
        assert it.model.requests == []
        assert it.labels == ["autobuild"]
        assert it.commits == []
        assert len([path for method, path in it.writes if method == "POST"]) == 1


def test_an_issue_without_text_is_asked_for_what_must_be_true(tmp_path: Path) -> None:
    with world(tmp_path, body="<!-- describe it here -->\n") as it:
        step = it.label()
        it.check()
        assert (step.exit_code, step.outputs["result"], step.outputs["reason"]) == (
            0,
            "blocked",
            "needs_clarification",
        )
        (said,) = it.said
        assert "The issue has no text" in said
        assert "Acceptance criteria" in said
        assert it.labels == ["autobuild", "autobuild:needs-info"]
        assert it.model.requests == []


# --- what is there already --------------------------------------------------------------------------


def test_a_second_run_says_that_one_is_running_and_leaves_it_alone(tmp_path: Path) -> None:
    seconds: list[Step] = []

    def meanwhile(_: Request) -> Any:
        """The model's answer takes as long as the whole second job."""
        if not seconds:
            seconds.append(it.comment("/autobuild retry"))
        return report()

    player = plays(read("calc.py"), write("calc.py", SUB), meanwhile)
    with world(tmp_path, player=[player], coach=[approves()]) as it:
        it.repo.add_run(1001)
        first = it.label()
        it.check()
        (second,) = seconds
        assert (second.exit_code, second.outputs["result"]) == (0, "ignored")
        assert "already running" in second.log
        answer = next(text for text in it.said if "being worked on already" in text)
        assert f"{it.repo.url}/actions/runs/1001" in answer
        assert first.outputs["result"] == "approved"
        assert len(it.commits) == 1
        assert len(it.repo.pulls) == 1


def test_a_dry_run_shows_contract_plan_and_prompts_and_changes_nothing(tmp_path: Path) -> None:
    with world(tmp_path) as it:
        refs = it.repo.git.refs()
        step = it.label(inputs={"dry-run": "true"})
        it.check()
        assert (step.exit_code, step.outputs["result"]) == (0, "planned")
        for shown in (
            "AC-1: `sub(a, b)` subtracts",
            "branch autobuild/issue-1 from",
            "You are the Player in a dialectical build",
            "You are the Coach in a dialectical build",
            "### autobuild · turn 1 of 5",
            "Closes #1",
        ):
            assert shown in step.log
        assert it.writes == []
        assert it.repo.git.refs() == refs
        assert it.model.requests == []
        assert it.said == []


@pytest.mark.parametrize("wrong", [{"config": "max-turns: 99\n"}, {"body": ""}])
def test_a_dry_run_of_something_faulty_says_so_in_its_log_alone(tmp_path: Path, wrong: dict[str, str]) -> None:
    with world(tmp_path, config=wrong.get("config"), body=wrong.get("body", BODY)) as it:
        step = it.label(inputs={"dry-run": "true"})
        it.check()
        assert step.outputs["reason"] in {"configuration", "needs_clarification"}
        assert it.writes == []
