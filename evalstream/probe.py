"""Settle what the file follows before its rows are judged: hash algorithm, recipe, version."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from evalstream.aggregate import Aggregate
from evalstream.catalog import enabled_codes
from evalstream.digest import (
    ALGORITHM_OF_LENGTH,
    RECIPES,
    explained_by,
    is_hex_digest,
    normalised,
    same_for_one_reference,
)
from evalstream.formats import eee
from evalstream.model import Options
from evalstream.parsing import fast
from evalstream.rule import Context

PROBED_ROWS: Final = 256
"""How many rows at the head of a file are probed: enough to meet an unusual reference."""


def context_of(options: Options, aggregate: Aggregate | None, head: bytes) -> Context:
    """Return what the rows are to be judged by, from the options, the aggregate and the head."""
    rows = list(_rows(head))
    context = Context(
        options=options,
        enabled=enabled_codes(options),
        version=_version(options, aggregate, rows),
        links=options.links,
    )
    if aggregate is not None:
        context = replace(
            context,
            evaluation_id=aggregate.evaluation_id,
            model_id=aggregate.model_id,
            evaluation_names=aggregate.evaluation_names,
            results=aggregate.joinable(),
            library=aggregate.library,
        )
    algorithm, recipes = _recipes(context, aggregate, rows)
    return replace(context, algorithm=algorithm, recipes=recipes)


def _rows(head: bytes) -> Iterator[dict[str, Any]]:
    start = 0
    for _ in range(PROBED_ROWS):
        stop = head.find(b"\n", start)
        line = head[start : stop if stop >= 0 else len(head)]
        try:
            row = fast(line)
        except ValueError:
            row = None
        if isinstance(row, dict):
            yield row
        if stop < 0:
            return
        start = stop + 1


def _version(options: Options, aggregate: Aggregate | None, rows: list[dict[str, Any]]) -> str:
    """Choose the version that judges rows which declare none."""
    if options.schema_version != "auto":
        return options.schema_version
    declared = [row.get("schema_version") for row in rows]
    known = Counter(
        eee.nearest_version(version, instance=True)
        for version in declared
        if isinstance(version, str)
    )
    if known:
        return known.most_common(1)[0][0]
    if aggregate is not None and aggregate.version:
        return eee.nearest_version(aggregate.version, instance=True)
    return eee.DEFAULT_VERSION


def _recipes(
    context: Context, aggregate: Aggregate | None, rows: list[dict[str, Any]]
) -> tuple[str, tuple[str, ...]]:
    """Choose the algorithm and the recipes that the file can follow, best first.

    The declared algorithm is tried first, then the other. The recipes are those that give
    every hash that any recipe gives; where no recipe does, those that give most.
    """
    forced = context.options.recipe
    algorithms = _algorithms(aggregate)
    explanations = {name: list(_explanations(rows, name)) for name in algorithms}
    algorithm = next((name for name in algorithms if explanations[name]), algorithms[0])
    if forced != "auto":
        return algorithm, (forced,)
    found = explanations[algorithm]
    if not found:
        return algorithm, ()
    votes = Counter(name for names in found for name in names)
    most = max(votes.values())
    preferred = eee.VERSIONS[context.version].preferred_recipe
    best = [name for name in RECIPES if votes[name] == most]
    return algorithm, tuple(sorted(best, key=lambda name: name != preferred))


def _algorithms(aggregate: Aggregate | None) -> list[str]:
    declared = aggregate.hash_algorithm if aggregate is not None else None
    return sorted(ALGORITHM_OF_LENGTH.values(), key=lambda name: (name != declared, name == "md5"))


def _explanations(rows: list[dict[str, Any]], algorithm: str) -> Iterator[frozenset[str]]:
    """Yield the recipes of each row that has any; that of the row before is tried first."""
    compute, last = getattr(hashlib, algorithm), next(iter(RECIPES))
    for row in rows:
        digest, covered = row.get("sample_hash"), eee.hash_input(row)
        if covered is None or not isinstance(digest, str):
            continue
        bare = normalised(digest)
        if not is_hex_digest(bare) or ALGORITHM_OF_LENGTH[len(bare)] != algorithm:
            continue
        raw, reference = covered
        if isinstance(reference, str) or len(reference) <= 1:
            with suppress(UnicodeEncodeError):
                if compute(RECIPES[last](raw, reference)).hexdigest() == bare:
                    yield same_for_one_reference(last)
                    continue
        names = explained_by(bare, raw, reference)
        if names:
            last = min(names)
            yield names
