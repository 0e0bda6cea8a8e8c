"""Copies of questions are found whatever memory holds, and their errors are those of clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.stats.inference.clusters import ClusterTotals, CopyFinder, CopyTotals
from evalstream.stats.inference.paired import PairedScores
from evalstream.stats.samples.sample_store import PAIR


@bounded(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0, None]), st.floats(-2, 2)),
        min_size=2,
        max_size=30,
    ),
    limit=st.sampled_from([100, 1 << 20]),
)
def test_errors_are_those_of_clusters_of_copies(
    rows: list[tuple[int, float | None, float]], limit: int
) -> None:
    pairs = np.zeros(len(rows), PAIR)
    # Questions far from each other lie in different parts of the store; 0 is an unknown one.
    pairs["cluster"] = [question << 60 for question, _, _ in rows]
    pairs["score_a"] = [np.nan if a is None else a for _, a, _ in rows]
    pairs["score_b"] = [b for _, _, b in rows]
    pairs["line_a"] = np.arange(1, len(rows) + 1)
    finder, totals, paired, clusters = (
        CopyFinder(limit),
        CopyTotals(),
        PairedScores(),
        ClusterTotals(),
    )
    is_scored = ~np.isnan(pairs["score_a"])
    scored = pairs[is_scored]
    paired.add(scored["score_a"], scored["score_b"])
    numbers = [question or row << 8 for row, (question, _, _) in enumerate(rows)]
    clusters.add(np.array(numbers)[is_scored], scored["score_a"], scored["score_b"])
    for some in np.array_split(pairs, 3):
        finder.add(some)
    for found in finder.groups():
        totals.add(found, paired.moments.means if paired.n else (0.0, 0.0, 0.0))
    finder.close()
    known = [question for question, _, _ in rows if question]
    assert totals.copies == len(known) - len(set(known))
    if totals.copies:
        seen: dict[int, int] = {}
        for line, (question, _, _) in enumerate(rows, start=1):
            if question and question in seen:
                assert (totals.line, totals.original) == (line, seen[question])
                break
            seen[question] = line
    expected = clusters.cluster_statistics(paired, 0.95)
    actual = totals.cluster_statistics(paired, 0.95)
    assert (actual is None) == (expected is None)
    if actual is not None and expected is not None:
        assert actual.clusters == expected.clusters
        for name in ("standard_error", "error_a", "error_b"):
            assert getattr(actual, name) == pytest.approx(getattr(expected, name), abs=1e-7)
