"""Inputs and file become settings, and the three places that list them say the same."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hypothesis
import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from autobuild_action.config import (
    CHECK,
    CONFIG_FILE,
    SETTINGS,
    Amount,
    Checks,
    Choice,
    Inputs,
    Isolation,
    Kind,
    Place,
    Settings,
    Switch,
    Text,
    Whole,
    limits,
    read_inputs,
    settings,
)
from autobuild_action.errors import ConfigurationError
from autobuild_action.model import (
    Check,
    Criterion,
    Limits,
    Mode,
    PullRequestMode,
    Strictness,
    Task,
)

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "src/autobuild_action/schemas/config.json").read_text(encoding="utf-8"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
FILE = ".github/autobuild.yml"


NO_LABEL = "`label` must be a label of at most 50 characters, none of the bot's own (`autobuild:…`), not"
NO_NAME = "`checks` (item 1) `name` must be 1 to 60 letters, digits, spaces, `_`, `.`, `-`,"
A_SECRET = "is a secret: remove it from the repository and revoke it; give it as an input"


def made(file: str | None = None, **values: str) -> Settings:
    given = {name.replace("_", "-"): value for name, value in values.items()}
    return settings(Inputs(values=given), file, file_name=FILE)


def faults(file: str | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        settings(read_inputs(environ or {}), file, file_name=FILE)
    first, *rest = caught.value.what.split("\n")
    assert first == "The configuration is wrong:"
    assert "`.github/autobuild.yml` on the base branch" in caught.value.cure
    return rest


# --- settings ---------------------------------------------------------------------------------------


def test_the_defaults() -> None:
    found = made()
    assert found == Settings(
        label="autobuild",
        max_turns=5,
        player_model="sonnet",
        coach_model="sonnet",
        session_timeout_minutes=20,
        run_timeout_minutes=75,
        max_budget_usd=10.0,
        player_max_steps=150,
        coach_max_steps=60,
        check_command=None,
        checks=(),
        setup_command=None,
        mode=Mode.TDD,
        strictness=Strictness.STANDARD,
        isolation=Isolation.AUTO,
        pull_request=PullRequestMode.DRAFT,
        fail_on_blocked=False,
        sha256=found.sha256,
    )


WHOLE_FILE = """\
# every setting once
label: "let's build"
max-turns: 7
player-model: claude-opus-5-5
coach-model: haiku
session-timeout-minutes: 30
run-timeout-minutes: 350
max-budget-usd: 2.5
player-max-steps: 5
coach-max-steps: 500
check-command: |
  make lint
  make test
checks:
  - name: unit tests
    command: pytest
  - {name: slow.1, command: make slow, required: false, timeout-minutes: 45}
setup-command: npm ci
mode: standard
strictness: strict
isolation: uid
pull-request: on-approval
fail-on-blocked: true
"""


def test_a_file_can_hold_every_setting() -> None:
    found = made(WHOLE_FILE)
    assert found == Settings(
        label="let's build",
        max_turns=7,
        player_model="claude-opus-5-5",
        coach_model="haiku",
        session_timeout_minutes=30,
        run_timeout_minutes=350,
        max_budget_usd=2.5,
        player_max_steps=5,
        coach_max_steps=500,
        check_command="make lint\nmake test",
        checks=(
            Check(name="unit tests", command="pytest", required=True, seconds=900),
            Check(name="slow.1", command="make slow", required=False, seconds=2700),
        ),
        setup_command="npm ci",
        mode=Mode.STANDARD,
        strictness=Strictness.STRICT,
        isolation=Isolation.UID,
        pull_request=PullRequestMode.ON_APPROVAL,
        fail_on_blocked=True,
        sha256=found.sha256,
    )


def test_inputs_can_hold_every_setting_but_the_checks() -> None:
    listed = re.compile(r"checks:\n(?:  .*\n)+")
    from_file = made(listed.sub("", WHOLE_FILE))
    assert from_file.checks == ()
    assert from_file == made(
        label="let's build",
        max_turns="7",
        player_model="claude-opus-5-5",
        coach_model="haiku",
        session_timeout_minutes="30",
        run_timeout_minutes="350",
        max_budget_usd="2.5",
        player_max_steps="5",
        coach_max_steps="500",
        check_command="make lint\nmake test",
        setup_command="npm ci",
        mode="standard",
        strictness="strict",
        isolation="uid",
        pull_request="on-approval",
        fail_on_blocked="true",
    )


def test_the_file_beats_an_input_and_an_input_beats_the_default() -> None:
    found = made("max-turns: 3\nfail-on-blocked: false\n", max_turns="4", coach_max_steps="99", fail_on_blocked="true")
    assert (found.max_turns, found.coach_max_steps, found.player_max_steps) == (3, 99, 150)
    assert found.fail_on_blocked is False


def test_bounds_are_included() -> None:
    checks = ", ".join(f"{{name: c{n}, command: x}}" for n in range(20))
    found = made(f"max-budget-usd: 1000\nlabel: {'l' * 50}\nmax-turns: 1\nchecks: [{checks}]\n", max_turns="10")
    assert (found.max_budget_usd, found.label, found.max_turns) == (1000.0, "l" * 50, 1)
    assert [check.name for check in found.checks] == [f"c{n}" for n in range(20)]
    assert made(max_turns="10").max_turns == 10
    assert faults(f"label: {'l' * 51}") != []
    assert faults(f"checks: [{checks}, {{name: c20, command: x}}]") != []


def test_no_check_is_said_by_name() -> None:
    assert made("check-command: none").check_command == "none"
    assert made(check_command="none").check_command == "none"


@pytest.mark.parametrize("text", [None, "", "\n# only a comment\n", "---\n", "---\nmax-turns: 5\n"])
def test_a_file_that_says_nothing_new_changes_nothing(text: str | None) -> None:
    assert made(text) == made()


def test_the_digest_is_that_of_the_effective_settings_as_canonical_json() -> None:
    canonical = (
        '{"check_command":null,"checks":[],"coach_max_steps":60,"coach_model":"sonnet","fail_on_blocked":false,'
        '"isolation":"auto","label":"autobuild","max_budget_usd":10.0,"max_turns":5,"mode":"tdd",'
        '"player_max_steps":150,"player_model":"sonnet","pull_request":"draft","run_timeout_minutes":75,'
        '"session_timeout_minutes":20,"setup_command":null,"strictness":"standard"}'
    )
    assert made().sha256 == hashlib.sha256(canonical.encode()).hexdigest()
    assert made(max_budget_usd="10").sha256 == made("max-budget-usd: 10").sha256 == made().sha256
    assert made("max-turns: 4").sha256 != made().sha256
    assert made("checks: [{name: a, command: b}]").sha256 != made("checks: [{name: a, command: c}]").sha256


def test_no_secret_is_in_the_digest_or_in_what_is_printed() -> None:
    inputs = read_inputs(
        {
            "INPUT_ANTHROPIC-API-KEY": "sk-1",
            "INPUT_GITHUB-TOKEN": "ghs-2",
            "INPUT_CLAUDE-CODE-OAUTH-TOKEN": "oat-3",
        }
    )
    assert (inputs.anthropic_api_key, inputs.github_token, inputs.oauth_token) == ("sk-1", "ghs-2", "oat-3")
    assert not {"sk-1", "ghs-2", "oat-3"} & set(repr(inputs).replace("'", " ").split())
    assert settings(inputs, None, file_name=FILE) == made()


# --- faults -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("max-turn: 5", "`max-turn` is no setting; did you mean `max-turns`?"),
        ("max_turns: 5", "`max_turns` is no setting; did you mean `max-turns`?"),
        ("sandbox-image: node", "`sandbox-image` is no setting"),
        ("5: 5", "`5` is no setting"),
        ("dry-run: true", "`dry-run` can be given as an input only"),
        ("config-file: x", "`config-file` can be given as an input only"),
        (
            "anthropic-api-key: sk-secret",
            f"`anthropic-api-key` {A_SECRET}",
        ),
        ("max-turns: 0", "`max-turns` must be a whole number from 1 to 10, not `0`"),
        ("max-turns: 11", "`max-turns` must be a whole number from 1 to 10, not `11`"),
        ("max-turns: 2.5", "`max-turns` must be a whole number from 1 to 10, not `2.5`"),
        ("max-turns: '5'", "`max-turns` must be a whole number from 1 to 10, not `5`"),
        ("max-turns: true", "`max-turns` must be a whole number from 1 to 10, not `true`"),
        ("max-turns: 010", "`max-turns` must be a whole number from 1 to 10, not `010`"),
        ("max-turns: 0x5", "`max-turns` must be a whole number from 1 to 10, not `0x5`"),
        ("max-turns:", "`max-turns` must be a whole number from 1 to 10, and has no value"),
        ("max-turns: [5]", "`max-turns` must be a whole number from 1 to 10, not `[5]`"),
        (
            "session-timeout-minutes: 351",
            "`session-timeout-minutes` must be a whole number from 1 to 350, not `351`",
        ),
        ("run-timeout-minutes: 4", "`run-timeout-minutes` must be a whole number from 5 to 350, not `4`"),
        ("player-max-steps: 1001", "`player-max-steps` must be a whole number from 5 to 1000, not `1001`"),
        ("coach-max-steps: 501", "`coach-max-steps` must be a whole number from 5 to 500, not `501`"),
        ("max-budget-usd: 0", "`max-budget-usd` must be a number above 0, up to 1000, not `0`"),
        ("max-budget-usd: 1000.01", "`max-budget-usd` must be a number above 0, up to 1000, not `1000.01`"),
        ("max-budget-usd: .inf", "`max-budget-usd` must be a number above 0, up to 1000, not `.inf`"),
        ("max-budget-usd: false", "`max-budget-usd` must be a number above 0, up to 1000, not `false`"),
        ("mode: TDD", "`mode` must be one of tdd, standard, not `TDD`"),
        ("strictness: [strict]", "`strictness` must be one of standard, strict, not `['strict']`"),
        ("isolation: container", "`isolation` must be one of auto, uid, none, not `container`"),
        ("isolation: false", "`isolation` must be one of auto, uid, none, not `false`"),
        ("pull-request: never", "`pull-request` must be one of draft, on-approval, not `never`"),
        ("fail-on-blocked: yes", "`fail-on-blocked` must be true or false, not `yes`"),
        ("fail-on-blocked: 1", "`fail-on-blocked` must be true or false, not `1`"),
        ("player-model: ''", "`player-model` must be the name of a model, and has no value"),
        ("coach-model: two words", "`coach-model` must be the name of a model, not `two words`"),
        (f"coach-model: {'x' * 201}", f"`coach-model` must be the name of a model, not `{'x' * 59}…`"),
        ("setup-command:", "`setup-command` must be a command, and has no value"),
        ("check-command: [a, b]", "`check-command` must be a command, not `['a', 'b']`"),
        ("check-command: '  '", "`check-command` must be a command, and has no value"),
        (
            "label: 5",
            f"{NO_LABEL} `5`",
        ),
        (
            "label: autobuild:running",
            f"{NO_LABEL} `autobuild:running`",
        ),
        (
            "checks: make",
            "`checks` must be a list of 1 to 20 checks, each with `name` and `command`, not `make`",
        ),
        ("checks: []", "`checks` must be a list of 1 to 20 checks, each with `name` and `command`, not `[]`"),
        ("checks: [a]", "`checks` (item 1) must be a mapping with `name` and `command`"),
        (
            "checks: [{command: x}]",
            f"{NO_NAME} and has no value",
        ),
        ("checks: [{name: a}]", "`checks` (item 1) `command` must be a command, and has no value"),
        (
            "checks: [{name: a/b, command: x}]",
            f"{NO_NAME} not `a/b`",
        ),
        (
            "checks: [{name: a, command: x}, {name: b, command: x, required: maybe}]",
            "`checks` (item 2) `required` must be true or false, not `maybe`",
        ),
        (
            "checks: [{name: a, command: x, timeout-minutes: 121}]",
            "`checks` (item 1) `timeout-minutes` must be a whole number from 1 to 120, not `121`",
        ),
        (
            "checks: [{name: a, command: x, timeout: 1}]",
            "`checks` (item 1) `timeout` is no setting; did you mean `timeout-minutes`?",
        ),
        ("checks: [{name: a, command: x}, {name: A, command: y}]", "`checks` has two checks named `a`"),
        ("- label: x", "the file must hold lines of the form `name: value`"),
        ("just text", "the file must hold lines of the form `name: value`"),
        ("label: a\nmax-turns: 2\nlabel: b", "line 3: `label` is given twice"),
        ("label: [a", "line 1: expected ',' or ']', but got '<stream end>'"),
        ("label: a\n  mode: tdd", "line 2: mapping values are not allowed here"),
        ("label: a\n\tmode: tdd", "line 2: found character '\\t' that cannot start any token"),
        ("label: a\x07", "line 1: the character U+0007 is not allowed"),
        ("label: a\n---\nlabel: b", "line 2: but found another document"),
        ("a: &a [x]\nb: *a", "line 1: anchors and aliases (`&`, `*`) have no place here"),
        ("label: !!python/name:os.system x", "line 1: tags (`!`) have no place here"),
        ("<<: {label: a}", "`<<` is no setting"),
        ("? [a]\n: b", "line 1: a key must be plain text"),
        ("label: " + "[" * 11 + "]" * 11, "line 1: nested too deeply"),
        ("#" * 65_537, "the file has more than 64 KiB"),
    ],
)
def test_a_fault_of_the_file_is_named(file: str, expected: str) -> None:
    assert faults(file) == [f"- `.github/autobuild.yml`: {expected}"]


def test_a_file_of_exactly_the_limit_is_read() -> None:
    assert made("max-turns: 4 #" + "x" * (65_536 - 14)).max_turns == 4


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("MAX-TURNS", "five", "input `max-turns` must be a whole number from 1 to 10, not `five`"),
        ("MAX-TURNS", "5.0", "input `max-turns` must be a whole number from 1 to 10, not `5.0`"),
        ("MAX-TURNS", "-1", "input `max-turns` must be a whole number from 1 to 10, not `-1`"),
        ("MAX-BUDGET-USD", "$10", "input `max-budget-usd` must be a number above 0, up to 1000, not `$10`"),
        ("MAX-BUDGET-USD", "nan", "input `max-budget-usd` must be a number above 0, up to 1000, not `nan`"),
        ("FAIL-ON-BLOCKED", "yes", "input `fail-on-blocked` must be true or false, not `yes`"),
        ("DRY-RUN", "1", "input `dry-run` must be true or false, not `1`"),
        ("VERBOSE", "on", "input `verbose` must be true or false, not `on`"),
        (
            "CONFIG-FILE",
            "/etc/passwd",
            "input `config-file` must be a path inside the repository, not `/etc/passwd`",
        ),
        (
            "CONFIG-FILE",
            "a/../../b",
            "input `config-file` must be a path inside the repository, not `a/../../b`",
        ),
        ("CONFIG-FILE", "main:x", "input `config-file` must be a path inside the repository, not `main:x`"),
        (
            "BASE-BRANCH",
            "--upload-pack=x",
            "input `base-branch` must be the name of a branch, not `--upload-pack=x`",
        ),
        ("BASE-BRANCH", "a..b", "input `base-branch` must be the name of a branch, not `a..b`"),
        ("BASE-BRANCH", "a b", "input `base-branch` must be the name of a branch, not `a b`"),
        ("BASE-BRANCH", "a.lock", "input `base-branch` must be the name of a branch, not `a.lock`"),
        ("ANTHROPIC-API-KEY", "sk ant", "input `anthropic-api-key` must be a key or token without spaces"),
        ("GITHUB-TOKEN", "a\nb", "input `github-token` must be a key or token without spaces"),
        ("MAX_TURNS", "5", "input `max_turns` is no setting; did you mean `max-turns`?"),
        ("PLAN", "auto", "input `plan` is no setting"),
        ("CHECKS", "[]", "input `checks` can stand in the file only"),
    ],
)
def test_a_fault_of_an_input_is_named(name: str, value: str, expected: str) -> None:
    assert faults(environ={f"INPUT_{name}": value}) == [f"- {expected}"]


def test_every_fault_of_inputs_and_file_is_said_at_once() -> None:
    environ = {"INPUT_DRY-RUN": "maybe", "INPUT_MAX-TURNS": "99", "INPUT_ZZ": "x", "INPUT_LABLE": "x"}
    assert faults(
        "mode: tdd\nmode: tdd\nmax-turns: 0\nlabels: x\nchecks: [{name: '?', command: 5, foo: 1}]\n", environ
    ) == [
        "- input `lable` is no setting; did you mean `label`?",
        "- input `zz` is no setting",
        "- input `dry-run` must be true or false, not `maybe`",
        "- input `max-turns` must be a whole number from 1 to 10, not `99`",
        "- `.github/autobuild.yml`: line 2: `mode` is given twice",
        "- `.github/autobuild.yml`: `labels` is no setting; did you mean `label`?",
        "- `.github/autobuild.yml`: `max-turns` must be a whole number from 1 to 10, not `0`",
        "- `.github/autobuild.yml`: `checks` (item 1) `foo` is no setting",
        f"- `.github/autobuild.yml`: {NO_NAME} not `?`",
        "- `.github/autobuild.yml`: `checks` (item 1) `command` must be a command, not `5`",
    ]


def test_a_bad_input_is_a_fault_even_where_the_file_beats_it() -> None:
    assert faults("max-turns: 3", {"INPUT_MAX-TURNS": "0"}) == [
        "- input `max-turns` must be a whole number from 1 to 10, not `0`"
    ]


@hypothesis.settings(deadline=None)  # machines differ
@given(
    st.text()
    | st.lists(st.sampled_from([*"-:[]{}&*!|>%@`'\"#,?\n\t ", "max-turns", "checks", "5", "name"])).map("".join)
)
def test_any_file_gives_settings_or_faults(text: str) -> None:
    try:
        found = made(text).max_turns in range(1, 11)
    except ConfigurationError as refused:
        found = refused.what.startswith("The configuration is wrong:\n- ")
    assert found


# --- inputs -----------------------------------------------------------------------------------------


def test_the_runner_keeps_hyphens_and_fills_in_empty_values() -> None:
    environ = {
        "INPUT_MAX-TURNS": " 4 ",
        "INPUT_CHECK-COMMAND": "",
        "INPUT_BASE-BRANCH": "release/1.x",
        "INPUT_CONFIG-FILE": "ci/autobuild.yml",
        "INPUT_DRY-RUN": "True",
        "INPUT_VERBOSE": "false",
        "INPUT_ARGS": "the runner's own",
        "INPUT_ENTRYPOINT": "the runner's own",
        "AUTOBUILD_MAX_TURNS": "9",
        "PATH": "/bin",
    }
    assert read_inputs(environ) == Inputs(
        base_branch="release/1.x",
        config_file="ci/autobuild.yml",
        dry_run=True,
        verbose=False,
        values={"max-turns": "4"},
    )


def test_without_inputs_there_are_defaults() -> None:
    inputs = read_inputs({})
    assert (inputs.config_file, inputs.base_branch, inputs.values) == (".github/autobuild.yml", "", {})
    assert (inputs.dry_run, inputs.verbose, inputs.faults) == (False, False, ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [("true", True), ("True", True), ("TRUE", True), ("false", False), ("False", False), ("FALSE", False)],
)
def test_a_switch_is_read_as_the_runners_own_toolkit_reads_it(text: str, expected: bool) -> None:  # noqa: FBT001  a column
    assert made(fail_on_blocked=text).fail_on_blocked is expected


def test_the_command_line_reads_variables_that_a_shell_can_set() -> None:
    environ = {
        "AUTOBUILD_MAX_TURNS": "4",
        "AUTOBUILD_DRY_RUN": "true",
        "AUTOBUILD_HOME": "x",
        "INPUT_MAX-TURNS": "9",
    }
    assert read_inputs(environ, prefix="AUTOBUILD_") == Inputs(dry_run=True, values={"max-turns": "4"})


# --- limits -----------------------------------------------------------------------------------------


def task(max_turns: int | None) -> Task:
    return Task(title="T", text="T", criteria=(Criterion(id="AC-1", text="x"),), sha256="0", max_turns=max_turns)


def test_limits_are_the_settings_in_seconds() -> None:
    assert limits(made(), task(None)) == Limits(
        max_turns=5, budget_usd=10.0, session_seconds=1200, run_seconds=4500, player_steps=150, coach_steps=60
    )


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (4, 4), (5, 5), (6, 5), (10, 5)])
def test_an_issue_can_lower_the_turns_only(asked: int, given: int) -> None:
    assert limits(made(), task(asked)).max_turns == given


# --- one table, three places ------------------------------------------------------------------------


def test_action_yml_has_the_inputs_of_the_table() -> None:
    inputs = {setting.name: setting for setting in SETTINGS if setting.place is not Place.FILE}
    assert set(ACTION["inputs"]) == set(inputs)
    for name, found in ACTION["inputs"].items():
        assert found["description"] == inputs[name].description, name
        assert not found.get("required"), name
        default = {"github-token": "${{ github.token }}"}.get(name, as_input(inputs[name].default))
        assert found["default"] == default, name


def as_input(default: object) -> str:
    match default:
        case None:
            return ""
        case bool():
            return str(default).lower()
        case float():
            return f"{default:g}"
        case _:
            return str(default)


def test_the_defaults_of_action_yml_are_the_defaults() -> None:
    environ = {f"INPUT_{name.upper()}": found["default"] for name, found in ACTION["inputs"].items()}
    del environ["INPUT_GITHUB-TOKEN"]
    inputs = read_inputs(environ)
    assert settings(inputs, None, file_name=FILE) == made()
    assert (inputs.config_file, inputs.dry_run) == (CONFIG_FILE, False)


def shape(kind: Kind) -> dict[str, Any]:
    match kind:
        case Text():
            return {"type": "string", "pattern": kind.pattern, "maxLength": kind.longest}
        case Whole():
            return {"type": "integer", "minimum": kind.low, "maximum": kind.high}
        case Amount():
            return {"type": "number", "exclusiveMinimum": 0, "maximum": kind.high}
        case Choice():
            return {"enum": [str(value) for value in kind.of]}
        case Switch():
            return {"type": "boolean"}
        case Checks():
            return {"type": "array", "minItems": 1, "maxItems": kind.most}


def test_the_schema_has_the_settings_of_the_table() -> None:
    in_file = [setting for setting in SETTINGS if setting.place in (Place.BOTH, Place.FILE)]
    assert list(SCHEMA["properties"]) == [setting.name for setting in in_file]
    for setting in in_file:
        found = dict(SCHEMA["properties"][setting.name])
        assert found.pop("title"), setting.name
        found.pop("items", None)
        default = {"default": setting.default} if setting.default not in (None, ()) else {}
        assert found == {"description": setting.description, **shape(setting.kind), **default}, setting.name


def test_the_schema_has_the_parts_of_a_check() -> None:
    items = SCHEMA["properties"]["checks"]["items"]
    assert items["additionalProperties"] is False
    assert items["required"] == [name for name, (_, default) in CHECK.items() if default is None]
    for name, (kind, default) in CHECK.items():
        found = dict(items["properties"][name])
        assert found.pop("title"), name
        assert found.pop("description"), name
        assert found == {**shape(kind), **({} if default is None else {"default": default})}, name
    assert list(items["properties"]) == list(CHECK)


def test_the_table_fills_every_field_of_the_settings() -> None:
    in_file = {setting.field for setting in SETTINGS if setting.place in (Place.BOTH, Place.FILE)}
    assert in_file | {"sha256"} == set(Settings.__dataclass_fields__)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (WHOLE_FILE, True),
        ("", True),
        ("max-turns: 11", False),
        ("max-turns: true", False),
        ("max-budget-usd: 0", False),
        ("max-budget-usd: 0.01", True),
        ("label: ''", False),
        ("label: autobuild:blocked", False),
        ("label: good first issue", True),
        ("isolation: container", False),
        ("isolation: none", True),
        ("setup-command: ' '", False),
        ("checks: []", False),
        ("checks: [{name: a}]", False),
        ("checks: [{name: a, command: b, x: 1}]", False),
        ("checks: [{name: a, command: b}]", True),
        ("unknown: 1", False),
        ("dry-run: true", False),
        ("- a", False),
    ],
)
def test_schema_and_parser_agree(text: str, valid: bool) -> None:  # noqa: FBT001  a column of the table
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    assert validator.is_valid(yaml.safe_load(text)) is valid
    if valid:
        made(text)
    else:
        assert faults(text)
