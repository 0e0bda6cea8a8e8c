"""The JSON report of the validator of Every Eval Ever: a list with one object for each file."""

from __future__ import annotations

import json
import re
import sqlite3
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Final

from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.report import Report
from evalstream.model.run_summary import NOT_CHECKED, RunSummary
from evalstream.model.text import count_noun
from evalstream.parsing.json import dumps, read_back, split_pointer
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.summary import fails_by_verdict

WHOLE_FILE: Final = "(file)"
ROOT: Final = "(root)"
HIDDEN: Final = "(truncated)"
"""How the validator writes places that are neither a member nor a line."""

TYPES: Final = {
    "additionalProperties": "extra_forbidden",
    "const": "literal_error",
    "enum": "enum",
    "maximum": "less_than_equal",
    "minimum": "greater_than_equal",
    "minItems": "too_short",
    "pattern": "string_pattern_mismatch",
}
"""The validator's words for violations of a schema, by the keyword."""

VALUE_TYPES: Final = {
    "array": "list_type",
    "boolean": "bool_type",
    "integer": "int_type",
    "number": "float_type",
    "object": "model_type",
    "string": "string_type",
}
"""Its words for values of the wrong type, by the type that is expected."""

READING_TYPES: Final = {
    "ES001": "io_error",
    **dict.fromkeys(
        ("ES103", "ES104", "ES105", "ES106", "ES107", "ES108", "ES113"), "json_parse_error"
    ),
    "ES109": "model_type",
}
"""Its words for files and lines that cannot be read, by our code."""

PAIR_CODES: Final = ("ES1", "ES5", "ES6", "ES902")
PAIR_PLACES: Final = frozenset({"evaluation_id", "model_id", "model_info", "model_info -> id"})
PAIR_MEMBER: Final = "detailed_evaluation_results"
"""Findings about both files of a pair, by code and place; the validator refuses both files."""

_MISSING: Final = re.compile(r"(.+) is missing", re.DOTALL)
_UNKNOWN: Final = re.compile(r"unknown property (.+?)(?:; did you mean .+\?)?", re.DOTALL)
_COLUMN: Final = re.compile(r"at column (\d+)")


def _make_entry(finding: Finding) -> dict[str, Any]:
    """Return an error or a warning in the words of the validator."""
    entry: dict[str, Any] = {
        "loc": location(finding),
        "msg": f"{finding.message} ({finding.code} {finding.name})",
        "type": _entry_type(finding),
    }
    is_value = finding.found is not None and not isinstance(finding.found, Excerpt)
    if finding.keyword is not None or is_value:
        entry["input"] = read_back(dumps(finding.found))
    return entry


def format_entry(entry: dict[str, Any]) -> str:
    """Return an entry as JSON in the layout of the validator, at its depth in the list."""
    return json.dumps(entry, indent=2).replace("\n", "\n      ")


def _entry_type(finding: Finding) -> str:
    """Return the validator's word for a violation of the schema, else our code."""
    keyword, expected = finding.keyword, finding.expected
    if keyword == "required" and _MISSING.fullmatch(finding.message):
        return "missing"
    if keyword == "type" and isinstance(expected, dict):
        given = expected.get("type")
        wanted = [given] if isinstance(given, str) else list(given or ())
        return next((VALUE_TYPES[one] for one in wanted if one in VALUE_TYPES), finding.code)
    return TYPES.get(keyword or "") or READING_TYPES.get(finding.code, finding.code)


def location(finding: Finding) -> str:
    """Return the place of a finding as the validator writes it: `line 2 -> choices[0] -> text`.

    Members are separated by arrows, and indices are in brackets.
    """
    place = _members(finding)
    is_row = finding.offset is not None
    if finding.line is not None and (is_row or place is None):
        column = _COLUMN.search(finding.message) if place is None else None
        line = f"line {finding.line}{f', col {column[1]}' if column else ''}"
        return line if place is None else f"{line} -> {place}"
    return WHOLE_FILE if place is None else place


def is_about_pair(finding: Finding) -> bool:
    """Tell whether a finding concerns the other file of a pair, too."""
    place = _members(finding) or ""
    is_shared = place in PAIR_PLACES or place.startswith(PAIR_MEMBER)
    return is_shared or finding.code.startswith(PAIR_CODES)


def _members(finding: Finding) -> str | None:
    """Return the place in a document, None where the finding is about no part of it."""
    if finding.pointer is None or finding.code in READING_TYPES:
        return ROOT if finding.code == "ES109" else None
    member = None
    if finding.keyword == "required":
        member = _MISSING.fullmatch(finding.message)
    elif finding.keyword == "additionalProperties":
        member = _UNKNOWN.fullmatch(finding.message)
    place = ""
    for name in [*split_pointer(finding.pointer), *([member[1]] if member else [])]:
        if name.isdecimal() and name.isascii():
            place += f"[{name}]"
        else:
            place += f" -> {name}" if place else name
    return place or ROOT


AGGREGATE: Final = "aggregate"
INSTANCE: Final = "instance"
UNSUPPORTED: Final = "unsupported"
"""The kinds of files, as the validator names them: `instance` for rows."""


_TABLES: Final = """
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    CREATE TABLE entry (
        file TEXT, is_error INTEGER, code TEXT, entry TEXT, about_pair INTEGER DEFAULT 0
    );
    CREATE INDEX by_file ON entry (file, is_error);
    CREATE TABLE shown (
        file TEXT, code TEXT, times INTEGER, is_error INTEGER, PRIMARY KEY (file, code)
    ) WITHOUT ROWID;
    CREATE TABLE file (number INTEGER PRIMARY KEY, name TEXT UNIQUE, kind TEXT, lines INTEGER);
    BEGIN;
"""


class _File(NamedTuple):
    """A file of a run: its name as JSON, its kind, and its number of rows."""

    name: str
    kind: str
    lines: int


class EeeReporter(Recognized):
    """Keeps errors and warnings by file, in a temporary database, and writes at the end."""

    beginning = LazyPattern(rb'\[\s*\{\s*"file": "(?:[^"\\]|\\.)*",\s*"valid": ')
    """An empty list may be any file."""

    def __init__(self, output: Sink, _: Style = PLAIN) -> None:
        self._output = output
        self._base = sqlite3.connect("", isolation_level=None)
        weakref.finalize(self, self._base.close)
        self._base.executescript(_TABLES)
        self._file, self._name = "", json.dumps("")
        self._counts: dict[str, tuple[int, bool]] = {}

    def finding(self, finding: Finding) -> None:
        """Keep one finding; the validator has no infos, and they are only counted."""
        if finding.file != self._file:
            self._store_counts()
            self._file, self._name = finding.file, json.dumps(finding.file)
        is_error = finding.severity is Severity.ERROR
        times, was_error = self._counts.get(finding.code, (0, False))
        self._counts[finding.code] = times + finding.occurrences, was_error or is_error
        if finding.severity is not Severity.INFO:
            entry = format_entry(_make_entry(finding))
            self._base.execute(
                "INSERT INTO entry VALUES (?, ?, ?, ?, ?)",
                (self._name, is_error, finding.code, entry, is_about_pair(finding)),
            )

    def _store_counts(self) -> None:
        """Store how many findings of each code the file has of which findings came last."""
        self._base.executemany(
            "INSERT INTO shown VALUES (?, ?, ?, ?) ON CONFLICT (file, code) DO UPDATE SET "
            "times = times + excluded.times, is_error = max(is_error, excluded.is_error)",
            [(self._name, code, *counts) for code, counts in self._counts.items()],
        )
        self._counts.clear()

    def finish(self, report: Report) -> None:
        """Write the list."""
        self._store_counts()
        for run in report.runs:
            files = list(_iterate_files(run))
            self._base.executemany(
                "INSERT OR IGNORE INTO file (name, kind, lines) VALUES (?, ?, ?)", files
            )
            names = [one.name for one in files]
            if names:
                self._note_hidden(run, names)
                has_failed = run.verdict == "failed" or fails_by_verdict(run, report)
                self._note_verdict(run, names, has_failed=has_failed)
                self._note_pair(names)
        self._base.execute(
            "INSERT OR IGNORE INTO file (name, kind, lines) SELECT file, NULL, 0 FROM entry "
            "GROUP BY file ORDER BY min(rowid)"
        )
        self._output.write("[")
        end = ""
        for number, name, kind, lines in self._base.execute("SELECT * FROM file ORDER BY number"):
            self._output.write(",\n" if number > 1 else "\n")
            self._write(_File(name, kind or _kind_by_name(json.loads(name)), lines))
            end = "\n"
        self._output.write(f"{end}]\n")

    def _note_hidden(self, run: RunSummary, names: list[str]) -> None:
        shown = self._base.execute(
            f"SELECT code, sum(times), max(is_error) FROM shown WHERE file IN ({_marks(names)}) "  # noqa: S608 - marks only
            "GROUP BY code",
            names,
        )
        for code, times, is_error in shown.fetchall():
            more = run.counts.get(code, 0) - times
            if more <= 0:
                continue
            ((name,),) = self._base.execute(
                f"SELECT file FROM shown WHERE code = ? AND file IN ({_marks(names)}) "  # noqa: S608 - marks only
                "ORDER BY is_error DESC, times DESC, file LIMIT 1",
                (code, *names),
            )
            said = f"{count_noun(more, 'more finding')} of {code} counted and not listed"
            self._note(name, HIDDEN, said, "truncated", is_error=bool(is_error))

    def _note_verdict(self, run: RunSummary, names: list[str], *, has_failed: bool) -> None:
        """Add an entry for a run that was not checked in full, or that fails without an error."""
        unread = self._has_error(names[-1:], "code IN ('ES001', 'ES004', 'ES005', 'ES008')")
        if run.incomplete_reason and not unread:
            self._note(names[-1], WHOLE_FILE, run.incomplete_reason, "not_checked")
        elif NOT_CHECKED & run.counts.keys() and not self._has_error(names):
            self._note(names[-1], WHOLE_FILE, "not checked", "not_checked")
        elif has_failed and not self._has_error(names):
            self._note(names[-1], WHOLE_FILE, "the check of this file failed", "failed")

    def _note_pair(self, names: list[str]) -> None:
        """Add an entry for each sound file of a run whose other file has an error about both."""
        found = self._base.execute(
            f"SELECT file, code FROM entry WHERE file IN ({_marks(names)}) AND is_error "  # noqa: S608 - marks only
            "AND about_pair ORDER BY rowid LIMIT 1",
            names,
        ).fetchone()
        for name in names if found else ():
            if not self._has_error([name]):
                other, code = found
                said = f"{json.loads(other)}, which belongs to this file, has an error of {code}"
                self._note(name, WHOLE_FILE, said, code)

    def _has_error(self, names: list[str], which: str = "1") -> bool:
        found = self._base.execute(
            f"SELECT 1 FROM entry WHERE file IN ({_marks(names)}) AND is_error AND {which} LIMIT 1",  # noqa: S608 - ours
            names,
        )
        return found.fetchone() is not None

    def _note(self, name: str, loc: str, msg: str, type_: str, *, is_error: bool = True) -> None:
        entry = format_entry({"loc": loc, "msg": msg, "type": type_})
        self._base.execute(
            "INSERT INTO entry (file, is_error, code, entry) VALUES (?, ?, ?, ?)",
            (name, is_error, type_, entry),
        )

    def _write(self, file: _File) -> None:
        is_valid = not self._has_error([file.name])
        self._output.write(
            f'  {{\n    "file": {_disarm_json(file.name)},\n    "valid": {json.dumps(is_valid)},\n'
            f'    "file_type": "{file.kind}",\n    "line_count": {file.lines},\n'
        )
        for word, is_error in (("errors", 1), ("warnings", 0)):
            self._output.write(f'    "{word}": [')
            end = ""
            for (entry,) in self._base.execute(
                "SELECT entry FROM entry WHERE file = ? AND is_error = ? ORDER BY rowid",
                (file.name, is_error),
            ):
                self._output.write(f"{',' if end else ''}\n      {_disarm_json(entry)}")
                end = "\n    "
            self._output.write(f"{end}]{',' if is_error else ''}\n")
        self._output.write("  }")


def _iterate_files(run: RunSummary) -> Iterator[_File]:
    """Iterate over the files of a run: the rows come last, as the validator sorts them."""
    is_read = run.rows or not NOT_CHECKED & run.counts.keys()
    for name in (run.inputs, run.aggregate):
        if name is not None:
            yield _File(json.dumps(name), AGGREGATE, 0)
    if run.file is not None:
        kind = INSTANCE if is_read else _kind_by_name(run.file)
        yield _File(json.dumps(run.file), kind, run.rows)


def _kind_by_name(name: str) -> str:
    """Return the kind of a file of which nothing was read, as the validator does."""
    if name.endswith(".jsonl"):
        return INSTANCE
    return AGGREGATE if name.endswith(".json") else UNSUPPORTED


def _marks(names: Iterable[str]) -> str:
    return ",".join("?" for _ in names)


def _disarm_json(encoded: str) -> str:
    """Escape in JSON what Python's json leaves: DEL, and commands that logs of CI read."""
    return encoded.replace("\x7f", "\\u007f").replace("##[", "#\\u0023[")
