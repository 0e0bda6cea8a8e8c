"""Tests of the recognition of logs."""

import json

from each import each
from inspect_archive import members_of, packed, sound_log

from evalstream.formats.inspect.format import FORMAT
from evalstream.io.beginning import Beginning


@each(
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
    assert FORMAT.detect_kind(Beginning(name, text)) == expected
