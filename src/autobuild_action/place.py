"""Where things are on GitHub: the links, markers and keys of everything that is posted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from autobuild_action.journal import Journal


@dataclass(frozen=True)
class Place:
    """A repository on a server; builds the links to what is in it."""

    server_url: str
    repository: str

    @property
    def url(self) -> str:
        """The repository."""
        return f"{self.server_url.rstrip('/')}/{self.repository}"

    def issue(self, number: int) -> str:
        """An issue."""
        return f"{self.url}/issues/{number}"

    def pull(self, number: int) -> str:
        """A pull request."""
        return f"{self.url}/pull/{number}"

    def commit(self, sha: str) -> str:
        """A commit."""
        return f"{self.url}/commit/{quote(sha, safe='')}"

    def tree(self, branch: str) -> str:
        """The files of a branch."""
        return f"{self.url}/tree/{quote(branch, safe='/')}"

    def compare(self, base: str, branch: str) -> str:
        """The page that opens a pull request from ``branch`` to ``base``."""
        return f"{self.url}/compare/{quote(base, safe='/')}...{quote(branch, safe='/')}?expand=1"

    def blob(self, sha: str, path: str, line: int | None = None, end_line: int | None = None) -> str | None:
        """A file at a commit; None for a path that could lead out of the repository."""
        parts = path.split("/")
        if not path or "\\" in path or any(part in ("", ".", "..") for part in parts):
            return None
        try:
            quoted = quote(path, safe="/")
        except UnicodeEncodeError:  # a lone surrogate: no such address
            return None
        until = f"-L{end_line}" if line and end_line and end_line > line else ""
        return f"{self.url}/blob/{quote(sha, safe='')}/{quoted}" + (f"#L{line}{until}" if line else "")


def marker(journal_id: str, key: str) -> str:
    """The last line of each text of ours, by which it is found again."""
    return f"<!-- autobuild:1 {journal_id} {key} -->"


def status_key(attempt: int) -> str:
    """The key of an attempt's status comment."""
    return f"{attempt}/0/status"


def review_key(attempt: int, turn: int) -> str:
    """The key of a turn's review."""
    return f"{attempt}/{turn}/review"


def issue_key(attempt: int, turn: int, issue_id: str) -> str:
    """The key of an inline comment of a review."""
    return f"{attempt}/{turn}/{issue_id}"


def report_key(attempt: int) -> str:
    """The key of an attempt's blocked report."""
    return f"{attempt}/0/report"


def approved_key(attempt: int) -> str:
    """The key of the comment that stands in for a pull request that we may not open."""
    return f"{attempt}/0/approved"


def pull_request_key(journal: Journal) -> str:
    """The key of the pull request: that of its creation, or of the one to come."""
    keys = [getattr(fact, "key", "") for fact in journal.facts]
    known = [key for key in keys if key.endswith("/pull-request")]
    if known:
        return known[-1]
    turns = journal.attempt.turns
    return f"{journal.attempt.number}/{turns[-1].number if turns else 0}/pull-request"
