"""The digest that a thread computes."""

from __future__ import annotations

import hashlib
import threading

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.io.digest import MOST_WAITING, BackgroundDigest, RunningDigest


@bounded(max_examples=examples(100))
@given(pieces=st.lists(st.binary(max_size=50), max_size=30), start=st.integers(0, 30))
def test_the_digest_is_that_of_all_pieces(pieces: list[bytes], start: int) -> None:
    digest = BackgroundDigest(RunningDigest(["sha256", "md5"]))
    for place, piece in enumerate(pieces):
        if place == start:
            digest.start()
        digest.add(piece)
    whole = b"".join(pieces)
    expected = {name: hashlib.new(name, whole).hexdigest() for name in ("sha256", "md5")}
    assert digest.result() == expected
    digest.close()
    assert "evalstream-digest" not in {thread.name for thread in threading.enumerate()}


def test_few_pieces_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = BackgroundDigest(RunningDigest(["md5"]))
    digest.start()
    behind = []
    for number in range(200):
        digest.add(bytes(1 << 14))
        behind.append(number + 1 - digest._done)
    assert max(behind) <= MOST_WAITING
    digest.close()
