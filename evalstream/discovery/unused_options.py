"""Options that say nothing to files of some formats, which are refused rather than ignored."""

from __future__ import annotations

from typing import Final

from evalstream.formats.eee import documents
from evalstream.model.errors import UsageError
from evalstream.model.options import Options, RowRouting

WITH_ROWS: Final = (documents.NAME, "harpia")
"""The formats whose files hold rows, which can go somewhere."""


def refuse_idle(options: Options, system: str) -> None:
    """Raise UsageError for options that say nothing to files of a format."""
    if system == documents.NAME:
        return
    routing, usual = options.routing, Options()
    idle = {
        "--schema": options.schema != usual.schema,
        "--schema-version": options.schema_version != usual.schema_version,
        "--recipe": options.recipe != usual.recipe,
        "a seal": routing.seal_to is not None,
        "--expect-rows": routing.expect_rows is not None,
        "--expect-samples": routing.expect_samples is not None,
        "a way for rows to go": routing != RowRouting() and system not in WITH_ROWS,
        "--skip-noise": options.skip_noise and system not in WITH_ROWS,
    }
    named = next((name for name, is_idle in idle.items() if is_idle), None)
    if named is not None:
        raise UsageError(f"{named} does not go with files of {system}")
