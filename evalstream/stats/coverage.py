"""The samples that the rows of each result cover, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from evalstream.model.data_class import DataClass, field
from evalstream.model.row_record import MARK_AT, PLACE_AT, SAMPLE_AT, RowRecords

WORTH_A_TABLE: Final = 256
"""Number of rows in the first block from which loading the compiled table pays off."""

_MODULUS: Final = 1 << 64
MOST_MARKS: Final = 256
"""Number of different repeat marks of a result above which they are not counted."""


class ResultCoverage(DataClass):
    """The samples that the rows of one result cover.

    `samples` counts distinct samples, `firsts` those that no earlier row of another result scores.
    `digest` is a sum of the samples' digests: equal sets of samples have equal digests. `repeats`
    counts the rows that are the first with their repeat mark, and `squares` is the sum, over the
    samples, of the squared number of repeats. `products` is the sum of score products over all
    pairs of rows of one sample, in units of 2**-2148; None where a score is not a double. `marks`
    counts the rows with each repeat mark, None above MOST_MARKS of them.
    """

    samples: int = 0
    firsts: int = 0
    digest: int = 0
    repeats: int = 0
    squares: int = 0
    products: int | None = 0
    marks: dict[int, int] | None = field(default_factory=dict)

    @property
    def is_even(self) -> bool:
        """Whether all samples have the same number of repeats."""
        # All numbers are equal exactly where the square of their mean is the mean of their squares.
        return self.samples * self.squares == self.repeats * self.repeats

    def merge(self, more: ResultCoverage) -> None:
        """Add the samples of other rows; no sample may be in both."""
        self.samples += more.samples
        self.firsts += more.firsts
        self.digest = (self.digest + more.digest) % _MODULUS
        self.repeats += more.repeats
        self.squares += more.squares
        self.add_product(more.products)
        self.count_marks(more.marks)

    def add_product(self, product: int | None) -> None:
        """Add a product of scores, None where a score is not a double."""
        is_known = self.products is not None and product is not None
        self.products = (self.products or 0) + (product or 0) if is_known else None

    def add_repeat(self, before: int) -> None:
        """Add one more repeat of a sample that already has `before` repeats."""
        self.repeats += 1
        self.squares += 2 * before + 1

    def count_marks(self, more: Mapping[int, int] | None) -> None:
        """Count rows by their repeat marks."""
        if more is None:
            self.marks = None
        if self.marks is None or more is None:
            return
        for mark, rows in more.items():
            self.marks[mark] = self.marks.get(mark, 0) + rows
        if len(self.marks) > MOST_MARKS:
            self.marks = None


class Coverage(DataClass):
    """The samples covered, by the index of the result; -1 for rows that join no result."""

    covers: dict[int, ResultCoverage] = field(default_factory=dict)

    def of(self, place: int) -> ResultCoverage:
        """Return the samples that a result covers."""
        cover = self.covers.get(place)
        if cover is None:
            cover = self.covers[place] = ResultCoverage()
        return cover

    def distinct(self) -> int:
        """Return the number of distinct samples over all results."""
        return sum(cover.firsts for cover in self.covers.values())

    def merge(self, other: Coverage) -> None:
        """Add the samples of other rows; no sample may be in both."""
        for place, more in other.covers.items():
            self.of(place).merge(more)

    def add(self, place: int, word: int, *, first: bool) -> None:
        """Add a sample that is new to a result."""
        cover = self.of(place)
        cover.samples += 1
        cover.firsts += first
        cover.digest = (cover.digest + word) % _MODULUS
        cover.repeats += 1
        cover.squares += 1

    def add_marks(self, places: Sequence[int], marks: Sequence[int]) -> None:
        """Count rows by their repeat marks."""
        for (place, mark), rows in Counter(zip(places, marks, strict=True)).items():
            self.of(place).count_marks({mark: rows})

    def add_block(self, block: RowRecords) -> None:
        """Add rows none of whose samples an earlier row scores."""
        covers = _covers(block)
        if covers is None:
            self.add_firsts(block.places(), block.sample_words(), block.marks())
            return
        for place, mark, rows, digest in covers:
            self.of(place).merge(ResultCoverage(rows, rows, digest, rows, rows, marks={mark: rows}))

    def add_firsts(
        self, places: Sequence[int], words: Sequence[int], marks: Sequence[int] = ()
    ) -> None:
        """Add samples that no earlier row scores, and count the repeat marks of their rows."""
        if len({*places}) == 1:
            count, digest = len(words), sum(words) % _MODULUS
            cover = ResultCoverage(count, count, digest, count, count)
            cover.count_marks(Counter(marks))
            if self.covers.setdefault(places[0], cover) is not cover:
                self.covers[places[0]].merge(cover)
            return
        for place, word in zip(places, words, strict=True):
            self.add(place, word, first=True)
        self.add_marks(places if marks else (), marks)


def _covers(block: RowRecords) -> Sequence[tuple[int, int, int, int]] | None:
    """Return rows by result and repeat mark, summed up by compiled code; None without it."""
    if len(block) < WORTH_A_TABLE:
        return None
    from evalstream.parsing.native.binding import library
    from evalstream.parsing.native.record_index import cover

    loaded = library()
    return None if loaded is None else cover(loaded, block.data, SAMPLE_AT, MARK_AT, PLACE_AT)
