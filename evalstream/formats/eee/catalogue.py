"""The rules of Every Eval Ever by code, and the findings that their repairs mend."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Final

from evalstream.engine.result import Counts
from evalstream.formats.base import load_catalogue
from evalstream.formats.eee import NAME
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.rules.seal import ES501, ES502, ES503
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Severity
from evalstream.model.text import ALGORITHMS
from evalstream.rules.base import RowCheck, Rule
from evalstream.rules.inputs import ES001, ES003, ES004
from evalstream.rules.syntax import ES114

CATALOGUE: Final = load_catalogue(NAME)

ROW_RULES: Final = tuple(rule for rule in CATALOGUE.values() if rule.row is not None)


def bind_rules(context: RowContext, *, by_ids: bool) -> list[tuple[Rule, RowCheck]]:
    """Return the enabled row rules that read only ids, or all others, with their checks."""
    bound = []
    for rule in enabled_row_rules(context.enabled_codes, by_ids=by_ids):
        check = None if rule.row is None else rule.row(context)
        if check is not None:
            bound.append((rule, check))
    return bound


@lru_cache(maxsize=32)
def enabled_row_rules(enabled: frozenset[str], *, by_ids: bool) -> tuple[Rule, ...]:
    """Return the row rules with these codes that read only ids, or all others."""
    return tuple(rule for rule in ROW_RULES if rule.code in enabled and rule.by_ids == by_ids)


SEALED: Final = "detailed_evaluation_results"

SEALS: Final = frozenset({ES501.code, ES502.code, ES503.code})

UNREAD: Final = frozenset({ES001.code, ES004.code})

SYNTAX: Final = "ES1"

UNREPAIRED: Final = frozenset({ES003.code, ES114.code})
"""Findings, of any severity, about lines that are not rewritten."""


def repaired_codes() -> tuple[frozenset[str], frozenset[str]]:
    """Return the codes of the rules with safe repairs, and of those with others."""
    repairs = {code: rule.repair for code, rule in CATALOGUE.items() if rule.repair is not None}
    safe = frozenset(code for code, repair in repairs.items() if repair.is_safe)
    return safe, frozenset(repairs) - safe


def is_refused(code: str, severity: Severity) -> bool:
    """Tell whether a finding makes `fix` refuse a run: damaged rows, or a wrong seal."""
    if code in UNREPAIRED:
        return True
    return severity is Severity.ERROR and (code in SEALS or code.startswith(SYNTAX))


class Fixable(NamedTuple):
    """How many findings of a run `evalstream fix` mends by code: safely, and with `--unsafe`.

    `refused` counts findings with a repair in a run that it refuses for other findings.
    """

    safe: dict[str, int]
    unsafe: dict[str, int]
    refused: int = 0


def describe_unknown_seal(aggregate: Aggregate) -> str | None:
    """Say why a seal cannot be compared with any rows, None if it can, or if there is none."""
    if aggregate.document.get(SEALED) is not None and aggregate.details is None:
        return f"{SEALED} is not an object (ES202), so that it cannot be compared with the rows"
    algorithm = aggregate.claim("hash_algorithm")
    if algorithm is None or algorithm in ALGORITHMS:
        return None
    return f"hash_algorithm is none of {', '.join(ALGORITHMS)} (ES203)"


def fixable_counts(
    counts: Counts,
    marked: Mapping[str, int],
    unmended: Set[str],
    aggregate: Aggregate | None,
    *,
    is_sound: bool,
) -> Fixable:
    """Return how many findings of a run with rows, or of an aggregate alone, have a repair.

    `counts` are all findings, and `marked` those that limited safe repairs mend. An unsafe one
    mends all findings of its rule or, if that is among `unmended`, none. `aggregate` is the one
    whose seal the rows must have. Rows that are not sound are refused whatever was reported.
    """
    safe, unsafe = dict(marked), dict[str, int]()
    for (code, severity), count in counts.items():
        repair = CATALOGUE[code].repair
        if repair is None:
            continue
        if not repair.is_safe and code not in unmended:
            unsafe[code] = unsafe.get(code, 0) + count
        elif repair.is_safe and (severity is repair.severity or not repair.limit):
            safe[code] = safe.get(code, 0) + count
    is_sound &= aggregate is None or describe_unknown_seal(aggregate) is None
    if not is_sound or any(code in UNREAD or is_refused(code, how) for code, how in counts):
        return Fixable({}, {}, sum(safe.values()) + sum(unsafe.values()))
    return Fixable(safe, unsafe)
