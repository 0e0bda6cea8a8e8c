"""The findings by rule: what was found where, the rule's page, and how to repeat it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Excerpt, Finding, RuleText, Severity
from evalstream.model.option_fields import Group
from evalstream.model.options import OPTIONS
from evalstream.model.report import Report
from evalstream.model.run import HELD_AGGREGATE, HELD_ROWS, STDIN
from evalstream.model.run_summary import RunSummary
from evalstream.model.text import count_noun
from evalstream.reporters.groups import Caps, EntryPlace, FindingEntry, PlacedValues, join_findings
from evalstream.reporters.html.run import VALUE, name
from evalstream.reporters.markup import Child, Markup, cut_visible, join_markup, tag
from evalstream.reporters.overview import Overview, relative, run_paths
from evalstream.reporters.summary import fix_mark

LIMIT: Final = 4_000
"""How many characters of the documentation of a rule are shown."""

_BLOCKS: Final = re.compile(r"\n\s*\n")
_HEADING: Final = re.compile(r"([A-Z][a-z ]{2,20}):\s")


def rule_help(rule: RuleText) -> Markup:
    """Return what a rule finds, why it matters and how to fix it, folded."""
    # The first block has the name, the severity and the summary, which the page shows anyway.
    _, _, text = rule.help.partition("\n\n")
    shown = text[:LIMIT].strip("\n")
    more = tag("p", "… evalstream rules shows the rest.") if len(text) > LIMIT else None
    blocks = [part for block in _BLOCKS.split(shown) for part in _block(block)]
    return tag("details", tag("summary", "About this rule"), blocks, more, class_="help")


def _block(block: str) -> Iterator[Markup]:
    lines = block.split("\n")
    paragraph = [line for line in lines if line[:1] != " "]
    example = [line.removeprefix("    ") for line in lines if line[:1] == " "]
    if paragraph:
        text = " ".join(paragraph)
        heading = _HEADING.match(f"{text} ")
        label = heading.group(1) if heading else ""
        rest = text[len(label) + 1 :] if label else text
        yield tag("p", tag("b", f"{label}:") if label else None, prose(rest))
    if example:
        yield tag("pre", join_markup(*_separate_lines(example)))


def prose(text: str) -> Markup:
    """Return text whose parts in backticks are code."""
    parts = text.split("`")
    return join_markup(
        *(tag("code", one) if number % 2 else one for number, one in enumerate(parts))
    )


def _separate_lines(lines: list[str]) -> Iterator[str]:
    """Yield lines and the breaks between them, which are markup as they must stay."""
    for number, line in enumerate(lines):
        if number:
            yield Markup("\n")
        yield line


BYTES: Final = 700_000
"""How many bytes all findings may take; each rule has an equal share."""

OF_ONE: Final = Caps(values=30, ranges=30)
OF_MANY: Final = Caps(messages=30)
"""How much of a rule the page of one run shows, and that of several."""

MESSAGE: Final = 400
POINTER: Final = 200
SAMPLE: Final = 80
EXCERPT: Final = 120
COMMAND: Final = 1_000


class RuleGroup(NamedTuple):
    """The findings of a rule: those that came, of which the first and the worst are known."""

    code: str
    total: int
    findings: Iterable[Finding]
    first: Finding | None
    worst: Severity | None
    rule: RuleText | None

    @property
    def name(self) -> str:
        """The name of the rule; "" if neither the report nor a finding has it."""
        return self.rule.name if self.rule else self.first.name if self.first else ""

    @property
    def label(self) -> str:
        """The highest severity of its findings that came."""
        return "info" if self.worst is None else self.worst.label


def rule_groups(report: Report, kept: Mapping[str, Iterable[Finding]]) -> list[RuleGroup]:
    """Return the groups of all rules with findings, the most severe first."""
    groups = []
    for code, count in report.counts.items():
        found = kept.get(code, ())
        worst = max((finding.severity for finding in found), default=None)
        first = next(iter(found), None)
        groups.append(RuleGroup(code, count, found, first, worst, report.rules.get(code)))
    return sorted(groups, key=lambda group: (-(group.worst or 0), group.code))


def findings_section(report: Report, overview: Overview, groups: list[RuleGroup]) -> Markup:
    """Return the section of the findings."""
    if not groups:
        return tag("section", tag("h2", "Findings"), tag("p", "No findings."), id="findings")
    share = BYTES // len(groups)
    listed = f"{count_noun(report.total, 'finding')} of {count_noun(len(groups), 'rule')}"
    several = (
        "Findings that compare runs appear only if these runs are checked in one call."
        if report.totals.runs > 1
        else None
    )
    return tag(
        "section",
        tag("h2", "Findings ", tag("span", listed, class_="note")),
        tag("p", several, class_="note") if several else None,
        (_group(report, group, overview, share) for group in groups),
        id="findings",
    )


def _group(report: Report, group: RuleGroup, overview: Overview, share: int) -> Markup:
    """Return the findings of one rule in about `share` bytes, folded if there are several runs."""
    rule, label, is_folded = group.rule, group.label, report.totals.runs > 1
    help_text = rule_help(rule) if rule else None
    parts, shown, size = [], 0, len((help_text or "").encode())
    for part, covered in _entries(report, group, overview):
        parts.append(part)
        shown, size = shown + covered, size + len(part.encode())
        if size > share:
            break
    run = overview.first_with.get(group.code)
    words = repeat(run, group.first.file if group.first else "", group.code, report.options)
    runs = overview.affected[group.code]
    title = tag(
        "h3",
        tag("span", group.code, class_=f"code {label}"),
        f" {group.name} ",
        tag("span", count_noun(group.total, label if group.first else "finding"), class_=label),
        f" in {count_noun(runs, 'run')}" if is_folded and runs else None,
    )
    remedy = tag("p", tag("b", "Fix: "), prose(rule.fix), class_="fix") if rule else None
    return tag(
        "details" if is_folded else "section",
        tag("summary", title) if is_folded else title,
        # A link to what is folded unfolds it.
        tag("div", tag("p", prose(rule.summary)) if rule else None, class_="summary", id=group.code)
        if is_folded
        else tag("p", prose(rule.summary), class_="summary")
        if rule
        else None,
        remedy if rule and rule.fix else None,
        _command(shown, group.total, words, is_of_one=is_folded),
        parts,
        help_text,
        class_=f"group edge-{label}",
        id=None if is_folded else group.code,
    )


def _command(shown: int, count: int, words: list[str], *, is_of_one: bool) -> Markup:
    where = " for one run" if is_of_one else ""
    if shown >= count:
        return tag("p", f"Repeat{where}: ", command_line(shell(words)), class_="repeat")
    text = f"{shown:,} of {count:,} are shown here. To list all{where}: "
    return tag("p", text, command_line(shell([*words, *ALL])), class_="repeat")


def command_line(text: str) -> Markup:
    """Return a command as readers copy it."""
    return tag("code", cut_visible(text, COMMAND), class_="command")


def _entries(report: Report, group: RuleGroup, overview: Overview) -> Iterator[tuple[Markup, int]]:
    is_one = report.totals.runs == 1
    run = overview.first_with.get(group.code) if is_one else None
    own = run.file if run is not None else None
    folder = "" if is_one else overview.folder
    for entries, _ in join_findings(group.findings, OF_ONE if is_one else OF_MANY):
        for entry in entries:
            yield _entry(entry, own, folder), entry.findings - entry.more_findings


def _entry(entry: FindingEntry, own: str | None, folder: str) -> Markup:
    """Return what findings say that are equal but for their place; `own` is not named."""
    label = entry.severity.label
    pointer = (
        tag("code", cut_visible(entry.pointer, POINTER), class_="pointer")
        if entry.pointer
        else None
    )
    several = f" ({count_noun(entry.findings, 'finding')} in {count_noun(entry.files, 'file')})"
    more = f"and {entry.more:,} more with {count_noun(entry.more_findings, 'finding')}"
    return tag(
        "div",
        tag("span", label, class_=f"severity {label}"),
        tag(
            "div",
            [pointer, " "] if pointer else None,
            tag("span", cut_visible(entry.message, MESSAGE), class_="message"),
            tag("b", fix_mark(entry.fix)) if entry.fix else None,
            tag("span", several, class_="note") if entry.files > 1 else None,
        ),
        (_place(place, own, folder) for place in entry.places),
        tag("div", more, class_="place") if entry.more else None,
        class_="finding",
    )


def _place(place: EntryPlace, own: str | None, folder: str) -> list[Markup]:
    first, parts = place.first, []
    if place.file != own:
        parts.append(name(relative(place.file, folder)))
    if where := place.where():
        parts.append(tag("span", where))
    if count := place.count().strip():
        parts.append(tag("span", count))
    if place.findings == 1 and first.sample_id is not None:
        parts.append(
            tag("span", f"sample {cut_visible(str(first.sample_id), SAMPLE)}", class_="note")
        )
    spaced: list[Child] = [[part, " "] for part in parts]
    several = len(place.values) > 1
    values = [_values(one, is_labelled=several) for one in place.values]
    if place.has_more_values:
        values.append(tag("div", "… and other values", class_="values"))
    return [*([tag("div", spaced, class_="place")] if spaced else []), *values]


def _values(one: PlacedValues, *, is_labelled: bool) -> Markup:
    label = f"{cut_visible(one.label, POINTER)}: " if is_labelled and one.label else None
    if isinstance(one.values, Excerpt):
        return tag("div", label, _excerpt(one.values), class_="values")
    pairs = [
        tag("span", f"{word} ", tag("code", cut_visible(text, VALUE)))
        for word, text in (("expected", one.values.expected), ("found", one.values.found))
        if text
    ]
    class_ = "values labelled" if label else "values"
    return tag("div", label, ([one, " "] for one in pairs), class_=class_)


def _excerpt(excerpt: Excerpt) -> Markup:
    text, caret = excerpt
    start = max(0, min(caret, len(text)) - EXCERPT)
    before, after = text[start:caret], text[caret + 1 : caret + 1 + EXCERPT]
    return tag("code", before, tag("mark", text[caret : caret + 1] or "␄"), after)


NOT_REPEATED: Final = frozenset({"select", "ignore", "exclude", "follow", "idle_timeout"})
"""Options that choose files or rules, which a command for one rule and run replaces."""

ALL: Final = ("--max-findings", "0", "--format", "jsonl")
"""The options that list every finding."""


def repeat(run: RunSummary | None, file: str, code: str, options: Mapping[str, Any]) -> list[str]:
    """Return the words of the command that repeats the findings of a rule in a run.

    `file` is checked where no run is known. `options` are those of the check.
    """
    main, *others = run_paths(run) if run is not None else [file]
    words = ["evalstream", "check", _argument(main)]
    if run is not None and run.file and run.aggregate:
        words += ["--aggregate", _argument(run.aggregate)]
    if run is not None and run.inputs and others:
        words += ["--inputs-file", _argument(run.inputs)]
    return [*words, "--select", code, *_flags(options, only_rules=True)]


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
    for key, value in options.items():
        option = OPTIONS.get(key)
        if option is None:
            continue
        is_repeated = key not in NOT_REPEATED and option.text.group in {Group.RULES, Group.INPUT}
        if only_rules and not is_repeated:
            continue
        flag = next(iter(option.text.flags), f"--{key.replace('_', '-')}")
        if isinstance(value, bool):
            yield flag
        elif key in {"select", "ignore"}:
            yield from (flag, ",".join(value))
        else:
            for one in value if isinstance(value, list) else [value]:
                yield from (flag, "FILE" if key == "schema" else str(one))
