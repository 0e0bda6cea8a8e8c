"""The schema files of the package, by name: as documents, texts and compiled validators."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from evalstream.model.hashing import hash_function
from evalstream.parsing.json import is_accepted, is_finite

if TYPE_CHECKING:
    from pathlib import Path

    from evalstream.parsing.schema_errors import SchemaError, Validator

SCHEMA_DEPTH: Final = 100
"""A nesting limit far above that of the package's schemas."""

FEW_VALUES: Final = 500
"""How many values the code from the build checks in the time in which jsonschema-rs is loaded."""

_ANNOTATIONS: Final = ("$id", "$comment", "title", "description", "version")


@lru_cache(maxsize=64)
def builtin_schema(name: str) -> Any:
    """Return a schema of the package by name, such as `eee/0.2.0/instance`, from JSON or YAML."""
    import json

    try:
        return json.loads(read_schema(f"{name}.schema.json"))
    except FileNotFoundError:
        from evalstream.parsing.yaml import read_yaml

        return read_yaml(read_schema(f"{name}.schema.yaml"), SCHEMA_DEPTH).value


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
    if engine == "auto":
        validate = _built_code(name)
        if validate is not None:
            return _BuiltValidator(name, validate)
    return _compile_named(name, engine)


@lru_cache(maxsize=64)
def constraint_text(name: str) -> str:
    """Return the constraints of a schema as a text, equal for equivalent versions."""
    import json

    return json.dumps(_constraints(builtin_schema(name)), sort_keys=True)


def schema_folder() -> Path:
    """Return the folder of the schemas."""
    from pathlib import Path

    return Path(_folder())


@lru_cache(maxsize=1)
def _folder() -> str:
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inside = os.path.join(package, "schemas")
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(package), "schemas")


def read_schema(name: str) -> bytes:
    """Return the bytes of a file in the folder of the schemas."""
    with open(os.path.join(_folder(), name), "rb") as file:
        return file.read()


class _BuiltValidator:
    """A schema that the build wrote as code, which checks the first values.

    If it refuses one, or if many follow, an engine that takes longer to load decides.
    """

    def __init__(self, name: str, validate: Callable[[Any], object]) -> None:
        self._name, self._validate, self._left = name, validate, FEW_VALUES

    def accepts(self, value: Any) -> bool:
        """Return True only if `value` is valid and contains no infinite number."""
        if not self._left:
            return self._engine.accepts(value)
        self._left -= 1
        return is_finite(value) and is_accepted(self._validate, value)

    def fits(self, value: Any) -> bool:
        """Tell whether a value without infinite numbers is valid."""
        return self._engine.fits(value)

    def errors(self, value: Any) -> Iterable[SchemaError]:
        """Return all errors of `value`."""
        return self._engine.errors(value)

    @cached_property
    def _engine(self) -> Validator:
        return _compile_named(self._name, "auto")


def _compile_named(name: str, engine: str) -> Validator:
    from evalstream.parsing.json_schema import compile_schema

    return compile_schema(builtin_schema(name), engine, trusted=True)


def _built_code(name: str) -> Callable[[Any], object] | None:
    """Return what the build wrote for a schema of the package; None if it is not of this schema."""
    module = "".join(one if one.isalnum() else "_" for one in name)
    try:
        built = import_module(f"evalstream.parsing.acceptors.{module}")
        text = read_schema(f"{name}.schema.json")
    except (ImportError, OSError):
        return None
    validate: Callable[[Any], object] = built.validate
    return validate if hash_function("sha256")(text).hexdigest() == built.SCHEMA else None


def _constraints(schema: Any) -> Any:
    """Remove annotations from a schema; no property of our schemas has such a name."""
    if isinstance(schema, list):
        return [_constraints(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    texts = {key for key in _ANNOTATIONS if isinstance(schema.get(key), str)}
    return {key: _constraints(value) for key, value in schema.items() if key not in texts}
