"""Events become requests, and the sender's role decides."""

import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autobuild_action.events import (
    Allowed,
    Build,
    Help,
    Ignored,
    Refused,
    Request,
    Retry,
    RoleAnswer,
    Sender,
    Snapshot,
    authorise,
    parse,
)
from autobuild_action.model import Trigger

EXAMPLES = Path(__file__).parents[2] / "simulators" / "github" / "data" / "events.json"
ANN = Sender(login="ann", type="User", id=7)
LABELLED_AT = "2026-01-02T03:04:05Z"
COMMENTED_AT = "2026-01-02T04:00:00Z"


def issue(**changes: Any) -> dict[str, Any]:
    return {
        "number": 12,
        "title": "Add a flag",
        "body": "- [ ] it works",
        "state": "open",
        "labels": [{"name": "autobuild"}, {"name": "type:bugfix"}],
        "updated_at": LABELLED_AT,
        "html_url": "https://github.com/o/r/issues/12",
    } | changes


SENDER = {"login": "ann", "type": "User", "id": 7}
SNAPSHOT = Snapshot(
    number=12,
    title="Add a flag",
    body="- [ ] it works",
    state="open",
    labels=("autobuild", "type:bugfix"),
    updated_at=LABELLED_AT,
    url="https://github.com/o/r/issues/12",
)
BY_COMMENT = Trigger(kind="comment", id=99, login="ann", at=COMMENTED_AT)


def labeled(**changes: Any) -> dict[str, Any]:
    return {"action": "labeled", "label": {"name": "autobuild"}, "issue": issue(), "sender": SENDER} | changes


def commented(body: str, **changes: Any) -> dict[str, Any]:
    comment = {"id": 99, "body": body, "created_at": COMMENTED_AT}
    return {"action": "created", "comment": comment, "issue": issue(), "sender": SENDER} | changes


def dispatched(inputs: object) -> dict[str, Any]:
    return {"inputs": inputs, "ref": "refs/heads/main", "sender": SENDER}


def said(body: str, **changes: Any) -> Request:
    return parse("issue_comment", commented(body, **changes), label="autobuild")


def help_for(why: str) -> Help:
    return Help(number=12, on_pull_request=False, sender=ANN, trigger=BY_COMMENT, why=why)


# --- labels -----------------------------------------------------------------------------------------


def test_the_label_starts_a_build_with_the_events_own_copy_of_the_issue() -> None:
    assert parse("issues", labeled(), label="autobuild") == Build(
        issue=12,
        sender=ANN,
        trigger=Trigger(kind="label", id=0, login="ann", at=LABELLED_AT),
        snapshot=SNAPSHOT,
    )


@pytest.mark.parametrize(("given", "configured"), [("AutoBuild", "autobuild"), ("go", "Go"), ("STRASSE", "straße")])
def test_the_case_of_a_label_does_not_matter(given: str, configured: str) -> None:
    request = parse("issues", labeled(label={"name": given}), label=configured)
    assert isinstance(request, Build)


def test_an_empty_body_arrives_as_null_and_is_an_empty_text() -> None:
    request = parse("issues", labeled(issue=issue(body=None)), label="autobuild")
    assert isinstance(request, Build)
    assert request.snapshot is not None
    assert request.snapshot.body == ""


def test_a_bots_label_is_still_parsed() -> None:
    bot = {"login": "renovate[bot]", "type": "Bot", "id": 8}
    request = parse("issues", labeled(sender=bot), label="autobuild")
    assert isinstance(request, Build)
    assert request.sender == Sender(login="renovate[bot]", type="Bot", id=8)


@pytest.mark.parametrize(
    ("name", "payload", "why"),
    [
        ("issues", labeled(label={"name": "bug"}), "the label is `bug`, not `autobuild`"),
        ("issues", labeled(action="opened"), "the issue was `opened`; only a new label starts a run"),
        ("issues", labeled(action="unlabeled"), "the issue was `unlabeled`; only a new label starts a run"),
        ("issues", labeled(issue=issue(state="closed")), "the issue is closed; reopen it first"),
        (
            "issues",
            labeled(issue=issue(pull_request={"url": "x"})),
            "#12 is a pull request; the label counts on issues only",
        ),
        ("push", {"ref": "refs/heads/main"}, "the event `push` starts nothing"),
        (
            "issue_comment",
            commented("/autobuild retry", action="edited"),
            "a comment was `edited`; only new comments count",
        ),
        (
            "issue_comment",
            commented("/autobuild retry", action="deleted"),
            "a comment was `deleted`; only new comments count",
        ),
        ("issue_comment", commented("Nice!"), "the comment does not begin with `/autobuild`"),
        (
            "workflow_dispatch",
            dispatched({}),
            "the dispatch names no issue: give its number in the input `issue`",
        ),
        (
            "workflow_dispatch",
            dispatched(None),
            "the dispatch names no issue: give its number in the input `issue`",
        ),
        (
            "workflow_dispatch",
            dispatched({"issue": " "}),
            "the dispatch names no issue: give its number in the input `issue`",
        ),
        (
            "workflow_dispatch",
            dispatched({"issue": "twelve"}),
            "the input `issue` must be the number of an issue, not `twelve`",
        ),
        (
            "workflow_dispatch",
            dispatched({"issue": "0"}),
            "the input `issue` must be the number of an issue, not `0`",
        ),
        (
            "workflow_dispatch",
            dispatched({"issue": "-3"}),
            "the input `issue` must be the number of an issue, not `-3`",
        ),
        (
            "workflow_dispatch",
            dispatched({"issue": "1 2"}),
            "the input `issue` must be the number of an issue, not `1 2`",
        ),
        (
            "workflow_dispatch",
            dispatched({"issue": True}),
            "the input `issue` must be the number of an issue, not `True`",
        ),
    ],
)
def test_everything_else_is_ignored_with_a_reason(name: str, payload: dict[str, Any], why: str) -> None:
    assert parse(name, payload, label="autobuild") == Ignored(why=why)


# --- what GitHub would not send ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({}, "the event has no `action`"),
        (labeled(label=None), "the event has no `label.name`"),
        (labeled(issue="12"), "the event has no `issue.number`"),
        (labeled(issue=issue(number="12")), "`issue.number` of the event is not a whole number"),
        (labeled(issue=issue(number=True)), "`issue.number` of the event is not a whole number"),
        (labeled(issue=issue(body=5)), "`issue.body` of the event is not text"),
        (
            labeled(issue={key: value for key, value in issue().items() if key != "body"}),
            "the event has no `issue.body`",
        ),
        (labeled(issue=issue(labels=None)), "the event has no `issue.labels`"),
        (labeled(issue=issue(labels=["x"])), "the event has no `name`"),
        (labeled(sender={"login": "ann", "type": "User"}), "the event has no `sender.id`"),
        (labeled(sender={"login": None, "type": "User", "id": 7}), "`sender.login` of the event is not text"),
    ],
)
def test_a_malformed_payload_is_ignored_and_the_key_named(payload: dict[str, Any], why: str) -> None:
    assert parse("issues", payload, label="autobuild") == Ignored(why=why)


def test_a_comment_without_an_id_is_malformed() -> None:
    comment = {"body": "/autobuild retry", "created_at": COMMENTED_AT}
    assert said("", comment=comment) == Ignored(why="the event has no `comment.id`")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@hypothesis.settings(deadline=None)  # machines differ
@given(
    name=st.sampled_from(["issues", "issue_comment", "workflow_dispatch", "push"]),
    base=st.sampled_from([labeled(), commented("/autobuild retry x"), dispatched({"issue": "3"})]),
    key=st.sampled_from(["action", "label", "issue", "comment", "sender", "inputs"]),
    value=JSON,
)
def test_parsing_never_raises(name: str, base: dict[str, Any], key: str, value: object) -> None:
    assert isinstance(parse(name, base | {key: value}, label="autobuild"), Request)


def examples() -> list[tuple[str, dict[str, Any]]]:
    events: dict[str, list[dict[str, Any]]] = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    return [(name, payload) for name, payloads in events.items() for payload in payloads]


def test_githubs_own_examples_are_parsed_and_none_of_them_is_for_us() -> None:
    whys = [(name, parse(name, payload, label="autobuild")) for name, payload in examples()]
    counted = {(name, request.why if isinstance(request, Ignored) else None) for name, request in whys}
    assert counted == {
        ("issues", "the label is `bug`, not `autobuild`"),
        ("issue_comment", "the comment does not begin with `/autobuild`"),
        ("workflow_dispatch", "the dispatch names no issue: give its number in the input `issue`"),
    }
    assert len(whys) >= 9


def test_githubs_own_label_examples_build_where_their_label_is_ours() -> None:
    requests = [parse(name, payload, label="bug") for name, payload in examples() if name == "issues"]
    assert [type(request) for request in requests] == [Build, Build]


def test_githubs_own_comment_examples_retry_once_they_say_so() -> None:
    for name, payload in examples():
        if name == "issue_comment":
            payload["comment"]["body"] = "/autobuild retry please"
            request = parse(name, payload, label="autobuild")
            assert isinstance(request, Retry)
            assert (request.number, request.text) == (payload["issue"]["number"], "please")


# --- comments ---------------------------------------------------------------------------------------


def test_a_retry_carries_the_comment_and_the_issue() -> None:
    assert said("/autobuild retry") == Retry(
        number=12, on_pull_request=False, sender=ANN, trigger=BY_COMMENT, text="", snapshot=SNAPSHOT
    )


def test_a_retry_on_a_pull_request_has_no_copy_of_the_issue() -> None:
    request = said("/autobuild retry", issue=issue(pull_request={"url": "x"}))
    assert request == Retry(number=12, on_pull_request=True, sender=ANN, trigger=BY_COMMENT, text="", snapshot=None)


def test_a_retry_on_a_closed_issue_is_left_to_the_journal() -> None:
    assert isinstance(said("/autobuild retry", issue=issue(state="closed")), Retry)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("/autobuild retry use a set", "use a set"),
        ("/autobuild retry\nuse a set", "use a set"),
        ("/autobuild retry use a set\r\n\r\n- and sort it\r\n", "use a set\n\n- and sort it"),
        ("/autobuild   retry   spaced   out", "spaced   out"),
        ("/autobuild\tretry\ttabs", "tabs"),
        ("/autobuild retry -- --fresh is the flag to add", "--fresh is the flag to add"),
        ("/autobuild retry --\n--fresh", "--fresh"),
        ("/autobuild retry add the flag -- or --drop it", "add the flag -- or --drop it"),
        ("/autobuild retry see below\n--verbose must work", "see below\n--verbose must work"),
        ("/autobuild retry `--fresh` in code is text", "`--fresh` in code is text"),
        ("/autobuild retry --- a rule", "--- a rule"),
        ("/AutoBuild Retry go on", "go on"),
        ("/autobuild retry " + "x" * 4_000, "x" * 4_000),
    ],
)
def test_the_text_of_a_retry_is_the_rest_of_the_line_and_the_lines_below(body: str, text: str) -> None:
    request = said(body)
    assert isinstance(request, Retry)
    assert request.text == text


@pytest.mark.parametrize(
    "body",
    [
        " /autobuild retry",
        "\n/autobuild retry",
        "/autobuildx",
        "/autobuild-retry",
        "> /autobuild retry",
        "/autobuil",
    ],
)
def test_only_the_very_first_character_begins_a_command(body: str) -> None:
    assert said(body) == Ignored(why="the comment does not begin with `/autobuild`")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("/autobuild help", ""),
        ("/autobuild", "a command is missing after `/autobuild`"),
        ("/autobuild\n", "a command is missing after `/autobuild`"),
        ("/autobuild\nretry", "a command is missing after `/autobuild`"),
        ("/autobuild  \r\n", "a command is missing after `/autobuild`"),
        ("/autobuild rety", "there is no command `rety`"),
        ("/autobuild --fresh", "there is no command `--fresh`"),
        ("/autobuild `@team`", "there is no command `` `@team` ``"),
        ("/autobuild approve", "the command `approve` comes with a later version"),
        ("/autobuild stop now", "the command `stop` comes with a later version"),
        ("/autobuild status", "the command `status` comes with a later version"),
        (
            "/autobuild retry --fresh",
            "`retry` has no option `--fresh`; write `--` before text with leading dashes",
        ),
        (
            "/autobuild retry do it --turns 3",
            "`retry` has no option `--turns`; write `--` before text with leading dashes",
        ),
        ("/autobuild retry " + "x" * 4_001, "the text has 4,001 characters; 4,000 is the most"),
    ],
)
def test_what_is_not_understood_is_answered_with_help_that_names_it(body: str, why: str) -> None:
    assert said(body) == help_for(why)


def test_help_on_a_pull_request_knows_where_it_was_asked() -> None:
    request = said("/autobuild help", issue=issue(pull_request={"url": "x"}))
    assert isinstance(request, Help)
    assert request.on_pull_request


# --- dispatch ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["34", "#34", " 34 ", 34])
def test_a_dispatch_names_the_issue_by_its_number(given: object) -> None:
    assert parse("workflow_dispatch", dispatched({"issue": given}), label="autobuild") == Build(
        issue=34, sender=ANN, trigger=Trigger(kind="dispatch", id=0, login="ann", at=""), snapshot=None
    )


# --- who may ask ------------------------------------------------------------------------------------

WRITER = "Ask someone with write access to set the label again or to comment `/autobuild retry`."
STRANGER = "`ann` has no write access to this repository, which is needed to start a run. " + WRITER
TRIAGE = "`ann` may set labels here but not write, and a run needs write access. " + WRITER
CUSTOM = "`ann` has the role `labeller` here, without the write access that a run needs. " + WRITER
NO_PERSON = "`ann` is not a person, and only people can start a run. " + WRITER
NO_ANSWER = (
    "GitHub did not say what `ann` may do here, so nothing was started. Try again in some minutes; "
    "if it stays so, check that the token given to the action may read this repository."
)
FAILED = NO_ANSWER.replace("here,", "here: `502 Bad Gateway`,")


def role(name: str | None, permission: str | None = None, *, error: str = "", status: int = 0) -> RoleAnswer:
    return RoleAnswer(role=name, permission=permission, error=error, status=status)


def comment(why: str) -> Refused:
    return Refused(why=why, answer="comment")


@pytest.mark.parametrize(
    ("kind", "answer", "private", "expected"),
    [
        ("User", role("admin", "admin"), False, Allowed(role="admin")),
        ("User", role("maintain", "write"), False, Allowed(role="maintain")),
        ("User", role("write", "write"), False, Allowed(role="write")),
        ("User", role("admin", "admin"), True, Allowed(role="admin")),
        ("User", role("maintain", "write"), True, Allowed(role="maintain")),
        ("User", role("write", "write"), True, Allowed(role="write")),
        ("User", role("write"), False, Allowed(role="write")),
        ("User", role(None, "admin"), False, Allowed(role="admin")),
        ("User", role(None, "write"), True, Allowed(role="write")),
        ("User", role("labeller", "write"), False, Allowed(role="labeller")),
        ("User", role("labeller", "admin"), True, Allowed(role="labeller")),
        ("User", role("labeller", "read"), False, comment(CUSTOM)),
        ("User", role("labeller", "none"), False, comment(CUSTOM)),
        ("User", role("labeller"), True, comment(CUSTOM)),
        ("User", role("triage", "read"), False, comment(TRIAGE)),
        ("User", role("triage", "read"), True, comment(TRIAGE)),
        ("User", role("triage", "write"), True, comment(TRIAGE)),
        ("User", role("read", "write"), True, comment(STRANGER)),
        ("User", role("read", "read"), False, Refused(why=STRANGER, answer="reaction")),
        ("User", role("read", "read"), True, comment(STRANGER)),
        ("User", role("none", "none"), False, Refused(why=STRANGER, answer="reaction")),
        ("User", role("none", "none"), True, comment(STRANGER)),
        ("User", role(None, "read"), False, Refused(why=STRANGER, answer="reaction")),
        ("User", role(None, error="Not Found", status=404), False, Refused(why=STRANGER, answer="reaction")),
        ("User", role(None, error="Not Found", status=404), True, comment(STRANGER)),
        ("User", role(None, error="502 Bad Gateway", status=502), False, comment(FAILED)),
        ("User", role(None, error="502 Bad Gateway"), True, comment(FAILED)),
        ("User", role("admin", "admin", error="502 Bad Gateway"), True, comment(FAILED)),
        ("User", role("read", "read", error="502 Bad Gateway"), False, comment(FAILED)),
        ("User", role(None), False, comment(NO_ANSWER)),
        ("User", role(""), False, comment(NO_ANSWER)),
        ("Bot", role("admin", "admin"), False, comment(NO_PERSON)),
        ("Bot", role("write", "write"), True, comment(NO_PERSON)),
        ("Bot", role(None, error="Not Found", status=404), False, comment(NO_PERSON)),
        ("bot", role("admin", "admin"), False, comment(NO_PERSON)),
        ("Organization", role("admin", "admin"), False, comment(NO_PERSON)),
        ("", role("admin", "admin"), False, comment(NO_PERSON)),
    ],
)
def test_only_people_with_write_access_may_start_a_run(
    kind: str,
    answer: RoleAnswer,
    private: bool,  # noqa: FBT001  a column of the table
    expected: Allowed | Refused,
) -> None:
    assert authorise(Sender(login="ann", type=kind, id=7), answer, private=private) == expected


def test_a_login_that_says_bot_is_no_person_whatever_its_type() -> None:
    sender = Sender(login="helper[bot]", type="User", id=8)
    assert isinstance(authorise(sender, role("admin", "admin"), private=True), Refused)


def test_githubs_words_cannot_break_out_of_a_refusal() -> None:
    refused = authorise(ANN, role(None, error="`\n@team <!-- x -->"), private=True)
    assert isinstance(refused, Refused)
    assert "here: `` ` @team <! -- x --> ``, so" in refused.why
