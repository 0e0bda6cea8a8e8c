"""INF1 and INF2: rules about the structure of documents, and about a benchmark alone."""

from __future__ import annotations

from typing import Final

from evalstream.formats.infereval.rules.analysts import INF201, INF202, INF205, INF206
from evalstream.formats.infereval.rules.design import INF203, INF204, INF207, INF211
from evalstream.formats.infereval.rules.ids import INF208, INF209, INF210
from evalstream.formats.infereval.rules.structure import INF101, INF102

OF_BENCHMARKS: Final = (INF101, INF204, INF205, INF206, INF207, INF208, INF210, INF211)
"""The rules that check a benchmark as a whole."""

OF_BENCHMARK_ITEMS: Final = (INF101, INF201, INF202, INF203, INF209, INF210, INF211)
"""The rules that check an item of a benchmark."""

RULES: Final = (
    INF101,
    INF102,
    INF201,
    INF202,
    INF203,
    INF204,
    INF205,
    INF206,
    INF207,
    INF208,
    INF209,
    INF210,
    INF211,
)
