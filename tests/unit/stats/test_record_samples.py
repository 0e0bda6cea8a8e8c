"""Tests of the samples of records."""

import math
from typing import Any

import pytest

from evalstream.formats.eee.compared import sample_row
from evalstream.model.options import SampleRequest
from evalstream.model.sample_record import UNKNOWN
from evalstream.stats.sample_digests import InputDigests, record_sample

SHOWN = InputDigests("question", ["answer"], [])


@pytest.mark.parametrize("by", ["input", "sample_id"])
@pytest.mark.parametrize("sample", ["7", 7, 7.0, "é", "\ud800"])
def test_a_record_is_the_same_sample_as_a_row_with_its_input(by: str, sample: Any) -> None:
    request = SampleRequest(by)
    row = {"sample_id": sample, "input": {"raw": "question", "reference": ["answer"]}}
    expected = sample_row(row, request, 3, 40, is_scored=False)
    found = record_sample(request, sample, SHOWN, 3, 40)
    assert str(found) == str(expected)
    assert math.isnan(found.score)


@pytest.mark.parametrize(
    ("by", "sample", "shown"),
    [("input", "x", None), ("sample_id", None, SHOWN), ("sample_hash", "x", SHOWN)],
)
def test_a_record_may_have_no_identity(by: str, sample: Any, shown: InputDigests | None) -> None:
    found = record_sample(SampleRequest(by), sample, shown, 1, 0)
    assert (found.high, found.low) == (UNKNOWN, UNKNOWN)
