"""The options about settings files, and where they meet the command line."""

# The annotations are objects, not text, as they are read when the module is imported.

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from evalstream.cli.terminal import guard_output
from evalstream.io.names import printable
from evalstream.model.exit_codes import ExitCode
from evalstream.model.options import Group, Option, OptionText
from evalstream.settings.declared import settings_key
from evalstream.settings.load import NO_SETTINGS, Chosen, find_settings, resolve_settings

CONFIG: Final = Option(
    "config",
    str | None,
    None,
    OptionText(
        "Read settings from this file (default: the nearest evalstream.toml or pyproject.toml).",
        Group.SETTINGS,
        "FILE",
    ),
)
ISOLATED: Final = Option(
    "isolated",
    bool,
    False,
    OptionText("Search no settings file, and read one only with --config.", Group.SETTINGS),
)
SHOW_SETTINGS: Final = Option(
    "show_settings",
    bool,
    False,
    OptionText("Show the settings and where each comes from, and check nothing.", Group.SETTINGS),
)
SETTINGS_OPTIONS: Final = (CONFIG, ISOLATED, SHOW_SETTINGS)
"""The options of all commands that read settings."""


def resolved_values(
    options: Iterable[Option], line: Mapping[str, Any], *, reads_settings: bool
) -> dict[str, Any]:
    """Return the value of each option by name, from the command line, a file or its default.

    Shows the settings and ends the program if the command line asks for that. Raises UsageError
    for settings that are not valid.
    """
    options = list(options)
    settings = NO_SETTINGS
    if reads_settings:
        settings = find_settings(line.get(CONFIG.name), isolated=line.get(ISOLATED.name, False))
    chosen = resolve_settings(options, line, settings)
    if line.get(SHOW_SETTINGS.name):
        _show(options, chosen, settings.file)
    # A found file may set `quiet`, but not hide itself by that.
    if settings.file is not None and not line.get("quiet"):
        _announce(settings.file, options, chosen)
    return {name: one.value for name, one in chosen.items()}


def _announce(file: str, options: Iterable[Option], chosen: Mapping[str, Chosen]) -> None:
    """Say on stderr which settings of the file hold: they decide the verdict."""
    keys = [settings_key(one) for one in options if chosen[one.name].source == file]
    set_here = f": {', '.join(keys)}" if keys else ""
    sys.stderr.write(f"evalstream: settings from {printable(file)}{set_here}\n")


def _show(options: Iterable[Option], chosen: Mapping[str, Chosen], file: str | None) -> None:
    from evalstream.settings.load import settings_lines

    with guard_output():
        sys.stdout.writelines(f"{line}\n" for line in settings_lines(options, chosen, file))
        sys.stdout.flush()
    sys.exit(ExitCode.PASSED)
