"""Rows of a table, as dicts or as a frame of pandas or polars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

from evalstream.model.claim import STATES, count_states
from evalstream.model.comparison import Comparison, ComparisonReport
from evalstream.model.errors import MissingExtra, UsageError, install_library
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report
from evalstream.model.run_summary import RunSummary
from evalstream.parsing.json import dumps
from evalstream.reporters.comparison.csv import comparison_figures

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Record = dict[str, Any]
"""One row of a table: plain values by the names of columns."""

ReportTable = Literal["findings", "runs", "claims"]
ComparedTable = Literal["comparisons", "flips", "drifts", "runs"]

JSON: Final = "_json"
"""The end of the name of a column that has a value of another column as JSON text."""

Columns = Mapping[str, type]

COLUMNS: Final[Mapping[str, Columns]] = {
    "findings": {
        "code": str, "name": str, "severity": str, "file": str, "line": int, "column": int,
        "offset": int, "pointer": str, "keyword": str, "message": str, "expected": object,
        "expected_json": str,
        "found": object, "found_json": str, "sample_id": object, "count": int, "fix": str,
    },
    "runs": {
        "file": str, "aggregate": str, "format": str, "version": str, "verdict": str, "rows": int,
        "checksum_ok": bool, "row_count_ok": bool, "hashes_verified": int, "recipe": str,
        **{f"claims_{state.value}": int for state in STATES}, "errors": int,
        "warnings": int, "infos": int,
        "incomplete_reason": str, "remark": str, "seconds": float, "bytes": int,
    },
    "claims": {
        "file": str, "aggregate": str, "pointer": str, "label": str, "kind": str,
        "claimed": object, "claimed_json": str, "recomputed": object, "recomputed_json": str,
        "state": str, "reason": str, "rows": int, "score": bool,
    },
}  # fmt: skip
"""The columns of tables of a report, and their types; values of any type are objects."""

COMPARED_COLUMNS: Final[Mapping[str, Columns]] = {
    "comparisons": {
        "a": str, "b": str, "metric": str, "verdict": str, "better": str, "n": int,
        "mean_a": float, "mean_b": float, "difference": float, "low": float, "high": float,
        "p": float, "adjusted_p": float, "matched": int, "overlap": float, "right_to_wrong": int,
        "wrong_to_right": int, "sentence": str, "error_a": float, "error_b": float,
        "standard_error": float, "interval": str, "test": str, "clusters": int, "only_a": int,
        "only_b": int,
    },
    "flips": {
        "a": str, "b": str, "metric": str, "direction": str, "sample_id": object, "line_a": int,
        "line_b": int, "score_a": float, "score_b": float, "answer_a": object,
        "answer_a_json": str, "answer_b": object, "answer_b_json": str,
    },
    "drifts": {
        "a": str, "b": str, "kind": str, "sample_id_a": object, "sample_id_b": object,
        "line_a": int, "line_b": int,
    },
    "runs": {
        "label": str, "file": str, "aggregate": str, "model": str, "verdict": str, "rows": int,
        "samples": int,
    },
}  # fmt: skip
"""The same of a comparison."""


def iterate_records(report: Report, table: ReportTable) -> Iterator[Record]:
    """Iterate over the rows of a table of a report. Raises UsageError for an unknown one."""
    tables: Mapping[str, Iterable[Record]] = {
        "findings": map(_finding, report.findings),
        "runs": map(_run, report.runs),
        "claims": (claim for run in report.runs for claim in _claims(run)),
    }
    return _choose_table("report", tables, table, COLUMNS)


def iterate_compared(report: ComparisonReport, table: ComparedTable) -> Iterator[Record]:
    """Iterate over the rows of a table of a comparison. Raises UsageError for an unknown one."""
    tables: Mapping[str, Iterable[Record]] = {
        "comparisons": map(_comparison, report.comparisons),
        "flips": (_with_json(one._asdict(), "answer_a", "answer_b") for one in report.flips),
        "drifts": (drift._asdict() for drift in report.drifts),
        "runs": map(vars, report.runs),
    }
    return _choose_table("comparison", tables, table, COMPARED_COLUMNS)


def _choose_table(
    noun: str, tables: Mapping[str, Iterable[Record]], table: str, columns: Mapping[str, Columns]
) -> Iterator[Record]:
    """Return the rows of a table, with its columns in order. Raises UsageError."""
    if table not in tables:
        *first, last = tables
        raise UsageError(f"unknown table {table!r}; a {noun} has {', '.join(first)} and {last}")
    return ({name: record[name] for name in columns[table]} for record in tables[table])


def pandas_frame(records: Iterable[Record], columns: Columns) -> pd.DataFrame:
    """Return records as a frame of pandas. Raises MissingExtra without that library."""
    frame = _library("pandas").DataFrame(list(records), columns=list(columns))
    nullable = {int: "Int64", bool: "boolean"}
    types = {name: nullable[kind] for name, kind in columns.items() if kind in nullable}
    typed: pd.DataFrame = frame.astype(types)
    return typed


def polars_frame(records: Iterable[Record], columns: Columns) -> pl.DataFrame:
    """Return records as a frame of polars: ids as texts, values as JSON. Raises MissingExtra."""
    library = _library("polars")
    schema = {
        name: kind if kind is not object else str
        for name, kind in columns.items()
        if name + JSON not in columns
    }
    plain = ({name: _cell(record[name], schema[name]) for name in schema} for record in records)
    frame: pl.DataFrame = library.DataFrame(list(plain), schema=schema)
    return frame


def _cell(value: Any, kind: type) -> Any:
    return value if value is None or kind is not str else str(value)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra(f"{name} is not installed: {install_library(name)}") from error


def _with_json(record: Record, *names: str) -> Record:
    shown: Record = {}
    for name, value in record.items():
        shown[name] = value
        if name in names:
            shown[name + JSON] = None if value is None else dumps(value).decode()
    return shown


def _finding(finding: Finding) -> Record:
    record = {**dict.fromkeys(Finding._fields), **finding.as_dict()}
    return _with_json(record, "expected", "found")


def _run(run: RunSummary) -> Record:
    verified = run.verified
    return {
        **vars(run),
        "checksum_ok": None if verified is None else verified.checksum,
        "row_count_ok": None if verified is None else verified.row_count,
        "hashes_verified": None if verified is None else verified.hashes,
        **{f"claims_{state}": count for state, count in count_states(run.claims).items()},
        **{f"{one.label}s": run.severities.get(one, 0) for one in Severity},
    }


def _claims(run: RunSummary) -> Iterator[Record]:
    for claim in run.claims:
        document = {"file": run.file, "aggregate": run.aggregate}
        record = {"reason": None, **claim.as_dict()}
        yield {**document, **_with_json(record, "claimed", "recomputed")}


def _comparison(comparison: Comparison) -> Record:
    figures = comparison_figures(comparison)
    return {
        **vars(comparison),
        **figures,
        "metric": comparison.metric.label,
        "verdict": comparison.verdict.value,
        "n": figures["n"] or 0,
        "matched": comparison.alignment.matched,
    }
