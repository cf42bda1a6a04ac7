"""An event of GitHub becomes one request of a closed set; and who may ask for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from autobuild_action.model import Trigger
from autobuild_action.quote import code

T = TypeVar("T")

MAX_TEXT = 4_000
COMMAND = re.compile(r"/autobuild(?=\s|\Z)", re.IGNORECASE)
"""The word in any case, as in the workflow, where ``startsWith`` does not see case either."""
OPTION = re.compile(r"(?<!\S)--[A-Za-z][\w-]*")
END_OF_OPTIONS = re.compile(r"(?<!\S)--(?!\S)")
NUMBER = re.compile(r"#?([1-9][0-9]{0,9})")
LATER = ("approve", "stop", "status")
"""Verbs of later versions: answered with the help text, not taken for typing errors."""

WRITERS = ("admin", "maintain", "write")
STRANGERS = ("read", "none")
OTHER_ROLES = ("triage", *STRANGERS)
NOT_FOUND = 404
WORDS = {str: "text", int: "a whole number"}


@dataclass(frozen=True, kw_only=True)
class Sender:
    """Who caused the event; ``type`` is GitHub's word: ``User``, ``Bot`` and others."""

    login: str
    type: str
    id: int


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The event's own copy of the issue: what the sender had before them, whatever is edited later."""

    number: int
    title: str
    body: str
    state: str
    labels: tuple[str, ...]
    updated_at: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Build:
    """Start on an issue; ``snapshot`` is None for a dispatch, which carries no issue."""

    issue: int
    sender: Sender
    trigger: Trigger
    snapshot: Snapshot | None


@dataclass(frozen=True, kw_only=True)
class Retry:
    """Go on with an issue, or with the issue behind a pull request; ``text`` is guidance for both roles."""

    number: int
    on_pull_request: bool
    sender: Sender
    trigger: Trigger
    text: str
    snapshot: Snapshot | None


@dataclass(frozen=True, kw_only=True)
class Help:
    """Answer with the help text; ``why`` names what was not understood, empty where help was asked for."""

    number: int
    on_pull_request: bool
    sender: Sender
    trigger: Trigger
    why: str


@dataclass(frozen=True, kw_only=True)
class Ignored:
    """Nothing for us; ``why`` goes to the log."""

    why: str


Request = Build | Retry | Help | Ignored


class _MalformedError(Exception):
    """The payload lacks something that GitHub always sends."""


def parse(name: str, payload: Mapping[str, object], *, label: str) -> Request:
    """The request in the event ``name`` with this payload; ``label`` is the configured trigger label.

    Never raises: what is not for us, and what GitHub would not send, is ``Ignored`` with the reason. Whether
    the sender may ask is not decided here but by :func:`authorise`. ``Trigger.at`` is the time of the event
    as GitHub writes it, empty for a dispatch, whose payload has none.
    """
    try:
        match name:
            case "issues":
                return _labeled(payload, label)
            case "issue_comment":
                return _commented(payload)
            case "workflow_dispatch":
                return _dispatched(payload)
            case _:
                return Ignored(why=f"the event {code(name)} starts nothing")
    except _MalformedError as exc:
        return Ignored(why=str(exc))


# --- the three events -------------------------------------------------------------------------------


def _labeled(payload: Mapping[str, object], label: str) -> Request:
    action = _get(payload, "action", str)
    if action != "labeled":
        return Ignored(why=f"the issue was {code(action)}; only a new label starts a run")
    given = _get(payload, "label.name", str)
    if given.casefold() != label.casefold():
        return Ignored(why=f"the label is {code(given)}, not {code(label)}")
    snapshot = _snapshot(payload)
    if _on_pull_request(payload):
        return Ignored(why=f"#{snapshot.number} is a pull request; the label counts on issues only")
    if snapshot.state != "open":
        return Ignored(why="the issue is closed; reopen it first")
    sender = _sender(payload)
    trigger = Trigger(kind="label", id=0, login=sender.login, at=snapshot.updated_at)
    return Build(issue=snapshot.number, sender=sender, trigger=trigger, snapshot=snapshot)


def _commented(payload: Mapping[str, object]) -> Request:
    action = _get(payload, "action", str)
    if action != "created":
        return Ignored(why=f"a comment was {code(action)}; only new comments count")
    body = _get(payload, "comment.body", str).replace("\r\n", "\n").replace("\r", "\n")
    begin = COMMAND.match(body)
    if begin is None:
        return Ignored(why="the comment does not begin with `/autobuild`")
    sender = _sender(payload)
    trigger = Trigger(
        kind="comment",
        id=_get(payload, "comment.id", int),
        login=sender.login,
        at=_get(payload, "comment.created_at", str),
    )
    snapshot, on_pull_request = _snapshot(payload), _on_pull_request(payload)
    text, why = _command(body[begin.end() :])
    if why is not None:
        return Help(number=snapshot.number, on_pull_request=on_pull_request, sender=sender, trigger=trigger, why=why)
    return Retry(
        number=snapshot.number,
        on_pull_request=on_pull_request,
        sender=sender,
        trigger=trigger,
        text=text,
        snapshot=None if on_pull_request else snapshot,
    )


def _dispatched(payload: Mapping[str, object]) -> Request:
    inputs = payload.get("inputs")
    given = inputs.get("issue") if isinstance(inputs, Mapping) else None
    if given is None or not str(given).strip():
        return Ignored(why="the dispatch names no issue: give its number in the input `issue`")
    number = NUMBER.fullmatch(str(given).strip())
    if number is None:
        return Ignored(why=f"the input `issue` must be the number of an issue, not {code(given)}")
    sender = _sender(payload)
    trigger = Trigger(kind="dispatch", id=0, login=sender.login, at="")
    return Build(issue=int(number[1]), sender=sender, trigger=trigger, snapshot=None)


# --- the words of a comment -------------------------------------------------------------------------


def _command(rest: str) -> tuple[str, str | None]:
    """The text of a retry, and why it is none: what follows ``/autobuild`` (design §9.10)."""
    line, _, following = rest.partition("\n")
    verb, arguments = [*line.split(maxsplit=1), "", ""][:2]
    why = _not_understood(verb.casefold(), arguments)
    if why is not None:
        return "", why
    end = END_OF_OPTIONS.match(arguments)
    text = f"{arguments[end.end() :] if end else arguments}\n{following}".strip()
    if len(text) > MAX_TEXT:
        return "", f"the text has {len(text):,} characters; {MAX_TEXT:,} is the most"
    return text, None


def _not_understood(verb: str, arguments: str) -> str | None:
    match verb:
        case "retry":
            option = OPTION.search(END_OF_OPTIONS.split(arguments, maxsplit=1)[0])
            if option is None:
                return None
            return f"`retry` has no option {code(option[0])}; write `--` before text with leading dashes"
        case "help":
            return ""
        case "":
            return "a command is missing after `/autobuild`"
        case _ if verb in LATER:
            return f"the command {code(verb)} comes with a later version"
        case _:
            return f"there is no command {code(verb)}"


# --- the payload ------------------------------------------------------------------------------------


def _get(payload: object, path: str, kind: type[T]) -> T:
    """The value at a dotted path; a JSON true is no number, whatever Python says."""
    value = payload
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            raise _MalformedError(f"the event has no `{path}`")
        value = value[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _MalformedError(f"`{path}` of the event is not {WORDS[kind]}")
    return value


def _sender(payload: Mapping[str, object]) -> Sender:
    return Sender(
        login=_get(payload, "sender.login", str),
        type=_get(payload, "sender.type", str),
        id=_get(payload, "sender.id", int),
    )


def _snapshot(payload: Mapping[str, object]) -> Snapshot:
    return Snapshot(
        number=_get(payload, "issue.number", int),
        title=_get(payload, "issue.title", str),
        body=_body(payload),
        state=_get(payload, "issue.state", str),
        labels=_labels(payload),
        updated_at=_get(payload, "issue.updated_at", str),
        url=_get(payload, "issue.html_url", str),
    )


def _body(payload: Mapping[str, object]) -> str:
    """The issue's body; GitHub sends null for one that was left empty."""
    issue = payload.get("issue")
    if isinstance(issue, Mapping) and "body" in issue and issue["body"] is None:
        return ""
    return _get(payload, "issue.body", str)


def _labels(payload: Mapping[str, object]) -> tuple[str, ...]:
    issue = payload.get("issue")
    labels = issue.get("labels") if isinstance(issue, Mapping) else None
    if not isinstance(labels, list):
        raise _MalformedError("the event has no `issue.labels`")
    return tuple(_get(item, "name", str) for item in labels)


def _on_pull_request(payload: Mapping[str, object]) -> bool:
    """True where the issue is the conversation of a pull request (facts/github.md §5)."""
    issue = payload.get("issue")
    return isinstance(issue, Mapping) and issue.get("pull_request") is not None


# --- who may ask ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RoleAnswer:
    """What GitHub answered on ``GET …/collaborators/LOGIN/permission``.

    ``role`` is ``role_name`` (a repository may have roles of its own), ``permission`` the base permission
    (``admin``, ``write``, ``read``, ``none``). A refusal or a lost connection has ``error`` in GitHub's own
    words and the HTTP ``status``, 0 where there was no answer. 404 says that the login is no user here.
    """

    role: str | None
    permission: str | None = None
    error: str = ""
    status: int = 0


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """The sender may start runs here, by this role."""

    role: str


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The sender may not; ``why`` is a whole answer, ``answer`` how it is given."""

    why: str
    answer: Literal["comment", "reaction"]


ASK_A_WRITER = "Ask someone with write access to set the label again or to comment `/autobuild retry`."


def authorise(sender: Sender, answer: RoleAnswer, *, private: bool) -> Allowed | Refused:
    """Decide whether the sender may start a run: a person with write access, as the API says.

    ``author_association`` is never asked, since it says nothing about access (facts/github.md §5). Strangers
    on a public repository get a reaction only, so that nobody can make the bot post.
    """
    who = code(sender.login)
    if sender.type != "User" or sender.login.endswith("[bot]"):
        why = f"{who} is not a person, and only people can start a run. {ASK_A_WRITER}"
        return Refused(why=why, answer="comment")
    role = answer.role or answer.permission  # servers that know no role_name send the permission alone
    stranger = answer.status == NOT_FOUND or (not answer.error and role in STRANGERS)
    if role is not None and not answer.error and not stranger and _writes(role, answer.permission):
        return Allowed(role=role)
    why = _no_access(who) if stranger else _no_write(who, role, answer.error)
    return Refused(why=why, answer="reaction" if stranger and not private else "comment")


def _writes(role: str, permission: str | None) -> bool:
    """True for GitHub's own roles that write; any other role counts by the one it is based on."""
    return role in WRITERS or (role not in OTHER_ROLES and permission in WRITERS)


def _no_access(who: str) -> str:
    return f"{who} has no write access to this repository, which is needed to start a run. {ASK_A_WRITER}"


def _no_write(who: str, role: str | None, error: str) -> str:
    if error or role is None:
        words = f": {code(error, limit=200)}" if error else ""
        return (
            f"GitHub did not say what {who} may do here{words}, so nothing was started. Try again in some "
            "minutes; if it stays so, check that the token given to the action may read this repository."
        )
    if role == "triage":
        return f"{who} may set labels here but not write, and a run needs write access. {ASK_A_WRITER}"
    return f"{who} has the role {code(role)} here, without the write access that a run needs. {ASK_A_WRITER}"
