"""The fast path of items: accept those in which no rule finds anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evalstream.formats.infereval.rules.evaluations import (
    OK,
    REQUEST,
    has_same_fields,
    is_plausible,
)
from evalstream.formats.infereval.views import Benchmark, Evaluation
from evalstream.formats.infereval.votes import ABSTAIN, VERDICTS, Reading, vote

_RARE: Final = frozenset({"construction_metadata", "monotonicity_step"})
"""Members whose rules are not decided here."""


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
    read = evaluation.reading
    for index, sample in enumerate(samples):
        if not _is_sound_sample(sample, index) or not is_plausible(sample, evaluation.longest):
            return False
        if not _is_own_request(sample, evaluation, name):
            return False
        if read is not None and not _says_its_verdict(sample, read):
            return False
    outcome = vote([sample["parsed_verdict"] for sample in samples], tie_break)
    claimed = item.get("majority_vote")
    return (
        claimed.__class__ is dict
        and all(claimed.get(name, 0) == outcome.counts[name] for name in VERDICTS)
        and claimed.get("verdict") == item.get("model_verdict") == outcome.verdict
        and claimed.get("tie_broken", False) is outcome.tie_broken
    )


def is_plain(item: Mapping[str, Any], benchmark: Benchmark) -> bool:
    """Tell whether certainly no rule finds anything in an item of a benchmark.

    The benchmark must match its schema.
    """
    bearers, analysts = benchmark.bearers, benchmark.panel_size
    if bearers is None or not _RARE.isdisjoint(item) or not _is_placed(item, benchmark):
        return False
    premises, conclusions = item["premises"], item["conclusions"]
    rationales, aims = item.get("analyst_rationales"), item.get("rsr_target") or {}
    return (
        bool(premises or conclusions)
        and all(map(bearers.issuperset, (premises, conclusions, *aims.values())))
        and set(premises).isdisjoint(conclusions)
        and len(item["analyst_verdicts"]) == analysts
        and (rationales is None or len(rationales) == analysts)
    )


def _is_placed(item: Mapping[str, Any], benchmark: Benchmark) -> bool:
    """Tell whether the factor levels and the target of an item are declared."""
    target, factors = item.get("target"), benchmark.factors
    if target is not None and benchmark.targets and target not in benchmark.targets:
        return False
    levels = item.get("factor_levels") or {}
    return all(level in factors.get(factor, ()) for factor, level in levels.items())


def _is_sound_sample(sample: Any, index: int) -> bool:
    """Tell whether a sample is the next one, and a vote that the model gave."""
    if sample.__class__ is not dict or sample.get("sample_index") != index:
        return False
    if sample.get("parse_status", OK) != OK or sample.get("provider_error") is not None:
        return False
    verdict = sample.get("parsed_verdict")
    return verdict in VERDICTS and (verdict != ABSTAIN or _is_answered(sample))


def _is_own_request(sample: Mapping[str, Any], evaluation: Evaluation, name: Any) -> bool:
    request = sample.get("request_id")
    if request is None or (request.__class__ is str and REQUEST not in request):
        return True
    return bool(request == evaluation.name_request(name, sample))


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
