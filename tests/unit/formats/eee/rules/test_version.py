"""Which other versions a faulty document fits: what its faults prove beforehand is true."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from corpus import CORPUS, lines_of, needs_corpus
from depth import examples, in_turn, some
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import ENGINES, VERSIONS, Row, at, bounded, mutants, places, sound_rows

from evalstream.formats.eee import versions
from evalstream.formats.eee.rules.version import _is_as_strict, versions_that_fit
from evalstream.parsing.schema_errors import Path_, instance_path
from evalstream.parsing.schema_files import builtin_schema, builtin_validator

DOCUMENTED = [
    (version, instance)
    for version, facts in versions.VERSIONS.items()
    for instance in (True, False)
    if (facts.instance if instance else "+" not in version)
]
"""Every version with each kind of document that it has."""

SPOILING: tuple[Any, ...] = (None, "x", "", -1, 0, 1.5, True, [], [1], ["x"], {}, 10**30)
ABSENT = object()

both_engines = pytest.mark.parametrize("engine", ENGINES)
every_document = pytest.mark.parametrize(("version", "instance"), DOCUMENTED)


def spoilt(row: Row) -> Iterator[Row]:
    """Yield a row with one fault for each place of it and each odd value."""
    for place in ((), *places(row)):
        for value in (*SPOILING, ABSENT) if place else ():
            changed = copy.deepcopy(row)
            owner = at(changed, place[:-1])
            if value is ABSENT:
                del owner[place[-1]]
            else:
                owner[place[-1]] = value
            yield changed
        if isinstance(at(row, place), dict):
            changed = copy.deepcopy(row)
            at(changed, place)["unknown"] = 1
            yield changed


def assert_proofs_hold(value: Any, version: str, engine: str, *, instance: bool) -> None:
    """Require the same versions whether the faults are looked at or every version is asked."""
    name = versions.eee_schema(version, instance=instance)
    violations = list(builtin_validator(name, engine).errors(value))
    asked = versions_that_fit(value, version, engine, instance=instance)
    proven = versions_that_fit(value, version, engine, instance=instance, violations=violations)
    assert not violations or proven == asked


@each(("version", "written"), in_turn(list(versions.INSTANCE_VERSIONS), VERSIONS))
def test_a_single_violation_proves_what_is_true_of_a_row(version: str, written: str) -> None:
    for row in some(sound_rows(written, 4), 1):
        for changed in spoilt(row):
            assert_proofs_hold(changed, version, "rust", instance=True)


@both_engines
@pytest.mark.parametrize("version", versions.INSTANCE_VERSIONS)
@given(data=st.data())
@bounded(max_examples=examples(60))
def test_some_violations_prove_what_is_true_of_a_row(
    version: str, engine: str, data: st.DataObject
) -> None:
    row = data.draw(mutants(data.draw(st.sampled_from(VERSIONS))))
    assert_proofs_hold(row, version, engine, instance=True)


@needs_corpus
@both_engines
@every_document
def test_changed_documents_of_the_corpus_prove_what_is_true_of_them(
    version: str, instance: bool, engine: str
) -> None:
    kind = "instance" if instance else "aggregate"
    for file in sorted((CORPUS / "mutants").glob(f"{kind}-*.jsonl")):
        for line in some(lines_of(file), 6):
            assert_proofs_hold(json.loads(line), version, engine, instance=instance)


def test_versions_that_a_violation_proves_to_refuse_a_row_are_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = sound_rows("0.2.0")[0]
    row["evaluation"]["score"] = "1.0"
    violations = list(builtin_validator("eee/0.2.0/instance").errors(row))
    monkeypatch.setattr("evalstream.formats.eee.rules.version.builtin_validator", None)
    assert versions_that_fit(row, "0.2.0", "auto", instance=True, violations=violations) == []


@each(
    ("keyword", "own", "other", "proven"),
    [
        ("type", "number", "integer", True),
        ("type", "integer", "number", False),
        ("type", ["string", "null"], "string", True),
        ("type", "string", ["string", "null"], False),
        ("type", "string", None, False),
        ("minimum", 1, 1, True),
        ("minimum", 0, 1, True),
        ("minimum", 1, 0, False),
        ("enum", ["a", "b"], ["a"], True),
        ("enum", ["a"], ["a", "b"], False),
        ("enum", [1], [True], False),
        ("required", ["a", "b"], ["b"], True),
        ("required", ["a", "b"], ["a"], False),
        ("pattern", "a", "a", False),
        ("not", {}, {}, False),
    ],
)
def test_a_keyword_proves_only_what_is_as_strict(
    keyword: str, own: Any, other: Any, proven: bool
) -> None:
    node = {} if other is None else {keyword: other}
    assert _is_as_strict(node, keyword, own, "b") == proven


@each(
    ("route", "path"),
    [
        (("required",), ()),
        (("properties", "input", "properties", "raw", "type"), ("input", "raw")),
        (("properties", "items", "items", "minimum"), ("items", 0)),
        (("allOf", 1, "then", "properties", "properties", "type"), ("properties",)),
        (("items", 0, "type"), None),
        (("properties", "a", "$ref", "type"), None),
        (("properties", "a", "additionalProperties", "type"), None),
        (("propertyNames", "type"), None),
    ],
)
def test_a_route_tells_the_path_of_what_it_judges(route: Path_, path: Path_ | None) -> None:
    assert instance_path(route) == path


@every_document
def test_no_schema_of_ours_asks_what_makes_its_other_demands_uncertain(
    version: str, instance: bool
) -> None:
    schema = builtin_schema(versions.eee_schema(version, instance=instance))
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert "$ref" not in schema
    assert "propertyNames" not in json.dumps(schema)
