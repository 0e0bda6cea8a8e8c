"""Real evaluations of infereval in a comparison, against figures that are worked out here."""

import json
from pathlib import Path
from typing import Any

from compared_records import collected, compared
from corpus import CORPUS, needs_corpus
from each import each

FOLDER = CORPUS / "infereval"
EVALUATIONS = sorted((FOLDER / "evaluations").glob("*.json")) if FOLDER.is_dir() else []
SUBSTANTIVE = {"good", "bad"}

pytestmark = needs_corpus


def verdicts(path: Path) -> dict[str, tuple[str, str]]:
    """Return the model's verdict and the analysts' consensus by the ids of items."""
    document = json.loads(path.read_text())
    return {
        item["id"]: (item["model_verdict"], majority(item["analyst_verdicts"]))
        for item in document["items"]
    }


def majority(given: list[Any]) -> str:
    """Return the verdict of more analysts, without those that abstain."""
    lead = given.count("good") - given.count("bad")
    return "good" if lead > 0 else "bad" if lead < 0 else "abstain"


@each("path", EVALUATIONS, ids=lambda path: path.stem)
def test_the_means_are_observed_agreement_and_coverage(path: Path) -> None:
    found = collected(path)
    given = verdicts(path).values()
    decided = [one == other for one, other in given if {one, other} <= SUBSTANTIVE]
    scores = {
        metric: [one.score for (_, label), one in found.samples.items() if label.endswith(metric)]
        for metric in ("observed agreement", "coverage")
    }
    agreed = [score for score in scores["observed agreement"] if score == score]
    assert sorted(agreed) == sorted(map(float, decided))
    assert sorted(scores["coverage"]) == sorted(float(one != "abstain") for one, _ in given)


def test_two_evaluations_of_one_benchmark_meet_in_all_items() -> None:
    first, second = (
        FOLDER / f"evaluations/stop_sign-gpt-4.1-{name}-eta.json"
        for name in ("drift-check-true-june-prompt", "coherence-plain")
    )
    report, flips = compared(first, second)
    a, b = verdicts(first), verdicts(second)
    flipped = [name for name in a if SUBSTANTIVE.issuperset((*a[name], *b[name]))]
    flipped = [name for name in flipped if (a[name][0] == a[name][1]) != (b[name][0] == b[name][1])]
    assert {one.alignment.overlap for one in report.comparisons} == {1}
    assert [flip.sample_id for flip in flips] == flipped
    assert "endorsement_config/question_form" in {one.name for one in report.confounders}
