"""INS3: rules about the results of a log, recomputed from the scores of its samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from evalstream.formats.inspect.views import LogView
from evalstream.model.finding import Violation
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import list_or_empty
from evalstream.rules.base import declare_rule


def _missing_results(log: LogView) -> Iterator[Violation]:
    """Report scorers whose scores do not appear in the results, and results without scores."""
    if not log.is_finished or not log.samples_known:
        return
    scorers = log.store.scorers()
    results = [one.value for one in log.results_scores]
    told = {text_or_none(one.get("scorer", one.get("name"))) for one in results}
    if scorers and not told:
        message = "the samples have scores, but the log has no results"
        place = log.at("results") if "results" in log.header else log.base
        yield INS305.violation(message, place or None)
        return
    for name in scorers:
        if name and name not in told:
            message = f"the samples have scores of {name}, but the results do not"
            yield INS305.violation(message, log.at("results"))
    for scorer in list_or_empty(log.eval.get("scorers")):
        name = member(scorer, "name")
        found = [one for one in log.results_scores if name and one.value.get("scorer") == name]
        told = set(_iterate_names(one.value.get("metrics") for one in found))
        for metric in list_or_empty(member(scorer, "metrics")) if found else ():
            full = str(member(metric, "name") or "")
            short = full.removeprefix("inspect_ai/")
            if full and short not in told and short not in _OF_ANY_SHAPE:
                message = f"the metric {short} of {name} is declared, but not in the results"
                place = log.place_of_score(found[0].place, "metrics")
                yield INS305.violation(message, place)


_OF_ANY_SHAPE: Final = ("frequency", "grouped")
"""Metrics that give one value for each category, and so none without categories."""


def _iterate_names(results: Iterable[Any]) -> Iterator[str | None]:
    """Iterate over the names and groups of the metrics in some results."""
    for metrics in results:
        for one in metrics.values() if isinstance(metrics, dict) else ():
            yield from (text_or_none(member(one, key)) for key in ("name", "group"))


INS301: Final = declare_rule("INS301")
INS302: Final = declare_rule("INS302")
INS303: Final = declare_rule("INS303")
INS304: Final = declare_rule("INS304")
INS305: Final = declare_rule("INS305", record=_missing_results)
INS306: Final = declare_rule("INS306")
INS307: Final = declare_rule("INS307")


RULES: Final = (INS301, INS302, INS303, INS304, INS305, INS306, INS307)
