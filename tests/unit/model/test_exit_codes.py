"""Exit codes: which of them the outcome of a check has, and that one module has the numbers."""

import ast
from pathlib import Path

import pytest

import evalstream
from evalstream.model.exit_codes import PIPE_CLOSED, ExitCode, exit_code, of_signal
from evalstream.model.report import RunSummary, Totals

PACKAGE = Path(evalstream.__file__).parent
ENDINGS = {"exit", "_exit", "Exit", "stop"}


def totals_of(*verdicts: str, reason: str | None = None, unreached: int = 0) -> Totals:
    totals = Totals(unreached=unreached)
    for verdict in verdicts:
        run = RunSummary("run.jsonl", None, "eee", verdict=verdict, incomplete_reason=reason)
        totals.add(run)
    return totals


@pytest.mark.parametrize(
    ("totals", "code"),
    [
        (totals_of("passed", "passed"), ExitCode.PASSED),
        (totals_of("incomplete"), ExitCode.PASSED),
        (totals_of("passed", "failed"), ExitCode.FAILED),
        (totals_of("failed", reason="no access"), ExitCode.FAILED),
        (totals_of("incomplete", reason="no access"), ExitCode.UNCHECKED),
        (totals_of("passed", unreached=1), ExitCode.UNCHECKED),
        (totals_of(), ExitCode.UNCHECKED),
    ],
)
def test_totals_decide_the_exit_code(totals: Totals, code: ExitCode) -> None:
    assert exit_code(totals) == code


def test_the_numbers_are_those_that_are_promised() -> None:
    assert [(code.name, code.value) for code in ExitCode] == [
        ("PASSED", 0),
        ("FAILED", 1),
        ("USAGE", 2),
        ("UNCHECKED", 3),
    ]
    assert (of_signal(2), of_signal(15), PIPE_CLOSED) == (130, 143, 141)


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_no_other_module_ends_the_program_with_a_number(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            if name in ENDINGS:
                values = [*node.args, *(keyword.value for keyword in node.keywords)]
                assert not any(isinstance(getattr(one, "value", None), int) for one in values)
