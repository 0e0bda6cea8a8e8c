"""The kind of a metric, and what its scores judge, by its names and types."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from evalstream.parsing.json import text_or_none
from evalstream.parsing.json_values import to_float
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.claims import kinds
from evalstream.stats.claims.kinds import ClaimKind, is_plain_name, kind_named
from evalstream.stats.claims.rounding import NOTHING, ROUNDING

LEVELS: Final = "levels"
UNKNOWN_LEVEL: Final = -1
"""The score of an unknown level, if has_unknown_level is true."""

METRIC_NAMES: Final = ("metric_name", "metric_id", "metric_kind")
"""The members of a metric that name it, best first."""

BINARY: Final = "binary"
"""The score_type of metrics that have two scores."""

_GRADED: Final = (
    *("rouge", "bleu", "chrf", "meteor", "bertscore", "bert_score", "similarity", "perplexity"),
    *("brier", "calibration", "match@", "judge", "rubric", "rating", "reward", "credit"),
)
_GRADED_WORDS: Final = (
    *("f1", "iou", "precision", "recall", "wer", "cer", "ter", "ece", "mcc", "bits_per_byte"),
)
_GRADED_WORD = LazyPattern(rf"(?<![a-z])(?:{'|'.join(_GRADED_WORDS)})(?![a-z])")
"""Metrics that grade, and those over several completions.

Converters never mark such a score as correct, not even the best one.
"""

_OF_CORRECTNESS = LazyPattern(r"acc|correct|exact|match|pass")
OF_RIGHT_ANSWERS = LazyPattern(r"acc|correct|exact|match|pass|succe|solve|(?<![a-z])em(?![a-z])")
_OF_QUALITY = LazyPattern(
    r"attack|bias|coheren|complian|creativ|diversity|faithful|fluen|format|grounded|hallucin|harm"
    r"|helpful|jailbreak|prefer|quality|refus|relevan|safe|stereotyp|style|sycophan|toxic|win_?rate"
)
"""Words of metrics that may say something else of an answer than whether it is correct.

Rows may have is_correct of the sample beside them, or false for want of a better value.
"""

_MEASURE = LazyPattern(
    r"rouge|bleu|chrf|meteor|bert_?score|perplexity|brier|calibration"
    r"|(?<![a-z])(?:f1|iou|precision|recall|wer|cer|ter|ece|mcc|bits_per_byte|elo|rank)(?![a-z])"
)
"""Words of metrics of which none is another's, nor that of right answers."""

GENERIC: Final = frozenset({"right answers"})
"""The measures of metrics that tell whether an answer is right."""

OTHERWISE_JUDGED = LazyPattern(
    r"grade|llm|gpt|robust|consisten|worst|circular|group|pair|relaxed|toleran"
)
"""Metrics of which judges decide, several answers at once, or how near an answer is."""

OF_ONE_ANSWER = LazyPattern(
    r"(?i:(?:[\w-]+[./])?(?:exact[ _-]?match|em|acc|accuracy|correct|correctness)(?::[\w-]*)*)"
)
"""Metrics that say whether one answer is the reference."""

_BEST_AT_MOST = LazyPattern(
    r"(?i:(?:[\w-]+[./])?(?:(?:quasi_|prefix_|quasi_prefix_)?exact_match(?:@[0-9]+)?|acc_(?:norm|bytes)"
    r"|(?:macro_|micro_)?f1(?:_score)?|bleu(?:_[1-4])?|rouge_?[12l]|pass@[0-9]+|mrr|ndcg(?:@[0-9]+)?)"
    r"(?::[\w-]*)*)"
)


def is_best_at_most(metric: str) -> bool:
    """Return whether a metric by this name is better the higher it is."""
    return any(names.fullmatch(metric) for names in (OF_ONE_ANSWER, _BEST_AT_MOST))


def is_alike(score: Any, limit: float) -> bool:
    """Return whether a score exceeds a bound only by the rounding error of float sums."""
    known = to_float(score)
    return known is not None and math.isclose(
        known, limit, rel_tol=float(ROUNDING), abs_tol=float(NOTHING)
    )


def bound(value: Any) -> float | None:
    """Return a bound of scores: a number, or an infinity written as a string (from 0.2.3 on)."""
    if value in ("Infinity", "-Infinity"):
        return float(value)
    return to_float(value)


def own_name(metric: Mapping[str, Any]) -> str | None:
    """Return the name of a metric that its own members state."""
    return next(filter(None, (text_or_none(metric.get(key)) for key in METRIC_NAMES)), None)


def list_names(metric: Mapping[str, Any], evaluation_name: str | None) -> list[str]:
    """Return the names of a metric: its own, and those in texts as converters write them.

    They describe a metric as `accuracy from scorer choice` or `exact_match (filter: number)`, and
    name a result `accuracy on arc_easy for scorer choice`.
    """
    names = [name for key in METRIC_NAMES[:2] if (name := text_or_none(metric.get(key)))]
    described = text_or_none(metric.get("evaluation_description")) or ""
    named = (evaluation_name or "").partition(" on ")
    for text in (described, named[0] if named[1] else ""):
        name = text and text.partition(" from scorer ")[0].partition(" (filter")[0].strip()
        if name and " " not in name:
            names.append(name)
    return names


def find_scorer(metric: Mapping[str, Any], evaluation_name: str | None) -> str | None:
    """Return the scorer of Inspect that a result is of, as its converter writes it in texts."""
    for text in (text_or_none(metric.get("evaluation_description")), evaluation_name):
        scorer = (text or "").rpartition(" scorer ")[2]
        if text and scorer != text:
            return scorer.rpartition("/")[2]
    return None


def metric_kinds(names: Iterable[str]) -> list[ClaimKind]:
    """Return the kinds that the names of a metric say, best first; empty if they say none.

    Perplexity is what is measured where another name says how, as in a mean of perplexities.
    """
    found = [*dict.fromkeys(kind for kind in map(kind_named, names) if kind is not None)]
    return [kind for kind in found if kind is not kinds.PERPLEXITY] or found


def is_qualified(names: Iterable[str]) -> bool:
    """Return whether the name that decides the kind of a metric has further words.

    Such a metric may be over a part of the samples, or over another value than the score of a row.
    """
    for name in names:
        if kind_named(name) is not None:
            return not is_plain_name(name)
    return False


def metric_kind(metric: Mapping[str, Any], names: Sequence[str]) -> ClaimKind:
    """Return the kind of a metric.

    Its names decide, then metric_kind, then score_type. A metric that has no name at all is an
    average, as all scores of the first versions are; one with another name is of an unknown kind.
    """
    family = text_or_none(metric.get("metric_kind"))
    found = metric_kinds((*names, family or ""))
    if found:
        return found[0]
    if metric.get("score_type") == LEVELS:
        return kinds.LEVEL
    return kinds.UNKNOWN if names or family else kinds.MEAN


@lru_cache(maxsize=256)
def is_graded(metric: str) -> bool:
    """Tell whether the name of a metric says that it grades, or covers several completions."""
    name = metric.casefold()
    if any(part in name for part in _GRADED):
        return True
    return any(word in name for word in _GRADED_WORDS) and _GRADED_WORD.search(name) is not None


@lru_cache(maxsize=256)
def list_measures(name: str) -> frozenset[str]:
    """Return what the name of a metric says that it measures; empty if it says nothing known."""
    folded = name.casefold().replace("-", "_").replace(" ", "_")
    found = frozenset(match[0] for match in _MEASURE.finditer(folded))
    return found | GENERIC if OF_RIGHT_ANSWERS.search(folded) else found


def is_of_quality(metric: Any) -> bool:
    """Tell whether the name of a metric says that it is of something else than correctness."""
    if metric.__class__ is not str:
        return False
    name = metric.casefold()
    return _OF_QUALITY.search(name) is not None and _OF_CORRECTNESS.search(name) is None
