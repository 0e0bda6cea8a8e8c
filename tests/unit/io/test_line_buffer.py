"""Buffers of lines give what was put in."""

from __future__ import annotations

from typing import Any

from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.io.stream import LineBuffer

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("extend"), st.sampled_from([b"", b"\n", b"ab", b"a\nb", b"c" * 64])),
        st.tuples(st.just("take"), st.booleans()),
    ),
    max_size=40,
)


@bounded(max_examples=examples(100))
@given(steps=STEPS)
def test_a_buffer_gives_what_was_put_in(steps: list[tuple[str, Any]]) -> None:
    buffer, expected = LineBuffer(), b""
    for step, value in steps:
        if step == "extend":
            buffer.extend(value)
            expected += value
        else:
            length = buffer.size if value else buffer.whole
            assert buffer.take(length) == expected[:length]
            expected = expected[length:]
        assert buffer.size == len(expected)
        assert buffer.whole == expected.rfind(b"\n") + 1
