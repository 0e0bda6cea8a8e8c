"""The page about the command line: every command with its arguments, options and examples."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from typer.main import get_command

from evalstream.cli.app import app
from reference.markdown import code, fence, paragraphs, sentence, table
from reference.program import DOCS

PROGRAM = "evalstream"
OPTIONS = "Options"
"""The heading of options that belong to no group."""

INTRODUCTION = """# Command line

`evalstream COMMAND --help` prints the same. Every command also has `--help`.
"""

_SHELL = re.compile(r"```(?:sh|console)\n(.*?)```", re.DOTALL)
_EXIT_CODES = re.compile(r"^## Exit codes\n(.*?)(?=^## )", re.DOTALL | re.MULTILINE)


class Command(NamedTuple):
    """A command: its name with those of its groups, and what the command line knows of it."""

    name: str
    parsed: Any

    @property
    def context(self) -> Any:
        """The context in which the command describes itself."""
        return self.parsed.context_class(self.parsed, info_name=self.name)


def commands() -> list[Command]:
    """Return the commands in the order of the help; a group stands for its commands."""
    return list(_below(get_command(app), PROGRAM))


def _below(parsed: Any, name: str) -> Iterator[Command]:
    if not hasattr(parsed, "commands"):
        yield Command(name, parsed)
        return
    for one in parsed.commands:
        yield from _below(parsed.commands[one], f"{name} {one}")


def parameters(command: Command, kind: str) -> list[Any]:
    """Return the arguments or the options of a command that its help lists."""
    return [
        one
        for one in command.parsed.params
        if one.param_type_name == kind and not getattr(one, "hidden", False)
    ]


def page() -> str:
    """Return the page."""
    examples = _examples()
    main = Command(PROGRAM, get_command(app))
    parts = [INTRODUCTION, "## All commands\n"]
    parts += ["\n".join(_options(main, parameters(main, "option")))]
    parts += chain.from_iterable(_command(one, examples[one.name]) for one in commands())
    parts += ["## Exit codes\n", _exit_codes()]
    return "\n".join(parts)


def _command(command: Command, examples: dict[str, Path]) -> Iterator[str]:
    """Yield the parts of the section of a command."""
    yield f"## {command.name.removeprefix(f'{PROGRAM} ')}\n"
    yield f"{paragraphs(command.parsed.help or '')}\n"
    usage = [command.name, *command.parsed.collect_usage_pieces(command.context)]
    yield fence(" ".join(usage), "text")
    arguments = parameters(command, "argument")
    if arguments:
        rows = ((code(one.metavar or one.name), _help(one)) for one in arguments)
        yield table(["argument", "meaning"], rows)
    groups: dict[str, list[Any]] = defaultdict(list)
    for one in parameters(command, "option"):
        groups[_group(one)].append(one)
    for group, some in groups.items():
        yield f"**{group}**\n"
        yield from _options(command, some)
    if examples:
        yield "**Examples**\n"
        shown = (f"{fence(text, 'sh')}\nFrom {_link(path)}.\n" for text, path in examples.items())
        yield from shown


def _group(option: Any) -> str:
    """Return the heading under which the help lists an option."""
    return getattr(option, "rich_help_panel", None) or OPTIONS


def _options(command: Command, some: Iterable[Any]) -> Iterator[str]:
    rows = ((code(_names(command, one)), _default(one), _help(one)) for one in some)
    yield table(["option", "default", "meaning"], rows)


def _names(command: Command, parameter: Any) -> str:
    """Return the names of a parameter and what its value is called."""
    names: str = parameter.get_help_record(command.context)[0]
    return names


def _help(parameter: Any) -> str:
    text = sentence(parameter.help or "")
    return f"{text} Required." if parameter.required else text


def _default(option: Any) -> str:
    """Return the default of an option; an empty text if it is off or absent."""
    value = option.default.value if isinstance(option.default, Enum) else option.default
    if value is None or isinstance(value, (bool, list, tuple)):
        return ""
    return code(str(value))


def _examples() -> defaultdict[str, dict[str, Path]]:
    """Return examples of each command from the other pages, the first of each page."""
    found: defaultdict[str, dict[str, Path]] = defaultdict(dict)
    names = sorted((one.name for one in commands()), key=len, reverse=True)
    for path in sorted(DOCS.rglob("*.md")):
        if path.parent.name == "decisions":
            continue
        shown = chain.from_iterable(map(_commands_in, _SHELL.findall(path.read_text("utf-8"))))
        for text in shown:
            name = next((one for one in names if re.search(rf"(?:^|\| ){one}\b", text)), None)
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
