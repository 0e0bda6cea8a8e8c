"""Rows of a table, as dicts or as a frame of pandas or polars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

from evalstream.api.reports import Record, ReportTable
from evalstream.model.claim import count_states
from evalstream.model.comparison import Comparison, ComparisonReport
from evalstream.model.errors import MissingExtra, UsageError
from evalstream.model.extras import install_library
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report, RunSummary
from evalstream.parsing.json import dumps

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

ComparisonTable = Literal["comparisons", "flips", "drifts", "runs"]

JSON: Final = "_json"
"""The end of the name of a column that has a value of another column as JSON text."""


def records_of(report: Report, table: ReportTable) -> Iterator[Record]:
    """Iterate over the rows of a table of a report. Raises UsageError for an unknown one."""
    if table == "findings":
        return map(_finding, report.findings)
    if table == "runs":
        return map(_run, report.runs)
    if table == "claims":
        return (claim for run in report.runs for claim in _claims(run))
    raise UsageError(f"unknown table {table!r}; a report has findings, runs and claims")


def compared_records_of(report: ComparisonReport, table: ComparisonTable) -> Iterator[Record]:
    """Iterate over the rows of a table of a comparison. Raises UsageError for an unknown one."""
    if table == "comparisons":
        return map(_comparison, report.comparisons)
    if table == "flips":
        return (_with_json(flip._asdict(), "answer_a", "answer_b") for flip in report.flips)
    if table == "drifts":
        return (drift._asdict() for drift in report.drifts)
    if table == "runs":
        return (
            {
                "label": run.label,
                "file": run.file,
                "aggregate": run.aggregate,
                "model": run.model,
                "verdict": run.verdict,
                "rows": run.rows,
                "samples": run.samples,
            }
            for run in report.runs
        )
    raise UsageError(
        f"unknown table {table!r}; a comparison has comparisons, flips, drifts and runs"
    )


def pandas_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return records as a frame of pandas. Raises MissingExtra without that library."""
    frame: pd.DataFrame = _library("pandas").DataFrame(list(records))
    return frame


def polars_frame(records: Iterable[Record]) -> pl.DataFrame:
    """Return records as a frame of polars; columns of values have JSON text alone.

    Raises MissingExtra without that library.
    """
    library = _library("polars")
    plain = [
        {
            name: str(value) if name.startswith("sample_id") and value is not None else value
            for name, value in record.items()
            if name + JSON not in record
        }
        for record in records
    ]
    frame: pl.DataFrame = library.DataFrame(plain, infer_schema_length=None)
    return frame


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra(f"{name} is not installed: {install_library(name)}") from error


def _with_json(record: Record, *names: str) -> Record:
    """Return a record with the JSON of some of its values beside them."""
    shown: Record = {}
    for name, value in record.items():
        shown[name] = value
        if name in names:
            shown[name + JSON] = None if value is None else dumps(value).decode()
    return shown


def _finding(finding: Finding) -> Record:
    record = {**dict.fromkeys(Finding._fields), **finding.as_dict()}
    record.pop("excerpt", None)
    return _with_json(record, "expected", "found")


def _run(run: RunSummary) -> Record:
    verified = run.verified
    return {
        "file": run.file,
        "aggregate": run.aggregate,
        "format": run.format,
        "version": run.version,
        "verdict": run.verdict,
        "rows": run.rows,
        "checksum_ok": None if verified is None else verified.checksum,
        "row_count_ok": None if verified is None else verified.row_count,
        "hashes_verified": None if verified is None else verified.hashes,
        "recipe": run.recipe,
        **{f"claims_{state}": count for state, count in count_states(run.claims).items()},
        **{f"{one.label}s": run.severities.get(one, 0) for one in reversed(Severity)},
        "incomplete_reason": run.incomplete_reason,
        "remark": run.remark,
        "seconds": run.seconds,
        "bytes": run.bytes,
    }


def _claims(run: RunSummary) -> Iterator[Record]:
    for claim in run.claims:
        document = {"file": run.file, "aggregate": run.aggregate}
        record = {"reason": None, **claim.as_dict()}
        yield {**document, **_with_json(record, "claimed", "recomputed")}


def _comparison(comparison: Comparison) -> Record:
    estimate = comparison.estimate
    interval = None if estimate is None else estimate.interval
    figures: Mapping[str, Any] = {
        "n": 0 if estimate is None else estimate.n,
        "mean_a": None if estimate is None else estimate.mean_a,
        "mean_b": None if estimate is None else estimate.mean_b,
        "difference": None if estimate is None else estimate.difference,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "p": None if estimate is None or estimate.test is None else estimate.test.p,
        "adjusted_p": None if estimate is None else estimate.adjusted_p,
    }
    return {
        "a": comparison.a,
        "b": comparison.b,
        "metric": comparison.metric.label,
        "verdict": comparison.verdict.value,
        "better": comparison.better,
        **figures,
        "matched": comparison.alignment.matched,
        "overlap": comparison.alignment.overlap,
        "right_to_wrong": comparison.right_to_wrong,
        "wrong_to_right": comparison.wrong_to_right,
        "sentence": comparison.sentence,
    }
