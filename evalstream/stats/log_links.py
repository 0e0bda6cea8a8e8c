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
    with the same answers are linked if their models differ, two logs of the same `data` where the
    input of a sample differs; None is for data that the log does not name.
    """

    def __init__(self, run: Any, task: Any, model: str, data: Any = None) -> None:
        self.links = RunLinks()
        own, of_model = _digest("run", run, task), _digest("model", model)
        self._has_data = data is not None
        self._run = None if run is None else LinkKey(own, own, _digest("samples", task, data))
        self._answers = LinkKey(of_model, _digest(run, model, task), _digest("answers", task))

    def add_sample(self, sample: str, shown: Any) -> None:
        """Add a sample with what stands for its input, a JSON value, None if that is not known."""
        if self._run is not None:
            has_input = self._has_data and shown is not None
            words = (sample_hash64(sample), _digest(shown) if has_input else NO_INPUT_HASH, 0, 0)
            self.links.append(self._run, array("Q", words))

    def add_answer(self, *answer: Any) -> None:
        """Add an answer: JSON values that no other model would give for this sample."""
        self.links.append(self._answers, array("Q", (_digest(*answer), ANSWER, 0, 0)))


def _digest(*values: Any) -> int:
    return hash64(json.canonical(values).decode(errors="surrogatepass"))
