"""What the rows of a result say of their samples and repeats."""

from collections import Counter

from each import each

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
