"""What decides a verdict besides the files: the tool and its options, as one digest."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import Any, Final

from evalstream._version import __version__
from evalstream.model.finding import Severity
from evalstream.model.options import Options, RowRouting
from evalstream.parsing.json import canonical

WITHOUT_EFFECT: Final = frozenset(
    {
        "jobs",
        "memory_limit",
        "executor",
        "dask_address",
        "dask_scheduler_file",
        "links",
        "exclude",
    }
)
"""Options that say how the work is done or which runs there are, and change nothing in what is
said of a run."""


def deciding(options: Options) -> dict[str, Any]:
    """Return the options that decide what a report says, as JSON can hold them."""
    chosen = {name: value for name, value in asdict(options).items() if name not in WITHOUT_EFFECT}
    chosen["fail_on"] = options.fail_on.label
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in chosen.items()
    }


def restored(chosen: dict[str, Any]) -> Options:
    """Return the options that were deciding. Raises KeyError, TypeError for what are none."""
    read: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in chosen.items()
    }
    read["fail_on"], read["flow"] = (
        Severity[chosen["fail_on"].upper()],
        RowRouting(**chosen["flow"]),
    )
    return Options(**read)


def fingerprint(options: Options) -> str:
    """Return what calls share that say the same of the same files."""
    text = canonical({"tool": __version__, "options": deciding(options)})
    return hashlib.sha256(text).hexdigest()
