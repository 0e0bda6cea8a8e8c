"""Exit codes: which of them the outcome of a check has, and that one module has the numbers."""

import ast
import re
from pathlib import Path

import pytest
from each import each
from paths import REPOSITORY

import evalstream
from evalstream.model.exit_codes import (
    EEE,
    OWN,
    PIPE_CLOSED,
    EeeExitCode,
    ExitCode,
    error_exit_code,
    exit_code,
    is_of_signal,
    of_signal,
    shown_exit_code,
)
from evalstream.model.finding import Severity
from evalstream.model.report import Totals
from evalstream.model.run_summary import NOT_SEALED, RunSummary

PACKAGE = Path(evalstream.__file__).parent
ENDINGS = {"exit", "_exit", "Exit", "stop"}


def totals_of(
    *verdicts: str,
    reason: str | None = None,
    unreached: int = 0,
    failing: str = "ES401",
    counts: str = "ES401",
) -> Totals:
    totals = Totals(unreached=unreached)
    for verdict in verdicts:
        run = RunSummary("run.jsonl", None, "eee", verdict=verdict, incomplete_reason=reason)
        if verdict == "failed":
            run.failing, run.counts = {failing: 1}, {counts: 1}
        totals.add(run)
    return totals


@each(
    ("totals", "code"),
    [
        (totals_of("passed", "passed"), ExitCode.PASSED),
        (totals_of("incomplete"), ExitCode.UNCHECKED),
        (totals_of("unconfirmed"), ExitCode.PASSED),
        (totals_of("passed", "unconfirmed"), ExitCode.PASSED),
        (totals_of("unconfirmed", reason="no access"), ExitCode.UNCHECKED),
        (totals_of("unconfirmed", "failed"), ExitCode.FAILED),
        (totals_of("passed", "failed"), ExitCode.FAILED),
        (totals_of("passed", "failed", unreached=1), ExitCode.UNCHECKED),
        (totals_of("failed", "incomplete"), ExitCode.UNCHECKED),
        (totals_of("failed", reason="no access"), ExitCode.FAILED),
        (totals_of("failed", reason="2 rows could not be read", failing="ES103"), ExitCode.FAILED),
        (totals_of("failed", reason="it breaks off", failing="ES002"), ExitCode.FAILED),
        (totals_of("failed", reason="it breaks off", failing="ES103"), ExitCode.FAILED),
        (totals_of("failed", reason=f"{NOT_SEALED}: errors"), ExitCode.FAILED),
        (totals_of("failed", "failed", counts="ES001", failing="ES103"), ExitCode.UNCHECKED),
        (totals_of("incomplete", reason="no access"), ExitCode.UNCHECKED),
        (totals_of("passed", unreached=1), ExitCode.UNCHECKED),
        (totals_of(), ExitCode.UNCHECKED),
    ],
)
def test_totals_decide_the_exit_code(totals: Totals, code: ExitCode) -> None:
    assert exit_code(totals) == code


@each(
    ("totals", "code"),
    [
        (totals_of("passed", "passed"), ExitCode.PASSED),
        (totals_of("passed", "unconfirmed"), ExitCode.FAILED),
        (totals_of("unconfirmed", reason="no access"), ExitCode.UNCHECKED),
        (totals_of("unconfirmed", unreached=1), ExitCode.UNCHECKED),
    ],
)
def test_strict_takes_runs_alone_that_passed(totals: Totals, code: ExitCode) -> None:
    ended = exit_code(totals, is_strict=True)
    assert ended == code
    assert shown_exit_code(ended, totals, EEE) == (EeeExitCode.ERRORS if code else 0)


WARNED = totals_of("passed")
WARNED.severities[Severity.WARNING] = 2


@each(
    ("totals", "eee", "zero"),
    [
        (totals_of("passed", "passed"), EeeExitCode.CLEAN, ExitCode.PASSED),
        (WARNED, EeeExitCode.WARNINGS, ExitCode.PASSED),
        (totals_of("passed", "failed"), EeeExitCode.ERRORS, ExitCode.PASSED),
        (totals_of("failed", reason="no access"), EeeExitCode.ERRORS, ExitCode.UNCHECKED),
        (
            totals_of("failed", reason="torn", failing="ES002"),
            EeeExitCode.ERRORS,
            ExitCode.UNCHECKED,
        ),
        (totals_of("incomplete", reason="no access"), EeeExitCode.ERRORS, ExitCode.UNCHECKED),
        (totals_of("passed", unreached=1), EeeExitCode.ERRORS, ExitCode.UNCHECKED),
        (totals_of(), EeeExitCode.ERRORS, ExitCode.UNCHECKED),
    ],
)
def test_other_meanings_of_exit_codes_never_hide_what_was_not_checked(
    totals: Totals, eee: EeeExitCode, zero: ExitCode
) -> None:
    code = exit_code(totals)
    assert shown_exit_code(code, totals, EEE) == eee
    assert shown_exit_code(code, totals, zero=True) == zero
    assert shown_exit_code(code, totals) == code
    for ended in (of_signal(2), of_signal(15)):
        assert shown_exit_code(ended, totals, EEE) == ended
        assert shown_exit_code(ended, totals, zero=True) == ended


@pytest.mark.parametrize("code", [ExitCode.USAGE, ExitCode.UNCHECKED])
def test_a_program_without_a_report_never_ends_like_one_with_warnings(code: ExitCode) -> None:
    assert error_exit_code(code, OWN) == code
    assert error_exit_code(code, EEE) == 1


def test_the_numbers_are_those_that_are_promised() -> None:
    assert [(code.name, code.value) for code in ExitCode] == [
        ("PASSED", 0),
        ("FAILED", 1),
        ("USAGE", 2),
        ("UNCHECKED", 3),
    ]
    assert [(code.name, code.value) for code in EeeExitCode] == [
        ("CLEAN", 0),
        ("ERRORS", 1),
        ("WARNINGS", 2),
    ]
    assert (of_signal(2), of_signal(15), PIPE_CLOSED) == (130, 143, 141)


def test_no_other_module_ends_the_program_with_a_number() -> None:
    ending = re.compile(rf"\b({'|'.join(ENDINGS)})\(")
    for path in sorted(PACKAGE.rglob("*.py")):
        if not ending.search(text := path.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", None))
                if name in ENDINGS:
                    values = [*node.args, *(keyword.value for keyword in node.keywords)]
                    numbers = [
                        one for one in values if isinstance(getattr(one, "value", None), int)
                    ]
                    assert not numbers, path


MENTION = re.compile(r"\bexit codes?(?:\s+is)?:?\s+(\d[^.|:]*)", re.IGNORECASE)
NUMBER = re.compile(r"(?:^|[,;] |\band |\bor )(\d+)\b(?! \+)")


def codes_named(text: str) -> set[int]:
    """Return the exit codes that a text names: in sentences, and in columns with this heading."""
    clauses = (" ".join(found[1].split()) for found in MENTION.finditer(text))
    named = {int(number) for clause in clauses for number in NUMBER.findall(clause)}
    column = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        headings = [cell for cell in cells if cell in {"exit code", "code"}]
        if headings:
            column = cells.index(headings[0])
        elif column is not None and len(cells) > column:
            named |= {int(number) for number in NUMBER.findall(cells[column])}
        else:
            column = None
    return named


def test_texts_name_only_codes_that_the_program_has() -> None:
    texts = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
    texts += [*(REPOSITORY / "schemas").glob("*.json"), *PACKAGE.rglob("*.md")]
    texts += PACKAGE.rglob("*.py")
    named = {path: codes_named(path.read_text(encoding="utf-8")) for path in texts}
    wrong = {
        str(path.relative_to(REPOSITORY)): unknown
        for path, codes in named.items()
        if (unknown := {code for code in codes - {*ExitCode} if not is_of_signal(code)})
    }
    assert not wrong, f"texts with numbers that are no ExitCode: {wrong}"
    assert named[REPOSITORY / "docs" / "reports.md"] >= {*ExitCode}
    assert named[PACKAGE / "model" / "exit_codes.py"] >= {*ExitCode}
