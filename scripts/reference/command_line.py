"""The page about the command line: every command with its arguments, options and examples."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from evalstream.cli.command import (
    COMMANDS,
    MANY,
    REQUIRED,
    Argument,
    Command,
    format_default,
    load_command,
    option_flags,
)
from evalstream.cli.typer_app import argument_help, group_options, metavar, option_help
from evalstream.model.option_fields import Option
from reference.markdown import code, fence, paragraphs, sentence, table
from reference.program import DOCS

PROGRAM = "evalstream"
INTRODUCTION = """# Command line

`evalstream COMMAND --help` prints the same. Every command also has `--help` and `-h`, and
`evalstream --version` prints the version.

A short option may be joined with its value: `-fjson`, `-j4`. An unknown command, option, value,
rule or schema is an error with exit code 2 that names what was probably meant.

## Completion in a shell

`evalstream completion` prints a script that completes commands, options, their values, the codes
and names of rules, and files. The script asks the installed evalstream.

```sh
# bash, with the package bash-completion
mkdir -p ~/.local/share/bash-completion/completions
evalstream completion bash > ~/.local/share/bash-completion/completions/evalstream

# zsh, with a folder of $fpath that compinit reads
evalstream completion zsh > ~/.zfunc/_evalstream

# fish
evalstream completion fish > ~/.config/fish/completions/evalstream.fish
```

In bash and zsh `eval "$(evalstream completion bash)"`, with the name of the shell, does the same
for one session; in zsh it comes after `compinit`.
"""

_SHELL = re.compile(r"```(?:sh|console)\n(.*?)```", re.DOTALL)
_EXIT_CODES = re.compile(r"^## Exit codes\n(.*?)(?=^## )", re.DOTALL | re.MULTILINE)


def commands() -> list[Command]:
    """Return the commands in the order of the help."""
    return [load_command(name) for name in COMMANDS]


def page() -> str:
    """Return the page."""
    examples = _examples()
    parts = [INTRODUCTION]
    parts += chain.from_iterable(_command(one, examples[one.name]) for one in commands())
    parts += ["## Exit codes\n", _exit_codes()]
    return "\n".join(parts)


def _command(command: Command, examples: dict[str, Path]) -> Iterator[str]:
    """Yield the parts of the section of a command."""
    yield f"## {command.name}\n"
    yield f"{paragraphs(command.function.__doc__ or '')}\n"
    yield fence(usage(command), "text")
    if command.arguments:
        rows = ((code(one.text.metavar), sentence(argument_help(one))) for one in command.arguments)
        yield table(["argument", "meaning"], rows)
    for heading, some in group_options(command):
        if some:
            yield f"**{heading}**\n"
            rows = ((code(option_name(one)), option_help(one)) for one in some)
            yield table(["option", "meaning"], rows)
    yield "**Examples**\n"
    yield fence("\n".join(command.examples), "sh")
    for text, path in examples.items():
        if text not in command.examples:
            yield f"{fence(text, 'sh')}\nFrom {_link(path)}.\n"


def usage(command: Command) -> str:
    """Return how a command is called."""
    required = [
        f"{option_flags(one)[0]} {metavar(one)}"
        for one in command.options
        if format_default(one) is REQUIRED
    ]
    arguments = map(argument_name, command.arguments)
    return " ".join([PROGRAM, command.name, "[OPTIONS]", *required, *arguments])


def argument_name(argument: Argument) -> str:
    """Return an argument as the usage writes it."""
    name = argument.text.metavar
    shown = name if argument.default is REQUIRED else f"[{name}]"
    return f"{shown}..." if argument.type in MANY else shown


def option_name(option: Option) -> str:
    """Return the flags of an option, short ones first, and what its value is called."""
    flags = [flag for text in option_flags(option) for flag in text.split("/")]
    flags.sort(key=lambda flag: flag.startswith("--"))
    return f"{', '.join(flags)} {metavar(option)}".rstrip()


def _examples() -> defaultdict[str, dict[str, Path]]:
    """Return examples of each command from the other pages, the first of each page."""
    found: defaultdict[str, dict[str, Path]] = defaultdict(dict)
    names = {f"{PROGRAM} {one}": one for one in sorted(COMMANDS, key=len, reverse=True)}
    for path in sorted(DOCS.rglob("*.md")):
        if path.parent.name == "decisions":
            continue
        shown = chain.from_iterable(map(_commands_in, _SHELL.findall(path.read_text("utf-8"))))
        for text in shown:
            known = (one for one in names if re.search(rf"(?:^|\| ){one}\b", text))
            name = names.get(next(known, ""))
            if name and path not in found[name].values():
                found[name].setdefault(text, path)
    return found


def _commands_in(block: str) -> Iterator[str]:
    """Yield the commands of a block; in sessions with output they follow a prompt."""
    lines = block.replace("\\\n", "").splitlines()
    is_session = any(line.startswith("$ ") for line in lines)
    for line in lines:
        if not is_session or line.startswith("$ "):
            yield " ".join(line.removeprefix("$ ").split())


def _link(path: Path) -> str:
    title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    return f"[{title}](../{path.relative_to(DOCS).as_posix()})"


def _exit_codes() -> str:
    """Return the section about exit codes of the page about reports."""
    found = _EXIT_CODES.search((DOCS / "reports.md").read_text(encoding="utf-8"))
    if found is None:
        raise ValueError("docs/reports.md has no section about exit codes")
    return found[1].strip() + "\n"
