"""What current converters write wrongly is named with the converter, and what to do."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import PAIRS

import evalstream

Edit = Callable[[list[dict[str, Any]], dict[str, Any]], None]


def message(folder: Path, code: str, edit: Edit) -> str:
    """Return the first message of a code about a changed pair of 0.3.0."""
    shutil.copytree(PAIRS / "0.3.0", folder / "pair")
    (path,) = folder.rglob("*.jsonl")
    beside = path.with_name(path.name.replace("_samples.jsonl", ".json"))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    aggregate = json.loads(beside.read_text())
    edit(rows, aggregate)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    beside.write_text(json.dumps(aggregate))
    found = [one for one in evalstream.check(beside, max_findings=0) if one.code == code]
    return found[0].message


def no_result(rows: list[dict[str, Any]], _aggregate: dict[str, Any]) -> None:
    rows[0]["evaluation_result_id"] = None


def likelihood(rows: list[dict[str, Any]], aggregate: dict[str, Any]) -> None:
    config = aggregate["evaluation_results"][0]["metric_config"]
    config |= {"metric_name": "perplexity", "min_score": 1.0, "max_score": "Infinity"}
    rows[0]["evaluation"]["score"] = -0.75


def low_score(rows: list[dict[str, Any]], _aggregate: dict[str, Any]) -> None:
    rows[0]["evaluation"]["score"] = -0.75


def reducers(_rows: list[dict[str, Any]], aggregate: dict[str, Any]) -> None:
    aggregate["source_metadata"]["source_name"] = "inspect_ai"
    (result,) = aggregate["evaluation_results"]
    result["evaluation_result_id"] = "match:accuracy"
    aggregate["evaluation_results"].append(result)


def same_id(_rows: list[dict[str, Any]], aggregate: dict[str, Any]) -> None:
    aggregate["evaluation_results"] *= 2


@each(
    ("code", "edit", "named"),
    [
        ("ES204", no_result, "every-eval-ever writes it in each row before 0.3.0"),
        ("ES308", likelihood, "converter of lm-eval logs (every-eval-ever 0.3.0)"),
        ("ES606", reducers, "converter of Inspect logs (every-eval-ever 0.3.0)"),
    ],
)
def test_the_converter_is_named(code: str, edit: Edit, named: str, tmp_path: Path) -> None:
    assert named in message(tmp_path, code, edit)


@pytest.mark.parametrize(("code", "edit"), [("ES308", low_score), ("ES606", same_id)])
def test_no_converter_is_named_for_other_causes(code: str, edit: Edit, tmp_path: Path) -> None:
    assert "every-eval-ever" not in message(tmp_path, code, edit)
