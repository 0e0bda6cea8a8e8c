"""Tests that the JSON Schemas of the Every Eval Ever format say what the format says."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from paths import REPOSITORY, SHARED
from schema_texts import descriptions, load, spelled, stripped

from evalstream.formats.eee.versions import documents_by_version

SCHEMAS = REPOSITORY / "schemas" / "eee"
REFERENCES = SHARED / "reference-schemas" / "eee"

DOCUMENTS = [(version, kind) for version, kinds in documents_by_version().items() for kind in kinds]
REFERENCE_NAMES = {"0.2.0+list": "0.2.0-tag"}


every_document = pytest.mark.parametrize(
    ("version", "kind"), DOCUMENTS, ids=[f"{kind}-{version}" for version, kind in DOCUMENTS]
)


def schema_path(version: str, kind: str) -> Path:
    """Return where our schema of a kind of document lies."""
    return SCHEMAS / version / f"{kind}.schema.json"


def body(version: str, kind: str) -> Any:
    """Return the rules of a schema: no annotations, no version number."""
    schema = stripped(load(schema_path(version, kind)))
    del schema["version"]
    return schema


def test_folder_holds_the_listed_schemas_and_nothing_else() -> None:
    present = {path.relative_to(SCHEMAS) for path in SCHEMAS.rglob("*") if not path.is_dir()}
    listed = {schema_path(version, kind).relative_to(SCHEMAS) for version, kind in DOCUMENTS}
    assert present == listed


@every_document
def test_schema_is_valid_draft_07(version: str, kind: str) -> None:
    schema = load(schema_path(version, kind))
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    Draft7Validator.check_schema(schema)


@every_document
def test_schema_explains_itself(version: str, kind: str) -> None:
    schema = load(schema_path(version, kind))
    assert schema["title"].startswith(f"Every Eval Ever {version.partition('+')[0]}")
    assert schema["description"]
    silent = [name for name, part in schema["properties"].items() if not part.get("description")]
    assert silent == []


@every_document
def test_descriptions_are_sentences(version: str, kind: str) -> None:
    wrong = [
        text
        for text in descriptions(load(schema_path(version, kind)))
        if not isinstance(text, str) or not text.endswith(".") or text != text.strip()
    ]
    assert wrong == []


@every_document
def test_schema_equals_the_reference(version: str, kind: str) -> None:
    if not REFERENCES.is_dir():
        pytest.skip("the reference schemas are not kept in the repository")
    path = REFERENCES / f"{kind}-{REFERENCE_NAMES.get(version, version)}.json"
    if not path.is_file() and version > max(one.stem for one in REFERENCES.glob("*.json"))[-5:]:
        pytest.skip(f"{version} is newer than every reference")
    reference = load(path)
    assert spelled(stripped(load(schema_path(version, kind)))) == spelled(reference)


@pytest.mark.parametrize(
    ("kind", "older", "newer"),
    [
        ("instance", "0.2.2", "0.2.3"),
        ("instance", "0.2.3", "0.3.0"),
        ("aggregate", "0.2.3", "0.3.0"),
    ],
)
def test_versions_with_the_same_rules(kind: str, older: str, newer: str) -> None:
    assert spelled(body(older, kind)) == spelled(body(newer, kind))


def test_a_property_named_like_an_annotation_is_kept() -> None:
    schema = {
        "title": "gone",
        "properties": {"description": {"type": "string", "description": "gone"}},
        "default": {"title": "kept"},
    }
    assert stripped(schema) == {
        "properties": {"description": {"type": "string"}},
        "default": {"title": "kept"},
    }
