"""git over HTTP: git's own http-backend, behind GitHub's rules about who may read and write."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulators.github.call import Answer
from simulators.github.git import environment

if TYPE_CHECKING:
    from simulators.github.hub import GitHub
    from simulators.github.repository import Repository
    from simulators.github.state import Token

PASSED_ON = {
    "content-type": "CONTENT_TYPE",
    "content-encoding": "HTTP_CONTENT_ENCODING",
    "git-protocol": "GIT_PROTOCOL",
}


def answer_git(
    hub: GitHub, method: str, target: str, headers: Mapping[str, str], data: bytes, token: Token | None
) -> Answer:
    path, _, query = target.partition("?")
    name, found, _ = path.lstrip("/").partition(".git/")
    repo = hub.find(name) if found else None
    pushes = path.endswith("/git-receive-pack") or query == "service=git-receive-pack"
    refused = _refused(repo, headers, token, pushes=pushes)
    if repo is None or refused:
        return refused or _text(404, "Repository not found.")
    answer = _http_backend(repo, method, path, query, headers, data, token)
    if method == "POST" and pushes:
        with hub.lock:
            repo.refresh()
    return answer


def _refused(
    repo: Repository | None, headers: Mapping[str, str], token: Token | None, *, pushes: bool
) -> Answer | None:
    if token is None:
        if "authorization" in headers or pushes or repo is None or repo.private:
            return _text(401, "Invalid username or token.", {"WWW-Authenticate": 'Basic realm="GitHub"'})
        return None
    if repo is None or (repo.private and not _may(repo, token, "read")):
        return _text(404, "Repository not found.")
    if pushes and not _may(repo, token, "write"):
        return _text(403, f"Permission to {repo.full_name}.git denied to {token.user.login}.")
    return None


def _may(repo: Repository, token: Token, level: str) -> bool:
    if token.permissions is None:
        return repo.allows(token.user, "read" if level == "read" else "write")
    return token.repository is repo and token.grants("contents", level)


def _text(status: int, words: str, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, words.encode() + b"\n", {"Content-Type": "text/plain", **(headers or {})})


def _http_backend(
    repo: Repository,
    method: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    data: bytes,
    token: Token | None,
) -> Answer:
    """One CGI call."""
    root = repo.git.folder.parent.parent
    path_info = f"/{repo.git.folder.relative_to(root)}/{path.partition('.git/')[2]}"
    env = environment() | {
        "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path_info, "QUERY_STRING": query,
        "REQUEST_METHOD": method, "CONTENT_LENGTH": str(len(data)), "REMOTE_ADDR": "127.0.0.1",
    }  # fmt: skip
    env |= {variable: headers[name] for name, variable in PASSED_ON.items() if name in headers}
    if token:
        env["REMOTE_USER"] = token.user.login
        if token.permissions is not None and not token.grants("workflows", "write"):
            env["SIMULATOR_REFUSES_WORKFLOWS"] = "1"
    done = subprocess.run(["git", "http-backend"], input=data, capture_output=True, env=env, check=False)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
    status = int(fields.pop("Status", "200").split()[0])
    return Answer(status, body, fields)
