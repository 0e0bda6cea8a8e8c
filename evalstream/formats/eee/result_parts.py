"""Find, by their ids, which results are parts of others, and which are the plain ones of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from evalstream.formats.eee.aggregate import Join, Result
from evalstream.parsing.lazy_regex import LazyPattern

_SEPARATORS: Final = frozenset("./:|")
"""What follows the id of a result in the ids of its parts, as in `mmlu` and `mmlu::law`."""

_LONGEST_WHOLE: Final = 256
"""The number of characters of an id that may be the id of a whole."""

_WORST_CASES: Final = frozenset({"fairness", "robustness"})
"""The last words in the ids of HELM's figures for the worst perturbation of each sample."""

ROLL_UP: Final = LazyPattern(
    r"(?i)(?<![a-z])(?:aggregate|all|average|avg|macro|mean|micro|overall|summary|total)(?![a-z])"
)
"""Words of a result over the parts of a benchmark."""


def index_parts(results: Iterable[Result]) -> dict[str, dict[int, str]]:
    """Return the parts of each id: the places of results whose ids continue it, and the rest."""
    parts: dict[str, dict[int, str]] = {}
    for result in results:
        name = result.id or ""
        for end, character in enumerate(name[:_LONGEST_WHOLE]):
            if end and character in _SEPARATORS:
                parts.setdefault(name[:end], {})[result.place] = name[end + 1 :]
    return parts


def find_plain(result: Result, join: Join, parts: Mapping[str, Mapping[int, str]]) -> int | None:
    """Return the place of the plain figure beside one of HELM for the worst perturbation.

    It is None where the aggregate has figures of perturbations, which make the worst another one.
    """
    whole, _, last = (result.id or "").rpartition(":")
    plain, beside = join.by_id.get(whole), parts.get(whole)
    if plain is None or beside is None or last not in _WORST_CASES:
        return None
    return plain.place if _WORST_CASES.issuperset(beside.values()) else None
