"""Which samples and results are one run."""

from evalstream.formats.lm_eval.format import FORMAT, RESULTS, SAMPLES


def test_one_file_of_each_that_are_named_together_are_a_pair_whatever_their_names() -> None:
    given = [(RESULTS, "elsewhere/scores.json"), (SAMPLES, "rows.jsonl")]
    (run,) = FORMAT.pair(lambda: iter(given), named=True)
    assert (run.rows, run.aggregate) == ("rows.jsonl", "elsewhere/scores.json")
