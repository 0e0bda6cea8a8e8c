"""The scale of a result: where its scores are right and wrong."""

import math
from typing import Any

from each import each

from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.score_scale import Scale, read_scale


def read(metric: dict[str, Any]) -> Scale | None:
    results = [{"evaluation_name": "sums", "metric_config": metric}]
    (result,) = Aggregate({"schema_version": "0.3.0", "evaluation_results": results}).joinable
    return read_scale(result)


@each(
    ("metric", "expected"),
    [
        ({"min_score": 0, "max_score": 4}, Scale(0, 4)),
        ({"min_score": 2, "max_score": 2}, None),
        ({"min_score": 4, "max_score": 0}, None),
        ({"min_score": 0, "max_score": 4, "lower_is_better": True}, Scale(4, 0, is_turned=True)),
        ({"min_score": 0, "max_score": 4, "score_type": "levels"}, None),
        ({"score_type": "binary"}, Scale(0, 1)),
        ({"min_score": 0, "max_score": math.inf, "metric_name": "accuracy"}, Scale(0, None)),
    ],
)
def test_bounds_are_a_scale_where_they_differ(
    metric: dict[str, Any], expected: Scale | None
) -> None:
    assert read(metric) == expected
