"""Draw the screenshots of the text report: invented runs, checked in a terminal of 80 columns.

    python scripts/screenshots.py docs/screenshots after
    python scripts/screenshots.py docs/screenshots before --package CHECKOUT

Each run has the form of real ones: long paths, nulls, ids of another log, no seal, a torn tail.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
COLUMNS: Final = 80
STORE: Final = "converted/nightly/2026-11-02/data/made_up_sums/acme/acorn-7b"
STEM: Final = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57"
DETAILS: Final = "detailed_evaluation_results"

WIDE, HIGH, MARGIN = 8.4, 18, 12
"""The size of a character, and the margin, in pixels."""

COLOURS: Final = {
    "1": "font-weight:bold",
    "2": "opacity:.65",
    "31": "fill:#ff7b72",
    "32": "fill:#7ee787",
    "33": "fill:#e3b341",
    "36": "fill:#79c0ff",
}

Rows = list[dict[str, Any]]
Make = Callable[[Rows, dict[str, Any]], None]


def sound(rows: Rows, _: dict[str, Any]) -> None:
    """Leave everything right; the rows do not say where an answer stands, as many do not."""
    for row in rows:
        row["answer_attribution"] = []


def nulls(rows: Rows, _: dict[str, Any]) -> None:
    """Write nulls for absent fields, as older converters do."""
    for row in rows:
        row["input"] |= {"formatted": None, "choices": None}
        row["metadata"] = None
        for turn in row.get("interactions", ()):
            turn["tool_call_id"] = None


def foreign(rows: Rows, _: dict[str, Any]) -> None:
    """Take the evaluation_id from the name of the file."""
    for row in rows:
        row["evaluation_id"] = f"{STEM}_samples"


def unsealed(_: Rows, aggregate: dict[str, Any]) -> None:
    """Leave out the seal."""
    del aggregate[DETAILS]


def torn(*_: object) -> None:
    """Change nothing here: `write` cuts the file."""


CASES: Final[dict[str, Make]] = {
    "sound": sound,
    "nulls": nulls,
    "foreign-ids": foreign,
    "no-seal": unsealed,
    "torn": torn,
}


def write(name: str, folder: Path) -> None:
    """Write the pair of a case."""
    lines = (ROOT / "examples" / "run.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    aggregate = json.loads((ROOT / "examples" / "aggregate.json").read_text(encoding="utf-8"))
    CASES[name](rows, aggregate)
    data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    place = folder / STORE
    place.mkdir(parents=True)
    (place / f"{STEM}_samples.jsonl").write_bytes(data[:-400] if name == "torn" else data)
    if DETAILS in aggregate:
        seal = aggregate[DETAILS]
        seal["checksum"] = hashlib.new(seal["hash_algorithm"], data).hexdigest()
        seal["file_path"] = f"{STORE[STORE.index('data/') :]}/{STEM}_samples.jsonl"
    (place / f"{STEM}.json").write_text(json.dumps(aggregate, indent=2), encoding="utf-8")


def seen(folder: Path, package: Path) -> str:
    """Return what a terminal shows of a check."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(package), "COLUMNS": str(COLUMNS)}
    environment |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "evalstream", "check", "converted", "--no-progress"],
        cwd=folder,
        env=environment,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    pieces = []
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        pieces.append(piece)
    process.wait()
    os.close(leader)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def lines_of(text: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the lines of a terminal, each as pieces with the style of an escape sequence."""
    for line in text.rstrip("\n").split("\n"):
        shown: list[tuple[str, str]] = []
        room, style = COLUMNS, ""
        for number, piece in enumerate(re.split(r"\x1b\[([\d;]*)m", line)):
            if number % 2:
                style = ";".join(COLOURS[one] for one in piece.split(";") if one in COLOURS)
                continue
            rest = piece
            while rest:
                if not room:
                    yield shown
                    shown, room = [], COLUMNS
                shown.append((rest[:room], style))
                rest, room = rest[room:], max(0, room - len(rest))
        yield shown


def drawn(text: str) -> str:
    """Return a terminal as SVG."""
    lines = list(lines_of(f"$ evalstream check converted\n{text}"))
    width, height = 2 * MARGIN + COLUMNS * WIDE, 2 * MARGIN + len(lines) * HIGH
    parts = []
    parts.append(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}">\n'
        "<style>text{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        "fill:#e6edf3;white-space:pre}</style>\n"
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
    )
    for number, line in enumerate(lines):
        y, x = MARGIN + (number + 0.75) * HIGH, 0
        for piece, style in line:
            styled = f' style="{style}"' if style else ""
            # The length keeps the columns, whichever font draws them.
            parts.append(
                f'<text x="{MARGIN + x * WIDE:g}" y="{y:g}" textLength="{len(piece) * WIDE:g}" '
                f'lengthAdjust="spacingAndGlyphs" xml:space="preserve"{styled}>'
                f"{escape(piece, quote=False)}</text>\n"
            )
            x += len(piece)
    return "".join([*parts, "</svg>\n"])


def main() -> None:
    """Draw every case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("prefix", help="of the names of the files")
    parser.add_argument("--package", type=Path, default=ROOT, help="a checkout of evalstream")
    given = parser.parse_args()
    for name in CASES:
        with tempfile.TemporaryDirectory() as folder:
            write(name, Path(folder))
            text = seen(Path(folder), given.package.resolve())
        (given.folder / f"{given.prefix}-{name}.svg").write_text(drawn(text), encoding="utf-8")


if __name__ == "__main__":
    main()
