"""What a bar shows of several runs."""

import pytest

from evalstream.io.progress import Progress


def test_the_bytes_of_each_run_move_the_bar_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(shown=True) as whole:
        whole.begin("3 files", 100)
        for size in (40, 60):
            with whole.within() as part:
                part.begin("run.jsonl", size)
                part.add(size, rows=1)
    shown = capsys.readouterr().err
    assert "3 files: 100%" in shown
    assert "run.jsonl" not in shown
