"""Comparisons as a table in LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

import re
from typing import Final

from evalstream.model.comparison import Average, Comparison, ComparisonReport, Estimate, Flip
from evalstream.model.text import SMALLEST_P, count_noun
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import PLAIN, Recognized, Sink, Style
from evalstream.reporters.comparison.figures import percent, show_number
from evalstream.reporters.describe import cut_text, visible

TITLE: Final = "% evalstream compare; needs \\usepackage{booktabs}\n"

_HEAD: Final = (
    "Result", r"\multicolumn{2}{l}{Runs}", "$n$", "First", "Second", "Difference", "$p$", "Verdict"
)  # fmt: skip

CELL: Final = 160
"""Most characters of a text from a file."""

_COMMANDS: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    # A bracket or an asterisk after the end of a line would be its option; quotes would join.
    **{sign: f"{{{sign}}}" for sign in "[]*`'"},
}
"""How a sign is written that LaTeX does not take as it is."""


class LatexComparison(Recognized):
    """Writes one table; flips have no place in it."""

    beginning = LazyPattern(re.escape(TITLE).encode())

    def __init__(self, output: Sink, _style: Style = PLAIN) -> None:
        self._output = output

    def begin(self, report: ComparisonReport) -> None:
        """Write the table; its caption says what was compared and how."""
        lines = [r"\begin{table}", r"  \centering", f"  \\caption{{{_caption(report)}}}"]
        if report.comparisons:
            lines += [
                r"  \begin{tabular}{lllrrrrrl}",
                r"    \toprule",
                f"    {' & '.join(_HEAD)} \\\\",
                r"    \midrule",
                *(f"    {_row(one)} \\\\" for one in report.comparisons),
                *([r"    \midrule"] if report.averages else []),
                *(f"    {_average_row(one)} \\\\" for one in report.averages),
                r"    \bottomrule",
                r"  \end{tabular}",
            ]
        self._output.write(TITLE + "\n".join([*lines, r"\end{table}"]) + "\n")

    def flip(self, flip: Flip) -> None:
        """Leave out a flip."""

    def end(self) -> None:
        """Do nothing: the table is complete."""


def _caption(report: ComparisonReport) -> str:
    """Say what was compared, and what the columns are."""
    runs = "; ".join(f"{run.label}: {_text(run.model or run.file or '')}" for run in report.runs)
    texts = [f"{_text(report.first_line, 1_000)}.", f"{runs}."]
    if report.comparisons:
        clusters = report.settings.cluster
        errors = "Standard errors" if clusters is None else f"Standard errors by {_text(clusters)}"
        level = _text(percent(report.settings.level))
        texts.append(f"{errors} in parentheses, intervals of the difference at {level}.")
    if any(one.estimate is not None and one.estimate.adjusted_p for one in report.comparisons):
        texts.append("$p$ after Holm.")
    return " ".join(texts)


def _row(one: Comparison) -> str:
    found = one.estimate
    cells = [_text(one.metric.label), _text(one.a), _text(one.b)]
    if found is None:
        cells += [f"{one.alignment.matched:,}", "", "", "", ""]
    else:
        own = (
            (found.mean_a, found.own_a and found.own_a.standard_error),
            (found.mean_b, found.own_b and found.own_b.standard_error),
        )
        cells += [f"{found.n:,}", *(_mean(*each) for each in own), _difference(found), _p(found)]
    return " & ".join([*cells, str(one.verdict)])


def _average_row(one: Average) -> str:
    title = f"Average of {count_noun(one.results, 'result')}, equal weights"
    means = _mean(one.mean_a, one.standard_error_a), _mean(one.mean_b, one.standard_error_b)
    return " & ".join([title, _text(one.a), _text(one.b), "", *means, _difference(one), "", ""])


def _mean(mean: float, error: float | None) -> str:
    if error is None:
        return f"${show_number(mean)}$"
    return f"${show_number(mean, error)}$ (${show_number(error, error)}$)"


def _difference(found: Estimate | Average) -> str:
    error = found.standard_error
    text = f"${show_number(found.difference, error)}$"
    if found.interval is None:
        return text
    low, high, _ = found.interval
    return f"{text} {{[}}${show_number(low, error)}$, ${show_number(high, error)}${{]}}"


def _p(found: Estimate) -> str:
    p = found.adjusted_p
    if p is None:
        p = found.test.p if found.test else None
    if p is None:
        return ""
    return f"$<{SMALLEST_P}$" if p < SMALLEST_P else f"${p:.4f}$"


def _text(text: str, most: int = CELL) -> str:
    """Write a text so that each sign stands for itself."""
    return "".join(_COMMANDS.get(sign, sign) for sign in cut_text(visible(text), most))
