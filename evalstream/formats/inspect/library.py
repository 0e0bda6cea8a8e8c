"""Which logs Inspect itself loads: by types, or else by the models of inspect_ai.

The types are made of the schema of the models of inspect_ai 0.3.285, without what its validators
decide: the reader loads a value of these types. It must say itself about any other one. It is
imported only then: that takes about two seconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from importlib import import_module
from types import GenericAlias
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from evalstream.formats.inspect.format import EXTRA
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import MissingExtra, install_command
from evalstream.parsing.json import pointer
from evalstream.parsing.schema_files import read_schema

MOST_NESTED: Final = 5
"""How often a model may stand within itself."""

_REFERENCE: Final = "#/$defs/"
_PLAIN: Final[Mapping[str | None, Any]] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "null": None, None: Any
}  # fmt: skip
_OWN_SANDBOXES: Final = frozenset({"docker", "local"})
"""Sandboxes of inspect_ai itself, which read their configuration."""

_MOVED: Final = "unscored_reason"
"""A key of the metadata of scores whose value the reader copies to where only texts may stand."""


class Moment:
    """The type of texts that the reader loads as times."""


_MOMENT: Final = Moment()


class LogTypes:
    """The types that values must fit: `sample` and `log` are types of msgspec."""

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
        if "prefixItems" in schema:
            parts = tuple(self._type(one, within) for one in schema["prefixItems"])
            return GenericAlias(tuple, parts)
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
            namespace={"__post_init__": _REFUSALS[name]} if name in _REFUSALS else None,
        )


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).removeprefix(_REFERENCE)


def _union(types: list[Any]) -> Any:
    """Return a union of types: of several kinds of texts or lists only one of them."""
    listed = [one for one in types if get_origin(one) is Literal]
    values = tuple(value for one in listed for value in get_args(one))
    others = [one for one in types if one not in listed]
    kept = {_kind(one): one for one in (*([Literal[values]] if values else ()), *others)}
    if dict in kept and any(hasattr(one, "__struct_fields__") for one in types):
        return type("Either", (), {"kinds": types})
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
    found = (score.metadata_ or {}).get(_MOVED)
    if found is not None and not isinstance(found, str):
        raise ValueError(_MOVED)


def _refuse_configured(sandbox: Any) -> None:
    # The reader takes the configuration of any sandbox that it does not know
    # (deserialize_sandbox_specific_config in util/_sandbox/environment.py).
    if sandbox.type_ in _OWN_SANDBOXES and sandbox.config_ and isinstance(sandbox.config_, dict):
        raise ValueError(sandbox.type_)


_REFUSALS: Final = {
    "Score": _refuse_moved,
    "EvalSampleScore": _refuse_moved,
    "SandboxEnvironmentSpec": _refuse_configured,
}
"""What the validators of models refuse, or move."""


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind, dec_hook=_read_other)
    except (msgspec.ValidationError, ValueError, TypeError, OverflowError, RecursionError):
        return False
    return True


def _read_other(kind: Any, value: Any) -> Any:
    """Read a time as the reader does, or a value that is a model or an object of other values.

    Raises ValueError, TypeError or OverflowError.
    """
    if kind is Moment:
        datetime.fromisoformat(value).astimezone(UTC)
        return _MOMENT
    if not any(_fits(value, one) for one in kind.kinds):
        raise ValueError
    return object.__new__(kind)


@lru_cache(maxsize=1)
def log_types() -> LogTypes:
    """Return the types of logs."""
    return LogTypes(json.loads(read_schema("inspect/log.json")))


Digest = Callable[[str], str]
"""Returns the key under which a text is attached to a sample."""


_ODD: Final = (TypeError, KeyError, AttributeError, IndexError, OverflowError)


class LibraryRefusal(NamedTuple):
    """Why the harness cannot load a value: its words, and the JSON Pointer within the value."""

    message: str
    place: str


class Library:
    """The models that inspect_ai loads logs with.

    `new_context` makes what they share while they load one value. It is not kept, because it keeps
    each message that was loaded with it.
    """

    def __init__(self, models: Any, new_context: Callable[[], Any]) -> None:
        self._models, self._new_context = models, new_context

    def refused_sample(self, value: Mapping[str, Any]) -> LibraryRefusal | None:
        """Return why the harness cannot load a sample, or None. It may change the value."""
        return self._find_refusal(self._models.EvalSample, value)

    def refused_log(self, value: Mapping[str, Any]) -> LibraryRefusal | None:
        """Return why the harness cannot load a log without its samples, or None."""
        return self._find_refusal(self._models.EvalLog, value)

    def _find_refusal(self, model: Any, value: Mapping[str, Any]) -> LibraryRefusal | None:
        try:
            model.model_validate(value, context=self._new_context())
        except ValueError as error:
            return _explain_error(error)
        # Validators of the harness run over values of any type.
        except (*_ODD, RecursionError) as error:
            return LibraryRefusal(f"{type(error).__name__}: {error}", "")
        return None


def _explain_error(error: ValueError) -> LibraryRefusal:
    listed = getattr(error, "errors", None)
    details = listed(include_url=False, include_context=False) if callable(listed) else []
    if not details:
        return LibraryRefusal(str(error), "")
    first = details[0]
    path = [part for part in first["loc"] if isinstance(part, (int, str))]
    return LibraryRefusal(str(first["msg"]), pointer(path))


@lru_cache(maxsize=1)
def inspect_library() -> Library:
    """Return the harness's reader. Raises MissingExtra if it is not installed."""
    try:
        models = import_module("inspect_ai.log")
    except ImportError as error:
        command = install_command(EXTRA)
        raise MissingExtra(f"inspect_ai is not installed; install it with: {command}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise MissingExtra(f"inspect_ai cannot be imported ({reason[:200]})") from error
    try:
        constants = import_module("inspect_ai._util.constants")
        return Library(models, constants.get_deserializing_context)
    except (ImportError, AttributeError):
        return Library(models, lambda: None)


@lru_cache(maxsize=1)
def attachment_digest() -> Digest | None:
    """Return the digest of attachments, or None if mmh3, which computes it, is not installed.

    It is MurmurHash3 of 128 bits as two unsigned hexadecimal numbers (_util/hash.py of inspect_ai).
    """
    try:
        hash64 = import_module("mmh3").hash64
    except ImportError:
        return None

    def digest(text: str) -> str:
        high, low = hash64(text.encode(errors="backslashreplace"), signed=False)
        return f"{high:016x}{low:016x}"

    return digest
