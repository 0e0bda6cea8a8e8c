"""JSON Schema validation with jsonschema-rs, and the schemas of the package.

A validator has two speeds. `accepts` quickly returns True for most valid values; `errors` returns
everything that is wrong with a value, as data that does not depend on the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final

from evalstream.model.errors import UsageError
from evalstream.parsing.json import is_finite, resolve
from evalstream.parsing.linear_regex import backtracking_options
from evalstream.parsing.schema_errors import (
    UNDECIDED,
    Path_,
    SchemaError,
    Validator,
    is_optional,
    keyword_payload,
    known_members,
)

_EMPTY_KEY: Final = "\ue000 the empty key"


def compile_schema(schema: Any, engine: str = "auto", *, trusted: bool = False) -> Validator:
    """Compile a schema document (drafts 4, 6, 7, 2019-09 and 2020-12; without network).

    `trusted` schemas are those of the package, for which tests prove that fastjsonschema accepts
    nothing that the specification refuses. Raises UsageError for an invalid schema.
    """
    if engine == "portable":
        from evalstream.parsing.json_schema_portable import PortableValidator

        return PortableValidator(schema, trusted=trusted)
    return _RustValidator(schema, trusted=trusted)


class _RustValidator:
    """A schema compiled by jsonschema-rs, for both speeds."""

    def __init__(self, schema: Any, *, trusted: bool) -> None:
        self._schema = schema
        self._options = None if trusted else backtracking_options()
        if not trusted:
            self._compiled  # noqa: B018 - it raises UsageError for a schema that is not valid

    @cached_property
    def _compiled(self) -> Any:
        return _compile_schema(self._schema, options=self._options)

    @cached_property
    def accepts(self) -> Callable[[Any], bool]:
        """The fast check, compiled on first use."""
        fits = self._compiled.is_valid
        return lambda value: fits(value) and is_finite(value)

    def fits(self, value: Any) -> bool:
        try:
            fits: bool = self._compiled.is_valid(value)
        except ValueError as error:
            raise _translate_recursion(error) from error
        return fits

    def errors(self, value: Any) -> list[SchemaError]:
        try:
            return self._errors(value)
        except _EmptyKeyError:
            renamed = _rename_key(value, "", _EMPTY_KEY)
            found = list(map(_with_empty_keys, self._errors(renamed)))
            if not found and not self._compiled.is_valid(value):
                # A pattern of the schema matches the substitute name, but not the empty one.
                return [SchemaError((), "patternProperties", ("patternProperties",), None, value)]
            return found
        except ValueError as error:
            raise _translate_recursion(error) from error

    def _errors(self, value: Any) -> list[SchemaError]:
        errors = self._compiled.iter_errors(value)
        return [one for error in errors for one in self._translate(error, value)]

    def _translate(self, error: Any, root: Any) -> Iterable[SchemaError]:
        path, found = _true_path(error.instance_path, root)
        route = tuple(error.evaluation_path)
        kind = error.kind
        keyword, payload = kind.name, kind.as_dict()
        if keyword == "pattern" and "error" in payload:
            # A pattern may exceed the limit of backtracking steps.
            pattern = _pattern_at(self._schema, error.schema_path)
            return (SchemaError(path, UNDECIDED, route, pattern, found, None),)
        if keyword == "required":
            return (SchemaError(path, keyword, route, None, None, payload["property"]),)
        if "unexpected" in payload:
            members = known_members(self._schema, path)
            return [
                SchemaError(
                    path, keyword, route, None, resolve(found, (name,)), name, known=members
                )
                for name in map(str, payload["unexpected"])
            ]
        optional = is_optional(self._schema, path)
        if "context" in payload:
            variants = tuple(
                tuple(error for inner in branch for error in self._translate(inner, root))
                for branch in payload["context"]
            )
            return (
                SchemaError(path, keyword, route, None, found, None, optional, variants=variants),
            )
        # The payload of propertyNames is an error, not data.
        value = None if keyword == "propertyNames" else next(iter(payload.values()), None)
        expected = keyword_payload(keyword, value)
        return (SchemaError(path, keyword, route, expected, found, None, optional),)


def _pattern_at(schema: Any, route: Iterable[str | int]) -> str:
    steps = tuple(route)
    found = resolve(schema, steps)
    return found if isinstance(found, str) else str(steps[-1])


def _compile_schema(schema: Any, *, options: Any = None) -> Any:
    """Compile a schema; `options` configure the engine of its patterns."""
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(
            schema, retriever=_refuse, mask="", pattern_options=options
        )
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"not a usable JSON Schema: {reason}") from error


def _refuse(address: str) -> Any:
    """Refuse to fetch: jsonschema-rs calls this for references outside of a schema."""
    raise LookupError(f"{address} is not fetched")


def _rename_key(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        renamed = {
            new if key == old else key: _rename_key(inner, old, new) for key, inner in value.items()
        }
        return value if renamed == value else renamed
    if isinstance(value, list):
        return [_rename_key(item, old, new) for item in value]
    return value


def _with_empty_keys(error: SchemaError) -> SchemaError:
    return error._replace(
        path=tuple("" if key == _EMPTY_KEY else key for key in error.path),
        found=_rename_key(error.found, _EMPTY_KEY, ""),
        member="" if error.member == _EMPTY_KEY else error.member,
        variants=tuple(tuple(map(_with_empty_keys, branch)) for branch in error.variants),
    )


def _true_path(steps: Iterable[str | int], root: Any) -> tuple[Path_, Any]:
    """Return the path to a value, and the value, from a path of jsonschema-rs.

    jsonschema-rs writes a key of digits as a number. It omits empty keys, which makes the path
    ambiguous: then this raises _EmptyKeyError.
    """
    path: list[str | int] = []
    node = root
    for step in steps:
        key = step
        if node.__class__ is dict:
            _require_keys(node)
            key = str(step)
        node = resolve(node, (key,))
        path.append(key)
    _require_keys(node)
    return tuple(path), node


def _translate_recursion(error: ValueError) -> Exception:
    """Return RecursionError for the error of jsonschema-rs above 255 levels of nesting."""
    return RecursionError(str(error)) if "ecursion" in str(error) else error


class _EmptyKeyError(Exception):
    """An object has an empty key, which jsonschema-rs omits from paths."""


def _require_keys(node: Any) -> None:
    if node.__class__ is dict and "" in node:
        raise _EmptyKeyError
