"""Rows of a run as a Parquet file: columns of one type each, written group by group."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from evalstream.formats.base import Cell
from evalstream.formats.registry import main_format
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, MissingExtra
from evalstream.model.extras import install_command
from evalstream.model.signals import STOPPING
from evalstream.parsing import json

GROUP_BYTES: Final = 16 << 20
GROUP_ROWS: Final = 1 << 16
"""Bytes of lines, and rows, after which a row group is written."""

OTHER: Final = "other"
"""The column with the members of a row that have none of their own."""


class RowSource(NamedTuple):
    """What each row of a file says of its run: verdict, name of the file, and its SHA-256."""

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
        for group in _groups(rows):
            STOPPING.check()
            records = [_record(source, line, text) for line, text in group]
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


def _groups(rows: Iterable[tuple[int, int, bytes]]) -> Iterator[Sequence[tuple[int, bytes]]]:
    """Iterate over the lines of rows and their bytes, as many at a time as a row group has."""
    group: list[tuple[int, bytes]] = []
    size = 0
    for line, _, text in rows:
        group.append((line, text))
        size += len(text)
        if size >= GROUP_BYTES or len(group) >= GROUP_ROWS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _record(source: RowSource, line: int, text: bytes) -> dict[str, Any]:
    """Return a row as a record. Raises CannotCheck for a line that is not a JSON object."""
    try:
        row = json.fast(text.removeprefix(json.UTF8_MARK))
    except ValueError as error:
        raise CannotCheck(f"{source.file}: line {line:,} cannot be read: {error}") from error
    one = main_format()
    record = {
        "run_id": one.run_id(row),
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
    if value is None or (kind == "text" and isinstance(value, str)):
        return value
    if kind in ("text", "json"):
        return json.dumps(value).decode()
    if isinstance(value, bool):
        return value if kind == "boolean" else None
    is_number = isinstance(value, (int, float)) and abs(value) <= sys.float_info.max
    return float(value) if kind == "number" and is_number else None
