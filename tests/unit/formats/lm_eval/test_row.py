"""The hashes of the harness."""

import json
from hashlib import sha256
from typing import Any

from each import each

from evalstream.formats.lm_eval.row import is_doc_hash


@each(
    "doc", [{"a": "é\u2028?"}, {"big": 1e22, "a": "é"}, {"a": float("inf")}, 1 << 70, ["é", 1e-7]]
)
def test_a_doc_has_the_hash_of_the_text_that_python_writes(doc: Any) -> None:
    text = json.dumps(doc, indent=2, ensure_ascii=False)
    assert is_doc_hash(sha256(text.encode()).hexdigest(), doc)
    assert not is_doc_hash(sha256(text[:-1].encode()).hexdigest(), doc)


def test_a_text_without_bytes_in_utf8_has_no_hash() -> None:
    assert not is_doc_hash("0" * 64, {"a": "\ud800"})
