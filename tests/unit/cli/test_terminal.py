"""What a terminal is shown: a note that input is awaited there, and rules in colour."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from each import each
from terminal import in_terminal

from evalstream.cli import check as check_command
from evalstream.cli.output import ReportOptions, Target
from evalstream.model.options import RowRouting


@each(
    ("terminals", "routing", "report", "is_shown"),
    [
        ("err out", RowRouting(), {}, True),
        ("out", RowRouting(), {}, False),
        ("", RowRouting(follow=True), {}, True),
        ("err out", RowRouting(follow=True), {"form": "jsonl"}, True),
        ("err out", RowRouting(), {"form": "jsonl"}, False),
        ("err", RowRouting(), {"form": "jsonl"}, True),
        ("err out", RowRouting(), {"form": "jsonl", "output": "report"}, True),
        ("err", RowRouting(passing="all"), {}, False),
        ("err", RowRouting(passing="all"), {"output": "report"}, True),
    ],
)
def test_a_bar_is_shown_unless_findings_appear_there(
    terminals: str, routing: RowRouting, report: dict[str, str], is_shown: bool
) -> None:
    target = Target(ReportOptions(**report))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("out", "err"):
            stream = SimpleNamespace(isatty=lambda name=name: name in terminals.split())
            patch.setattr(check_command.sys, f"std{name}", stream)
        assert check_command._shows_progress(target, routing) is is_shown


@pytest.mark.parametrize("arguments", [["check", "-"], ["salvage", "-", "--to", "copy"]])
def test_reading_from_a_terminal_is_announced(tmp_path: Path, arguments: list[str]) -> None:
    shown = in_terminal(tmp_path, *arguments, typed=b"{}\n\x04")
    assert "evalstream: reading rows from the terminal until Ctrl-D\n" in shown


def test_a_list_of_inputs_from_a_terminal_is_announced(tmp_path: Path) -> None:
    shown = in_terminal(tmp_path, "check", "--files-from", "-", typed=b"none.jsonl\n\x04")
    assert "evalstream: reading names of inputs from the terminal until Ctrl-D\n" in shown


@each("columns", [40, 90, 200])
def test_listed_rules_are_wrapped_and_coloured(tmp_path: Path, columns: int) -> None:
    shown = in_terminal(tmp_path, "rules", "ES2", columns=columns)
    assert "\x1b[1mES201\x1b[0m" in shown
    plain = in_terminal(tmp_path, "rules", "ES2", "--color", "never", columns=columns)
    assert "\x1b" not in plain
    assert columns < 80 or max(map(len, plain.splitlines())) <= columns


def test_an_explained_rule_is_wrapped_before_its_examples(tmp_path: Path) -> None:
    shown = in_terminal(tmp_path, "explain", "ES401", "--color", "never", columns=60)
    prose, _, examples = shown.partition("\nBad:")
    assert max(map(len, prose.splitlines())) <= 60
    assert '        "sample_hash": "24c46d240b78fb724ce258f4d661dbfe9ea0f2421182007' in examples
