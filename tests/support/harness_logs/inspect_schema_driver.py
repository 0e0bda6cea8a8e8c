"""Runs under the harnesses' Python: print the schema of Inspect's logs as evalstream keeps it.

It is that of the models with which inspect_ai loads logs, without what their validators decide: the
reader must load every value that the schema allows.
"""

import json
from importlib.metadata import version
from typing import Any

from inspect_ai.log import EvalLog

DECIDED = {
    *("AdaptiveConcurrency", "CheckpointEvent", "ContentDocument", "SentinelConfig"),
    *("SentinelEvent", "Timeline", "ViewerConfig"),
}
"""Models with validators that may refuse what their types allow, or that take any member."""

NARROWED = {
    ("GenerateConfig", "prompt_logprobs"): {"type": "null"},
    ("SandboxEnvironmentSpec", "config"): {"anyOf": [{"type": "string"}, {"type": "null"}]},
}
"""Members of models whose validators decide, with the values that they let pass as they are.

The validator of a sandbox asks its provider about a configuration that is an object.
"""

TIMES = {"completed_at", "created", "started_at"}
"""Members that the schema calls texts, and that validators read as times."""

EARLIER: dict[str, dict[str, Any]] = {
    "EvalConfig": {"max_messages": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    "EvalMetric": {"options": {}},
}
"""Members that logs of earlier releases have, which the reader moves or leaves out."""

APART = {
    *("title", "description", "default", "examples", "discriminator"),
    *("properties", "anyOf", "oneOf"),
}
"""Annotations, and what is reduced in a way of its own."""


def model(schema: Any) -> str:
    """Return the name of the model that a schema, or its items, refer to."""
    reference = schema.get("$ref") or schema.get("items", {}).get("$ref", "")
    return str(reference).removeprefix("#/$defs/")


def share_a_name(models: list[dict[str, Any]]) -> bool:
    """Tell whether a member with one value names each of some models."""
    return any(all("const" in one.get(name, ()) for one in models) for name in models[0])


def reduce(schema: Any, definitions: dict[str, Any], name: str = "") -> Any:
    """Return a schema without annotations, and without what validators decide."""
    if isinstance(schema, list):
        return [reduce(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: reduce(one, definitions) for key, one in schema.items() if key not in APART}
    if "properties" in schema:
        found["properties"] = {
            key: NARROWED.get((name, key)) or reduce(one, definitions)
            for key, one in schema["properties"].items()
        }
        for key in TIMES & found["properties"].keys():
            mark_times(found["properties"][key])
    if "prefixItems" in found:
        found["items"] = found.pop("prefixItems")[0]
    any_of = schema.get("anyOf") or schema.get("oneOf")
    if any_of:
        some = [reduce(one, definitions) for one in any_of if model(one) not in DECIDED]
        models = [definitions[model(one)].get("properties", {}) for one in some if "$ref" in one]
        if len(models) > 1 and not share_a_name(models):
            some = [one for one in some if "$ref" not in one]
        found["anyOf"] = some or [{"type": "null"}]
    return found


def mark_times(schema: dict[str, Any]) -> None:
    """Give the texts that a schema allows the format of times."""
    for one in (schema, *schema.get("anyOf", ())):
        if one.get("type") == "string" and "const" not in one:
            one["format"] = "date-time"


def references(schema: Any) -> set[str]:
    """Return the names of the models that a schema refers to."""
    if isinstance(schema, list):
        return set().union(*map(references, schema))
    if not isinstance(schema, dict):
        return set()
    own = {model(schema)} if "$ref" in schema else set()
    return own.union(*map(references, schema.values()))


def main() -> None:
    """Print the schema on one line."""
    schema = EvalLog.model_json_schema()
    definitions = schema.pop("$defs")
    for name, members in EARLIER.items():
        definitions[name]["properties"] |= members
    whole = reduce(schema, definitions, "EvalLog")
    kept: dict[str, Any] = {}
    while names := references([whole, *kept.values()]) - kept.keys():
        kept |= {name: reduce(definitions[name], definitions, name) for name in names}
    release = version("inspect_ai")
    comment = f"EvalLog of inspect_ai {release} (MIT), without what its validators decide"
    whole = {"$comment": comment, **whole, "$defs": dict(sorted(kept.items()))}
    print(json.dumps(whole, separators=(",", ":")))


if __name__ == "__main__":
    main()
