"""Lines for people, harmless, coloured and wrapped, and the choice of findings to list."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from evalstream.model.data_class import NamedTuple, replace
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report
from evalstream.model.run import STDIN
from evalstream.model.text import count_noun, disarm_command, on_one_line
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import Reporter, Sink, Style
from evalstream.reporters.summary import severities

STDIN_NAME: Final = "<stdin>"
"""The name of standard input in reports."""


class Span(NamedTuple):
    """A piece of a line, with the role that gives its colour; "" has none.

    A span that is `one` stays on one line where it fits.
    """

    text: str
    role: str = ""
    one: bool = False


COLOURS: Final = {
    "error": "1;31",
    "failed": "1;31",
    "bad": "31",
    "warning": "1;33",
    "incomplete": "1;33",
    "unconfirmed": "1;33",
    "partial": "33",
    "info": "1;36",
    "passed": "1;32",
    "code": "1",
    "file": "36",
    "fix": "2",
    "dim": "2",
}
"""The parameters of the escape sequence (Select Graphic Rendition) of each role."""

CONTINUED: Final = 2
"""How much further than its first line the rest of a wrapped line is indented."""


class LineWriter:
    """Writes lines in a style; no character of the data reaches the output that does not print.

    `folder` is what all paths begin with, which is then left out of them.
    """

    def __init__(self, output: Sink, style: Style) -> None:
        self._output, self.style = output, style
        self.folder = ""
        self._full: dict[str, str] = {}

    def write(self, *spans: Span, indent: int = 0, wraps: bool = True) -> None:
        """Write one line, indented by a number of spaces; on a terminal it may become several."""
        texts = [(span, on_one_line(span.text)) for span in spans if span.text]
        shown = [one if one.text == text else one._replace(text=text) for one, text in texts]
        width = self.style.width
        if width is not None and wraps and indent + columns(shown) > width:
            first, *others = _wrap_line(shown, width - indent, width - indent - CONTINUED)
        else:
            first, others = shown, []
        self._output.write(f"{' ' * indent}{self._paint_spans(first)}\n")
        for line in others:
            self._output.write(f"{' ' * (indent + CONTINUED)}{self._paint_spans(line)}\n")

    def blank(self) -> None:
        """Write an empty line."""
        self._output.write("\n")

    def raw(self, text: str) -> None:
        """Write text of several lines, such as a diff, without colours; its tabs remain."""
        for line in text.removesuffix("\n").split("\n"):
            shown = "\t".join(map(on_one_line, line.removesuffix("\r").split("\t")))
            self._output.write(f"{shown}\n")

    def fits(self, spans: list[Span], indent: int = 0) -> bool:
        """Tell whether a line fits the width."""
        return self.style.width is None or indent + columns(spans) <= self.style.width

    def fit_indent(self, spans: list[Span], indent: int) -> int:
        """Return the indent with which a line fits the width, or the one wanted if none does."""
        if self.style.width is None:
            return indent
        room = self.style.width - columns(spans)
        return indent if room < 0 else min(indent, room)

    def relative(self, path: str) -> str:
        """Return a path below the folder, `.` for the folder itself."""
        if self.folder == f"{path}/":
            return "."
        return on_one_line(show_path(path).removeprefix(self.folder))

    def path(self, path: str, taken: int = 0) -> Span:
        """Return a path as it is shown, shortened on a terminal where `taken` columns are in use.

        Two paths never become the same text.
        """
        full = self.relative(path)
        if self.style.width is None:
            return Span(full, "file")
        short = shorten_path(full, self.style.width - taken)
        return Span(short if self._full.setdefault(short, full) == full else full, "file")

    def _paint_spans(self, spans: list[Span]) -> str:
        if not self.style.colour:
            # Spans that are harmless alone, such as a file `:`, may make a command together.
            return disarm_command("".join(span.text for span in spans))
        painted = []
        for role, same in groupby(spans, key=lambda span: span.role):
            text = "".join(span.text for span in same)
            painted.append(f"\x1b[{COLOURS[role]}m{text}\x1b[0m" if role else text)
        return "".join(painted)


def clauses(text: str) -> list[Span]:
    """Return a text that is broken after commas where that is possible."""
    *others, last = text.split(", ")
    return [*(Span(f"{one}, ", one=True) for one in others), Span(last, one=True)]


def show_path(path: str) -> str:
    """Return a path as people know it: standard input has a name."""
    return STDIN_NAME if path == STDIN else path


def columns(spans: list[Span]) -> int:
    """Return how many columns spans take on a terminal."""
    return sum(_columns(span.text) for span in spans)


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    # Most texts are ASCII, and a small run needs no further module.
    from unicodedata import combining, east_asian_width

    return sum(
        2 if east_asian_width(letter) in "WF" else 0 if combining(letter) else 1 for letter in text
    )


def shorten_path(path: str, room: int) -> str:
    """Return a path in at most `room` columns if its end can be kept readable.

    Leading folders are left out first, then the middle of the file name.
    """
    if _columns(path) <= room:
        return path
    parts = path.split("/")
    for start in range(1, len(parts)):
        short = "…/" + "/".join(parts[start:])
        if _columns(short) <= room:
            return short
    name = parts[-1]
    keep = room - (3 if len(parts) > 1 else 1)
    if keep < 2 * SHORTEST or not name.isascii():
        return path
    tail = max(SHORTEST, keep - keep // 2)
    cut = f"{name[: keep - tail]}…{name[-tail:]}"
    return f"…/{cut}" if len(parts) > 1 else cut


SHORTEST: Final = 8
"""How much of both ends of a file name remains at least."""


def _wrap_line(spans: list[Span], first: int, other: int) -> list[list[Span]]:
    """Break a line at spaces, and a word that is wider than a line anywhere."""
    lines: list[list[Span]] = [[]]
    room = first
    for word in _words(spans):
        pieces = [word]
        if columns(word) - _trailing(word) > other:
            pieces = [[span._replace(text=letter)] for span in word for letter in span.text]
        for piece in pieces:
            taken = columns(piece)
            if lines[-1] and taken - _trailing(piece) > room:
                lines.append([])
                room = other
            lines[-1] += piece
            room -= taken
    return [_without_last_spaces(line) for line in lines]


def _without_last_spaces(line: list[Span]) -> list[Span]:
    while line and not line[-1].text.strip(" "):
        line = line[:-1]
    return line and [*line[:-1], line[-1]._replace(text=line[-1].text.rstrip(" "))]


def _words(spans: list[Span]) -> list[list[Span]]:
    """Split spans after each run of spaces; a word may consist of several spans."""
    words: list[list[Span]] = [[]]
    for span in spans:
        for piece in [span.text] if span.one else _PIECE.findall(span.text):
            words[-1].append(span._replace(text=piece))
            if piece.endswith(" "):
                words.append([])
    return [word for word in words if word]


_PIECE: Final = LazyPattern(r"[^ ]* +|[^ ]+")
"""A word with the spaces after it."""


def _trailing(word: list[Span]) -> int:
    return len(word[-1].text) - len(word[-1].text.rstrip(" "))


SHOW_ALL: Final = "--max-findings 0"
"""The option that lists all findings of a rule."""


class ListCounts:
    """Counts the findings that come by rule, and whether they are listed."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._counts: dict[str, dict[Severity, int]] = {}
        self._names: dict[str, str] = {}

    def takes(self, finding: Finding) -> bool:
        """Count one finding, and tell whether it is listed."""
        self._names[finding.code] = finding.name
        counts = self._counts.setdefault(finding.code, {})
        counts[finding.severity] = counts.get(finding.severity, 0) + finding.occurrences
        return finding.severity >= self._style.min_severity and not self._style.quiet

    def codes(self) -> list[str]:
        """Return the codes of listed findings, the most severe first."""
        worst = {code: max(counts) for code, counts in self._counts.items()}
        listed = (code for code in worst if worst[code] >= self._style.min_severity)
        return sorted(listed, key=lambda code: (-worst[code], code))

    def severities(self, code: str) -> list[Severity]:
        """Return the severities of the listed findings of a rule, the highest first."""
        lowest = self._style.min_severity
        return sorted((one for one in self._counts[code] if one >= lowest), reverse=True)

    def beyond(self, code: str, report: Report) -> int:
        """Return how many findings of a rule are counted beyond those that came."""
        return max(0, report.counts.get(code, 0) - sum(self._counts[code].values()))

    def more(self, report: Report) -> str:
        """Say how many findings of listed rules are beyond the limit; "" if none is."""
        more = sum(self.beyond(code, report) for code in self.codes())
        return (
            f"{count_noun(more, 'more finding')} not listed ({SHOW_ALL} lists all)" if more else ""
        )

    def heading(self, code: str, report: Report) -> str:
        """Say how many findings a rule has, and of which severity."""
        listed = {one: self._counts[code][one] for one in self.severities(code)}
        more = self.beyond(code, report)
        if not more:
            return ", ".join(severities(listed))
        total = count_noun(sum(listed.values()) + more, "finding")
        return f"{total} ({'/'.join(one.label for one in listed)})"

    def note(self, report: Report) -> str:
        """Say how many findings are not listed because of their severity, and how to list them.

        Returns "" where all are listed, or counted where their rule is.
        """
        total, is_capped, lowest = 0, False, self._style.min_severity
        for code, counts in self._counts.items():
            total += sum(times for severity, times in counts.items() if severity < lowest)
            if max(counts) < lowest and (more := self.beyond(code, report)):
                total, is_capped = total + more, True
        if not total:
            return ""
        below = {one: n for one, n in report.totals.severities.items() if one < lowest}
        exact = sum(below.values()) == total
        what = " and ".join(severities(below)) if exact else count_noun(total, "finding")
        them = "it" if total == 1 else "them"
        options = f"-v {SHOW_ALL}" if is_capped else "-v"
        return f"{what} not listed ({options} lists {them})"

    def statistics(self, report: Report) -> Iterator[tuple[Span, ...]]:
        """Iterate over lines with the number of findings of each rule, and the total.

        The severity is the highest of those that came. Rules with the most findings come first.
        """
        counts = report.counts
        if not counts:
            return
        width = max(len(f"{report.total:,}"), 4)
        for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            came = self._counts.get(code, {})
            label = max(came).label if came else ""
            yield (
                Span(f"{count:{width},}  "),
                Span(f"{code:<6}", "code"),
                Span("  "),
                Span(f"{label:<7}", label),
                Span(f"  {self._names.get(code, '')}"),
            )
        yield (Span(f"{report.total:{width},}  total of {count_noun(len(counts), 'rule')}"),)


class ListingFrom:
    """Passes on the findings of a severity and above, and the outcome with their number."""

    def __init__(self, lowest: Severity, reporter: Reporter) -> None:
        self._lowest, self._reporter = lowest, reporter
        self._shown = 0

    def finding(self, finding: Finding) -> None:
        """Pass on one finding, or drop it."""
        if finding.severity >= self._lowest:
            self._shown += 1
            self._reporter.finding(finding)

    def finish(self, report: Report) -> None:
        """Pass on the outcome."""
        self._reporter.finish(replace(report, shown=self._shown))
