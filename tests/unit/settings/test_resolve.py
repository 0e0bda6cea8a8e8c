"""The command line comes before the file, and the file before the default."""

from __future__ import annotations

from typing import Any

from each import each

from evalstream.settings.resolve import SETTINGS, Settings, resolve_settings

OPTIONS = SETTINGS.values()


def sources(line: dict[str, Any], **settings: Any) -> dict[str, tuple[Any, str]]:
    """Return what does not have its default."""
    found = resolve_settings(OPTIONS, line, Settings(settings, "file", is_named=True))
    return {name: tuple(one) for name, one in found.items() if one.source != "default"}


def test_sources() -> None:
    assert sources({"select": ("a",)}, select=("b", "c"), jobs=2) == {
        "select": (("a",), "command line"),
        "jobs": (2, "file"),
    }


def test_defaults() -> None:
    found = resolve_settings(OPTIONS, {}, Settings({}))
    assert {name: one.value for name, one in found.items()} == {
        one.name: one.default for one in OPTIONS
    }


@each(
    ("line", "settings"),
    [
        ({"verbose": True}, {"quiet": True, "min_severity": 3}),
        ({"quiet": True}, {"verbose": True}),
        ({"schema": "x"}, {"schema_version": "0.2.0"}),
        ({"executor": "pool"}, {"dask_address": "x"}),
        ({"dask_address": "x"}, {"dask_scheduler_file": "x"}),
        ({"shard": "1/2"}, {"form": "html", "statistics": True}),
        ({"passing": "all"}, {"ledger": "x"}),
    ],
)
def test_settings_that_contradict_the_command_line_do_not_hold(
    line: dict[str, Any], settings: dict[str, Any]
) -> None:
    assert "file" not in {source for _, source in sources(line, **settings).values()}


def test_a_switch_that_is_turned_off_contradicts_nothing() -> None:
    assert sources({"verbose": False}, quiet=True)["quiet"] == (True, "file")
