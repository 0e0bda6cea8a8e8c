"""The Python API of rows in memory: check_rows, and a Checker that is given row after row."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final

from evalstream.api.arguments import (
    Engine,
    Input,
    InputFormat,
    Profile,
    Recipe,
    SchemaVersion,
    chosen_arguments,
    require_path,
)
from evalstream.api.check import DEFAULTS, ROUTING
from evalstream.api.check_inputs import check_inputs
from evalstream.api.reports import FindingSink, Report
from evalstream.io.held_rows import FedRows, HeldRows, Row, RowLines, json_line
from evalstream.io.inputs import StandardInput
from evalstream.io.stream import HEAD_BYTES
from evalstream.model.data_class import replace
from evalstream.model.errors import UsageError
from evalstream.model.finding import Finding, RuleText, Severity
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import Report as Outcome
from evalstream.model.run import HELD_AGGREGATE, HELD_ROWS, HeldInput
from evalstream.reporters.base import Reporter
from evalstream.settings.options import checked_options

COMMAND: Final = "`evalstream "
"""The beginning of a command in a remedy."""

SETTLING_ROWS: Final = 256
"""How many rows show what a run follows, as at the head of a file."""


def check_rows(
    rows: Iterable[Row],
    *,
    aggregate: Input | Mapping[str, Any] | None = None,
    options: Options | None = None,
    reporter: Reporter | None = None,
    progress: bool = False,
    select: str | Sequence[str] = DEFAULTS.select,
    ignore: str | Sequence[str] = DEFAULTS.ignore,
    strict: bool = DEFAULTS.strict,
    preview: bool = DEFAULTS.preview,
    fail_on: Severity = DEFAULTS.fail_on,
    jobs: int = DEFAULTS.jobs,
    schema_version: SchemaVersion = "auto",
    schema: str | None = DEFAULTS.schema,
    recipe: Recipe = "auto",
    engine: Engine = "auto",
    max_findings: int = DEFAULTS.max_findings,
    show_values: bool = DEFAULTS.show_values,
    sketches: bool = DEFAULTS.sketches,
    max_line_bytes: int = DEFAULTS.max_line_bytes,
    max_depth: int = DEFAULTS.max_depth,
    memory_limit: int = DEFAULTS.memory_limit,
    profile: Profile = "default",
    input_format: InputFormat = "auto",
    expect_rows: int | None = ROUTING.expect_rows,
    expect_samples: int | None = ROUTING.expect_samples,
) -> Report:
    """Check rows in memory, and return what was found, as in a file that holds them.

    `rows` is an iterable; each row is a mapping, or its JSON as bytes or str. It is read once, and
    memory does not grow with the number of rows. `aggregate` is a mapping or a path. Reports call
    the rows `<rows>` and a mapping `<aggregate>`; lines count the rows from 1. The checksum is that
    of the rows as bytes or UTF-8, each with its line end. Rows that come as mappings have no bytes:
    their checksum is not verified, and the verdict says so. The other keywords are those of
    `check`.

    Raises TypeError for a row of another type or one that JSON cannot express, UsageError for a
    call that makes no sense, and what the iterable raises. What is wrong with the data is in the
    report.
    """
    chosen = _without_outputs(chosen_arguments(options, locals()))
    held = HeldRows(_iterable(rows))
    report = _check(held, aggregate, chosen, reporter, progress=progress)
    if held.error is not None:
        raise held.error
    return report


class Checker(AbstractContextManager["Checker"]):
    """Checks rows one by one, while another program makes them.

    `add` returns the findings of a row at once, and `report` has the outcome after the end of the
    `with` block or `close`. `aggregate` and the other keywords are those of `check_rows`; if
    `aggregate` is a path, the file may appear before the first 256 rows are over. Memory does not
    grow with the number of rows.

    The report is that of a file with the same rows. A file shows by its first 256 rows which
    version and recipe it follows; the findings that `add` returns for these rows are by the rows
    so far. Once the identities of the rows exceed `memory_limit`, the report alone has repeats.
    Where texts come with their line ends, one without it is the last line of a file: its findings
    are in the report, or come with the next row.

    Raises UsageError for a call that makes no sense. Threads that share a Checker wait for each
    other; rows count in the order in which they come.
    """

    def __init__(
        self,
        *,
        aggregate: Input | Mapping[str, Any] | None = None,
        options: Options | None = None,
        select: str | Sequence[str] = DEFAULTS.select,
        ignore: str | Sequence[str] = DEFAULTS.ignore,
        strict: bool = DEFAULTS.strict,
        preview: bool = DEFAULTS.preview,
        fail_on: Severity = DEFAULTS.fail_on,
        schema_version: SchemaVersion = "auto",
        schema: str | None = DEFAULTS.schema,
        recipe: Recipe = "auto",
        engine: Engine = "auto",
        max_findings: int = DEFAULTS.max_findings,
        show_values: bool = DEFAULTS.show_values,
        sketches: bool = DEFAULTS.sketches,
        max_line_bytes: int = DEFAULTS.max_line_bytes,
        max_depth: int = DEFAULTS.max_depth,
        memory_limit: int = DEFAULTS.memory_limit,
        profile: Profile = "default",
        input_format: InputFormat = "auto",
        expect_rows: int | None = ROUTING.expect_rows,
        expect_samples: int | None = ROUTING.expect_samples,
    ) -> None:
        chosen = _without_outputs(chosen_arguments(options, locals()))
        _choose_aggregate(aggregate)
        self._options = replace(checked_options(chosen), executor="serial")
        self._aggregate = aggregate
        self._lines = RowLines()
        self._head: list[bytes] = []
        self._head_bytes = 0
        self._is_settled = False
        self._engine: _Engine | None = None
        self._report: Report | None = None
        self._lock = threading.Lock()

    def add(self, row: Row) -> list[Finding]:
        """Check the next row, a mapping or its JSON as bytes or str, and return its findings.

        Raises TypeError for a row of another type or one that JSON cannot express, and UsageError
        after the end.
        """
        with self._lock:
            if self._report is not None:
                raise UsageError("the checker is closed; no row can be added")
            line = self._lines.line_of(row)
            self._head_bytes += len(line)
            if not self._is_settled:
                if len(self._head) == SETTLING_ROWS or self._head_bytes > HEAD_BYTES:
                    self._settle()
                else:
                    self._head.append(line)
            if self._engine is None:
                self._engine = _Engine(self._lines, (), self._aggregate, self._options)
            return self._engine.feed(line)

    def close(self) -> Report:
        """End the rows, and return the report; a second call returns it again."""
        return self._end(None)

    @property
    def report(self) -> Report:
        """The outcome. Raises UsageError before the end."""
        if self._report is None:
            raise UsageError("the report exists when the rows have ended: after the with block")
        return self._report

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """End the rows; after an exception the run is incomplete."""
        self._end(None if kind is None else f"the rows ended with {_describe_error(kind, error)}")

    def _settle(self) -> None:
        """Check the first rows again, now by what all of them show, and go on from there."""
        if self._engine is not None:
            self._engine.end(None)
        self._engine = _Engine(self._lines, self._head, self._aggregate, self._options)
        self._is_settled = True
        self._head.clear()

    def _end(self, reason: str | None) -> Report:
        with self._lock:
            if self._report is None:
                if not self._is_settled:
                    self._settle()
                if self._engine is None:
                    raise UsageError("the checker is closed")
                self._report = self._engine.end(reason)
            return self._report


def _describe_error(kind: type[BaseException], error: BaseException | None) -> str:
    """Return the class and the text of an exception, whose `str` may itself raise."""
    try:
        return f"{kind.__name__}: {error}"
    except Exception:  # noqa: BLE001 - the class of the caller's exception may do anything
        return kind.__name__


class _Engine:
    """The check of a stream of rows, in a thread that waits for each row."""

    def __init__(
        self,
        lines: RowLines,
        before: Sequence[bytes],
        aggregate: Input | Mapping[str, Any] | None,
        options: Options,
    ) -> None:
        self._rows = FedRows(lines, before)
        self._given = aggregate, options
        self._report: Report | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="evalstream-checker", daemon=True)
        self._thread.start()
        self._rows.await_reader()

    def feed(self, line: bytes) -> list[Finding]:
        findings = self._rows.feed(line)
        if self._error is not None:
            raise self._error
        return findings

    def end(self, reason: str | None) -> Report:
        """End the rows, for a reason if they broke off, and return the report."""
        self._rows.end(reason)
        self._thread.join()
        if self._report is None:
            raise self._error or UsageError("the rows were not checked")
        return self._report

    def _run(self) -> None:
        try:
            self._report = _check(self._rows, *self._given)
        except BaseException as error:  # noqa: BLE001 - it goes on to the thread of the caller
            self._error = error
        finally:
            self._rows.leave()


def _check(
    rows: HeldRows | FedRows,
    aggregate: Input | Mapping[str, Any] | None,
    options: Options,
    reporter: Reporter | None = None,
    *,
    progress: bool = False,
) -> Report:
    """Check rows as if standard input had them."""
    held = HeldInput(HELD_ROWS, StandardInput(lambda: rows), rows)
    sink = _Sink(reporter, rows.lines)
    return check_inputs(
        [held], options, sink, aggregate=_choose_aggregate(aggregate), progress=progress
    )


class _Sink(FindingSink):
    """Where the findings about rows in memory go."""

    def __init__(self, reporter: Reporter | None, lines: RowLines) -> None:
        super().__init__(reporter)
        self._lines = lines

    def show(self, finding: Finding) -> None:
        """Take one finding that is shown; a mapping has no lines and columns."""
        if finding.file == HELD_AGGREGATE:
            finding = finding._replace(line=None, column=None)
        super().show(self._lines.place(finding))

    def finish(self, report: Outcome) -> Report:
        """Complete the report; no command of a remedy runs before the rows are in a file."""
        report.rules = {code: _in_memory(text) for code, text in report.rules.items()}
        return super().finish(report)


def _in_memory(text: RuleText) -> RuleText:
    """Return the texts of a rule, with a remedy that fits rows in memory."""
    if COMMAND not in text.fix:
        return text
    return text._replace(fix=f"When a file holds these rows, {text.fix[0].lower()}{text.fix[1:]}")


def _choose_aggregate(aggregate: Input | Mapping[str, Any] | None) -> str | None:
    """Return the path of an aggregate, or what stands for a mapping. Raises TypeError."""
    if aggregate is None or not isinstance(aggregate, Mapping):
        return None if aggregate is None else require_path(aggregate, "the aggregate")
    document = HeldRows([json_line(aggregate, "the aggregate")])
    return HeldInput(HELD_AGGREGATE, StandardInput(lambda: document), document)


def _without_outputs(options: Options) -> Options:
    """Return options without outputs of rows. Raises UsageError if they have one."""
    routing = options.routing
    counts = RowRouting(expect_rows=routing.expect_rows, expect_samples=routing.expect_samples)
    if routing != counts:
        raise UsageError("rows in memory are not routed, followed or sealed; use check for files")
    return options


def _iterable(rows: Iterable[Row]) -> Iterable[Row]:
    """Return the rows. Raises TypeError for one row, or a path, in place of many."""
    if isinstance(rows, (str, bytes, bytearray, Mapping, os.PathLike)):
        kind = rows.__class__.__name__
        raise TypeError(f"rows is a {kind}, not an iterable of rows; evalstream.check takes paths")
    return rows
