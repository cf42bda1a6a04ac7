"""GitHub: the one module that touches PyGithub.

Reads are repeated by the library; writes never are, since it once made two comments of one call. A write whose
outcome is unknown is reported as such, and the publisher looks before it writes again.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import requests
from github import Auth, Github, GithubException, GithubRetry

from autobuild_action.adapters.git import Author
from autobuild_action.effects import OUR_LABELS
from autobuild_action.errors import AuthError, ForgeError, RefusedError, UnknownOutcomeError
from autobuild_action.events import RoleAnswer, Snapshot
from autobuild_action.lifecycle import PullState
from autobuild_action.ports import Posted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from github.Repository import Repository

    from autobuild_action.model import RunId

PUBLIC_API = "https://api.github.com"
API_VERSION = "2022-11-28"
ACTIONS_LOGIN = "github-actions[bot]"
ACTIONS_AUTHOR = Author(name=ACTIONS_LOGIN, email="41898282+github-actions[bot]@users.noreply.github.com")
CONTEXT = "autobuild"
UNAUTHORISED, NOT_FOUND, SERVER_ERROR = 401, 404, 500
NONSENSE = (ValueError, KeyError, TypeError, AttributeError, AssertionError)
"""What PyGithub raises where an answer is cut short, is a page of HTML, or names another host."""

COLOURS = {"autobuild:running": "1d76db", "autobuild:approved": "0e8a16", "autobuild:blocked": "d93f0b"}
NEUTRAL = "fbca04"

VIEWER = "query { viewer { login databaseId } }"
ISSUE_TIMES = """
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    issue(number: $number) {
      lastEditedAt
      timelineItems(itemTypes: [RENAMED_TITLE_EVENT], last: 1) {
        nodes { ... on RenamedTitleEvent { createdAt } }
      }
    }
  }
}
"""


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where GitHub is: the three addresses that the runner names, so that Enterprise Server works too."""

    url: str
    api: str
    graphql: str


class Repo:
    """One repository on GitHub, as the token may see and change it."""

    def __init__(self, server: Server, token: str, name: str, *, pause: float = 1.0) -> None:
        """``pause`` is the least time between two writes, in seconds; GitHub asks for one."""
        self.server = server
        self.name = name
        retry = GithubRetry(total=5, backoff_factor=1, max_rate_limit_wait=600, allowed_methods={"GET", "HEAD"})
        self._github = Github(
            auth=Auth.Token(token),
            base_url=server.api,
            timeout=30,
            per_page=100,
            retry=retry,
            seconds_between_requests=0,
            seconds_between_writes=pause,
            api_version=API_VERSION,
        )

    @cached_property
    def repo(self) -> Repository:
        """The repository."""
        with _translated():
            return self._github.get_repo(self.name)

    @property
    def default_branch(self) -> str:
        """Its default branch."""
        return self.repo.default_branch

    @property
    def private(self) -> bool:
        """True where strangers cannot read it."""
        return self.repo.private

    @cached_property
    def viewer(self) -> tuple[str, int]:
        """Our own login and id; the REST API refuses to tell them to an Actions token."""
        viewer = self.graphql(VIEWER, {})["viewer"]
        return str(viewer["login"]), int(viewer["databaseId"])

    @property
    def author(self) -> Author:
        """Who our commits are by."""
        login, id_ = self.viewer
        if login == ACTIONS_LOGIN:
            return ACTIONS_AUTHOR
        host = self.server.url.partition("://")[2].partition("/")[0].partition(":")[0]
        return Author(name=login, email=f"{id_}+{login}@users.noreply.{host}")

    def role(self, login: str) -> RoleAnswer:
        """What a person may do here; an error is an answer too, and no permission."""
        try:
            answer = self._get(f"{self.repo.url}/collaborators/{login}/permission")
        except RefusedError as exc:
            return RoleAnswer(role=None, permission=None, error=f"{exc.status} {exc.what}", status=exc.status)
        except ForgeError as exc:
            return RoleAnswer(role=None, permission=None, error=exc.what)
        return RoleAnswer(role=answer.get("role_name"), permission=answer.get("permission"))

    def issue(self, number: int) -> Snapshot:
        """An issue as it is now."""
        with _translated():
            found = self.repo.get_issue(number)
            return Snapshot(
                number=found.number,
                title=found.title,
                body=found.body or "",
                state=found.state,
                labels=tuple(label.name for label in found.labels),
                updated_at=found.updated_at.isoformat(),
                url=found.html_url,
            )

    def is_pull_request(self, number: int) -> bool:
        """True where the number is a pull request's."""
        with _translated():
            return self.repo.get_issue(number).pull_request is not None

    def edited_at(self, number: int) -> datetime | None:
        """When the issue's text or title was last changed, None where never."""
        owner, _, name = self.name.partition("/")
        found = self.graphql(ISSUE_TIMES, {"owner": owner, "name": name, "number": number})["repository"]["issue"]
        times = [
            found["lastEditedAt"],
            *(node["createdAt"] for node in found["timelineItems"]["nodes"] if node),
        ]
        return max((datetime.fromisoformat(time) for time in times if time), default=None)

    def run_is_over(self, run: RunId) -> bool:
        """True where GitHub says that a workflow run has ended; False where it can't tell."""
        if not run.id.isdigit():
            return False
        try:
            found = self._get(f"{self.repo.url}/actions/runs/{run.id}")
        except ForgeError:
            return False
        return found.get("status") == "completed" or int(found.get("run_attempt") or 0) > run.attempt

    def run_created(self, run: RunId) -> datetime | None:
        """When a workflow run was asked for, None where GitHub does not tell us."""
        try:
            return datetime.fromisoformat(str(self._get(f"{self.repo.url}/actions/runs/{run.id}")["created_at"]))
        except (ForgeError, KeyError, ValueError):
            return None

    def branch_of(self, number: int) -> tuple[str, str]:
        """A pull request's head: the repository it is in, and its branch."""
        with _translated():
            head = self.repo.get_pull(number).head
            return str(head.raw_data["repo"]["full_name"] if head.raw_data.get("repo") else ""), head.ref

    def pull_state(self, number: int) -> PullState:
        """What became of a pull request."""
        with _translated():
            pull = self.repo.get_pull(number)
            if pull.merged:
                return PullState.MERGED
            return PullState.OPEN if pull.state == "open" else PullState.CLOSED

    def react(self, *, issue: int, comment: int | None, content: str) -> None:
        """Put a reaction on what started us: the comment, or the issue itself."""
        with _writing():
            if comment:
                url = f"{self.repo.url}/issues/comments/{comment}/reactions"
                self.repo.requester.requestJsonAndCheck("POST", url, input={"content": content})
            else:
                self.repo.get_issue(issue).create_reaction(content)

    def graphql(self, query: str, variables: Mapping[str, object]) -> dict[str, Any]:
        """The data of a GraphQL query, asked again where the server fails; an error in the answer is a refusal."""
        for last in (False, False, True):
            try:
                with _writing():  # a POST, which PyGithub doesn't repeat
                    _, answer = self._github.requester.graphql_query(query, dict(variables))
                    data: dict[str, Any] = answer["data"]
                    return data
            except UnknownOutcomeError:
                if last:
                    raise
        raise AssertionError("unreachable")

    def _get(self, url: str) -> dict[str, Any]:
        with _translated():
            _, answer = self._github.requester.requestJsonAndCheck("GET", url)
        found: dict[str, Any] = answer
        return found


class GithubForge:
    """One issue of a repository; implements the port ``Forge``."""

    def __init__(self, repo: Repo, issue: int, redact: Callable[[str], str] = str) -> None:
        """Write about ``issue``; every text passes ``redact`` on its way out."""
        self._at = repo
        self._number = issue
        self._redact = redact

    # --- comments

    def find_comment(self, marker: str) -> Posted | None:
        """Our oldest comment that ends with the marker."""
        with _translated():
            for comment in self._issue.get_comments():
                if self._ours(comment.user, comment.body, marker):
                    return Posted(id=comment.id, url=comment.html_url, body=comment.body)
        return None

    def create_comment(self, body: str) -> Posted:
        """Comment on the issue."""
        with _writing():
            url = f"{self._at.repo.url}/issues/{self._number}/comments"
            made = self._send("POST", url, {"body": body})
            return Posted(id=int(made["id"]), url=str(made["html_url"]))

    def edit_comment(self, comment_id: int, body: str) -> None:
        """Replace a comment's text."""
        with _writing():
            url = f"{self._at.repo.url}/issues/comments/{comment_id}"
            self._send("PATCH", url, {"body": body})

    # --- the pull request

    def find_pull_request(self, branch: str) -> Posted | None:
        """The open pull request of our branch."""
        with _translated():
            head = f"{self._at.name.partition('/')[0]}:{branch}"
            for pull in self._at.repo.get_pulls(state="open", head=head):
                return Posted(id=pull.number, url=pull.html_url, body=pull.body or "")
        return None

    def create_pull_request(self, *, branch: str, base: str, title: str, body: str, draft: bool) -> Posted:
        """Open a pull request."""
        with _writing():
            asked = {"base": base, "head": branch, "title": title, "body": body, "draft": draft}
            made = self._send("POST", f"{self._at.repo.url}/pulls", asked)
            return Posted(id=int(made["number"]), url=str(made["html_url"]))

    def edit_pull_request(self, number: int, *, body: str) -> None:
        """Replace a pull request's body."""
        with _writing():
            url = f"{self._at.repo.url}/pulls/{number}"
            self._send("PATCH", url, {"body": body})

    def set_draft(self, number: int, *, draft: bool) -> None:
        """Mark a pull request ready for review, or a draft again; nothing where it is so already."""
        with _writing():
            pull = self._at.repo.get_pull(number)
            if pull.draft and not draft:
                pull.mark_ready_for_review()
            elif draft and not pull.draft:
                pull.convert_to_draft()

    def ask_review(self, number: int, login: str) -> None:
        """Request a person's review."""
        with _writing():
            url = f"{self._at.repo.url}/pulls/{number}/requested_reviewers"
            self._send("POST", url, {"reviewers": [login]})

    # --- reviews

    def find_review(self, number: int, marker: str) -> Posted | None:
        """Our review that ends with the marker."""
        with _translated():
            for review in self._at.repo.get_pull(number).get_reviews():
                if self._ours(review.user, review.body, marker):
                    return Posted(id=review.id, url=review.html_url, body=review.body)
        return None

    def create_review(self, number: int, *, commit: str, body: str, comments: Sequence[Mapping[str, object]]) -> Posted:
        """Review a commit; the event is always ``COMMENT``, since GitHub refuses others on one's own work."""
        asked = {"commit_id": commit, "body": body, "event": "COMMENT", "comments": list(comments)}
        with _writing():
            url = f"{self._at.repo.url}/pulls/{number}/reviews"
            made = self._send("POST", url, asked)
            return Posted(id=int(made["id"]), url=str(made["html_url"]))

    # --- labels and statuses

    def set_status(self, commit: str, *, state: str, description: str, url: str) -> None:
        """Set our commit status."""
        asked = {"state": state, "description": description, "target_url": url, "context": CONTEXT}
        with _writing():
            where = f"{self._at.repo.url}/statuses/{commit}"
            self._send("POST", where, asked)

    def set_label(self, label: str | None) -> None:
        """Leave exactly this one of our labels on the issue, or none; the trigger label is people's."""
        with _writing():
            there = {found.name for found in self._issue.get_labels()}
            if label and label not in there:
                self._make_label(label)
                self._issue.add_to_labels(label)
            for other in sorted(there & set(OUR_LABELS) - {label}):
                _unless_missing(self._issue.remove_from_labels, other)

    def _make_label(self, label: str) -> None:
        """Create the label with its colour; that it exists already is no error."""
        try:
            self._at.repo.create_label(label, COLOURS.get(label, NEUTRAL), "Set by autobuild; not a trigger.")
        except GithubException as exc:
            if exc.status != 422:  # noqa: PLR2004  already_exists
                raise

    # --- helpers

    def _send(self, method: str, url: str, asked: Mapping[str, object]) -> dict[str, Any]:
        """One write; no secret leaves in it, whoever wrote the text."""
        clean = json.loads(self._redact(json.dumps(asked)))
        _, made = self._at.repo.requester.requestJsonAndCheck(method, url, input=clean)
        answer: dict[str, Any] = made
        return answer

    @cached_property
    def _issue(self) -> Any:  # noqa: ANN401  PyGithub's Issue
        with _translated():
            return self._at.repo.get_issue(self._number)

    def _ours(self, user: Any, body: str | None, marker: str) -> bool:  # noqa: ANN401  PyGithub's NamedUser
        """Marker and author: anyone can type a marker. REST writes a bot's login with ``[bot]``, GraphQL may not.

        An account that was deleted may be nobody.
        """
        marked = user is not None and (body or "").rstrip().endswith(marker)
        return marked and _bare(user.login) == _bare(self._at.viewer[0])


def _bare(login: str) -> str:
    return login.removesuffix("[bot]").lower()


def _unless_missing(call: Any, *args: object) -> None:  # noqa: ANN401  any method of PyGithub
    try:
        call(*args)
    except GithubException as exc:
        if exc.status != NOT_FOUND:
            raise


@contextmanager
def _translated() -> Iterator[None]:
    """PyGithub's and the network's errors as ours, for reads."""
    try:
        yield
    except GithubException as exc:
        raise _refusal(exc) from exc
    except requests.RequestException as exc:
        raise ForgeError(f"GitHub could not be reached: {type(exc).__name__}.", "Try again in a while.") from exc
    except NONSENSE as exc:
        raise ForgeError(f"GitHub's answer makes no sense: {type(exc).__name__}.", "Try again in a while.") from exc


@contextmanager
def _writing() -> Iterator[None]:
    """The same for writes, where a server's error or a lost connection leaves the outcome open."""
    try:
        yield
    except GithubException as exc:
        if exc.status >= SERVER_ERROR:
            raise UnknownOutcomeError(f"GitHub answered {exc.status}: {_words(exc)}") from exc
        raise _refusal(exc) from exc
    except requests.RequestException as exc:
        raise UnknownOutcomeError(f"The connection to GitHub broke: {type(exc).__name__}.") from exc
    except NONSENSE as exc:
        raise UnknownOutcomeError(f"GitHub's answer makes no sense: {type(exc).__name__}.") from exc


def _refusal(exc: GithubException) -> AuthError | RefusedError:
    if exc.status == UNAUTHORISED:
        return AuthError("GitHub does not accept the token (401).", "Check `github-token`; it may have expired.")
    return RefusedError(exc.status, _words(exc))


def _words(exc: GithubException) -> str:
    """GitHub's own words, its list of errors included (items are strings or objects)."""
    data = exc.data if isinstance(exc.data, dict) else {}
    found = data.get("errors") or []
    errors = found if isinstance(found, list) else [found]
    details = [str(error.get("message") or error) if isinstance(error, dict) else str(error) for error in errors]
    return " ".join([str(exc.message or data.get("message") or f"HTTP {exc.status}"), *details])
