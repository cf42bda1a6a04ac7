"""Every refusal that the simulator knows, with the body GitHub was seen to send."""

from collections.abc import Mapping, Sequence
from typing import Any

MAXIMUM_BODY = 65_536
MAXIMUM_DESCRIPTION = 140


class Refusal(Exception):  # noqa: N818  # it is an answer, not an error of ours
    """GitHub says no."""

    def __init__(self, status: int, message: str, errors: Sequence[str | Mapping[str, str]] = ()) -> None:
        super().__init__(message, errors)
        self.status = status
        self.body: dict[str, Any] = {
            "message": message,
            "documentation_url": "https://docs.github.com/rest",
            "status": str(status),
        }
        if errors:
            self.body["errors"] = list(errors)


def not_found(message: str = "Not Found") -> Refusal:
    return Refusal(404, message)


def bad_credentials() -> Refusal:
    return Refusal(401, "Bad credentials")


def requires_authentication() -> Refusal:
    return Refusal(401, "Requires authentication")


def not_accessible() -> Refusal:
    """A permission not asked for (cli/cli#8910); `GET /user` too (hmarr/auto-approve-action#191)."""
    return Refusal(403, "Resource not accessible by integration")


def no_rights() -> Refusal:
    """A person without the role (cyberark/dev-flow#31)."""
    return Refusal(403, "Must have admin rights to Repository.")


def not_a_user(login: str) -> Refusal:
    """The permission of a bot (facts on collaborators/permission, PyGithub's source)."""
    return not_found(f"{login} is not a user")


def invalid_request(why: str) -> Refusal:
    return Refusal(422, f"Invalid request.\n\n{why}")


def invalid(resource: str, code: str, field: str | None = None, message: str | None = None) -> Refusal:
    """422 `Validation Failed` in its usual dress."""
    error = {"resource": resource, "code": code}
    error |= {"field": field} if field else {}
    error |= {"message": message} if message else {}
    return Refusal(422, "Validation Failed", [error])


def unprocessable(error: str) -> Refusal:
    return Refusal(422, "Unprocessable Entity", [error])


def body_too_long(resource: str) -> Refusal:
    """facts/github.md §4: comments say `data`, issues and pull requests `body`."""
    if resource == "IssueComment":
        return invalid(resource, "unprocessable", "data", f"Body is too long (maximum is {MAXIMUM_BODY} characters)")
    return invalid(resource, "custom", "body", f"body is too long (maximum is {MAXIMUM_BODY} characters)")


def description_too_long() -> Refusal:
    """sclorg/testing-farm-as-github-action#187, vince-riv/argo-diff#49."""
    return invalid(
        "Status",
        "custom",
        "description",
        f"description is too long (maximum is {MAXIMUM_DESCRIPTION} characters)",
    )


def actions_may_not_open_pulls() -> Refusal:
    """The setting is off (peter-evans/create-pull-request#3979, #1175; cpp-linter/cpp-linter#51)."""
    return Refusal(403, "GitHub Actions is not permitted to create or approve pull requests.")


def actions_may_not_approve() -> Refusal:
    """The same setting, seen from a review (github/docs#31550)."""
    return unprocessable("GitHub Actions is not permitted to approve pull requests.")


def no_drafts() -> Refusal:
    """A private repository on a free plan (SWE-agent/SWE-agent#179, getsentry/seer#1492)."""
    return Refusal(422, "Draft pull requests are not supported in this repository.")


def pull_exists(owner: str, branch: str) -> Refusal:
    """ovity/octotree#557."""
    return invalid("PullRequest", "custom", message=f"A pull request already exists for {owner}:{branch}.")


def no_commits_between(base: str, head: str) -> Refusal:
    """peter-evans/create-pull-request#4088."""
    return invalid("PullRequest", "custom", message=f"No commits between {base} and {head}")


def cannot_reopen(branch: str, why: str) -> Refusal:
    """cilium/cilium#47088 (`was force-pushed or recreated`), isaacs/github#361."""
    return invalid("PullRequest", "custom", "state", f"state cannot be changed. The {branch} branch {why}.")


def own_pull(verb: str) -> Refusal:
    """hubtty/hubtty#33, juliangruber/approve-pull-request-action#61."""
    return unprocessable(f"Can not {verb} your own pull request")


def review_without_body() -> Refusal:
    """Required by the documentation; the words are ours, nobody published GitHub's."""
    return unprocessable("Body can't be blank")


def pending_review() -> Refusal:
    """github/app#3371."""
    return unprocessable("User can only have one pending review per pull request")


def unresolved(faults: Sequence[str]) -> Refusal:
    """Comments outside the diff, all faults in one string (QwenLM/qwen-code#6711)."""
    *first, last = faults
    joined = " and ".join([", ".join(first), last]) if len(first) == 1 else ", and ".join([", ".join(first), last])
    return unprocessable(joined if first else last)


def line_outside_diff() -> Refusal:
    """`POST /pulls/{n}/comments` words it otherwise (facts/github.md §3; QwenLM/qwen-code#6711)."""
    field = "pull_request_review_thread.line"
    return invalid("PullRequestReviewComment", "custom", field, f"{field} must be part of the diff")


def path_outside_diff() -> Refusal:
    """As above for the path [unobserved wording, same form]."""
    field = "pull_request_review_thread.path"
    return invalid("PullRequestReviewComment", "custom", field, f"{field} must be part of the diff")


def commit_outside_pull(resource: str) -> Refusal:
    """packsaddle/ruby-saddler#45."""
    return invalid(resource, "custom", "commit_id", "commit_id is not part of the pull request")


def not_a_collaborator(full_name: str) -> Refusal:
    """bkeepers/probot-owners#21, peter-evans/create-pull-request#4138."""
    who = "One or more of the users or teams you specified is not a collaborator of the"
    return Refusal(422, f"Reviews may only be requested from collaborators. {who} {full_name} repository.")


def reviewer_is_author() -> Refusal:
    """GitHub's documentation names the case, the words are seen in many actions' logs."""
    return Refusal(422, "Review cannot be requested from pull request author.")


def label_absent() -> Refusal:
    return not_found("Label does not exist")


def reference_exists() -> Refusal:
    return Refusal(422, "Reference already exists")
