"""Repaired rows: fewer violations, never others, and the same bytes when repaired again."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest
from corpus import CORPUS, expectations, lines_of, needs_corpus, row_violations
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded, mutants

from evalstream.formats.eee.changes.row_rewriter import RowRepairer, RowRepairs
from evalstream.formats.eee.versions import INSTANCE_VERSIONS, nearest_version
from evalstream.model.changes import Applied
from evalstream.parsing.json import pointer
from evalstream.rules.base import RepairAction

MENDED = {
    "ES204": RepairAction.DROP_NULL,
    "ES208": RepairAction.WRITE_TEXT,
    "ES215": RepairAction.WRITE_PLAIN_VERSION,
    "ES405": RepairAction.WRITE_PLAIN_SAMPLE_HASH,
}
Seen = Counter[tuple[str, str]]


@lru_cache(maxsize=16)
def repairer(version: str) -> RowRepairer:
    """Return what repairs the rows of a version."""
    return RowRepairer(RowRepairs(version, frozenset(MENDED.values())))


def seen(line: str, version: str) -> Seen:
    """Count the violations of a row by code and place."""
    violations = row_violations(line.encode(), version, "portable")
    return Counter((one.code, one.pointer or "") for one in violations)


def assert_repaired(line: str, version: str) -> list[Applied]:
    """Repair a row; require that violations only go, and that a second time changes nothing."""
    try:
        text, applied = repairer(version).rewrite(line)
    except ValueError:
        return []
    assert repairer(version).rewrite(text) == (text, [])
    assert (text != line) == bool(applied)
    before, after = seen(line, version), seen(text, version)
    # A row whose annotated version is mended is read by the same schema, under its number.
    assert not after - before
    assert {code for code, _ in before - after} <= MENDED.keys() | {"ES216"}
    return applied


def places_of(applied: list[Applied]) -> Iterator[str]:
    """Iterate over the places that were changed."""
    return (one.example.pointer for one in applied)


@pytest.mark.deep
@needs_corpus
def test_rows_of_the_corpus_keep_no_null_and_no_value_in_a_map_of_texts() -> None:
    changed: Counter[str] = Counter()
    for pair in expectations("eee-pairs/expected.json")["pairs"]:
        if not pair.get("instance_facts"):
            continue
        for line in lines_of(CORPUS / "eee-pairs" / pair["id"] / pair["instance"]):
            if not line.strip():
                continue
            version = json.loads(line)["schema_version"]
            applied = assert_repaired(line.decode(), version)
            changed.update({one.change.kind.name for one in applied})
            text = repairer(version).rewrite(line.decode())[0]
            assert not {"ES204", "ES208"} & {code for code, _ in seen(text, version)}
    assert changed == {"null-dropped": 503}


@needs_corpus
@pytest.mark.parametrize("name", ["instance-0.2.0", "instance-0.3.0"])
def test_mutants_are_repaired_or_stay_as_they_are(name: str) -> None:
    version = name.removeprefix("instance-")
    for line in lines_of(CORPUS / "mutants" / f"{name}.jsonl"):
        assert_repaired(line.decode(), version)


@bounded(max_examples=examples(200))
@given(mutants("0.2.0", 4) | mutants("0.3.0", 4), st.sampled_from(INSTANCE_VERSIONS), st.booleans())
def test_made_up_rows_are_repaired_or_stay_as_they_are(
    row: dict[str, Any], version: str, ascii_only: bool
) -> None:
    declared = row.get("schema_version")
    if isinstance(declared, str):
        version = nearest_version(declared, instance=True)
    assert_repaired(json.dumps(row, ensure_ascii=ascii_only), version)


def test_the_place_of_a_repair_is_that_of_its_finding() -> None:
    row = {"schema_version": "0.3.0", "evaluation_result_id": None, "metadata": {"a/b~": 1}}
    line = json.dumps(row)
    applied = repairer("0.3.0").rewrite(line)[1]
    found = {place for code, place in seen(line, "0.3.0") if code in MENDED}
    assert (
        set(places_of(applied)) == found == {"/evaluation_result_id", pointer(("metadata", "a/b~"))}
    )
