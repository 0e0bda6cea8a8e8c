"""The rules of Every Eval Ever by code, with those that all formats share."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from evalstream.formats.base import load_catalogue
from evalstream.formats.eee.context import RowContext
from evalstream.formats.eee.documents import NAME
from evalstream.rules.base import RowCheck, Rule

CATALOGUE: Final = load_catalogue(NAME)

ROW_RULES: Final = tuple(rule for rule in CATALOGUE.values() if rule.row is not None)


def bind_rules(context: RowContext, *, by_ids: bool) -> list[tuple[Rule, RowCheck]]:
    """Return the enabled row rules that read only ids, or all others, with their checks."""
    rules = enabled_row_rules(context.enabled_codes, by_ids=by_ids)
    bound = ((rule, rule.row(context)) for rule in rules if rule.row is not None)
    return [(rule, check) for rule, check in bound if check is not None]


@lru_cache(maxsize=32)
def enabled_row_rules(enabled: frozenset[str], *, by_ids: bool) -> tuple[Rule, ...]:
    """Return the row rules with these codes that read only ids, or all others."""
    return tuple(rule for rule in ROW_RULES if rule.code in enabled and rule.by_ids == by_ids)
