"""Load the settings that hold in the working directory, or those of a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from evalstream.api_options import options_from, schema_text_of
from evalstream.model.errors import UsageError
from evalstream.model.options import Options
from evalstream.settings.find import find_table, table_of


class Settings(NamedTuple):
    """The values of options by the names of their fields, and the file that sets them, if any."""

    values: Mapping[str, Any]
    file: str | None = None


NO_SETTINGS = Settings({})


def find_settings(file: str | None = None, *, isolated: bool = False) -> Settings:
    """Return the settings of a file, of the working directory, or with `isolated` none.

    Raises UsageError for settings that are not valid, and for a file beside `isolated`.
    """
    if isolated:
        if file is not None:
            raise UsageError("--config and --isolated cannot be combined")
        return NO_SETTINGS
    table = find_table() if file is None else table_of(file)
    if table is None:
        return NO_SETTINGS
    # Most calls have no settings file.
    from evalstream.settings.values import values_in

    return Settings(values_in(table), table.file)


def load_settings(path: str | os.PathLike[str] | None = None) -> Options:
    """Return the options that a settings file sets, for the keyword `options` of `check`.

    Without a path it is the file that the command line would use: the `evalstream.toml`, or the
    `pyproject.toml` with a table `tool.evalstream`, of the working directory or the nearest folder
    above it. Without such a file all options have their defaults. Settings of reports and of the
    ledger are not options of a check; they are checked and left out. Raises UsageError for
    settings that are not valid.
    """
    values = dict(find_settings(None if path is None else os.fspath(path)).values)
    if values.get("schema") is not None:
        values["schema"] = schema_text_of(values["schema"])
    return options_from(values)
