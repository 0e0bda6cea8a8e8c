"""What the beginnings of files show, and that named pipes are not opened for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from each import each

from evalstream.discovery.peek import peek_aggregate
from evalstream.io import beginning
from evalstream.io.beginning import OBJECT, PEEK_BYTES, Peek, peek


def test_a_named_pipe_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = tmp_path / "run.json"
    os.mkfifo(fifo)

    def refuse(*_: object) -> None:
        raise AssertionError("a writer would take this for its reader")

    monkeypatch.setattr(os, "open", refuse)
    assert list(beginning._decompress_head(str(fifo), 100)) == []
    assert peek_aggregate(str(fifo)) is None


@each("above", [b"", b'{"b": {"c": '])
def test_a_string_of_many_quotes_that_is_cut_is_looked_at_once(above: bytes) -> None:
    head = b'{"evaluation_id": 1, "a": ' + above + b'"' + rb"\"," * (PEEK_BYTES // 3)
    inner = frozenset({"a/b"} if above else ())
    assert peek(head) == Peek(OBJECT, frozenset({"evaluation_id", "a"}), inner)
