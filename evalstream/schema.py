"""JSON Schema: the only home of jsonschema-rs, fastjsonschema and python-jsonschema.

A validator has two speeds. `accepts` answers yes quickly or does not commit itself; `faults`
says everything that is wrong with a value, as data that no longer depends on the library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from evalstream.errors import MissingExtra, UsageError
from evalstream.parsing import resolve

ENGINES: Final = ("auto", "rust", "portable")
DRAFT_7: Final = "http://json-schema.org/draft-07/schema#"

Path_ = tuple[str | int, ...]

_FINITE_NAME: Final = "any finite value"
_FINITE_REF: Final[dict[str, Any]] = {"$ref": f"#/$defs/{_FINITE_NAME.replace(' ', '%20')}"}
_FINITE: Final[dict[str, Any]] = {
    "type": ["null", "boolean", "number", "string", "object", "array"],
    "additionalProperties": _FINITE_REF,
    "items": _FINITE_REF,
}
"""Any JSON value; jsonschema-rs calls an infinite float no number, so it fails here."""


class SchemaFault(NamedTuple):
    """One breach of a schema, in the terms of the JSON Schema specification.

    `path` leads to the faulty value, `route` through the schema to the keyword. `expected`
    is the keyword's own payload (types, options, a limit), `member` the property that is
    missing or unknown. `optional` says that the value stands in a property that its object
    does not require. `variants` holds the faults in each branch of oneOf and anyOf.
    """

    path: Path_
    keyword: str
    route: Path_
    expected: Any
    found: Any
    member: str | None = None
    optional: bool = False
    variants: tuple[tuple[SchemaFault, ...], ...] = ()
    known: tuple[str, ...] = ()


class Validator(Protocol):
    """A compiled schema.

    `accepts` returns True only if a value fits the schema and holds no infinite number.
    """

    @property
    def accepts(self) -> Callable[[Any], bool]:
        """The accepting pass."""

    def faults(self, value: Any) -> Iterable[SchemaFault]:
        """Say everything that is wrong with `value`."""


def compile_schema(schema: Any, engine: str = "auto", *, trusted: bool = True) -> Validator:
    """Compile a schema document (drafts 4, 6, 7, 2019-09 and 2020-12; without network).

    `trusted` schemas are our own, for which fastjsonschema is proven to accept nothing that
    the specification refuses. Raises UsageError for a schema that is none.
    """
    if engine == "portable" or (engine == "auto" and not _has_rust()):
        return _PortableValidator(schema, trusted=trusted)
    return _RustValidator(schema, trusted=trusted)


@lru_cache(maxsize=64)
def builtin_schema(name: str) -> Any:
    """Return one of our schemas by name, such as `eee/0.2.0/instance`."""
    return json.loads((schema_folder() / f"{name}.schema.json").read_bytes())


@lru_cache(maxsize=1)
def schema_folder() -> Path:
    """Find our schemas: inside an installed package, else beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "schemas"
    return inside if inside.is_dir() else package.parent / "schemas"


def _has_rust() -> bool:
    try:
        import jsonschema_rs  # noqa: F401 - only whether it is there
    except ImportError:
        return False
    return True


class _RustValidator:
    """jsonschema-rs: both speeds."""

    def __init__(self, schema: Any, *, trusted: bool) -> None:
        self._schema = schema
        self._compiled = _compiled(schema)
        self.accepts: Callable[[Any], bool]
        if trusted:
            self.accepts = _compiled(finite_only(schema)).is_valid
        else:
            fits = self._compiled.is_valid
            finite = _compiled({**_FINITE_REF, "$defs": {_FINITE_NAME: _FINITE}}).is_valid
            self.accepts = lambda value: fits(value) and finite(value)

    def faults(self, value: Any) -> Iterator[SchemaFault]:
        for error in self._compiled.iter_errors(value):
            yield from self._translated(error, value)

    def _translated(self, error: Any, root: Any) -> Iterator[SchemaFault]:
        path, kind = tuple(error.instance_path), error.kind
        payload = kind.as_dict()
        place = tuple(error.schema_path)
        fault = SchemaFault(
            path=path,
            keyword=kind.name,
            route=tuple(error.evaluation_path),
            expected=next(iter(payload.values()), None),
            found=resolve(root, path),
            optional=_optional(self._schema, place, path),
        )
        if kind.name == "required":
            yield fault._replace(
                member=payload["property"], expected=None, found=None, optional=False
            )
        elif "unexpected" in payload:
            known = _known_members(self._schema, place)
            for member in payload["unexpected"]:
                found = resolve(fault.found, (member,))
                yield fault._replace(
                    member=str(member), found=found, expected=None, known=known, optional=False
                )
        elif "context" in payload:
            variants = tuple(
                tuple(fault for inner in branch for fault in self._translated(inner, root))
                for branch in payload["context"]
            )
            yield fault._replace(variants=variants, expected=None)
        else:
            yield fault


def _compiled(schema: Any) -> Any:
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(schema, offline=True)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"not a usable JSON Schema: {reason}") from error


def finite_only(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that accepts what `schema` accepts and holds no infinite number.

    Wherever a value may stand of which the schema says nothing, it demands a finite one. The
    conditions and alternatives of the schema stay as they are beside that. Only for draft-07
    schemas whose references are all of the form `#/$defs/NAME`.
    """
    definitions = {
        name: _finite_node(definition) for name, definition in schema.get("$defs", {}).items()
    }
    return {**_finite_node(schema), "$defs": {**definitions, _FINITE_NAME: _FINITE}}


def _finite_node(node: Any) -> Any:
    if node is True:
        return _FINITE_REF
    if not isinstance(node, dict) or "$ref" in node:
        return node
    properties = node.get("properties", {})
    return {
        "type": _FINITE["type"],
        **node,
        "properties": {name: _finite_node(inner) for name, inner in properties.items()},
        "additionalProperties": _finite_node(node.get("additionalProperties", True)),
        "items": _finite_node(node.get("items", True)),
    }


class _PortableValidator:
    """fastjsonschema accepts, python-jsonschema explains: pure Python where it must be."""

    def __init__(self, schema: Any, *, trusted: bool) -> None:
        try:
            import jsonschema
        except ImportError as error:
            message = "the portable engine needs: pip install 'evalstream[portable]'"
            raise MissingExtra(message) from error
        drafts = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        try:
            drafts.check_schema(schema)
        except jsonschema.SchemaError as error:
            raise UsageError(f"not a usable JSON Schema: {error.message}") from error
        self._schema = schema
        self._reference = drafts(schema)
        self._fits = _fast_check(schema) if trusted else self._reference.is_valid

    def accepts(self, value: Any) -> bool:
        return _is_finite(value) and self._fits(value)

    def faults(self, value: Any) -> Iterator[SchemaFault]:
        seen: set[tuple[Path_, Path_]] = set()
        for error in self._reference.iter_errors(value):
            yield from self._translated(error, value, seen)

    def _translated(
        self, error: Any, root: Any, seen: set[tuple[Path_, Path_]]
    ) -> Iterator[SchemaFault]:
        path, route = tuple(error.absolute_path), tuple(error.absolute_schema_path)
        found = resolve(root, path)
        fault = SchemaFault(
            path=path,
            keyword=error.validator,
            route=route,
            expected=_as_list(error.validator_value, error.validator),
            found=found,
            optional=_optional(self._schema, route, path),
        )
        if error.validator in ("required", "additionalProperties"):
            if (path, route) in seen:
                return
            seen.add((path, route))
            known = _known_members(self._schema, route)
            members = _concerned(error, found)
            for member in members:
                value = resolve(found, (member,))
                yield fault._replace(
                    member=member, found=value, expected=None, known=known, optional=False
                )
        elif error.validator in ("oneOf", "anyOf"):
            branches: list[list[SchemaFault]] = [[] for _ in error.validator_value]
            for inner in error.context or ():
                branches[inner.schema_path[0]].extend(self._translated(inner, root, set()))
            yield fault._replace(variants=tuple(map(tuple, branches)), expected=None)
        else:
            yield fault


def _concerned(error: Any, found: dict[str, Any]) -> list[str]:
    """Name the members that a `required` or `additionalProperties` error is about."""
    if error.validator == "required":
        return [name for name in error.validator_value if name not in found]
    import jsonschema._utils as utilities

    return list(utilities.find_additional_properties(found, error.schema))


def _as_list(value: Any, keyword: str) -> Any:
    return [value] if keyword == "type" and isinstance(value, str) else value


def _fast_check(schema: Any) -> Callable[[Any], bool]:
    import fastjsonschema

    check = fastjsonschema.compile(schema, use_default=False, use_formats=False)

    def fits(value: Any) -> bool:
        try:
            check(value)
        except Exception:  # noqa: BLE001 - whatever it stumbles over is not accepted
            return False
        return True

    return fits


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _optional(schema: Any, place: Path_, path: Path_) -> bool:
    """Tell whether the value at `path` stands in a property its object does not require."""
    owner = _owner(place, path[-1] if path else None)
    if owner is None:
        return False
    required = resolve(_resolved(schema, owner), ("required",))
    return not isinstance(required, list) or path[-1] not in required


def _owner(place: Path_, member: str | int | None) -> Path_ | None:
    """Return the way to the schema whose `properties` names `member`, seen from the end."""
    for index in range(len(place) - 2, -1, -1):
        if place[index] == "properties" and place[index + 1] == member:
            return place[:index]
    return None


def _known_members(schema: Any, place: Path_) -> tuple[str, ...]:
    properties = resolve(_resolved(schema, place[:-1]), ("properties",))
    return tuple(properties) if isinstance(properties, dict) else ()


def _resolved(schema: Any, place: Iterable[str | int]) -> Any:
    """Walk through a schema by a path that may lead through `$ref`."""
    node = schema
    for step in place:
        if step == "$ref":
            target = str(resolve(node, ("$ref",))).removeprefix("#/").split("/")
            node = resolve(schema, target)
        else:
            node = resolve(node, (step,))
    return node
