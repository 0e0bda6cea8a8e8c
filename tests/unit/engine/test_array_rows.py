"""What a broken array holds behind its last whole element."""

import pytest
from each import each

from evalstream.engine.array_rows import ArrayRemainder
from evalstream.parsing.array_elements import Element

ELEMENTS = [b'{"a": 1}', b'{"bc": [2, {}]}', b"3", b'{"def": "]"}']
SOUND = b"[ " + b" ,\n".join(ELEMENTS)
PLACES = [Element(text, SOUND.index(text), 1) for text in ELEMENTS]


@each("size", [1, 4, 7, 11, 1000])
@pytest.mark.parametrize("tail", [b"", b" \n", b', {"torn": 1', b',{"x": 2}} and more'])
def test_the_rest_is_what_follows_the_last_whole_element(size: int, tail: bytes) -> None:
    data, taken = SOUND + tail, list[tuple[bytes, int]]()
    remainder = ArrayRemainder(lambda rest, offset: taken.append((rest, offset)))
    for start in range(0, len(data), size):
        end = start + size
        known = [one for one in PLACES if start < one.offset + len(one.text) <= end]
        broken = [Element(tail, len(SOUND), 4, whole=False)] if end >= len(data) else []
        remainder.follow(data[start:end], [*known, *broken], breaks=end >= len(data))
    assert taken == ([(tail, len(SOUND))] if tail.strip() else [])


def test_an_array_that_breaks_at_once_is_its_own_rest() -> None:
    taken = list[tuple[bytes, int]]()
    remainder = ArrayRemainder(lambda rest, offset: taken.append((rest, offset)))
    remainder.follow(b"[torn", [], breaks=True)
    remainder.follow(b" and more", [], breaks=True)
    assert taken == [(b"[torn", 0), (b" and more", 5)]
