"""When two values of a log are the same."""

import re
from typing import Any

import pytest
from each import each

from evalstream.formats.inspect import values
from evalstream.formats.inspect.values import find_thoughts, same


@each(
    ("one", "other", "expected"),
    [
        ([1.0, "x"], [1.0 + 1e-12, "x"], True),
        ([1, 2], [1, 3], False),
        ([1], [1, 1], False),
        ({"a": [1]}, {"a": [2]}, False),
        ({"a": 1}, {"b": 1}, False),
        (None, float("nan"), True),
        (1, True, False),
    ],
)
def test_values_are_the_same_to_nine_digits(one: Any, other: Any, expected: bool) -> None:
    assert same(one, other) is expected


@each(
    ("text", "thoughts"),
    [
        ("none", []),
        ("<think>a</think>b<think x='1'>c\n</think>", ["a", "c\n"]),
        ("<think <think>a</think>", ["a"]),
        ("<think>a<think>b</think></think>", ["a<think>b"]),
        ("</think><think>a", []),
        ("<think>a</think><think>b", ["a"]),
        ("<think", []),
    ],
)
def test_reasoning_is_what_stands_between_its_marks(text: str, thoughts: list[str]) -> None:
    searched = re.findall(r"<think[^>]*>(.*?)</think>", text, re.DOTALL)
    assert [one.group(2) for one in find_thoughts(text)] == thoughts == searched


@each("beginning", ["<think>", "<think"])
def test_reasoning_without_an_end_is_looked_for_once(
    monkeypatch: pytest.MonkeyPatch, beginning: str
) -> None:
    """A model that repeats itself would cost the square of its answer."""
    looks: list[int] = []
    pattern = values._THOUGHT

    class Pattern:
        def match(self, text: str, start: int) -> re.Match[str] | None:
            looks.append(start)
            return pattern.match(text, start)

    monkeypatch.setattr(values, "_THOUGHT", Pattern())
    assert not list(find_thoughts(beginning * 1000))
    assert looks == [0]
