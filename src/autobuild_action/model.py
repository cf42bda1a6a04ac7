"""The words of the product as values: frozen, without I/O (docs/design.md, "Words")."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """Who a session plays."""

    PLAYER = "player"
    COACH = "coach"


class Decision(StrEnum):
    """What a verdict, and after it the gate, says."""

    APPROVE = "approve"
    FEEDBACK = "feedback"


class Severity(StrEnum):
    """How much an issue of a verdict weighs; only ``must_fix`` blocks in standard strictness."""

    MUST_FIX = "must_fix"
    SHOULD_FIX = "should_fix"
    NICE_TO_HAVE = "nice_to_have"


class Category(StrEnum):
    """The closed list of kinds of issue a verdict may name."""

    MISSING_REQUIREMENT = "missing_requirement"
    WRONG_BEHAVIOUR = "wrong_behaviour"
    TEST_FAILURE = "test_failure"
    EDGE_CASE = "edge_case"
    SECURITY = "security"
    CODE_QUALITY = "code_quality"
    AMBIGUOUS_REQUIREMENT = "ambiguous_requirement"
    UNSAFE_REQUEST = "unsafe_request"
    OTHER = "other"


class CriterionStatus(StrEnum):
    """What the Coach found of one acceptance criterion."""

    MET = "met"
    NOT_MET = "not_met"
    NOT_TESTED = "not_tested"


class EvidenceKind(StrEnum):
    """What a piece of evidence points at."""

    FILE = "file"
    CHECK = "check"
    RUN = "run"


class PreviousStatus(StrEnum):
    """What became of an issue of an earlier verdict."""

    RESOLVED = "resolved"
    OPEN = "open"
    WITHDRAWN = "withdrawn"


class ClaimStatus(StrEnum):
    """What the Player says of one criterion."""

    DONE = "done"
    PARTLY = "partly"
    NOT_DONE = "not_done"


class CheckResult(StrEnum):
    """Three values, never a bool: a check that said nothing is neither red nor green."""

    PASSED = "passed"
    FAILED = "failed"
    ABSENT = "absent"


class AuditResult(StrEnum):
    """How a claim of the Player compares with what was measured."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNPROVED = "unproved"


class SessionEnd(StrEnum):
    """How a session ended; cut short means its work counts."""

    COMPLETED = "completed"
    CUT_SHORT = "cut_short"
    FAILED = "failed"


class Why(StrEnum):
    """Why a session did not complete; the first three cut short, the others failed."""

    STEPS = "steps"
    TIME = "time"
    BUDGET = "budget"
    AUTH = "auth"
    MODEL = "model"
    REFUSAL = "refusal"
    CRASH = "crash"


class Owner(StrEnum):
    """Who has to act when a rule of the gate is broken."""

    COACH = "coach"
    PLAYER = "player"
    WORLD = "world"


class TaskType(StrEnum):
    """What kind of work an issue asks for."""

    FEATURE = "feature"
    BUGFIX = "bugfix"
    REFACTOR = "refactor"
    TESTING = "testing"
    DOCUMENTATION = "documentation"
    SCAFFOLDING = "scaffolding"


class Mode(StrEnum):
    """How the Player is asked to work: tests first, or as it sees fit."""

    TDD = "tdd"
    STANDARD = "standard"


class Strictness(StrEnum):
    """Whether a ``should_fix`` blocks approval."""

    STANDARD = "standard"
    STRICT = "strict"


class PullRequestMode(StrEnum):
    """When the pull request is created."""

    DRAFT = "draft"
    ON_APPROVAL = "on-approval"


class Level(StrEnum):
    """How strongly a session is kept apart from everything else, strongest first."""

    CONTAINER = "container"
    UID = "uid"
    NONE = "none"


class Result(StrEnum):
    """What a run came to, in one word."""

    APPROVED = "approved"
    BLOCKED = "blocked"
    FAILED = "failed"
    PLANNED = "planned"
    IGNORED = "ignored"


class Reason(StrEnum):
    """Why a run ended."""

    APPROVED = "approved"
    MAX_TURNS = "max_turns"
    STALLED = "stalled"
    NEEDS_CLARIFICATION = "needs_clarification"
    UNSAFE_REQUEST = "unsafe_request"
    BUDGET = "budget"
    TIMEOUT = "timeout"
    STOPPED = "stopped"
    SUPERSEDED = "superseded"
    CONFIGURATION = "configuration"
    ENVIRONMENT = "environment"
    AUTH = "auth"
    MODEL_UNAVAILABLE = "model_unavailable"
    PLAYER_ERROR = "player_error"
    COACH_ERROR = "coach_error"
    INTERNAL = "internal"
    CANCELLED = "cancelled"
    PLANNED = "planned"
    IGNORED = "ignored"


RESULT_OF: dict[Reason, Result] = {
    Reason.APPROVED: Result.APPROVED,
    **dict.fromkeys(
        (
            Reason.MAX_TURNS,
            Reason.STALLED,
            Reason.NEEDS_CLARIFICATION,
            Reason.UNSAFE_REQUEST,
            Reason.BUDGET,
            Reason.TIMEOUT,
            Reason.STOPPED,
            Reason.SUPERSEDED,
        ),
        Result.BLOCKED,
    ),
    **dict.fromkeys(
        (
            Reason.CONFIGURATION,
            Reason.ENVIRONMENT,
            Reason.AUTH,
            Reason.MODEL_UNAVAILABLE,
            Reason.PLAYER_ERROR,
            Reason.COACH_ERROR,
            Reason.INTERNAL,
            Reason.CANCELLED,
        ),
        Result.FAILED,
    ),
    Reason.PLANNED: Result.PLANNED,
    Reason.IGNORED: Result.IGNORED,
}
"""Every reason's result (docs/design.md, "Results")."""


# --- the task ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One acceptance criterion, numbered by us (``AC-1`` …)."""

    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Task:
    """An issue, frozen as the contract of one attempt; both roles get the same ``text``."""

    title: str
    text: str
    criteria: tuple[Criterion, ...]
    sha256: str
    type: TaskType = TaskType.FEATURE
    mode: Mode | None = None
    max_turns: int | None = None
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """What started an attempt: a label, a comment or a dispatch (``id``: the comment's, else 0)."""

    kind: str
    id: int
    login: str
    at: str


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The bounds of one attempt; seconds and US dollars."""

    max_turns: int
    budget_usd: float
    session_seconds: int
    run_seconds: int
    player_steps: int
    coach_steps: int


# --- what the agents say ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The Player's word on one criterion."""

    id: str
    claim: ClaimStatus
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class TestClaim:
    """A test command that the Player says it ran."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

    command: str
    result: CheckResult


@dataclass(frozen=True, kw_only=True)
class Dispute:
    """An issue of an earlier verdict that the Player holds to be wrong."""

    issue: str
    reason: str
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class Report:
    """The Player's claims about its turn. Claims, never facts."""

    summary: str = ""
    criteria: tuple[Claim, ...] = ()
    tests_run: tuple[TestClaim, ...] = ()
    concerns: tuple[str, ...] = ()
    disputed: tuple[Dispute, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EvidenceRef:
    """A pointer that code can resolve: ``path:line``, a check's name or a ledger id."""

    kind: EvidenceKind
    ref: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """The Coach's finding on one criterion."""

    id: str
    status: CriterionStatus
    evidence: tuple[EvidenceRef, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Issue:
    """One thing a verdict (or the gate) asks to change; ``id`` is given by us on acceptance."""

    severity: Severity
    category: Category
    description: str
    id: str = ""
    criterion: str | None = None
    path: str | None = None
    line: int | None = None
    end_line: int | None = None
    suggestion: str | None = None
    replacement: str | None = None

    @property
    def fingerprint(self) -> tuple[str, str | None, str | None]:
        """What makes two issues of different turns the same one."""
        return (self.category.value, self.path, self.criterion)


@dataclass(frozen=True, kw_only=True)
class Previous:
    """The Coach's answer on an issue of an earlier verdict."""

    issue: str
    status: PreviousStatus
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class TestChange:
    """The criterion that, the Coach says, demands a change to an existing test."""

    __test__ = False

    test: str
    criterion: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The Coach's judgement of one commit."""

    decision: Decision
    summary: str
    criteria: tuple[Ruling, ...]
    issues: tuple[Issue, ...] = ()
    previous: tuple[Previous, ...] = ()
    test_changes: tuple[TestChange, ...] = ()

    @property
    def must_fix(self) -> tuple[Issue, ...]:
        """The issues that block."""
        return tuple(issue for issue in self.issues if issue.severity is Severity.MUST_FIX)


# --- what we measure --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Check:
    """One command of the project that decides about a commit; ``seconds`` is its time limit."""

    name: str
    command: str
    required: bool = True
    seconds: int = 900


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What a JUnit report says: tests run, failed (with errors), skipped, and the failed ones' names."""

    run: int
    failed: int
    skipped: int
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CheckRun:
    """A check as measured on one commit, with a bounded piece of its output."""

    name: str
    command: str
    required: bool
    result: CheckResult
    why: str
    exit_code: int | None
    seconds: float
    output: str
    counts: Counts | None = None


@dataclass(frozen=True, kw_only=True)
class AuditRow:
    """One claim of the Player beside what was measured."""

    claim: str
    measured: str
    result: AuditResult


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A path that the path policy kept out of the commit."""

    path: str
    why: str


@dataclass(frozen=True, kw_only=True)
class DiffStat:
    """What the judged commit changes against the base; ``paths`` is capped at 500."""

    files: int
    insertions: int
    deletions: int
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One command that the Coach had run, as recorded by us."""

    id: str
    command: str
    exit_code: int | None
    seconds: float
    output: str


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a session used; ``estimated`` where the model's price is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    estimated: bool = False


@dataclass(frozen=True, kw_only=True)
class Session:
    """How one session of an agent went; ``detail`` is the error's own words where there is one."""

    id: str
    role: Role
    model: str
    end: SessionEnd
    seconds: float
    usage: Usage
    prompt_sha256: str
    why: Why | None = None
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule of the gate and whether it held."""

    name: str
    owner: Owner
    held: bool
    detail: str = ""


# --- facts: what the journal is made of -------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AttemptStarted:
    """A label or a retry started a stretch of turns.

    ``base_commit`` is where the branch left the base, ``start_commit`` the branch's head when the attempt began.
    """

    attempt: int
    trigger: Trigger
    contract: Task
    base_commit: str
    start_commit: str
    limits: Limits
    guidance: str
    config_sha256: str
    isolation: Level
    strictness: Strictness
    pull_request: PullRequestMode


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """The checks on the base commit, before anyone worked; none where the project has no check."""

    checks: tuple[CheckRun, ...]


@dataclass(frozen=True, kw_only=True)
class PlayerEnded:
    """A Player session is over; ``report`` is None where it gave no valid one, ``commands`` are those it ran."""

    turn: int
    session: Session
    report: Report | None
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Committed:
    """The turn's tree is a commit and on the remote."""

    turn: int
    commit: str
    tree: str
    refused: tuple[Refused, ...] = ()
    needs_person: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Unchanged:
    """The Player changed nothing; ``commit`` is the branch's head, None while it has no commit of ours."""

    turn: int
    commit: str | None
    disputes: tuple[Dispute, ...] = ()
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The evidence on one commit."""

    turn: int
    commit: str
    checks: tuple[CheckRun, ...]
    audit: tuple[AuditRow, ...]
    diff: DiffStat


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A Coach session is over; ``verdict`` is None where it gave none that counts, ``faults`` say why."""

    turn: int
    commit: str
    session: Session
    verdict: Verdict | None
    faults: tuple[str, ...]
    ledger: tuple[LedgerEntry, ...]


@dataclass(frozen=True, kw_only=True)
class Decided:
    """The gate's word on a turn; ``issues`` are the ones that the gate itself adds."""

    turn: int
    decision: Decision
    rules: tuple[Rule, ...]
    issues: tuple[Issue, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Intent:
    """Something is about to be created on GitHub; ``key`` is ATTEMPT/TURN/EFFECT."""

    key: str


@dataclass(frozen=True, kw_only=True)
class Done:
    """It was created, or ``refused`` holds GitHub's own words."""

    key: str
    github_id: int | None
    url: str
    refused: str = ""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A person's command was taken up."""

    comment_id: int
    login: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Ended:
    """An attempt is over."""

    attempt: int
    result: Result
    reason: Reason
    detail: str = ""


Fact = (
    AttemptStarted
    | Baseline
    | PlayerEnded
    | Committed
    | Unchanged
    | Measured
    | Judged
    | Decided
    | Intent
    | Done
    | Command
    | Ended
)


@dataclass(frozen=True, kw_only=True)
class RunId:
    """The workflow run that wrote a fact."""

    id: str
    attempt: int
    url: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A fact with its place in the journal."""

    seq: int
    at: datetime
    run: RunId
    fact: Fact


# --- steps: what decide answers ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Implement:
    """Have a fresh Player work on turn ``turn``; it may spend ``budget_usd``."""

    turn: int
    budget_usd: float


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Run the checks on a commit and audit the claims."""

    turn: int
    commit: str


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Have a fresh Coach judge a commit; ``faults`` are those of the answer that was no verdict."""

    turn: int
    commit: str
    budget_usd: float
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Weigh:
    """Put the verdict through the gate."""

    turn: int
    commit: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The attempt is over."""

    reason: Reason
    detail: str = ""

    @property
    def result(self) -> Result:
        """The reason's result."""
        return RESULT_OF[self.reason]


Step = Implement | Measure | Judge | Weigh | Outcome


@dataclass(frozen=True, kw_only=True)
class Turn:
    """All facts of one turn so far."""

    number: int
    sessions: tuple[PlayerEnded, ...] = ()
    change: Committed | Unchanged | None = None
    measured: Measured | None = None
    judgements: tuple[Judged, ...] = ()
    decided: Decided | None = None

    @property
    def commit(self) -> str | None:
        """The commit this turn is about."""
        return self.change.commit if self.change else None

    @property
    def report(self) -> Report:
        """The claims of the session whose work counts; empty where it gave none."""
        return (self.sessions[-1].report if self.sessions else None) or Report()

    @property
    def idle(self) -> bool:
        """True where the Player changed nothing and disputed nothing, so that there is nothing to judge."""
        return isinstance(self.change, Unchanged) and not (self.change.disputes and self.change.commit)

    @property
    def verdict(self) -> Verdict | None:
        """The accepted verdict."""
        return self.judgements[-1].verdict if self.judgements else None

    @property
    def issues(self) -> tuple[Issue, ...]:
        """What is asked of the next Player: the gate's issues first, then the verdict's."""
        gate = self.decided.issues if self.decided else ()
        return gate + (self.verdict.issues if self.verdict else ())

    @property
    def must_fix(self) -> tuple[Issue, ...]:
        """The blocking ones among :attr:`issues`."""
        return tuple(issue for issue in self.issues if issue.severity is Severity.MUST_FIX)

    @property
    def cost_usd(self) -> float:
        """What the turn's sessions cost."""
        sessions = [ended.session for ended in self.sessions] + [judged.session for judged in self.judgements]
        return sum(session.usage.cost_usd for session in sessions)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """All facts of one attempt so far."""

    started: AttemptStarted
    baseline: Baseline | None = None
    turns: tuple[Turn, ...] = ()
    ended: Ended | None = None

    @property
    def number(self) -> int:
        """Its number, from 1."""
        return self.started.attempt

    @property
    def task(self) -> Task:
        """The frozen contract."""
        return self.started.contract

    @property
    def cost_usd(self) -> float:
        """What it cost so far."""
        return sum(turn.cost_usd for turn in self.turns)

    @property
    def head(self) -> str | None:
        """The branch's head as this attempt knows it, None before its first turn changed anything."""
        commits = [turn.commit for turn in self.turns if turn.commit]
        return commits[-1] if commits else None

    def measured(self, commit: str) -> Measured | None:
        """The evidence on ``commit``; it is measured once."""
        found = (turn.measured for turn in self.turns if turn.measured and turn.measured.commit == commit)
        return next(found, None)
