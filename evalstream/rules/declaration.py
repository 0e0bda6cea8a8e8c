"""Declare a rule: the front matter of its page says what it is, and its module how it checks."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from evalstream.model.finding import Severity
from evalstream.model.rule_text import Status
from evalstream.rules.base import Repair, RowCheck, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypedDict, Unpack

    from evalstream.model.finding import Violation

    class RuleCheck(TypedDict, total=False):
        """What the module of a rule adds to its page: the fields of `Rule` about its check."""

        row: Callable[[Any], RowCheck | None]
        run: Callable[[Any], Iterable[Violation]]
        aggregate: Callable[[Any], Iterable[Violation]]
        record: Callable[[Any], Iterable[Violation]]
        repair: Repair
        about_aggregate: bool
        about_paths: bool
        by_ids: bool
        reads: tuple[str, ...]
        in_scanner: bool
        needed_fact: str


def declare_rule(code: str, **check: Unpack[RuleCheck]) -> Rule:
    """Return the rule that a page declares, with its check.

    Raises FileNotFoundError without a page, and KeyError, TypeError or ValueError where the page
    declares no rule.
    """
    declared = dict(_read_declaration(code))
    severity = Severity[declared.pop("severity").upper()]
    status = Status(declared.pop("status", Status.STABLE))
    return Rule(code, severity=severity, status=status, **declared, **check)


def _read_declaration(code: str) -> Mapping[str, Any]:
    """Return what the table of the build has of a code, or else the page."""
    found = _load_table().get(code)
    if found is not None:
        return found
    from evalstream.rules.front_matter import read_front_matter
    from evalstream.rules.pages import page_path

    with open(page_path(code), encoding="utf-8") as file:
        return read_front_matter(file.read())


@cache
def _load_table() -> Mapping[str, Mapping[str, Any]]:
    """Return the table of the build, empty in a checkout that was not installed."""
    try:
        built = import_module(f"{__package__}.declared_table")
    except ImportError:
        return {}
    table: Mapping[str, Mapping[str, Any]] = built.DECLARED
    return table
