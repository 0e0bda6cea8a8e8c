"""Tests of settings as texts."""

from typing import Any

from each import each

from evalstream.parsing.setting_texts import MOST_SETTING, flatten_settings, setting_text


@each(
    ("value", "expected"),
    [
        ({"a": {"b": 1, "c": None}, "d": "x"}, {"s/a/b": "1", "s/d": "x"}),
        ({"a": {}, "b": []}, {"s/a": "{}", "s/b": "[]"}),
        ({"a": [{"b": 1}]}, {"s/a": '[{"b":1}]'}),
        (0.5, {"s": "0.5"}),
        ("text", {"s": "text"}),
        (None, {}),
        ({}, {"s": "{}"}),
    ],
)
def test_settings_are_named_by_the_pointers_to_them(value: Any, expected: dict[str, str]) -> None:
    assert flatten_settings("s", value) == expected


def test_long_settings_are_cut() -> None:
    assert setting_text("x" * MOST_SETTING) == "x" * MOST_SETTING
    cut = setting_text("x" * (MOST_SETTING + 1))
    assert cut.startswith("x" * MOST_SETTING + "… (sha256 ")
    assert len(setting_text(["x" * 1000])) == len(cut) < MOST_SETTING + 30


def test_long_settings_that_differ_after_the_cut_differ() -> None:
    long = "x" * MOST_SETTING
    assert setting_text(f"{long}a") != setting_text(f"{long}b")
    assert setting_text(f"{long}\ud800") != setting_text(f"{long}\ud801")
