"""Read one line as a row: accept it, or explain all its violations, of rows alike once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from evalstream.formats.eee import versions
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.rules.version import ES215, ES216, KNOWN_NULLS, MISSING, fits_another
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation, expect_one
from evalstream.parsing import json
from evalstream.parsing.json import resolve_pointer
from evalstream.parsing.schema_files import builtin_validator
from evalstream.rules import schema, syntax
from evalstream.rules.syntax import ES113

if TYPE_CHECKING:
    from evalstream.parsing.schema_errors import Validator


Row = dict[str, Any]


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


def parse(line: bytes) -> Any:
    """Return what the fast parser reads from a line, or None if it fails."""
    try:
        return json.fast(line)
    except ValueError:
        return None


class _Accepting(dict[str, Callable[[Any], bool]]):
    """The accepting validator by declared version; compiled when a row first declares it."""

    def __init__(self, validator: Callable[[str], Validator]) -> None:
        self._validator = validator

    def __missing__(self, declared: str) -> Callable[[Any], bool]:
        if declared not in versions.KNOWN_VERSIONS:
            raise KeyError(declared)
        self[declared] = self._validator(declared.removeprefix(versions.ANNOTATION_PREFIX)).accepts
        return self[declared]


Key = tuple[Any, bytes]
"""The declared version of rows where it is unknown, and their signature."""

MOST_TEMPLATES: Final = 1 << 10
"""How many templates are kept; untrusted files may have any number of signatures."""

SHARED: Final = 0
"""The shape of a template that holds for every shape."""


class Template(NamedTuple):
    """The schema violations of a row, and the same for every row like it but for `found`."""

    violations: Sequence[Violation]

    def fill(self, row: Any) -> list[Violation]:
        """Return the violations of another row with the same template."""
        return [
            violation
            if violation.found is None
            else violation._replace(found=resolve_pointer(row, violation.pointer or ""))
            for violation in self.violations
        ]


SOUND: Final = Template(())


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
        return None if by_shape is None else by_shape.get(SHARED) or by_shape.get(shape or 1)

    def made(self, key: Key, shape: int, row: Any) -> Template:
        """Explain a row, and return its template."""
        if self._kept >= MOST_TEMPLATES:
            self._templates.clear()
            self._kept = 0
        violations, depends_on_shape = self._reader.schema_violations(row)
        template = Template(violations)
        place = (shape or 1) if depends_on_shape else SHARED
        self._templates.setdefault(key, {})[place] = template
        self._kept += 1
        return template

    def is_shared(self, key: Key) -> bool:
        """Tell whether one template holds for all rows of a signature."""
        return SHARED in self._templates.get(key, ())
