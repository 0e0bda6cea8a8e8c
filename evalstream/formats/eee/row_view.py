"""Read a row of Every Eval Ever: its input, repeat, answer, and their digests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import xxhash
from xxhash import xxh3_128_hexdigest

from evalstream.formats.eee.sample_hash import Reference
from evalstream.formats.eee.versions import OLDEST
from evalstream.model.block import Bytes
from evalstream.parsing import json
from evalstream.parsing.json import canonical
from evalstream.parsing.json_values import is_texts
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
    if is_texts(reference):
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


def has_error(row: Mapping[str, Any]) -> bool:
    """Tell whether a row has an error; its score need not follow from its answer."""
    error = row.get("error")
    return error.__class__ is str and bool(error.strip())


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


def shows_choice(value: str, row: Mapping[str, Any]) -> bool:
    """Tell whether an answer is the input itself, which ends in a choice.

    HELM asks for the likelihood of each choice so (multiple_choice_separate_original and
    _calibrated, with echo_prompt), and scores the instance by the most likely one.
    """
    sample = row.get("input")
    raw, choices = json.member(sample, "raw"), json.member(sample, "choices")
    if raw.__class__ is not str or raw.strip() != value.strip() or choices.__class__ is not list:
        return False
    texts = (one.strip() for one in choices if one.__class__ is str)
    return any(text and value.rstrip().endswith(text) for text in texts)


def mark_digest(mark: str) -> int:
    """Return a number that is equal for rows with the same repeat mark, 0 for none."""
    return xxhash.xxh64_intdigest(mark.encode(errors="surrogatepass")) if mark else 0


_LONG_BYTES: Final = 241
"""XXH3 computes the digests of texts from this length on in one way, which the scanner knows."""


def answer_digest(answer: Any) -> int:
    """Return a number that is equal for rows with the same model output."""
    return xxhash.xxh3_64_intdigest(json.canonical(answer))


def choices_digest(choices: str) -> int:
    """Return a number that is equal for rows with the same choices, 0 for none."""
    return xxhash.xxh64_intdigest(choices.encode(errors="surrogatepass")) if choices else 0


def content_digest(line: Bytes) -> int:
    """Return a number that is equal for equal lines, as the scanner computes it."""
    digest = xxhash.xxh64_intdigest if len(line) < _LONG_BYTES else xxhash.xxh3_64_intdigest
    return digest(line)


def to_double(score: Any) -> float:
    """Return a score as a double, NaN if a double cannot hold it exactly."""
    if not isinstance(score, (int, float)):
        return math.nan
    try:
        double = float(score)
    except OverflowError:
        return math.nan
    return double if double == score else math.nan


_DETAILS: Final = "detailed_evaluation_results"

_OF_ONE_COPY: Final = frozenset({"evaluation_id", "retrieved_timestamp"})
"""Members that differ between copies of a record, at any depth."""

_NAMES_OF_ONE_COPY: Final = tuple(f'"{name}"'.encode() for name in sorted(_OF_ONE_COPY))

_CONTAINERS: Final = frozenset({dict, list})


def record_digest(document: Mapping[str, Any]) -> str | None:
    """Digest an aggregate, with the same result for all copies of its record.

    The order of keys and of list items does not count, nor do evaluation_id and retrieved_timestamp
    at any depth, nor file_path, which names the location of the rows. The digest is None if the
    document nests deeper than Python can follow.
    """
    rest = dict(document)
    details = rest.get(_DETAILS)
    if isinstance(details, dict):
        rest[_DETAILS] = {name: value for name, value in details.items() if name != "file_path"}
    try:
        return xxh3_128_hexdigest(canonical(_without_order(rest)))
    except RecursionError:
        return None


def _digest_item(item: Any) -> str:
    """Digest an item of a list; the text of most shows that they hold no list, and what to drop."""
    text = canonical(item)
    if text.find(b"[") >= 0 or any(text.find(name) >= 0 for name in _NAMES_OF_ONE_COPY):
        text = canonical(_without_order(item))
    return xxh3_128_hexdigest(text)


def _without_order(value: Any) -> Any:
    """Return an object or list without what differs between copies; other values unchanged.

    A list of strings is sorted. Any other list becomes the sorted digests of its items, so a list
    in a list is written once, not once for each list around it.
    """
    if value.__class__ is dict:
        if _OF_ONE_COPY.isdisjoint(value) and _CONTAINERS.isdisjoint(map(type, value.values())):
            return value
        return {
            name: _without_order(member) if member.__class__ in _CONTAINERS else member
            for name, member in value.items()
            if name not in _OF_ONE_COPY
        }
    if value.__class__ is not list:
        return value
    if set(map(type, value)) == {str}:
        return sorted(value)
    return sorted(map(_digest_item, value))
