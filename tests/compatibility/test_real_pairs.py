"""Real pairs and aggregates: findings and verdicts are those worked out without us."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from corpus import (
    CORPUS,
    Errors,
    aggregate_violations,
    expectations,
    lines_of,
    needs_corpus,
    reader_of,
    reference_errors,
    reference_version,
    row_violations,
    schema_errors_of,
)
from depth import some
from each import each
from rows import valid_row

import evalstream
from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate_check import read_aggregate
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.model.report import Report
from evalstream.model.run_summary import RunSummary

pytestmark = needs_corpus

Pair = dict[str, Any]

PAIRS_FOLDER = CORPUS / "eee-pairs"
AGGREGATES_FOLDER = CORPUS / "eee-aggregates"
PAIRS: list[Pair] = expectations("eee-pairs/expected.json").get("pairs", [])
AGGREGATES: list[Pair] = expectations("eee-aggregates/expected.json").get("files", [])
INSTANCE_VERSIONS = ("0.2.0", "0.2.0+list", "0.2.1", "0.2.2", "0.3.0")
AGGREGATE_VERSIONS = ("0.1.0", "0.2.0", "0.2.1", "0.2.2", "0.2.3", "0.3.0")

RECIPES = {
    "raw + joined references": "concat",
    "raw + reference": "concat",
    "raw + first reference": "concat-first",
    "sorted JSON of raw and reference; default separators; ascii": "json-str",
    "sorted JSON of raw and first reference; default separators; ascii": "json-str",
    "sorted JSON of raw and joined references; default separators; ascii": "json-str",
    "sorted JSON of raw and reference list; compact separators; ascii": "json-list",
    "sorted JSON of raw and reference list; default separators; ascii": "json-list-spaced",
}
"""Our names for the corpus's recipes; those that write UTF-8 are nobody's."""


def parameters(entries: list[Pair], name: str) -> Any:
    """Run a test for each entry, named by a member of it."""
    return each("pair", some(entries, 20), lambda entry: str(entry[name]), group=8)


every_pair = parameters(PAIRS, "id")
every_pair_with_rows = parameters([pair for pair in PAIRS if pair.get("instance_facts")], "id")
every_pair_with_aggregate = parameters(
    [pair for pair in PAIRS if pair.get("aggregate_facts")], "id"
)
every_whole_pair = parameters(
    [pair for pair in PAIRS if pair.get("instance_facts") and pair.get("aggregate_facts")], "id"
)
every_aggregate = parameters(AGGREGATES, "file")


def rows_path(pair: Pair) -> Path:
    """Return where the rows of a pair lie."""
    return PAIRS_FOLDER / pair["id"] / pair["instance"]


def aggregate_path(pair: Pair) -> Path | None:
    """Return where the aggregate of a pair lies, None if it has none."""
    if not pair.get("aggregate_facts"):
        return None
    return PAIRS_FOLDER / pair["id"] / pair["aggregate"]


def check_of(pair: Pair) -> Report:
    """Return the report on a pair, or on that part of it which is there."""
    aggregate = aggregate_path(pair)
    if pair.get("instance_facts"):
        return checked(rows_path(pair), aggregate)
    assert aggregate is not None
    return checked(aggregate, None)


@lru_cache(maxsize=512)
def checked(path: Path, aggregate: Path | None) -> Report:
    """Check a file once for all the tests that look at it."""
    return evalstream.check(path, aggregate=aggregate, max_findings=0, jobs=1)


def run_of(pair: Pair) -> RunSummary:
    """Return the summary of the only run of a pair."""
    (run,) = check_of(pair).runs
    return run


@lru_cache(maxsize=256)
def rows_of(identity: str, path: Path) -> list[bytes]:
    """Return the lines of a pair's rows."""
    assert identity in str(path)
    return lines_of(path)


def expected_by_line(pair: Pair, version: str) -> dict[int, list[list[str]]]:
    """Return what the reference validator says of each invalid line under a version of ours."""
    aliases = expectations("eee-pairs/expected.json")["schema_aliases"]["instance"]
    facts = pair["instance_facts"]["schema"][reference_version(version, aliases)]
    groups = facts.get("error_groups", [])
    return {line: group["errors"] for group in groups for line in group["lines"]}


def expected_of_aggregate(facts: Pair, version: str) -> list[list[str]]:
    """Return what the reference validator says of an aggregate under a version of ours."""
    aliases = expectations("eee-pairs/expected.json")["schema_aliases"]["aggregate"]
    entry = facts["schema"][reference_version(version, aliases)]
    assert entry["valid"] == (not entry.get("errors"))
    return entry.get("errors", [])


def findings_by_line(findings: Iterable[Finding]) -> dict[int, list[Finding]]:
    """Return the schema's findings on rows by line."""
    by_line = defaultdict(list)
    for finding in findings:
        if finding.line is not None and finding.column is None and finding.keyword:
            by_line[finding.line].append(finding)
    return by_line


@every_pair_with_rows
def test_rows_have_the_violations_of_the_version_they_declare(pair: Pair) -> None:
    (declared,) = pair["instance_facts"]["schema_versions"]
    expected = expected_by_line(pair, declared)
    found = findings_by_line(check_of(pair))
    assert found.keys() == expected.keys()
    for number, line in enumerate(rows_of(pair["id"], rows_path(pair)), 1):
        said = found.get(number, [])
        errors = expected.get(number, [])
        assert schema_errors_of(said) == reference_errors(errors, json.loads(line), said), number


@every_pair_with_rows
def test_sound_text_has_no_violation_of_text(pair: Pair) -> None:
    assert not [code for code in run_of(pair).counts if code.startswith(("ES0", "ES1"))]


@every_pair_with_rows
@pytest.mark.parametrize("version", INSTANCE_VERSIONS)
def test_rows_are_judged_by_any_version(pair: Pair, version: str) -> None:
    expected = expected_by_line(pair, version)
    for number, line in enumerate(rows_of(pair["id"], rows_path(pair)), 1):
        said = row_violations(line, version, "rust")
        errors = expected.get(number, [])
        assert schema_errors_of(said) == reference_errors(errors, json.loads(line), said), number
        assert (not said) == (not errors), number


@every_pair_with_rows
def test_a_faulty_row_names_exactly_the_other_versions_that_it_fits(pair: Pair) -> None:
    (declared,) = pair["instance_facts"]["schema_versions"]
    fitting = {version: expected_by_line(pair, version) for version in versions.INSTANCE_VERSIONS}
    expected = {
        line: {version for version, errors in fitting.items() if line not in errors}
        for line in fitting[declared]
    }
    named = {
        finding.line: set(finding.expected)
        for finding in check_of(pair)
        if finding.code == "ES216" and finding.file == str(rows_path(pair)) and finding.line
    }
    assert named == {line: versions for line, versions in expected.items() if versions}


@every_pair_with_rows
@pytest.mark.parametrize("version", INSTANCE_VERSIONS)
def test_a_row_is_accepted_if_and_only_if_it_is_valid(pair: Pair, version: str) -> None:
    expected = expected_by_line(pair, version)
    engine = reader_of(version, "rust")
    for number, line in enumerate(rows_of(pair["id"], rows_path(pair)), 1):
        accepted = valid_row(engine, line)
        assert (accepted is None) == (number in expected), number
        assert accepted is None or accepted == json.loads(line), number


@every_pair_with_rows
def test_the_portable_engine_judges_the_first_row_alike(pair: Pair) -> None:
    line = rows_of(pair["id"], rows_path(pair))[0]
    for version in INSTANCE_VERSIONS:
        said = row_violations(line, version, "portable")
        errors = expected_by_line(pair, version).get(1, [])
        assert schema_errors_of(said) == reference_errors(errors, json.loads(line), said), version
        assert (valid_row(reader_of(version, "portable"), line) is None) == bool(errors), version


@every_pair_with_rows
def test_the_checksum_and_the_number_of_rows_are_found(pair: Pair) -> None:
    facts, run = pair["instance_facts"], run_of(pair)
    assert run.actual == facts[run.algorithm or ""]
    assert run.rows == facts["rows"]
    assert run.bytes == facts["bytes"]
    assert run.version == facts["schema_versions"][0]


@every_whole_pair
def test_md5_is_taken_where_it_is_declared(pair: Pair, tmp_path: Path) -> None:
    document = json.loads((aggregate_path(pair) or tmp_path).read_bytes())
    facts = pair["instance_facts"]
    seal = {"hash_algorithm": "md5", "checksum": facts["md5"], "total_rows": facts["rows"]}
    document["detailed_evaluation_results"].update(seal)
    aggregate = tmp_path / "aggregate.json"
    aggregate.write_text(json.dumps(document), encoding="utf-8")
    report = evalstream.check(rows_path(pair), aggregate=aggregate, jobs=1)
    assert report.runs[0].actual == facts["md5"]
    assert "ES508" in report.counts
    assert not {"ES501", "ES502", "ES503"} & report.counts.keys()


@every_pair_with_rows
def test_the_recipe_of_the_hashes_is_one_that_gives_them_all(pair: Pair) -> None:
    facts = pair["instance_facts"]["sample_hash"]
    names = [name[7:-1] for name in facts["recipes_matching_every_row"]]
    recipes = {RECIPES[name] for name in names if name in RECIPES}
    assert not facts["lines_no_recipe_matches"]
    assert run_of(pair).recipe in recipes
    assert not {"ES401", "ES403", "ES404", "ES405"} & run_of(pair).counts.keys()
    absent = run_of(pair).counts.get("ES406", 0)
    assert absent == len(facts["lines_without_hash"])


@every_whole_pair
def test_rows_are_foreign_if_and_only_if_their_ids_differ(pair: Pair) -> None:
    link, counts = pair["link"], run_of(pair).counts
    assert ("ES601" in counts) == (not link["evaluation_id_matches_every_row"])
    assert ("ES602" in counts) == (not link["model_id_matches_every_row"])


@every_whole_pair
def test_the_seal_is_broken_if_and_only_if_it_does_not_agree(pair: Pair) -> None:
    link, run = pair["link"], run_of(pair)
    assert ("ES501" in run.counts) == (not link["checksum_matches"])
    assert ("ES503" in run.counts) == (not link["total_rows_matches"])
    assert "ES502" not in run.counts
    assert run.declared == link["declared_checksum"]


@every_whole_pair
def test_the_rows_of_an_aggregate_are_found_where_it_says(pair: Pair) -> None:
    link = pair["link"]
    if (
        not link["file_path_resolves_from_pair_folder"]
        and not link["file_path_is_beside_aggregate"]
    ):
        pytest.skip("its file_path leads nowhere")
    aggregate = aggregate_path(pair)
    assert aggregate is not None
    found, named = checked(aggregate, None), checked(rows_path(pair), aggregate)
    assert [run.rows for run in found.runs] == [pair["instance_facts"]["rows"]]
    places = [finding._replace(file="") for finding in found]
    assert places == [finding._replace(file="") for finding in named]


@every_pair_with_aggregate
def test_aggregates_have_the_violations_of_the_version_they_declare(pair: Pair) -> None:
    facts = pair["aggregate_facts"]
    aggregate = aggregate_path(pair)
    assert aggregate is not None
    said = [finding for finding in check_of(pair) if finding.file == str(aggregate)]
    expected = expected_of_aggregate(facts, facts["schema_version"])
    document = json.loads(aggregate.read_bytes())
    assert schema_errors_of(said) == reference_errors(expected, document, said)


@every_pair_with_aggregate
def test_aggregates_are_judged_by_any_version(pair: Pair) -> None:
    aggregate = aggregate_path(pair)
    assert aggregate is not None
    assert_judged_by_any_version(aggregate.read_bytes(), pair["aggregate_facts"])


@every_aggregate
def test_lone_aggregates_have_the_violations_of_the_version_they_declare(pair: Pair) -> None:
    path = AGGREGATES_FOLDER / pair["file"]
    reading = read_aggregate(path.read_bytes(), Options())
    assert reading.aggregate is not None
    said = [placed.violation for placed in reading.violations]
    nearest = versions.nearest_version(pair["schema_version"], instance=False)
    expected = expected_of_aggregate(pair, nearest)
    document = reading.aggregate.document
    assert schema_errors_of(said) == reference_errors(expected, document, said)
    unknown = [
        violation for violation in said if violation.code == "ES215" and not violation.keyword
    ]
    assert bool(unknown) == (pair["schema_version"] != nearest)
    assert reading.aggregate.evaluation_id == pair["evaluation_id"]
    assert reading.aggregate.model_id == pair["model_info_id"]


@every_aggregate
def test_lone_aggregates_are_judged_by_any_version(pair: Pair) -> None:
    assert_judged_by_any_version((AGGREGATES_FOLDER / pair["file"]).read_bytes(), pair)


@every_aggregate
def test_lone_aggregates_are_checked_to_the_end(pair: Pair) -> None:
    report = checked(AGGREGATES_FOLDER / pair["file"], None)
    (run,) = report.runs
    assert run.rows == 0
    assert report.exit_code in (0, 1, 3)
    assert run.aggregate == str(AGGREGATES_FOLDER / pair["file"])


@every_aggregate
def test_a_faulty_aggregate_names_exactly_the_other_versions_that_it_fits(pair: Pair) -> None:
    path = AGGREGATES_FOLDER / pair["file"]
    reading = read_aggregate(path.read_bytes(), Options())
    nearest = versions.nearest_version(pair["schema_version"], instance=False)
    others = [version for version in AGGREGATE_VERSIONS if version != nearest]
    fitting = {version for version in others if not expected_of_aggregate(pair, version)}
    named = [
        placed.violation.expected
        for placed in reading.violations
        if placed.violation.code == "ES216"
    ]
    if expected_of_aggregate(pair, nearest) and fitting:
        assert [set(names) for names in named] == [fitting]
    else:
        assert not named


def assert_judged_by_any_version(text: bytes, facts: Pair) -> None:
    """Require what the reference validator says of an aggregate under every version."""
    document = json.loads(text)
    for version in AGGREGATE_VERSIONS:
        said = aggregate_violations(text, version, "rust")
        errors = expected_of_aggregate(facts, version)
        expected: Errors = reference_errors(errors, document, said)
        assert schema_errors_of(said) == expected, version
        assert (not said) == (not errors), version


@every_whole_pair
def test_rows_of_a_pair_give_the_same_packed_and_in_an_array(tmp_path: Path, pair: Pair) -> None:
    data = rows_path(pair).read_bytes()
    beside = {"aggregate": aggregate_path(pair), "jobs": 1, "max_findings": 0}
    options: dict[str, Any] = {**beside, "ignore": ("ES5",)}
    expected = list(evalstream.check(rows_path(pair), **options))
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(data, 1))
    seen = list(evalstream.check(packed, **options))
    assert [found._replace(file="") for found in seen] == [
        found._replace(file="") for found in expected
    ]
    if not all(isinstance(_parsed(line), dict) for line in filter(None, data.split(b"\n"))):
        return
    array = tmp_path / "rows.json"
    array.write_bytes(b"[" + b",\n".join(filter(None, data.split(b"\n"))) + b"]")
    seen = list(evalstream.check(array, **{**options, "ignore": ("ES5", "ES110", "ES111")}))
    kept = [found for found in expected if found.code not in ("ES110", "ES111")]
    assert [(found.code, found.severity, found.count, found.sample_id) for found in seen] == [
        (found.code, found.severity, found.count, found.sample_id) for found in kept
    ]


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
