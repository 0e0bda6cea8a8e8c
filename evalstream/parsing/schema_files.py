"""The schema files of the package, by name: as documents, texts and compiled validators."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from evalstream.parsing.json_schema import Validator, compile_schema

SCHEMA_DEPTH: Final = 100
"""A nesting limit far above that of the package's schemas."""

_ANNOTATIONS: Final = ("$id", "$comment", "title", "description", "version")


@lru_cache(maxsize=64)
def builtin_schema(name: str) -> Any:
    """Return a schema of the package by name, such as `eee/0.2.0/instance`, from JSON or YAML.

    Raises MissingExtra for a schema in YAML where PyYAML is not installed.
    """
    path = schema_folder() / f"{name}.schema.json"
    if path.is_file():
        return json.loads(path.read_bytes())
    from evalstream.parsing.yaml import read_yaml

    return read_yaml(path.with_suffix(".yaml").read_bytes(), SCHEMA_DEPTH).value


def schema_documents() -> list[str]:
    """Return the names of all schemas of the package, such as `eee/0.2.0/instance`."""
    folder = schema_folder()
    files = (file.relative_to(folder).as_posix() for file in folder.glob("*/*/*.schema.*"))
    return sorted(file.partition(".schema.")[0] for file in files)


def report_schemas() -> list[str]:
    """Return the names of the schemas of evalstream's own output, such as `report`."""
    files = schema_folder().glob("*.schema.json")
    return sorted(file.name.removesuffix(".schema.json") for file in files)


def schema_text(name: str) -> str:
    """Return the text of a schema of the package."""
    (file,) = schema_folder().glob(f"{name}.schema.*")
    return file.read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def builtin_validator(name: str, engine: str = "auto") -> Validator:
    """Return a compiled schema of the package, cached per process."""
    return compile_schema(builtin_schema(name), engine)


@lru_cache(maxsize=64)
def constraints_of(name: str) -> str:
    """Return the constraints of a schema as a text, equal for equivalent versions."""
    return json.dumps(_constraints(builtin_schema(name)), sort_keys=True)


@lru_cache(maxsize=1)
def schema_folder() -> Path:
    """Return the folder of the schemas: in an installed package, else next to it."""
    package = Path(__file__).parent.parent
    inside = package / "schemas"
    return inside if inside.is_dir() else package.parent / "schemas"


def _constraints(schema: Any) -> Any:
    """Remove annotations from a schema; no property of our schemas has such a name."""
    if isinstance(schema, list):
        return [_constraints(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    texts = {key for key in _ANNOTATIONS if isinstance(schema.get(key), str)}
    return {key: _constraints(value) for key, value in schema.items() if key not in texts}
