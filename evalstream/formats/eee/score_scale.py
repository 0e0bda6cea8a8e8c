"""Which scores of a metric are the worst and the best, and when the best is a right answer."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import Any, Final

from evalstream.formats.eee import metrics
from evalstream.formats.eee.aggregate import Result
from evalstream.model.data_class import NamedTuple


class Scale(NamedTuple):
    """The worst and the best score of a metric, None where it declares no such bound.

    `is_turned` says that lower scores are better.
    """

    worst: float | None = None
    best: float | None = None
    is_turned: bool = False


def read_scale(result: Result | None) -> Scale | None:
    """Return the scale of a result, None where no score is better than another: levels."""
    if result is None:
        return Scale()
    lowest, highest = result.minimum, result.maximum
    if judges_one_answer(result):
        # An infinite bound says nothing of an accuracy.
        lowest, highest = (None if abs(end or 0) == math.inf else end for end in (lowest, highest))
    if result.score_type == metrics.BINARY and lowest is None and highest is None:
        lowest, highest = 0, 1
    if result.score_type == metrics.LEVELS:
        return None
    if lowest is not None and highest is not None and lowest >= highest:
        return None
    if result.lower_is_better:
        return Scale(highest, lowest, is_turned=True)
    return Scale(lowest, highest)


def judges_one_answer(result: Result | None) -> bool:
    """Tell whether the name of a metric is an accuracy, of which lower is never better."""
    return result is not None and metrics.OF_ONE_ANSWER.fullmatch(result.metric or "") is not None


def is_of_correctness(result: Result | None) -> bool:
    """Tell whether the best score surely means a right answer, as in an accuracy without a name.

    Writers of grades by a name of their own may call no answer correct.
    """
    if result is None or result.metric is None or result.score_type == metrics.BINARY:
        return True
    return metrics.OF_RIGHT_ANSWERS.search(result.metric.casefold()) is not None


def is_extreme(score: Any, scale: Scale) -> bool:
    """Return whether 0 is nearly the worst score of a metric, or 1 nearly the best.

    Bounds with a small margin, such as a max_score of 1.01, do not change the scale.
    """
    lowest = 0 if scale.worst is None else scale.worst
    highest = 1 if scale.best is None else scale.best
    return lowest > -1 if score == 0 else highest < 2


def is_by_lm_eval(library: str | None) -> bool:
    """Tell whether a run names lm-eval as the harness that wrote it."""
    return "".join(filter(str.isalnum, (library or "").casefold())).startswith("lmeval")


NUMBERED: Final = 2
"""The mode of a search in which a reference may be the number of a choice, as lm-eval logs it."""

AS_WRITTEN: Final = 3
"""The mode of a search for digits as they are written."""

CHOICE: Final = "choice"
"""The scorer of Inspect that reads the letter of a choice in the output."""

_SEARCHING_AS_WRITTEN: Final = frozenset({"answer", CHOICE, "includes", "pattern"})
SEARCHING_SCORERS: Final = _SEARCHING_AS_WRITTEN | {"exact", "f1", "match"}
"""Scorers of Inspect that call an answer right only if it shows a target (inspect_ai/scorer)."""

_EXACT_MATCH: Final = "exact_match"
"""The metric of lm-eval that compares the filtered response with a target."""


def list_searching(library: str | None, results: Sequence[Result]) -> Set[int]:
    """Return the places of results whose rows are right only if the answer shows a reference.

    Of several scorers the converter of Inspect shows the answer of each from 0.3.0 on, whose ids of
    results have their names, and before that of the last one.
    """
    scorers = {result.place: _find_scorer(library, result) for result in results}
    if {*scorers.values()} - {None}:
        is_alone = len({*scorers.values()}) == 1
        return {
            result.place
            for result in results
            if (scorer := scorers[result.place]) in SEARCHING_SCORERS
            and (is_alone or (result.id or "").startswith(f"{scorer}:"))
        }
    if not is_by_lm_eval(library):
        return frozenset()
    return {result.place for result in results if result.metric == _EXACT_MATCH}


def _find_scorer(library: str | None, result: Result) -> str | None:
    """Return the scorer of a result, by which alone the first converters of Inspect called it."""
    is_by_inspect = (library or "").casefold().startswith("inspect")
    is_bare = is_by_inspect and result.scorer is None and result.name in SEARCHING_SCORERS
    return result.name if is_bare else result.scorer


def search_mode(library: str | None, results: Sequence[Result]) -> int:
    """Return how right answers show a reference: 0 where none need to, or 1, or another mode."""
    searching = list_searching(library, results)
    scorers = {_find_scorer(library, one) for one in results if one.place in searching}
    if not searching:
        return 0
    if scorers <= _SEARCHING_AS_WRITTEN:
        return AS_WRITTEN
    return NUMBERED if is_by_lm_eval(library) else 1
