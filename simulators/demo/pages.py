"""The pages of the simulated GitHub as Markdown: what a person would read in the browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from simulators.github import Pull, Repository, Review, ReviewComment

FOLDED = re.compile(r"<details><summary>(?P<title>[^<]*)</summary>(?P<text>.*?)</details>", re.DOTALL)
LINK = re.compile(r"\[(?P<words>[^]]*)\]\(http://127\.0\.0\.1:[^)]*\)")
FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
MARKER = re.compile(r"\s*<!-- autobuild:.*?-->\s*", re.DOTALL)
TAG = re.compile(r"</?(sub|sup)>")


@dataclass(frozen=True, kw_only=True)
class Section:
    """A titled part of a page."""

    title: str
    text: str


def pull_request(repo: Repository, pull: Pull) -> Iterator[Section]:
    """Everything on a pull request's page, in the order in which it is read."""
    yield Section(title=f"Pull request #{pull.number}: {pull.title}", text=f"{_facts(pull)}\n\n{pull.body}")
    for review in pull.reviews:
        yield _review(pull, review)
    yield Section(title="Commits", text=_commits(repo, pull))
    yield Section(title="Commit status", text=_statuses(repo, pull))


def below(repo: Repository, number: int) -> Iterator[Section]:
    """The comments below an issue, and its labels."""
    labels = " ".join(f"`{name}`" for name in repo.labels_of(number))
    for comment in repo.comments(number):
        yield Section(title=f"Comment of {comment.user.login} on issue #{number}", text=comment.body)
    yield Section(title=f"Labels of issue #{number}", text=labels)


def state(pull: Pull) -> str:
    if pull.merged_at:
        return "merged"
    return f"{pull.state}, {'a draft' if pull.draft else 'ready for review'}"


def _facts(pull: Pull) -> str:
    asked = [f"review requested from {user.login}" for user in pull.requested_reviewers]
    parts = [f"**{state(pull)}**", f"`{pull.head}` into `{pull.base}`", f"by {pull.user.login}", *asked]
    return " · ".join(parts)


def _review(pull: Pull, review: Review) -> Section:
    """A review with its comments, each under the place in the code where it stands."""
    text = review.body
    for comment in pull.review_comments:
        if comment.review is review:
            text += f"\n\n**Comment on `{comment.path}:{comment.line}`**\n\n{_code(comment)}\n\n{comment.body}"
    title = f"Review of {review.commit_id[:7]} by {review.user.login} ({review.state.lower()})"
    return Section(title=title, text=text)


def _code(comment: ReviewComment, most: int = 3) -> str:
    """The lines of the diff down to the one that a comment is on, as GitHub shows them above it."""
    head, *lines = comment.hunk.splitlines()
    number = int(head.partition("+")[2].partition(",")[0]) - 1
    end = 0
    while number < comment.line and end < len(lines):
        number += not lines[end].startswith("-")
        end += 1
    return "```diff\n" + "\n".join(lines[max(0, end - most) : end]) + "\n```"


def _commits(repo: Repository, pull: Pull) -> str:
    span = f"{pull.base_sha}..{pull.head_sha}"
    log = repo.git("log", "--reverse", "--stat", "--format=%h %s (%an)", span)
    return f"```text\n{log}\n```"


def _statuses(repo: Repository, pull: Pull) -> str:
    shas = repo.git("rev-list", "--reverse", f"{pull.base_sha}..{pull.head_sha}").split()
    found = [(sha, status) for sha in shas for status in repo.statuses(sha)[:1]]
    return "\n".join(f"- `{sha[:7]}` {one.context}: **{one.state}**, {one.description}" for sha, one in found)


def abridged(text: str, where: str = "") -> str:
    """A text for the terminal: folded blocks as one line each, no markers, no links into the simulator."""

    def fold(found: re.Match[str]) -> str:
        return f"▸ {found['title']}: {len(found['text'].strip()):,} characters, in {where}"

    text = FRONT_MATTER.sub(r"```yaml\n\1\n```\n\n", text)
    text = TAG.sub("", MARKER.sub("\n\n", FOLDED.sub(fold, text)))
    text = text.replace("```suggestion\n", "Suggested change:\n\n```python\n")
    return LINK.sub(lambda found: found["words"], text).strip()
