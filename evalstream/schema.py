"""JSON Schema: the only home of jsonschema-rs, fastjsonschema and python-jsonschema.

A validator has two speeds. `accepts` answers yes quickly or does not commit itself; `faults`
says everything that is wrong with a value, as data that no longer depends on the library.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from evalstream.errors import MissingExtra, UsageError
from evalstream.parsing import resolve

ENGINES: Final = ("auto", "rust", "portable")
DRAFT_7: Final = "http://json-schema.org/draft-07/schema#"

Path_ = tuple[str | int, ...]

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

_PLAIN: Final[dict[str, Any]] = {"type": ["null", "boolean", "integer", "string"]}


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

    def about(self, member: str, found: Any, known: tuple[str, ...] = ()) -> SchemaFault:
        """Return the same fault, told of one missing or unknown member of the object."""
        return self._replace(member=member, found=found, known=known, expected=None, optional=False)


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


def finite_check(engine: str = "auto") -> Callable[[Any], bool]:
    """Return the function that tells whether a value holds no infinite number."""
    if engine == "portable" or (engine == "auto" and not _has_rust()):
        return _is_finite
    fits: Callable[[Any], bool] = _compiled(
        {**_FINITE_REF, "$defs": {_FINITE_NAME: _FINITE}}
    ).is_valid
    return fits


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
        self._keyed = _compiled(_KEYED).is_valid
        self.accepts: Callable[[Any], bool]
        if trusted:
            usual = _compiled(finite_only(schema, closed=True)).is_valid
            unusual = _compiled(finite_only(schema)).is_valid
            self.accepts = lambda value: usual(value) or unusual(value)
        else:
            fits = self._compiled.is_valid
            finite = finite_check("rust")
            self.accepts = lambda value: fits(value) and finite(value)

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
            expected=_payload(kind.name, next(iter(payload.values()), None)),
            found=found,
            optional=_optional(self._schema, path),
        )
        if kind.name == "required":
            yield fault.about(payload["property"], None)
        elif "unexpected" in payload:
            known = _known_members(self._schema, path)
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


class _PortableValidator:
    """fastjsonschema accepts, python-jsonschema explains: pure Python where it must be."""

    def __init__(self, schema: Any, *, trusted: bool) -> None:
        self._schema = schema
        self._reference = _reference_validator(schema)
        self._fits = _fast_check(schema) if trusted else self._reference.is_valid

    def accepts(self, value: Any) -> bool:
        with _no_network():
            return _is_finite(value) and bool(self._fits(value))

    def faults(self, value: Any) -> Iterator[SchemaFault]:
        seen: set[tuple[Path_, Path_]] = set()
        with _no_network():
            for error in self._reference.iter_errors(value):
                yield from self._translated(error, value, seen)

    def _translated(
        self, error: Any, root: Any, seen: set[tuple[Path_, Path_]]
    ) -> Iterator[SchemaFault]:
        path, route = tuple(error.absolute_path), tuple(error.absolute_schema_path)
        found = resolve(root, path)
        fault = SchemaFault(
            path=path,
            keyword=error.validator or "falseSchema",
            route=route,
            expected=_payload(error.validator, error.validator_value),
            found=found,
            optional=_optional(self._schema, path),
        )
        if error.validator in ("required", "additionalProperties"):
            if (path, route) in seen:
                return
            seen.add((path, route))
            known = _known_members(self._schema, path)
            for member in _concerned(error, found):
                yield fault.about(member, resolve(found, (member,)), known)
        elif error.validator in ("oneOf", "anyOf"):
            branches: list[list[SchemaFault]] = [[] for _ in error.validator_value]
            for inner in error.context or ():
                branches[inner.schema_path[0]].extend(self._translated(inner, root, set()))
            yield fault._replace(variants=tuple(map(tuple, branches)), expected=None)
        else:
            yield fault


def _reference_validator(schema: Any) -> Any:
    try:
        import jsonschema
    except ImportError as error:
        message = "the portable engine needs: pip install 'evalstream[portable]'"
        raise MissingExtra(message) from error
    draft = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    try:
        draft.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise UsageError(f"not a usable JSON Schema: {error.message}") from error

    def pattern(_: Any, expression: str, value: Any, __: Any) -> Iterator[Any]:
        if isinstance(value, str) and not re.search(_ecma(expression), value):
            yield jsonschema.ValidationError("does not match the pattern")

    import referencing

    patterned = jsonschema.validators.extend(draft, {"pattern": pattern})
    return patterned(schema, registry=referencing.Registry())


@contextlib.contextmanager
def _no_network() -> Iterator[None]:
    """Turn a reference that leads out of the schema into wrong usage; nothing is fetched."""
    import referencing

    try:
        yield
    except referencing.exceptions.Unresolvable as error:
        raise UsageError(f"the schema's reference {error.ref} leads nowhere") from error


def _ecma(pattern: str) -> str:
    """Let a final `$` match only at the very end, as ECMA 262 has it.

    Python's also matches before a newline there.
    """
    escaped = len(pattern) - len(pattern.rstrip("$").rstrip("\\")) - 1
    return pattern if not pattern.endswith("$") or escaped % 2 else pattern[:-1] + r"\Z"


def _with_ecma_patterns(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_ecma_patterns(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _ecma(inner)
        if key == "pattern" and isinstance(inner, str)
        else _with_ecma_patterns(inner)
        for key, inner in node.items()
    }


def _concerned(error: Any, found: dict[str, Any]) -> list[str]:
    """Name the members that a `required` or `additionalProperties` error is about."""
    if error.validator == "required":
        return [name for name in error.validator_value if name not in found]
    named, patterns = error.schema.get("properties", {}), error.schema.get("patternProperties", {})
    if isinstance(error.validator_value, dict):
        return []
    return [
        name
        for name in found
        if name not in named and not any(re.search(pattern, name) for pattern in patterns)
    ]


def _fast_check(schema: Any) -> Callable[[Any], bool]:
    import fastjsonschema

    patterned = _with_ecma_patterns(schema)
    check = fastjsonschema.compile(patterned, use_default=False, use_formats=False)

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


def _payload(keyword: str, value: Any) -> Any:
    """Return a keyword's own value in one form, whichever library it comes from."""
    if keyword == "type":
        return [value] if isinstance(value, str) else sorted(value)
    return value


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


def _optional(schema: Any, path: Path_) -> bool:
    """Tell whether the value at `path` stands in a property its object does not require."""
    if not path:
        return False
    owner = _node_at(schema, path[:-1])
    if path[-1] not in (resolve(owner, ("properties",)) or {}):
        return False
    return path[-1] not in (resolve(owner, ("required",)) or ())


def _known_members(schema: Any, path: Path_) -> tuple[str, ...]:
    return tuple(resolve(_node_at(schema, path), ("properties",)) or ())


def _node_at(schema: Any, path: Path_) -> Any:
    """Walk through a schema's properties and items along the path of a value."""
    node = _dereferenced(schema, schema)
    for key in path:
        inner = resolve(node, ("properties", key)) if isinstance(key, str) else None
        if inner is None:
            keyword = "items" if isinstance(key, int) else "additionalProperties"
            inner = resolve(node, (keyword,))
        node = _dereferenced(schema, inner)
    return node


def _dereferenced(schema: Any, node: Any) -> Any:
    target = resolve(node, ("$ref",))
    if not isinstance(target, str) or not target.startswith("#/"):
        return node
    return resolve(schema, target.removeprefix("#/").split("/"))
