"""The settings files that there are, and the options that they may set, by their keys."""

# The annotations are objects, not text, as they are read when the module is imported.

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from evalstream.model.option_fields import Group, Option, OptionText, declared_options
from evalstream.model.options import ROUTING_OPTIONS, Options
from evalstream.reporters import REPORT_OPTIONS

OWN_NAME: Final = "evalstream.toml"
PROJECT_NAME: Final = "pyproject.toml"
"""A file that many tools share; its settings are in the table `tool.evalstream`."""

LEDGER: Final = OptionText(
    "Remember in this file what was checked, and skip what has not changed.",
    Group.EXECUTION,
    "FILE",
    named_only=True,
)

OF_ONE_CALL: Final = frozenset(
    {
        *("output", "write_baseline", "expect_ids", "expect_digests", "sample_digests", "source"),
        *("attestation", "trust", "require", "attestation_only"),
        *("exit_zero", "exit_codes"),
    }
)
"""Options that no file sets: each call says what it writes and what its exit code means."""

PATHS: Final = frozenset({"schema", "ledger", "baseline", "dask_scheduler_file"})
"""The settings that are paths, relative to the folder of their file."""

CODES: Final = frozenset({"select", "ignore"})
"""The settings that are lists of rules."""

PER_FILE: Final = "per_file_ignores"
"""The setting that is a table: lists of rules by the pattern of files."""


def settings_key(option: Option) -> str:
    """Return the key of an option in a settings file: its long flag without dashes."""
    flags = option.text.flags or (f"--{option.name.replace('_', '-')}",)
    return next(one for one in flags if one.startswith("--")).partition("/")[0][2:]


def _settings() -> dict[str, Option]:
    options = (
        *declared_options(Options).values(),
        *REPORT_OPTIONS.values(),
        Option("ledger", str | None, None, LEDGER),
    )
    return {settings_key(one): one for one in options if one.name not in OF_ONE_CALL}


SETTINGS: Final[Mapping[str, Option]] = MappingProxyType(_settings())
"""The options that a settings file may set, by key."""

KEYS_OF_ONE_CALL: Final = frozenset(
    settings_key(one)
    for one in (
        *declared_options(Options).values(),
        *REPORT_OPTIONS.values(),
        *ROUTING_OPTIONS.values(),
    )
    if one.name in OF_ONE_CALL or one.name in ROUTING_OPTIONS
)
"""What the keys of the other options would be."""


def settings_files() -> Iterator[str]:
    """Iterate over files that may have settings: of the working directory, then of those above it.

    Paths are relative to the working directory. In one folder `evalstream.toml` comes first.
    """
    try:
        depth = os.getcwd().rstrip("/").count("/")
    except FileNotFoundError:
        return
    for level in range(depth + 1):
        for name in (OWN_NAME, PROJECT_NAME):
            file = "../" * level + name
            try:
                os.stat(file)
            except FileNotFoundError:
                continue
            except OSError:
                pass  # Whoever reads it reports why that fails.
            yield file


def is_setting(option: Option) -> bool:
    """Tell whether a settings file may set an option."""
    return SETTINGS.get(settings_key(option)) == option
