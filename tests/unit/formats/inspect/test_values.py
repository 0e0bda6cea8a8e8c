"""When two values of a log are the same."""

from typing import Any

from each import each

from evalstream.formats.inspect.values import same


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
