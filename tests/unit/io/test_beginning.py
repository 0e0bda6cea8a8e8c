"""Named pipes are not opened to look at their beginning."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalstream.discovery.peek import peek_aggregate
from evalstream.io import beginning


def test_a_named_pipe_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = tmp_path / "run.json"
    os.mkfifo(fifo)

    def refuse(*_: object) -> None:
        raise AssertionError("a writer would take this for its reader")

    monkeypatch.setattr(os, "open", refuse)
    assert list(beginning._decompress_head(str(fifo), 100)) == []
    assert peek_aggregate(str(fifo)) is None
