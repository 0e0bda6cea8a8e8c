"""The format helm, as the `Format` protocol requires it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from evalstream.formats.base import PairedFormat, Place
from evalstream.formats.helm import documents


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
        documents.ENTRIES: "rows",
        documents.STATISTICS: "aggregate",
        documents.STATE: "inputs",
        documents.RUN_SPEC: "inputs",
        documents.SCENARIO: "inputs",
        documents.SUMMARY: "inputs",
    }
    is_source = True
    listing_names = documents.SUMMARIES

    def kind_by_path(self, path: str, has_neighbour: Callable[[], bool], /) -> str | None:
        kind = documents.kind_by_name(path)
        return kind if kind is not None and has_neighbour() else None


FORMAT: Final[PairedFormat] = HelmFormat()
"""Runs of HELM."""
