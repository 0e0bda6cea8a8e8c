"""The examples of the rules' pages as test cases: changes to the example runs of each format."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from edits.case import Case
from edits.eee import DETAILS
from edits.eee import apply as apply_eee
from edits.one_document import apply as edit_document
from evalstream.formats import PREFIXES
from evalstream.model.finding import BAD, GOOD
from evalstream.rules.pages import CHANGES, read_page, read_sections

__all__ = [
    "DETAILS",
    "Block",
    "Case",
    "Script",
    "apply",
    "apply_case",
    "apply_script",
    "page_script",
]


class Block(NamedTuple):
    """A part of an example: what its label names, and what is shown of it; prose has no label."""

    label: str | None
    text: str

    def directive(self) -> str:
        """Return the directive that makes a file have what is shown."""
        is_bytes = str(self.label).endswith(", as bytes")
        return f"{self.label} has {self.text if is_bytes else json.dumps(json.loads(self.text))}"


class Script(NamedTuple):
    """An example of a page: the format of its run, its changes, and what it shows after them."""

    format: str
    changes: tuple[str, ...]
    blocks: tuple[Block, ...]

    def directives(self) -> str:
        """Return the example as directives, one a line."""
        shown = (block.directive() for block in self.blocks if block.label is not None)
        return "\n".join([*self.changes, *shown])


def page_script(code: str, side: str) -> Script:
    """Return an example of a rule's page; `side` is `bad` or `good`.

    Changes that begin with `format NAME` are of a run of that format.
    """
    heading = BAD if side == "bad" else GOOD
    found = CHANGES.search(read_sections(code)[heading])
    changes = found[1].splitlines() if found else []
    if changes and changes[0].startswith("format "):
        name = changes.pop(0).removeprefix("format ")
    else:
        letters = code.rstrip("0123456789")
        (name,) = (name for name, one in PREFIXES.items() if one == letters)
    return Script(name, tuple(changes), tuple(blocks(read_page(code)[heading])))


def blocks(example: str) -> Iterator[Block]:
    """Iterate over the parts of an example: prose, and labels with the lines below them."""
    for first, *lines in (part.splitlines() for part in re.split(r"\n(?=\S)", example)):
        if not lines:
            yield Block(None, first)
        elif not first.endswith(":"):
            raise ValueError(f"a label ends in a colon: {first}")
        else:
            yield Block(first.removesuffix(":"), "\n".join(one.removeprefix("  ") for one in lines))


def apply(script: str, folder: Path) -> Case:
    """Write the files that a script describes into `folder`, one directive a line.

    A script that begins with `format NAME` is about the files of another format; others are about a
    run of Every Eval Ever.
    """
    first, _, rest = script.partition("\n")
    if first.startswith("format "):
        return apply_to(first.split()[1], rest, folder)
    return apply_eee(script, folder)


def apply_to(name: str, script: str, folder: Path) -> Case:
    """Edit the example of a format, as the module of its name here does, if there is one."""
    if find_spec(f"edits.{name}") is None:
        return edit_document(script, folder, name)
    case: Case = import_module(f"edits.{name}").apply(script, folder)
    return case


def apply_script(script: Script, folder: Path) -> Case:
    """Write the files of an example into `folder`."""
    return apply_to(script.format, script.directives(), folder)


def apply_case(code: str, side: str, folder: Path) -> Case:
    """Write the files of an example of a rule's page into `folder`; `side` is `bad` or `good`."""
    return apply_script(page_script(code, side), folder)
