"""Sealing: what check verifies is written, nothing else, and never over faulty rows."""

import gzip
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from commands import started, wait_for
from depth import examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import DETAILS, aggregate_of, bounded, bytes_of, sound_rows, write_run
from sound_lines import FAULTY, GOOD, LINES

import evalstream

SEALED = ("format", "file_path", "hash_algorithm", "checksum", "total_rows")


def seal(rows: Path | str, aggregate: Path, **settings: Any) -> evalstream.Report:
    """Seal rows in an aggregate, as the command does."""
    return evalstream.check(rows, aggregate=aggregate, seal_to=str(aggregate), **settings)


def unsealed(folder: Path, data: bytes = GOOD, **details: Any) -> tuple[Path, Path]:
    """Write rows and an aggregate that seals nothing, or only says what is given."""
    rows, aggregate = write_run(folder, data)
    document = json.loads(aggregate.read_text())
    document.pop(DETAILS)
    if details:
        document[DETAILS] = details
    aggregate.write_text(json.dumps(document, indent=4) + "\n")
    return rows, aggregate


def details_of(aggregate: Path) -> dict[str, Any]:
    """Return the seal that an aggregate holds."""
    details: dict[str, Any] = json.loads(aggregate.read_text())[DETAILS]
    return details


def test_a_sealed_pair_passes_and_an_edited_one_fails(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path)
    before = aggregate.read_text()
    report = seal(rows, aggregate)
    assert (report.exit_code, report.runs[0].sealed, report.counts) == (0, str(aggregate), {})
    assert details_of(aggregate) == {
        "format": "jsonl",
        "file_path": rows.name,
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(GOOD).hexdigest(),
        "total_rows": 8,
    }
    after = aggregate.read_text()
    assert after.startswith(before.removesuffix("\n}\n"))
    assert evalstream.check(rows, aggregate=aggregate).passed
    assert seal(rows, aggregate).exit_code == 0
    assert aggregate.read_text() == after
    rows.write_bytes(GOOD.replace(b"arithmetic", b"arithmetik", 1))
    assert evalstream.check(rows, aggregate=aggregate).counts["ES501"] == 1


@each(
    "wrong",
    [
        {"format": "json", "checksum": "n/a", "total_rows": -1, "file_path": "/other.jsonl"},
        {"checksum": "0" * 63, "hash_algorithm": "sha256", "total_rows": 3},
        {"checksum": None, "total_rows": "8", "format": 5},
        {"hash_algorithm": "sha512", "note": "kept"},
    ],
)
def test_a_wrong_seal_is_mended_and_the_rest_kept(tmp_path: Path, wrong: dict[str, Any]) -> None:
    rows, aggregate = unsealed(tmp_path, **wrong)
    assert evalstream.check(rows, aggregate=aggregate).runs[0].verdict != "passed"
    assert seal(rows, aggregate).exit_code == 0
    details = details_of(aggregate)
    assert {key: details[key] for key in wrong if key not in SEALED} == {
        key: wrong[key] for key in wrong if key not in SEALED
    }
    assert list(details)[: len(wrong)] == list(wrong)
    assert evalstream.check(rows, aggregate=aggregate).passed


def test_faulty_rows_are_refused_unless_forced(tmp_path: Path) -> None:
    for violation, kept in ((FAULTY, True), (b"{torn\n", True)):
        rows, aggregate = unsealed(tmp_path, GOOD + violation)
        before = aggregate.read_bytes()
        report = seal(rows, aggregate)
        assert (report.exit_code, report.runs[0].sealed) == (1, None)
        assert "it was not sealed" in (report.runs[0].incomplete_reason or "")
        assert (aggregate.read_bytes() == before) == kept
        # Rows that cannot be read do not pass for sound because their rule is silent.
        assert seal(rows, aggregate, select=("ES4",)).runs[0].sealed is None or violation is FAULTY
    rows, aggregate = unsealed(tmp_path, GOOD + FAULTY)
    report = seal(rows, aggregate, seal_anyway=True)
    assert (report.exit_code, report.runs[0].sealed) == (1, str(aggregate))
    assert set(evalstream.check(rows, aggregate=aggregate).counts) == {"ES202", "ES804", "ES805"}


def test_warnings_refuse_where_they_are_to_fail(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path, GOOD + b"\n")
    assert seal(rows, aggregate, strict=True).runs[0].sealed is None
    assert seal(rows, aggregate).runs[0].sealed == str(aggregate)
    assert details_of(aggregate)["total_rows"] == 8


def test_a_dry_run_shows_the_change_and_makes_none(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path)
    before = aggregate.read_bytes()
    (run,) = seal(rows, aggregate, dry_run=True).runs
    assert aggregate.read_bytes() == before
    assert run.sealed is None
    assert f'+        "checksum": "{hashlib.sha256(GOOD).hexdigest()}"' in (run.change or "")


def test_the_algorithm_that_is_declared_or_used_is_kept(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path, hash_algorithm="md5")
    report = seal(rows, aggregate, ignore=("ES405",))
    assert report.exit_code == 0
    assert details_of(aggregate)["checksum"] == hashlib.md5(GOOD).hexdigest()
    document = json.loads((tmp_path / rows.name).read_text().splitlines()[0])
    digest = hashlib.md5(
        document["input"]["raw"].encode() + document["input"]["reference"].encode()
    )
    rows, aggregate = unsealed(
        tmp_path, bytes_of([{**document, "sample_hash": digest.hexdigest()}])
    )
    seal(rows, aggregate, seal_anyway=True)
    assert details_of(aggregate)["hash_algorithm"] == "md5"


def test_rows_are_named_as_they_lie(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path)
    below = tmp_path / "below" / "rows.jsonl"
    below.parent.mkdir()
    below.write_bytes(GOOD)
    seal(below, aggregate)
    assert details_of(aggregate)["file_path"] == "below/rows.jsonl"
    seal(rows, aggregate, file_path="somewhere/else.jsonl")
    assert details_of(aggregate)["file_path"] == "somewhere/else.jsonl"
    other = below.parent / "aggregate.json"
    other.write_bytes(unsealed(tmp_path)[1].read_bytes())
    seal(rows, other)
    assert details_of(other)["file_path"] == rows.name
    rows, aggregate = unsealed(tmp_path, file_path=f"some/where/{rows.name}")
    seal(rows, aggregate)
    assert details_of(aggregate)["file_path"] == f"some/where/{rows.name}"


def test_a_later_version_is_sealed_in_its_datastore_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "tiny-arithmetic" / "acme" / "acorn-7b"
    folder.mkdir(parents=True)
    data = bytes_of(sound_rows("0.3.0"))
    for place, fits in ((folder, True), (tmp_path, False)):
        rows, aggregate = write_run(place, data, "0.3.0")
        document = json.loads(aggregate.read_text())
        document.pop(DETAILS)
        aggregate.write_text(json.dumps(document))
        report = seal(rows, aggregate)
        assert (report.runs[0].sealed is not None, report.exit_code == 0) == (fits, fits)
        assert fits or report.counts["ES213"] == 1
    assert details_of(folder / "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57.json")["file_path"] == (
        "data/tiny-arithmetic/acme/acorn-7b/0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57_samples.jsonl"
    )


def test_packed_rows_are_sealed_as_they_are_stored(tmp_path: Path) -> None:
    _, aggregate = unsealed(tmp_path)
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(GOOD))
    seal(packed, aggregate)
    assert details_of(aggregate)["checksum"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert evalstream.check(packed, aggregate=aggregate).passed


def test_an_array_is_sealed_as_one(tmp_path: Path) -> None:
    _, aggregate = unsealed(tmp_path)
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps(sound_rows()))
    assert seal(rows, aggregate).exit_code == 0
    assert details_of(aggregate)["format"] == "json"
    assert evalstream.check(rows, aggregate=aggregate).passed


def test_a_stream_is_sealed_with_its_copy(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path)
    for arguments in (
        ("seal", "-", "--aggregate", aggregate.name, "--tee", "copy.jsonl"),
        ("check", "-", "--seal-to", aggregate.name, "--tee", "copy.jsonl", "--pass", "all"),
        ("seal", "-", "--aggregate", aggregate.name, "--file-path", rows.name),
        (
            "check",
            "-",
            "--seal-to",
            "new.json",
            "--tee",
            "copy.jsonl",
            "--create",
            "--expect-rows",
            "8",
        ),
    ):
        unsealed(tmp_path)
        (tmp_path / "copy.jsonl").unlink(missing_ok=True)
        with started(*arguments, folder=tmp_path) as process:
            process.communicate(GOOD)
        assert process.returncode == 0
        target = tmp_path / (arguments[3] if "new.json" in arguments else aggregate.name)
        details = details_of(target)
        assert details["checksum"] == hashlib.sha256(GOOD).hexdigest()
        assert details["file_path"] == ("copy.jsonl" if "copy.jsonl" in arguments else rows.name)
        if target == aggregate:
            assert evalstream.check(tmp_path / details["file_path"], aggregate=target).passed
    assert json.loads((tmp_path / "new.json").read_text())["schema_version"] == "0.2.0"


@each(
    ("more", "is_sealed"),
    [
        ((), False),
        (("--expect-rows", "8"), True),
        (("--expect-samples", "8"), True),
        (("--seal-anyway",), True),
    ],
)
def test_a_stream_without_a_known_end_is_not_sealed(
    more: tuple[str, ...], *, is_sealed: bool, tmp_path: Path
) -> None:
    _, aggregate = unsealed(tmp_path)
    claims = json.loads(aggregate.read_text())
    for result in claims["evaluation_results"]:
        result["score_details"].pop("uncertainty", None)
        result["source_data"].pop("sample_ids", None)
    aggregate.write_text(json.dumps(claims))
    way = ("check", "-", "--tee", "copy.jsonl", "--seal-to", aggregate.name)
    with started(*way, *more, folder=tmp_path) as process:
        out, _ = process.communicate(GOOD)
    assert process.returncode == (0 if is_sealed else 3), out
    assert (b"when its writer is killed" in out) != is_sealed
    assert ("checksum" in aggregate.read_text()) == is_sealed
    if not is_sealed:
        # The end of a file is known.
        assert evalstream.seal(tmp_path / "copy.jsonl", aggregate).runs[0].sealed


def test_a_new_aggregate_says_which_members_it_lacks(tmp_path: Path) -> None:
    rows, _ = unsealed(tmp_path)
    new = tmp_path / "new.json"
    (run,) = evalstream.seal(rows, new, create=True).runs
    assert run.verdict == "unconfirmed"
    assert run.remark is not None
    lacking = run.remark.rpartition("lacks ")[2].split(", ")
    assert lacking == ["retrieved_timestamp", "source_metadata", "model_info", "evaluation_results"]
    report = evalstream.check(rows, aggregate=new, select=["ES201"])
    assert [one.message for one in report] == [f"{name} is missing" for name in lacking]
    assert new.read_text() == json.dumps(json.loads(new.read_text()), indent=2) + "\n"
    (again,) = evalstream.seal(rows, new, create=True).runs
    assert "is new" not in (again.remark or "")


def test_an_aggregate_that_comes_late_is_checked_and_sealed(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path)
    text = aggregate.read_text()
    for spoilt, code in ((text, 0), (text.replace("0.75", "0.5"), 1)):
        aggregate.unlink()
        rows.unlink()
        arguments = ("check", "-", "--seal-to", aggregate.name, "--tee", rows.name, "--strict")
        with started(*arguments, folder=tmp_path) as process:
            assert process.stdin is not None
            process.stdin.write(LINES[0])
            wait_for(lambda: rows.exists() and rows.stat().st_size == len(LINES[0]))
            aggregate.write_text(spoilt)
            process.communicate(b"".join(LINES[1:]))
        assert process.returncode == code
        assert (DETAILS in json.loads(aggregate.read_text())) == (code == 0)


def test_what_cannot_be_edited_is_not_sealed(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path)
    text = aggregate.read_text()
    for spoilt in (text.replace("{", '{"detailed_evaluation_results": {}, ', 1), "[]", "{"):
        twice = spoilt.replace("{", '{"detailed_evaluation_results": {}, ', 1)
        aggregate.write_text(twice)
        report = seal(rows, aggregate)
        assert (report.runs[0].sealed, aggregate.read_text()) == (None, twice)
        assert report.exit_code in (1, 3)


def test_what_is_no_rows_is_never_sealed(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path)
    before = aggregate.read_bytes()
    with pytest.raises(evalstream.UsageError, match="would overwrite"):
        seal(aggregate, aggregate, seal_anyway=True)
    for data in (GOOD.decode().encode("utf-16"), gzip.compress(GOOD)[:-9], before):
        rows.write_bytes(data)
        report = seal(rows, aggregate, seal_anyway=True)
        assert (report.runs[0].sealed, aggregate.read_bytes()) == (None, before)
        assert "it was not sealed" in (report.runs[0].incomplete_reason or "")
        assert report.exit_code in (1, 3)


def test_mode_and_folder_are_left_alone(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path)
    aggregate.chmod(0o640)
    seal(rows, aggregate)
    assert sorted(os.listdir(tmp_path)) == sorted([rows.name, aggregate.name])
    assert stat.S_IMODE(aggregate.stat().st_mode) == 0o640
    aggregate.unlink()
    (tmp_path / "real.json").write_text(unsealed(tmp_path)[1].read_text())
    aggregate.unlink()
    aggregate.symlink_to("real.json")
    seal(rows, aggregate)
    assert aggregate.is_symlink()
    assert details_of(tmp_path / "real.json")["total_rows"] == 8


@given(count=st.integers(1, 9), edit=st.integers(0, 10_000))
@bounded(max_examples=examples(40))
def test_any_edit_after_sealing_is_found(
    tmp_path_factory: pytest.TempPathFactory, count: int, edit: int
) -> None:
    data = bytes_of(sound_rows(count=count))
    rows, aggregate = unsealed(tmp_path_factory.mktemp("edit"), data)
    seal(rows, aggregate, seal_anyway=True)
    assert (
        aggregate_of("0.2.0", data, count)[DETAILS]["checksum"] == details_of(aggregate)["checksum"]
    )
    place = edit % len(data)
    rows.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    assert evalstream.check(rows, aggregate=aggregate).counts["ES501"] == 1
