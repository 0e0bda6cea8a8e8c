"""What rows say about themselves: the borders of each rule, and the pass that accepts quickly."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from corpus import CORPUS, lines_of
from depth import examples, some
from each import each
from fast_rows import agreed, bare, passed_over, written
from hypothesis import given
from hypothesis import strategies as st
from rows import VERSIONS, Row, aggregate_of, bounded, line_of, mutants, sound_rows, valid_row

import evalstream
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.catalogue import ROW_RULES
from evalstream.formats.eee.exact_path import RowReader
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.probe import probe_context
from evalstream.formats.eee.row_groups import notice_key
from evalstream.formats.eee.rules.attribution import FOREIGN_SOURCE
from evalstream.formats.eee.versions import INSTANCE_VERSIONS
from evalstream.formats.registry import CATALOGUE
from evalstream.model.data_class import replace
from evalstream.model.finding import Severity, Violation
from evalstream.model.options import Options

OPTIONAL = ("ES312", "ES316")
JUDGED = {rule.code for rule in ROW_RULES if not rule.by_ids}
"""What is said of each row by itself, not once for all rows with the same ids."""
FLAGGED = {"ES313"}
"""The rules whose infos the scanner flags."""

LAYER = [code for code in CATALOGUE if code.startswith("ES3") or code in ("ES710", "ES808")]


def context(version: str = "0.2.0", **changes: Any) -> RowContext:
    """Return the context of a run with an aggregate, its first result changed."""
    document = aggregate_of(version, b"", 0)
    document["evaluation_results"][0].update(changes)
    return probe_context(Options(select=("ES3", "ES710", "ES808")), Aggregate(document), b"")


ALONE = probe_context(Options(select=("ES3", "ES710", "ES808")), None, b"")
CONTEXTS = [ALONE, context("0.2.0"), context("0.3.0")]


def said(row: Row, within: RowContext) -> list[Violation]:
    """Return everything that the rules of the layer say of a row, one by one."""
    bound = [rule.row(within) for code in LAYER if (rule := CATALOGUE[code]).row is not None]
    return [violation for check in bound if check is not None for violation in check(row)]


def codes(row: Row, within: RowContext = CONTEXTS[1]) -> set[str]:
    """Return what is said of a row: codes, with W or I where the severity is not the rule's."""
    marks = {Severity.WARNING: "W", Severity.INFO: "I", None: "", Severity.ERROR: "E"}
    return {violation.code + marks[violation.severity] for violation in said(row, within)}


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
DRAWN = "q8Zr41xTmP0vW7LkNc3YdHb2Js9GfAe6Uo5R"
"""As random as a key, and none."""

ANSWER = {
    "turn_idx": 0,
    "source": "output.raw",
    "extracted_value": "5",
    "extraction_method": "regex",
    "is_terminal": True,
}

CHAT = [{"role": "user", "content": 'Say "\u00e9"\nor 5'}]
CHAT_AS_JSON, CHAT_AS_PYTHON = json.dumps(CHAT), str(CHAT)
BARE_ANSWER = {**ANSWER, "extraction_method": "None"}

REASONED = {"input_tokens": 20, "output_tokens": 8, "reasoning_tokens": 9}
UNCOUNTED = {
    "token_usage": {"input_tokens": 20, "output_tokens": 0, "total_tokens": 20},
    "input/choices": [],
}
FIRST_ANSWER = {"answer_attribution/0/source": "interactions[1].content"}
UNCOUNTED_TURNS = {"evaluation/num_turns": ..., "evaluation/tool_calls_count": ...}
LAST_WORD = {
    "answer_attribution/0/source": "interactions[2].content",
    "answer_attribution/0/turn_idx": 2,
}
WRONG = {"evaluation/is_correct": False, "evaluation/score": 0}
EMPTY = {"output/raw": " ", "answer_attribution": [], "input/choices": []}


def used(tokens: int) -> dict[str, int]:
    """Return the usage of an output of so many tokens."""
    return {"input_tokens": 20, "output_tokens": tokens, "total_tokens": 20 + tokens}


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
    (AGENTIC, {"answer_attribution/0/turn_idx": 0}, "ES303"),
    (AGENTIC, {"interactions": []}, "ES302 ES303 ES306"),
    (AGENTIC, {"interactions": [], **UNCOUNTED_TURNS}, "ES302 ES303"),
    (SINGLE, {"answer_attribution/0/source": "output.raw[0]"}, ""),
    (SINGLE, {"answer_attribution/0/source": "interactions[0].content"}, "ES303"),
    (SINGLE, {"answer_attribution/0/source": ""}, "ES303"),
    (SINGLE, {"answer_attribution/0/source": " "}, "ES303"),
    (SINGLE, {"answer_attribution/0/source": "output.text"}, "ES303"),
    (SINGLE, {"answer_attribution/0/source": "output"}, "ES303"),
    (SINGLE, {"answer_attribution/0/source": "scores.match.answer"}, "ES303I"),
    (SINGLE, {"answer_attribution/0/source": "output_column"}, "ES303I"),
    (SINGLE, {"answer_attribution/0/source": "output.reasoning_trace[0]"}, "ES303I"),
    (SINGLE, {"answer_attribution/0/source": None}, ""),
    (MULTI, {"answer_attribution/0/source": "answer"}, "ES303I"),
    (MULTI, {"answer_attribution/0/source": "messages[3].tool_calls[0].arguments.x"}, "ES303I"),
    (MULTI, {"answer_attribution/0/source": "messages[4].tool_calls[0].arguments.x"}, "ES303"),
    (MULTI, {"answer_attribution/0/source": "messages[3].role"}, "ES303"),
    (MULTI, {"answer_attribution/0/source": "messages[3]"}, "ES303"),
    (MULTI, {"answer_attribution/0/source": "output.raw"}, "ES303"),
    (MULTI, {"answer_attribution/0/source": "messages[3].content"}, ""),
    (MULTI, {"answer_attribution/0/source": "interactions[turn_idx].content"}, ""),
    (MULTI, {"answer_attribution/0/source": "interactions[4].content"}, "ES303"),
    (MULTI, {"answer_attribution/0/source": "interactions[1].content"}, "ES303"),
    (MULTI, {"answer_attribution/0/turn_idx": 1}, "ES303"),
    (MULTI, {**FIRST_ANSWER, "answer_attribution/0/turn_idx": 1}, ""),
    (MULTI, {**FIRST_ANSWER, "answer_attribution/0/turn_idx": "1"}, ""),
    (MULTI, {**LAST_WORD, "interactions/2/role": "user"}, "ES303"),
    (MULTI, {**LAST_WORD, "interactions/2/role": "simulator"}, ""),
    # The source counts the turns, turn_idx may number them.
    (MULTI, {"interactions/3/turn_idx": 30, "answer_attribution/0/turn_idx": 30}, "ES304"),
    (MULTI, {"interactions/0/turn_idx": 1}, "ES304"),
    (MULTI, {"interactions/0/turn_idx": "0"}, ""),
    (MULTI, {"interactions/0/turn_idx": 0.0}, ""),
    (MULTI, {"interactions/0/turn_idx": 5.0}, "ES304"),
    (AGENTIC, {"interactions/2/tool_call_id": "nobody"}, "ES305"),
    (AGENTIC, {"interactions/2/tool_call_id": ["call-1"]}, ""),
    (AGENTIC, {"interactions/2/tool_call_id": ["call-1", "nobody"]}, "ES305"),
    (AGENTIC, {"interactions/2/tool_call_id": ...}, "ES305W"),
    (AGENTIC, {"interactions/2/tool_call_id": []}, "ES305W"),
    (AGENTIC, {"interactions/0/tool_call_id": "call-1"}, "ES305"),
    (AGENTIC, {"interactions/1/tool_calls": 2 * [{"id": "call-1", "name": "x"}]}, "ES305W ES306"),
    (AGENTIC, {"evaluation/num_turns": 3}, "ES306"),
    (AGENTIC, {"evaluation/num_turns": 3.0}, "ES306"),
    (AGENTIC, {"evaluation/num_turns": 4.0}, ""),
    (AGENTIC, {"evaluation/num_turns": 10**4000}, "ES306"),
    (AGENTIC, {"evaluation/num_turns": "3"}, ""),
    (AGENTIC, {"evaluation/num_turns": ...}, "ES306"),
    (AGENTIC, {"evaluation/num_turns": None}, ""),
    (AGENTIC, {"evaluation/tool_calls_count": 0}, "ES306"),
    (AGENTIC, {"evaluation/tool_calls_count": ...}, ""),
    (SINGLE, {"evaluation/num_turns": 7}, "ES315"),
    (SINGLE, {"evaluation/num_turns": 10**400}, "ES315"),
    (SINGLE, {"evaluation/num_turns": 3}, ""),
    (SINGLE, {"evaluation/num_turns": "7"}, ""),
    (SINGLE, {"evaluation/num_turns": True}, ""),
    (SINGLE, {"evaluation/tool_calls_count": 1}, "ES315"),
    (SINGLE, {"evaluation/tool_calls_count": 0.5}, "ES315"),
    (SINGLE, {"evaluation/tool_calls_count": ...}, ""),
    (SINGLE, {"evaluation/num_turns": 5, "evaluation/tool_calls_count": 2}, "ES315"),
    (SINGLE, {"evaluation/is_correct": False}, "ES808"),
    (SINGLE, {"evaluation/score": 0}, "ES808"),
    (SINGLE, {"evaluation/score": True}, ""),
    (SINGLE, {"evaluation/score": False}, "ES808"),
    (SINGLE, {"evaluation/score": 0.5, "evaluation/is_correct": False}, ""),
    (SINGLE, {"evaluation/score": 1.5}, "ES308W"),
    (SINGLE, {"evaluation/score": -1}, "ES308W"),
    (SINGLE, {"evaluation/score": 10**400}, "ES308W"),
    (SINGLE, {"evaluation/score": "1.5"}, ""),
    (SINGLE, {"token_usage/total_tokens": 27}, "ES309"),
    (SINGLE, {"token_usage/total_tokens": 28.0}, ""),
    (SINGLE, {"token_usage/input_tokens": 19.5}, "ES309"),
    (SINGLE, {"token_usage/input_tokens": 19.5, "token_usage/total_tokens": 10**400}, "ES309"),
    (SINGLE, {"token_usage/total_tokens": 10**400}, "ES309"),
    (SINGLE, {"token_usage/input_tokens": 10**400, "token_usage/output_tokens": 0.5}, "ES309"),
    (SINGLE, {"token_usage/total_tokens": "27"}, ""),
    (SINGLE, {"token_usage": {"input_tokens": 1, "output_tokens": 2}}, ""),
    (
        SINGLE,
        {
            "input/choices": [],
            "token_usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
        },
        "",
    ),
    (
        SINGLE,
        {
            "input/choices": [],
            "token_usage": {"input_tokens": 9, "output_tokens": 0, "total_tokens": 9},
        },
        "ES309",
    ),
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
    (SINGLE, {"performance/latency_ms": -1}, ""),
    (SINGLE, {"performance": {"latency_ms": -1}}, ""),
    (SINGLE, {"performance": {"latency_ms": 0}}, ""),
    (SINGLE, {"performance": {"latency_ms": 0, "generation_time_ms": 0.5}}, ""),
    (SINGLE, {"performance": {"latency_ms": 210, "generation_time_ms": 210.9}}, ""),
    (SINGLE, {"performance": {"latency_ms": 210.0, "generation_time_ms": 211}}, "ES310"),
    (SINGLE, {"performance": {"latency_ms": 210.2, "generation_time_ms": 210.9}}, "ES310"),
    (SINGLE, {"sample_id": ""}, "ES311"),
    (SINGLE, {"evaluation_id": " "}, "ES311"),
    (SINGLE, {"input/raw": "\n\t"}, "ES311"),
    (SINGLE, {"sample_id": 0}, ""),
    (SINGLE, {"input/choices": ["6", "7"]}, "ES313"),
    (SINGLE, {"input/choices": []}, ""),
    (SINGLE, {"input/reference": "B"}, ""),
    (SINGLE, {"input/reference": "(b)"}, ""),
    (SINGLE, {"input/reference": "C"}, "ES313"),
    (SINGLE, {"input/reference": "B.\nAction: TYPE"}, ""),
    (SINGLE, {"input/reference": "C.\nAction: TYPE"}, "ES313"),
    (SINGLE, {"input/reference": "0"}, ""),
    (SINGLE, {"input/reference": "2"}, ""),
    (SINGLE, {"input/reference": "3"}, "ES313"),
    (SINGLE, {"error": "timed out"}, "ES314"),
    (SINGLE, {"error": None}, ""),
    (SINGLE, {"error": " \n"}, ""),
    (SINGLE, {"error": {"type": "timeout"}}, ""),
    (SINGLE, {"error": "timed out", "evaluation/is_correct": False, "evaluation/score": 0}, ""),
    (SINGLE, UNCOUNTED, "ES309"),
    (SINGLE, {**UNCOUNTED, "input/choices": ["5", "6"]}, ""),
    (SINGLE, {**UNCOUNTED, **EMPTY, **WRONG}, "ES301I"),
    (SINGLE, {"token_usage": {**REASONED, "total_tokens": 28}}, "ES309"),
    (SINGLE, {"token_usage": {**REASONED, "total_tokens": 37}}, ""),
    (SINGLE, {"token_usage": {**REASONED, "reasoning_tokens": 8, "total_tokens": 28}}, ""),
    (SINGLE, {"token_usage": {**REASONED, "input_tokens": "20", "total_tokens": 28}}, ""),
    (SINGLE, EMPTY, "ES301I ES808W"),
    (SINGLE, {**EMPTY, "input/choices": ["5", "6"]}, "ES301I"),
    (SINGLE, {**EMPTY, "input/reference": ""}, "ES301I"),
    (SINGLE, {**EMPTY, "output/raw": []}, "ES301I"),
    (SINGLE, {"token_usage": used(256)}, ""),
    (SINGLE, {"token_usage": used(257)}, "ES321"),
    (SINGLE, {"token_usage": used(10**17)}, "ES321"),
    (SINGLE, {"token_usage": {**used(257), "reasoning_tokens": 40}}, ""),
    (SINGLE, {"token_usage": used(257), "output/reasoning_trace": "Well."}, ""),
    (SINGLE, {"token_usage": used(512), "output/raw": ["It is 5.", "5"]}, ""),
    (SINGLE, {"token_usage": used(513), "output/raw": ["It is 5.", "5"]}, "ES321"),
    # Retried and repeated calls are summed up.
    (SINGLE, {"token_usage": used(512), "metadata": {"retries": 1}}, ""),
    (SINGLE, {"token_usage": used(513), "metadata": {"retries": "1"}}, "ES321"),
    (SINGLE, {"token_usage": used(768), "metadata": {"num_votes": "3"}}, ""),
    (SINGLE, {"token_usage": used(257), "metadata": {"num_votes": "some", "retry": 9}}, "ES321"),
    (MULTI, {"token_usage": used(999)}, ""),
    (AGENTIC, {"interactions/1/tool_calls": None}, "ES305 ES306 ES315"),
    (MULTI, {"interaction_type": "agentic"}, "ES315"),
    (MULTI, {"interactions/1/role": "user"}, "ES315"),
    (MULTI, {"interactions/1/role": "Human"}, "ES315"),
    (MULTI, {"interactions/1/role": "model"}, ""),
    (MULTI, {"interactions/1/role": "user", "interactions/3/role": "user"}, "ES303 ES315"),
    (MULTI, {"interactions/0/content": "Name a colour."}, "ES320"),
    (MULTI, {"interactions/0/content": "Name a colour.", "interactions/0/role": "Human"}, "ES320"),
    (MULTI, {"interactions/0/content": "add 4 and 9"}, ""),
    (MULTI, {"interactions/0/content": "A\nQuestion 5:  First add 4 and\n9, then double it."}, ""),
    (MULTI, {"interactions/0/content": None}, ""),
    (MULTI, {"interactions/0/content": "Name a colour.", "interactions/2/content": " "}, ""),
    (MULTI, {"interactions/0/role": "x", "interactions/2/role": "y", "input/raw": "Who?"}, ""),
    (MULTI, {"input/raw": " ", "interactions/0/content": "Name a colour."}, "ES311"),
    (MULTI, {"input/raw": "n5", "interactions/0/content": "Say\n5"}, "ES320"),
    (MULTI, {"input/raw": "Cafe\u0301?", "interactions/0/content": "Caf\u00e9?"}, ""),
    (MULTI, {"input/raw": "Caf\u00e9?", "interactions/0/content": "Cave?"}, "ES320"),
    (MULTI, {"input/raw": CHAT_AS_JSON, "interactions/0/content": 'Say "\u00e9"\nor 5'}, ""),
    (MULTI, {"input/raw": CHAT_AS_PYTHON, "interactions/0/content": 'Say "\u00e9"\nor 5'}, ""),
    (MULTI, {"input/raw": CHAT_AS_JSON, "interactions/0/content": 'Say "e"\nor 5'}, "ES320"),
    (AGENTIC, {"interactions/0/content": "Name a colour."}, "ES320"),
    (SINGLE, {"answer_attribution/0/extraction_method": "none"}, ""),
    (SINGLE, {"answer_attribution": [BARE_ANSWER], "output/raw": "5\n"}, ""),
    (SINGLE, {"answer_attribution": [BARE_ANSWER], "output/raw": "6"}, "ES303"),
    (SINGLE, {"answer_attribution": [BARE_ANSWER], "output/raw": ""}, "ES303"),
    (SINGLE, {"answer_attribution/0/extracted_value": "9", "output/raw": "6"}, ""),
    (AGENTIC, {"messages": []}, "ES319"),
    (AGENTIC, {"messages": None}, ""),
    (SINGLE, {"messages": [{"turn_idx": 0, "role": "user", "content": "x"}]}, ""),
    # The extra key is not judged instead of the version's own.
    (AGENTIC, {"messages": [], "interactions/1/tool_calls": None}, "ES305 ES306 ES315 ES319"),
    (SINGLE, {"model_id": "acorn"}, "ES317"),
    (SINGLE, {"model_id": "acme/"}, "ES317"),
    (SINGLE, {"model_id": "openai/azure/gpt-4"}, ""),
    (SINGLE, {"metadata": {"a": [{"key": "sk-" + DRAWN}]}}, "ES316"),
    (SINGLE, {"metadata": {"ghp_" + DRAWN: 1}}, "ES316"),
    (SINGLE, {"output/raw": 4 * "answer ", "input/raw": "Say it.\n" + 4 * "answer "}, "ES312"),
]  # fmt: skip


@each(("number", "changes", "expected"), CASES)
def test_the_border_of_each_rule(number: int, changes: dict[str, Any], expected: str) -> None:
    assert codes(changed(number, changes)) == set(expected.split())


TURNED = {"metric_name": "acc", "min_score": 0, "max_score": 1, "lower_is_better": True}


@each(
    ("metric", "score", "correct", "expected"),
    [
        ({"lower_is_better": True}, 0, True, ""),
        ({"lower_is_better": True, "min_score": 0, "max_score": 1}, 0, True, ""),
        ({"lower_is_better": True, "min_score": 0, "max_score": 1}, 1, True, "ES307"),
        ({"lower_is_better": True, "min_score": 0, "max_score": 1}, 0, False, "ES307"),
        ({"lower_is_better": True, "min_score": 0, "max_score": 1}, 0.5, True, ""),
        (TURNED, 0, False, "ES808"),
        (TURNED, 1, True, "ES307"),
        ({"evaluation_description": "mt_bench", "max_score": 1}, 1, False, "ES307"),
        ({"evaluation_description": "Share of all", "max_score": 1}, 1, False, "ES808"),
        ({"metric_name": "wer", "lower_is_better": True, "min_score": 0}, 0, False, ""),
        ({"lower_is_better": False, "min_score": 1, "max_score": 5}, 1, True, "ES307"),
        ({"lower_is_better": False, "min_score": 1, "max_score": 5}, 5, False, "ES808"),
        ({"lower_is_better": False, "min_score": 1, "max_score": 5}, 4, False, ""),
        ({"lower_is_better": False, "min_score": -1, "max_score": 1}, -1, True, "ES808"),
        ({"lower_is_better": False, "min_score": 0, "max_score": 2}, 1, False, ""),
        ({"lower_is_better": False, "min_score": 0, "max_score": 100}, 100, False, "ES808"),
        ({"metric_name": "exact_match@10", "min_score": 0, "max_score": 1}, 1, False, ""),
        ({"metric_name": "bleu", "min_score": 0, "max_score": 100}, 100, False, ""),
        ({"score_type": "binary"}, 1, False, "ES808"),
        ({"score_type": "binary"}, 0.4, True, "ES710E"),
        ({"score_type": "binary", "min_score": 0, "max_score": 5}, 5, True, ""),
        ({"score_type": "binary", "min_score": 0, "max_score": 5}, 1, True, ""),
        ({"lower_is_better": False, "score_type": "levels"}, 1, False, ""),
        ({"lower_is_better": False, "min_score": 1, "max_score": 5}, 1, False, ""),
        ({"lower_is_better": False, "min_score": 1, "max_score": 5}, 0, False, "ES308W"),
        ({"lower_is_better": False, "max_score": 1}, 0, True, "ES307"),
        ({"lower_is_better": False, "max_score": 1.01}, 0, True, "ES307"),
        ({"lower_is_better": False, "max_score": 1.01}, 1, False, "ES307"),
        ({"lower_is_better": False, "min_score": -0.5, "max_score": 1.5}, 0, True, "ES307"),
        ({"lower_is_better": False, "min_score": -1, "max_score": 1}, 0, True, ""),
        ({"lower_is_better": False, "max_score": 100}, 1, False, ""),
        ({"lower_is_better": False, "max_score": 100}, 0, True, "ES307"),
        ({"lower_is_better": False, "min_score": "-Infinity", "max_score": None}, -7, False, ""),
        ({"metric_name": "rouge_l", "min_score": 0, "max_score": 1}, 1, False, ""),
        ({"metric_name": "macro-F1", "min_score": 0, "max_score": 1}, 1, False, ""),
        ({"metric_name": "rouge_l", "min_score": 0, "max_score": 1}, 0, True, "ES808"),
        ({"metric_name": "exact_match", "min_score": 0, "max_score": 1}, 1, False, "ES808"),
        ({"metric_name": "winter", "min_score": 0, "max_score": 1}, 1, False, "ES307"),
        ({"min_score": 1, "max_score": 0}, 0.5, False, ""),
        ({"score_type": "levels", "min_score": 0, "max_score": 2}, -1, False, "ES308W"),
        (
            {"score_type": "levels", "min_score": 0, "max_score": 2, "has_unknown_level": True},
            -1,
            False,
            "",
        ),
        ({"score_type": "levels", "level_names": ["no", "yes"]}, 1, False, ""),
        ({"score_type": "levels", "level_names": ["no", "yes"]}, 2, False, "ES308W"),
        ({"score_type": "levels", "level_names": ["no", "yes"]}, 0.5, False, "ES308W"),
        ({"score_type": "levels", "level_names": ["no", "yes"]}, -1, False, "ES308W"),
        (
            {"score_type": "levels", "level_names": ["no", "yes"], "has_unknown_level": True},
            -1,
            False,
            "",
        ),
        ({"score_type": "binary"}, 1, True, ""),
        ({"score_type": "binary"}, 1.5, False, "ES308W ES710E"),
        ({"score_type": "binary", "max_score": 2}, 1.5, False, "ES710E"),
        ({"score_type": "binary"}, 0.5, False, "ES710E"),
        # A writer of grades by a name of its own may call no answer correct.
        ({"metric_name": "depth", "max_score": 1}, 1, False, "ES307"),
        ({"metric_name": "depth", "max_score": 1, "score_type": "binary"}, 1, False, "ES808"),
        ({"metric_name": "depth", "min_score": 0}, 0, True, "ES808"),
        ({"score_type": "continuous", "max_score": 1}, 1.0000000000000002, True, ""),
        ({"score_type": "continuous", "max_score": 1}, 1.000001, True, "ES308W"),
        ({"score_type": "levels", "min_score": 0, "max_score": 2}, 3, False, "ES308W"),
        ({"score_type": "levels"}, 3, False, ""),
    ],
)
def test_the_metric_has_a_say(
    metric: dict[str, Any], score: float, correct: bool, expected: str
) -> None:
    row = changed(SINGLE, {"evaluation/score": score, "evaluation/is_correct": correct})
    assert codes(row, context(metric_config=metric)) == set(expected.split())


@each(
    ("score", "changes", "is_wrong"),
    [
        (0.5, {"output/raw": ["5", "6"]}, False),
        (0.25, {"output/raw": ["5", "6"]}, True),
        (0.3333, {"metadata": {"num_repeats": "3"}}, False),
        (0.334, {"metadata": {"num_repeats": "3"}}, True),
        (1.5, {"metadata": {"num_repeats": "2"}}, True),
        (0.5, {"metadata": {"num_repeats": "0"}}, True),
        (10**400, {"metadata": {"num_repeats": "2"}}, True),
        (-(10**400), {}, True),
    ],
)
def test_repeats_of_a_binary_score_have_an_average(
    score: float, changes: dict[str, Any], is_wrong: bool
) -> None:
    within = context(metric_config={"score_type": "binary"})
    row = changed(SINGLE, {"evaluation/score": score, "evaluation/is_correct": False, **changes})
    assert ("ES710E" in codes(row, within)) == is_wrong
    assert_quiet_is_right(row, within)


def test_a_row_that_joins_by_id_is_in_error_past_the_bounds() -> None:
    row = changed(SINGLE, {"evaluation/score": 2}, "0.3.0")
    assert codes(row, CONTEXTS[2]) == {"ES308"}


def test_a_row_may_say_that_its_correctness_says_nothing() -> None:
    contradiction = {"evaluation/is_correct": False}
    for mark, expected in (("false", set()), (False, set()), ("true", {"ES808"}), ([], {"ES808"})):
        row = changed(SINGLE, contradiction | {"metadata/is_correct_applicable": mark})
        assert codes(row) == expected
    graded = changed(SINGLE, contradiction | {"evaluation_result_id": "f1_score:test"})
    assert codes(graded, ALONE) == set()
    assert codes(changed(SINGLE, contradiction), ALONE) == {"ES307"}


@each(
    ("metric", "is_silent"),
    [
        ("format_compliance", True),
        ("toxicity", True),
        ("refusal_rate", True),
        ("format_accuracy", False),
        ("safe_pass_rate", False),
        ("accuracy", False),
        ("success_rate", False),
    ],
)
def test_a_metric_of_something_else_says_nothing_of_correctness(
    metric: str, is_silent: bool
) -> None:
    # Rows have is_correct of the sample, or false for want of a better value.
    within = context(metric_config={"metric_name": metric, "min_score": 0, "max_score": 1})
    for score, correct in ((0, True), (1, False)):
        row = changed(SINGLE, {"evaluation/score": score, "evaluation/is_correct": correct})
        assert codes(row, within) == (set() if is_silent else {"ES808"})


EXACT: dict[str, Any] = {**ANSWER, "extraction_method": "exact_match"}


@each(
    ("value", "reference", "choices", "score", "expected"),
    [
        ("5", "5", None, 1, ""),
        ("5", "5", None, 0, "ES808"),
        ("5", "5", None, 0.5, ""),
        ("banana", "4", None, 1, "ES808"),
        ("banana", "4", None, True, "ES808"),
        ("banana", "4", None, 0, ""),
        ("banana", "4", ["4", "5"], 1, "ES808"),
        ("banana", "4", [], 1, "ES808"),
        ("4", "42", None, 1, "ES808"),
        ("yes", "no", None, 1, "ES808"),
        ("B", "A", None, 1, "ES808"),
        ("B", "A", ["x", "y"], 1, "ES808"),
        ("London", "Paris", ["London", "Paris"], 1, "ES808"),
        # Perhaps the same answer in other words.
        ("PARIS ", "Paris", None, 1, ""),
        ("Paris.", "Paris", None, 1, ""),
        ("new-york", "New York", None, 1, ""),
        ("cafe\u0301", "caf\u00e9", None, 1, ""),
        ("Stra\u00dfe", "STRASSE", None, 1, ""),
        ("the answer is 18", "18", None, 1, ""),
        ("18", "9 * 2 = 18, so he has 18", None, 1, ""),
        ("4.0", "4", None, 1, ""),
        ("4e0", "4", None, 1, ""),
        ("1,000", "1000", None, 1, ""),
        ("$7", "7.00", None, 1, ""),
        ("-", "+", None, 1, ""),
        ("", "4", None, 1, ""),
        # Perhaps the letter or the number of a choice.
        ("D", "joy", None, 1, ""),
        ("(d)", "joy", None, 1, ""),
        ("D", "joy", ["pain", "joy"], 1, ""),
        ("joy", "B", ["pain", "joy"], 1, ""),
        ("1", "joy", ["pain", "joy"], 1, ""),
        ("3", "4", ["pain", "joy"], 1, ""),
        ("joy", "4", "pain", 1, ""),
        # The letter of another choice.
        (" A", "joy", ["pain", "joy"], 1, "ES808W"),
        ("A", "joy", ["pain", "joy"], 0, ""),
        ("B", "joy", ["pain", "joy"], 1, ""),
        ("a", "joy", ["pain", "joy"], 1, ""),
        ("A", "joy", ["pain", "B"], 1, ""),
        ("A", "Joy.", ["pain", "joy"], 1, ""),
    ],
)
def test_an_exact_match_gives_the_score(
    value: str, reference: str, choices: Any, score: Any, expected: str
) -> None:
    changes: dict[str, Any] = {
        "answer_attribution": [{**EXACT, "extracted_value": value}],
        "input/reference": reference,
        "input/choices": ... if choices is None else choices,
        "evaluation/score": score,
        "evaluation/is_correct": bool(score),
    }
    row = changed(SINGLE, changes)
    for within in CONTEXTS[:2]:
        assert codes(row, within) - {"ES313"} == set(expected.split())
        assert_quiet_is_right(row, within)


def exact(**changes: Any) -> Row:
    """Return a row whose exact match is not its reference, although the score is the best."""
    wrong = {"answer_attribution": [{**EXACT, "extracted_value": "banana"}], "input/choices": ...}
    return changed(
        SINGLE, wrong | {key.replace("__", "/"): value for key, value in changes.items()}
    )


def test_an_answer_is_judged_only_where_it_is_surely_an_exact_match() -> None:
    assert codes(exact()) == {"ES808"}
    answers: list[tuple[Any, str]] = [
        ([{**EXACT, "extracted_value": "lion", "extraction_method": "Exact-Match "}], "ES808"),
        ([{**EXACT, "extracted_value": "lion", "extraction_method": "exact match"}], "ES808"),
        ([{**EXACT, "extracted_value": "lion", "extraction_method": "exact_matching"}], ""),
        ([{**EXACT, "extracted_value": "lion", "extraction_method": "quasi_exact_match"}], ""),
        ([{**EXACT, "extracted_value": "[encrypted_text_7]"}], ""),
        ([{**EXACT, "extracted_value": 7}], ""),
        ([{**EXACT, "extracted_value": "lion", "is_terminal": False}, EXACT], ""),
        ([{**EXACT, "is_terminal": False}, {**EXACT, "extracted_value": "lion"}], "ES808"),
        ([{**EXACT, "extracted_value": "lion"}, {**EXACT, "extracted_value": "fox"}], "ES301"),
        ([7, "exact_match", {**EXACT, "extracted_value": "lion"}], "ES808"),
    ]
    for attribution, expected in answers:
        row = exact(answer_attribution=attribution)
        assert codes(row) - {"ES308"} == set(expected.split()), attribution
        assert_quiet_is_right(row, CONTEXTS[1])


@pytest.mark.parametrize(("raw", "expected"), [("Feel? pain ", ""), ("Feel pain?", "ES808")])
def test_a_choice_that_was_asked_for_is_no_answer(raw: str, expected: str) -> None:
    """HELM asks for the likelihood of each choice, and its models return the prompt."""
    row = changed(
        SINGLE,
        {
            "input/raw": raw,
            "input/reference": "joy",
            "input/choices": ["pain", "joy"],
            "output/raw": raw,
            "answer_attribution": [{**EXACT, "extracted_value": raw.strip()}],
            "evaluation/score": 1,
            "evaluation/is_correct": True,
        },
    )
    for within in CONTEXTS[:2]:
        assert codes(row, within) - {"ES313"} == set(expected.split())
        assert_quiet_is_right(row, within)


def test_an_exact_match_is_judged_by_the_metric() -> None:
    metrics: list[tuple[dict[str, Any], str]] = [
        ({"metric_name": "exact_match"}, "ES808"),
        ({"metric_name": "Exact Match"}, "ES808"),
        ({"metric_name": "accuracy"}, "ES808"),
        ({"metric_id": "scorer/accuracy"}, "ES808"),
        ({"metric_name": "quasi_exact_match"}, ""),
        ({"metric_name": "exact_match@5"}, ""),
        ({"metric_name": "f1"}, ""),
        ({"metric_name": "judged helpfulness"}, ""),
        ({"score_type": "levels", "level_names": ["a", "b"]}, ""),
        ({"lower_is_better": True}, ""),
        ({"min_score": 1, "max_score": 0}, ""),
        ({"max_score": 100}, ""),
    ]
    for metric, expected in metrics:
        within = context(metric_config=metric)
        assert codes(exact(), within) == set(expected.split()), metric
        assert_quiet_is_right(exact(), within)
    percent = context(metric_config={"min_score": 0, "max_score": 100})
    assert codes(exact(evaluation__score=100), percent) == {"ES808"}
    assert codes(exact(error="timed out", evaluation__is_correct=False)) == {
        "ES808"
    }  # by is_correct
    failed = exact(error="timed out", evaluation__score=1, evaluation__is_correct=True)
    assert codes(failed) == {"ES314"}
    helm = replace(context(), library="HELM")
    assert codes(exact(), helm) == set()
    named = replace(context(metric_config={"metric_name": "exact_match"}), library="HELM")
    assert codes(exact(), named) == {"ES808"}


def test_choices_are_numbered_from_0_by_lm_eval_alone() -> None:
    chosen = {"answer_attribution": [{**BARE_ANSWER, "extracted_value": " red"}]}
    chosen |= {"input/choices": [" red", " blue"], "input/reference": "1", "output/raw": " red"}
    row = changed(SINGLE, chosen | {"evaluation_result_id": "acc"})
    for library, expected in (
        (None, {"ES808W"}),
        ("lm_eval", {"ES808W"}),
        ("LM Evaluation Harness", {"ES808W"}),
        ("acme-eval", set()),
    ):
        within = replace(ALONE, library=library)
        assert codes(row, within) == expected, library
        assert_quiet_is_right(row, within)


def test_several_references_are_judged_only_where_none_is_meant() -> None:
    for references, value, score, expected in (
        (["4", "four"], "4", 1, ""),
        (["4", "four"], "4", 0, ""),  # perhaps both are asked for
        (["4", "4"], "4", 0, "ES808"),
        (["4", "four"], "banana", 1, "ES808"),
        (["4", 4], "banana", 1, ""),
        ([], "banana", 1, ""),
    ):
        changes = {
            "answer_attribution": [{**EXACT, "extracted_value": value}],
            "input/reference": references,
            "input/choices": [],
            "evaluation/score": score,
            "evaluation/is_correct": bool(score),
        }
        row = changed(SINGLE, changes, "0.3.0")
        assert codes(row, CONTEXTS[2]) == set(expected.split()), (references, value)
        assert_quiet_is_right(row, CONTEXTS[2])


def test_a_missing_tool_call_id_is_told_of_the_turn_that_lacks_it() -> None:
    places = [(..., "/interactions/2"), (None, "/interactions/2/tool_call_id")]
    for value, place in places:
        row = changed(AGENTIC, {"interactions/2/tool_call_id": value})
        assert [
            violation.pointer for violation in said(row, ALONE) if violation.code == "ES305"
        ] == [place]


def test_a_source_elsewhere_is_noticed_once_and_quickly(tmp_path: Path) -> None:
    rows = sound_rows(count=4)
    for row in rows:
        row |= {"interaction_type": "single_turn", "output": {"raw": "5"}, "interactions": None}
        row["answer_attribution"] = [{**ANSWER, "source": "scores.match.answer"}]
        row["evaluation"] |= {"num_turns": 1, "tool_calls_count": 0}
        assert quietly(row, ALONE) == {notice_key(FOREIGN_SOURCE)}
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(map(line_of, rows)))
    (finding,) = evalstream.check(path, select=("ES303",))
    assert (finding.count, finding.severity, finding.line) == (4, Severity.INFO, None)


LEAST = [
    "sk-" + DRAWN[:20],
    "ghp_" + DRAWN,
    "github_pat_" + DRAWN + DRAWN[:4],
    "glpat-" + DRAWN[:20],
    "hf_" + DRAWN[:30],
    "xoxb-" + DRAWN[:12],
    "AKIA" + "QW3R7YUIOPASDFGH",
    "AIza" + DRAWN[:35],
    f"eyJ{DRAWN[:15]}.eyJ{DRAWN[:15]}.{DRAWN[:20]}",
    "Bearer " + DRAWN[:24],
]
"""Keys of the known forms, as short as they can be."""

SECRETS = [
    *({"note": key} for key in LEAST),
    {"note": "key sk-" + DRAWN},
    {"note": "sk-proj-" + DRAWN + "-" + DRAWN},
    {"note": "sk-or-v1-" + 2 * "0f1e2d3c4b5a69788796a5b4"},
    {"note": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh"},
    {"note": "xoxb-" + "907154236816-" + DRAWN},
    {"note": "id AKIA" + "QW3R7YUIOPASDFGH."},
    {"note": "Authorization: Bearer " + DRAWN},
    {"note": "eyJ" + DRAWN + ".eyJ" + DRAWN + "." + DRAWN},
    {"note": "-----BEGIN RSA PRIVATE KEY-----\n" + DRAWN + DRAWN},
    {"note": "-----BEGIN PRIVATE KEY-----\\n" + DRAWN + DRAWN},
    {"password": "correct-horse-battery"},
    {"OPENAI_API_KEY": DRAWN},
    {"openaiApiKey": DRAWN},
    {"secretAccessKey": DRAWN},
    {"access_token": DRAWN},
    {"token": DRAWN},
    {"api_key": f'"{DRAWN}"'},
]

HARMLESS = [
    *({"note": key[:-1]} for key in LEAST),
    {"note": "sk-toggleable__label-arrow sk-estimator-doc-link"},
    {"note": "sk-learn-0-24-2-some-long-documentation-page"},
    {"note": "sk-" + 30 * "x"},
    {"note": "sk-your-api-key-goes-here-1234567"},
    {"note": "hf_" + 34 * "x"},
    {"note": "hf_" + "transformersmodelsautogeneration"},
    {"note": "AKIA" + "IOSFODNN7EXAMPLE"},
    {"note": "the Bearer authentication-scheme-is-required-here"},
    {"note": "Bearer <token>"},
    {"note": "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----"},
    {"note": "task-" + DRAWN},
    {"password": "YOUR_PASSWORD_HERE"},
    {"password": "${SECRET_FROM_ENV}"},
    {"password": "************"},
    {"password": "a short one"},
    {"api_key": "OPENAI_API_KEY"},
    {"api_key": "os.environ['OPENAI_API_KEY']"},
    {"api_key": "process.env.OPENAI_API_KEY"},
    {"api_key": '"<token>"'},
    {"api_key": "not-needed"},
    {"api_key": 123456789012345},
    {"token_count": "123456789012345"},
    {"token": "internationalization"},
    {"token": "123456789012345678"},
    {"eos_token": "<|endoftext|>"},
    {"secretary": DRAWN},
    {"keyboard_key": DRAWN},
]


@each("metadata", SECRETS)
def test_secrets_are_found(metadata: dict[str, Any]) -> None:
    (violation,) = said(changed(SINGLE, {"metadata": metadata}), ALONE)
    assert (violation.code, violation.pointer) == ("ES316", f"/metadata/{next(iter(metadata))}")
    assert (violation.expected, violation.found) == (None, None)


@each("metadata", HARMLESS)
def test_what_only_resembles_a_secret_is_left_alone(metadata: dict[str, Any]) -> None:
    assert codes(changed(SINGLE, {"metadata": metadata})) == set()


SAID = "It is the river that runs north."


@each(
    ("changes", "leaks"),
    [
        ({"input/raw": f"Which river?\n{SAID}\n", "output/raw": SAID}, True),
        ({"input/raw": f"Which river?\n\nAssistant: {SAID}", "output/raw": [SAID]}, True),
        ({"input/raw": f"They say: yes. {SAID}", "output/raw": SAID}, False),
        ({"input/raw": f"Q: Which one?\nA: {SAID}\nQ: Which river?", "output/raw": SAID}, False),
        ({"input/raw": "Is it so?\nyes", "output/raw": "yes"}, False),
        ({"input/raw": "Which river? the Nile", "input/reference": "the Nile"}, False),
        ({"input/raw": "Which river? The Nile", "input/reference": " Nile "}, False),
    ],
)
def test_a_question_with_choices_leaks_only_what_was_said(
    changes: dict[str, Any], leaks: bool
) -> None:
    within = context()
    check = CATALOGUE["ES312"].row(within) if CATALOGUE["ES312"].row else None
    assert check is not None
    assert bool(list(check(changed(SINGLE, changes)))) is leaks


@each(
    ("raw", "reference", "leaks"),
    [
        ("Which river? the Nile\n", ["the Nile"], True),
        ("Which river? (Nile", "Nile", True),
        ("Is it the Senile", "Nile", False),
        ("Is it 45", "5", False),
        ("Is it A, B or C", "C", False),
        ("Nile", "Nile", False),
        ("Which river? ", " ", False),
    ],
)
def test_a_question_without_choices_must_not_end_in_its_reference(
    raw: str, reference: Any, leaks: bool
) -> None:
    row = changed(SINGLE, {"input/raw": raw, "input/reference": reference, "input/choices": ...})
    assert codes(row) == ({"ES312"} if leaks else set())


def test_an_assistants_turn_is_found_anywhere_in_a_question() -> None:
    raw = f"user: Which river?\nassistant: {SAID}\nuser: Sure?"
    row = changed(MULTI, {"interactions/1/content": SAID, "input/raw": raw})
    assert codes(row) == {"ES312", "ES320"}
    row["input"]["raw"] = f"Somebody said that {SAID} Who was it?"
    assert codes(row) == {"ES320"}


def test_inspect_is_known_by_its_generation_time() -> None:
    row = changed(SINGLE, {"performance/generation_time_ms": 999})
    assert codes(row, ALONE) == set()
    document = aggregate_of("0.3.0", b"", 0)
    for name in ("inspect", "inspect_ai", "Inspect AI", "unknown"):
        document["eval_library"] = {"name": name, "version": "1"}
        within = probe_context(Options(select=("ES3", "ES710", "ES808")), Aggregate(document), b"")
        assert codes(row, within) == set()
        slow = changed(SINGLE, {"performance/time_to_first_token_ms": 999})
        assert codes(slow, within) == {"ES310"}
    document["eval_library"] = {"name": "lm_eval", "version": "1"}
    within = probe_context(Options(select=("ES3", "ES710", "ES808")), Aggregate(document), b"")
    assert codes(row, within) == {"ES310"}


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    secret = "hf_" + DRAWN
    below = {"password": "correct-horse-battery"}
    rows = [changed(SINGLE, {"metadata": {"note": f"key {secret}", secret: below}})]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(map(line_of, rows)))
    report = evalstream.check(path, select=("ES316",))
    assert report.counts == {"ES316": 3}
    places = ["/metadata", "/metadata/note", "/metadata/password"]
    assert [finding.pointer for finding in report] == places
    assert not [finding for finding in report if secret in json.dumps(finding.as_dict())]


def judged_by(within: RowContext, version: str) -> RowContext:
    """Return a context in which rows are judged by a version."""
    options = replace(within.options, schema_version=version if "+" in version else "auto")
    return replace(within, version=version, options=options)


def usual(within: RowContext) -> RowContext:
    """Return a context with the rules that are on unless others are asked for."""
    options = Options(max_findings=0)
    return replace(within, options=options, selection=CATALOGUE.selection(options))


def quietly(row: Row, within: RowContext) -> set[tuple[str, str, str]] | None:
    """Return what is remarked of a row that the scanner takes, None if it does not take it."""
    line = written(bare(row))
    tallies = (passed_over(judged_by(within, version), line) for version in INSTANCE_VERSIONS)
    taken = next((tally for tally in tallies if tally is not None), None)
    return None if taken is None else {*taken.notices}


def assert_quiet_is_right(row: Row, within: RowContext) -> bool:
    """Require the scanner to take only rows of which nothing else is said."""
    accepted = quietly(row, within)
    judged = [violation for violation in said(row, within) if violation.code in JUDGED]
    if accepted is not None:
        assert {notice_key(violation) for violation in judged} == accepted
    declared = row.get("schema_version")
    version = declared if declared in VERSIONS else within.version
    agreed(judged_by(usual(within), version), written(bare(row)))
    return accepted is not None


@each("version", VERSIONS)
@pytest.mark.parametrize("within", CONTEXTS)
def test_usual_rows_are_accepted_quickly(version: str, within: RowContext) -> None:
    for row in sound_rows(version):
        assert assert_quiet_is_right(row, within)
        assert assert_quiet_is_right({**row, "answer_attribution": []}, within)


@each(("number", "changes", "expected"), CASES)
def test_what_is_accepted_quickly_has_no_violation(
    number: int, changes: dict[str, Any], expected: str
) -> None:
    accepted = assert_quiet_is_right(changed(number, changes), CONTEXTS[1])
    assert not (accepted and set(expected.split()) & JUDGED - FLAGGED)


@each(
    ("settings", "expected"),
    [
        ([{"max_tokens": 7}], "ES321"),
        ([{"max_tokens": 8}], ""),
        ([{"max_tokens": 4, "max_attempts": 2}], ""),
        ([{"max_tokens": 4, "max_attempts": 1}], "ES321"),
        ([{"max_tokens": 7, "reasoning": True}], ""),
        ([{"max_tokens": 7, "eval_plan": {"config": {"max_tokens": "8"}}}], ""),
        ([{"eval_plan": {"config": {"max_tokens": "7"}}}], "ES321"),
        ([{"eval_plan": {"config": {"max_tokens": "many"}}}], ""),
        ([{"max_tokens": 0}], ""),
        # A row may be of the result with the widest limit, or of one that declares none.
        ([{"max_tokens": 7}, {"max_tokens": 8}], ""),
        ([{"max_tokens": 7}, {}], ""),
    ],
)
def test_tokens_are_limited_by_the_settings_of_all_results(
    settings: list[dict[str, Any]], expected: str
) -> None:
    within = limited(settings)
    row = changed(SINGLE, {})
    assert codes(row, within) == set(expected.split())
    assert assert_quiet_is_right(row, within) == (not expected)


@each(
    ("most", "roles", "expected"),
    [
        (4, ["user", "assistant", "user", "assistant"], ""),
        (3, ["user", "assistant", "user", "assistant"], "ES321"),
        (2, ["user", "assistant", "tool", "tool"], ""),
        (1, ["user", "assistant", "tool", "tool"], "ES321"),
        (None, ["user", "assistant", "user", "assistant"], ""),
    ],
)
def test_turns_are_limited_but_for_answers_of_tools(
    most: int | None, roles: list[str], expected: str
) -> None:
    within = limited([{"eval_limits": {"message_limit": most}}])
    row = changed(MULTI, {f"interactions/{turn}/role": role for turn, role in enumerate(roles)})
    assert {code for code in codes(row, within) if code == "ES321"} == set(expected.split())
    assert_quiet_is_right(row, within)


def limited(settings: list[dict[str, Any]]) -> RowContext:
    """Return the context of a run whose results have some settings."""
    document = aggregate_of("0.2.0", b"", 0)
    (result,) = document["evaluation_results"]
    document["evaluation_results"] = [
        result | {"generation_config": {"generation_args": one}} for one in settings
    ]
    return replace(CONTEXTS[1], results=Aggregate(document).joinable)


def test_cached_tokens_are_accepted_quickly() -> None:
    usage = {"input_tokens": 3, "output_tokens": 4, "input_tokens_cache_read": 50}
    row = changed(SINGLE, {"token_usage": {**usage, "total_tokens": 57}})
    assert assert_quiet_is_right(row, ALONE)
    assert not assert_quiet_is_right(changed(SINGLE, {"token_usage/total_tokens": 57}), ALONE)


@given(row=st.one_of(mutants("0.2.0"), mutants("0.3.0", 5)), number=st.integers(0, 2))
@bounded(max_examples=examples(300))
def test_nothing_that_is_accepted_quickly_has_a_violation_and_nothing_crashes(
    row: Row, number: int
) -> None:
    assert_quiet_is_right(row, CONTEXTS[number])


@st.composite
def transcripts(draw: st.DrawFn, version: str) -> list[Row]:
    """Draw turns whose tool calls mostly have ids of their own and are mostly answered."""
    turns: list[Row] = []
    called: list[Any] = []
    asks = draw(st.sampled_from([True, True, False]))
    for place in range(draw(st.integers(0, 6).map(lambda number: 6 - number))):
        turn: Row = {"turn_idx": draw(st.sampled_from([*30 * [place], 0, float(place)]))}
        said = [
            "Use the calculator",
            "Question 2: Use the calculator to work out 123 * 45.",
            "5535",
        ]
        turn["content"] = said[1] if asks else draw(st.sampled_from([*said, None, " "]))
        roles = ["assistant", "assistant", "assistant", "user", "model", "tool"]
        turn["role"] = draw(st.sampled_from(roles if called else roles[:-1]))
        if turn["role"] == "assistant":
            ids = draw(st.lists(st.sampled_from([*"abcdefgh", "\u00e9"]), max_size=2, unique=True))
            ids += draw(st.sampled_from([*30 * [()], ("",), (1,), ("a",)]))
            turn["tool_calls"] = [{"id": identity, "name": "x"} for identity in ids]
            called += ids
        elif called and (turn["role"] == "tool" or draw(st.booleans())):
            known = draw(st.sampled_from([*9 * called, "a"]))
            plain = [known] if version == "0.3.0" else known
            odd = [known], known, [known, known], [], None
            turn["tool_call_id"] = draw(st.sampled_from([*9 * [plain], *odd]))
        turns.append(turn)
    return turns


def answers(key: str) -> st.SearchStrategy[list[Row]]:
    """Return a strategy that draws the answers of a row, most of which are in its transcript."""
    places = [(turn, f"{key}[{turn}].content") for turn in (0, 1, 1, 2, 3)]
    odd = [(0, "answer"), (0, "output.raw"), (-1, f"{key}[-1].content"), (1, f"{key}[2].content")]
    return st.lists(
        st.builds(
            lambda place, *rest: {**ANSWER, "turn_idx": place[0], "source": place[1], **rest[0]},
            st.sampled_from(3 * places + odd),
            st.sampled_from([*5 * [{}], {"is_terminal": False}]),
        ),
        max_size=1,
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_any_transcript_is_judged_alike_by_both_speeds(version: str) -> None:
    key = "messages" if version == "0.3.0" else "interactions"

    @given(
        turns=transcripts(version),
        kind=st.sampled_from([*3 * ["agentic"], *3 * ["multi_turn"], "single_turn"]),
        given_answers=answers(key),
        excess=st.sampled_from([*9 * [0], 1]),
    )
    @bounded(max_examples=examples(300))
    def agree(turns: list[Row], kind: str, given_answers: list[Row], excess: int) -> None:
        row = changed(AGENTIC, {"interaction_type": kind}, version)
        row |= {"answer_attribution": given_answers, key: turns}
        row["evaluation"]["num_turns"] = len(turns) + excess
        calls = sum(len(turn.get("tool_calls", ())) for turn in turns)
        row["evaluation"]["tool_calls_count"] = calls
        assert_quiet_is_right(row, ALONE)

    agree()
    assert assert_quiet_is_right(changed(AGENTIC, {}, version), ALONE)


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
@bounded(max_examples=examples(200))
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
    for path in some(sorted((CORPUS / "eee-pairs").rglob("*.jsonl")), 60):
        for line in some(lines_of(path), 1):
            row = json.loads(line)
            accepted += assert_quiet_is_right(row, ALONE)
            assert_quiet_is_right(row, CONTEXTS[1 + total % 2])
            total += 1
    assert total > 50
    assert accepted > total / 3


def test_notices_are_counted_once_for_the_whole_file(tmp_path: Path) -> None:
    rows = [{**row, "answer_attribution": []} for row in sound_rows(count=20)]
    rows[3]["answer_attribution"] = [ANSWER]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(map(line_of, rows)))
    report = evalstream.check(path, select=("ES301",))
    (finding,) = report
    assert (finding.count, finding.severity, finding.line) == (19, Severity.INFO, None)
    assert report.counts == {"ES301": 19}
    assert valid_row(RowReader(ALONE), line_of(rows[0])) is not None
