"""Read the rows of a run once: cut them in blocks, check these on the executor that fits."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from evalstream.engine import layout
from evalstream.engine.collector import Collector
from evalstream.engine.open_rows import OpenRows, open_rows
from evalstream.engine.result import BlockResult, CheckContext
from evalstream.engine.routing import RowRouter
from evalstream.io.file import FileSource
from evalstream.io.names import is_remote
from evalstream.io.progress import Progress
from evalstream.model.block import MEBIBYTE, TOO_LONG_BY, Block
from evalstream.model.data_class import DataClass, NamedTuple, field
from evalstream.model.errors import BrokenCompression, CannotCheck, ExecutorLost, MissingExtra
from evalstream.model.finding import CountKey, PlacedViolation, Severity, Violation
from evalstream.model.options import Options
from evalstream.model.signals import STOPPING, Stopped
from evalstream.model.text import count_noun
from evalstream.rules.base import Rule
from evalstream.rules.inputs import ES001, ES002, ES003, ES005, ES008
from evalstream.rules.syntax import ES102, ES103, ES104, ES113

if TYPE_CHECKING:
    from evalstream.engine.open_rows import Source
    from evalstream.executors.base import Backend
    from evalstream.parsing.array_elements import ArrayError


Result = TypeVar("Result")

BLOCK_BYTES: Final = 2 * MEBIBYTE
"""Size of a block."""

SMALLEST_BLOCK_BYTES: Final = MEBIBYTE // 2

FEW_THREADS: Final = 4
"""Of more threads each has smaller blocks, and none that wait, so that memory stays bounded."""

WORTH_A_POOL_BYTES: Final = 24 * MEBIBYTE
"""Below this size workers, threads or processes, cost more time than they save."""


class BlockPlan(NamedTuple):
    """How an input is cut and who works on it: the blocks, and those that were taken from them.

    Without a backend this thread does, one block after the other. None among the blocks stands for
    a pause. The caller takes each block from `under_way` when its result comes.
    """

    source: Source
    backend: Backend | None
    blocks: Iterator[Block | None]
    under_way: deque[Block]


def plan_blocks(
    opened: OpenRows,
    options: Options,
    algorithms: Sequence[str],
    *,
    is_native: Callable[[], bool],
    is_ordered: bool = False,
    most: int = BLOCK_BYTES,
) -> BlockPlan:
    """Plan the pass over the blocks of an input; its bytes are digested in the same pass.

    Blocks have at most about `most` bytes.
    `is_ordered` says that this process must work on all blocks, in order. `is_native` is asked
    where workers pay off, and tells whether compiled code, which runs in threads, does most work.
    """
    backend, length = backend_for(opened, options, is_ordered=is_ordered, is_native=is_native)
    length = min(length, most)
    if opened.sealed is None:
        opened.source.start_digest(algorithms)
    under_way: deque[Block] = deque()
    blocks = _track_blocks(opened.blocks(length, options.max_line_bytes), under_way)
    return BlockPlan(opened.source, backend, blocks, under_way)


def run_blocks(plan: BlockPlan, function: Callable[[Block], Result]) -> Iterator[Result]:
    """Run a function over the blocks of a plan, and yield the results in their order."""
    is_stream = not isinstance(plan.source, FileSource)
    if plan.backend is None and not is_stream:
        STOPPING.check()
        for block in filter(None, plan.blocks):
            yield function(block)
            STOPPING.check()
        return
    from evalstream.executors.base import SERIAL, run_in_order

    backend = plan.backend or SERIAL
    if plan.backend is not None and not backend.inherit_modules:
        plan.source.digest_in_thread()
    # All rows read of a stream were already passed on, and are used before it ends.
    for result in run_in_order(backend, function, plan.blocks, tasks_raise_stopped=is_stream):
        if plan.backend is not None:
            # The first result shows that the workers are forked.
            plan.source.digest_in_thread()
        yield result


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _track_blocks(
    blocks: Iterable[Block | None], under_way: deque[Block]
) -> Iterator[Block | None]:
    """Yield blocks, and add them to the blocks in progress, for the reader of their results."""
    for block in blocks:
        if block is not None:
            under_way.append(block)
        if block is not None and block.overlong:
            # It is only searched for a byte order mark, and so need not be sent.
            yield block._replace(data=block.data[:TOO_LONG_BY])
        else:
            yield block


def backend_for(
    opened: OpenRows, options: Options, *, is_native: Callable[[], bool], is_ordered: bool = False
) -> tuple[Backend | None, int]:
    """Choose the executor for the blocks of an input, None for this thread, and their length.

    Blocks stay on this machine: a cluster gets whole runs. Rows that arrive slowly while a consumer
    waits stay in this thread: starting workers would delay the first ones. So do blocks that must
    be seen in order.
    """
    if options.executor == "serial" or is_ordered or options.jobs == 1:
        return None, BLOCK_BYTES
    source, jobs = opened.source, options.jobs or usable_cores()
    if jobs <= 1:
        return None, BLOCK_BYTES
    uses_pool = options.executor == "pool"
    if not uses_pool and _is_small(source, options):
        return None, BLOCK_BYTES
    most = BLOCK_BYTES
    if not uses_pool and is_native():
        from evalstream.executors import threads

        backend = threads.backend(jobs)
        if jobs > FEW_THREADS:
            backend, most = backend._replace(look_ahead=1), BLOCK_BYTES // 2
    else:
        from evalstream.executors import pool

        backend = pool.backend(jobs)
    if not isinstance(source, FileSource):
        return backend._replace(look_ahead=backend.look_ahead + 1), most
    return backend, max(SMALLEST_BLOCK_BYTES, min(most, source.size // (4 * jobs)))


def _is_small(source: Source, options: Options) -> bool:
    """Tell whether an input is too small to start workers for."""
    if not isinstance(source, FileSource):
        return source.is_at_end or (options.routing.is_interactive and not source.has_more)
    return source.size < WORTH_A_POOL_BYTES


BREAKS: Final = {rule.name: rule for rule in (ES003, ES103, ES104, ES113)}
"""The rules that a broken array of rows violates; no further finding of them is possible."""

SAMPLE_BYTES: Final = 1 << 16
"""First bytes of an input that show what kind of work its rows are."""


class RowPass(DataClass):
    """One pass over an input, and its result.

    `digests` are those of the whole input, by what they cover (`stored`, `unpacked` or `rows`) and
    algorithm; empty if it was not read to its end. `violations` concern the whole file, `breaks` a
    place in it. `incomplete_reason` says why rows could not be checked, `lacks` that a library was
    missing; `size` counts the unpacked bytes of the rows that were checked. With `any_rows` the log
    of a harness holds rows, too; `sealed` is as in `open_rows`.
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
    any_rows: bool = False
    sealed: str | None = None
    _sample: bytes = b""

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
                any_rows=self.any_rows,
                sealed=self.sealed,
            )
        except MissingExtra as error:
            self.lacks = True
            self._fail(ES001 if is_remote(path) else ES002, str(error))
        except (OSError, CannotCheck) as error:
            self._fail(ES001, f"cannot be opened: {describe_error(error)}")
        except Stopped as stopped:
            self._cannot(f"stopped by {stopped.name} before any row came")
        head = b"" if self.opened is None else self.opened.take_head()
        self._sample = head[:SAMPLE_BYTES]
        return head

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
            rows = count_noun(collector.tally.rows, "row")
            self._fail(ES002, f"{error}; {rows} before the break could be checked")
        except BrokenPipeError:
            raise
        except OSError as error:
            self._fail(ES001, f"reading failed part-way: {describe_error(error)}")
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
            context = collector.context
            checker = context.checker()
            checker.expect(opened.source.size)
            plan = plan_blocks(
                opened,
                self.options,
                self.algorithms,
                is_ordered=context.is_ordered,
                is_native=partial(checker.is_native, self._sample),
            )
            answer = getattr(opened.origin, "answer", None)
            unshown = collector.unshown if answer is None else frozenset()
            check = partial(check_block, context, unshown=unshown)
            for result in run_blocks(plan, check):
                block = plan.under_way.popleft()
                if not self.size:
                    collector.expect(len(result.row_records) * (opened.total // block.length))
                findings = collector.add(result, block.places)
                if answer is not None:
                    answer(collector.latest)
                if not isinstance(opened.source, FileSource):
                    self.outlets.take(block, result, findings, opened.rest(block.offset))
                self.size += block.length
                self.progress.advance(block.length, collector.tally.rows, collector.errors)
        finally:
            collector.end_of_rows()
        if opened.array_error is not None:
            self._break_off(opened.array_error, collector.tally.rows)

    def _break_off(self, error: ArrayError, rows: int) -> None:
        """Report where an array of rows breaks; the rest cannot be checked."""
        message = (
            f"{error.message} (byte {error.offset:,} of the file); "
            f"{count_noun(rows, 'whole row')} before, and the rest was not checked"
        )
        rule = BREAKS[error.name]
        violation = rule.violation(message, pointer=f"/{rows}")
        self.breaks.append(PlacedViolation(violation, error.line, error.column))
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
        for _ in () if isinstance(source, FileSource) else source.pieces():
            pass

    def _fail(self, rule: Rule, reason: str) -> None:
        self._cannot(reason)
        self.violations.append(rule.violation(reason))

    def _cannot(self, reason: str) -> None:
        self.incomplete_reason = self.incomplete_reason or reason


def check_block(
    context: CheckContext, block: Block, *, unshown: Set[CountKey] = frozenset()
) -> BlockResult:
    """Check one block; the task that executors run.

    `unshown` has the codes and severities of which no further finding is shown. It may grow where
    the task shares the driver's memory; the result then has fewer violations, and all counts.
    """
    return context.checker().run(block.lines(unshown))


def describe_error(error: Exception) -> str:
    """Return the text of an error, in the operating system's words if it is a system error."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _how_far(opened: OpenRows, collector: Collector[Any]) -> str:
    """Say how much of an input was checked when it was stopped."""
    lines = count_noun(collector.tally.lines, "line")
    begun = 0 if isinstance(opened.source, FileSource) else len(opened.source.unfinished)
    more = f" and {count_noun(begun, 'byte')} of the next" if begun else ""
    return f"after {lines}{more}: the verdict is partial"
