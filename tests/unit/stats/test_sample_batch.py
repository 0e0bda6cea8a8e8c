"""Tests of samples that wait to be handed on."""

from evalstream.model.options import SampleRequest
from evalstream.model.sample_record import GroupLabel, sample_rows
from evalstream.stats.sample_digests import SampleBatch, record_sample

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
