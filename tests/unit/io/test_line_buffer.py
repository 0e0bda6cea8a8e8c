"""Buffers of lines, with and without shared slots."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.io import line_buffer
from evalstream.io.line_buffer import LineBuffer
from evalstream.io.shared_slots import SharedSlots
from evalstream.model.shared_bytes import SharedBytes

SIZE = 64
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("extend"), st.binary(max_size=3 * SIZE).map(lambda data: data[:90])),
        st.tuples(st.just("fill"), st.sampled_from([b"\n", b"ab", b"a\nb", b"c" * SIZE])),
        st.tuples(st.just("take"), st.booleans()),
        st.tuples(st.just("clear"), st.none()),
        st.tuples(st.just("release"), st.none()),
    ),
    max_size=40,
)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_buffer, "WORTH_SHARING_BYTES", 8)


@bounded(max_examples=100)
@given(steps=STEPS, count=st.integers(0, 3))
def test_a_buffer_gives_what_was_put_in(steps: list[tuple[str, Any]], count: int) -> None:
    slots = SharedSlots(count, SIZE) if count else None
    buffer, expected = LineBuffer(slots), b""
    taken: list[tuple[bytes | SharedBytes, bytes]] = []
    for step, value in steps:
        if step == "extend":
            buffer.extend(value)
            expected += value
        elif step == "fill" and (room := buffer.room(len(value))) is not None:
            with room:
                room[: len(value)] = value
            buffer.add(len(value))
            expected += value
        elif step == "take":
            length = buffer.size if value else buffer.whole
            taken.append((buffer.take(length), expected[:length]))
            expected = expected[length:]
        elif step == "clear":
            buffer.clear()
            expected = b""
        elif step == "release" and taken:
            _release(slots, *taken.pop(0))
        assert buffer.size == len(expected)
        assert buffer.whole == expected.rfind(b"\n") + 1
        assert buffer.read(0, buffer.size) == expected
    for data, content in taken:
        _release(slots, data, content)
    if slots is not None:
        slots.close()


def _release(slots: SharedSlots | None, data: bytes | SharedBytes, content: bytes) -> None:
    """Check that nothing overwrote a block, and give its slot back."""
    if isinstance(data, SharedBytes):
        assert slots is not None
        assert bytes(data.view) == content
        slots.give_back(data.start)
    else:
        assert data == content


def test_large_blocks_lie_in_slots_while_there_are_some() -> None:
    slots = SharedSlots(2, SIZE)
    buffer = LineBuffer(slots)
    kinds = []
    for _ in range(3):
        buffer.extend(b"a line of bytes\nx")
        kinds.append(type(buffer.take(buffer.whole)))
    assert kinds == [SharedBytes, SharedBytes, bytes]
    assert buffer.read(0, buffer.size) == b"x"
    slots.close()


def test_what_is_too_long_for_a_slot_leaves_it_free() -> None:
    slots = SharedSlots(1, SIZE)
    buffer = LineBuffer(slots)
    buffer.extend(b"x" * SIZE)
    assert buffer.room(1) is None
    buffer.extend(b"y\n")
    assert buffer.take(buffer.whole) == b"x" * SIZE + b"y\n"
    buffer.extend(b"short again\n")
    assert isinstance(buffer.take(buffer.whole), SharedBytes)
    slots.close()
