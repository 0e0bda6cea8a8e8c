"""The format helm, as the `Format` protocol requires it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from evalstream.formats.base import PairedFormat, Place
from evalstream.formats.helm import documents
from evalstream.formats.helm.documents import (
    ENTRIES,
    RUN_SPEC,
    SCENARIO,
    STATE,
    STATISTICS,
    SUMMARY,
)


class HelmFormat(PairedFormat):
    """Runs of HELM: statistics with those of instances, requests and specification."""

    __slots__ = ()

    name = documents.NAME
    label = "HELM"
    title = "HELM: the statistics of a run, its instances, and its requests"
    prefix = "HLM"
    noun = "instance"
    rule_modules = ("documents", "instances", "figures")
    places: ClassVar[Mapping[str, Place]] = {
        ENTRIES: "rows",
        STATISTICS: "aggregate",
        STATE: "inputs",
        RUN_SPEC: "inputs",
        SCENARIO: "inputs",
        SUMMARY: "inputs",
    }
    is_source = True
    listing_names = documents.SUMMARIES

    def kind_by_path(self, path: str, has_neighbour: Callable[[], bool], /) -> str | None:
        kind = documents.kind_by_name(path)
        return kind if kind is not None and has_neighbour() else None


FORMAT: Final[PairedFormat] = HelmFormat()
"""Runs of HELM."""
