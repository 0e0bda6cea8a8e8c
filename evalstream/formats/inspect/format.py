"""The format inspect, as the `Format` protocol requires it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from evalstream.formats.base import PairedFormat, Place
from evalstream.formats.inspect import documents
from evalstream.formats.inspect.documents import LOG
from evalstream.model.errors import UsageError
from evalstream.model.run import STDIN, NoInput, Run


class InspectFormat(PairedFormat):
    """Logs of evaluations that the harness Inspect wrote."""

    __slots__ = ()

    name = documents.NAME
    label = "Inspect"
    title = documents.TITLE
    prefix = "INS"
    noun = "sample"
    rule_modules = ("coverage", "log", "messages", "results", "samples", "scores", "usage")
    versions: Mapping[str, Sequence[str]] = {}
    places: ClassVar[Mapping[str, Place]] = {LOG: "rows"}
    compared = frozenset({"files", "samples", "answers", "paths"})
    options = frozenset()
    is_source = True
    listing_names = frozenset({"eval-set.json", "logs.json"})

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        for option, value in (("--aggregate", aggregate), ("--inputs-file", inputs)):
            if value is not None:
                name = f"files of {self.name}"
                raise UsageError(f"{option} does not go with {name}: a log holds its results")
        if path != STDIN and os.path.isdir(path):
            raise UsageError("a folder is searched for logs without --input-format")
        yield Run(path, None, format=self.name)

    def pair(
        self, documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
    ) -> Iterator[Run | NoInput]:
        # A log holds its results: each is a run of its own, `named` or not.
        del named
        return (Run(path, None, format=self.name) for _, path in documents())


FORMAT: Final[PairedFormat] = InspectFormat()
"""Logs of Inspect."""
