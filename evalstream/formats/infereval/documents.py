"""The documents of infereval: a model's verdicts on the inferences of a benchmark.

The facts come from the documentation and the released package infereval, up to 0.17.7.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from evalstream.io.beginning import LINES, OBJECT, Beginning
from evalstream.io.names import is_rows_name

NAME: Final = "infereval"
TITLE: Final = "infereval: a benchmark of inferences, and a model's verdicts on it"
VERSION: Final = "1.0"
"""The only schema_version; it does not depend on the version of the framework."""

BENCHMARK: Final = "benchmark"
EVALUATION: Final = "evaluation"
ITEMS: Final = "items"
UNSURE: Final = "unsure"
"""The kind of a document that has to be read to its end to tell what it is."""

_OF_EVALUATION: Final = frozenset(
    {
        "benchmark_id",
        "benchmark_hash",
        "model",
        "endorsement_config",
        "framework_version",
        "started_at",
        "finished_at",
        "paraphrase_variant",
    }
)
_OF_BENCHMARK: Final = frozenset(
    {
        "bearers",
        "analysts",
        "context_builders",
        "factors",
        "factor_constraints",
        "factor_kinds",
        "primary_panel",
        "verification_prompt",
        "ordinal_families",
        ITEMS,
    }
)
_SIGNS: Final = (
    (EVALUATION, frozenset({"benchmark_id", "benchmark_hash"})),
    (EVALUATION, frozenset({"benchmark_id", "endorsement_config"})),
    (EVALUATION, frozenset({"benchmark_id", "framework_version"})),
    (EVALUATION, frozenset({"benchmark_id", ITEMS})),
    (EVALUATION, frozenset({"endorsement_config", ITEMS})),
    (BENCHMARK, frozenset({"bearers", "analysts"})),
    (BENCHMARK, frozenset({"bearers", ITEMS})),
    (BENCHMARK, frozenset({"analysts", ITEMS})),
)
"""Members that no document of another format has together."""


def detect_kind(file: Beginning) -> str | None:
    """Return the kind of a document of this format, or None for any other file."""
    seen = file.seen
    if seen.kind != OBJECT and (seen.kind != LINES or is_rows_name(file.name)):
        return None
    return kind_by_signs(seen.keys)


def kind_by_signs(keys: Set[str]) -> str | None:
    """Return the kind of an object if its members leave no doubt."""
    return next((kind for kind, sign in _SIGNS if sign <= keys), None)


def kind_by_members(keys: Set[str]) -> str | None:
    """Return the kind of an object that is known to be of this format."""
    if keys & _OF_EVALUATION:
        return EVALUATION
    return BENCHMARK if keys & _OF_BENCHMARK else None
