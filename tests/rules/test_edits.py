"""What an example shows is made so in the files of its case."""

from pathlib import Path
from typing import Any

import pytest
from each import each
from edits import apply
from edits.case import contains, fit


@each(
    ("whole", "part", "result"),
    [
        ({"a": 1, "b": 2}, {"b": 3}, {"a": 1, "b": 3}),
        ({"a": 1}, {"a": 1.0}, {"a": 1.0}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({}, {"a": None}, {"a": None}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ([1, 2, 3], [1, 3], [1, 2, 3]),
        ([1, 2, 3], [3, 1], [3, 1]),
        ([1], [1, 1], [1, 1]),
        ([{"a": 1}, {"b": 2}], [{"a": 2}], [{"a": 2}, {"b": 2}]),
        ([{"a": 1}, {"b": 2}], [{"b": 2}], [{"a": 1}, {"b": 2}]),
        ([{"a": 1}], [{"a": 1}, {"b": 2}], [{"a": 1}, {"b": 2}]),
        ({"a": [1]}, {"a": []}, {"a": [1]}),
        ({"a": "b"}, {"a": []}, {"a": []}),
    ],
)
def test_a_value_has_afterwards_what_is_shown(whole: Any, part: Any, result: Any) -> None:
    made = fit(whole, part)
    assert repr(made) == repr(result)
    assert contains(made, part)


@each(
    "line",
    ['{"schema_version": "0.2.0", …}', '{"schema_version": "0.2.0", …}\\n', "…", "{… 1.0, …}"],
)
def test_a_line_that_is_as_shown_stays(line: str, tmp_path: Path) -> None:
    case = apply(f"line 1, as bytes has {line}", tmp_path / "shown")
    sound = apply("file unchanged", tmp_path / "sound")
    assert case.rows.read_bytes() == sound.rows.read_bytes()


@pytest.mark.parametrize("line", ['{"schema_version": "0.2.0", …}\\r\\n', "\\xef\\xbb\\xbf{…}"])
def test_a_line_that_is_shown_in_part_and_otherwise_is_refused(line: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line 1 is not"):
        apply(f"line 1, as bytes has {line}", tmp_path)


def test_a_line_that_is_shown_as_a_whole_is_written(tmp_path: Path) -> None:
    case = apply("line 2, as bytes has caf\\xe9", tmp_path)
    assert case.rows.read_bytes().split(b"\n")[1] == b"caf\xe9"
