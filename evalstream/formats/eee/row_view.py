"""Read a row of Every Eval Ever: its input, the ids of its repeats, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import xxhash

from evalstream.formats.eee.sample_hash import Reference
from evalstream.formats.eee.versions import OLDEST
from evalstream.parsing.lazy_regex import LazyPattern

SINGLE_TURN: Final = "single_turn"
MULTI_TURN: Final = "multi_turn"
AGENTIC: Final = "agentic"
TRANSCRIPT_TYPES: Final = (MULTI_TURN, AGENTIC)
INTERACTION_TYPES: Final = (SINGLE_TURN, *TRANSCRIPT_TYPES)

TRANSCRIPT_KEYS: Final = ("interactions", "messages")

REPEAT_MARKS: Final = ("epoch", "repeat", "trial", "seed")
"""Members of `metadata` that distinguish repeats of one sample (Inspect writes `epoch`)."""


def hash_input(row: Mapping[str, Any]) -> tuple[str, Reference] | None:
    """Return input.raw and input.reference, which the hash covers, or None if they are not text."""
    sample = row.get("input")
    if not isinstance(sample, dict):
        return None
    raw, reference = sample.get("raw"), sample.get("reference")
    if not isinstance(raw, str):
        return None
    if isinstance(reference, str):
        return raw, reference
    if isinstance(reference, list) and all(isinstance(text, str) for text in reference):
        return raw, reference
    return None


def sample_scope(row: Mapping[str, Any]) -> str:
    """Return a text that is equal for the samples of one evaluation: its id and its name."""
    return f"{row.get('evaluation_id')}\x1e{row.get('evaluation_name')}\x1e"


def repeat_mark(metadata: Any) -> str:
    """Return a text that distinguishes the repeats of a sample, empty for none."""
    if metadata.__class__ is not dict or _MARKS.isdisjoint(metadata):
        return ""
    mark = ""
    for name in REPEAT_MARKS:
        if name in metadata and metadata[name] is not None:
            mark = f"{mark}{name}={metadata[name]}\x1f"
    return mark


_MARKS: Final = frozenset(REPEAT_MARKS)


def count_calls(row: Mapping[str, Any]) -> int:
    """Return how many calls a row sums up as its metadata says: repeats, votes or attempts."""
    metadata, most = row.get("metadata"), 1
    for name, value in metadata.items() if metadata.__class__ is dict else ():
        known = _CALLS.fullmatch(name) and str(value)
        if known and known.isascii() and known.isdecimal() and len(known) < 6:
            most = max(most, int(known) + ("retr" in name))
    return most


_CALLS: Final = LazyPattern(
    r"(?:num_|n_|number_of_)?(?:attempts|calls|candidates|completions|generations|repeats"
    r"|repetitions|retries|rollouts|samples|trials|votes)"
)


def input_text(row: Mapping[str, Any]) -> bytes | None:
    """Return a text that is equal for rows with the same input, or None without an input.

    An input is raw and all references, without the choices. A list of one reference counts as
    that reference, so that versions agree; the separator is a byte that UTF-8 does not use.
    """
    covered = hash_input(row)
    if covered is None:
        return None
    raw, reference = covered
    references = [reference] if isinstance(reference, str) else reference
    return b"\xff".join([text.encode(errors="surrogatepass") for text in (raw, *references)])


def choices_text(choices: Any) -> str:
    """Return the choices of a row as one text, empty for none."""
    if not choices or choices.__class__ is not list:
        return ""
    try:
        return "\x1e".join(choices)
    except TypeError:
        return f"{choices}"


def transcript_key(version: str) -> str:
    """Return the name of the transcript in a version."""
    return "interactions" if version in OLDEST else "messages"


def transcript(row: Mapping[str, Any], version: str) -> tuple[str, list[Any]] | None:
    """Return the key and the turns of a row's transcript, or None if it has no transcript.

    Only the key of the version that checks the row counts; the format has no other.
    """
    key = transcript_key(version)
    turns = row.get(key)
    return (key, turns) if turns.__class__ is list else None


def row_answer(row: Mapping[str, Any], version: str) -> tuple[Any, Any]:
    """Return the model's output: the output member, and the transcript."""
    return row.get("output"), row.get(transcript_key(version))


def mark_digest(mark: str) -> int:
    """Return a number that is equal for rows with the same repeat mark, 0 for none."""
    return xxhash.xxh64_intdigest(mark.encode(errors="surrogatepass")) if mark else 0
