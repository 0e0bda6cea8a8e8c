"""The examples in the rules' documentation: parsed, and compared with the files of a case."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from edits import Case
from edits.evalguard import Loader

ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|([nr]))")
LINE = re.compile(r"line (?P<number>\d+)(?P<last>, the last)?, as bytes")
RECORD = re.compile(r"(?P<file>(?:.*, )?(?:row|log))(?:,| )(?: ?record)? ?(?P<number>\d+)")
COLUMN = re.compile(r"(?P<member>[a-z_.]+) of the rows")
ELISION = "…"


class Block(NamedTuple):
    """A part of an example: what its label names, and what is shown of it; prose has no label."""

    label: str | None
    text: str

    @property
    def line(self) -> re.Match[str] | None:
        """The line that is shown as bytes, None where something else is shown."""
        return LINE.fullmatch(self.label or "")


def blocks(example: str) -> list[Block]:
    """Return the parts of an example: prose, and labels with the indented lines below them."""
    parts: list[tuple[str, list[str]]] = []
    for line in example.splitlines():
        if line.startswith(" "):
            parts[-1][1].append(line.removeprefix("  "))
        else:
            parts.append((line, []))
    return [_block(first, lines) for first, lines in parts]


def _block(first: str, lines: list[str]) -> Block:
    if not lines:
        return Block(None, first)
    if not first.endswith(":"):
        raise ValueError(f"a label ends in a colon: {first}")
    return Block(first.removesuffix(":"), "\n".join(lines))


def document(case: Case, label: str, folder: Path) -> Any:
    """Return the value that a label names: a row, a record, a document or a member of all rows.

    A document is named by the word that its format has for it, or by its path below `folder`.
    """
    if label == "schema":
        return json.loads(case.options["schema"])
    if column := COLUMN.fullmatch(label):
        return [_member(json.loads(line), column["member"]) for line in _lines(case, "row")]
    if record := RECORD.fullmatch(label):
        return json.loads(_lines(case, record["file"])[int(record["number"]) - 1])
    path = case.documents.get(label) or folder / label
    text = path.read_text(encoding="utf-8")
    return yaml.load(text, Loader) if path.suffix == ".yaml" else json.loads(text)


def contains(whole: Any, part: Any) -> bool:
    """Tell whether a value has all that a part of it shows.

    An object has the shown members and may have more. A list has the shown elements in their
    order, and may have others between them. Numbers are equal in value and in type.
    """
    if type(whole) is not type(part):
        return False
    if isinstance(part, dict):
        return all(key in whole and contains(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        rest = iter(whole)
        return all(any(contains(element, shown) for element in rest) for shown in part)
    return bool(whole == part)


def shows_line(case: Case, block: Block) -> bool:
    """Tell whether a block shows a line of the rows: its bytes, with `…` for what is left out.

    What follows the row on its line counts where it is shown, and in the last line.
    """
    found = block.line
    if found is None:
        return False
    line = case.documents["row"].read_bytes().splitlines(keepends=True)[int(found["number"]) - 1]
    parts = [_bytes(part) for part in block.text.split(ELISION)]
    if not parts[-1].endswith(b"\n") and not found["last"]:
        line = line.removesuffix(b"\n")
    pattern = b".*".join(map(re.escape, parts))
    return re.fullmatch(pattern, line, re.DOTALL) is not None


def _bytes(text: str) -> bytes:
    """Return the bytes that a text with escapes stands for; all else in it is ASCII."""
    named = {"n": b"\n", "r": b"\r"}
    pieces = ESCAPE.split(text)
    data = pieces[0].encode("ascii")
    for code, name, rest in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        data += (bytes.fromhex(code) if code else named[name]) + rest.encode("ascii")
    return data


def _lines(case: Case, name: str) -> list[bytes]:
    return case.documents[name].read_bytes().splitlines()


def _member(row: Any, path: str) -> Any:
    for name in path.split("."):
        row = row[name]
    return row
