"""Migrated aggregates beside an independent migration, and what must not get lost in them."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from aggregate_reference import Shapeless, migrate_aggregate
from aggregate_reference import Supplied as Given
from corpus import CORPUS, expectations, lines_of, needs_corpus
from depth import examples, some
from hypothesis import given
from hypothesis import strategies as st
from odd_sources import sources
from rows import ODD_VALUES, aggregate_of, at, bounded, places
from spelled_json import differences, leaves, parse, text_of

from evalstream.formats.eee.changes.aggregate import AggregateMigration, NewSeal, Source
from evalstream.formats.eee.changes.moves import AggregateRefused
from evalstream.formats.eee.changes.supplied import Deployment, HarnessLibrary, Supplied
from evalstream.parsing.schema_files import builtin_validator

SEALED = "detailed_evaluation_results"
SEAL = NewSeal("data/c/d/m/0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57_samples.jsonl", "0" * 64, 3)
SOURCE = Source("a.json", "f" * 64, "e" * 64)
KNOWN = ("self_deployed", "open_weights")
HARNESS = ("lm_eval", "0.4.0")
SUPPLIES = {"nothing": {}, "fill": {"fill": True}, "all": {"deployment": KNOWN, "library": HARNESS}}
WORDS = {"eval_library": "eval_library", "source_data": "source_data"}


def migrated(text: bytes, how: dict[str, Any]) -> tuple[bytes | None, set[str]]:
    """Migrate an aggregate; return it, or what it needs."""
    supplied = Supplied(
        fill=how.get("fill", False),
        deployment=Deployment(*KNOWN) if "deployment" in how else None,
        library=HarnessLibrary(*HARNESS) if "library" in how else None,
    )
    migration = AggregateMigration(text, "0.3.0", supplied)
    needs = {WORDS.get(need.what.split(".")[0], "deployment") for need in migration.needs}
    if needs:
        return None, needs
    seal = SEAL if SEALED in parse(text) else None
    return migration.migrate(SOURCE, seal)[0], needs


def without_additions(document: Any, expected: Any) -> Any:
    """Return a migrated document without its record of the source and its new seal."""
    metadata = document["source_metadata"]
    record = parse(metadata["additional_details"].pop("migrated_from"))
    assert (record["sha256"], record["rows_sha256"]) == (SOURCE.sha256, SOURCE.rows_sha256)
    if not metadata["additional_details"]:
        assert not expected["source_metadata"].pop("additional_details", {})
        del metadata["additional_details"]
    if SEALED in document:
        seal = document[SEALED]
        assert tuple(map(text_of, (seal["file_path"], seal["checksum"]))) == SEAL[:2]
        members = ("format", "file_path", "hash_algorithm", "checksum", "total_rows")
        for one in (document, expected):
            kept = one.get(SEALED)
            kept = kept if isinstance(kept, dict) else {}
            one[SEALED] = {name: value for name, value in kept.items() if name not in members}
    return document


def assert_migrated_alike(text: bytes, how: dict[str, Any]) -> bytes | None:
    """Require that both migrate an aggregate to the same data, need the same, or refuse it."""
    wanted = Given(
        fill=how.get("fill", False), deployment=how.get("deployment"), library=how.get("library")
    )
    source = parse(text)
    expected = migrate_aggregate(copy.deepcopy(source), wanted)
    made, needs = migrated(text, how)
    assert needs == wanted.needs
    if made is None:
        return None
    found = parse(made)
    lost = leaves(source) - leaves(found)
    sealed = source.get(SEALED)
    may_go = {"null", text_of(source["schema_version"]), *leaves(sealed)}
    assert set(lost) <= may_go
    assert not list(differences(expected, without_additions(found, expected)))
    return made


def corpus_aggregates() -> Iterator[bytes]:
    """Iterate over the aggregates of the corpus that have no samples in them."""
    for pair in expectations("eee-pairs/expected.json")["pairs"]:
        if pair.get("aggregate_facts"):
            yield (CORPUS / "eee-pairs" / pair["id"] / pair["aggregate"]).read_bytes()
    for one in expectations("eee-aggregates/expected.json")["files"]:
        text = (CORPUS / "eee-aggregates" / one["file"]).read_bytes()
        if b'"detailed_evaluation_results_per_samples"' not in text:
            yield text


@pytest.mark.deep
@needs_corpus
@pytest.mark.parametrize("how", [{}, SUPPLIES["fill"], SUPPLIES["all"]])
def test_aggregates_of_the_corpus_are_migrated_as_by_the_reference(how: dict[str, Any]) -> None:
    validator = builtin_validator("eee/0.3.0/aggregate")
    counts = dict.fromkeys(("migrated", "needs", "old"), 0)
    for text in corpus_aggregates():
        if parse(text)["schema_version"] == "0.0.1":
            with pytest.raises(AggregateRefused, match=r"version 0\.0\.1 is not known"):
                migrated(text, how)
            counts["old"] += 1
            continue
        made = assert_migrated_alike(text, how)
        counts["needs" if made is None else "migrated"] += 1
        if made is not None:
            assert validator.fits(json.loads(made))
    assert counts == EXPECTED[how.get("fill", False), "library" in how]


EXPECTED = {
    (False, False): {"migrated": 37, "needs": 198, "old": 16},
    (True, False): {"migrated": 235, "needs": 0, "old": 16},
    (False, True): {"migrated": 212, "needs": 23, "old": 16},
}
"""How many aggregates can be migrated, whether `unknown` is filled in and the rest is supplied."""


def documents() -> Iterator[tuple[str, bytes]]:
    """Iterate over odd aggregates that can be read."""
    for source in sources():
        if source.migrates:
            yield source.name, source.aggregate
    for name in ("aggregate-0.2.0", "aggregate-0.3.0"):
        path = CORPUS / "mutants" / f"{name}.jsonl"
        for line in lines_of(path) if path.exists() else []:
            yield name, line


def assert_migrated_alike_or_refused(text: bytes, how: dict[str, Any]) -> None:
    """Require that both migrate an aggregate alike; one without the usual objects never passes."""
    try:
        made, _ = migrated(text, how)
    except AggregateRefused:
        return
    try:
        assert_migrated_alike(text, how)
    except Shapeless:
        assert made is None or not builtin_validator("eee/0.3.0/aggregate").fits(json.loads(made))


@pytest.mark.parametrize("how", SUPPLIES.values(), ids=SUPPLIES)
def test_odd_aggregates_are_migrated_as_by_the_reference(how: dict[str, Any]) -> None:
    for _, text in some(list(documents()), 100):
        assert_migrated_alike_or_refused(text, how)


@bounded(max_examples=examples(200))
@given(st.data(), st.sampled_from(list(SUPPLIES.values())))
def test_made_up_aggregates_are_migrated_as_by_the_reference(
    data: st.DataObject, how: dict[str, Any]
) -> None:
    document = aggregate_of("0.2.0", b"", 8)
    for _ in range(data.draw(st.integers(1, 4))):
        inner = [place for place in places(document) if len(place) > 1]
        place = data.draw(st.sampled_from(inner))
        owner = at(document, place[:-1])
        if isinstance(owner, dict) and data.draw(st.booleans()):
            owner[data.draw(st.sampled_from(["a/b", "~0", "note", "", "*"]))] = data.draw(
                ODD_VALUES
            )
        else:
            owner[place[-1]] = data.draw(ODD_VALUES)
    assert_migrated_alike_or_refused(json.dumps(document).encode(), how)
