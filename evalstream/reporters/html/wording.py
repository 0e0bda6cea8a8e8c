"""How the page writes numbers, sizes, values, verdicts, names and commands, each in one way."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Final

from evalstream.model.finding import Severity
from evalstream.model.option_fields import Group
from evalstream.model.options import OPTIONS
from evalstream.model.run import HELD_AGGREGATE, HELD_ROWS, STDIN
from evalstream.model.run_summary import RunSummary
from evalstream.parsing.json import dumps
from evalstream.reporters.markup import Markup, cut_visible, tag
from evalstream.reporters.summary import NOT_CHECKED, rule_limits

NAME: Final = 240
"""How many characters of a file name are shown."""

VALUE: Final = 160
"""How many characters of a value are shown."""

SIGNS: Final = {
    "passed": "✓",
    "failed": "✗",
    "incomplete": "◐",
    "unconfirmed": "◌",
    NOT_CHECKED: "○",
}
"""What a verdict shows beside its word."""

_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")


def format_number(value: float | None, absent: str = "—") -> str:
    """Return a number with six significant digits, as all numbers of the page have."""
    if value is None:
        return absent
    if isfinite(value) and value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:.6g}"


def size(count: int) -> str:
    """Return a number of bytes, and what it is in a larger unit."""
    exact = f"{count:,} {'byte' if count == 1 else 'bytes'}"
    amount, unit = float(count), ""
    for larger in _UNITS:
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{exact} ({amount:.1f} {unit})" if unit else exact


def value(found: object) -> Markup:
    """Return a JSON value, cut short if it is long."""
    return tag("code", cut_visible(dumps(found).decode(), VALUE))


def name(path: str) -> Markup:
    """Return the name of a file."""
    return tag("code", cut_visible(path, NAME), class_="name")


def subject(run: RunSummary) -> str:
    """Return the name of the file that a run is known by."""
    return run.file or run.aggregate or run.inputs or "(a run without a file)"


def badge(verdict: str, limits: str = "") -> Markup:
    """Return a verdict as a sign and a word."""
    return tag(
        "span",
        tag("span", SIGNS[verdict], aria_hidden="true"),
        f" {verdict.capitalize()}",
        f" ({limits})" if limits else None,
        class_=f"badge {verdict.replace(' ', '-')}",
    )


def describe_limits(run: RunSummary) -> str:
    """Say which rules a check was limited to, or left out; "" for none."""
    return cut_visible(rule_limits(run), NAME)


def severity_counts(counts: dict[Severity, int]) -> list[Markup]:
    """Return the number of findings of each severity that has some, the worst first."""
    return [
        tag(
            "span",
            f"{counts[one]:,} {one.label}{'' if counts[one] == 1 else 's'}",
            class_=one.label,
        )
        for one in sorted(Severity, reverse=True)
        if counts.get(one)
    ]


NOT_REPEATED: Final = frozenset({"select", "ignore", "exclude", "follow", "idle_timeout"})
"""Options that choose files or rules, which a command for one rule and run replaces."""

ALL: Final = ("--max-findings", "0", "--format", "jsonl")
"""The options that list every finding."""


def repeat(run: RunSummary | None, file: str, code: str, options: Mapping[str, Any]) -> list[str]:
    """Return the words of the command that repeats the findings of a rule in a run.

    `file` is checked where no run is known. `options` are those of the check.
    """
    return [*check_command(run, file), "--select", code, *_flags(options, only_rules=True)]


def check_command(run: RunSummary | None, file: str) -> list[str]:
    """Return the words of the command that checks a run, or a file."""
    words = ["evalstream", "check"]
    if run is None:
        return [*words, _argument(file)]
    main, *others = filter(None, (run.file, run.aggregate, run.inputs))
    words.append(_argument(main))
    if run.file and run.aggregate:
        words += ["--aggregate", _argument(run.aggregate)]
    if run.inputs and others:
        words += ["--inputs-file", _argument(run.inputs)]
    return words


def shell(words: list[str]) -> str:
    """Return a command as a shell reads it; rows of standard input come from a file."""
    line = " ".join(map(quote_word, words))
    return f"{line} < FILE" if STDIN in words else line


def quote_word(word: str) -> str:
    """Quote a word for a shell; Bash reads characters that do not print as escapes."""
    if word.isprintable():
        return shlex.quote(word)
    safe = (
        chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}"
        for byte in os.fsencode(word)
    )
    return f"$'{''.join(safe)}'"


def format_options(options: Mapping[str, Any]) -> str:
    """Return the options of a check as its command line has them."""
    return " ".join(map(quote_word, _flags(options)))


def _argument(path: str) -> str:
    if path in (HELD_ROWS, HELD_AGGREGATE):
        return path.strip("<>").upper()  # who repeats the check has a file
    return f"./{path}" if path.startswith("-") and path != STDIN else path


def _flags(options: Mapping[str, Any], *, only_rules: bool = False) -> Iterator[str]:
    """Yield the words of options; where asked to, those that change what a rule finds."""
    for name, value in options.items():
        option = OPTIONS.get(name)
        if option is None or (only_rules and not _is_repeated(name)):
            continue
        flag = next(iter(option.text.flags), f"--{name.replace('_', '-')}")
        if isinstance(value, bool):
            yield flag
        elif name in {"select", "ignore"}:
            yield from (flag, ",".join(value))
        else:
            for one in value if isinstance(value, list) else [value]:
                yield from (flag, "FILE" if name == "schema" else str(one))


def _is_repeated(name: str) -> bool:
    group = OPTIONS[name].text.group
    return name not in NOT_REPEATED and group in {Group.RULES, Group.INPUT}
