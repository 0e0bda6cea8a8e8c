"""Writes aggregates without rows, as public leaderboards and papers give them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import orjson

from benchmarks.generate.aggregates import COLLECTION, DEVELOPER, RETRIEVED
from benchmarks.generate.dialect import Document
from benchmarks.generate.runs import store_names

VERSION = "0.3.0"
TASKS = (
    "algebra", "geometry", "world history", "chemistry", "contract law", "translation",
    "summaries", "code repair", "tool use", "reading",
)  # fmt: skip
METRICS = ("accuracy", "exact match", "win rate", "f1")
MODELS_IN_A_FOLDER = 20


def write_leaderboard(folder: Path, number: int, seed: int) -> Path:
    """Write the aggregate with this number, which counts from 0, and return its path."""
    random = Random(f"leaderboard {seed} {number}")
    model = f"river-{number // MODELS_IN_A_FOLDER:04d}"
    path = folder / store_names(f"{seed} {number}", model)[1]
    path.parent.mkdir(parents=True, exist_ok=True)
    document = leaderboard(random, model, RETRIEVED + number)
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    return path


def leaderboard(random: Random, model: str, retrieved: int) -> Document:
    """Compose what a leaderboard says about a model: one to ten tasks, and figures beside them."""
    details = {
        "deployment_type": "self_deployed",
        "model_availability": "open_weights",
        "parameters": f"{random.randint(1, 400)}B",
        "precision": random.choice(("bfloat16", "float16")),
    }
    return {
        "schema_version": VERSION,
        "evaluation_id": f"{COLLECTION}/{DEVELOPER}_{model}/{retrieved}",
        "retrieved_timestamp": str(retrieved),
        "source_metadata": {
            "source_name": "Example Leaderboard",
            "source_type": "documentation",
            "source_organization_name": "Example Organisation",
            "source_organization_url": "https://leaderboard.example.org",
            "evaluator_relationship": "third_party",
            "additional_details": {"paper": "https://example.org/paper", "season": "2025"},
        },
        "eval_library": {"name": "inspect_ai", "version": "unknown"},
        "model_info": {
            "name": model,
            "id": f"{DEVELOPER}/{model}",
            "developer": DEVELOPER,
            "inference_platform": "unknown",
            "additional_details": details,
        },
        "evaluation_results": [
            _result(random, model, task) for task in random.sample(TASKS, random.randint(1, 10))
        ],
    }


def _result(random: Random, model: str, task: str) -> Document:
    """State one figure, and in words what it was computed from."""
    metric, score = random.choice(METRICS), round(random.random(), 4)
    return {
        "evaluation_result_id": f"{COLLECTION}/{task}/{metric}".replace(" ", "_"),
        "evaluation_name": task,
        "source_data": {
            "dataset_name": f"{COLLECTION} {task}",
            "source_type": "url",
            "url": [f"https://leaderboard.example.org/{model}/{task}".replace(" ", "-")],
        },
        "metric_config": {
            "evaluation_description": f"{metric} on {task}, higher is better",
            "metric_id": metric.replace(" ", "_"),
            "metric_name": metric,
            "metric_kind": "accuracy",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": {
            "score": score,
            "details": {
                "raw": f"{100 * score:.2f}%",
                "tab": task,
                "rank": str(random.randint(1, 90)),
            },
        },
        "generation_config": {
            "generation_args": {"temperature": 0.0, "max_tokens": 2048},
            "additional_details": {"verified": "True", "runs": str(random.randint(1, 5))},
        },
    }
