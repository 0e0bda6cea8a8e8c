"""Type definitions from the package's schemas, written by generators that others maintain."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final

from evalstream.model.errors import CannotCheck, MissingExtra, install_command
from evalstream.parsing.schema_files import builtin_schema, report_schemas, schema_documents

PYTHON: Final = "python"
TYPESCRIPT: Final = "typescript"
LANGUAGES: Final = (PYTHON, TYPESCRIPT)

TOOL: Final = "json2ts"
INSTALL: Final = "npm install --global json-schema-to-typescript"

_MODULE: Final = "datamodel_code_generator"
_DATA_CLASSES: Final = (
    "--input-file-type=jsonschema",
    "--output-model-type=dataclasses.dataclass",
    *("--target-python-version=3.11", "--formatters=builtin", "--disable-timestamp"),
    *("--keyword-only", "--use-schema-description"),
)
_HEADER: Final = "Type definitions of {}, generated from the schemas of evalstream."


def type_names() -> list[str]:
    """Return the names that types can be had of: versions of formats, and single schemas."""
    documents = schema_documents()
    versions = sorted({name.rpartition("/")[0] for name in documents})
    return [*versions, *documents, *report_schemas()]


def type_definitions(name: str, language: str) -> str:
    """Return the types of a schema, or of all schemas of a version, in one language.

    `name` is one of `type_names`, `language` one of `LANGUAGES`. Raises MissingExtra without the
    generator, and CannotCheck where it fails.
    """
    schema = combined_schema(name)
    return _data_classes(name, schema) if language == PYTHON else _interfaces(name, schema)


def combined_schema(name: str) -> dict[str, Any]:
    """Return one schema whose definitions are those of a schema, or of all of a version."""
    found = [one for one in schema_documents() if one == name or one.startswith(f"{name}/")]
    definitions: dict[str, Any] = {}
    members = {}
    for one in found or [name]:
        document = one.rpartition("/")[2]
        members[document] = {"$ref": f"#/$defs/{_add(definitions, document, one)}"}
    return {
        "$schema": builtin_schema((found or [name])[0])["$schema"],
        "title": "Documents",
        "description": "One document of each kind.",
        "type": "object",
        "properties": members,
        "additionalProperties": False,
        "$defs": definitions,
    }


def _add(definitions: dict[str, Any], document: str, name: str) -> str:
    """Add a schema and its own definitions, and return the name of its type."""
    schema = dict(builtin_schema(name))
    own = {**schema.pop("definitions", {}), **schema.pop("$defs", {})}
    whole = _type_name(document)
    named = {key: _free_name(definitions, _type_name(key), whole) for key in own}
    for annotation in ("$schema", "$id", "version"):
        schema.pop(annotation, None)
    for key, definition in own.items():
        definitions[named[key]] = {**_with_names(definition, named), "title": named[key]}
    definitions[whole] = {**_with_names(schema, named), "title": whole}
    return whole


def _free_name(definitions: Mapping[str, Any], name: str, document: str) -> str:
    """Return the name of a type, after its document where another document has the name."""
    return f"{document}{name}" if name in definitions or name == document else name


def _with_names(schema: Any, named: Mapping[str, str]) -> Any:
    if isinstance(schema, list):
        return [_with_names(one, named) for one in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _with_names(value, named) for key, value in schema.items()}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        changed["$ref"] = f"#/$defs/{named[reference.rpartition('/')[2]]}"
    return changed


def _type_name(key: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in key.replace("-", "_").split("_"))


def _data_classes(name: str, schema: Mapping[str, Any]) -> str:
    if find_spec(_MODULE) is None:
        command = install_command("types")
        raise MissingExtra(f"{_MODULE} is not installed; install it with: {command}")
    text = _run([sys.executable, "-m", _MODULE, *_DATA_CLASSES, "--input"], schema)
    body = text[text.index("from __future__") :]
    return f'"""{_HEADER.format(name)}"""\n\n{body}'


def _interfaces(name: str, schema: Mapping[str, Any]) -> str:
    tool = shutil.which(TOOL)
    if tool is None:
        raise MissingExtra(f"{TOOL} is not installed; install it with: {INSTALL}")
    text = _run([tool, "--no-bannerComment", "--unreachableDefinitions", "--input"], schema)
    return f"/** {_HEADER.format(name)} */\n\n{text.lstrip()}"


def _run(command: Sequence[str], schema: Mapping[str, Any]) -> str:
    with tempfile.TemporaryDirectory(prefix="evalstream-") as folder:
        path = os.path.join(folder, "schema.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(schema, file)
        # Settings of a project in the working directory would change the output.
        done = subprocess.run(  # noqa: S603 - our own arguments
            [*command, path], capture_output=True, encoding="utf-8", check=False, cwd=folder
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise CannotCheck(f"the generator of types failed: {last}")
    return done.stdout
