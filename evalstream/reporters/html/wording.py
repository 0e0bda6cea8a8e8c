"""How the page writes numbers, sizes, values, verdicts and names, each in one way."""

from __future__ import annotations

from math import isfinite
from typing import Final

from evalstream.model.finding import Severity
from evalstream.model.report import RunSummary
from evalstream.parsing.json import dumps
from evalstream.reporters.markup import Markup, cut_visible, tag
from evalstream.reporters.summary import NOT_CHECKED, rule_limits

NAME: Final = 240
"""How many characters of a file name are shown."""

VALUE: Final = 160
"""How many characters of a value are shown."""

SIGNS: Final = {
    "passed": "✓",
    "failed": "✗",
    "incomplete": "◐",
    "unconfirmed": "◌",
    NOT_CHECKED: "○",
}
"""What a verdict shows beside its word."""

_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")


def number(value: float | None, absent: str = "—") -> str:
    """Return a number with six significant digits, as all numbers of the page have."""
    if value is None:
        return absent
    if isfinite(value) and value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:.6g}"


def size(count: int) -> str:
    """Return a number of bytes, and what it is in a larger unit."""
    exact = f"{count:,} {'byte' if count == 1 else 'bytes'}"
    amount, unit = float(count), ""
    for larger in _UNITS:
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{exact} ({amount:.1f} {unit})" if unit else exact


def value(found: object) -> Markup:
    """Return a JSON value, cut short if it is long."""
    return tag("code", cut_visible(dumps(found).decode(), VALUE))


def name(path: str) -> Markup:
    """Return the name of a file."""
    return tag("code", cut_visible(path, NAME), class_="name")


def subject(run: RunSummary) -> str:
    """Return the name of the file that a run is known by."""
    return run.file or run.aggregate or run.inputs or "(a run without a file)"


def badge(verdict: str, limits: str = "") -> Markup:
    """Return a verdict as a sign and a word."""
    return tag(
        "span",
        tag("span", SIGNS[verdict], aria_hidden="true"),
        f" {verdict.capitalize()}",
        f" ({limits})" if limits else None,
        class_=f"badge {verdict.replace(' ', '-')}",
    )


def describe_limits(run: RunSummary) -> str:
    """Say which rules a check was limited to, or left out; "" for none."""
    return cut_visible(rule_limits(run), NAME)


def severity_counts(counts: dict[Severity, int]) -> list[Markup]:
    """Return the number of findings of each severity that has some, the worst first."""
    return [
        tag(
            "span",
            f"{counts[one]:,} {one.label}{'' if counts[one] == 1 else 's'}",
            class_=one.label,
        )
        for one in sorted(Severity, reverse=True)
        if counts.get(one)
    ]
