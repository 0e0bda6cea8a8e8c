"""The compiled sums of draws."""

from array import array

import pytest

from evalstream.parsing.native.resample import resample_sums, resamplers

LIBRARY = resamplers()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the scanner is not compiled")


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "little") for number in numbers)


def test_a_word_chooses_a_row_by_its_size() -> None:
    assert LIBRARY is not None
    drawn = words(0, 2**30 - 1, 2**30, 2**31, 2**32 - 1)
    values = array("q", [1, 10, 100, 1000])
    assert list(resample_sums(LIBRARY, values, 1, drawn, [2, 0, 3])) == [2, 0, 1110]


def test_rows_are_added_column_by_column() -> None:
    assert LIBRARY is not None
    values = array("q", [1, -2, 3, 10, -20, 30])
    drawn = words(0, 2**31, 2**32 - 1)
    assert list(resample_sums(LIBRARY, values, 3, drawn, [3])) == [21, -42, 63]


def test_too_few_words_are_refused() -> None:
    assert LIBRARY is not None
    with pytest.raises(ValueError, match="words"):
        resample_sums(LIBRARY, array("q", [1]), 1, words(1), [2])
