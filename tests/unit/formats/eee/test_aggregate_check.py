"""Tests of reading an aggregate: the quick check accepts only what the schema allows."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from depth import some
from each import each
from paths import PAIRS

from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate_check import read_aggregate
from evalstream.model.options import Options
from evalstream.parsing import schema_files
from evalstream.parsing.json import is_finite
from evalstream.parsing.schema_files import builtin_validator

(PAIR,) = (PAIRS / "0.3.0-two-results").rglob("*.json")
DOCUMENT = json.loads(PAIR.read_bytes())
VALUES = [None, True, 1, -1.5, "", "x", "1", "Infinity", "levels", [], {}, ["a"], [1], {"a": 1}]
INFINITE = float("inf")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Iterate over the paths of all values in a document."""
    if path:
        yield path
    members = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else ()
    for key, inner in (*members, *items):
        yield from places(inner, (*path, key))


def changed() -> Iterator[Any]:
    """Iterate over copies of the aggregate with one value dropped, added or replaced."""
    for *above, last in places(DOCUMENT):
        for value in (..., *VALUES, INFINITE):
            document = copy.deepcopy(DOCUMENT)
            holder = document
            for key in above:
                holder = holder[key]
            if value is ...:
                del holder[last]
            else:
                holder[last] = value
            yield document
        document = copy.deepcopy(DOCUMENT)
        holder = document
        for key in above:
            holder = holder[key]
        if isinstance(holder, dict):
            holder["other"] = INFINITE
            yield document


@each("version", some(versions.DECLARED, 3))
def test_the_quick_checks_accept_the_valid_aggregates_without_infinite_numbers(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_files, "FEW_VALUES", -1)
    name = versions.aggregate_schema_name(version)
    built, validator = builtin_validator.__wrapped__(name), builtin_validator(name, "rust")
    for document in changed():
        valid = is_finite(document) and validator.fits(document)
        assert validator.accepts(document) == built.accepts(document) == valid
        if valid:
            assert not list(validator.errors(document))


@pytest.mark.parametrize("engine", ["rust", "portable"])
def test_a_number_above_all_floats_is_reported_wherever_it_is(engine: str) -> None:
    text = PAIR.read_bytes()
    for number in (b"1e999", b"-1e999"):
        for place in (b'"score": 0.75', b'"num_samples": 8'):
            name = place.partition(b":")[0]
            if place not in text:
                continue
            odd = text.replace(place, name + b": " + number, 1)
            codes = [
                placed.violation.code
                for placed in read_aggregate(odd, Options(engine=engine)).violations
            ]
            assert "ES108" in codes


@each(
    ("text", "code", "message", "line", "column"),
    [
        (b'{\n "\xc3\xa9": "\x01"}', "ES106", "1 raw control byte at byte 8 of the line", 2, 8),
        (b'{\n "a": "\xff"}', "ES101", "byte 0xff at byte 7 of the line is not", 2, 8),
        (b'{\n "\xc3\xa9": 1,,\n}', "ES103", "at column 9 (byte 9)", 2, 9),
        (b'{"a": 1,,}', "ES103", "at column 9 (byte 8)", 1, 9),
        (b'{"a": 1,\n"b" {"a": 1}', "ES105", "begins again at byte 4 of the line", 2, 5),
    ],
)
def test_places_in_a_document_count_from_the_start_of_the_line(
    text: bytes, code: str, message: str, line: int, column: int
) -> None:
    (placed,) = read_aggregate(text, Options()).violations
    assert (placed.violation.code, placed.line, placed.column) == (code, line, column)
    assert message in placed.violation.message
