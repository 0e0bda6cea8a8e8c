"""Which names rows, aggregates and other data files have, whatever the case of their endings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

PACKED_ENDINGS: Final = (".gz", ".zst", ".bz2", ".xz")
ROWS_ENDINGS: Final = (".jsonl", ".ndjson", ".jsonlines")
ALL_ROWS_ENDINGS: Final = tuple(
    f"{ending}{packed}" for ending in ROWS_ENDINGS for packed in ("", *PACKED_ENDINGS)
)
AGGREGATE_ENDING: Final = ".json"
YAML_ENDINGS: Final = (".yaml", ".yml")
LOG_ENDINGS: Final = (".eval", ".parquet")
"""Binary logs of harnesses, which are recognised and never read as rows."""

SAMPLES: Final = "_samples"
NO_ENDING: Final = (
    f"the ending is not one of a known format ({', '.join(ROWS_ENDINGS)}, {AGGREGATE_ENDING}; "
    f"the former also with {', '.join(PACKED_ENDINGS)})"
)

_ROWS_INSIDE: Final = re.compile(r"\.(?:jsonl|ndjson|jsonlines)(?![a-z])", re.IGNORECASE)


def is_rows_name(path: str) -> bool:
    """Tell whether a name ends like that of rows, packed or not."""
    return path.lower().endswith(ALL_ROWS_ENDINGS)


def is_json_name(path: str) -> bool:
    """Tell whether a name ends like that of a JSON document that is not packed."""
    return path.lower().endswith(AGGREGATE_ENDING)


def is_packed_json_name(path: str) -> bool:
    """Tell whether a name ends like that of a packed JSON document."""
    return is_packed_name(path) and is_json_name(without_packing(path))


def is_yaml_name(path: str) -> bool:
    """Tell whether a name ends like that of a YAML document."""
    return path.lower().endswith(YAML_ENDINGS)


def is_data_name(path: str) -> bool:
    """Tell whether a file has to be looked into: it may hold data by its name."""
    return without_packing(path).lower().endswith(_DATA_ENDINGS)


def is_like_rows(path: str) -> bool:
    """Tell whether a name has an ending of rows anywhere, as `run.jsonl.zip` has."""
    return _ROWS_INSIDE.search(os.path.basename(path)) is not None


def ends_like_ours(path: str) -> bool:
    """Tell whether a name ends like that of rows or of an aggregate."""
    return is_rows_name(path) or is_json_name(without_packing(path))


def is_packed_name(path: str) -> bool:
    """Tell whether a file is compressed by its name."""
    return path.lower().endswith(PACKED_ENDINGS)


def is_hidden(path: str) -> bool:
    """Tell whether the last name of a path is hidden."""
    return path.startswith(".", path.rfind("/") + 1)


def without_packing(path: str) -> str:
    """Return a name without what says that the file is compressed."""
    return os.path.splitext(path)[0] if is_packed_name(path) else path


def without_ending(aggregate: str) -> str:
    """Return the name of an aggregate without its ending."""
    return aggregate[: -len(AGGREGATE_ENDING)] if is_json_name(aggregate) else aggregate


def rows_named_like(aggregate: str) -> Iterator[str]:
    """Name the rows files that belong to an aggregate by their usual names, there or not."""
    stem = without_ending(aggregate)
    for ending in ALL_ROWS_ENDINGS:
        yield f"{stem}{SAMPLES}{ending}"
        yield f"{stem}{ending}"


def rows_rank(stem: str, name: str) -> int | None:
    """Return how near a name is to those of an aggregate's rows, 0 the nearest; None if it is none.

    `stem` is the aggregate's name without its ending; only the case of the ending may differ
    from `rows_named_like`.
    """
    if not name.startswith(stem):
        return None
    rest = name[len(stem) :]
    is_samples = rest.startswith(SAMPLES)
    ending = (rest[len(SAMPLES) :] if is_samples else rest).lower()
    if ending not in ALL_ROWS_ENDINGS:
        return None
    return 2 * ALL_ROWS_ENDINGS.index(ending) + (not is_samples)


def aggregate_candidates(rows: str) -> Iterator[str]:
    """Name the aggregates that rows belong to by their name, there or not."""
    stem, _ = os.path.splitext(without_packing(rows))
    for candidate in (f"{stem.removesuffix(SAMPLES)}.json", f"{stem}.json"):
        if candidate != rows:
            yield candidate


_DATA_ENDINGS: Final = (*ROWS_ENDINGS, AGGREGATE_ENDING, *YAML_ENDINGS, *LOG_ENDINGS)
