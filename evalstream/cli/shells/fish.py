"""The completion script of fish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evalstream.cli.command import Command
from evalstream.cli.help import first_sentence, option_help
from evalstream.cli.shells.values import Kind, Proposal, argument_of, flags_by_option, rule_words

_BEGINNING: Final = """\
# Completion of evalstream for fish, written by: evalstream completion fish
function __evalstream_begins
    set -l words (commandline -opc)
    test "$words[2..-1]" = "$argv"
end

function __evalstream_runs
    set -l words (commandline -opc)
    set -l last (math 1 + (count $argv))
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end

function __evalstream_rules
    set -l head (string match -r '.*,' -- (string replace -r '^-[^=]*=' '' -- (commandline -ct)))
    string replace -r '^' "$head" -- {rules}
end

complete -c evalstream -f
complete -c evalstream -n __evalstream_begins -s h -l help -d 'Show the help'
complete -c evalstream -n __evalstream_begins -s V -l version -d 'Show the version'
"""


def script(commands: Sequence[Command]) -> str:
    """Return the script for the commands."""
    lines = [line for one in commands for line in _command(one)]
    return _BEGINNING.replace("{rules}", " ".join(rule_words())) + "\n".join(lines) + "\n"


def _command(command: Command) -> Iterator[str]:
    first, _, second = command.name.partition(" ")
    begins = f"'__evalstream_begins{f' {first}' if second else ''}'"
    if second:
        yield f"complete -c evalstream -n __evalstream_begins -a {first}"
    described = f"-d {_quoted(first_sentence(command))}"
    yield f"complete -c evalstream -n {begins} -a {second or first} {described}"
    runs = f"complete -c evalstream -n '__evalstream_runs {command.name}'"
    for one in flags_by_option(command):
        names = [
            *(f"-s {flag[1:]}" for flag in one.short),
            *(f"-l {flag[2:]}" for flag in one.long),
        ]
        value = "" if one.value is None else f" -r {_proposed(one.value)}"
        yield f"{runs} {' '.join(names)}{value} -d {_quoted(option_help(one.option))}"
    yield f"{runs} -s h -l help -d 'Show the help'"
    argument = argument_of(command)
    if argument is not None:
        yield f"{runs} {_proposed(argument)}"


def _proposed(value: Proposal) -> str:
    if value.kind is Kind.WORDS:
        return f"-f -a {_quoted(' '.join(value.words))}"
    proposed = {
        Kind.RULES: "-f -a '(__evalstream_rules)'",
        Kind.FILES: "-F",
        Kind.FOLDERS: "-f -a '(__fish_complete_directories)'",
        Kind.ANYTHING: "-f",
    }
    return proposed[value.kind]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
