"""Read plain command lines without typer, which takes as long to load as a small run to check.

As the fast path of rows only accepts, this reader only reads what is beyond doubt. Help,
completion, mistakes and rare spellings are left to typer, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.cli.command import (
    FORMER,
    MANY,
    REQUIRED,
    SWITCHES,
    Command,
    initial_value,
    option_spellings,
)
from evalstream.model.data_class import NamedTuple
from evalstream.model.options import Option

STDIN: Final = "-"

_NUMBERS: Final[Mapping[object, type]] = {
    int: int,
    int | None: int,
    float: float,
    float | None: float,
}
"""How the text of a number is read, by the type of its option."""

MOST_DIGITS: Final = 18
"""The longest number that is read here."""


class _Flag(NamedTuple):
    """A flag of an option: the parameter that it sets, and the value that a switch gives it."""

    name: str
    option: Option
    switch: bool | None


def read_plain(command: Command, given: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of a command line by parameter, or None if typer must read it.

    `given` is what follows the name of the command.
    """
    flags = _flags(command.options)
    values: dict[str, Any] = {one.name: initial_value(one) for one in command.options}
    named: list[str] = []
    rest = iter(given)
    for text in rest:
        if text == STDIN or not text.startswith("-"):
            named.append(text)
        elif not _read_option(text, rest, flags, values):
            return None
    return values if "" not in named and _assign(command, named, values) else None


def _flags(options: Iterable[Option]) -> dict[str, _Flag]:
    """Return the flags of options by their text."""
    found = {}
    for one in options:
        usual = ((one.name, flag) for flag in option_spellings(one))
        former = ((FORMER + one.name, flag) for flag in one.text.former)
        for name, flag in (*usual, *former):
            on, _, off = flag.partition("/")
            found[on] = _Flag(name, one, True if one.type in SWITCHES else None)
            if off:
                found[off] = _Flag(name, one, False)
    return found


def _read_option(
    text: str, rest: Iterator[str], flags: Mapping[str, _Flag], values: dict[str, Any]
) -> bool:
    """Set the value of an option; return False if typer must read it."""
    flag = flags.get(text)
    if flag is not None and flag.switch is not None:
        values[flag.name] = flag.switch
        return True
    given = ""
    if flag is not None:
        given = next(rest, "")
    elif text.startswith("--"):
        name, _, given = text.partition("=")
        flag = flags.get(name)
    else:
        flag, given = flags.get(text[:2]), text[2:]
    if flag is None or flag.switch is not None or (given != STDIN and given[:1] in ("", "-")):
        return False
    return _set_value(flag, given, values)


def _set_value(flag: _Flag, given: str, values: dict[str, Any]) -> bool:
    """Set a value of the right type; return False for any other."""
    kind, choices = flag.option.type, flag.option.text.choices
    if kind in _NUMBERS:
        if not (given.isascii() and given.isdigit() and len(given) <= MOST_DIGITS):
            return False
        values[flag.name] = _NUMBERS[kind](given)
    elif kind in MANY:
        values[flag.name] = [*(values.get(flag.name) or ()), given]
    elif choices and given not in choices:
        return False
    else:
        values[flag.name] = given
    return True


def _assign(command: Command, named: list[str], values: dict[str, Any]) -> bool:
    """Set the arguments; return False if one is missing or left over, or an option is missing."""
    rest = list(named)
    for one in command.arguments:
        if one.type in MANY:
            values[one.name], rest = rest or one.default, []
        else:
            values[one.name] = rest.pop(0) if rest else one.default
    return not rest and REQUIRED not in values.values()
