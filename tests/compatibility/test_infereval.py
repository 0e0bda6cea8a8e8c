"""infereval: upstream's verdicts, the facts of the format, hostile input, and what lies where."""

import copy
import gzip
import io
import json
import shutil
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from corpus import CORPUS, ENGINES, expectations, lines_of, needs_corpus
from depth import deep, examples, some
from each import each
from edits import Case, apply
from edits.case import change
from edits.infereval import EXAMPLE, documents, written_to
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recognition import read_beginning, shown
from rows import places
from schema_texts import descriptions, load, spelled, stripped

import evalstream
from evalstream.formats.infereval.benchmark_hash import (
    compute_hashes,
    normal_item,
    normalise_benchmark,
)
from evalstream.formats.infereval.format import FORMAT
from evalstream.formats.infereval.views import date_time, is_date
from evalstream.formats.infereval.votes import vote, voting
from evalstream.io.beginning import Beginning
from evalstream.model.claim import Reason, State
from evalstream.model.errors import UsageError
from evalstream.model.finding import Finding, Severity

FOLDER = CORPUS / "infereval"
REFERENCES = CORPUS.parent / "reference-schemas" / "infereval"
SCHEMAS = EXAMPLE.parent.parent / "schemas" / "infereval" / "1.0"
BENCHMARK, EVALUATION = EXAMPLE / "benchmark.json", EXAMPLE / "evaluation.json"

STRICTER = {
    "majority-vote": {"INF304"},
    "sample-indices": {"INF303"},
    # The requests of the renamed item are those of its former name.
    "repeated-items": {"INF208", "INF303"},
}
"""Classes of disagreement: the package does not look at what these rules of ours look at."""

STRICTER_MUTANTS = {
    "model_verdict differs from the majority": "majority-vote",
    "majority counts do not add up": "majority-vote",
    "fewer samples than n_samples": "sample-indices",
    "two items with one id": "repeated-items",
}

LENIENT = {("/references/0", "type")}
"""What the schema says against a bare reference, which the package takes: INF102, an info."""


def check(path: Any, **settings: Any) -> tuple[evalstream.Report, list[Finding]]:
    """Check one input, and return the report and all findings."""
    report = evalstream.check(path, jobs=1, **{"max_findings": 0, **settings})
    return report, list(report)


def errors(findings: list[Finding]) -> set[str]:
    """Return the codes of the errors among findings."""
    return {finding.code for finding in findings if finding.severity is Severity.ERROR}


def seen(findings: list[Finding]) -> list[tuple[str, str | None, str]]:
    """Return what findings say, but for their lines."""
    return sorted((one.code, one.pointer, one.message) for one in findings)


def pair(folder: Path, edit: Callable[[Any, Any], None], **settings: Any) -> list[Finding]:
    """Edit the example pair in place, and return what is found in it."""
    known = documents()
    edit(known["benchmark"], known["evaluation"])
    benchmark = written_to(folder / "b.json", known["benchmark"])
    evaluation = written_to(folder / "e.json", known["evaluation"])
    return check(evaluation, aggregate=benchmark, **settings)[1]


def resealed(benchmark: Any, evaluation: Any) -> None:
    """Give an evaluation the hash of a benchmark."""
    evaluation["benchmark_hash"] = compute_hashes(benchmark, evaluation["framework_version"])[0]


@pytest.mark.parametrize("kind", ["benchmark", "evaluation"])
def test_schemas(kind: str) -> None:
    schema = load(SCHEMAS / f"{kind}.schema.json")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"infereval {kind} 1.0"
    silent = [name for name, part in schema["properties"].items() if not part.get("description")]
    assert silent == []
    said = list(descriptions({**schema, "properties": list(schema["properties"].values())}))
    assert all(text.endswith(".") for text in said if isinstance(text, str))
    reference = REFERENCES / f"{kind}.schema.json"
    if not reference.is_file():
        pytest.skip("the reference schemas are not kept in the repository")
    assert spelled(stripped(schema)) == spelled(load(reference))


def test_the_example_passes() -> None:
    report, found = check(EVALUATION, aggregate=BENCHMARK)
    assert (report.exit_code, found) == (0, [])
    (run,) = report.runs
    assert (run.verdict, run.rows, run.version) == ("passed", 2, "1.0")
    assert run.declared == run.actual is not None
    assert check(BENCHMARK)[0].passed


def test_an_evaluation_alone_is_not_said_to_have_passed(tmp_path: Path) -> None:
    report, (finding,) = check(shutil.copy(EVALUATION, tmp_path))
    assert (report.runs[0].verdict, report.exit_code, report.passed) == ("unconfirmed", 0, False)
    assert (finding.code, finding.severity) == ("INF302", Severity.WARNING)
    assert "no benchmark was given" in finding.message


@needs_corpus
@each(
    "entry",
    expectations("infereval/expected.json").get("files", []),
    ids=lambda entry: entry["file"],
)
def test_upstreams_files(entry: Any) -> None:
    beside = entry.get("benchmark_file")
    report, found = check(
        FOLDER / entry["file"],
        aggregate=FOLDER / beside if beside else None,
        input_format="infereval",
    )
    assert bool(errors(found)) is not entry["package_valid"]
    said = sorted({(one.pointer, one.keyword) for one in found if one.keyword})
    assert said == sorted(map(tuple, entry.get("json_schema_leaf_errors", [])))
    (run,) = report.runs
    if entry.get("benchmark_hash_matches"):
        assert f"sha256:{run.actual}" == entry["benchmark_hash"]
        assert run.verdict == "passed"
    elif entry["kind"] == "evaluation":
        assert run.verdict == "unconfirmed"


@needs_corpus
def test_hashes_of_both_generations() -> None:
    for entry in expectations("infereval/expected.json")["files"]:
        older = (entry.get("benchmark_hash_by_older_releases") or {}).get("0.13.0")
        if entry["kind"] == "benchmark" and entry["package_valid"]:
            benchmark = json.loads((FOLDER / entry["file"]).read_bytes())
            assert compute_hashes(benchmark, "0.17.7")[0] == entry["benchmark_hash"]
            assert older in (None, compute_hashes(benchmark, "0.13.0")[0])


def mutants() -> Iterator[tuple[Any, bytes]]:
    """Yield the mutants with what is expected of them."""
    expected = expectations("infereval/mutants.expected.json")
    lines = lines_of(FOLDER / "mutants.jsonl") if expected else []
    yield from zip(expected.get("mutants", []), lines, strict=True)


MUTANTS = list(mutants())


@needs_corpus
@each(
    ("entry", "line", "engine"),
    [(*one, "rust") for one in MUTANTS] + [(*one, "portable") for one in some(MUTANTS, 6)],
    ids=[f"{entry['line']}-{entry['change']}" for entry, _ in [*MUTANTS, *some(MUTANTS, 6)]],
    group=16,
)
def test_mutants(entry: Any, line: bytes, engine: str, tmp_path: Path) -> None:
    path = tmp_path / "mutant.json"
    path.write_bytes(line)
    _, found = check(path, engine=engine)
    wrong = errors(found)
    if entry["package_valid"] and entry["change"] in STRICTER_MUTANTS:
        assert wrong == STRICTER[STRICTER_MUTANTS[entry["change"]]]
    else:
        assert bool(wrong) is not entry["package_valid"]
    said = {(one.pointer, one.keyword) for one in found if one.keyword}
    leaves = set(map(tuple, entry.get("json_schema_leaf_errors", [])))
    assert said == leaves - (LENIENT if any(one.code == "INF102" for one in found) else set())


def test_the_normal_form_fills_in_defaults() -> None:
    benchmark = {
        "id": "x",
        "title": None,
        "bearers": {"p": {"expression": "it is late", "references": ["a clock"]}},
        "analysts": [{"id": "a", "panel": None}],
        "context_builders": {"conclusion": {"kind": "template"}},
        "items": [
            {
                "id": "i",
                "premises": ["q", "p", "q"],
                "conclusions": [],
                "analyst_verdicts": ["good"],
                "rsr_target": {"X": ["p", "p"], "A": []},
                "construction_metadata": {"authored_on": "2026-01-02T00:00:00", "source": None},
                "monotonicity_step": {"family": "f", "tier": "p", "tier_index": 0.0},
            }
        ],
        "factor_constraints": {"min_items_per_cell": 1.0},
        "copresence_rules": [{"families": ["f", "g"]}],
        "regularities": [{"description": "d"}],
    }
    normal = normalise_benchmark(benchmark)
    assert "title" not in normal
    assert normal["schema_version"] == "1.0"
    assert normal["bearers"]["p"]["references"] == [{"citation": "a clock"}]
    assert normal["context_builders"]["premise"]["joiner"] == " and "
    assert normal["context_builders"]["conclusion"]["joiner"] == " and "
    assert "items" not in normal
    item = normal_item(benchmark["items"][0])
    assert item["premises"] == ["p", "q"]
    assert item["rsr_target"] == {"X": ["p"], "A": []}
    assert item["construction_metadata"] == {
        "authored_blind_to_models": [],
        "authored_on": "2026-01-02",
    }
    assert item["monotonicity_step"]["expected"] == "non_decreasing"
    assert json.dumps(item["monotonicity_step"]["tier_index"]) == "0"
    assert json.dumps(normal["factor_constraints"]) == '{"min_items_per_cell": 1}'
    assert normal["copresence_rules"] == [{"families": ["f", "g"], "exhaustivity": False}]
    assert normal["regularities"] == [{"description": "d", "test_item_ids": []}]
    assert normal["targets"] == []
    conclusion = normalise_benchmark({**benchmark, "context_builders": {}})["context_builders"][
        "conclusion"
    ]
    assert conclusion == {"kind": "template", "template": "{expressions}", "joiner": " or "}


def test_the_other_generation_is_tried_before_it_is_a_mismatch(tmp_path: Path) -> None:
    def plain(benchmark: Any, evaluation: Any) -> None:
        for name in ("ordinal_families", "entailment_rules", "regularities", "targets"):
            del benchmark[name]
        for item in benchmark["items"]:
            item.pop("monotonicity_step", None)
            item.pop("target")
        for bearer in benchmark["bearers"].values():
            bearer.pop("ordinal_family", None)
        evaluation["benchmark_hash"] = compute_hashes(benchmark, "0.16.0")[0]

    (finding,) = pair(tmp_path, plain)
    assert (finding.code, finding.severity) == ("INF302", Severity.INFO)

    def older(benchmark: Any, evaluation: Any) -> None:
        plain(benchmark, evaluation)
        evaluation["framework_version"] = "0.16.0"

    assert pair(tmp_path, older) == []


@each(
    ("declared", "severity"),
    [
        (lambda digest: digest.removeprefix("sha256:"), Severity.WARNING),
        (str.upper, Severity.ERROR),
        (lambda digest: "sha256:" + digest.removeprefix("sha256:").upper(), Severity.WARNING),
        (lambda digest: digest[:-1] + "zz"[:1], Severity.ERROR),
        (lambda digest: digest[:-1], Severity.ERROR),
        (lambda digest: "sha256:" + "0" * 64, Severity.ERROR),
        (lambda digest: None, Severity.WARNING),
        (lambda digest: 7, Severity.ERROR),
    ],
)
def test_spellings_of_the_hash(declared: Any, severity: Severity, tmp_path: Path) -> None:
    def edit(_: Any, evaluation: Any) -> None:
        evaluation["benchmark_hash"] = declared(evaluation["benchmark_hash"])

    (finding,) = pair(tmp_path, edit)
    assert (finding.pointer, finding.severity) == ("/benchmark_hash", severity)


@each(
    ("verdicts", "tie_break", "winner", "tie_broken"),
    [
        ("", "good", "abstain", False),
        ("g", "bad", "good", False),
        ("ggb", "bad", "good", False),
        ("gb", "abstain", "abstain", True),
        ("gb", "good", "good", True),
        ("gb", "bad", "bad", True),
        ("bg", "first", "bad", True),
        ("abg", "first", "abstain", True),
        ("aabb", "bad", "abstain", True),
        ("abbgg", "first", "bad", True),
    ],
)
def test_votes(verdicts: str, tie_break: str, winner: str, tie_broken: bool) -> None:
    names = {"g": "good", "b": "bad", "a": "abstain"}
    outcome = vote([names[letter] for letter in verdicts], tie_break)
    assert (outcome.verdict, outcome.tie_broken) == (winner, tie_broken)
    assert sum(outcome.counts.values()) == len(verdicts)


def test_calls_that_failed_do_not_vote() -> None:
    sample = {"parsed_verdict": "abstain", "provider_error": ""}
    assert voting([sample, {"parsed_verdict": "bad", "provider_error": None}]) == ["bad"]


@each(
    ("text", "day"),
    [
        ("2026-05-31", True),
        ("2026-05-31T00:00:00", True),
        ("2026-05-31 10:00", False),
        ("2026-05-31t10:00:00.123456789z", False),
        ("2026-05-31T10:00:00,5+0200", False),
    ],
)
def test_times(text: str, day: bool) -> None:
    assert date_time(text) is not None
    assert is_date(text) is day


@each(
    "text",
    [
        "",
        "20260531",
        "2026-13-01",
        "2026-05-31T10",
        "2026-05-31T24:00",
        "2026-05-31T10:00:00+99:99",
    ],
)
def test_no_times(text: str) -> None:
    assert date_time(text) is None
    assert not is_date(text)


@each(
    ("pointer", "value", "code", "place"),
    [
        ("/items/0/factor_levels/wind", '"strong"', "INF203", "/items/0/factor_levels/wind"),
        ("/factor_kinds/cover", '"odd"', "INF207", "/factor_kinds/cover"),
        ("/items/1/id", '"open-street"', "INF208", "/items/1/id"),
        ("/items/0/premises", '["rain", "snow"]', "INF209", "/items/0/premises/1"),
        ("/items/0/rsr_target/X", '["snow"]', "INF209", "/items/0/rsr_target/X/0"),
        ("/ordinal_families/rainfall/2", None, "INF210", "/ordinal_families/rainfall/2"),
        ("/bearers/wet/ordinal_family", '"wetness"', "INF210", "/bearers/wet/ordinal_family"),
        ("/copresence_rules", '[{"families": ["rainfall", "wind"]}]', "INF210",
         "/copresence_rules/0/families/1"),
        ("/entailment_rules/0/consequent", '"snow"', "INF210", "/entailment_rules/0/consequent"),
        ("/regularities/0/test_item_ids", '["gone"]', "INF210", "/regularities/0/test_item_ids/0"),
        ("/items/1/target", '"roof"', "INF210", "/items/1/target"),
        ("/items/0/monotonicity_step/family", '"wind"', "INF210",
         "/items/0/monotonicity_step/family"),
        ("/items/0/monotonicity_step/tier", '"tent"', "INF210", "/items/0/monotonicity_step/tier"),
        ("/items/0/monotonicity_step/fixed", '"snow"', "INF210",
         "/items/0/monotonicity_step/fixed"),
        ("/context_builders/premise/kind", '"poem"', "INF101", "/context_builders/premise/kind"),
        ("/context_builders/premise", '{"joiner": ", "}', "INF101", "/context_builders/premise"),
        ("/context_builders/premise", '{"kind": "plugin"}', "INF101", "/context_builders/premise"),
        ("/context_builders/premise", '[]', "INF101", "/context_builders/premise"),
        ("/items/1/construction_metadata/authored_on", '"May"', "INF101",
         "/items/1/construction_metadata/authored_on"),
        ("/items/0/variation", '"odd"', "INF101", "/items/0/variation"),
        ("/items/0/tags", "null", "INF101", "/items/0/tags"),
        ("/title", "7", "INF101", "/title"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("engine", ["rust", deep("portable")])
def test_violations_of_benchmarks(
    pointer: str, value: str | None, code: str, place: str, engine: str, tmp_path: Path
) -> None:
    benchmark = documents()["benchmark"]
    if value is None:
        benchmark["ordinal_families"]["rainfall"].append("snow")
    else:
        change(benchmark, pointer, value)
    _, found = check(written_to(tmp_path / "b.json", benchmark), engine=engine)
    wrong = [one for one in found if one.severity is Severity.ERROR]
    assert [(one.code, one.pointer) for one in wrong] == [(code, place)]


def test_every_violation_is_listed_and_not_the_first_alone(tmp_path: Path) -> None:
    benchmark = documents()["benchmark"]
    for item in benchmark["items"]:
        item["analyst_verdicts"] = ["good"]
        item["premises"] = ["snow", "hail"]
    _, found = check(written_to(tmp_path / "b.json", benchmark))
    assert [one.code for one in found].count("INF201") == 2
    assert [one.code for one in found].count("INF209") == 4


def test_thin_cells_of_a_design_that_is_too_large_to_be_written_out(tmp_path: Path) -> None:
    benchmark = documents()["benchmark"]
    levels = [f"level {n}" for n in range(1000)]
    benchmark["factors"] |= {f"factor {n}": levels for n in range(50)}
    _, (finding,) = check(written_to(tmp_path / "b.json", benchmark))
    assert finding.code == "INF204"
    assert "more" in finding.message


@each(
    ("pointer", "value", "code", "place"),
    [
        ("/benchmark_id", '"dry-street"', "INF301", "/benchmark_id"),
        ("/references", "[]", "INF301", "/references"),
        ("/items/0/id", '"roof"', "INF301", "/items/0/id"),
        ("/items/0/tags", "[]", "INF301", "/items/0/tags"),
        ("/items/0/analyst_rationales", "null", "INF301", "/items/0/analyst_rationales"),
        ("/items/0/conclusions", '["dry"]', "INF301", "/items/0/conclusions"),
        ("/items/0/references", '["a book"]', "INF301", "/items/0/references"),
        ("/endorsement_config/n_samples", "0", "INF101", "/endorsement_config/n_samples"),
        ("/started_at", '"yesterday"', "INF101", "/started_at"),
        ("/items/0/samples/1/sample_index", "0", "INF303", "/items/0/samples/1/sample_index"),
        ("/items/0/model_verdict", '"bad"', "INF304", "/items/0/model_verdict"),
        ("/items/1/majority_vote/tie_broken", "false", "INF304",
         "/items/1/majority_vote/tie_broken"),
    ],
)  # fmt: skip
def test_violations_of_evaluations(
    pointer: str, value: str, code: str, place: str, tmp_path: Path
) -> None:
    found = pair(tmp_path, lambda _, evaluation: change(evaluation, pointer, value))
    assert (code, place) in [(one.code, one.pointer) for one in found]
    assert errors(found) == {code}


def test_items_that_are_missing(tmp_path: Path) -> None:
    (finding,) = pair(tmp_path, lambda _, evaluation: evaluation["items"].pop())
    assert (finding.code, finding.pointer) == ("INF301", "/items")
    assert finding.expected == ["covered-street"]


def test_items_of_an_evaluation_alone_are_held_against_each_other(tmp_path: Path) -> None:
    evaluation = documents()["evaluation"]
    evaluation["items"][1]["analyst_verdicts"] = ["good"]
    evaluation["items"][1]["analyst_rationales"] = ["", ""]
    evaluation["items"].append(evaluation["items"][0])
    _, found = check(written_to(tmp_path / "e.json", evaluation))
    assert [(one.code, one.pointer) for one in found if one.severity is Severity.ERROR] == [
        ("INF201", "/items/1/analyst_verdicts"),
        ("INF202", "/items/1/analyst_rationales"),
        ("INF208", "/items/2/id"),
    ]


def test_samples_out_of_order_are_a_warning(tmp_path: Path) -> None:
    def edit(_: Any, evaluation: Any) -> None:
        evaluation["items"][0]["samples"].reverse()

    (finding,) = pair(tmp_path, edit)
    assert (finding.code, finding.severity) == ("INF303", Severity.WARNING)


def test_a_failed_call_is_no_vote_and_no_silent_failure(tmp_path: Path) -> None:
    def edit(_: Any, evaluation: Any) -> None:
        sample = evaluation["items"][0]["samples"][2]
        sample |= {"raw_response": "", "provider_error": "503", "parse_status": "sample_failed"}
        sample |= dict.fromkeys(("wall_time_ms", "usage", "finish_reason"))
        evaluation["items"][0]["majority_vote"]["abstain"] = 0

    assert pair(tmp_path, edit) == []

    def contradicting(benchmark: Any, evaluation: Any) -> None:
        edit(benchmark, evaluation)
        evaluation["items"][0]["samples"][2]["parse_status"] = "ok"

    (finding,) = pair(tmp_path, contradicting)
    assert finding.code == "INF305"


def test_a_malformed_benchmark_has_no_hash_and_nothing_passes(tmp_path: Path) -> None:
    def edit(benchmark: Any, _: Any) -> None:
        benchmark["title"] = 7

    known = documents()
    edit(known["benchmark"], known["evaluation"])
    aggregate = written_to(tmp_path / "b.json", known["benchmark"])
    report, _ = check(EVALUATION, aggregate=aggregate, ignore=("INF101",))
    assert (report.runs[0].verdict, report.exit_code) == ("incomplete", 3)


def test_what_stands_behind_the_items_counts_like_what_stands_before(tmp_path: Path) -> None:
    known = documents()
    evaluation = known["evaluation"]
    evaluation["endorsement_config"]["n_samples"] = 4
    evaluation["items"][0]["model_verdict"] = "bad"
    behind = {"items": evaluation["items"], **evaluation}
    found = [
        seen(check(written_to(tmp_path / f"{n}.json", document), aggregate=BENCHMARK)[1])
        for n, document in enumerate([evaluation, behind])
    ]
    assert found[0] == found[1]
    assert {code for code, _, _ in found[0]} == {"INF303", "INF304"}


@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"separators": (",", ":")}])
def test_layouts_do_not_matter(layout: Any, tmp_path: Path) -> None:
    evaluation = documents()["evaluation"]
    evaluation["items"][1]["samples"][0]["parsed_verdict"] = "perhaps"
    path = tmp_path / "e.json"
    path.write_text(json.dumps(evaluation, **layout), encoding="utf-8")
    _, (finding,) = check(path, aggregate=BENCHMARK)
    assert finding.pointer == "/items/1/samples/0/parsed_verdict"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert finding.line is not None
    assert finding.column is not None
    assert lines[finding.line - 1][finding.column - 1 :].startswith('"perhaps"')


def test_findings_of_items_come_in_order(tmp_path: Path) -> None:
    evaluation = documents()["evaluation"]
    evaluation["items"] = evaluation["items"] * 20
    evaluation["started_at"] = "never"
    _, found = check(written_to(tmp_path / "e.json", evaluation))
    assert [one.order() for one in found] == sorted(one.order() for one in found)
    assert len(found) == 38 + 2


@each(
    ("old", "new", "code", "place"),
    [
        ('"id": "open-street"', '"id": "a", "id": "open-street"', "ES107", "/items/0/id"),
        ('"wall_time_ms": 410.5', '"wall_time_ms": NaN', "ES108",
         "/items/0/samples/0/wall_time_ms"),
        ('"wall_time_ms": 410.5', '"wall_time_ms": 1e999', "ES108",
         "/items/0/samples/0/wall_time_ms"),
        ('"temperature": 0.7', '"temperature": 1e999', "ES108", "/model/params/temperature"),
        ('"n_samples": 3', '"n_samples": NaN', "ES108", "/endorsement_config/n_samples"),
        ('"good": 2', '"good": NaN', "ES108", "/items/0/majority_vote/good"),
        ('"items": [', '"items": [], "items": [', "ES107", "/items"),
        ('"framework_version"', '"id": "again", "framework_version"', "ES107", "/id"),
        ('"references": [\n    {', '"items": [3],\n  "references": [\n    {', "ES107", "/items"),
        ('"GOOD"', '"GOOD \\ud800"', "ES114", "/items/0/samples/0/raw_response"),
    ],
)  # fmt: skip
def test_violations_of_the_text(old: str, new: str, code: str, place: str, tmp_path: Path) -> None:
    text = EVALUATION.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "e.json"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    report, found = check(path, aggregate=BENCHMARK)
    assert [one.code for one in found if one.pointer == place] == [code]
    assert report.exit_code == (0 if code == "ES114" else 1)
    assert not any(one.state is State.REFUTED for run in report.runs for one in run.claims)


@each(
    ("old", "new", "codes"),
    [
        (b'"sample_index": 1,', b'"sample_index" 1,', {"ES103"}),
        (b'"GOOD"', b'"G\xff"', {"ES101"}),
        (b'"GOOD"', b'"G\0"', {"ES106"}),
        (b'"finished_at": ', b'"finished_at"; ', {"ES103"}),
        (b'"paraphrase_variant": 0', b'"paraphrase_variant": 0,', {"ES103"}),
    ],
)
def test_where_the_text_is_broken_is_told(
    old: bytes, new: bytes, codes: set[str], tmp_path: Path
) -> None:
    text = EVALUATION.read_bytes()
    assert old in text
    broken = text.replace(old, new, 1)
    path = tmp_path / "e.json"
    path.write_bytes(broken)
    report, found = check(path, aggregate=BENCHMARK)
    wrong = [one for one in found if one.severity is Severity.ERROR and one.code.startswith("ES")]
    assert {one.code for one in wrong} == codes
    assert report.exit_code == 1
    line = broken[: broken.index(new)].count(b"\n") + 1
    assert wrong[0].line in {line, line + 1}
    assert "of the file" in wrong[0].message


def test_a_break_behind_the_items_has_its_true_place(tmp_path: Path) -> None:
    text = EVALUATION.read_bytes().replace(b'"paraphrase_variant": 0', b'"paraphrase_variant": x')
    path = tmp_path / "e.json"
    path.write_bytes(text)
    _, found = check(path, aggregate=BENCHMARK)
    (finding,) = (one for one in found if one.code == "ES103")
    place = text.index(b": x") + 2
    assert f"at byte {place:,} of the file" in finding.message
    assert finding.line == text[:place].count(b"\n") + 1


def test_an_evaluation_that_breaks_off_never_passes(tmp_path: Path) -> None:
    text = EVALUATION.read_bytes()
    path = tmp_path / "e.json"
    for length in [*range(0, len(text) - 2, 97), len(text) - 3]:
        path.write_bytes(text[:length])
        report, found = check(path, aggregate=BENCHMARK, input_format="infereval")
        assert report.exit_code in {1, 3}, length
        assert not report.passed
        assert errors(found) <= {"ES005", "ES103", "ES104"}, (length, found)


def test_a_second_list_of_items_is_not_passed_over(tmp_path: Path) -> None:
    text = EVALUATION.read_text(encoding="utf-8")
    path = tmp_path / "e.json"
    path.write_text(text.rstrip()[:-1] + ', "items": [{}]}', encoding="utf-8")
    report, _ = check(path, aggregate=BENCHMARK, ignore=("ES107", "INF101"))
    assert (report.passed, report.exit_code) == (False, 3)


def test_memory_does_not_grow_with_the_items(tmp_path: Path) -> None:
    evaluation = documents()["evaluation"]
    (item, _), evaluation["items"] = evaluation["items"], ["ITEMS"]
    item["samples"][0]["raw_response"] = "GOOD" * 5000
    before, _, after = json.dumps(evaluation).partition('"ITEMS"')
    path = tmp_path / "e.json"
    with path.open("w", encoding="utf-8") as file:
        file.write(before)
        for number in range(600):
            file.write("," * bool(number) + json.dumps({**item, "id": f"item {number}"}))
        file.write(after)
    check(EVALUATION)
    tracemalloc.start()
    try:
        report, _ = check(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert report.runs[0].rows == 600
    assert path.stat().st_size > 12_000_000
    assert peak < 8_000_000, peak


def test_whole_items_before_a_break_are_judged(tmp_path: Path) -> None:
    evaluation = documents()["evaluation"]
    evaluation["items"][0]["model_verdict"] = "bad"
    text = json.dumps(evaluation, indent=2)
    path = tmp_path / "e.json"
    path.write_text(text[: text.index('"covered-street-1"')], encoding="utf-8")
    report, found = check(path, aggregate=BENCHMARK)
    assert [one.code for one in found] == ["INF304", "ES104"]
    assert "1 whole item before" in found[1].message
    assert report.runs[0].rows == 1


@each(
    "text",
    [
        b"", b"{}", b"[]", b"null", b"3", b"{", b'{"items": [', b'{"items": [[[[', b"\xff\xfe{\0",
        b"\xef\xbb\xbf{}", b'{"benchmark_id": 1, "items": 7}', b'{"benchmark_id": 1, "items": {}}',
        b'{"benchmark_id": [], "items": [1, "a", null, [], {}]}', b'{"items": null}',
        b'{"bearers": 1, "analysts": 2, "items": 3}', b"\0" * 100, b'{"benchmark_id": "\\ud800"}',
        b'{"benchmark_id": "x", "items": [' + b"[" * 5000 + b"]" * 5000 + b"]}",
        b'{"benchmark_id": "x", "items": [{"a": ' + b"9" * 6000 + b"}]}",
        b'{"bearers": {}, "analysts": [], "items": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"benchmark_id": "x", "items": []} {"benchmark_id": "x", "items": []}',
        b'{"benchmark_id": "x", "items": [], "endorsement_config": {"n_samples": 1e308}}',
        b'{"benchmark_id": "x", "items": [{}], "endorsement_config": [], "framework_version": []}',
        b'"items": [1]}', b'{"\\u0069tems": [{}], "benchmark_id": "x"',
        b'{"items": [1, ', b'{"items": [1 2]}', b'{"benchmark_id": NaN, "id" 7, "items": [1 2]}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("aggregate", [None, BENCHMARK])
def test_hostile_texts(text: bytes, aggregate: Path | None, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text)
    try:
        report, found = check(path, aggregate=aggregate, input_format="infereval")
    except UsageError:
        assert aggregate is not None
        return
    assert report.exit_code in {1, 3}
    assert found
    if aggregate is not None:
        report, found = check(EVALUATION, aggregate=path, input_format="infereval")
        assert report.exit_code in {1, 3}


@each("depth", [150, 400, 900, 3000])
def test_deep_nesting_that_is_allowed(depth: int, tmp_path: Path) -> None:
    evaluation = documents()["evaluation"]
    evaluation["model"]["params"]["nested"] = "NESTED"
    evaluation["items"][0]["samples"][0]["usage"]["nested"] = "NESTED"
    nested = "[" * depth + "]" * depth
    path = tmp_path / "e.json"
    path.write_text(json.dumps(evaluation).replace('"NESTED"', nested), encoding="utf-8")
    for engine in ENGINES:
        report, found = check(path, aggregate=BENCHMARK, max_depth=10**6, engine=engine)
        assert report.exit_code == 0 or errors(found) == {"ES113"}
        if depth == 150:
            assert report.passed


def test_an_item_that_is_too_long(tmp_path: Path) -> None:
    report, found = check(EVALUATION, aggregate=BENCHMARK, max_line_bytes=1500)
    assert report.exit_code == 1
    assert errors(found) == {"ES003"}
    report, found = check(EVALUATION, aggregate=BENCHMARK, max_line_bytes=100)
    assert report.exit_code == 1
    assert errors(found) == {"ES003"}
    assert all("--max-line-bytes" in finding.message for finding in found)


def test_a_folder_is_paired(tmp_path: Path) -> None:
    known = documents()
    for name in ("deep/er/b.json", "e1.json", "sub/e2.json", ".hidden/e.json", "other.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    written_to(tmp_path / "deep/er/b.json", known["benchmark"])
    written_to(tmp_path / "e1.json", known["evaluation"])
    written_to(tmp_path / "sub/e2.json", known["evaluation"])
    written_to(tmp_path / ".hidden/e.json", {**known["evaluation"], "id": 7})
    written_to(tmp_path / "other.json", {"settings": 1})
    written_to(tmp_path / "unused.json", {**known["benchmark"], "id": "unused"})
    (tmp_path / "link.json").symlink_to(tmp_path / "e1.json")
    report, (left, copy) = check(tmp_path)
    assert report.exit_code == 0
    assert left.found == {"JSON files of unknown formats": 1, "hidden names": 1}
    assert (copy.code, copy.file) == ("ES904", str(tmp_path / "sub/e2.json"))
    benchmark = str(tmp_path / "deep/er/b.json")
    assert [(run.file, run.aggregate) for run in report.runs] == [
        (str(tmp_path / "e1.json"), benchmark),
        (None, str(tmp_path / "unused.json")),
        (str(tmp_path / "sub/e2.json"), benchmark),
    ]


def test_files_of_the_main_system_are_not_skipped_in_silence(tmp_path: Path) -> None:
    written_to(tmp_path / "b.json", documents()["benchmark"])
    row = {"evaluation_id": "x", "sample_id": "1"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (tmp_path / "log.jsonl").write_text('{"event": "run.started"}\n', encoding="utf-8")
    written_to(tmp_path / "z.json", {"evaluation_results": []})
    report, found = check(tmp_path, input_format="infereval")
    (left,) = found
    assert (Path(left.file), left.code) == (tmp_path, "ES007")
    assert left.found == {
        "files named like rows": 1,
        "JSON files with members of known documents": 1,
        "event logs of infereval": 1,
    }
    assert report.exit_code == 3
    assert set(shown(str(tmp_path))) == {"eee", "infereval"}
    report, _ = check(tmp_path)
    assert {run.format for run in report.runs} == {"eee", "infereval"}
    assert report.exit_code != 0


def test_among_several_benchmarks_the_hash_decides(tmp_path: Path) -> None:
    known = documents()
    written_to(tmp_path / "a.json", {**known["benchmark"], "title": "An older one"})
    written_to(tmp_path / "b.json", known["benchmark"])
    written_to(tmp_path / "e.json", known["evaluation"])
    report, _ = check(tmp_path)
    assert report.exit_code == 0
    assert (str(tmp_path / "e.json"), str(tmp_path / "b.json")) in [
        (run.file, run.aggregate) for run in report.runs
    ]
    (tmp_path / "b.json").unlink()
    written_to(tmp_path / "c.json", {**known["benchmark"], "title": "A newer one"})
    report, found = check(tmp_path)
    assert "unconfirmed" in {run.verdict for run in report.runs}
    assert any("several benchmarks" in one.message for one in found)


def test_an_evaluation_without_a_benchmark_in_its_folder(tmp_path: Path) -> None:
    written_to(tmp_path / "e.json", documents()["evaluation"])
    report, (finding,) = check(tmp_path)
    assert (report.runs[0].verdict, finding.code) == ("unconfirmed", "INF302")
    assert "no benchmark in the searched folder has its benchmark_id" in finding.message
    text = BENCHMARK.read_text().replace("{", '{"a" 1,', 1)
    (tmp_path / "b.json").write_text(text)
    _, found = check(tmp_path)
    words = "no benchmark in the searched folder that could be read has its benchmark_id"
    assert any(words in one.message for one in found)


def test_other_data_is_not_taken_for_ours(tmp_path: Path) -> None:
    other = written_to(tmp_path / "x.json", {"task": 1, "metric": 2})
    report, (finding,) = check(other, input_format="infereval")
    assert (finding.code, report.exit_code) == ("ES005", 3)
    assert "eee, evalguard, harpia, helm, infereval" in finding.message
    rows = EXAMPLE.parent / "run.jsonl"
    report, found = check(rows, input_format="infereval")
    assert ({one.code for one in found}, report.exit_code) == ({"ES005"}, 3)
    (tmp_path / "empty").mkdir()
    report, found = check(tmp_path / "empty", input_format="infereval")
    assert ({one.code for one in found}, report.exit_code) == ({"ES005"}, 3)
    report, found = check(EVALUATION, aggregate=other)
    assert "ES005" in {one.code for one in found}
    assert report.exit_code == 3


def test_missing_files_are_not_checked(tmp_path: Path) -> None:
    report, found = check(tmp_path / "gone.json", input_format="infereval")
    assert ({one.code for one in found}, report.exit_code) == ({"ES001"}, 3)
    report, found = check("a\0b.json", input_format="infereval")
    assert ({one.code for one in found}, report.exit_code) == ({"ES001"}, 3)
    report, found = check(EVALUATION, aggregate=tmp_path / "gone.json")
    assert ("ES001" in {one.code for one in found}, report.exit_code) == (True, 3)


def test_documents_that_do_not_go_together() -> None:
    for call in (
        lambda: check(BENCHMARK, aggregate=EVALUATION),
        lambda: check(EXAMPLE, aggregate=BENCHMARK),
        lambda: check(EVALUATION, inputs_file=BENCHMARK),
        lambda: check("-", aggregate="-", input_format="infereval"),
    ):
        with pytest.raises(UsageError):
            call()
    report, found = check(EVALUATION, aggregate=EVALUATION)
    assert ("ES005" in {one.code for one in found}, report.exit_code) == (True, 3)


def test_recognition() -> None:
    assert FORMAT.detect_kind(read_beginning(str(BENCHMARK))) == "benchmark"
    assert FORMAT.detect_kind(read_beginning(str(EVALUATION))) == "evaluation"
    assert shown(str(EXAMPLE)) == ["infereval"]
    lines = b'{"bearers": {}, "analysts": []}\n{}'
    assert FORMAT.detect_kind(Beginning("x.jsonl", lines)) is None
    assert FORMAT.detect_kind(Beginning("x.json", b'{"evaluation_results": []}')) is None


@pytest.mark.parametrize("aggregate", [None, BENCHMARK])
def test_packed_evaluations(aggregate: Path | None, tmp_path: Path) -> None:
    path = tmp_path / "e.json.gz"
    path.write_bytes(gzip.compress(EVALUATION.read_bytes()))
    report, _ = check(path, aggregate=aggregate, input_format="infereval")
    # Without its benchmark an evaluation is unconfirmed.
    assert (report.exit_code, report.runs[0].rows) == (0, 2)
    assert report.passed == (aggregate is not None)
    packed = tmp_path / "b.json.gz"
    packed.write_bytes(gzip.compress(BENCHMARK.read_bytes()))
    assert check(EVALUATION, aggregate=packed)[0].passed
    assert check(packed, input_format="infereval")[0].passed
    path.write_bytes(gzip.compress(EVALUATION.read_bytes())[:-20])
    report, found = check(path, aggregate=aggregate, input_format="infereval")
    assert (report.passed, "ES002" in errors(found)) == (False, True)


@pytest.mark.parametrize("path", [EVALUATION, BENCHMARK])
def test_standard_input(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with path.open("rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        aggregate = BENCHMARK if path == EVALUATION else None
        report, found = check("-", aggregate=aggregate, input_format="infereval")
    assert (report.exit_code, found, report.runs[0].rows) == (0, [], 2)
    assert report.passed


def test_options_hold(tmp_path: Path) -> None:
    script = 'format infereval\nevaluation /items/0/model_verdict = "maybe"'
    case: Case = apply(script, tmp_path)
    assert next(iter(case.check(show_values=False))).found is None
    assert case.check(ignore=("INF1",)).exit_code == 0
    assert list(case.check(select=("INF3",))) == []
    evaluation = documents()["evaluation"]
    evaluation["items"] = evaluation["items"] * 50
    path = written_to(tmp_path / "many.json", evaluation)
    report, found = check(path, max_findings=3)
    assert report.counts["INF208"] == 98
    assert [one.code for one in found].count("INF208") == 3
    (tmp_path / "alone").mkdir()
    assert check(shutil.copy(EVALUATION, tmp_path / "alone"), strict=True)[0].exit_code == 1


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats()
    | st.sampled_from(
        ["", "good", "rain", "2026-01-01", "sha256:", "\ud800", "open-street", "first"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "kind", "references", "", "a/b~"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


PLACES = [
    (name, path) for name, document in sorted(documents().items()) for path in places(document)
]


@settings(
    max_examples=examples(250),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    changes=st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3),
    alone=st.booleans(),
)
def test_mutations_crash_nothing(changes: Any, alone: bool, tmp_path: Path) -> None:
    known = copy.deepcopy(documents())
    for (name, path), value in changes:
        document = known[name]
        try:
            for key in path[:-1]:
                document = document[key]
            document[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    for name, document in known.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    if alone:
        report, _ = check(tmp_path / "benchmark.json", input_format="infereval")
        assert report.exit_code in {0, 1, 3}
    report, found = check(
        tmp_path / "evaluation.json",
        aggregate=None if alone else tmp_path / "benchmark.json",
        input_format="infereval",
    )
    assert report.exit_code in {0, 1, 3}
    assert report.exit_code != 1 or errors(found)
    strict, _ = check(
        tmp_path / "evaluation.json",
        aggregate=None if alone else tmp_path / "benchmark.json",
        input_format="infereval",
        strict=True,
    )
    states = {claim.state for run in strict.runs for claim in run.claims}
    assert strict.exit_code != 0 or (strict.passed and states <= {State.CONFIRMED})


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(place=st.integers(0, 5000), length=st.integers(0, 40), data=st.binary(max_size=6))
def test_torn_bytes_crash_nothing(place: int, length: int, data: bytes, tmp_path: Path) -> None:
    text = EVALUATION.read_bytes()
    path = tmp_path / "e.json"
    path.write_bytes(text[:place] + data + text[place + length :])
    report, found = check(path, aggregate=BENCHMARK, input_format="infereval")
    assert report.exit_code in {0, 1, 3}
    assert report.exit_code == 0 or found


def test_a_benchmark_beside_a_named_evaluation_is_its_own(tmp_path: Path) -> None:
    path = shutil.copy(EVALUATION, tmp_path / "e.json")
    (tmp_path / "notes.json").write_text("{}")
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(BENCHMARK, tmp_path / "elsewhere")
    assert check(path)[0].runs[0].verdict == "unconfirmed"
    shutil.copy(BENCHMARK, tmp_path / "b.json")
    report, _ = check(path)
    assert (report.runs[0].verdict, report.exit_code) == ("passed", 0)
    assert report.runs[0].aggregate == str(tmp_path / "b.json")
    document = json.loads(BENCHMARK.read_text())
    document["items"][0]["tags"] = ["changed"]
    (tmp_path / "a.json").write_text(json.dumps(document))
    assert check(path)[0].runs[0].aggregate == str(tmp_path / "b.json")
    (tmp_path / "b.json").write_text(json.dumps(document))
    report, _ = check(path)
    assert report.runs[0].verdict == "unconfirmed"
    assert report.runs[0].aggregate is None


def test_the_verdict_says_how_many_verdicts_were_compared(tmp_path: Path) -> None:
    def said(**settings: Any) -> list[tuple[str, bool | None]]:
        report, _ = check(changed, aggregate=BENCHMARK, **settings)
        return [tuple(one) for one in report.runs[0].checked]

    changed, document = tmp_path / "evaluation.json", json.loads(EVALUATION.read_bytes())
    changed.write_text(json.dumps(document))
    assert said() == [("6 of 6 verdicts compared with the response", True)]
    assert said(ignore=["INF308"]) == [("no verdict read from its response", None)]
    document["items"][1]["samples"][0] |= {"provider_error": "503", "parsed_verdict": "abstain"}
    changed.write_text(json.dumps(document))
    assert said() == [("5 of 6 verdicts compared with the response", None)]
    document["items"][1]["samples"][1]["raw_response"] = "GOOD"
    changed.write_text(json.dumps(document))
    assert said() == [("5 of 6 verdicts compared with the response", False)]
    document["endorsement_config"]["verification_prompt_id"] = "my own"
    changed.write_text(json.dumps(document))
    assert said() == [("no verdict read from its response", None)]
    document["items"] = []
    changed.write_text(json.dumps(document))
    assert said() == []


def summary(folder: Path, edit: Callable[[Any], None], **settings: Any) -> evalstream.Report:
    """Edit the example's evaluation, and return the report of the pair."""
    document = documents()["evaluation"]
    edit(document)
    path = written_to(folder / "e.json", document)
    return check(path, aggregate=BENCHMARK, **settings)[0]


def states(report: evalstream.Report) -> dict[str, tuple[str, str | None]]:
    """Return the state of each claim, and why it is open."""
    (run,) = report.runs
    return {claim.label: (claim.state.value, claim.reason) for claim in run.claims}


def test_verdicts_that_follow_from_their_samples_are_confirmed() -> None:
    report, _ = check(EVALUATION, aggregate=BENCHMARK, strict=True)
    (run,) = report.runs
    assert report.exit_code == 0
    verdicts, votes = run.claims
    assert (verdicts.label, verdicts.kind, verdicts.rows) == (
        "model_verdict of 2 items",
        "majority vote",
        6,
    )
    assert verdicts.claimed == verdicts.recomputed == {"good": 1, "bad": 0, "abstain": 1}
    assert (verdicts.is_score, votes.is_score) == (True, False)
    assert {claim.state for claim in run.claims} == {State.CONFIRMED}


def test_a_verdict_that_its_samples_refute_is_a_refuted_claim(tmp_path: Path) -> None:
    def edit(evaluation: Any) -> None:
        evaluation["items"][0]["model_verdict"] = "bad"
        evaluation["items"][0]["majority_vote"]["bad"] = 3

    report = summary(tmp_path, edit)
    assert (report.exit_code, report.runs[0].verdict) == (1, "failed")
    assert errors(list(report)) == {"INF304"}
    found = [(claim.label, claim.state.value) for claim in report.runs[0].claims]
    assert found == [
        ("model_verdict of 1 item", "confirmed"),
        ("model_verdict of 1 item", "refuted"),
        ("majority_vote of 1 item", "confirmed"),
        ("majority_vote of 1 item", "refuted"),
    ]


def test_each_claim_of_an_item_is_held_against_its_samples_alone(tmp_path: Path) -> None:
    def forge_both(evaluation: Any) -> None:
        item = evaluation["items"][0]
        item["model_verdict"] = item["majority_vote"]["verdict"] = "bad"

    def forge_vote(evaluation: Any) -> None:
        evaluation["items"][0]["majority_vote"]["verdict"] = "bad"

    for edit, pointers, refuted in (
        (forge_both, ["/items/0/majority_vote/verdict", "/items/0/model_verdict"], "refuted"),
        (forge_vote, ["/items/0/majority_vote/verdict"], None),
    ):
        report = summary(tmp_path, edit)
        assert report.exit_code == 1
        assert sorted(one.pointer for one in report if one.code == "INF304") == pointers
        assert states(report).get("model_verdict of 1 item", (None, None))[0] == refuted
        # The counts, which are all that this claim shows, are right.
        assert states(report)["majority_vote of 2 items"] == ("confirmed", None)


@pytest.mark.parametrize("value", [None, []], ids=["absent", "empty"])
def test_an_evaluation_without_samples_is_unconfirmed(value: Any, tmp_path: Path) -> None:
    def edit(evaluation: Any) -> None:
        for item in evaluation["items"]:
            del item["samples"]
            if value is not None:
                item["samples"] = value

    report = summary(tmp_path, edit)
    assert (report.exit_code, report.runs[0].verdict) == (0, "unconfirmed")
    assert report.counts == {"ES805": 1, "INF304": 1}
    assert set(states(report).values()) == {("open", Reason.NO_ROWS.value)}
    assert summary(tmp_path, edit, strict=True).exit_code == 1


def test_votes_without_samples_must_not_contradict_their_verdict(tmp_path: Path) -> None:
    def edit(evaluation: Any) -> None:
        for item in evaluation["items"]:
            item["samples"] = []
        evaluation["items"][0]["model_verdict"] = "bad"

    report = summary(tmp_path, edit)
    assert (report.exit_code, report.runs[0].verdict) == (1, "failed")


@pytest.mark.parametrize("place", [0, 1])
def test_samples_that_a_single_item_lacks_were_lost(place: int, tmp_path: Path) -> None:
    def edit(evaluation: Any) -> None:
        evaluation["items"][place]["samples"] = []

    report = summary(tmp_path, edit)
    (finding,) = [one for one in report if one.severity is Severity.ERROR]
    assert (finding.code, finding.pointer) == ("INF303", f"/items/{place}/samples")
    assert finding.line is not None


def test_samples_that_an_item_lacks_are_not_missed_without_their_number(tmp_path: Path) -> None:
    def edit(evaluation: Any) -> None:
        evaluation["endorsement_config"]["n_samples"] = "many"
        evaluation["items"][0]["samples"] = []

    report = summary(tmp_path, edit)
    assert not [one for one in report if one.pointer == "/items/0/samples"]


def test_a_tie_that_an_unknown_rule_breaks_is_open(tmp_path: Path) -> None:
    def edit(evaluation: Any) -> None:
        evaluation["endorsement_config"]["tie_break"] = "mine"
        evaluation["endorsement_config"]["n_samples"] = 2
        for item in evaluation["items"]:
            del item["samples"][2:]
            item["majority_vote"] = None
            for sample, verdict in zip(item["samples"], ("good", "bad"), strict=True):
                sample.update(parsed_verdict=verdict, raw_response=verdict)

    report = summary(tmp_path, edit, ignore=("INF101",))
    assert states(report) == {"model_verdict of 2 items": ("open", Reason.UNSURE.value)}
    assert report.runs[0].verdict == "unconfirmed"


def test_a_benchmark_makes_no_claims() -> None:
    report, found = check(BENCHMARK, strict=True)
    (run,) = report.runs
    assert (run.verdict, run.claims, found, report.exit_code) == ("passed", [], [], 0)


def test_claims_of_many_items_are_few(tmp_path: Path) -> None:
    known = documents()
    for name in ("benchmark", "evaluation"):
        items = known[name]["items"]
        items += [{**items[0], "id": f"item-{number}"} for number in range(498)]
    known["evaluation"]["benchmark_hash"] = compute_hashes(
        known["benchmark"], known["evaluation"]["framework_version"]
    )[0]
    benchmark = written_to(tmp_path / "b.json", known["benchmark"])
    evaluation = written_to(tmp_path / "e.json", known["evaluation"])
    report, found = check(evaluation, aggregate=benchmark, strict=True)
    assert (found, report.exit_code) == ([], 0)
    assert states(report) == {
        "model_verdict of 500 items": ("confirmed", None),
        "majority_vote of 500 items": ("confirmed", None),
    }


@each(
    ("document", "place", "value", "pointer"),
    [
        ("benchmark", "/schema_version", '"2.0"', "/schema_version"),
        ("benchmark", "/id", "7", "/id"),
        ("benchmark", "/bearers", "[]", "/bearers"),
        ("benchmark", "/analysts", "[]", "/analysts"),
        ("benchmark", "/items/0/premises", '"a"', "/items/0/premises"),
        ("benchmark", "/items/0/analyst_verdicts/0", '"fine"', "/items/0/analyst_verdicts/0"),
        ("benchmark", "/verification_prompt", '{"id": "own"}', "/verification_prompt"),
        ("benchmark", "/references", '[{"doi": "x"}]', "/references/0"),
        ("evaluation", "/model", "7", "/model"),
        ("evaluation", "/items/0/model_verdict", '"fine"', "/items/0/model_verdict"),
    ],
)
def test_members_of_documents_have_their_types(
    document: str, place: str, value: str, pointer: str, tmp_path: Path
) -> None:
    def edit(benchmark: Any, evaluation: Any) -> None:
        change(benchmark if document == "benchmark" else evaluation, place, value)

    found = [one for one in pair(tmp_path, edit) if one.code == "INF101"]
    assert pointer in {one.pointer for one in found}
