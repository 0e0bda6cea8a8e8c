"""The text report: golden files on the shared reports, and properties of joined findings."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from depth import deep, examples
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from report_fixture import (
    CHECKSUM,
    FINDINGS,
    LONG_ROWS,
    RULES,
    SYNTAX,
    TYPE,
    Case,
    cases,
    claim,
    every_verdict,
    failed_run,
    finding,
    render,
    sound_run,
)

from evalstream.model.claim import State
from evalstream.model.data_class import replace
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.run_summary import RunSummary
from evalstream.reporters.base import PLAIN, Style
from evalstream.reporters.lines import Span, columns
from evalstream.reporters.overview import join_names
from evalstream.reporters.run_lines import LINES_SHOWN
from evalstream.reporters.text import LiveTextReporter, TextReporter

GOLDEN = Path(__file__).parent / "golden"
STYLES = {
    "file": PLAIN,
    "80": Style(width=80),
    "colour": Style(width=160, colour=True, min_severity=Severity.INFO, statistics=True),
    "quiet": Style(width=80, quiet=True, statistics=True),
}
EVERYTHING = Style(min_severity=Severity.INFO)
SGR = re.compile(r"\x1b\[[\d;]*m")

Compare = Callable[[Path, str], None]


@each("style", STYLES)
@pytest.mark.parametrize("name", list(cases()))
def test_the_report_looks_as_promised(name: str, style: str, compare: Compare) -> None:
    seen = render(TextReporter, cases()[name], STYLES[style])
    compare(GOLDEN / f"text-{name}-{style}.txt", seen.replace("\x1b", "␛"))


@each("name", list(cases()))
def test_colours_change_nothing_else(name: str) -> None:
    plain, coloured = (
        render(TextReporter, cases()[name], Style(width=80, colour=colour))
        for colour in (False, True)
    )
    assert SGR.sub("", coloured) == plain


@each("width", [40, 80, 160])
def test_lines_fit_the_terminal(width: int) -> None:
    for name, case in cases().items():
        for line in render(TextReporter, case, Style(width=width)).splitlines():
            assert columns([Span(line)]) <= width, name


def test_findings_come_one_by_one_where_rows_are_passed_on(compare: Compare) -> None:
    style = Style(colour=True)
    seen = render(LiveTextReporter, cases()["failed"], style)
    compare(GOLDEN / "text-live.txt", seen.replace("\x1b", "␛"))
    quiet = render(LiveTextReporter, cases()["failed"], Style(quiet=True))
    assert "ES103" not in quiet
    assert quiet.startswith("incomplete: nichts")


def test_a_sound_run_is_one_line_with_its_verdict_first() -> None:
    sound = RunSummary("run.jsonl", "aggregate.json", "eee", rows=1, verdict="passed")
    sound.algorithm, sound.declared, sound.actual = "md5", "ab", "ab"
    expected = "passed: run.jsonl with aggregate.json: 1 row, no findings; checksum ok (md5)\n"
    assert render(TextReporter, Case([], [sound])) == expected


def test_a_report_without_a_run_says_so() -> None:
    assert render(TextReporter, Case([], [])) == "nothing was checked\n"


@each("position", range(len('{"é": 1,x}')))
def test_the_caret_stands_under_its_letter(position: int) -> None:
    text = '{"é": 1,x}'
    case = Case([SYNTAX._replace(found=Excerpt(text, position))], [])
    excerpt, caret = render(TextReporter, case).splitlines()[3:5]
    assert caret.strip() == "^"
    assert excerpt[caret.index("^")] == text[position]


def test_the_most_severe_rules_come_first() -> None:
    warning = TYPE._replace(code="ES101", severity=Severity.WARNING)
    seen = render(TextReporter, Case([warning, CHECKSUM, SYNTAX], []))
    heads = [line.split()[0] for line in seen.splitlines() if line.startswith("ES")]
    assert heads == ["ES103", "ES501", "ES101"]


def test_severities_are_told_apart_within_a_rule() -> None:
    milder = TYPE._replace(severity=Severity.WARNING, line=9)
    hidden = TYPE._replace(severity=Severity.INFO, line=10)
    run = RunSummary("a", None, "eee", verdict="failed")
    for severity in Severity:
        run.count("ES202", severity, 1)
    seen = render(TextReporter, Case([TYPE, milder, hidden], [run]))
    assert seen.startswith("ES202 wrong-type: 1 error, 1 warning\n")
    assert "line 3: error: /evaluation/score: " in seen
    assert "line 9: warning: /evaluation/score: " in seen
    assert "\n1 info not listed (-v lists it)\n" in seen


def test_infos_are_counted_and_not_listed() -> None:
    case = Case(FINDINGS, [failed_run()])
    assert "md5 finds accidents" not in render(TextReporter, case)
    assert "\n1 info not listed (-v lists it)\n" in render(TextReporter, case)
    listed = render(TextReporter, case, EVERYTHING)
    assert "md5 finds accidents" in listed
    assert "not listed (-v" not in listed
    errors = render(TextReporter, case, Style(min_severity=Severity.ERROR))
    assert "\n1,234 warnings and 1 info not listed (-v lists them)\n" in errors


def test_capped_infos_name_both_options() -> None:
    run = RunSummary("a", None, "eee", verdict="passed")
    run.count("ES301", Severity.INFO, 500)
    info = finding("ES301", "not-one-terminal-answer", Severity.INFO, "two answers")
    seen = render(TextReporter, Case([info], [run]))
    assert seen.startswith("500 infos not listed (-v --max-findings 0 lists them)\n")


def test_short_values_stand_beside_their_file() -> None:
    one = finding("ES502", "r", Severity.ERROR, "rows", expected=8, found=9)
    seen = render(TextReporter, Case([one, one._replace(file="other")], [failed_run()]))
    assert "\n    other: expected 8, found 9\n" in seen


def test_many_equal_findings_are_one_entry() -> None:
    seen = render(TextReporter, cases()["many"])
    heading, file, entry, fix = seen.splitlines()[:4]
    assert heading == "ES204 null-for-absent: 10,000 errors"
    assert file == f"  {LONG_ROWS}"
    assert entry.startswith("  lines 1-2500: /interactions/*/tool_call_id: null in 0.2.0; ")
    assert entry.endswith(" (10,000 findings)")
    assert fix == "  fix: Leave the field out instead."


def test_the_first_lines_are_named_and_the_others_counted() -> None:
    lines = [3, 4, 5, 9, 20, 30, 40, 50, 51]
    seen = render(TextReporter, Case([TYPE._replace(line=line) for line in lines], []))
    assert "lines 3-5, 9, 20, 30, 40, … and 2 more: /evaluation/score: " in seen
    assert "(9 findings)" in seen


def test_a_file_that_comes_twice_counts_its_lines_twice() -> None:
    found = [TYPE._replace(line=line) for line in (3, 4, 3, 4)]
    seen = render(TextReporter, Case(found, []))
    assert seen.count("lines 3-4: ") == 2


def test_many_places_are_joined_piece_by_piece() -> None:
    found = [TYPE._replace(file=f"{number}.jsonl") for number in range(2_500)]
    seen = render(TextReporter, Case(found, []), EVERYTHING)
    assert seen.count("ES202 wrong-type") == 1
    assert [int(n.replace(",", "")) for n in re.findall(r"\(([\d,]+) findings in", seen)] == [
        1000,
        1000,
        500,
    ]
    assert all(f"{number}.jsonl:3" in seen for number in range(2_500))


@pytest.mark.parametrize("style", [PLAIN, Style(width=120)])
def test_a_message_names_some_files_unless_asked_for_all(style: Style) -> None:
    found = [TYPE._replace(file=f"{n}.jsonl", line=m) for n in range(1_100) for m in (1, 2)]
    seen = render(TextReporter, Case(found, []), style)
    assert "(2,200 findings in 1,100 files)" in seen
    assert "… and 1,090 more with 2,180 findings (-v lists them)" in seen
    assert "    9.jsonl: lines 1-2" in seen
    assert "10.jsonl" not in seen
    listed = render(TextReporter, Case(found, []), replace(style, min_severity=Severity.INFO))
    assert all(f"    {number}.jsonl:" in listed for number in range(1_100))
    assert "more with" not in listed
    few = render(TextReporter, Case(found[:20], []), style)
    assert "    9.jsonl: lines 1-2" in few
    assert "more with" not in few


def test_paths_are_shortened_on_a_terminal_alone() -> None:
    long = f"{'folder/' * 30}name.jsonl"
    case = Case([TYPE._replace(file=long)], [sound_run(long, f"{long}.json")])
    assert long in render(TextReporter, case)
    seen = render(TextReporter, case, Style(width=80))
    assert long not in seen
    assert "/folder/name.jsonl\n" in seen


def test_two_paths_are_never_shortened_to_one_text() -> None:
    files = [f"{one * 90}/run.jsonl" for one in "ab"]
    found = [TYPE._replace(file=file) for file in files]
    seen = render(TextReporter, Case(found, []), Style(width=60)).replace("\n      ", "")
    assert "  …/run.jsonl:3" in seen
    assert files[1] in seen


def test_standard_input_has_a_name() -> None:
    seen = render(TextReporter, cases()["several-formats"])
    assert "  <stdin>\n" in seen
    assert "unconfirmed: <stdin>: 3 rows" in seen


def test_results_that_say_the_same_share_a_line() -> None:
    (run,) = [one for one in every_verdict() if one.verdict == "unconfirmed"]
    seen = render(TextReporter, Case([], [run]))
    assert seen.count("no row belongs to the result") == 1
    many = [claim(f"c{n}", n / 50, n / 50, number=n) for n in range(50)]
    seen = render(TextReporter, Case([], [replace(run, claims=[*many, *run.claims])]))
    lines = seen.splitlines()[1:]
    assert len(lines) == LINES_SHOWN + 1
    assert lines[0].startswith("  16 claims: open (no row belongs to the result): task 0, task 1,")
    assert lines[-1] == "  … and 32 more claims (--format json lists all)"


def test_a_refuted_claim_has_as_many_digits_as_show_a_difference() -> None:
    run = RunSummary("a", "b", "eee", rows=8, verdict="failed")
    run.claims = [claim("f1", 0.123456789, 0.123456781, State.REFUTED)]
    seen = render(TextReporter, Case([], [run])).splitlines()[1]
    assert seen == "  f1: claims 0.123456789, recomputed 0.123456781 from 8 rows: refuted"


def test_a_score_that_is_no_average_says_what_it_is() -> None:
    run = RunSummary("a", "b", "eee", rows=8, verdict="passed")
    run.claims = [claim("acc", 1, 1)._replace(kind="max")]
    seen = render(TextReporter, Case([], [run])).splitlines()[1]
    assert seen == "  acc: claims 1, recomputed 1 as max from 8 rows: confirmed"


def test_a_figure_that_follows_from_others_comes_from_no_rows() -> None:
    run = RunSummary("a", "b", "lm_eval", rows=8, verdict="passed")
    run.claims = [claim("group", 0.5, 0.5, rows=0)]
    seen = render(TextReporter, Case([], [run])).splitlines()[1]
    assert seen == "  group: claims 0.5, recomputed 0.5: confirmed"


def test_many_runs_show_their_refuted_claims_alone() -> None:
    runs = [*every_verdict(), *(sound_run(f"{n}.jsonl", f"{n}.json") for n in range(30))]
    seen = render(TextReporter, Case([], runs), EVERYTHING)
    assert "  accuracy: claims 0.05, recomputed 0.75 from 8 rows: refuted\n" in seen
    assert ": confirmed\n" not in seen
    assert "\n35 runs: 2 FAILED (1 with refuted claims), 1 incomplete, 1 unconfirmed, " in seen


def test_sums_name_claims_where_no_run_has_a_place_for_a_seal() -> None:
    runs = [RunSummary(name, None, "lm_eval", rows=1, verdict="passed") for name in "ab"]
    runs[0].claims = [claim("acc", 0.5, 0.5)]
    assert "\n\nclaims: 1 confirmed\n2 runs: " in render(TextReporter, Case([], runs))


@pytest.mark.parametrize("style", [PLAIN, Style(width=300)])
@each("runs", [20, 21, 1_100])
def test_many_passed_runs_are_counted(runs: int, style: Style) -> None:
    case = Case([], [sound_run(f"{n}.jsonl", f"{n}.json") for n in range(runs)])
    whole = render(TextReporter, case, replace(style, min_severity=Severity.INFO))
    assert whole.count("\npassed: ") + whole.startswith("passed: ") == runs
    seen = render(TextReporter, case, style)
    if runs == 20:
        assert seen == whole
        return
    *_, sums, verdict = seen.splitlines()
    assert seen.startswith(f"passed: {runs:,} runs (-v lists them)\n\nchecksum ok in {runs:,} of ")
    assert sums.startswith(f"checksum ok in {runs:,} of {runs:,} runs")
    assert f"sample_hash ok in {8 * runs:,} of {8 * runs:,} rows" in sums
    assert verdict == f"{runs:,} runs: {runs:,} passed, {8 * runs:,} rows, no findings"


def pair(number: int) -> tuple[str, str]:
    """Return the names of rows and their aggregate, in a folder of their own."""
    stem = f"/store/data/task_{number % 7}/{number:08x}-7b1d-4e62-9a4f-2c6d8e1b3a57"
    return f"{stem}_samples.jsonl", f"{stem}.json"


def large_batch(failed: int, passed: int) -> Case:
    """Return a batch in which some runs fail, each by its own findings, among many that pass."""
    runs = [sound_run(*pair(number)) for number in range(failed + passed)]
    found = []
    for number in range(3, (failed + passed), (failed + passed) // failed)[:failed]:
        rows, aggregate = pair(number)
        runs[number] = RunSummary(rows, aggregate, "eee", rows=8, verdict="failed")
        notice = finding("ES404", "x", Severity.INFO, "not it", file=rows, line=1)
        wrong = finding("ES401", "x", Severity.ERROR, f"hash {number}", file=rows, line=2)
        seal = finding("ES501", "checksum-mismatch", Severity.ERROR, "seal", file=aggregate)
        for one in (notice, seal, wrong):
            found.append(one)
            runs[number].count(one.code, one.severity, 1)
        runs[number].failing = {"ES401": 1, "ES501": 1}
    return Case(found, runs)


@pytest.mark.parametrize("width", [100, 200])
@pytest.mark.parametrize("quiet", [False, True])
def test_the_failed_runs_of_a_large_batch_fit_a_screen(width: int, quiet: bool) -> None:
    case = large_batch(37, 1_963)
    seen = render(TextReporter, case, Style(width=width, quiet=quiet))
    screen = seen.splitlines()[-45:]
    listed = [line for line in screen if line.startswith("FAILED: ")]
    assert len(listed) == 37
    for line, run in zip(listed, [run for run in case.runs if run.failing], strict=True):
        number = int((run.file or "").split("/")[-1][:8], 16)
        assert f"{number:08x}" in line
        assert "2 errors; ES401 line 2:" in line
        assert width == 100 or f"/{number:08x}-7b1d-4e62-9a4f-2c6d8e1b3a57{{.json,_sa" in line
        assert len(line) <= width
    assert "passed: 1,963 runs (-v lists them)" in screen
    assert screen[-1].startswith("2,000 runs: 37 FAILED, 1,963 passed, ")
    assert len(seen.splitlines()) < (45 if quiet else 90)
    assert seen.startswith("all paths are below /store/data/\n")


def test_failed_runs_beyond_a_screen_are_counted() -> None:
    seen = render(TextReporter, large_batch(300, 100))
    assert seen.count("\nFAILED: task_") == 40
    assert "\nFAILED: … and 260 more (-v lists them)\n" in seen
    assert seen.count("\n  hash ") == 10
    assert "  … and 290 more findings (-v lists them)\n" in seen


def test_a_run_that_is_a_folder_fails_by_a_file_below_it() -> None:
    runs = [RunSummary(f"store/{n}", None, "evalguard", verdict="passed") for n in range(30)]
    runs[7].verdict, runs[7].failing = "failed", {"EG201": 1}
    wrong = finding("EG201", "x", Severity.ERROR, "no score", file="store/7/reports/a.yaml")
    other = finding("EG201", "x", Severity.ERROR, "not it", file="store/70")
    seen = render(TextReporter, Case([other, wrong], runs))
    assert "\nFAILED: 7: no findings; EG201 no score\n" in seen


def test_a_failed_run_without_a_listed_finding_names_its_rule() -> None:
    runs = [sound_run(*pair(number)) for number in range(30)]
    runs[7].verdict, runs[7].failing = "failed", {"ES202": 3}
    seen = render(TextReporter, Case([], runs))
    assert "{.json,_samples.jsonl}: no findings; ES202 wrong-type\n" in seen


def test_a_common_folder_is_named_once_for_many_runs_alone() -> None:
    runs = [sound_run(f"a/b/{n}.jsonl", f"a/c/{n}.json") for n in range(21)]
    runs[0] = RunSummary("a", None, "eee", incomplete_reason="2 names were not checked")
    seen = render(TextReporter, Case([], runs), Style(width=120))
    assert seen.startswith("all paths are below a/\n")
    assert "\nincomplete: .: no findings; 2 names were not checked\n" in seen
    assert "a/b/" in render(TextReporter, Case([], runs[1:]))
    runs.append(RunSummary("b/x", None, "eee", verdict="unconfirmed"))
    assert "below" not in render(TextReporter, Case([], runs))


@each(
    ("paths", "expected"),
    [
        (["a/x_samples.jsonl", "a/x.json"], "a/x{.json,_samples.jsonl}"),
        (["a/run1.jsonl", "a/run2.json"], "a/{run1.jsonl,run2.json}"),
        (["run.jsonl", "aggregate.json"], None),
        (["rows/x.jsonl", "aggregates/x.json"], None),
        (["a/x,1.jsonl", "a/x,1.json"], None),
        (["a/x", "a/x.json"], None),
        (["a/x.jsonl"], None),
    ],
)
def test_a_pair_is_named_once_where_a_shell_reads_both(
    paths: list[str], expected: str | None
) -> None:
    assert join_names(paths) == expected


def test_failed_runs_come_last() -> None:
    case = Case([], [failed_run(), sound_run()])
    verdicts = [line.split(":")[0] for line in render(TextReporter, case).splitlines()]
    assert verdicts[0] == "passed"
    assert "FAILED (without ES7,ES801)" in verdicts


FORMER = """\
ES103 invalid-json: 1
  zwölf/run.jsonl:2: error: expecting value at column 9 (byte 9)
"""


@each(
    "head",
    [
        FORMER,
        "ES302 attribution-unknown-turn: -:2: error: turn_idx is not 0\n",
        "run.jsonl with aggregate.json: passed: 8 rows\n",
        "run.jsonl: FAILED (without ES501): 8 rows, 1 error\n",
        "\n3 runs not looked at: the verdict is partial\n",
        "\n3 of 5 runs NOT CHECKED\n",
    ],
)
def test_reports_of_former_layouts_are_recognised(head: str) -> None:
    assert TextReporter.wrote(head.encode())


@each("style", STYLES.values())
@pytest.mark.parametrize(
    "name", [deep(name) if name == "many" else name for name in cases() if name != "nothing"]
)
def test_reports_of_any_style_are_recognised(name: str, style: Style) -> None:
    assert TextReporter.wrote(render(TextReporter, cases()[name], style).encode())
    assert TextReporter.wrote(render(LiveTextReporter, cases()[name], style).encode())


@each("head", [b"", b"{}\n", b"passed\n", b"\x1b[31mred\x1b[0m", b"ES1: text"])
def test_other_files_are_not_recognised(head: bytes) -> None:
    assert not TextReporter.wrote(head)


ANY_TEXT = st.text(
    st.characters(categories=["Cc", "Cf", "Zl", "Zp", "L", "P", "Zs"])
    | st.sampled_from("\x1b[\n\r"),
    max_size=30,
)
ANY_FINDING = st.builds(
    Finding,
    code=st.sampled_from(["ES202", "ES204", "ES301"]),
    name=st.just("wrong-type"),
    severity=st.sampled_from(list(Severity)),
    file=ANY_TEXT,
    line=st.none() | st.integers(1, 30),
    offset=st.none(),
    pointer=st.none()
    | ANY_TEXT.map(lambda text: f"/{text}")
    | st.just("/a/3/b")
    | st.just("/a/4/b"),
    keyword=st.none(),
    message=ANY_TEXT | st.just("same"),
    expected=st.none() | ANY_TEXT,
    found=st.none() | ANY_TEXT | st.builds(Excerpt, ANY_TEXT, st.integers(0, 30)),
    sample_id=st.none() | ANY_TEXT,
    count=st.none() | st.integers(1, 3),
)
ANY_STYLE = st.builds(
    Style,
    width=st.none() | st.integers(20, 120),
    colour=st.booleans(),
    min_severity=st.sampled_from(list(Severity)),
    statistics=st.booleans(),
)


def run_of(findings: list[Finding], name: str = "a", beyond: int = 0) -> RunSummary:
    """Return a run that counts findings, and some of a code that are not shown."""
    run = RunSummary(name, name, "eee", verdict="failed", incomplete_reason=name)
    for one in findings:
        run.count(one.code, one.severity, one.occurrences)
    if beyond and findings:
        run.count(findings[0].code, findings[0].severity, beyond)
    return run


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(ANY_FINDING, max_size=12), ANY_STYLE, ANY_TEXT, st.booleans())
def test_no_control_character_of_the_data_reaches_the_output(
    findings: list[Finding], style: Style, name: str, live: bool
) -> None:
    reporter = LiveTextReporter if live else TextReporter
    seen = render(reporter, Case(findings, [run_of(findings, name)]), style)
    rest = SGR.sub("", seen) if style.colour else seen
    assert all(letter.isprintable() or letter == "\n" for letter in rest)
    if style.colour:
        assert seen.count("\x1b") == len(SGR.findall(seen))


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(ANY_FINDING, max_size=30), ANY_STYLE, st.integers(0, 50))
def test_every_finding_is_listed_or_counted_once(
    findings: list[Finding], style: Style, beyond: int
) -> None:
    plain = Style(min_severity=style.min_severity)
    case = Case(findings, [run_of(findings, beyond=beyond)])
    seen = render(TextReporter, case, plain)
    listed = sum(
        int(number.replace(",", ""))
        for line in re.findall(r"^ES\d+ wrong-type: (.*)$", seen, re.MULTILINE)
        for number in re.findall(r"([\d,]+) (?:errors?|warnings?|infos?|findings?)", line)
    )
    note = re.search(r"^([^\n…]*) not listed \(-v[^\n]*\)\n\n", seen, re.MULTILINE)
    hidden = (
        sum(int(number.replace(",", "")) for number in re.findall(r"[\d,]+", note[1]))
        if note
        else 0
    )
    assert listed + hidden == case.report().total


def test_the_texts_of_rules_are_those_of_the_report() -> None:
    seen = render(TextReporter, Case([TYPE], [failed_run()]))
    assert f"  fix: {RULES['ES202'].fix}\n" in seen
