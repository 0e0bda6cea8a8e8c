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


@dataclass
class Supplied:
    """What the user supplies, and what was found missing: `deployment`, `eval_library`, …"""

    version: str = "0.3.0"
    fill: bool = False
    deployment: tuple[str, str] | None = None
    library: tuple[str, str] | None = None
    needs: set[str] = field(default_factory=set)

    def need(self, what: str) -> None:
        """Note that something is missing, unless it is to be filled in."""
        if not self.fill:
            self.needs.add(what)


class Shapeless(Exception):
    """A document without the objects that this migration looks into; no version allows that."""


def migrate_aggregate(document: Object, supplied: Supplied) -> Object:
    """Return the document in the target's version; what is missing is in `supplied.needs`.

    Raises Shapeless.
    """
    shapes = {"source_metadata": dict, "model_info": dict, "evaluation_results": list}
    if not all(isinstance(document.get(name), shape) for name, shape in shapes.items()):
        raise Shapeless
    known = {name: value for name, value in document.items() if name in ROOT}
    made = _without_nulls("evaluation_timestamp", "detailed_evaluation_results")(known)
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
    made["eval_library"] = _library(made.get("eval_library") or {}, supplied)
    if "detailed_evaluation_results" in made:
        sealed = _without_nulls("hash_algorithm", "checksum", "total_rows", "additional_details")
        made["detailed_evaluation_results"] = _with(additional_details=_texts)(
            sealed(made["detailed_evaluation_results"])
        )
    made["model_info"] = _model(made["model_info"], supplied)
    made["evaluation_results"] = [
        _result(one, source, supplied) for one in made["evaluation_results"]
    ]
    return made


def _library(library: Any, supplied: Supplied) -> Any:
    given = dict(zip(("name", "version"), supplied.library or (None, None), strict=True))
    if not isinstance(library, dict):
        raise Shapeless
    made = _with(additional_details=_texts)(_without_nulls("additional_details")(library))
    moved = {}
    for name, value in given.items():
        if not isinstance(made.get(name), str):
            if value is None:
                supplied.need("eval_library")
            if made.get(name) is not None:
                moved[name] = made[name]
            made[name] = value or "unknown"
    return _kept(made, moved)


def _model(model: Any, supplied: Supplied, *, is_judge: bool = False) -> Any:
    if not isinstance(model, dict):
        return model
    made = _without_nulls(
        "developer", "inference_platform", "inference_engine", "additional_details"
    )(model)
    if isinstance(made.get("inference_engine"), str):
        made["inference_engine"] = {"name": made["inference_engine"]}
    made = _with(inference_engine=_without_nulls("name", "version"))(made)
    if not isinstance(made.get("additional_details", {}), dict):
        raise Shapeless
    details = dict(made.get("additional_details") or {})
    moved = {}
    # What is supplied is about the model, not about its judges.
    known = None if is_judge else supplied.deployment
    given = dict(zip(ENUMS, known or (None, None), strict=True))
    for name, allowed in ENUMS.items():
        if details.get(name) in allowed:
            continue
        if details.pop(name, None) is not None:
            moved[name] = made["additional_details"][name]
        if given[name] is None:
            supplied.need("deployment")
        details[name] = given[name] or "unknown"
    return _kept({**made, "additional_details": _texts(details)}, moved)


def _result(result: Any, root_source: Any, supplied: Supplied) -> Any:
    if not isinstance(result, dict):
        return result
    made = _without_nulls("evaluation_result_id", "evaluation_timestamp", "generation_config")(
        result
    )
    is_shared = "source_data" not in made and root_source is not None
    if is_shared:
        made["source_data"] = root_source
    made = _with(source_data=lambda value: _source(value, supplied, is_shared=is_shared))(made)
    made = _with(
        metric_config=lambda value: _metric(value, supplied),
        score_details=_score,
        generation_config=_generation,
    )(made)
    return dict(made)


def _source(source: Any, supplied: Supplied, *, is_shared: bool) -> Any:
    if is_shared and isinstance(source, list):
        supplied.need("source_data")
        source = {"dataset_name": "unknown", "source_type": "url", "url": source}
    elif is_shared and isinstance(source, dict) and "source_type" not in source:
        is_repository = isinstance(source.get("hf_repo"), str)
        if not is_repository:
            supplied.need("source_data")
        source = {**source, "source_type": "hf_dataset" if is_repository else "other"}
    source = _without_nulls(
        "hf_repo", "hf_split", "samples_number", "sample_ids", "additional_details"
    )(source)
    return _with(sample_ids=_each(_number_text), additional_details=_texts)(source)


def _metric(metric: Any, supplied: Supplied) -> Any:
    judged = _with(
        judges=_each(
            lambda judge: _with(
                model_info=lambda model: _model(model, supplied, is_judge=True),
                additional_details=_texts,
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
    if not isinstance(config, dict):
        return config
    config = _without_nulls("generation_args", "additional_details")(config)
    details = config.get("additional_details")
    arguments = config.get("generation_args")
    moved = {}
    if isinstance(arguments, dict):
        moved = {name: value for name, value in arguments.items() if name not in ARGUMENTS}
        known = {name: value for name, value in arguments.items() if name in ARGUMENTS}
        config = {**config, "generation_args": _arguments(known)}
    if isinstance(details, str):
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
    known = value.get("additional_details", {})
    if not isinstance(known, dict) or kept.keys() & known.keys():
        raise Shapeless
    return {**value, "additional_details": {**known, **kept}}


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
