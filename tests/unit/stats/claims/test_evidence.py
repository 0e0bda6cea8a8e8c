"""What the rows of a result say of their samples and repeats."""

from collections import Counter
from itertools import chain
from statistics import mean

from depth import examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.stats.claims import corpus_metrics, kinds
from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.coverage import ResultCoverage
from evalstream.stats.tally import ScoreSums


def evidence_of(samples: list[str]) -> Evidence:
    """Return the evidence of rows with a score of 1, by their samples; each is a repeat."""
    times = Counter(samples)
    cover = ResultCoverage(
        samples=len(times),
        repeats=len(samples),
        squares=sum(count * count for count in times.values()),
    )
    sums = ScoreSums()
    if samples:
        sums.add(None, 1.0, True, failed=False, times=len(samples))
    return Evidence(sums, cover)


@each(
    ("samples", "is_repeated", "is_even"),
    [
        ([], False, False),
        (["a"], False, False),
        (["a", "b"], False, False),
        (["a", "a"], True, True),
        (["a", "a", "a"], True, True),
        (["a", "a", "b"], True, False),
        (["a", "b", "a", "b"], True, True),
        (["a", "a", "a", "b"], True, False),
    ],
)
def test_samples_are_repeated_where_rows_outnumber_them(
    samples: list[str], is_repeated: bool, is_even: bool
) -> None:
    evidence = evidence_of(samples)
    assert evidence.is_repeated is is_repeated
    assert evidence.has_even_repeats is is_even


@given(
    st.lists(
        st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=5),
        min_size=1,
        max_size=6,
    )
)
@bounded(max_examples=examples(200))
def test_bounds_hold_the_mean_of_samples(samples: list[list[tuple[int, bool]]]) -> None:
    sums, times = ScoreSums(), [len(scores) for scores in samples]
    for score, failed in chain(*samples):
        sums.add(None, score, None, failed=failed, times=1)
    cover = ResultCoverage(
        samples=len(samples), repeats=sum(times), squares=sum(one * one for one in times)
    )
    bounds = Evidence(sums, cover).bound_mean_of_samples()
    sound = [[score for score, failed in scores if not failed] for scores in samples]
    if bounds is None:
        assert not any(sound)
    elif all(sound):
        least, most = bounds
        assert least - 1e-9 <= mean(map(mean, sound)) <= most + 1e-9


BOUNDS = {
    corpus_metrics.PERPLEXITY: (1, None),
    corpus_metrics.WEIGHTED_PERPLEXITY: (1, None),
    corpus_metrics.BITS_PER_BYTE: (0, None),
    corpus_metrics.F1: (0, 1),
    corpus_metrics.MATTHEWS: (-1, 1),
    corpus_metrics.BRIER: (0, 2),
    kinds.SHARE: (0, 1),
    kinds.COUNTS: (0, None),
    kinds.ALPHA: (None, 1),
    kinds.PERPLEXITY: (1, None),
}


def test_bounds_that_hold_for_any_rows_are_those_of_the_definition() -> None:
    for rows in ([], ["a", "b"]):
        evidence = evidence_of(rows)
        assert {kind.name: kind.bounds(evidence) for kind in BOUNDS} == {
            kind.name: bounds for kind, bounds in BOUNDS.items()
        }
