"""SWE4: rules about the figures of a run report or of a submission."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evalstream.formats.swe_bench.claims import OUTCOMES
from evalstream.formats.swe_bench.views import Placed
from evalstream.model.finding import Severity
from evalstream.rules.base import Rule
from evalstream.rules.claims import find_open, find_refuted, find_rounded
from evalstream.stats.claims.judge import Judgement


def check_figures(path: str, judgements: Sequence[Judgement]) -> Iterator[Placed]:
    """Yield the refuted, open and rounded figures of a document."""
    # The rules about instances report what is wrong with a list, and with reports alone.
    figures = [one for one in judgements if one.claim.label != OUTCOMES]
    claims = [one.claim for one in judgements]
    for violation in find_refuted(SWE401, figures):
        yield Placed(path, violation)
    for violation in find_rounded(SWE401, claims):
        yield Placed(path, violation)
    for violation in find_open(SWE402, claims):
        yield Placed(path, violation)


SWE401: Final = Rule(
    "SWE401",
    "resolved-figure-refuted",
    Severity.ERROR,
    "a figure is not the one that the instances give",
    """
    What it finds: a count of a run report that is not the number of such instances in the logs or
    the predictions; and info.resolved (in percent), info.cost, info.instance_cost and
    info.instance_calls of metadata.yaml that are not the figures of per_instance_details.json. A
    figure that agrees at one or two digits only is an info.

    Why it matters: the published figure was typed by hand, or changed after the run.

    How to fix: Compute the figure again from the instances, or restore the files from their source.

    Bad:
        submission/metadata.yaml:
          {"info": {"resolved": 69.6}}

    Good:
        submission/metadata.yaml:
          {"info": {"resolved": 40.0}}
    """,
)

SWE402: Final = Rule(
    "SWE402",
    "resolved-figure-open",
    Severity.WARNING,
    "figures that the files neither confirm nor refute",
    """
    What it finds: figures that are open, once for each reason: the logs of the run are missing, or
    those of some instances.

    Why it matters: evalstream does not know whether they are true, and does not count them as
    confirmed.

    How to fix: Check the run report with its logs and predictions, from the folder in which the
    harness was started.

    Bad:
        report:
          {"completed_ids": ["acme__widgets-101", "acme__widgets-102", "acme__widgets-107"]}

    Good:
        logs/run_evaluation/tiny/acme__acorn-7b/acme__widgets-107/report.json:
          {"acme__widgets-107": {"resolved": false}}
    """,
)

RULES: Final = (SWE401, SWE402)
