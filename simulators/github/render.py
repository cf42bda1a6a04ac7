"""State as REST answers: what we know; `descriptions.complete` adds what GitHub demands beyond that."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from simulators.github.state import (
    Comment,
    Issue,
    Label,
    Pull,
    Reaction,
    Review,
    ReviewComment,
    Run,
    Status,
    User,
    Written,
)

if TYPE_CHECKING:
    from simulators.github.git import ChangedFile
    from simulators.github.hub import GitHub
    from simulators.github.repository import Repository

Json = dict[str, Any]
LISTS_OF_USERS = (
    "followers",
    "following",
    "gists",
    "starred",
    "subscriptions",
    "repos",
    "events",
    "received_events",
)
KINDS_OF_REACTION = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def time(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def api(repo: Repository) -> str:
    return f"{repo.hub.api}/repos/{repo.full_name}"


def user(hub: GitHub, who: User) -> Json:
    url = f"{hub.api}/users/{who.login}"
    return {
        **{f"{name}_url": f"{url}/{name}" for name in LISTS_OF_USERS},
        "organizations_url": f"{url}/orgs",
        "login": who.login,
        "id": who.id,
        "node_id": who.node_id,
        "type": who.kind,
        "site_admin": False,
        "url": url,
        "html_url": f"{hub.origin}/{who.login}",
        "gravatar_id": "",
        "avatar_url": f"{hub.origin}/avatars/{who.id}",
    }


def repository(repo: Repository) -> Json:
    return {
        "id": repo.id,
        "node_id": repo.node_id,
        "name": repo.name,
        "full_name": repo.full_name,
        "owner": user(repo.hub, repo.owner),
        "private": repo.private,
        "fork": False,
        "default_branch": repo.default_branch,
        "visibility": "private" if repo.private else "public",
        "archived": False,
        "disabled": False,
        "has_issues": True,
        "allow_forking": True,
        "language": None,
        "url": api(repo),
        "html_url": repo.url,
        "clone_url": repo.clone_url,
        "git_url": repo.clone_url,
        "ssh_url": repo.clone_url,
        "svn_url": repo.url,
        "created_at": time(repo.created_at),
        "updated_at": time(repo.created_at),
        "pushed_at": time(repo.created_at),
        "open_issues_count": sum(issue.state == "open" for issue in repo.issues.values()),
    }


def label(repo: Repository, found: Label) -> Json:
    return {
        "id": found.id,
        "node_id": found.node_id,
        "name": found.name,
        "color": found.color,
        "default": False,
        "description": found.description,
        "url": f"{api(repo)}/labels/{found.name}",
    }


def reaction(repo: Repository, found: Reaction) -> Json:
    who = user(repo.hub, found.user)
    return {
        "id": found.id,
        "node_id": found.node_id,
        "user": who,
        "content": found.content,
        "created_at": time(found.created_at),
    }


def reaction_counts(written: Written, url: str) -> Json:
    counts = Counter(found.content for found in written.reactions)
    return {
        "url": f"{url}/reactions",
        "total_count": counts.total(),
        **{name: counts[name] for name in KINDS_OF_REACTION},
    }


def association(repo: Repository, who: User) -> str:
    return "OWNER" if who is repo.owner else "COLLABORATOR" if who.login in repo.roles else "NONE"


def written(repo: Repository, found: Written, url: str) -> Json:
    """What all texts have in common."""
    return {
        "id": found.id,
        "node_id": found.node_id,
        "user": user(repo.hub, found.user),
        "body": found.body,
        "url": url,
        "author_association": association(repo, found.user),
        "created_at": time(found.created_at),
        "updated_at": time(found.updated_at),
    }


def comment(repo: Repository, found: Comment) -> Json:
    url = f"{api(repo)}/issues/comments/{found.id}"
    return {
        **written(repo, found, url),
        "html_url": f"{html(repo, repo.issues[found.number])}#issuecomment-{found.id}",
        "issue_url": f"{api(repo)}/issues/{found.number}",
        "reactions": reaction_counts(found, url),
    }


def html(repo: Repository, found: Issue) -> str:
    return f"{repo.url}/{'pull' if isinstance(found, Pull) else 'issues'}/{found.number}"


def issue(repo: Repository, found: Issue) -> Json:
    url = f"{api(repo)}/issues/{found.number}"
    return {
        **written(repo, found, url),
        **_numbered(repo, found),
        "html_url": html(repo, found),
        "repository_url": api(repo),
        "comments": len(found.comments),
        "reactions": reaction_counts(found, url),
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "labels_url": f"{url}/labels{{/name}}",
        "state_reason": found.state_reason,
        "closed_by": user(repo.hub, found.closed_by) if found.closed_by else None,
        **({"pull_request": _pull_links(repo, found)} if isinstance(found, Pull) else {}),
    }


def _numbered(repo: Repository, found: Issue) -> Json:
    """What issues and pull requests have in common."""
    return {
        "number": found.number,
        "title": found.title,
        "state": found.state,
        "locked": False,
        "active_lock_reason": None,
        "labels": [label(repo, one) for one in found.labels],
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "closed_at": time(found.closed_at),
    }


def _pull_links(repo: Repository, found: Pull) -> Json:
    page = html(repo, found)
    urls = {"html_url": page, "diff_url": f"{page}.diff", "patch_url": f"{page}.patch"}
    return {"url": f"{api(repo)}/pulls/{found.number}", "merged_at": time(found.merged_at), **urls}


def pull(repo: Repository, found: Pull) -> Json:
    """A pull request as it stands in lists."""
    url = f"{api(repo)}/pulls/{found.number}"
    links = {
        "self": url,
        "html": html(repo, found),
        "issue": f"{api(repo)}/issues/{found.number}",
        "statuses": "",
    }
    return {
        **written(repo, found, url),
        **_numbered(repo, found),
        **_pull_links(repo, found),
        "draft": found.draft,
        "issue_url": links["issue"],
        "comments_url": f"{links['issue']}/comments",
        "review_comments_url": f"{url}/comments",
        "head": _end(repo, found.head, found.head_sha, found.fork),
        "base": _end(repo, found.base, found.base_sha, None),
        "requested_reviewers": [user(repo.hub, who) for who in found.requested_reviewers],
        "requested_teams": [],
        "merge_commit_sha": found.merge_commit,
        "auto_merge": None,
        "_links": {name: {"href": href} for name, href in links.items()},
    }


def _end(repo: Repository, branch: str, sha: str, fork: str | None) -> Json:
    """One end of a pull request: head or base."""
    where, who = repository(repo), repo.owner
    if fork:
        who = repo.hub.users[fork]
        where |= {
            "owner": user(repo.hub, who),
            "full_name": f"{fork}/{repo.name}",
            "fork": True,
            "id": -repo.id,
        }
    return {
        "label": f"{who.login}:{branch}",
        "ref": branch,
        "sha": sha,
        "user": user(repo.hub, who),
        "repo": where,
    }


def full_pull(repo: Repository, found: Pull) -> Json:
    """A pull request with what costs git a look."""
    files = repo.diff_of(found)
    return {
        **pull(repo, found),
        "merged": found.merged_at is not None,
        "mergeable": None if found.merged_at else True,
        "merged_by": user(repo.hub, found.merged_by) if found.merged_by else None,
        "mergeable_state": "draft" if found.draft else "clean",
        "rebaseable": None,
        "maintainer_can_modify": False,
        "comments": len(found.comments),
        "review_comments": len(found.review_comments),
        "changed_files": len(files),
        "commits": len(repo.git.commits(found.base_sha, found.head_sha)),
        "additions": sum(file.count("+") for file in files),
        "deletions": sum(file.count("-") for file in files),
    }


def changed_file(repo: Repository, found: ChangedFile, sha: str) -> Json:
    added, removed = found.count("+"), found.count("-")
    return {
        "sha": found.blob,
        "filename": found.path,
        "status": found.status,
        "additions": added,
        "deletions": removed,
        "changes": added + removed,
        "blob_url": f"{repo.url}/blob/{sha}/{found.path}",
        "raw_url": f"{repo.url}/raw/{sha}/{found.path}",
        "contents_url": f"{api(repo)}/contents/{found.path}?ref={sha}",
        **({"patch": "\n".join(hunk.text for hunk in found.hunks)} if found.hunks else {}),
        **({"previous_filename": found.previous} if found.previous != found.path else {}),
    }


def review(repo: Repository, number: int, found: Review) -> Json:
    pull_url, page = f"{api(repo)}/pulls/{number}", f"{repo.url}/pull/{number}#pullrequestreview-{found.id}"
    return {
        "id": found.id,
        "node_id": found.node_id,
        "user": user(repo.hub, found.user),
        "body": found.body,
        "state": found.state,
        "html_url": page,
        "pull_request_url": pull_url,
        "commit_id": found.commit_id,
        "_links": {"html": {"href": page}, "pull_request": {"href": pull_url}},
        "author_association": association(repo, found.user),
        **({"submitted_at": time(found.submitted_at)} if found.submitted_at else {}),
    }


def review_comment(repo: Repository, on: Pull, found: ReviewComment) -> Json:
    url, pull_url = f"{api(repo)}/pulls/comments/{found.id}", f"{api(repo)}/pulls/{on.number}"
    page, gone = f"{repo.url}/pull/{on.number}#discussion_r{found.id}", outdated(repo, on, found)
    links = {"self": url, "html": page, "pull_request": pull_url}
    return {
        **written(repo, found, url),
        "html_url": page,
        "pull_request_url": pull_url,
        "path": found.path,
        "pull_request_review_id": found.review.id if found.review else None,
        "diff_hunk": found.hunk,
        "commit_id": found.commit_id if gone else on.head_sha,
        "original_commit_id": found.commit_id,
        "line": None if gone else found.line,
        "original_line": found.line,
        "side": found.side,
        "start_line": None if gone else found.start_line,
        "original_start_line": found.start_line,
        "start_side": found.start_side,
        "position": None if gone else 1,
        "original_position": 1,
        "subject_type": "line",
        "_links": {name: {"href": href} for name, href in links.items()},
        "reactions": reaction_counts(found, url),
        **({"in_reply_to_id": found.in_reply_to.id} if found.in_reply_to else {}),
    }


def outdated(repo: Repository, on: Pull, found: ReviewComment) -> bool:
    """Simplified: GitHub follows single lines, we call a comment outdated once its file has changed."""
    if found.commit_id == on.head_sha:
        return False
    then, now = (
        next((f.blob for f in repo.diff_of(on, sha) if f.path == found.path), "")
        for sha in (found.commit_id, on.head_sha)
    )
    return then != now


def status(repo: Repository, found: Status) -> Json:
    return {
        "id": found.id,
        "node_id": found.node_id,
        "state": found.state,
        "context": found.context,
        "description": found.description,
        "target_url": found.target_url,
        "avatar_url": None,
        "url": f"{api(repo)}/statuses/{found.sha}",
        "creator": user(repo.hub, found.creator),
        "created_at": time(found.created_at),
        "updated_at": time(found.created_at),
    }


def commit(repo: Repository, sha: str) -> Json:
    """A commit as lists and comparisons have it."""
    form = "%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"
    tree, parents, *who, message = repo.git("show", "-s", f"--format={form}", sha).split("\0")
    author, committer = (dict(zip(("name", "email", "date"), part, strict=True)) for part in (who[:3], who[3:]))
    url, git_url = f"{api(repo)}/commits", f"{api(repo)}/git"
    return {
        "sha": sha,
        "node_id": f"C_{sha}",
        "url": f"{url}/{sha}",
        "html_url": f"{repo.url}/commit/{sha}",
        "comments_url": f"{url}/{sha}/comments",
        "author": None,
        "committer": None,
        "parents": [
            {"sha": one, "url": f"{url}/{one}", "html_url": f"{repo.url}/commit/{one}"} for one in parents.split()
        ],
        "commit": {
            "author": author,
            "committer": committer,
            "message": message,
            "comment_count": 0,
            "tree": {"sha": tree, "url": f"{git_url}/trees/{tree}"},
            "url": f"{git_url}/commits/{sha}",
        },
    }


def reference(repo: Repository, ref: str, sha: str) -> Json:
    target = {"type": "commit", "sha": sha, "url": f"{api(repo)}/git/commits/{sha}"}
    return {"ref": ref, "node_id": f"REF_{ref}", "url": f"{api(repo)}/git/{ref}", "object": target}


def run(repo: Repository, found: Run) -> Json:
    url = f"{api(repo)}/actions/runs/{found.id}"
    return {
        "id": found.id,
        "node_id": found.node_id,
        "status": found.status,
        "conclusion": found.conclusion,
        "run_attempt": found.attempt,
        "url": url,
        "html_url": f"{repo.url}/actions/runs/{found.id}",
        "run_number": 1,
        "event": "issues",
        "head_branch": repo.default_branch,
        "head_sha": repo.git.resolve(repo.default_branch) or "",
        "created_at": time(found.created_at),
        "updated_at": time(found.created_at),
        "name": "autobuild",
        "repository": repository(repo),
        "head_repository": repository(repo),
    }
