"""Signatures, types and defaults as they are written in code."""

import inspect
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from evalstream.model.data_class import DataClass

_MODULES = re.compile(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])")
_STARS: Mapping[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def signature(name: str, function: Any) -> str:
    """Return the signature of a function, one parameter on each line if it is long."""
    described = inspect.signature(function)
    parts: list[str] = []
    for one in described.parameters.values():
        if one.name in {"self", "cls"}:
            continue
        is_first_keyword = one.kind is one.KEYWORD_ONLY and not any("*" in part for part in parts)
        parts += ["*", _parameter(one)] if is_first_keyword else [_parameter(one)]
    result = described.return_annotation
    end = "" if result is described.empty else f" -> {annotation(result)}"
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) <= 80:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){end}"])


def _parameter(one: inspect.Parameter) -> str:
    stars = _STARS.get(one.kind, "")
    typed = "" if one.annotation is one.empty else f": {annotation(one.annotation)}"
    if one.default is one.empty:
        return f"{stars}{one.name}{typed}"
    return f"{stars}{one.name}{typed}{' = ' if typed else '='}{shown(one.default)}"


def annotation(given: Any) -> str:
    """Return a type as it is written in code, without the modules of its names."""
    given = getattr(given, "__forward_arg__", given)
    text = given if isinstance(given, str) else inspect.formatannotation(given)
    return _MODULES.sub("", text)


def shown(default: Any) -> str:
    """Return a default as it is written in code."""
    kind = type(default)
    if isinstance(default, Enum):
        return f"{kind.__name__}.{default.name}"
    is_plain = issubclass(kind, DataClass) and default == kind()
    return f"{kind.__name__}()" if is_plain else repr(default)
