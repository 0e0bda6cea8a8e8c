"""The page about reports: the formats, an example of each, and every key of the JSON report."""

import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from evalstream.reporters import REPORTERS
from reference.markdown import code, fence, table
from reference.program import printed

EXAMPLE = ("check", "examples/run.jsonl", "--profile", "datastore")
"""The check whose reports are shown."""

_LANGUAGES = {"jsonl": "json", "json": "json", "sarif": "json", "junit": "xml"}

INTRODUCTION = """# Report formats

`--format` takes one of these names. [Read a report](../reports.md) explains findings and verdicts.
"""

HTML_LINES = 9
"""How many lines of a page are shown."""

SCHEMA = """## Keys of the JSON report

`evalstream schema show report` prints the JSON Schema of this report. Keys come in the order of the
tables. A later version may add keys; it raises `schema` if it changes or removes one.

Each line of `--format jsonl` fits `#/$defs/line` of the same schema: first come the findings, then
an object with the key `run` for each run, and last an object with the key `summary`.
"""


def page() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for name in REPORTERS:
        parts += _format(name)
    return "\n".join([*parts, SCHEMA, *described("report")])


def described(schema_name: str) -> Iterator[str]:
    """Yield sections that describe the keys of a schema, and the schema itself."""
    schema = json.loads(printed("schema", "show", schema_name))
    yield from (f"### {schema_name}\n", f"{schema['description']}\n", _keys(schema))
    for name, definition in schema["$defs"].items():
        yield from _definition(name, definition)
    yield from ("## JSON Schema\n", fence(json.dumps(schema, indent=2), "json"))


def _format(name: str) -> Iterator[str]:
    """Yield the section of a report format: what it is, and an example."""
    yield f"## {name}\n"
    yield f"{(import_module(f'evalstream.reporters.{name}').__doc__ or '').strip()}\n"
    shown = printed(*EXAMPLE, "--format", name)
    if name == "html":
        yield "[Share a report as a page](../how-to/html.md) shows it. The file begins:\n"
        shown = "\n".join(shown.splitlines()[:HTML_LINES])
        yield fence(shown, "html")
        return
    if name in {"json", "sarif"}:
        shown = json.dumps(json.loads(shown), indent=2, ensure_ascii=False)
    yield f"`evalstream {' '.join(EXAMPLE)} --format {name}` prints:\n"
    yield fence(shown, _LANGUAGES.get(name, "text"))


def _definition(name: str, definition: dict[str, Any]) -> Iterator[str]:
    """Yield the section of a part of the schema."""
    yield f"### {name}\n"
    yield f"{definition['description']}\n"
    if "properties" in definition:
        yield _keys(definition)
    else:
        yield f"Type: {_type({**definition, 'description': ''})}.\n"


def _keys(definition: dict[str, Any]) -> str:
    required = definition["required"]
    rows = (
        (code(key), _type(value), "yes" if key in required else "", value["description"])
        for key, value in definition["properties"].items()
    )
    return table(["key", "type", "always", "meaning"], rows)


def _type(schema: dict[str, Any]) -> str:
    """Return in words what values fit a schema."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(code(json.dumps(one)) for one in values)
    return _plain_type(schema)


def _plain_type(schema: dict[str, Any]) -> str:
    """Return in words the type of a list, an object or a plain value."""
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if "additionalProperties" in schema:
        keys = _type(schema["propertyNames"])
        return f"object from {keys} to {_type(schema['additionalProperties'])}"
    kinds = schema.get("type", "any value")
    return kinds if isinstance(kinds, str) else " or ".join(kinds)
