"""Results as they are read: once for all of their tasks, each of which is a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.formats.lm_eval.rules.results import check_structure
from evalstream.formats.lm_eval.written_values import as_written
from evalstream.model.finding import Violation
from evalstream.model.options import Options
from evalstream.rules.syntax import ObjectReading, read_document

NOUN: Final = "results of lm-eval"


class ResultsReading:
    """Results and, once all were asked for, whether their structure has violations."""

    __slots__ = ("_is_sound", "depth", "reading", "text")

    def __init__(self, text: bytes, depth: int, reading: ObjectReading) -> None:
        self.text, self.depth, self.reading, self._is_sound = text, depth, reading, False

    def violations(self) -> Iterator[Violation]:
        """Yield the violations of the structure; only that there are none is remembered."""
        if self._is_sound or self.reading.value is None:
            return
        is_sound = True
        for one in self.reading.filter_violations(check_structure(self.reading.value)):
            is_sound = False
            yield one
        self._is_sound = is_sound


_last: list[ResultsReading] = []
"""What was read last, at most one."""


def read_results(text: bytes, options: Options) -> ResultsReading:
    """Read results, unless they were read last. Raises as `read_document` does."""
    for last in tuple(_last):
        if last.text == text and last.depth == options.max_depth:
            return last
    # Before others are read, so that they are not in memory together.
    _last.clear()
    reading = as_written(read_document(text, options, NOUN))
    _last[:] = [ResultsReading(text, options.max_depth, reading)]
    return _last[0]
