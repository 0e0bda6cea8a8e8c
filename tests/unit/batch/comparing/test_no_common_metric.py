"""Runs of which some share no metric."""

from paths import CORPUS_PAIRS, EXAMPLES

import evalstream

RUNS = EXAMPLES / "compare/data/tiny_sums/acme"
OTHER = CORPUS_PAIRS / "sound-0.2.2"


def test_runs_without_a_common_metric_do_not_stop_the_comparison_of_others() -> None:
    runs = [RUNS / "acorn-7b", RUNS / "acorn-3b", OTHER]
    report = evalstream.compare(runs, pairs="all")
    assert report.refused is None
    assert {(one.a, one.b) for one in report.comparisons} == {("A", "B")}


def test_runs_with_common_metrics_are_all_compared() -> None:
    report = evalstream.compare([RUNS / "acorn-7b", RUNS / "acorn-3b"])
    assert report.refused is None
    assert report.comparisons
