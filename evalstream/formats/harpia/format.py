"""The format harpia, as the `Format` protocol requires it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from evalstream.formats.base import PairedFormat, Place
from evalstream.formats.harpia import documents
from evalstream.formats.harpia.documents import INPUT, LOG, OUTPUT, UNSURE
from evalstream.io.beginning import Beginning


class HarpiaFormat(PairedFormat):
    """The input of an evaluation, its output and its log."""

    __slots__ = ()

    name = documents.NAME
    label = "HarpIA Lab"
    title = documents.TITLE
    prefix = "HAR"
    noun = "log line"
    rule_modules = ("input", "results")
    places: ClassVar[Mapping[str, Place]] = {
        LOG: "rows",
        OUTPUT: "aggregate",
        INPUT: "inputs",
        UNSURE: "inputs",
    }
    options = frozenset({"routing", "skip_noise"})
    is_sure = False
    companions: ClassVar[Mapping[str, Sequence[str]]] = {UNSURE: (LOG, OUTPUT)}

    def detect_kind(self, file: Beginning) -> str | None:
        kind = documents.detect_kind(file)
        is_unsure = kind == INPUT and not documents.is_surely_input(file.document)
        return UNSURE if is_unsure else kind


FORMAT: Final[PairedFormat] = HarpiaFormat()
