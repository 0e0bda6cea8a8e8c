"""The values that options of the Python API have, where these are closed sets."""

from __future__ import annotations

from typing import Literal

Profile = Literal["default", "datastore"]
Engine = Literal["auto", "rust", "portable"]
ExecutorName = Literal["auto", "serial", "pool", "dask"]
Passing = Literal["all", "valid"]
Recipe = Literal["auto", "concat", "concat-first", "json-str", "json-list", "json-list-spaced"]
SchemaVersion = Literal["auto", "0.2.0", "0.2.0+list", "0.2.1", "0.2.2", "0.2.3", "0.3.0"]
InputFormat = Literal[
    "auto", "eee", "infereval", "harpia", "evalguard", "lm_eval", "inspect", "swe_bench"
]
