"""From a label to an approved pull request: the real CLI, git and HTTP, and the entry point as a process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.world import (
    ADD,
    BOT,
    BOT_AUTHOR,
    SUB,
    World,
    approves,
    bash,
    builds,
    evidence,
    markers,
    met,
    must_fix,
    objects,
    plays,
    posted_json,
    read,
    report,
    resolved,
    run,
    unmet,
    verdict,
    words,
    world,
    write,
)

TWO = "Please.\n\n## Acceptance criteria\n\n- [ ] `sub(a, b)` subtracts\n- [ ] `div(a, b)` divides, and refuses zero\n"
NO_ZERO = "\n\ndef div(a, b):\n    return a / b\n"
DIV = "\n\ndef div(a, b):\n    if b == 0:\n        raise ValueError(b)\n    return a / b\n"
UNITTEST = "python3 -m unittest discover"
SECRET_OF_TURN_1 = "walrus-of-the-first-session"
CLAIM_OF_TURN_1 = "everything-is-perfect-now"
FEEDBACK = "Division by zero is not refused."
MINOR = "A docstring would help."
HOOK = {"type": "command", "command": "touch x"}


# --- approve at turn 1 ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One turn, in a repository that has notes for agents, hooks and a server of its own."""
    files = {
        "README.md": "# calc\n",
        "calc.py": ADD,
        "test_calc.py": "import unittest, calc\n\n\nclass T(unittest.TestCase):\n    def test(self):\n"
        "        self.assertEqual(calc.add(1, 2), 3)\n",
        "CLAUDE.md": "Use tabs, says the project.\n",
        ".claude/settings.json": json.dumps({"hooks": {"SessionStart": [{"hooks": [HOOK]}]}, "env": {"THEIRS": "set"}}),
        ".mcp.json": '{"mcpServers": {"theirs": {"command": "touch", "args": ["y"]}}}',
    }
    player = plays(
        bash("ls; git log --format=%s; git remote -v; echo HOME=$HOME THEIRS=$THEIRS"),
        read("calc.py"),
        write("calc.py", SUB),
        bash("PYTHONDONTWRITEBYTECODE= python3 -m unittest discover"),
        report(tests_run=[{"command": UNITTEST, "result": "passed"}]),
    )
    ran = run("python3 -c 'import calc; print(calc.sub(3, 1))'; echo mine > calc.py; cat calc.py")
    proof = met(1, evidence("file", "calc.py:5-6"), evidence("run", "R1"), evidence("check", "tests"))
    coach = plays(ran, verdict("approve", proof, summary="Subtracts as asked."))
    with world(tmp_path_factory.mktemp("at_once"), files=files, player=[player], coach=[coach]) as it:
        it.label()
        it.check()
        yield it


def test_an_issue_that_is_labelled_becomes_a_pull_request_that_is_ready_for_review(at_once: World) -> None:
    pull = at_once.pull
    assert (pull.title, pull.draft, pull.state, pull.base, pull.head) == (
        "Add sub",
        False,
        "open",
        "main",
        at_once.branch,
    )
    assert "Closes #1" in words(pull.body).splitlines()
    assert "not a human approval" in pull.body
    assert "✔ met" in pull.body
    assert [user.login for user in pull.requested_reviewers] == ["alice"]
    assert at_once.labels == ["autobuild", "autobuild:approved"]
    assert at_once.repo.reactions(1) == [(BOT, "eyes")]
    assert at_once.status() == ("success", "turn 1 of 5: approved by the Coach; a person's review is next")


def test_one_comment_tells_the_status_and_is_edited_in_place(at_once: World) -> None:
    (status,) = at_once.said
    assert status.startswith("### autobuild · Approved\n")
    assert "| 1 |" in status
    assert markers(status) == ["1/0/status"]
    assert at_once.bot_comments[0].last_edited_at is not None


def test_the_outputs_summary_and_trace_say_the_same(at_once: World) -> None:
    (step,) = at_once.steps
    pull = at_once.pull
    assert step.exit_code == 0
    assert {key: value for key, value in step.outputs.items() if key != "cost-usd"} == {
        "result": "approved",
        "reason": "approved",
        "turns": "1",
        "branch": "autobuild/issue-1",
        "commit": at_once.commits[0],
        "pull-request-number": str(pull.number),
        "pull-request-url": f"{at_once.repo.url}/pull/{pull.number}",
        "trace-path": str(step.trace),
    }
    assert 0 < float(step.outputs["cost-usd"]) < 1
    assert "Approved" in step.summary
    assert step.log.splitlines()[-1] == "result: approved"
    assert {"trace.jsonl", "journal.json"} <= {path.name for path in step.trace.iterdir()}


def test_the_turn_is_one_commit_by_the_bot_with_our_trailers(at_once: World) -> None:
    assert len(at_once.commits) == 1
    assert at_once.commit(0, "%an <%ae>") == BOT_AUTHOR
    assert at_once.commit(0, "%(trailers:only)").split("\n") == [
        "Autobuild-Issue: 1",
        "Autobuild-Attempt: 1",
        "Autobuild-Turn: 1",
    ]
    assert at_once.files() == {**at_once.repo.files_at("main"), "calc.py": SUB}


def test_the_review_carries_the_verdict_and_what_was_measured(at_once: World) -> None:
    (review,) = at_once.repo.reviews(at_once.pull.number)
    assert (review.state, review.commit_id) == ("COMMENTED", at_once.commits[0])
    assert review.body.startswith("### Approved, turn 1 of 5\n")
    assert "Subtracts as asked." in review.body
    document = posted_json(review.body)
    assert document["decision"] == "approve"
    assert document["verdict"]["criteria"][0]["status"] == "met"
    assert [(check["name"], check["result"], check["exit_code"]) for check in document["evidence"]["checks"]] == [
        ("tests", "passed", 0)
    ]
    assert [row["result"] for row in document["evidence"]["audit"]] == ["confirmed"]
    (entry,) = document["evidence"]["ledger"]
    assert (entry["id"], entry["exit_code"], entry["output"]) == ("R1", 0, "2\nmine\n")


def test_each_role_is_offered_exactly_its_tools(at_once: World) -> None:
    (player,), (coach,) = at_once.asked("player"), at_once.asked("coach")
    assert sorted(player.tools) == ["Bash", "Edit", "Glob", "Grep", "Read", "StructuredOutput", "Write"]
    assert sorted(coach.tools) == ["Glob", "Grep", "Read", "StructuredOutput", "mcp__autobuild__run"]


def test_the_project_may_describe_itself_but_configures_no_session(at_once: World) -> None:
    (player,), (coach,) = at_once.asked("player"), at_once.asked("coach")
    for request in (player, coach):
        assert request.system_text.count("Use tabs, says the project.") == 1
        assert "Use tabs, says the project." not in request.text
        assert "AC-1: `sub(a, b)` subtracts" in request.system_text
    listed = at_once.results("player", 1)[0]
    assert "x" not in listed.split()
    assert "y" not in listed.split()
    assert "THEIRS=set" not in listed
    assert "github" not in listed
    assert f"HOME={Path.home()}" not in listed


# --- feedback, then approve -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def in_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Turn 1 misses a criterion; turn 2 brings it."""
    first = plays(
        bash(f"echo {SECRET_OF_TURN_1}; echo $HOME > $HOME/left; echo left > $TMPDIR/left; pwd"),
        read("calc.py"),
        write("calc.py", SUB + NO_ZERO),
        report(summary=CLAIM_OF_TURN_1),
    )
    issue = must_fix(
        FEEDBACK,
        criterion="AC-2",
        path="calc.py",
        line=9,
        end_line=10,
        suggestion="Raise ValueError.",
        replacement=DIV.strip("\n"),
    )
    minor = must_fix(MINOR, severity="should_fix", category="code_quality", path="README.md", line=1)
    second = plays(
        bash("ls $HOME $TMPDIR; pwd; cat calc.py"),
        read("calc.py"),
        write("calc.py", SUB + DIV),
        report(),
    )
    with world(
        tmp_path_factory.mktemp("in_two"),
        body=TWO,
        player=[first, second],
        coach=[
            plays(verdict("feedback", met(), unmet(2), issues=[issue, minor])),
            plays(verdict("approve", met(), met(2), previous=resolved("I1.1.1", "I1.1.2"))),
        ],
    ) as it:
        it.label()
        it.check()
        yield it


def test_the_second_player_gets_the_feedback_and_nothing_of_the_first_session(in_two: World) -> None:
    first, second = in_two.asked("player")
    assert first.session_id
    for told in (FEEDBACK, MINOR, "I1.1.1", "Raise ValueError.", "turn 2 of 5"):
        assert told in second.text
    assert second.text.index(FEEDBACK) < second.text.index(MINOR)
    everything = f"{second.system_text}{second.text}{second.headers}"
    for kept in (SECRET_OF_TURN_1, CLAIM_OF_TURN_1, first.session_id):
        assert kept not in everything
    assert second.step == 0
    assert len([message for message in second.messages if message["role"] == "user"]) == 1
    assert second.session_id != first.session_id


def test_a_session_starts_in_the_committed_tree_with_an_empty_home(in_two: World) -> None:
    first, second = (in_two.results("player", session)[0] for session in (1, 2))
    assert "left" not in second
    assert "return a / b" in second
    assert first.splitlines()[1].strip() in second, "another work folder than in turn 1"


def test_the_coach_sees_the_commit_the_evidence_and_the_claims_as_claims(in_two: World) -> None:
    first, second = in_two.asked("coach")
    assert in_two.commits[0] in first.text
    assert "+def sub(a, b):" in first.text
    assert "**passed**, exit 0" in first.text
    assert CLAIM_OF_TURN_1 in first.text.partition("(unverified)")[2]
    assert FEEDBACK in second.text
    assert CLAIM_OF_TURN_1 not in second.text
    assert SECRET_OF_TURN_1 not in f"{first.text}{second.text}"


@pytest.mark.parametrize("role", ["player", "coach"])
def test_the_system_prompt_of_a_role_is_the_same_in_every_turn(in_two: World, role: str) -> None:
    first, second = in_two.asked(role)
    assert first.system[0].startswith("x-anthropic-billing-header")  # the CLI's own, another one for each request
    assert first.system[1:] == second.system[1:]
    assert len(first.system) > 2
    assert first.body["tools"] == second.body["tools"]


def test_every_turn_is_a_commit_and_a_review_of_it(in_two: World) -> None:
    assert [in_two.commit(n, "%(trailers:key=Autobuild-Turn,valueonly)").strip() for n in (0, 1)] == ["1", "2"]
    reviews = in_two.repo.reviews(in_two.pull.number)
    assert [review.commit_id for review in reviews] == in_two.commits
    assert [review.body.splitlines()[0] for review in reviews] == [
        "### Changes asked for, turn 1 of 5",
        "### Approved, turn 2 of 5",
    ]
    assert in_two.status(0)[0] == "failure"
    assert in_two.status(1)[0] == "success"
    assert "I1.1.1: resolved" in reviews[1].body


def test_an_issue_with_a_place_in_the_diff_stands_there_and_offers_its_text(in_two: World) -> None:
    (comment,) = in_two.repo.review_comments(in_two.pull.number)
    assert (comment.path, comment.start_line, comment.line) == ("calc.py", 9, 10)
    assert FEEDBACK in comment.body
    assert f"```suggestion\n{DIV.strip()}\n```" in comment.body
    first = in_two.reviews[0]
    assert MINOR in first, "README.md is not in the diff"
    assert FEEDBACK not in first.partition("<details>")[0]


def test_the_pull_request_was_a_draft_until_the_approval(in_two: World) -> None:
    drafts = [request.answer["draft"] for request in in_two.hub.journal if "draft" in (request.answer or {})]
    assert drafts[0] is True
    assert in_two.pull.draft is False
    assert in_two.steps[0].log.splitlines().count("::group::Turn 2") == 1


# --- where GitHub allows less -----------------------------------------------------------------------


@pytest.fixture
def two_turns(tmp_path: Path) -> Iterator[World]:
    """Turn 1 gets feedback, turn 2 is approved."""
    players = [builds(SUB + NO_ZERO), builds(SUB + DIV)]
    coaches = [
        objects(must_fix(FEEDBACK, path="calc.py", line=9)),
        approves(previous=resolved("I1.1.1")),
    ]
    with world(tmp_path, player=players, coach=coaches) as it:
        yield it
        it.check()


def test_on_approval_there_is_no_pull_request_before_and_every_review_after(two_turns: World) -> None:
    step = two_turns.label(inputs={"pull-request": "on-approval"})
    assert step.outputs["result"] == "approved"
    assert [request.body["draft"] for request in two_turns.hub.journal if "draft" in (request.body or {})] == [False]
    reviews = two_turns.repo.reviews(two_turns.pull.number)
    assert [review.commit_id for review in reviews] == two_turns.commits
    assert len(two_turns.commits) == 2
    order = [path.rpartition("/")[2] for method, path in two_turns.writes if method == "POST"]
    assert order.index("pulls") > order.index(two_turns.commits[1]), "the second turn's status comes first"
    assert two_turns.pull.draft is False
    assert len(two_turns.said) == 1


@pytest.fixture(scope="module")
def no_drafts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Two turns where GitHub refuses drafts."""
    players = [builds(SUB + NO_ZERO), builds(SUB + DIV)]
    coaches = [objects(must_fix(FEEDBACK)), approves(previous=resolved("I1.1.1"))]
    with world(tmp_path_factory.mktemp("no_drafts"), player=players, coach=coaches) as it:
        it.repo.drafts_supported = False
        it.label()
        it.check()
        yield it


def test_where_drafts_are_refused_the_pull_request_waits_for_the_approval(no_drafts: World) -> None:
    assert no_drafts.steps[0].outputs["result"] == "approved"
    sent = [request for request in no_drafts.hub.journal if "draft" in (request.body or {})]
    assert [(request.body["draft"], request.status) for request in sent] == [(True, 422), (False, 201)]
    assert len(no_drafts.reviews) == 2
    assert no_drafts.pull.draft is False


def test_where_drafts_are_refused_the_status_says_so(no_drafts: World) -> None:
    edits = [request.body["body"] for request in no_drafts.hub.journal if request.method == "PATCH" and request.body]
    assert any("no draft pull request" in body and "opened on approval" in body for body in edits)


def test_where_actions_may_open_no_pull_request_the_reviews_are_on_the_issue_and_a_link_is_at_the_end(
    two_turns: World,
) -> None:
    two_turns.repo.actions_may_open_pulls = False
    step = two_turns.label()
    assert (step.exit_code, step.outputs["result"]) == (0, "approved")
    assert (step.outputs["pull-request-number"], step.outputs["commit"]) == ("", two_turns.commits[1])
    assert two_turns.repo.pulls == []
    status, first, second, last = two_turns.said
    assert [markers(text) for text in (first, second)] == [["1/1/review"], ["1/2/review"]]
    assert FEEDBACK in first.partition("<details>")[0]
    assert posted_json(first)["decision"] == "feedback"
    assert posted_json(second)["decision"] == "approve"
    assert f"{two_turns.repo.url}/compare/main...{two_turns.branch}?expand=1" in last
    assert "Allow GitHub Actions to create and approve pull requests" in last
    assert status.startswith("### autobuild · Approved")
    assert two_turns.status()[0] == "success"
    assert two_turns.labels == ["autobuild", "autobuild:approved"]
