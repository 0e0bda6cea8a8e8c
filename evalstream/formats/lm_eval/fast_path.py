"""The fast path of samples: rows that the compiled scanner takes, added up together."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from evalstream.formats.lm_eval.doc_ids import IdRun
from evalstream.formats.lm_eval.log_tally import FilterRows, RowsTally
from evalstream.formats.lm_eval.row_scores import CHOICE, GENERATE, TAKE_FIRST, ScoringPlan
from evalstream.model.block import Lines
from evalstream.model.options import Options
from evalstream.parsing.native.lm_eval import (
    DEEPEST,
    RowScoring,
    SampleRun,
    SampleScanner,
    Scoring,
    sample_scanner,
)

WORTH_BYTES: Final = 4096
"""From this size of a block in bytes on it is worth loading the scanner."""


def fast_path_for(options: Options, lines: Lines, plan: ScoringPlan) -> FastPath | None:
    """Return the fast path over a block, None if every row takes the exact path."""
    how = choose_scoring(plan)
    needs_rows = how is None or options.samples is not None or options.sketches or lines.overlong
    if needs_rows or options.max_depth < DEEPEST or len(lines.data) < WORTH_BYTES:
        return None
    data = lines.data
    scanner = sample_scanner() if isinstance(data, bytes) else None
    if scanner is None or how is None:
        return None
    return FastPath(scanner, data, options.max_line_bytes, how)


def choose_scoring(plan: ScoringPlan) -> RowScoring | None:
    """Return what the scanner compares with the answers of rows; None if that is not enough."""
    if plan.is_empty:
        return RowScoring()
    metrics = dict(plan.metrics)
    delimiter = json.dumps(plan.delimiter, ensure_ascii=False)[1:-1].encode(errors="ignore")
    known = {
        CHOICE: ({"acc", "acc_norm"}, Scoring.CHOICES),
        GENERATE: ({"exact_match"}, Scoring.GENERATED),
    }
    names, scoring = known.get(plan.output_type, (set(), Scoring.FILTERED))
    is_plain = all(chain == TAKE_FIRST for _, chain in plan.filters)
    has_options = any(any(json.loads(options).values()) for options in metrics.values())
    if not is_plain or has_options or not metrics.keys() <= names:
        return None
    return RowScoring(scoring if metrics else Scoring.FILTERED, delimiter, plan.is_chat)


class FastPath:
    """Takes the rows of one block in which nothing can be wrong, and adds them to a tally."""

    def __init__(self, scanner: SampleScanner, data: bytes, longest: int, how: RowScoring) -> None:
        self._scanner = scanner
        scanner.start(data, longest, how)

    def take(self, start: int, line: int, tally: RowsTally, digests: bytearray) -> tuple[int, int]:
        """Take rows from the line that begins at `start`, whose number in the block is `line`.

        Returns the place behind them, and how many there are.
        """
        taken = self._scanner.take(start, line)
        if not taken:
            return start, 0
        tally.rows += taken
        tally.hashed += taken
        digests += self._scanner.digests()
        self._add_runs(tally)
        return self._scanner.stop, taken

    def _add_runs(self, tally: RowsTally) -> None:
        """Add runs to the tally; values of runs that are alike are added together."""
        began: SampleRun | None = None
        for run in self._scanner.runs():
            rows = tally.filter(_name(self._scanner.filter(run.filter)))
            if rows is None:
                tally.unkeyed += run.rows
            else:
                rows.rows += run.rows
                rows.ids.extend(IdRun(run.doc_id, run.rows, run.line, 1))
            if began is None or (began.filter, began.metrics) != (run.filter, run.metrics):
                if began is not None:
                    self._add_values(tally, began, run.value)
                began = run
        if began is not None:
            self._add_values(tally, began, self._scanner.value_count)

    def _add_values(self, tally: RowsTally, began: SampleRun, stop: int) -> None:
        rows = tally.filter(_name(self._scanner.filter(began.filter)))
        names = _names(self._scanner.metrics(began.metrics))
        values = self._scanner.values(began.value, stop)
        for place, name in enumerate(names):
            if rows is not None:
                _add_column(rows, name, list(values[place :: len(names)]))


def _add_column(rows: FilterRows, name: str, column: list[float]) -> None:
    values = rows.values(name)
    if values is None:
        return
    numbers = [value for value in column if value == value]  # noqa: PLR0124 - NaN is no number
    values.others += len(column) - len(numbers)
    values.add_numbers(numbers)


@lru_cache(maxsize=256)
def _name(text: bytes) -> str:
    return text.decode()


@lru_cache(maxsize=256)
def _names(text: bytes) -> list[str]:
    names: list[str] = json.loads(b"[%b]" % text)
    return names
