"""The completion script of bash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evalstream.cli.command import Command
from evalstream.cli.shells.values import (
    HELP_FLAGS,
    Kind,
    Proposal,
    argument_of,
    flags_by_option,
    groups,
    rule_words,
)

_SCRIPT: Final = """\
# Completion of evalstream for bash, written by: evalstream completion bash
_evalstream_rules='{rules}'

_evalstream() {{
    local IFS=$' \\n' current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local name=${{COMP_WORDS[1]}} kind=words words=
    COMPREPLY=()
    # bash takes the equals sign for a word.
    if [[ $current == = ]]; then
        current=
    elif [[ $before == = ]]; then
        before=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    if (( COMP_CWORD == 1 )); then
        words='{commands} --help --version'
    elif (( COMP_CWORD == 2 )) && [[ " {grouped} " == *" $name "* ]]; then
        case $name in
{seconds}
        esac
    else
        [[ " {grouped} " == *" $name "* ]] && name="$name ${{COMP_WORDS[2]}}"
        case "$name:$before" in
{values}
        *)
            case "$name:$current" in
{options}
            *)
                case $name in
{arguments}
                *) kind=anything ;;
                esac
                ;;
            esac
            ;;
        esac
    fi
    case $kind in
    words) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    rules)
        local head=${{current%"${{current##*,}}"}}
        COMPREPLY=($(compgen -P "$head" -W "$_evalstream_rules" -- "${{current##*,}}"))
        ;;
    folders)
        compopt -o filenames 2>/dev/null
        IFS=$'\\n' COMPREPLY=($(compgen -d -- "$current"))
        ;;
    files) return ;; # the default of bash
    esac
    compopt +o default +o bashdefault 2>/dev/null
    return 0
}}

complete -o default -o bashdefault -F _evalstream evalstream
"""


def script(commands: Sequence[Command]) -> str:
    """Return the script for the commands."""
    grouped = {first: seconds for first, seconds in groups(commands).items() if seconds}
    return _SCRIPT.format(
        rules=" ".join(rule_words()),
        commands=" ".join(groups(commands)),
        grouped=" ".join(grouped),
        seconds="\n".join(
            f"        {first}) words='{' '.join(seconds)} --help' ;;"
            for first, seconds in grouped.items()
        ),
        values="\n".join(line for one in commands for line in _values(one)),
        options="\n".join(map(_options, commands)),
        arguments="\n".join(line for one in commands for line in _arguments(one)),
    )


def _values(command: Command) -> Iterator[str]:
    for one in flags_by_option(command):
        if one.value is not None:
            patterns = " | ".join(f"'{command.name}:{flag}'" for flag in (*one.short, *one.long))
            yield f"        {patterns}) {_assigned(one.value)} ;;"


def _options(command: Command) -> str:
    flags = [flag for one in flags_by_option(command) for flag in (*one.short, *one.long)]
    return f"            '{command.name}':-*) words='{' '.join([*flags, *HELP_FLAGS])}' ;;"


def _arguments(command: Command) -> Iterator[str]:
    value = argument_of(command)
    if value is not None:
        yield f"                '{command.name}') {_assigned(value)} ;;"


def _assigned(value: Proposal) -> str:
    words = f" words='{' '.join(value.words)}'" if value.kind is Kind.WORDS else ""
    return f"kind={value.kind.value}{words}"
