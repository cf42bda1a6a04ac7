"""`python -m simulators.github --root DIR --port N [--seed FILE.yaml]`: one GitHub until it is told to end.

The seed, all of it optional:

    users: [mallory]
    repositories:
      octo/calc:
        private: false
        files: {README.md: "# Calc"}
        roles: {alice: write}
        issues: [{author: alice, title: Add, body: "- [ ] it adds", labels: [autobuild]}]
    tokens: [{login: "github-actions[bot]", repository: octo/calc, permissions: {contents: write}}]

It prints one line of JSON: the origin, the API's addresses, and the tokens in the seed's order.
"""

import argparse
import json
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from simulators.github.hub import GitHub


def sow(hub: GitHub, seed: Mapping[str, Any]) -> list[str]:
    """Make what the seed describes; answers the tokens."""
    for login in seed.get("users", ()):
        hub.user(login)
    for full_name, described in seed.get("repositories", {}).items():
        settings = {key: value for key, value in described.items() if key != "issues"}
        repo = hub.repository(full_name, **settings)
        for issue in described.get("issues", ()):
            hub.user(issue["author"])
            repo.open_issue(**issue)
    return [
        hub.token(token["login"], hub.find(token.get("repository", "")), permissions=token.get("permissions"))
        for token in seed.get("tokens", ())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m simulators.github", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--root", type=Path, required=True, help="folder for the bare repositories")
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; any free one unless given")
    parser.add_argument("--seed", type=Path, help="YAML: users, repositories, tokens")
    given = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with GitHub(given.root, port=given.port) as hub:
        tokens = sow(hub, yaml.safe_load(given.seed.read_text())) if given.seed else []
        started = {"origin": hub.origin, "api": hub.api, "graphql": hub.graphql, "tokens": tokens}
        print(json.dumps(started), flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
