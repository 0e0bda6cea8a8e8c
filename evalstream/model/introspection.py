"""What `dataclasses` and `inspect` ask of the classes of named values, made when they ask it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from typing import Any, Final

Fields = Mapping[str, Any]
"""The fields of a class by name, as `data_class` declares them."""

_ATTRIBUTES: Final = re.compile(r"\n\s*Attributes:\n(.*)", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def fields_of(owner: type, declared: Fields) -> dict[str, Any]:
    """Return the fields of a class as `dataclasses.fields` returns them; `metadata` has `doc`."""
    docs = docs_of(owner, declared)
    return {name: _field(name, one, docs.get(name, "")) for name, one in declared.items()}


def signature_of(owner: type, declared: Fields) -> inspect.Signature:
    """Return the signature of the constructor of a class."""
    by_name = not getattr(owner, "_by_position", True)
    kind = inspect.Parameter.KEYWORD_ONLY if by_name else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter(name, kind, default=_default(one), annotation=one.type)
            for name, one in declared.items()
        ]
    )


def docs_of(owner: type, declared: Fields) -> dict[str, str]:
    """Return what the docstring of a class says about each attribute."""
    section = _ATTRIBUTES.search(inspect.cleandoc(owner.__doc__ or ""))
    found = _ATTRIBUTE.findall(section[1]) if section else []
    described = {
        name: one.description.help.removesuffix(".") + "."
        for name, one in declared.items()
        if one.description is not None
    }
    return described | {name: " ".join(text.split()) for name, text in found}


def _default(one: Any) -> Any:
    if one.default_factory is not None:
        return one.default_factory()
    return inspect.Parameter.empty if one.is_required else one.default


def _field(name: str, one: Any, doc: str | None) -> Any:
    made: Any = dataclasses.field(
        default=dataclasses.MISSING if one.is_required or one.default_factory else one.default,
        default_factory=one.default_factory or dataclasses.MISSING,
        compare=one.compare,
        repr=one.compare,
        metadata={"doc": doc},
    )
    made.name, made.type, made.kw_only = name, one.type, False
    made._field_type = dataclasses._FIELD  # type: ignore[attr-defined]  # noqa: SLF001 - so do its decorators
    return made
