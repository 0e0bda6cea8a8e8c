"""Test the dating of documents by the release that they state and by their members."""

from __future__ import annotations

from typing import Any

import pytest

from evalstream.formats.releases import find_shown_release, is_released, read_release

MEMBERS = {("a",): (0, 1), ("tasks", "*", "n"): (0, 2), ("b", "c"): (0, 3)}


@pytest.mark.parametrize(
    ("told", "release", "released"),
    [
        ("0.3.40", (0, 3, 40), True),
        ("0.4.10.dev0", (0, 4, 10), False),
        ("0.3.41.dev1+g9ad2119a", (0, 3, 41), False),
        ("0.16", (0, 16), True),
        ("unknown", (), False),
        (None, (), False),
        (3, (), False),
    ],
)
def test_a_release_is_read_from_its_text(
    told: Any, release: tuple[int, ...], released: bool
) -> None:
    assert read_release(told) == release
    assert is_released(told) == released


@pytest.mark.parametrize(
    ("value", "release"),
    [
        ({}, ()),
        (None, ()),
        ({"a": 0}, (0, 1)),
        ({"a": "", "b": {"c": None}}, ()),
        ({"a": 1, "tasks": {"x": {}, "y": {"n": 5}}}, (0, 2)),
        ({"tasks": [{"n": 5}], "b": {"c": True}}, (0, 3)),
    ],
)
def test_members_with_a_value_show_the_release_that_wrote_them_first(
    value: Any, release: tuple[int, ...]
) -> None:
    assert find_shown_release(value, MEMBERS) == release
