"""The rules of Every Eval Ever by code, with those that all formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from evalstream.formats.eee.context import RowContext
from evalstream.formats.eee.rules import (
    aggregate,
    coverage,
    cross_run,
    datastore,
    evidence,
    leak,
    linkage,
    members,
    recompute,
    row,
    sample_hash,
    seal,
    source,
    transcript,
    version,
)
from evalstream.rules import schema
from evalstream.rules.base import RowCheck, Rule
from evalstream.rules.catalogue import SHARED_RULES, Catalogue

_MODULES: Final = (
    schema,
    version,
    row,
    evidence,
    transcript,
    leak,
    sample_hash,
    seal,
    linkage,
    coverage,
    source,
    aggregate,
    members,
    recompute,
    datastore,
    cross_run,
)


RULES: Final = tuple(rule for module in _MODULES for rule in module.RULES)
"""The rules of rows, aggregates and runs."""

CATALOGUE: Final = Catalogue({"ES": lambda: (*SHARED_RULES, *RULES)})

ROW_RULES: Final = tuple(rule for rule in CATALOGUE.values() if rule.row is not None)


def bound_rules(
    context: RowContext, is_wanted: Callable[[Rule], bool]
) -> Iterator[tuple[Rule, RowCheck]]:
    """Iterate over the enabled row rules that are wanted, each with its check in a context."""
    for rule in enabled_row_rules(context.enabled):
        if rule.row is not None and is_wanted(rule):
            check = rule.row(context)
            if check is not None:
                yield rule, check


@lru_cache(maxsize=16)
def enabled_row_rules(enabled: frozenset[str]) -> tuple[Rule, ...]:
    """Return the row rules with these codes."""
    return tuple(rule for rule in ROW_RULES if rule.code in enabled)
