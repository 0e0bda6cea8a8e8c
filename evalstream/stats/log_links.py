"""Links of a harness log: digests of its samples and of its answers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Final

from xxhash import xxh64_intdigest

from evalstream.parsing import json
from evalstream.stats.run_links import (
    NO_INPUT_HASH,
    ROW_BYTES,
    WORDS,
    LinkKey,
    RunLinks,
    sample_hash64,
)

ANSWER: Final = 1
"""The input digest of all words that stand for answers; the query for them uses the same value."""

BATCH_WORDS: Final = 4096 * WORDS
"""Rows of so many words are added to the links together."""

_NO_PLACE: Final = 0, 0
"""The position of a row of a log, whose links name none."""


class LogLinks:
    """Collects the samples and the answers of a log as links.

    `run` identifies the run whatever its model, None where the log does not. Two logs of a `task`
    with the same answers are linked if their models differ, two logs of the same `data` where the
    input of a sample differs; None is for data that the log does not name.
    """

    def __init__(
        self, run: Any, task: Any, model: str, data: Any = None, *, links: RunLinks | None = None
    ) -> None:
        self.links = RunLinks() if links is None else links
        own, of_model = _digest("run", run, task), _digest("model", model)
        self._has_data = data is not None
        self._run = None if run is None else LinkKey(own, own, _digest("samples", task, data))
        self._answers = LinkKey(of_model, _digest(run, model, task), _digest("answers", task))

    def add_samples(self, samples: Iterable[tuple[str, Any]]) -> None:
        """Add samples with JSON values that stand for their inputs, None for an unknown input."""
        if self._run is None:
            return
        words = array("Q")
        for sample, shown in samples:
            has_input = self._has_data and shown is not None
            digest = _digest(shown) if has_input else NO_INPUT_HASH
            words.extend((sample_hash64(sample), digest, *_NO_PLACE))
            if len(words) >= BATCH_WORDS:
                self.links.append(self._run, words)
                words = array("Q")
        if words:
            self.links.append(self._run, words)

    def add_docs(self, doc_ids: Sequence[int], digests: Sequence[int]) -> None:
        """Add samples with numbers for ids, and for their inputs; 0 is an unknown input."""
        if self._run is None or not doc_ids:
            return
        words = array("Q", bytes(ROW_BYTES * len(doc_ids)))
        words[::WORDS] = array("Q", map(xxh64_intdigest, map(b"%d".__mod__, doc_ids)))
        if self._has_data:
            known = (xxh64_intdigest(b"[%d]" % one) if one else NO_INPUT_HASH for one in digests)
            words[1::WORDS] = array("Q", known)
        self.links.append(self._run, words)

    def add_answers(self, answers: Iterable[Sequence[Any]]) -> None:
        """Add answers, each of JSON values that no other model would give for its sample."""
        words = array("Q")
        for answer in answers:
            words.extend((_digest(*answer), ANSWER, *_NO_PLACE))
        if words:
            self.links.append(self._answers, words)


def _digest(*values: Any) -> int:
    return xxh64_intdigest(json.canonical(values))
