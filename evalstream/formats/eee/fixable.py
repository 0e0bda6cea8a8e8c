"""Count the findings that `evalstream fix` mends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from evalstream.formats.eee.catalogue import CATALOGUE
from evalstream.formats.eee.rules.seal import ES501, ES502, ES503
from evalstream.io.remote import is_remote
from evalstream.model.finding import Severity
from evalstream.model.options import Options
from evalstream.model.run import STDIN, Run
from evalstream.rules.inputs import ES001, ES003, ES004
from evalstream.rules.syntax import ES114

if TYPE_CHECKING:
    from evalstream.engine.result import Counts

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


def fixable_counts(
    run: Run, options: Options, layout: str, counts: Counts, marked: Mapping[str, int]
) -> dict[str, int]:
    """Return by code how many findings of a run `evalstream fix` mends without `--unsafe`.

    `counts` are all findings, and `marked` those that limited repairs mend.
    """
    if not counts or not _is_stored(run, layout) or options.schema or _is_forced(options):
        return {}
    if any(code in UNREAD or is_refused(code, severity) for code, severity in counts):
        return {}
    fixable = dict(marked)
    for (code, severity), count in counts.items():
        repair = CATALOGUE[code].repair
        if repair is None or not repair.is_safe:
            continue
        if severity is repair.severity or not repair.limit:
            fixable[code] = fixable.get(code, 0) + count
    return fixable


def _is_stored(run: Run, layout: str) -> bool:
    """Tell whether a run is in files that `fix` can write."""
    if run.rows is None:
        return run.aggregate is not None and not is_remote(run.aggregate)
    names = [name for name in (run.rows, run.aggregate) if name]
    return layout == "jsonl" and not any(name == STDIN or is_remote(name) for name in names)


def _is_forced(options: Options) -> bool:
    """Tell whether rows were checked by another version than they declare."""
    return options.schema_version != "auto"
