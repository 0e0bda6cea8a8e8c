"""Read a report that `--format jsonl` or `--format json` wrote, in one pass."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from evalstream.batch.parts import is_part
from evalstream.batch.stored_contents import StoredContents
from evalstream.batch.stored_shapes import WHOLE
from evalstream.formats.registry import CATALOGUE
from evalstream.io.names import printable
from evalstream.io.readers import DescriptorReader
from evalstream.io.standard_input import StandardInput
from evalstream.model.block import MEBIBYTE, ByteStream
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Finding
from evalstream.model.report import Report
from evalstream.model.rule_text import RuleText, Status
from evalstream.model.run import STDIN
from evalstream.model.signals import STOPPING
from evalstream.parsing.json import fast
from evalstream.parsing.object_splitter import ObjectSplitter
from evalstream.parsing.strict_json import describe_json_error

LONGEST: Final = 256 * MEBIBYTE
"""The longest line that is read, and the most bytes of a JSON report beside its findings."""

HEAD_BYTES: Final = 256
"""How many bytes show the layout of a report."""

KINDS: Final = ("code", "run", "vanished", "summary", "part", "links")
"""The keys that show what a line holds."""

OF_A_PART: Final = ("part", "links")

_LINES: Final = re.compile(rb'\s*\{\s*"(?:code|run|number|vanished|summary|links|part)"\s*:')
"""The beginning of a report in lines; a JSON report begins with another key."""


def are_parts(paths: list[str]) -> bool:
    """Tell whether files are parts of a batch. Raises UsageError, and OSError."""
    if not paths:
        raise UsageError("no report given")
    if len(paths) > 1 and STDIN in paths:
        raise UsageError("standard input cannot be one of several files")
    return len(paths) > 1 or (os.path.isfile(paths[0]) and is_part(paths[0]))


def read_stored(path: str, show: Callable[[Finding], None]) -> Report:
    """Read a report from a file, or from standard input for `-`, and pass on its findings.

    The report is returned without its findings. Raises CannotCheck that names the line where it is
    truncated, damaged, or not such a report; OSError.
    """
    contents = StoredContents("standard input" if path == STDIN else printable(path), show)
    reader = StandardInput().reader() if path == STDIN else _open_report(path)
    try:
        pieces = _pieces(reader)
        head = b""
        while len(head.lstrip()) < HEAD_BYTES and (piece := next(pieces, b"")):
            head += piece
        if not head.strip():
            contents.refuse(None, "it is empty")
        read = _read_lines if _LINES.match(head) else _read_document
        return read(contents, chain([head], pieces))
    except sqlite3.Error as error:
        raise CannotCheck(f"cannot write the temporary files of the report: {error}") from error
    finally:
        reader.close()


def _open_report(path: str) -> ByteStream:
    return DescriptorReader(os.open(path, os.O_RDONLY), owned=True)


def _pieces(reader: ByteStream) -> Iterator[bytes]:
    while piece := reader.read():
        STOPPING.check()
        yield piece


def _read_lines(contents: StoredContents, pieces: Iterable[bytes]) -> Report:
    """Read a report in lines: findings, runs, findings that vanished, the summary."""
    number, summary, latest = 0, None, KINDS[0]
    for number, text in enumerate(_lines(contents, pieces), 1):
        value = _parse_part(contents, text, number)
        kind = next((one for one in KINDS if isinstance(value, dict) and one in value), None)
        if kind is None:
            contents.refuse(number, "it is not a finding, a run or a summary")
        if kind in OF_A_PART or (kind == "run" and "findings" in value):
            contents.refuse(number, "it belongs to a part of a batch", "give all parts as files")
        if summary is not None:
            contents.refuse(number, "it follows the summary")
        if KINDS.index(kind) < KINDS.index(latest):
            contents.refuse(number, f"a line with {kind!r} follows one with {latest!r}")
        latest = kind
        if kind == "code":
            contents.add_finding(value, number)
        elif kind == "run":
            contents.add_run_line(value, number)
        elif kind == "vanished":
            contents.fit(value, "vanished_line", number)
            contents.add_vanished(value["vanished"])
        else:
            contents.refuse_foreign(value["summary"], number)
            contents.fit(value, "last_line", number)
            summary = value["summary"]
    if summary is None:
        contents.refuse(number, "it ends here without a summary")
    return contents.report(summary, number)


def _lines(contents: StoredContents, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Iterate over the lines of pieces, without their ends."""
    begun: list[bytes] = []
    number, size = 1, 0
    for piece in pieces:
        first, *others = piece.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > LONGEST:
            contents.refuse(number, f"it is longer than {LONGEST // MEBIBYTE} MiB")
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            number += len(others)
            begun, size = [others[-1]], len(others[-1])
    if size:
        yield b"".join(begun)


def _read_document(contents: StoredContents, pieces: Iterable[bytes]) -> Report:
    """Read a report that is one JSON document; all but its findings is held in memory."""
    splitter = ObjectSplitter("findings", LONGEST)
    for elements in chain(map(splitter.feed, pieces), (splitter.end() for _ in range(1))):
        for element in elements:
            if element.whole:
                value = _parse_part(contents, element.text, element.line)
                contents.add_finding(value, element.line)
    if splitter.issue is not None:
        contents.refuse(splitter.issue.line, splitter.issue.message)
    envelope = splitter.envelope()
    if not envelope.is_whole:
        contents.refuse(None, f"it has over {LONGEST // MEBIBYTE} MiB beside its findings")
    value = _parse_part(contents, envelope.text, None)
    contents.refuse_foreign(value, None)
    contents.fit(value, WHOLE, None)
    for run in value["runs"]:
        contents.add_run(run)
    for known in value.get("vanished", ()):
        contents.add_vanished(known)
    rules = {code: _rule_text(code, text) for code, text in value["rules"].items()}
    return contents.report(value, None, rules)


def _rule_text(code: str, encoded: Mapping[str, str]) -> RuleText:
    """Return the texts of a rule; its whole documentation is not in the report."""
    status = Status(encoded.get("status", Status.STABLE))
    text = RuleText(encoded["name"], encoded["summary"], encoded["fix"], "", status=status)
    installed = CATALOGUE[code].text() if code in CATALOGUE else text
    return installed if installed.as_dict() == text.as_dict() else text


def _parse_part(contents: StoredContents, text: bytes, line: int | None) -> Any:
    """Parse a part of a report."""
    try:
        return fast(text)
    except ValueError:
        pass
    try:
        # A lone surrogate is valid here.
        return json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        # Within a line of the report the number of the line is known.
        within = "" if line is not None else f"line {error.lineno:,}, "
        place = f"{within}column {error.colno:,}"
        contents.refuse(line, f"it is not valid JSON: {describe_json_error(error)} at {place}")
    except (ValueError, RecursionError) as error:
        contents.refuse(line, f"it is not valid JSON: {error}")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object. Raises ValueError for a repeated one."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has a member twice")
    return members


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"unexpected {constant}")
