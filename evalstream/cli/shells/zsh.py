"""The completion script of zsh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evalstream.cli.command import MANY, Command
from evalstream.cli.help import first_sentence, metavar, option_help
from evalstream.cli.shells.values import (
    Flags,
    Kind,
    Proposal,
    flags_by_option,
    groups,
    proposal,
    rule_words,
)

_SCRIPT: Final = """\
#compdef evalstream
# Completion of evalstream for zsh, written by: evalstream completion zsh
_evalstream_rules() {{
    compadd "$@" -- {rules}
}}

_evalstream() {{
    local -a commands
    local name=$words[2]
    if (( CURRENT == 2 )); then
        commands=(
{first}
        )
        _describe command commands
        return
    fi
    case $name in
{seconds}
    esac
    shift words
    (( CURRENT-- ))
    case $name in
{arguments}
    esac
}}

# As a file of $fpath the script is the function; elsewhere it declares it.
if [[ $funcstack[1] == _evalstream ]]; then
    _evalstream "$@"
else
    compdef _evalstream evalstream
fi
"""

_SECOND: Final = """\
    {first})
        if (( CURRENT == 3 )); then
            commands=(
{listed}
            )
            _describe command commands
            return
        fi
        name="$name $words[3]"
        shift words
        (( CURRENT-- ))
        ;;"""


def script(commands: Sequence[Command]) -> str:
    """Return the script for the commands."""
    by_name = {one.name: one for one in commands}
    described, seconds = [], []
    for first, second in groups(commands).items():
        text = first_sentence(by_name[first]) if not second else ", ".join(second)
        described.append(f"            {_entry(first, text)}")
        if second:
            listed = [
                f"                {_entry(one, first_sentence(by_name[f'{first} {one}']))}"
                for one in second
            ]
            seconds.append(_SECOND.format(first=first, listed="\n".join(listed)))
    return _SCRIPT.format(
        rules=" ".join(rule_words()),
        first="\n".join(described),
        seconds="\n".join(seconds),
        arguments="\n".join(map(_arguments, commands)),
    )


def _arguments(command: Command) -> str:
    specs = [spec for one in flags_by_option(command) for spec in _option(one)]
    specs.append("'(- *)'{-h,--help}'[Show the help and exit]'")
    for one in command.arguments:
        many = "*" if one.type in MANY else ""
        specs.append(_quoted(f"{many}:{one.text.metavar}:{_action(proposal(one))}"))
    lines = " \\\n            ".join(["_arguments -s :", *specs])
    return f"    '{command.name}')\n        {lines}\n        ;;"


def _option(flags: Flags) -> Iterator[str]:
    """Iterate over the specifications of an option, one for each of its flags."""
    text = _escaped(option_help(flags.option))
    is_repeatable = flags.option.type in MANY
    others = "" if is_repeatable else f"({' '.join((*flags.short, *flags.long))})"
    for flag in (*flags.short, *flags.long):
        value = ""
        if flags.value is not None:
            name = _escaped(metavar(flags.option))
            value = f":{name}:{_action(flags.value)}"
            flag = f"{flag}{'=' if flag.startswith('--') else '+'}"  # noqa: PLW2901
        yield _quoted(f"{'*' if is_repeatable else others}{flag}[{text}]{value}")


def _action(value: Proposal) -> str:
    actions = {
        Kind.WORDS: f"({' '.join(value.words)})",
        Kind.RULES: "_sequence _evalstream_rules",
        Kind.FILES: "_files",
        Kind.FOLDERS: "_files -/",
        Kind.ANYTHING: " ",
    }
    return actions[value.kind]


def _entry(name: str, text: str) -> str:
    return _quoted(f"{name}:{text.replace(':', ' -')}")


def _escaped(text: str) -> str:
    """Return a text whose brackets and colons mean nothing to _arguments."""
    for mark in ("\\", "[", "]", ":"):
        text = text.replace(mark, f"\\{mark}")
    return text


def _quoted(text: str) -> str:
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"
