"""The worked example of `compare`, and changed copies of its runs."""

import hashlib
import json
import random
import shutil
from pathlib import Path

from paths import EXAMPLES

import evalstream
from evalstream.model.comparison import CompareVerdict, ComparisonReport

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


def test_the_first_line_says_that_a_claim_is_refuted(tmp_path: Path) -> None:
    """Altered rows with a new seal do not pass: they do not give the claimed mean."""
    rows, aggregate = copied(tmp_path / "resealed")
    text = rows.read_bytes()
    wrong = b'"score":0.0,"is_correct":false'
    rows.write_bytes(text.replace(wrong, b'"score":1.0,"is_correct":true', 9))
    sealed(rows, aggregate)
    report = evalstream.compare([tmp_path / "resealed", SECOND])
    assert report.first_line == (
        "not compared: A does not pass its check: ES801 score-refuted (1), "
        "ES803 uncertainty-refuted (1)"
    )
    assert evalstream.compare([FIRST, SECOND]).first_line == "A and B pass their checks"


def test_the_baseline_decides_the_sign() -> None:
    (there,) = evalstream.compare([FIRST, SECOND], metric="exact").comparisons
    (back,) = evalstream.compare([FIRST, SECOND], metric="exact", reference="B").comparisons
    assert there.estimate is not None
    assert back.estimate is not None
    assert there.estimate.difference == -back.estimate.difference
    assert there.better == back.better == "A"
    assert (there.right_to_wrong, there.wrong_to_right) == (15, 4)
    assert (back.right_to_wrong, back.wrong_to_right) == (4, 15)


def test_ids_meet_where_inputs_do_not() -> None:
    (one,) = evalstream.compare([FIRST, SECOND], metric="exact", by="sample_id").comparisons
    counts = one.alignment
    assert (counts.matched, counts.only_a, counts.only_b) == (99, 1, 0)
    assert (counts.drifted, counts.relabelled) == (1, 1)


def test_a_matrix_of_a_folder() -> None:
    report = evalstream.compare(ACME, matrix=True)
    (overlaps,) = report.overlaps
    assert overlaps.cells == [[1.0, 97 / 102], [97 / 102, 1.0]]
