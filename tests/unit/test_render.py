"""What the bot posts reads as it should, links to the right things, and carries its marker."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

from autobuild_action import blocked, place, render, words
from autobuild_action.model import (
    Attempt,
    Baseline,
    CheckResult,
    Decision,
    Done,
    Level,
    Outcome,
    Owner,
    Reason,
    Refused,
    Severity,
)
from tests.support import build
from tests.support.golden import golden

if TYPE_CHECKING:
    from collections.abc import Callable

    from autobuild_action.journal import Journal

PLACE = render.Place(build.SERVER, build.REPOSITORY)
LINES = {
    "src/weather.py": (range(1, 5), range(10, 20)),
    **{f"src/part_{n}.py": (range(1, 100),) for n in range(7)},
}
PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def reviewed(made: Journal, turn: int = -1, lines: Any = LINES) -> render.Review:
    return render.review(made, made.attempt.turns[turn], PLACE, lines)


def posted_json(body: str) -> dict[str, Any]:
    """What a program takes out of a review."""
    (found,) = re.findall(r"^```json\n(.*?)\n```$", body, re.DOTALL | re.MULTILINE)
    return dict(json.loads(found))


# --- how they look ----------------------------------------------------------------------------------

TEXTS: dict[str, Callable[[], str]] = {
    "status-starting": lambda: render.status_comment(build.journal(build.started()), PLACE, phase=words.Phase.STARTING),
    "status-running": lambda: render.status_comment(build.running(), PLACE, phase=words.Phase.COACH),
    "status-approved": lambda: render.status_comment(build.feedback_then_approve(), PLACE, phase=""),
    "status-blocked": lambda: render.status_comment(build.blocked(), PLACE, phase=""),
    "status-superseded": lambda: render.superseded_status(
        build.blocked(), PLACE, build.blocked().attempt, f"{PLACE.issue(7)}#issuecomment-2"
    ),
    "review-feedback": lambda: reviewed(build.blocked(), 0).body,
    "review-feedback-in-body": lambda: reviewed(build.blocked(), 0, {}).body,
    "review-inline": lambda: reviewed(suggesting()).comments[0].body,
    "review-approve": lambda: reviewed(build.feedback_then_approve()).body,
    "review-override": lambda: reviewed(build.overridden()).body,
    "pull-request-draft": lambda: render.pull_request_body(build.running(), PLACE),
    "pull-request-approved": lambda: render.pull_request_body(for_a_person(), PLACE),
    "approved-without-pull-request": lambda: render.approved_text(not_permitted(), PLACE),
    "summary-approved": lambda: render.job_summary(build.feedback_then_approve(), PLACE),
    "commit-message": lambda: render.commit_message(
        Attempt(started=build.started()), 7, 2, ("README.md", "src/weather.py")
    ),
    "refusal": lambda: render.refusal("`mallory` has read access"),
    "help": lambda: render.help_text("autobuild"),
    "already-running": lambda: render.already_running(build.RUN.url),
    "not-started-configuration": lambda: render.not_started(
        Reason.CONFIGURATION,
        "There are 2 faults:\n\n- `max-turn`: no such key; do you mean `max-turns`?\n- `mode`: fast",
        "",
    ),
    "not-started-no-key": lambda: render.not_started(
        Reason.AUTH,
        "No key for the model was given.",
        "Add the secret `ANTHROPIC_API_KEY` to this repository and pass it as `anthropic-api-key`.",
    ),
    "not-started-empty-issue": lambda: render.not_started(
        Reason.NEEDS_CLARIFICATION,
        "The issue's text is empty, so there is nothing to build against.",
        "Say in the issue what is to be different afterwards, best as a checklist, then add the label again.",
    ),
    "edited-since": render.edited_since,
    "already-approved": lambda: render.already_approved(PLACE.pull(12)),
    "nothing-new": lambda: render.nothing_new(PLACE.pull(12)),
    "merged": lambda: render.merged(12),
    "closed-issue": render.closed_issue,
}


def suggesting() -> Journal:
    """Feedback with an issue that brings its own new text."""
    found = build.issue(
        line=12,
        end_line=13,
        suggestion="Catch `KeyError` and exit with 2.",
        replacement="    except KeyError:\n        sys.exit(f'no such city: {city}')\n",
    )
    return build.journal(*build.first_turn(build.feedback_turn(1, found), build.opened()))


def for_a_person() -> Journal:
    """Approved without isolation, with a workflow changed and a path refused."""
    facts = build.approve_turn(1)
    facts[1] = build.committed(
        1,
        refused=[Refused(path=".git/config", why="belongs to git")],
        needs_person=[".github/workflows/ci.yml"],
    )
    start = build.started(isolation=Level.NONE)
    return build.journal(start, facts, build.opened(), build.ended(Reason.APPROVED))


def not_permitted() -> Journal:
    """Approved where Actions may open no pull request."""
    said = "GitHub Actions is not permitted to create or approve pull requests."
    end = build.ended(Reason.APPROVED)
    return build.journal(*build.first_turn(build.approve_turn(1), build.opened(None, refused=said), end))


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_reads_as_its_golden_file(name: str) -> None:
    made = TEXTS[name]()
    assert made == golden(name, made)


SIGNED = [name for name in TEXTS if name.startswith(("status", "review", "pull", "approved"))]


@pytest.mark.parametrize("name", SIGNED)
def test_the_marker_is_the_last_line_and_the_only_one(name: str) -> None:
    made = TEXTS[name]()
    last = made.split("\n")[-1]
    assert re.fullmatch(rf"<!-- autobuild:1 {build.JOURNAL} \d+/\d+/[A-Za-z0-9.-]+ -->", last)
    assert made.count("<!--") == 1


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "commit-message"])
def test_a_text_mentions_nobody_and_begins_no_command(name: str) -> None:
    made = TEXTS[name]()
    assert not made.startswith("/autobuild")
    assert not re.search(r"@\w", re.sub(r"`[^`]*`", "", made))


# --- the status comment -----------------------------------------------------------------------------


def test_while_the_player_works_the_next_turn_is_named() -> None:
    made = build.journal(*build.first_turn(build.feedback_turn(1)))
    assert "turn 2 of 5, the Player is at work" in render.status_comment(made, PLACE, phase="player")
    assert "turn 1 of 5, finishing" in render.status_comment(made, PLACE, phase="finishing")


def test_a_player_that_is_tried_again_is_in_the_same_turn() -> None:
    made = build.journal(*build.first_turn(build.player(1)))
    assert "turn 1 of 5" in render.status_comment(made, PLACE, phase="player")


def test_another_phase_is_shown_as_plain_words() -> None:
    assert "turn 1 of 5, waiting for `@x`" in render.status_comment(
        build.journal(build.started()), PLACE, phase="waiting for @x"
    )


def test_a_turn_without_change_says_so() -> None:
    made = build.journal(*build.first_turn(build.player(1), build.unchanged(1)))
    assert "| 1 | no change | – | – | – | 0.21 USD |" in render.status_comment(made, PLACE, phase="")


def test_an_estimated_cost_is_called_that() -> None:
    ended = build.player(1)
    guess = replace(ended.session, usage=replace(ended.session.usage, estimated=True))
    made = build.journal(*build.first_turn(replace(ended, session=guess)))
    assert "about 0.21 USD" in render.status_comment(made, PLACE, phase="")


@pytest.mark.parametrize(
    ("effect", "said", "then"),
    [
        ("draft-refused", "Draft pull requests are not supported in this repository.", "It is opened on approval"),
        (
            "pull-request",
            "GitHub Actions is not permitted to create or approve pull requests.",
            "The reviews are comments here.",
        ),
    ],
)
def test_a_refused_draft_is_said(effect: str, said: str, then: str) -> None:
    refused = Done(key=f"1/1/{effect}", github_id=None, url="", refused=said)
    made = build.journal(*build.first_turn(build.feedback_turn(1), refused))
    status = render.status_comment(made, PLACE, phase="")
    assert said in status
    assert then in status


def test_tests_that_failed_before_are_not_charged() -> None:
    red = build.check(CheckResult.FAILED, failures=("t::old",))
    made = build.journal(
        build.started(),
        Baseline(checks=(red,)),
        build.player(1),
        build.committed(1),
        build.measured(1, red),
    )
    assert "✔ `tests`" in render.status_comment(made, PLACE, phase="")


@pytest.mark.parametrize("reason", set(Reason) - {Reason.IGNORED})
def test_every_end_has_a_status(reason: Reason) -> None:
    made = render.status_comment(build.ended_by(reason), PLACE, phase="")
    assert made.startswith(f"### autobuild · {words.REASON[reason].headline}\n")
    assert "{" not in made


# --- the review -------------------------------------------------------------------------------------


def test_an_issue_in_a_hunk_becomes_a_comment_and_the_others_stay_in_the_body() -> None:
    places = [
        build.issue("in", line=12),
        build.issue("range", line=10, end_line=19),
        build.issue("edge", line=19, end_line=20),
        build.issue("two hunks", line=3, end_line=12),
        build.issue("backwards", line=12, end_line=11),
        build.issue("elsewhere", path="src/other.py"),
        build.issue("no line", line=None),
        build.issue("no path", path=None, line=None),
    ]
    made = reviewed(build.journal(*build.first_turn(build.feedback_turn(1, *places))))
    assert [(found.line, found.start_line) for found in made.comments] == [(12, None), (19, 10)]
    for name in ("edge", "two hunks", "backwards", "elsewhere", "no line", "no path"):
        assert name in made.body.split("#### Measured")[0]


def test_the_heaviest_issues_get_the_lines() -> None:
    made = reviewed(build.many_issues(70))
    assert len(made.comments) == 25
    kinds = [found.body.split("**")[1] for found in made.comments]
    assert kinds == sorted(kinds, key=["Must fix", "Should fix", "Nice to have"].index)
    assert kinds.count("Must fix") == 12
    assert "25 comments on the lines below." in made.body


def test_seventy_issues_fit_and_are_all_in_the_json() -> None:
    made = reviewed(build.many_issues(70))
    assert len(made.body) <= 60_000
    found = posted_json(made.body)
    assert [one["id"] for one in found["verdict"]["issues"]] == [f"I1.1.{n}" for n in range(1, 71)]
    assert any(cut.startswith("issues[].description") for cut in found["cut"])


@pytest.mark.parametrize("filler", ["x", "`", "<!--", "\u202e", "@a #1 "])
def test_the_largest_verdict_fits_and_keeps_what_counts(filler: str) -> None:
    long = (filler * 2000)[:2000]
    many = [
        build.issue(
            long,
            id_=f"I1.1.{n}",
            severity=list(Severity)[n % 3],
            path=long[:300],
            suggestion=long,
            replacement=long,
        )
        for n in range(100)
    ]
    facts = build.feedback_turn(1, *many)
    facts[2] = build.measured(1, *[build.check(CheckResult.FAILED, output=filler * 10_000) for _ in range(5)])
    contract = build.task(long, [long] * 100)
    made = reviewed(build.journal(build.started(contract=contract), facts))
    assert len(made.body) <= 60_000
    assert max((len(comment.body) for comment in made.comments), default=0) <= 60_000
    found = posted_json(made.body)
    assert found["decision"] == "feedback"
    assert len(found["verdict"]["issues"]) == 100
    assert found["verdict"]["criteria"]
    assert found["cut"]
    assert made.body.split("\n")[-1] == render.marker(build.JOURNAL, "1/1/review")


def test_output_goes_first_and_each_cut_is_stated() -> None:
    facts = build.feedback_turn(1)
    facts[2] = build.measured(1, build.check(CheckResult.FAILED, output="x" * 30_000 + "the end"))
    facts[3] = build.judged(1, build.feedback(), entries=[build.ledger(n, "y" * 30_000) for n in range(1, 4)])
    found = posted_json(reviewed(build.journal(*build.first_turn(facts))).body)
    assert found["cut"] == [
        "evidence.checks[].output: to 4000 characters each",
        "evidence.ledger[].output: to 4000 characters each",
    ]
    assert found["evidence"]["checks"][0]["output"].startswith("[26007 characters left out]x")
    assert found["evidence"]["checks"][0]["output"].endswith("the end")
    assert found["verdict"]["issues"][0]["description"]


def test_the_json_is_the_verdict_completed_by_what_we_know() -> None:
    found = posted_json(reviewed(build.overridden()).body)
    assert (found["attempt"], found["turn"], found["commit"]) == (1, 1, build.sha(1))
    assert found["task"] == {
        "issue": 7,
        "title": "Add a --version option",
        "type": "feature",
        "sha256": "5f" * 32,
    }
    assert (found["decision"], found["verdict"]["decision"]) == ("feedback", "approve")
    assert [rule["name"] for rule in found["gate"]["rules"] if not rule["held"]] == ["checks", "claims"]
    assert found["evidence"]["checks"][0]["exit_code"] == 1
    assert found["evidence"]["audit"][0]["result"] == "contradicted"
    assert [(one["id"], one["prompt_sha256"]) for one in found["sessions"]] == [
        ("player-1", "9a" * 32),
        ("coach-1", "9a" * 32),
    ]
    assert found["cost_usd"] == pytest.approx(0.34)
    assert found["cut"] == []


def test_nothing_is_lost_between_the_verdict_and_its_json() -> None:
    strange = 'a "quote" \\ `` ``` <!-- x --> \u202e \u200b \ud83d\ude00 ✔ é \x00\x1b\t\r\n'.encode(
        "utf-16", "surrogatepass"
    ).decode("utf-16")
    body = reviewed(build.journal(*build.first_turn(build.feedback_turn(1, build.issue(strange))))).body
    found = posted_json(body)
    assert body.count("```") == 2  # also for a reader that looks for no more than the next three backticks
    assert body.count("<!--") == 1
    assert found["verdict"]["issues"][0]["description"] == strange


def test_an_overridden_approval_says_so_first_and_names_the_rules() -> None:
    body = reviewed(build.overridden()).body
    head = body.split("#### Criteria")[0]
    assert head.startswith("### Changes asked for by the gate, turn 1 of 5\n")
    assert "**the gate overrode it**" in head
    assert "`checks`" in head
    assert "`claims`" in head


def test_an_approval_of_a_commit_that_is_no_longer_the_head_does_not_count() -> None:
    moved = build.rule("remote-head", held=False, owner=Owner.WORLD, detail="the branch is at 0909090")
    facts = build.approve_turn(1)
    facts[4] = build.decided(1, Decision.FEEDBACK, moved)
    body = reviewed(build.journal(*build.first_turn(facts))).body
    assert body.startswith("### Not approved, turn 1 of 5\n\nThe Coach approved this commit, but **the approval does")


def test_feedback_without_a_must_fix_says_what_is_missing() -> None:
    found = build.issue(severity=Severity.SHOULD_FIX)
    body = reviewed(build.journal(*build.first_turn(build.feedback_turn(1, found)))).body
    assert "not every criterion is met yet" in body


def test_a_suggestion_is_offered_exactly_and_never_with_something_hidden_in_it() -> None:
    made = reviewed(suggesting()).comments[0]
    assert (made.start_line, made.line) == (12, 13)
    assert "```suggestion\n    except KeyError:\n        sys.exit(f'no such city: {city}')\n```" in made.body
    bad = build.issue(replacement="x = 1 \u202e# evil")
    sly = reviewed(build.journal(*build.first_turn(build.feedback_turn(1, bad)))).comments[0]
    assert "suggestion\n" not in sly.body
    assert "\\u202e" in sly.body


def test_a_path_that_leads_elsewhere_is_shown_and_not_linked() -> None:
    found = build.issue(path="../../../evil/repo", line=1)
    body = reviewed(build.journal(*build.first_turn(build.feedback_turn(1, found)))).body
    assert "`../../../evil/repo:1`" in body
    assert "](https://github.example/octo-org/weather/blob/" not in body.split("#### Issues")[1]


def test_a_turn_without_a_verdict_has_no_review() -> None:
    made = build.journal(*build.first_turn(build.player(1), build.committed(1), build.judged(1, None)))
    with pytest.raises(ValueError, match="no verdict"):
        reviewed(made)


def test_a_review_is_signed_with_its_own_attempt() -> None:
    made = build.journal(
        build.started(),
        build.feedback_turn(1),
        build.ended(Reason.MAX_TURNS),
        build.started(2),
        build.approve_turn(1),
    )
    first = render.review(made, made.attempts[0].turns[0], PLACE, LINES)
    second = render.review(made, made.attempt.turns[0], PLACE, LINES)
    assert first.body.endswith(" 1/1/review -->")
    assert second.body.endswith(" 2/1/review -->")
    assert first.comments[0].body.endswith(" 1/1/I1.1.1 -->")


# --- the pull request -------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [build.running(), build.approved(), build.blocked(), for_a_person(), build.hostile()])
def test_the_pull_request_closes_exactly_our_issue(made: Journal) -> None:
    body = render.pull_request_body(made, PLACE)
    visible = re.sub(r"(`+).*?\1", "", body)
    assert re.findall(r"(?i)\b(?:close|fix|resolve)[sd]?\s+#\d+", visible) == ["Closes #7"]
    assert body.count(render.NOT_HUMAN) == 1
    assert len(body) <= 60_000


def test_what_needs_a_person_comes_first() -> None:
    body = render.pull_request_body(for_a_person(), PLACE)
    top = body.split("Closes #7")[0]
    assert "`.github/workflows/ci.yml`" in top
    assert "`.git/config`: belongs to git" in top
    assert "without isolation" in top


def test_the_title_is_the_issues_in_plain_text() -> None:
    assert render.pull_request_title(build.task("Fixes #12 for @ana\n" + "x" * 300), 7).startswith("Fixes 12 for ana x")
    assert len(render.pull_request_title(build.task("x" * 300), 7)) <= 120
    assert render.pull_request_title(build.task("\u200b"), 7) == "Build issue 7"


def test_the_pull_request_keeps_its_marker_across_attempts() -> None:
    first = build.blocked()
    second = first.append([build.started(2), *build.approve_turn(1)], run=build.RUN, at=build.NOON)
    assert place.pull_request_key(first) == place.pull_request_key(second) == "1/1/pull-request"
    new = build.journal(build.started(), build.feedback_turn(1))
    assert place.pull_request_key(new) == "1/1/pull-request"


def test_all_attempts_are_in_the_history_and_in_the_cost() -> None:
    first = build.blocked()
    made = first.append([build.started(2), *build.approve_turn(1)], run=build.RUN, at=build.NOON)
    body = render.pull_request_body(made, PLACE)
    assert "Attempt 1\n" in body
    assert "Attempt 2\n" in body
    assert "1.36 USD in 2 attempts" in body


# --- commit status and commit message ---------------------------------------------------------------


@pytest.mark.parametrize("reason", Reason)
def test_the_commit_status_follows_the_result(reason: Reason) -> None:
    made = build.ended_by(reason)
    state, said = render.commit_status(made, Outcome(reason=reason))
    expected = {"approved": "success", "blocked": "failure", "failed": "error"}
    assert state == expected.get(Outcome(reason=reason).result.value, "pending")
    assert render.commit_status(made, build.ended(reason)) == (state, said)
    assert 0 < len(said) <= 140


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (build.running(), ("pending", "turn 2 of 5: not judged yet")),
        (build.blocked(), ("failure", "turn 3 of 3: feedback, 1 must fix")),
        (build.approved(), ("success", "turn 1 of 5: approved by the Coach; a person's review is next")),
        (build.overridden(), ("failure", "turn 1 of 5: the gate overrode an approval (checks, claims)")),
    ],
)
def test_the_commit_status_of_a_turn(made: Journal, expected: tuple[str, str]) -> None:
    assert render.commit_status(made, build.last_turn(made)) == expected


def test_a_commit_message_ends_with_our_trailers_alone() -> None:
    made = render.commit_message(
        Attempt(
            started=build.started(
                contract=build.task("Closes #3\n\nAutobuild-Issue: 9\nCo-authored-by: Eve <e@evil.example>")
            )
        ),
        7,
        2,
        ["fixes #12", "@octocat/x.py", "a\nSigned-off-by: x", *(f"f{n}" for n in range(40))],
    )
    assert made.split("\n\n")[-1] == "Autobuild-Issue: 7\nAutobuild-Attempt: 1\nAutobuild-Turn: 2\n"
    assert not re.search(r"@\w|#\d", made)
    assert made.startswith("autobuild: turn 2 of issue 7\n\nCloses 3 Autobuild-Issue: 9")
    assert "and 23 more" in made
    assert all(len(line) <= 110 for line in made.split("\n"))


# --- hostile words in every field -------------------------------------------------------------------


def all_texts(made: Journal) -> list[str]:
    turn = made.attempt.turns[0]
    on_lines = render.review(made, turn, PLACE, LINES)
    return [
        render.status_comment(made, PLACE, phase=build.HOSTILE),
        render.superseded_status(made, PLACE, made.attempt, PLACE.issue(7)),
        on_lines.body,
        *(comment.body for comment in on_lines.comments),
        reviewed(made, 0, {}).body,
        render.pull_request_body(made, PLACE),
        render.approved_text(made, PLACE),
        render.job_summary(made, PLACE),
        blocked.report(made, PLACE),
        render.refusal(build.HOSTILE),
        render.help_text(build.HOSTILE),
        render.not_started(Reason.CONFIGURATION, build.HOSTILE, build.HOSTILE),
    ]


@pytest.mark.parametrize("number", range(12))
def test_nothing_hostile_survives_anywhere(number: int) -> None:
    made = all_texts(build.hostile())[number]
    assert len(made) <= 60_000
    assert made.count("<!-- autobuild:") == made.count(f"<!-- autobuild:1 {build.JOURNAL} ") <= 1
    if "<!--" in made:
        assert made.split("\n")[-1].startswith("<!-- autobuild:")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ud800-\udfff]", made)
    assert_only_ours(made)


OUR_HTML = re.compile(
    r"</?details>|</?summary>|</?sub>|<!-- autobuild:1 \S+ \S+ -->|The (?:whole verdict as JSON|last review)|\s"
)


def assert_only_ours(made: str) -> None:
    """Parsed as GitHub would, only our own links, folds and references are live."""
    tokens = PARSER.parse(made)
    flat = [*tokens, *(child for token in tokens for child in token.children or ())]
    for token in flat:
        assert token.type != "image"
        if token.type == "link_open":
            assert str(token.attrs["href"]).startswith(PLACE.url + "/")
        if token.type in {"html_block", "html_inline"}:
            assert not re.sub(OUR_HTML, "", token.content), token.content
        if token.type == "text":
            allowed = re.sub(r"^Closes #7$|^#12$|^Pull request #12$", "", token.content)
            assert not re.search(r"@\S|#[0-9]|://|www\.|(?i:gh-[0-9])|\$", allowed), token.content
    assert sum(token.content.count("<details>") for token in flat if token.type == "html_block") == sum(
        token.content.count("</details>") for token in flat if token.type == "html_block"
    )


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "commit-message"])
def test_our_own_texts_hold_only_our_own_links(name: str) -> None:
    assert_only_ours(TEXTS[name]().replace("#12,", "").replace("in #12", ""))


# --- links ------------------------------------------------------------------------------------------


def test_links_are_quoted() -> None:
    assert PLACE.compare("main", "autobuild/issue-7") == (
        "https://github.example/octo-org/weather/compare/main...autobuild/issue-7?expand=1"
    )
    assert PLACE.blob("abc", "a b/ü#?.py", 3, 5) == f"{PLACE.url}/blob/abc/a%20b/%C3%BC%23%3F.py#L3-L5"
    assert PLACE.tree("odd #1") == f"{PLACE.url}/tree/odd%20%231"
    assert render.Place("https://github.example/", "o/r").url == "https://github.example/o/r"


@pytest.mark.parametrize("path", ["", "/etc/passwd", "a/../b", "a//b", "a\\b", ".", "\ud800"])
def test_no_link_leaves_the_repository(path: str) -> None:
    assert PLACE.blob("abc", path, 1) is None


# --- words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_words(reason: Reason) -> None:
    said = words.REASON[reason]
    assert said.headline
    assert said.meaning.endswith(".")
    assert len(said.short) <= 100
    assert said.next or reason is Reason.IGNORED
