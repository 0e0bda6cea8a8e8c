"""JSON Schema: compile schemas, and the only home of jsonschema-rs.

A validator has two speeds. `accepts` answers yes quickly or does not commit itself; `faults`
says everything that is wrong with a value, as data that no longer depends on the library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from evalstream.model.errors import UsageError
from evalstream.parsing.json import resolve
from evalstream.parsing.linear_regex import stepping_options
from evalstream.parsing.schema_errors import (
    UNDECIDED,
    Path_,
    SchemaError,
    is_optional,
    known_members,
    path_of,
    payload_of,
)

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


_DEMANDS: Final = frozenset(
    {"type", "enum", "const", "pattern", "minimum", "maximum", "minItems", "maxItems"}
)
"""Keywords whose errors say no more than what the schema asks for."""

_CONDITIONS: Final = frozenset({"allOf", "then", "else"})

SCHEMA_DEPTH: Final = 100
"""The nesting that no schema of ours comes near."""

_ANNOTATIONS: Final = ("$id", "$comment", "title", "description", "version")


class Validator(Protocol):
    """A compiled schema.

    `accepts` returns True only if a value fits the schema and holds no infinite number,
    `fits` if a value without infinite numbers fits it.
    """

    @property
    def accepts(self) -> Callable[[Any], bool]:
        """The accepting pass."""

    def fits(self, value: Any) -> bool:
        """Tell whether a value fits that is known to hold no infinite number.

        Raises RecursionError for one that is nested too deep.
        """

    def errors(self, value: Any) -> Iterable[SchemaError]:
        """Say everything that is wrong with `value`. Raises RecursionError as above."""


def compile_schema(schema: Any, engine: str = "auto", *, trusted: bool = True) -> Validator:
    """Compile a schema document (drafts 4, 6, 7, 2019-09 and 2020-12; without network).

    `trusted` schemas are our own, for which fastjsonschema is proven to accept nothing that
    the specification refuses. Raises UsageError for a schema that is none.
    """
    if engine == "portable" or (engine == "auto" and not _has_rust()):
        from evalstream.parsing.json_schema_portable import PortableValidator

        return PortableValidator(schema, trusted=trusted)
    return _RustValidator(schema, trusted=trusted)


@lru_cache(maxsize=len(ENGINES))
def finite_check(engine: str = "auto") -> Callable[[Any], bool]:
    """Return the function that tells whether a value holds no infinite number."""
    if engine == "portable" or (engine == "auto" and not _has_rust()):
        from evalstream.parsing.json_schema_portable import is_finite

        return is_finite
    fits: Callable[[Any], bool] = _compiled(
        {**_FINITE_REF, "$defs": {_FINITE_NAME: _FINITE}}
    ).is_valid
    return fits


@lru_cache(maxsize=64)
def builtin_schema(name: str) -> Any:
    """Return one of our schemas by name, such as `eee/0.2.0/instance`, from JSON or YAML.

    Raises MissingExtra for one in YAML where PyYAML is not installed.
    """
    path = schema_folder() / f"{name}.schema.json"
    if path.is_file():
        return json.loads(path.read_bytes())
    from evalstream.parsing.yaml import read_yaml

    return read_yaml(path.with_suffix(".yaml").read_bytes(), SCHEMA_DEPTH).value


def schema_documents() -> list[str]:
    """Return the names of all our schemas, such as `eee/0.2.0/instance`."""
    folder = schema_folder()
    files = (file.relative_to(folder).as_posix() for file in folder.glob("*/*/*.schema.*"))
    return sorted(file.partition(".schema.")[0] for file in files)


def report_schemas() -> list[str]:
    """Return the names of the schemas of what evalstream writes, such as `report`."""
    files = schema_folder().glob("*.schema.json")
    return sorted(file.name.removesuffix(".schema.json") for file in files)


def schema_text(name: str) -> str:
    """Return one of our schemas as it is written."""
    (file,) = schema_folder().glob(f"{name}.schema.*")
    return file.read_text(encoding="utf-8")


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
    package = Path(__file__).parent.parent
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


class _Demand(NamedTuple):
    """What all faults share that are found by one keyword at one place of a schema."""

    keyword: str
    expected: Any
    optional: bool


class _RustValidator:
    """jsonschema-rs: both speeds."""

    def __init__(self, schema: Any, *, trusted: bool) -> None:
        self._schema, self._trusted = schema, trusted
        self._options = None if trusted else stepping_options()
        self._compiled = _compiled(schema, options=self._options)
        self._demands: dict[Path_, _Demand] = {}

    @cached_property
    def accepts(self) -> Callable[[Any], bool]:
        """The accepting pass, compiled when it is first wanted."""
        if self._trusted:
            accepts: Callable[[Any], bool] = _compiled(finite_only(self._schema)).is_valid
            return accepts
        fits, finite = self._compiled.is_valid, finite_check("rust")
        return lambda value: fits(value) and finite(value)

    def fits(self, value: Any) -> bool:
        try:
            fits: bool = self._compiled.is_valid(value)
        except ValueError as error:
            raise _meant(error) from error
        return fits

    def errors(self, value: Any) -> list[SchemaError]:
        try:
            return self._errors(value)
        except _EmptyKeyError:
            renamed = _renamed(value, "", _EMPTY_KEY)
            found = list(map(_with_empty_keys, self._errors(renamed)))
            if not found and not self._compiled.is_valid(value):
                # A pattern of the schema finds the other name, and not the empty one.
                return [SchemaError((), "patternProperties", ("patternProperties",), None, value)]
            return found
        except ValueError as error:
            raise _meant(error) from error

    @cached_property
    def _explaining(self) -> tuple[tuple[str, ...], Callable[[Any], Iterable[Any]]]:
        """What the whole value must have, and what finds everything else that is wrong with it.

        jsonschema-rs copies the value that lacks a member into its error, which takes longer
        than all other things if that is the whole row. In schemas of ours nothing but their
        `required` asks for it.
        """
        schema = self._schema
        if not self._trusted or "$ref" in schema:
            return (), _compiled(schema, mask="", options=self._options).iter_errors
        rest = {keyword: demand for keyword, demand in schema.items() if keyword != "required"}
        return tuple(schema.get("required", ())), _compiled(rest, mask="").iter_errors

    def _errors(self, value: Any) -> list[SchemaError]:
        required, errors = self._explaining
        found = []
        if value.__class__ is dict:
            found = [
                SchemaError((), "required", ("required",), None, None, member)
                for member in required
                if member not in value
            ]
        for error in errors(value):
            found += self._translated(error, value)
        return found

    def _translated(self, error: Any, root: Any) -> Iterable[SchemaError]:
        path, found = _true_path(error.instance_path, root)
        route = tuple(error.evaluation_path)
        known = self._demands.get(route)
        if known is not None:
            return (SchemaError(path, known[0], route, known[1], found, None, known[2]),)
        kind = error.kind
        keyword, payload = kind.name, kind.as_dict()
        if keyword == "pattern" and "error" in payload:
            # Some patterns are found or not only after more steps than are taken.
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
                tuple(error for inner in branch for error in self._translated(inner, root))
                for branch in payload["context"]
            )
            return (
                SchemaError(path, keyword, route, None, found, None, optional, variants=variants),
            )
        # The payload of propertyNames is an error, no data.
        value = None if keyword == "propertyNames" else next(iter(payload.values()), None)
        demand = _Demand(keyword, payload_of(keyword, value), optional)
        if keyword in _DEMANDS and _is_fixed(route):
            self._demands[route] = demand
        return (SchemaError(path, keyword, route, demand.expected, found, None, optional),)


def _is_fixed(route: Path_) -> bool:
    """Tell whether all values that a route judges may be left out, or none.

    The members of a map all may not: they are no properties that are named.
    """
    if route[-2:-1] == ("additionalProperties",):
        return _CONDITIONS.isdisjoint(route) and path_of(route[:-1]) is not None
    return path_of(route) is not None


def _pattern_at(schema: Any, route: Iterable[str | int]) -> str:
    """Return the pattern at a place in a schema: a value, or the name of one."""
    steps = tuple(route)
    found = resolve(schema, steps)
    return found if isinstance(found, str) else str(steps[-1])


def _compiled(schema: Any, *, mask: str | None = None, options: Any = None) -> Any:
    """Compile a schema; `mask` stands for values in messages, which are not read here.

    `options` say how its patterns are searched for.
    """
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(
            schema, retriever=_refuse, mask=mask, pattern_options=options
        )
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"not a usable JSON Schema: {reason}") from error


def _refuse(address: str) -> Any:
    """Fetch nothing: every version of jsonschema-rs asks this for what lies outside a schema."""
    raise LookupError(f"{address} is not fetched")


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
    others = node.get("additionalProperties", True)
    return {
        "type": _FINITE["type"],
        **node,
        "properties": {name: _finite_node(inner) for name, inner in properties.items()},
        "additionalProperties": _finite_node(others),
        "items": _finite_node(node.get("items", True)),
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


def _with_empty_keys(error: SchemaError) -> SchemaError:
    """Give the empty keys of a fault their name back."""
    return error._replace(
        path=tuple("" if key == _EMPTY_KEY else key for key in error.path),
        found=_renamed(error.found, _EMPTY_KEY, ""),
        member="" if error.member == _EMPTY_KEY else error.member,
        variants=tuple(tuple(map(_with_empty_keys, branch)) for branch in error.variants),
    )


def _true_path(steps: Iterable[str | int], root: Any) -> tuple[Path_, Any]:
    """Return the path to a value, and the value, from a path of jsonschema-rs.

    jsonschema-rs writes a key of digits as a number. It leaves empty keys out, so that where
    there is one the path cannot be told: raises _EmptyKeyError.
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


def _meant(error: ValueError) -> Exception:
    """Return Python's own error for what jsonschema-rs says of more than 255 levels of nesting."""
    return RecursionError(str(error)) if "ecursion" in str(error) else error


class _EmptyKeyError(Exception):
    """An object has the empty key, which jsonschema-rs leaves out of paths."""


def _require_keys(node: Any) -> None:
    if node.__class__ is dict and "" in node:
        raise _EmptyKeyError
