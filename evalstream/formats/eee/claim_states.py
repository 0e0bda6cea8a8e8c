"""Judge the claims of an aggregate by the rows that score its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Final

from evalstream.formats.eee.aggregate import RESULTS, Aggregate, Join, Result
from evalstream.formats.eee.claims import Claims, has_further_members
from evalstream.formats.eee.result_judge import SPREADS, ResultJudge, combine_rows, is_in_percent
from evalstream.model.claim import Reason
from evalstream.model.row_record import UNJOINED
from evalstream.parsing.json import member, resolve
from evalstream.stats.claims import kinds
from evalstream.stats.claims.judgement import Claim, Judgement, leave_open
from evalstream.stats.claims.kinds import ClaimKind
from evalstream.stats.coverage import Coverage
from evalstream.stats.tally import ScoreSums, Tally

SCORE: Final = "score_details/score"
UNCERTAINTY: Final = "score_details/uncertainty"
NUM_SAMPLES: Final = f"{UNCERTAINTY}/num_samples"
DEVIATION: Final = f"{UNCERTAINTY}/standard_deviation"
ERROR: Final = f"{UNCERTAINTY}/standard_error/value"
INTERVAL: Final = f"{UNCERTAINTY}/confidence_interval"
"""The places of claims, as JSON Pointers below a result."""

_SEPARATORS: Final = frozenset("./:|")
"""The text between the id of a result and the name of its part, as in `mmlu` and `mmlu::law`."""

_LONGEST_WHOLE: Final = 256
"""The number of characters of an id that may be the id of a whole."""

_WORST_CASES: Final = frozenset({"fairness", "robustness"})
"""The last words in the ids of HELM's figures for the worst perturbation of each sample."""


def judge_claims(
    aggregate: Aggregate, tally: Tally, coverage: Coverage, *, is_read: bool = True
) -> Iterator[Judgement]:
    """Yield every claim of an aggregate; all are open without rows, or if not all were read."""
    may_share = any(result.is_qualified for result in aggregate.joinable)
    times_of_sums = Counter(map(_shared_sums, tally.scores.values())) if may_share else {}
    unscored = (one for one in aggregate.joinable if one.place not in tally.scores)
    others = list(unscored) if tally.rows else []
    has_unnamed = any(place >= len(aggregate.joinable) for place in tally.scores)
    join = Join(aggregate.joinable if others or has_unnamed else ())
    parts = index_parts(aggregate.joinable) if others else {}
    groups = {one.place for one in others if one.id in parts}
    alike: dict[int, tuple[Decimal, Decimal] | None] = {}
    combine = lru_cache(maxsize=2)(partial(combine_rows, tally, coverage))
    for result in aggregate.joinable:
        claims = aggregate.claims.get(result.place, Claims())
        made = list(_iterate_claims(aggregate, result, claims))
        one = ResultJudge(made, result, claims, tally, coverage, combine)
        if tally.unread or not is_read:
            yield from one.leave_open(Reason.UNREAD)
        elif not tally.rows:
            yield from one.leave_open(Reason.NO_ROWS)
        elif result.place in tally.scores:
            # Converters write the one score of a sample under each metric of its scorer, also where
            # the metrics are over parts of the samples, or over other values of a score.
            is_shared = (
                result.is_qualified and times_of_sums[_shared_sums(tally.scores[result.place])] > 1
            )
            judged = one.judge(one.evidence_at(result.place), is_shared=is_shared)
            # Rows without an id, or with a name of several results, may be of this one, too, but
            # those with an error count for none.
            beside = (tally.scores.get(place) for place in join.places(result))
            has_more = any(sums and (sums.sound_rows or sums.unscored) for sums in beside)
            yield from map(_doubt, made, judged) if has_more else judged
        else:
            places = [place for place in (*join.places(result), UNJOINED) if place in tally.scores]
            named = frozenset(parts.get(result.id or "", ())) - groups
            over_all = (
                (named and one.try_all_rows(named))
                or one.try_all_rows(frozenset())
                or one.try_plain_rows(find_plain(result, join, parts))
            )
            if len(places) == 1 and places[0] not in alike:
                alike[places[0]] = _range_if_alike(aggregate, join.rivals(places[0]))
            rivals = alike[places[0]] if len(places) == 1 else None
            yield from over_all or one.try_rows(places, rivals)


def _iterate_claims(aggregate: Aggregate, result: Result, claims: Claims) -> Iterator[Claim]:
    """Yield the figures that a result claims; its score comes first."""
    document = aggregate.document["evaluation_results"][result.place]
    label = result.id or result.name or f"result {result.place}"
    details = member(document, "score_details")
    uncertainty = member(details, "uncertainty")

    def claim(place: str, kind: ClaimKind, value: Any, **more: Any) -> Claim:
        name, *part = place.removeprefix(f"{UNCERTAINTY}/").split("/")
        pointer, shown = f"{RESULTS}/{result.place}/{place}", member(uncertainty, name)
        return Claim(pointer, f"{label}: {name}", kind, value, resolve(shown, part), **more)

    if claims.score is not None:
        pointer, shown = f"{RESULTS}/{result.place}/{SCORE}", member(details, "score")
        yield Claim(pointer, label, result.kind, claims.score, shown, is_score=True)
    if claims.num_samples is not None:
        yield claim(NUM_SAMPLES, kinds.COUNT, Decimal(claims.num_samples))
    if claims.deviation is not None:
        yield claim(DEVIATION, kinds.DEVIATION, claims.deviation)
    draws = claims.resamples
    if claims.error is not None:
        more: dict[str, Any] = {"method": claims.error_method, "draws": draws}
        yield claim(ERROR, kinds.ERROR, claims.error, **more)
    if claims.lower is not None and claims.upper is not None:
        more = {"method": claims.interval_method, "draws": draws}
        if claims.level is not None:
            more["level"] = float(claims.level)
        yield claim(INTERVAL, kinds.INTERVAL, (claims.lower, claims.upper), **more)
    if not has_further_members(document):
        return
    # Many results have none.
    from evalstream.formats.eee.details import read_details

    for detail in read_details(document, is_in_percent=is_in_percent(result)):
        where = f"{RESULTS}/{result.place}{detail.place}"
        more = detail.read_method(document) if detail.kind in SPREADS else {}
        yield Claim(
            where, f"{label}: {detail.name}", detail.kind, detail.number, detail.value, **more
        )


def _shared_sums(sums: ScoreSums) -> tuple[int, int, int]:
    """Return what the rows of two results have in common if they have the same scores."""
    return sums.rows, sums.total, sums.squares


def _range_if_alike(
    aggregate: Aggregate, results: Sequence[Result]
) -> tuple[Decimal, Decimal] | None:
    """Return the least and the greatest claimed score of results that differ in figures alone."""
    first: Any = None
    for result in results:
        document = aggregate.document["evaluation_results"][result.place]
        details = member(member(document, "score_details"), "details")
        told = {**document, "score_details": details}
        if first is not None and told != first:
            return None
        first = told
    claimed = (aggregate.claims.get(result.place, Claims()).score for result in results)
    scores = [score for score in claimed if score is not None]
    return (min(scores), max(scores)) if scores else None


def _doubt(claim: Claim, found: Judgement) -> Judgement:
    """Leave a claim open that holds only without rows that may be of its result."""
    if not found.claim.state.holds:
        return found
    return leave_open(claim, Reason.AMBIGUOUS, found.claim.rows, found.claim.recomputed)


def index_parts(results: Iterable[Result]) -> dict[str, dict[int, str]]:
    """Return the parts of each id: the places of results whose ids continue it, and the rest."""
    parts: dict[str, dict[int, str]] = {}
    for result in results:
        name = result.id or ""
        for end, character in enumerate(name[:_LONGEST_WHOLE]):
            if end and character in _SEPARATORS:
                parts.setdefault(name[:end], {})[result.place] = name[end + 1 :]
    return parts


def find_plain(result: Result, join: Join, parts: Mapping[str, Mapping[int, str]]) -> int | None:
    """Return the place of the plain figure beside one of HELM for the worst perturbation.

    It is None where the aggregate has figures of perturbations, which make the worst another one.
    """
    whole, _, last = (result.id or "").rpartition(":")
    plain, beside = join.by_id.get(whole), parts.get(whole)
    if plain is None or beside is None or last not in _WORST_CASES:
        return None
    return plain.place if _WORST_CASES.issuperset(beside.values()) else None
