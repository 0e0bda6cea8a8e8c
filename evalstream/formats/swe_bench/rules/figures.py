"""SWE4: rules about the figures of a run report or of a submission."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from evalstream.formats.swe_bench.claims import OUTCOMES
from evalstream.formats.swe_bench.views import PlacedInFile
from evalstream.rules.base import declare_rule
from evalstream.rules.claims import find_open, find_refuted, find_rounded
from evalstream.stats.claims.judgement import Judgement


def check_list_figures(path: str, judgements: Sequence[Judgement]) -> Iterator[PlacedInFile]:
    """Yield the refuted, open and rounded figures of a document."""
    # The rules about instances report what is wrong with a list, and with reports alone.
    figures = [one for one in judgements if one.claim.label != OUTCOMES]
    claims = [one.claim for one in judgements]
    refuted, rounded = find_refuted(SWE401, figures), find_rounded(SWE401, claims)
    for violation in chain(refuted, rounded, find_open(SWE402, claims)):
        yield PlacedInFile(path, violation)


SWE401: Final = declare_rule("SWE401")
SWE402: Final = declare_rule("SWE402")

RULES: Final = (SWE401, SWE402)
