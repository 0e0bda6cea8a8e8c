"""The portable schema engine: fastjsonschema accepts, python-jsonschema explains."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from evalstream.model.errors import MissingExtra, UsageError, install_command
from evalstream.parsing import schema_errors
from evalstream.parsing.acceptor_code import acceptor_code, ecma
from evalstream.parsing.json import is_accepted, is_finite, resolve
from evalstream.parsing.linear_regex import bounded_search


class PortableValidator:
    """A compiled schema for both speeds; `trusted` as in `compile_schema`."""

    def __init__(self, schema: Any, *, trusted: bool) -> None:
        self._schema = schema
        self._trusted = trusted
        self._reference = _reference_validator(schema, trusted=trusted)
        fast = _fast_check(schema) if trusted else None
        self._fits = fast or self._reference.is_valid

    def accepts(self, value: Any) -> bool:
        """Return True only if `value` is valid and contains no infinite number."""
        return is_finite(value) and self.fits(value)

    def fits(self, value: Any) -> bool:
        """Tell whether a value without infinite numbers is valid."""
        with _no_network():
            return bool(self._fits(value))

    def errors(self, value: Any) -> Iterator[schema_errors.SchemaError]:
        """Iterate over all errors of `value`."""
        seen: set[tuple[schema_errors.Path_, schema_errors.Path_]] = set()
        with _no_network():
            for error in self._reference.iter_errors(value):
                yield from self._translate(error, value, seen)

    def _translate(
        self, error: Any, root: Any, seen: set[tuple[schema_errors.Path_, schema_errors.Path_]]
    ) -> Iterator[schema_errors.SchemaError]:
        path, route = tuple(error.absolute_path), tuple(error.absolute_schema_path)
        found = resolve(root, path)
        translated = schema_errors.SchemaError(
            path=path,
            keyword=error.validator or "falseSchema",
            route=route,
            expected=schema_errors.keyword_payload(error.validator, error.validator_value),
            found=found,
            optional=schema_errors.is_optional(self._schema, path),
        )
        if error.validator in ("required", "additionalProperties"):
            if (path, route) in seen:
                return
            seen.add((path, route))
            known = schema_errors.known_members(self._schema, path)
            for member in _members_of_error(error, found, trusted=self._trusted):
                yield translated.about(member, resolve(found, (member,)), known)
        elif error.validator in ("oneOf", "anyOf"):
            branches: list[list[schema_errors.SchemaError]] = [[] for _ in error.validator_value]
            for inner in error.context or ():
                branches[inner.schema_path[0]].extend(self._translate(inner, root, set()))
            yield translated._replace(variants=tuple(map(tuple, branches)), expected=None)
        else:
            yield translated


def _reference_validator(schema: Any, *, trusted: bool) -> Any:
    try:
        import jsonschema
    except ImportError as error:
        message = f"the portable engine needs: {install_command('portable')}"
        raise MissingExtra(message) from error
    draft = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    try:
        draft.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise UsageError(f"not a usable JSON Schema: {error.message}") from error

    import referencing

    if trusted:
        own = {"pattern": _make_pattern(jsonschema, trusted=True)}
    else:
        _refuse_patterns(schema)
        own = _own_keywords(jsonschema)
    patterned = jsonschema.validators.extend(draft, own)
    return patterned(schema, registry=referencing.Registry())


def _make_pattern(jsonschema: Any, *, trusted: bool) -> Callable[..., Iterator[Any]]:
    """Return the keyword `pattern` with the semantics of ECMA 262."""

    def pattern(_: Any, expression: str, value: Any, __: Any) -> Iterator[Any]:
        if isinstance(value, str) and not _search(expression, trusted=trusted)(value):
            yield jsonschema.ValidationError("does not match the pattern")

    return pattern


def _own_keywords(jsonschema: Any) -> dict[str, Callable[..., Iterator[Any]]]:
    """Return the keywords with patterns, for schemas of users, with bounded backtracking."""

    def pattern_properties(validator: Any, patterns: Any, value: Any, _: Any) -> Iterator[Any]:
        for expression, inner in patterns.items() if isinstance(value, dict) else ():
            for name in filter(bounded_search(expression), value):
                yield from validator.descend(value[name], inner, path=name, schema_path=expression)

    def additional(validator: Any, allowed: Any, value: Any, schema: Any) -> Iterator[Any]:
        others = _others(schema, value) if isinstance(value, dict) else []
        for name in others if isinstance(allowed, dict) else ():
            yield from validator.descend(value[name], allowed, path=name)
        if allowed is False and others:
            yield jsonschema.ValidationError("has unknown members")

    return {
        "pattern": _make_pattern(jsonschema, trusted=False),
        "patternProperties": pattern_properties,
        "additionalProperties": additional,
    }


def _search(expression: str, *, trusted: bool) -> Callable[[str], Any]:
    if trusted:
        return re.compile(ecma(expression)).search
    return bounded_search(expression)


def _others(schema: Any, found: dict[str, Any], *, trusted: bool = False) -> list[str]:
    """Return the members that neither `properties` nor `patternProperties` covers."""
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    searches = [_search(pattern, trusted=trusted) for pattern in patterns]
    return [
        name
        for name in found
        if name not in named and not any(is_found(name) for is_found in searches)
    ]


_DATA: Final = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose values are not schemas."""


def _refuse_patterns(node: Any) -> None:
    """Raise UsageError for invalid patterns, and for those that the library would search itself."""
    pending = [node]
    while pending:
        schema_node = pending.pop()
        if isinstance(schema_node, list):
            pending += schema_node
        if not isinstance(schema_node, dict):
            continue
        pending += [inner for keyword, inner in schema_node.items() if keyword not in _DATA]
        patterns = schema_node.get("patternProperties")
        for expression in [
            schema_node.get("pattern"),
            *(patterns if isinstance(patterns, dict) else ()),
        ]:
            if isinstance(expression, str):
                bounded_search(expression)
        if isinstance(patterns, dict) and "unevaluatedProperties" in json.dumps(node):
            raise UsageError(
                "the portable engine does not support unevaluatedProperties with patternProperties"
            )


@contextlib.contextmanager
def _no_network() -> Iterator[None]:
    """Raise UsageError for a reference outside of the schema; nothing is fetched."""
    import referencing

    try:
        yield
    except referencing.exceptions.Unresolvable as error:
        raise UsageError(f"cannot resolve the reference {error.ref} of the schema") from error


def _members_of_error(error: Any, found: dict[str, Any], *, trusted: bool) -> list[str]:
    if error.validator == "required":
        return [name for name in error.validator_value if name not in found]
    if isinstance(error.validator_value, dict):
        return []
    return _others(error.schema, found, trusted=trusted)


def _fast_check(schema: Any) -> Callable[[Any], bool] | None:
    """Return the fast check of a schema, or None where fastjsonschema generates invalid code."""
    module: dict[str, Any] = {}
    try:
        exec(acceptor_code(schema), module)  # noqa: S102 - the schema is one of the package
    except SyntaxError:
        return None
    return partial(is_accepted, module["validate"])
