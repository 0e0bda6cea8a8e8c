"""Sketches of rows: the same for every way that rows come, and only where they are asked for."""

from __future__ import annotations

import gzip
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from commands import filtered
from depth import deep
from fast_rows import mixed_rows
from paths import EXAMPLES
from rows import bytes_of, reported, sound_rows, write_run
from turned_clock import TurnedClock

import evalstream
from evalstream.batch.parts import PartReporter
from evalstream.batch.serialize import fingerprint
from evalstream.cli.output import Target
from evalstream.engine import row_pass
from evalstream.io import file as file_module
from evalstream.io.output import Output
from evalstream.model.options import Options
from evalstream.model.report import Report
from evalstream.model.sketch import Sketch
from evalstream.parsing.json import dumps
from evalstream.reporters import ReportOptions

MOST_BYTES = 10_000


@lru_cache(maxsize=1)
def rows() -> bytes:
    """Return enough rows for columns of several lines, with faults, repeats and blank lines."""
    return mixed_rows() * 2 + b"\n" * 200 + bytes_of(sound_rows(count=40)) + b"torn"


def sketch_of(path: Path, **options: Any) -> Sketch:
    """Check one run, and return its sketch."""
    (run,) = evalstream.check(path, sketches=True, **options).runs
    assert run.sketch is not None
    return run.sketch


def written(folder: Path, data: bytes | None = None) -> Path:
    """Write rows to a file."""
    path = folder / "rows.jsonl"
    path.write_bytes(rows() if data is None else data)
    return path


def expected(path: Path) -> Sketch:
    """Return the sketch of a file that this process checks."""
    return sketch_of(path, jobs=1)


def without_sketches(report: Report) -> list[dict[str, Any]]:
    """Return the runs of a report without what may differ."""
    left = {"sketch", "seconds", "unchanged"}
    return [
        {key: value for key, value in run.as_dict().items() if key not in left}
        for run in report.runs
    ]


def test_a_sketch_counts_all_rows_and_all_findings_of_lines(tmp_path: Path) -> None:
    report = evalstream.check(written(tmp_path), sketches=True, max_findings=0, jobs=1)
    (run,) = report.runs
    assert run.sketch is not None
    strip = run.sketch.strip
    assert (strip.lines, strip.total) == (4, rows().count(b"\n") + 1)
    assert sum(strip.rows) == run.rows
    for label, columns in (
        ("error", strip.errors),
        ("warning", strip.warnings),
        ("info", strip.infos),
    ):
        counted = [0] * len(columns)
        for finding in report:
            if finding.line is not None and finding.severity.label == label:
                counted[(finding.line - 1) // strip.lines] += 1
        assert list(columns) == counted
    assert sum(strip.errors)
    assert sum(strip.warnings)
    assert len(dumps(run.sketch.as_dict())) < MOST_BYTES


@pytest.mark.parametrize("most", [1, 3, 100])
def test_what_is_shown_does_not_matter(tmp_path: Path, most: int) -> None:
    path = written(tmp_path)
    assert sketch_of(path, jobs=1, max_findings=most) == expected(path)


@pytest.mark.parametrize(
    ("engine", "jobs"), [("rust", 1), ("auto", 2), deep("auto", 1), deep("rust", 2)]
)
def test_any_number_of_workers_gives_the_same_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int, engine: str
) -> None:
    path = written(tmp_path)
    options = {"sketches": True, "engine": engine, "max_findings": 3}
    serial = reported(path, tmp_path, "jsonl", jobs=1, **{**options, "engine": "auto"})
    monkeypatch.setattr(row_pass, "WORTH_A_POOL_BYTES", 0)
    monkeypatch.setattr(row_pass, "SMALLEST_BLOCK_BYTES", 700)
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 700)
    assert reported(path, tmp_path, "jsonl", jobs=jobs, **options) == serial


def test_the_option_changes_nothing_else(tmp_path: Path) -> None:
    path = written(tmp_path)
    plain, sketched = (evalstream.check(path, sketches=asked) for asked in (False, True))
    assert list(plain) == list(sketched)
    assert without_sketches(plain) == without_sketches(sketched)
    assert [run.sketch for run in plain.runs] == [None]
    assert fingerprint(Options()) == fingerprint(Options(sketches=True))


def test_repeats_that_are_found_late_count_as_well(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert sketch_of(path, jobs=1, memory_limit=1000) == expected(path)


@pytest.mark.parametrize(("form", "is_pictured"), [("html", True), ("json", False), (None, False)])
def test_an_html_report_asks_for_sketches(form: str | None, *, is_pictured: bool) -> None:
    target = Target(ReportOptions(form=form))
    assert target.complete(Options()).sketches == is_pictured
    assert target.complete(Options(sketches=True)).sketches


def test_packed_rows_give_the_same_sketch(tmp_path: Path) -> None:
    path = written(tmp_path)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(rows()))
    assert sketch_of(packed) == expected(path)


def test_rows_on_standard_input_give_the_same_sketch(tmp_path: Path) -> None:
    _, out, _ = filtered(rows(), "--sketches", "--format", "json", folder=tmp_path)
    (run,) = json.loads(out)["runs"]
    assert Sketch.from_dict(run["sketch"]) == expected(written(tmp_path))


def test_a_followed_file_gives_the_same_sketch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes_of(sound_rows(count=30))
    path = written(tmp_path, data[:3000])

    def grow() -> None:
        with path.open("ab") as file:
            file.write(data[3000:])

    monkeypatch.setattr(file_module, "time", TurnedClock((1, grow)))
    assert sketch_of(path, follow=True, idle_timeout=2) == expected(path)


@pytest.mark.parametrize("between", [b",", b",\n\n", b"\n,\n"])
def test_the_rows_of_an_array_count_as_lines(tmp_path: Path, between: bytes) -> None:
    data = mixed_rows()
    in_lines = expected(written(tmp_path, data))
    path = written(tmp_path, b"[" + between.join(data.splitlines()) + b"]")
    assert sketch_of(path, jobs=1) == in_lines


def test_where_an_array_breaks_off_there_is_a_finding(tmp_path: Path) -> None:
    lines = bytes_of(sound_rows(count=3)).splitlines()
    strip = sketch_of(written(tmp_path, b"[\n" + b",\n".join(lines)[:-50])).strip
    assert (strip.rows, strip.errors, strip.total) == ((1, 1, 0), (0, 0, 1), 3)


@pytest.mark.parametrize("name", ["run.jsonl", "harpia"])
def test_formats_with_lines_have_sketches(name: str) -> None:
    report = evalstream.check(EXAMPLES / name, sketches=True)
    assert [sum(run.sketch.strip.rows) for run in report.runs if run.sketch] == [
        run.rows for run in report.runs
    ]


@pytest.mark.parametrize("name", ["aggregate.json", "infereval", "evalguard"])
def test_other_documents_have_none(name: str, tmp_path: Path) -> None:
    path = EXAMPLES / name
    if name == "aggregate.json":
        # Without the rows beside it.
        path = tmp_path / name
        path.write_bytes((EXAMPLES / name).read_bytes())
    report = evalstream.check(path, sketches=True)
    assert [run.sketch for run in report.runs] == [None] * len(report.runs)


def test_a_file_without_a_line_has_none(tmp_path: Path) -> None:
    (run,) = evalstream.check(written(tmp_path, b""), sketches=True).runs
    assert run.sketch is None


def test_merged_parts_have_their_sketches(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    for number in range(3):
        (folder / f"{number}").mkdir(parents=True)
        write_run(folder / f"{number}", rows() + bytes_of(sound_rows(count=number)))
    parts = [tmp_path / f"part-{number}.jsonl" for number in (1, 2)]
    for number, part in enumerate(parts, 1):
        with Output(str(part)) as output:
            reporter = PartReporter(output)
            evalstream.check(folder, shard=f"{number}/2", reporter=reporter, sketches=True)
    merged, whole = evalstream.merge(parts), evalstream.check(folder, sketches=True)
    assert [run.sketch for run in merged.runs] == [run.sketch for run in whole.runs]
    assert all(run.sketch for run in merged.runs)


def test_a_ledger_answers_with_a_sketch_only_if_it_has_one(tmp_path: Path) -> None:
    path, ledger = written(tmp_path), tmp_path / "runs.ledger"

    def checked(*, sketches: bool) -> tuple[bool, bool]:
        (run,) = evalstream.check(path, ledger=ledger, sketches=sketches).runs
        assert not sketches or run.sketch == expected(path)
        return run.unchanged is not None, run.sketch is not None

    asked = (False, False, True, True, False, True)
    assert [checked(sketches=one) for one in asked] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
        (True, False),
        (True, True),
    ]
