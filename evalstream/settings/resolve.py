"""Decide whether the command line, a settings file or the default gives an option its value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from evalstream.model.data_class import NamedTuple
from evalstream.model.options import ROUTING_OPTIONS, Option
from evalstream.settings.declared import is_setting
from evalstream.settings.load import Settings, refuse_found

DEFAULT: Final = "default"
COMMAND_LINE: Final = "command line"

RIVALS: Final[Mapping[str, tuple[str, ...]]] = {
    "verbose": ("quiet", "min_severity"),
    "quiet": ("verbose",),
    "min_severity": ("verbose",),
    "schema": ("schema_version",),
    "schema_version": ("schema",),
    "dask_address": ("dask_scheduler_file",),
    "dask_scheduler_file": ("dask_address",),
    "shard": ("form", "verbose", "statistics", "min_severity"),
    **dict.fromkeys(ROUTING_OPTIONS, ("ledger",)),
}
"""The settings that an option of the command line puts aside, as they contradict it."""

OF_DASK: Final = ("dask_address", "dask_insecure", "dask_scheduler_file")


class Chosen(NamedTuple):
    """The value of an option, and where it comes from: a file, or one of the constants above."""

    value: Any
    source: str


def resolve(
    options: Iterable[Option], line: Mapping[str, Any], settings: Settings
) -> dict[str, Chosen]:
    """Return the value of each option by name; `line` has those of the command line.

    A setting that contradicts an option of the command line does not hold. Raises UsageError for
    one that would hold and that a found file may not set.
    """
    moot = {name for given, names in RIVALS.items() if line.get(given) for name in names}
    if line.get("executor") not in (None, "dask"):
        moot.update(OF_DASK)
    found = {}
    for one in options:
        if one.name in line:
            found[one.name] = Chosen(line[one.name], COMMAND_LINE)
        elif one.name in settings.values and one.name not in moot and is_setting(one):
            refuse_found(one, settings)
            found[one.name] = Chosen(settings.values[one.name], settings.file or "")
        else:
            found[one.name] = Chosen(one.default, DEFAULT)
    return found
