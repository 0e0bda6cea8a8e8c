"""Start the program, read plain command lines, and end with the exit code of the outcome."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from evalstream.cli.command import (
    COMPLETION,
    FORMER,
    MANY,
    REQUIRED,
    SWITCHES,
    Command,
    initial_value,
    load_command,
    named_command,
    option_spellings,
)
from evalstream.cli.terminal import PipeClosed
from evalstream.io.inputs import protect_standard_streams
from evalstream.io.output import is_full, unwritable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, CannotWrite, UsageError, describe_error
from evalstream.model.exit_codes import EEE, OWN, PIPE_CLOSED, ExitCode, error_exit_code, of_signal
from evalstream.model.option_fields import Option
from evalstream.model.signals import STOPPING, Stopped

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
    """Return the values after the name of a command, or None if typer must read them."""
    flags = _flags(command.options, given)
    values: dict[str, Any] = {one.name: initial_value(one) for one in command.options}
    named: list[str] = []
    rest = iter(given)
    for text in rest:
        if text == STDIN or not text.startswith("-"):
            named.append(text)
        elif not _read_option(text, rest, flags, values):
            return None
    return values if "" not in named and _assign(command, named, values) else None


def _flags(options: Iterable[Option], given: Sequence[str]) -> dict[str, _Flag]:
    words = {text.partition("=")[0].replace("-", "_") for text in given}
    found = {}
    for one in options:
        is_usual = not (one.text.flags or one.text.former)
        if is_usual and words.isdisjoint((f"__{one.name}", f"__no_{one.name}")):
            continue
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


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    protect_standard_streams()
    STOPPING.listen()
    # Processes that this one starts take no module from the working directory, which may belong to
    # the author of the data: workers of Dask and of pools begin with `python -c`.
    os.environ["PYTHONSAFEPATH"] = "1"
    # What imports made lives to the end; looking through it again and again takes 0.01 s.
    gc.freeze()
    given = sys.argv[1:]
    scheme = _scheme(given)
    unchecked = error_exit_code(ExitCode.UNCHECKED, scheme)
    try:
        read = _read_line(given)
        if read is None:
            from evalstream.cli.typer_app import run_by_typer

            run_by_typer(given)
        else:
            command, values = read
            command.function(**command.bind(values))
    except UsageError as error:
        stop(error.on_command_line, error_exit_code(ExitCode.USAGE, scheme))
    except (CannotCheck, CannotWrite) as error:
        stop(str(error), unchecked)
    except Stopped as stopped:
        stop(f"stopped by {stopped.name}; the check is not complete", of_signal(stopped.signal))
    except PipeClosed:
        # Buffered output has no reader; a second error at exit would be printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_CLOSED)
    except OSError as error:
        name = error.filename or "the report"
        text = unwritable(name, error) if is_full(error) else f"{name}: {describe_error(error)}"
        stop(text, unchecked)
    except Exception:  # noqa: BLE001 - an internal error must not look like a verdict
        import traceback

        traceback.print_exc()
        stop("internal error; the check is not complete", unchecked)
    sys.exit(ExitCode.PASSED)


def _scheme(given: Sequence[str]) -> str:
    """Return the meaning of exit codes that a command line names, also one that is not valid."""
    text = "\n".join(given)
    is_named = f"--exit-codes\n{EEE}" in text or f"--exit-codes={EEE}" in text
    return EEE if is_named else OWN


def _read_line(given: Sequence[str]) -> tuple[Command, dict[str, Any]] | None:
    """Return the command of a plain command line and its values, or None if typer must read it."""
    name = named_command(given)
    if name is None or COMPLETION in os.environ:
        return None
    command = load_command(name)
    values = read_plain(command, given[len(name.split()) :])
    return None if values is None else (command, values)


def stop(message: str, code: int) -> NoReturn:
    """Print on stderr why the program ends, and exit with a code."""
    print(f"evalstream: {message}", file=sys.stderr)
    sys.exit(code)
