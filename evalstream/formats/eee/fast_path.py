"""Configure the fast path of a context for the C scanner, or decide that it cannot be used."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from evalstream.formats.eee import catalogue, row_view, versions
from evalstream.formats.eee.aggregate import Result
from evalstream.formats.eee.catalogue import bind_rules
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.rules.members import judges_binary_scores
from evalstream.formats.eee.rules.row import ES311, common_bounds, timed_members
from evalstream.formats.eee.rules.sample_hash import (
    HashCheck,
    hash_check,
    tried_recipes,
    wrong_hash,
)
from evalstream.formats.eee.rules.transcript import find_limits
from evalstream.formats.eee.rules.version import ES216
from evalstream.formats.eee.score_scale import CHOICE, read_scale, search_mode
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation
from evalstream.parsing import json
from evalstream.parsing.json import FAST_DEPTH, split_pointer
from evalstream.parsing.native.binding import (
    DOUBTFUL_WATCHED,
    IDENTITIES,
    RowConstraints,
    hasher,
    library,
)
from evalstream.parsing.native.binding import checks as known_checks
from evalstream.parsing.native.binding import recipes as known_recipes
from evalstream.parsing.native.binding import slots as known_slots
from evalstream.parsing.native.scanner import ScannerConfig
from evalstream.parsing.native.schema_keywords import Discriminator, NotTabled
from evalstream.parsing.native.schema_tables import Tables, build_tables
from evalstream.parsing.schema_files import builtin_schema
from evalstream.rules.base import RowCheck, Rule

if TYPE_CHECKING:
    from ctypes import CDLL

    from evalstream.formats.eee.exact_path import RowReader


_TYPES: Final = Discriminator("interaction_type", row_view.INTERACTION_TYPES)
_SEED: Final = int.from_bytes(os.urandom(8))
"""Unknown to the writer of a file, so that no two shapes can be made to have one digest."""

_TURNS: Final = "turns"
"""The scanner's name for the transcript in all versions."""

_HEX_DIGITS: Final = {"sha256": 64, "md5": 32}


Key = tuple[Any, bytes]
"""The declared version of rows where it is unknown, and their signature."""

MOST_TEMPLATES: Final = 1 << 10
"""How many templates are kept; untrusted files may have any number of signatures."""

SHARED: Final = 0
"""The shape of a template that holds for every shape."""


Template = Sequence[Violation]
"""The schema violations of a row, and the same for every row like it but for `found`."""


class RowTemplates:
    """The templates of a context by signature, and by shape where the other versions matter.

    Rows with equal signatures have the same errors under their own schema. Which other versions fit
    them depends on the whole row; if that is not already decided by the errors, on its shape.
    """

    def __init__(self, reader: RowReader) -> None:
        self._reader = reader
        self._templates: dict[Key, dict[int, Template]] = {}
        self._kept = 0

    def find_template(self, key: Key, shape: int) -> Template | None:
        """Return the template of a row, None if no row like it was explained yet."""
        by_shape = self._templates.get(key)
        return None if by_shape is None else by_shape.get(SHARED, by_shape.get(shape or 1))

    def made(self, key: Key, shape: int, row: Any) -> Template:
        """Explain a row, and return its template."""
        if self._kept >= MOST_TEMPLATES:
            self._templates.clear()
            self._kept = 0
        template, depends_on_shape = self._reader.schema_violations(row)
        place = (shape or 1) if depends_on_shape else SHARED
        self._templates.setdefault(key, {})[place] = template
        self._kept += 1
        return template

    def is_shared(self, key: Key) -> bool:
        """Tell whether one template holds for all rows of a signature."""
        return SHARED in self._templates.get(key, ())


def lists_samples(results: Iterable[Result]) -> bool:
    """Tell whether a result lists the samples that it covers."""
    return any(result.sample_ids is not None for result in results)


class ScanPlan:
    """The settings by which the scanner takes rows, and the explanations of their violations.

    `id_doubts` are those of a row with an id that is empty.
    """

    def __init__(
        self, context: RowContext, loaded: CDLL, setting: ScannerConfig, reader: RowReader
    ) -> None:
        self.context, self.setting, self.loaded = context, setting, loaded
        self.templates = RowTemplates(reader)
        self.id_doubts = _find_doubt(ES311) if ES311.code in context.enabled_codes else 0
        self.compares_answers = len(context.results) > 1
        self.lists_samples = lists_samples(context.results)

    @cached_property
    def checks(self) -> Sequence[tuple[int, RowCheck]]:
        """The checks of single rows beyond the schema, each with the doubt in which it runs."""
        checks = bind_rules(self.context, by_ids=False)
        return [(_find_doubt(rule), check) for rule, check in checks]

    @cached_property
    def check_hash(self) -> HashCheck:
        """The check of a sample_hash that is in doubt."""
        return hash_check(self.context)

    @cached_property
    def wrong_hash(self) -> Violation:
        """The violation of a hash that no recipe gives, without the values of a row."""
        return wrong_hash(self.context)


def _find_doubt(rule: Rule) -> int:
    """Return the doubt in which a rule has to be tested; none for what no taken row violates."""
    known = known_checks()
    if not rule.in_scanner:
        return DOUBTFUL_WATCHED
    return 1 << known.index(rule.code) if rule.code in known else 0


def lists_all_rows(context: RowContext) -> bool:
    """Tell whether Python looks at each row, and not only at those that are not sound."""
    samples = context.options.samples
    return (
        len(context.results) > 1
        or lists_samples(context.results)
        or context.links
        or (samples is not None and samples.cluster is not None)
    )


class _Needs(NamedTuple):
    """The key of a context's scanner tables; runs of a call may share them."""

    schema: str | None
    version: str
    algorithm: str
    enabled: frozenset[str]
    recipe: str
    tried: tuple[str, ...]
    results: tuple[Result, ...]
    library: str | None
    fits_others: bool
    lists_all: bool
    links: bool
    identity: str
    has_noise: bool


def fast_path_for(context: RowContext, reader: RowReader) -> ScanPlan | None:
    """Return the fast path of a context, or None if every row takes the exact path."""
    loaded, options = library(), context.options
    if loaded is None or options.engine != "auto" or options.max_depth < FAST_DEPTH:
        return None
    needs = _Needs(
        options.schema,
        context.version,
        context.algorithm,
        context.enabled_codes,
        context.recipes[0] if context.recipes else "",
        tried_recipes(context),
        context.results,
        context.library,
        # It is only reported of rows that choose the version which other ones fit them.
        options.schema is None and options.schema_version == "auto",
        lists_all_rows(context),
        context.links,
        options.samples.by if options.samples else "",
        options.noise is not None,
    )
    # Lists of samples may be long, and are not kept.
    make = _setting.__wrapped__ if lists_samples(context.results) else _setting
    setting = make(needs)
    return None if setting is None else ScanPlan(context, loaded, setting, reader)


@lru_cache(maxsize=64)
def _setting(needs: _Needs) -> ScannerConfig | None:
    """Return the settings of a scanner for some rows, None if it does not support them."""
    results = needs.results
    bounds, scores, limits = common_bounds(results), doubtful_scores(results), find_limits(results)
    is_known = (
        all(map(_is_double, (*bounds, *scores, *limits)))
        and needs.recipe in known_recipes()
        and needs.algorithm in _HEX_DIGITS
    )
    tables = _build_tables(needs.schema, needs.version, needs.enabled) if is_known else None
    if tables is None:
        return None
    constraints = RowConstraints(
        lowest=bounds[0],
        highest=bounds[1],
        **scores._asdict(),
        **limits._asdict(),
        wanted=tables.wanted,
        unwanted=tables.unwanted,
        seed=_SEED if needs.fits_others and ES216.code in needs.enabled else 0,
        recipe=known_recipes().index(needs.recipe),
        tried=_bits(known_recipes(), needs.tried),
        hash_digits=_HEX_DIGITS[needs.algorithm],
        times_generation="generation_time_ms" in timed_members(needs.library),
        lists_all=needs.lists_all,
        links=needs.links,
        identity=IDENTITIES.index(needs.identity),
        # A line that is not a valid row may be noise.
        deviating=not needs.has_noise,
        judges_binary=judges_binary_scores(results),
        reads_chosen=any(result.scorer == CHOICE for result in results),
        compares=len(results) > 1,
        looks_for_references=search_mode(needs.library, results),
        counts_turns=needs.version not in versions.OLDEST,
        checks=_bits(known_checks(), needs.enabled),
        transcript=row_view.transcript_key(needs.version).encode(),
    )
    return ScannerConfig(tables, constraints, hasher(needs.algorithm))


def _iterate_watched(rules: Iterable[Rule]) -> Iterator[tuple[str, ...]]:
    """Return the paths that rules read; a rule that names no path reads whole rows."""
    for pointer in chain.from_iterable(rule.reads or ("",) for rule in rules):
        yield tuple(split_pointer(pointer))


def _bits(known: tuple[str, ...], chosen: tuple[str, ...] | frozenset[str]) -> int:
    return sum(1 << bit for bit, name in enumerate(known) if name in chosen)


@lru_cache(maxsize=16)
def _build_tables(own: str | None, version: str, enabled: frozenset[str]) -> Tables | None:
    """Return the tables of a version, or of an own schema; None if tables cannot express it.

    Where ES319 is enabled they decide nothing of rows that have a second transcript under the key
    of another version.
    """
    name = versions.instance_schema_name(version)
    schema = builtin_schema(name) if own is None else json.fast(own.encode())
    transcript = row_view.transcript_key(version)
    other = {*row_view.TRANSCRIPT_KEYS} - {transcript}
    try:
        rules = catalogue.enabled_row_rules(enabled, by_ids=False)
        return build_tables(
            schema,
            known_slots(),
            _TYPES,
            {transcript: _TURNS},
            watched=frozenset(_iterate_watched(rule for rule in rules if not rule.in_scanner)),
            strict=other if "ES319" in enabled else (),
        )
    except NotTabled:
        return None


def _is_double(number: float) -> bool:
    """Tell whether a number, which may be an integer of any size, fits a double."""
    try:
        return float(number) == number
    except OverflowError:
        return False


class Doubts(NamedTuple):
    """The scores that may contradict what a row says of its answer, apart from 0 and 1.

    A right answer is in doubt up to `right_up_to` and from `right_from` on, a wrong one likewise.
    """

    right_up_to: float
    right_from: float
    wrong_from: float
    wrong_up_to: float


def doubtful_scores(results: Iterable[Result]) -> Doubts:
    """Return the scores that may contradict what a row says, whatever result it joins."""
    scales = [scale for scale in map(read_scale, results) if scale is not None]
    usual = [scale for scale in scales if not scale.is_turned]
    turned = [scale for scale in scales if scale.is_turned]
    return Doubts(
        max((scale.worst for scale in usual if scale.worst is not None), default=-math.inf),
        min((scale.worst for scale in turned if scale.worst is not None), default=math.inf),
        min((scale.best for scale in usual if scale.best is not None), default=math.inf),
        max((scale.best for scale in turned if scale.best is not None), default=-math.inf),
    )
