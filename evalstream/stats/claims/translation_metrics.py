"""BLEU, chrF, chrF++ and TER of a corpus, computed by sacrebleu (the extra `metrics`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final

EXTRA: Final = "metrics"

_METRICS: Final = {
    "BLEU": ("BLEU", {}),
    "chrF": ("CHRF", {}),
    "chrF++": ("CHRF", {"word_order": 2}),
    "TER": ("TER", {}),
}
"""The class of sacrebleu by kind, and its options beside the usual ones."""

Texts = Sequence[tuple[Any, str]]
"""Pairs of a reference, or a list of references, and the text that is compared with them."""


@lru_cache(maxsize=1)
def has_translation_metrics() -> bool:
    """Return whether sacrebleu is installed."""
    return find_spec("sacrebleu") is not None


def translation_score(kind: str, pairs: Texts) -> float | None:
    """Return a score over all texts together, None if they or sacrebleu are not there."""
    score = resampled_score(kind, pairs)
    return None if score is None else score(range(len(pairs)))


def resampled_score(kind: str, pairs: Texts) -> Callable[[Sequence[int]], float] | None:
    """Return the function that gives the score of the texts at some places.

    The texts are compared only once: a score is a function of sums over texts.
    """
    if not has_translation_metrics() or not _has_references(pairs):
        return None
    metric = _metric(kind)
    references = [[one] if isinstance(one, str) else list(one) for one, _ in pairs]
    streams = [list(stream) for stream in zip(*references, strict=True)]
    statistics = metric._extract_corpus_statistics([text for _, text in pairs], streams)  # noqa: SLF001 - the public method repeats the comparison of all texts for each draw

    def score(places: Sequence[int]) -> float:
        drawn = [statistics[place] for place in places]
        return float(metric._aggregate_and_compute(drawn).score)  # noqa: SLF001 - as above

    return score


def _has_references(pairs: Texts) -> bool:
    """Return whether all texts have the same number of references, one at least."""
    numbers = {1 if isinstance(one, str) else len(one) for one, _ in pairs}
    return len(numbers) == 1 and 0 not in numbers


@lru_cache(maxsize=8)
def _metric(kind: str) -> Any:
    from sacrebleu import metrics

    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    name, options = _METRICS[kind]
    return getattr(metrics, name)(**options)
