"""The page about gates: what each rule does to a check by default, with --strict, in a store."""

from collections.abc import Iterator

from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import Severity, Status
from evalstream.rules.base import Rule
from evalstream.rules.catalogue import DATASTORE, DEFAULT, PROFILES
from reference.markdown import code, table

INTRODUCTION = """# What fails a check

A finding fails the check if its severity is error, or with `--strict` if it is error or warning.
The profile `datastore` adds rules and makes some warnings errors; a gate of a store has both,
`--profile datastore --strict`. A gate without `--strict` lets runs pass of which no score was
confirmed.

The table has the severity of each rule, and **bold** where its findings fail the check. A rule that
is off finds nothing unless `--select` names it. A finding can have another severity than its rule:
a file in UTF-16 is an error of ES102. In the profile `datastore` a continuous metric without
bounds, or with null as a bound, is an error (ES212).
"""

OFF = "off"


def page() -> str:
    """Return the page."""
    head = ["rule", "name", "by default", "with `--strict`", "with `--profile datastore`"]
    return f"{INTRODUCTION}\n{table(head, (tuple(_row(rule)) for rule in CATALOGUE.values()))}"


def _row(rule: Rule) -> Iterator[str]:
    yield f"[{rule.code}](rules/{rule.code}/index.md)"
    yield code(rule.name)
    yield _effect(rule, DEFAULT, Severity.ERROR)
    yield _effect(rule, DEFAULT, Severity.WARNING)
    yield _effect(rule, DATASTORE, Severity.ERROR)


def _effect(rule: Rule, profile_name: str, threshold: Severity) -> str:
    """Return the severity of a rule in a profile, bold if it fails a check."""
    profile = PROFILES[profile_name]
    if rule.status is not Status.STABLE or (rule.optional and rule.code not in profile.codes):
        return OFF
    severity = profile.severities.get(rule.code, rule.severity)
    return f"**{severity.label}**" if severity >= threshold else severity.label
