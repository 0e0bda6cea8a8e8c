"""A signal ends an export between two groups of rows."""

import signal
from pathlib import Path

import pytest

from evalstream.api.export import RowSource, write_rows
from evalstream.model.signals import STOPPING, Stopped

pytest.importorskip("pyarrow.parquet", reason="needs pyarrow, the extra parquet")


def test_a_signal_ends_an_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STOPPING, "raised", None)
    monkeypatch.setattr(STOPPING, "_received", signal.SIGTERM)
    with pytest.raises(Stopped):
        write_rows(str(tmp_path / "rows"), RowSource("passed", "run", ""), [(1, 0, b"{}")])
