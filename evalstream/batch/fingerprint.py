"""Fingerprint of a check: the version of the tool and all options that affect a verdict."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Final

from evalstream._version import __version__
from evalstream.model.data_class import field_values
from evalstream.model.finding import Severity
from evalstream.model.options import Options, RowRouting
from evalstream.parsing.json import canonical

WITHOUT_EFFECT: Final = frozenset(
    {
        "baseline",
        "dask_address",
        "dask_insecure",
        "dask_scheduler_file",
        "digests",
        "exclude",
        "executor",
        "jobs",
        "links",
        "memory_limit",
        "sample_digests",
        "samples",
        "sealing",
        "sketches",
        "write_baseline",
    }
)
"""Options that affect how the work is done, what else is collected, or which runs there are.

They affect no verdict; findings are compared with a baseline after a ledger.
"""


def verdict_options(options: Options) -> dict[str, Any]:
    """Return the options that affect a report, as JSON values."""
    values = {
        name: value for name, value in field_values(options).items() if name not in WITHOUT_EFFECT
    }
    values["fail_on"], values["routing"] = options.fail_on.label, field_values(options.routing)
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }


def restore_options(values: dict[str, Any]) -> Options:
    """Return the options from JSON values. Raises KeyError or TypeError if they are not valid."""
    read: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    read["fail_on"], read["routing"] = (
        Severity[values["fail_on"].upper()],
        RowRouting(**values["routing"]),
    )
    return Options(**read)


def fingerprint(options: Options) -> str:
    """Return a digest that is the same for calls with the same verdicts for the same files."""
    settled: dict[str, Any] = {"tool": __version__, "options": verdict_options(options)}
    if options.per_file_ignores:
        # The patterns of files are relative to it.
        settled["folder"] = os.path.abspath(os.curdir)
    text = canonical(settled)
    return hashlib.sha256(text).hexdigest()
