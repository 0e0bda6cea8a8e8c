"""Comparisons of real runs say what an independent reference works out."""

import json
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from compared_runs import Files, assert_as_reference, assert_equal_comparisons, report_of
from comparison_reference import ReferenceRun, read_run
from corpus import CORPUS, expectations, needs_corpus
from depth import is_deep, some
from each import each
from paths import EXAMPLES

from evalstream.model.comparison import CompareVerdict
from evalstream.stats.inference.verdict import FEW_SAMPLES

RUNS: dict[str, Files] = {
    pair["id"]: tuple(
        CORPUS / "eee-pairs" / pair["id"] / pair[name] for name in ("instance", "aggregate")
    )
    for pair in expectations("eee-pairs/expected.json").get("pairs", [])
    if pair.get("instance_facts") and pair.get("aggregate_facts")
}
ACME = EXAMPLES / "compare" / "data" / "tiny_sums" / "acme"


@cache
def reference_of(name: str) -> ReferenceRun:
    """Read a run of the corpus once."""
    return read_run(*RUNS[name])


def example(model: str) -> Files:
    """Return the files of a run of the worked example."""
    (rows,) = (ACME / model).glob("*.jsonl")
    return rows, rows.with_name(rows.name.replace("_samples.jsonl", ".json"))


@needs_corpus
def test_real_runs_that_share_a_metric() -> None:
    known = {name: reference_of(name) for name in RUNS}
    pairs = [
        (a, b)
        for a, b in combinations(RUNS, 2)
        if known[a].metrics.keys() & known[b].metrics.keys()
    ]
    assert len(pairs) == 104
    differing = 0
    for a, b in some(pairs, 40):
        said = assert_as_reference(report_of([RUNS[a], RUNS[b]]), known[a], known[b])
        differing += any(one.difference for one in said.values())
        assert all(one.overlap == 1 for one in said.values()), (a, b)
    assert differing == 6 if is_deep() else differing


@needs_corpus
@each("name", some(list(RUNS), 24))
def test_a_changed_copy_of_a_real_run(name: str, tmp_path: Path) -> None:
    """Every fifth row is lost, and others get another question, reference, id or score."""
    rows, aggregate = RUNS[name]
    copy = tmp_path / rows.name
    kept = (_changed(number, line) for number, line in enumerate(rows.read_bytes().splitlines()))
    copy.write_bytes(b"".join(one for one in reversed([*kept]) if one))
    said = assert_equal_comparisons(RUNS[name], (copy, aggregate))
    assert said or not copy.stat().st_size


@pytest.mark.deep
@needs_corpus
def test_real_runs_and_themselves() -> None:
    for name, files in RUNS.items():
        report = report_of([files, files])
        assert_as_reference(report, reference_of(name), reference_of(name))
        for one in report.comparisons:
            if one.estimate is not None:
                is_few = one.estimate.n < FEW_SAMPLES
                wanted = CompareVerdict.UNINFORMATIVE if is_few else CompareVerdict.WITHIN_NOISE
                assert one.verdict is wanted, (name, one.sentence)
                assert one.estimate.difference == 0
                assert one.alignment.overlap == 1


def test_the_worked_example() -> None:
    said = assert_equal_comparisons(example("acorn-7b"), example("acorn-3b"))
    exact = said["tiny_sums", "exact"]
    assert exact.square == (58, 15, 4, 20)
    assert (exact.only_a, exact.only_b, exact.drifted, exact.relabelled) == (3, 2, 1, 1)
    assert said["tiny_products", "closeness"].square is None


def _changed(number: int, line: bytes) -> bytes:
    """Return a line that is changed in one of five ways, or empty for a lost one."""
    row: dict[str, Any] = json.loads(line)
    way = number % 5
    if way == 0:
        return b""
    if way == 1:
        row["input"]["raw"] = f"{row['input']['raw']} Think first."
    elif way == 2:
        row["input"]["reference"] = ["another reference"]
    elif way == 3:
        row["sample_id"] = f"moved-{number}"
        row["evaluation"]["score"] = 0.25
    else:
        row["evaluation"]["score"] = 1.0
    return json.dumps(row).encode() + b"\n"
