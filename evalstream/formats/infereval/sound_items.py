"""The fast path of items: accept those in which no rule finds anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstream.formats.infereval.responses import Reading
from evalstream.formats.infereval.rules.copies import has_same_fields
from evalstream.formats.infereval.rules.samples import OK
from evalstream.formats.infereval.views import Evaluation
from evalstream.formats.infereval.votes import ABSTAIN, VERDICTS, vote


def is_sound(item: Mapping[str, Any], evaluation: Evaluation) -> bool:
    """Tell whether certainly no rule finds anything in an item.

    Only an item with its benchmark and with samples can be accepted.
    """
    benchmark, tie_break = evaluation.benchmark, evaluation.tie_break
    samples, number = item.get("samples"), evaluation.samples
    if benchmark is None or tie_break is None or samples.__class__ is not list or not samples:
        return False
    name = item.get("id")
    original = benchmark.by_id.get(name) if isinstance(name, str) else None
    if original is None or len(samples) != number or not has_same_fields(item, original):
        return False
    if not all(_is_sound_sample(sample, index) for index, sample in enumerate(samples)):
        return False
    read = evaluation.reading
    if read is not None and not all(_says_its_verdict(sample, read) for sample in samples):
        return False
    outcome = vote([sample["parsed_verdict"] for sample in samples], tie_break)
    claimed = item.get("majority_vote")
    return (
        claimed.__class__ is dict
        and all(claimed.get(name, 0) == outcome.counts[name] for name in VERDICTS)
        and claimed.get("verdict") == item.get("model_verdict") == outcome.verdict
        and claimed.get("tie_broken", False) is outcome.tie_broken
    )


def _is_sound_sample(sample: Any, index: int) -> bool:
    """Tell whether a sample is the next one, and a vote that the model gave."""
    if sample.__class__ is not dict or sample.get("sample_index") != index:
        return False
    if sample.get("parse_status", OK) != OK or sample.get("provider_error") is not None:
        return False
    verdict = sample.get("parsed_verdict")
    return verdict in VERDICTS and (verdict != ABSTAIN or _is_answered(sample))


def _says_its_verdict(sample: Mapping[str, Any], read: Reading) -> bool:
    response = sample.get("raw_response")
    return isinstance(response, str) and read(response) == sample["parsed_verdict"]


def _is_answered(sample: Mapping[str, Any]) -> bool:
    """Tell whether an abstention is the model's, not a failed call's."""
    response = sample.get("raw_response")
    return (
        isinstance(response, str)
        and bool(response.strip())
        and sample.get("wall_time_ms") not in (None, 0)
    )
