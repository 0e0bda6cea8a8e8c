"""Rows and documents of many members, which would not end in a time that grows with the square."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rows import sound_rows

import evalstream


def make_row(**members: Any) -> dict[str, Any]:
    row = sound_rows(count=1)[0]
    for name, value in members.items():
        row[name] = {**row[name], **value} if isinstance(value, dict) else value
    return row


def many(word: str, number: int) -> list[str]:
    return [f"{word}{place}" for place in range(number)]


def answer(text: str) -> list[dict[str, Any]]:
    only = sound_rows(count=1)[0]["answer_attribution"][0]
    return [{**only, "extracted_value": text, "extraction_method": "exact_match"}]


ROWS = {
    "repeated keys": b"{" + b'"a":1,"b":2,' * 60_000 + json.dumps(make_row()).encode()[1:],
    "references and choices": make_row(
        input={"reference": many("w", 60_000), "choices": many("v", 60_000)},
        answer_attribution=answer("zq"),
    ),
    "references that are choices": make_row(
        input={"reference": many("w", 60_000), "choices": many("w", 60_000)}
    ),
    "words of an answer": make_row(
        input={"reference": ["a " * 60_000 + "c"], "choices": []},
        answer_attribution=answer("a " * 120_000 + "b"),
        output={"raw": ["a " * 120_000 + "b"]},
    ),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_of_many_members_take_linear_time(kind: str) -> None:
    assert evalstream.check_rows([ROWS[kind]]).totals.rows == 1
