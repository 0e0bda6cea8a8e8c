"""Rows of which most is written like the row before are judged like any other."""

import json
import random
from typing import Any

import pytest
from depth import some
from each import each
from fast_rows import CONTEXTS, changed, fast_path_of, outcome, rehashed, slowly, sound, written

from evalstream.formats.eee import row_view, versions
from evalstream.formats.eee.facts import RowContext
from evalstream.parsing.native import binding
from evalstream.parsing.native.scanner import Scanner, ScannerConfig
from evalstream.parsing.native.schema_keywords import Discriminator
from evalstream.parsing.native.schema_tables import build_tables
from evalstream.parsing.schema_files import builtin_schema

pytestmark = pytest.mark.skipif(binding.library() is None, reason="the scanner is not compiled")

CHANGES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("sample_id", ("sample-1", "sample-2", "x\u00fc", 7, 8, -0, None, "")),
    ("evaluation_id", ("a/b/1", "a/b/2")),
    ("input/raw", ("What is 2 + 2?", 'a "quote"\n', "", " ", "é")),
    ("input/reference", (["4"], ["5"], ["4", "four"], [], "4")),
    ("input/choices", (["4", "5"], ["4", "5", "6"], [], None)),
    ("evaluation/score", (0, 1, 0.0, 1.0, 0.5, 1e9, -1, True, None, "1", {}, [1])),
    ("evaluation/is_correct", (True, False, None, 1)),
    ("error", (None, "failed", "")),
    ("answer_attribution", ([], None, [{"turn_idx": 0}], {})),
    ("output", (None, {"raw": ["4"], "reasoning_trace": None}, {"raw": ["4", "5"]}, {"raw": []})),
    ("token_usage", (None, {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, {})),
    ("metadata", ({}, {"epoch": 1}, {"epoch": 2}, {"epoch": "1"}, {"seed": {"a": [1]}}, None)),
    ("interaction_type", ("single_turn", "multi_turn", "agentic", "other")),
    ("new", (1, {"a": 1}, ...)),
)
STYLES: tuple[dict[str, Any], ...] = (
    {},
    {"separators": (",", ":")},
    {"ensure_ascii": False},
    {"separators": (" ,  ", " :\t")},
)


def lines_of(seed: int, version: str, within: RowContext) -> bytes:
    """Return lines of which some in a row differ in single values, and some in their members."""
    chance = random.Random(seed)
    row, lines = sound(chance.randrange(6), version), []
    for _ in range(12):
        kept, style = row, chance.choice(STYLES[: chance.choice((1, 1, 4))])
        few = chance.sample(CHANGES, 2)
        for _ in range(chance.randrange(1, 6)):
            for place, values in few:
                kept = changed(kept, place, chance.choice(values[: chance.choice((2, 20))]))
            is_sound = isinstance(kept["input"]["raw"], str) and chance.random() < 0.7
            lines.append(written(rehashed(kept, within) if is_sound else kept, **style))
        row = kept if chance.random() < 0.3 else sound(chance.randrange(6), version)
    return b"".join(line + chance.choice((b"\n", b"\n", b" \n", b"\r\n")) for line in lines)


@each("seed", some(range(120), 24))
def test_rows_that_are_written_alike_are_judged_as_ever(seed: int) -> None:
    version, within = CONTEXTS[seed % len(CONTEXTS)]
    data = lines_of(seed, version, within)
    assert outcome(within, data) == outcome(slowly(within), data)


def test_a_row_that_ends_earlier_than_the_one_before_is_none() -> None:
    version, within = CONTEXTS[0]
    row = json.dumps(sound(version=version)).encode()
    ends = [row[:-size] for size in range(1, len(row))]
    data = b"".join(row + b"\n" + row + b"\n" + end + b"\n" for end in ends)
    assert outcome(within, data) == outcome(slowly(within), data)


def test_what_is_watched_is_seen_in_each_row() -> None:
    version, within = CONTEXTS[0]
    tables = build_tables(
        builtin_schema(versions.instance_schema_name(version)),
        binding.slots(),
        Discriminator("interaction_type", row_view.INTERACTION_TYPES),
        {row_view.transcript_key(version): "turns"},
        watched=[("metadata", "subject")],
    )
    values = (None, {}, {"subject": "a"}, {"subject": "b", "others": [1]}, {"others": []})
    rows = [
        {**sound(version=version), "sample_id": f"{number}", "metadata": metadata}
        for number, metadata in enumerate(({"subject": "a"},) * 5 + values * 4)
    ]
    lines = [written(row) + b"\n" for row in rows]
    loaded = binding.library()
    assert loaded is not None
    scanner = Scanner(loaded)
    setting = ScannerConfig(tables, fast_path_of(within).setting.demands, binding.Hasher())
    scanner.start(setting, b"".join(lines), 0, None, 1 << 20)
    scanner.go_to(0, 1, len(lines))
    assert scanner.scan() is binding.StopReason.NEW_SCOPE
    scanner.add_scope(usual=True)
    scanner.scan()
    assert sum(kind.rows for kind in scanner.kinds()) == len(lines)
    watched = [kind.rows for kind in scanner.kinds() if kind.flags & binding.Flag.WATCHED]
    assert sum(watched) == 13
