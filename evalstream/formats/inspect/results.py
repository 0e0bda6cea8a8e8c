"""The scores that the metrics of a result are computed from."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from evalstream.formats.inspect.store import PERPLEXITY, Scored, perplexity_numbers
from evalstream.formats.inspect.values import is_id, known_number, same, score_to_float
from evalstream.formats.inspect.views import UNNAMED, LogView
from evalstream.model.claim import Reason
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import text_or_none
from evalstream.parsing.json_values import object_or_empty, objects
from evalstream.stats.claims.reducers import (
    RIGHT,
    CannotCompute,
    is_missing,
    reduce_repeats,
    reducer_named,
)

UNREDUCED: Final = frozenset({"frequency"})
"""Metrics that take the scores of all epochs, whatever the reducer."""


class ReducedScore(NamedTuple):
    """The reduced score of one sample, by its id.

    `sample` is the number of the sample that its metadata come from, and `metadata` are those of
    the score where it comes from a reduction. `answers` are those of its epochs, None if unknown.
    """

    id: str
    sample: int
    value: Any
    metadata: Any = None
    answers: frozenset[str | None] = frozenset()


Rows = Callable[[], Iterator[ReducedScore]]
"""Iterates over scores; it may be called several times."""


def reduced_scores(log: LogView, scorer: str, reducer: str | None) -> Iterator[ReducedScore]:
    """Iterate over the scores of a scorer, those of the epochs of each sample reduced to one.

    Raises CannotCompute.
    """
    yield from _reduce(log, iterate_counted(log, scorer), reducer)


def _reduce(log: LogView, scores: Iterator[Scored], reducer: str | None) -> Iterator[ReducedScore]:
    function = reducer_named(reducer)
    if function is None:
        raise CannotCompute(Reason.FORMULA)
    is_early = log.is_before(_GREATER_SINCE) and (reducer or "").startswith("pass_at_")
    to_float = _drop_greater if is_early else score_to_float
    for id_, group in groupby(scores, key=attrgetter("id")):
        found = list(group)
        if len(found) > 1:
            found.sort(key=attrgetter("epoch"))
        values = [_name_null(one.value) for one in found]
        _refuse_unsure(log, values)
        value = reduce_repeats(values, function, to_float)
        answers = frozenset(one.answer for one in found)
        yield ReducedScore(id_, found[0].sample, value, answers=answers)


_GREATER_SINCE: Final = (0, 3, 101)
"""The release from which on scores above 1 are right for pass_at (scorer/_reducer/reducer.py)."""


def _drop_greater(value: Any) -> float:
    number = score_to_float(value)
    return number if number <= RIGHT else 0.0


def listed_scores(samples: Any) -> Iterator[ReducedScore]:
    """Iterate over the reduced scores that a log lists."""
    for _, one in objects(samples):
        if is_id(one.get("sample_id")):
            value = _name_null(one.get("value"))
            yield ReducedScore(str(one["sample_id"]), 0, value, one.get("metadata"))


def _name_null(value: Any) -> Any:
    """Return a score with the text None for each null in it.

    It is None, which counts as 0, as any text that is not a number.
    """
    if isinstance(value, dict):
        return {key: _NULL if one is None else one for key, one in value.items()}
    return [_NULL if one is None else one for one in value] if isinstance(value, list) else value


_NULL: Final = str(None)


def _refuse_unsure(log: LogView, values: Iterable[Any]) -> None:
    """Raise CannotCompute for scores with nulls in them that may be None or NaN."""
    if log.is_before(_WRITES_NAN_SINCE):
        parts = (one.values() if isinstance(one, dict) else one for one in values)
        if any(_NULL in one for one in parts if not isinstance(one, (str, int, float))):
            raise CannotCompute(Reason.EVIDENCE)


_WRITES_NAN_SINCE: Final = (0, 3, 285)
"""A release that writes NaN within a score as such; 0.3.140 wrote null, as for None."""


RECORDED_SINCE: Final = (0, 3, 124)
"""The release from which on `inspect score` records events, and keeps the results of others."""


def is_scored_later(log: LogView, scorer: str | None) -> bool:
    """Tell whether `inspect score` of an early release gave the scores of a scorer.

    It declared none. Source: score_async in _eval/score.py of inspect_ai.
    """
    declared = log.declared_scorers
    return log.is_before(RECORDED_SINCE) and bool(declared) and scorer not in declared


def scorer_in_samples(log: LogView, scorer: Any) -> str:
    """Return the name under which samples hold the scores of a result's scorer.

    The results of a scorer of one name that `inspect score` had added were the only ones.
    """
    known = log.scorers_in_samples
    name = text_or_none(scorer) or ""
    if log.is_before(RECORDED_SINCE):
        later = (f"{name}-{number}" for number in range(len(known), 0, -1))
        name = next((one for one in later if one in known), name)
    return UNNAMED if name not in known and known == [UNNAMED] else name


def find_reduction(log: LogView, scorer: Any, reducer: str | None) -> Any:
    """Return the reduced scores of a scorer that the log lists. Raises CannotCompute without."""
    for _, one in objects(log.reductions):
        if one.get("scorer") == scorer and text_or_none(one.get("reducer")) == reducer:
            return one.get("samples")
    raise CannotCompute(Reason.NO_ROWS)


_FAILED_SINCE: Final = (0, 3, 261)
"""The release from which on scores of samples that ended with an error count.

Source: `task_run_sample` in _eval/task/run.py, which returned no scores of them in 0.3.260.
"""


def iterate_counted(log: LogView, scorer: str) -> Iterator[Scored]:
    """Iterate over the scores that figures of a scorer count, those of one id together."""
    return log.store.iterate_scored(scorer, with_failed=counts_failed(log, scorer))


def counts_failed(log: LogView, scorer: str) -> bool:
    """Tell whether the figures of a scorer count its scores of samples that ended with an error.

    A scorer gave these before another one failed, or under score_on_error. `inspect score` counts
    all that it gives: it did so in earlier releases, too, if the reductions are not those of the
    other scores.
    """
    if not log.is_before(_FAILED_SINCE) or not log.store.has_failed_scores(scorer):
        return True
    for _, one in objects(log.reductions):
        if scorer_in_samples(log, one.get("scorer")) != scorer:
            continue
        listed = {row.id: row.value for row in listed_scores(one.get("samples"))}
        others = set(listed)
        for scored in log.store.iterate_scored(scorer, with_failed=False):
            others.discard(scored.id)
        if others:
            return True
        scores = log.store.iterate_scored(scorer, with_failed=False)
        with suppress(CannotCompute):
            for row in _reduce(log, scores, text_or_none(one.get("reducer"))):
                if not equals(listed.get(row.id, row.value), row.value):
                    return True
    return False


def equals(value: Any, expected: Any) -> bool:
    """Compare reduced values part by part; those that are missing are equal."""
    value = _name_null(value)
    if isinstance(expected, dict) and isinstance(value, dict):
        return value.keys() == expected.keys() and all(
            equals(value[key], expected[key]) for key in expected
        )
    if isinstance(expected, list) and isinstance(value, list):
        return len(value) == len(expected) and all(map(equals, value, expected))
    return is_missing(value) if is_missing(expected) else same(value, expected)


def read_scorer(result: Mapping[str, Any]) -> Any:
    """Return the scorer of a result, which the first releases have as its name."""
    return result.get("scorer", result.get("name"))


def result_rows(log: LogView, result: Mapping[str, Any]) -> Rows:
    """Return the scores that a result covers: reduced ones, or those of all epochs.

    Those of a log without samples are the ones that its reductions list. Raises CannotCompute.
    """
    reducer = text_or_none(result.get("reducer"))
    named = read_scorer(result)
    told = [result.get("metrics")]
    if told == [{}]:
        # One without metrics beside those of its parts takes the scores that they take.
        beside = (one for _, one in log.results_scores if read_scorer(one) == named)
        told = [one.get("metrics") for one in beside if one.get("reducer") == reducer]
    metrics = [object_or_empty(one) for each in told for one in object_or_empty(each).values()]
    kinds = {text_or_none(one.get("group")) or text_or_none(one.get("name")) for one in metrics}
    takes_all = log.declared_reducers == [] or (bool(kinds) and kinds <= UNREDUCED)
    is_unreduced = reducer is None and takes_all
    if log.is_unlogged:
        if is_unreduced:
            raise CannotCompute(Reason.NO_ROWS)
        listed = find_reduction(log, named, reducer)
        _refuse_unsure(log, (one.value for one in listed_scores(listed)))
        return lambda: listed_scores(listed)
    if not log.store.count:
        raise CannotCompute(Reason.NO_ROWS)
    if not log.samples_known:
        raise CannotCompute(Reason.UNREAD)
    scorer = scorer_in_samples(log, named)
    if is_unreduced:
        return lambda: (
            ReducedScore(one.id, one.sample, _name_null(one.value))
            for one in iterate_counted(log, scorer)
        )
    if reducer_named(reducer) is None:
        raise CannotCompute(Reason.FORMULA)
    return lambda: reduced_scores(log, scorer, reducer)


def score_part(value: Any, name: Any, scorer: Any) -> Any:
    """Return the part of a score that a result is about: a key of an object, or all of it.

    Raises CannotCompute.
    """
    if isinstance(value, dict) and isinstance(name, str):
        if name in value:
            return value[name]
        if name != scorer:
            raise CannotCompute(Reason.EVIDENCE)
    return value


class Scores:
    """The scores of a result that count.

    `numbers` are the scores, 0 for those that are not numbers; `is_numeric` is False with such
    scores. `unscored` counts the others. Those of a part of the samples share all else.
    """

    def __init__(self, log: LogView, result: Mapping[str, Any], rows: Rows) -> None:
        self._log, self._rows = log, rows
        self.name, self.scorer = result.get("name"), read_scorer(result)
        self.numbers, self.samples = array("d"), array("q")
        self.unscored = 0
        self.is_numeric = True
        for row in self._parts():
            if is_missing(row.value):
                self.unscored += 1
            else:
                number = known_number(row.value)
                self.is_numeric = self.is_numeric and number is not None
                self.numbers.append(0.0 if number is None else number)
                self.samples.append(row.sample)

    def _parts(self) -> Iterator[ReducedScore]:
        for row in self._rows():
            if isinstance(row.value, dict):
                yield row._replace(value=score_part(row.value, self.name, self.scorer))
            else:
                yield row

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self) -> Iterator[ReducedScore]:
        """Iterate over the scores that count."""
        return (row for row in self._parts() if not is_missing(row.value))

    def key(self, key: str, missing: str) -> Scores:
        """Return the scores under a key of objects; `missing` is error, skip or zero.

        Raises CannotCompute.
        """

        def rows() -> Iterator[ReducedScore]:
            for row in self.rows():
                if not isinstance(row.value, dict):
                    raise CannotCompute(Reason.EVIDENCE)
                value = row.value.get(key)
                if value is not None:
                    yield row._replace(value=value)
                elif missing == "zero":
                    yield row._replace(value=0.0)
                elif missing != "skip":
                    raise CannotCompute(Reason.EVIDENCE)

        return Scores(self._log, {}, rows)

    def parts_by(self, key: str) -> Iterator[tuple[str, Scores]]:
        """Iterate over the values of a key of metadata, as text, each with its scores.

        Raises CannotCompute.
        """
        groups = [str(one) for one in self.metadata(key)]
        for group in dict.fromkeys(groups):
            yield group, self._part(group, groups)

    def _part(self, group: str, groups: Sequence[str]) -> Scores:
        part: Scores = object.__new__(Scores)
        part._log, part.name, part.scorer = self._log, self.name, self.scorer
        part._rows = lambda: (
            row for row, one in zip(self.rows(), groups, strict=True) if one == group
        )
        which = [index for index, one in enumerate(groups) if one == group]
        part.numbers = array("d", (self.numbers[index] for index in which))
        part.samples = array("q", (self.samples[index] for index in which))
        part.unscored, part.is_numeric = 0, self.is_numeric
        return part

    def metadata(self, key: str) -> list[Any]:
        """Return the value of a key of the samples' metadata for each score.

        Raises CannotCompute.
        """
        if self._log.is_unlogged:
            raise CannotCompute(Reason.NO_ROWS)
        try:
            return [self._log.store.meta(key, sample) for sample in self.samples]
        except KeyError:
            raise CannotCompute(Reason.EVIDENCE) from None

    def clusters(self, key: str | None) -> list[Hashable] | None:
        """Return the cluster of each score, None without clusters. Raises CannotCompute."""
        if key is None:
            return None
        found = self.metadata(key)
        if any(isinstance(one, (dict, list)) for one in found):
            raise CannotCompute(Reason.EVIDENCE)
        return found

    def perplexity(self) -> Iterator[tuple[int, float]]:
        """Iterate over the number of tokens and the log-probability of each score.

        Raises CannotCompute.
        """
        for row in self.rows():
            if self._log.is_unlogged:
                yield perplexity_numbers(row.metadata) or (0, 0.0)
                continue
            try:
                tokens, probability = self._log.store.meta(
                    PERPLEXITY + str(self.scorer), row.sample
                )
            except KeyError:
                tokens, probability = 0, 0.0
            yield tokens, probability
