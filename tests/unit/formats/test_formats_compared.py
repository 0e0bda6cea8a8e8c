"""Tests of runs of several formats in a comparison."""

import json
from pathlib import Path
from typing import Any

from compared_records import Collected, collected
from each import each
from inspect_archive import sound_log
from paths import REPOSITORY

from evalstream.formats.registry import FORMATS

EXAMPLES, PACKAGE = REPOSITORY / "examples", REPOSITORY / "evalstream"
ROWS = [json.loads(line) for line in (EXAMPLES / "run.jsonl").read_text().splitlines()]


def eee_run(folder: Path, *, choices: bool) -> Collected:
    """Check the rows of the example, with or without their choices."""
    rows = [{**row, "input": {**row["input"]}} for row in ROWS]
    for row in rows:
        if not choices:
            row["input"].pop("choices", None)
    folder.mkdir()
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return collected(folder / "rows.jsonl")


def harpia_run(folder: Path) -> Collected:
    """Check a log and an input that hold the inputs of the example."""
    inputs = {row["sample_id"]: row["input"] for row in ROWS}
    instances = [
        {
            "id": f"instance {name}",
            "input": shown["raw"],
            "expected-output": listed(shown["reference"]),
            "actual-output": "",
        }
        for name, shown in inputs.items()
    ]
    metrics = [{"id": "M", "enable": True, "parameters": {}}]
    log = [
        {"metric": "M", "instance_id": one["id"], "parameters": {}, "result": 1}
        for one in instances
    ]
    folder.mkdir()
    (folder / "input.json").write_text(json.dumps({"instances": instances, "metrics": metrics}))
    (folder / "log.jsonl").write_text("".join(json.dumps(one) + "\n" for one in log))
    return collected(folder)


def listed(reference: Any) -> list[Any]:
    """Return references as a list."""
    return reference if isinstance(reference, list) else [reference]


def test_rows_and_log_records_with_the_same_input_are_one_sample(tmp_path: Path) -> None:
    rows = eee_run(tmp_path / "eee", choices=False)
    records = harpia_run(tmp_path / "harpia")
    assert set(rows.identities().values()) == set(records.identities().values())


def test_rows_with_choices_are_other_inputs(tmp_path: Path) -> None:
    rows = eee_run(tmp_path / "eee", choices=True)
    records = harpia_run(tmp_path / "harpia")
    shared = set(rows.identities().values()) & set(records.identities().values())
    plain = [line for line, row in enumerate(ROWS, 1) if not row["input"].get("choices")]
    assert 0 < len(plain) < len(ROWS)
    assert shared == {rows.identities()[line] for line in plain}


@each("name", FORMATS)
def test_every_format_says_whether_it_has_scores_of_samples(name: str, tmp_path: Path) -> None:
    log = tmp_path / "run.json"
    log.write_text(json.dumps(sound_log()))
    path = {
        "eee": EXAMPLES / "run.jsonl",
        "swe_bench": EXAMPLES / "swe_bench" / "acme__acorn-7b.tiny.json",
        "inspect": log,
        "lm_eval": next((EXAMPLES / "tutorial" / "log").rglob("samples_*.jsonl")),
    }.get(name, EXAMPLES / name)
    found = collected(path)
    assert found.checked.run.format == name
    has_samples = (PACKAGE / "formats" / name / "compared.py").is_file()
    assert (found.checked.samples is not None) is has_samples, "compared.py collects them"


def test_the_checksum_of_a_benchmark_is_not_that_of_the_run() -> None:
    found = collected(EXAMPLES / "infereval")
    assert found.checked.summary.actual is not None
    assert found.checked.shown.checksum is None
