"""Settings that differ between runs, and may explain a difference besides the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from evalstream.batch.comparing.runs import CheckedRun
from evalstream.model.comparison import Confounder

ABSENT: Final = "not given"
MOST_VALUES: Final = 3
"""Number of values of one setting that are shown of a run with many results."""


def find_confounders(runs: Sequence[CheckedRun], results: Iterable[str]) -> list[Confounder]:
    """Return the settings that differ, of whole runs and of the results that are compared."""
    wanted = set(results)
    by_label = {run.shown.label: _settings(run, wanted) for run in runs}
    names = dict.fromkeys(name for settings in by_label.values() for name in settings)
    found = []
    for name in names:
        values = {label: settings.get(name, ABSENT) for label, settings in by_label.items()}
        if len(set(values.values())) > 1:
            found.append(Confounder(name, values))
    return found


def _settings(run: CheckedRun, results: set[str]) -> Mapping[str, str]:
    """Return the settings of a run by name; one that differs between results has all values."""
    described = run.description
    found: dict[str, dict[str, None]] = {}
    for held in (described.generation, described.scoring):
        for metric, settings in zip(described.metrics, held, strict=False):
            if metric.result in results:
                for name, text in settings.items():
                    found.setdefault(name, {})[text] = None
    joined = {name: _join_texts([*texts]) for name, texts in found.items()}
    return {**described.settings, **joined}


def _join_texts(texts: Sequence[str]) -> str:
    more = len(texts) - MOST_VALUES
    return "; ".join(texts[:MOST_VALUES]) + (f"; and {more} more" if more > 0 else "")
