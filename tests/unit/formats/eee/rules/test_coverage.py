"""Which samples the rows of a file cover, and how copies of a sample agree."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from rows import Row, aggregate_of, bytes_of, hashed, sound_rows

import evalstream

CODES = ("ES407", "ES408", "ES409", "ES603", "ES604", "ES606", "ES607", "ES608", "ES609")
METRICS = ("accuracy", "f1")


def fanned_out(samples: int = 3) -> list[Row]:
    """Make rows of 0.3.0: every sample once under each of two results."""
    rows = []
    for number in range(samples):
        row = sound_rows("0.3.0", 1)[0]
        row["sample_id"], row["input"]["raw"] = f"s{number}", f"Question {number}?"
        row = hashed(row, "json-list")
        rows += [{**row, "evaluation_result_id": metric} for metric in METRICS]
    return rows


def check(
    folder: Path, rows: list[Row], change: Callable[[Row], Any] = lambda _: None, **options: Any
) -> list[tuple[str, str, int | None]]:
    """Check rows against an aggregate of two results that was changed; return what is found."""
    data = bytes_of(rows)
    document = aggregate_of("0.3.0", data, len(rows))
    (result,) = document["evaluation_results"]
    result["score_details"] = {"score": 1.0}
    document["evaluation_results"] = [
        {**json.loads(json.dumps(result)), "evaluation_result_id": metric} for metric in METRICS
    ]
    change(document)
    path, aggregate = folder / "rows.jsonl", folder / "aggregate.json"
    path.write_bytes(data)
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(path, aggregate=aggregate, select=CODES, jobs=1, **options)
    # Only findings about documents have a column, and their lines are not looked at here.
    return [
        (one.code, one.severity.label, one.line if one.column is None else None) for one in report
    ]


def test_copies_under_several_results_are_fine(tmp_path: Path) -> None:
    assert check(tmp_path, fanned_out()) == []


def test_a_copy_with_another_output_is_named(tmp_path: Path) -> None:
    rows = fanned_out()
    rows[3]["output"] = {"raw": ["another"]}
    for limit in (1, 1 << 28):
        assert check(tmp_path, rows, memory_limit=limit) == [("ES608", "warning", 4)]


@each(
    ("library", "ids", "severity"),
    [
        ("inspect_ai", ("match:accuracy", "judge:accuracy"), "info"),
        ("inspect_ai", ("match:accuracy", "match:mean"), "warning"),
        ("lm_eval", ("match:accuracy", "judge:accuracy"), "warning"),
    ],
)
def test_scorers_of_inspect_have_their_own_outputs(
    tmp_path: Path, library: str, ids: tuple[str, str], severity: str
) -> None:
    rows = fanned_out()
    names = dict(zip(METRICS, ids, strict=True))
    for row in rows:
        row["evaluation_result_id"] = names[row["evaluation_result_id"]]
    rows[3]["output"] = {"raw": ["because"]}

    def change(document: Row) -> None:
        document["eval_library"]["name"] = library
        for result in document["evaluation_results"]:
            result["evaluation_result_id"] = names[result["evaluation_result_id"]]

    assert check(tmp_path, rows, change) == [("ES608", severity, 4)]


def test_a_copy_with_another_transcript_is_named(tmp_path: Path) -> None:
    rows = fanned_out()
    transcript = sound_rows("0.3.0")[2]["messages"]
    for row in rows[:2]:
        row.update(interaction_type="agentic", messages=transcript)
        row.pop("output")
    rows[1]["messages"] = transcript[:-1]
    assert ("ES608", "warning", 2) in check(tmp_path, rows)


def test_the_same_output_in_another_repeat_may_differ(tmp_path: Path) -> None:
    rows = fanned_out(1) + fanned_out(1)
    for row, epoch in zip(rows, "1122", strict=True):
        row["metadata"] = {"epoch": epoch}
        row["output"] = {"raw": [f"answer {epoch}"]}
    assert check(tmp_path, rows) == []


def test_one_id_with_two_inputs_is_an_error(tmp_path: Path) -> None:
    rows = fanned_out()
    rows[3] = hashed({**rows[3], "input": {**rows[3]["input"], "raw": "Another?"}}, "json-list")
    assert check(tmp_path, rows) == [("ES407", "error", 4)]


def test_other_choices_are_another_copy_and_no_other_input(tmp_path: Path) -> None:
    rows = fanned_out()
    rows[3] = {**rows[2], "evaluation_result_id": "f1"}
    rows[3]["input"] = {**rows[2]["input"], "choices": ["5", "7"]}
    assert check(tmp_path, rows) == [("ES608", "warning", 4)]
    rows[3] = {**rows[2], "metadata": {"epoch": "2"}, "input": rows[3]["input"]}
    assert "ES608" not in {code for code, _, _ in check(tmp_path, rows)}


def test_differing_references_are_another_input_whatever_the_recipe(tmp_path: Path) -> None:
    rows = [hashed(row, "concat-first") for row in fanned_out()]
    rows[3]["input"] = {**rows[3]["input"], "reference": [*rows[3]["input"]["reference"], "42"]}
    assert check(tmp_path, rows) == [("ES407", "error", 4)]


def test_a_digit_that_moves_into_the_question_makes_another_input(tmp_path: Path) -> None:
    first, second = fanned_out(1)[0], fanned_out(2)[2]
    first["input"] = {"raw": "2 + 2 = 4", "reference": ["5"]}
    second["input"] = {"raw": "2 + 2 = 45", "reference": []}
    rows = [hashed(row, "concat") for row in (first, second)]
    assert rows[0]["sample_hash"] == rows[1]["sample_hash"]
    assert not [found for found in check(tmp_path, rows) if found[0] == "ES407"]


def test_one_input_under_two_ids_is_a_warning_once(tmp_path: Path) -> None:
    rows = fanned_out()
    for row in rows[4:]:
        row["sample_id"] = "another"
        row["input"] = rows[0]["input"]
        row["sample_hash"] = rows[0]["sample_hash"]
    assert check(tmp_path, rows) == [("ES407", "warning", 5)]


def test_rows_that_withhold_their_input_share_none(tmp_path: Path) -> None:
    rows = [{**row, "input": {"raw": "", "reference": []}} for row in fanned_out()]
    assert check(tmp_path, [hashed(row, "json-list") for row in rows]) == []


def test_a_wrong_hash_hides_nothing_and_adds_nothing(tmp_path: Path) -> None:
    rows = fanned_out()
    rows[1]["sample_hash"] = "0" * 64
    rows[2].pop("sample_hash")
    assert check(tmp_path, rows) == []


def test_a_lost_row_makes_filters_uneven(tmp_path: Path) -> None:
    def name(document: Row) -> None:
        for result in document["evaluation_results"]:
            metric = result["evaluation_result_id"]
            result |= {"evaluation_name": f"task/{metric}", "evaluation_result_id": f"em:{metric}"}

    rows = fanned_out()
    for row in rows:
        metric = row["evaluation_result_id"]
        row |= {"evaluation_name": f"task/{metric}", "evaluation_result_id": f"em:{metric}"}
    assert check(tmp_path, rows, name) == []
    assert check(tmp_path, rows[:-1], name) == [("ES607", "warning", None)]


def test_a_lost_row_makes_results_uneven(tmp_path: Path) -> None:
    rows = fanned_out()
    assert check(tmp_path, rows[:-1]) == [("ES607", "warning", None)]
    swapped = [*rows[:-1], {**rows[-1], "sample_id": "another"}]
    swapped[-1] = hashed(
        {**swapped[-1], "input": {**rows[-1]["input"], "raw": "Another?"}}, "json-list"
    )
    assert check(tmp_path, swapped) == [("ES607", "warning", None)]


def test_splits_that_share_no_sample_are_fine(tmp_path: Path) -> None:
    rows = fanned_out(6)
    split = [row for n, row in enumerate(rows) if (n // 2 < 4) == (n % 2 == 0)]
    assert {row["evaluation_result_id"] for row in split} == set(METRICS)
    assert check(tmp_path, split) == []


def test_results_over_other_datasets_are_not_compared(tmp_path: Path) -> None:
    def other(document: Row) -> None:
        document["evaluation_results"][1]["source_data"]["dataset_name"] = "other"

    assert check(tmp_path, fanned_out()[:-1], other) == []


def test_a_result_without_rows_is_named(tmp_path: Path) -> None:
    rows = [row for row in fanned_out() if row["evaluation_result_id"] == "f1"]
    assert check(tmp_path, rows) == [("ES604", "warning", None)]


def test_rows_without_ids_are_counted_once(tmp_path: Path) -> None:
    rows = fanned_out()
    for row in rows:
        row.pop("evaluation_result_id")
    found = check(tmp_path, rows[::2])
    assert found == [("ES604", "warning", None)]


def test_unknown_and_repeated_results_are_errors(tmp_path: Path) -> None:
    def twice(document: Row) -> None:
        document["evaluation_results"][1]["evaluation_result_id"] = "accuracy"

    found = check(tmp_path, fanned_out(1), twice)
    assert found == [("ES603", "error", 2), ("ES606", "error", None)]


@each(
    ("listed", "expected"),
    [
        (["s0", "s1", "s2"], []),
        (["s2", "s1", "s0", "s2", "s1", "s0"], []),
        (["s2", "s1", "s0", "s0"], ["ES609"]),
        (["s0", "s1", "s2", "s3"], ["ES609"]),
        (["s0", "s1", "x"], ["ES609"]),
        ([], ["ES609"]),
    ],
)
def test_listed_samples_are_those_of_the_rows(
    tmp_path: Path, listed: list[Any], expected: list[str]
) -> None:
    def lists(document: Row) -> None:
        document["evaluation_results"][0]["source_data"]["sample_ids"] = listed

    assert [code for code, _, _ in check(tmp_path, fanned_out(), lists)] == expected


def test_numbers_and_texts_name_the_same_listed_sample(tmp_path: Path) -> None:
    rows = fanned_out(2)
    for row in rows:
        row["sample_id"] = row["sample_id"][1:]

    def lists(document: Row) -> None:
        document["evaluation_results"][0]["source_data"]["sample_ids"] = [0, 1]

    assert check(tmp_path, rows, lists) == []


@each(
    ("size", "claimed", "expected"),
    [(3, None, []), (5, 3, []), (5, None, ["ES609"]), (5, 4, ["ES609"]), (2, 3, ["ES609"])],
)
def test_the_size_of_the_dataset_is_held_against_the_samples(
    tmp_path: Path, size: int, claimed: int | None, expected: list[str]
) -> None:
    def sizes(document: Row) -> None:
        result = document["evaluation_results"][0]
        result["source_data"]["samples_number"] = size
        if claimed is not None:
            result["score_details"]["uncertainty"] = {"num_samples": claimed}

    assert [code for code, _, _ in check(tmp_path, fanned_out(), sizes)] == expected


def repeated(marks: list[list[Row]]) -> list[Row]:
    """Return rows of as many samples, each once for each of its marks."""
    rows = []
    for row, own in zip(sound_rows("0.2.0"), marks, strict=False):
        for mark in own:
            unmarked = {key: value for key, value in row["metadata"].items() if key != "epoch"}
            rows.append({**row, "metadata": {**unmarked, **mark}})
    return rows


def epochs(*numbers: int | str) -> list[Row]:
    """Return the marks of some epochs."""
    return [{"epoch": number} for number in numbers]


@each(
    ("marks", "is_found"),
    [
        (5 * [epochs(1)], False),
        (5 * [epochs(0)], False),
        (5 * [epochs("1")], False),
        (5 * [epochs(1, 2, 3)], False),
        (5 * [epochs(3, 1, 2)], False),
        (5 * [epochs(0, 1)], False),
        (5 * [[{}]], False),
        (5 * [[{"trial": 1}]], False),
        ([[{"seed": 7 * number}] for number in range(5)], False),
        ([[{"epoch": 1, "seed": 7 * number}] for number in range(5)], False),
        ([[{"epoch": "last"}] for _ in range(5)], False),
        ([[{}], *4 * [epochs(1)]], False),
        ([[{}], *4 * [epochs(4)]], True),
        ([[{}], epochs(0), *3 * [epochs(1)]], True),
        ([epochs("last"), *4 * [epochs(1)]], True),
        ([epochs(300), *4 * [epochs(301)]], False),
        # The best of several repeats, and repeats that were dropped.
        (5 * [epochs(4)], True),
        (5 * [epochs("4")], True),
        (5 * [[{"trial": 2}]], True),
        ([*4 * [epochs(1)], epochs(4)], True),
        ([epochs(3), epochs(1), epochs(2), epochs(4), epochs(1)], True),
        ([*4 * [epochs(1, 2)], epochs(1, 3)], True),
        (5 * [epochs(1, 3)], True),
        (5 * [epochs(2, 3)], True),
    ],
)
@pytest.mark.parametrize("memory_limit", [1 << 20, 1])
def test_samples_with_other_repeats_than_the_first_are_named(
    marks: list[list[Row]], is_found: bool, memory_limit: int, tmp_path: Path
) -> None:
    rows, path = repeated(marks), tmp_path / "run.jsonl"
    path.write_bytes(bytes_of(rows))
    aggregate = tmp_path / "aggregate.json"
    aggregate.write_text(json.dumps(aggregate_of("0.2.0", path.read_bytes(), len(rows))))
    report = evalstream.check(
        path, aggregate=aggregate, select=("ES610", "ES4"), memory_limit=memory_limit
    )
    assert [finding.code for finding in report] == is_found * ["ES610"]
