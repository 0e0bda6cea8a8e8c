"""A row of lm-eval's samples: its members, and the digests of its texts.

The harness computes the digests in `evaluate` (evaluator.py of lm_eval 0.4) with `hash_string` and
`handle_non_serializable` (utils.py): each is the SHA-256 of a text in UTF-8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

from evalstream.model.data_class import NamedTuple

DOC: Final = "doc_hash"
PROMPT: Final = "prompt_hash"
TARGET: Final = "target_hash"
HASHES: Final = (DOC, PROMPT, TARGET)

MEMBERS: Final = frozenset(
    {
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
        *HASHES,
    }
)
"""The members that rows have beside their metrics."""

DIGEST_SCHEMA: Final = {"type": "string", "pattern": "^[0-9a-f]{64}$"}

MOST_DOC_ID: Final = (1 << 63) - 1

_DIGEST: Final = re.compile("[0-9a-f]{64}")


def doc_text(doc: Any) -> bytes:
    """Return the text whose SHA-256 is the doc_hash. Raises UnicodeEncodeError.

    It is `json.dumps(doc, indent=2, ensure_ascii=False)`: members in their order, numbers as Python
    spells them.
    """
    return json.dumps(doc, indent=2, ensure_ascii=False).encode()


def is_doc_hash(digest: str, doc: Any) -> bool:
    """Tell whether a digest is that of a doc; of most docs orjson writes the text in a tenth."""
    import orjson

    with suppress(TypeError):
        if digest == sha256(orjson.dumps(doc, option=orjson.OPT_INDENT_2)).hexdigest():
            return True
    return digest == doc_hash(doc)


def doc_hash(doc: Any) -> str | None:
    """Return the doc_hash of a doc, None for a text that UTF-8 has no bytes for."""
    try:
        return sha256(doc_text(doc)).hexdigest()
    except UnicodeEncodeError:
        return None


def text_hash(text: str) -> str | None:
    """Return the digest of a prompt or a target, None for a text that UTF-8 has no bytes for."""
    try:
        return sha256(text.encode()).hexdigest()
    except UnicodeEncodeError:
        return None


def hashed_prompt(row: Mapping[str, Any]) -> str | None:
    """Return the prompt that is hashed: the first argument of the first request.

    Releases before 0.4.3 wrote the arguments as lists. A chat for an API is a list of one text,
    which is hashed (`JsonChatStr` in models/api_models.py).
    """
    arguments = row.get("arguments")
    first = arguments.get("gen_args_0") if isinstance(arguments, dict) else _first(arguments)
    prompt = first.get("arg_0") if isinstance(first, dict) else _first(first)
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    return prompt if isinstance(prompt, str) else None


def hashed_target(row: Mapping[str, Any]) -> str | None:
    """Return the text of the target that is hashed, None for a value that is not such a text.

    Rows of releases before 0.4.4, which have no filter, hold the target itself, and Python's
    spelling of it is hashed.
    """
    target = row.get("target")
    if isinstance(target, str):
        return target
    return None if "filter" in row or "target" not in row else str(target)


def _first(values: Any) -> Any:
    return values[0] if isinstance(values, list) and values else None


def parse_digest(value: Any) -> bytes | None:
    """Return a declared digest as bytes, None for a value that is not one."""
    if isinstance(value, str) and _DIGEST.fullmatch(value):
        return bytes.fromhex(value)
    return None


def may_hold_image_digests(value: Any) -> bool:
    """Tell whether a doc may hold digests in the place of images.

    With LMEVAL_HASHMM the harness replaces images and bytes by their SHA-256 after it hashed the
    doc (`hash_dict_images` in utils.py), so that the row no longer has the hashed doc.
    """
    if isinstance(value, str):
        return _DIGEST.fullmatch(value) is not None
    if isinstance(value, dict):
        return any(map(may_hold_image_digests, value.values()))
    return isinstance(value, list) and any(map(may_hold_image_digests, value))


def iterate_metrics(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Iterate over the metrics of a row: those that it lists, else all further members."""
    listed = row.get("metrics")
    names = listed if isinstance(listed, list) else [name for name in row if name not in MEMBERS]
    for name in names:
        if isinstance(name, str) and name in row and name not in MEMBERS:
            yield name, row[name]


class RowKey(NamedTuple):
    """The number of a row's doc, and its filter; None for invalid ones."""

    doc_id: int | None
    filter: str | None


def row_key(row: Mapping[str, Any]) -> RowKey:
    """Return what a row is about. Releases before 0.4.7 wrote no filter."""
    doc_id, name = row.get("doc_id"), row.get("filter", "")
    is_number = doc_id.__class__ is int and 0 <= doc_id <= MOST_DOC_ID
    return RowKey(doc_id if is_number else None, name if isinstance(name, str) else None)
