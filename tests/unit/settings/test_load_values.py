"""Values of settings have the types of their options, and the JSON Schema says the same."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from paths import REPOSITORY

from evalstream.model.errors import UsageError
from evalstream.model.finding import Severity
from evalstream.model.option_fields import Option, OptionText, refuse_small
from evalstream.parsing.json_schema import compile_schema
from evalstream.settings import resolve
from evalstream.settings.load import (
    LONGEST_TEXT,
    MOST_TEXTS,
    TomlTable,
    read_values,
    settings_schema,
    settings_schema_text,
    typed_values,
)
from evalstream.settings.resolve import SETTINGS, allowed_values

SCHEMA = compile_schema(settings_schema())
Compare = Callable[[Path, str], None]

texts = st.text(max_size=3) | st.sampled_from(
    sorted({one for option in SETTINGS.values() for one in allowed_values(option)})
)
plain = (
    st.booleans()
    | st.integers(-2, 2)
    # JSON Schema calls 1.0 an integer; TOML does not.
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda one: not one.is_integer())
    | texts
)
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2)
)
tables = st.dictionaries(st.sampled_from([*SETTINGS, "fail_on", "output"]), values, max_size=2)


def refuses(table: dict[str, Any]) -> bool:
    """Tell whether the loader refuses a table."""
    try:
        typed_values(table)
    except UsageError:
        return True
    return False


@given(tables)
def test_the_schema_and_the_loader_agree(table: dict[str, Any]) -> None:
    assert refuses(table) == bool(list(SCHEMA.errors(table)))


@pytest.mark.parametrize("key", SETTINGS)
@given(value=values)
def test_the_schema_and_the_loader_agree_on_each_key(key: str, value: Any) -> None:
    assert refuses({key: value}) == bool(list(SCHEMA.errors({key: value})))


@pytest.mark.parametrize("kind", [int, int | None])
def test_a_number_may_have_a_least_value_and_no_default(
    kind: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = Option("top", kind, None, OptionText("How many.", least=1))
    monkeypatch.setattr(resolve, "SETTINGS", {"top": top})
    schema = compile_schema(settings_schema())
    assert typed_values({"top": 1}) == {"top": 1}
    assert not list(schema.errors({"top": 1}))
    for wrong in (0, "1", True):
        assert refuses({"top": wrong})
        assert list(schema.errors({"top": wrong}))
    refuse_small({"top": top}, lambda _: None)
    with pytest.raises(UsageError, match=r"^top must be at least 1$"):
        refuse_small({"top": top}, lambda _: 0)


def test_every_setting_has_a_type_that_the_loader_reads() -> None:
    plain = {bool, int, str, Severity, tuple[str, ...]}
    known = plain | {int | None, str | None, Severity | None}
    unread = {key for key, option in SETTINGS.items() if option.type not in known}
    assert unread == set(), "_convert_value and _type of settings/load.py read them"


def test_the_defaults_fit_the_schema() -> None:
    defaults = {
        key: form["default"]
        for key, form in settings_schema()["properties"].items()
        if "default" in form
    }
    assert not refuses(defaults)
    for name, value in typed_values(defaults).items():
        (option,) = (one for one in SETTINGS.values() if one.name == name)
        assert value in (option.default, {})


@pytest.mark.parametrize("surplus", [0, 1])
def test_the_schema_and_the_loader_agree_on_bounds(surplus: int) -> None:
    many, long = MOST_TEXTS + surplus, "x" * (LONGEST_TEXT + surplus)
    for table in (
        {"exclude": ["x"] * many},
        {"exclude": [long]},
        {"noise": long},
        {"per-file-ignores": {str(number): [] for number in range(many)}},
        {"per-file-ignores": {long: []}},
    ):
        assert refuses(table) == bool(list(SCHEMA.errors(table))) == bool(surplus)


def test_the_schema_file_is_up_to_date(compare: Compare) -> None:
    compare(REPOSITORY / "schemas" / "settings.schema.json", settings_schema_text())


@each(
    ("table", "message"),
    [
        ({"strct": True}, "unknown setting 'strct'; did you mean strict?"),
        ({"fail_on": "error"}, "unknown setting 'fail_on'; did you mean fail-on?"),
        ({"output": "x"}, "output: only the command line can set it, as --output"),
        ({"seal-to": "x"}, "seal-to: only the command line can set it, as --seal-to"),
        ({"strict": "yes"}, 'strict: expected true or false, found a string "yes"'),
        ({"strict": 1}, "strict: expected true or false, found an integer 1"),
        ({"jobs": True}, "jobs: expected an integer, found a boolean true"),
        ({"jobs": 1.0}, "jobs: expected an integer, found a float 1.0"),
        ({"jobs": -1}, "jobs: expected at least 0, found -1"),
        ({"max-depth": 0}, "max-depth: expected at least 1, found 0"),
        ({"fail-on": "eror"}, "fail-on: unknown value 'eror'; did you mean error?"),
        ({"profile": 1}, "profile: expected one of default, datastore, flat, found an integer 1"),
        ({"noise": dt.date(2020, 1, 1)}, "noise: expected a string .* a date or time"),
        ({"select": "ES4"}, 'select: expected an array of at most .*, found a string "ES4"'),
        ({"select": [""]}, "select: expected an array of at most 1,000 strings of 1 to 4,096"),
        ({"exclude": ["x"] * 1_001}, "exclude: expected an array of at most 1,000 strings"),
        ({"exclude": ["x" * 4_097]}, "exclude: expected an array of at most 1,000 strings"),
        ({"noise": "x" * 4_097}, "noise: expected a string of 1 to 4,096 characters, found"),
        (
            {"per-file-ignores": {str(number): [] for number in range(1_001)}},
            "per-file-ignores: expected a table of at most 1,000 patterns",
        ),
        ({"select": ["XX9"]}, "select: no rule has the code"),
        ({"per-file-ignores": ["a"]}, "per-file-ignores: expected a table"),
        ({"per-file-ignores": {"a": ["XX9"]}}, "per-file-ignores.'a': no rule has"),
        ({"per-file-ignores": {"a": ["b:ES4"]}}, "per-file-ignores.'a': no rule has"),
    ],
)
def test_mistakes_are_named(table: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^file.toml: {message}"):
        read_values(TomlTable("file.toml", table))


def test_a_long_wrong_value_is_cut() -> None:
    with pytest.raises(UsageError) as caught:
        read_values(TomlTable("file.toml", {"strict": "x" * 10_000}))
    assert len(str(caught.value)) < 200


def test_values_are_those_of_the_options() -> None:
    table = {"fail-on": "warning", "min-severity": "info", "no-values": True, "format": "json"}
    assert read_values(TomlTable("x", {**table, "select": ["ES4"]})) == {
        "fail_on": Severity.WARNING,
        "min_severity": Severity.INFO,
        "show_values": False,
        "form": "json",
        "select": ("ES4",),
    }


def test_paths_are_relative_to_the_file() -> None:
    table = {"schema": "s.json", "ledger": "/l", "dask-scheduler-file": "d/e", "exclude": ["a/b"]}
    assert read_values(TomlTable("../x.toml", table)) == {
        "schema": "../s.json",
        "ledger": "/l",
        "dask_scheduler_file": "../d/e",
        "exclude": ("a/b",),
    }


def test_patterns_are_relative_to_the_file() -> None:
    patterns = ("run.jsonl", "old/*", "/a/b", "s3://b/*", "<stdin>", "-", "none")
    table = {one: ["ES4", "ES405"] if one != "none" else [] for one in patterns}
    found = read_values(TomlTable("../[x]/y.toml", {"per-file-ignores": table}))
    assert [one.removesuffix(":ES4,ES405") for one in found["per_file_ignores"]] == [
        "run.jsonl", "../[[]x]/old/*", "/a/b", "s3://b/*", "<stdin>", "-",
    ]  # fmt: skip


def test_the_schema_is_json() -> None:
    assert json.loads(settings_schema_text())["additionalProperties"] is False
