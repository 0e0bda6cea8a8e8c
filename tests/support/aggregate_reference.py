"""Aggregates migrated on parsed values, by tables that follow from the published schemas alone.

This shares no code with the package. The seal and the record of the source are left to the tests.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from spelled_json import Number, text_of

Object = dict[str, Any]
Change = Callable[[Any], Any]

ROOT = (
    *("schema_version", "evaluation_id", "evaluation_timestamp", "retrieved_timestamp"),
    *("source_metadata", "eval_library", "model_info", "evaluation_results"),
    "detailed_evaluation_results",
)
ARGUMENTS = (
    *("temperature", "top_p", "top_k", "max_tokens", "execution_command", "reasoning"),
    *("prompt_template", "agentic_eval_config", "eval_plan", "eval_limits", "sandbox"),
    *("max_attempts", "incorrect_attempt_feedback"),
)
"""The members of `generation_args`, which is closed."""

ENUMS = {
    "deployment_type": ("self_deployed", "externally_managed", "unknown"),
    "model_availability": ("open_weights", "closed_weights", "unknown"),
}
VARIANTS = {"url": ("url",), "hf_dataset": (), "other": ()}
"""The members that each type of source needs beside its name and its type."""


@dataclass
class Supplied:
    """What the user supplies, and what was found missing: `deployment`, `eval_library`, …"""

    version: str = "0.3.0"
    fill: bool = False
    deployment: tuple[str, str] | None = None
    library: tuple[str, str] | None = None
    needs: set[str] = field(default_factory=set)


def migrate_aggregate(document: Object, supplied: Supplied) -> Object:
    """Return the document in the target's version; what is missing is in `supplied.needs`."""
    made = {name: value for name, value in document.items() if name in ROOT and value is not None}
    moved = {name: value for name, value in document.items() if name not in ROOT}
    source = moved.pop("source_data", None)
    moved.pop("detailed_evaluation_results_per_samples", None)
    made["schema_version"] = supplied.version
    metadata = _without_nulls(
        "source_name",
        "source_organization_url",
        "source_organization_logo_url",
        "additional_details",
    )(made["source_metadata"])
    made["source_metadata"] = _kept(_with(additional_details=_texts)(metadata), moved)
    if "eval_library" not in made:
        name = supplied.library or (("unknown", "unknown") if supplied.fill else None)
        if name is None:
            supplied.needs.add("eval_library")
        else:
            made["eval_library"] = dict(zip(("name", "version"), name, strict=True))
    made["model_info"] = _model(made["model_info"], supplied)
    made["evaluation_results"] = [
        _result(one, source, supplied) for one in made["evaluation_results"]
    ]
    return made


def _model(model: Object, supplied: Supplied) -> Object:
    made = _without_nulls(
        "developer", "inference_platform", "inference_engine", "additional_details"
    )(model)
    if isinstance(made.get("inference_engine"), str):
        made["inference_engine"] = {"name": made["inference_engine"]}
    made = _with(inference_engine=_without_nulls("name", "version"))(made)
    details = dict(made.get("additional_details") or {})
    moved = {}
    given = dict(zip(ENUMS, supplied.deployment or (None, None), strict=True))
    for name, allowed in ENUMS.items():
        if details.get(name) in allowed:
            continue
        if name in details:
            moved[name] = details.pop(name)
        value = given[name] or ("unknown" if supplied.fill else None)
        if value is None:
            supplied.needs.add("deployment")
        else:
            details[name] = value
    return _kept({**made, "additional_details": _texts(details)}, moved)


def _result(result: Object, root_source: Any, supplied: Supplied) -> Object:
    made = _without_nulls("evaluation_result_id", "evaluation_timestamp", "generation_config")(
        result
    )
    made.setdefault("source_data", root_source)
    made["source_data"] = _source(made["source_data"], supplied)
    made = _with(
        metric_config=lambda value: _metric(value, supplied),
        score_details=_score,
        generation_config=_generation,
    )(made)
    return dict(made)


def _source(source: Any, supplied: Supplied) -> Any:
    if not isinstance(source, dict):
        supplied.needs.add("source_data")
        return source
    source = _without_nulls(
        "hf_repo", "hf_split", "samples_number", "sample_ids", "additional_details"
    )(source)
    kind = source.get("source_type")
    if kind not in VARIANTS or any(name not in source for name in VARIANTS[kind]):
        supplied.needs.add("source_data")
    return _with(sample_ids=_each(_number_text), additional_details=_texts)(source)


def _metric(metric: Any, supplied: Supplied) -> Any:
    judged = _with(
        judges=_each(
            lambda judge: _with(
                model_info=lambda model: _model(model, supplied), additional_details=_texts
            )(_without_nulls("temperature", "weight", "additional_details")(judge))
        ),
        additional_details=_texts,
    )
    optional = (
        *("evaluation_description", "metric_id", "metric_name", "metric_kind", "metric_unit"),
        *("metric_parameters", "score_type", "level_names", "level_metadata"),
        *("has_unknown_level", "llm_scoring", "additional_details"),
    )
    scoring = _without_nulls("aggregation_method", "expert_baseline", "additional_details")
    return _with(
        llm_scoring=lambda value: judged(scoring(value)) if isinstance(value, dict) else value,
        additional_details=_texts,
    )(_without_nulls(*optional)(metric))


def _score(score: Any) -> Any:
    uncertain = _without_nulls(
        *("standard_error", "confidence_interval", "standard_deviation"),
        *("num_samples", "num_bootstrap_samples"),
    )
    inner = _with(
        standard_error=_without_nulls("method"),
        confidence_interval=_without_nulls("confidence_level", "method"),
    )
    return _with(details=_texts, uncertainty=lambda value: inner(uncertain(value)))(
        _without_nulls("details", "uncertainty")(score)
    )


def _generation(config: Any) -> Any:
    config = _without_nulls("generation_args", "additional_details")(config)
    details = config.get("additional_details")
    arguments = config.get("generation_args")
    moved = {}
    if isinstance(arguments, dict):
        moved = {name: value for name, value in arguments.items() if name not in ARGUMENTS}
        known = {name: value for name, value in arguments.items() if name in ARGUMENTS}
        config = {**config, "generation_args": _arguments(known)}
    if details is not None and not isinstance(details, dict):
        moved["additional_details"] = details
        config.pop("additional_details")
    return _kept(_with(additional_details=_texts)(config), moved)


def _arguments(arguments: Object) -> Any:
    tools = _each(
        lambda tool: _with(parameters=_texts)(
            _without_nulls("name", "description", "parameters")(tool)
        )
    )
    agentic = _without_nulls("available_tools", "additional_details")
    limits = _without_nulls("time_limit", "message_limit", "token_limit")
    plan = _without_nulls("name", "steps", "config")
    return _with(
        agentic_eval_config=lambda value: _with(available_tools=tools, additional_details=_texts)(
            agentic(value)
        ),
        eval_plan=lambda value: _with(steps=_each(text_of), config=_texts)(plan(value)),
        eval_limits=limits,
        sandbox=_without_nulls("type", "config"),
    )(_without_nulls(*ARGUMENTS[3:])(arguments))


def _kept(value: Object, moved: Object) -> Object:
    """Keep members as texts in the `additional_details` of an object."""
    if not moved:
        return value
    kept = {f"migrated.{name}": text_of(member) for name, member in moved.items()}
    return {**value, "additional_details": {**value.get("additional_details", {}), **kept}}


def _without_nulls(*names: str) -> Change:
    def changed(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            name: member
            for name, member in value.items()
            if name not in names or member is not None
        }

    return changed


def _with(**changes: Change) -> Change:
    def changed(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            name: changes[name](member) if name in changes else member
            for name, member in value.items()
        }

    return changed


def _each(change: Change) -> Change:
    return lambda value: list(map(change, value)) if isinstance(value, list) else value


def _texts(value: Any) -> Any:
    """Make texts of the members of a map; null says as much as no member."""
    if not isinstance(value, dict):
        return value
    return {name: text_of(member) for name, member in value.items() if member is not None}


def _number_text(value: Any) -> Any:
    return text_of(value) if isinstance(value, Number) else value
