"""Pieces of Markdown that several reference pages share."""

import re
from collections.abc import Callable, Iterable, Sequence
from inspect import cleandoc

_CODE_SPAN = re.compile(r"(`+[^`]+`+)")
_RULE_CODE = re.compile(r"\b[A-Z]{2,3}\d{3}\b")


def code(text: str) -> str:
    """Return a text as a code span."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def fence(text: str, language: str = "") -> str:
    """Return a text as a code block."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; an empty text if it has no rows."""
    lines = [_line(row) for row in rows]
    return "\n".join([_line(head), _line(["---"] * len(head)), *lines]) + "\n" if lines else ""


def _line(cells: Sequence[str]) -> str:
    shown = (outside_code(" ".join(cell.split()), _without_pipes) for cell in cells)
    return f"| {' | '.join(shown)} |"


def _without_pipes(text: str) -> str:
    return text.replace("|", r"\|")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return a text with the parts between its code spans changed."""
    parts = _CODE_SPAN.split(text)
    parts[::2] = map(change, parts[::2])
    return "".join(parts)


def paragraphs(text: str) -> str:
    """Return prose with each paragraph on one line, so that no line begins by chance as a list."""
    return "\n\n".join(" ".join(part.split()) for part in cleandoc(text).split("\n\n"))


def prose(text: str, links: dict[str, str]) -> str:
    """Return prose with links for the codes of rules, and without characters that mean markup.

    `links` has the address of a page by code. Code spans stay as they are.
    """

    def linked(found: re.Match[str]) -> str:
        name = found.group()
        return f"[{name}]({links[name]})" if name in links else name

    def changed(part: str) -> str:
        return _RULE_CODE.sub(linked, part.replace("<", "&lt;").replace("*", r"\*"))

    return outside_code(paragraphs(text), changed)


def sentence(text: str) -> str:
    """Return a phrase with a capital at the beginning and a full stop at the end.

    A name of a member, such as `sample_hash`, keeps its first letter.
    """
    is_name = "_" in text.split(" ", 1)[0]
    whole = text if is_name else text[:1].upper() + text[1:]
    return whole if whole.endswith((".", ":")) else f"{whole}."
