"""JSON Schema: compile schemas, and the only home of jsonschema-rs.

A validator has two speeds. `accepts` answers yes quickly or does not commit itself; `faults`
says everything that is wrong with a value, as data that no longer depends on the library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, Protocol

from evalstream.errors import UsageError
from evalstream.parsing import resolve
from evalstream.schema_fault import Path_, SchemaFault, is_optional, known_members, payload_of

ENGINES: Final = ("auto", "rust", "portable")


_EMPTY_KEY: Final = "\ue000 the empty key"
_FINITE_NAME: Final = "any finite value"
_FINITE_REF: Final[dict[str, Any]] = {"$ref": f"#/$defs/{_FINITE_NAME.replace(' ', '%20')}"}
_FINITE: Final[dict[str, Any]] = {
    "type": ["null", "boolean", "number", "string", "object", "array"],
    "additionalProperties": _FINITE_REF,
    "items": _FINITE_REF,
}
"""Any JSON value; jsonschema-rs calls an infinite float no number, so it fails here."""


_KEYED: Final[dict[str, Any]] = {
    "propertyNames": {"minLength": 1},
    "additionalProperties": {"$ref": "#"},
    "items": {"$ref": "#"},
}
"""Any value in which no key is empty."""

_ANNOTATIONS: Final = ("$id", "$comment", "title", "description", "version")

_PLAIN: Final[dict[str, Any]] = {"type": ["null", "boolean", "integer", "string"]}


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
        from evalstream.portable import PortableValidator

        return PortableValidator(schema, trusted=trusted)
    return _RustValidator(schema, trusted=trusted)


def finite_check(engine: str = "auto") -> Callable[[Any], bool]:
    """Return the function that tells whether a value holds no infinite number."""
    if engine == "portable" or (engine == "auto" and not _has_rust()):
        from evalstream.portable import is_finite

        return is_finite
    fits: Callable[[Any], bool] = _compiled(
        {**_FINITE_REF, "$defs": {_FINITE_NAME: _FINITE}}
    ).is_valid
    return fits


@lru_cache(maxsize=64)
def builtin_schema(name: str) -> Any:
    """Return one of our schemas by name, such as `eee/0.2.0/instance`."""
    return json.loads((schema_folder() / f"{name}.schema.json").read_bytes())


@lru_cache(maxsize=64)
def builtin_validator(name: str, engine: str = "auto") -> Validator:
    """Return one of our schemas compiled, once per process."""
    return compile_schema(builtin_schema(name), engine)


@lru_cache(maxsize=64)
def demands_of(name: str) -> str:
    """Return what one of our schemas demands, as a text: equal for versions that judge alike."""
    return json.dumps(_demands(builtin_schema(name)), sort_keys=True)


@lru_cache(maxsize=1)
def schema_folder() -> Path:
    """Find our schemas: inside an installed package, else beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "schemas"
    return inside if inside.is_dir() else package.parent / "schemas"


def _demands(schema: Any) -> Any:
    """Leave out what a schema says of itself; no property bears such a name in our schemas."""
    if isinstance(schema, list):
        return [_demands(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    texts = {key for key in _ANNOTATIONS if isinstance(schema.get(key), str)}
    return {key: _demands(value) for key, value in schema.items() if key not in texts}


def _has_rust() -> bool:
    try:
        import jsonschema_rs  # noqa: F401 - only whether it is there
    except ImportError:
        return False
    return True


class _RustValidator:
    """jsonschema-rs: both speeds."""

    def __init__(self, schema: Any, *, trusted: bool) -> None:
        self._schema, self._trusted = schema, trusted
        self._compiled = _compiled(schema)
        self._keyed = _compiled(_KEYED).is_valid

    @cached_property
    def accepts(self) -> Callable[[Any], bool]:
        """The accepting pass, compiled when it is first wanted."""
        if self._trusted:
            usual = _compiled(finite_only(self._schema, closed=True)).is_valid
            unusual = _compiled(finite_only(self._schema)).is_valid
            return lambda value: usual(value) or unusual(value)
        fits, finite = self._compiled.is_valid, finite_check("rust")
        return lambda value: fits(value) and finite(value)

    def faults(self, value: Any) -> Iterator[SchemaFault]:
        if not self._keyed(value):
            yield from map(_with_empty_keys, self._faults(_renamed(value, "", _EMPTY_KEY)))
        else:
            yield from self._faults(value)

    def _faults(self, value: Any) -> Iterator[SchemaFault]:
        for error in self._compiled.iter_errors(value):
            yield from self._translated(error, value)

    def _translated(self, error: Any, root: Any) -> Iterator[SchemaFault]:
        path, found = _true_path(error.instance_path, root)
        kind = error.kind
        payload = kind.as_dict()
        fault = SchemaFault(
            path=path,
            keyword=kind.name,
            route=tuple(error.evaluation_path),
            expected=payload_of(kind.name, next(iter(payload.values()), None)),
            found=found,
            optional=is_optional(self._schema, path),
        )
        if kind.name == "required":
            yield fault.about(payload["property"], None)
        elif "unexpected" in payload:
            known = known_members(self._schema, path)
            for member in payload["unexpected"]:
                yield fault.about(str(member), resolve(fault.found, (str(member),)), known)
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


def finite_only(schema: dict[str, Any], *, closed: bool = False) -> dict[str, Any]:
    """Return a schema that accepts what `schema` accepts and holds no infinite number.

    Wherever a value may stand of which the schema says nothing, it demands a finite one. The
    conditions and alternatives of the schema stay as they are beside that. Only for draft-07
    schemas whose references are all of the form `#/$defs/NAME`.

    A `closed` one is quicker and accepts only the usual rows: without unknown properties, and
    with nothing but texts, integers, booleans and null in free maps.
    """
    definitions = {
        name: _finite_node(definition, closed=closed)
        for name, definition in schema.get("$defs", {}).items()
    }
    return {**_finite_node(schema, closed=closed), "$defs": {**definitions, _FINITE_NAME: _FINITE}}


def _finite_node(node: Any, *, closed: bool) -> Any:
    if node is True:
        return _PLAIN if closed else _FINITE_REF
    if not isinstance(node, dict) or "$ref" in node:
        return node
    properties = node.get("properties", {})
    others = node.get("additionalProperties", True)
    if closed and properties and others is True:
        others = False
    return {
        "type": _FINITE["type"],
        **node,
        "properties": {
            name: _finite_node(inner, closed=closed) for name, inner in properties.items()
        },
        "additionalProperties": _finite_node(others, closed=closed),
        "items": _finite_node(node.get("items", True), closed=closed),
    }


def _renamed(value: Any, old: str, new: str) -> Any:
    """Return `value` with every key `old` called `new`, itself where there is none."""
    if isinstance(value, dict):
        renamed = {
            new if key == old else key: _renamed(inner, old, new) for key, inner in value.items()
        }
        return value if renamed == value else renamed
    if isinstance(value, list):
        return [_renamed(item, old, new) for item in value]
    return value


def _with_empty_keys(fault: SchemaFault) -> SchemaFault:
    """Give the empty keys of a fault their name back."""
    return fault._replace(
        path=tuple("" if key == _EMPTY_KEY else key for key in fault.path),
        found=_renamed(fault.found, _EMPTY_KEY, ""),
        member="" if fault.member == _EMPTY_KEY else fault.member,
        variants=tuple(tuple(map(_with_empty_keys, branch)) for branch in fault.variants),
    )


def _true_path(steps: Iterable[str | int], root: Any) -> tuple[Path_, Any]:
    """Return the path to a value, and the value, from a path of jsonschema-rs.

    jsonschema-rs writes a key of digits as a number, and leaves empty keys out, which is why
    they have another name here.
    """
    path: list[str | int] = []
    node = root
    for step in steps:
        key = str(step) if isinstance(node, dict) else step
        node = resolve(node, (key,))
        path.append(key)
    return tuple(path), node
