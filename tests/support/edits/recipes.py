"""The recipes that sample hashes follow, and one that is unknown, written anew for tests."""

import hashlib
import json
from collections.abc import Callable
from typing import Any


def _concat(raw: str, references: list[str]) -> str:
    return raw + "".join(references)


def _concat_first(raw: str, references: list[str]) -> str:
    return raw + "".join(references[:1])


def _json_str(raw: str, references: list[str]) -> str:
    return json.dumps({"raw": raw, "reference": "".join(references)}, sort_keys=True)


def _json_list(raw: str, references: list[str]) -> str:
    sample = {"raw": raw, "reference": references}
    return json.dumps(sample, sort_keys=True, separators=(",", ":"))


def _json_list_spaced(raw: str, references: list[str]) -> str:
    return json.dumps({"raw": raw, "reference": references}, sort_keys=True)


def _unknown(raw: str, references: list[str]) -> str:
    return f"{references} answers {raw}"


RECIPES: dict[str, Callable[[str, list[str]], str]] = {
    "concat": _concat,
    "concat-first": _concat_first,
    "json-str": _json_str,
    "json-list": _json_list,
    "json-list-spaced": _json_list_spaced,
    "unknown": _unknown,
}


def rehash(row: dict[str, Any], recipe: str) -> None:
    """Set the sample_hash of a row to the digest of its input under a recipe."""
    reference = row["input"]["reference"]
    references = [reference] if isinstance(reference, str) else reference
    text = RECIPES[recipe](row["input"]["raw"], references)
    row["sample_hash"] = hashlib.sha256(text.encode()).hexdigest()
