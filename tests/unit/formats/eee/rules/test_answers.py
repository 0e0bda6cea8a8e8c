"""Rows that break what the other rows of their file keep to, in fast and exact checks alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from rows import Row, aggregate_of, bytes_of, sound_rows, write_run

import evalstream
from evalstream.formats.eee.rules.answers import is_reference

CODES = "ES303", "ES314", "ES320", "ES808"
ROWS, WRONG = 12, (4, 7)
RIGHT = tuple(number for number in range(ROWS) if number not in WRONG)
Change = Callable[[list[Row]], None]


def made_rows() -> list[Row]:
    """Make rows of one turn, two of which have a wrong answer."""
    rows = []
    for number, row in enumerate(sound_rows(count=1) * ROWS):
        is_right = number not in WRONG
        answer = str(number + 3 if is_right else number + 5)
        raw = f"What is {number} plus 3?"
        source = {**row["input"], "raw": raw, "formatted": f"<user>{raw}\n", "choices": []}
        rows.append(
            row
            | {
                "sample_id": f"sum-{number}",
                "input": source | {"reference": str(number + 3)},
                "output": {"raw": f"The answer is {answer}."},
                "answer_attribution": [row["answer_attribution"][0] | {"extracted_value": answer}],
                "evaluation": row["evaluation"]
                | {"score": float(is_right), "is_correct": is_right},
            }
        )
    return rows


def put(*path: Any, value: Any, rows: tuple[int, ...] = (2,)) -> Change:
    """Return a change of a member of some rows."""

    def change(made: list[Row]) -> None:
        for number in rows:
            owner: Any = made[number]
            for key in path[:-1]:
                owner = owner[key]
            owner[path[-1]] = value

    return change


def judge(correct: bool, *rows: int, score: float | None = None) -> Change:
    """Return a change of what some rows say of their answers."""

    def change(made: list[Row]) -> None:
        for number in rows:
            claimed = float(correct) if score is None else score
            made[number]["evaluation"] |= {"score": claimed, "is_correct": correct}

    return change


def repeat_samples(rows: list[Row]) -> None:
    for number, row in enumerate(rows):
        row["sample_id"], row["metadata"] = f"sum-{number // 3}", {"epoch": number % 3}
        row["input"] = rows[number // 3 * 3]["input"]


def without_attribution(rows: list[Row]) -> None:
    for row in rows:
        row["output"]["raw"] = row["answer_attribution"][0]["extracted_value"]
        row["answer_attribution"] = []


def check(folder: Path, rows: list[Row], **settings: Any) -> evalstream.Report:
    """Check rows with their aggregate by some rules."""
    path, aggregate = folder / "rows.jsonl", folder / "aggregate.json"
    path.write_bytes(bytes_of(rows))
    aggregate.write_text(json.dumps(aggregate_of("0.2.0", path.read_bytes(), ROWS)))
    return evalstream.check(path, aggregate=aggregate, select=CODES, **settings)


_NOT_IN_OUTPUT = "ES303 extracted_value is not in output.raw"
ANSWER = "answer_attribution", 0, "extracted_value"
EVERY = tuple(range(ROWS))


@pytest.mark.parametrize("engine", ["auto", "rust"])
@each(
    ("changes", "expected"),
    [
        ((), ""),
        ((judge(True, 4),), "ES808 is_correct is true though the answer is not a reference"),
        ((judge(True, 4, 7),), "ES808 is_correct is true though the answer is not a reference"),
        (
            (
                judge(True, *EVERY),
                without_attribution,
                put("output", "raw", value="99", rows=RIGHT[:2]),
            ),
            "ES808 is_correct is true though the answer is not a reference",
        ),
        ((judge(False, 0),), "ES808 is_correct is false though the answer is a reference"),
        ((without_attribution, judge(True, 4)), "ES808 is_correct is true"),
        # A further demand on answers makes right ones wrong, too.
        ((judge(False, 0, 1),), ""),
        ((judge(True, *RIGHT, score=0.5),), "ES808 all 10 rows with is_correct have the score 0.5"),
        ((judge(True, *RIGHT[1:], score=0.5),), ""),
        # Neither is the score that of one answer, nor need another text be a wrong answer.
        ((judge(True, 4, 7, score=0.5),), ""),
        ((judge(True, 4), put("error", value="timeout", rows=(4,))), "ES314"),
        ((judge(True, 4), put(*ANSWER, value="9.0 apples", rows=(4,))), ""),
        ((judge(True, 4), put("input", "choices", value=["7", "9 or 7"], rows=EVERY)), ""),
        ((put("input", "raw", value="What is 9 plus 1?"),), "ES320 input.formatted does not hold"),
        ((put("input", "raw", value='What is "9" plus 1?'),), ""),
        ((put("input", "formatted", value="Another prompt", rows=EVERY[:4]),), ""),
        ((put("input", "formatted", value=""),), "ES320 input.formatted does not hold"),
        # Templates change the first letter, the last mark, blanks and markup, and cut long texts.
        *(
            ((put("input", "raw", value=raw), put("input", "formatted", value=prompt)), "")
            for raw, prompt in (
                ("what is 9 plus 1", "What is 9 plus 1?"),
                ("What is 9 plus 1 .", "Answer: What is 9 plus 1 ?"),
                ("What is 9  plus 1?", "What is 9 plus 1?"),
                ("What is _ plus 1?", "What is \\_ plus 1?"),
                ("A long text. " * 80 + "What is it?", "A long text. What is it?"),
            )
        ),
        (
            (put("output", "raw", value="The answer is 8."),),
            "ES303 extracted_value is not in output.raw",
        ),
        ((put("output", "raw", value="It is -0.5, (not) 5"),), ""),
        # A harness writes a word for no answer, and reads texts of choices and other spellings.
        *(
            ((put(*ANSWER, value=value), put("output", "raw", value=text)), "")
            for value, text in (
                ("[invalid]", "The answer is 5."),
                ("B", "It is Paris, after 2 hours."),
                ("D", "It cannot be told"),
                ("5", "Five."),
                ("5", "\u0627\u0644\u062c\u0648\u0627\u0628 \u0665, 2"),
                ("5000000", "About 5 million, in 2 years"),
                ("0.5", "The answer is 1/2."),
                ("yes", "It is so, 1 of 2."),
            )
        ),
        *(
            ((put(*ANSWER, value=value), put("output", "raw", value=text)), _NOT_IN_OUTPUT)
            for value, text in (
                ("B", "(C)"),
                ("(B)", "c."),
                ("D", "The answer is B."),
                ("D", "**Answer:** C"),
                ("C", "A. Paris, in 2 hours"),
                ("D", "A long way,\n\nThe answer is: B\n"),
                ("yes", "No."),
            )
        ),
        ((put(*ANSWER, value="4"), put("input", "choices", value=list("wxyz"), rows=EVERY)), ""),
        (
            (put("output", "raw", value=" "),),
            "ES303 extracted_value is not in the output, which is empty",
        ),
        ((put("output", "raw", value="Eight.", rows=EVERY[:4]),), ""),
        (
            (put("output", "raw", value=""), put(*ANSWER, value="")),
            "ES808 is_correct is true, but the output is empty",
        ),
        ((put("output", "raw", value="", rows=(4,)), put(*ANSWER, value="", rows=(4,))), ""),
        ((put("output", "raw", value=""), put(*ANSWER, value="[no answer]")), ""),
    ],
)
def test_rows_that_break_a_habit_are_named(
    tmp_path: Path, engine: Any, changes: tuple[Change, ...], expected: str
) -> None:
    rows = made_rows()
    for change in changes:
        change(rows)
    report = check(tmp_path, rows, engine=engine)
    found = [f"{finding.code} {finding.message}" for finding in report]
    assert len(found) == bool(expected), found
    assert all(text.startswith(expected) for text in found)
    assert report.exit_code == 0


def test_the_score_of_a_repeat_may_be_that_of_all(tmp_path: Path) -> None:
    rows = made_rows()
    judge(True, 4)(rows)
    repeat_samples(rows)
    assert not check(tmp_path, rows).total


def rename(*rows: int) -> Change:
    """Return a change that makes some rows those of another part of the benchmark."""
    return put("evaluation_name", value="other_sums", rows=rows)


@each(
    ("change", "rows", "expected"),
    [
        (put("input", "formatted", value="Another prompt", rows=(2,)), (2, 3), 0),
        (put("input", "formatted", value="Another prompt", rows=(2,)), EVERY, 1),
        (put("output", "raw", value="The answer is 8.", rows=(2,)), (2, 3), 0),
        (judge(False, 0), (0, 1, 2), 0),
        (judge(True, 4), (4, 5), 0),
        (judge(True, 4), (0, 1, 2, 4), 1),
        (judge(True, 4), EVERY[:6], 1),
    ],
)
def test_parts_of_a_benchmark_have_habits_of_their_own(
    tmp_path: Path, change: Change, rows: tuple[int, ...], expected: int
) -> None:
    made = made_rows()
    change(made)
    rename(*rows)(made)
    assert check(tmp_path, made).total == expected


@pytest.mark.parametrize("engine", ["auto", "rust"])
@each(("wanted", "expected"), [((), 1), ((2, 3, 4, 5), 0)])
def test_rows_with_several_references_are_judged_by_each_other(
    tmp_path: Path, engine: Any, wanted: tuple[int, ...], expected: int
) -> None:
    # Of some of these questions all the references are wanted.
    rows = []
    for number, row in enumerate(sound_rows("0.3.0", 16)):
        is_right = number not in {1, *wanted}
        several = {"raw": f"What of {number}?", "reference": [f"{number}", f"{number + 70}"]}
        answer = row["answer_attribution"][0] | {"extracted_value": f"{number}"}
        rows.append(
            row
            | {"input": several, "answer_attribution": [answer]}
            | {"output": {"raw": [f"{number}"]}, "interaction_type": "single_turn"}
            | {"messages": None, "evaluation": {"score": float(is_right), "is_correct": is_right}}
        )
    path, _ = write_run(tmp_path, bytes_of(rows), "0.3.0")
    assert evalstream.check(path, select=["ES808"], engine=engine).total == expected


def test_an_answer_is_no_letter_of_another_choice(tmp_path: Path) -> None:
    made = made_rows()
    put("input", "choices", value=["12", "11", "1", "0"], rows=(4,))(made)
    put("input", "reference", value="0", rows=(4,))(made)
    put(*ANSWER, value="12", rows=(4,))(made)
    put("output", "raw", value="12", rows=(4,))(made)
    judge(True, 4)(made)
    assert not check(tmp_path, made).total


@each(
    ("metric", "expected"),
    [("accuracy", 1), ("quasi_exact_match", 1), ("relaxed_accuracy", 0), ("group_score", 0)],
)
def test_other_metrics_than_of_one_answer_judge_otherwise(
    tmp_path: Path, metric: str, expected: int
) -> None:
    rows = made_rows()
    judge(False, 0)(rows)
    path, aggregate = tmp_path / "rows.jsonl", tmp_path / "aggregate.json"
    path.write_bytes(bytes_of(rows))
    document = aggregate_of("0.2.0", path.read_bytes(), ROWS)
    document["evaluation_results"][0]["metric_config"]["metric_name"] = metric
    aggregate.write_text(json.dumps(document))
    assert evalstream.check(path, aggregate=aggregate, select=CODES).total == expected


@each(
    ("answer", "references", "choices", "expected"),
    [
        ("12", ["12"], [], True),
        ("12 ", ["12 "], [], True),
        ("12", ["7", "12"], [], True),
        # A grader may want the reference as it is, or less than all of it.
        (" 12 ", ["12"], [], None),
        ("125", ["12"], [], None),
        ("-12", ["12"], [], None),
        ("1998", ["2001"], [], None),
        ("97", ["100"], [], None),
        ("94", ["100"], [], False),
        ("19", ["20"], [], False),
        ("-3", ["2"], [], False),
        # The text of a choice may be the letter or the number of another one.
        ("3", ["2"], ["1", "2", "3", "4"], None),
        ("2", ["2"], ["1", "2", "3", "4"], None),
        ("2", ["2"], ["one", "two"], True),
        ("8", ["6"], ["6", "8", "9"], False),
        ("B", ["D"], ["A", "AB", "O", "B"], None),
        ("B", ["D"], ["A", "B", "C", "D"], False),
        ("12", ["13"], [], False),
        ("12", ["012"], [], None),
        ("12", ["1"], ["12", "13"], None),
        ("12", ["13"], ["12", "13"], False),
        ("12", ["12.5"], [], None),
        ("B", ["(c)"], ["red", "blue"], False),
        ("B", ["b."], [], None),
        ("B", ["blue"], [], None),
        ("Paris", ["Lyon"], [], None),
        ("Paris", ["Lyon"], ["Lyon", "Paris"], False),
        ("cats", ["cat"], ["cat", "cats"], None),
        ("Paris", ["Lyon", "in Paris"], [], None),
        ("cats", ["cat"], [], None),
        ("yes", ["True"], [], None),
        ("yes", ["no"], [], False),
        ("été", ["hiver"], [], None),
        ("12", [], [], None),
        ("12", ["13", 7], [], None),
    ],
)
def test_answers_are_other_ones_only_where_that_is_sure(
    answer: str, references: list[Any], choices: list[str], expected: bool | None
) -> None:
    row = {
        "interaction_type": "single_turn",
        "input": {"reference": references, "choices": choices},
        "answer_attribution": [{"extracted_value": answer}],
    }
    assert is_reference(row) is expected


@each(
    ("metric", "wrong", "expected"),
    [("depth", (0,), {"ES808"}), ("depth", EVERY, set()), ("faithfulness", (0,), set())],
)
def test_a_metric_of_unknown_name_calls_its_best_scores_right(
    tmp_path: Path, metric: str, wrong: tuple[int, ...], expected: set[str]
) -> None:
    # A writer of grades may call no answer correct; one that calls some so means it.
    rows = made_rows()
    judge(False, *wrong, score=1.0)(rows)
    path, aggregate = tmp_path / "rows.jsonl", tmp_path / "aggregate.json"
    path.write_bytes(bytes_of(rows))
    document = aggregate_of("0.2.0", path.read_bytes(), ROWS)
    document["evaluation_results"][0]["metric_config"] |= {"metric_name": metric, "max_score": 1}
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(path, aggregate=aggregate, select=("ES808",))
    errors = {finding.code for finding in report.findings if finding.severity.name == "ERROR"}
    assert errors == expected
