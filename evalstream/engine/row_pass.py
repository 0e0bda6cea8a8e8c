"""Read the rows of a run once: open, check block by block, digest, and route them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine import layout
from evalstream.engine.collector import Collector
from evalstream.engine.context import CheckContext
from evalstream.engine.open_rows import OpenRows, Source, open_rows
from evalstream.engine.result import BlockResult
from evalstream.engine.routing import RowRouter
from evalstream.executors import serial
from evalstream.executors.base import Backend, run_in_order
from evalstream.io.block_digests import digest_of_lines
from evalstream.io.file import FileSource, read_lines
from evalstream.io.progress import Progress
from evalstream.io.readers import READ_BYTES
from evalstream.io.remote import is_remote
from evalstream.io.shared_slots import SharedSlots
from evalstream.io.stream import StreamSource
from evalstream.model.block import MEBIBYTE, TOO_LONG_BY, Block, Lines
from evalstream.model.data_class import DataClass, field
from evalstream.model.errors import BrokenCompression, CannotCheck, ExecutorLost, MissingExtra
from evalstream.model.finding import PlacedViolation, Severity, Violation
from evalstream.model.options import Options
from evalstream.model.signals import Stopped
from evalstream.model.text import counted
from evalstream.rules.base import Rule
from evalstream.rules.inputs import ES001, ES002, ES003, ES005, ES008
from evalstream.rules.syntax import ES102, ES103, ES113
from evalstream.rules.torn_line import ES104

if TYPE_CHECKING:
    from evalstream.parsing.array_splitter import ArrayError

BLOCK_BYTES: Final = 2 * MEBIBYTE
"""Block size in this process, and a quarter of the size that workers read themselves."""

STREAM_LOOK_AHEAD: Final = 3
"""Blocks of a stream in memory for each worker; more do not make it faster."""

CLUSTER_BLOCK_BYTES: Final = 64 * MEBIBYTE
"""Large enough that the transfer to another machine does not matter."""

SMALLEST_BLOCK_BYTES: Final = MEBIBYTE
WORTH_A_POOL_BYTES: Final = 24 * MEBIBYTE
"""Below this size a second process costs more time than it saves."""


BREAKS: Final = {rule.name: rule for rule in (ES003, ES103, ES104, ES113)}
"""The rules that a broken array of rows violates; no further finding of them is possible."""


class RowPass(DataClass):
    """One pass over an input, and its result.

    `digests` are those of the whole input, by what they cover (`stored`, `unpacked` or `rows`) and
    algorithm; empty if it was not read to its end. `violations` concern the whole file, `breaks` a
    place in it. `incomplete_reason` says why rows could not be checked, `lacks` that a library was
    missing; `size` counts the unpacked bytes of the rows that were checked.
    """

    name: str
    options: Options
    algorithms: tuple[str, ...]
    outlets: RowRouter
    progress: Progress
    opened: OpenRows | None = None
    layout: str = "unread"
    digests: dict[str, dict[str, str]] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    breaks: list[PlacedViolation] = field(default_factory=list)
    incomplete_reason: str | None = None
    lacks: bool = False
    size: int = 0
    of_aggregates: Collection[str] = ()

    def open(self, path: str) -> bytes:
        """Open the rows and return their first bytes."""
        try:
            taps = self.outlets.taps()
            self.opened = open_rows(
                path,
                self.name,
                self.options,
                self.algorithms,
                taps,
                of_aggregates=self.of_aggregates,
            )
        except MissingExtra as error:
            self.lacks = True
            self._fail(ES001 if is_remote(path) else ES002, str(error))
        except (OSError, CannotCheck) as error:
            self._fail(ES001, f"cannot be opened: {reason_of(error)}")
        except Stopped as stopped:
            self._cannot(f"stopped by {stopped.name} before any row came")
        return b"" if self.opened is None else self.opened.take_head()

    @property
    def source(self) -> Source | None:
        """The source of the rows, None if they could not be opened."""
        return None if self.opened is None else self.opened.source

    def run(self, collector: Collector[Any]) -> None:
        """Check the rows, and pass the results to the collector."""
        opened = self.opened
        if opened is None:
            return
        self.progress.begin(self.name, opened.total)
        try:
            if opened.layout.kind in (layout.JSONL, layout.JSON_ARRAY):
                self._check(opened, collector)
            else:
                self._pass_over(opened)
            self.digests = opened.digests()
            if self.outlets.kept is not None:
                self.digests["rows"] = self.outlets.kept.result()
            self.layout = opened.layout.kind
        except BrokenCompression as error:
            rows = counted(collector.tally.rows, "row")
            self._fail(ES002, f"{error}; {rows} before the break could be checked")
        except BrokenPipeError:
            raise
        except OSError as error:
            self._fail(ES001, f"reading failed part-way: {reason_of(error)}")
        except (ExecutorLost, MissingExtra) as error:
            # The input is not at fault: the executor that was to check it is gone.
            self._cannot(str(error))
        except CannotCheck as error:
            self._fail(ES001, str(error))
        except Stopped as stopped:
            self._cannot(f"stopped by {stopped.name} {_how_far(opened, collector)}")
        finally:
            self.progress.end()

    def close(self) -> None:
        """Close the input."""
        if self.opened is not None:
            self.opened.source.close()

    def _check(self, opened: OpenRows, collector: Collector[Any]) -> None:
        try:
            results, under_way = self._results(opened, collector.context)
            for result in results:
                block = under_way.popleft()
                if isinstance(opened.source, FileSource):
                    opened.source.note_checked(result.read)
                findings = collector.add(result, block.places)
                if isinstance(opened.source, StreamSource):
                    self.outlets.take(block, result, findings, opened.rest(block.offset))
                    opened.source.release(block)
                self.size += block.length
                count = sum(collector.counts.values())
                self.progress.advance(block.length, collector.tally.rows, count)
        finally:
            collector.end_of_rows()
        if opened.array_error is not None:
            self._break_off(opened.array_error, collector.tally.rows)

    def _results(
        self, opened: OpenRows, context: CheckContext
    ) -> tuple[Iterator[BlockResult], deque[Block]]:
        """Return the results of the blocks of an input in order, and the blocks in progress."""
        source = opened.source
        backend, length = backend_for(opened, context)
        context.checker().expect(source.size)
        if isinstance(source, FileSource):
            blocks = self._ranges(source, backend, length)
        else:
            source.start_digest(self.algorithms)
            if backend.name == "pool":
                _share(source, backend, length)
            blocks = opened.blocks(length, self.options.max_line_bytes)
        under_way: deque[Block] = deque()
        check = partial(check_block, context)
        noted = _noted(blocks, under_way)
        # All rows read of a stream were already passed on, and are checked before it ends.
        is_stream = isinstance(source, StreamSource)
        return run_in_order(backend, check, noted, tasks_raise_stopped=is_stream), under_way

    def _ranges(self, source: FileSource, backend: Backend, length: int) -> Iterator[Block | None]:
        """Return the byte ranges of a file, which is digested in parallel.

        Ranges that this process checks are read and digested once; for ranges that workers read
        themselves the digests are compared.
        """
        if backend.name == "serial":
            source.start_digest(self.algorithms)
            return source.lines(length, self.options.max_line_bytes)
        if backend.submit_aside is not None:
            source.digest_in_task(self.algorithms, length, backend.submit_aside)
            return source.blocks(length, other_machines=True)
        return source.digest_in_thread(self.algorithms, length, source.blocks(length))

    def _break_off(self, error: ArrayError, rows: int) -> None:
        """Report where an array of rows breaks; the rest cannot be checked."""
        message = (
            f"{error.message} (byte {error.offset:,} of the file); "
            f"{counted(rows, 'whole row')} before, and the rest was not checked"
        )
        rule = BREAKS[error.name]
        self.breaks.append(PlacedViolation(rule.violation(message, pointer=f"/{rows}"), error.line))
        self._cannot("the array of rows could not be read to its end")

    def _pass_over(self, opened: OpenRows) -> None:
        """Report why the rows were not checked; their bytes are still digested."""
        found, source = opened.layout, opened.source
        if found.kind == layout.WIDE:
            message = f"the file is in {found.detail}, not UTF-8; its rows cannot be read"
            self.violations.append(ES102.violation(message, severity=Severity.ERROR))
        elif found.kind == layout.FOREIGN:
            self.violations.append(ES008.violation(found.detail))
        else:
            self.violations.append(ES005.violation("this is an aggregate, not a file of rows"))
        self._cannot(f"{self.name}: the rows were not checked")
        source.start_digest(self.algorithms)
        for _ in source.pieces() if isinstance(source, StreamSource) else ():
            pass

    def _fail(self, rule: Rule, reason: str) -> None:
        self._cannot(reason)
        self.violations.append(rule.violation(reason))

    def _cannot(self, reason: str) -> None:
        self.incomplete_reason = self.incomplete_reason or reason


def check_block(context: CheckContext, block: Block) -> BlockResult:
    """Check one block in this process; the task that executors run."""
    if block.data is None:
        lines = read_lines(block, context.options.max_line_bytes)
        return context.checker().run(lines)._replace(read=digest_of_lines(lines))
    lines = Lines(
        block.content,
        base=block.offset,
        final=block.final,
        places=block.places,
        overlong=block.overlong,
    )
    return context.checker().run(lines)


def reason_of(error: Exception) -> str:
    """Return the text of an error, in the operating system's words if it is a system error."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _how_far(opened: OpenRows, collector: Collector[Any]) -> str:
    """Say how much of an input was checked when it was stopped."""
    lines = counted(collector.tally.lines, "line")
    begun = len(opened.source.unfinished) if isinstance(opened.source, StreamSource) else 0
    more = f" and {counted(begun, 'byte')} of the next" if begun else ""
    return f"after {lines}{more}: the verdict is partial"


def _share(source: StreamSource, backend: Backend, length: int) -> None:
    """Place the blocks of a stream in memory that workers share, if there is enough of it."""
    with suppress(OSError):
        source.share(SharedSlots(backend.window + 1, length + READ_BYTES))


def _noted(blocks: Iterable[Block | None], under_way: deque[Block]) -> Iterator[Block | None]:
    """Yield blocks, and add them to the blocks in progress, for the reader of their results."""
    for block in blocks:
        if block is not None:
            under_way.append(block)
        if block is not None and block.data is not None and block.overlong:
            # It is only searched for a byte order mark, and so need not be sent.
            yield block._replace(data=block.content[:TOO_LONG_BY])
        else:
            yield block


def backend_for(opened: OpenRows, context: CheckContext) -> tuple[Backend, int]:
    """Choose the executor that checks the blocks of an input, and their length.

    A file can be cut anywhere and read by the workers of a cluster; a stream stays on this machine.
    Rows that arrive slowly while a consumer waits are checked in this process: starting workers
    would delay the first ones. An ordered context is checked in this process, too. Raises
    MissingExtra and ExecutorLost if such workers are not available.
    """
    options, source = context.options, opened.source
    if options.executor == "serial" or context.is_ordered:
        return serial.backend(), BLOCK_BYTES
    jobs = options.jobs or usable_cores()
    if options.executor == "dask" and isinstance(source, FileSource):
        from evalstream.executors.dask import backend as dask

        place = options.dask_address, options.dask_scheduler_file
        return dask.backend(*place, workers=jobs), CLUSTER_BLOCK_BYTES
    if jobs <= 1 or (options.executor != "pool" and _is_small(source, options)):
        return serial.backend(), BLOCK_BYTES
    from evalstream.executors import pool

    if isinstance(source, StreamSource):
        return pool.backend(jobs)._replace(look_ahead=STREAM_LOOK_AHEAD), BLOCK_BYTES
    # A range of a file is sent as two numbers, and fewer ranges cost less.
    length = max(SMALLEST_BLOCK_BYTES, min(4 * BLOCK_BYTES, source.size // (4 * jobs)))
    return pool.backend(jobs), length


def _is_small(source: Source, options: Options) -> bool:
    """Tell whether an input is too small to start workers for."""
    if isinstance(source, StreamSource):
        return source.ended or (options.routing.is_interactive and not source.has_more)
    return source.size < WORTH_A_POOL_BYTES
