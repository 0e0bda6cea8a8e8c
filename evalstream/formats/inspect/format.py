"""The documents of Inspect: logs as zip archives (`.eval`) and as JSON.

The facts come from the released package inspect_ai, up to 0.3.285.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Final

from evalstream.formats.base import PairedFormat, Place
from evalstream.io.beginning import LINES, OBJECT, Beginning
from evalstream.io.names import is_rows_name
from evalstream.parsing.lazy_regex import LazyPattern

NAME: Final = "inspect"
VERSIONS: Final = (1, 2)
"""The versions of the layout that are known; inspect_ai 0.3.285 writes version 2."""

LOG: Final = "log"
ENDING: Final = ".eval"
ZIP: Final = b"PK\x03\x04"
SAMPLES: Final = "samples"
EXTRA: Final = "inspect"
"""The extra that logs are read with."""

_FIRST_MEMBER: Final = LazyPattern(rb"PK\x03\x04.{26}_journal/start\.json", re.DOTALL)
_MEMBERS: Final = frozenset({"status", "eval"})
_INNER: Final = frozenset({"eval/created", "eval/run_id", "eval/model"})
_TASK: Final = "eval/task"


class InspectFormat(PairedFormat):
    """Logs of evaluations that the harness Inspect wrote."""

    __slots__ = ()

    name = NAME
    label = "Inspect"
    title = "Inspect: logs of evaluations, as archives (.eval) and as JSON"
    noun = "sample"
    places: ClassVar[Mapping[str, Place]] = {LOG: "rows"}
    compared = frozenset({"files", "samples", "answers", "paths"})
    is_source = True
    listing_names = frozenset({"eval-set.json", "logs.json"})

    def detect_kind(self, file: Beginning) -> str | None:
        # The harness reads a file named `.eval` as a log, whatever it holds.
        if file.name.lower().endswith(ENDING):
            return LOG
        if file.head.startswith(ZIP):
            return LOG if _FIRST_MEMBER.match(file.head) else None
        seen = file.seen
        if seen.kind != OBJECT and (seen.kind != LINES or is_rows_name(file.name)):
            return None
        is_log = seen.keys >= _MEMBERS and _TASK in seen.inner
        return LOG if is_log and not _INNER.isdisjoint(seen.inner) else None


FORMAT: Final[PairedFormat] = InspectFormat()
"""Logs of Inspect."""
