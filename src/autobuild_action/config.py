"""Inputs and the settings file become Settings; everything wrong with either is said at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from enum import Enum, StrEnum
from hashlib import sha256
from typing import Any

from autobuild_action.errors import ConfigurationError
from autobuild_action.model import Check, Limits, Mode, PullRequestMode, Strictness, Task
from autobuild_action.quote import code
from autobuild_action.strict_yaml import load

NO_CHECK = "none"
"""The ``check-command`` that says: this project has no check, and I know it."""
CONFIG_FILE = ".github/autobuild.yml"
INPUT = "INPUT_"
MAX_FILE = 64 * 1024


class Isolation(StrEnum):
    """The level that is asked for; ``auto`` is the strongest that can be had."""

    AUTO = "auto"
    UID = "uid"
    NONE = "none"


# --- kinds of setting -------------------------------------------------------------------------------


class _FaultsError(ValueError):
    """A value does not fit its kind; each fault goes on from the setting's name."""

    def __init__(self, *faults: str) -> None:
        super().__init__(*faults)
        self.faults = faults


def _must_be(wanted: str, value: object) -> _FaultsError:
    if value is None or (isinstance(value, str) and not value.strip()):
        return _FaultsError(f"must be {wanted}, and has no value")
    shown = str(value).lower() if isinstance(value, bool) else value
    return _FaultsError(f"must be {wanted}, not {code(shown)}")


@dataclass(frozen=True, kw_only=True)
class Text:
    """Text in which ``pattern`` is found; ``wanted`` says it in words. A secret is not shown in a fault."""

    wanted: str
    pattern: str = r"\S"
    longest: int = 20_000
    secret: bool = False

    def read(self, value: object) -> str:
        """The text without spaces around it."""
        if isinstance(value, str) and len(value) <= self.longest and re.search(self.pattern, value):
            return value.strip()
        raise _FaultsError(f"must be {self.wanted}") if self.secret else _must_be(self.wanted, value)


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A whole number within bounds, both included."""

    low: int
    high: int

    def read(self, value: object) -> int:
        """The number; a boolean is none, whatever Python says."""
        if isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high:
            return value
        raise _must_be(f"a whole number from {self.low} to {self.high}", value)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A number above zero, up to a bound."""

    high: int

    def read(self, value: object) -> float:
        """The number."""
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= self.high:
            return float(value)
        raise _must_be(f"a number above 0, up to {self.high}", value)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of the values of an enum."""

    of: type[StrEnum]

    def read(self, value: object) -> StrEnum:
        """The member."""
        if isinstance(value, str) and value in set(self.of):
            return self.of(value)
        raise _must_be(f"one of {', '.join(self.of)}", value)


@dataclass(frozen=True, kw_only=True)
class Switch:
    """True or false."""

    def read(self, value: object) -> bool:
        """The boolean."""
        if isinstance(value, bool):
            return value
        raise _must_be("true or false", value)


@dataclass(frozen=True, kw_only=True)
class Checks:
    """A list of named commands; only a file can hold one."""

    most: int = 20

    def read(self, value: object) -> tuple[Check, ...]:
        """The checks; each item has ``name``, ``command``, and maybe ``required`` and ``timeout-minutes``."""
        if not isinstance(value, list) or not 0 < len(value) <= self.most:
            raise _must_be(f"a list of 1 to {self.most} checks, each with `name` and `command`", value)
        faults: list[str] = []
        checks = [_check(item, f"(item {number})", faults) for number, item in enumerate(value, start=1)]
        names = [check.name.casefold() for check in checks if check is not None]
        faults.extend(f"has two checks named {code(name)}" for name in sorted(set(names)) if names.count(name) > 1)
        if faults:
            raise _FaultsError(*faults)
        return tuple(check for check in checks if check is not None)


def _check(item: object, place: str, faults: list[str]) -> Check | None:
    """One item of ``checks``, None where it has faults, which are added to the list."""
    if not isinstance(item, dict):
        faults.append(f"{place} must be a mapping with `name` and `command`")
        return None
    before = len(faults)
    faults.extend(f"{place} {_unknown(key, CHECK)}" for key in item if key not in CHECK)
    values: dict[str, Any] = {}
    for key, (kind, default) in CHECK.items():
        try:
            values[key] = default if key not in item and default is not None else kind.read(item.get(key))
        except _FaultsError as exc:
            faults.extend(f"{place} {code(key)} {fault}" for fault in exc.faults)
    if len(faults) > before:
        return None
    seconds = values["timeout-minutes"] * 60
    return Check(name=values["name"], command=values["command"], required=values["required"], seconds=seconds)


def _unknown(name: object, known: Iterable[str]) -> str:
    near = get_close_matches(str(name), list(known), n=1)
    return f"{code(name)} is no setting{f'; did you mean {code(near[0])}?' if near else ''}"


Kind = Text | Whole | Amount | Choice | Switch | Checks

SECRET = Text(wanted="a key or token without spaces", pattern=r"^[!-~]+$", secret=True)
LABEL = Text(
    wanted="a label of at most 50 characters, none of the bot's own (`autobuild:…`)",
    pattern=r"^(?!autobuild:)[^\s,](?:[^\r\n,]*[^\s,])?$",
    longest=50,
)
MODEL = Text(wanted="the name of a model", pattern=r"^[!-~]+$", longest=200)
COMMAND = Text(wanted="a command")
PATH = Text(
    wanted="a path inside the repository",
    pattern=r"^(?!/)(?!(?:.*/)?\.\.(?:/|$))[^\\:\x00-\x1f\x7f]+$",
    longest=300,
)
BRANCH = Text(
    wanted="the name of a branch",
    pattern=r"^(?![-/.])(?!.*(?:\.\.|//|@\{|/\.|\.lock$|[/.]$))[^\s~^:?*\[\\\x00-\x1f\x7f]+$",
    longest=200,
)
CHECK: dict[str, tuple[Kind, object]] = {
    "name": (
        Text(
            wanted="1 to 60 letters, digits, spaces, `_`, `.`, `-`",
            pattern=r"^[A-Za-z0-9_.-](?:[A-Za-z0-9 _.-]{0,58}[A-Za-z0-9_.-])?$",
        ),
        None,
    ),
    "command": (COMMAND, None),
    "required": (Switch(), True),
    "timeout-minutes": (Whole(low=1, high=120), 15),
}
"""What an item of ``checks`` holds, with defaults; None where it must be given."""


# --- the table --------------------------------------------------------------------------------------


class Place(Enum):
    """Where a setting may stand."""

    BOTH = "the file or an input"
    INPUT = "an input only"
    FILE = "the file only"
    SECRET = "an input only, since it is a secret"  # noqa: S105  a description, no password


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One line of the table: a setting's name as users write it, its kind, default and description."""

    name: str
    kind: Kind
    default: object
    description: str
    place: Place = Place.BOTH

    @property
    def field(self) -> str:
        """Its name in :class:`Settings`."""
        return self.name.replace("-", "_")


SETTINGS = (
    Setting(
        name="github-token",
        kind=SECRET,
        default="",
        place=Place.SECRET,
        description=(
            "Token for branch, comments, reviews and the pull request. The workflow's own token is "
            "enough; an App's token starts your other workflows too."
        ),
    ),
    Setting(
        name="anthropic-api-key",
        kind=SECRET,
        default="",
        place=Place.SECRET,
        description="Key of the Claude API. Give this or `claude-code-oauth-token`.",
    ),
    Setting(
        name="claude-code-oauth-token",
        kind=SECRET,
        default="",
        place=Place.SECRET,
        description=(
            "Token of a Claude subscription, made with `claude setup-token`. Give this or `anthropic-api-key`."
        ),
    ),
    Setting(
        name="label",
        kind=LABEL,
        default="autobuild",
        description="The label that starts a run. The `if:` of the workflow must name the same one.",
    ),
    Setting(
        name="max-turns",
        kind=Whole(low=1, high=10),
        default=5,
        description="Turns of one attempt, 1 to 10. Each `/autobuild retry` grants as many again.",
    ),
    Setting(
        name="player-model",
        kind=MODEL,
        default="sonnet",
        description="Model of the Player, an alias or a full model name.",
    ),
    Setting(
        name="coach-model",
        kind=MODEL,
        default="sonnet",
        description="Model of the Coach, an alias or a full model name.",
    ),
    Setting(
        name="session-timeout-minutes",
        kind=Whole(low=1, high=350),
        default=20,
        description="Time for one session of Player or Coach. A session cut short is judged, not failed.",
    ),
    Setting(
        name="run-timeout-minutes",
        kind=Whole(low=5, high=350),
        default=75,
        description=(
            "Time for the whole run. Keep it below the `timeout-minutes` of the job, so that the run can still report."
        ),
    ),
    Setting(
        name="max-budget-usd",
        kind=Amount(high=1000),
        default=10.0,
        description="Cost limit of one attempt in US dollars, estimated from list prices.",
    ),
    Setting(
        name="player-max-steps",
        kind=Whole(low=5, high=1000),
        default=150,
        description="Model steps of one Player session.",
    ),
    Setting(
        name="coach-max-steps",
        kind=Whole(low=5, high=500),
        default=60,
        description="Model steps of one Coach session.",
    ),
    Setting(
        name="check-command",
        kind=COMMAND,
        default=None,
        description=(
            "Command that must exit 0 before anything is approved, run outside both agents. Empty "
            "finds the project's usual test command; `none` asks for no check."
        ),
    ),
    Setting(
        name="checks",
        kind=Checks(),
        default=(),
        place=Place.FILE,
        description=(
            "Commands that decide about a commit, each with a name, in place of `check-command`. One "
            "that is not `required` is shown but stops nothing."
        ),
    ),
    Setting(
        name="setup-command",
        kind=COMMAND,
        default=None,
        description=(
            "Command that installs what the project needs, run once per attempt on the base commit "
            "with network, before any agent starts."
        ),
    ),
    Setting(
        name="mode",
        kind=Choice(of=Mode),
        default=Mode.TDD,
        description=(
            "How the Player works. `tdd` writes a failing test before the code, `standard` leaves the order open."
        ),
    ),
    Setting(
        name="strictness",
        kind=Choice(of=Strictness),
        default=Strictness.STANDARD,
        description=("How the Coach judges. With `strict` a `should_fix` issue stands in the way of an approval too."),
    ),
    Setting(
        name="isolation",
        kind=Choice(of=Isolation),
        default=Isolation.AUTO,
        description=(
            "How sessions and checks are kept apart from the rest. `auto` takes the strongest level "
            "that can be had and stops where its self-test fails; `uid` gives each session a user of its own; "
            "`none` only cleans the environment."
        ),
    ),
    Setting(
        name="pull-request",
        kind=Choice(of=PullRequestMode),
        default=PullRequestMode.DRAFT,
        description=(
            "When the pull request is made. `draft` opens a draft after the first turn, which carries "
            "the reviews; `on-approval` waits for the approval."
        ),
    ),
    Setting(
        name="base-branch",
        kind=BRANCH,
        default="",
        place=Place.INPUT,
        description="Branch to start from and to merge into. Empty means the repository's default branch.",
    ),
    Setting(
        name="config-file",
        kind=PATH,
        default=CONFIG_FILE,
        place=Place.INPUT,
        description="Settings file on the base branch. What it says goes before these inputs.",
    ),
    Setting(
        name="dry-run",
        kind=Switch(),
        default=False,
        place=Place.INPUT,
        description="With `true`, print contract, plan, prompts and texts, call no model and change nothing.",
    ),
    Setting(
        name="fail-on-blocked",
        kind=Switch(),
        default=False,
        description="With `true`, a blocked run ends red. By default it ends green with `result` blocked.",
    ),
    Setting(
        name="verbose",
        kind=Switch(),
        default=False,
        place=Place.INPUT,
        description="With `true`, log more of what the sessions do.",
    ),
)
"""Every setting there is; action.yml, the JSON schema for editors and the README are held equal to it."""


# --- the inputs -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The action's inputs: what only an input may say, and the raw ``values`` of the other ones given.

    ``faults`` are kept for :func:`settings`, which says them together with those of the file.
    """

    github_token: str = field(default="", repr=False)
    anthropic_api_key: str = field(default="", repr=False)
    oauth_token: str = field(default="", repr=False)
    config_file: str = CONFIG_FILE
    base_branch: str = ""
    dry_run: bool = False
    verbose: bool = False
    values: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


def read_inputs(environ: Mapping[str, str], *, prefix: str = INPUT) -> Inputs:
    """The inputs in an environment; never raises.

    The runner sets ``INPUT_MAX-TURNS``, hyphens kept (facts/github.md §8); with any other prefix, such as
    the command line's ``AUTOBUILD_``, hyphens are underscores: ``AUTOBUILD_MAX_TURNS``. An empty value is as
    good as none, since the runner sets those too.
    """
    known = {setting.name: setting for setting in SETTINGS if setting.place is not Place.FILE}
    found = {name: environ.get(_variable(name, prefix), "").strip() for name in known}
    given = {name: value for name, value in found.items() if value}
    own = {name: value for name, value in given.items() if known[name].place is not Place.BOTH}
    read, faults = _read((known[name], value) for name, value in _typed(own).items())
    unknown = _unknown_inputs(environ, known) if prefix == INPUT else ()
    oauth_token = read.pop("claude_code_oauth_token", "")
    return Inputs(
        **read,
        oauth_token=oauth_token,
        values={name: value for name, value in given.items() if name not in own},
        faults=tuple(f"input {fault}" for fault in (*unknown, *faults)),
    )


def _variable(name: str, prefix: str) -> str:
    upper = name.upper()
    return prefix + (upper if prefix == INPUT else upper.replace("-", "_"))


def _unknown_inputs(environ: Mapping[str, str], known: Iterable[str]) -> tuple[str, ...]:
    """Inputs that a workflow gives and nobody reads; ``args`` and ``entrypoint`` are the runner's own."""
    given = sorted(key.removeprefix(INPUT).lower() for key in environ if key.startswith(INPUT))
    expected = {*known, "args", "entrypoint"}
    file_only = {setting.name for setting in SETTINGS if setting.place is Place.FILE}
    return tuple(
        f"{code(name)} can stand in the file only" if name in file_only else _unknown(name, known)
        for name in given
        if name not in expected
    )


def _typed(values: Mapping[str, str]) -> dict[str, object]:
    """The texts of inputs as the values that a file would have; what fits no type stays text."""
    kinds = {setting.name: setting.kind for setting in SETTINGS}
    return {name: _as(kinds[name], value) for name, value in values.items()}


def _as(kind: Kind, value: str) -> object:
    match kind:
        case Whole() if re.fullmatch(r"[+-]?[0-9]{1,9}", value):
            return int(value)
        case Amount() if re.fullmatch(r"[+-]?[0-9]{1,9}(\.[0-9]{1,9})?", value):
            return float(value)
        case Switch() if value in ("true", "True", "TRUE", "false", "False", "FALSE"):
            return value.lower() == "true"
        case _:
            return value


def _read(values: Iterable[tuple[Setting, object]]) -> tuple[dict[str, Any], list[str]]:
    """The values by field, and the faults of those that do not fit."""
    read: dict[str, Any] = {}
    faults: list[str] = []
    for setting, value in values:
        try:
            read[setting.field] = setting.kind.read(value)
        except _FaultsError as exc:
            faults.extend(f"{code(setting.name)} {fault}" for fault in exc.faults)
    return read, faults


# --- the settings -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a run works with; ``sha256`` is that of the whole as canonical JSON. There is no secret in it."""

    label: str
    max_turns: int
    player_model: str
    coach_model: str
    session_timeout_minutes: int
    run_timeout_minutes: int
    max_budget_usd: float
    player_max_steps: int
    coach_max_steps: int
    check_command: str | None
    checks: tuple[Check, ...]
    setup_command: str | None
    mode: Mode
    strictness: Strictness
    isolation: Isolation
    pull_request: PullRequestMode
    fail_on_blocked: bool
    sha256: str


def settings(inputs: Inputs, file_text: str | None, *, file_name: str) -> Settings:
    """The settings of a run: the file beats an input, an input beats the default (design §9.11).

    ``file_text`` is the settings file of the base branch, None where there is none. Raises
    ConfigurationError with every fault of inputs and file, one per line.
    """
    table = {setting.name: setting for setting in SETTINGS}
    given = ((table[name], value) for name, value in _typed(inputs.values).items())
    from_inputs, wrong_inputs = _read(given)
    from_file, wrong_file = _read_file(file_text or "")
    faults = (
        *inputs.faults,
        *(f"input {fault}" for fault in wrong_inputs),
        *(f"{code(file_name)}: {fault}" for fault in wrong_file),
    )
    if faults:
        raise _faulty(faults, file_name)
    places = (Place.BOTH, Place.FILE)
    defaults = {setting.field: setting.default for setting in SETTINGS if setting.place in places}
    values: dict[str, Any] = {**defaults, **from_inputs, **from_file}
    return Settings(**values, sha256=_digest(values))


def limits(settings: Settings, task: Task) -> Limits:
    """The bounds of an attempt; the issue's front matter can lower the turns, never raise them."""
    return Limits(
        max_turns=min(settings.max_turns, task.max_turns or settings.max_turns),
        budget_usd=settings.max_budget_usd,
        session_seconds=settings.session_timeout_minutes * 60,
        run_seconds=settings.run_timeout_minutes * 60,
        player_steps=settings.player_max_steps,
        coach_steps=settings.coach_max_steps,
    )


def _read_file(text: str) -> tuple[dict[str, Any], list[str]]:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_FILE:
        return {}, [f"the file has more than {MAX_FILE // 1024} KiB"]
    loaded = load(text)
    if loaded.value is None:
        return {}, list(loaded.faults)
    if not isinstance(loaded.value, dict):
        return {}, [*loaded.faults, "the file must hold lines of the form `name: value`"]
    table = {setting.name: setting for setting in SETTINGS}
    known = {name: setting for name, setting in table.items() if setting.place in (Place.BOTH, Place.FILE)}
    read, faults = _read((known[key], value) for key, value in loaded.value.items() if key in known)
    strange = [_misplaced(key, table, known) for key in loaded.value if key not in known]
    return read, [*loaded.faults, *strange, *faults]


def _misplaced(key: object, table: Mapping[str, Setting], known: Iterable[str]) -> str:
    """Why a key has no place in the file."""
    setting = table.get(key) if isinstance(key, str) else None
    if setting is None:
        return _unknown(key, known)
    if setting.place is Place.SECRET:
        return f"{code(key)} is a secret: remove it from the repository and revoke it; give it as an input"
    return f"{code(key)} can be given as an input only"


def _faulty(faults: tuple[str, ...], file_name: str) -> ConfigurationError:
    what = "\n".join(("The configuration is wrong:", *(f"- {fault}" for fault in faults)))
    return ConfigurationError(
        what,
        f"Inputs stand under `with:` in the workflow, the file is {code(file_name)} on the base branch; the "
        "README lists every setting. Correct them, then comment `/autobuild retry`.",
    )


def _digest(values: Mapping[str, Any]) -> str:
    plain = {**values, "checks": [asdict(check) for check in values["checks"]]}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()
