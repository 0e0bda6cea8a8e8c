"""The scanner's binding: both languages agree on structures, and what a row is told as."""

import itertools
import json
import random
import re
import struct
from pathlib import Path

import pytest
from each import each
from fast_rows import (
    AGENTIC,
    IDS,
    SINGLE,
    SOURCES,
    asking,
    context,
    exact_path_of,
    fast_path_of,
    sound,
    written,
)
from rows import COVERED, Row

from evalstream.engine.result import BlockFindings
from evalstream.formats.eee import fast_block, row_view
from evalstream.formats.eee.fast_block import FastBlock
from evalstream.model.block import Lines
from evalstream.model.row_record import RECORD_BYTES, RowRecord
from evalstream.parsing.native import binding, record_index, scanner, schema_tables
from evalstream.parsing.native.binding import DOUBTFUL_HASH
from evalstream.stats.tally import Tally

FORMATS = SOURCES.parents[1] / "formats"

SCANNED = ("concat", "concat-first", "json-str", "json-list", "json-list-spaced")
"""The recipes that the scanner knows; a recipe without a place here takes the exact path."""


def members_of(text: str, struct_name: str) -> list[str]:
    """Return the names of the members of a C structure, those of inner structures in place."""
    names = []
    for declaration in filter(
        None, map(str.strip, body_of(text, f"struct {struct_name}").split(";"))
    ):
        inner = re.fullmatch(r"struct (\w+) texts", declaration)
        function = re.search(r"\(\*(\w+)\)", declaration)
        listed = re.findall(r"(\w+)(?:\[[^]]*\])?(?=,|$)", declaration)
        names += members_of(text, inner[1]) if inner else [function[1]] if function else listed
    return names


def constants_of(text: str, enum: str) -> dict[str, int]:
    """Return the constants of a C enumeration."""
    names = re.findall(r"(\w+)(?: = (\d+))?(?:,|\s*$)", body_of(text, f"enum {enum}"))
    return {name: int(value or place) for place, (name, value) in enumerate(names)}


def body_of(text: str, name: str) -> str:
    """Return what stands in the braces of a C type, without comments."""
    (body,) = re.findall(rf"^{name} {{(.*?)}};", text, re.DOTALL | re.MULTILINE)
    return re.sub(r"/\*.*?\*/", "", str(body), flags=re.DOTALL)


def test_both_languages_know_the_same_structures() -> None:
    text = "\n".join(path.read_text() for path in sorted(SOURCES.glob("*.h")))
    digest = ["digest", "digest_1", "digest_2", "digest_3"]
    assert members_of(text, "row") == [*binding.COLUMNS[: -len(digest)], "digest"]
    assert [*binding.COLUMNS[-len(digest) :]] == digest
    assert members_of(text, "record") == [*RowRecord._fields]
    for name, known in (
        ("demands", binding.RowConstraints),
        ("hasher", binding.Hasher),
        ("tables", binding.TablePointers),
        ("scope", binding.ScopeEntry),
        ("scan", binding.ScanState),
    ):
        assert members_of(text, name) == [field[0] for field in known._fields_]
    flags = {name: value for name, value in vars(binding.Flag).items() if name.isupper()}
    assert constants_of(text, "flag") == flags
    assert constants_of(text, "pause") == dict(binding.StopReason.__members__)
    assert binding.slots()[: len(IDS)] == fast_block._IDS == IDS
    assert binding.recipes() == ("", *SCANNED)
    named = re.findall(r'type\(\w+, "(\w+)"\)', text)
    assert tuple(named) == row_view.INTERACTION_TYPES
    traits = {name: bit for name, bit in vars(schema_tables.Trait).items() if name.isupper()}
    assert constants_of(text, "trait") == traits
    assert int(*re.findall(r"DOUBTFUL_HASH = 1 << (\d+)", text)) == DOUBTFUL_HASH.bit_length() - 1
    assert members_of(text, "row_kind") == ["scope", "flags", "doubtful", "score", "count", "first"]
    for name, most in (
        ("MOST_KINDS", scanner.MOST_KINDS),
        ("MOST_LIKENESSES", binding.MOST_LIKENESSES),
    ):
        assert int(*re.findall(rf"{name} = (\d+)", text)) == most
    for name in ("DOUBTFUL_WATCHED", "CERTAIN_HASH"):
        (bit,) = re.findall(rf"{name} \(\(uint64_t\)1 << (\d+)\)", text)
        assert getattr(binding, name) == 1 << int(bit)


@each("moves_after", [None, 0, 2000])
def test_the_index_finds_the_first_row_of_each_digest_in_all_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves_after: int | None
) -> None:
    monkeypatch.setattr(record_index.os, "urandom", bytes)
    loaded = binding.library()
    assert loaded is not None
    chance = random.Random(5)
    few = [chance.randbytes(16) for _ in range(40)]
    # With a seed of 0 the upper half of the first word alone tells these apart at first.
    alike = [struct.pack("<2IQ", number, 7, 0) for number in range(300)]
    digests = [*few, *alike, bytes(16), *chance.choices([*few, *alike, bytes(16)], k=5000)]
    index = record_index.Index(loaded)
    expected = [digests.index(digest) for digest in digests]
    found: list[int] = []
    sizes = itertools.cycle([1, 700, 0, 33, 1500])
    file = (tmp_path / "records").open("w+b", buffering=0)
    is_in_file = False
    while len(found) < len(digests):
        if not is_in_file and moves_after is not None and len(found) >= moves_after:
            is_in_file = True
            index.read_from(file.fileno())
        some = digests[len(found) : len(found) + next(sizes)]
        records = b"".join(bytes(8) + digest + bytes(RECORD_BYTES - 24) for digest in some)
        start = len(found)
        file.write(records)
        found += index.add(records, 8) or range(start, start + len(some))
    assert found == expected
    assert index.size(0) < 24 * len(digests)
    file.truncate(0)
    if is_in_file:
        with pytest.raises(OSError, match="cannot be read"):
            index.add(records, 8)
    file.close()


def test_an_index_has_room_for_the_rows_that_it_expects() -> None:
    loaded = binding.library()
    assert loaded is not None
    chance, index = random.Random(6), record_index.Index(loaded)
    records = [b"".join(chance.randbytes(RECORD_BYTES) for _ in range(1_000)) for _ in range(40)]
    index.expect(40_000)
    expected = index.size(0)
    assert 10 * 40_000 < expected < 16 * 40_000
    assert all(index.add(some, 8) is None for some in records)
    assert index.size(0) < expected + 1_000 * 8
    assert index.add(records[7], 8) == [*range(7_000, 8_000)]


def test_the_index_grows_evenly() -> None:
    loaded = binding.library()
    assert loaded is not None
    chance, index = random.Random(5), record_index.Index(loaded)
    for rows in range(1_000, 40_001, 1_000):
        records = b"".join(chance.randbytes(RECORD_BYTES) for _ in range(1_000))
        assert index.add(records, 8) is None
        assert rows < 5_000 or 10 * rows < index.size(0) < 14 * rows


def test_a_known_row_gives_known_columns() -> None:
    within = context("0.3.0", "json-list", links=True)
    first, second = sound(SINGLE, "0.3.0"), sound(AGENTIC, "0.3.0")
    second = {**second, "error": "late", "evaluation": {**second["evaluation"], "score": 0.25}}
    second["evaluation"]["is_correct"] = False
    second = asking(second, within, reference=["5535", "five"])
    lines = [written(first) + b"\r", b"no row", written(second)]
    data = b"".join(line + b"\n" for line in lines)
    swept = FastBlock(
        fast_path_of(within),
        exact_path_of(within).groups(),
        Tally(),
        BlockFindings(within.options, within.selection),
        Lines(data),
        None,
    )
    swept.take(0, 1)
    words, texts = swept._scanner.words().tolist(), swept._scanner.texts()
    swept.close()
    width, flags = len(binding.COLUMNS), binding.Flag
    habits = flags.UNPROMPTED | flags.REFERRED | flags.UNLOGGED
    assert len(words) == 3 * width
    rows = [
        dict(zip(binding.COLUMNS, words[start : start + width], strict=True))
        for start in range(0, len(words), width)
    ]
    assert [data[row["start"] : row["stop"]] for row in rows] == lines
    assert [row["flags"] for row in rows] == [
        flags.TAKEN | flags.CARRIAGE_RETURN | flags.IS_CORRECT | habits | flags.SOURCED,
        0,
        flags.TAKEN | flags.SEVERAL | flags.FAILED | habits | flags.ALIASED,
    ]
    assert [row["scope"] for row in rows] == [0, 0, 0]
    said = (first, rows[0], "output", "output"), (second, rows[2], "turns", "messages")
    for row, told, column, member in said:
        assert struct.pack("=Q", told["score"]) == struct.pack("=d", row["evaluation"]["score"])
        assert json.loads(data[told[column] : told[f"{column}_end"]]) == row[member]
        assert texts_of(told, texts) == expected_texts(row)


def texts_of(told: dict[str, int], texts: bytes) -> list[str]:
    """Return the texts of a row."""
    names = "sample", "hash", "input", "reference", "choices", "covered", "mark", "linked", "end"
    return [
        texts[told[one] : told[two]].decode("latin-1") for one, two in itertools.pairwise(names)
    ]


def expected_texts(row: Row) -> list[str]:
    """Return what the texts of a row have to be."""
    raw, listed = row["input"]["raw"], row["input"]["reference"]
    choices, covered = "\x1e".join(row["input"].get("choices", ())), COVERED["json-list"]
    told = row["sample_id"], row["sample_hash"], raw, "".join(f"\xff{one}" for one in listed)
    linked = "\x1e".join(listed)
    last = "epoch=1\x1f", f"{linked}\x1f{choices}" if choices else linked
    return [*told, choices, covered(raw, listed), *last]


def test_a_library_that_cannot_be_loaded_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spoilt = tmp_path / "library"
    spoilt.write_bytes(b"\x7fELF")
    for path in (tmp_path / "missing", spoilt, Path("libc.so.6")):
        monkeypatch.setattr(binding, "LIBRARY", str(path))
        assert binding.library.__wrapped__() is None


def test_what_knows_a_format_says_so_in_its_name() -> None:
    formats = {path.parent.name for path in FORMATS.glob("*/__init__.py")}
    codes = {path.stem for path in FORMATS.parent.rglob("rules/*.md")}
    names = "|".join([*formats, *codes, "every eval ever"]).replace("_", "[-_ ]?")
    known = re.compile(rf"\b(?:{names})\b", re.IGNORECASE)
    named = re.compile(f"({'|'.join(formats)}|lm)[_.]")
    assert "eee" in formats
    assert "ES301" in codes
    for path in SOURCES.glob("*.[ch]"):
        text = path.read_text(encoding="utf-8").replace("_", " ")
        assert named.match(path.name) or not known.findall(text), path.name
