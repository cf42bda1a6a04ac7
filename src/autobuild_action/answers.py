"""The short answers: refusals, help, and what is said where no attempt starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autobuild_action import text, words

if TYPE_CHECKING:
    from autobuild_action.model import Limits, Reason

COMMANDS = (
    ("`/autobuild retry`", "go on from the last commit, with as many turns again"),
    ("`/autobuild retry TEXT`", "the same, with TEXT as advice for both agents"),
    ("`/autobuild help`", "this text"),
)


def refusal(why: str) -> str:
    """Why the sender may not start a run."""
    return (
        f"I can't do that: {text.inline(why, 300)}.\n\n"
        "Starting a run takes write access to this repository. "
        "Somebody who has it can add the label or comment `/autobuild retry`."
    )


def help_text(label: str, commands: tuple[tuple[str, str], ...] = COMMANDS) -> str:
    """What can be asked, and how."""
    return (
        f"Add the label {text.code(label, 100)} to an issue to have it built. "
        "Then these comments are understood, on the issue and on its pull request:\n\n"
        f"{text.table(('comment', 'what it does'), commands)}\n\n"
        "A command stands at the very beginning of its comment and takes write access to this repository."
    )


def already_running(url: str) -> str:
    """Another run works on this issue."""
    return (
        f"This issue is being worked on already: [see the run]({url}). "
        "Nothing new was started; ask again when that run has ended."
    )


def not_started(reason: Reason, what: str, cure: str) -> str:
    """A run that ended before its attempt began: what is wrong, what to do; nothing was changed."""
    said = words.REASON[reason]
    steps = cure or "\n".join(f"- {step}" for step in said.next if "{" not in step)
    return "\n\n".join(
        part
        for part in (
            f"### {said.headline}",
            text.block(what, 4000) or said.meaning,
            f"**What to do**\n\n{text.block(cure, 2000) if cure else steps}" if steps else "",
            "No model was called, and nothing was changed.",
        )
        if part
    )


def edited_since() -> str:
    """The issue is not what it was when the run was asked for, and there is no earlier contract."""
    return (
        "This issue was edited after you asked, so I did not start: it may no longer say what you saw. "
        "Look at it once more and ask again."
    )


def old_contract() -> str:
    """The issue was edited after the trigger, and the last attempt's contract serves."""
    return (
        "This issue was edited after you asked. This attempt works by the text of the last attempt; "
        "to have the new text used, comment `/autobuild retry` again."
    )


def already_approved(pull_request_url: str) -> str:
    """The label was added again, and the work is approved and open."""
    return (
        f"This is approved already and waits for a person: [the pull request]({pull_request_url}). "
        "To have more done, comment `/autobuild retry` and say what."
    )


def nothing_new(pull_request_url: str) -> str:
    """A retry of approved work that brings nothing to work on."""
    return (
        f"[The pull request]({pull_request_url}) is approved already, and there is nothing new to work on. "
        "Say what is to change: `/autobuild retry` followed by your text, or edit the issue first."
    )


def merged(number: int) -> str:
    """A retry of work that is merged."""
    return f"This was merged in #{number}, so there is nothing to go on with. For more, open a new issue."


def closed_issue() -> str:
    """A label or retry on a closed issue."""
    return "This issue is closed. Reopen it first, then ask again."


def dry_run_plan(branch: str, base_commit: str, limits: Limits) -> tuple[str, ...]:
    """What a run would do, for the log of a dry run."""
    return (
        f"branch {branch} from {base_commit}, at most {limits.max_turns} turns and {limits.budget_usd:.2f} USD",
        "at the start: lease and journal (refs/autobuild/…), a reaction, a status comment, the label autobuild:running",
        "each turn: one commit, pushed at once; the checks; one review and one commit status",
        "after the first turn: the pull request, unless it waits for the approval",
        "at the end: the pull request opened for review, or a report; label, commit status, outputs",
    )
