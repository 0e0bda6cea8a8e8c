"""The figures of an output: no number of it is passed over."""

import json
from typing import Any

from each import each

from evalstream.formats.harpia.claims import judge_scores
from evalstream.formats.harpia.log_tally import LogTally, collect_known
from evalstream.formats.harpia.rules.results import HAR303
from evalstream.formats.harpia.views import view_claims
from evalstream.model.claim import Reason, State
from evalstream.parsing.json_values import read_decimals

BLEU = {"parameters": {"max_order": 2}, "score": 0.5, "elapsed time": 0.1}


@each(
    ("document", "place"),
    [
        ({"outputs": [{"metric": "BLEU", **BLEU}], "accuracy": 0.99}, "/accuracy"),
        ({"outputs": [{"metric": "BLEU", **BLEU}], "all": [{"acc": 0.99}]}, "/all/0/acc"),
        ({"BLEU": BLEU, "ROUGE": 0.99}, "/ROUGE"),
        ({"BLEU": BLEU, "ROUGE": {"value": 0.99}}, "/ROUGE/value"),
        ([{"metric": "BLEU", **BLEU, "accuracy": 0.99}], "/0/accuracy"),
    ],
)
def test_a_number_outside_of_scores_is_an_open_claim(document: Any, place: str) -> None:
    claims = judge_scores(view_claims(document), document, document, None).claims
    assert [one.pointer for one in claims if one.reason == Reason.FORMULA.value] == [place]


def test_parameters_and_times_are_no_claims() -> None:
    document = [{"metric": "BLEU", **BLEU}]
    (claim,) = judge_scores(view_claims(document), document, document, None).claims
    assert claim.pointer == "/0/score"


@each(
    ("score", "has_log", "state"),
    [
        (100.00000000000004, True, State.CONFIRMED),
        (100.00000000000004, False, State.OPEN),
        (-1.5, True, State.REFUTED),
        (-0.02, True, State.REFUTED),
        (250, False, State.REFUTED),
        (None, True, State.OPEN),
        ({}, False, State.OPEN),
    ],
)
def test_no_result_confirms_an_impossible_overlap(
    score: Any, *, has_log: bool, state: State
) -> None:
    document = [{"metric": "BLEU", **BLEU, "score": score}]
    outputs, digits = view_claims(document), read_decimals(json.dumps(document).encode())
    log = LogTally(collect_known(None, outputs, digits))
    for instance in "ab":
        record = {"metric": "BLEU", "parameters": BLEU["parameters"], "result": score}
        log.record({**record, "instance_id": instance}, certain=True)
    (claim,) = judge_scores(outputs, document, digits, log if has_log else None).claims
    assert claim.state is state


def test_a_number_that_is_not_finite_is_none() -> None:
    document = [{"metric": "BLEU", **BLEU, "score": {"a": 0.0, "b": 1}}]
    claims = judge_scores(view_claims(document), document, document, None, {"/0/score/a"}).claims
    assert [one.claimed for one in claims] == [None, 1]


def test_rounded_results_are_said_to_be_what_has_few_digits() -> None:
    document = [{"metric": "METEOR", "parameters": {}, "score": 0.5000004}]
    outputs, digits = view_claims(document), read_decimals(json.dumps(document).encode())
    log = LogTally(collect_known(None, outputs, digits))
    for number in (0.5, 0.499999, 0.500001):
        record = {"metric": "METEOR", "parameters": {}, "result": number}
        log.record({**record, "instance_id": str(number)}, certain=True)
    judged = judge_scores(outputs, document, digits, log)
    (claim,) = judged.claims
    assert (claim.state, claim.reason) == (State.ROUNDED, Reason.COARSE.value)
    (found,) = HAR303.apply(judged)
    assert found.message == "the claim is as near to the figure as the digits of the rows show"
