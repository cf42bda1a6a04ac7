"""The runner's environment and files, of a container job, of a plain one, and of Enterprise Server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from autobuild_action.adapters.github import Server
from autobuild_action.adapters.runner import LARGEST_SUMMARY, _on_host, read_runner
from autobuild_action.errors import ConfigurationError
from autobuild_action.model import RunId
from simulators.runner import read_outputs

PLAIN: Mapping[str, str] = {
    "GITHUB_EVENT_NAME": "issues",
    "GITHUB_EVENT_PATH": "/nonexistent/event.json",
    "GITHUB_REPOSITORY": "octo/calc",
}
CONTAINER: Mapping[str, str] = {
    **PLAIN,
    "GITHUB_ACTIONS": "true",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_API_URL": "https://api.github.com",
    "GITHUB_GRAPHQL_URL": "https://api.github.com/graphql",
    "GITHUB_RUN_ID": "77",
    "GITHUB_RUN_ATTEMPT": "3",
    "GITHUB_EVENT_PATH": "/github/workflow/event.json",
    "GITHUB_OUTPUT": "/github/file_commands/output",
    "GITHUB_STEP_SUMMARY": "/github/file_commands/summary",
    "GITHUB_WORKSPACE": "/github/workspace",
    "RUNNER_TEMP": "/github/runner_temp",
    "RUNNER_WORKSPACE": "/home/runner/work/calc",
    "HOME": "/github/home",
}
"""As facts/container.md §1 has it."""


def files(tmp_path: Path, **more: str) -> dict[str, str]:
    """The environment of a job whose folders are really there."""
    for name in ("temp", "commands"):
        (tmp_path / name).mkdir()
    own = {
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_OUTPUT": str(tmp_path / "commands/output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "commands/summary"),
        "RUNNER_TEMP": str(tmp_path / "temp"),
    }
    return {**PLAIN, **own, **more}


class TestPlace:
    def test_of_a_container_job(self) -> None:
        runner = read_runner(CONTAINER)
        assert (runner.event_name, runner.repository, runner.in_actions) == ("issues", "octo/calc", True)
        assert runner.event_path == Path("/github/workflow/event.json")
        assert runner.run == RunId(id="77", attempt=3, url="https://github.com/octo/calc/actions/runs/77")
        assert runner.output == Path("/github/file_commands/output")
        assert runner.summary == Path("/github/file_commands/summary")
        assert runner.server == Server(
            url="https://github.com", api="https://api.github.com", graphql="https://api.github.com/graphql"
        )

    def test_the_trace_of_a_container_is_named_as_the_host_has_it(self) -> None:
        inside = Path("/github/runner_temp/autobuild")  # which is there in a container only
        assert _on_host(inside, CONTAINER) == Path("/home/runner/work/_temp/autobuild")
        assert _on_host(inside, {**CONTAINER, "RUNNER_WORKSPACE": ""}) == inside

    def test_a_temporary_folder_that_is_not_mounted_is_not_used(self, tmp_path: Path) -> None:
        runner = read_runner({**CONTAINER, "RUNNER_TEMP": str(tmp_path / "missing"), "HOME": str(tmp_path)})
        assert runner.folder == tmp_path / "autobuild"
        assert runner.trace_on_host == tmp_path / "autobuild/trace"

    def test_outside_of_a_container_the_trace_is_where_it_is(self, tmp_path: Path) -> None:
        environ = files(tmp_path, RUNNER_WORKSPACE="/home/runner/work/calc")
        runner = read_runner(environ)
        assert runner.folder == tmp_path / "temp/autobuild"
        assert runner.trace_on_host == tmp_path / "temp/autobuild/trace"

    def test_the_workspace_is_never_ours(self, tmp_path: Path) -> None:
        workspace = tmp_path / "work"
        runner = read_runner(files(tmp_path, GITHUB_WORKSPACE=str(workspace)))
        for folder in (runner.folder, runner.trace_on_host):
            assert workspace not in (folder, *folder.parents)

    def test_with_little_told_the_rest_is_githubs_own(self) -> None:
        runner = read_runner({**PLAIN, "HOME": "/home/me"})
        assert runner.server == Server(
            url="https://github.com", api="https://api.github.com", graphql="https://api.github.com/graphql"
        )
        assert (runner.run.id, runner.run.attempt, runner.in_actions) == ("0", 1, False)
        assert (runner.output, runner.summary) == (None, None)
        assert runner.folder == Path("/home/me/autobuild")

    def test_of_enterprise_server(self) -> None:
        ghes = {
            "GITHUB_SERVER_URL": "https://git.example",
            "GITHUB_API_URL": "https://git.example/api/v3",
            "GITHUB_GRAPHQL_URL": "https://git.example/api/graphql",
        }
        runner = read_runner({**CONTAINER, **ghes})
        assert runner.server == Server(
            url="https://git.example",
            api="https://git.example/api/v3",
            graphql="https://git.example/api/graphql",
        )
        assert runner.run.url == "https://git.example/octo/calc/actions/runs/77"

    @pytest.mark.parametrize("missing", PLAIN)
    @pytest.mark.parametrize("empty", [True, False])
    def test_what_is_missing_is_named(self, missing: str, empty: bool) -> None:  # noqa: FBT001  a case
        environ = {name: value for name, value in PLAIN.items() if name != missing} | ({missing: ""} if empty else {})
        with pytest.raises(ConfigurationError, match=f"{missing} is not set"):
            read_runner(environ)


class TestEvent:
    def test_it_is_read(self, tmp_path: Path) -> None:
        environ = files(tmp_path)
        payload = {"action": "labeled", "issue": {"title": "ünï \u202e"}}
        Path(environ["GITHUB_EVENT_PATH"]).write_text(json.dumps(payload), encoding="utf-8")
        assert read_runner(environ).event == payload

    @pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", None])
    def test_a_file_that_cannot_be_read_is_a_fault_of_the_configuration(
        self, tmp_path: Path, content: bytes | None
    ) -> None:
        environ = files(tmp_path)
        if content is not None:
            Path(environ["GITHUB_EVENT_PATH"]).write_bytes(content)
        with pytest.raises(ConfigurationError, match=r"event\.json can't be read"):
            assert read_runner(environ).event

    @pytest.mark.parametrize("content", ["[]", "null", '"text"', "1"])
    def test_a_payload_that_is_no_object_is_empty(self, tmp_path: Path, content: str) -> None:
        environ = files(tmp_path)
        Path(environ["GITHUB_EVENT_PATH"]).write_text(content)
        assert read_runner(environ).event == {}


class TestOutputs:
    def test_values_of_every_kind_arrive_and_none_ends_its_block(self, tmp_path: Path) -> None:
        environ = files(tmp_path)
        Path(environ["GITHUB_OUTPUT"]).write_text("earlier=1\n")
        runner = read_runner(environ)
        hostile = "first\nend-0\nEOF\nresult<<EOF\napproved\nEOF\n\nlast=1"
        runner.set_outputs({"result": "blocked", "reason": hostile, "commit": "", "turns": 3})
        runner.set_outputs({"branch": "autobuild/ünï"})
        text = Path(environ["GITHUB_OUTPUT"]).read_text(encoding="utf-8")
        assert text.startswith("earlier=1\n")
        assert read_outputs(text) == {
            "result": "blocked",
            "reason": hostile,
            "commit": "",
            "turns": "3",
            "branch": "autobuild/ünï",
        }
        assert runners_own_reading(text) == {"earlier": "1", **read_outputs(text)}

    def test_the_delimiters_are_never_the_same(self, tmp_path: Path) -> None:
        environ = files(tmp_path)
        for _ in range(2):
            read_runner(environ).set_outputs({"a": 1, "b": 2})
        text = Path(environ["GITHUB_OUTPUT"]).read_text()
        ends = [line.partition("<<")[2] for line in text.splitlines() if "<<" in line]
        assert len(set(ends)) == 4
        assert all(len(end) > 30 for end in ends)

    def test_without_a_file_nothing_is_written(self) -> None:
        read_runner({**PLAIN, "HOME": "/nonexistent"}).set_outputs({"a": 1})
        read_runner({**PLAIN, "HOME": "/nonexistent"}).set_summary("x")

    def test_the_summary_is_added_unless_it_would_be_dropped_whole(self, tmp_path: Path) -> None:
        environ = files(tmp_path)
        runner = read_runner(environ)
        runner.set_summary("# One ü")
        runner.set_summary("ü" * LARGEST_SUMMARY)
        runner.set_summary("# Two")
        assert Path(environ["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8") == "# One ü\n# Two\n"


def runners_own_reading(text: str) -> dict[str, str]:
    """The file as actions/runner reads it (facts/container.md §1): whichever of ``=`` and ``<<`` comes first."""
    found: dict[str, str] = {}
    lines = iter(text.split("\n"))
    for line in lines:
        equals, heredoc = line.find("="), line.find("<<")
        if not line:
            continue
        if heredoc >= 0 and (equals < 0 or heredoc < equals):
            name, end = line[:heredoc], line[heredoc + 2 :]
            block: list[str] = []
            while (inside := next(lines)) != end:
                block.append(inside)
            found[name] = "\n".join(block)
        else:
            name, _, value = line.partition("=")
            found[name] = value
    return found
