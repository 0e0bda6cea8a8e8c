"""JSON Schemas as texts: read, stripped of annotations, and spelled for comparison."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ANNOTATIONS = {"title", "description", "$comment", "examples"}
MAPS_OF_SCHEMAS = {"properties", "patternProperties", "definitions", "$defs"}
LISTS_OF_SCHEMAS = {"allOf", "anyOf", "oneOf"}
SINGLE_SCHEMAS = {"additionalProperties", "if", "then", "else", "not"}


def load(path: Path) -> Any:
    """Read a JSON file and refuse duplicate keys."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), f"duplicate key in {path}: {keys}"
        return dict(pairs)

    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)


def stripped(schema: Any) -> Any:
    """Return the schema without annotations, keeping properties that share their names."""
    if not isinstance(schema, dict):
        return schema
    return {
        keyword: stripped_value(keyword, value)
        for keyword, value in schema.items()
        if keyword not in ANNOTATIONS
    }


def stripped_value(keyword: str, value: Any) -> Any:
    """Strip the schemas a keyword holds; leave the value of any other keyword alone."""
    if keyword in MAPS_OF_SCHEMAS:
        return {name: stripped(schema) for name, schema in value.items()}
    if keyword in LISTS_OF_SCHEMAS or (keyword == "items" and isinstance(value, list)):
        return [stripped(schema) for schema in value]
    if keyword in SINGLE_SCHEMAS or keyword == "items":
        return stripped(value)
    return value


def spelled(value: Any) -> str:
    """Spell a JSON value so that true and 1, or 1 and 1.0, stay apart."""
    return json.dumps(value, sort_keys=True)


def descriptions(schema: Any) -> Iterator[Any]:
    """Yield every description in a schema, at any depth."""
    if isinstance(schema, list):
        for member in schema:
            yield from descriptions(member)
    elif isinstance(schema, dict):
        for keyword, value in schema.items():
            if keyword == "description" and not isinstance(value, dict):
                yield value
            else:
                yield from descriptions(value)
