"""What the files at the top of the repository promise each other."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
EXAMPLE = (ROOT / "examples" / "autobuild.yml").read_text(encoding="utf-8")
# Vendored as they are; what they mention is not ours to change.
VENDORED = ("simulators/github/data/", "tests/data/")


def section(title: str) -> str:
    """README's text from the first heading that contains the title to the next heading of that rank."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    outside_code = re.sub(
        r"^```.*?^```",
        lambda m: re.sub(r"^#", " ", m[0], flags=re.MULTILINE),
        readme,
        flags=re.MULTILINE | re.DOTALL,
    )
    start = re.search(rf"^(#+) [^\n]*\b{title}\b", outside_code, re.MULTILINE | re.IGNORECASE)
    assert start, f"README has no heading with the word {title!r}"
    end = re.search(rf"^#{{1,{len(start[1])}}} ", outside_code[start.end() :], re.MULTILINE)
    return readme[start.end() :][: end.start() if end else None]


def code(value: str) -> str:
    return f"`{value}`" if value else "–"


def example_step() -> dict[str, Any]:
    (job,) = yaml.safe_load(EXAMPLE)["jobs"].values()
    return {"if": job["if"], "timeout": job["timeout-minutes"], **job["steps"][0]["with"]}


def tracked_files() -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    return [name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def pins(lock: str) -> dict[str, str]:
    found = re.findall(r"^([a-z0-9.-]+)==(\S+)", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE)
    return dict(found)


def test_readme_shows_the_workflow_of_the_examples_folder() -> None:
    block = re.search(r"^```ya?ml\n(.*?)^```", section("workflow"), re.MULTILINE | re.DOTALL)
    assert block, "no yaml block under README's heading about the workflow"
    assert block[1] == EXAMPLE


def test_readme_lists_the_inputs_of_the_action() -> None:
    expected = [
        f"| `{name}` | {code(value['default'])} | {value['description']} |" for name, value in ACTION["inputs"].items()
    ]
    assert re.findall(r"^\| `.*$", section("inputs"), re.MULTILINE) == expected


def test_readme_lists_the_outputs_of_the_action() -> None:
    expected = [f"| `{name}` | {value['description']} |" for name, value in ACTION["outputs"].items()]
    assert re.findall(r"^\| `.*$", section("outputs"), re.MULTILINE) == expected


def test_the_action_passes_no_arguments() -> None:
    assert ACTION["runs"] == {"using": "docker", "image": "Dockerfile"}


@pytest.mark.parametrize("name", ACTION["inputs"])
def test_an_input_has_a_sentence_and_a_plain_default(name: str) -> None:
    value = ACTION["inputs"][name]
    assert isinstance(value["default"], str)
    assert value["description"].endswith(".")
    assert "|" not in value["description"], "would end a cell of README's table"


def test_the_workflow_uses_inputs_of_the_action_and_names_its_label() -> None:
    step = example_step()
    assert set(step) - {"if", "timeout"} <= set(ACTION["inputs"])
    assert set(re.findall(r"^ +# ([a-z-]+): ", EXAMPLE, re.MULTILINE)) <= set(ACTION["inputs"])
    assert f"github.event.label.name == '{ACTION['inputs']['label']['default']}'" in step["if"]


def test_a_run_ends_before_its_job() -> None:
    assert int(ACTION["inputs"]["run-timeout-minutes"]["default"]) + 10 <= example_step()["timeout"]


def test_the_image_is_built_from_listed_files_only() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "*"


def test_the_dockerfile_builds_on_every_engine_and_leaves_user_and_folder_to_the_runner() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    instructions = re.findall(r"^([A-Z]+) ", text, re.MULTILINE)
    assert not {"USER", "WORKDIR", "CMD"} & set(instructions)
    assert "RUN --mount" not in re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    assert not re.search(r"^# *syntax *=", text, re.MULTILINE | re.IGNORECASE)
    assert re.search(r'^ENTRYPOINT \["/', text, re.MULTILINE)


def test_the_locks_hold_what_the_project_asks_for_and_agree() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {re.split(r"[<>=;]", line)[0].lower() for line in wanted}
    run, dev = pins("requirements.lock"), pins("requirements-dev.lock")
    assert names <= set(run), "make lock"
    assert run.items() <= dev.items(), "make lock"
    assert f"claude-agent-sdk=={run['claude-agent-sdk']}" in wanted


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_names_no_host(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    machine = re.compile(rb"(?<![\w.$}])/(?:work/(?:main|shared|\.)|root/)")
    named = [
        name for name in tracked_files() if not name.startswith(VENDORED) and machine.search((ROOT / name).read_bytes())
    ]
    assert named == []


def test_nobody_mocks() -> None:
    mock = re.compile(r"^\s*(?:import|from) unittest(?:\.mock\b| import .*\bmock\b)", re.MULTILINE)
    python = [name for name in tracked_files() if name.endswith(".py") and not name.startswith(VENDORED)]
    assert [name for name in python if mock.search((ROOT / name).read_text(encoding="utf-8"))] == []
