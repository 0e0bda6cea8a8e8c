"""Tests of samples that wait to be handed on."""

from evalstream.model.options import SampleRequest
from evalstream.model.sample_record import GroupLabel, SampleFlag, sample_rows
from evalstream.stats.run_samples import RunSamples
from evalstream.stats.sample_digests import SampleBatch, SampleCollector, record_sample

BY_ID = SampleRequest("sample_id")
FIRST, SECOND = GroupLabel(None, "a"), GroupLabel(None, "b")


def test_samples_are_numbered_by_their_groups_in_each_block() -> None:
    batch = SampleBatch()
    row = record_sample(BY_ID, "x", None, 1, 0)
    for label in (FIRST, SECOND, FIRST):
        batch.add(label, row)
    assert len(batch) == 3
    block = batch.take()
    assert block.labels == (FIRST, SECOND)
    assert [one.group for one in sample_rows(block.rows)] == [0, 1, 0]
    assert len(batch) == 0
    batch.add(SECOND, row)
    assert batch.take().labels == (SECOND,)


def test_an_empty_batch_gives_an_empty_block() -> None:
    assert SampleBatch().take() == ((), b"")


def test_records_are_counted_once_whatever_scores_they_have() -> None:
    samples = RunSamples(SampleRequest("sample_id", counts_only=True))
    collector = SampleCollector(samples)
    known, unknown = (record_sample(BY_ID, name, None, 1, 0) for name in ("x", None))
    scores = [(FIRST, 1.0, SampleFlag.RIGHT), (SECOND, 0.5, SampleFlag(0))]
    for row in (known, unknown):
        collector.add(row, scores)
    collector.add(unknown, [])
    collector.finish()
    assert samples.labels == (FIRST, SECOND)
    assert samples.without_identity == 2
    assert samples.counts is not None
    assert [one.scored for one in samples.counts.samples()] == [1, 1]
