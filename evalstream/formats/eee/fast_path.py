"""Configure the fast path of a context for the C scanner, or decide that it cannot be used."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from evalstream.formats.eee import row_view, versions
from evalstream.formats.eee.catalogue import bound_rules
from evalstream.formats.eee.context import RowContext
from evalstream.formats.eee.rules.row import common_bounds, timed_members
from evalstream.parsing.json import FAST_DEPTH
from evalstream.parsing.native.binding import RowConstraints, ScannerConfig, hasher, library
from evalstream.parsing.native.binding import checks as known_checks
from evalstream.parsing.native.binding import prefilters as known_prefilters
from evalstream.parsing.native.binding import recipes as known_recipes
from evalstream.parsing.native.binding import slots as known_slots
from evalstream.parsing.native.schema_tables import NotTabled, Tables, pinned, tables_of
from evalstream.parsing.schema_files import builtin_schema
from evalstream.rules.base import Rule

if TYPE_CHECKING:
    pass

from evalstream.formats.eee.fast_block import FastPath, lists_samples
from evalstream.parsing.native.binding import Hasher

_KIND: Final = "interaction_type"
_TURNS: Final = "turns"
"""The scanner's name for the transcript in all versions."""

_HEX_DIGITS: Final = {"sha256": 64, "md5": 32}


def fast_path_for(context: RowContext) -> FastPath | None:
    """Return the fast path of a context, or None if every row takes the exact path."""
    loaded = library()
    if loaded is None or not _is_known(context):
        return None
    others = list(bound_rules(context, _is_not_scanned))
    shape = _shape_of(
        context.version,
        declared=context.options.schema_version == "auto",
        one_transcript="ES319" in context.enabled,
        watched=frozenset(_watched(rule for rule, _ in others if not rule.has_prefilter)),
    )
    if shape is None:
        return None
    found = hasher(context.algorithm)
    setting = ScannerConfig(shape.tables, _constraints(context, shape, found), found)
    return FastPath(context, loaded, setting, [check for _, check in others])


def _constraints(context: RowContext, shape: _Shape, found: Hasher | None) -> RowConstraints:
    """Return the constraints of a context on rows; `found` hashes them, if the scanner can."""
    lowest, highest = common_bounds(context)
    return RowConstraints(
        lowest=lowest,
        highest=highest,
        wanted=shape.tables.wanted,
        unwanted=shape.tables.unwanted,
        recipe=known_recipes().index(_recipe_of(context)),
        hash_digits=_HEX_DIGITS[context.algorithm],
        times_generation="generation_time_ms" in timed_members(context),
        keeps_texts=lists_samples(context) or found is None,
        links=context.links,
        compares=len(context.results) > 1,
        checks=_bits(known_checks(), context.enabled),
        prefilters=_bits(known_prefilters(), context.enabled),
        transcript=shape.transcript.encode(),
    )


def _is_known(context: RowContext) -> bool:
    """Tell whether the scanner supports everything that the rows of a context are checked by."""
    options, bounds = context.options, common_bounds(context)
    return (
        options.schema is None
        and options.engine == "auto"
        and options.max_depth >= FAST_DEPTH
        and all(map(_is_double, bounds))
        and _recipe_of(context) in known_recipes()
        and context.algorithm in _HEX_DIGITS
    )


def _recipe_of(context: RowContext) -> str:
    """Return the scanner's name of the recipe that the rows follow, empty for none."""
    return context.recipes[0] if context.recipes else ""


def _is_not_scanned(rule: Rule) -> bool:
    """Tell whether a rule may find something in a row that the scanner accepts."""
    return not (rule.in_scanner or rule.by_ids)


def _watched(rules: Iterable[Rule]) -> Iterator[tuple[str, ...]]:
    """Return the paths that rules read; a rule that names no path reads whole rows."""
    for pointer in chain.from_iterable(rule.reads or ("",) for rule in rules):
        names = pointer.split("/")[1:]
        yield tuple(name.replace("~1", "/").replace("~0", "~") for name in names)


def _bits(known: Iterable[str], enabled: Container[str]) -> int:
    """Return, as bits, the rules of the scanner that a context enables."""
    return sum(1 << bit for bit, code in enumerate(known) if code in enabled)


class _Shape(NamedTuple):
    """The rows of a version as scanner tables, and the version's name for the transcript."""

    tables: Tables
    transcript: str


@lru_cache(maxsize=16)
def _shape_of(
    version: str, *, declared: bool, one_transcript: bool, watched: frozenset[tuple[str, ...]]
) -> _Shape | None:
    """Return the shape of a version's rows, or None if tables cannot express it.

    With `declared` it covers only rows that declare the version, with `one_transcript` only rows
    without a second transcript under the key of another version.
    """
    schema = builtin_schema(versions.instance_schema_name(version))
    members, transcript = schema.get("properties"), row_view.transcript_key(version)
    if not isinstance(members, Mapping) or transcript not in members:
        return None
    kind = members.get(_KIND)
    if not isinstance(kind, Mapping) or tuple(kind.get("enum", ())) != row_view.INTERACTION_TYPES:
        return None
    if declared:
        schema = pinned(schema, "schema_version", versions.forms_of(version))
    if schema.get("additionalProperties", True) is not False:
        second = {"type": "null"} if one_transcript else True
        others = dict.fromkeys({*row_view.TRANSCRIPT_KEYS} - members.keys(), second)
        schema = {**schema, "properties": {**schema["properties"], **others}}
    try:
        tables = tables_of(schema, known_slots(), _KIND, {transcript: _TURNS}, watched)
    except NotTabled:
        return None
    return _Shape(tables, transcript)


def _is_double(number: float) -> bool:
    """Tell whether a number, which may be an integer of any size, fits a double."""
    try:
        return float(number) == number
    except OverflowError:
        return False
