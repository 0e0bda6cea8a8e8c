"""The rules of infereval by what they check."""

from __future__ import annotations

from typing import Final

from evalstream.formats.infereval.rules.copies import INF301, INF302
from evalstream.formats.infereval.rules.design import (
    INF201,
    INF202,
    INF203,
    INF204,
    INF205,
    INF206,
    INF207,
    INF211,
)
from evalstream.formats.infereval.rules.ids import INF208, INF209, INF210
from evalstream.formats.infereval.rules.samples import (
    INF303,
    INF304,
    INF305,
    INF306,
    INF307,
    INF308,
    INF309,
)
from evalstream.formats.infereval.rules.structure import INF101

OF_EVALUATIONS: Final = (INF301, INF302, INF307)
"""The rules that check the part of an evaluation outside its items."""

OF_ITEMS: Final = (INF301, INF303, INF304, INF305, INF306, INF308, INF309)
"""The rules that check an item of an evaluation."""

OF_BENCHMARKS: Final = (INF101, INF204, INF205, INF206, INF207, INF208, INF210, INF211)
"""The rules that check a benchmark as a whole."""

OF_BENCHMARK_ITEMS: Final = (INF101, INF201, INF202, INF203, INF209, INF210, INF211)
"""The rules that check an item of a benchmark."""
