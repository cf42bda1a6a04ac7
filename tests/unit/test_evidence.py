"""What a command's end means, what a JUnit report says, and which claims can be proved false."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autobuild_action.evidence import LARGEST_JUNIT, MOST_FAILURES, audit, check_run, counts, unusable
from autobuild_action.model import AuditResult, Check, CheckResult, Counts, Report
from autobuild_action.ports import Ended, EndedBy
from tests.support import build, facts

if TYPE_CHECKING:
    from autobuild_action.model import AuditRow, CheckRun

PASSED, FAILED, ABSENT = CheckResult.PASSED, CheckResult.FAILED, CheckResult.ABSENT
CONFIRMED, CONTRADICTED, UNPROVED = AuditResult.CONFIRMED, AuditResult.CONTRADICTED, AuditResult.UNPROVED
PLAIN = Check(name="tests", command="make test")
WITH_JUNIT = Check(name="tests", command='pytest --junitxml="$AUTOBUILD_JUNIT"')
GREEN = b'<testsuite><testcase classname="a.T" name="one"/><testcase classname="a.T" name="two"/></testsuite>'
RED = GREEN.replace(b'name="two"/>', b'name="two"><failure/></testcase>')
NOTHING = b'<testsuite tests="0"/>'
SKIPPED = b'<testsuite><testcase name="one"><skipped/></testcase></testsuite>'


def ended(code: int | None = 0, by: EndedBy = EndedBy.EXIT, seconds: float = 1.5) -> Ended:
    return Ended(exit_code=code, ended_by=by, seconds=seconds, output="the output")


# --- passed, failed or absent ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "end", "xml", "result", "why"),
    [
        (PLAIN, ended(0), None, PASSED, "exit 0"),
        (PLAIN, ended(0), GREEN, PASSED, "exit 0, 2 of 2 tests passed"),
        (WITH_JUNIT, ended(0), GREEN, PASSED, "exit 0, 2 of 2 tests passed"),
        (PLAIN, ended(1), None, FAILED, "exit 1"),
        (PLAIN, ended(2), GREEN, FAILED, "exit 2, 2 of 2 tests passed"),
        (PLAIN, ended(1), RED, FAILED, "exit 1, 1 of 2 tests passed"),
        (PLAIN, ended(0), RED, FAILED, "exit 0, 1 of 2 tests passed"),
        (PLAIN, ended(125), None, FAILED, "exit 125"),
        (PLAIN, ended(128), None, FAILED, "exit 128"),
        (PLAIN, ended(126), None, ABSENT, "exit 126: the command could not be started"),
        (PLAIN, ended(127), GREEN, ABSENT, "exit 127: the command could not be started"),
        (PLAIN, ended(0), NOTHING, ABSENT, "exit 0, but no test ran"),
        (PLAIN, ended(0), SKIPPED, ABSENT, "exit 0, but no test ran"),
        (PLAIN, ended(5), NOTHING, ABSENT, "exit 5, but no test ran"),
        (PLAIN, ended(0), b"no xml", PASSED, "exit 0"),
        (WITH_JUNIT, ended(0), None, ABSENT, "exit 0, but no JUnit report where one was asked for"),
        (WITH_JUNIT, ended(1), b"no xml", ABSENT, "exit 1, but no JUnit report where one was asked for"),
        (PLAIN, ended(None, EndedBy.DEADLINE, 900.4), GREEN, ABSENT, "not over after 900 s"),
        (PLAIN, ended(None, EndedBy.MEMORY), None, ABSENT, "killed for its use of memory"),
        (PLAIN, ended(None, EndedBy.OUTPUT), None, ABSENT, "killed for the amount of its output"),
        (PLAIN, ended(None, EndedBy.KILLED), None, ABSENT, "killed"),
        (PLAIN, ended(0, EndedBy.DEADLINE, 3), None, ABSENT, "not over after 3 s"),
        (PLAIN, ended(None), None, ABSENT, "killed"),
    ],
)
def test_a_check_has_three_results(check: Check, end: Ended, xml: bytes | None, result: CheckResult, why: str) -> None:
    run = check_run(check, end, xml)
    assert (run.result, run.why) == (result, why)
    assert (run.name, run.command, run.required) == ("tests", check.command, True)
    assert (run.exit_code, run.seconds, run.output) == (end.exit_code, end.seconds, "the output")


@pytest.mark.parametrize(
    ("end", "xml", "no_use"),
    [
        (ended(126), None, True),
        (ended(127), None, True),
        (ended(None, EndedBy.DEADLINE), None, True),
        (ended(1), RED, False),
        (ended(0), NOTHING, False),
        (ended(0), GREEN, False),
    ],
)
def test_only_what_can_never_run_here_is_unusable(end: Ended, xml: bytes | None, *, no_use: bool) -> None:
    assert unusable(check_run(PLAIN, end, xml)) is no_use


# --- JUnit reports ----------------------------------------------------------------------------------

PYTEST = b"""<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1"
failures="1" skipped="1" tests="4" time="0.1" timestamp="2026-03-01T12:00:00" hostname="x">
<testcase classname="tests.test_cli" name="test_ok" time="0.01" />
<testcase classname="tests.test_cli" name="test_city[&quot;x&quot;]"><failure message="boom">E</failure></testcase>
<testcase classname="tests.test_cli" name="test_later"><skipped type="pytest.skip" message="no">why</skipped></testcase>
<testcase classname="" name="tests.test_gone"><error message="collection failure">ImportError</error></testcase>
</testsuite></testsuites>"""
UNITTEST = b"""<testsuites><testsuite name="T-20260301" tests="2" failures="1" errors="0" skipped="0" file="t.py">
<properties><property name="a" value="b"/></properties>
<testcase classname="tests.T" name="test_a" time="0.0" file="t.py" line="3"><system-out>x</system-out></testcase>
<testcase classname="tests.T" name="test_b"><failure type="AssertionError" message="1 != 2"><![CDATA[T]]></failure>
</testcase></testsuite><testsuite name="U" tests="1"><testcase classname="tests.U" name="test_c"/></testsuite>
</testsuites>"""
GO = b"""<testsuites tests="3" failures="1" errors="0" time="0.1"><testsuite tests="2" failures="1" time="0.1"
name="example.org/weather" timestamp="2026-03-01T12:00:00Z"><properties><property name="go.version" value="1.24"/>
</properties><testcase classname="example.org/weather" name="TestCity/unknown" time="0.000"><failure message="Failed"
type=""/></testcase><testcase classname="example.org/weather" name="TestCity" time="0"/></testsuite>
<testsuite tests="1" name="example.org/weather/cmd"><testcase classname="example.org/weather/cmd" name="TestCity">
<skipped message="short"/></testcase></testsuite></testsuites>"""
JEST = b"""<testsuites name="jest tests" tests="2" failures="1" errors="0" time="1"><testsuite name="cli" tests="2">
<testcase classname="cli knows a city" name="cli knows a city" time="0.1"></testcase>
<testcase classname="cli names it" name="cli names it"><failure>Error: expect(received)</failure></testcase>
</testsuite></testsuites>"""
NESTED = b"""<testsuites><testsuite name="outer"><testsuite name="inner"><testcase classname="c" name="x"><error/>
</testcase></testsuite><testcase classname="c" name="y"/></testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("xml", "expected"),
    [
        (
            PYTEST,
            Counts(run=3, failed=2, skipped=1, failures=("::tests.test_gone", 'tests.test_cli::test_city["x"]')),
        ),
        (UNITTEST, Counts(run=3, failed=1, skipped=0, failures=("tests.T::test_b",))),
        (GO, Counts(run=2, failed=1, skipped=1, failures=("example.org/weather::TestCity/unknown",))),
        (JEST, Counts(run=2, failed=1, skipped=0, failures=("cli names it::cli names it",))),
        (NESTED, Counts(run=2, failed=1, skipped=0, failures=("c::x",))),
        (NOTHING, Counts(run=0, failed=0, skipped=0)),
    ],
    ids=["pytest", "unittest-xml", "go", "jest", "nested", "nothing"],
)
def test_the_usual_reports_are_read(xml: bytes, expected: Counts) -> None:
    assert counts(xml) == expected


def test_what_a_report_says_of_itself_does_not_count_but_its_cases_do() -> None:
    lie = b'<testsuite tests="9" failures="0"><testcase classname="c" name="x"><failure/></testcase></testsuite>'
    assert counts(lie) == Counts(run=1, failed=1, skipped=0, failures=("c::x",))


def test_names_of_failures_are_sorted_bounded_and_each_once() -> None:
    cases = "".join(f'<testcase classname="c" name="t{n:04}"><failure/></testcase>' for n in range(500, 0, -1))
    found = counts(f"<testsuite>{cases}{cases}</testsuite>".encode())
    assert found
    assert (found.run, found.failed) == (1000, 1000)
    assert len(found.failures) == MOST_FAILURES == 200
    assert found.failures[:2] == ("c::t0001", "c::t0002")
    (long,) = (
        counts(b'<testsuite><testcase name="' + b"x" * 5000 + b'"><error/></testcase></testsuite>') or found
    ).failures
    assert len(long) == 300


BOMB = (
    '<?xml version="1.0"?><!--'
    + " " * 1100
    + '--><!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    + ']><testsuite><testcase name="&a9;"/></testsuite>'
).encode()


@pytest.mark.parametrize(
    "xml",
    [
        None,
        b"",
        b"\0\0\0\0",
        b"\xff\xfe\xff",
        b"<",
        b"<testsuite>",
        b"<testsuite/><testsuite/>",
        b"<html><body/></html>",
        b"<testcase name='x'/>",
        b"{}",
        b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite><testcase name="x"/></testsuite>',
        b'<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "a">]><testsuite><testcase name="&a;"/></testsuite>',
        BOMB,
        b"<?xml version='1.0' encoding='nope'?><testsuite/>",
        b"<?xml version='1.0' encoding='rot13'?><testsuite/>",
        b"<testsuite xmlns='urn:x'><testcase name='x'/></testsuite>",
        b"<testsuites>" + b"<testsuite>" * 50_000 + b"</testsuite>" * 50_000 + b"</testsuites>",
        b"<testsuite>" + b" " * LARGEST_JUNIT + b"<testcase name='x'/></testsuite>",
    ],
    ids=range(18),
)
def test_what_is_no_honest_report_is_none(xml: bytes | None) -> None:
    assert counts(xml) is None


def test_odd_numbers_and_elements_in_a_report_do_no_harm() -> None:
    odd = (
        b"<testsuites tests='x' time='y'><testsuite tests='-1' failures='many' time='nan'>"
        b"<testcase time='soon'><failure/><failure/><rerunFailure/><what/></testcase><testcase/><else/>"
        b"</testsuite></testsuites>"
    )
    assert counts(odd) == Counts(run=2, failed=1, skipped=0, failures=("::",))


PIECES = st.sampled_from(
    [
        b"<testsuites>",
        b"</testsuites>",
        b"<testsuite tests='x'>",
        b"</testsuite>",
        b"<testcase classname='c' name='n'>",
        b"</testcase>",
        b"<failure/>",
        b"<skipped/>",
        b"<error>",
        b"</error>",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"-->",
        b"<?x?>",
        b"&lt;",
        b"&x;",
        b"\xff",
        b"text",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=12).map(b"".join) | st.binary(max_size=60))
@example(b"<testsuites><testsuite><testcase><failure></failure></testcase></testsuite></testsuites>")
def test_no_report_ever_raises(xml: bytes) -> None:
    found = counts(xml)
    assert found is None or found.run >= 0
    assert check_run(WITH_JUNIT, ended(0), xml).result in set(CheckResult)


# --- the audit of claims -----------------------------------------------------------------------------


def one(command: str, *executed: str, said: CheckResult = PASSED, runs: tuple[CheckRun, ...] = ()) -> AuditRow:
    (row,) = audit(Report(tests_run=(facts.said(command, said),)), executed, runs)
    return row


def test_a_report_that_was_not_given_is_no_lie() -> None:
    (row,) = audit(None, ["pytest"], [])
    assert (row.claim, row.measured, row.result) == ("a structured report", "the session gave none", UNPROVED)
    assert audit(Report(), ["pytest"], []) == ()


@pytest.mark.parametrize(
    ("command", "executed"),
    [
        ("pytest -q", "ls -la"),
        ("pytest -q", "cat tests/test_cli.py"),
        ("python -m pytest", "python -m unittest"),
        ("npm test", "node index.js"),
        ("cd src && tox -e py", "cd src && ls"),
    ],
)
def test_a_command_of_which_the_session_shows_no_trace_is_contradicted(command: str, executed: str) -> None:
    row = one(command, executed)
    assert (row.claim, row.result) == (f"`{command}` passed", CONTRADICTED)
    assert row.measured == "the session ran no such command"
    assert one(command).result is CONTRADICTED


@pytest.mark.parametrize(
    ("command", "executed"),
    [
        ("python -m pytest -q", "pytest"),
        ("pytest", "python -m pytest -q tests"),
        ("pytest -q", "cd /work && pytest  -q | tail -5"),
        ("python3.11 -m pytest", "python3 -m pytest -x"),
        (".venv/bin/python -m pytest -q", "pytest -q"),
        ("./.venv/bin/pytest", "pytest"),
        ("cd sub && pytest -q", "pytest -q"),
        ("timeout 60 pytest", "pytest"),
        ("bash -c 'pytest -q'", "pytest"),
        ("PYTHONPATH=src python -m pytest", "pytest"),
        ("uv run pytest", "pytest -q"),
        ("npx jest --ci", "node_modules/.bin/jest"),
        ("npm run test", "npm test"),
        ("./gradlew test --info", "sh gradlew test"),
        ("make lint; make test", "make -j2 test"),
        ("go test ./...", "go test ./weather"),
        ("pytest 'unbalanced", "pytest"),
    ],
)
def test_a_command_in_other_words_is_no_lie(command: str, executed: str) -> None:
    row = one(command, "ls", executed)
    assert (row.result, row.measured) == (UNPROVED, "no check measures just this")


@pytest.mark.parametrize(
    ("said", "measured", "result"),
    [
        (PASSED, PASSED, CONFIRMED),
        (FAILED, FAILED, CONFIRMED),
        (PASSED, FAILED, CONTRADICTED),
        (FAILED, PASSED, UNPROVED),
        (PASSED, ABSENT, UNPROVED),
        (FAILED, ABSENT, UNPROVED),
    ],
)
def test_the_very_command_of_a_check_is_held_against_it(
    said: CheckResult, measured: CheckResult, result: AuditResult
) -> None:
    check = build.check(measured, name="unit")
    row = one("python  -m pytest -q", "python -m pytest -q", said=said, runs=(build.check(name="lint"), check)[1:])
    assert row.claim == f"`python  -m pytest -q` {said.value}"
    assert row.result is result
    if result is CONTRADICTED:
        assert row.measured == "the check `unit` failed: exit code 1"


def test_a_green_claim_about_another_command_than_the_red_check_cannot_be_proved_false() -> None:
    assert (
        one("pytest -q tests/test_cli.py", "pytest -q tests/test_cli.py", runs=(build.check(FAILED),)).result
        is UNPROVED
    )


def test_every_claim_has_its_row() -> None:
    report = Report(tests_run=(facts.said("pytest"), facts.said("tox"), facts.said("ruff check", FAILED)))
    rows = audit(report, ["pytest", "ruff check ."], [])
    assert [row.result for row in rows] == [UNPROVED, CONTRADICTED, UNPROVED]
    assert [row.claim for row in rows] == ["`pytest` passed", "`tox` passed", "`ruff check` failed"]
