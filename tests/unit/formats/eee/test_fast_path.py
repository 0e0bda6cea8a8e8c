"""When there is a fast path, and which rows it leaves to the exact path."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from each import each
from fast_rows import BARE, HASHED, JOINED, context, mixed_rows, outcome, rehashed, slowly
from rows import bytes_of, sound_rows

import evalstream
from evalstream.formats.eee import fast_path, row_engine, sample_hash, versions
from evalstream.formats.eee.exact_path import RowReader
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.fast_path import ScanPlan
from evalstream.formats.eee.row_engine import RowEngine
from evalstream.model.data_class import replace
from evalstream.parsing.native import binding
from evalstream.parsing.native.schema_keywords import NotTabled
from evalstream.parsing.schema_files import builtin_schema


def fast_path_of(within: RowContext) -> ScanPlan | None:
    """Return the fast path of a context, if there is one."""
    return fast_path.fast_path_for(within, RowReader(within))


def test_every_version_is_taken() -> None:
    for version in versions.INSTANCE_VERSIONS:
        assert fast_path_of(BARE[version]) is not None
        assert fast_path_of(slowly(BARE[version])) is None


def test_without_the_library_the_same_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    data = mixed_rows()
    for within in (HASHED["0.2.0"], JOINED["0.2.0"]):
        expected = outcome(RowEngine(within), data)
        monkeypatch.setattr(fast_path, "library", lambda: None)
        without = RowEngine(within)
        assert outcome(without, data) == expected
        assert without._fast_path is None
        monkeypatch.undo()
        monkeypatch.setattr(row_engine, "WORTH_A_SCANNER_BYTES", 0)


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
@each("recipe", binding.recipes())
def test_hashes_are_checked_without_a_file_of_openssl_too(
    monkeypatch: pytest.MonkeyPatch, recipe: str, algorithm: str
) -> None:
    linked = SimpleNamespace(get_fips_mode=int)
    monkeypatch.setattr(binding, "import_module", lambda _: linked)
    monkeypatch.setattr(fast_path, "hasher", binding.hasher.__wrapped__)
    monkeypatch.setattr(fast_path, "_setting", fast_path._setting.__wrapped__)
    for links in (False, True):
        within = context("0.3.0", recipe, algorithm, links=links)
        subject = RowEngine(within)
        rows = [rehashed(row, within) for row in sound_rows("0.3.0", 9)]
        data = bytes_of(rows)
        assert outcome(subject, data) == outcome(slowly(within), data)
        assert subject._fast_path is not None
        rows[3]["sample_hash"], rows[8]["sample_hash"] = rows[4].get("sample_hash"), "0" * 64
        data = b"no row\n" + bytes_of(rows)
        assert outcome(subject, data) == outcome(slowly(within), data)
        assert outcome(subject, bytes_of(rows[8:])) == outcome(slowly(within), bytes_of(rows[8:]))


@each(("limit", "wrong", "is_native"), [(100, 9, True), (0, 9, False), (0, 1, True)])
def test_findings_that_are_all_shown_are_work_for_processes(
    limit: int, wrong: int, *, is_native: bool
) -> None:
    within = HASHED["0.3.0"]
    subject = RowEngine(replace(within, options=replace(within.options, max_findings=limit)))
    rows = [rehashed(row, within) for row in sound_rows("0.3.0", 9)]
    for row in rows[:wrong]:
        row["sample_hash"] = "0" * 64
    subject.expect(0)
    assert subject.is_native(bytes_of(rows)) is is_native


@each("codes", ["ES301", "ES303", "ES4", "ES1", "ES3"])
def test_rules_that_are_not_asked_for_say_nothing(codes: str, tmp_path: Path) -> None:
    rows = sound_rows(count=8)
    rows[0]["answer_attribution"] = []
    rows[1]["answer_attribution"][0]["source"] = "elsewhere"
    path = tmp_path / "rows.jsonl"
    path.write_bytes(bytes_of(rows) + b"no row\n")
    for settings in ({"select": (codes,)}, {"ignore": (codes,)}):
        quickly, slow = (evalstream.check(path, engine=one, **settings) for one in ("auto", "rust"))
        assert list(quickly) == list(slow)
        assert quickly.counts == slow.counts


@each(
    "settings",
    [
        {"engine": "rust"},
        {"engine": "portable"},
        {"schema": '{"type": "object", "minProperties": 1}'},
        {"max_depth": 100},
    ],
)
def test_some_options_want_no_scanner(settings: dict[str, Any]) -> None:
    assert fast_path_of(context("0.2.0", "concat", **settings)) is None


def test_small_files_are_not_worth_a_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    data = mixed_rows()
    monkeypatch.setattr(row_engine, "WORTH_A_SCANNER_BYTES", 1 << 60)
    subject = RowEngine(HASHED["0.2.0"])
    assert outcome(subject, data) == outcome(slowly(HASHED["0.2.0"]), data)
    assert subject._fast_path is None
    monkeypatch.setattr(row_engine, "WORTH_A_SCANNER_BYTES", RowEngine._expected)
    assert outcome(subject, data) == outcome(slowly(HASHED["0.2.0"]), data)
    assert subject._fast_path is not None


def test_a_schema_that_no_table_can_say_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise NotTabled("x")

    monkeypatch.setattr(fast_path, "build_tables", refused)
    monkeypatch.setattr(fast_path, "_setting", fast_path._setting.__wrapped__)
    monkeypatch.setattr(fast_path, "_build_tables", fast_path._build_tables.__wrapped__)
    assert fast_path_of(HASHED["0.2.0"]) is None


def test_a_recipe_that_the_scanner_does_not_know_takes_the_exact_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def reference_first(raw: str, reference: Any) -> bytes:
        return ("".join(reference) + raw).encode()

    monkeypatch.setitem(sample_hash.RECIPES, "reference-first", reference_first)
    within = context("0.3.0", "reference-first")
    assert fast_path_of(within) is None
    rows = sound_rows("0.3.0", 9)
    for row in rows:
        covered = reference_first(row["input"]["raw"], row["input"]["reference"])
        row["sample_hash"] = hashlib.sha256(covered).hexdigest()
    subject = RowEngine(within)
    found = outcome(subject, bytes_of(rows))
    assert subject._fast_path is None
    assert not found.violations
    rows[2]["sample_hash"] = "0" * 64
    assert [one.violation.code for one in outcome(subject, bytes_of(rows)).violations] == ["ES401"]


def with_property(schema: Any, name: str, node: Any) -> Any:
    """Return a schema with another node for a member."""
    return {**schema, "properties": {**schema["properties"], name: node}}


NEW_SCHEMAS: dict[str, Callable[[Any], Any]] = {
    "a member more": lambda schema: with_property(schema, "region", {"type": "string"}),
    "any value": lambda schema: with_property(schema, "region", {}),
    "a member less": lambda schema: with_property(schema, "error", False),
    "a format": lambda schema: with_property(schema, "region", {"format": "uri"}),
    "a reference": lambda schema: with_property(schema, "region", {"$ref": "#/properties/error"}),
    "a union": lambda schema: with_property(schema, "region", {"anyOf": [{"type": "string"}]}),
    "an odd type": lambda schema: with_property(schema, "region", {"type": "text"}),
    "choices without a type": lambda schema: with_property(schema, "region", {"enum": ["a", 1]}),
    "other branches": lambda schema: with_property(schema, "region", {"oneOf": [True, False]}),
    "another kind of row": lambda schema: with_property(
        schema, "interaction_type", {"type": "string", "enum": ["chat"]}
    ),
    "free kinds": lambda schema: with_property(schema, "interaction_type", True),
    "no members": lambda schema: {"type": "object"},
    "anything": lambda schema: {},
    "no rows": lambda schema: {**schema, "properties": False},
    "no kinds": lambda schema: {
        **schema,
        "properties": {
            name: node for name, node in schema["properties"].items() if name != "interaction_type"
        },
    },
    "other conditions": lambda schema: {**schema, "allOf": [True, {"if": True, "then": False}]},
    "only definitions": lambda schema: {**schema, "$defs": {"a": {"type": "string"}}},
}


@each("change", NEW_SCHEMAS)
def test_a_schema_of_a_new_version_brings_no_crash(
    monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    schema = NEW_SCHEMAS[change](builtin_schema("eee/0.3.0/instance"))
    monkeypatch.setattr(fast_path, "builtin_schema", lambda _: schema)
    monkeypatch.setattr(fast_path, "_setting", fast_path._setting.__wrapped__)
    monkeypatch.setattr(fast_path, "_build_tables", fast_path._build_tables.__wrapped__)
    found = fast_path_of(BARE["0.3.0"])
    assert (found is not None) == (change in SAYABLE)


SAYABLE = {
    "a member more",
    "any value",
    "a reference",
    "only definitions",
    "no members",
    "anything",
}
