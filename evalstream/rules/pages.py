"""The pages of the rules: a Markdown file with the code of its rule, beside the rule's module."""

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from evalstream.model.finding import EXAMPLES

CHANGES: Final = re.compile(r"^```changes\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A fence that tests alone read: how the example run is changed before it has what is shown."""

_HEADING: Final = re.compile(r"^## (.+)\n", re.MULTILINE)
_FENCE: Final = "```"
_PACKAGE: Final = os.path.dirname(os.path.dirname(__file__))


@cache
def read_page(code: str) -> Mapping[str, str]:
    """Return the text under each heading of a rule's page, as reports show it."""
    shown = {
        heading: "\n".join(_example_lines(text)) if heading in EXAMPLES else text
        for heading, text in read_sections(code).items()
    }
    return MappingProxyType(shown)


def read_sections(code: str) -> dict[str, str]:
    """Return the Markdown under each heading of a rule's page, in order."""
    with open(page_path(code), encoding="utf-8") as file:
        _, *parts = _HEADING.split(file.read())
    return {heading: text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def page_path(code: str) -> str:
    """Return the path of a rule's page. Raises FileNotFoundError if it has none."""
    name = f"{code}.md"
    for folder in page_folders():
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(name)


def repository_path(code: str) -> str:
    """Return the path of a rule's page in the repository, with slashes."""
    parent = os.path.dirname(_PACKAGE)
    return os.path.relpath(page_path(code), parent).replace(os.sep, "/")


@cache
def page_folders() -> tuple[str, ...]:
    """Return the folders of rules: the shared one, and one for each format."""
    formats = os.path.join(_PACKAGE, "formats")
    names = sorted(name for name in os.listdir(formats) if "." not in name)
    return os.path.join(_PACKAGE, "rules"), *(os.path.join(formats, n, "rules") for n in names)


def without_changes(text: str) -> str:
    """Return the Markdown of an example as users see it."""
    return CHANGES.sub("", text).rstrip()


def _example_lines(text: str) -> Iterator[str]:
    """Yield the prose and labels of an example, and its fences indented."""
    is_fenced = False
    for line in without_changes(text).splitlines():
        if line.startswith(_FENCE):
            is_fenced = not is_fenced
        elif is_fenced or line:
            yield f"  {line}" if is_fenced else line
