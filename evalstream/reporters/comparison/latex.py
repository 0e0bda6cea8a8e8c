"""Comparisons and ranks as tables in LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from evalstream.model.comparison import Average, Comparison, ComparisonReport, Flip, Rank, Ranking
from evalstream.model.estimate import Estimate, Interval, PValue
from evalstream.model.text import SMALLEST_P, count_noun
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import Recognized
from evalstream.reporters.comparison.wording import join_groups, percent, run_names, show_number
from evalstream.reporters.describe import cut_text, visible

TITLE: Final = "% evalstream compare; needs \\usepackage{booktabs}\n"

LETTERS: Final = (
    "% Letters beyond ASCII need \\usepackage[T1]{fontenc}; those that it lacks need XeLaTeX or"
    " LuaLaTeX, and a font\n"
)

_HEAD: Final = (
    "Result", r"\multicolumn{2}{l}{Runs}", "$n$", "First", "Second", "Difference", "$p$", "Verdict"
)  # fmt: skip

_SIZE: Final = r"\centering\footnotesize\setlength{\tabcolsep}{3pt}"
"""Small enough for one column of text, unless names are long."""

_RANKS_HEAD: Final = "Rank", "Run", "Mean", "Groups", "Share"

CELL: Final = 160
"""Most characters of a text from a file."""

_COMMANDS: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # A command of its own would need another encoding of fonts.
    '"': r"\char34{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    # A bracket or an asterisk after the end of a line would be its option.
    **{sign: f"{{{sign}}}" for sign in "[]*"},
}
"""How a sign is written that LaTeX does not take as it is."""

_LIGATURES: Final = LazyPattern(r"(?<=[-,`'!?])(?=[-,`'])")
"""Where two signs would become another one, such as a dash."""


class LatexComparison(Recognized):
    """Writes a table of comparisons and one for each ranking; flips have no place in it."""

    beginning = LazyPattern(re.escape(TITLE).encode())

    def write(self, report: ComparisonReport, _flips: Iterable[Flip], /) -> None:
        """Write the table; its caption says what was compared and how."""
        rows = map(_row, report.comparisons), map(_average_row, report.averages)
        tables = [_table(_caption(report), "lllrrrrrl", _HEAD, *rows)]
        names = run_names(report)
        for one in report.rankings:
            ranks = (_rank_row(rank, names) for rank in one.ranks)
            tables.append(_table(_ranks_caption(one), "rlrlr", _RANKS_HEAD, ranks))
        note = "" if all(map(str.isascii, tables)) else LETTERS
        self._output.write("".join([TITLE, note, *tables]))


def _table(caption: str, columns: str, head: Sequence[str], *groups: Iterable[str]) -> str:
    """Return a table whose groups of rows have rules between them; without rows its caption."""
    bodies = ["".join(f"    {row} \\\\\n" for row in group) for group in groups]
    lines = [f"\\begin{{table}}\n  {_SIZE}\n  \\caption{{{caption}}}\n"]
    if any(bodies):
        lines += [f"  \\begin{{tabular}}{{{columns}}}\n    \\toprule\n"]
        lines += [f"    {' & '.join(head)} \\\\\n"]
        lines += [f"    \\midrule\n{body}" for body in bodies if body]
        lines += ["    \\bottomrule\n  \\end{tabular}\n"]
    return "".join([*lines, "\\end{table}\n"])


def _caption(report: ComparisonReport) -> str:
    runs = "; ".join(f"{run.label}: {_text(run.model or run.file or '')}" for run in report.runs)
    return " ".join([f"{_text(report.first_line, 1_000)}.", f"{runs}.", *_describe_columns(report)])


def _describe_columns(report: ComparisonReport) -> Iterator[str]:
    found = [one.estimate for one in report.comparisons if one.estimate is not None]
    if not found:
        return
    errors = "Standard errors"
    if report.settings.cluster is not None:
        errors += f" by {_text(report.settings.cluster)}"
    elif any(one.clustered for one in found):
        errors += ", with copies of questions as clusters where they make $p$ larger,"
    yield f"{errors} in parentheses."
    intervals = _join_methods(one.interval for one in found)
    if intervals:
        level = _text(percent(report.settings.level))
        yield f"Intervals of the difference at {level} ({intervals})."
    tests = _join_methods(one.test for one in found)
    if tests:
        is_adjusted = any(one.adjusted_p is not None for one in found)
        yield f"$p$ {'after Holm ' if is_adjusted else ''}({tests})."
    if report.averages:
        yield "Averages have equal weights."


def _join_methods(found: Iterable[Interval | PValue | None]) -> str:
    return _text(", ".join(dict.fromkeys(one.method for one in found if one)), 1_000)


def _ranks_caption(ranking: Ranking) -> str:
    shared = count_noun(ranking.n, "shared sample")
    groups = ""
    if any(one.groups for one in ranking.ranks):
        groups = " Runs that share a group do not differ significantly."
    return (
        f"Ranks under {_text(ranking.metric)}, over {shared}. Standard errors in parentheses."
        f"{groups} The share is that of resamples with this rank."
    )


def _rank_row(rank: Rank, names: Mapping[str, str]) -> str:
    cells = f"{rank.rank}", _text(names[rank.label]), _mean(rank.mean, rank.standard_error)
    return " & ".join([*cells, join_groups(rank), _text(percent(rank.share))])


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
        cells += [f"{found.n:,}", *(_mean(*each) for each in own), _difference(found), _p(found.p)]
    return " & ".join([*cells, str(one.verdict)])


def _average_row(one: Average) -> str:
    title = f"Average of {count_noun(one.results, 'result')}"
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


def _p(p: float | None) -> str:
    if p is None:
        return ""
    return f"$<{SMALLEST_P}$" if p < SMALLEST_P else f"${p:.4f}$"


def _text(text: str, most: int = CELL) -> str:
    """Write a text so that each sign stands for itself."""
    pieces = _LIGATURES.split(cut_text(visible(text), most))
    return r"\mbox{}".join("".join(_COMMANDS.get(sign, sign) for sign in piece) for piece in pieces)
