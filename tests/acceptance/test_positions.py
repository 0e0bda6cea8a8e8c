"""Findings about documents of all formats have the line and column of what their pointer names."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from depth import deep
from each import each
from inspect_archive import sound_log
from paths import EXAMPLES
from rows import sound_rows

import evalstream
from evalstream.engine import row_pass
from evalstream.model.finding import Finding
from evalstream.parsing.json_positions import find_positions

Edit = Callable[[Any], None]


def _refute(aggregate: Any) -> None:
    aggregate["evaluation_results"][0]["score_details"]["score"] = 0.1
    del aggregate["model_info"]["name"]


def _confuse(evaluation: Any) -> None:
    evaluation["started_at"] = "never"
    evaluation["items"][1]["samples"][0]["parsed_verdict"] = "perhaps"
    evaluation["items"][1]["unknown"] = 1


def _unbalance(benchmark: Any) -> None:
    benchmark["items"][0]["analyst_verdicts"] = benchmark["items"][0]["analyst_verdicts"][:1]
    benchmark["primary_panel"] = ["nobody"]


def _overcount(log: Any) -> None:
    log["results"]["completed_samples"] = 99
    log["samples"][1]["scores"]["match"]["value"] = {"a": {"b": []}}
    del log["samples"][0]["epoch"]
    log["samples"].append(log["samples"][2])


DOCUMENTS: dict[str, tuple[Callable[[], Any], Edit, list[str]]] = {
    "aggregate.json": (
        lambda: json.loads((EXAMPLES / "aggregate.json").read_text()),
        _refute,
        ["run.jsonl"],
    ),
    "evaluation.json": (
        lambda: json.loads((EXAMPLES / "infereval/evaluation.json").read_text()),
        _confuse,
        [],
    ),
    "benchmark.json": (
        lambda: json.loads((EXAMPLES / "infereval/benchmark.json").read_text()),
        _unbalance,
        [],
    ),
    "log.json": (sound_log, _overcount, []),
}


def edited(name: str, folder: Path, **layout: Any) -> Path:
    """Write a document with defects in a layout, and the files that belong to it."""
    load, edit, others = DOCUMENTS[name]
    for other in others:
        shutil.copy(EXAMPLES / other, folder)
    document = json.loads(json.dumps(load()))
    edit(document)
    path = folder / name
    path.write_text(json.dumps(document, **layout), encoding="utf-8")
    return path


def placed(path: Path, **options: Any) -> Iterator[tuple[Finding, tuple[int, int | None] | None]]:
    """Iterate over the findings about a document, each with the position that it must have."""
    for finding in evalstream.check(path.parent, **options):
        if finding.file == str(path) and finding.pointer is not None:
            position = find_positions(path.read_bytes(), [finding.pointer]).get(finding.pointer)
            yield finding, position


@pytest.mark.parametrize(
    "layout", [{"indent": 2}, {"separators": (",", ":")}], ids=["lines", "one"]
)
@each("name", DOCUMENTS)
def test_positions_are_those_of_the_pointers(
    name: str, layout: dict[str, Any], tmp_path: Path
) -> None:
    found = list(placed(edited(name, tmp_path, **layout)))
    assert len(found) >= 2
    for finding, position in found:
        assert (finding.line, finding.column) == position, finding


def test_the_order_of_findings_is_that_of_lines(tmp_path: Path) -> None:
    for name in DOCUMENTS:
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        found = list(placed(edited(name, folder, indent=1)))
        keys = [finding.order() for finding, _ in found]
        assert keys == sorted(keys), name


def test_reports_show_line_and_column(tmp_path: Path) -> None:
    path = edited("aggregate.json", tmp_path, indent=2)
    (score,) = (one for one, _ in placed(path) if one.code == "ES801")
    text = path.read_text().splitlines()[score.line - 1][score.column - 1 :]
    assert text.startswith("0.1")
    assert score.position == f":{score.line}:{score.column}"
    assert list(score.as_dict())[:6] == ["code", "name", "severity", "file", "line", "column"]


def test_a_sound_document_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalstream.parsing.json_positions.find_positions", pytest.fail)
    for name in ("run.jsonl", "aggregate.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    assert evalstream.check(tmp_path).passed


ROWS = sound_rows(count=12)
for _faulty in (2, 3, 9):
    ROWS[_faulty]["evaluation"]["score"] = "high"
TEXTS = [json.dumps(row) for row in ROWS]
LAYOUTS = {
    "lines": "\n".join(TEXTS) + "\n",
    "CRLF and blank lines": "\ufeff" + "\r\n \r\n".join(TEXTS),
    "array": "[" + ",".join(TEXTS) + "]",
    "array on lines": "[\n" + " ,\n".join(TEXTS) + "\n]\n",
    "indented array": json.dumps(ROWS, indent=1),
}


@pytest.mark.parametrize(
    ("engine", "suffix"),
    [("auto", ""), ("portable", ".gz"), deep("auto", ".gz"), deep("portable", "")],
)
@each("layout", LAYOUTS)
def test_offsets_of_findings_are_those_of_their_rows(
    layout: str, suffix: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = LAYOUTS[layout].encode()
    path = tmp_path / f"rows.jsonl{suffix}"
    path.write_bytes(gzip.compress(data) if suffix else data)
    for size in (3_000, row_pass.BLOCK_BYTES):
        monkeypatch.setattr(row_pass, "BLOCK_BYTES", size)
        report = evalstream.check(path, engine=engine, select=("ES2",), jobs=1)
        found = [finding.offset for finding in report if finding.code == "ES202"]
        rows = [json.JSONDecoder().raw_decode(data[at or 0 :].decode())[0] for at in found]
        assert rows == [ROWS[2], ROWS[3], ROWS[9]]
