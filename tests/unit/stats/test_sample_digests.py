"""Samples of records, and batches of them that wait to be handed on."""

import math
from typing import Any

import pytest
from each import each

from evalstream.formats.eee.compared import sample_row
from evalstream.model.options import SampleRequest
from evalstream.model.sample_record import UNKNOWN, GroupLabel, SampleFlag, sample_rows
from evalstream.stats.run_samples import RunSamples
from evalstream.stats.sample_digests import (
    InputDigests,
    SampleBatch,
    SampleCollector,
    record_sample,
)

SHOWN = InputDigests("question", ["answer"], [])


@pytest.mark.parametrize("by", ["input", "sample_id"])
@each("sample", ["7", 7, 7.0, "é", "\ud800"])
def test_a_record_is_the_same_sample_as_a_row_with_its_input(by: str, sample: Any) -> None:
    request = SampleRequest(by)
    row = {"sample_id": sample, "input": {"raw": "question", "reference": ["answer"]}}
    expected = sample_row(row, request, 3, 40, is_scored=False)
    found = record_sample(request, sample, SHOWN, 3, 40)
    assert str(found) == str(expected)
    assert math.isnan(found.score)


@each(
    ("by", "sample", "shown"),
    [("input", "x", None), ("sample_id", None, SHOWN), ("sample_hash", "x", SHOWN)],
)
def test_a_record_may_have_no_identity(by: str, sample: Any, shown: InputDigests | None) -> None:
    found = record_sample(SampleRequest(by), sample, shown, 1, 0)
    assert (found.high, found.low) == (UNKNOWN, UNKNOWN)


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
