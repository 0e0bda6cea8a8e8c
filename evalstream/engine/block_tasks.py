"""Cut the rows of a run into blocks, and run a function over them on the executor that fits."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from evalstream.engine.open_rows import OpenRows, Source
from evalstream.executors import serial
from evalstream.executors.base import Backend, Result, Work, run_in_order
from evalstream.io.file import FileSource, read_lines
from evalstream.io.readers import READ_BYTES
from evalstream.io.shared_slots import SharedSlots
from evalstream.io.stream import StreamSource
from evalstream.model.block import MEBIBYTE, TOO_LONG_BY, Block, Lines
from evalstream.model.data_class import NamedTuple
from evalstream.model.options import Options

BLOCK_BYTES: Final = 2 * MEBIBYTE
"""Block size in this process, and a quarter of the size that workers read themselves."""

STREAM_LOOK_AHEAD: Final = 3
"""Blocks of a stream in memory for each worker; more do not make it faster."""

SMALLEST_BLOCK_BYTES: Final = MEBIBYTE
WORTH_A_POOL_BYTES: Final = 24 * MEBIBYTE
"""Below this size a second process costs more time than it saves."""


class BlockPlan(NamedTuple):
    """How an input is cut and who works on it: the blocks, and those that were taken from them.

    None among the blocks stands for a pause. Workers read blocks without bytes themselves, and of
    those `length` is the length. The caller takes each block from `under_way` when its result
    comes, and calls `done_with` for it.
    """

    backend: Backend
    length: int
    blocks: Iterator[Block | None]
    under_way: deque[Block]
    is_stream: bool


def plan_blocks(
    opened: OpenRows, options: Options, algorithms: Sequence[str], *, is_ordered: bool = False
) -> BlockPlan:
    """Plan the pass over the blocks of an input; all its bytes are digested in the same pass.

    `is_ordered` says that this process must work on all blocks, in order.
    """
    source = opened.source
    backend, length = backend_for(opened, options, is_ordered=is_ordered)
    longest = options.max_line_bytes
    if isinstance(source, FileSource):
        blocks: Iterator[Block | None] = _ranges(source, backend, length, algorithms, longest)
    else:
        source.start_digest(algorithms)
        if backend.name == "pool":
            _share(source, backend, length)
        blocks = opened.blocks(length, longest)
    under_way: deque[Block] = deque()
    is_stream = isinstance(source, StreamSource)
    return BlockPlan(backend, length, _noted(blocks, under_way), under_way, is_stream)


def run_blocks(
    plan: BlockPlan, function: Callable[[Work], Result], tasks: Iterable[Work | None]
) -> Iterator[Result]:
    """Run a function over the tasks of a plan, and yield the results in their order."""
    # All rows read of a stream were already passed on, and are used before it ends.
    return run_in_order(plan.backend, function, tasks, tasks_raise_stopped=plan.is_stream)


def done_with(source: Source, block: Block, read: bytes) -> None:
    """Release a block; `read` is the digest of its lines where a worker read them itself."""
    if isinstance(source, FileSource):
        source.note_checked(read)
    else:
        source.release(block)


def lines_of(block: Block, longest: int) -> Lines:
    """Return the lines of a block, which are read if it has no bytes. Raises OSError."""
    if block.data is None:
        return read_lines(block, longest)
    return Lines(
        block.content,
        base=block.offset,
        final=block.final,
        places=block.places,
        overlong=block.overlong,
    )


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _ranges(
    source: FileSource, backend: Backend, length: int, algorithms: Sequence[str], longest: int
) -> Iterator[Block]:
    """Return the byte ranges of a file, which is digested in parallel.

    Ranges of which this process reads the lines are read and digested once; for ranges that workers
    read themselves the digests are compared.
    """
    if backend.name == "serial":
        source.start_digest(algorithms)
        return source.lines(length, longest)
    return source.digest_in_thread(algorithms, length, source.blocks(length))


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


def backend_for(
    opened: OpenRows, options: Options, *, is_ordered: bool = False
) -> tuple[Backend, int]:
    """Choose the executor for the blocks of an input, and their length.

    Blocks stay on this machine: a cluster gets whole runs. Rows that arrive slowly while a consumer
    waits stay in this process: starting workers would delay the first ones. So do blocks that must
    be seen in order.
    """
    source = opened.source
    if options.executor == "serial" or is_ordered:
        return serial.backend(), BLOCK_BYTES
    jobs = options.jobs or usable_cores()
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
