"""What a large JSON file is, read in pieces and without the compiled scanner."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.discovery import peek
from evalstream.parsing.native import binding

ROWS = [{"foo": number, "bar": "text " * 10} for number in range(4_000)]

LARGE: dict[str, tuple[Any, peek.AggregatePeek]] = {
    "list": (ROWS, peek.AggregatePeek(peek.OTHER)),
    "object": ({"data": ROWS}, peek.AggregatePeek(peek.OTHER)),
    "late aggregate": (
        {
            "data": ROWS,
            "evaluation_results": ROWS,
            "detailed_evaluation_results": {"rows": ROWS, "file_path": "a_samples.jsonl"},
        },
        peek.AggregatePeek(peek.AGGREGATE, "a_samples.jsonl"),
    ),
    "late member": ({"data": ROWS, "model_info": {}}, peek.AggregatePeek(peek.LIKE_AGGREGATE)),
    "input of harpia": (
        {
            "data": [{"id": "1", "input": "x", "actual_output": "y"}] * 9_000,
            "list": [{"enable": 1}],
        },
        peek.AggregatePeek(peek.DOCUMENT, detail="harpia input"),
    ),
    "index": (
        {"filler": ROWS, "object_uuid": "", "object_path": "", "sha256": ""},
        peek.AggregatePeek(peek.ASIDE, detail="index"),
    ),
}


@pytest.fixture(params=["scanner", "no scanner"])
def scanner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        if request.param == "no scanner":
            patch.setattr(binding, "library", lambda: None)
        yield


@pytest.mark.usefixtures("scanner")
@each("name", LARGE)
def test_the_kind_of_a_large_document_is_found(tmp_path: Path, name: str) -> None:
    document, expected = LARGE[name]
    file = tmp_path / "large.json"
    file.write_text(json.dumps(document))
    assert file.stat().st_size > 1 << 18
    assert peek.peek_aggregate(str(file)) == expected
    assert peek.peek_document(file.read_bytes(), str(file)) == expected


@pytest.mark.usefixtures("scanner")
@each(
    ("start", "end", "kind"),
    [
        ('{"data": ', "", peek.BROKEN),
        ("", "[]", peek.BROKEN),
        ('{"evaluation_results": [], "data": ', ", }", peek.AGGREGATE),
        ("\ufeff", "", peek.OTHER),
    ],
)
def test_a_large_document_that_is_not_valid_is_found(
    tmp_path: Path, start: str, end: str, kind: int
) -> None:
    file = tmp_path / "large.json"
    file.write_text(start + json.dumps(ROWS) + end)
    found = peek.peek_aggregate(str(file))
    assert found is not None
    assert found.kind == kind
    assert found == peek.peek_document(file.read_bytes(), str(file))


@pytest.mark.usefixtures("scanner")
def test_a_document_with_very_many_members_is_read_whole(tmp_path: Path) -> None:
    members = {f"member {number}": "x" * 50 for number in range(60_000)}
    file = tmp_path / "large.json"
    file.write_text(json.dumps({**members, "evaluation_results": []}))
    assert peek.peek_aggregate(str(file)) == peek.AggregatePeek(peek.AGGREGATE)


@each("slip", [b"}", b"}\n", b"\n}]", b",\n", b"\nEOF\n"])
def test_an_aggregate_with_a_slip_behind_it_is_no_file_of_rows(tmp_path: Path, slip: bytes) -> None:
    text = (EXAMPLES / "aggregate.json").read_bytes().rstrip() + slip
    path = tmp_path / "aggregate.json"
    path.write_bytes(text)
    report = evalstream.check(path)
    (found,) = (one for one in report if one.severity.label == "error")
    place = text.rindex(b"}", 0, -len(slip)) + 1
    rest = text[place:].lstrip()
    at = len(text) - len(rest)
    assert (found.code, found.line) == ("ES103", text.count(b"\n", 0, at) + 1)
    assert found.column == at - text.rfind(b"\n", 0, at)
    assert report.runs[0].incomplete_reason == "it could not be read as an aggregate"


def test_rows_with_a_slip_on_the_first_line_are_rows(tmp_path: Path) -> None:
    first, rest = (EXAMPLES / "run.jsonl").read_bytes().split(b"\n", 1)
    path = tmp_path / "run.jsonl"
    path.write_bytes(first + b"}\n" + rest)
    report = evalstream.check(path)
    assert report.runs[0].rows == 8
    assert [one.line for one in report if one.code == "ES103"] == [1]
