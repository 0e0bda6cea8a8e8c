"""Types of logs that Inspect's own reader loads, made of the schema of its models.

The schema is that of inspect_ai 0.3.285, without what its validators decide: a value of these types
is one that the reader loads, and of any other value the reader itself must say it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from evalstream.parsing.schema_files import schema_folder

MOST_NESTED: Final = 5
"""How often a model may stand within itself."""

_REFERENCE: Final = "#/$defs/"
_PLAIN: Final[Mapping[str | None, Any]] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "null": None, None: Any
}  # fmt: skip
_SCORES: Final = frozenset({"Score", "EvalSampleScore"})
_MOVED: Final = "unscored_reason"
"""A key of the metadata of scores whose value the reader moves to where only texts may stand."""


class Moment:
    """The type of texts that the reader loads as times."""


_MOMENT: Final = Moment()


class LogTypes:
    """What values are held against: `sample` and `log` are types of msgspec."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._definitions: Mapping[str, Any] = schema["$defs"]
        self._tags = dict(self._iterate_tags(schema))
        self._structs: dict[tuple[str, int], Any] = {}
        self.sample = self._struct("EvalSample", ())
        self.log = self._make_struct("EvalLog", schema, ())

    def fits_sample(self, value: Any) -> bool:
        """Tell whether a value is a sample that the reader loads."""
        return _fits(value, self.sample)

    def fits_log(self, value: Any) -> bool:
        """Tell whether a value is a log without samples that the reader loads."""
        return _fits(value, self.log)

    def _iterate_tags(self, part: Any) -> Iterable[tuple[str, str]]:
        """Iterate over the models of unions, each with the member that names the model."""
        if isinstance(part, list):
            for one in part:
                yield from self._iterate_tags(one)
        elif isinstance(part, dict):
            names = [_name(one) for one in part.get("anyOf", ()) if "$ref" in one]
            if len(names) > 1:
                models = [self._definitions[name]["properties"] for name in names]
                tags = (
                    one for one in models[0] if all("const" in of.get(one, ()) for of in models)
                )
                tag = next(tags)
                yield from ((name, tag) for name in names)
            for one in part.values():
                yield from self._iterate_tags(one)

    def _type(self, schema: Any, within: tuple[str, ...]) -> Any:
        if "$ref" in schema:
            return self._struct(_name(schema), within)
        if "anyOf" in schema:
            return _union([self._type(one, within) for one in schema["anyOf"]])
        if "const" in schema or "enum" in schema:
            return Literal[tuple(schema.get("enum", [schema.get("const")]))]
        make = {"array": self._array, "object": self._object}.get(schema.get("type"))
        if make is not None:
            return make(schema, within)
        return Moment if schema.get("format") == "date-time" else _PLAIN[schema.get("type")]

    def _object(self, schema: Any, within: tuple[str, ...]) -> Any:
        values = schema.get("additionalProperties", True)
        of: Any = Any if values is True else self._type(values, within)
        return dict[str, of]

    def _array(self, schema: Any, within: tuple[str, ...]) -> Any:
        of: Any = self._type(schema.get("items", {}), within)
        found = list[of]
        least, most = schema.get("minItems"), schema.get("maxItems")
        return Annotated[found, msgspec.Meta(min_length=least, max_length=most)] if most else found

    def _struct(self, name: str, within: tuple[str, ...]) -> Any:
        depth = within.count(name)
        key = name, depth
        if depth >= MOST_NESTED:
            return None
        if key not in self._structs:
            schema = self._definitions[name]
            is_model = "properties" in schema
            make = self._make_struct if is_model else lambda _, *rest: self._type(*rest)
            self._structs[key] = make(name, schema, (*within, name))
        return self._structs[key]

    def _make_struct(self, name: str, schema: Any, within: tuple[str, ...]) -> Any:
        members, required = schema["properties"], schema.get("required", ())
        tag = self._tags.get(name)
        names = {one: f"{one}_" for one in members}
        fields = [
            (names[one], self._type(of, within), *([] if one in required else [None]))
            for one, of in members.items()
            if one != tag
        ]
        return msgspec.defstruct(
            name,
            sorted(fields, key=len),
            forbid_unknown_fields=True,
            rename={key: one for one, key in names.items()},
            tag_field=tag,
            tag=None if tag is None else members[tag]["const"],
            namespace={"__post_init__": _refuse_moved} if name in _SCORES else None,
        )


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).removeprefix(_REFERENCE)


def _union(types: list[Any]) -> Any:
    """Return a union of types: of several kinds of texts, lists or objects only one of them."""
    listed = [one for one in types if get_origin(one) is Literal]
    values = tuple(value for one in listed for value in get_args(one))
    others = [one for one in types if one not in listed]
    kept = {_kind(one): one for one in (*([Literal[values]] if values else ()), *others)}
    if any(hasattr(one, "__struct_fields__") for one in types):
        kept.pop(dict, None)
    return Union[tuple(kept.values())]  # noqa: UP007 - made of a list


def _kind(of: Any) -> Any:
    """Return what a type has in common with those that may not stand beside it in a union."""
    origin = get_origin(of)
    if origin is Annotated:
        return _kind(get_args(of)[0])
    if origin in (list, tuple):
        return list
    return str if of is Moment or origin is Literal else origin or of


def _refuse_moved(score: Any) -> None:
    if score.metadata_ and _MOVED in score.metadata_:
        raise ValueError(_MOVED)


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind, dec_hook=_read_moment)
    except (msgspec.ValidationError, ValueError, TypeError, OverflowError, RecursionError):
        return False
    return True


def _read_moment(_kind: Any, value: Any) -> Moment:
    """Read a time as the reader does. Raises ValueError, TypeError or OverflowError."""
    datetime.fromisoformat(value).astimezone(UTC)
    return _MOMENT


@lru_cache(maxsize=1)
def log_types() -> LogTypes:
    """Return the types of logs."""
    return LogTypes(json.loads((schema_folder() / "inspect" / "log.json").read_bytes()))
