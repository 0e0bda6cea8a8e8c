"""Threads of this process: what one of them makes ahead of its use."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.engine import row_pass
from evalstream.engine.open_rows import open_rows
from evalstream.executors import threads
from evalstream.executors.base import run_in_order
from evalstream.executors.threads import MOST_AHEAD, iterate_ahead
from evalstream.model.errors import BrokenCompression
from evalstream.model.options import Options


def broken_after(items: list[int | None]) -> Iterator[int | None]:
    yield from items
    raise BrokenCompression("broken")


def has_workers() -> bool:
    return "evalstream-worker" in {thread.name for thread in threading.enumerate()}


@bounded(max_examples=examples(50))
@given(items=st.lists(st.none() | st.integers(), max_size=9), breaks=st.booleans())
def test_the_same_items_come_in_order(items: list[int | None], breaks: bool) -> None:
    came, ahead = [], iterate_ahead(broken_after(items) if breaks else iter(items))
    try:
        for item in ahead:
            came.append(item)  # noqa: PERF402 - an error must not lose those before it
    except BrokenCompression:
        assert breaks
    else:
        assert not breaks
    assert came == items
    assert not has_workers()


@pytest.mark.parametrize("taken", [1, 5])
def test_few_items_are_made_ahead_and_closing_ends_the_thread(taken: int) -> None:
    made: list[int] = []
    ahead = iterate_ahead(made.append(number) or number for number in range(50))
    assert [next(ahead) for _ in range(taken)] == [*range(taken)]
    ahead.close()
    assert len(made) <= taken + MOST_AHEAD
    assert not has_workers()


@pytest.mark.parametrize("most", [0, 1])
def test_as_many_threads_as_the_system_has_do_the_work(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def start_few(thread: threading.Thread) -> None:
        if len(started) == most:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_few)
    assert list(run_in_order(threads.backend(3), str, range(9))) == [*map(str, range(9))]
    assert len(started) == most
    assert not has_workers()


def test_a_pass_that_is_left_ends_its_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_pass, "_is_small", lambda *_: False)
    path, options = tmp_path / "rows.jsonl.gz", Options(jobs=2)
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 1000))
    opened = open_rows(str(path), path.name, options, (), any_rows=True)
    plan = row_pass.plan_blocks(opened, options, (), is_native=lambda: True, most=900)
    lengths = row_pass.run_blocks(plan, lambda block: block.length)
    assert isinstance(lengths, Generator)
    assert next(lengths) == 900
    assert has_workers()
    lengths.close()
    assert not has_workers()
    opened.source.close()
