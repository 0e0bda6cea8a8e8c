"""Cut the rows of a run into blocks, and run a function over them on the executor that fits."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from evalstream.engine.open_rows import OpenRows
from evalstream.io.file import FileSource
from evalstream.model.block import MEBIBYTE, TOO_LONG_BY, Block
from evalstream.model.data_class import NamedTuple
from evalstream.model.options import Options
from evalstream.model.signals import STOPPING

if TYPE_CHECKING:
    from evalstream.engine.open_rows import Source
    from evalstream.executors.base import Backend

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
