"""Rows that the calling program holds: the lines of a file that would have them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from json import dumps
from typing import Any, Final

from evalstream.io.readers import READ_BYTES
from evalstream.model.block import ByteStream
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Finding
from evalstream.model.text import with_article

Row = Mapping[str, Any] | bytes | bytearray | memoryview | str
"""One row: a JSON object, or its text."""

NEWLINE: Final = b"\n"


class RowLines:
    """Turns rows into the lines of a file, and knows which bytes the file can have.

    Bytes and texts keep their line end; others get one. Where the first text has its line end, the
    last one may lack it, as in a file. `has_mappings` tells that a row came as a mapping: the file
    has unknown bytes then. `ends_unknown` tells that the last row came without a line end, as its
    file may or may not have one.
    """

    def __init__(self) -> None:
        self._rows = 0
        self.has_mappings = self.ends_unknown = False
        self._have_ends: bool | None = None
        self._is_open = False

    def line_of(self, row: Any) -> bytes:
        """Return what a row adds to its file. Raises TypeError, and UsageError for lines."""
        line = self._text_of(row)
        if NEWLINE in line[:-1]:
            raise UsageError(f"{self._name} has a line break inside: give one row at a time")
        self._rows += 1
        before, has_end = NEWLINE if self._is_open else b"", line.endswith(NEWLINE)
        if self._have_ends is None and not isinstance(row, Mapping):
            self._have_ends = has_end
        self._is_open = bool(self._have_ends and line) and not has_end
        self.ends_unknown = not has_end and not self._is_open
        return before + line + (NEWLINE if self.ends_unknown else b"")

    @property
    def _name(self) -> str:
        """The row that comes next, as messages call it."""
        return f"row {self._rows + 1:,}"

    def place(self, finding: Finding) -> Finding:
        """Return a finding about these rows; rows that came as mappings have no byte offsets."""
        return finding._replace(offset=None) if self.has_mappings else finding

    def _text_of(self, row: Any) -> bytes:
        if isinstance(row, (bytes, bytearray, memoryview)):
            return bytes(row)
        if isinstance(row, str):
            return row.encode(errors="surrogatepass")
        if not isinstance(row, Mapping):
            kind = "None" if row is None else with_article(row.__class__.__name__)
            raise TypeError(f"{self._name} is {kind}; a row is a mapping, bytes or str")
        self.has_mappings = True
        return json_line(row, self._name)


def json_line(document: Mapping[str, Any], name: str) -> bytes:
    """Return the JSON of a mapping as a line. Raises TypeError for what JSON cannot express."""
    try:
        # Not orjson, which would write NaN as null, and dates as texts.
        return dumps(dict(document), default=_plain).encode() + NEWLINE
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{name} cannot be written as JSON: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is {with_article(value.__class__.__name__)}")


class HeldRows(ByteStream):
    """Reads rows of an iterable as lines of a file; `error` is what the iterable raised."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.lines = RowLines()
        self.error: BaseException | None = None
        self._lines = map(self.lines.line_of, iter(rows))

    def read(self) -> bytes:
        """Return the next lines, about 1 MiB. Raises CannotCheck where the iterable raises."""
        gathered: list[bytes] = []
        size = 0
        while size < READ_BYTES and self.error is None:
            try:
                line = next(self._lines, None)
            except BaseException as error:  # noqa: BLE001 - it goes on to the caller
                self.error = error
                break
            if line is None:
                break
            gathered.append(line)
            size += len(line)
        if self.error is not None and not gathered:
            raise CannotCheck("the rows ended with an exception")
        return b"".join(gathered)


class FedRows(ByteStream):
    """Reads rows that another thread feeds one by one, and hands their findings back to it.

    The reader asks for more only after all findings of the rows so far are known.
    """

    def __init__(self, lines: RowLines, before: Sequence[bytes]) -> None:
        self.lines = lines
        self.findings: list[Finding] = []
        self._data = b"".join(before)
        self._is_wanted, self._is_given = threading.Semaphore(0), threading.Semaphore(0)
        self._is_over = False
        self._reason: str | None = None

    def feed(self, line: bytes) -> list[Finding]:
        """Give the reader a line, and return the findings of its row; none after it left."""
        if self._is_over:
            return []
        self._data, self.findings = line, []
        self._is_given.release()
        self.await_reader()
        return self.findings

    def await_reader(self) -> None:
        """Wait until the reader wants the next line, or ends."""
        self._is_wanted.acquire()

    def end(self, reason: str | None = None) -> None:
        """End the rows; with a reason their reader reports them as broken off."""
        self._is_over, self._reason = True, reason
        self._is_given.release()

    def answer(self, findings: list[Finding]) -> None:
        """Take the findings of rows that were read."""
        self.findings += map(self.lines.place, findings)

    def leave(self) -> None:
        """Let the other thread go on: reading has ended."""
        self._is_over = True
        self._is_wanted.release()

    def read(self) -> bytes:
        """Return the next line, when it is fed. Raises CannotCheck where the rows break off."""
        if not self._data and not self._is_over:
            self._is_wanted.release()
            self._is_given.acquire()
        data, self._data = self._data, b""
        if not data and self._reason is not None:
            raise CannotCheck(self._reason)
        return data

    def wait(self, _seconds: float) -> bool:
        """Tell whether a line is there; no other comes while its reader does not ask for it."""
        return bool(self._data) or self._is_over
