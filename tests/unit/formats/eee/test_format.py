"""What an aggregate declares, read from its text."""

import pytest

from evalstream.formats.base import DeclaredRows
from evalstream.formats.eee.format import FORMAT

DECLARES = b'{"detailed_evaluation_results": {"file_path": "run.jsonl"}}'
FAR = b" " * (1 << 18)


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        (DECLARES, DeclaredRows("run.jsonl")),
        (DECLARES.replace(b"eva", b"\\u0065va"), DeclaredRows("run.jsonl")),
        (DECLARES[:-1] + b', "a": 1, "a": 2}', DeclaredRows("run.jsonl")),
        (DECLARES[:-1] + b', "detailed_evaluation_results": null}', DeclaredRows(None)),
        (b'{"evaluation_results": []}', DeclaredRows(None)),
        (b'{"a": {"evaluation_results": []}}', None),
        (b'["evaluation_results"]', None),
        (b'{"evaluation_results": [', None),
        (b'{"evaluation_results": [NaN]}', None),
        (b'{"evaluation_results": ["\\ud800"]}', None),
        (b"\xef\xbb\xbf" + DECLARES, None),
        (b'{"evaluation_results": ' + b"[" * 300 + b"]" * 300 + b"}", DeclaredRows(None)),
    ],
)
def test_a_small_text_declares_the_same_as_a_large_one(
    text: bytes, declared: DeclaredRows | None
) -> None:
    assert FORMAT.declared_in_text(text) == FORMAT.declared_in_text(text + FAR) == declared
