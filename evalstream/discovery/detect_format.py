"""Which format a file is of, by its content: the one detector that all searches share."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any, Final, NamedTuple

from evalstream.engine.harness_logs import FOREIGN, log_of
from evalstream.formats.eee import documents
from evalstream.formats.registry import NAMES
from evalstream.io.beginning import Beginning

_ORDER: Final = ("eee", "infereval", "evalguard", FOREIGN, "harpia")
"""The surest first: HarpIA Lab's members are known by their shape alone."""


class Kind(NamedTuple):
    """What a file is: the format, and which of its documents; of a harness's log, what it is."""

    format: str
    document: str


def kind_of(file: Beginning, formats: Collection[str] = NAMES) -> Kind | None:
    """Return what a file shows to be, None where it shows none of the formats."""
    for name in _ORDER:
        if name == FOREIGN:
            log = log_of(file)
            if log is not None:
                return Kind(FOREIGN, f"{log.harness}: {log.what}")
        elif name in formats:
            document = _format(name).recognised(file)
            if document is not None:
                return Kind(name, document)
    return None


def _format(name: str) -> Any:
    return (
        documents
        if name == documents.NAME
        else import_module(f"evalstream.formats.{name}.documents")
    )
