"""Refuse options that have no effect on files of some formats, instead of ignoring them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from evalstream.formats.registry import FORMATS
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import UsageError
from evalstream.model.options import Options, RowRouting


class Option(NamedTuple):
    """An option that only some formats understand: its name in messages, and whether it is used."""

    label: str
    is_used: Callable[[Options], bool]


_USUAL: Final = Options()

OPTIONS: Final[Mapping[str, Option]] = {
    "schema": Option("--schema", lambda options: options.schema != _USUAL.schema),
    "schema_version": Option(
        "--schema-version", lambda options: options.schema_version != _USUAL.schema_version
    ),
    "recipe": Option("--recipe", lambda options: options.recipe != _USUAL.recipe),
    "seal_to": Option("a seal", lambda options: options.routing.seal_to is not None),
    "expect_rows": Option("--expect-rows", lambda options: options.routing.expect_rows is not None),
    "expect_samples": Option(
        "--expect-samples", lambda options: options.routing.expect_samples is not None
    ),
    "routing": Option("routing of rows", lambda options: options.routing != RowRouting()),
    "source": Option("--source", lambda options: options.source is not None),
    "skip_noise": Option("--skip-noise", lambda options: options.skip_noise),
}
"""The options that formats must list to support them, in the order of refusal."""


def refuse_idle(options: Options, name: str) -> None:
    """Raise UsageError for options that have no effect on files of a format."""
    understood = FORMATS[name].options
    for field, option in OPTIONS.items():
        if field not in understood and option.is_used(options):
            raise UsageError(f"{option.label} does not go with files of {name}")
