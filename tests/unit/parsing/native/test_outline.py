"""The outline of a JSON document: what it keeps, and what it refuses."""

import json

import msgspec
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st

from evalstream.parsing.native.binding import library
from evalstream.parsing.native.outline import DocumentProgress, Outline

LIBRARY = library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the scanner is not compiled")

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def outlined(data: bytes, piece: int = 1 << 18) -> tuple[DocumentProgress, bytes]:
    assert LIBRARY is not None
    outline = Outline(LIBRARY)
    for start in range(0, len(data), piece):
        outline.add(data[start : start + piece])
    result = outline.add(b"\n")
    return result, outline.text()


def is_valid(data: bytes) -> bool:
    """Tell whether the fast parser reads a document, and Python its UTF-8."""
    try:
        msgspec.json.Decoder(msgspec.Raw).decode(data)
        data.decode()
    except (msgspec.DecodeError, ValueError):
        return False
    return True


@given(values, st.booleans(), st.sampled_from([None, 1]), st.integers(1, 9))
def test_a_small_document_is_its_own_outline(
    value: object, ascii_only: bool, indent: int | None, piece: int
) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    result, text = outlined(data, piece)
    assert result is DocumentProgress.WHOLE
    assert json.loads(text) == value


@given(
    values,
    st.booleans(),
    st.floats(0, 1),
    st.integers(0, 1),
    st.sampled_from([b"", *(bytes([one]) for one in b'"\\{}[],:019.eE+-tfnu \n\x00\x80\xc3\xf0')]),
)
def test_a_changed_document_is_valid_where_the_parser_says_so(
    value: object, ascii_only: bool, place: float, dropped: int, added: bytes
) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only).encode()
    at = int(place * len(data))
    changed = data[:at] + added + data[at + dropped :]
    result, _ = outlined(changed, 7)
    assert (result is DocumentProgress.WHOLE) == is_valid(changed)


@pytest.mark.parametrize("piece", [1, 5, 1 << 18])
@each(
    ("text", "is_json"),
    [
        (b'"\\ud83d\\ude00"', True),
        (b'"\\ud83d"', False),
        (b'"\\ude00"', False),
        (b'"\\ud83d\\n"', False),
        (b'"\\ud83dx"', False),
        ("\ud83d".encode(errors="surrogatepass").join([b'"', b'"']), False),
        (b'"\xc0\x80"', False),
        (b'"\xf4\x90\x80\x80"', False),
        ('"\N{GRINNING FACE}"'.encode(), True),
        (b"01", False),
        (b"-", False),
        (b"1.", False),
        (b"1e5", True),
        (b"[1,]", False),
        (b'{"a":1}{"b":2}', False),
        (b'{"a":1]', False),
        (b"", False),
    ],
)
def test_the_grammar_is_that_of_json(text: bytes, is_json: bool, piece: int) -> None:
    assert is_valid(text) == is_json
    assert (outlined(text, piece)[0] is DocumentProgress.WHOLE) == is_json


def test_all_members_are_kept_and_long_lists_are_cut() -> None:
    rows = [{"id": number, "text": "word " * 20} for number in range(50_000)]
    late = {"file_path": "x_samples.jsonl", "more": rows[:100]}
    result, text = outlined(json.dumps({"a": rows, "b": rows, "last": late}).encode())
    found = json.loads(text)
    assert result is DocumentProgress.WHOLE
    assert list(found) == ["a", "b", "last"]
    assert found["a"] == rows[: len(found["a"])]
    assert 100 < len(found["b"]) < len(rows)
    assert found["last"] == late
    assert len(text) < 1 << 18


def test_a_long_list_keeps_its_first_items() -> None:
    rows = [{"id": number} for number in range(200_000)]
    result, text = outlined(json.dumps(rows).encode())
    assert result is DocumentProgress.WHOLE
    found = json.loads(text)
    assert found == rows[: len(found)]
    assert 1000 < len(found) < len(rows)


@pytest.mark.parametrize("character", ["x", "\N{GRINNING FACE}", "\N{EURO SIGN}", "\n"])
@pytest.mark.parametrize("ascii_only", [True, False])
@each("shift", range(4))
def test_a_long_string_is_cut_between_characters(
    character: str, ascii_only: bool, shift: int
) -> None:
    value = "a" * shift + character * 20_000
    result, text = outlined(json.dumps([value, 1], ensure_ascii=ascii_only).encode(), 100)
    assert result is DocumentProgress.WHOLE
    kept, one = json.loads(text)
    assert value.startswith(kept)
    assert 500 < len(kept) < len(value)
    assert one == 1


def test_inner_values_below_eight_levels_are_emptied() -> None:
    data = b"[" * 150 + b"]" * 150
    result, text = outlined(data)
    assert result is DocumentProgress.WHOLE
    assert text == b"[" * 9 + b"]" * 9


@each(
    "data",
    [
        b"[" * 300 + b"]" * 300,
        b"[" + b"1" * 10_000 + b"]",
        b"{" + b",".join(b'"member %d": "%0100d"' % (one, 1) for one in range(100_000)) + b"}",
    ],
    ids=["depth", "number", "members"],
)
def test_a_document_without_an_outline_must_be_read_whole(data: bytes) -> None:
    result, _ = outlined(data)
    assert result is DocumentProgress.TOO_LARGE
