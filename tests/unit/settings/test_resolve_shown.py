"""What --show-settings prints is TOML that means the same."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalstream.model.errors import UsageError
from evalstream.settings.load import TomlTable, read_values
from evalstream.settings.resolve import (
    SETTINGS,
    Settings,
    allowed_values,
    resolve_settings,
    settings_lines,
)

OPTIONS = list(SETTINGS.values())

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
codes = st.lists(st.sampled_from(["ES4", "ES405", "unsealed"]), min_size=1, max_size=2)


def value_of(key: str) -> st.SearchStrategy[Any]:
    """Return the valid values of a setting."""
    option = SETTINGS[key]
    if key == "per-file-ignores":
        return st.dictionaries(texts, codes, min_size=1)
    if option.name in ("select", "ignore"):
        return codes
    if option.type == tuple[str, ...]:
        return st.lists(texts)
    if option.type is bool:
        return st.booleans()
    if option.type is int:
        return st.integers(1, 2**40)
    return st.sampled_from(allowed_values(option)) if allowed_values(option) else texts


tables = st.fixed_dictionaries({}, optional={key: value_of(key) for key in SETTINGS})


@given(tables)
def test_the_lines_are_toml_with_the_same_values(table: dict[str, Any]) -> None:
    try:
        values = read_values(TomlTable("file.toml", table))
    except UsageError:  # a path to a store, or a pattern, that is not valid
        return
    chosen = resolve_settings(OPTIONS, {}, Settings(values, "file\n.toml", is_named=True))
    lines = list(settings_lines(OPTIONS, chosen, "file\n.toml"))
    assert not any("\n" in line or "\r" in line for line in lines)
    again = read_values(TomlTable("file.toml", tomllib.loads("\n".join(lines))))
    assert {name: value for name, value in again.items() if name in values} == values
    assert sum("file\\n.toml" in line for line in lines) >= 1


def test_lines_name_their_sources() -> None:
    chosen = resolve_settings(OPTIONS, {"strict": True}, Settings({"jobs": 2}, "x.toml"))
    lines = list(settings_lines(OPTIONS, chosen, "x.toml"))
    assert lines[0] == "# settings file: x.toml"
    assert "strict = true  # command line" in lines
    assert "jobs = 2  # x.toml" in lines
    assert "# noise is not set  # default" in lines
    assert "no-values = false  # default" in lines
    assert lines[-1] == "[per-file-ignores]  # default"
