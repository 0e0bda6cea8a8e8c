"""Options and aggregates that blocks of rows are checked with."""

import random
from typing import Any, Final

from rows import COVERED, Row

from evalstream.formats.eee import versions
from evalstream.formats.eee.catalogue import ROW_RULES
from evalstream.model.finding import Severity
from fuzz.schemas import some_schema
from fuzz.templates import EVALUATION, MODEL, NAMES, RESULT_IDS

Settings = dict[str, Any]
"""Options by name, with those of the routing of rows and the places of a schema among them."""

_CODES: Final = (
    *(rule.code for rule in ROW_RULES), "ES101", "ES102", "ES103", "ES107", "ES108", "ES110",
    "ES112", "ES114", "ES201", "ES202", "ES203", "ES204", "ES205", "ES206", "ES208", "ES209",
    "ES210", "ES212", "ES215", "ES216", "ES401", "ES402", "ES403", "ES404", "ES405", "ES406",
    "ES407", "ES408", "ES409", "ES6", "ES8",
)  # fmt: skip


def some_settings(chance: random.Random) -> Settings:
    """Return options, mostly the usual ones."""
    found: Settings = {"max_findings": chance.choice((0, 0, 0, 100, 1, 3))}
    for share, draw in _DRAWS:
        if chance.random() < share:
            found |= draw(chance)
    return found


def _selection(chance: random.Random) -> Settings:
    select = (("ES",), ("ES2",), ("ES3",), ("ES4",), ("ES1",), ("ES312",), ("ES316",), ("ES31",))
    some = tuple(sorted(chance.sample(_CODES, chance.choice((1, 2, 10, 30)))))
    chosen = some if chance.random() < 0.5 else chance.choice(select)
    if chance.random() < 0.2:
        return {"select": ("ES",), "ignore": some}
    # A check that ignores every rule is refused.
    way = "select" if chosen == ("ES",) else chance.choice(("select", "ignore"))
    return {way: chosen}


def _schema(chance: random.Random) -> Settings:
    schema, places = some_schema(chance)
    return {"schema": schema, "places": places}


def _version(chance: random.Random) -> Settings:
    return {"schema_version": chance.choice(versions.INSTANCE_VERSIONS)}


def _recipe(chance: random.Random) -> Settings:
    return {"recipe": chance.choice([*COVERED])}


def _limits(chance: random.Random) -> Settings:
    if chance.random() < 0.5:
        return {"max_line_bytes": chance.choice((10, 60, 400, 700, 1000, 3000))}
    return {"max_depth": chance.choice((1, 4, 10, 63, 64, 65, 100, 128, 300, 1000))}


def _routing(chance: random.Random) -> Settings:
    names = chance.choice((("rejected",), ("accepted",), ("accepted", "rejected")))
    return {name: f"{name}.jsonl" for name in names}


def _noise(chance: random.Random) -> Settings:
    pattern = chance.choice((None, None, "INFO", "x$", "."))
    return {"skip_noise": True} if pattern is None else {"skip_noise": True, "noise": pattern}


_DRAWS: Final = (
    (0.15, lambda _: {"select": ("ES",)}),
    (0.2, _selection),
    (0.07, _schema),
    (0.1, _version),
    (0.08, _recipe),
    (0.1, _limits),
    (0.12, _routing),
    (0.06, _noise),
    (0.1, lambda _: {"strict": True}),
    (0.1, lambda chance: {"fail_on": chance.choice([*Severity])}),
    (0.1, lambda _: {"show_values": False}),
    (0.08, lambda _: {"profile": "datastore"}),
    (0.2, lambda _: {"links": True}),
)


def some_aggregate(chance: random.Random, lines: list[bytes]) -> Row | None:
    """Return an aggregate, or None."""
    if chance.random() < 0.35:
        return None
    count = chance.choice((0, 1, 1, 2, 3, 4))
    version = chance.choice(versions.DECLARED)
    has_ids = chance.random() < 0.5
    document: Row = {
        "schema_version": version,
        "evaluation_id": EVALUATION if chance.random() < 0.8 else "other/acme/x/1",
        "model_info": {"name": "Acorn", "id": MODEL if chance.random() < 0.8 else "acme/other"},
        "evaluation_results": [_result(chance, place, has_ids) for place in range(count)],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": "rows.jsonl",
            "hash_algorithm": chance.choice(("sha256", "sha256", "sha256", "md5")),
            "total_rows": len(lines),
        },
    }
    library = chance.choice((None, "inspect_ai", "helm", "lm-eval", "unknown"))
    if library is not None:
        document["eval_library"] = {"name": library, "version": "1"}
    return document


def _result(chance: random.Random, place: int, has_ids: bool) -> Row:
    bounds = (
        (0, 1), (0, 1), (0.0, 1.0), (0, 100), (None, None), (1, 0), (-1, 1), (0, None), (None, 1),
        ("-Infinity", "Infinity"), (0, 10**400), (0.25, 0.5), (0, 1.01),
    )  # fmt: skip
    least, most = chance.choice(bounds)
    metric: Row = {
        "lower_is_better": chance.random() < 0.2,
        "score_type": chance.choice(("continuous", "continuous", "binary", "levels", None)),
        "min_score": least,
        "max_score": most,
        "metric_name": chance.choice((None, "accuracy", "rougeL", "f1")),
    }
    if metric["score_type"] == "levels":
        metric |= {"level_names": ["a", "b", "c"], "has_unknown_level": chance.random() < 0.5}
    source: Row = {"dataset_name": "tiny"}
    if chance.random() < 0.2:
        source["sample_ids"] = [f"s{number}" for number in range(chance.choice((1, 20)))] + [7, "8"]
    result: Row = {
        "evaluation_name": chance.choice((NAMES[place % 3], NAMES[place % 3], *NAMES)),
        "source_data": source,
        "metric_config": metric,
        "score_details": {"score": chance.choice((0, 0.5, 1.0)), "uncertainty": {"num_samples": 8}},
    }
    if has_ids:
        result["evaluation_result_id"] = chance.choice((RESULT_IDS[place % 3], *RESULT_IDS))
    return result
