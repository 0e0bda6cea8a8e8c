"""Tests of compact benchmarks: the same findings and hash as of a benchmark read as a whole."""

import json
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.base import load_catalogue
from evalstream.formats.infereval import checker as reading
from evalstream.formats.infereval.benchmark_hash import compute_hashes
from evalstream.formats.infereval.checker import read_benchmark
from evalstream.formats.infereval.compact import CompactBenchmark, compact_benchmark
from evalstream.formats.infereval.views import Benchmark
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.model.run import Run

EXAMPLE = Path(__file__).parents[4] / "examples" / "infereval" / "benchmark.json"
DOCUMENT: dict[str, Any] = json.loads(EXAMPLE.read_text())
ITEMS: list[dict[str, Any]] = DOCUMENT["items"]


def compact(document: Any, **options: Any) -> CompactBenchmark | None:
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    pieces = [text[start : start + 100] for start in range(0, len(text), 100)]
    return compact_benchmark(pieces, Options(**options))


def findings(path: Path) -> tuple[list[tuple[Any, ...]], int, bool]:
    """Read a benchmark, and return what is found in it, its size, and whether it has a hash."""
    found: list[Finding] = []
    documents = DocumentCheck(
        Run(None, str(path)), Options(), found.append, load_catalogue("infereval")
    )
    read = read_benchmark(documents, str(path))
    documents.close()
    placed = [(one.code, one.pointer, one.message, one.line) for one in found]
    return sorted(placed, key=str), documents.size, read.has_hash


def test_items_are_parsed_when_they_are_asked_for() -> None:
    found = compact(DOCUMENT)
    assert found is not None
    assert found.document["items"] == []
    assert len(found.items) == len(ITEMS)
    assert [item for _, item in found.items] == ITEMS
    assert (0, ITEMS[0]) in found.items
    assert (1, ITEMS[0]) not in found.items
    assert dict(found.by_id) == {item["id"]: item for item in ITEMS}
    assert len(found.by_id) == len(ITEMS)
    assert "open-street" in found.by_id
    assert found.by_id.get("no such item") is None
    assert list(found.item_ids) == list(Benchmark(DOCUMENT).item_ids)


def test_the_first_of_two_items_with_one_id_is_found_by_it() -> None:
    found = compact({**DOCUMENT, "items": [ITEMS[0], {**ITEMS[1], "id": ITEMS[0]["id"]}]})
    assert found is not None
    assert found.by_id[ITEMS[0]["id"]] == ITEMS[0]


@each("version", [None, "0.16.0", "0.17.7"])
def test_the_hash_is_that_of_the_whole(version: str | None) -> None:
    for document in (DOCUMENT, {**DOCUMENT, "items": []}, {**DOCUMENT, "targets": ["weather"]}):
        found = compact(document)
        assert found is not None
        items = (item for _, item in found.items)
        assert compute_hashes(found.document, version, items) == compute_hashes(document, version)


TEXT = json.dumps(DOCUMENT).encode()
OTHERWISE = {
    "a mark of UTF-8": b"\xef\xbb\xbf" + TEXT,
    "a second object": TEXT + b"{}",
    "the end is missing": TEXT[:-2],
    "the items end early": TEXT[: TEXT.index(b'"items"') + 40],
    "no items": json.dumps({**DOCUMENT, "items": {}}).encode(),
    "two lists of items": TEXT[:-1] + b', "items": []}',
    "an infinite number": TEXT.replace(b'"wet-street"', b"1e999", 1),
    "an item that is a number": json.dumps({**DOCUMENT, "items": [1]}).encode(),
    "an unknown member": json.dumps({**DOCUMENT, "items": [{**ITEMS[0], "x": 1}]}).encode(),
    "an item with a member twice": TEXT.replace(b'"premises"', b'"id": "x", "premises"', 1),
    "an array": b"[" + TEXT + b"]",
    "nothing": b"",
}


@each("text", OTHERWISE.values(), ids=OTHERWISE)
def test_a_benchmark_with_a_defect_is_not_compact(text: bytes) -> None:
    assert compact(text) is None


def test_limits_leave_a_benchmark_to_the_other_path() -> None:
    assert compact(DOCUMENT, max_depth=100) is None
    assert compact(DOCUMENT, max_line_bytes=100) is None


NAMES = sorted(
    {name for item in ITEMS for name in item} | {"target", "factor_levels", "rsr_target"}
)
VALUES: list[Any] = [None, 0, 1.5, "", "wet", "open-street", [], ["wet"], ["wet", "wet"], {}]
VALUES += [["good"], ["good", "bad"], {"cover": "open"}, {"X": ["rain"], "A": ["flood"]}, ["x", 1]]
CHANGES = st.tuples(st.integers(0, len(ITEMS) - 1), st.sampled_from(NAMES), st.sampled_from(VALUES))
OUTSIDE = st.tuples(
    st.sampled_from(sorted({*DOCUMENT, "targets", "factor_kinds"} - {"items"})),
    st.sampled_from(VALUES),
)


@settings(max_examples=examples(300), deadline=None)
@given(changes=st.lists(CHANGES, max_size=3), outside=st.lists(OUTSIDE, max_size=1))
def test_both_paths_find_the_same(
    tmp_path_factory: pytest.TempPathFactory, changes: list[Any], outside: list[Any]
) -> None:
    document = json.loads(EXAMPLE.read_text())
    for index, name, value in changes:
        document["items"][index][name] = value
    document.update(outside)
    path = tmp_path_factory.mktemp("changed") / "benchmark.json"
    path.write_text(json.dumps(document))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "compact_benchmark", lambda *_: None)
        whole = findings(path)
    assert findings(path) == whole
