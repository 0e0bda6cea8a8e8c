"""`attest --store`: which runs a store has accepted, and how a statement says so."""

import base64
import json
from pathlib import Path

import pytest
from made_store import (
    entries_file,
    latest_manifest,
    make_record,
    make_store,
    object_at,
    rows_beside,
    uuid_of,
    write_record,
)

import evalstream
from evalstream.model.errors import CannotCheck

FIRST = uuid_of(0)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Make a store."""
    return make_store(tmp_path / "store")


def properties(store: Path, *rows: Path) -> list[str]:
    """Attest a run against a store, and return what the statement says of it."""
    output = store / "statement.json"
    done = evalstream.attest(
        [*rows], output, unsigned=True, store=store, options=evalstream.Options(profile="flat")
    )
    assert (done.exit_code, done.statements) == (0, 1)
    statement = json.loads(output.read_bytes())
    found: list[str] = statement["predicate"]["properties"]
    return [one for one in found if "STORE" in one]


def data_of(root: Path, number: int = 0) -> Path:
    """Return the rows of a record in data/."""
    return rows_beside(root / make_record(number).path)


def test_a_run_that_the_latest_snapshot_lists(store: Path) -> None:
    core = latest_manifest(store)["manifest_core_sha256"]
    expected = [f"EVALSTREAM_STORE_ADMITTED:{core}"]
    assert properties(store, data_of(store)) == expected
    assert properties(store, object_at(store, FIRST, "_samples.jsonl")) == expected


def test_a_run_that_no_entry_lists(store: Path) -> None:
    write_record(store, make_record(9))
    assert properties(store, data_of(store, 9)) == []


def test_a_run_with_other_bytes_than_its_entry(store: Path) -> None:
    path = data_of(store).with_name(f"{FIRST}.json")
    path.write_bytes(path.read_bytes() + b"\n")
    assert properties(store, data_of(store)) == []


def test_a_store_that_does_not_match_its_digests_says_nothing(store: Path) -> None:
    path = entries_file(store)
    path.write_bytes(path.read_bytes().replace(b"acorn", b"maple", 1))
    with pytest.raises(CannotCheck, match="do not match"):
        properties(store, data_of(store))
    assert not (store / "statement.json").exists()


def test_a_property_of_a_store_is_required_by_its_digest(store: Path, tmp_path: Path) -> None:
    dsse = pytest.importorskip("attestations")
    (tmp_path / "key.pem").write_bytes(dsse.private_pem())
    (tmp_path / "trusted.pem").write_bytes(dsse.public_pem())
    output, options = tmp_path / "out.intoto.jsonl", evalstream.Options(profile="flat")
    rows = data_of(store)
    evalstream.attest(rows, output, key=tmp_path / "key.pem", store=store, options=options)
    (core,) = [
        one.partition(":")[2]
        for one in json.loads(base64.b64decode(json.loads(output.read_bytes())["payload"]))[
            "predicate"
        ]["properties"]
        if "STORE" in one
    ]
    for digest, codes in ((core, set()), ("0" * 64, {"ES943"})):
        report = evalstream.check(
            rows,
            attestation=output,
            trust=str(tmp_path / "trusted.pem"),
            require=[f"EVALSTREAM_STORE_ADMITTED:{digest}"],
        )
        assert set(report.counts) - {"ES805"} == codes
