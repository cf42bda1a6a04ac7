"""A GitHub on loopback: stateful, refusing what GitHub refuses, checked against GitHub's own descriptions."""

from simulators.github.events import Event
from simulators.github.hub import GitHub
from simulators.github.repository import Repository
from simulators.github.server import Fault, Request
from simulators.github.state import Comment, Issue, Pull, Review, ReviewComment, User

__all__ = [
    "Comment",
    "Event",
    "Fault",
    "GitHub",
    "Issue",
    "Pull",
    "Repository",
    "Request",
    "Review",
    "ReviewComment",
    "User",
]
