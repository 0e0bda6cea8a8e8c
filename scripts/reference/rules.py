"""The pages about rules: an index by family, and a page for each rule."""

import re
from collections.abc import Iterator
from itertools import groupby

from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import BAD, FIX, FOUND, GOOD, WHY, Status
from evalstream.rules.base import Rule
from evalstream.rules.catalogue import DEFAULT, PROFILES
from evalstream.rules.pages import read_sections, without_changes
from reference.formats import titles_by_code_prefix
from reference.markdown import code, prose, sentence, table
from reference.program import DOCS

_LAYER = re.compile(r"^\| (ES\d) \| (.+) \|$", re.MULTILINE)

INTRODUCTION = """# Rules

A rule is one thing that can be wrong. Codes never change. `evalstream rules CODE` prints the same
text as the page of a rule, and `--select` and `--ignore` take codes, the beginning of codes, and
names. The severity is that of the default profile.

`evalstream rules --format json` writes all rules with their texts as data; `evalstream schema show
rules` prints its JSON Schema. `--format markdown` writes the same texts as Markdown.

A rule in preview is off unless `--preview` is given, or `--select` has its code or name; the
beginning of its code is not enough. It reports infos, which never fail a run. A retired rule is
never applied, and its code and names still have a page.
"""


def pages() -> dict[str, str]:
    """Return the index and the page of each rule by their path below the folder of rules."""
    links = {one: f"../{one}/index.md" for one in CATALOGUE}
    return {
        "index.md": _index(),
        **{f"{one}/index.md": _page(rule, links) for one, rule in CATALOGUE.items()},
    }


def family(one: str) -> str:
    """Return the family of a code: its letters, and for the largest group its first digit."""
    letters = one.rstrip("0123456789")
    return one[: len(letters) + 1] if letters == "ES" else letters


def _index() -> str:
    titles = _titles()
    parts = [INTRODUCTION]
    for name, codes in groupby(sorted(CATALOGUE), key=family):
        rows = (_row(CATALOGUE[one]) for one in codes)
        listed = table(["code", "name", "severity", "what it finds"], rows)
        parts.append(f"## {name}\n\n{titles[name]}\n\n{listed}")
    return "\n".join(parts)


def _titles() -> dict[str, str]:
    """Return what each family is about."""
    text = (DOCS / "reports.md").read_text(encoding="utf-8")
    layers = {name: sentence(layer) for name, layer in _LAYER.findall(text)}
    return layers | {name: f"{title}." for name, title in titles_by_code_prefix().items()}


def _row(rule: Rule) -> tuple[str, ...]:
    severity = f"{rule.severity.label}, optional" if rule.optional else rule.severity.label
    if rule.status is not Status.STABLE:
        severity = f"{severity}, {rule.status.value}"
    summary = sentence(prose(rule.summary, {}))
    return f"[{rule.code}]({rule.code}/index.md)", code(rule.name), severity, summary


def _page(rule: Rule, links: dict[str, str]) -> str:
    others = {one: link for one, link in links.items() if one != rule.code}
    examples = read_sections(rule.code)
    parts = [
        f"# {rule.code}: {rule.name}\n",
        f"{sentence(prose(rule.summary, others))}\n",
        table(["property", "value"], _properties(rule)),
        *(f"## {one}\n\n{prose(rule.sections()[one], others)}\n" for one in (FOUND, WHY, FIX)),
        *(f"## {one}\n\n{without_changes(examples[one])}\n" for one in (BAD, GOOD)),
    ]
    return "\n".join(parts)


def _properties(rule: Rule) -> Iterator[tuple[str, str]]:
    yield "Code", code(rule.code)
    yield "Name", code(rule.name)
    if rule.former_names:
        yield "Former names", ", ".join(map(code, rule.former_names))
    yield "Severity", rule.severity.label
    for name, profile in PROFILES.items():
        severity = profile.severities.get(rule.code, rule.severity)
        if name != DEFAULT and severity is not rule.severity:
            yield f"Severity in the profile {code(name)}", severity.label
    if rule.status is not Status.STABLE:
        yield "Status", rule.status.value
    yield "Active", _active(rule)
    if rule.repair is not None:
        yield "Repair", prose(rule.repair_text(), {})
    # Rules that declare what they read say it in this field.
    reads = getattr(rule, "reads", ())
    if reads:
        yield "Reads", ", ".join(map(code, reads))
    yield "Since", rule.since


def _active(rule: Rule) -> str:
    """Say when a rule is checked."""
    if rule.status is Status.RETIRED:
        return "never"
    if rule.status is Status.PREVIEW:
        return f"with {code('--preview')}, or if {code('--select')} has its code or name"
    if not rule.optional:
        return "always"
    names = [code(name) for name, profile in PROFILES.items() if rule.code in profile.codes]
    by_profile = f", or in the profile {' or '.join(names)}" if names else ""
    return f"if {code('--select')} names it{by_profile}"
