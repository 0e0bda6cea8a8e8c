"""Tests of the recognition of logs."""

import json

import pytest
from inspect_archive import members_of, packed, sound_log

from evalstream.formats.inspect.documents import recognised
from evalstream.formats.registry import FORMATS
from evalstream.io.beginning import Beginning


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("run.eval", packed(members_of(sound_log())), "log"),
        ("run.EVAL", b"", "log"),
        ("run.zip", packed(members_of(sound_log())), "log"),
        ("run.zip", packed({"a.txt": b"a"}), None),
        ("run.json", json.dumps(sound_log()).encode(), "log"),
        ("run.json", b'{"status": "success", "eval": {"task": "t", "model": "m"}}', "log"),
        ("run.json", b'{"status": "success", "eval": {"model": "m"}}', None),
        ("run.json", b'{"status": "success"}', None),
        ("run.jsonl", json.dumps(sound_log()).encode(), None),
        ("run.json", b"[]", None),
    ],
)
def test_logs_are_recognised(name: str, text: bytes, expected: str | None) -> None:
    assert recognised(Beginning(name, text)) == expected


def test_the_view_of_a_sample_shows_its_input_scores_and_output() -> None:
    one = FORMATS["inspect"]
    views = [one.record_view(record, "2") for record in one.records(sound_log())]
    assert [view.ids for view in views][:2] == [{"id": 1, "epoch": 1}, {"id": 2, "epoch": 1}]
    assert [view.scores for view in views] == [{"match": value} for value in "CCCI"]
    assert views[0].output == "4"
    assert views[0].input_identity == views[2].input_identity != views[1].input_identity
