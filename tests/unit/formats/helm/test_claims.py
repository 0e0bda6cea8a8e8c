"""Figures of calibration: those of HELM, and what a check says of them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.formats.helm.claims import measure_calibration

RUN = EXAMPLES / "helm" / "pens-model=acme_acorn-7b"
OF_THE_PACKAGE = {
    "ece_1_bin": 0.19565217391304346,
    "ece_10_bin": 0.2934782608695652,
    "selective_cov_acc_area": 0.27522253261709967,
    "selective_acc@10": 0.3333333333333333,
}
FIGURES = ("ece_10_bin", "ece_1_bin", "selective_cov_acc_area", "selective_acc@10")


def statistic(name: str, value: float) -> dict[str, Any]:
    """Return a statistic over one value."""
    figures = dict.fromkeys(("min", "max", "mean"), value) | {"variance": 0.0, "stddev": 0.0}
    sums = {"count": 1, "sum": value, "sum_squared": value * value}
    return {"name": {"name": name, "split": "test"}, **sums, **figures}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the example with the figures over its answers."""
    root = tmp_path / "run"
    shutil.copytree(RUN, root)
    entries = json.loads((root / "per_instance_stats.json").read_bytes())
    answers = []
    for one in entries:
        means = {stat["name"]["name"]: stat.get("mean") for stat in one["stats"]}
        if "perturbation" not in one:
            answers.append((means["max_prob"], int(means["exact_match"])))
    stats = json.loads((root / "stats.json").read_bytes())
    stats += [statistic(name, value) for name, value in measure_calibration(answers).items()]
    stats.append(statistic("platt_coef", 0.7))
    (root / "stats.json").write_text(json.dumps(stats))
    return root


def states(folder: Path) -> dict[str, str]:
    """Return the states of the claims about calibration."""
    (run,) = evalstream.check([folder], jobs=1).runs
    named = {one.label.removesuffix(":test"): one.state.value for one in run.claims}
    return {name: named[name] for name in (*FIGURES, "platt_coef")}


def test_figures_that_follow_from_the_answers_are_claims(folder: Path) -> None:
    assert states(folder) == dict.fromkeys(FIGURES, "confirmed") | {"platt_coef": "open"}


@each("figure", FIGURES)
def test_a_figure_that_was_changed_is_refuted(folder: Path, figure: str) -> None:
    path = folder / "stats.json"
    stats = json.loads(path.read_bytes())
    place = next(at for at, one in enumerate(stats) if one["name"]["name"] == figure)
    stats[place] = statistic(figure, stats[place]["mean"] + 0.001)
    path.write_text(json.dumps(stats))
    assert states(folder)[figure] == "refuted"


def test_the_order_of_equally_likely_answers_decides_nothing() -> None:
    answers = [(0.5, 1), (0.5, 0), (0.9, 1)]
    assert measure_calibration(answers).keys() == {"ece_1_bin", "ece_10_bin"}
    assert measure_calibration([(0.5, 1), (0.5, 1)])["selective_cov_acc_area"] == 1.0


def test_figures_are_those_of_the_package() -> None:
    """The numbers are those of uncertainty-calibration 0.1.4 for the same answers."""
    answers = [(place / 24, int(place % 3 == 0)) for place in range(1, 24)]
    assert measure_calibration(answers) == pytest.approx(OF_THE_PACKAGE, abs=1e-12)


@each("outcomes", [(1, 1, 1), (0, 0, 0), (0, 1, 1)])
def test_scaling_leaves_no_error_where_all_answers_are_alike(outcomes: tuple[int, ...]) -> None:
    found = measure_calibration(list(zip((0.2, 0.5, 0.8), outcomes, strict=True)))
    alike = {"platt_ece_10_bin": 0.0, "platt_ece_1_bin": 0.0} if len({*outcomes}) == 1 else {}
    assert {name: value for name, value in found.items() if name.startswith("platt")} == alike
