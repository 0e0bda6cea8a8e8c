"""The pool: shared memory with every start method, workers that die, functions sent once."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from worker_tasks import content_of, content_or_die_once

from evalstream.executors import pool
from evalstream.executors.base import run_in_order
from evalstream.io.shared_slots import SharedSlots
from evalstream.model.block import Block
from evalstream.model.shared_bytes import SharedBytes

METHODS = multiprocessing.get_all_start_methods()


@pytest.fixture
def slots() -> Iterator[SharedSlots]:
    slots = SharedSlots(10, 100)
    yield slots
    slots.close()


def _shared_blocks(slots: SharedSlots) -> list[Block]:
    """Make ten blocks in shared memory."""
    blocks = []
    for number in range(10):
        slot = slots.take()
        assert slot is not None
        slot.write(b"row %d\n" % number, 0)
        blocks.append(Block("x", number, 6, 60, data=slot.shared(6)))
    return blocks


EXPECTED = [b"row %d\n" % number for number in range(10)]


@pytest.mark.parametrize("method", METHODS)
def test_workers_see_shared_memory(
    method: str, slots: SharedSlots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_start_method", lambda: method)
    assert list(run_in_order(pool.backend(2), content_of, _shared_blocks(slots))) == EXPECTED


@pytest.mark.parametrize("second", METHODS)
def test_workers_that_follow_dead_ones_see_shared_memory(
    tmp_path: Path, second: str, slots: SharedSlots, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "died"
    monkeypatch.setattr(pool, "_start_method", lambda: second if flag.exists() else "fork")
    function = partial(content_or_die_once, str(flag))
    assert list(run_in_order(pool.backend(2), function, _shared_blocks(slots))) == EXPECTED
    assert flag.exists()


def test_a_reference_does_not_hold_the_bytes(slots: SharedSlots) -> None:
    block = _shared_blocks(slots)[3]
    pickled = pickle.dumps(block)
    assert b"row" not in pickled
    again = pickle.loads(pickled)
    assert isinstance(again.data, SharedBytes)
    assert again.content == block.unshared().data == b"row 3\n"
    assert again.unshared().unshared() == block.unshared()


def test_a_stale_reference_never_gives_other_bytes() -> None:
    first = SharedSlots(1, 10)
    slot = first.take()
    assert slot is not None
    stale = slot.shared(4)
    first.close()
    second = SharedSlots(1, 10)
    with pytest.raises(KeyError):
        _ = stale.view
    second.close()
