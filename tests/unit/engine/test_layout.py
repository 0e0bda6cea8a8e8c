"""However rows are stored, the same is found in them: packed, in an array, on a pipe."""

import bz2
import gzip
import hashlib
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import DETAILS, aggregate_of, bounded, bytes_of, mutants, sound_rows

import evalstream
from evalstream.engine import row_pass
from evalstream.io import codecs
from evalstream.model.errors import install_command
from evalstream.model.finding import Finding

GOOD = bytes_of(sound_rows())
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
ABOUT_FILES = ("ES5", "ES110", "ES111", "ES112")
"""What is said of a file that holds lines, or of its seal."""


def findings(report: evalstream.Report) -> list[Finding]:
    """Return the findings, whatever the file is called."""
    return [finding._replace(file="") for finding in report]


def sealed(folder: Path, name: str, stored: bytes, declared: bytes, **details: Any) -> Path:
    """Write rows and an aggregate beside them that declares the digest of some bytes."""
    (folder / name).write_bytes(stored)
    document = aggregate_of("0.2.0", declared, 8, name)
    document[DETAILS] |= {"file_path": name, **details}
    aggregate = folder / "aggregate.json"
    aggregate.write_text(json.dumps(document))
    return aggregate


@each("kind", sorted(PACK))
@pytest.mark.parametrize("meant", ["stored", "unpacked"])
def test_the_checksum_may_be_of_stored_or_unpacked_bytes(
    tmp_path: Path, kind: str, meant: str
) -> None:
    packed, name = PACK[kind](GOOD), f"rows.jsonl.{kind}"
    data = packed if meant == "stored" else GOOD
    aggregate = sealed(tmp_path, name, packed, data)
    report = evalstream.check(tmp_path / name, aggregate=aggregate)
    (run,) = report.runs
    assert (report.exit_code, report.counts, run.verdict) == (0, {}, "passed")
    assert (run.covers, run.actual) == (meant, hashlib.sha256(data).hexdigest())
    assert (run.rows, run.bytes) == (8, len(GOOD))
    # The name that the rows had before they were packed is a right one, too.
    aggregate = sealed(tmp_path, name, packed, data, file_path="rows.jsonl")
    assert evalstream.check(tmp_path / name, aggregate=aggregate).counts == {}
    aggregate = sealed(tmp_path, name, packed, GOOD[:-1])
    (found,) = evalstream.check(tmp_path / name, aggregate=aggregate)
    assert (found.code, "nor the unpacked" in found.message) == ("ES501", True)
    assert found.expected == hashlib.sha256(packed).hexdigest()
    assert found.found == hashlib.sha256(GOOD[:-1]).hexdigest()
    aggregate = sealed(tmp_path, name, packed, GOOD[:-1], file_path="rows.jsonl")
    (found,) = evalstream.check(tmp_path / name, aggregate=aggregate)
    assert found.expected == hashlib.sha256(GOOD).hexdigest()


@pytest.mark.parametrize("jobs", [1, 2])
def test_packed_rows_give_the_findings_of_plain_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 2000)
    odd = GOOD + b"{torn\n\n[1]\n" + GOOD[:-1]
    plain = tmp_path / "rows.jsonl"
    plain.write_bytes(odd)
    expected = findings(evalstream.check(plain, jobs=1))
    for kind, pack in PACK.items():
        path = tmp_path / f"rows.jsonl.{kind}"
        # Two members, cut inside a row.
        path.write_bytes(pack(odd[:777]) + pack(odd[777:]))
        assert findings(evalstream.check(path, jobs=jobs)) == expected


@each("kind", sorted(PACK))
def test_rows_before_a_break_are_checked_and_the_rest_is_not_passed(
    tmp_path: Path, kind: str
) -> None:
    rows = bytes_of(sound_rows(count=400))
    whole = PACK[kind](rows)
    aggregate = sealed(tmp_path, "rows.jsonl", whole[:-40], rows, total_rows=400)
    report = evalstream.check(tmp_path / "rows.jsonl", aggregate=aggregate)
    (run,) = report.runs
    assert report.counts["ES002"] == 1
    assert (run.verdict, run.actual, report.exit_code) == ("failed", None, 1)
    (found,) = (finding for finding in report if finding.code == "ES002")
    assert f"{run.rows} rows before the break could be checked" in found.message
    for cut in (whole + b"more", whole[:8]):
        (tmp_path / "rows.jsonl").write_bytes(cut)
        report = evalstream.check(tmp_path / "rows.jsonl", aggregate=aggregate)
        assert (report.counts["ES002"], report.exit_code) == (1, 1)


def test_a_missing_library_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> Any:
        raise ImportError

    monkeypatch.setattr(codecs, "import_module", missing)
    aggregate = sealed(tmp_path, "rows.jsonl.zst", b"\x28\xb5\x2f\xfd rows", GOOD)
    report = evalstream.check(tmp_path / "rows.jsonl.zst", aggregate=aggregate)
    assert (report.counts, report.exit_code) == ({"ES002": 1}, 3)
    assert report.runs[0].verdict == "incomplete"
    assert install_command("compressed") in (report.runs[0].incomplete_reason or "")
    gz = sealed(tmp_path, "rows.jsonl.gz", gzip.compress(GOOD), GOOD)
    assert evalstream.check(tmp_path / "rows.jsonl.gz", aggregate=gz).passed


def test_a_bomb_is_read_in_flat_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(bytes(100 << 20), 9))
    report = evalstream.check(path, jobs=1)
    assert report.counts["ES003"] == 1
    assert report.exit_code == 1


def as_array(rows: list[Any], indent: int | None) -> bytes:
    """Write rows as one array, non-ASCII characters as they are."""
    return json.dumps(rows, indent=indent, ensure_ascii=False).encode()


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_that_is_sealed_as_one_passes(tmp_path: Path, indent: int | None) -> None:
    data = as_array(sound_rows(), indent)
    aggregate = sealed(tmp_path, "rows.json", data, data, format="json")
    for inputs, beside in (("rows.json", aggregate), ("aggregate.json", None)):
        report = evalstream.check(tmp_path / inputs, aggregate=beside)
        assert (report.exit_code, report.counts, report.runs[0].rows) == (0, {}, 8)
    packed = gzip.compress(data)
    aggregate = sealed(tmp_path, "rows.json.gz", packed, packed, format="json")
    assert evalstream.check(tmp_path / "rows.json.gz", aggregate=aggregate).counts == {}
    aggregate = sealed(tmp_path, "rows.json", data, data, format="json", total_rows=9)
    assert evalstream.check(tmp_path / "rows.json", aggregate=aggregate).counts == {"ES503": 1}
    aggregate = sealed(tmp_path, "rows.json", data, data)
    assert evalstream.check(tmp_path / "rows.json", aggregate=aggregate).counts == {"ES505": 1}


@given(
    rows=st.lists(mutants("0.2.0"), min_size=1, max_size=5),
    indent=st.sampled_from([None, 0, 2]),
    jobs=st.sampled_from([1, 2]),
)
@bounded(max_examples=examples(60))
def test_elements_give_the_findings_of_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], indent: int | None, jobs: int
) -> None:
    folder = tmp_path_factory.mktemp("array")
    (folder / "rows.jsonl").write_bytes(
        b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    )
    data = as_array(rows, indent)
    (folder / "array.json").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_pass, "BLOCK_BYTES", 2000)
        options: dict[str, Any] = {"jobs": jobs, "max_findings": 0, "ignore": ABOUT_FILES}
        lines = evalstream.check(folder / "rows.jsonl", **options)
        array = evalstream.check(folder / "array.json", **options)
    assert lines.counts == array.counts
    for line, element in zip(lines, array, strict=True):
        assert (line.code, line.severity, line.sample_id) == (
            element.code,
            element.severity,
            element.sample_id,
        )
        if line.line is None or element.offset is None:
            continue
        assert element.pointer == f"/{line.line - 1}{line.pointer or ''}"
        assert element.line == data.count(b"\n", 0, element.offset) + 1
        assert (
            json.JSONDecoder().raw_decode(data[element.offset :].decode())[0] == rows[line.line - 1]
        )


def test_repeats_in_an_array_are_told_by_row_even_from_disk(tmp_path: Path) -> None:
    rows = sound_rows(count=60)
    path = tmp_path / "rows.json"
    for indent in (None, 1):
        data = as_array([*rows, rows[3]], indent)
        path.write_bytes(data)
        for limit in (1, 1 << 24):
            report = evalstream.check(path, memory_limit=limit, ignore=("ES5", "ES8"))
            (found,) = report
            assert (found.code, found.pointer) == ("ES408", "/60")
            assert found.message == "the same bytes as in row 4"
            assert found.line == data.count(b"\n", 0, found.offset) + 1


@each(
    ("spoil", "code", "rows"),
    [
        (lambda data: data[: len(data) // 2], "ES104", 3),
        (lambda data: data[:-1], "ES104", 8),
        (lambda data: data.replace(b"}, {", b"} {", 1), "ES103", 1),
        (lambda data: data + b"{}", "ES103", 8),
        (lambda data: data[:-1] + b",]", "ES103", 8),
        (lambda data: data[:-1] + b", " + b"[" * 400_000, "ES113", 8),
        (lambda data: data[:-1] + b',"' + b"x" * 600_000 + b'"]', "ES003", 8),
    ],
)
def test_a_broken_array_fails_where_it_breaks(
    tmp_path: Path, spoil: Callable[[bytes], bytes], code: str, rows: int
) -> None:
    data = spoil(as_array(sound_rows(), None))
    aggregate = sealed(tmp_path, "rows.json", data, data, format="json", total_rows=rows)
    report = evalstream.check(tmp_path / "rows.json", aggregate=aggregate, max_line_bytes=500_000)
    (run,) = report.runs
    assert (run.rows, run.verdict, report.exit_code) == (rows, "failed", 1)
    found = next(finding for finding in report if finding.code == code)
    assert (found.pointer, found.line) == (f"/{rows}", 1)
    for codes in (("ES4",), ("ES5",)):
        limited = evalstream.check(
            tmp_path / "rows.json", aggregate=aggregate, select=codes, max_line_bytes=500_000
        )
        assert not limited.passed
        assert limited.exit_code != 0


def test_a_broken_list_above_the_only_row_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'[{"a": 1}, {\n' + bytes_of(sound_rows(count=1)).strip())
    report = evalstream.check(path)
    assert report.runs[0].rows == 2
    assert [(one.code, one.line) for one in report if one.severity.label == "error"] == [
        ("ES103", 1)
    ]


@pytest.mark.parametrize("indent", [None, 1])
def test_elements_before_a_break_in_a_packed_array_are_checked(
    tmp_path: Path, indent: int | None
) -> None:
    path, data = tmp_path / "rows.json.gz", as_array(sound_rows(count=400), indent)
    packed = gzip.compress(data, 1)
    path.write_bytes(packed[: len(packed) * 2 // 3])
    report = evalstream.check(path, ignore=("ES5",))
    (run,) = report.runs
    assert (report.counts, report.exit_code, run.verdict) == ({"ES002": 1}, 1, "failed")
    assert 0 < run.rows < 400
    saved = evalstream.salvage(path, tmp_path / "good")
    assert (saved.exit_code, saved.rows) == (3, run.rows)
    rest = json.loads((tmp_path / "good.rest.jsonl").read_bytes())
    assert data[rest["offset"] :].startswith(rest["text"].encode())
    assert rest["reason"] == "the array breaks off"
