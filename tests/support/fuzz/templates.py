"""Sound rows of every version and kind, in the shapes that converters write."""

import copy
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rows import COVERED, Row

from evalstream.formats.eee import versions
from fuzz.literals import meaning

EVALUATION = "tiny-arithmetic/acme/acorn-7b/1760000000"
MODEL = "acme/acorn-7b"
NAMES = ("tiny-arithmetic", "tiny-arithmetic - hard", "another")
RESULT_IDS = ("accuracy", "scorer:f1", "rougeL")
NEW = ("0.2.2", "0.2.3", "0.3.0")
"""Versions with evaluation_result_id."""


def transcript_key(version: str) -> str:
    """Return what a version calls the transcript."""
    return "interactions" if version in versions.OLDEST else "messages"


MOST_REAL_BYTES = 20_000
"""The longest line that is used as a template."""

_REAL: dict[str, list[bytes]] = {}
"""Rows of files, by the version that checks them."""


def use_rows(paths: Iterable[Path]) -> int:
    """Use the rows of files as templates, too; return how many there are."""
    for path in paths:
        for line in path.read_bytes().split(b"\n"):
            if not line or len(line) > MOST_REAL_BYTES:
                continue
            row = json.loads(line)
            if isinstance(row, dict) and isinstance(declared := row.get("schema_version"), str):
                version = versions.nearest_version(declared, instance=True)
                _REAL.setdefault(version, []).append(json.dumps(row).encode())
    return sum(map(len, _REAL.values()))


def real_rows(version: str) -> Sequence[bytes]:
    """Return the rows of files that a version checks."""
    return _REAL.get(version, ())


@lru_cache(maxsize=32)
def templates(version: str) -> tuple[bytes, ...]:
    """Return sound rows of a version, without a hash, as JSON."""
    makers = (_minimal, _full, _inspect, _helm, _harness, _several, _multi_turn, _agentic, _tools)
    return tuple(json.dumps(maker(version)).encode() for maker in makers)


def with_hash(row: Row, recipe: str, algorithm: str = "sha256") -> None:
    """Set the hash that a recipe gives for the input of a row, where the input has one."""
    sample = row.get("input")
    if sample.__class__ is not dict:
        return
    raw, reference = meaning(sample.get("raw")), meaning(sample.get("reference"))
    texts = [meaning(text) for text in reference] if reference.__class__ is list else [reference]
    if not all(text.__class__ is str for text in (raw, *texts)):
        return
    try:
        covered = COVERED[recipe](raw, texts).encode()
    except UnicodeEncodeError:
        return
    row["sample_hash"] = hashlib.new(algorithm, covered).hexdigest()


def _minimal(version: str) -> Row:
    row: Row = {
        "schema_version": versions.declared_forms(version)[0],
        "evaluation_id": EVALUATION,
        "model_id": MODEL,
        "evaluation_name": NAMES[0],
        "sample_id": "s0",
        "interaction_type": "single_turn",
        "input": {"raw": "What is 2 + 3?", "reference": _reference(version, "5")},
        "output": {"raw": _texts(version, "The answer is 5.")},
        "answer_attribution": [_answer()],
        "evaluation": {"score": 1.0, "is_correct": True},
    }
    if version in NEW:
        row["evaluation_result_id"] = RESULT_IDS[0]
    return row


def _full(version: str) -> Row:
    row = _minimal(version)
    row["input"] |= {"formatted": "<user>What is 2 + 3?", "choices": ["4", "5", "six"]}
    row["output"]["reasoning_trace"] = _texts(version, "2 + 3 = 5")
    row["evaluation"] |= {"num_turns": 1, "tool_calls_count": 0}
    row["token_usage"] = {
        "input_tokens": 20, "output_tokens": 8, "total_tokens": 33,
        "input_tokens_cache_write": 2, "input_tokens_cache_read": 4, "reasoning_tokens": 5,
    }  # fmt: skip
    row["performance"] = {
        "latency_ms": 210.5, "time_to_first_token_ms": 20, "generation_time_ms": 180.25,
    }  # fmt: skip
    if not versions.OLDEST.count(version):
        row["performance"]["additional_details"] = {"queue": "3"}
    row["error"] = None
    row["metadata"] = _metadata(version, epoch=1, subject="sums")
    return row


def _inspect(version: str) -> Row:
    row = _minimal(version)
    row["answer_attribution"] = []
    row["input"]["choices"] = ["four", "five"]
    row["input"]["reference"] = _reference(version, "B")
    row["evaluation"] |= {"num_turns": 1}
    row["metadata"] = _metadata(version, epoch=2, stop_reason="stop", id="7")
    row["performance"] = {"latency_ms": 10, "generation_time_ms": 12.5}
    return row


def _helm(version: str) -> Row:
    row = _minimal(version)
    row["answer_attribution"][0] |= {"source": "completions[0].text"}
    row["evaluation"] = {"score": 0.25, "is_correct": False}
    row["token_usage"] = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    row["performance"] = {"generation_time_ms": 1e3, "finish": {"a": [1, None, "x"]}}
    if version not in versions.OLDEST:
        del row["performance"]["finish"]
    return row


def _harness(version: str) -> Row:
    row = _minimal(version)
    row["sample_id"] = 17 if version in versions.OLDEST else "17"
    row["input"] = {
        "raw": 'Café \U0001f600 naïve\n"quoted" \\ \u2028 end:',
        "reference": _reference(version, " ja"),
        "choices": [" ja", " nein"],
    }
    row["evaluation"] = {"score": 0, "is_correct": False}
    row["metadata"] = _metadata(version, doc_id=17, task="x")
    row["error"] = ""
    return row


def _several(version: str) -> Row:
    row = _minimal(version)
    if version != "0.2.0":
        row["input"]["reference"] = ["5", "five", ""]
        row["output"]["raw"] = ["5", "The answer is 5."]
    row["error"] = "timeout"
    row["evaluation"] = {"score": 0.0, "is_correct": False}
    row["metadata"] = _metadata(version, seed=3, trial=1)
    return row


def _multi_turn(version: str) -> Row:
    key = transcript_key(version)
    roles = ("system", "user", "assistant", "user", "assistant")
    row = _minimal(version)
    del row["output"]
    row["interaction_type"] = "multi_turn"
    row[key] = [
        {"turn_idx": place, "role": role, "content": f"turn {place}"}
        for place, role in enumerate(roles)
    ]
    row[key][1]["content"] = row["input"]["raw"]
    row["answer_attribution"] = [_answer(4, f"{key}[4].content")]
    row["evaluation"] |= {"num_turns": 5, "tool_calls_count": 0}
    return row


def _agentic(version: str) -> Row:
    key = transcript_key(version)
    row = _minimal(version)
    del row["output"]
    row["interaction_type"] = "agentic"
    call = {"id": "call-1", "name": "calculator", "arguments": {"expression": "2 + 3"}}
    row[key] = [
        {"turn_idx": 0, "role": "user", "content": "What is 2 + 3?"},
        {"turn_idx": 1, "role": "assistant", "content": None, "tool_calls": [call]},
        {"turn_idx": 2, "role": "tool", "content": "5", "tool_call_id": _call(version, "call-1")},
        {"turn_idx": 3, "role": "assistant", "content": "The answer is 5."},
    ]
    row["answer_attribution"] = [_answer(3, f"{key}[3].content")]
    row["evaluation"] |= {"num_turns": 4, "tool_calls_count": 1}
    row["performance"] = {"latency_ms": 5000}
    return row


def _tools(version: str) -> Row:
    key = transcript_key(version)
    row = _agentic(version)
    calls = [{"id": f"c{place}", "name": "search", "arguments": {}} for place in range(3)]
    row[key][3] |= {"tool_calls": calls, "reasoning_trace": "think"}
    row[key] += [
        {"turn_idx": 4, "role": "tool", "content": "x", "tool_call_id": ["c0", "c2"]},
        {"turn_idx": 5, "role": "tool", "content": "y", "tool_call_id": _call(version, "c1")},
        {"turn_idx": 6, "role": "assistant", "content": "done"},
    ]
    row["evaluation"] |= {"num_turns": 7, "tool_calls_count": 4}
    row["metadata"] = _metadata(version, repeat=0, nested="a")
    return row


def _answer(turn: int = 0, source: str = "output.raw") -> Row:
    return {
        "turn_idx": turn, "source": source, "extracted_value": "5",
        "extraction_method": "regex", "is_terminal": True,
    }  # fmt: skip


def _reference(version: str, text: str) -> Any:
    return text if version == "0.2.0" else [text]


def _texts(version: str, text: str) -> Any:
    return text if version == "0.2.0" else [text]


def _call(version: str, text: str) -> Any:
    return text if version in versions.OLDEST else [text]


def _metadata(version: str, **members: Any) -> Row:
    if version in versions.OLDEST:
        return {**members, "nested": {"list": [1, {"a": None}], "flag": True}}
    return {name: str(value) for name, value in members.items()}


@lru_cache(maxsize=32)
def known_places(version: str) -> tuple[tuple[str | int, ...], ...]:
    """Return all places of values in the templates of a version, the first of each array only."""
    found: dict[tuple[str | int, ...], None] = {}

    def walk(value: Any, place: tuple[str | int, ...]) -> None:
        if place:
            found[place] = None
        items: Any = value.items() if value.__class__ is dict else ()
        if value.__class__ is list:
            items = enumerate(value)
        for key, inner in items:
            walk(inner, (*place, key))

    for text in templates(version):
        walk(copy.deepcopy(json.loads(text)), ())
    return tuple(found)
