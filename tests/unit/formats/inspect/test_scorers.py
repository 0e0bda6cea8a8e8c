"""Tests that samples are scored again as the harness does, and only where its releases agree."""

from typing import Any

from each import each

from evalstream.formats.inspect.scorers import answer, choice, exact, grade, last_answer, match

CASES: list[tuple[Any, str, list[str], dict[str, Any], str | None]] = [
    (match, "It is 4.", ["4"], {}, "C"),
    (match, "4 it is", ["4"], {}, "I"),
    (match, "4 it is", ["4"], {"location": "begin"}, "C"),
    (match, "is 4 it", ["5", "4"], {"location": "any"}, "C"),
    (match, " Stra\u00dfe! ", ["STRASSE"], {"location": "exact"}, "C"),
    (match, "Yes", ["yes"], {"ignore_case": False}, "I"),
    (match, "It is 25.", ["25"], {"numeric": True}, "C"),
    (match, "25 it is", ["4"], {"numeric": True}, "I"),
    (match, "no idea", ["4", "5"], {"numeric": True}, "I"),
    (match, "25", ["5"], {"numeric": True}, None),
    (match, "4 or 5", ["5"], {"numeric": True}, None),
    (match, "It is 4", ["4"], {"numeric": True, "location": "exact"}, None),
    (match, "It is 4,5", ["4"], {"numeric": True}, None),
    (match, "five", ["5.0"], {"numeric": True}, None),
    (match, "123456", ["123456"], {"numeric": True}, None),
    (match, "It is five", ["five"], {"numeric": True}, "C"),
    (match, "It is nan", ["nan"], {"numeric": True}, None),
    (match, "It is $five", ["$five"], {"numeric": True}, None),
    (match, "4", ["4"], {"location": "nowhere"}, None),
    (match, "4", ["4"], {"own": 1}, None),
    (exact, "The Cat", ["the cat"], {}, "C"),
    (exact, "a dog", ["the cat"], {}, "I"),
    # Releases differ in the order of words, in numbers, and in words without content.
    (exact, "cat dog", ["dog cat"], {}, None),
    (exact, "5.0", ["5"], {}, None),
    (exact, "5", ["6"], {}, "I"),
    (exact, "It is 5.", ["It is 6"], {}, "I"),
    (exact, "5.5", ["6"], {}, None),
    (exact, "1,000", ["10"], {}, None),
    (exact, "4th", ["5"], {}, None),
    (exact, "inf", ["infinity"], {}, None),
    (exact, "", ["the"], {}, None),
    (exact, "cat", ["cat"], {"own": 1}, None),
    (answer, "So:\nANSWER: b", ["B"], {"pattern": "letter"}, "C"),
    (answer, "ANSWER: Yes", ["no"], {"pattern": "word"}, "I"),
    (answer, "ANSWER: it is so", ["It is so"], {"pattern": "line"}, "C"),
    (answer, "ANSWER: Yes", ["Yes"], {"pattern": "letter"}, None),
    (answer, "ANSWER: A\nANSWER: B", ["B"], {"pattern": "letter"}, None),
    (answer, "ANSWER: A\nor so", ["A"], {"pattern": "letter"}, None),
]


@each(("scorer", "text", "targets", "options", "value"), CASES)
def test_a_completion_is_scored_as_the_harness_does(
    scorer: Any, text: str, targets: list[str], options: dict[str, Any], value: str | None
) -> None:
    found = scorer(text, targets, options)
    assert (found and found.value) == value


@each(
    ("text", "options", "value"),
    [
        ("Right.\n\nGRADE: C", {}, "C"),
        ("grade: incorrect.", {}, "I"),
        ("GRADE: I or so; GRADE: I", {"partial_credit": True}, "I"),
        # Releases differ in which of several grades they read, and in other letters.
        ("GRADE: C, no: GRADE: I", {}, None),
        ("GRADE: P", {}, None),
        ("GRADE: **C**", {}, None),
        ("A downgrade: C", {}, None),
        ("GRADE: C", {"grade_pattern": "x"}, None),
        ("GRADE: C", {"model": ["a", "b"]}, None),
    ],
)
def test_a_grade_is_read_as_the_harness_does(
    text: str, options: dict[str, Any], value: str | None
) -> None:
    assert grade(text, options) == value


@each(
    ("selected", "targets", "value"),
    [
        ("A", ["A"], "C"),
        ("A, C", ["CA"], "C"),
        ("A, C", ["A", "C"], "C"),
        ("A", ["A", "C"], "I"),
        ("", ["A"], "I"),
        ("C, A", ["AC"], "I"),
        ("A", ["AA"], None),
        ("A", ["a"], None),
        ("A", ["A,B"], None),
        ("the first", ["A"], None),
        ("A", [], None),
    ],
)
def test_selected_letters_are_scored_as_the_harness_does(
    selected: str, targets: list[str], value: str | None
) -> None:
    found = choice(selected, targets)
    assert (found and found.value) == value


def test_only_a_single_answer_in_the_last_line_counts() -> None:
    assert last_answer("Think.\nANSWER: B") == "B"
    for text in ("The answer is B.\nANSWER: B", "ANSWER: B\n", "ANSWER:B", "my ANSWER: B"):
        assert last_answer(text) is None
