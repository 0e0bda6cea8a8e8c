"""The guess from a file's first row: whatever the rows are, the report is that of a probe."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from hypothesis import example, given
from hypothesis import strategies as st
from rows import PREFERRED, Row, bounded, bytes_of, hashed, sound_rows, write_run

import evalstream
from evalstream.engine import row_pass
from evalstream.formats.eee import probe
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.probe import Guess, guessed_context, probe_context
from evalstream.formats.eee.sample_hash import RECIPES
from evalstream.model.block import Lines
from evalstream.model.options import Options
from evalstream.model.report import Report

PROBED = 4
SMALL_BLOCK_BYTES = 7_000
ROWS = 8
DECLARING = {"unknown version": "9.9", "other version": "0.2.2"}
KINDS = (*RECIPES, "absent", "capitals", "md5", "wrong", "foreign", *DECLARING, "blank", "torn")


def line_of(row: Row, kind: str, references: int) -> bytes:
    """Write a row of a kind, with so many references."""
    row = {**row, "input": {**row["input"]}}
    if isinstance(row["input"]["reference"], list):
        row["input"]["reference"] = ["five", "5", ""][:references]
    row = hashed(row, kind if kind in RECIPES else PREFERRED[row["schema_version"]])
    if kind == "absent":
        row["sample_hash"] = None
    elif kind == "capitals":
        row["sample_hash"] = row["sample_hash"].upper()
    elif kind == "md5":
        row = hashed(row, "concat", "md5")
    elif kind == "wrong":
        row["sample_hash"] = hashlib.sha256(row["sample_id"].encode()).hexdigest()
    elif kind == "foreign":
        row["evaluation_id"] = "of/another/run"
    elif kind in DECLARING:
        row["schema_version"] = DECLARING[kind]
    if kind == "blank":
        return b" \n"
    line = bytes_of([row])
    return line[:40] + b"\n" if kind == "torn" else line


def as_told(report: Report) -> list[Any]:
    """Return all that a report says, but for times."""
    runs = [{**run.as_dict(), "seconds": 0, "reason": run.incomplete_reason} for run in report.runs]
    return [runs, list(report), report.exit_code]


def reports(folder: Path, data: bytes, library: str | None, *, usual: bool) -> tuple[Any, Any]:
    """Check rows with a guess, from their version alone if it is usual, and with a probe."""
    path, aggregate = write_run(folder, data, "0.3.0")
    document = json.loads(aggregate.read_bytes())
    document["eval_library"] = {"name": library or "other", "version": "1"}
    aggregate.write_text(json.dumps(document))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_pass, "BLOCK_BYTES", SMALL_BLOCK_BYTES)
        patch.setattr(probe, "PROBED_ROWS", PROBED)
        patch.setattr(probe, "UNANIMOUS", PROBED - 1)
        patch.setattr(Guess, "are_usual", usual)
        guessed = as_told(evalstream.check(path, aggregate=aggregate, jobs=1))
        patch.setattr(probe, "guessed_context", lambda *_: None)
        return guessed, as_told(evalstream.check(path, aggregate=aggregate, jobs=1))


FILES = st.builds(
    lambda kinds, odd, references, version: b"".join(
        line_of(row, kind, count)
        for row, kind, count in zip(
            sound_rows(version, ROWS),
            [kinds[0], *[kinds[1]] * (ROWS - 1 - len(odd)), *odd],
            [references[0], *[references[1]] * (ROWS - 1)],
            strict=True,
        )
    ),
    kinds=st.tuples(st.sampled_from([*RECIPES]), st.sampled_from(KINDS)),
    odd=st.lists(st.sampled_from(KINDS), max_size=2),
    references=st.tuples(*[st.integers(0, 3)] * 2),
    version=st.sampled_from(["0.3.0", "0.2.0"]),
)
"""Files with a first row, other rows that are alike, and some odd ones."""

LIBRARIES = st.sampled_from([None, "HELM"])


FOREIGN_FIRST = b"".join(
    line_of(row, "concat" if number else "foreign", 1)
    for number, row in enumerate(sound_rows("0.2.0", ROWS))
)
"""A file whose first row alone is of another run, which may be the one that all rows are of."""


LATE = b"".join(
    line_of(row, "wrong" if number < PROBED else "concat", 1)
    for number, row in enumerate(sound_rows("0.2.0", ROWS))
)
"""A file none of whose probed rows has the hash that later ones have."""


@example(data=FOREIGN_FIRST, library=None, usual=True)
@example(data=LATE, library=None, usual=True)
@given(data=FILES, library=LIBRARIES, usual=st.booleans())
@bounded(max_examples=examples(60))
def test_a_guess_reports_what_a_probe_reports(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, library: str | None, usual: bool
) -> None:
    guessed, probed = reports(tmp_path_factory.mktemp("guess"), data, library, usual=usual)
    assert guessed == probed


MISLEADING = b"".join(
    line_of(row, "unknown version" if number else "concat", 1)
    for number, row in enumerate(sound_rows("0.2.0", ROWS))
)
"""A file whose first row alone declares a known version."""


MORE_REFERENCES = b"".join(
    line_of(row, "concat", 1 if number else 2)
    for number, row in enumerate(sound_rows("0.3.0", ROWS))
)
"""A file whose first row alone rules out the recipe that HELM writes."""


@example(data=MISLEADING, library=None, first_lines=ROWS, usual=False)
@example(data=MORE_REFERENCES, library="HELM", first_lines=ROWS, usual=False)
@given(data=FILES, library=LIBRARIES, first_lines=st.integers(1, ROWS), usual=st.booleans())
@bounded(max_examples=examples(400))
def test_the_first_block_settles_what_a_probe_finds(
    data: bytes, library: str | None, first_lines: int, usual: bool
) -> None:
    options = Options()
    own = {"evaluation_id": sound_rows("0.3.0", 1)[0]["evaluation_id"]}
    aggregate = Aggregate({"eval_library": {"name": library}, **own})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "PROBED_ROWS", PROBED)
        patch.setattr(probe, "UNANIMOUS", PROBED - 1)
        patch.setattr(Guess, "are_usual", usual)
        probed = probe_context(options, aggregate, data)
        guessed = guessed_context(options, aggregate, data)
        if guessed is None:
            return
        checker = Guess(guessed, lambda: probed)
        first = sum(map(len, data.splitlines(keepends=True)[:first_lines]))
        checker.run(Lines(data[:first], final=first == len(data)))
    found = checker.context
    assert (found.version, found.algorithm) == (probed.version, probed.algorithm)
    assert found.recipes[:1] == probed.recipes[:1]


@pytest.mark.parametrize("version", sorted(PREFERRED))
def test_rows_that_agree_with_the_first_are_not_probed(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, aggregate = write_run(tmp_path, bytes_of(sound_rows(version)), version)
    monkeypatch.setattr(probe, "probe_context", None)
    report = evalstream.check(path, aggregate=aggregate, jobs=1)
    assert (report.exit_code, report.runs[0].recipe) == (0, PREFERRED[version])


def test_a_first_row_that_misleads_costs_only_a_second_look(tmp_path: Path) -> None:
    rows = [hashed(row, "json-str") for row in sound_rows("0.3.0", 8)]
    rows[0] = hashed(rows[0], "concat")
    path, aggregate = write_run(tmp_path, bytes_of(rows), "0.3.0")
    report = evalstream.check(path, aggregate=aggregate, jobs=1)
    assert report.runs[0].recipe == "json-str"
    (finding,) = [finding for finding in report if finding.code == "ES401"]
    assert "under the recipe json-str, which most rows follow" in finding.message
