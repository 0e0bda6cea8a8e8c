"""What a single input stands for."""

from pathlib import Path

import pytest

import evalstream

DOCUMENT = Path(__file__).parents[3] / "examples" / "evalguard" / "thresholds" / "advice.json"


def test_a_document_of_a_folder_format_is_checked_where_a_url_names_it() -> None:
    store = pytest.importorskip("fsspec").filesystem("memory")
    store.pipe("/named/advice.json", DOCUMENT.read_bytes())
    report = evalstream.check("memory://named/advice.json")
    (run,) = report.runs
    assert (run.format, run.rows) == ("evalguard", 1)
    assert report.counts == {"EVG202": 1}  # its task and metrics were not named
