"""Digests that link the harness logs of one call: the same run twice, and the same answers."""

from __future__ import annotations

from array import array
from typing import Any, Final

from evalstream.parsing import json
from evalstream.stats.link_keys import NO_INPUT_HASH, LinkKey, hash64, sample_hash64
from evalstream.stats.run_links import RunLinks

ANSWER: Final = 1
"""The input digest of all words that stand for answers; the query for them uses the same value."""


class LogLinks:
    """Collects the samples and the answers of a log as links.

    `run` identifies the run whatever its model, None where the log does not. Two logs of a `task`
    with the same answers are linked if their models differ.
    """

    def __init__(self, run: Any, task: Any, model: str) -> None:
        self.links = RunLinks()
        own, of_model = _digest("run", run, task), _digest("model", model)
        self._run = None if run is None else LinkKey(own, own, _digest("samples", task))
        self._answers = LinkKey(of_model, _digest(run, model, task), _digest("answers", task))

    def add_sample(self, sample: str, place: int) -> None:
        """Add a sample, which is the `place`th of its log."""
        if self._run is not None:
            words = array("Q", (sample_hash64(sample), NO_INPUT_HASH, place, 0))
            self.links.append(self._run, words)

    def add_answer(self, *answer: Any) -> None:
        """Add an answer: JSON values that no other model would give for this sample."""
        self.links.append(self._answers, array("Q", (_digest(*answer), ANSWER, 0, 0)))


def _digest(*values: Any) -> int:
    return hash64(json.canonical(values).decode(errors="surrogatepass"))
