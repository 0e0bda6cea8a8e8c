"""The figures of comparisons of made runs are those of numpy, scipy and statsmodels."""

import json
import math
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from depth import some
from each import each
from figure_reference import OVERLAP, Case, Figures, Pair, cases, make, pairs_of, ranks_of

import evalstream
from evalstream.reporters.comparison.json import JsonComparison

MOST = 6
"""The number of comparisons of a run without --deep."""


def reported(case: Case, folders: list[Path]) -> Any:
    """Return the JSON report of a comparison of each two runs."""
    parts: list[bytes] = []

    class Kept:
        def write(self, data: str | bytes) -> None:
            parts.append(data.encode() if isinstance(data, str) else data)

    evalstream.compare(
        folders,
        verify=False,
        cluster="/metadata/passage" if case.clusters else None,
        level=case.level,
        effect=case.effect,
        min_overlap=OVERLAP,
        pairs="all",
        reporter=JsonComparison(Kept()),
    )
    return json.loads(b"".join(parts))


def at(value: Any, path: str) -> Any:
    """Return the value at a path, None where there is none."""
    for key in path.split("/"):
        if value is None:
            return None
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def disagreements(where: str, found: Any, expected: Figures) -> Iterator[str]:
    """Say which figures are others than expected; nan is any."""
    for path, one in expected.items():
        shown = at(found, path)
        if isinstance(one, float) and math.isnan(one):
            continue
        values = [shown, one] if isinstance(one, list) else [[shown], [one]]
        pairs = zip(*values, strict=True) if shown is not None or one is None else [(shown, one)]
        for own, other in pairs:
            is_equal = own == other
            if isinstance(own, (int, float)) and isinstance(other, (int, float)):
                is_equal = math.isclose(own, other, rel_tol=1e-7, abs_tol=1e-9)
            if not is_equal:
                yield f"{where} {path}: {shown}, expected {one}"


@each("case", some(cases(), MOST))
def test_figures_are_those_of_libraries(case: Case, tmp_path: Path) -> None:
    made = make(case, tmp_path)
    whole = reported(case, made.folders)
    found = {(one["a"], one["b"], one["result"]): one for one in whole["comparisons"]}
    assert len(found) == len(pairs_of(case)) * case.results
    wrong = []
    for a, b in pairs_of(case):
        for result in range(case.results):
            names = "ABCDE"[a], "ABCDE"[b], f"set {result}"
            expected = Pair(case, made, a, b, result).figures()
            wrong += disagreements(f"{names}", found[names], expected)
    wrong += [*holm(whole), *averages(case, whole), *ranks(case, made, whole)]
    assert not wrong


def holm(whole: Any) -> Iterator[str]:
    """Say which p values are not Holm's."""
    from statsmodels.stats.multitest import multipletests

    tested = [one for one in whole["comparisons"] if at(one, "estimate/test")]
    adjusted = [None] * len(tested)
    if len(tested) > 1:
        adjusted = multipletests([at(one, "estimate/test/p") for one in tested], method="holm")[1]
    for one, expected in zip(tested, adjusted, strict=True):
        yield from disagreements("holm", one, {"estimate/adjusted_p": expected})


def averages(case: Case, whole: Any) -> Iterator[str]:
    """Say which averages of results are not those of the figures of the results."""
    for one in whole["averages"]:
        pair = [
            x["estimate"] for x in whole["comparisons"] if (x["a"], x["b"]) == (one["a"], one["b"])
        ]
        error = math.hypot(*(x["standard_error"] for x in pair)) / len(pair)
        mean = np.mean([x["difference"] for x in pair])
        low, high = scipy.stats.norm.interval(case.level, mean, error) if error else (None, None)
        expected = {"results": case.results, "difference": mean, "standard_error": error,
                    "mean_a": np.mean([x["mean_a"] for x in pair]),
                    "interval/low": low, "interval/high": high}  # fmt: skip
        yield from disagreements("average", one, expected)


def ranks(case: Case, made: Any, whole: Any) -> Iterator[str]:
    """Say which figures of ranks are others, and which groups are not those of the verdicts."""
    for one in whole["rankings"]:
        result = int(one["metric"].removeprefix("set "))
        by_label = {"n": one["n"], **{rank["label"]: rank for rank in one["ranks"]}}
        yield from disagreements("ranks", by_label, ranks_of(case, made, result))
        apart = {
            (x["a"], x["b"])
            for x in whole["comparisons"]
            if x["verdict"] == "significant" and x["result"] == one["metric"]
        }
        for names in combinations("ABCDE"[: case.runs], 2):
            first, second = (set(by_label[name]["groups"]) for name in names)
            if bool(first & second) == (names in apart):
                yield f"groups of {names}"
