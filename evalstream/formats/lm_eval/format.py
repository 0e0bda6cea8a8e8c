"""The format lm_eval, as the `Format` protocol requires it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from evalstream.formats.base import PairedFormat, Place
from evalstream.formats.lm_eval import documents
from evalstream.formats.lm_eval.documents import RESULTS, SAMPLES


class LmEvalFormat(PairedFormat):
    """Samples of the lm-evaluation-harness, and its results."""

    __slots__ = ()

    name = documents.NAME
    label = "lm-evaluation-harness"
    title = "lm-evaluation-harness: the samples of a task, and the results of a call"
    prefix = "LME"
    noun = "row"
    rule_modules = ("rows", "samples", "results", "contradictions")
    versions: Mapping[str, Sequence[str]] = {}
    places: ClassVar[Mapping[str, Place]] = {SAMPLES: "rows", RESULTS: "aggregate"}
    compared = frozenset({"files", "samples", "answers", "paths"})
    options = frozenset({"routing", "skip_noise"})
    is_source = True


FORMAT: Final[PairedFormat] = LmEvalFormat()
