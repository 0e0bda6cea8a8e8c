"""The Python API of tables: export to Parquet."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from evalstream.api.arguments import Input, optional_path, require_path, require_paths
from evalstream.api.check_inputs import check_inputs
from evalstream.api.reports import FindingSink, Report
from evalstream.batch.rewriting.staging import Staging
from evalstream.engine.row_lookup import every_row
from evalstream.formats.base import Cell
from evalstream.formats.registry import MAIN, main_format
from evalstream.io.names import find_folders, is_remote, name_below, printable
from evalstream.io.output import sync_file, sync_folder, writing
from evalstream.model.block import group_by_size
from evalstream.model.data_class import DataClass, NamedTuple
from evalstream.model.errors import (
    CannotCheck,
    MissingExtra,
    UsageError,
    describe_error,
    install_command,
)
from evalstream.model.exit_codes import ExitCode, is_of_signal
from evalstream.model.options import Options
from evalstream.model.run import STDIN
from evalstream.model.run_summary import RunSummary
from evalstream.model.signals import STOPPING
from evalstream.parsing import json
from evalstream.parsing.strict_json import SURROGATE
from evalstream.reporters.base import Reporter
from evalstream.settings.options import whole_check

ENDING: Final = ".parquet"
ALGORITHM: Final = "sha256"
PASSED: Final = "passed"
"""The verdict of runs whose rows are exported."""


class Export(DataClass):
    """The outcome of a call that exports.

    Attributes:
        report: The report of the check.
        files: The number of files that were written, one for each run.
        rows: The number of rows in them.
        left_out: The number of runs without a file.

    """

    report: Report
    files: int
    rows: int
    left_out: int

    @property
    def exit_code(self) -> int:
        """The exit code of the command: that of the check, and 1 where runs were left out."""
        return self.report.exit_code or (ExitCode.FAILED if self.left_out else ExitCode.PASSED)


def export(
    inputs: Input | Iterable[Input],
    to: Input,
    *,
    aggregate: Input | None = None,
    outputs: Iterable[Input] = (),
    options: Options | None = None,
    reporter: Reporter | None = None,
    progress: bool = False,
) -> Export:
    """Check runs in full, and write the rows of those that pass to Parquet files in a new folder.

    `inputs` and `aggregate` are those of `check`. A run of Every Eval Ever that passes gets a file
    of its own in the folder `to`, which appears once all are complete and must be empty before;
    other runs are left out. `outputs` are files that the caller writes meanwhile. `options` may not
    leave out rules.

    Raises UsageError for a call that makes no sense, MissingExtra where pyarrow is not installed,
    CannotWrite, and CannotCheck where a file has changed since it was checked.
    """
    paths, target = list(require_paths(inputs)), require_path(to, "the target")
    chosen = whole_check(options or Options())
    load_library()
    if STDIN in paths or is_remote(target):
        raise UsageError("rows of files are exported, to a folder on this machine")
    if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise UsageError(f"{printable(target)} exists; name a folder that is new or empty")
    report = check_inputs(
        paths,
        chosen,
        FindingSink(reporter),
        aggregate=optional_path(aggregate, "the aggregate"),
        outputs=outputs,
        progress=progress,
    )
    if is_of_signal(report.exit_code):
        return Export(report, 0, 0, len(report.runs))
    passed = _name_files(report.runs, paths)
    rows = _write(passed, target, chosen) if passed else 0
    return Export(report, len(passed), rows, len(report.runs) - len(passed))


def _name_files(runs: Iterable[RunSummary], inputs: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the rows of runs that pass, and their digests, by their names below the inputs.

    Raises UsageError for two of one name.
    """
    folders = find_folders(inputs)
    named: dict[str, tuple[str, str]] = {}
    for run in runs:
        if run.verdict != PASSED or run.format != MAIN or run.file is None:
            continue
        path, digest = next(iter(run.digests.items()))
        name = name_below(path, folders)
        name = os.path.basename(name) if os.pardir in name.split("/") else name
        if name in named:
            raise UsageError(f"two runs are called {name}; export them to folders of their own")
        named[name] = path, digest
    return named


def _write(named: Mapping[str, tuple[str, str]], target: str, options: Options) -> int:
    """Write rows with their digests, by the names of their files, and return how many there are."""
    count = 0
    place = os.path.abspath(target)
    with writing(target), Staging(os.path.dirname(place)) as staging:
        whole = os.path.join(staging.folder, "whole")
        for name, (path, digest) in named.items():
            read = {ALGORITHM: ""}
            staged = staging.path(f"whole/{name}{ENDING}")
            source = RowSource(PASSED, name, digest)
            count += write_rows(staged, source, _read(path, options, read))
            if read[ALGORITHM] != digest:
                raise CannotCheck(f"{printable(path)} has changed since it was checked")
            sync_file(staged)
        os.rename(whole, place)
        sync_folder(os.path.dirname(place))
    return count


def _read(path: str, options: Options, read: dict[str, str]) -> Iterator[tuple[int, int, bytes]]:
    """Iterate over the rows of a file. Raises CannotCheck where it cannot be read."""
    try:
        yield from every_row(path, options, read)
    except OSError as error:
        raise CannotCheck(f"{printable(path)} cannot be read: {describe_error(error)}") from error


GROUP_BYTES: Final = 16 << 20
GROUP_ROWS: Final = 1 << 16
"""Bytes of lines, and rows, after which a row group is written."""

OTHER: Final = "other"
"""The column with the members of a row that have none of their own."""


class RowSource(NamedTuple):
    """The columns about the run in each row: its verdict, the name of the file, and its SHA-256."""

    verdict: str
    file: str
    digest: str


def load_library() -> tuple[Any, Any]:
    """Return pyarrow and its module for Parquet. Raises MissingExtra where it is missing."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        message = f"Parquet files need pyarrow: {install_command('parquet')}"
        raise MissingExtra(message) from error


def write_rows(path: str, source: RowSource, rows: Iterable[tuple[int, int, bytes]]) -> int:
    """Write rows, each with its line and its offset, to a file; return their number.

    Raises CannotCheck for a row that is not JSON, OSError and Stopped.
    """
    arrow, parquet = load_library()
    schema, count = _schema(arrow), 0
    with (
        open(path, "xb") as file,
        parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for group in group_by_size(rows, lambda row: len(row[2]), GROUP_BYTES, GROUP_ROWS):
            STOPPING.check()
            records = [_record(source, line, text) for line, _, text in group]
            writer.write_table(arrow.Table.from_pylist(records, schema=schema))
            count += len(group)
    return count


def _schema(arrow: Any) -> Any:
    text = arrow.string()
    types = {"text": text, "json": text, "number": arrow.float64(), "boolean": arrow.bool_()}
    found = {"run_id": text, "verdict": text, "file": text, "file_sha256": text}
    found |= {"line": arrow.int64()}
    found |= {name: types[kind] for name, (_, kind) in main_format().columns.items()}
    return arrow.schema([*found.items(), (OTHER, text)])


def _record(source: RowSource, line: int, text: bytes) -> dict[str, Any]:
    """Return a row as a record. Raises CannotCheck for a line that is not a JSON object."""
    try:
        row = json.read_back(text.removeprefix(json.UTF8_MARK))
    except ValueError as error:
        raise CannotCheck(f"{source.file}: line {line:,} cannot be read: {error}") from error
    one = main_format()
    record = {
        "run_id": _text(one.run_id(row)),
        "verdict": source.verdict,
        "file": source.file,
        "file_sha256": source.digest,
        "line": line,
        **{name: _cell(row, path, kind) for name, (path, kind) in one.columns.items()},
    }
    known = {path for path, _ in one.columns.values()}
    others = {name: value for name, value in row.items() if (name,) not in known}
    record[OTHER] = json.dumps(others).decode() if others else None
    return record


def _cell(row: Mapping[str, Any], path: Sequence[str], kind: Cell) -> Any:
    """Return a value of a row in the type of its column, None for one that has no such type."""
    value = json.resolve(row, path)
    if kind == "text" or value is None:
        return _text(value)
    if kind == "json":
        return json.dumps(value).decode()
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    # A score may be true or false, which counts as 1 and 0 in the check, too.
    is_number = isinstance(value, (int, float)) and abs(value) <= sys.float_info.max
    return float(value) if is_number else None


def _text(value: Any) -> str | None:
    """Return a text as it is, and as JSON one with half a surrogate pair, or another value."""
    if value is None or (isinstance(value, str) and not SURROGATE.search(value)):
        return value
    return json.dumps(value).decode()
