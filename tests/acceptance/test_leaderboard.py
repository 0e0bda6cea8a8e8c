"""A leaderboard: all runs of a folder, in groups that the data separate."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from each import each
from rows import aggregate_of, bytes_of, sound_rows

import evalstream
from evalstream.batch.comparing.many_runs import group_ranks
from evalstream.model.comparison import (
    Alignment,
    CompareVerdict,
    Comparison,
    MetricName,
    Rank,
    Ranking,
)


def significant(a: str, b: str) -> Comparison:
    verdict = CompareVerdict.SIGNIFICANT
    return Comparison(a, b, MetricName("m"), Alignment(), verdict=verdict, better=a)


@each(
    ("apart", "groups"),
    [
        ([], [[1], [1], [1], [1]]),
        (["AD"], [[1], [1, 2], [1, 2], [2]]),
        (["AC", "AD", "BD"], [[1], [1, 2], [2, 3], [3]]),
        (["AB", "AC", "AD", "BC", "BD", "CD"], [[1], [2], [3], [4]]),
        (["AC", "AD", "BC", "BD"], [[1], [1], [2], [2]]),
        (["CD"], [[1, 2], [1, 2], [1], [2]]),
        (["AB", "CD"], [[1, 2], [3, 4], [1, 3], [2, 4]]),
    ],
)
def test_runs_share_a_group_exactly_if_they_are_not_apart(
    apart: list[str], groups: list[list[int]]
) -> None:
    ranking = Ranking(
        "m", 100, [Rank(label, 0.5, place, 1.0) for place, label in enumerate("ABCD")]
    )
    comparisons = [significant(*pair) for pair in apart]
    assert [one.groups for one in group_ranks(ranking, comparisons).ranks] == groups
    other = ranking._replace(metric="another")
    assert [one.groups for one in group_ranks(other, comparisons).ranks] == [[1]] * 4


def written(folder: Path, model: str, share: float) -> Path:
    """Write a run whose model answers a share of 200 samples rightly."""
    rng = random.Random(model)
    rows = sound_rows(count=200)
    for row in rows:
        is_right = rng.random() < share
        row["model_id"] = model
        row["evaluation"] |= {"score": float(is_right), "is_correct": is_right}
        row["output"] = {"raw": f"{model} says {is_right}"}
    place = folder / model.replace("/", "-")
    place.mkdir(parents=True)
    data = bytes_of(rows)
    document = aggregate_of("0.2.0", data, len(rows), "run.jsonl")
    document["model_info"]["id"] = model
    (place / "run.jsonl").write_bytes(data)
    (place / "run.json").write_text(json.dumps(document))
    return place


def test_runs_that_the_data_separate_are_in_other_groups(tmp_path: Path) -> None:
    for model, share in (("acme/a", 0.9), ("acme/b", 0.88), ("acme/c", 0.4)):
        written(tmp_path, model, share)
    report = evalstream.compare(tmp_path, leaderboard=True, verify=False)
    assert len(report.comparisons) == 3
    (ranking,) = report.rankings
    models = {run.label: run.model for run in report.runs}
    shown = [(models[one.label], one.groups) for one in ranking.ranks]
    assert shown == [("acme/a", [1]), ("acme/b", [1]), ("acme/c", [2])]


def asked_again(folder: Path, questions: int, copies: int) -> list[Path]:
    """Write three runs over questions that are asked several times, but for white space."""
    paths = []
    for model, right in (("acme/a", 0.6), ("acme/b", 0.5), ("acme/c", 0.4)):
        rng = random.Random(model)
        rights = [rng.random() < right for _ in range(questions)]
        rows = sound_rows(count=questions * copies)
        for number, row in enumerate(rows):
            question = number % questions
            text = f"What is {question}?" + " " * (number // questions)
            row["input"] = {**rows[0]["input"], "raw": text}
            row["evaluation"] |= {"score": float(rights[question]), "is_correct": rights[question]}
            row["output"] = {"raw": f"{model} {number}"}
        place = folder / model[-1]
        place.mkdir(parents=True)
        (place / "run.jsonl").write_bytes(bytes_of(rows))
        paths.append(place)
    return paths


def test_copies_of_a_question_are_resampled_together(tmp_path: Path) -> None:
    report, *others = (
        evalstream.compare(
            asked_again(tmp_path / f"{questions}-{copies}", questions, copies),
            pairs="all",
            verify=False,
        )
        for questions, copies in ((30, 20), (30, 1), (600, 1))
    )
    often, once, many = (one.rankings[0] for one in (report, *others))
    assert (once.n, often.n) == (30, 600)
    for one, other in zip(once.ranks, often.ranks, strict=True):
        assert one[:3] == pytest.approx(other[:3])
        assert one.share == pytest.approx(other.share, abs=0.03) != 1
        assert one.standard_error == pytest.approx(other.standard_error)
    errors = {one.a: one.estimate.own_a for one in report.comparisons if one.estimate}
    for rank in often.ranks:
        if rank.label in errors:
            own = errors[rank.label]
            assert own is not None
            assert rank.standard_error == pytest.approx(own.standard_error)
    # As many questions separate the runs.
    assert min(one.share for one in many.ranks) > max(one.share for one in often.ranks)


@each(
    ("known", "options", "ranked"),
    [
        (30, {"cluster": "/metadata/part"}, [30]),
        (29, {"cluster": "/metadata/part", "by": "sample_id"}, []),
        (29, {"by": "sample_id"}, [30]),
    ],
)
def test_samples_without_the_cluster_that_is_asked_for_have_no_ranks(
    known: int, options: dict[str, Any], ranked: list[int], tmp_path: Path
) -> None:
    paths = asked_again(tmp_path, 30, 1)
    for path in paths:
        rows = [json.loads(line) for line in (path / "run.jsonl").read_bytes().splitlines()]
        for row in rows[:known]:
            row["metadata"] = {"part": row["sample_id"][-1]}
        for row in rows[known:]:
            del row["input"]["raw"]
        (path / "run.jsonl").write_bytes(bytes_of(rows))
    report = evalstream.compare(paths, pairs="all", verify=False, **options)
    assert [one.n for one in report.rankings] == ranked


def test_runs_that_fail_are_left_out_and_named(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "compare" / "data" / "tiny_sums" / "acme"
    for name in ("acorn-7b", "acorn-3b"):
        shutil.copytree(example / name, tmp_path / name)
    shutil.copytree(example / "acorn-7b", tmp_path / "changed")
    (rows,) = (tmp_path / "changed").glob("*.jsonl")
    rows.write_bytes(rows.read_bytes().replace(b'"score":1.0', b'"score":0.0', 1))
    report = evalstream.compare(tmp_path, leaderboard=True)
    assert report.exit_code == 3
    assert len(report.runs) == 3
    assert len(report.comparisons) == 2
    assert report.first_line.endswith("1 run left out")
    assert any(text.startswith("left out: ") for text in report.warnings)


def test_a_leaderboard_needs_two_runs(tmp_path: Path) -> None:
    with pytest.raises(evalstream.UsageError, match="choose one"):
        evalstream.compare(tmp_path, leaderboard=True, matrix=True)
    example = Path(__file__).parents[2] / "examples" / "compare" / "data" / "tiny_sums" / "acme"
    with pytest.raises(evalstream.CannotCheck, match="fewer than two"):
        evalstream.compare(example / "acorn-7b", leaderboard=True)
