"""The documentation of a rule as markup: paragraphs, code and examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from evalstream.model.rule_text import RuleText
from evalstream.reporters.markup import Markup, join_markup, tag

LIMIT: Final = 4_000
"""How many characters of the documentation of a rule are shown."""

_BLOCKS: Final = re.compile(r"\n\s*\n")
_HEADING: Final = re.compile(r"([A-Z][a-z ]{2,20}):\s")


def rule_help(rule: RuleText) -> Markup:
    """Return what a rule finds, why it matters and how to fix it, folded."""
    # The first block has the name, the severity and the summary, which the page shows anyway.
    _, _, text = rule.help.partition("\n\n")
    shown = text[:LIMIT].strip("\n")
    more = tag("p", "… evalstream rules shows the rest.") if len(text) > LIMIT else None
    blocks = [part for block in _BLOCKS.split(shown) for part in _block(block)]
    return tag("details", tag("summary", "About this rule"), blocks, more, class_="help")


def _block(block: str) -> Iterator[Markup]:
    """Yield a paragraph, or an example whose lines are kept."""
    lines = block.split("\n")
    paragraph = [line for line in lines if line[:1] != " "]
    example = [line.removeprefix("    ") for line in lines if line[:1] == " "]
    if paragraph:
        text = " ".join(paragraph)
        heading = _HEADING.match(f"{text} ")
        label = heading.group(1) if heading else ""
        rest = text[len(label) + 1 :] if label else text
        yield tag("p", tag("b", f"{label}:") if label else None, prose(rest))
    if example:
        yield tag("pre", join_markup(*_separate_lines(example)))


def prose(text: str) -> Markup:
    """Return text whose parts in backticks are code."""
    parts = text.split("`")
    return join_markup(
        *(tag("code", one) if number % 2 else one for number, one in enumerate(parts))
    )


def _separate_lines(lines: list[str]) -> Iterator[str]:
    """Yield lines and the breaks between them, which are markup as they must stay."""
    for number, line in enumerate(lines):
        if number:
            yield Markup("\n")
        yield line
