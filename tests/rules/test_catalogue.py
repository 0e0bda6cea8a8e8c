"""Tests that guard the catalogue: codes, names and documentation."""

import json
import re

import pytest
from edits import REPOSITORY

from evalstream.aggregate import Aggregate
from evalstream.catalog import RULES
from evalstream.model import Finding, Options
from evalstream.rule import Context, Rule

PAIRS = REPOSITORY / "tests" / "pairs"
HEADINGS = ["What it finds", "Why it matters", "How to fix", "Bad", "Good"]
HEADINGS_BEFORE_FIXES = [heading for heading in HEADINGS if heading != "How to fix"]
"""What rules have until it is said how to fix what they find."""

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


@every_rule
def test_every_rule_is_documented_under_all_headings(rule: Rule) -> None:
    documented = rule.sections()
    assert list(documented) in (HEADINGS, HEADINGS_BEFORE_FIXES)
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
    context = Context(
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
    functions = (rule.row, rule.run, rule.aggregate, rule.judge)
    assert sum(function is not None for function in functions) <= 1
