"""What `dataclasses` and `inspect` ask of the classes of named values, made when they ask it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from functools import cache
from typing import Any, Final

from evalstream.model.data_class import REQUIRED, DataClass, Field

_ATTRIBUTES: Final = re.compile(r"\n\s*Attributes:\n(.*)", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


@cache
def fields_of(owner: type) -> dict[str, Any]:
    """Return the fields of a class as `dataclasses.fields` returns them; `metadata` has `doc`."""
    docs = docs_of(owner)
    return {name: _field(name, one, docs.get(name, "")) for name, one in _declared(owner).items()}


@cache
def signature_of(owner: type) -> inspect.Signature:
    """Return the signature of the constructor of a class."""
    by_name = issubclass(owner, DataClass) and not owner._by_position  # noqa: SLF001 - its own machinery
    kind = inspect.Parameter.KEYWORD_ONLY if by_name else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter(name, kind, default=_default(one), annotation=one.type)
            for name, one in _declared(owner).items()
        ]
    )


def docs_of(owner: type) -> dict[str, str]:
    """Return what the docstring of a class says about each attribute."""
    section = _ATTRIBUTES.search(inspect.cleandoc(owner.__doc__ or ""))
    found = _ATTRIBUTE.findall(section[1]) if section else []
    described = {
        name: one.description.help.removesuffix(".") + "."
        for name, one in _declared(owner).items()
        if one.description is not None
    }
    return described | {name: " ".join(text.split()) for name, text in found}


def _declared(owner: Any) -> dict[str, Field]:
    if issubclass(owner, DataClass):
        return dict(owner.__data_fields__)
    defaults, types = owner._field_defaults, owner.__annotations__
    return {
        name: Field(defaults.get(name, REQUIRED), type=types.get(name)) for name in owner._fields
    }


def _default(one: Field) -> Any:
    if one.default_factory is not None:
        return one.default_factory()
    return inspect.Parameter.empty if one.default is REQUIRED else one.default


def _field(name: str, one: Field, doc: str | None) -> Any:
    made: Any = dataclasses.field(
        default=dataclasses.MISSING
        if one.default is REQUIRED or one.default_factory
        else one.default,
        default_factory=one.default_factory or dataclasses.MISSING,
        compare=one.compare,
        repr=one.compare,
        metadata={"doc": doc},
    )
    made.name, made.type, made.kw_only = name, one.type, False
    made._field_type = dataclasses._FIELD  # type: ignore[attr-defined]  # noqa: SLF001 - so do its decorators
    return made
