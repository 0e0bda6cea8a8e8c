"""The recipes of sample_hash: how converters compute it, and which recipe rows follow.

JSON is written with all but printable ASCII escaped, which is Python's default, or with letters as
they are: https://github.com/swiss-ai/evals-post-train does so. Both count as the same recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Final

from evalstream.formats.eee.versions import VERSIONS
from evalstream.model.hashing import hash_function
from evalstream.model.text import ALGORITHM_OF_LENGTH
from evalstream.parsing.json import ascii_text, unescaped_text
from evalstream.parsing.lazy_regex import LazyPattern

Reference = str | Sequence[str]

Escape = Callable[[str], bytes]


def concat(raw: str, reference: Reference) -> bytes:
    """Join the input and all references without a separator (Inspect's converter)."""
    return (raw + (reference if isinstance(reference, str) else "".join(reference))).encode()


def concat_first(raw: str, reference: Reference) -> bytes:
    """Join the input and the first reference, if any (HELM's converter)."""
    if isinstance(reference, str):
        return (raw + reference).encode()
    return (raw + (reference[0] if reference else "")).encode()


def json_str(raw: str, reference: Reference, escape: Escape = ascii_text) -> bytes:
    """Write input and reference text as sorted, spaced JSON (lm-eval's converter)."""
    text = reference if isinstance(reference, str) else "".join(reference)
    return b'{"raw": %b, "reference": %b}' % (escape(raw), escape(text))


def json_list(raw: str, reference: Reference, escape: Escape = ascii_text) -> bytes:
    """Write input and list of references as sorted, compact JSON (upstream since 0.3.0)."""
    listed = b",".join(map(escape, _as_list(reference)))
    return b'{"raw":%b,"reference":[%b]}' % (escape(raw), listed)


def json_list_spaced(raw: str, reference: Reference, escape: Escape = ascii_text) -> bytes:
    """Write input and list of references as sorted, spaced JSON (LightEval's converter)."""
    listed = b", ".join(map(escape, _as_list(reference)))
    return b'{"raw": %b, "reference": [%b]}' % (escape(raw), listed)


_ESCAPING: Final = {
    "json-str": json_str,
    "json-list": json_list,
    "json-list-spaced": json_list_spaced,
}

Recipe = Callable[[str, Reference], bytes]

RECIPES: Final[dict[str, Recipe]] = {"concat": concat, "concat-first": concat_first, **_ESCAPING}
"""The ways in which converters compute sample_hash, by name."""

_CONCATS: Final = frozenset({"concat", "concat-first"})


def equivalent_recipes(recipe: str) -> frozenset[str]:
    """Return the recipes that give the same digest as a recipe for at most one reference."""
    return _CONCATS if recipe in _CONCATS else frozenset({recipe})


def matching_recipes(
    digest: str,
    raw: str,
    reference: Reference,
    recipes: Sequence[str] = tuple(RECIPES),
    refuted: bytes | None = None,
) -> frozenset[str]:
    """Return the names of the recipes that give this hex digest for this input.

    The algorithm follows from the digest's length. A recipe that would have to encode half of
    a surrogate pair gives no digest; recipes that escape it do. `refuted` are bytes that are
    known not to have this digest.
    """
    compute = hash_function(ALGORITHM_OF_LENGTH[len(digest)])
    # These bytes are known to have another digest.
    others = [] if refuted is None else [refuted]
    for escape in (ascii_text, unescaped_text):
        covered = _hashed_bytes(raw, reference, recipes, escape)
        for text in covered.values():
            if text in others:
                continue
            if compute(text).hexdigest() == digest:
                return frozenset(name for name in covered if covered[name] == text)
            others.append(text)
    return frozenset()


def _hashed_bytes(
    raw: str, reference: Reference, recipes: Sequence[str], escape: Escape
) -> dict[str, bytes]:
    """Return the bytes that each recipe hashes; the texts are escaped once for all of them."""
    escape = cache(escape)
    covered: dict[str, bytes] = {}
    for name in recipes:
        with suppress(UnicodeEncodeError):
            if name in _ESCAPING:
                covered[name] = _ESCAPING[name](raw, reference, escape)
            else:
                covered[name] = RECIPES[name](raw, reference)
    return covered


def _as_list(reference: Reference) -> Sequence[str]:
    return (reference,) if isinstance(reference, str) else reference


_HELM: Final = LazyPattern(r"(?:^|[^a-z])helm(?:[^a-z]|$)")

OF_HELM: Final = "concat-first"
"""The recipe that HELM's converter follows in every version."""


def likely_recipe(counts: Mapping[str, int], rows: int, version: str, library: str | None) -> str:
    """Return the recipe of sample_hash that rows follow; `counts` says how many each explains.

    It is the preferred recipe of the version if that explains all rows. Otherwise it is the first
    one that explains most rows, in this order: the recipe of the harness (`library`, as the
    aggregate names it), the preferred one, the others in the order of RECIPES. So a row with one
    reference more than was hashed does not change the recipe of a file to concat-first. If no
    recipe explains most rows, it is the one that explains the largest number.
    """
    preferred = VERSIONS[version].preferred_recipe
    if counts.get(preferred) == rows:
        return preferred
    ordered = dict.fromkeys((OF_HELM if is_helm(library) else preferred, preferred, *RECIPES))
    by_most = (name for name in ordered if 2 * counts.get(name, 0) > rows)
    return next(by_most, max(ordered, key=lambda name: counts.get(name, 0)))


def is_helm(library: str | None) -> bool:
    """Tell whether an aggregate names HELM as the harness that wrote the run."""
    return _HELM.search((library or "").casefold()) is not None
