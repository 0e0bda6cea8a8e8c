"""Where rows go besides being checked: through to standard output, into a copy, or apart."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import IO, Final

from evalstream.engine.result import BlockResult, LineStatus
from evalstream.io.digest import RunningDigest
from evalstream.io.names import printable
from evalstream.io.output import Output
from evalstream.io.overwriting import is_device, is_same_file
from evalstream.io.remote import is_remote, shown
from evalstream.io.writing import write_all
from evalstream.model.block import MEBIBYTE, Block
from evalstream.model.errors import CannotWrite, UsageError
from evalstream.model.finding import Finding
from evalstream.model.options import Options, RowRouting
from evalstream.model.run import STDIN
from evalstream.model.signals import Stopped
from evalstream.parsing.json import dumps

SIDECAR: Final = ".findings.jsonl"
"""What the name of the findings of rejected rows adds to that of the rows."""

MOST_HELD: Final = 16
"""How many pieces wait for standard output while those of their block go elsewhere."""

_BLANKS = re.compile(rb"^(?:[ \t\r]*+\n)++|^[ \t\r]++\Z", re.MULTILINE)
"""Lines without anything on them, which are no rows."""

Sink = Callable[[bytes], object]


def check_flow(flow: RowRouting, inputs: Sequence[str], aggregate: str | None) -> None:
    """Raise UsageError where rows cannot go the ways they are to go."""
    if replace(flow, idle_timeout=RowRouting().idle_timeout) == RowRouting():
        return
    if len(inputs) != 1 or os.path.isdir(inputs[0]):
        raise UsageError(one_run_for(flow))
    (rows,) = inputs
    for name in outputs_of(flow):
        if is_remote(name):
            raise UsageError(f"{shown(name)}: only local files are written")
    if flow.follow and (rows == STDIN or not os.path.isfile(rows)):
        raise UsageError("--follow watches a file that is there; a pipe is followed by itself")
    is_stream = rows == STDIN or is_device(rows)
    if not (is_stream or flow.follow or flow.create):
        _refuse_missing(flow.seal_to)
    _refuse_another(flow.seal_to, aggregate)
    if flow.seal_to is not None and is_stream and not (flow.tee or flow.file_path):
        raise UsageError(
            "a stream is sealed together with the file that holds its rows: name one with --tee, "
            "or with --file-path if another program writes it"
        )


def refuse_rowless(flow: RowRouting, name: str) -> None:
    """Raise UsageError where rows are to go somewhere, and `name` has none."""
    if flow.passing or flow.tee or flow.accepted or flow.rejected or flow.follow:
        raise UsageError(f"{name} has no rows that could go somewhere")


def one_run_for(flow: RowRouting) -> str:
    """Say what needs exactly one rows file, and was given others."""
    if replace(flow, expect_rows=None, expect_samples=None) == RowRouting():
        return "--expect-rows and --expect-samples go with exactly one rows file (or - for stdin)"
    return "where rows go can be said of exactly one rows file (or - for stdin)"


def _refuse_missing(aggregate: str | None) -> None:
    """Raise UsageError where an aggregate that is to be sealed is not there."""
    if aggregate is not None and not is_remote(aggregate) and not os.path.exists(aggregate):
        raise UsageError(
            f"{printable(aggregate)}: the aggregate to be sealed is not there; --create begins a "
            "new one"
        )


def _refuse_another(sealed: str | None, aggregate: str | None) -> None:
    """Raise UsageError where rows are to be sealed in an aggregate they are not checked against."""
    if sealed is None or aggregate is None or not os.path.exists(sealed):
        return
    if not is_same_file(sealed, aggregate):
        raise UsageError(
            f"the rows would be checked against {printable(aggregate)} and sealed in "
            f"{printable(sealed)}: name one aggregate, or a new one to be sealed"
        )


def outputs_of(flow: RowRouting) -> list[str]:
    """Return the files that a flow writes."""
    sidecar = None if flow.rejected is None else flow.rejected + SIDECAR
    sealed = None if flow.dry_run else flow.seal_to
    named = (flow.tee, flow.accepted, flow.rejected, sidecar, sealed)
    return [name for name in named if name is not None]


class RowRouter:
    """The ways out for the rows of one run; close them with `finish` or `drop`.

    Raises CannotWrite where a file cannot be opened or written, BrokenPipeError where whoever
    read the rows is gone.
    """

    def __init__(self, options: Options, algorithms: Sequence[str]) -> None:
        self._flow = options.flow
        self._files: list[tuple[str, Output]] = []
        self._skips = options.skip_noise
        self.kept = RunningDigest(algorithms) if self._skips else None
        self._copies: list[Sink] = []
        self._accepted: list[Sink] = []
        self._rejected: Sink | None = None
        self._sidecar: Sink | None = None
        self._rejects = 0
        self._through: list[bytes] = []
        self._write_out = _until_stuck(lambda data: write_all(sys.stdout.fileno(), data))

    def open(self) -> None:
        """Open the files, before any row comes."""
        flow = self._flow
        if flow.tee is not None:
            self._copies.append(self._opened(flow.tee, live=True))
        if flow.accepted is not None:
            self._accepted.append(self._opened(flow.accepted))
        # Whoever reads there may keep us waiting until we are stopped: everything else comes first.
        if flow.passing is not None:
            (self._copies if flow.passing == "all" else self._accepted).append(self._pass_on)
        if flow.rejected is not None:
            self._rejected = self._opened(flow.rejected)
            self._sidecar = self._opened(flow.rejected + SIDECAR)

    def taps(self) -> list[Sink]:
        """Return what every byte of the input must be shown to as it comes."""
        return [*self._copies, self._flush] if self._copies and not self._skips else []

    def take(
        self, block: Block, result: BlockResult, findings: Sequence[Finding], rest: IO[bytes] | None
    ) -> None:
        """Send the rows of a block their ways; `rest` is what was cut off its only line."""
        if block.data is None:
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

    def finish(self) -> None:
        """Finish all files; they appear whole."""
        while self._files:
            path, output = self._files.pop(0)
            with _writing(path):
                output.__exit__(None, None, None)

    def drop(self, error: BaseException) -> None:
        """Give up after an error: files that are not finished disappear, a copy stays."""
        while self._files:
            _, output = self._files.pop()
            with suppress(OSError):
                output.__exit__(type(error), error, error.__traceback__)

    def _pass_on(self, data: bytes) -> None:
        self._through.append(data)
        if len(self._through) >= MOST_HELD:
            self._flush()

    def _flush(self, _data: bytes = b"") -> None:
        through, self._through = self._through, []
        for data in through:
            self._write_out(data)

    def _opened(self, path: str, *, live: bool = False) -> Sink:
        """Open a file and return what writes into it."""
        with _writing(path):
            output = Output(path, live=live)
        self._files.append((path, output))

        def write(data: bytes) -> None:
            with _writing(path):
                output.write(data)

        return _until_stuck(write)

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
        """Write what was found in the rejected rows beside them, with their number there."""
        lines = sorted(line for line, fate in result.fates.items() if fate is LineStatus.REJECTED)
        numbers = {line: self._rejects + index for index, line in enumerate(lines, 1)}
        self._rejects += len(lines)
        for located, finding in zip(result.faults, findings, strict=True):
            if located.line in numbers:
                said = {"row": numbers[located.line], **finding.as_dict()}
                sidecar(dumps(said) + b"\n")


def _until_stuck(sink: Sink) -> Sink:
    """Return a sink that is left alone once the process is to stop and it takes nothing.

    The block under way still goes its other ways, and what was read is still counted.
    """
    is_stuck = False

    def write(data: bytes) -> None:
        nonlocal is_stuck
        if not is_stuck:
            try:
                sink(data)
            except Stopped:
                is_stuck = True

    return write


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Tell faults of writing from those of reading."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror or error}") from error


def _runs(data: bytes, fates: Mapping[int, LineStatus]) -> list[tuple[LineStatus | None, bytes]]:
    """Cut the bytes of a block into lines that share a fate; None stands for accepted ones."""
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
    """Iterate over where lines end, their newlines included."""
    place = 0
    while place < len(data):
        place = data.find(b"\n", place) + 1 or len(data)
        yield place


def _with_rest(data: bytes, rest: IO[bytes] | None) -> Iterator[bytes]:
    """Iterate over the bytes of a line, and what was cut off it."""
    yield data
    if rest is not None:
        rest.seek(0)
        while piece := rest.read(MEBIBYTE):
            yield piece
