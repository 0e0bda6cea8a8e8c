"""Rows that break what the other rows of their file keep to, in fast and exact checks alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from rows import Row, aggregate_of, bytes_of, sound_rows

import evalstream
from evalstream.formats.eee.rules.habits import is_reference

CODES = "ES303", "ES314", "ES320", "ES808"
ROWS, WRONG = 12, (4, 7)
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


ANSWER = "answer_attribution", 0, "extracted_value"
EVERY = tuple(range(ROWS))


@pytest.mark.parametrize("engine", ["auto", "rust"])
@each(
    ("changes", "expected"),
    [
        ((), ""),
        ((judge(True, 4),), "ES808 is_correct is true though the answer is no reference"),
        ((judge(True, 4, 7),), "ES808 is_correct is true though the answer is no reference"),
        ((judge(False, 0),), "ES808 is_correct is false though the answer is a reference"),
        ((without_attribution, judge(True, 4)), "ES808 is_correct is true"),
        # A further demand on answers makes right ones wrong, too.
        ((judge(False, 0, 1),), ""),
        # Neither is the score that of one answer, nor need another text be a wrong answer.
        ((judge(True, 4, 7, score=0.5),), ""),
        ((judge(True, 4), put("error", value="timeout", rows=(4,))), "ES314"),
        ((judge(True, 4), put(*ANSWER, value="9.0 apples", rows=(4,))), "ES303"),
        ((judge(True, 4), put("input", "choices", value=["7", "9 or 7"], rows=EVERY)), ""),
        ((put("input", "raw", value="What is 9 plus 1?"),), "ES320 input.formatted does not hold"),
        ((put("input", "raw", value='What is "9" plus 1?'),), ""),
        ((put("input", "formatted", value="Another prompt", rows=EVERY[:4]),), ""),
        ((put("input", "formatted", value=""),), "ES320 input.formatted does not hold"),
        (
            (put("output", "raw", value="The answer is 8."),),
            "ES303 extracted_value is not in output.raw",
        ),
        ((put("output", "raw", value="It is -0.5, (not) 5"),), ""),
        # A harness that finds no answer writes a word for it.
        *(
            ((put(*ANSWER, value=word),), "")
            for word in ("[invalid]", "N.A.", "No answer", "EMPTY")
        ),
        ((put(*ANSWER, value="invalid 7"),), "ES303 extracted_value is not in output.raw"),
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


@each(
    ("answer", "references", "choices", "expected"),
    [
        ("12", ["12"], [], True),
        (" 12 ", ["7", "12"], [], True),
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
