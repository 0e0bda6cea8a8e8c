"""The page: what it shows and leaves out, its size, and that no text breaks out of it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from math import inf, nan
from pathlib import Path
from typing import Any

from each import each
from hypothesis import given
from hypothesis import strategies as st
from paths import EXAMPLES
from report_fixture import Case, claim, render, sound_run

import evalstream
from evalstream.formats.registry import CATALOGUE
from evalstream.model.claim import Reason, State
from evalstream.model.data_class import replace
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.report import Report, Totals
from evalstream.model.run_summary import RunSummary, Verified
from evalstream.model.sketch import Histogram, Sketch, Strip
from evalstream.reporters.html import HtmlReporter
from evalstream.reporters.html.findings import quote_word, repeat, shell
from evalstream.reporters.html.strip import histogram, strips
from evalstream.reporters.markup import (
    POLICY,
    Markup,
    cut_visible,
    join_markup,
    round_logs,
    round_steps,
    tag,
    visible_text,
)
from evalstream.reporters.summary import overall_verdict

ELEMENTS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "main",
        "footer",
        "section",
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "span",
        "a",
        "b",
        "i",
        "bdi",
        "code",
        "pre",
        "mark",
        "strong",
        "script",
        "form",
        "label",
        "select",
        "option",
        "input",
        "output",
        "div",
        "dl",
        "dt",
        "dd",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "figure",
        "figcaption",
        "svg",
        "desc",
        "g",
        "rect",
        "path",
    ]
)
ATTRIBUTES = frozenset(
    [
        "lang",
        "charset",
        "name",
        "content",
        "http-equiv",
        "class",
        "id",
        "href",
        "scope",
        "colspan",
        "role",
        "aria-hidden",
        "aria-labelledby",
        "style",
        "xmlns",
        "viewbox",
        "preserveaspectratio",
        "x",
        "y",
        "width",
        "height",
        "d",
        "fill-opacity",
        "title",
        "hidden",
        "tabindex",
        "type",
        "value",
        "data-verdict",
    ]
)
VOID = frozenset({"meta", "input"})
SKETCH = Sketch(
    Strip(
        10,
        (10, 10, 0, 3),
        (10, 0, 0, 3),
        (5.0, 0.0, 0.0, 3.0),
        (0, 2, 0, 1),
        (1, 0, 0, 0),
        (0,) * 4,
    ),
    Histogram("linear", 0.5, 0, (4, 9)),
    {"output": Histogram("log", 2.0, 1, (1, 0, 7), 2)},
    Histogram("log", 2.0, 3, (5,)),
)


class Kept:
    """A sink that keeps what is written."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, data: str | bytes) -> None:
        self.text += data if isinstance(data, str) else data.decode()


class Parsed(HTMLParser):
    """The elements, attributes and texts of a page; raises if an end tag does not fit."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.ids: list[str | None] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes += attrs
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def made(code: str = "ES401", **details: Any) -> Finding:
    """Make a finding."""
    given: dict[str, Any] = dict.fromkeys(Finding._fields) | {
        "code": code,
        "name": CATALOGUE[code].name,
        "severity": Severity.ERROR,
        "file": "run.jsonl",
        "message": "it is wrong",
    }
    return Finding(**given | details)


def run(**details: Any) -> RunSummary:
    """Make a run that failed."""
    claims = [
        claim("accuracy", 0.75, 0.5, State.REFUTED),
        claim("recall", 0.46, 0.463, State.ROUNDED, number=1),
    ]
    fields: dict[str, Any] = {
        "rows": 8,
        "verdict": "failed",
        "counts": {"ES401": 1},
        "severities": {Severity.ERROR: 1},
        "verified": Verified(False, None, 3, 8),
        "declared": "00",
        "actual": "11",
        "algorithm": "sha256",
        "claims": claims,
        "sketch": SKETCH,
        "bytes": 2048,
    }
    return RunSummary("run.jsonl", "aggregate.json", "eee", **fields | details)


def outcome(*runs: RunSummary, exit_code: int = 1, **details: Any) -> Report:
    """Make the report of runs."""
    totals = Totals()
    for one in runs:
        totals.add(one)
    texts = {code: CATALOGUE[code].text() for code in totals.counts if code in CATALOGUE}
    return Report(runs, [], 0, exit_code, totals, texts, **details)


def page_of(report: Report, *findings: Finding) -> str:
    """Return the page."""
    sink = Kept()
    reporter = HtmlReporter(sink)
    for finding in findings:
        reporter.finding(finding)
    reporter.finish(report)
    return sink.text


def checked(page: str) -> Parsed:
    """Parse a page after looking for what no page may have."""
    parsed = Parsed(page)
    assert parsed.elements <= ELEMENTS
    assert {key for key, _ in parsed.attributes} <= ATTRIBUTES
    links = [value or "" for key, value in parsed.attributes if key == "href"]
    assert all(link.startswith("#") and link[1:] in parsed.ids for link in links)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert len(page.encode()) <= 2_000_000
    return parsed


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    page = page_of(outcome(run()), made(line=3))
    checked(page)
    assert ("content", POLICY) in Parsed(page).attributes
    assert "url(" not in page
    assert "@import" not in page
    assert set(re.findall(r"https?://[^\"]*", page)) == {"http://www.w3.org/2000/svg"}


def test_every_picture_is_well_formed_and_described() -> None:
    pictures = re.findall(r"<svg.*?</svg>", page_of(outcome(run())), re.DOTALL)
    assert len(pictures) == 5
    for picture in pictures:
        root = ET.fromstring(picture)
        space = {"s": "http://www.w3.org/2000/svg"}
        assert root.get("role") == "img"
        named = [root.find("s:title", space), root.find("s:desc", space)]
        assert all(one is not None and one.text for one in named)
        assert root.get("aria-labelledby") == " ".join(one.get("id") for one in named)


def test_what_was_verified_and_what_was_not_is_said() -> None:
    text = checked(page_of(outcome(run()), made())).text
    assert "✗ Failed" in text
    assert "Checksumnot ok (sha256)" in text
    assert "Checksumsha256" in text
    assert "Row countnot verified (8 rows read)" in text
    assert "ok in 3 of 8 rows" in text
    assert "Claims1 rounded, 1 refuted" in text
    assert "2,048 bytes (2.0 KiB)" in text


def test_claims_are_a_table_by_state_beside_what_was_recomputed() -> None:
    unjoined = Reason.UNJOINED.value
    claims = [
        claim("accuracy", 0.75, 0.75),
        claim("recall", 0.5, 0.46, State.ROUNDED, number=1),
        claim("bleu", 99.9, None, State.OPEN, unjoined, number=2, rows=0),
        claim("mcc", 0.25, 0.5, State.REFUTED, number=3, kind="matthews", is_score=False),
        claim("interval", {"lower": 0.5}, None, number=4),
    ]
    page = page_of(outcome(run(claims=claims)))
    text = checked(page).text
    places = [text.index(f"{state} ") for state in ("Refuted", "Open", "Rounded", "Confirmed")]
    assert places == sorted(places)
    assert "mcc/evaluation_results/3/matthewsmatthews0.250.5+0.258" in text
    assert "bleu/evaluation_results/2/score_details/scoremean99.9——0" + unjoined in text
    assert 'mean{"lower":0.5}——8' in text
    assert "Claims 2 confirmed, 1 rounded, 1 refuted, 1 open" in text


@each("value", [10**400, -(10**400), inf, nan, True, "0.5", []])
def test_a_claim_of_any_value_is_shown(value: Any) -> None:
    one = run(claims=[claim("accuracy", value, 0.5, State.REFUTED), claim("recall", 0.5, value)])
    assert "accuracy" in checked(page_of(outcome(one))).text


def test_claims_beyond_the_limit_are_counted() -> None:
    claims = [claim(f"c{n}", 0.5, None, State.OPEN, "x", number=n) for n in range(1_000)]
    claims.append(claim("last", 0.5, 0.75, State.REFUTED))
    text = checked(page_of(outcome(run(claims=claims)))).text
    assert "last/eval" in text
    assert "Open 1,000" in text
    assert "951 more claims not shown" in text


def test_a_run_without_claims_has_no_table_of_claims() -> None:
    text = checked(page_of(outcome(run(claims=[])))).text
    assert "Claimsthere are none" in text
    assert "difference" not in text


def test_an_unconfirmed_run_says_so_in_its_own_words() -> None:
    one = run(verdict="unconfirmed", counts={}, severities={}, claims=[], remark="no samples")
    text = checked(page_of(outcome(one, exit_code=0))).text
    assert "◌ Unconfirmed" in text
    assert "No finding fails the check, but no score was confirmed." in text
    assert "no samples" in text


def test_a_run_without_a_sketch_says_why_there_is_no_picture() -> None:
    assert "(--sketches)" in page_of(outcome(run(sketch=None)))
    assert "no rows were read" in page_of(outcome(run(sketch=None, rows=0, verified=None)))
    assert "has not changed" in page_of(outcome(run(sketch=None, unchanged="2026-01-01T00:00:00Z")))


@each(
    ("runs", "exit_code", "verdict"),
    [
        ((), 3, "not checked"),
        ((run(),), 1, "failed"),
        ((run(verdict="passed", counts={}),), 0, "passed"),
        ((run(verdict="passed", counts={}),), 3, "incomplete"),
        ((run(verdict="unconfirmed", counts={}),), 0, "unconfirmed"),
        ((run(verdict="passed", counts={}), run(verdict="unconfirmed")), 0, "unconfirmed"),
        ((run(verdict="unconfirmed", counts={}), run(verdict="incomplete")), 3, "incomplete"),
        ((run(verdict="passed", counts={"ES001": 1}),), 0, "incomplete"),
        ((run(verdict="passed", counts={}), run(verdict="incomplete")), 3, "incomplete"),
        ((run(verdict="incomplete", counts={}), run()), 1, "failed"),
    ],
)
def test_the_verdict_of_all_is_passed_only_if_everything_passed(
    runs: tuple[RunSummary, ...], exit_code: int, verdict: str
) -> None:
    report = outcome(*runs, exit_code=exit_code)
    assert overall_verdict(report) == verdict
    assert verdict.capitalize() in checked(page_of(report)).text


def test_findings_that_are_not_listed_are_counted() -> None:
    report = outcome(run(counts={"ES401": 12_345, "ES501": 2}))
    text = checked(page_of(report, *(made(line=line) for line in range(1, 301)))).text
    assert "300 of 12,345 are shown here" in text
    assert "0 of 2 are shown here" in text
    assert "--select ES501 --max-findings 0 --format jsonl" in text


def test_equal_findings_are_joined_with_their_lines() -> None:
    found = [made(line=line, found=1) for line in (2, 5, 9)]
    text = checked(page_of(outcome(run(counts={"ES401": 3})), *found)).text
    assert "lines 2, 5, 9" in text


def batch(passed: int = 200, failed: int = 37) -> str:
    """Return the page of many runs, of which the last fail."""
    runs, found = [], []
    for number in range(passed + failed):
        stem = f"/store/data/task/{number:04}-7b1d"
        one = run(verdict="passed", counts={"ES404": 1}, severities={Severity.INFO: 1}, claims=[])
        one.file, one.aggregate = f"{stem}_samples.jsonl", f"{stem}.json"
        found.append(made("ES404", file=one.file, severity=Severity.INFO, message="note"))
        if number >= passed:
            one.verdict, one.failing = "failed", {"ES401": 2}
            one.count("ES401", Severity.ERROR, 2)
            found += [made(file=one.file, line=line, message=f"m{number}") for line in (3, 5)]
        runs.append(one)
    return page_of(outcome(*runs), *found)


def test_the_table_of_runs_has_first_reasons_and_names_pairs_once() -> None:
    page = batch()
    text = checked(page).text
    assert "237 runs below /store/data/task/" in text
    _, _, table = page.partition('<table class="runs">')
    rows = re.findall(r"<tr>(.*?)</tr>", table.partition("</table>")[0], re.DOTALL)[1:]
    assert len(rows) == 237
    for number, row in enumerate(rows[:37], 200):
        assert "/store" not in row
        assert f"{number:04}-7b1d{{.json,_samples.jsonl}}" in Parsed(row).text
        assert f"ES401 line 3: m{number}" in Parsed(row).text
        assert "Failed" in row
    assert not any("ES4" in row for row in rows[37:])


def test_rules_come_first_and_their_findings_are_folded() -> None:
    page = batch()
    order = [page.index(text) for text in ('id="rules"', 'id="runs"', 'id="findings"')]
    assert order == sorted(order)
    assert '<a href="#ES401">ES401 sample-hash-mismatch</a>' in page
    folded = re.findall(r'<details class="group edge-(?:error|info)"><summary><h3>.*?</h3>', page)
    assert len(folded) == 2
    assert '<div class="summary" id="ES401">' in page
    text = checked(page).text
    assert "ES401 sample-hash-mismatch 74 errors in 37 runs" in text
    assert "(237 findings in 237 files)" in text
    assert "and 227 more with 227 findings" in text
    assert '<section class="group' in page_of(outcome(run()), made())


def test_only_the_page_of_several_runs_names_the_file_of_each_finding() -> None:
    def places(*runs: RunSummary) -> list[str]:
        page = page_of(outcome(*runs), made(file="data/a.jsonl", line=3))
        return re.findall(r'<div class="place">(.*?)</div>', page)

    one, other = (
        replace(run(counts={"ES401": 1}), file=f"data/{name}.jsonl", aggregate=None)
        for name in "ab"
    )
    (alone,), (beside,) = places(one), places(one, other)
    assert "a.jsonl" not in alone
    assert Parsed(beside).text.split() == ["a.jsonl", "line", "3"]


def test_only_the_page_of_several_runs_has_a_script() -> None:
    page = batch(2, 1)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert ("content", f"{POLICY}; script-src 'sha256-{digest}'") in Parsed(page).attributes
    assert not re.search(r"fetch|import|XMLHttp|innerHTML|eval|http", script)
    assert '<form class="filter" hidden>' in page
    assert "runs only the script that sorts and filters" in page
    alone = page_of(outcome(run()), made())
    assert "<script" not in alone
    assert ("content", POLICY) in Parsed(alone).attributes


def test_failed_runs_come_first() -> None:
    runs = (
        RunSummary("a", None, "eee", verdict="passed"),
        RunSummary("b", None, "eee", verdict="incomplete", incomplete_reason="cut off"),
        RunSummary("c", None, "eee", verdict="failed"),
        RunSummary("d", None, "eee", verdict="unconfirmed", remark="no aggregate"),
        run(),
    )
    page = page_of(outcome(*runs))
    order = re.findall(r'href="#run-(\d)"', page)
    assert order == ["5", "3", "2", "4", "1"]
    assert "no aggregate" in page
    assert "cut off" in checked(page).text


def test_a_page_of_many_runs_and_findings_is_small() -> None:
    # More rules than a report has findings of: each brings its explanation.
    codes = list(CATALOGUE)[:250]
    long = "\u202e&" * 300
    runs = []
    for number in range(600):
        one = run(counts=dict.fromkeys(codes, 7))
        one.file, one.aggregate = f"{number}{long}.jsonl", f"{number}{long}.json"
        one.verdict = "failed" if number == 599 else "passed"
        runs.append(one)
    found = (
        made(
            codes[number % len(codes)],
            file=runs[number % 600].file,
            line=number + 1,
            message=f"{number}{long}",
            pointer=long,
            expected=long,
            found=long,
            sample_id=long,
        )
        for number in range(1_000)
    )
    page = page_of(outcome(*runs), *found)
    text = checked(page).text
    assert re.search(r"[\d,]+ more runs not shown", text)
    assert re.search(r"The details of [\d,]+ more runs are not shown", text)
    assert 'href="#run-600"' in page


HOSTILE = st.text(min_size=1, max_size=60) | st.sampled_from(
    [
        "</style><script>alert(1)</script>",
        '"><img src=x onerror=1>',
        "\u202egnp.exe",
        "a\nb\x1b[31m",
    ]
)


@given(HOSTILE)
def test_no_text_breaks_out(text: str) -> None:
    one = run(
        claims=[claim(text, text, [text], State.OPEN, text, kind=text)._replace(pointer=text)],
        incomplete_reason=text,
        recipe=text,
        version=text,
        declared=text,
        sealed=text,
    )
    one.file = text
    finding = made(file=text, message=text, pointer=text, found=text, sample_id=text, line=1)
    excerpt = made(file=text, found=Excerpt(text, len(text) // 2))
    page = page_of(outcome(one, options={"noise": text}), finding, excerpt)
    parsed = checked(page)
    assert visible_text(text) in parsed.text
    assert all(letter.isprintable() or letter == "\n" for letter in page)


def test_a_line_is_shown_with_the_letter_at_which_it_breaks() -> None:
    page = page_of(outcome(run()), made(line=3, found=Excerpt("[1, 2}", 5)))
    assert "<code>[1, 2<mark>}</mark></code>" in page


@given(HOSTILE)
def test_text_and_attributes_round_trip(text: str) -> None:
    parsed = Parsed(tag("p", text, class_=text))
    assert parsed.text == visible_text(text)
    assert parsed.attributes == [("class", visible_text(text))]


def test_markup_is_built_from_parts() -> None:
    assert tag("p", "<", ["&", None, 1_000], Markup("<b>x</b>")) == "<p>&lt;&amp;1,000<b>x</b></p>"
    assert tag("details", open=True, id=None, class_=False) == "<details open></details>"
    assert join_markup("a", Markup("<")) == "a<"


def test_long_texts_are_cut_and_say_so() -> None:
    assert cut_visible("x" * 10, 10) == "x" * 10
    assert cut_visible("x" * 11, 10) == "xxxxxxxxxx… (11 characters)"
    assert cut_visible("\n" * 8, 10).startswith("\\n\\n\\n\\n\\n…")


def test_commands_are_quoted_for_a_shell() -> None:
    one = RunSummary("-x y.jsonl", "it's.json", "eee")
    options = {"recipe": "concat", "strict": True, "ignore": ["ES4"], "tee": "copy"}
    assert shell(repeat(one, "", "ES401", options)) == (
        "evalstream check './-x y.jsonl' --aggregate 'it'\"'\"'s.json' --select ES401 "
        "--strict --recipe concat"
    ) or "--recipe concat --strict" in shell(repeat(one, "", "ES401", options))
    of_stdin = shell(repeat(RunSummary("-", None, "eee"), "", "ES401", {}))
    assert of_stdin == "evalstream check - --select ES401 < FILE"
    assert quote_word("a\n'é") == "$'a\\x0a\\x27\\xc3\\xa9'"


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_of_a_linear_axis_are_few_and_within(low: float, width: float) -> None:
    ticks = round_steps(low, low + width)
    room = width * 1e-3 + abs(low) * 1e-6
    assert len(ticks) <= 7
    assert all(low - room <= tick <= low + width + room for tick in ticks)


def test_ticks_stand_at_both_ends() -> None:
    assert round_steps(0.0, 1.0) == [0.0, 0.25, 0.5, 0.75, 1.0]
    one = (1,) * 9
    scores, _ = strips("a", Strip(10, one, one, (0.5,) * 9, *(one,) * 3, total=90))
    assert Parsed(f"{scores}").texts[-5:] == ["line 1", "21", "41", "61", "81"]


@each(("low", "shades"), [(0.5, {"0.54", "1.00"}), (-1.0, {"0.08", "1.00"})])
def test_shades_begin_at_zero_unless_a_score_is_below(low: float, shades: set[str]) -> None:
    one, rest = (1, 1), (0, 0)
    scores, _ = strips("a", Strip(1, one, one, (low, 1.0), rest, rest, rest))
    assert set(re.findall(r'fill-opacity="([^"]*)"', f"{scores}")) == shades


@given(st.floats(1e-6, 1e9), st.floats(1.0, 1e12))
def test_ticks_of_a_logarithmic_axis_are_few_and_within(low: float, factor: float) -> None:
    ticks = round_logs(low, low * factor)
    assert 1 <= len(ticks) <= 7
    assert all(low * 0.99 <= tick <= low * factor * 1.01 for tick in ticks)


def test_values_are_hidden_if_asked_for() -> None:
    tampered = EXAMPLES / "tampered"
    for shown in (True, False):
        sink = Kept()
        evalstream.check(
            tampered, reporter=HtmlReporter(sink), show_values=shown, schema_version="0.2.0"
        )
        found = re.findall(r"found <code>", sink.text)
        assert bool(found) is shown


def test_the_same_check_gives_the_same_bytes(tmp_path: Path) -> None:
    pages = []
    for jobs in (1, 2):
        sink = Kept()
        evalstream.check(EXAMPLES, reporter=HtmlReporter(sink), jobs=jobs)
        pages.append(sink.text)
    assert pages[0] == pages[1]
    checked(pages[0])


def test_options_that_differ_from_their_defaults_are_reported() -> None:
    schema = json.dumps({"type": "object"})
    report = evalstream.check(
        EXAMPLES / "run.jsonl", schema=schema, fail_on=Severity.WARNING, jobs=2, select=["ES2"]
    )
    digest = report.options["schema"]
    assert digest.startswith("sha256:")
    assert dict(report.options) == {"select": ["ES2"], "fail_on": "warning", "schema": digest}


@each(
    "values",
    [
        Histogram("log", 2.0, 0, (), zeros=5),
        Histogram("log", 2.0, 3, (1,), zeros=5),
        Histogram("log", 2.0, 3, (1,)),
        Histogram("linear", 0.5, 0, ()),
        Histogram("linear", 0.5, -1, (2,)),
    ],
)
def test_every_histogram_has_a_picture(values: Histogram) -> None:
    picture = str(histogram("key", "Tokens", "tokens", values))
    assert ("No values." in picture) == (not values.counts and not values.zeros)
    assert ("0.5" in picture) or values.scale == "log" or not values.counts


def test_the_verdict_over_runs_names_rules_left_out_of_any() -> None:
    limited = replace(sound_run(), ignored=("ES5",))
    for runs in ([sound_run(), limited], [limited, sound_run()]):
        assert "Passed (some rules left out)</span></h1>" in render(HtmlReporter, Case([], runs))
