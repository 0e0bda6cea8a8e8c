"""The engine of rows: what a context asks of each of them, and the passes over their blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from evalstream.engine.result import BlockFindings, BlockResult
from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import Join
from evalstream.formats.eee.block_pass import BlockPass, Row
from evalstream.formats.eee.catalogue import bind_rules
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.row_groups import RowGroups
from evalstream.formats.eee.rules import habits, sample_hash
from evalstream.formats.eee.rules.attribution import ES303, has_source
from evalstream.formats.eee.rules.coverage import ES608
from evalstream.formats.eee.rules.evidence import ES808
from evalstream.formats.eee.rules.sample_hash import Duplicate
from evalstream.formats.eee.rules.source import ALGORITHM, ES410
from evalstream.formats.eee.rules.transcript import ES320, asks_question
from evalstream.formats.eee.rules.version import ES215, ES216, KNOWN_NULLS, MISSING, fits_another
from evalstream.model.block import Lines
from evalstream.model.finding import Severity, Violation, expect_one
from evalstream.parsing import json
from evalstream.parsing.schema_files import builtin_validator
from evalstream.rules import schema, syntax
from evalstream.rules.base import RowCheck, Where
from evalstream.rules.inputs import noise_check
from evalstream.rules.syntax import ES113
from evalstream.stats.duplicates import DuplicateKind, DuplicateMatch
from evalstream.stats.tally import Tally

if TYPE_CHECKING:
    from evalstream.formats.eee.fast_block import FastBlock
    from evalstream.formats.eee.fast_path import ScanPlan
    from evalstream.parsing.schema_errors import Validator


WORTH_A_SCANNER_BYTES = 1 << 19
"""From this size in bytes it is worth loading the fast path."""


class RowEngine:
    """A pure function of (bytes, context): holds compiled rules; no state changes a result."""

    _expected: ClassVar[int] = 0

    def __init__(self, context: RowContext) -> None:
        self.context = context
        self.reader = RowReader(context)
        self._join = Join(context.results)
        self._by_ids = _bound(context, by_ids=True)
        self._fast_path: ScanPlan | None = None
        self._is_ready = False
        self.is_noise = noise_check(context.options)
        # Copies of a sample are compared only if a sample can have several.
        self.compares_answers = len(context.results) > 1

    @cached_property
    def checks(self) -> list[RowCheck]:
        """The checks of single rows, bound when a row first takes the exact path."""
        return _bound(self.context, by_ids=False)

    @cached_property
    def compares_log(self) -> bool:
        """Whether inputs are compared with the hashes that a harness logged."""
        return ES410.code in self.context.enabled_codes and self.context.algorithm == ALGORITHM

    @cached_property
    def habits(self) -> list[tuple[str, Callable[[Row], bool | None]]]:
        """What rows of a file usually have in common, by its name."""
        known = ((ES320, habits.PROMPT, asks_question), (ES303, habits.SOURCE, has_source))
        enabled = self.context.enabled_codes
        return [(name, keeps) for rule, name, keeps in known if rule.code in enabled]

    @cached_property
    def judges(self) -> bool:
        """Whether rows are counted by what they call right answers."""
        return ES808.code in self.context.enabled_codes

    @cached_property
    def check_hash(self) -> sample_hash.HashCheck:
        """The check of sample_hash, bound in the same way."""
        return sample_hash.hash_check(self.context)

    def run(self, lines: Lines) -> BlockResult:
        """Check whole lines of an input."""
        self.expect(len(lines.data))
        return BlockPass(self, lines).result()

    def expect(self, size: int) -> None:
        """Prepare for `size` more bytes, before workers are forked.

        The fast path is loaded and compiled when the size makes it worthwhile.
        """
        RowEngine._expected += size
        if not self._is_ready and RowEngine._expected >= WORTH_A_SCANNER_BYTES:
            from evalstream.formats.eee.fast_path import fast_path_for

            self._is_ready = True
            self._fast_path = fast_path_for(self.context, self.reader)

    def is_native(self, sample: bytes) -> bool:
        """Tell whether the scanner takes most rows of a sample, and leaves little to Python.

        Python words each finding that is shown, and without a limit all are.
        """
        whole = sample[: sample.rfind(b"\n") + 1]
        if self._fast_path is None or not whole:
            return False
        check = BlockPass(self, Lines(whole))
        result = check.result()
        shown = 0 if self.context.options.max_findings else len(result.violations)
        return 4 * (check.slow_lines + shown) < result.tally.lines

    def findings(self, lines: Lines) -> BlockFindings:
        """Return what collects the violations of a block, and its sketch if it is asked for."""
        if not self.context.options.sketches:
            return BlockFindings(self.context.options, self.context.selection, lines.unshown)
        from evalstream.engine.result import SketchedFindings
        from evalstream.formats.eee.compared import row_figures

        return SketchedFindings(self.context, lines, row_figures)

    def groups(self) -> RowGroups:
        """Return the row groups of a block that has no rows yet."""
        return RowGroups(self.context, self._join, self._by_ids)

    def taking(
        self,
        groups: RowGroups,
        tally: Tally,
        findings: BlockFindings,
        lines: Lines,
        offsets: Sequence[int] | None,
    ) -> FastBlock | None:
        """Return the fast path of a block, or None if every row takes the exact path."""
        if self._fast_path is None or lines.overlong:
            return None
        from evalstream.formats.eee.fast_block import FastBlock

        return FastBlock(self._fast_path, groups, tally, findings, lines, offsets)


def _bound(context: RowContext, *, by_ids: bool) -> list[RowCheck]:
    """Return the enabled checks of rows: those that read only ids, or all others."""
    return [check for _, check in bind_rules(context, by_ids=by_ids)]


class EngineContext(RowContext, frozen=True):
    """The context of rows with the engine that checks them."""

    def checker(self) -> RowEngine:
        """Return the row engine of this context, compiled once per process."""
        return _make_engine(self)

    def duplicate(self, match: DuplicateMatch, where: Where) -> Violation:
        """Return the violation of a row with the score or input of an earlier one."""
        is_of_scorers = match.kind is DuplicateKind.OTHER_OUTPUT and self._shows_answers_of_scorers
        rule, message, pointer, severity = OF_SCORERS if is_of_scorers else DUPLICATES[match.kind]
        text = message.format(where(match.earlier))
        return rule.violation(text, pointer=pointer, severity=severity)

    @property
    def _shows_answers_of_scorers(self) -> bool:
        """Whether the converter of Inspect wrote rows of several scorers.

        It writes the answer or the explanation of the scorer in place of the output.
        """
        if "inspect" not in (self.library or "").casefold():
            return False
        scorers = {result.id.rpartition(":")[0] for result in self.results if result.id}
        return len(scorers - {""}) > 1


OF_SCORERS: Final = Duplicate(
    ES608,
    "output differs from that of the same sample under another result; the converter of "
    "Inspect shows the answer or the explanation of each scorer there",
    severity=Severity.INFO,
)
"""What ES608 says where converters are known to write several outputs of a sample."""

_OTHER_OUTPUT: Final = "choices or output differ from those of the same sample {}"

DUPLICATES: Final = {
    **sample_hash.DUPLICATES,
    DuplicateKind.OTHER_OUTPUT: Duplicate(ES608, _OTHER_OUTPUT),
}
"""The violations of repeated rows, by the kind of the repetition."""


@lru_cache(maxsize=8)
def _make_engine(context: RowContext) -> RowEngine:
    return RowEngine(context)


class RowReader:
    """Reads and checks rows as a context asks."""

    def __init__(self, context: RowContext) -> None:
        self._context = context
        options = context.options
        self._own_schema = options.schema is None
        # A limit below the parser's own depth is left to the exact path.
        self._shallow = options.max_depth < json.FAST_DEPTH
        self._accepting = _Accepting(self._validator)
        self._only: Validator | None = None
        if options.schema is not None:
            from evalstream.parsing.json_schema import compile_schema

            self._only = compile_schema(
                json.fast(options.schema.encode()), options.engine, trusted=False
            )
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
        if read.__class__ is dict and not self._shallow and self._is_finite(read):
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
        from evalstream.formats.eee.rules.version import possible_versions, versions_that_fit

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

    @cached_property
    def _is_finite(self) -> Callable[[Any], bool]:
        from evalstream.parsing.json_schema import finite_check

        return finite_check(self._context.options.engine)

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
