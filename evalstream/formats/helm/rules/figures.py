"""HLM4: rules about the statistics of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evalstream.formats.helm.claims import Claimed, Instances, find_absent, find_repeated
from evalstream.model.finding import Severity, Violation
from evalstream.rules.base import Rule
from evalstream.rules.claims import find_open, find_refuted
from evalstream.stats.claims.judge import Judgement


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


HLM401: Final = Rule(
    "HLM401",
    "statistic-refuted",
    Severity.ERROR,
    "a statistic is not the one that the instances give",
)

HLM402: Final = Rule(
    "HLM402",
    "statistic-open",
    Severity.WARNING,
    "statistics that the files neither confirm nor refute",
)

HLM403: Final = Rule(
    "HLM403",
    "statistic-left-out",
    Severity.ERROR,
    "all instances have a metric, and the run has no statistic of it",
)

HLM404: Final = Rule(
    "HLM404",
    "repeated-statistic",
    Severity.ERROR,
    "a statistic of the run stands more often than instances have it",
)

RULES: Final = (HLM401, HLM402, HLM403, HLM404)
