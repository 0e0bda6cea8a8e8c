"""The front matter of the pages of rules, and the table of it that the build writes.

The hook that builds the package runs this file by its path, before evalstream is installed.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

TABLE: Final = "declared_table"
"""The module of the table, beside this one."""

_FENCE: Final = "---\n"


def read_front_matter(page: str) -> dict[str, Any]:
    """Return what the head of a page declares: texts, true, and tuples of names.

    Raises ValueError for a page without front matter.
    """
    before, head, _ = page.split(_FENCE, 2)
    if before:
        raise ValueError("the page does not begin with front matter")
    return dict(_read_member(line) for line in head.splitlines())


def _read_member(line: str) -> tuple[str, Any]:
    """Read a line of YAML; what is neither plain text nor true is written as in JSON."""
    key, _, text = line.partition(": ")
    if not text.startswith(('"', "[")):
        return key, text == "true" or text
    value = json.loads(text)
    return key, tuple(value) if isinstance(value, list) else value


def write_table(package: Path) -> None:
    """Write the declarations of all pages of a package into a module, which loads faster.

    Raises ValueError where two pages declare one code.
    """
    declared: dict[str, dict[str, Any]] = {}
    for page in sorted(package.glob("**/rules/*.md"), key=lambda page: page.stem):
        if page.stem in declared:
            raise ValueError(f"two pages declare the rule {page.stem}: one of them is {page}")
        declared[page.stem] = read_front_matter(page.read_text(encoding="utf-8"))
    table = package / "rules" / f"{TABLE}.py"
    # Whoever reads the old one keeps it.
    fresh = table.with_name(f".{table.name}.{os.getpid()}")
    fresh.write_text(f"DECLARED = {declared!r}\n", encoding="utf-8")
    fresh.replace(table)
