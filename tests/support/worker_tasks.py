"""Tasks that worker processes, here or on a cluster, import and run."""

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from evalstream.engine.result import BlockResult
from evalstream.engine.row_pass import check_block
from evalstream.executors.base import RemoteFunction
from evalstream.formats.eee.facts import RowContext
from evalstream.model.block import Block


def blocks(count: int, name: str = "rows.jsonl") -> list[Block]:
    """Make blocks that tests tell apart by their offset."""
    return [Block(name, number, 1, b"\n", final=number == count - 1) for number in range(count)]


def remote(function: Callable[..., Any], *first: Any) -> RemoteFunction[Block, Any]:
    """Return a task of this module, with its first arguments, as a function that travels."""
    return RemoteFunction(
        run_remote,
        lambda block: msgspec.msgpack.encode((function.__name__, first, tuple(block))),
        lambda _, answer: msgspec.msgpack.decode(answer),
    )


def run_remote(task: bytes) -> bytes:
    name, first, block = msgspec.msgpack.decode(task)
    return msgspec.msgpack.encode(partial(globals()[name], *first)(Block(*block)))


class Cycle:
    """An object that refers to itself; `alive` counts those of the process."""

    alive = 0

    def __init__(self) -> None:
        self.itself = self
        Cycle.alive += 1

    def __del__(self) -> None:
        Cycle.alive -= 1


def make_cycles(number: int, _: Block) -> int:
    """Make cycles, and return how many the process still has."""
    for _one in range(number):
        Cycle()
    return Cycle.alive


class Trap:
    """An object whose pickle creates a file where it is unpickled."""

    def __init__(self, flag: str) -> None:
        self._flag = flag

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self._flag),)


def return_trap(_versions: Any, _folder: str, _function: Any, task: bytes) -> Trap:
    """Return a trap in place of an answer, with the path of the block as its file."""
    _, _, block = msgspec.msgpack.decode(task)
    return Trap(block[0])


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


def file_content(block: Block) -> bytes:
    """Return what the file of a block holds, wherever the worker runs."""
    return Path(block.path).read_bytes()


def deadly_once(flag: str, block: Block) -> int:
    """Kill the worker the first time that one block is looked at."""
    if block.offset == 5 and not os.path.exists(flag):
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block.offset


def check_or_die(context: RowContext, block: Block, **_: Any) -> BlockResult:
    """Check a block, unless it is one that kills its worker."""
    if block.offset:
        os.kill(os.getpid(), signal.SIGKILL)
    return check_block(context, block)


def content_of(block: Block) -> bytes:
    return block.data


def content_or_die_once(flag: str, block: Block) -> bytes:
    """Return the bytes of a block, and kill the worker the first time that one is looked at."""
    if block.offset == 5 and not os.path.exists(flag):
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block.data


def check_or_die_once(flag: str, context: RowContext, block: Block, **_: Any) -> BlockResult:
    """Check a block; the first time that a later one is looked at, kill the worker."""
    if block.offset and not os.path.exists(flag):
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return check_block(context, block)
