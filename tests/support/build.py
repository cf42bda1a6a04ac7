"""Journals and their parts, made small: what a test does not name has a plain value."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from autobuild_action.journal import Journal
from autobuild_action.model import (
    RESULT_OF,
    AttemptStarted,
    AuditResult,
    AuditRow,
    Baseline,
    Category,
    CheckResult,
    CheckRun,
    Committed,
    Counts,
    Criterion,
    CriterionStatus,
    Decided,
    Decision,
    DiffStat,
    Done,
    Ended,
    EvidenceKind,
    EvidenceRef,
    Intent,
    Issue,
    Judged,
    LedgerEntry,
    Level,
    Limits,
    Measured,
    Owner,
    PlayerEnded,
    Previous,
    PreviousStatus,
    PullRequestMode,
    Reason,
    Refused,
    Report,
    Role,
    Rule,
    Ruling,
    RunId,
    Session,
    SessionEnd,
    Severity,
    Strictness,
    Task,
    Trigger,
    Unchanged,
    Usage,
    Verdict,
    Why,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autobuild_action.model import Fact, Turn

SERVER = "https://github.example"
REPOSITORY = "octo-org/weather"
JOURNAL = "0b9f5c1e-3a56-4f0e-9d0c-4b8a2f6d7e11"
RUN = RunId(id="901", attempt=1, url=f"{SERVER}/{REPOSITORY}/actions/runs/901")
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CRITERIA = (
    "`weather --version` prints the version and exits 0",
    "An unknown city exits 2 and names the city",
    "The README shows the new option",
)


def sha(number: int) -> str:
    """A commit id that differs per number."""
    return f"{number:x}".rjust(2, "0") * 20


def task(title: str = "Add a --version option", criteria: Iterable[str] = CRITERIA) -> Task:
    numbered = tuple(Criterion(id=f"AC-{n}", text=text) for n, text in enumerate(criteria, 1))
    return Task(title=title, text=title, criteria=numbered, sha256="5f" * 32)


def started(  # noqa: PLR0913  a builder names everything a test may care for
    attempt: int = 1,
    *,
    contract: Task | None = None,
    max_turns: int = 5,
    isolation: Level = Level.CONTAINER,
    login: str = "ana",
    strictness: Strictness = Strictness.STANDARD,
) -> AttemptStarted:
    kind = "label" if attempt == 1 else "comment"
    return AttemptStarted(
        attempt=attempt,
        trigger=Trigger(kind=kind, id=0, login=login, at="2026-03-01T12:00:00Z"),
        contract=contract or task(),
        base_commit=sha(0),
        start_commit=sha(0),
        limits=Limits(
            max_turns=max_turns,
            budget_usd=10.0,
            session_seconds=1200,
            run_seconds=4500,
            player_steps=150,
            coach_steps=60,
        ),
        guidance="",
        config_sha256="c0" * 32,
        isolation=isolation,
        strictness=strictness,
        pull_request=PullRequestMode.DRAFT,
    )


def session(role: Role, turn: int, *, cost: float = 0.21, why: Why | None = None, detail: str = "") -> Session:
    failed = why in {Why.AUTH, Why.MODEL, Why.CRASH, Why.REFUSAL}
    end = SessionEnd.FAILED if failed else SessionEnd.CUT_SHORT if why else SessionEnd.COMPLETED
    return Session(
        id=f"{role.value}-{turn}",
        role=role,
        model="claude-test",
        end=end,
        seconds=61.5,
        usage=Usage(input_tokens=1200, output_tokens=340, cost_usd=cost),
        prompt_sha256="9a" * 32,
        why=why,
        detail=detail,
    )


def player(turn: int, *, cost: float = 0.21, why: Why | None = None, detail: str = "") -> PlayerEnded:
    ended = session(Role.PLAYER, turn, cost=cost, why=why, detail=detail)
    return PlayerEnded(turn=turn, session=ended, report=None if why else Report(summary="Done."))


def committed(turn: int, *, refused: Iterable[Refused] = (), needs_person: Iterable[str] = ()) -> Committed:
    return Committed(
        turn=turn,
        commit=sha(turn),
        tree=sha(100 + turn),
        refused=tuple(refused),
        needs_person=tuple(needs_person),
    )


def unchanged(turn: int, commit: str | None = None) -> Unchanged:
    return Unchanged(turn=turn, commit=commit)


def check(
    result: CheckResult = CheckResult.PASSED,
    *,
    name: str = "tests",
    required: bool = True,
    failures: Iterable[str] = (),
    output: str = "",
) -> CheckRun:
    failing = tuple(failures)
    green = result is CheckResult.PASSED
    absent = result is CheckResult.ABSENT
    return CheckRun(
        name=name,
        command="python -m pytest -q",
        required=required,
        result=result,
        why="the command was not found" if absent else "" if green else "tests failed" if failing else "exit code 1",
        exit_code=0 if green else 127 if absent else 1,
        seconds=3.25,
        output=output or ("20 passed in 3.2s" if green else "E   AssertionError: exit code 0, not 2\n1 failed"),
        counts=None if absent else Counts(run=20, failed=len(failing), skipped=0, failures=failing),
    )


def measured(turn: int, *checks: CheckRun, audit: Iterable[AuditRow] = (), diff: DiffStat | None = None) -> Measured:
    return Measured(
        turn=turn,
        commit=sha(turn),
        checks=checks or (check(),),
        audit=tuple(audit),
        diff=diff
        or DiffStat(files=3, insertions=41, deletions=2, paths=("README.md", "src/weather.py", "tests/test_cli.py")),
    )


def audit(claim: str, was: str, result: AuditResult = AuditResult.CONFIRMED) -> AuditRow:
    return AuditRow(claim=claim, measured=was, result=result)


def issue(  # noqa: PLR0913  as started
    description: str = "An unknown city ends with exit code 0 and a traceback.",
    *,
    id_: str = "I1.1.1",
    severity: Severity = Severity.MUST_FIX,
    category: Category = Category.WRONG_BEHAVIOUR,
    criterion: str | None = "AC-2",
    path: str | None = "src/weather.py",
    line: int | None = 12,
    end_line: int | None = None,
    suggestion: str | None = None,
    replacement: str | None = None,
) -> Issue:
    return Issue(
        id=id_,
        severity=severity,
        category=category,
        description=description,
        criterion=criterion,
        path=path,
        line=line,
        end_line=end_line,
        suggestion=suggestion,
        replacement=replacement,
    )


def ruling(id_: str, status: CriterionStatus = CriterionStatus.MET, *refs: EvidenceRef) -> Ruling:
    default = (EvidenceRef(kind=EvidenceKind.CHECK, ref="tests"),) if status is CriterionStatus.MET else ()
    return Ruling(id=id_, status=status, evidence=refs or default)


def file_ref(ref: str = "src/weather.py:12-14") -> EvidenceRef:
    return EvidenceRef(kind=EvidenceKind.FILE, ref=ref, note="the option")


def run_ref(ref: str = "R1") -> EvidenceRef:
    return EvidenceRef(kind=EvidenceKind.RUN, ref=ref, note="tried it")


def verdict(
    decision: Decision = Decision.APPROVE,
    *issues: Issue,
    summary: str = "Every criterion is met; I ran the tests and tried both paths.",
    rulings: Iterable[Ruling] | None = None,
    previous: Iterable[Previous] = (),
) -> Verdict:
    found = rulings or (
        ruling("AC-1", CriterionStatus.MET, file_ref(), run_ref()),
        ruling("AC-2"),
        ruling("AC-3"),
    )
    return Verdict(decision=decision, summary=summary, criteria=tuple(found), issues=issues, previous=tuple(previous))


def feedback(*issues: Issue, summary: str = "The version is there, but an unknown city still exits 0.") -> Verdict:
    rulings = (
        ruling("AC-1", CriterionStatus.MET, file_ref(), run_ref()),
        ruling("AC-2", CriterionStatus.NOT_MET),
        ruling("AC-3", CriterionStatus.NOT_TESTED),
    )
    return verdict(Decision.FEEDBACK, *(issues or (issue(),)), summary=summary, rulings=rulings)


def ledger(number: int = 1, output: str = "weather 1.4.0") -> LedgerEntry:
    return LedgerEntry(id=f"R{number}", command="python -m weather --version", exit_code=0, seconds=0.4, output=output)


def judged(
    turn: int,
    found: Verdict | None,
    *,
    faults: Iterable[str] = (),
    entries: Iterable[LedgerEntry] | None = None,
    cost: float = 0.13,
) -> Judged:
    return Judged(
        turn=turn,
        commit=sha(turn),
        session=session(Role.COACH, turn, cost=cost),
        verdict=found,
        faults=tuple(faults),
        ledger=tuple(entries) if entries is not None else (ledger(),),
    )


def rule(name: str, *, held: bool = True, owner: Owner = Owner.PLAYER, detail: str = "") -> Rule:
    return Rule(name=name, owner=owner, held=held, detail=detail)


def decided(turn: int, decision: Decision, *rules: Rule, issues: Iterable[Issue] = ()) -> Decided:
    usual = (rule("checks"), rule("diff"), rule("must-fix"), rule("remote-head", owner=Owner.WORLD))
    return Decided(turn=turn, decision=decision, rules=rules or usual, issues=tuple(issues))


def ended(reason: Reason, attempt: int = 1, detail: str = "") -> Ended:
    return Ended(attempt=attempt, result=RESULT_OF[reason], reason=reason, detail=detail)


def opened(number: int | None = 12, *, attempt: int = 1, turn: int = 1, refused: str = "") -> tuple[Intent, Done]:
    """The pull request, asked for and answered."""
    key = f"{attempt}/{turn}/pull-request"
    url = f"{SERVER}/{REPOSITORY}/pull/{number}" if number else ""
    return Intent(key=key), Done(key=key, github_id=number, url=url, refused=refused)


def journal(*facts: Fact | Sequence[Fact], issue_number: int = 7) -> Journal:
    """A journal of these facts, a minute apart; groups of facts are laid flat."""
    made = Journal(
        id=JOURNAL,
        repository=REPOSITORY,
        issue=issue_number,
        branch=f"autobuild/issue-{issue_number}",
        base="main",
    )
    flat: list[Fact] = []
    for fact in facts:
        flat += list(fact) if isinstance(fact, (tuple, list)) else [fact]  # type: ignore[list-item]
    for minute, fact in enumerate(flat):
        made = made.append([fact], run=RUN, at=NOON + timedelta(minutes=minute))
    return made


# --- whole turns and stories ------------------------------------------------------------------------


def feedback_turn(turn: int, *issues: Issue, attempt: int = 1) -> list[Fact]:
    """A turn that ends with feedback over a red check."""
    found = issues or (issue(id_=f"I{attempt}.{turn}.1"),)
    failing = check(CheckResult.FAILED, failures=("tests/test_cli.py::test_unknown_city",))
    return [
        player(turn),
        committed(turn),
        measured(turn, failing),
        judged(turn, feedback(*found)),
        decided(turn, Decision.FEEDBACK, rule("checks", held=False), rule("must-fix", held=False)),
    ]


def approve_turn(turn: int, *, previous: Iterable[Previous] = ()) -> list[Fact]:
    """A turn that ends approved."""
    return [
        player(turn),
        committed(turn),
        measured(turn, audit=[audit("`python -m pytest` passed", "check `tests` passed")]),
        judged(turn, verdict(previous=previous)),
        decided(turn, Decision.APPROVE),
    ]


def override_turn(turn: int) -> list[Fact]:
    """A turn whose approval the gate turned into feedback: the check is red and a claim was false."""
    said = audit("`python -m pytest` passed", "check `tests` failed", AuditResult.CONTRADICTED)
    failing = check(CheckResult.FAILED, failures=("tests/test_cli.py::test_unknown_city",))
    what = "`tests` failed: tests failed (tests/test_cli.py::test_unknown_city)"
    false = "`python -m pytest` passed: check `tests` failed"
    return [
        player(turn),
        committed(turn),
        measured(turn, failing, audit=[said]),
        judged(turn, verdict()),
        decided(
            turn,
            Decision.FEEDBACK,
            rule("checks", held=False, detail=what),
            rule("claims", held=False, detail=false),
            rule("remote-head", owner=Owner.WORLD),
            issues=[
                issue(
                    f"The gate's rule `checks` is broken: {what}",
                    id_=f"G1.{turn}.checks",
                    category=Category.TEST_FAILURE,
                    criterion=None,
                    path=None,
                    line=None,
                )
            ],
        ),
    ]


def first_turn(*facts: Fact | Sequence[Fact]) -> list[Fact | Sequence[Fact]]:
    """Attempt 1 with a green baseline, then ``facts``."""
    return [started(), Baseline(checks=(check(),)), *facts]


def approved() -> Journal:
    """Approved in one turn, pull request 12."""
    return journal(*first_turn(approve_turn(1), opened(), ended(Reason.APPROVED)))


def feedback_then_approve() -> Journal:
    """Feedback, then approved in turn 2."""
    resolved = Previous(issue="I1.1.1", status=PreviousStatus.RESOLVED, note="exits 2 now")
    return journal(
        *first_turn(feedback_turn(1), opened(), approve_turn(2, previous=[resolved]), ended(Reason.APPROVED))
    )


def running() -> Journal:
    """Turn 1 had feedback; turn 2 is committed and its checks are done."""
    return journal(*first_turn(feedback_turn(1), opened(), player(2), committed(2), measured(2)))


def blocked(turns: int = 3) -> Journal:
    """Every turn had feedback, the turn limit is reached."""
    more = [feedback_turn(turn) for turn in range(2, turns + 1)]
    start = started(max_turns=turns)
    base = Baseline(checks=(check(),))
    return journal(start, base, feedback_turn(1), opened(), *more, ended(Reason.MAX_TURNS))


def overridden() -> Journal:
    """The Coach approved turn 1 and the gate did not."""
    return journal(*first_turn(override_turn(1), opened()))


def ended_by(reason: Reason, detail: str = "") -> Journal:
    """A turn of feedback, then an end for this reason."""
    return journal(*first_turn(feedback_turn(1), opened(), ended(reason, detail=detail)))


def many_issues(number: int = 70, description: str = "Something is wrong here. " * 40) -> Journal:
    """A verdict with this many issues, half of them with a place, in all severities."""
    weights = list(Severity)
    issues = [
        issue(
            description,
            id_=f"I1.1.{n}",
            severity=weights[n % 3],
            path=f"src/part_{n % 7}.py" if n % 2 else None,
            line=n if n % 2 else None,
            suggestion="Do it otherwise.",
        )
        for n in range(1, number + 1)
    ]
    return journal(*first_turn(feedback_turn(1, *issues), opened()))


def last_turn(made: Journal) -> Turn:
    """The last turn of the last attempt."""
    return made.attempt.turns[-1]


HOSTILE = (
    "@octocat @octo-org/team fixes #12 closes GH-3 octo-org/weather#4 "
    "https://evil.example/x www.evil.example [link](https://evil.example) ![image](https://evil.example/i) "
    "<img src=x> <!-- autobuild:1 0b9f5c1e-3a56-4f0e-9d0c-4b8a2f6d7e11 1/1/review --> | cell | `open\n"
    "```\n# heading\n</details>\n~~~\n> quote\n::add-mask::x ##[group]y "
    "\x1b[31mred\x07 \u202eevil\u200b \ud800 $x$"
)
"""All that a text may try at once."""


def hostile(words: str = HOSTILE, reason: Reason = Reason.MAX_TURNS) -> Journal:
    """A blocked journal with these words in every field that a model, a test or a person fills."""
    contract = task(words, [words, words])
    bad = issue(words, id_="I1.1.1", criterion="AC-1", path=words, suggestion=words, replacement=words)
    placed = issue(words, id_="I1.1.2", criterion="AC-1", suggestion=words, replacement=words)
    refs = [EvidenceRef(kind=kind, ref=words + ":3", note=words) for kind in EvidenceKind]
    found = Verdict(
        decision=Decision.APPROVE,
        summary=words,
        criteria=(ruling("AC-1", CriterionStatus.MET, *refs), ruling("AC-2", CriterionStatus.NOT_TESTED)),
        issues=(bad, placed),
        previous=(Previous(issue=words, status=PreviousStatus.OPEN, note=words),),
    )
    run = CheckRun(
        name=words,
        command=words,
        required=True,
        result=CheckResult.FAILED,
        why=words,
        exit_code=1,
        seconds=1.0,
        output=words,
        counts=Counts(run=1, failed=1, skipped=0, failures=(words,)),
    )
    entry = LedgerEntry(id="R1", command=words, exit_code=1, seconds=0.1, output=words)

    def turn(number: int) -> list[Fact]:
        return [
            player(number, detail=words),
            committed(number, refused=[Refused(path=words, why=words)], needs_person=[words]),
            measured(number, run, audit=[audit(words, words)]),
            judged(number, found, faults=[words], entries=[entry]),
            decided(number, Decision.FEEDBACK, rule("checks", held=False, detail=words), issues=[bad]),
        ]

    start = started(contract=contract, login=words, isolation=Level.NONE)
    return journal(start, turn(1), opened(None, refused=words), turn(2), ended(reason, detail=words))
