"""Fields of options objects: their declaration, and what users read about them."""

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeVar

from evalstream.model.data_class import DataClass, NamedTuple, field
from evalstream.model.errors import UsageError

Value = TypeVar("Value")


class Group(str, Enum):
    """The headings under which help lists options, in the order of the help."""

    COMPARISON = "Comparison"
    INPUT = "Input"
    RULES = "Rules"
    REPORT = "Report"
    ROWS = "Rows"
    SEAL = "Seal"
    VALUES = "What the sources do not say"
    EXECUTION = "Execution"
    SETTINGS = "Settings"
    ADVANCED = "Advanced"


class OptionText(NamedTuple):
    """The description of an option, shared by the command line, the Python API and settings files.

    `flags` are the names on the command line, by default made from the field's name; `former`
    are names that still work, with a warning, and are not listed. `choices` are the values that are
    allowed, where they are known here, and `former_choices` their names by former ones;
    `{choices}` in `help` stands for them in any case. `negates` says
    that the flag turns the option off. `seals` says that `seal` takes the option, too, and
    `checks` that `check` takes it on the command line. `named_only` says that a settings file sets
    the option only if `--config` names the file: the option connects, writes, lifts a bound or lets
    findings pass without a word in the verdict. `least` is the least value of an integer. Without a
    group help lists the option last.
    """

    help: str
    group: Group | None = None
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    negates: bool = False
    seals: bool = False
    checks: bool = True
    named_only: bool = False
    former_choices: Mapping[str, str] = MappingProxyType({})
    least: int | None = None


def option(default: Value, *text: Any, **more: Any) -> Value:
    """Return a field of an options object; what follows its default is that of an OptionText."""
    declared: Value = field(default=default, description=OptionText(*text, **more))
    return declared


class Option(NamedTuple):
    """One option: the name, type and default of its field, and what users read of it."""

    name: str
    type: object
    default: object
    text: OptionText


def refuse_small(options: Mapping[str, Option], value_of: Callable[[str], Any]) -> None:
    """Raise UsageError for an option whose value is less than its least one."""
    for name, one in options.items():
        value, least = value_of(name), one.text.least
        if value is not None and least is not None and value < least:
            wanted = f"be at least {least}" if least else "not be negative"
            raise UsageError(f"--{name.replace('_', '-')} must {wanted}")


def declared_options(holder: type[DataClass]) -> dict[str, Option]:
    """Return the options that are fields of a class, by name."""
    return {
        name: Option(name, one.type, one.default, one.description)
        for name, one in holder.__data_fields__.items()
        if one.description is not None
    }
