"""The values of one metric of a samples file, which its figures are computed from."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any, Final

from evalstream.parsing.json_values import is_texts
from evalstream.stats.tally import ScoreSums

MOST_VALUES: Final = 2000
"""Number of distinct values of a metric in a block above which they are summed up at once."""

MOST_ORDERED: Final = 1_000_000
"""Number of values in their order above which they are not kept."""

MOST_ORDERED_CHARACTERS: Final = 1 << 26
"""Number of characters of texts above which they are not kept."""

Pair = tuple[Any, Any]


class MetricValues:
    """The values of one metric in the rows of one filter.

    `texts` counts texts of numbers, as which the harness writes some types of numpy, `pairs` the
    pairs of numbers or texts, and `others` all other values. `ordered` are the pairs, and the
    numbers if `is_ordered`, in the order of the rows; it is None where there are too many.
    `derived` counts the values that were derived from the answers of their rows.
    """

    __slots__ = (
        "characters",
        "counts",
        "derived",
        "is_ordered",
        "ordered",
        "others",
        "pairs",
        "sums",
        "texts",
    )

    def __init__(self, *, is_ordered: bool = False) -> None:
        self.sums = ScoreSums(subtasks=None)
        self.others = self.texts = self.pairs = self.characters = self.derived = 0
        self.counts: Counter[float] = Counter()
        self.is_ordered = is_ordered
        self.ordered: list[Any] | None = []

    @property
    def rows(self) -> int:
        """The number of rows that have the metric; the values are settled."""
        return self.sums.joined_rows + self.others + self.texts + self.pairs

    def add(self, value: Any) -> None:
        """Add the value of a row."""
        if isinstance(value, (bool, int, float)):
            self.add_numbers([value])
        elif isinstance(value, str) and _is_number(value):
            self.texts += 1
        elif (pair := _pair(value)) is not None:
            self.pairs += 1
            self._keep([pair], sum(map(_length, pair)))
        else:
            self.others += 1

    def add_numbers(self, numbers: list[float]) -> None:
        """Add the numbers of some rows, in their order."""
        self.counts.update(numbers)
        if len(self.counts) > MOST_VALUES:
            self.settle()
        if self.is_ordered:
            self._keep(numbers, 0)

    def settle(self) -> MetricValues:
        """Sum up the counted values."""
        for value, times in self.counts.items():
            self.sums.add(None, value, None, failed=False, times=times)
        self.counts.clear()
        return self

    def merge(self, later: MetricValues) -> None:
        """Add the values of other rows; both are settled."""
        self.sums.merge(later.sums)
        self.others += later.others
        self.texts += later.texts
        self.pairs += later.pairs
        self.derived += later.derived
        if later.ordered is None:
            self.ordered = None
        else:
            self._keep(later.ordered, later.characters)

    def _keep(self, values: list[Any], characters: int) -> None:
        if self.ordered is None:
            return
        self.ordered += values
        self.characters += characters
        if len(self.ordered) > MOST_ORDERED or self.characters > MOST_ORDERED_CHARACTERS:
            self.ordered = None


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        return text.isascii() and bool(float(text) or True)
    return False


def _pair(value: Any) -> Pair | None:
    """Return a pair of numbers, or of texts and lists of them; None for another value."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    first, second = value
    if first and is_texts(first):
        first = tuple(first)
    is_text = isinstance(first, (str, tuple)) and isinstance(second, str)
    is_number = isinstance(first, (int, float)) and isinstance(second, (int, float))
    return (first, second) if is_text or is_number else None


def _length(part: Any) -> int:
    if isinstance(part, tuple):
        return sum(map(len, part))
    return len(part) if isinstance(part, str) else 0
