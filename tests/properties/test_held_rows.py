"""Rows in memory are judged as the same rows in a file, all at once or one by one."""

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from corpus import CORPUS, needs_corpus
from depth import examples, some
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from paths import EXAMPLES, PAIRS
from rows import (
    VERSIONS,
    aggregate_of,
    bounded,
    bytes_of,
    line_of,
    mutants,
    sound_rows,
    spoilt_bytes,
    write_run,
)

import evalstream
from evalstream.api import rows as rows_api
from evalstream.formats.eee import probe
from evalstream.model.report import Report

FEW = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that lasts as long as this module's tests."""
    return tmp_path_factory.mktemp("held")


@pytest.fixture
def few_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows show what a run follows, so that short runs have rows after them."""
    monkeypatch.setattr(probe, "PROBED_ROWS", FEW)
    monkeypatch.setattr(rows_api, "SETTLING_ROWS", FEW)


def judged(report: Report, *, has_bytes: bool = True, has_document: bool = True) -> Any:
    """Return what a report says, but for names of files and for what only files have."""
    (run,) = report.runs
    verified = run.verified
    if not has_bytes and verified is not None:
        verified = verified._replace(checksum=None)
    findings = [
        finding._replace(
            file="rows" if finding.file == run.file else "aggregate",
            offset=finding.offset if has_bytes else None,
            line=finding.line if has_document or finding.file == run.file else None,
            column=finding.column if has_document else None,
            message="" if finding.code == "ES501" else finding.message,
            fix=None,
        )
        for finding in report
        if finding.code != "ES507"
    ]
    counts = {code: count for code, count in report.counts.items() if code != "ES507"}
    claims = [claim.as_dict() for claim in run.claims]
    return findings, counts, run.verdict, run.rows, run.version, run.recipe, verified, claims


def added(rows: Any, **named: Any) -> Report:
    """Check rows one by one, and compare the findings of rows with those of the report."""
    with evalstream.Checker(**named) as checker:
        for row in rows:
            checker.add(row)
    return checker.report


def by_mapping(data: bytes) -> Iterator[Any]:
    return map(json.loads, data.splitlines())


@given(data=st.data(), version=st.sampled_from(VERSIONS))
@bounded(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mutated_rows_are_judged_as_in_a_file(
    folder: Path, few_settle: None, data: st.DataObject, version: str
) -> None:
    rows = sound_rows(version, FEW + 3)
    for place, row in data.draw(
        st.lists(st.tuples(st.integers(0, len(rows) - 1), mutants(version)), max_size=4)
    ):
        rows[place] = row
    text = bytes_of(rows)
    path, aggregate = write_run(folder, text, version)
    expected = evalstream.check(path, aggregate=aggregate)
    lines = text.splitlines(keepends=True)
    document = json.loads(aggregate.read_bytes())
    placeless = judged(expected, has_document=False)
    for held in (lines, [line.decode().rstrip("\n") for line in lines]):
        assert judged(evalstream.check_rows(held, aggregate=document)) == placeless
        assert judged(added(held, aggregate=aggregate)) == judged(expected)
    unsealed = judged(expected, has_bytes=False, has_document=False)
    for report in (
        evalstream.check_rows(rows, aggregate=document),
        added(rows, aggregate=document),
    ):
        assert judged(report, has_bytes=False) == unsealed
        assert report.runs[0].verified.checksum is None


@given(data=st.data(), version=st.sampled_from(VERSIONS))
@bounded(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_spoilt_bytes_are_judged_as_in_a_file(
    folder: Path, few_settle: None, data: st.DataObject, version: str
) -> None:
    sound = bytes_of(sound_rows(version, FEW + 3))
    spoilt = data.draw(spoilt_bytes(sound))
    ends = st.sampled_from([spoilt, spoilt.rstrip(b"\n"), spoilt + b"\n", spoilt[:-30]])
    text = data.draw(ends)
    lines = [*BytesIO(text)]
    assume(len(lines) > 1)  # one row without a line end is not a torn line
    sealed, count = data.draw(st.sampled_from([sound, spoilt, text])), data.draw(st.integers(6, 9))
    path, aggregate = write_run(folder, sealed, version, count)
    path.write_bytes(text)
    expected = judged(evalstream.check(path, aggregate=aggregate))
    assert judged(evalstream.check_rows(lines, aggregate=aggregate)) == expected
    assert judged(added(lines, aggregate=aggregate)) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_findings_come_with_their_row(version: str, few_settle: None) -> None:
    rows = sound_rows(version, FEW * 2)
    rows[2]["evaluation"]["score"] = "high"
    del rows[FEW + 2]["sample_id"]
    rows[FEW + 4] = rows[1]
    with evalstream.Checker(aggregate=aggregate_of(version, bytes_of(rows), len(rows))) as checker:
        found = {
            number: {finding.line for finding in findings}
            for number, row in enumerate(rows, 1)
            if (findings := checker.add(row))
        }
    assert found == {3: {3}, FEW + 3: {FEW + 3}, FEW + 5: {FEW + 5}}
    assert {finding.line for finding in checker.report} - {None} == {3, FEW + 3, FEW + 5}


def _pairs() -> list[tuple[Path, Path]]:
    pairs = [(EXAMPLES / "run.jsonl", EXAMPLES / "aggregate.json")]
    folders = [EXAMPLES, PAIRS, CORPUS / "eee-pairs"]
    for rows in (one for folder in folders for one in sorted(folder.rglob("*.jsonl"))):
        stem = rows.stem.removesuffix("_samples")
        aggregates = [rows.with_name(f"{stem}.json"), rows.with_name("aggregate.json")]
        pairs += [(rows, one) for one in aggregates if one.is_file()][:1]
    return pairs


def test_pairs_are_judged_as_files() -> None:
    for rows, aggregate in some(_pairs(), 60):
        expected = judged(evalstream.check(rows, aggregate=aggregate))
        with rows.open("rb") as file:
            assert judged(evalstream.check_rows(file, aggregate=aggregate)) == expected, rows


@needs_corpus
def test_pairs_of_the_corpus_are_judged_row_by_row() -> None:
    for rows, aggregate in _pairs()[::10]:
        expected = judged(evalstream.check(rows, aggregate=aggregate))
        lines = [*BytesIO(rows.read_bytes())]
        if len(lines) > 1:
            assert judged(added(lines, aggregate=aggregate)) == expected, rows


def test_a_file_is_judged_by_its_first_row_and_all_others(few_settle: None) -> None:
    """The first row alone shows another recipe than the rows together."""
    rows = sound_rows("0.2.0", FEW * 2)
    rows[0]["sample_hash"] = "0" * 64
    with evalstream.Checker() as checker:
        for row in rows:
            checker.add(line_of(row))
    lines = [finding.line for finding in checker.report if finding.code.startswith("ES40")]
    assert 1 in lines
