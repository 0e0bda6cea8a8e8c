"""What a single input stands for."""

from pathlib import Path

import pytest

import evalstream

EXAMPLES = Path(__file__).parents[3] / "examples"
DOCUMENT = EXAMPLES / "evalguard" / "thresholds" / "advice.json"


def test_a_document_of_a_folder_format_is_checked_where_a_url_names_it() -> None:
    store = pytest.importorskip("fsspec").filesystem("memory")
    store.pipe("/named/advice.json", DOCUMENT.read_bytes())
    report = evalstream.check("memory://named/advice.json")
    (run,) = report.runs
    assert (run.format, run.rows) == ("evalguard", 1)
    assert report.counts == {"EVG202": 1}  # its task and metrics were not named


def test_rows_that_are_named_alone_are_known_by_their_content(tmp_path: Path) -> None:
    (log,) = (EXAMPLES / "tutorial" / "log").rglob("samples_*.jsonl")
    (tmp_path / "rows.jsonl").write_bytes(log.read_bytes())
    (run,) = evalstream.check(tmp_path / "rows.jsonl").runs
    assert (run.format, run.rows) == ("lm_eval", 4)


def test_a_schema_of_ones_own_checks_rows_of_any_kind_in_a_folder(tmp_path: Path) -> None:
    (log,) = (EXAMPLES / "tutorial" / "log").rglob("samples_*.jsonl")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / log.name).write_bytes(log.read_bytes())
    report = evalstream.check(tmp_path / "data", schema='{"required": ["zz"]}')
    assert [(run.format, run.rows) for run in report.runs] == [("eee", 4)]
    assert report.counts["ES201"] == 4
