"""The command `rules`: rules as text for a terminal or a pipe, as JSON, and as Markdown."""

# The annotations are objects, not text, as they are read when the module is imported.

import textwrap
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

from evalstream.cli.command import command
from evalstream.cli.options import ArgumentText, Color
from evalstream.cli.terminal import choose_style, write_text
from evalstream.formats.registry import CATALOGUE, find_formats
from evalstream.io.overwriting import STDOUT
from evalstream.model.errors import UsageError
from evalstream.model.finding import BAD, EXAMPLES, FIX, FOUND, GOOD, WHY, Severity, Status
from evalstream.model.option_fields import OptionText
from evalstream.parsing.json import dumps
from evalstream.reporters import ReportOptions
from evalstream.reporters.base import Style
from evalstream.reporters.summary import TOOL
from evalstream.rules.base import Rule

FORMS: Final = ("text", "json", "markdown")

SCHEMA: Final = 1
"""The version of the layout of the JSON."""

MARGIN: Final = 51
"""The columns of a line of the list before the summary."""

LEAST_TEXT: Final = 30
"""The columns that a summary needs; in a narrower terminal lines are not wrapped."""

WIDEST: Final = 100

_COLOURS: Final = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}
_BOLD: Final = "1"


def write_rules(rules: Sequence[Rule], form: str, color: str, *, in_full: bool) -> None:
    """Write rules to standard output, each on a line or `in_full`; JSON always has everything."""
    if form == "json":
        text = dumps({"schema": SCHEMA, "tool": dict(TOOL), "rules": [*map(_as_dict, rules)]})
        written = f"{text.decode()}\n"
    elif form == "markdown":
        written = "".join(map(_section, rules)) if in_full else _table(rules)
    else:
        style = choose_style(ReportOptions(color=color), STDOUT)
        shown = _explain_rule if in_full else _line
        written = ("\n" if in_full else "").join(f"{shown(rule, style)}\n" for rule in rules)
    write_text(written)


def _as_dict(rule: Rule) -> dict[str, Any]:
    repair = rule.repair
    texts = rule.sections()
    return {
        "code": rule.code,
        "name": rule.name,
        "former_names": list(rule.former_names),
        "summary": rule.summary,
        "severity": rule.severity.label,
        "optional": rule.optional,
        "fixable": rule.fixable,
        "repair": repair and {"does": repair.title, "safe": repair.is_safe, "limit": repair.limit},
        "since": rule.since,
        "status": rule.status.value,
        "formats": list(find_formats(rule)),
        "help": {"finds": texts[FOUND], "matters": texts[WHY], "fix": texts[FIX]},
        "examples": {"bad": texts[BAD], "good": texts[GOOD]},
    }


def _paint_text(text: str, colour: str, style: Style) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if style.colour else text


def _line(rule: Rule, style: Style) -> str:
    severity = _paint_text(f"{rule.severity.label:8}", _COLOURS[rule.severity], style)
    text = _summary(rule)
    head = f"{_paint_text(rule.code, _BOLD, style)}  {severity}{rule.name:30}"
    indent = " " * (MARGIN - 5 + len(rule.code) - 1)
    if style.width is None or style.width < len(indent) + LEAST_TEXT:
        return head + text
    summary = textwrap.wrap(text, style.width - len(indent), break_on_hyphens=False)
    return head + f"\n{indent}".join(summary)


def _summary(rule: Rule) -> str:
    status = "" if rule.status is Status.STABLE else f" ({rule.status.value})"
    return f"{rule.summary}{status}"


def _explain_rule(rule: Rule, style: Style) -> str:
    head, *lines = rule.explain().splitlines()
    name, _, properties = head.partition(": ")
    label = rule.severity.label
    coloured = _paint_text(label, _COLOURS[rule.severity], style) + properties.removeprefix(label)
    body = lines if style.width is None else list(_wrap_lines(lines, min(style.width, WIDEST)))
    return "\n".join([f"{_paint_text(name, _BOLD, style)}: {coloured}", *body])


def _wrap_lines(lines: list[str], width: int) -> Iterator[str]:
    """Iterate over the lines of a text whose paragraphs before the examples are filled anew."""
    text = "\n".join(lines)
    prose, heading, examples = text.partition(f"\n{BAD}:")
    for number, part in enumerate(prose.split("\n\n")):
        if number:
            yield ""
        yield from textwrap.wrap(part, width, break_on_hyphens=False, break_long_words=False)
    if heading:
        yield from f"{heading}{examples}".split("\n")


def _table(rules: Sequence[Rule]) -> str:
    rows = (
        f"| {rule.code} | `{rule.name}` | {rule.severity.label} | {_plain(_summary(rule))} |\n"
        for rule in rules
    )
    return f"| code | name | severity | what it finds |\n| --- | --- | --- | --- |\n{''.join(rows)}"


def _section(rule: Rule) -> str:
    severity = f"{rule.severity.label}{', optional' if rule.optional else ''}"
    formats = ", ".join(find_formats(rule))
    repair = f" Repair: {_plain(rule.repair_text())}." if rule.repair else ""
    parts = [
        f"## {rule.code}: {rule.name}",
        f"{_plain(_summary(rule))}.",
        f"Severity: {severity}. Since {rule.since}. Formats: {formats}.{repair}",
    ]
    for heading, text in rule.sections().items():
        shown = f"```text\n{text}\n```" if heading in EXAMPLES else _plain(text)
        parts += [f"### {heading}", shown]
    return "\n\n".join(parts) + "\n\n"


def _plain(text: str) -> str:
    """Return prose without characters that mean markup."""
    for mark in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(mark, f"\\{mark}")
    return text


CODES: Final = "Codes, beginnings of codes, or names."

Form = Annotated[
    str, OptionText("How the rules are written.", choices=FORMS, flags=("--format", "-f"))
]


@command(
    examples=(
        "evalstream rules",
        "evalstream rules ES4 ES5",
        "evalstream rules sample-hash-mismatch",
        "evalstream rules --format json",
    )
)
def rules(
    *,
    codes: Annotated[list[str] | None, ArgumentText("CODES", CODES)] = None,
    form: Form = "text",
    digest: Annotated[
        bool, OptionText("Show the SHA-256 of the catalogue alone, as attestations name it.")
    ] = False,
    color: Color = "auto",
) -> None:
    """List the rules; explain the ones that you name.

    Without CODES it lists all rules. It explains rules if each of CODES names exactly one.
    """
    if digest:
        if codes:
            raise UsageError("--digest is one of all rules; leave CODES out")
        # Nothing else of this command needs the statements.
        from evalstream.attestation.statement import digest_rules

        write_text(f"{digest_rules()}\n")
        return
    if not codes:
        write_rules(list(CATALOGUE.values()), form, color, in_full=False)
        return
    found = [CATALOGUE.find_rules(text) for text in codes]
    write_rules(chosen(found), form, color, in_full=all(len(some) == 1 for some in found))


def chosen(found: list[list[Rule]]) -> list[Rule]:
    """Return the rules, each once, in the order of their codes."""
    by_code = {rule.code: rule for some in found for rule in some}
    return [rule for _, rule in sorted(by_code.items())]
