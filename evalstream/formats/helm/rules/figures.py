"""HLM4: rules about the statistics of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evalstream.formats.helm.claims import Claimed, Instances, find_absent, find_repeated
from evalstream.model.finding import Violation
from evalstream.rules.base import declare_rule
from evalstream.rules.claims import find_open, find_refuted
from evalstream.stats.claims.judgement import Judgement


def check_figures(judgements: Sequence[Judgement]) -> Iterator[Violation]:
    """Yield the refuted and open statistics of a run."""
    yield from find_refuted(HLM401, judgements)
    yield from find_open(HLM402, (one.claim for one in judgements))


def check_names(found: Sequence[Claimed], known: Instances) -> Iterator[Violation]:
    """Yield statistics that the run lacks, and those that it has too often."""
    for name in find_absent(found, known):
        yield HLM403.violation(f"all instances have {name}, and the run has no such statistic")
    for one in find_repeated(found, known):
        message = f"{one.name} stands twice, and instances have it once"
        yield HLM404.violation(message, pointer=f"/{one.place}/name")


HLM401: Final = declare_rule("HLM401")
HLM402: Final = declare_rule("HLM402")
HLM403: Final = declare_rule("HLM403")
HLM404: Final = declare_rule("HLM404")

RULES: Final = (HLM401, HLM402, HLM403, HLM404)
