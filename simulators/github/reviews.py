"""Endpoints of reviews and of the comments on lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from simulators.github import refusals, render
from simulators.github.call import Answer, Call, endpoint
from simulators.github.issues import check_length, listed
from simulators.github.state import ACTIONS, Place, Pull, Review, ReviewComment, Thread, User

if TYPE_CHECKING:
    from simulators.github.hub import GitHub

Json = Any
STATES = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
    None: "PENDING",
}
OWN = {"APPROVE": "approve", "REQUEST_CHANGES": "request changes on"}


@endpoint("pulls/create-review", "pull_requests")
def create_review(call: Call) -> Json:
    call.repo.refresh()
    pull, event, body = call.pull, call.body.get("event"), call.body.get("body") or ""
    check_event(call, pull, event, body)
    commit = checked_commit(call, pull, "PullRequestReview")
    places = checked_places(call, pull, commit)
    made = Review(
        state=STATES[event],
        commit_id=commit,
        submitted_at=call.hub.now() if event else None,
        **call.hub.written(call.user.login, body),
    )
    pull.reviews.append(made)
    for where, text in places:
        add_thread(call, where, text, made)
    return render.review(call.repo, pull.number, made)


def check_event(call: Call, pull: Pull, event: str | None, body: str) -> None:
    check_length(body, "PullRequestReview")
    if event == "APPROVE" and call.user.login == ACTIONS and not call.repo.actions_may_open_pulls:
        raise refusals.actions_may_not_approve()
    if event in OWN and pull.user is call.user:
        raise refusals.own_pull(OWN[event])
    if event in {"COMMENT", "REQUEST_CHANGES"} and not body.strip():
        raise refusals.review_without_body()
    if any(review.user is call.user and review.state == "PENDING" for review in pull.reviews):
        raise refusals.pending_review()


def checked_commit(call: Call, pull: Pull, resource: str) -> str:
    """The commit the review is on; it must be one of the pull request's."""
    commit: str = call.body.get("commit_id") or pull.head_sha
    if commit not in call.repo.git.commits(pull.base_sha, pull.head_sha):
        raise refusals.commit_outside_pull(resource)
    return commit


def checked_places(call: Call, pull: Pull, commit: str) -> list[tuple[Place, str]]:
    """Place and text of each comment. All or nothing: one bad place and no review (max-sixty/tend#252)."""
    comments = call.body.get("comments", ())
    found = [(place(call, pull, commit, comment), comment["body"]) for comment in comments]
    faults = [where for where, _ in found if isinstance(where, str)]
    if faults:
        raise refusals.unresolved(faults)
    for _, body in found:
        check_length(body, "PullRequestReviewComment")
    return [(where, body) for where, body in found if isinstance(where, Place)]


def place(call: Call, pull: Pull, commit: str, comment: Mapping[str, Any]) -> Place | str:
    """Where the comment stands, the whole of its range in one hunk; else what GitHub says about it."""
    path, line, side = comment["path"], comment.get("line", 0), comment.get("side", "RIGHT")
    start, start_side = comment.get("start_line"), comment.get("start_side", side)
    file = next((file for file in call.repo.diff_of(pull, commit) if file.path == path), None)
    if file is None:
        return "Path could not be resolved"
    hunk = file.hunk(line, side)
    if hunk is None:
        return "Line could not be resolved"
    if start is None:
        start_side = None
    elif start not in hunk.lines(start_side) or (start >= line and start_side == side):
        return "Start line could not be resolved"
    return Place(
        commit_id=commit,
        path=path,
        line=line,
        side=side,
        start_line=start,
        start_side=start_side,
        hunk=hunk.text,
    )


def add_thread(call: Call, where: Place, body: str, review: Review | None) -> ReviewComment:
    made = ReviewComment(review=review, **vars(where), **call.hub.written(call.user.login, body))
    call.pull.threads.append(Thread(comments=[made], **call.hub.thing()))
    return made


@endpoint("pulls/list-reviews", "pull_requests")
def list_reviews(call: Call) -> Answer:
    visible = [
        review for review in call.pull.reviews if review.state != "PENDING" or (call.token and review.user is call.user)
    ]
    return listed(call, visible, lambda repo, review: render.review(repo, call.pull.number, review))


@endpoint("pulls/get-review", "pull_requests")
def get_review(call: Call) -> Json:
    return render.review(call.repo, call.pull.number, the_review(call))


@endpoint("pulls/list-comments-for-review", "pull_requests")
def list_comments_of_review(call: Call) -> Answer:
    review = the_review(call)
    return listed_comments(call, [comment for comment in call.pull.review_comments if comment.review is review])


@endpoint("pulls/list-review-comments", "pull_requests")
def list_review_comments(call: Call) -> Answer:
    return listed_comments(call, sorted(call.pull.review_comments, key=lambda comment: comment.id))


def listed_comments(call: Call, comments: list[ReviewComment]) -> Answer:
    return listed(call, comments, lambda repo, comment: render.review_comment(repo, call.pull, comment))


@endpoint("pulls/create-review-comment", "pull_requests")
def create_review_comment(call: Call) -> Answer:
    call.repo.refresh()
    pull = call.pull
    check_length(call.body["body"], "PullRequestReviewComment")
    commit = checked_commit(call, pull, "PullRequestReviewComment")
    found = place(call, pull, commit, call.body)
    if isinstance(found, str):
        raise refusals.path_outside_diff() if found.startswith("Path") else refusals.line_outside_diff()
    made = add_thread(call, found, call.body["body"], None)
    return Answer(201, render.review_comment(call.repo, pull, made))


@endpoint("pulls/create-reply-for-review-comment", "pull_requests")
def create_reply(call: Call) -> Answer:
    """Only to the first comment of a thread, as GitHub documents."""
    wanted = int(call.parameters["comment_id"])
    thread = next((thread for thread in call.pull.threads if thread.comments[0].id == wanted), None)
    if thread is None:
        raise refusals.not_found()
    check_length(call.body["body"], "PullRequestReviewComment")
    return Answer(
        201,
        render.review_comment(call.repo, call.pull, reply(call.hub, thread, call.user, call.body["body"])),
    )


def reply(hub: GitHub, thread: Thread, user: User, body: str) -> ReviewComment:
    first = thread.comments[0]
    where = {field.name: getattr(first, field.name) for field in fields(Place)}
    made = ReviewComment(review=None, in_reply_to=first, **where, **hub.written(user.login, body))
    thread.comments.append(made)
    return made


def the_review(call: Call) -> Review:
    wanted = int(call.parameters["review_id"])
    for review in call.pull.reviews:
        if review.id == wanted:
            return review
    raise refusals.not_found()
