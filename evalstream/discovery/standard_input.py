"""Recognise the content of standard input as soon as the bytes received suffice."""

from __future__ import annotations

from typing import Final

from evalstream.formats.base import Kind
from evalstream.formats.registry import FORMATS, detect_kind, main_format
from evalstream.io.beginning import ARRAY, NOTHING, OBJECT, PEEK_BYTES, Beginning, peek
from evalstream.io.codecs import detect_compression
from evalstream.io.inputs import StandardInput, stream_at
from evalstream.model.data_class import replace
from evalstream.model.options import Options
from evalstream.model.run import STDIN, HeldInput, Run

LULL_SECONDS: Final = 0.005
"""How long a line waits for more input when a consumer waits for the rows."""


def run_on_stdin(run: Run, options: Options) -> Run | None:
    """Return the run on standard input, rows by default, None if unknown. Raises Stopped."""
    stream, is_held = stream_at(run.rows or STDIN), isinstance(run.rows, HeldInput)
    # What a program holds are rows by its word, and it may wait for the findings of each.
    is_hurried = is_held or options.routing.is_interactive
    if is_hurried:
        main_format().prepare(options)
    try:
        kind = _kind(stream, is_hurried=is_hurried)
    except OSError:
        return run  # its check reports why it cannot be read
    if kind is None and not is_hurried and _is_other_document(stream):
        return None
    if kind is None or kind.format not in FORMATS:
        return run
    place = FORMATS[kind.format].places[kind.document]
    if is_held:
        return replace(run, format=kind.format) if place == "rows" else run
    return Run(
        rows=STDIN if place == "rows" else None,
        aggregate=STDIN if place == "aggregate" else None,
        inputs=STDIN if place == "inputs" else None,
        format=kind.format,
    )


def _kind(stream: StandardInput, *, is_hurried: bool) -> Kind | None:
    """Return the kind of a stream as soon as the bytes received suffice."""
    seen = b""
    while (more := stream.peek()) is not None:
        seen = more
        kind = _detect_kind(seen)
        if kind is not None or _is_settled(seen):
            return kind
        # A line is complete, and no more input arrives for a while.
        if is_hurried and b"\n" in seen and not stream.wait(LULL_SECONDS):
            return kind
    return _detect_kind(seen)


def _detect_kind(seen: bytes) -> Kind | None:
    return detect_kind(Beginning("", seen[:PEEK_BYTES], lambda: seen))


def _is_other_document(stream: StandardInput) -> bool:
    """Tell whether standard input is one JSON object over several lines, unlike rows.

    If it seems so, it is read to its end, as another object may follow.
    """
    while _looks_like_document(stream.seen):
        if stream.peek() is None:
            return Beginning("", b"", lambda: stream.seen).document is not None
    return False


def _looks_like_document(seen: bytes) -> bool:
    shown = peek(seen)
    return shown.kind == OBJECT and shown.is_whole and b"\n" in seen.strip()


def _is_settled(seen: bytes) -> bool:
    """Tell whether more bytes would not help: rows, compressed bytes, or not JSON at all."""
    if len(seen) >= PEEK_BYTES or detect_compression(seen) is not None:
        return True
    shown = peek(seen)
    if shown == NOTHING:
        return bool(seen.strip())
    # In a JSON document only the first line can begin with an object: these are rows.
    is_row = shown.is_whole and b"\n" in seen
    return shown.kind != ARRAY and (is_row or b"\n{" in seen.lstrip())
