"""Judge the claims of one result by its rows, or by rows that may be its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Final

from evalstream.formats.eee.aggregate import Result
from evalstream.formats.eee.claims import Claims
from evalstream.formats.eee.metrics import LEVELS, UNKNOWN_LEVEL
from evalstream.model.claim import Reason, State
from evalstream.model.data_class import NamedTuple
from evalstream.model.row_record import UNJOINED
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.claims import kinds
from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.claims.judge import is_outside_bounds, judge
from evalstream.stats.claims.judgement import PERCENT, Claim, Judgement, confirm, leave_open
from evalstream.stats.claims.rounding import Agreement, agreement, as_float
from evalstream.stats.coverage import Coverage, ResultCoverage
from evalstream.stats.tally import ScoreSums, Tally

BY_TRIAL: Final = "confirmed by trial: the rows do not say which result they score"
OVER_ALL: Final = "confirmed by trial over the rows of all other results"
OVER_PARTS: Final = "confirmed over the rows of its parts"
OVER_PLAIN: Final = "confirmed over the rows of the result without perturbations"

SPREADS: Final = (kinds.DEVIATION, kinds.ERROR, kinds.INTERVAL)

_MEANS: Final = frozenset(
    kind.name for kind in (kinds.MEAN, kinds.AVERAGE, kinds.LEVEL, kinds.UNKNOWN)
)
"""Kinds of a score whose uncertainty, if its mean confirms it, is that of a mean."""

_WEIGHTED: Final = frozenset({kinds.MEAN.name, kinds.AVERAGE.name})
"""Kinds of a score over parts that is between their scores, whatever their weights."""

ROLL_UP: Final = LazyPattern(
    r"(?i)(?<![a-z])(?:aggregate|all|average|avg|macro|mean|micro|overall|summary|total)(?![a-z])"
)
"""Words of a result over the parts of a benchmark."""

_PERCENT: Final = frozenset({"%", "percent", "percentage"})
_COUNT: Final = "count"


class CombinedRows(NamedTuple):
    """The rows of several results together, and the mean of the means of these results.

    `bounds` are the least and the greatest of the means, with those without rows that have an
    error.
    """

    sums: ScoreSums
    cover: ResultCoverage
    mean: Fraction
    bounds: tuple[Fraction, Fraction]


def combine_rows(tally: Tally, coverage: Coverage, named: frozenset[int]) -> CombinedRows | None:
    """Combine the rows of the results at some places, or without any of all results.

    Returns None where no figure over them can be told from one over a part: where one of them has
    no rows, all have one mean unless they are named, or two score the same samples.
    """
    scores = tally.scores
    if not all(place in scores for place in named):
        return None
    parts = {place: scores[place] for place in sorted(named or scores.keys() - {UNJOINED})}
    covers = [coverage.covers.get(place, ResultCoverage()) for place in parts]
    means = [sums.mean() or Fraction(0) for sums in parts.values()]
    is_apart = all(cover.firsts == cover.samples for cover in covers)
    differ = len(parts if named else {*means}) > 1
    if not differ or not is_apart or any(sums.unscored for sums in parts.values()):
        return None
    total, cover = ScoreSums(), ResultCoverage()
    for sums, own in zip(parts.values(), covers, strict=True):
        total.merge(sums)
        cover.merge(own)
    sound = (sums.mean_without_errors() for sums in parts.values())
    ends = [*means, *(one for one in sound if one is not None)]
    return CombinedRows(total, cover, sum(means, Fraction(0)) / len(means), (min(ends), max(ends)))


class ResultJudge(NamedTuple):
    """Judges the claims that a result makes, `made`, by its rows or by some that may be its own.

    `combine` is `combine_rows` for the tally and the coverage, and remembers its last answers.
    """

    made: list[Claim]
    result: Result
    claims: Claims
    tally: Tally
    coverage: Coverage
    combine: Callable[[frozenset[int]], CombinedRows | None]

    def leave_open(self, reason: Reason) -> Iterator[Judgement]:
        """Leave all claims open."""
        return (leave_open(claim, reason) for claim in self.made)

    def evidence_at(self, place: int) -> Evidence:
        """Return what the rows at the place of a result, this or another one, hold for this one."""
        cover = self.coverage.covers.get(place) or ResultCoverage()
        return self._evidence(self.tally.scores[place], cover)

    def _evidence(self, sums: ScoreSums, cover: ResultCoverage) -> Evidence:
        """Return what some rows hold, without unknown levels."""
        result, claims = self.result, self.claims
        covered, rows, values = claims.num_samples or 0, sums.joined_rows, sums.values
        if result.score_type == LEVELS and result.has_unknown_level and values is not None:
            sums, cover = _without_unknown(sums), ResultCoverage(samples=cover.samples)
        # The number of samples says nothing of repeats with an error.
        is_of_samples = covered <= cover.samples < rows
        extremes = (sums.least, sums.most)
        is_share = all(end is not None and 0 <= end <= 1 for end in extremes)
        return Evidence(
            sums,
            cover,
            sums.values,
            limits=(result.minimum, result.maximum),
            missing=max(0, covered - max(rows, cover.samples)),
            unknown=rows - sums.joined_rows,
            factors=(1, PERCENT) if is_share and is_in_percent(result) else (1,),
            levels=result.levels or 0,
            counts_errors=not is_of_samples and claims.num_samples not in {None, sums.sound_rows},
            scores_errors=_scores_errors(claims, sums),
            is_count=result.unit == _COUNT,
        )

    def judge(self, evidence: Evidence, *, is_shared: bool = False) -> list[Judgement]:
        """Judge the claims by what rows hold; with `is_shared` another result has the same rows."""
        if evidence.sums.unscored:
            return [leave_open(claim, Reason.UNSCORED, evidence.rows) for claim in self.made]
        score: Judgement | None = None
        judged = []
        for claim in self.made:
            found = judge(claim, evidence)
            if claim.is_score:
                score = found = _or_mean(claim, found, evidence)
                if found.claim.state is State.REFUTED and is_shared:
                    score = found = leave_open(claim, Reason.EVIDENCE, evidence.rows)
                if found.claim.state.holds and len(evidence.factors) > 1:
                    evidence = evidence.in_unit_of(found.claim.recomputed)
                    if evidence.factors == (1,) and evidence.is_binary and evidence.mean:
                        percent = found.claim.recomputed * PERCENT
                        score = found = leave_open(claim, Reason.UNIT, evidence.rows, percent)
            elif claim.kind in SPREADS and found.claim.state is State.REFUTED:
                found = _unless_of_other_figure(claim, found, score, self.result)
            judged.append(found)
        return judged

    def _by_trial(self, tried: list[Judgement], reason: str = BY_TRIAL) -> list[Judgement]:
        return [_by_trial(*both, reason) for both in zip(self.made, tried, strict=True)]

    def try_rows(
        self, places: list[int], rivals: tuple[Decimal, Decimal] | None
    ) -> Iterable[Judgement]:
        """Compare the claims with rows at places that may be those of their result.

        Nothing is refuted by trial, unless all results that may have the rows are alike but for
        their scores, of which `rivals` are the least and the greatest. Where samples are repeated,
        these may be by several reducers of the repeats, which no document names, and where the mean
        is between them, over parts of the rows.
        """
        tally = self.tally
        is_unknown_id = self.result.id is not None and tally.without_result.total() < tally.rows
        if is_unknown_id or not places:
            return self.leave_open(Reason.UNJOINED)
        for place in places:
            evidence = self.evidence_at(place)
            tried = self.judge(evidence)
            if _confirms_score(tried):
                return self._by_trial(tried)
            rows, mean = evidence.sums.joined_rows, evidence.mean or Fraction(0)
            if rivals and evidence.cover.samples == rows:
                factor = evidence.factors[-1]
                low, high = rivals
                may_divide = low < mean < high or low < mean * factor < high
                if not may_divide or self.claims.num_samples == rows:
                    return tried
        return self.leave_open(Reason.AMBIGUOUS)

    def try_all_rows(self, named: frozenset[int]) -> list[Judgement]:
        """Judge claims over parts of a benchmark by the rows of all parts, if they fit.

        The parts are `named` by their ids, or all other results. The score may be the mean over the
        rows, or over the parts. Where all parts have one mean, or score the same samples, nothing
        shows that it is over them, unless their ids do. If it claims the number of rows of named
        parts, it is over these, and refuted where no weights of their means give it.
        """
        made, result, claims = self.made, self.result, self.claims
        if not (named or ROLL_UP.search(f"{result.id} {result.name}")):
            return []
        parts = self.combine(named)
        if parts is None:
            return []
        total, cover = parts.sums, parts.cover
        evidence = self._evidence(total, cover)
        tried = self.judge(evidence)
        factor = evidence.factors[-1]
        over_parts = parts.mean * factor
        for place, claim in enumerate(made):
            # A score is one number.
            value = claim.value if claim.is_score and isinstance(claim.value, Decimal) else None
            if value is not None and agreement(value, over_parts) is Agreement.FULL:
                tried[place] = confirm(claim, as_float(over_parts), total.joined_rows)
        judged = self._by_trial(tried, OVER_PARTS if named else OVER_ALL)
        if _confirms_score(tried):
            return judged
        is_whole = claims.num_samples == total.joined_rows == cover.samples
        if not named or not is_whole or result.kind_name not in _WEIGHTED or claims.score is None:
            return []
        bounds = parts.bounds[0], parts.bounds[1] * factor
        is_outside = is_outside_bounds(claims.score, bounds)
        is_refuted = tried[0].claim.state is State.REFUTED and is_outside
        return [tried[0], *judged[1:]] if is_refuted else []

    def try_plain_rows(self, plain: int | None) -> list[Judgement]:
        """Judge claims for the worst perturbation, which are the plain ones if there is none."""
        if plain is None or plain not in self.tally.scores:
            return []
        tried = self.judge(self.evidence_at(plain))
        return self._by_trial(tried, OVER_PLAIN) if _confirms_score(tried) else []


def _scores_errors(claims: Claims, sums: ScoreSums) -> bool:
    if sums.sound_rows == sums.rows:
        return False
    mean, sound = sums.mean(), sums.mean_without_errors()
    if claims.score is None or mean is None or sound is None:
        return False
    return agreement(claims.score, mean) > agreement(claims.score, sound)


def is_in_percent(result: Result) -> bool:
    """Tell whether the unit or the maximum of a result says that its scores are in percent."""
    return result.unit in _PERCENT or result.maximum == 100


def _without_unknown(sums: ScoreSums) -> ScoreSums:
    known = ScoreSums(most_values=sums.most_values)
    for value, times in (sums.values or {}).items():
        if value != UNKNOWN_LEVEL:
            known.add(None, value, None, failed=False, times=times)
    return known


def _or_mean(claim: Claim, found: Judgement, evidence: Evidence) -> Judgement:
    """Judge a score as the mean where the kind in its name does not give it.

    A name is a hint: converters name results after a part of what they report.
    """
    if found.claim.state.holds or claim.kind.name in _MEANS:
        return found
    again = judge(claim._replace(kind=kinds.MEAN), evidence)
    return again if again.claim.state is State.CONFIRMED else found


def _unless_of_other_figure(
    claim: Claim, found: Judgement, score: Judgement | None, result: Result
) -> Judgement:
    """Leave an uncertainty open that belongs to a score that is not known to be a mean."""
    if score is None:
        return found
    if score.claim.state is State.OPEN:
        return leave_open(claim, Reason.SCORE, found.claim.rows, found.claim.recomputed)
    if score.claim.state.holds and result.kind_name not in _MEANS and score.claim.kind != "mean":
        return leave_open(claim, Reason.FORMULA, found.claim.rows)
    return found


def _confirms_score(tried: list[Judgement]) -> bool:
    return any(one.claim.is_score and one.claim.state is State.CONFIRMED for one in tried)


def _by_trial(claim: Claim, found: Judgement, reason: str) -> Judgement:
    if found.claim.state.holds:
        return Judgement(found.claim._replace(reason=reason))
    if found.claim.state is State.REFUTED:
        return leave_open(claim, Reason.AMBIGUOUS, found.claim.rows, found.claim.recomputed)
    return found
