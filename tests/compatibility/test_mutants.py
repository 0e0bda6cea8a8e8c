"""Single faults put into valid documents: both engines say what the reference validator says."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from corpus import (
    CORPUS,
    aggregate_validator,
    aggregate_violations,
    expectations,
    lines_of,
    needs_corpus,
    reader_of,
    reference_errors,
    row_violations,
    schema_errors_of,
    value_at,
)
from depth import deep, some
from each import each
from rows import valid_row

from evalstream.formats.eee.aggregate_check import read_aggregate
from evalstream.formats.eee.rules.version import versions_that_fit
from evalstream.model.finding import Violation
from evalstream.model.options import Options

pytestmark = needs_corpus

OUR_VERSIONS = {"0.2.0-tag": "0.2.0+list", "0.2.3": "0.3.0"}
"""Which of our versions stands for one of the corpus; 0.2.3 and 0.3.0 have the same rules."""

NEEDED_BY_SCORE_TYPE = {"score_type", "min_score", "max_score"}
"""Members which the plain schema does not require, but a branch does: no cure to leave them out."""

ANCHORED = {"aggregate-0.3.0-37": [["/detailed_evaluation_results/file_path", "pattern"]]}
"""Where the reference goes astray: Python's `$` matches before a final newline, ECMA 262's not."""

Violations = Callable[[bytes, str, str], list[Violation]]


class Mutant(NamedTuple):
    """One changed document: its bytes, the version it is aimed at, and what is expected of it."""

    name: str
    version: str
    line: bytes
    errors: list[list[str]]
    valid_under: dict[str, bool]

    @property
    def valid(self) -> bool:
        """Whether it is valid under the version it is aimed at."""
        return not self.errors


def mutants(kind: str) -> Iterator[Mutant]:
    """Yield the mutants of one kind of document."""
    for name in (f"{kind}-0.2.0", f"{kind}-0.3.0"):
        expected = expectations(f"mutants/{name}.expected.json")
        if not expected:
            continue
        version = name.rpartition("-")[2]
        lines = lines_of(CORPUS / "mutants" / f"{name}.jsonl")
        for line, entry in zip(lines, expected["mutants"], strict=True):
            assert entry["valid"] == (not entry.get("errors"))
            mutant = Mutant(
                name=f"{name}-{entry['line']}",
                version=version,
                line=line,
                errors=entry.get("errors", []),
                valid_under=entry["valid_under"],
            )
            if mutant.name in ANCHORED:
                mutant = anchored(mutant, entry)
            yield mutant


def anchored(mutant: Mutant, entry: dict[str, Any]) -> Mutant:
    """Let ECMA 262 decide about a mutant on which the corpus notes that validators disagree."""
    assert entry["valid"]
    assert not entry["jsonschema_rs_says_valid"]
    return mutant._replace(errors=ANCHORED[mutant.name], valid_under={mutant.version: False})


def judged_by(mutant: Mutant) -> Iterator[tuple[str, bool]]:
    """Yield each version of ours that the corpus judges the mutant by, with its verdict."""
    for name, valid in mutant.valid_under.items():
        yield OUR_VERSIONS.get(name, name), valid


def assert_fits_other_versions(mutant: Mutant, engine: str, *, instance: bool) -> None:
    """Require the versions that a mutant fits which fails its own to be the reference's."""
    document = json.loads(mutant.line)
    fitting = versions_that_fit(document, mutant.version, engine, instance=instance)
    for version, valid in judged_by(mutant):
        if mutant.errors and mutant.name not in ANCHORED:
            assert (version in fitting) == valid, version


def test_some_mutants_fit_another_version_than_their_own() -> None:
    found = {
        version
        for mutant in (*mutants("instance"), *mutants("aggregate"))
        for version in judged_by_others(mutant)
    }
    assert {"0.2.0+list", "0.2.1", "0.2.2"} <= found


def judged_by_others(mutant: Mutant) -> Iterator[str]:
    """Yield the versions that an invalid mutant is valid under."""
    if mutant.errors:
        yield from (version for version, valid in judged_by(mutant) if valid)


def first(name: str) -> bytes:
    """Return the first document of a file of mutants, which is unchanged and valid."""
    return lines_of(CORPUS / "mutants" / f"{name}.jsonl")[0]


def said(violations: list[Violation]) -> list[str]:
    """Return what faults say, in an order of their own and whatever the order of types."""
    return sorted(
        repr(
            (
                violation.code,
                violation.pointer,
                violation.keyword,
                expected_of(violation),
                violation.found,
            )
        )
        for violation in violations
    )


def expected_of(violation: Violation) -> list[str]:
    """Return what a fault expects, in an order of its own."""
    return sorted(map(repr, violation.expected)) if isinstance(violation.expected, list) else []


def removed(document: Any, place: str) -> Any:
    """Return a copy of a document without the member at a JSON Pointer."""
    document = copy.deepcopy(document)
    parent, _, member = place.rpartition("/")
    del value_at(document, parent)[member.replace("~1", "/").replace("~0", "~")]
    return document


def assert_nulls_are_named(
    document: Any, violations: list[Violation], after: Violations, rest: Any
) -> None:
    """Require ES204 of exactly those nulls of which leaving the member out is the cure.

    Members of string maps have a code of their own, and items of lists cannot be left out.
    """
    before = {(violation.pointer, violation.keyword, violation.message) for violation in violations}
    for violation in violations:
        if not violation.keyword or not violation.pointer or violation.code == "ES208":
            continue
        parent = value_at(document, violation.pointer.rpartition("/")[0])
        if value_at(document, violation.pointer) is not None or not isinstance(parent, dict):
            continue
        if violation.pointer.rpartition("/")[2] in NEEDED_BY_SCORE_TYPE:
            continue
        without = json.dumps(removed(document, violation.pointer)).encode()
        left = {(left.pointer, left.keyword, left.message) for left in after(without, *rest)}
        assert (violation.code == "ES204") == (left < before), violation


every_row = each("mutant", some(list(mutants("instance")), 256), lambda one: one.name)
every_aggregate = each("mutant", some(list(mutants("aggregate")), 64), lambda one: one.name)
# That both engines say the same of a mutant is a test of its own.
both_engines = pytest.mark.parametrize("engine", ["rust", deep("portable")])


@both_engines
@every_row
def test_a_changed_row_is_judged_as_the_reference_judges_it(mutant: Mutant, engine: str) -> None:
    violations = row_violations(mutant.line, mutant.version, engine)
    assert schema_errors_of(violations) == reference_errors(
        mutant.errors, json.loads(mutant.line), violations
    )
    assert (not violations) == mutant.valid


@both_engines
@every_row
def test_a_changed_row_is_valid_under_the_same_versions(mutant: Mutant, engine: str) -> None:
    for version, valid in judged_by(mutant):
        assert (not row_violations(mutant.line, version, engine)) == valid, version


@both_engines
@every_row
def test_the_other_versions_that_a_changed_row_fits_are_known(mutant: Mutant, engine: str) -> None:
    assert_fits_other_versions(mutant, engine, instance=True)


@both_engines
@every_row
def test_accepting_a_changed_row_is_being_valid(mutant: Mutant, engine: str) -> None:
    for version, valid in judged_by(mutant):
        accepted = valid_row(reader_of(version, engine), mutant.line)
        assert (accepted is not None) == valid, version
        assert accepted is None or accepted == json.loads(mutant.line)


@both_engines
@every_row
def test_accepting_by_the_declared_version_is_being_valid(mutant: Mutant, engine: str) -> None:
    document = json.loads(mutant.line)
    declared = document.get("schema_version") if isinstance(document, dict) else None
    accepted = valid_row(reader_of("auto", engine), mutant.line) is not None
    if declared == mutant.version:
        assert accepted == mutant.valid
    else:
        assert not accepted


@every_row
def test_null_for_absent_names_the_nulls_in_rows_that_removal_cures(mutant: Mutant) -> None:
    document = json.loads(mutant.line)
    for version, _ in judged_by(mutant):
        violations = row_violations(mutant.line, version, "rust")
        assert_nulls_are_named(document, violations, row_violations, (version, "rust"))


@every_row
def test_both_engines_say_the_same_of_a_row(mutant: Mutant) -> None:
    for version, _ in judged_by(mutant):
        rust = row_violations(mutant.line, version, "rust")
        portable = row_violations(mutant.line, version, "portable")
        assert said(rust) == said(portable), version


@both_engines
@every_aggregate
def test_a_changed_aggregate_is_judged_as_the_reference_judges_it(
    mutant: Mutant, engine: str
) -> None:
    document = json.loads(mutant.line)
    violations = aggregate_violations(mutant.line, mutant.version, engine)
    assert schema_errors_of(violations) == reference_errors(mutant.errors, document, violations)
    assert (not violations) == mutant.valid


@both_engines
@every_aggregate
def test_a_changed_aggregate_is_valid_under_the_same_versions(mutant: Mutant, engine: str) -> None:
    document = json.loads(mutant.line)
    for version, valid in judged_by(mutant):
        assert (not aggregate_violations(mutant.line, version, engine)) == valid, version
        assert aggregate_validator(version, engine).accepts(document) == valid, version


@both_engines
@every_aggregate
def test_the_other_versions_that_a_changed_aggregate_fits_are_known(
    mutant: Mutant, engine: str
) -> None:
    assert_fits_other_versions(mutant, engine, instance=False)


@every_aggregate
def test_a_changed_aggregate_that_is_read_has_the_same_violations(
    mutant: Mutant, tmp_path: Path
) -> None:
    path = tmp_path / "aggregate.json"
    path.write_bytes(mutant.line)
    reading = read_aggregate(path.read_bytes(), Options(schema_version=mutant.version))
    document = json.loads(mutant.line)
    violations = [
        placed.violation for placed in reading.violations if placed.violation.code != "ES216"
    ]
    if isinstance(document, dict):
        assert violations == aggregate_violations(mutant.line, mutant.version, "auto")
    else:
        assert [violation.code for violation in violations] == ["ES109"]


@every_aggregate
def test_null_for_absent_names_the_nulls_in_aggregates_that_removal_cures(mutant: Mutant) -> None:
    document = json.loads(mutant.line)
    for version, _ in judged_by(mutant):
        violations = aggregate_violations(mutant.line, version, "rust")
        assert_nulls_are_named(document, violations, aggregate_violations, (version, "rust"))


@every_aggregate
def test_both_engines_say_the_same_of_an_aggregate(mutant: Mutant) -> None:
    for version, _ in judged_by(mutant):
        rust = aggregate_violations(mutant.line, version, "rust")
        portable = aggregate_violations(mutant.line, version, "portable")
        assert said(rust) == said(portable), version


@both_engines
def test_a_branch_that_lacks_a_member_speaks_beside_the_object_that_lacks_another(
    engine: str,
) -> None:
    row = json.loads(first("instance-0.2.0"))
    del row["model_id"], row["output"]
    codes = [
        violation.code for violation in row_violations(json.dumps(row).encode(), "0.2.0", engine)
    ]
    assert codes == ["ES201", "ES209"]


@both_engines
def test_a_metric_that_lacks_a_bound_and_a_member_lacks_both(engine: str) -> None:
    aggregate = json.loads(first("aggregate-0.2.0"))
    metric = aggregate["evaluation_results"][0]["metric_config"]
    metric["score_type"] = "continuous"
    del metric["lower_is_better"], metric["max_score"]
    codes = [
        violation.code
        for violation in aggregate_violations(json.dumps(aggregate).encode(), "0.2.0", engine)
    ]
    assert codes == ["ES201", "ES212"]


@both_engines
def test_a_row_of_another_shape_is_told_so_once(engine: str) -> None:
    row = json.loads(first("instance-0.2.0"))
    row["output"], row["interactions"] = None, []
    violations = row_violations(json.dumps(row).encode(), "0.2.0", engine)
    places = {(violation.code, violation.pointer) for violation in violations}
    assert places == {("ES209", "/output"), ("ES209", "/interactions")}
    assert len(violations) == 2


@both_engines
@pytest.mark.parametrize("key", ["", "0", "a/b", "~1", "é", "input"])
def test_any_key_of_a_map_is_found_again(key: str, engine: str) -> None:
    row = json.loads(first("instance-0.3.0"))
    row["metadata"] = {key: 7}
    (violation,) = row_violations(json.dumps(row).encode(), "0.3.0", engine)
    assert violation.code == "ES208"
    assert violation.pointer == "/metadata/" + key.replace("~", "~0").replace("/", "~1")
    assert violation.found == 7
    assert violation.message.startswith("integer")
