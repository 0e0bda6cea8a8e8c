"""Tasks that worker processes, here or on a cluster, import and run."""

import os
import signal
import time
from pathlib import Path

from evalstream.engine.result import BlockResult
from evalstream.engine.row_pass import check_block
from evalstream.formats.eee.context import RowContext
from evalstream.io.file import read_lines
from evalstream.model.block import Block


def blocks(count: int, name: str = "rows.jsonl") -> list[Block]:
    """Make blocks that tests tell apart by their offset."""
    return [Block(name, number, 1, count) for number in range(count)]


def slow_at_first(block: Block) -> int:
    time.sleep(0.2 if block.offset == 0 else 0.0)
    return block.offset


def slow(block: Block) -> int:
    time.sleep(0.1)
    return block.offset


def noted(folder: str, block: Block) -> int:
    """Leave the number of the process behind, and take some time."""
    Path(folder, f"{block.offset}-{os.getpid()}").touch()
    return slow(block)


def failing(block: Block) -> int:
    if block.offset == 3:
        raise OSError(5, "Input/output error")
    return block.offset


def deadly(block: Block) -> int:
    if block.offset == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return block.offset


def lines_of(longest: int, block: Block) -> bytes:
    return read_lines(block, longest).data


def deadly_once(flag: str, block: Block) -> int:
    """Kill the worker the first time that one block is looked at."""
    if block.offset == 5 and not os.path.exists(flag):
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block.offset


def check_or_die(context: RowContext, block: Block) -> BlockResult:
    """Check a block, unless it is one that kills its worker."""
    if block.offset:
        os.kill(os.getpid(), signal.SIGKILL)
    return check_block(context, block)


def content_of(block: Block) -> bytes:
    return block.content


def content_or_die_once(flag: str, block: Block) -> bytes:
    """Return the bytes of a block, and kill the worker the first time that one is looked at."""
    if block.offset == 5 and not os.path.exists(flag):
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block.content


def check_or_die_once(flag: str, context: RowContext, block: Block) -> BlockResult:
    """Check a block; the first time that a later one is looked at, kill the worker."""
    if block.offset and not os.path.exists(flag):
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return check_block(context, block)
