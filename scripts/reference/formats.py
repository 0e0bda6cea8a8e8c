"""The page about formats: their versions, documents and schemas."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from evalstream.formats.base import load_rules
from evalstream.rules.base import Rule
from reference.markdown import code, table
from reference.program import printed

INTRODUCTION = """# Formats

`evalstream formats` prints these formats, versions and documents. [Formats](../formats.md)
describes them. `evalstream schema show NAME` prints a schema.
"""

NO_VERSIONS = "The format has no versions and no published schema.\n"

_FORMAT = re.compile(r"^(\S+) +(.+)$")
_VERSION = re.compile(r"^  (\S+) +(.+)$")


class Format(NamedTuple):
    """A format: its name and title, and its versions with their documents."""

    name: str
    title: str
    versions: dict[str, list[str]]


def formats() -> list[Format]:
    """Return the formats as `evalstream formats` prints them."""
    found: list[Format] = []
    for line in printed("formats").splitlines():
        if one := _FORMAT.match(line):
            found.append(Format(one[1], one[2], {}))
        elif version := _VERSION.match(line):
            found[-1].versions[version[1]] = version[2].split(", ")
    return found


def titles_by_code_prefix() -> dict[str, str]:
    """Return the title of each format by the letters of its own codes."""
    return {next(_rules(one.name)).code.rstrip("0123456789"): one.title for one in formats()}


def _rules(name: str) -> Iterator[Rule]:
    return iter(load_rules(name))


def page() -> str:
    """Return the page."""
    schemas = printed("schema", "list").split()
    parts = [INTRODUCTION]
    for one in formats():
        rows = (
            (version, document, _schema(f"{one.name}/{version}/{document}", schemas))
            for version, documents in one.versions.items()
            for document in documents
        )
        listed = table(["version", "document", "schema"], rows)
        parts.append(f"## {one.name}\n\n{one.title}.\n\n{listed or NO_VERSIONS}")
    return "\n".join(parts)


def _schema(name: str, known: list[str]) -> str:
    """Return the name of a schema; an empty text if there is no such schema."""
    return code(name) if name in known else ""
