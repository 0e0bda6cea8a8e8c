"""Tests that guard the catalogue: names, documentation, and the examples in it."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from edits import Case, apply, sections

from evalstream.formats.eee.aggregate import Aggregate
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.options import Options
from evalstream.parsing.json import shorten
from evalstream.reporters.summary import run_line
from evalstream.rules.base import CheckContext, Rule
from evalstream.rules.catalogue import RULES

GOLDEN = Path(__file__).resolve().parent / "golden"
PAIRS = Path(__file__).resolve().parent / "pairs"
HEADINGS = ["What it finds", "Why it matters", "Bad", "Good"]
VERBS_OF_CURES = {"check", "use", "verify"}
WORDS_OF_DUTY = {"must", "should"}

FIELDS = [
    "code",
    "count",
    "expected",
    "file",
    "found",
    "keyword",
    "line",
    "message",
    "name",
    "offset",
    "pointer",
    "sample_id",
    "severity",
]
"""Every field that a finding may carry, sorted."""

ALSO_WRONG = {
    "ES107": {"ES201", "ES215"},  # its line holds only what the rule is about, and so no row
    "ES508": {"ES405"},  # the example's sample hashes stay sha256
    "ES606": {"ES603"},  # the id that was overwritten is missing
    "ES216": {"ES202"},  # what fails the one version
    "ES215": {"ES202", "ES208"},  # a row of 0.2.0 is judged by the nearest version of 9.9
}
"""Errors of other rules that the Bad example of a rule brings with it, and why."""

NAMES = {
    "ES001": "unreadable-input",
    "ES002": "broken-compression",
    "ES003": "line-too-long",
    "ES004": "changed-while-read",
    "ES005": "nothing-to-check",
    "ES006": "noise-skipped",
    "ES007": "unrecognised-file",
    "ES008": "foreign-format",
    "ES009": "outside-the-input",
    "ES101": "invalid-utf8",
    "ES102": "byte-order-mark",
    "ES103": "invalid-json",
    "ES104": "truncated-record",
    "ES105": "spliced-record",
    "ES106": "nul-bytes",
    "ES107": "duplicate-key",
    "ES108": "non-finite-number",
    "ES109": "not-an-object",
    "ES110": "blank-line",
    "ES111": "no-final-newline",
    "ES112": "carriage-return",
    "ES113": "too-deep-or-too-big",
    "ES114": "unpaired-surrogate",
    "ES201": "missing-property",
    "ES202": "wrong-type",
    "ES203": "not-allowed-value",
    "ES204": "null-for-absent",
    "ES205": "unknown-property",
    "ES206": "out-of-range",
    "ES207": "too-few-items",
    "ES208": "non-string-in-string-map",
    "ES209": "single-turn-shape",
    "ES210": "transcript-shape",
    "ES211": "no-variant-fits",
    "ES212": "score-type-needs",
    "ES213": "pattern",
    "ES214": "legacy-metrics-rule",
    "ES215": "unknown-version",
    "ES216": "fits-another-version",
    "ES217": "schema",
    "ES301": "terminal-answer",
    "ES302": "attribution-turn",
    "ES303": "attribution-source",
    "ES304": "turn-order",
    "ES305": "dangling-tool-call",
    "ES306": "miscounted-turns",
    "ES307": "correct-versus-score",
    "ES308": "score-out-of-bounds",
    "ES309": "token-sum",
    "ES310": "timing",
    "ES311": "empty-identifier",
    "ES312": "answer-leak",
    "ES313": "reference-not-a-choice",
    "ES314": "error-yet-correct",
    "ES315": "mislabelled-interaction",
    "ES316": "credential",
    "ES317": "model-id-shape",
    "ES319": "two-transcripts",
    "ES401": "sample-hash-mismatch",
    "ES402": "other-recipe",
    "ES403": "mixed-recipes",
    "ES404": "unverifiable-hash",
    "ES405": "malformed-hash",
    "ES406": "hash-absent",
    "ES407": "one-id-two-samples",
    "ES408": "repeated-row",
    "ES409": "repeated-sample",
    "ES501": "checksum-mismatch",
    "ES502": "malformed-checksum",
    "ES503": "row-count-mismatch",
    "ES504": "no-rows",
    "ES505": "format-mismatch",
    "ES506": "unsealed",
    "ES507": "file-path-mismatch",
    "ES508": "weak-algorithm",
    "ES601": "foreign-evaluation",
    "ES602": "foreign-model",
    "ES603": "unknown-result",
    "ES604": "result-without-rows",
    "ES605": "unknown-evaluation-name",
    "ES606": "repeated-result",
    "ES607": "uneven-fan-out",
    "ES608": "disagreeing-copies",
    "ES609": "sample-list",
    "ES610": "uneven-repeats",
    "ES701": "aggregate-score",
    "ES702": "uncertainty",
    "ES703": "standard-error",
    "ES704": "evaluation-id-shape",
    "ES705": "bootstrap",
    "ES706": "deployment",
    "ES708": "level-score",
    "ES801": "score-not-reproduced",
    "ES802": "sample-count",
    "ES803": "uncertainty-not-reproduced",
    "ES804": "claim-not-recomputed",
    "ES901": "datastore-path",
    "ES902": "orphan",
    "ES903": "repeated-aggregate",
    "ES904": "overlapping-files",
    "ES905": "drifted-sample",
    "ES906": "reused-uuid",
    "ES908": "case-collision",
    "ES910": "foreign-directory",
    "EVG101": "document-shape",
    "EVG102": "empty-range",
    "EVG201": "task-with-unknown-metric",
    "EVG202": "threshold-for-unknown-task",
    "EVG203": "threshold-for-unknown-metric",
    "EVG204": "repeated-thresholds",
    "EVG205": "repeated-id",
    "EVG301": "overlapping-ranges",
    "EVG302": "gap-between-ranges",
    "EVG303": "impact-against-direction",
    "EVG401": "unsound-report",
    "EVG402": "reported-impact",
    "EVG502": "path-outside-folder",
    "HAR101": "lists-not-found",
    "HAR102": "malformed-instance",
    "HAR103": "repeated-instance",
    "HAR104": "malformed-metric",
    "HAR105": "idle-or-repeated-metric",
    "HAR106": "missing-reference",
    "HAR201": "faulty-output",
    "HAR202": "unrequested-output",
    "HAR301": "faulty-log-record",
    "HAR302": "uneven-log",
    "HAR303": "result-versus-score",
    "INF101": "infereval-structure",
    "INF102": "bare-reference",
    "INF201": "verdict-count-mismatch",
    "INF202": "rationale-count-mismatch",
    "INF203": "undeclared-factor-level",
    "INF204": "thin-cell",
    "INF205": "undeclared-primary-panel",
    "INF206": "partial-panels",
    "INF207": "factor-kind",
    "INF208": "repeated-identifier",
    "INF209": "unknown-bearer",
    "INF210": "dangling-cross-reference",
    "INF211": "vacuous-item",
    "INF301": "benchmark-disagreement",
    "INF302": "benchmark-hash",
    "INF303": "sample-indices",
    "INF304": "majority-vote-mismatch",
    "INF305": "parse-status-contradiction",
    "INF306": "silent-failure",
    "INF307": "reversed-times",
}
"""The catalogue of all codes, those to come too: a code keeps its name for ever."""

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty folder, so that reports name files relative to it."""
    monkeypatch.chdir(tmp_path)
    return Path()


def apply_example(rule: Rule, heading: str, here: Path) -> Case:
    """Set up the pair that the documentation of a rule describes under a heading."""
    return apply(sections(rule)[heading], here)


@every_rule
def test_every_rule_is_documented_under_all_headings(rule: Rule) -> None:
    documented = sections(rule)
    assert list(documented) == HEADINGS
    assert all(documented.values())
    assert rule.summary
    assert not rule.summary.endswith(".")


@every_rule
def test_every_name_says_the_defect_in_kebab_case(rule: Rule) -> None:
    assert re.fullmatch(r"(ES|INF|HAR|EVG)[0-9]{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    words = rule.name.split("-")
    assert words[0] not in VERBS_OF_CURES
    assert not WORDS_OF_DUTY & set(words)


@every_rule
def test_every_code_keeps_its_name(rule: Rule) -> None:
    assert NAMES[rule.code] == rule.name


def test_rules_by_ids_look_at_nothing_else() -> None:
    ids = ("schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id")
    line = (PAIRS / "0.3.0-two-results").rglob("*.jsonl")
    row = json.loads(next(line).read_bytes().splitlines()[0])
    results = Aggregate("a", {"evaluation_results": [{"evaluation_name": "n"}]}).joinable()
    context = CheckContext(
        Options(),
        evaluation_id="another",
        model_id="another",
        evaluation_names=frozenset({"another"}),
        results=(results[0]._replace(id="another"),),
    )
    by_ids = [rule for rule in RULES.values() if rule.by_ids and rule.row]
    assert by_ids
    for rule in by_ids:
        check = rule.row(context) if rule.row else None
        assert check is not None, rule.code
        assert list(check(row)) == list(check({key: row[key] for key in ids})), rule.code


def test_codes_and_names_are_unique() -> None:
    assert len({rule.name for rule in RULES.values()}) == len(RULES)
    assert [rule.code for rule in RULES.values()] == sorted(RULES)
    assert len(set(NAMES.values())) == len(NAMES)


def test_findings_carry_the_fields_of_the_contract() -> None:
    assert sorted(Finding._fields) == FIELDS


@every_rule
def test_every_rule_has_at_most_one_function(rule: Rule) -> None:
    functions = (rule.row, rule.run, rule.aggregate, rule.record)
    assert sum(function is not None for function in functions) <= 1


@every_rule
def test_the_bad_example_is_found_and_nothing_else_is_wrong(rule: Rule, here: Path) -> None:
    report = apply_example(rule, "Bad", here).check()
    found = list(report)
    assert rule.code in {finding.code for finding in found}
    assert report.counts[rule.code] >= 1
    errors = {finding.code for finding in found if finding.severity is Severity.ERROR}
    assert errors - {rule.code} == ALSO_WRONG.get(rule.code, set())


@every_rule
def test_the_good_example_is_sound(rule: Rule, here: Path) -> None:
    report = apply_example(rule, "Good", here).check()
    assert rule.code not in report.counts
    assert report.exit_code == 0
    assert report.passed


@every_rule
def test_an_ignored_rule_is_silent_and_the_verdict_names_it(rule: Rule, here: Path) -> None:
    report = apply_example(rule, "Bad", here).check(ignore=(rule.code,))
    assert rule.code not in report.counts
    assert rule.code not in {finding.code for finding in report}
    assert all(run.ignored == (rule.code,) for run in report.runs)
    assert all(f"without {rule.code})" in run_line(run) for run in report.runs)


@every_rule
def test_a_selected_rule_speaks_alone(rule: Rule, here: Path) -> None:
    report = apply_example(rule, "Bad", here).check(select=(rule.code,))
    assert set(report.counts) == {rule.code}
    assert {finding.code for finding in report} == {rule.code}
    assert all(f"(only {rule.code})" in run_line(run) for run in report.runs)


@every_rule
def test_found_is_what_stands_at_the_pointer(rule: Rule, here: Path) -> None:
    for finding in apply_example(rule, "Bad", here).check():
        if finding.found is None or isinstance(finding.found, Excerpt) or finding.pointer is None:
            continue
        stands = resolve_pointer(document_of(finding), finding.pointer)
        if isinstance(stands, float) and not math.isfinite(stands):
            stands = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(stands, "NaN")
        assert finding.found == shorten(stands), finding
        assert type(finding.found) is type(shorten(stands)), finding


def document_of(finding: Finding) -> Any:
    """Return the document that a finding's pointer leads into: a row, or a whole file."""
    text = Path(finding.file).read_bytes()
    if finding.line is not None and finding.file.endswith(".jsonl"):
        return json.loads(text.split(b"\n")[finding.line - 1])
    return yaml.safe_load(text) if finding.file.endswith(".yaml") else json.loads(text)


def resolve_pointer(document: Any, pointer: str) -> Any:
    """Return what stands at a JSON Pointer. Raises LookupError where nothing does."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        document = document[int(name) if isinstance(document, list) else name]
    return document


@every_rule
def test_golden(rule: Rule, here: Path, compare_json: Callable[[Path, Any], None]) -> None:
    report = apply_example(rule, "Bad", here).check()
    seen = {"exit": report.exit_code, "findings": [finding.as_dict() for finding in report]}
    compare_json(GOLDEN / f"{rule.code}.json", seen)


def test_no_golden_is_left_of_a_rule_that_is_gone() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(RULES)
