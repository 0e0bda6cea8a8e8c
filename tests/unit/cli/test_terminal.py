"""What a terminal is shown: a note that input is awaited there, and rules in colour."""

from pathlib import Path

import pytest
from each import each
from terminal import in_terminal


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
