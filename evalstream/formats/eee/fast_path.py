"""Configure the fast path of a context for the C scanner, or decide that it cannot be used."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import chain
from typing import Final

from evalstream.formats.eee import catalogue, row_view, versions
from evalstream.formats.eee.catalogue import bound_rules
from evalstream.formats.eee.context import RowContext
from evalstream.formats.eee.fast_block import FastPath, lists_all_rows
from evalstream.formats.eee.row_reader import RowReader
from evalstream.formats.eee.rules.evidence import doubtful_scores
from evalstream.formats.eee.rules.members import judges_binary_scores
from evalstream.formats.eee.rules.row import ES311, common_bounds, timed_members
from evalstream.formats.eee.rules.sample_hash import tried_recipes
from evalstream.formats.eee.rules.version import ES216
from evalstream.formats.eee.taken_violations import doubt_of
from evalstream.parsing import json
from evalstream.parsing.json import FAST_DEPTH
from evalstream.parsing.native.binding import (
    IDENTITIES,
    RowConstraints,
    ScannerConfig,
    hasher,
    library,
)
from evalstream.parsing.native.binding import checks as known_checks
from evalstream.parsing.native.binding import recipes as known_recipes
from evalstream.parsing.native.binding import slots as known_slots
from evalstream.parsing.native.schema_tables import Discriminator, NotTabled, Tables, tables_of
from evalstream.parsing.schema_files import builtin_schema
from evalstream.rules.base import RowCheck, Rule

_TYPES: Final = Discriminator("interaction_type", row_view.INTERACTION_TYPES)
_SEED: Final = int.from_bytes(os.urandom(8))
"""Unknown to the writer of a file, so that no two shapes can be made to have one digest."""

_TURNS: Final = "turns"
"""The scanner's name for the transcript in all versions."""

_HEX_DIGITS: Final = {"sha256": 64, "md5": 32}


def fast_path_for(context: RowContext, reader: RowReader) -> FastPath | None:
    """Return the fast path of a context, or None if every row takes the exact path."""
    loaded = library()
    if loaded is None or not _is_known(context):
        return None
    tables = _tables_of(
        context.options.schema,
        context.version,
        one_transcript="ES319" in context.enabled,
        watched=_watched_members(context.enabled),
    )
    if tables is None:
        return None
    found = hasher(context.algorithm)
    if found is None:
        return None
    setting = ScannerConfig(tables, _constraints(context, tables), found)
    id_doubts = 1 << known_checks().index(ES311.code) if ES311.code in context.enabled else 0
    return FastPath(context, loaded, setting, reader, partial(_checks_of, context), id_doubts)


def _checks_of(context: RowContext) -> list[tuple[int, RowCheck]]:
    """Return the checks of single rows, each with the doubt in which it runs."""
    checks = bound_rules(context, lambda rule: not rule.by_ids)
    return [(_doubt_of(rule), check) for rule, check in checks]


def _watched_members(enabled: frozenset[str]) -> frozenset[tuple[str, ...]]:
    """Return the paths that the enabled rules read that the scanner does not know."""
    rules = catalogue.enabled_row_rules(enabled)
    return frozenset(_watched(rule for rule in rules if not (rule.by_ids or rule.in_scanner)))


def _doubt_of(rule: Rule) -> int:
    """Return the doubt in which a rule has to be tested; none for what no taken row violates."""
    known = known_checks()
    if not rule.in_scanner:
        return doubt_of(None)
    return doubt_of(known.index(rule.code)) if rule.code in known else 0


def _constraints(context: RowContext, tables: Tables) -> RowConstraints:
    """Return the constraints of a context on rows."""
    lowest, highest = common_bounds(context)
    return RowConstraints(
        lowest=lowest,
        highest=highest,
        **doubtful_scores(context)._asdict(),
        wanted=tables.wanted,
        unwanted=tables.unwanted,
        seed=_SEED if _may_fit_others(context) else 0,
        recipe=known_recipes().index(_recipe_of(context)),
        tried=_bits(known_recipes(), tried_recipes(context)),
        hash_digits=_HEX_DIGITS[context.algorithm],
        times_generation="generation_time_ms" in timed_members(context),
        lists_all=lists_all_rows(context),
        links=context.links,
        identity=IDENTITIES.index(context.options.samples.by if context.options.samples else ""),
        # A line that is not a valid row may be noise.
        deviating=context.options.noise is None,
        judges_binary=judges_binary_scores(context),
        compares=len(context.results) > 1,
        checks=_bits(known_checks(), context.enabled),
        transcript=row_view.transcript_key(context.version).encode(),
    )


def _is_known(context: RowContext) -> bool:
    """Tell whether the scanner supports everything that the rows of a context are checked by."""
    options = context.options
    bounds = *common_bounds(context), *doubtful_scores(context)
    return (
        options.engine == "auto"
        and options.max_depth >= FAST_DEPTH
        and all(map(_is_double, bounds))
        and _recipe_of(context) in known_recipes()
        and context.algorithm in _HEX_DIGITS
    )


def _recipe_of(context: RowContext) -> str:
    """Return the scanner's name of the recipe that the rows follow, empty for none."""
    return context.recipes[0] if context.recipes else ""


def _watched(rules: Iterable[Rule]) -> Iterator[tuple[str, ...]]:
    """Return the paths that rules read; a rule that names no path reads whole rows."""
    for pointer in chain.from_iterable(rule.reads or ("",) for rule in rules):
        names = pointer.split("/")[1:]
        yield tuple(name.replace("~1", "/").replace("~0", "~") for name in names)


def _may_fit_others(context: RowContext) -> bool:
    """Tell whether it is reported which other versions fit a row."""
    options = context.options
    return (
        ES216.code in context.enabled
        and options.schema is None
        and options.schema_version == "auto"
    )


@lru_cache
def _bits(known: tuple[str, ...], chosen: tuple[str, ...] | frozenset[str]) -> int:
    """Return, as bits, which of the known names are chosen."""
    return sum(1 << bit for bit, name in enumerate(known) if name in chosen)


@lru_cache(maxsize=16)
def _tables_of(
    own: str | None, version: str, *, one_transcript: bool, watched: frozenset[tuple[str, ...]]
) -> Tables | None:
    """Return the tables of a version, or of an own schema; None if tables cannot express it.

    With `one_transcript` they decide nothing of rows that have a second transcript under the key
    of another version.
    """
    name = versions.instance_schema_name(version)
    schema = builtin_schema(name) if own is None else json.fast(own.encode())
    transcript = row_view.transcript_key(version)
    other = {*row_view.TRANSCRIPT_KEYS} - {transcript}
    try:
        return tables_of(
            schema,
            known_slots(),
            _TYPES,
            {transcript: _TURNS},
            watched=watched,
            strict=other if one_transcript else (),
        )
    except NotTabled:
        return None


def _is_double(number: float) -> bool:
    """Tell whether a number, which may be an integer of any size, fits a double."""
    try:
        return float(number) == number
    except OverflowError:
        return False
