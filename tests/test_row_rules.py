"""What rows say about themselves: the borders of each rule, and the pass that accepts quickly."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from corpus import CORPUS, lines_of
from hypothesis import given
from hypothesis import strategies as st
from rows import VERSIONS, Row, aggregate_of, bounded, line_of, mutants, sound_rows

import evalstream
from evalstream.aggregate import Aggregate
from evalstream.catalog import RULES
from evalstream.engine import Engine
from evalstream.model import Fault, Options, Severity
from evalstream.probe import context_of
from evalstream.quiet import QUIET, named, quiet_check
from evalstream.rule import Context

OPTIONAL = ("ES312", "ES316")
LAYER = [code for code in RULES if code.startswith("ES3")]


def context(version: str = "0.2.0", **changes: Any) -> Context:
    """Return the context of a run with an aggregate, its first result changed."""
    document = aggregate_of(version, b"", 0)
    document["evaluation_results"][0].update(changes)
    return context_of(Options(select=("ES3",)), Aggregate("aggregate.json", document), b"")


ALONE = context_of(Options(select=("ES3",)), None, b"")
CONTEXTS = [ALONE, context("0.2.0"), context("0.3.0")]


def said(row: Row, within: Context) -> list[Fault]:
    """Return everything that the rules of the layer say of a row, one by one."""
    bound = [rule.row(within) for code in LAYER if (rule := RULES[code]).row is not None]
    return [fault for check in bound if check is not None for fault in check(row)]


def codes(row: Row, within: Context = CONTEXTS[1]) -> set[str]:
    """Return what is said of a row: codes, with W or I where the severity is not the rule's."""
    marks = {Severity.WARNING: "W", Severity.INFO: "I", None: "", Severity.ERROR: "E"}
    return {fault.code + marks[fault.severity] for fault in said(row, within)}


def changed(number: int, changes: dict[str, Any], version: str = "0.2.0") -> Row:
    """Return an example row with the members at some pointers set, or removed with `...`."""
    row = copy.deepcopy(sound_rows(version)[number])
    for place, value in changes.items():
        *path, last = place.split("/")
        owner: Any = row
        for key in path:
            owner = owner[int(key) if isinstance(owner, list) else key]
        if value is ...:
            del owner[last]
        else:
            owner[int(last) if isinstance(owner, list) else last] = value
    return row


SINGLE, AGENTIC, MULTI = 0, 2, 5
ANSWER = {
    "turn_idx": 0,
    "source": "output.raw",
    "extracted_value": "5",
    "extraction_method": "regex",
    "is_terminal": True,
}

CASES: list[tuple[int, dict[str, Any], str]] = [
    (SINGLE, {}, ""),
    (AGENTIC, {}, ""),
    (MULTI, {}, ""),
    (SINGLE, {"answer_attribution": []}, "ES301I"),
    (SINGLE, {"answer_attribution": [ANSWER, ANSWER]}, "ES301"),
    (SINGLE, {"answer_attribution": [{**ANSWER, "is_terminal": False}]}, "ES301"),
    (SINGLE, {"answer_attribution": [{**ANSWER, "is_terminal": False}, ANSWER]}, ""),
    (SINGLE, {"answer_attribution": [{**ANSWER, "is_terminal": "yes"}]}, ""),
    (SINGLE, {"answer_attribution": "none"}, ""),
    (SINGLE, {"answer_attribution/0/turn_idx": 1}, "ES302"),
    (SINGLE, {"answer_attribution/0/turn_idx": -1}, "ES302"),
    (SINGLE, {"answer_attribution/0/turn_idx": "1"}, ""),
    (AGENTIC, {"answer_attribution/0/turn_idx": 4}, "ES302"),
    (AGENTIC, {"answer_attribution/0/turn_idx": 0}, ""),
    (SINGLE, {"answer_attribution/0/source": "output.raw[0]"}, ""),
    (SINGLE, {"answer_attribution/0/source": "interactions[0].content"}, "ES303"),
    (SINGLE, {"answer_attribution/0/source": ""}, "ES303"),
    (MULTI, {"answer_attribution/0/source": "output.raw"}, "ES303"),
    (MULTI, {"answer_attribution/0/source": "messages[3].content"}, ""),
    (MULTI, {"answer_attribution/0/source": "interactions[turn_idx].content"}, ""),
    (MULTI, {"answer_attribution/0/source": "interactions[4].content"}, "ES303"),
    (MULTI, {"interactions/0/turn_idx": 1}, "ES304"),
    (MULTI, {"interactions/0/turn_idx": "0"}, ""),
    (AGENTIC, {"interactions/2/tool_call_id": "nobody"}, "ES305"),
    (AGENTIC, {"interactions/2/tool_call_id": ["call-1"]}, ""),
    (AGENTIC, {"interactions/2/tool_call_id": ["call-1", "nobody"]}, "ES305"),
    (AGENTIC, {"interactions/2/tool_call_id": ...}, "ES305W"),
    (AGENTIC, {"interactions/2/tool_call_id": []}, "ES305W"),
    (AGENTIC, {"interactions/0/tool_call_id": "call-1"}, "ES305"),
    (AGENTIC, {"interactions/1/tool_calls": 2 * [{"id": "call-1", "name": "x"}]}, "ES305W ES306"),
    (AGENTIC, {"evaluation/num_turns": 3}, "ES306"),
    (AGENTIC, {"evaluation/num_turns": ...}, "ES306"),
    (AGENTIC, {"evaluation/num_turns": None}, ""),
    (AGENTIC, {"evaluation/tool_calls_count": 0}, "ES306"),
    (AGENTIC, {"evaluation/tool_calls_count": ...}, ""),
    (SINGLE, {"evaluation/num_turns": 7}, ""),
    (SINGLE, {"evaluation/is_correct": False}, "ES307"),
    (SINGLE, {"evaluation/score": 0}, "ES307"),
    (SINGLE, {"evaluation/score": True}, ""),
    (SINGLE, {"evaluation/score": False}, "ES307"),
    (SINGLE, {"evaluation/score": 0.5, "evaluation/is_correct": False}, ""),
    (SINGLE, {"evaluation/score": 1.5}, "ES308W"),
    (SINGLE, {"evaluation/score": -1}, "ES308W"),
    (SINGLE, {"evaluation/score": 10**400}, "ES308W"),
    (SINGLE, {"evaluation/score": "1.5"}, ""),
    (SINGLE, {"token_usage/total_tokens": 27}, "ES309"),
    (SINGLE, {"token_usage/total_tokens": 28.0}, ""),
    (SINGLE, {"token_usage/total_tokens": 10**400}, "ES309"),
    (SINGLE, {"token_usage/total_tokens": "27"}, ""),
    (SINGLE, {"token_usage": {"input_tokens": 1, "output_tokens": 2}}, ""),
    (
        SINGLE,
        {"token_usage/input_tokens_cache_read": 5, "token_usage/total_tokens": 33},
        "",
    ),
    (
        SINGLE,
        {
            "token_usage/input_tokens_cache_read": 5,
            "token_usage/reasoning_tokens": 7,
            "token_usage/total_tokens": 40,
        },
        "",
    ),
    (SINGLE, {"performance/generation_time_ms": 210.6}, "ES310"),
    (SINGLE, {"performance/time_to_first_token_ms": 211}, "ES310"),
    (SINGLE, {"performance/time_to_first_token_ms": 210.5}, ""),
    (SINGLE, {"performance/latency_ms": ...}, ""),
    (SINGLE, {"performance/latency_ms": 10**400}, ""),
    (SINGLE, {"sample_id": ""}, "ES311"),
    (SINGLE, {"evaluation_id": " "}, "ES311"),
    (SINGLE, {"input/raw": "\n\t"}, "ES311"),
    (SINGLE, {"sample_id": 0}, ""),
    (SINGLE, {"input/choices": ["6", "7"]}, "ES313"),
    (SINGLE, {"input/choices": []}, ""),
    (SINGLE, {"input/reference": "B"}, ""),
    (SINGLE, {"input/reference": "(b)"}, ""),
    (SINGLE, {"input/reference": "C"}, "ES313"),
    (SINGLE, {"input/reference": "1"}, ""),
    (SINGLE, {"input/reference": "2"}, "ES313"),
    (SINGLE, {"error": "timed out"}, "ES314"),
    (SINGLE, {"error": None}, ""),
    (AGENTIC, {"interactions/1/tool_calls": None}, "ES305 ES306 ES315"),
    (MULTI, {"interaction_type": "agentic"}, "ES315"),
    (MULTI, {"interactions/1/role": "user"}, "ES315"),
    (SINGLE, {"model_id": "acorn"}, "ES317"),
    (SINGLE, {"model_id": "acme/"}, "ES317"),
    (SINGLE, {"model_id": "openai/azure/gpt-4"}, ""),
    (SINGLE, {"metadata": {"a": [{"key": "sk-" + 40 * "aB3x"}]}}, "ES316"),
    (SINGLE, {"metadata": {"password": "correct-horse-battery"}}, "ES316"),
    (SINGLE, {"metadata": {"password": "YOUR_PASSWORD_HERE"}}, ""),
    (SINGLE, {"metadata": {"password": "${SECRET_FROM_ENV}"}}, ""),
    (SINGLE, {"metadata": {"token_count": "123456789012345"}}, ""),
    (SINGLE, {"metadata": {"ghp_" + 9 * "aB3x": 1}}, "ES316"),
    (SINGLE, {"output/raw": 4 * "answer ", "input/raw": f"Say {4 * 'answer '} now"}, "ES312"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "changes", "expected"), CASES)
def test_the_border_of_each_rule(number: int, changes: dict[str, Any], expected: str) -> None:
    assert codes(changed(number, changes)) == set(expected.split())


def test_every_rule_of_the_layer_has_its_border_drawn() -> None:
    drawn = {mark.rstrip("WI") for _, _, expected in CASES for mark in expected.split()}
    assert drawn == set(LAYER)


@pytest.mark.parametrize(
    ("metric", "score", "correct", "expected"),
    [
        ({"lower_is_better": True}, 0, True, ""),
        ({"lower_is_better": False, "score_type": "levels"}, 1, False, ""),
        ({"lower_is_better": False, "min_score": 1, "max_score": 5}, 1, False, ""),
        ({"lower_is_better": False, "min_score": 1, "max_score": 5}, 0, False, "ES308W"),
        ({"lower_is_better": False, "max_score": 1}, 0, True, "ES307"),
        ({"lower_is_better": False, "min_score": "-Infinity", "max_score": None}, -7, False, ""),
    ],
)
def test_the_metric_has_a_say(
    metric: dict[str, Any], score: float, correct: bool, expected: str
) -> None:
    row = changed(SINGLE, {"evaluation/score": score, "evaluation/is_correct": correct})
    assert codes(row, context(metric_config=metric)) == set(expected.split())


def test_a_row_that_joins_by_id_is_in_error_past_the_bounds() -> None:
    row = changed(SINGLE, {"evaluation/score": 2}, "0.3.0")
    assert codes(row, CONTEXTS[2]) == {"ES308"}


def test_inspect_is_known_by_its_generation_time() -> None:
    row = changed(SINGLE, {"performance/generation_time_ms": 999})
    assert codes(row, ALONE) == set()
    document = aggregate_of("0.3.0", b"", 0)
    for name in ("inspect", "inspect_ai"):
        document["eval_library"] = {"name": name, "version": "1"}
        within = context_of(Options(select=("ES3",)), Aggregate("a", document), b"")
        assert codes(row, within) == set()
        slow = changed(SINGLE, {"performance/time_to_first_token_ms": 999})
        assert codes(slow, within) == {"ES310"}


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    secret = "hf_" + 10 * "aB3x"
    rows = [changed(SINGLE, {"metadata": {"note": f"key {secret}", secret: "x"}})]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(map(line_of, rows)))
    report = evalstream.check(path, select=("ES316",))
    assert report.counts == {"ES316": 2}
    assert not [finding for finding in report if secret in json.dumps(finding.as_dict())]


def assert_quiet_is_right(row: Any, within: Context) -> bool:
    """Require the accepting pass to accept only rows of which nothing else is said."""
    accepted = quiet_check(within)(row) if named(row) else None
    judged = [fault for fault in said(row, within) if fault.code in QUIET]
    if accepted is not None:
        assert judged == list(accepted)
    return accepted is not None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("within", CONTEXTS)
def test_usual_rows_are_accepted_quickly(version: str, within: Context) -> None:
    for row in sound_rows(version):
        assert assert_quiet_is_right(row, within)
        assert assert_quiet_is_right({**row, "answer_attribution": []}, within)


@pytest.mark.parametrize(("number", "changes", "expected"), CASES)
def test_what_is_accepted_quickly_has_no_fault(
    number: int, changes: dict[str, Any], expected: str
) -> None:
    accepted = assert_quiet_is_right(changed(number, changes), CONTEXTS[1])
    assert not (accepted and set(expected.replace("ES301I", "").split()) & QUIET)


@given(row=st.one_of(mutants("0.2.0"), mutants("0.3.0", 5)), number=st.integers(0, 2))
@bounded(max_examples=600)
def test_nothing_that_is_accepted_quickly_has_a_fault_and_nothing_crashes(
    row: Row, number: int
) -> None:
    assert_quiet_is_right(row, CONTEXTS[number])


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.sampled_from([10**400, -(10**400), 1e308, 0.5, 1.0, float("inf"), float("nan")]),
        st.sampled_from(
            ["", " ", "A", "single_turn", "agentic", "multi_turn", "output.raw", "tool"]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["turn_idx", "source", "is_terminal", "role", "tool_calls", "tool_call_id", "id"]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=12,
)


@given(
    number=st.sampled_from([SINGLE, AGENTIC, MULTI]),
    places=st.dictionaries(
        st.sampled_from(
            [
                "answer_attribution", "interactions", "messages", "evaluation/score", "error",
                "evaluation/is_correct", "evaluation/num_turns", "evaluation/tool_calls_count",
                "evaluation", "input", "input/raw", "input/reference", "input/choices",
                "token_usage", "token_usage/total_tokens", "token_usage/reasoning_tokens",
                "performance", "performance/latency_ms", "performance/generation_time_ms",
                "interaction_type", "sample_id", "model_id", "evaluation_result_id",
            ]
        ),
        VALUES,
        max_size=3,
    ),
)  # fmt: skip
@bounded(max_examples=600)
def test_any_value_anywhere_is_looked_at_without_a_crash(
    number: int, places: dict[str, Any]
) -> None:
    inner_first = sorted(places.items(), key=lambda item: -item[0].count("/"))
    row = changed(number, dict(inner_first))
    for within in CONTEXTS:
        assert_quiet_is_right(row, within)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the development corpus is not here")
def test_real_rows_are_judged_alike_by_both_speeds() -> None:
    accepted = total = 0
    for path in sorted((CORPUS / "eee-pairs").rglob("*.jsonl")):
        for line in lines_of(path):
            row = json.loads(line)
            accepted += assert_quiet_is_right(row, ALONE)
            assert_quiet_is_right(row, CONTEXTS[1 + total % 2])
            total += 1
    assert total > 1000
    assert accepted > 0.9 * total


def test_remarks_are_counted_once_for_the_whole_file(tmp_path: Path) -> None:
    rows = [{**row, "answer_attribution": []} for row in sound_rows(count=20)]
    rows[3]["answer_attribution"] = [ANSWER]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(map(line_of, rows)))
    report = evalstream.check(path, select=("ES301",))
    (finding,) = report
    assert (finding.count, finding.severity, finding.line) == (19, Severity.INFO, None)
    assert report.counts == {"ES301": 19}
    assert Engine(ALONE).accept(line_of(rows[0])) is not None
