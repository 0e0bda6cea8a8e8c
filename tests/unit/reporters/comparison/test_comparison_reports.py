"""Tests of the reports of comparisons: all formats say the same, and no text breaks out."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from shutil import which
from typing import Any, Final

import markdown as markdown_library
import pytest
from comparison_fixture import (
    FORMATS,
    REPORTS,
    comparison,
    flip,
    many_runs,
    refused,
    report,
    run,
    subtasks,
    written,
)
from depth import examples
from each import each
from hostile import texts
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from evalstream.model.comparison import (
    ComparisonReport,
    Confounder,
    Drift,
    Flip,
    Matrix,
    MetricName,
)
from evalstream.model.estimate import Estimate
from evalstream.parsing.schema_files import builtin_schema
from evalstream.reporters.base import Style
from evalstream.reporters.comparison.latex import LETTERS
from evalstream.reporters.comparison.markdown import MOST_BYTES
from evalstream.reporters.comparison.tables import matrix_table
from evalstream.reporters.comparison.wording import cell_text

GOLDEN: Final = Path(__file__).parent / "golden"
PEOPLE: Final = ("text", "html", "markdown")
SCHEMA: Final = builtin_schema("comparison")

every_format = pytest.mark.parametrize("form", FORMATS)
every_report = pytest.mark.parametrize("name", REPORTS)


class Elements(HTMLParser):
    """Collects the elements of a page, and the texts between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def validated(value: Any, definition: str | None = None) -> None:
    """Fail for a value that does not fit the schema, or a part of it."""
    schema = SCHEMA
    if definition is not None:
        schema = {"$ref": f"#/$defs/{definition}", "$defs": SCHEMA["$defs"]}
    Draft202012Validator(schema).validate(value)


@every_report
@each("form", ["text", "markdown", "jsonl", "csv", "latex"])
def test_reports_are_as_expected(
    name: str, form: str, compare: Callable[[Path, str], None]
) -> None:
    flips = [flip(1), flip(2, direction="wrong to right")] if name == "two" else []
    compare(GOLDEN / f"{name.replace(' ', '-')}.{form}", written(form, REPORTS[name](), flips))


def test_each_figure_of_an_estimate_is_in_a_report() -> None:
    compared = [one for make in REPORTS.values() for one in make().comparisons]
    shown = [one.estimate for one in compared if one.estimate is not None]
    hidden = {
        name
        for name, field in Estimate.__data_fields__.items()
        if all(getattr(one, name) == field.default for one in shown)
    }
    assert hidden == set(), "a report of comparison_fixture.py has a value of it"


@every_report
def test_json_fits_its_schema_in_its_order(name: str) -> None:
    whole = json.loads(written("json", REPORTS[name](), [flip(1), flip(2, answer_a=None)]))
    validated(whole)
    assert sorted(whole) == sorted(SCHEMA["properties"])
    lines = written("jsonl", REPORTS[name](), [flip()]).splitlines()
    for line in lines:
        validated(json.loads(line), "line")
    assert json.loads(lines[-1])["summary"]["flips_shown"] == 1


@each("part", SCHEMA["$defs"])
def test_every_part_of_the_schema_is_closed(part: str) -> None:
    assert SCHEMA["$defs"][part]["additionalProperties"] is False


@every_format
def test_a_refusal_is_said(form: str) -> None:
    assert "B fails its check" in written(form, refused())


@each("form", PEOPLE)
def test_flips_that_are_not_shown_are_counted(form: str) -> None:
    assert re.search(
        r"(1 of 40 flips shown|39 of 40 flips not shown)", written(form, report(), [flip()])
    )


@each("form", PEOPLE)
def test_hidden_answers_are_not_shown(form: str) -> None:
    shown = written(form, report(), [flip(answer_a=None, answer_b=None)])
    assert "größe-1" in shown
    assert "answers None" not in shown
    assert "<code>null</code>" not in shown


@every_report
def test_pages_are_well_formed_and_load_nothing(name: str) -> None:
    page = written("html", REPORTS[name](), [flip()])
    found = Elements(page)
    assert found.open == []
    assert not {"script", "link", "img", "iframe", "object"} & set(found.names)
    assert not {"src", "href", "onload"} & found.attributes


def test_a_page_draws_every_comparison_and_both_scales() -> None:
    page = written("html", subtasks(60))
    assert page.count('class="forest"') == 2
    assert page.count('class="line dot"') == 60
    assert page.count("<details") == 60


def test_a_page_has_matrices_and_ranks_of_three_runs() -> None:
    page = written("html", many_runs())
    assert page.count('class="matrix"') == 2
    assert "resamples with this rank" in page


@each(("cells", "share"), [(((0, 2), (4, 0)), "--share:0.50"), (((0, 0), (None, 0)), None)])
def test_cells_of_a_matrix_are_shaded_by_the_largest(cells: Any, share: str | None) -> None:
    page = str(matrix_table("drifts", Matrix("drifts", ("A", "B"), cells)))
    assert ("--share" in page) == (share is not None)
    assert share is None or share in page


def test_a_comment_has_room_on_github() -> None:
    few = written("markdown", subtasks(60), [flip(n, answer_a="&" * 5_000) for n in range(500)])
    assert len(few.encode()) <= MOST_BYTES
    assert "flips not shown" in few
    many = report(
        runs=tuple(run(f"R{n}", file="|`" * 90) for n in range(300)),
        comparisons=tuple(comparison(f"@all <{n}>" * 40) for n in range(600)),
        warnings=["*" * 500] * 1_000,
        unmatched_results=["_" * 500] * 1_000,
        failed_on=("drift",),
        first_line="&" * 9_000,
    )
    shown = written("markdown", many, [flip()])
    assert len(shown.encode()) <= MOST_BYTES
    assert "more runs not shown" in shown or "more comparisons not shown" in shown
    assert "the condition holds" in shown


def hostile(text: str) -> tuple[ComparisonReport, Flip]:
    """Return a report, and a flip, with a text in all places that files fill."""
    shown = report(
        runs=(run("A", file=text, model=text), run("B", file=text, reasons=[text]), run("C")),
        comparisons=(comparison(metric=MetricName(text, text), sentence=text),),
        confounders=[Confounder(text, {"A": text, "B": text})],
        drifts=[Drift("A", "B", "drift", text, [text], 1, 2)],
        unmatched_results=[text],
        warnings=[text],
        first_line=text,
        rankings=[one._replace(metric=text) for one in many_runs().rankings],
        differences=[one._replace(title=text) for one in many_runs().differences],
    )
    return shown, flip(metric=text, sample_id=text, answer_a=text, answer_b={text: text})


def everywhere(text: str) -> dict[str, str]:
    """Return what each format writes of a text."""
    shown, changed = hostile(text)
    return {form: written(form, shown, [changed]) for form in FORMATS}


def rendered(text: str) -> list[str]:
    """Return the elements that Markdown becomes."""
    page = markdown_library.markdown(text, extensions=["tables", "md_in_html"])
    return Elements(page).names


def csv_rows(text: str) -> list[list[str]]:
    """Return the cells that a spreadsheet reads."""
    return [*csv.reader(io.StringIO(text, newline=""))]


def latex_structure(text: str) -> list[str]:
    """Return what LaTeX does not take as text: environments, cells, ends of lines, dollars."""
    text = text.replace(LETTERS, "")
    for command in ("textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater",
                    "textbar", "char34", "mbox"):  # fmt: skip
        text = text.replace(f"\\{command}{{}}", "")
    text = re.sub(r"\\[&%$#_{}]", "", text)
    text = re.sub(r"\{[\[\]*]\}", "", text)
    return re.findall(r"\\\\|\\[a-z]+|[&$%#_{}~^\n]", text)


CALM: Final = "calm"


@each("text", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0"])
def test_no_text_is_a_formula(text: str) -> None:
    for row in csv_rows(written("csv", hostile(text)[0]))[1:]:
        assert not any(cell.startswith(("=", "+", "@")) for cell in row)
        assert f"'{text}" in row


def test_a_table_has_a_line_for_each_comparison() -> None:
    shown = many_runs()
    head, *lines = csv_rows(written("csv", shown))
    assert [line[:2] for line in lines] == [[one.a, one.b] for one in shown.comparisons]
    assert {line[head.index("checks")] for line in lines} == {shown.first_line}
    (ranking,) = shown.rankings
    lines = 2 + len(shown.comparisons) + len(ranking.ranks)
    assert written("latex", shown).count(r"\\") == lines


AWKWARD: Final = r"""a_b%c&d#e~f^g\h {x}$y$ [z] *w* `q` ''r'' "s" <t> |u| --v --- ,, ?` !`"""
"""Signs that LaTeX takes for commands, and some that it joins to another one."""


def test_no_signs_of_a_table_in_latex_are_joined_to_another_one() -> None:
    table = written("latex", hostile(AWKWARD)[0])
    assert not re.search(r"--|,,|''|[?!]`|textquotedbl", table)
    assert r"\char34{}s\char34{}" in table
    assert "Letters beyond ASCII" not in table
    assert "Letters beyond ASCII" in written("latex", hostile("größe")[0])


@pytest.mark.skipif(which("pdflatex") is None, reason="pdflatex is not installed")
def test_tables_in_latex_compile(tmp_path: Path) -> None:
    shown = [*(make() for make in REPORTS.values()), hostile(AWKWARD)[0], hostile("größe «…»")[0]]
    tables = "".join(written("latex", one) for one in shown)
    packages = r"\usepackage{booktabs}\usepackage[T1]{fontenc}"
    (tmp_path / "paper.tex").write_text(
        rf"\documentclass{{article}}{packages}\begin{{document}}{tables}\end{{document}}"
    )
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stdout.decode(errors="replace")[-2_000:]


@given(texts)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_text_breaks_out(text: str) -> None:
    text = text if text.strip() else CALM  # a blank text is not a paragraph
    said, calm = (
        {form: written(form, one, [two]) for form in FORMATS}
        for one, two in map(hostile, (text, CALM))
    )
    validated(json.loads(said["json"]))
    assert said["jsonl"].count("\n") == calm["jsonl"].count("\n")
    assert [*map(len, csv_rows(said["csv"]))] == [*map(len, csv_rows(calm["csv"]))]
    assert latex_structure(said["latex"]) == latex_structure(calm["latex"])
    assert Elements(said["html"]).names == Elements(calm["html"]).names
    assert said["markdown"].count("\n") == calm["markdown"].count("\n")
    for shown in (said["markdown"], said["text"]):
        assert not re.search(r"[^\n -~\u0080-\uffff\U00010000-\U0010ffff]", shown)
        assert "\u202e" not in shown
    render = [
        Elements(
            markdown_library.markdown(one["markdown"], extensions=["tables", "md_in_html"])
        ).names
        for one in (said, calm)
    ]
    assert render[0] == render[1]


def test_text_fits_a_terminal() -> None:
    shown = written("text", subtasks(3), [flip()], Style(width=60))
    assert max(map(len, shown.splitlines())) <= 60


@each(
    ("verdict", "weight"),
    [("failed", ' class="refused"'), ("incomplete", ' class="prominent warning"'), ("passed", "")],
)
def test_a_page_stresses_runs_that_do_not_pass(verdict: str, weight: str) -> None:
    page = written("html", report(runs=(run("A"), run("B", verdict=verdict))))
    assert f"<p{weight}>A and B pass" in page


@each(
    ("value", "text"),
    [(None, ""), (12_000, "12,000"), (0.99999, "0.999"), (1.0, "1.000"), (0.0001, "1e-04")],
)
def test_a_cell_does_not_look_complete_or_empty(value: float | None, text: str) -> None:
    assert cell_text(value) == text
    assert cell_text(-0.0) == "0.000"
