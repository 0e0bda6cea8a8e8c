"""Rows that are read again by their places are those that the file holds there."""

import gzip
import json
import random
from pathlib import Path

import pytest
from depth import deep
from each import each
from rows import bytes_of, sound_rows

from evalstream.engine import row_lookup
from evalstream.engine.row_lookup import every_row, find_objects, find_rows, pick_elements
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.run import STDIN
from evalstream.parsing.array_elements import Element

ROWS = sound_rows(count=24)
LINES = bytes_of(ROWS).splitlines()
LAYOUTS = {
    "lines": b"\n".join(LINES) + b"\n",
    "no final newline": b"\n".join(LINES),
    "CRLF and blank lines": b"\r\n\r\n".join(LINES) + b"\r\n",
    "an array": b"[" + b",\n".join(LINES) + b"]",
    "an indented array": json.dumps(ROWS, indent=1).encode(),
}


@pytest.mark.parametrize(
    ("packed", "block"),
    [
        (False, 3000),
        (True, row_lookup.BLOCK_BYTES),
        deep(True, 1),
        deep(True, 3000),
        deep(False, 1),
        deep(False, row_lookup.BLOCK_BYTES),
    ],
)
@each("layout", LAYOUTS)
def test_any_rows_are_found_again(
    layout: str, block: int, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_lookup, "BLOCK_BYTES", block)
    path = tmp_path / ("rows.jsonl.gz" if packed else "rows.jsonl")
    path.write_bytes(gzip.compress(LAYOUTS[layout]) if packed else LAYOUTS[layout])
    rows = list(every_row(str(path), Options()))
    assert [json.loads(row) for _, _, row in rows] == ROWS
    for number in (0, 1, 5, len(rows)):
        some = sorted(random.Random(number).sample(rows, number))
        places = [(line, offset) for line, offset, _ in some]
        found = list(find_objects(str(path), Options(), places))
        assert found == [json.loads(row) for _, _, row in some]
    beyond = [(rows[-1][0], rows[-1][1]), (rows[-1][0] + 40, 1 << 30)]
    last, missing = find_objects(str(path), Options(), beyond)
    assert (last, missing) == (ROWS[-1], None)


def test_what_is_not_there_or_no_object_is_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'[1]\n{"a": 1}\ntorn\n')
    assert list(find_objects(str(path), Options(), [(1, 0), (2, 4), (3, 13)])) == [
        None,
        {"a": 1},
        None,
    ]
    assert list(find_rows(STDIN, Options(), [(1, 0), (2, 4)])) == [None, None]


def test_a_line_that_is_too_long_ends_the_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_lookup, "BLOCK_BYTES", 1_000)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n' + b'{"a": "' + b"x" * 3_000_000 + b'"}\n')
    rows = every_row(str(path), Options(max_line_bytes=1_000))
    assert next(rows) == (1, 0, b'{"a": 1}')
    with pytest.raises(CannotCheck, match="line 2 is too long"):
        next(rows)


@each(
    ("offsets", "wanted", "found"),
    [
        ([1, 5, 9], [1, 9], [1, 9]),
        ([1, 5, 9], [5, 5, 7], [5, 5, None]),
        ([1, 5], [0, 6, 8], [None, None, None]),
        ([1, 5], [], []),
        ([], [1], [None]),
    ],
)
def test_elements_of_a_list_are_picked_by_their_offsets(
    offsets: list[int], wanted: list[int], found: list[int | None]
) -> None:
    elements = (Element(b"{}", offset, 1) for offset in offsets)
    picked = pick_elements(elements, list(enumerate(wanted)))
    assert [None if one is None else one.offset for one in picked] == found


def test_no_element_is_read_after_the_last_one_that_is_picked() -> None:
    elements = iter([Element(b"1", 0, 1), Element(b"2", 2, 1), Element(b"3", 4, 1)])
    assert [one is not None for one in pick_elements(elements, [(1, 0)])] == [True]
    assert [one.text for one in elements] == [b"2", b"3"]
