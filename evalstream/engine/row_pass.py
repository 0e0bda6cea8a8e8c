"""Read the rows of a run once: cut them in blocks, check these on the executor that fits."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from evalstream.engine import layout
from evalstream.engine.collector import Collector
from evalstream.engine.open_rows import OpenRows, open_rows
from evalstream.engine.result import BlockResult, CheckContext
from evalstream.engine.routing import RowRouter
from evalstream.io.names import is_remote
from evalstream.io.progress import Progress
from evalstream.model.block import MEBIBYTE, TOO_LONG_BY, Block
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import (
    BrokenCompression,
    CannotCheck,
    ExecutorLost,
    MissingExtra,
    describe_error,
)
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

MOST_LINES: Final = 1 << 15
"""Number of lines of a block, as far as the first ones show: each takes memory until its end."""

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
    blocks: Generator[Block | None]
    under_way: deque[Block]
    is_stream: bool


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
    lines = opened.sample.count(b"\n")
    length = min(length, most, len(opened.sample) * MOST_LINES // lines if lines else most)
    if opened.sealed is None:
        opened.source.start_digest(algorithms)
    under_way: deque[Block] = deque()
    blocks = opened.blocks(length, options.max_line_bytes)
    if opened.is_packed_file and backend is not None and not backend.inherit_modules:
        from evalstream.executors.threads import iterate_ahead

        blocks = iterate_ahead(blocks)
    tracked = _track_blocks(blocks, under_way)
    return BlockPlan(opened.source, backend, tracked, under_way, opened.stream is not None)


def run_blocks(plan: BlockPlan, function: Callable[[Block], Result]) -> Iterator[Result]:
    """Run a function over the blocks of a plan, and iterate over the results in their order."""
    if plan.backend is None and not plan.is_stream:
        return map(function, _until_stopped(plan.blocks))
    return _run_in_order(plan, function)


def _until_stopped(blocks: Iterable[Block | None]) -> Iterator[Block]:
    STOPPING.check()
    for block in filter(None, blocks):
        yield block
        STOPPING.check()


def _run_in_order(plan: BlockPlan, function: Callable[[Block], Result]) -> Iterator[Result]:
    from evalstream.executors.base import SERIAL, run_in_order

    backend = plan.backend or SERIAL
    if plan.backend is not None and not backend.inherit_modules:
        plan.source.digest_in_thread()
    # All rows read of a stream were already passed on, and are used before it ends.
    with closing(plan.blocks) as blocks:
        for result in run_in_order(backend, function, blocks, tasks_raise_stopped=plan.is_stream):
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
) -> Generator[Block | None]:
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
    jobs = options.jobs or usable_cores()
    if jobs <= 1:
        return None, BLOCK_BYTES
    uses_pool = options.executor == "pool"
    if not uses_pool and _is_small(opened, options):
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
    if opened.stream is not None:
        return backend, most
    return backend, max(SMALLEST_BLOCK_BYTES, min(most, opened.total // (4 * jobs)))


def _is_small(opened: OpenRows, options: Options) -> bool:
    """Tell whether an input is too small to start workers for."""
    stream = opened.stream
    if stream is not None:
        return stream.is_at_end or (options.routing.is_interactive and not stream.has_more)
    return opened.total < WORTH_A_POOL_BYTES


BREAKS: Final = {rule.name: rule for rule in (ES003, ES103, ES104, ES113)}
"""The rules that a broken array of rows violates; no further finding of them is possible."""


class RowsRead(NamedTuple):
    """The state of an input: opened, if that was possible, and what its one pass found.

    `digests` are those of the whole input, by what they cover (`stored`, `unpacked` or `rows`) and
    algorithm; empty if it was not read to its end. `violations` concern the whole file, and
    `broken` the place where an array of rows breaks off. `incomplete_reason` says why rows could
    not be checked, `lacks` that a library was missing.
    """

    opened: OpenRows | None = None
    layout: str = "unread"
    digests: Mapping[str, Mapping[str, str]] = {}
    violations: Sequence[Violation] = ()
    broken: PlacedViolation | None = None
    incomplete_reason: str | None = None
    lacks: bool = False

    def close(self) -> None:
        """Close the input."""
        if self.opened is not None:
            self.opened.source.close()


class RowPass(NamedTuple):
    """How the rows of an input are read, once; reports call it `name`.

    With `any_rows` the log of a harness holds rows, too; `of_aggregates`, `sealed` and
    `describe_other` are as in `open_rows`.
    """

    name: str
    options: Options
    algorithms: tuple[str, ...]
    outlets: RowRouter
    progress: Progress
    of_aggregates: Collection[str] = ()
    any_rows: bool = False
    sealed: str | None = None
    describe_other: Callable[[bytes], str | None] | None = None

    def open(self, path: str) -> RowsRead:
        """Open the rows at a path, or say why they cannot be read."""
        try:
            return RowsRead(
                open_rows(
                    path,
                    self.name,
                    self.options,
                    self.algorithms,
                    self.outlets.taps(),
                    of_aggregates=self.of_aggregates,
                    any_rows=self.any_rows,
                    sealed=self.sealed,
                    describe_other=self.describe_other,
                )
            )
        except MissingExtra as error:
            rule, reason = (ES001 if is_remote(path) else ES002), str(error)
            return RowsRead(
                violations=[rule.violation(reason)], incomplete_reason=reason, lacks=True
            )
        except BrokenPipeError:
            raise
        except (OSError, CannotCheck) as error:
            reason = f"cannot be opened: {describe_error(error)}"
            return RowsRead(violations=[ES001.violation(reason)], incomplete_reason=reason)
        except Stopped as stopped:
            reason = f"stopped by {stopped.name} before any row came"
            return RowsRead(incomplete_reason=reason)

    def run(self, rows: RowsRead, collector: Collector[Any]) -> RowsRead:
        """Check opened rows, pass the results to the collector, and return what was read."""
        opened = rows.opened
        if opened is None:
            return rows
        violations: list[Violation] = []
        broken = known_reason = None
        self.progress.begin(self.name, opened.total)
        try:
            if opened.layout.kind in (layout.JSONL, layout.JSON_ARRAY):
                self._check_blocks(opened, collector)
                if opened.array_error is not None:
                    broken = _explain_break(opened.array_error, collector.tally.rows)
                    known_reason = "the array of rows could not be read to its end"
            else:
                violations.append(_explain_layout(opened.layout))
                known_reason = f"{self.name}: the rows were not checked"
                opened.source.start_digest(self.algorithms)
                for _ in () if opened.stream is None else opened.stream.pieces():
                    pass
            digests = opened.digests()
            if self.outlets.kept is not None:
                digests["rows"] = self.outlets.kept.result()
            return RowsRead(opened, opened.layout.kind, digests, violations, broken, known_reason)
        except BrokenPipeError:
            raise
        except (OSError, CannotCheck, Stopped) as error:
            rule, reason = _explain_failure(error, opened, collector)
            if rule is not None:
                violations.append(rule.violation(reason))
            return rows._replace(
                violations=violations, broken=broken, incomplete_reason=known_reason or reason
            )
        finally:
            self.progress.end()

    def _check_blocks(self, opened: OpenRows, collector: Collector[Any]) -> None:
        try:
            context = collector.context
            checker = context.checker()
            checker.expect(opened.source.size)
            plan = plan_blocks(
                opened,
                self.options,
                self.algorithms,
                is_ordered=context.is_ordered,
                is_native=partial(checker.is_native, opened.sample),
            )
            answer, stream = getattr(opened.origin, "answer", None), opened.stream
            unshown = collector.unshown if answer is None else frozenset()
            check = partial(check_block, context, unshown=unshown)
            for result in run_blocks(plan, check):
                block = plan.under_way.popleft()
                if not collector.size:
                    collector.expect(len(result.row_records) * (opened.total // block.length))
                findings = collector.add(result, block.places, block.length)
                if answer is not None:
                    answer(collector.latest)
                if stream is not None:
                    self.outlets.take(block, result, findings, stream.rest(block.offset))
                self.progress.advance(block.length, collector.tally.rows, collector.errors)
        finally:
            collector.end_of_rows()


def _explain_failure(
    error: OSError | CannotCheck | Stopped, opened: OpenRows, collector: Collector[Any]
) -> tuple[Rule | None, str]:
    """Return why an input was not read to its end, and the rule for it if the input is at fault."""
    if isinstance(error, BrokenCompression):
        rows = count_noun(collector.tally.rows, "row")
        return ES002, f"{error}; {rows} before the break could be checked"
    if isinstance(error, OSError):
        return ES001, f"reading failed part-way: {describe_error(error)}"
    if isinstance(error, Stopped):
        return None, f"stopped by {error.name} {_how_far(opened, collector)}"
    is_at_fault = not isinstance(error, (ExecutorLost, MissingExtra))
    return ES001 if is_at_fault else None, str(error)


def _explain_break(error: ArrayError, rows: int) -> PlacedViolation:
    """Report where an array of rows breaks; the rest cannot be checked."""
    message = (
        f"{error.message} (byte {error.offset:,} of the file); "
        f"{count_noun(rows, 'whole row')} before, and the rest was not checked"
    )
    violation = BREAKS[error.name].violation(message, pointer=f"/{rows}")
    return PlacedViolation(violation, error.line, error.column)


def _explain_layout(found: layout.Layout) -> Violation:
    """Report why a file holds no rows that can be checked."""
    if found.kind == layout.WIDE:
        message = f"the file is in {found.detail}, not UTF-8; its rows cannot be read"
        return ES102.violation(message, severity=Severity.ERROR)
    if found.kind == layout.FOREIGN:
        return ES008.violation(found.detail)
    return ES005.violation("this is an aggregate; name its rows, and it after --aggregate")


def check_block(
    context: CheckContext, block: Block, *, unshown: Set[CountKey] = frozenset()
) -> BlockResult:
    """Check one block; the task that executors run.

    `unshown` has the codes and severities of which no further finding is shown. It may grow where
    the task shares the driver's memory; the result then has fewer violations, and all counts.
    """
    return context.checker().run(block.lines(unshown))


def _how_far(opened: OpenRows, collector: Collector[Any]) -> str:
    """Say how much of an input was checked when it was stopped."""
    lines = count_noun(collector.tally.lines, "line")
    begun = 0 if opened.stream is None else len(opened.stream.unfinished)
    more = f" and {count_noun(begun, 'byte')} of the next" if begun else ""
    return f"after {lines}{more}: the verdict is partial"
