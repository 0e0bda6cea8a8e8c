"""What strict parsing shows of a text."""

from each import each

from evalstream.parsing.strict_json import EXCERPT_CHARACTERS, excerpt

TEXT = "".join(map(chr, range(0x4E00, 0x4EC8)))


@each("position", [0, EXCERPT_CHARACTERS // 2, EXCERPT_CHARACTERS, len(TEXT) - 1])
def test_an_excerpt_shows_what_is_at_its_position(position: int) -> None:
    shown, index = excerpt(TEXT, position)
    assert shown[index] == TEXT[position]
    assert len(shown) <= EXCERPT_CHARACTERS
