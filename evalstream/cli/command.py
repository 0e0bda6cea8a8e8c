"""Commands as data: what the readers of command lines, help, completion and the reference read.

An option of a check is declared once, as a field of `model/options.py`.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final

from evalstream.cli.options import SETTINGS_OPTIONS, ArgumentText, resolved_values
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import UsageError
from evalstream.model.finding import Severity
from evalstream.model.option_fields import Option, OptionText, refuse_small
from evalstream.model.options import OPTIONS
from evalstream.model.text import describe_unknown
from evalstream.reporters import REPORT_OPTIONS, ReportOptions
from evalstream.settings.options import CHOICES, options_from
from evalstream.settings.resolve import is_setting

PROGRAM: Final = "evalstream"

COMPLETION: Final = "_EVALSTREAM_COMPLETE"
"""The variable with which a shell asks for completions."""

COMMANDS: Final = (
    *("check", "seal", "merge", "report", "rules", "explain", "formats", "schema list"),
    *("schema show", "schema types", "ledger", "salvage", "fix", "migrate", "compare"),
    *("thresholds", "store verify", "store diff", "store admit", "attest", "export", "completion"),
)
"""The commands in the order of the help; each is in the module named after its first word."""

FORMER: Final = "former_"
"""The prefix of the parameter for an option's former names."""

REQUIRED: Final = ...
"""The default of a parameter that a command line must give."""


class Argument(NamedTuple):
    """An argument of a command: one value, or several if its type is in MANY."""

    name: str
    type: Any
    default: Any
    text: ArgumentText


MANY: Final = (list[str], list[str] | None, tuple[str, ...])
"""The types of parameters that take several values."""

SEVERITIES: Final = (Severity, Severity | None)
"""The types of options that take a severity by its label."""

SWITCHES: Final = (bool, bool | None)
"""The types of options that take no value."""


class Command(NamedTuple):
    """A command: a function that takes the values of its arguments and options by name.

    `name` is what follows `evalstream`, such as `schema show`; the function's docstring is the
    description of the command, and `examples` are command lines. The function takes the values of
    `shared`, the options of a check, as one options object, `options`, and those of `reporting`,
    the options of a report, as another, `reporting`.
    """

    name: str
    function: Callable[..., None]
    arguments: tuple[Argument, ...]
    own: tuple[Option, ...]
    shared: tuple[Option, ...]
    reporting: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[Option, ...]:
        """All options."""
        return (*self.reporting, *self.own, *self.shared, *self.settings)

    @property
    def settings(self) -> tuple[Option, ...]:
        """The options about settings files, if files may set some of the options."""
        return SETTINGS_OPTIONS if self.shared or self.reporting else ()

    def bind(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the function for the values that were read, by parameter.

        Values of former names are optional. Raises UsageError for values that are not allowed.
        """
        arguments = {one.name: _chosen(one, given[one.name]) for one in self.arguments}
        values = self._resolve_values(given)
        own = {one.name: values[one.name] for one in self.own}
        if self.shared:
            # `schema` is the name of a file here; the command reads it.
            own["options"] = options_from({one.name: values[one.name] for one in self.shared})
        if self.reporting:
            reporting = ReportOptions(**{one.name: values[one.name] for one in self.reporting})
            refuse_small(REPORT_OPTIONS, partial(getattr, reporting))
            own["reporting"] = reporting
        return {**arguments, **own}

    def _resolve_values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all options: those of the command line come first."""
        own = {one.name: _find_given(one, given) for one in (*self.own, *self.settings)}
        others = (*self.shared, *self.reporting)
        line = own | {one.name: _value(one, _find_given(one, given)) for one in others}
        line = {name: value for name, value in line.items() if value is not None}
        return resolved_values(self.options, line, reads_settings=bool(self.settings))


def command(
    wanted: Callable[[OptionText], bool] = lambda _: False,
    *,
    reports: bool = False,
    without: Collection[str] = (),
    examples: tuple[str, ...] = (),
) -> Callable[[Callable[..., None]], Command]:
    """Make a command of a function; it takes the wanted options of a check as one object.

    The name of the command is that of the function, with spaces for underscores. If it `reports`,
    it takes the options of a report as another object, `without` those of some names.
    Its other parameters are keywords, annotated with an ArgumentText or an OptionText.
    """

    def decorate(function: Callable[..., None]) -> Command:
        own = tuple(_parameters(function))
        return Command(
            function.__name__.replace("_", " "),
            function,
            tuple(one for one in own if isinstance(one, Argument)),
            tuple(one for one in own if isinstance(one, Option)),
            tuple(one for one in OPTIONS.values() if wanted(one.text)),
            tuple(one for one in REPORT_OPTIONS.values() if reports and one.name not in without),
            examples,
        )

    return decorate


def option_flags(option: Option) -> tuple[str, ...]:
    """Return the flags of an option; those of a switch may have the form `--on/--off`."""
    if option.text.flags:
        return option.text.flags
    flag = option.name.replace("_", "-")
    is_either = option.type == bool | None
    return (f"--{flag}/--no-{flag}" if is_either else f"--{flag}",)


def long_flag(option: Option) -> str:
    """Return the long flag of an option, as messages name it."""
    return next(flag for flag in option_flags(option) if flag.startswith("--")).partition("/")[0]


def allowed_choices(one: Argument | Option) -> tuple[str, ...]:
    """Return the values that an argument or option allows, () if these are not listed."""
    return one.text.choices or tuple(CHOICES.get(one.name, ()) if isinstance(one, Option) else ())


def option_spellings(option: Option) -> tuple[str, ...]:
    """Return all flags of an option; what settings turn on, a hidden flag turns off."""
    first, *rest = option_flags(option)
    if option.type is not bool or not is_setting(option):
        return first, *rest
    name = option.name.replace("_", "-")
    return f"{first}/--{name if option.text.negates else f'no-{name}'}", *rest


def initial_value(option: Option) -> Any:
    """Return the value of an option before a command line is read: REQUIRED, or None."""
    return REQUIRED if option.default is REQUIRED else None


def format_default(option: Option) -> Any:
    """Return the default of an option as the command line writes it."""
    if isinstance(option.default, Severity):
        return option.default.label
    if option.text.negates:
        return not option.default
    return None if option.default == () else option.default


def _parameters(function: Callable[..., None]) -> Iterator[Argument | Option]:
    defaults: Mapping[str, Any] = function.__kwdefaults__ or {}
    for name, annotation in function.__annotations__.items():
        (text,) = getattr(annotation, "__metadata__", (None,))
        kind = Argument if isinstance(text, ArgumentText) else Option
        if text is not None:
            yield kind(name, annotation.__origin__, defaults.get(name, REQUIRED), text)


def _find_given(option: Option, given: Mapping[str, Any]) -> Any:
    """Return the value that was read for an option, under its name or a former one, or None.

    Warns on stderr of a former name. Raises UsageError if the two differ, and for a value that is
    not allowed.
    """
    usual, former = given[option.name], given.get(FORMER + option.name)
    if former is not None:
        name, flag = option.text.former[0], long_flag(option)
        if usual not in (None, former):
            raise UsageError(
                f"{flag} {usual} and {name} {former} contradict each other; {name} is a former "
                f"name of {flag}"
            )
        usual = former
        _warn_of_former(name, flag)
    if option.text.former_choices and usual in option.text.former_choices:
        chosen = option.text.former_choices[usual]
        _warn_of_former(f"{long_flag(option)} {usual}", f"{long_flag(option)} {chosen}")
        return chosen
    return _chosen(option, usual)


def _warn_of_former(former: str, usual: str) -> None:
    sys.stderr.write(
        f"evalstream: {former} is a former name of {usual}, and the next version does not take it\n"
    )


def _chosen(one: Argument | Option, value: Any) -> Any:
    """Return a value that is allowed. Raises UsageError for another, and for an empty one."""
    if value == "" and isinstance(one, Option):
        raise UsageError(f"{long_flag(one)} is empty; leave it out, or give it a value")
    if one.text.choices and value is not None and value not in one.text.choices:
        name = long_flag(one) if isinstance(one, Option) else one.text.metavar
        raise UsageError(f"{name}: {describe_unknown('value', value, one.text.choices)}")
    return value


def _value(option: Option, value: Any) -> Any:
    if value is None:
        return None
    if option.type in SEVERITIES:
        return Severity[value.upper()]
    if option.type == tuple[str, ...]:
        return tuple(value)
    return not value if option.text.negates else value


def named_command(given: Sequence[str]) -> str | None:
    """Return the name of the command that a command line begins with, or None."""
    return next((name for name in (*given[:1], " ".join(given[:2])) if name in COMMANDS), None)


def load_command(name: str) -> Command:
    """Return a command by name; its module is imported."""
    module = import_module(f"evalstream.cli.{name.partition(' ')[0]}")
    command: Command = getattr(module, name.replace(" ", "_"))
    return command
