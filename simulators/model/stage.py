"""Which reply is due: finds a request's session and step in the script and notes what was not scripted."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from .request import Request
from .script import Answer, Fault, Refuse, Reply, Script, Session, Spoken, Use, answer_of

RoleFinder = Callable[[Request], str | None]


class _UnscriptedError(Exception):
    """The script has nothing for this request."""


@dataclass(kw_only=True)
class _Part:
    """A session of the script that a client has taken."""

    role: str
    number: int
    session: Session
    steps: list[list[Reply]]
    asked: Counter[int] = field(default_factory=Counter)

    def __str__(self) -> str:
        return f"{self.role} session {self.number}"


class Stage:
    """Plays a script to any number of clients at a time."""

    def __init__(self, script: Script, find_role: RoleFinder) -> None:
        """Nothing is played yet."""
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self._script = script
        self._find_role = find_role
        self._parts: dict[str, _Part] = {}
        self._lock = Lock()

    def note(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)

    def blame(self, violation: str) -> None:
        with self._lock:
            if violation not in self.violations:  # clients retry
                self.violations.append(violation)

    def play(self, request: Request) -> tuple[Request, Answer | Fault]:
        """Give the request with its role and session, and its reply: a 400 where nothing is scripted."""
        try:
            part, new = self._take(request)
        except _UnscriptedError as error:
            self.note(request)
            return request, self._unscripted(str(error))
        request = replace(request, role=part.role, session=part.number)
        self.note(request)
        if new:
            self._check_text(part, request)
        try:
            return request, self._reply(part, request)
        except _UnscriptedError as error:
            return request, self._unscripted(f"{part}, step {request.step + 1}: {error}")

    @property
    def unplayed(self) -> list[str]:
        """Sessions that nobody started, and replies that nobody asked for."""
        with self._lock:
            parts = list(self._parts.values())
        started = {(part.role, part.number) for part in parts}
        never = [
            f"{role} session {number}: never started"
            for role, sessions in self._script.roles.items()
            for number in range(1, len(sessions) + 1)
            if (role, number) not in started
        ]
        return never + [line for part in parts for line in _left_over(part)]

    def _unscripted(self, why: str) -> Refuse:
        self.blame(why)
        return Refuse(status=400, error_type="invalid_request_error", message=f"not scripted: {why}")

    def _take(self, request: Request) -> tuple[_Part, bool]:
        """Find the session that this client has, or give it the next one of its role."""
        key = request.session_id
        if key is None:
            raise _UnscriptedError("a request without the header X-Claude-Code-Session-Id")
        with self._lock:
            if key in self._parts:
                return self._parts[key], False
            role = self._find_role(request) or "unknown role"
            sessions = self._script.roles.get(role, ())
            number = 1 + sum(part.role == role for part in self._parts.values())
            if number > len(sessions):
                raise _UnscriptedError(f"{role}: asked for session {number}, {len(sessions)} scripted")
            session = sessions[number - 1]
            part = _Part(role=role, number=number, session=session, steps=_steps(session.replies))
            self._parts[key] = part
            return part, True

    def _check_text(self, part: _Part, request: Request) -> None:
        text = f"{request.system_text}\n{request.text}"
        for wanted in part.session.expect:
            if wanted not in text:
                self.blame(f"{part}: the first request lacks {wanted!r}")
        for unwanted in part.session.forbid:
            if unwanted in text:
                self.blame(f"{part}: the first request holds {unwanted!r}")

    def _reply(self, part: _Part, request: Request) -> Answer | Fault:
        if request.step >= len(part.steps):
            raise _UnscriptedError(f"{len(part.steps)} answers scripted")
        with self._lock:
            earlier = part.asked[request.step]
            part.asked[request.step] += 1
        reply = _due(part.steps[request.step], earlier)
        if isinstance(reply, Fault):
            return reply
        answer = _speak(reply, request)
        for block in answer.blocks:
            if isinstance(block, Use) and block.offered and block.tool not in request.tools:
                raise _UnscriptedError(
                    f"the tool {block.tool} is not offered, only {', '.join(request.tools) or 'none'}"
                )
        return answer


def _speak(reply: Spoken, request: Request) -> Answer:
    if not callable(reply):
        return answer_of(reply)
    try:
        return answer_of(reply(request))
    except Exception as exc:
        raise _UnscriptedError(f"the script's function failed: {exc!r}") from exc


def _steps(replies: Sequence[Reply]) -> list[list[Reply]]:
    """Split into steps of some faults and an answer: only an answer makes the conversation longer."""
    steps: list[list[Reply]] = [[]]
    for reply in replies:
        steps[-1].append(reply)
        if not isinstance(reply, Fault):
            steps.append([])
    return [step for step in steps if step]


def _due(step: list[Reply], earlier: int) -> Reply:
    """Give the reply to a step asked for `earlier` times; an answer repeats, since clients retry."""
    for reply in step:
        if not isinstance(reply, Fault) or reply.times is None or earlier < reply.times:
            return reply
        earlier -= reply.times
    raise _UnscriptedError("asked again after the last scripted fault")


def _left_over(part: _Part) -> Iterator[str]:
    for index, step in enumerate(part.steps):
        wanted = sum(1 if not isinstance(reply, Fault) else reply.times or 1 for reply in step)
        if part.asked[index] < wanted:
            yield f"{part}, step {index + 1}: asked {part.asked[index]} of {wanted} times"
