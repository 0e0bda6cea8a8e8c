"""Runs are compared as a user does it: on the command line, and from Python."""

import gzip
import hashlib
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import stdev
from typing import Any, NamedTuple

import pytest
from commands import command, environment, run_command
from each import each
from paths import EXAMPLES
from rows import sound_rows

import evalstream
from evalstream.model.comparison import CompareVerdict


class Ended(NamedTuple):
    """The end of a command: its exit code, and what it wrote."""

    code: int
    out: str
    err: str


def compare(*arguments: Any) -> Ended:
    """Run the command."""
    ended = run_command(
        command("compare", *map(str, arguments)),
        capture_output=True,
        env=environment(),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


ROWS, AGGREGATE = EXAMPLES / "run.jsonl", EXAMPLES / "aggregate.json"
TWO = EXAMPLES / "compare" / "data" / "tiny_sums" / "acme"
A, B = TWO / "acorn-7b", TWO / "acorn-3b"


def sealed(folder: Path, lines: list[bytes], name: str = "run.jsonl", **how: Any) -> Path:
    """Write rows and their aggregate, and return the folder."""
    folder.mkdir()
    data = b"".join(lines)
    if name.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    elif name.endswith(".json"):
        data = b"[" + b",\n".join(line.strip() for line in lines) + b"]"
    (folder / name).write_bytes(data)
    aggregate = json.loads(AGGREGATE.read_text())
    aggregate["detailed_evaluation_results"] |= {
        "checksum": hashlib.sha256(data).hexdigest(),
        "total_rows": len(lines),
        "file_path": name,
        **how,
    }
    (folder / "aggregate.json").write_text(json.dumps(aggregate))
    return folder


@pytest.fixture
def lines() -> list[bytes]:
    return ROWS.read_bytes().splitlines(keepends=True)


def test_a_run_does_not_differ_from_itself() -> None:
    report = evalstream.compare([ROWS, ROWS])
    (one,) = report.comparisons
    assert one.estimate is not None
    assert (one.estimate.difference, one.estimate.n, one.alignment.overlap) == (0, 8, 1)
    assert (str(one.verdict), report.exit_code) == ("uninformative", 0)
    assert report.first_line == "A and B pass their checks"
    assert not report.flips
    assert not report.drifts_in_all
    assert report.warnings == ["A and B have the same bytes"]


@pytest.mark.parametrize(
    ("name", "layout"), [("run.jsonl", "jsonl"), ("run.jsonl.gz", "jsonl"), ("rows.json", "json")]
)
def test_a_run_does_not_differ_from_a_shuffled_copy(
    name: str, layout: str, lines: list[bytes], tmp_path: Path
) -> None:
    random.Random(3).shuffle(lines)
    copy = sealed(tmp_path / "copy", lines, name, format=layout)
    report = evalstream.compare([ROWS, copy])
    (one,) = report.comparisons
    assert one.estimate is not None
    assert (one.estimate.difference, one.alignment.matched) == (0, 8)
    assert str(one.verdict) == "uninformative"


def test_a_changed_copy_is_refused_with_the_reason(tmp_path: Path) -> None:
    shutil.copytree(A, tmp_path / "changed")
    (rows,) = (tmp_path / "changed").glob("*.jsonl")
    rows.write_bytes(rows.read_bytes().replace(b'"is_correct":true', b'"is_correct":false', 1))
    ended = compare(A, tmp_path / "changed")
    assert ended.code == 3
    first, *_ = ended.out.splitlines()
    assert first.startswith("not compared: B does not pass its check: ")
    assert "ES501 checksum-mismatch (1)" in first
    assert "A - B" not in ended.out
    ended = compare(A, tmp_path / "changed", "--no-verify")
    first, *_ = ended.out.splitlines()
    assert first.startswith("compared without verification (--no-verify): B does not pass")
    assert "A - B" in ended.out


def test_aggregates_without_rows_have_nothing_to_compare(tmp_path: Path) -> None:
    document = json.loads(AGGREGATE.read_text())
    del document["detailed_evaluation_results"]
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(document))
    ended = compare(tmp_path / "a.json", tmp_path / "b.json")
    assert ended.code == 3
    first, *_ = ended.out.splitlines()
    assert first == "not compared: A holds no scores of single samples (format eee)"


def test_conditions_decide_the_exit_code() -> None:
    assert compare(A, B).code == 0
    assert compare(A, B, "--fail-if", "regression").code == 1
    assert compare(B, A, "--fail-if", "regression").code == 0
    assert compare(B, A, "--reference", "B", "--fail-if", "regression").code == 1
    assert compare(A, B, "--fail-if", "overlap,drift").code == 1
    assert compare(A, B, "--min-overlap", "0.99").code == 3
    low = compare(A, B, "--min-overlap", "0.99", "--fail-if", "overlap")
    assert low.code == 3
    assert "--fail-if overlap: the condition holds" in low.out
    assert compare(A, B, "--fail-if", "overlap").code == 0


def test_former_names_work_with_a_warning() -> None:
    usual = compare(B, A, "--reference", "B", "--fail-if", "regression", "--min-overlap", "0.9")
    former = compare(B, A, "--baseline", "B", "--fail-on", "regression", "--overlap", "0.9")
    assert (former.code, former.out) == (usual.code, usual.out)
    assert usual.code == 1
    for names in ("--baseline is a former name of --reference", "--fail-on is a former name of"):
        assert names in former.err
        assert names not in usual.err
    pairs = compare(A, B, "--pairs", "baseline")
    assert "--pairs baseline is a former name of --pairs reference" in pairs.err
    assert pairs.out == compare(A, B, "--pairs", "reference").out
    with pytest.warns(DeprecationWarning, match="baseline is a former name of reference"):
        report = evalstream.compare([A, B], metric="exact", baseline="B")
    assert report.reference == "B"
    with pytest.warns(DeprecationWarning, match="overlap is a former name of min_overlap"):
        report = evalstream.compare([A, B], metric="exact", overlap=0.99)
    assert report.settings.min_overlap == 0.99


def test_too_few_samples_in_both_give_no_verdict() -> None:
    report = evalstream.compare([A, B], metric="exact", min_overlap=0.99)
    (one,) = report.comparisons
    assert str(one.verdict) == "not comparable"
    assert one.estimate is not None
    assert one.estimate.test is None
    assert one.estimate.interval is None
    assert one.estimate.bounds is not None


def test_flips_name_lines_ids_and_answers() -> None:
    ended = compare(A, B, "--format", "jsonl", "--flips", "0")
    objects = [json.loads(line) for line in ended.out.splitlines()]
    flips = [one["flip"] for one in objects if "flip" in one]
    comparisons = [one["comparison"] for one in objects if "comparison" in one]
    total = sum(
        one["flips"]["right_to_wrong"] + one["flips"]["wrong_to_right"] for one in comparisons
    )
    assert len(flips) == total > 5
    rows = [json.loads(line) for line in next(A.glob("*.jsonl")).read_text().splitlines()]
    for flip in flips:
        row = rows[flip["line_a"] - 1]
        assert row["sample_id"] == flip["sample_id"]
        assert row["output"] == flip["answer_a"]
        assert row["evaluation"]["is_correct"] is (flip["direction"] == "right to wrong")
    shown = compare(A, B, "--format", "jsonl", "--flips", "3")
    assert shown.out.count('{"flip":') == 3
    hidden = compare(A, B, "--format", "jsonl", "--flips", "0", "--no-values")
    assert "answer_a" not in hidden.out
    assert hidden.out.count('{"flip":') == total


def test_an_error_that_scores_0_is_not_a_flip(lines: list[bytes], tmp_path: Path) -> None:
    rows = [json.loads(line) for line in lines]
    place = next(i for i, row in enumerate(rows) if row["evaluation"]["is_correct"])
    rows[place]["evaluation"] |= {"score": 0.0, "is_correct": False}
    rows[place]["error"] = "timeout"
    changed = [json.dumps(row).encode() + b"\n" for row in rows]
    copy = sealed(tmp_path / "copy", changed)
    report = evalstream.compare([ROWS, copy], verify=False)
    (one,) = report.comparisons
    assert (one.right_to_wrong, one.failed_changes) == (0, 1)
    assert any(
        "1 matched sample with an error in the rows of one run" in x for x in report.warnings
    )
    assert not report.flips


def test_the_same_inputs_give_the_same_bytes() -> None:
    ended = [compare(A, B, "--format", "json", "-j", jobs) for jobs in "124"]
    assert len({one.out for one in ended}) == 1


def test_three_runs_are_ranked() -> None:
    report = evalstream.compare([A, B, A], metric="exact")
    assert [(one.a, one.b) for one in report.comparisons] == [("A", "B"), ("A", "C")]
    (ranking,) = report.rankings
    assert {rank.label: rank.rank for rank in ranking.ranks} == {"A": 1, "B": 3, "C": 1}
    (difference,), (overlap,) = report.differences, report.overlaps
    assert difference.cells[0][2] == 0
    assert difference.cells[0][1] == -(difference.cells[1][0] or 0)
    assert overlap.cells[0][2] == overlap.cells[1][1] == 1
    # A whole number would be written without its decimals.
    assert {type(value) for row in overlap.cells for value in row} == {float}


def test_samples_are_clustered() -> None:
    report = evalstream.compare([A, B], metric="exact", cluster="/evaluation_name")
    (one,) = report.comparisons
    assert one.estimate is not None
    assert one.estimate.clustered is not None
    assert (one.estimate.clustered.clusters, one.estimate.test) == (1, None)


SPELLINGS = (
    lambda text: text,
    lambda text: text.upper(),
    lambda text: f"  {text.replace(' ', chr(10))} ",
    lambda text: text.replace("W", "\uff37"),
)
"""Texts that are equal in normal form KC, without case, and with single spaces."""


@pytest.mark.parametrize("spelled", [False, True], ids=["exact", "near"])
@pytest.mark.parametrize("inputs", [10, 40], ids=["copies", "questions"])
def test_copies_of_questions_under_other_ids_are_counted(
    tmp_path: Path, inputs: int, *, spelled: bool
) -> None:
    runs = []
    for name in "ab":
        rows = sound_rows(count=40)
        for number, row in enumerate(rows):
            row["input"] = dict(rows[number % inputs]["input"])
            if spelled:
                row["input"]["raw"] = SPELLINGS[number // inputs](f"What is {number % inputs}?")
        lines = [json.dumps(row).encode() + b"\n" for row in rows]
        runs.append(sealed(tmp_path / name, lines))
    report = evalstream.compare(runs, verify=False)
    (one,) = report.comparisons
    copies = 40 - inputs
    assert (one.alignment.matched, one.alignment.same_input) == (40, copies)
    told = [text for text in report.warnings if "30 of 40 matched samples" in text]
    assert len(told) == bool(copies)
    assert all("(the first in line 11 of A, as in line 1)" in text for text in told)
    if spelled:
        return
    clustered = evalstream.compare(runs, verify=False, cluster="/input/raw")
    assert not [text for text in clustered.warnings if "matched samples" in text]
    (one,) = clustered.comparisons
    assert one.estimate is not None
    assert one.estimate.clustered is not None
    assert one.estimate.clustered.clusters == inputs


@pytest.mark.parametrize("copies", [40, 1], ids=["clones", "questions"])
def test_copies_are_clusters_where_they_raise_the_p_value(tmp_path: Path, copies: int) -> None:
    """Ten questions, of which one run answers 3 more: as 400 samples they would decide."""
    runs = []
    for name, right in (("a", 6), ("b", 3)):
        rows = sound_rows(count=10 * copies)
        for number, row in enumerate(rows):
            row["input"] = {
                **rows[0]["input"],
                "raw": f"What is {number % 10}?" + " " * (number // 10),
            }
            is_right = number % 10 < right
            row["output"] = {"raw": "yes" if is_right else "no"}
            row["evaluation"] |= {"score": float(is_right), "is_correct": is_right}
        runs.append(sealed(tmp_path / name, [json.dumps(row).encode() + b"\n" for row in rows]))
    (one,) = evalstream.compare(runs, verify=False).comparisons
    assert one.estimate is not None
    assert one.estimate.test is not None
    assert one.verdict is CompareVerdict.UNINFORMATIVE
    if copies > 1:
        assert one.estimate.clustered is not None
        assert one.estimate.clustered.clusters == 10
        # Formula by hand: errors of the means of ten questions, each as often.
        values = [1.0] * 3 + [0.0] * 7
        assert one.estimate.standard_error == pytest.approx(stdev(values) / 10**0.5)
    else:
        assert one.estimate.clustered is None


def scored(folder: Path, rights: list[bool | None], *, fails: bool) -> Path:
    """Write a run; None is a sample that it lacks, or whose row has an error and the score 0."""
    rows = sound_rows(count=len(rights))
    for row, is_right in zip(rows, rights, strict=True):
        row["evaluation"] |= {"score": float(is_right or 0), "is_correct": bool(is_right)}
        row["output"] = {"raw": "yes" if is_right else "no"}
        if is_right is None:
            row["error"] = "timed out"
    kept = [
        row for row, is_right in zip(rows, rights, strict=True) if fails or is_right is not None
    ]
    return sealed(folder, [json.dumps(row).encode() + b"\n" for row in kept])


@pytest.mark.parametrize("fails", [False, True], ids=["dropped", "failed"])
def test_no_verdict_rests_on_samples_that_are_missing(tmp_path: Path, *, fails: bool) -> None:
    # Where B has all samples, both are equally good.
    a: list[bool | None] = [*[True] * 325, *[False] * 275]
    others = [False] * 25 if fails else [True] * 25
    b: list[bool | None] = [*[True] * 300, *[None] * 25, *others, *[False] * 250]
    runs = [scored(tmp_path / "a", a, fails=fails), scored(tmp_path / "b", b, fails=fails)]
    report = evalstream.compare(runs, verify=False, fail_if="regression")
    (one,) = report.comparisons
    assert one.estimate is not None
    assert one.estimate.test is not None
    assert one.estimate.test.p < 1e-5
    assert (one.verdict, one.better) == (CompareVerdict.DEPENDS, None)
    better, worse = "AB" if fails else "BA"
    assert one.sentence.startswith(
        f"of the samples that both score, {better} is better than {worse} by "
    )
    assert report.exit_code == 0


def test_the_power_for_an_effect_and_an_average_are_given() -> None:
    found = json.loads(compare(A, B, "--effect", "0.05", "-f", "json").out)
    effect = found["comparisons"][0]["estimate"]["effect"]
    assert (effect["size"], effect["needed"], effect["needed_without_noise"]) == (0.05, 581, None)
    assert round(effect["power"], 3) == 0.208
    (average,) = found["averages"]
    # The graded result scores 40 of the same questions.
    assert (average["results"], average["standard_error"]) == (2, None)
    both = [one["estimate"]["difference"] for one in found["comparisons"]]
    assert average["difference"] == pytest.approx(sum(both) / 2)


def test_a_cluster_that_no_row_names_is_wrong_usage() -> None:
    with pytest.raises(evalstream.UsageError, match=r"cluster /nothing: no sample that both"):
        evalstream.compare([A, B], metric="exact", cluster="/nothing")
    assert compare(A, B, "--cluster", "/nothing").code == 2


def clustered_copies(folder: Path, *texts: Callable[[int], str | None]) -> list[Path]:
    """Copy the two runs, and name the text of each row by the number of its sample."""
    paths = [folder / "a", folder / "b"]
    for source, target, text in zip((A, B), paths, texts, strict=True):
        shutil.copytree(source, target)
        (path,) = target.glob("*.jsonl")
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            found = text(int(re.sub(r"\D", "", row["sample_id"])))
            row["metadata"] = {} if found is None else {"text": found}
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return paths


def fives(number: int) -> str:
    return f"{number // 5}"


@each(
    ("other", "missing"),
    [
        (lambda number: fives(number) if number != 3 else None, "1 matched sample"),
        (lambda number: fives(number) if number != 3 else "another", "1 matched sample"),
        (lambda number: None, r"\d+ matched samples"),
    ],
)
@pytest.mark.parametrize("is_turned", [False, True])
def test_samples_without_a_cluster_in_both_runs_leave_no_verdict(
    tmp_path: Path, other: Callable[[int], str | None], missing: str, *, is_turned: bool
) -> None:
    paths = clustered_copies(tmp_path, fives, other)
    if is_turned:
        paths.reverse()
    report = evalstream.compare(paths, metric="exact", cluster="/metadata/text", verify=False)
    (one,) = report.comparisons
    sentence = rf"not comparable: no value at /metadata/text that both runs have in {missing}"
    assert re.fullmatch(sentence, one.sentence)
    assert (one.verdict, one.estimate) == (CompareVerdict.NOT_COMPARABLE, None)


def test_samples_in_the_same_clusters_have_a_verdict(tmp_path: Path) -> None:
    paths = clustered_copies(tmp_path, fives, fives)
    report = evalstream.compare(paths, metric="exact", cluster="/metadata/text", verify=False)
    (one,) = report.comparisons
    assert one.estimate is not None
    assert one.estimate.clustered is not None


def test_a_matrix_shows_overlap_and_drift() -> None:
    report = evalstream.compare(TWO, matrix=True)
    assert report.reference == report.runs[0].label != report.runs[1].label
    (overlap,) = report.overlaps
    assert overlap.cells[0][0] == 1
    assert 0.9 < (overlap.cells[0][1] or 0) < 1
    assert report.drifts_in_all == 2
    assert compare(TWO, "--matrix").code == 0
    assert compare(TWO, "--matrix", "--fail-if", "drift").code == 1


@each(
    ("arguments", "message"),
    [
        ([A], "two runs or more"),
        ([TWO, A], "holds several runs"),
        ([A, B, "--reference", "Z"], "names no run"),
        ([A, B, "--metric", "nothing"], "no run has it"),
        ([A, B, "--cluster", "metadata"], "JSON Pointer"),
        ([A, B, "--level", "95"], "--level must be"),
        ([A, B, "--min-overlap", "nan"], "--min-overlap must be"),
        ([A, B, "--min-delta", "nan"], "--min-delta must be a number"),
        ([A, B, "--min-delta", "inf"], "--min-delta must be a number"),
        ([A, B, "--metric", ""], "--metric is empty"),
        ([A, B, "--fail-if", "loss"], "loss"),
        (["-", "-"], "standard input"),
        ([A, "--matrix", "--reference", "A"], "--matrix compares samples"),
    ],
)
def test_wrong_usage_is_refused(arguments: list[Any], message: str) -> None:
    ended = compare(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_a_report_is_written_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    ended = compare(A, B, "--format", "json", "--output", target)
    assert (ended.code, ended.out) == (0, "")
    assert json.loads(target.read_text())["first_line"] == "A and B pass their checks"


def test_rows_that_cannot_be_paired_give_no_verdict(lines: list[bytes], tmp_path: Path) -> None:
    rows = [json.loads(line) for line in lines]
    for row in rows[:2]:
        row["sample_hash"] = None
    changed = [json.dumps(row).encode() + b"\n" for row in rows]
    copy = sealed(tmp_path / "copy", changed)
    report = evalstream.compare([ROWS, copy], by="sample_hash", verify=False)
    (one,) = report.comparisons
    assert str(one.verdict) == "not comparable"
    assert "2 of 8 rows in B lack what samples meet by (sample_hash)" in one.sentence
    assert any("2 of 8 rows lack" in text for text in report.warnings)
    assert report.exit_code == 3
    report = evalstream.compare([ROWS, copy], by="sample_hash", verify=False, min_overlap=0.7)
    (one,) = report.comparisons
    assert str(one.verdict) == "uninformative"


def test_samples_that_meet_by_their_ids_with_other_inputs_are_listed() -> None:
    report = evalstream.compare([A, B], by="sample_id", metric="exact")
    (one,) = report.comparisons
    assert (one.alignment.drifted, one.alignment.relabelled) == (1, 1)
    assert report.drifts_in_all == 2
    listed = {drift.kind: (drift.sample_id_a, drift.sample_id_b) for drift in report.drifts}
    assert listed == {"drift": ("098", "098"), "relabelled": ("099", "099")}
    assert compare(A, B, "--by", "sample_id", "--fail-if", "drift").code == 1


def test_stderr_says_what_the_report_in_a_file_decides(tmp_path: Path) -> None:
    place = tmp_path / "report.txt"
    ended = compare(A, B, "--metric", "exact", "--fail-if", "regression", "--output", place)
    assert (ended.code, ended.out) == (1, "")
    assert "; 1 significant; --fail-if regression holds; the report is in" in ended.err
    ended = compare(B, A, "--metric", "exact", "--fail-if", "regression", "--output", place)
    assert (ended.code, "holds" in ended.err) == (0, False)
