"""The adapter to GitHub over real HTTP: what it finds, what it changes, and what it makes of each way to fail."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import responses

from autobuild_action.adapters.git import Author
from autobuild_action.adapters.github import ACTIONS_AUTHOR, PUBLIC_API, GithubForge, Repo, Server
from autobuild_action.effects import OUR_LABELS
from autobuild_action.errors import AuthError, ForgeError, RefusedError, UnknownOutcomeError
from autobuild_action.events import RoleAnswer
from autobuild_action.lifecycle import PullState
from autobuild_action.model import RunId
from simulators.github import Fault, GitHub, Pull, Repository, Request

BOT = "github-actions[bot]"
MARKER = "<!-- autobuild:1 0b9f5c1e 1/1/status -->"
BRANCH = "autobuild/issue-1"
Call = Callable[["Place"], object]


class Place:
    """A repository with an issue, and the adapters for it."""

    def __init__(self, repo: Repository, token: str) -> None:
        self.hub, self.there = repo.hub, repo
        server = Server(url=self.hub.origin, api=self.hub.api, graphql=self.hub.graphql)
        self.repo = Repo(server, token, repo.full_name, pause=0)
        self.issue = repo.open_issue(author="alice", title="Add", body="- [ ] it adds", labels=("autobuild",))
        self.forge = GithubForge(self.repo, self.issue.number)

    def pull(self, *, draft: bool = True) -> int:
        """The bot's pull request of our branch: line 2 of calc.py changed."""
        self.there.commit(BRANCH, {"calc.py": "def add(a, b):\n    return b + a\n"})
        made = self.forge.create_pull_request(branch=BRANCH, base="main", title="Add", body="Closes #1", draft=draft)
        return made.id

    def sent(self, method: str, ending: str) -> list[Request]:
        """Requests whose address in GitHub's documentation ends like this."""
        found = [request for request in self.hub.journal if request.method == method]
        return [request for request in found if request.template.endswith(ending)]


@pytest.fixture
def place(repo: Repository, token: str) -> Place:
    return Place(repo, token)


class TestComments:
    def test_ours_is_found_by_marker_and_author_among_many(self, place: Place, hub: GitHub) -> None:
        for number in range(149):
            place.there.comment(1, f"comment {number}", author="alice")
        place.there.comment(1, f"stolen\n\n{MARKER}", author="mallory")
        place.there.comment(1, f"mentions {MARKER} only", author=BOT)
        assert place.forge.find_comment(MARKER) is None
        ours = place.forge.create_comment(f"status\n\n{MARKER}")
        place.forge.create_comment(f"again\n\n{MARKER}")
        found = place.forge.find_comment(MARKER)
        assert found is not None
        assert (found.id, found.url) == (ours.id, ours.url), "the oldest"
        assert found.body == f"status\n\n{MARKER}"
        assert found.url == f"{place.there.url}/issues/1#issuecomment-{ours.id}"
        assert len([r for r in hub.journal if r.template.endswith("/issues/{issue_number}/comments")]) >= 4

    def test_another_journals_marker_is_not_ours(self, place: Place) -> None:
        place.forge.create_comment(f"status\n\n{MARKER.replace('0b9f', 'ffff')}")
        assert place.forge.find_comment(MARKER) is None

    def test_white_space_after_the_marker_does_not_matter(self, place: Place) -> None:
        place.forge.create_comment(f"status\n\n{MARKER}\n \n")
        assert place.forge.find_comment(MARKER)

    def test_a_comment_is_edited(self, place: Place) -> None:
        made = place.forge.create_comment("one")
        place.forge.edit_comment(made.id, "two")
        assert [comment.body for comment in place.there.comments(1)] == ["two"]

    def test_a_body_too_long_is_refused_in_githubs_words(self, place: Place) -> None:
        with pytest.raises(RefusedError, match=r"Validation Failed Body is too long \(maximum is 65536 characters\)"):
            place.forge.create_comment("x" * 65_537)

    def test_a_comment_on_nothing_is_refused(self, place: Place) -> None:
        with pytest.raises(RefusedError) as caught:
            GithubForge(place.repo, 99).create_comment("x")
        assert caught.value.status == 404


class TestPullRequest:
    def test_it_is_opened_found_and_edited(self, place: Place) -> None:
        assert place.forge.find_pull_request(BRANCH) is None
        number = place.pull()
        found = place.forge.find_pull_request(BRANCH)
        assert found is not None
        assert (found.id, found.body, found.url) == (number, "Closes #1", f"{place.there.url}/pull/{number}")
        place.forge.edit_pull_request(number, body="Closes #1, more")
        pull = place.there.pull(number)
        assert (pull.body, pull.title, pull.base, pull.head, pull.draft) == (
            "Closes #1, more",
            "Add",
            "main",
            BRANCH,
            True,
        )

    def test_only_the_open_one_of_this_very_branch_is_found(self, place: Place) -> None:
        number = place.pull()
        assert place.forge.find_pull_request("autobuild/issue") is None
        assert place.forge.find_pull_request("main") is None
        place.there.set_state(number, "closed")
        assert place.forge.find_pull_request(BRANCH) is None

    def test_ready_and_draft_again_each_at_most_once(self, place: Place) -> None:
        number = place.pull()
        for draft, changes in ((True, 0), (False, 1), (False, 1), (True, 2), (True, 2)):
            place.forge.set_draft(number, draft=draft)
            assert place.there.pull(number).draft is draft
            assert len(place.sent("POST", "/graphql")) == changes

    def test_refusals_are_githubs_words(self, place: Place) -> None:
        place.there.actions_may_open_pulls = False
        refused(403, "GitHub Actions is not permitted to create or approve pull requests.", place.pull)
        place.there.actions_may_open_pulls = True
        place.there.drafts_supported = False
        refused(422, "Draft pull requests are not supported in this repository.", place.pull)
        place.pull(draft=False)
        words = "Validation Failed A pull request already exists for octo:autobuild/issue-1."
        refused(422, words, lambda: place.pull(draft=False))

    def test_a_review_is_asked_of_a_person(self, place: Place) -> None:
        number = place.pull()
        place.forge.ask_review(number, "alice")
        assert [user.login for user in place.there.pull(number).requested_reviewers] == ["alice"]
        with pytest.raises(RefusedError, match="only be requested from collaborators"):
            place.forge.ask_review(number, "mallory")

    def test_its_state_and_branch_are_told(self, place: Place) -> None:
        number = place.pull()
        assert (place.repo.is_pull_request(number), place.repo.is_pull_request(1)) == (True, False)
        assert place.repo.branch_of(number) == ("octo/calc", BRANCH)
        assert place.repo.pull_state(number) is PullState.OPEN
        place.there.set_state(number, "closed")
        assert place.repo.pull_state(number) is PullState.CLOSED
        place.there.set_state(number, "open")
        place.there.merge(number, by="alice")
        assert place.repo.pull_state(number) is PullState.MERGED

    def test_a_forks_branch_is_told_with_its_repository(self, place: Place) -> None:
        place.there.commit("evil", {"x": "1"}, fork="mallory")
        pull = place.there.open_pull(author="mallory", head="evil", title="x", fork="mallory")
        assert place.repo.branch_of(pull.number)[0] != "octo/calc"


class TestReviews:
    def test_a_review_is_a_comment_on_this_commit_with_its_lines(self, place: Place) -> None:
        number = place.pull()
        head = place.there.pull(number).head_sha
        comments: list[dict[str, object]] = [
            {"path": "calc.py", "line": 2, "side": "RIGHT", "body": "why?"},
            {"path": "calc.py", "start_line": 1, "start_side": "RIGHT", "line": 2, "side": "RIGHT", "body": "both"},
        ]
        made = place.forge.create_review(number, commit=head, body=f"no\n\n{MARKER}", comments=comments)
        [sent] = place.sent("POST", "/pulls/{pull_number}/reviews")
        assert sent.body == {"commit_id": head, "body": f"no\n\n{MARKER}", "event": "COMMENT", "comments": comments}
        [review] = place.there.reviews(number)
        assert (review.id, review.state, review.commit_id) == (made.id, "COMMENTED", head)
        assert [(c.path, c.start_line, c.line, c.body) for c in place.there.review_comments(number)] == [
            ("calc.py", None, 2, "why?"),
            ("calc.py", 1, 2, "both"),
        ]
        found = place.forge.find_review(number, MARKER)
        assert found is not None
        assert (found.id, found.url) == (made.id, made.url)

    def test_an_older_commit_of_the_branch_is_the_reviewed_one(self, place: Place) -> None:
        number = place.pull()
        judged = place.there.pull(number).head_sha
        place.there.commit(BRANCH, {"later": "1"})
        place.forge.create_review(number, commit=judged, body="x", comments=[])
        assert place.there.reviews(number)[0].commit_id == judged

    def test_a_strangers_review_with_our_marker_is_not_ours(self, place: Place) -> None:
        number = place.pull()
        stranger = Repo(place.repo.server, place.hub.token("alice"), "octo/calc", pause=0)
        head = place.there.pull(number).head_sha
        GithubForge(stranger, 1).create_review(number, commit=head, body=MARKER, comments=[])
        assert place.forge.find_review(number, MARKER) is None

    def test_a_line_outside_the_diff_is_refused_in_githubs_words_and_nothing_is_left(self, place: Place) -> None:
        number = place.pull()
        head = place.there.pull(number).head_sha
        bad = {"path": "calc.py", "line": 99, "side": "RIGHT", "body": "x"}
        with pytest.raises(RefusedError, match="Unprocessable Entity Line could not be resolved") as caught:
            place.forge.create_review(number, commit=head, body="x", comments=[bad])
        assert caught.value.status == 422
        assert place.there.reviews(number) == []


class TestLabelsAndStatuses:
    def test_exactly_one_of_ours_and_never_peoples(self, place: Place) -> None:
        place.there.add_label(place.issue, "bug")
        for label in (*OUR_LABELS, OUR_LABELS[0], OUR_LABELS[0], None, None):
            place.forge.set_label(label)
            assert sorted(place.there.labels_of(1)) == sorted(["autobuild", "bug", *([label] if label else [])])

    def test_several_of_ours_become_the_one(self, place: Place) -> None:
        for label in OUR_LABELS:
            place.there.add_label(place.issue, label)
        place.forge.set_label(OUR_LABELS[1])
        assert place.there.labels_of(1) == ["autobuild", OUR_LABELS[1]]

    def test_one_that_is_there_already_costs_no_write(self, place: Place) -> None:
        place.forge.set_label(OUR_LABELS[0])
        before = len([request for request in place.hub.journal if request.method != "GET"])
        place.forge.set_label(OUR_LABELS[0])
        assert len([request for request in place.hub.journal if request.method != "GET"]) == before

    def test_one_that_somebody_takes_off_meanwhile_is_fine(self, place: Place) -> None:
        place.forge.set_label(OUR_LABELS[0])

        def meanwhile(method: str, *_: object) -> None:
            if method == "DELETE" and OUR_LABELS[0] in place.there.labels_of(1):
                place.there.remove_label(place.issue, OUR_LABELS[0])

        place.hub.fault = meanwhile
        place.forge.set_label(OUR_LABELS[1])
        assert place.there.labels_of(1) == ["autobuild", OUR_LABELS[1]]
        assert [request.status for request in place.sent("DELETE", "/labels/{name}")] == [404]

    def test_a_label_of_the_repository_keeps_its_colour(self, place: Place) -> None:
        place.there.label(OUR_LABELS[0], "123456")
        place.forge.set_label(OUR_LABELS[0])
        assert place.there.labels[OUR_LABELS[0]].color == "123456"

    def test_a_status_is_set_on_the_commit(self, place: Place) -> None:
        head = place.there.git.sha("main")
        url = f"{place.there.url}/pull/2"
        for state in ("pending", "failure", "success"):
            place.forge.set_status(head, state=state, description=f"it is {state}", url=url)
        newest = place.there.statuses("main")[0]
        assert (newest.state, newest.context, newest.description, newest.target_url) == (
            "success",
            "autobuild",
            "it is success",
            url,
        )

    def test_a_description_too_long_is_refused(self, place: Place) -> None:
        with pytest.raises(RefusedError, match="description is too long"):
            place.forge.set_status(place.there.git.sha("main"), state="success", description="x" * 141, url="")


class TestWhoAndWhat:
    @pytest.mark.parametrize(
        ("login", "role", "permission"),
        [
            ("octo", "admin", "admin"),
            ("max", "maintain", "write"),
            ("alice", "write", "write"),
            ("trudy", "triage", "read"),
            ("mallory", "read", "read"),
        ],
    )
    def test_roles_are_githubs(self, place: Place, login: str, role: str, permission: str) -> None:
        assert place.repo.role(login) == RoleAnswer(role=role, permission=permission)

    def test_who_is_nobody_has_no_role(self, place: Place) -> None:
        for login, words in ((BOT, f"404 {BOT} is not a user"), ("ghost", "404 ")):
            answer = place.repo.role(login)
            assert (answer.role, answer.permission, answer.status) == (None, None, 404)
            assert answer.error.startswith(words)

    def test_an_error_is_no_permission(self, place: Place) -> None:
        assert place.repo.repo.full_name == "octo/calc"
        place.hub.fault = lambda *_: Fault(status=403, body={"message": "Resource not accessible by integration"})
        answer = place.repo.role("alice")
        assert answer == RoleAnswer(
            role=None, permission=None, error="403 Resource not accessible by integration", status=403
        )

    def test_we_know_ourselves(self, place: Place) -> None:
        assert place.repo.viewer[0] == BOT
        assert place.repo.author == ACTIONS_AUTHOR
        other = Repo(place.repo.server, place.hub.token("alice"), "octo/calc", pause=0)
        id_ = place.hub.users["alice"].id
        assert other.author == Author(name="alice", email=f"{id_}+alice@users.noreply.127.0.0.1")

    def test_the_repository_is_described(self, place: Place) -> None:
        assert (place.repo.default_branch, place.repo.private) == ("main", False)

    def test_an_issue_is_read_as_it_is_now(self, place: Place) -> None:
        place.there.edit_issue(1, title="Add more", body="new")
        found = place.repo.issue(1)
        assert (found.number, found.title, found.body, found.state) == (1, "Add more", "new", "open")
        assert (found.labels, found.url) == (("autobuild",), f"{place.there.url}/issues/1")

    def test_when_an_issue_was_edited(self, place: Place) -> None:
        noon, evening = (datetime(2026, 5, 1, hour, tzinfo=UTC) for hour in (12, 18))
        assert place.repo.edited_at(1) is None
        place.there.comment(1, "a comment is no edit", author="alice")
        assert place.repo.edited_at(1) is None
        place.there.edit_issue(1, body="new", at=noon)
        assert place.repo.edited_at(1) == noon
        place.there.edit_issue(1, title="newer", at=evening)
        assert place.repo.edited_at(1) == evening

    def test_whether_a_run_is_over(self, place: Place) -> None:
        place.there.add_run(5, status="in_progress")
        place.there.add_run(6, status="completed", conclusion="cancelled")
        place.there.add_run(7, status="in_progress", attempt=2)
        over = {name: place.repo.run_is_over(RunId(id=name, attempt=1, url="")) for name in ("5", "6", "7", "8", "x")}
        assert over == {"5": False, "6": True, "7": True, "8": False, "x": False}

    def test_reactions_go_to_the_comment_or_the_issue(self, place: Place) -> None:
        comment = place.there.comment(1, "/autobuild retry", author="alice")
        for _ in range(2):
            place.repo.react(issue=1, comment=comment.id, content="eyes")
            place.repo.react(issue=1, comment=None, content="rocket")
        assert [(r.user.login, r.content) for r in comment.reactions] == [(BOT, "eyes")]
        assert place.there.reactions(1) == [(BOT, "rocket")]


WRITES: dict[str, tuple[str, str, Call]] = {
    "comment": ("POST", "/comments", lambda place: place.forge.create_comment("x")),
    "edit a comment": ("PATCH", "/issues/comments/", lambda place: place.forge.edit_comment(comment(place), "y")),
    "pull request": ("POST", "/pulls", lambda place: place.pull()),
    "edit a pull request": ("PATCH", "/pulls/", lambda place: place.forge.edit_pull_request(pull(place), body="y")),
    "ready": ("POST", "/graphql", lambda place: place.forge.set_draft(pull(place), draft=False)),
    "reviewer": ("POST", "/requested_reviewers", lambda place: place.forge.ask_review(pull(place), "alice")),
    "review": ("POST", "/reviews", lambda place: review(place)),  # noqa: PLW0108  it stands below
    "status": ("POST", "/statuses/", lambda place: status(place)),  # noqa: PLW0108  as above
    "label": ("POST", "/issues/1/labels", lambda place: place.forge.set_label(OUR_LABELS[0])),
    "label off": ("DELETE", "/labels/", lambda place: place.forge.set_label(None)),
    "reaction": ("POST", "/reactions", lambda place: place.repo.react(issue=1, comment=None, content="eyes")),
    "reaction to a comment": (
        "POST",
        "/reactions",
        lambda place: place.repo.react(issue=1, comment=comment(place), content="eyes"),
    ),
}


def comment(place: Place) -> int:
    return place.there.comments(1)[0].id


def pull(place: Place) -> int:
    return next(one.number for one in place.there.issues.values() if isinstance(one, Pull))


def review(place: Place) -> object:
    number = pull(place)
    head = place.there.pull(number).head_sha
    return place.forge.create_review(number, commit=head, body="x", comments=[])


def status(place: Place) -> None:
    head = place.there.git.sha("main")
    place.forge.set_status(head, state="success", description="x", url="http://example.org")


@pytest.fixture
def ready(place: Place) -> Place:
    """With what the writes write on, but for the pull request where that is what is written."""
    place.forge.create_comment("x")
    place.there.add_label(place.issue, OUR_LABELS[1])
    assert place.repo.viewer
    return place


def failing(place: Place, name: str, fault: Fault) -> list[str]:
    """From now on every request of this write fails like this; answers the list of those that did."""
    method, part, _ = WRITES[name]
    if name != "pull request" and not place.there.pulls:
        place.pull()
    failed: list[str] = []

    def fail(asked: str, path: str, _: object) -> Fault | None:
        if asked == method and part in path:
            failed.append(path)
            return fault
        return None

    place.hub.fault = fail
    return failed


BROKEN = {
    "500": Fault(status=500),
    "502 page": Fault(status=502, body="<html>Bad Gateway</html>", headers={"Content-Type": "text/html"}),
    "503 empty": Fault(status=503, body=""),
    "cut": Fault(drop=True),
    "cut after": Fault(when="after", drop=True),
}
REFUSALS: tuple[tuple[object, str], ...] = (
    ({"message": "No", "errors": ["first", "second"]}, "No first second"),
    ({"message": "No", "errors": [{"message": "why"}, {"resource": "X", "code": "y"}, None]}, "No why {'resource'"),
    ({"message": "No", "errors": "just words"}, "No just words"),
    ({"message": "No", "errors": {"message": "why"}}, "No why"),
    ({"message": "No", "errors": None}, "No"),
    ({"message": None}, "HTTP 4"),
    ({}, "HTTP 4"),
    ("", "HTTP 4"),
    ("<html>Forbidden</html>", "HTTP 4"),
)
SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait."}
LIMITS = (
    Fault(status=403, body=SECONDARY, headers={"Retry-After": "60"}),
    Fault(status=403, body=SECONDARY),
    Fault(status=429, body=SECONDARY, headers={"Retry-After": "60"}),
    Fault(status=403, body={"message": "API rate limit exceeded."}, headers={"X-RateLimit-Remaining": "0"}),
    Fault(status=422, body={"message": "Validation Failed", "errors": ["was submitted too quickly"]}),
    Fault(status=422, body={"message": "Validation Failed", "errors": [{"code": "abuse"}]}),
)


@pytest.mark.parametrize("name", WRITES)
class TestWritesThatFail:
    def test_a_server_error_or_a_cut_leaves_the_outcome_open_and_is_not_repeated(self, ready: Place, name: str) -> None:
        for case, fault in BROKEN.items():
            failed = failing(ready, name, fault)
            with pytest.raises(UnknownOutcomeError):
                WRITES[name][2](ready)
            assert len(failed) == 1, case

    def test_a_refusal_is_one_in_githubs_words(self, ready: Place, name: str) -> None:
        for (body, words), code in zip(REFUSALS, itertools.cycle((403, 422)), strict=False):
            failed = failing(ready, name, Fault(status=code, body=body))
            with pytest.raises(RefusedError) as caught:
                WRITES[name][2](ready)
            assert (caught.value.status, len(failed)) == (code, 1), body
            assert caught.value.what.startswith(words), body

    def test_a_token_that_ended_is_said_so(self, ready: Place, name: str) -> None:
        for message in ("Bad credentials", "Requires authentication"):
            failing(ready, name, Fault(status=401, body={"message": message}))
            with pytest.raises(AuthError, match="401"):
                WRITES[name][2](ready)

    def test_a_rate_limit_in_each_of_its_dresses_is_a_refusal_that_happened_once(self, ready: Place, name: str) -> None:
        for fault in LIMITS:
            failed = failing(ready, name, fault)
            with pytest.raises(RefusedError) as caught:
                WRITES[name][2](ready)
            assert (caught.value.status, len(failed)) == (fault.status, 1)


@pytest.mark.parametrize("name", ["ready", "label", "label off"])
def test_a_state_that_was_reached_although_the_answer_was_lost_is_not_set_again(ready: Place, name: str) -> None:
    failed = failing(ready, name, Fault(when="after", status=504))
    with pytest.raises(UnknownOutcomeError):
        WRITES[name][2](ready)
    WRITES[name][2](ready)
    assert len(failed) == 1


def refused(code: int, words: str, call: Callable[[], object]) -> None:
    with pytest.raises(RefusedError) as caught:
        call()
    assert (caught.value.status, caught.value.what) == (code, words)


class TestReadsThatFail:
    @pytest.mark.parametrize("fault", [Fault(), Fault(drop=True)], ids=["502", "cut"])
    def test_a_server_error_is_got_over(self, ready: Place, fault: Fault) -> None:
        left = [fault]
        ready.hub.fault = lambda method, path, _: (
            left.pop() if left and method == "GET" and "comments" in path else None
        )
        assert ready.forge.find_comment("x")
        assert not left

    @pytest.mark.parametrize(
        "fault", [Fault(), Fault(drop=True), Fault(status=503, body="")], ids=["502", "cut", "503"]
    )
    def test_a_query_is_got_over_too(self, place: Place, fault: Fault) -> None:
        left = [fault]
        place.hub.fault = lambda _, path, __: left.pop() if left and path == "/graphql" else None
        assert place.repo.viewer[0] == BOT
        assert not left

    def test_a_query_that_stays_broken_is_an_error(self, place: Place) -> None:
        place.hub.fault = lambda _, path, __: Fault() if path == "/graphql" else None
        with pytest.raises(ForgeError, match="502"):
            place.repo.viewer  # noqa: B018  reading it asks

    def test_a_query_with_errors_is_refused_in_githubs_words(self, place: Place) -> None:
        body = {"data": None, "errors": [{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}]}
        place.hub.fault = lambda *_: Fault(status=200, body=body)
        with pytest.raises(RefusedError, match="Resource not accessible by integration"):
            place.repo.graphql("query { viewer { login } }", {})

    def test_a_token_that_is_not_good_is_said_so(self, place: Place, hub: GitHub) -> None:
        stranger = Repo(place.repo.server, "ghs_made_up", "octo/calc", pause=0)
        with pytest.raises(AuthError, match="401"):
            stranger.default_branch  # noqa: B018  reading it asks
        hub.fault = lambda *_: Fault(status=401, body={"message": "Requires authentication"})
        with pytest.raises(AuthError, match="401"):
            place.repo.issue(1)

    def test_a_repository_that_is_not_there_is_refused(self, place: Place) -> None:
        with pytest.raises(RefusedError) as caught:
            Repo(place.repo.server, place.hub.token("alice"), "octo/none", pause=0).default_branch  # noqa: B018  reading it asks
        assert caught.value.status == 404

    def test_nobody_listening_is_an_error_with_advice(self, place: Place) -> None:
        server = Server(url="http://127.0.0.1:1", api="http://127.0.0.1:1/api/v3", graphql="")
        place.repo.server = server
        broken = Repo(server, "t", "octo/calc", pause=0)
        broken._github.requester._Requester__retry = 0  # type: ignore[attr-defined]  # noqa: SLF001  no half minute of trying
        with pytest.raises(ForgeError, match="could not be reached") as caught:
            broken.default_branch  # noqa: B018  reading it asks
        assert "Try again" in caught.value.cure


# --- answers that no server of ours gives -----------------------------------------------------------

URL = f"{PUBLIC_API}:443/repos/octo/calc"
REPOSITORY = {
    "full_name": "octo/calc",
    "url": f"{PUBLIC_API}/repos/octo/calc",
    "default_branch": "main",
    "private": False,
}
ISSUE = {"number": 1, "title": "Add", "url": f"{PUBLIC_API}/repos/octo/calc/issues/1", "comments": 3}
COMMENTS = f"{URL}/issues/1/comments"


@pytest.fixture
def answers() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        mock.get(URL, json=REPOSITORY)
        mock.get(f"{URL}/issues/1", json=ISSUE)
        mock.post(f"{PUBLIC_API}:443/graphql", json={"data": {"viewer": {"login": "github-actions", "databaseId": 1}}})
        yield mock


@pytest.fixture
def public() -> Repo:
    server = Server(url="https://github.com", api=PUBLIC_API, graphql=f"{PUBLIC_API}/graphql")
    return Repo(server, "ghs_t", "octo/calc", pause=0)


def written(number: int, login: str | None, body: str | None) -> dict[str, Any]:
    user = {"login": login} if login else None
    return {"id": number, "user": user, "body": body, "html_url": f"https://github.com/c/{number}"}


class TestExoticAnswers:
    def test_graphql_writes_a_bots_login_without_bot_and_rest_with(
        self, answers: responses.RequestsMock, public: Repo
    ) -> None:
        answers.get(COMMENTS, json=[written(1, "GitHub-Actions[bot]", MARKER)])
        found = GithubForge(public, 1).find_comment(MARKER)
        assert found is not None
        assert found.id == 1

    def test_comments_of_deleted_accounts_and_without_text_are_passed_over(
        self, answers: responses.RequestsMock, public: Repo
    ) -> None:
        listed = [written(1, None, MARKER), written(2, BOT, None), written(3, BOT, MARKER)]
        answers.get(COMMENTS, json=listed)
        answers.get(f"{URL}/pulls/1", json={"number": 1, "url": f"{PUBLIC_API}/repos/octo/calc/pulls/1"})
        answers.get(f"{URL}/pulls/1/reviews", json=listed)
        forge = GithubForge(public, 1)
        assert [found.id for found in (forge.find_comment(MARKER), forge.find_review(1, MARKER)) if found] == [3, 3]

    @pytest.mark.parametrize("body", ['[{"id": 1, "user"', "{", "<html>It works</html>", "", '"text"', "null", "[1]"])
    def test_an_answer_that_makes_no_sense_is_an_error_of_ours(
        self, answers: responses.RequestsMock, public: Repo, body: str
    ) -> None:
        answers.get(COMMENTS, body=body, content_type="application/json")
        answers.get(f"{URL}/issues/2", body=body, content_type="application/json")
        for read in (
            lambda: GithubForge(public, 1).find_comment(MARKER),
            lambda: public.issue(2),
            lambda: public.is_pull_request(2),
        ):
            with contextlib.suppress(ForgeError):
                assert not read()  # nothing found is an answer, too, to an empty page

    @pytest.mark.parametrize("body", ['{"id": 1, "html_', "{", "<html>It works</html>", "", '"text"', "null", "[1]"])
    @pytest.mark.parametrize("write", ["comment", "review", "pull request"])
    def test_a_write_answered_by_nonsense_may_have_happened(
        self, answers: responses.RequestsMock, public: Repo, body: str, write: str
    ) -> None:
        where = {"comment": COMMENTS, "review": f"{URL}/pulls/1/reviews", "pull request": f"{URL}/pulls"}
        answers.post(where[write], body=body, status=201, content_type="application/json")
        forge = GithubForge(public, 1)
        calls: dict[str, Callable[[], object]] = {
            "comment": lambda: forge.create_comment("x"),
            "review": lambda: forge.create_review(1, commit="0" * 40, body="x", comments=[]),
            "pull request": lambda: forge.create_pull_request(branch="b", base="main", title="t", body="b", draft=True),
        }
        with pytest.raises(UnknownOutcomeError):
            calls[write]()

    def test_addresses_of_another_host_are_an_error_of_ours(
        self, answers: responses.RequestsMock, public: Repo
    ) -> None:
        """PyGithub asserts that it's asked for its own host only."""
        answers.replace(responses.GET, URL, json=REPOSITORY | {"url": "https://elsewhere.example/repos/octo/calc"})
        with pytest.raises(ForgeError):
            public.issue(1)
        with pytest.raises(ForgeError):
            public.react(issue=1, comment=5, content="eyes")

    def test_a_moved_repository_is_followed(self, answers: responses.RequestsMock, public: Repo) -> None:
        moved = f"{PUBLIC_API}:443/repositories/7"
        answers.replace(responses.GET, URL, status=301, headers={"Location": moved}, json={"message": "Moved"})
        answers.get(moved, json=REPOSITORY | {"default_branch": "trunk"})
        assert public.default_branch == "trunk"

    def test_a_read_waits_for_the_end_of_a_rate_limit(self, answers: responses.RequestsMock, public: Repo) -> None:
        limit = {"message": "You have exceeded a secondary rate limit. Please wait."}
        answers.replace(responses.GET, URL, status=403, json=limit, headers={"Retry-After": "1"})
        answers.get(URL, json=REPOSITORY)
        assert public.default_branch == "main"

    def test_requests_say_which_version_of_the_api_they_mean(
        self, answers: responses.RequestsMock, public: Repo
    ) -> None:
        answers.post(COMMENTS, json=written(1, BOT, "x"), status=201)
        GithubForge(public, 1).create_comment("x")
        assert {call.request.headers["X-GitHub-Api-Version"] for call in answers.calls} == {"2022-11-28"}
        assert {call.request.headers["Authorization"] for call in answers.calls} == {"token ghs_t"}
        assert json.loads(answers.calls[-1].request.body or "") == {"body": "x"}
