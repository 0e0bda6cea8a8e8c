"""The samples of an evaluation and their responses, which link it to other evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstream.formats.infereval.rules.samples import iterate_answers
from evalstream.parsing.json import member
from evalstream.parsing.json_values import list_or_empty
from evalstream.stats.run_links import LogLinks


class ItemLinks:
    """Collects what links an evaluation to others."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        run = [document.get(name) for name in ("id", "started_at")]
        model = [member(document.get("model"), name) for name in ("provider", "model_id")]
        is_run = all(isinstance(one, str) for one in run)
        named = document.get("benchmark_id")
        self.log = LogLinks(run if is_run else None, named, "/".join(map(str, model)))

    def add(self, item: Mapping[str, Any]) -> None:
        """Add an item. The times of its calls tell its responses from those of other models."""
        name, samples = item.get("id"), list_or_empty(item.get("samples"))
        if not isinstance(name, str):
            return
        self.log.add_samples([(name, None)])
        for index, response, _ in iterate_answers(item):
            time = samples[index].get("wall_time_ms")
            if isinstance(time, float) and not time.is_integer():
                self.log.add_answer(name, index, response, time)
