"""The options that a settings file may set, by their keys, made from the declared options."""

# The annotations are objects, not text, as they are read when the module is imported.

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from evalstream.model.options import (
    ROUTING_OPTIONS,
    Group,
    Option,
    Options,
    OptionText,
    declared_options,
)
from evalstream.reporters.options import REPORT_OPTIONS

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


def is_setting(option: Option) -> bool:
    """Tell whether a settings file may set an option."""
    return SETTINGS.get(settings_key(option)) == option
