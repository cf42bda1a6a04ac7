"""git over HTTP: git's own http-backend, behind GitHub's rules about who may read and write."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class GitRequest:
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """names in lower case"""
    data: bytes
    token: Token | None

    @property
    def pushes(self) -> bool:
        return self.path.endswith("/git-receive-pack") or self.query == "service=git-receive-pack"


def answer(hub: GitHub, request: GitRequest) -> Answer:
    name, found, rest = request.path.lstrip("/").partition(".git/")
    if not found:
        hub.violations.append(f"{request.method} {request.path}: neither the API nor git")
    repo = hub.find(name)
    refused = refusal(repo, request)
    if repo is None or refused:
        return refused or words(404, "Repository not found.")
    done = http_backend(repo, request, rest)
    if request.method == "POST" and request.pushes:
        with hub.lock:
            repo.refresh()
    return done


def refusal(repo: Repository | None, request: GitRequest) -> Answer | None:
    token = request.token
    if token is None:
        if "authorization" in request.headers or request.pushes or repo is None or repo.private:
            return words(401, "Invalid username or token.", {"WWW-Authenticate": 'Basic realm="GitHub"'})
        return None
    if repo is None or not may(repo, token, "read"):
        return words(404, "Repository not found.")
    if request.pushes and not may(repo, token, "write"):
        return words(403, f"Permission to {repo.full_name}.git denied to {token.user.login}.")
    return None


def may(repo: Repository, token: Token, level: str) -> bool:
    if level == "read" and not repo.private:
        return True
    if token.permissions is None:
        return repo.allows(token.user, "read" if level == "read" else "write")
    return token.repository is repo and token.grants("contents", level)


def words(status: int, text: str, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, text.encode() + b"\n", {"Content-Type": "text/plain", **(headers or {})})


def http_backend(repo: Repository, request: GitRequest, rest: str) -> Answer:
    """One CGI call."""
    env = environment() | {
        "CONTENT_LENGTH": str(len(request.data)),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROJECT_ROOT": str(repo.git.folder),
        "PATH_INFO": f"/{rest}",
        "QUERY_STRING": request.query,
        "REMOTE_ADDR": "127.0.0.1",
        "REQUEST_METHOD": request.method,
    }
    env |= {variable: request.headers[name] for name, variable in PASSED_ON.items() if name in request.headers}
    if request.token:
        env["REMOTE_USER"] = request.token.user.login
        if not request.token.grants("workflows", "write"):
            env["SIMULATOR_REFUSES_WORKFLOWS"] = "1"
    done = subprocess.run(["git", "http-backend"], input=request.data, capture_output=True, env=env, check=False)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
    status = int(fields.pop("Status", "200").split()[0])
    return Answer(status, body, fields)
