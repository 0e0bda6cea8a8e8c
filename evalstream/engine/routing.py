"""Route checked rows: pass them to standard output, copy them, or split them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Final

from evalstream.engine.result import BlockResult, LineStatus
from evalstream.io.digest import RunningDigest
from evalstream.io.names import is_remote, printable, redact_url
from evalstream.io.output import PackedOutput, unwritable, write_all
from evalstream.io.overwriting import (
    UNMARKED,
    OutputKind,
    is_irregular,
    is_same_file,
    is_standard_output,
)
from evalstream.model.block import MEBIBYTE, Block, Bytes
from evalstream.model.data_class import replace
from evalstream.model.errors import CannotWrite, UsageError
from evalstream.model.finding import Finding
from evalstream.model.options import Options, RowRouting
from evalstream.model.run import STDIN
from evalstream.model.signals import Stopped
from evalstream.model.text import notify, on_one_line
from evalstream.parsing.json import dumps
from evalstream.parsing.lazy_regex import LazyPattern

SIDECAR: Final = ".findings.jsonl"
"""The suffix of the file with the findings of rejected rows."""

MOST_HELD: Final = 16
"""How many chunks wait for standard output while the rest of their block is written elsewhere."""

_BLANKS = LazyPattern(rb"^(?:[ \t\r]*+\n)++|^[ \t\r]++\Z", re.MULTILINE)
"""Blank lines, which are not rows."""

Sink = Callable[[Bytes], object]


def check_routing(routing: RowRouting, inputs: Sequence[str], aggregate: str | None) -> None:
    """Raise UsageError if rows cannot be routed as asked."""
    if replace(routing, idle_timeout=RowRouting().idle_timeout) == RowRouting():
        return
    if len(inputs) != 1 or os.path.isdir(inputs[0]):
        raise UsageError(one_run_for(routing))
    (rows,) = inputs
    for name in routed_files(routing):
        if is_remote(name):
            raise UsageError(f"{redact_url(name)}: only local files are written")
    if routing.follow and not _can_be_followed(rows):
        raise UsageError("--follow needs a local file; a pipe is always read to its end")
    is_stream = rows == STDIN or is_irregular(rows)
    if not (is_stream or routing.follow or routing.create):
        _refuse_missing(routing.seal_to)
    _refuse_another(routing.seal_to, aggregate)
    if routing.seal_to is not None and is_stream and not (routing.tee or routing.file_path):
        raise UsageError(
            "a stream is sealed together with the file that holds its rows: name one with --tee, "
            "or with --file-path if another program writes it"
        )


def _can_be_followed(rows: str) -> bool:
    """Tell whether an input is a regular file, or may become one."""
    is_local = rows != STDIN and not is_remote(rows)
    return is_local and (os.path.isfile(rows) or not os.path.exists(rows))


def refuse_rowless(routing: RowRouting, name: str) -> None:
    """Raise UsageError if rows are to be routed, and `name` has none."""
    if routing.passing or routing.tee or routing.accepted or routing.rejected or routing.follow:
        raise UsageError(f"{name} has no rows to route")


def one_run_for(routing: RowRouting) -> str:
    """Return the message for an option that needs exactly one rows file."""
    if replace(routing, expect_rows=None, expect_samples=None) == RowRouting():
        return "--expect-rows and --expect-samples go with exactly one rows file (or - for stdin)"
    return "options that route rows go with exactly one rows file (or - for stdin)"


def _refuse_missing(aggregate: str | None) -> None:
    """Raise UsageError if an aggregate to be sealed does not exist."""
    if aggregate is not None and not is_remote(aggregate) and not os.path.exists(aggregate):
        raise UsageError(
            f"{printable(aggregate)}: the aggregate to seal does not exist; --create writes one"
        )


def _refuse_another(sealed: str | None, aggregate: str | None) -> None:
    """Raise UsageError if rows are checked against one aggregate and sealed in another."""
    if sealed is None or aggregate is None or not os.path.exists(sealed):
        return
    if not is_same_file(sealed, aggregate):
        raise UsageError(
            f"the rows would be checked against {printable(aggregate)} and sealed in "
            f"{printable(sealed)}: name one aggregate, or a new one to seal"
        )


def routed_files(routing: RowRouting) -> list[str]:
    """Return the files that a routing writes."""
    sidecar = None if routing.rejected is None else routing.rejected + SIDECAR
    sealed = None if routing.dry_run else routing.seal_to
    named = (routing.tee, routing.accepted, routing.rejected, sidecar, sealed)
    return [name for name in named if name is not None]


SIDECARS: Final = OutputKind(
    "a file with findings of rejected rows", lambda head: head.startswith(b'{"row":1,"code":"')
)


def output_kinds(routing: RowRouting) -> dict[str, OutputKind]:
    """Return what the copies of rows are that a routing writes, by path."""
    named = (routing.tee, routing.accepted, routing.rejected)
    kinds = {name: UNMARKED for name in named if name is not None}
    if routing.rejected is not None:
        kinds[routing.rejected + SIDECAR] = SIDECARS
    return kinds


def refuse_foreign(routing: RowRouting) -> None:
    """Raise UsageError if copies of rows would replace files that evalstream did not write."""
    for path, kind in () if routing.overwrite else output_kinds(routing).items():
        kind.refuse_foreign(path)


class RowRouter:
    """The outputs for the rows of one run, opened for a block, before any row comes.

    An error in the block drops them. Raises CannotWrite if a file cannot be opened or written, and
    BrokenPipeError if the reader of the rows is gone and no file gets them, or the call ends with
    it.
    """

    def __init__(self, options: Options, algorithms: Sequence[str]) -> None:
        self._routing = options.routing
        self._kinds = {} if options.routing.overwrite else output_kinds(options.routing)
        self._files: list[PackedOutput] = []
        self._skips = options.skip_noise
        self.kept = RunningDigest(algorithms) if self._skips else None
        self._copies: list[Sink] = []
        self._accepted: list[Sink] = []
        self._rejected: Sink | None = None
        self._sidecar: Sink | None = None
        self._rejects = 0
        self._through: list[Bytes] = []
        self._write_out = _until_stuck(self._write_through)
        self._has_reader = True

    def __enter__(self) -> RowRouter:
        try:
            self._open()
        except BaseException as error:
            self.drop(error)
            raise
        return self

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        try:
            if error is None:
                self._finish()
        except BaseException as other:
            error = other
            raise
        finally:
            if error is not None:
                self.drop(error)

    def _open(self) -> None:
        routing = self._routing
        if routing.tee is not None:
            self._copies.append(self._open_sink(routing.tee, live=True))
        if routing.accepted is not None:
            self._accepted.append(self._open_sink(routing.accepted))
        # Opening a pipe may wait for its reader until we are stopped: everything else comes first.
        if routing.passing is not None:
            (self._copies if routing.passing == "all" else self._accepted).append(self._pass_on)
        if routing.rejected is not None:
            self._rejected = self._open_sink(routing.rejected)
            self._sidecar = self._open_sink(routing.rejected + SIDECAR)

    def taps(self) -> list[Sink]:
        """Return the sinks that receive every byte of the input as it is read."""
        return [*self._copies, self._flush] if self._copies and not self._skips else []

    def take(
        self, block: Block, result: BlockResult, findings: Sequence[Finding], rest: IO[bytes] | None
    ) -> None:
        """Write the rows of a block to their outputs; `rest` was cut off its only line."""
        if block.data is None or not self._takes_rows:
            return
        runs, tally = _runs(block.data, result.fates), result.tally
        has_blanks = tally.lines > tally.rows + tally.noise.total()
        if self._skips:
            for fate, data in runs:
                if fate is not LineStatus.NOISE:
                    self._keep(data, rest)
        for fate, data in runs:
            if fate is None:
                self._accept(_BLANKS.sub(b"", data) if has_blanks else data)
            elif fate is LineStatus.REJECTED:
                self._reject(data, rest)
        if self._sidecar is not None:
            self._explain(self._sidecar, result, findings)
        if rest is not None:
            rest.close()
        self._flush()

    @property
    def _takes_rows(self) -> bool:
        """Whether an output depends on the result of a block."""
        return self._skips or bool(self._accepted) or self._rejected is not None

    def _finish(self) -> None:
        """Finish all files; each appears complete."""
        for output in self._files:
            output.finish()
        while self._files:
            self._files.pop(0).__exit__(None, None, None)

    def drop(self, error: BaseException) -> None:
        """Stop after an error: delete unfinished files, but keep a copy."""
        while self._files:
            output = self._files.pop()
            with suppress(CannotWrite):
                output.__exit__(type(error), error, error.__traceback__)

    def _pass_on(self, data: Bytes) -> None:
        self._through.append(data)
        if len(self._through) >= MOST_HELD:
            self._flush()

    def _flush(self, _data: Bytes = b"") -> None:
        through, self._through = self._through, []
        for data in through:
            self._write_out(data)

    def _write_through(self, data: Bytes) -> None:
        """Write rows to standard output, as long as it has a reader.

        Raises BrokenPipeError for one that is gone, unless rows are written to files as well, and
        CannotWrite.
        """
        if not self._has_reader:
            return
        try:
            write_all(sys.stdout.fileno(), data)
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                raise CannotWrite(unwritable("standard output", error)) from error
            if self._routing.end_with_reader or not self._files:
                raise
            self._has_reader = False
            names = ", ".join(on_one_line(printable(file.path)) for file in self._files)
            notify(f"the reader of the rows is gone; they still go to {names}")

    def _open_sink(self, path: str, *, live: bool = False) -> Sink:
        """Open a file and return its sink; it may be the pipe that is our standard output.

        Rows are compressed as the name says; a live file gets the bytes as they are.
        """
        if is_standard_output(path):
            return self._pass_on
        output = PackedOutput(path, live=live, kind=self._kinds.get(path))
        self._files.append(output)
        return _until_stuck(output.write)

    def _keep(self, data: bytes, rest: IO[bytes] | None) -> None:
        for piece in _with_rest(data, rest):
            if self.kept is not None:
                self.kept.update(piece)
            for sink in self._copies:
                sink(piece)

    def _accept(self, data: bytes) -> None:
        for sink in self._accepted:
            sink(data)

    def _reject(self, data: bytes, rest: IO[bytes] | None) -> None:
        if self._rejected is not None:
            for piece in _with_rest(data, rest):
                self._rejected(piece)

    def _explain(self, sidecar: Sink, result: BlockResult, findings: Sequence[Finding]) -> None:
        """Write the findings of rejected rows beside them, with their line number there."""
        lines = sorted(line for line, fate in result.fates.items() if fate is LineStatus.REJECTED)
        numbers = {line: self._rejects + index for index, line in enumerate(lines, 1)}
        self._rejects += len(lines)
        for located, finding in zip(result.violations, findings, strict=True):
            if located.line in numbers:
                entry = {"row": numbers[located.line], **finding.as_dict()}
                sidecar(dumps(entry) + b"\n")


def _until_stuck(sink: Sink) -> Sink:
    """Return a sink that drops data when the process is to stop and the reader takes nothing.

    The current block still goes to its other outputs, and all rows read are still counted.
    """
    is_stuck = False

    def write(data: Bytes) -> None:
        nonlocal is_stuck
        if not is_stuck:
            try:
                sink(data)
            except Stopped:
                is_stuck = True

    return write


def _runs(data: bytes, fates: Mapping[int, LineStatus]) -> list[tuple[LineStatus | None, bytes]]:
    """Split the bytes of a block into lines of equal status; None stands for accepted ones."""
    if not fates:
        return [(None, data)]
    runs: list[tuple[LineStatus | None, bytes]] = []
    start = place = 0
    for number, stop in enumerate(line_ends(data), 1):
        fate = fates.get(number)
        if fate is not None:
            if place > start:
                runs.append((None, data[start:place]))
            runs.append((fate, data[place:stop]))
            start = stop
        place = stop
    if place > start:
        runs.append((None, data[start:place]))
    return runs


def line_ends(data: bytes) -> Iterator[int]:
    """Iterate over the ends of lines, newlines included."""
    place = 0
    while place < len(data):
        place = data.find(b"\n", place) + 1 or len(data)
        yield place


def _with_rest(data: bytes, rest: IO[bytes] | None) -> Iterator[bytes]:
    """Iterate over the bytes of a line, and the bytes that were cut off it."""
    yield data
    if rest is not None:
        rest.seek(0)
        while piece := rest.read(MEBIBYTE):
            yield piece
