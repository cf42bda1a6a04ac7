"""The words for every reason, phase and value: one table each, used wherever the bot speaks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from autobuild_action.model import (
    AuditResult,
    Category,
    CheckResult,
    CriterionStatus,
    Level,
    PreviousStatus,
    Reason,
    Severity,
)

if TYPE_CHECKING:
    from autobuild_action.model import Attempt

SETTING = (
    "Settings → Actions → General → Workflow permissions → Allow GitHub Actions to create and approve pull requests"
)
"""The setting, off by default, that lets Actions open pull requests."""


class Phase(StrEnum):
    """What a running attempt is doing."""

    STARTING = "starting"
    PLAYER = "player"
    CHECKS = "checks"
    COACH = "coach"
    FINISHING = "finishing"


PHASE = {
    Phase.STARTING: "getting ready",
    Phase.PLAYER: "the Player is at work",
    Phase.CHECKS: "the checks are running",
    Phase.COACH: "the Coach is judging",
    Phase.FINISHING: "finishing",
}


@dataclass(frozen=True, kw_only=True)
class Words:
    """What is said of a reason: a headline, its meaning, what to do next, and a short form (≤ 100).

    ``meaning`` and ``next`` may name {branch}, {issue}, {turns}, {more_turns}, {budget} and {minutes}.
    """

    headline: str
    meaning: str
    next: tuple[str, ...]
    short: str


RETRY = "**Go on.** Comment `/autobuild retry`: it starts from the branch as it is, with {more_turns}."
GUIDE = (
    "**Guide it.** Comment `/autobuild retry` followed by what to do differently. "
    "It starts from the branch as it is, with {more_turns}."
)
EDIT = (
    "**Change the task.** Edit the issue (criteria that can be tested help most), "
    "then comment `/autobuild retry`: the issue is read anew."
)
SMALLER = "**Make the task smaller.** Split the issue, or edit it and comment `/autobuild retry`."
TAKE_OVER = "**Take it over.** `git fetch origin {branch} && git switch {branch}`"
GIVE_UP = "**Drop it.** Close the pull request if there is one, and delete the branch."
_USUAL = (GUIDE, EDIT, TAKE_OVER, GIVE_UP)

REASON: dict[Reason, Words] = {
    Reason.APPROVED: Words(
        headline="Approved",
        meaning="The Coach approved the last commit, and everything that was measured agrees.",
        next=("Review the pull request and merge it, or not: the bot does neither.",),
        short="approved by the Coach; a person's review is next",
    ),
    Reason.MAX_TURNS: Words(
        headline="Blocked: the turn limit is reached",
        meaning="The attempt's {turns} ended without an approval.",
        next=_USUAL,
        short="blocked: the turn limit is reached",
    ),
    Reason.STALLED: Words(
        headline="Blocked: it no longer moves forward",
        meaning="The last turns changed nothing, went back to an earlier state, or left the same issues.",
        next=_USUAL,
        short="blocked: no more progress",
    ),
    Reason.NEEDS_CLARIFICATION: Words(
        headline="Stopped: the issue needs an answer",
        meaning="The issue leaves something open that decides what is to be built.",
        next=(
            "**Answer in the issue.** Edit its text, then comment `/autobuild retry`: it is read anew.",
            "**Or answer in the command.** Comment `/autobuild retry` followed by the answer.",
            GIVE_UP,
        ),
        short="stopped: the issue needs an answer",
    ),
    Reason.UNSAFE_REQUEST: Words(
        headline="Stopped: the request looks unsafe",
        meaning="The Coach holds that doing what the issue asks would do harm. A person has to decide.",
        next=(
            "**If it is a misunderstanding,** make the purpose clear in the issue, then `/autobuild retry`.",
            "**If it is not,** close the issue and look at who may label issues here.",
        ),
        short="stopped: the request looks unsafe",
    ),
    Reason.BUDGET: Words(
        headline="Blocked: the budget is used up",
        meaning="This attempt may spend {budget} USD, and what is left is too little for another session.",
        next=(
            "**Go on.** Comment `/autobuild retry`: it has a budget of its own. `max-budget-usd` sets it.",
            SMALLER,
            TAKE_OVER,
            GIVE_UP,
        ),
        short="blocked: the budget is used up",
    ),
    Reason.TIMEOUT: Words(
        headline="Blocked: the time is up",
        meaning="A run may take {minutes} minutes, and the next step would not have fitted.",
        next=(
            "**Go on.** Comment `/autobuild retry`: it has its own time. `run-timeout-minutes` sets it.",
            SMALLER,
            TAKE_OVER,
            GIVE_UP,
        ),
        short="blocked: the time is up",
    ),
    Reason.STOPPED: Words(
        headline="Stopped, as asked",
        meaning="A person stopped the run.",
        next=(RETRY, TAKE_OVER, GIVE_UP),
        short="stopped, as asked",
    ),
    Reason.SUPERSEDED: Words(
        headline="Stopped: somebody else changed the branch",
        meaning="The branch is no longer at the commit that was judged. What others pushed is kept; "
        "nothing was overwritten.",
        next=(
            "**Go on.** Comment `/autobuild retry`: it starts from the branch as it is now.",
            "**Or carry on yourself.** Nothing more happens until somebody asks.",
        ),
        short="stopped: somebody else changed the branch",
    ),
    Reason.CONFIGURATION: Words(
        headline="Not started: the configuration has faults",
        meaning="Nothing was started, and no model was called.",
        next=(
            "Correct what is named above, in `.github/autobuild.yml` on the base branch or in the workflow.",
            "Then add the label again.",
        ),
        short="not started: the configuration has faults",
    ),
    Reason.ENVIRONMENT: Words(
        headline="Failed: something the run needs is missing",
        meaning="The fault lies in the set-up, not in the task.",
        next=("**Repair what is named above,** then comment `/autobuild retry`. The run's log says more.",),
        short="failed: something the run needs is missing",
    ),
    Reason.AUTH: Words(
        headline="Failed: a key or token was refused",
        meaning="It is missing, wrong or expired.",
        next=(
            "**Check the secrets** behind `anthropic-api-key`, `claude-code-oauth-token` and `github-token`.",
            "Then comment `/autobuild retry`.",
        ),
        short="failed: a key or token was refused",
    ),
    Reason.MODEL_UNAVAILABLE: Words(
        headline="Failed: the model could not be reached",
        meaning="The model's service gave errors, and one more try did not help.",
        next=(
            "**Wait a little,** then comment `/autobuild retry`: it starts from the branch as it is.",
            "**If it names the model,** correct `player-model` or `coach-model` first.",
            TAKE_OVER,
        ),
        short="failed: the model could not be reached",
    ),
    Reason.PLAYER_ERROR: Words(
        headline="Failed: the Player's session broke off",
        meaning="It broke off twice for a reason outside the task. What was committed before is kept.",
        next=(RETRY, "**If it happens again,** the run's log and its trace say more.", TAKE_OVER),
        short="failed: the Player's session broke off",
    ),
    Reason.COACH_ERROR: Words(
        headline="Failed: the Coach gave no verdict that counts",
        meaning="Two sessions looked at the last commit, and neither answer can be used: it is not judged.",
        next=(
            "**Have it judged again.** Comment `/autobuild retry`.",
            "**If it happens again,** another `coach-model` may help; the run's trace has the answers.",
            TAKE_OVER,
        ),
        short="failed: no verdict that counts",
    ),
    Reason.INTERNAL: Words(
        headline="Failed: a fault in autobuild itself",
        meaning="This is our mistake, not yours. What was committed before is kept.",
        next=(
            "**Try again** with `/autobuild retry`.",
            "**Tell the maintainers of the action,** with the run's log and trace.",
            TAKE_OVER,
        ),
        short="failed: a fault in autobuild itself",
    ),
    Reason.CANCELLED: Words(
        headline="Cancelled",
        meaning="The workflow run was cancelled, or the runner stopped it. What was committed is kept.",
        next=(RETRY, TAKE_OVER, GIVE_UP),
        short="cancelled",
    ),
    Reason.PLANNED: Words(
        headline="Planned: waiting for a person",
        meaning="The plan is in a comment, and nothing is built before somebody agrees.",
        next=("Comment `/autobuild approve` to start, or edit the issue and comment `/autobuild retry`.",),
        short="planned: waiting for a person",
    ),
    Reason.IGNORED: Words(
        headline="Nothing to do",
        meaning="The event asks for nothing that this action does.",
        next=(),
        short="nothing to do",
    ),
}
"""One row per reason: status comment, report, commit status and log all say the same."""

SEVERITY = {
    Severity.MUST_FIX: "must fix",
    Severity.SHOULD_FIX: "should fix",
    Severity.NICE_TO_HAVE: "nice to have",
}
CATEGORY = {category: category.value.replace("_", " ") for category in Category}
CRITERION = {
    CriterionStatus.MET: "✔ met",
    CriterionStatus.NOT_MET: "✘ not met",
    CriterionStatus.NOT_TESTED: "– not tested",
}
CHECK = {
    CheckResult.PASSED: "✔",
    CheckResult.FAILED: "✘",
    CheckResult.ABSENT: "–",
}
AUDIT = {
    AuditResult.CONFIRMED: "✔ confirmed",
    AuditResult.CONTRADICTED: "✘ contradicted",
    AuditResult.UNPROVED: "– unproved",
}
PREVIOUS = {
    PreviousStatus.RESOLVED: "resolved",
    PreviousStatus.OPEN: "still open",
    PreviousStatus.WITHDRAWN: "withdrawn",
}
ISOLATION = {
    Level.CONTAINER: "`container`: sessions and checks ran in throw-away containers without network.",
    Level.UID: "`uid`: sessions and checks ran under users of their own.",
    Level.NONE: "**`none`**: sessions and checks ran without isolation, with all rights of the run's user.",
}
RULE = {
    "checks": "every required check passes",
    "refused-paths": "no path is refused",
    "diff": "the branch changes something",
    "claims": "no claim about tests is false",
    "must-fix": "no must-fix issue is open",
    "should-fix": "no should-fix issue is open (`strictness: strict`)",
    "remote-head": "the judged commit is the head of the branch",
}
"""What each rule of the gate asks; a rule that is not listed is shown by its name."""


def plural(number: int, one: str, many: str = "") -> str:
    """``1 turn``, ``2 turns``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def turn(attempt: Attempt, number: int) -> str:
    """``Turn 2``, and from the second attempt on ``Attempt 2, turn 1``."""
    return f"Turn {number}" if attempt.number == 1 else f"Attempt {attempt.number}, turn {number}"


def phase(name: str) -> str:
    """The words of a :class:`Phase`, empty for a name that is none."""
    return PHASE[Phase(name)] if name in set(Phase) else ""
