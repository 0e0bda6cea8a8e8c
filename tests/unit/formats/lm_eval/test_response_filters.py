"""Filters of answers give what the harness's own give, and hostile patterns are not tried."""

import json
import time
from typing import Any

import pytest
from each import each

from evalstream.formats.lm_eval.response_filters import (
    MOST_STEPS,
    NotFollowed,
    apply_chain,
    bounded_size,
    build_chain,
    follows,
    is_bounded,
    is_known_step,
    pattern_costs,
)


def given(answers: list[Any], *steps: dict[str, Any]) -> Any:
    """Return what steps make of the answers to one request."""
    chain = build_chain(json.dumps(steps))
    assert chain is not None
    return apply_chain(chain, answers)


def regex(pattern: str, **options: Any) -> dict[str, Any]:
    return {"function": "regex", "regex_pattern": pattern, **options}


FIRST = {"function": "take_first"}


@each(
    ("answers", "steps", "expected"),
    [
        (["a", "b"], [FIRST], "a"),
        (["a", "b", "c"], [{"function": "take_first_k", "k": 2}], ["a", "b"]),
        (["b", "a", "a"], [{"function": "majority_vote"}, FIRST], "a"),
        (["b", "a"], [{"function": "majority_vote"}, FIRST], "b"),
        (["#### 1,234 so"], [regex(r"#### (\-?[0-9\.\,]+)"), FIRST], "1,234"),
        (["1 or 2"], [regex("([0-9])", group_select=-1), FIRST], "2"),
        (["no"], [regex("([0-9])"), FIRST], "[invalid]"),
        (["no"], [regex("([0-9])", fallback="none"), FIRST], "none"),
        (["x 7"], [regex("(a)|([0-9])"), FIRST], "7"),
        ([" a "], [{"function": "remove_whitespace"}, FIRST], "a"),
        (["aB"], [{"function": "lowercase"}, {"function": "uppercase"}, FIRST], "AB"),
        (["a"], [{"function": "map", "mapping_dict": {"a": 1}}, FIRST], "1"),
        (["b"], [{"function": "map", "mapping_dict": {"a": 1}}, FIRST], "None"),
        ([["-0.5", "True"]], [FIRST], ["-0.5", "True"]),
        ([[-0.5, True]], [FIRST], ["-0.5", "True"]),
    ],
)
def test_a_filter_gives_what_the_harness_s_gives(
    answers: list[Any], steps: list[dict[str, Any]], expected: Any
) -> None:
    assert given(answers, *steps) == expected


def test_older_releases_removed_one_space() -> None:
    steps = json.dumps([{"function": "remove_whitespace"}, FIRST])
    for shown in (" a ", "a"):
        assert follows(steps, [["  a "]], [shown])[0]
    assert follows(steps, [["  a "]], ["b"]) == (False, ["a"])


@each(
    "steps",
    [
        [{"function": "multi_choice_regex"}],
        [{"function": "<function own at 0x7f>"}],
        [{"function": "regex", "regex_pattern": "("}],
        [{"function": "regex", "other": 1}],
        [{"function": "take_first", "k": 1}],
        [{}],
        ["take_first"],
        [{"function": "map", "mapping_dict": 3}, FIRST],
        [{"function": "take_first_k", "k": "2"}],
    ],
)
def test_other_filters_are_not_followed(steps: list[Any]) -> None:
    with pytest.raises(NotFollowed):
        follows(json.dumps(steps), [["a"]], ["a"])


@each(
    "pattern",
    [
        *("(a+)+b", "(a|aa)+b", "(a|b|ab)*c", "(a?){29}a{29}", "(?:a{1,29}){1,29}b", r"(a*)\1b"),
        *("a?" * 30 + "a" * 30, "(a|aa)" * 30 + "b", "a{0,29}" * 8 + "b", "a*" * 5 + "b"),
    ],
)
def test_a_pattern_that_may_take_long_is_not_tried(pattern: str) -> None:
    began = time.process_time()
    with pytest.raises(NotFollowed):
        follows(json.dumps([regex(pattern), FIRST]), [["a" * 1_000]], ["b"])
    assert time.process_time() - began < 1


@each(
    "pattern",
    [
        r"^\s*([A-D])",
        *(r"#### (\-?[0-9\.\,]+)", "(-?[$0-9.,]{2,})|(-?[0-9]+)", "([A-E]).*", "so ([a-z ]*)x"),
        r"The answer is (\-?[0-9\.\,]*[0-9]+)",
        r"((?<=The answer is )(.*)(?=.)|(?<=answer is )(.*)(?=.))",
    ],
)
def test_very_long_answers_are_searched_where_that_is_safe(pattern: str) -> None:
    text = "1" * 200_000 + " so The answer is 2."
    began = time.process_time()
    assert given([text], regex(pattern), FIRST)
    assert time.process_time() - began < 1


@each(
    "pattern",
    ["[0-9]+x", "(?=[0-9]+)x", "(?:[0-9]+x)?", "1[0-9]*x", "[0-9]{9000,}", "(?i:so )([a-z ]*)x"],
)
def test_long_answers_are_not_searched_where_each_place_may_be_read_to_the_end(
    pattern: str,
) -> None:
    assert is_bounded(pattern, "1" * 1_000)
    assert not is_bounded(pattern, "1" * 10_000)


@each(
    "pattern",
    [
        r"#### (\-?[0-9\.\,]+)",
        "(-?[$0-9.,]{2,})|(-?[0-9]+)",
        r"answer is \(?([ABCDEFGHIJ])\)?",
        r"((?<=The answer is )(.*)(?=.)|(?<=answer is )(.*)(?=.))",
        r"\b(Yes|No|yes|no)\b",
        r"^\s*([A-D])",
    ],
)
def test_usual_patterns_are_tried_in_long_answers(pattern: str) -> None:
    assert is_bounded(pattern, "so 1 and The answer is 2.\n" * 100)


@each(
    ("step", "is_known"),
    [
        ({"function": "regex", "regex_pattern": "a", "group_select": -1}, True),
        ({"function": "regex", "regex_pattern": "("}, True),
        ({"function": "<class 'utils.Filter'>", "own": 1}, True),
        ({"function": "regex", "regex_pattern": "a", "own": 1}, False),
        ({"function": "regex", "regex_pattern": "a", "group_select": "first"}, False),
        ({"function": "take_first_k", "k": "2"}, False),
        ({"function": "map", "mapping_dict": "a"}, False),
        ({"function": "take_second"}, False),
    ],
)
def test_a_step_with_arguments_of_nobody_is_unknown(
    step: dict[str, Any], *, is_known: bool
) -> None:
    assert is_known_step(step) == is_known


@each("pattern", ["", "a", "#### (-?[0-9]+)", "(.*)a", "^(.*)b", ".*a.*b", "aaa|b+c", "(?i)aba"])
def test_no_text_of_a_bounded_size_takes_many_steps(pattern: str) -> None:
    size, costs = bounded_size(pattern), pattern_costs(pattern)
    assert size
    assert costs is not None
    for text in ("a", "b", "ab", "aab", "# "):
        whole = (text * size)[:size]
        assert sum(one.count_steps(whole) for one in costs) <= MOST_STEPS


@each("pattern", ["(a*)*b", r"(a)\1"])
def test_a_pattern_without_a_bound_has_no_bounded_size(pattern: str) -> None:
    assert bounded_size(pattern) == 0
