"""Reports in a notebook, as tables, and their truth."""

import html
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from depth import deep
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.api.tables import COLUMNS, COMPARED_COLUMNS
from evalstream.io.progress import Progress

TAMPERED = EXAMPLES / "tampered"
COMPARED = sorted((EXAMPLES / "compare" / "data" / "tiny_sums" / "acme").iterdir())


@pytest.fixture(scope="module")
def report() -> evalstream.Report:
    """The report of a run with errors and refuted claims."""
    return evalstream.check(TAMPERED)


@pytest.fixture(scope="module")
def comparison() -> evalstream.ComparisonReport:
    """The comparison of two runs."""
    return evalstream.compare(COMPARED)


def test_a_report_is_short_and_says_its_verdict(report: evalstream.Report) -> None:
    text = repr(report)
    assert text.count("\n") == 0
    assert ": FAILED: 8 rows, 7 errors, 1 warning; checksum not ok" in text
    assert len(repr(evalstream.check(EXAMPLES))) < 8_000


def test_many_runs_are_counted_and_the_worst_listed(tmp_path: Path) -> None:
    row = (EXAMPLES / "run.jsonl").read_bytes().splitlines(keepends=True)[0]
    for number in range(14):
        (tmp_path / f"run{number}.jsonl").write_bytes(row if number else b"{}\n")
    lines = repr(evalstream.check(tmp_path)).splitlines()
    assert lines[0].startswith(f"{tmp_path}/run0.jsonl: FAILED")
    assert lines[10] == "… and 4 more runs"
    assert lines[11].startswith("14 runs: 1 FAILED")


def test_a_report_has_a_length_and_no_truth(
    report: evalstream.Report, comparison: evalstream.ComparisonReport
) -> None:
    assert len(report) == report.shown == len(list(report)) == 8
    assert len(comparison) == len(comparison.comparisons) == 2
    with pytest.raises(TypeError, match=r"use report\.passed"):
        assert report
    with pytest.raises(TypeError, match="use exit_code"):
        assert comparison


def test_a_notebook_shows_the_page_in_a_frame(
    report: evalstream.Report, comparison: evalstream.ComparisonReport
) -> None:
    for shown in (report, comparison):
        frame = shown._repr_html_()
        assert frame.startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!')
        page = html.unescape(frame.partition('srcdoc="')[2].partition('" title')[0])
        assert page.rstrip().endswith("</html>")
    assert "ES401" in report._repr_html_()


def test_findings_are_plain_values(report: evalstream.Report) -> None:
    records = report.to_dicts()
    assert [list(record) for record in records] == [list(COLUMNS["findings"])] * 8
    first = records[0]
    assert (first["code"], first["severity"], first["line"]) == ("ES401", "error", 2)
    assert json.loads(first["found_json"]) == first["found"]
    (checksum,) = (one for one in records if one["code"] == "ES501")
    assert (checksum["offset"], checksum["sample_id"]) == (None, None)


def test_json_beside_a_value_tells_texts_from_numbers() -> None:
    row = json.loads((EXAMPLES / "run.jsonl").read_bytes().splitlines()[0])
    row["evaluation"]["score"] = "1"
    records = evalstream.check_rows([row]).to_dicts()
    (found,) = (one for one in records if one["pointer"] == "/evaluation/score")
    assert (found["found"], found["found_json"]) == ("1", '"1"')


def test_runs_and_claims_are_tables_of_their_own(report: evalstream.Report) -> None:
    (run,) = report.to_dicts("runs")
    assert (run["verdict"], run["rows"], run["claims_refuted"], run["errors"]) == (
        "failed",
        8,
        3,
        7,
    )
    assert (run["checksum_ok"], run["row_count_ok"], run["hashes_verified"]) == (False, True, 6)
    claims = report.to_dicts("claims")
    assert [claim["state"] for claim in claims].count("refuted") == 3
    assert claims[0]["claimed"] == json.loads(claims[0]["claimed_json"]) == 0.75
    with pytest.raises(evalstream.UsageError, match="a report has findings, runs and claims"):
        report.to_dicts("rows")  # type: ignore[arg-type]


@each("table", ["findings", "runs", "claims"])
@pytest.mark.parametrize("inputs", [deep(TAMPERED), EXAMPLES / "run.jsonl", deep(EXAMPLES)])
def test_frames_have_the_same_columns_and_types_always(table: Any, inputs: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("polars", reason="polars is not installed")
    report = evalstream.check(inputs)
    pandas, polars = report.to_pandas(table), report.to_polars(table)
    assert list(pandas.columns) == list(COLUMNS[table])
    assert len(pandas) == len(polars) == len(report.to_dicts(table))
    integers = [name for name, kind in COLUMNS[table].items() if kind is int]
    assert {str(pandas[name].dtype) for name in integers} == {"Int64"}
    assert {str(polars.schema[name]) for name in integers} == {"Int64"}
    assert "Null" not in map(str, polars.schema.values())


def test_runs_make_a_frame_by_themselves(report: evalstream.Report) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(report.runs)
    assert frame.loc[0, ["verdict", "rows"]].tolist() == ["failed", 8]
    assert len(pandas.DataFrame(report)) == 8
    many = evalstream.check(EXAMPLES)
    assert len(pandas.DataFrame(many.runs)) == len(many.runs) > 5


@each("table", ["comparisons", "flips", "drifts", "runs"])
def test_comparisons_are_tables(comparison: evalstream.ComparisonReport, table: Any) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("polars", reason="polars is not installed")
    records = comparison.to_dicts(table)
    assert {tuple(record) for record in records} <= {tuple(COMPARED_COLUMNS[table])}
    assert len(comparison.to_pandas(table)) == len(comparison.to_polars(table)) == len(records)


def test_a_comparison_says_its_verdicts(comparison: evalstream.ComparisonReport) -> None:
    assert repr(comparison).splitlines()[0] == comparison.first_line
    assert len(repr(comparison).splitlines()) == 3
    first = comparison.to_dicts()[0]
    assert first["low"] < first["difference"] < first["high"]
    assert first["difference"] == pytest.approx(first["mean_a"] - first["mean_b"])
    assert first["error_a"] > first["standard_error"] > 0
    assert (first["test"], first["clusters"]) == ("mid-p McNemar", None)
    with pytest.raises(evalstream.UsageError, match="a comparison has comparisons"):
        comparison.to_dicts("findings")  # type: ignore[arg-type]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named_with_its_command(
    report: evalstream.Report, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    message = rf"{library} is not installed: .*pip install {library}$"
    with pytest.raises(evalstream.MissingExtra, match=message):
        getattr(report, f"to_{library}")()


def test_no_library_of_tables_is_loaded_by_a_check() -> None:
    code = (
        "import sys, evalstream; print(repr(evalstream.check('examples/run.jsonl'))); "
        "assert not {'pandas', 'polars', 'dataclasses', 'tqdm'} & sys.modules.keys()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=EXAMPLES.parent, check=True, capture_output=True
    )
    assert b"passed" in done.stdout


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """A notebook: what its bars are made with."""
    made: list[dict[str, Any]] = []

    class Bar:
        def __init__(self, **how: Any) -> None:
            made.append(how)

        def update(self, size: int) -> None: ...

        def set_postfix(self, counts: dict[str, int], *, refresh: bool) -> None: ...

        def close(self) -> None: ...

    module = ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    return made


def test_a_notebook_has_its_own_bar(
    bars: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress(shown=True) as progress:
        progress.begin("run", 10)
    assert not bars
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    with Progress(shown=True) as progress:
        progress.begin("run", 10)
        progress.advance(10, 1, 0)
    assert [bar["total"] for bar in bars] == [10]
