"""Keep the samples that two runs judge differently, and read their answers again."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from evalstream.batch.comparing.runs import CheckedRun
from evalstream.formats.registry import FORMATS
from evalstream.io.spill_table import SpillTable
from evalstream.model.comparison import Flip
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.sample_record import PairFlag, SamplePair
from evalstream.model.text import count_noun
from evalstream.parsing import json
from evalstream.stats.sample_digests import id_digest

RIGHT_TO_WRONG: Final = "right to wrong"
WRONG_TO_RIGHT: Final = "wrong to right"

_TABLES: Final = """
CREATE TABLE flips (number INTEGER PRIMARY KEY, metric INTEGER, is_loss INTEGER,
    line_a INTEGER, offset_a INTEGER, line_b INTEGER, offset_b INTEGER,
    sample_a TEXT, sample_b TEXT, score_a REAL, score_b REAL, is_alike INTEGER);
CREATE TABLE answers (side TEXT, line INTEGER, offset INTEGER, answer TEXT, whole TEXT,
    PRIMARY KEY (side, line, offset)) WITHOUT ROWID;
"""

_ADD: Final = "INSERT INTO flips VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

_ADD_ANSWER: Final = "INSERT INTO answers VALUES (?, ?, ?, ?, ?)"

_WITH_ANSWERS: Final = """
FROM flips AS f
    LEFT JOIN answers AS a ON a.side = 'a'
        AND a.line = f.line_a AND a.offset = f.offset_a
    LEFT JOIN answers AS b ON b.side = 'b'
        AND b.line = f.line_b AND b.offset = f.offset_b
"""

_IN_ORDER: Final = f"""
SELECT f.*, a.answer, b.answer {_WITH_ANSWERS}
    ORDER BY f.line_a, f.offset_a, f.metric, f.line_b LIMIT ?
"""

_SAME: Final = f"""
SELECT f.metric, COUNT(*), SUM(a.whole = b.whole),
    MIN(CASE WHEN a.whole = b.whole THEN f.line_a END) {_WITH_ANSWERS}
    WHERE f.is_alike AND a.whole IS NOT NULL AND b.whole IS NOT NULL GROUP BY f.metric
"""

_PLACES: Final = """
SELECT DISTINCT line_{side}, offset_{side}, sample_{side} FROM flips ORDER BY 1, 2
"""

_TRIM: Final = """
DELETE FROM flips WHERE number NOT IN (
    SELECT number FROM flips ORDER BY line_a, offset_a, metric, line_b LIMIT ?
)
"""

_LAST: Final = "SELECT COUNT(*), MAX(line_a) FROM flips"

_TRIM_AT: Final = 2_000
"""Number of flips after which those that will not be shown are dropped."""

COMPARED: Final = 200
"""Number of flips whose answers are compared, even if fewer are shown."""

NO_LIMIT: Final = 1 << 63
"""A line that is not before any other one."""


class SameAnswers(NamedTuple):
    """How many of the compared flips have one answer in both runs, and the first line of such."""

    same: int
    compared: int
    line: int


class FlipStore:
    """The flips between two runs: the first `most` ones by line, 0 for all; on disk.

    The first COMPARED ones are kept in any case, to hold their answers against each other. Flips
    after the line `latest` of the reference, and those after `most` others, need not be added.
    """

    def __init__(self, most: int) -> None:
        self._shown = most or -1
        self.most, self._rows = most and max(most, COMPARED), 0
        self.latest = NO_LIMIT
        self._table = SpillTable(_TABLES)

    def add(self, pairs: Iterable[SamplePair], *, is_loss: bool) -> None:
        """Add pairs that the reference has right and the other run wrong, or the other way."""
        added = [
            (
                pair.metric, is_loss, pair.line_a, pair.offset_a, pair.line_b, pair.offset_b,
                str(pair.sample_a), str(pair.sample_b), pair.score_a, pair.score_b, _is_alike(pair),
            )
            for pair in pairs
        ]  # fmt: skip
        if added:  # most pairs of a leaderboard open no table
            self._table.change(_ADD, added)
        self._rows += len(added)
        if self.most and self._rows > self.most + _TRIM_AT:
            self._trim()

    def read_answers(self, a: CheckedRun, b: CheckedRun, options: Options) -> list[str]:
        """Read the rows of the flips again, and return why some could not be read, if so."""
        if self.most and self._rows:
            self._trim()
        warnings = []
        for side, run in (("a", a), ("b", b)):
            missing = self._read(side, run, options)
            if missing:
                warnings.append(f"{run.shown.label}: {missing}; their answers are not shown")
        return warnings

    def flips(self, a: str, b: str, metrics: Sequence[str], *, show_values: bool) -> Iterator[Flip]:
        """Iterate over the flips by lines of the reference `a`; `metrics` are names by number."""
        for row in self._table.iterate(_IN_ORDER, self._shown) if self._rows else ():
            yield _flip(row, a, b, metrics, show_values=show_values)

    def same_answers(self) -> dict[int, SameAnswers]:
        """Return by metric how many flips have one answer, which says all that the scorer saw."""
        return {
            metric: SameAnswers(same, compared, line)
            for metric, compared, same, line in (self._table.rows(_SAME) if self._rows else ())
            if same
        }

    def close(self) -> None:
        """Delete the flips."""
        self._table.close()

    def _trim(self) -> None:
        self._table.change(_TRIM, [(self.most,)])
        self._rows = self.most
        ((kept, last),) = self._table.rows(_LAST)
        self.latest = last if kept >= self.most else NO_LIMIT

    def _read(self, side: str, run: CheckedRun, options: Options) -> str | None:
        """Read the rows of one side again; return why some cannot be, None if all were read."""
        pending: deque[tuple[int, int, str]] = deque()

        def places() -> Iterator[tuple[int, int]]:
            found = self._table.iterate(_PLACES.format(side=side)) if self._rows else ()
            for line, offset, sample in found:
                pending.append((line, offset, sample))
                yield line, offset

        lost = 0
        try:
            for one in FORMATS[run.run.format].answers(run.run, options, places()):
                line, offset, sample = pending.popleft()
                # A row of another sample was written there meanwhile.
                if one is None or str(id_digest(one.sample_id)) != sample:
                    lost += 1
                    continue
                text = json.canonical([one.sample_id, one.answer]).decode(errors="replace")
                is_said = one.is_whole and _says_something(one.answer)
                whole = json.canonical(one.answer).decode(errors="replace") if is_said else None
                self._table.add(_ADD_ANSWER, [(side, line, offset, text, whole)])
        except (OSError, CannotCheck) as error:
            return f"the rows cannot be read again ({error})"
        if run.has_changed:
            self._table.change("DELETE FROM answers WHERE side = ?", [(side,)])
            return "the file changed after its check"
        return f"{count_noun(lost, 'row')} cannot be read again" if lost else None


class ShownFlips:
    """The flips of all pairs of runs that reports show, pair by pair, on disk.

    A table for each pair would take 230 kB of memory.
    """

    def __init__(self) -> None:
        self._table = SpillTable("CREATE TABLE flip (number INTEGER PRIMARY KEY, data BLOB)")
        self.close = self._table.close

    def add(self, flips: Iterable[Flip]) -> None:
        """Add the flips of a pair of runs."""
        data = ((pickle.dumps(tuple(one)),) for one in flips)
        self._table.change("INSERT INTO flip VALUES (NULL, ?)", data)

    def __iter__(self) -> Iterator[Flip]:
        """Iterate over the flips; this can be repeated."""
        for (data,) in self._table.iterate("SELECT data FROM flip ORDER BY number"):
            yield Flip(*pickle.loads(data))  # noqa: S301 - the bytes are our own


_OTHER: Final = int(PairFlag.OTHER_INPUT | PairFlag.OTHER_REFERENCE)


def _is_alike(pair: SamplePair) -> bool:
    """Tell whether both runs scored one answer to one input."""
    return pair.rows_a == pair.rows_b == 1 and not pair.flags & _OTHER


def _says_something(answer: Any) -> bool:
    if isinstance(answer, str):
        return bool(answer.strip())
    if isinstance(answer, dict):
        return any(map(_says_something, answer.values()))
    if isinstance(answer, list):
        return any(map(_says_something, answer))
    return isinstance(answer, (int, float)) and not isinstance(answer, bool)


def _flip(row: Sequence[Any], a: str, b: str, metrics: Sequence[str], *, show_values: bool) -> Flip:
    _, metric, is_loss, line_a, _, line_b, _, _, _, score_a, score_b, _, first, second = row
    sample_id, answer_a = _NOTHING if first is None else json.fast(first.encode())
    other_id, answer_b = _NOTHING if second is None else json.fast(second.encode())
    return Flip(
        a,
        b,
        metrics[metric],
        RIGHT_TO_WRONG if is_loss else WRONG_TO_RIGHT,
        json.shorten(other_id if sample_id is None else sample_id),
        line_a,
        line_b,
        score_a,
        score_b,
        json.shorten(answer_a) if show_values else None,
        json.shorten(answer_b) if show_values else None,
    )


_NOTHING: Final = (None, None)
