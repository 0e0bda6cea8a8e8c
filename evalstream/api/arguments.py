"""Whether the arguments of a call have the types of the options that they set."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from evalstream.model.finding import Severity
from evalstream.model.options import OPTIONS, Options
from evalstream.settings.options import chosen_options, options_from

WORDS: Final = {
    bool: "True or False",
    int: "an int",
    float: "a number",
    str: "a str",
    Severity: "a severity, such as evalstream.Severity.WARNING",
}
"""How messages call the types of options."""


def chosen_arguments(options: Options | None, given: Mapping[str, Any]) -> Options:
    """Return the options object, or one with the arguments of a call.

    Raises TypeError for a wrong type, and UsageError for both.
    """
    if options is not None and not isinstance(options, Options):
        raise TypeError(f"options is {described(options)}; it takes an evalstream.Options")
    return chosen_options(options, typed_arguments(given))


def options_of(given: Mapping[str, Any]) -> Options:
    """Return options with the arguments of a call. Raises TypeError for a wrong type."""
    return options_from(typed_arguments(given))


def typed_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are options, with paths as texts. Raises TypeError."""
    return {
        name: _typed(name, given[name], one.type) for name, one in OPTIONS.items() if name in given
    }


def described(value: Any) -> str:
    """Return the type of a value, with its article."""
    if hasattr(value, "read"):
        return "a file object"
    if value is None:
        return "None"
    kind = value.__class__.__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"


def _typed(name: str, value: Any, kind: Any) -> Any:
    if kind == tuple[str, ...]:
        return (
            value
            if name == "per_file_ignores" and isinstance(value, Mapping)
            else _texts(name, value)
        )
    wanted = next((one for one in WORDS if kind in (one, one | None)), str)
    if value is None and kind != wanted:
        return None
    if wanted is str and isinstance(value, os.PathLike):
        return os.fspath(value)
    accepted = (int, float) if wanted is float else wanted
    if not isinstance(value, accepted) or (isinstance(value, bool) and wanted is not bool):
        raise TypeError(f"{name} is {described(value)}; it takes {WORDS[wanted]}")
    return value


def _texts(name: str, value: Any) -> Any:
    """Return one text, or several. Raises TypeError for anything else."""
    if isinstance(value, str):
        return value
    texts = list(value) if isinstance(value, Iterable) and not isinstance(value, bytes) else [value]
    for one in texts:
        if not isinstance(one, str):
            raise TypeError(f"{name} has {described(one)}; it takes a str, or several")
    return texts
