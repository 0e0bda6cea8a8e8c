"""Templates of questions that need no more than members of docs."""

from __future__ import annotations

import re
from typing import Any, Final

FIELD: Final = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
"""A member of a doc in a template."""

MARKUP: Final = ("{%", "{#", "{{")
"""What shows that a text is a template."""


def split_question(template: str) -> tuple[list[str], list[str]]:
    """Return the texts around the fields of a question, and the names of the fields.

    Texts have no white space at both ends of the question.
    """
    parts = FIELD.split(template)
    texts = parts[::2]
    texts[0], texts[-1] = texts[0].lstrip(), texts[-1].rstrip()
    return texts, parts[1::2]


def render_question(template: str, doc: Any) -> str | None:
    """Return the question of a doc, None if the template needs more than its fields."""
    if not isinstance(doc, dict):
        return None
    if template in doc:
        return doc[template] if isinstance(doc[template], str) else None
    fields = FIELD.findall(template)
    if not all(type(doc.get(name)) in (str, int) for name in fields):
        return None
    return FIELD.sub(lambda found: str(doc[found[1]]), template)
