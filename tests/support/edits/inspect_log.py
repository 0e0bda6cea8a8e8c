"""A small log of Inspect, from which the rows of a pair could have been converted."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

LETTERS = {0.0: "I", 1.0: "C"}


def log_of(rows: Iterable[Mapping[str, Any]], aggregate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the log with the samples of rows and the first result of their aggregate."""
    samples = [_sample(row) for row in rows]
    result = aggregate["evaluation_results"][0]
    score = result["score_details"]["score"]
    accuracy = {"name": "accuracy", "value": score}
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": _time(aggregate),
            "packages": {"inspect_ai": aggregate.get("eval_library", {}).get("version")},
            "task": result["evaluation_name"],
            "model": aggregate["model_info"]["id"],
            "model_generate_config": result.get("generation_config", {}).get("generation_args"),
            "config": {"epochs": 1},
        },
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [{"name": "match", "scorer": "match", "metrics": {"accuracy": accuracy}}],
        },
        "samples": samples,
    }


def _sample(row: Mapping[str, Any]) -> dict[str, Any]:
    messages = row.get("messages") or row.get("interactions") or []
    raw = row["output"]["raw"] if row.get("output") else messages[-1]["content"]
    output = raw if isinstance(raw, str) else raw[0]
    message = {"role": "assistant", "content": output}
    score = row["evaluation"]["score"]
    return {
        "id": row["sample_id"],
        "epoch": 1,
        "input": row["input"]["raw"],
        "target": row["input"]["reference"],
        **({"choices": row["input"]["choices"]} if row["input"].get("choices") else {}),
        "messages": [_message(one) for one in messages],
        "output": {
            "choices": [{"message": message, "stop_reason": "stop"}],
            "completion": output,
            "usage": row.get("token_usage"),
        },
        "scores": {"match": {"value": LETTERS.get(score, score), "answer": _answer(row)}},
        "metadata": {**row.get("metadata", {})},
        "error": {"message": row["error"]} if row.get("error") else None,
        **_times(row.get("performance", {})),
    }


def _message(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message of the log, in which tool calls name a function."""
    calls = [
        {"id": call.get("id"), "function": call.get("name"), "arguments": call.get("arguments")}
        for call in one.get("tool_calls") or ()
    ]
    others = {name: one[name] for name in ("role", "content", "tool_call_id") if name in one}
    return {**others, "tool_calls": calls}


def _answer(row: Mapping[str, Any]) -> str | None:
    found = row.get("answer_attribution") or [{}]
    return found[-1].get("extracted_value")


def _times(performance: Mapping[str, Any]) -> dict[str, float]:
    given = (("total_time", "latency_ms"), ("working_time", "generation_time_ms"))
    return {name: performance[of] / 1000 for name, of in given if performance.get(of)}


def _time(aggregate: Mapping[str, Any]) -> str:
    seconds = float(aggregate.get("evaluation_timestamp") or 0)
    return datetime.fromtimestamp(seconds, UTC).isoformat()
