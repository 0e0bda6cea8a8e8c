"""The exact path: read and explain single rows, and apply the rules beyond the schema to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evalstream.engine.result import BlockFindings, SketchedFindings
from evalstream.formats.eee import facts, versions
from evalstream.formats.eee.catalogue import bind_rules
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.row_groups import RowGroups
from evalstream.formats.eee.rules import sample_hash
from evalstream.formats.eee.rules.attribution import ES303, has_source
from evalstream.formats.eee.rules.evidence import ES808
from evalstream.formats.eee.rules.source import ALGORITHM, ES410, is_comparable
from evalstream.formats.eee.rules.transcript import ES320, asks_question
from evalstream.formats.eee.rules.version import (
    ES215,
    ES216,
    KNOWN_NULLS,
    MISSING,
    fits_another,
    possible_versions,
    versions_that_fit,
)
from evalstream.formats.eee.score_scale import search_mode
from evalstream.model.block import Lines
from evalstream.model.finding import Violation, expect_one
from evalstream.parsing import json
from evalstream.parsing.schema_files import builtin_validator
from evalstream.rules import schema, syntax
from evalstream.rules.base import RowCheck
from evalstream.rules.inputs import noise_check
from evalstream.rules.syntax import ES113

if TYPE_CHECKING:
    from evalstream.parsing.schema_errors import Validator


Row = dict[str, Any]


class ExactPath:
    """The checks of a context in Python: the reader of rows, and rules bound on demand."""

    def __init__(self, context: RowContext) -> None:
        self.context = context
        self.reader = RowReader(context)
        self._by_ids = [check for _, check in bind_rules(context, by_ids=True)]
        self.is_noise = noise_check(context.options)
        # Copies of a sample are compared only if a sample can have several.
        self.compares_answers = len(context.results) > 1

    @cached_property
    def checks(self) -> list[RowCheck]:
        """The checks of single rows, bound when a row first takes the exact path."""
        return [check for _, check in bind_rules(self.context, by_ids=False)]

    @cached_property
    def compares_log(self) -> bool:
        """Whether inputs are compared with the hashes that a harness logged."""
        return ES410.code in self.context.enabled_codes and self.context.algorithm == ALGORITHM

    @cached_property
    def habits(self) -> list[tuple[str, Callable[[Row], bool | None]]]:
        """Properties that rows of a file usually share, by name."""
        enabled = self.context.enabled_codes
        known = (
            (ES320.code in enabled, facts.PROMPT, asks_question),
            (ES303.code in enabled, facts.SOURCE, has_source),
            (self.compares_log, facts.LOG, is_comparable),
        )
        return [(name, keeps) for is_wanted, name, keeps in known if is_wanted]

    @cached_property
    def judges(self) -> bool:
        """Whether rows are counted by what they call right answers."""
        return ES808.code in self.context.enabled_codes

    @cached_property
    def search_mode(self) -> int:
        """Return how right answers show a reference, as in `score_scale.search_mode`."""
        return search_mode(self.context.library, self.context.results)

    @cached_property
    def check_hash(self) -> sample_hash.HashCheck:
        """The check of sample_hash, bound in the same way."""
        return sample_hash.hash_check(self.context)

    def findings(self, lines: Lines) -> BlockFindings:
        """Return what collects the violations of a block, and its sketch if it is asked for."""
        if not self.context.options.sketches:
            return BlockFindings(self.context.options, self.context.selection, lines.unshown)
        from evalstream.formats.eee.compared import row_figures

        return SketchedFindings(self.context, lines, row_figures)

    def groups(self) -> RowGroups:
        """Return the row groups of a block that has no rows yet."""
        return RowGroups(self.context, self._by_ids)


class RowReader:
    """Reads and checks rows as a context asks."""

    def __init__(self, context: RowContext) -> None:
        self._context = context
        options = context.options
        self._own_schema = options.schema is None
        # The exact path applies a limit below the parser's own depth.
        self._shallow = options.max_depth < json.FAST_DEPTH
        self._accepting = _Accepting(self._validator)
        self._only: Validator | None = None
        if options.schema is not None:
            from evalstream.parsing.json_schema import compile_schema

            self._only = compile_schema(json.fast(options.schema.encode()), options.engine)
        elif options.schema_version != "auto":
            self._only = self._validator(options.schema_version)
        else:
            # Compiled here, before workers are forked.
            self._accepting[context.version]

    def is_valid(self, row: Any) -> bool:
        """Tell whether the fast parser's result is certainly a well-formed row."""
        try:
            only = self._only
            accepts = self._accepting[row["schema_version"]] if only is None else only.accepts
        except (KeyError, TypeError):
            return False
        return row.__class__ is dict and accepts(row) and not self._shallow

    def explain(
        self, line: bytes, *, torn: bool, read: Any = None, offset: int = 0
    ) -> tuple[Row | None, list[Violation]]:
        """Return the row of a line, or None, and all violations of the line by itself.

        `read` is the result of the fast parser; no second parser is needed if its numbers are
        finite, which is the only thing that parser does not check. `offset` is the line's offset.
        """
        if read.__class__ is dict and not self._shallow and json.is_finite(read):
            return read, self.schema_violations(read)[0]
        depth = self._context.options.max_depth
        reading = syntax.read_object(line, depth, torn=torn, noun="a row", offset=offset)
        violations = [one.violation for one in reading.violations]
        if reading.value is None:
            return None, violations
        try:
            violations.extend(reading.filter_violations(self.schema_violations(reading.value)[0]))
        except RecursionError:
            return None, [
                *violations,
                ES113.violation("nested too deep to be checked against the schema"),
            ]
        return reading.value, violations

    def schema_violations(self, row: Row) -> tuple[list[Violation], bool]:
        """Return the violations of the schema and the version by a row without infinite numbers.

        The second value tells whether the other versions that fit were found by trying them.
        """
        options = self._context.options
        if self._only is not None:
            version = "" if options.schema else options.schema_version
            return schema.explain_schema(
                self._only.errors(row),
                own=self._own_schema,
                version=version,
                missing=MISSING if self._own_schema else {},
                known_nulls=KNOWN_NULLS if self._own_schema else {},
            ), False
        version, unknown = self._checked_version(row)
        found = list(self._validator(version).errors(row))
        violations = schema.explain_schema(
            found, own=True, version=version, missing=MISSING, known_nulls=KNOWN_NULLS
        )
        if not violations or ES216.code not in self._context.enabled_codes:
            return unknown + violations, False
        possible = possible_versions(version, found, instance=True)
        fitting = (
            versions_that_fit(row, version, options.engine, instance=True, violations=found)
            if possible
            else []
        )
        return [*unknown, *fits_another(version, fitting), *violations], bool(possible)

    def _checked_version(self, row: Row) -> tuple[str, list[Violation]]:
        """Return the version that checks a row, and a violation if the declared one is unknown."""
        declared = row.get("schema_version")
        if not isinstance(declared, str):
            return self._context.version, []
        version = versions.nearest_version(declared, instance=True)
        if versions.is_known(declared, instance=True):
            return version, []
        message = f"unknown version; the row is checked against {version}"
        place: dict[str, Any] = {"pointer": "/schema_version", "found": declared}
        return version, [
            ES215.violation(message, expected=expect_one(versions.INSTANCE_VERSIONS), **place)
        ]

    def _validator(self, version: str) -> Validator:
        name = versions.instance_schema_name(version)
        return builtin_validator(name, self._context.options.engine)


class _Accepting(dict[str, Callable[[Any], bool]]):
    """The accepting validator by declared version; compiled when a row first declares it."""

    def __init__(self, validator: Callable[[str], Validator]) -> None:
        self._validator = validator

    def __missing__(self, declared: str) -> Callable[[Any], bool]:
        if declared not in versions.KNOWN_VERSIONS:
            raise KeyError(declared)
        self[declared] = self._validator(declared.removeprefix(versions.ANNOTATION_PREFIX)).accepts
        return self[declared]
