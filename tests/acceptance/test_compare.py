"""The command `compare`, as its users run it."""

import hashlib
import json
import random
import shutil
from pathlib import Path

import pytest
from paths import EXAMPLES

import evalstream
from evalstream.model.comparison import CompareVerdict, ComparisonReport
from evalstream.model.errors import UsageError

ACME = EXAMPLES / "compare" / "data" / "tiny_sums" / "acme"
FIRST, SECOND = ACME / "acorn-7b", ACME / "acorn-3b"


def copied(folder: Path, source: Path = FIRST) -> tuple[Path, Path]:
    """Copy a run, and return its rows and its aggregate."""
    shutil.copytree(source, folder)
    (rows,) = folder.glob("*.jsonl")
    return rows, rows.with_name(rows.name.replace("_samples.jsonl", ".json"))


def sealed(rows: Path, aggregate: Path) -> None:
    """Write the checksum of changed rows into the aggregate."""
    document = json.loads(aggregate.read_bytes())
    digest = hashlib.sha256(rows.read_bytes()).hexdigest()
    document["detailed_evaluation_results"]["checksum"] = digest
    aggregate.write_text(json.dumps(document))


def figures(report: ComparisonReport) -> list[object]:
    """Return what a report says of the scores."""
    return [(one.metric, one.alignment, one.verdict, one.sentence) for one in report.comparisons]


def test_a_run_and_itself() -> None:
    report = evalstream.compare([FIRST, FIRST])
    assert report.exit_code == 0
    for one in report.comparisons:
        assert one.verdict is CompareVerdict.WITHIN_NOISE
        assert one.estimate is not None
        assert one.estimate.difference == 0
        assert one.alignment.overlap == 1
    assert not report.flips
    assert not report.drifts_in_all


def test_a_shuffled_copy_says_the_same(tmp_path: Path) -> None:
    rows, aggregate = copied(tmp_path / "shuffled", SECOND)
    lines = rows.read_bytes().splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    rows.write_bytes(b"".join(lines))
    sealed(rows, aggregate)
    assert figures(evalstream.compare([FIRST, tmp_path / "shuffled"])) == figures(
        evalstream.compare([FIRST, SECOND])
    )
    (both,) = evalstream.compare([SECOND, tmp_path / "shuffled"], metric="exact").comparisons
    assert both.alignment.matched == 99
    assert both.verdict is CompareVerdict.WITHIN_NOISE


@pytest.mark.parametrize("is_first", [True, False])
def test_a_tampered_copy_is_refused(tmp_path: Path, *, is_first: bool) -> None:
    rows, _ = copied(tmp_path / "tampered")
    rows.write_bytes(rows.read_bytes().replace(b'"score":0.0', b'"score":1.0', 1))
    inputs = [tmp_path / "tampered", SECOND]
    report = evalstream.compare(inputs if is_first else inputs[::-1])
    assert report.exit_code == 3
    assert not report.comparisons
    assert report.refused is not None
    assert "ES501 checksum-mismatch" in report.first_line
    unverified = evalstream.compare(inputs, verify=False)
    assert unverified.exit_code == 0
    assert unverified.first_line.startswith("compared without verification (--no-verify): A ")


def test_the_first_line_says_that_a_claim_is_refuted(tmp_path: Path) -> None:
    """Altered rows with a new seal pass with a warning: they do not give the claimed mean."""
    rows, aggregate = copied(tmp_path / "resealed")
    text = rows.read_bytes()
    wrong = b'"score":0.0,"is_correct":false'
    rows.write_bytes(text.replace(wrong, b'"score":1.0,"is_correct":true', 9))
    sealed(rows, aggregate)
    report = evalstream.compare([tmp_path / "resealed", SECOND])
    assert report.first_line == (
        "A and B pass their checks; A with warnings: ES801 score-not-reproduced (2)"
    )
    assert evalstream.compare([FIRST, SECOND]).first_line == "A and B pass their checks"


def test_the_baseline_decides_the_sign() -> None:
    (there,) = evalstream.compare([FIRST, SECOND], metric="exact").comparisons
    (back,) = evalstream.compare([FIRST, SECOND], metric="exact", baseline="B").comparisons
    assert there.estimate is not None
    assert back.estimate is not None
    assert there.estimate.difference == -back.estimate.difference
    assert there.better == back.better == "A"
    assert (there.right_to_wrong, there.wrong_to_right) == (15, 4)
    assert (back.right_to_wrong, back.wrong_to_right) == (4, 15)


@pytest.mark.parametrize(("condition", "code"), [("regression", 1), ("drift", 1), ("overlap", 0)])
def test_conditions(condition: str, code: int) -> None:
    assert evalstream.compare([FIRST, SECOND], fail_on=[condition]).exit_code == code
    assert evalstream.compare([FIRST, FIRST], fail_on=[condition]).exit_code == 0


def test_a_better_candidate_is_not_a_regression() -> None:
    assert evalstream.compare([SECOND, FIRST], fail_on=["regression"]).exit_code == 0


def test_too_little_overlap_has_no_verdict() -> None:
    report = evalstream.compare([FIRST, SECOND], overlap=0.96)
    verdicts = {one.metric.metric: one.verdict for one in report.comparisons}
    assert verdicts["exact"] is CompareVerdict.NOT_COMPARABLE
    assert report.exit_code == 3
    assert evalstream.compare([FIRST, SECOND], overlap=0.96, fail_on=["overlap"]).exit_code == 1


def test_ids_meet_where_inputs_do_not() -> None:
    (one,) = evalstream.compare([FIRST, SECOND], metric="exact", by="sample_id").comparisons
    counts = one.alignment
    assert (counts.matched, counts.only_a, counts.only_b) == (99, 1, 0)
    assert (counts.drifted, counts.relabelled) == (1, 1)


def test_a_matrix_of_a_folder() -> None:
    report = evalstream.compare(ACME, matrix=True)
    (overlaps,) = report.overlaps
    assert overlaps.cells == [[1.0, 97 / 102], [97 / 102, 1.0]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": 1.0},
        {"level": float("nan")},
        {"resamples": 1},
        {"overlap": 2.0},
        {"min_delta": -1.0},
        {"flips": -1},
        {"by": "line"},
        {"cluster": "metadata"},
        {"fail_on": ["noise"]},
        {"metric": "unknown"},
        {"baseline": "C"},
    ],
    ids=str,
)
def test_wrong_calls(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        evalstream.compare([FIRST, SECOND], **wrong)  # type: ignore[arg-type]
