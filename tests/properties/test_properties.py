"""What must hold for any input: any cut, any executor, either engine, both speeds agree."""

import json
import math
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
from depth import deep, examples, in_turn, some
from each import each
from hypothesis import given
from hypothesis import strategies as st
from odd_files import LONGEST, MARK, _odd_lines, context_for, odd_files, outcome
from rows import (
    ENGINES,
    REPORTERS,
    VERSIONS,
    Place,
    aggregate_of,
    at,
    bounded,
    bytes_of,
    checked,
    line_of,
    mutants,
    places,
    reported,
    sound_rows,
    spoilt_bytes,
    valid_row,
    write_run,
)

import evalstream
from evalstream.engine import row_pass
from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.exact_path import RowReader
from evalstream.formats.eee.probe import probe_context
from evalstream.formats.eee.row_engine import EngineContext
from evalstream.formats.registry import CATALOGUE
from evalstream.io import readers
from evalstream.io.file import FileSource
from evalstream.io.readers import DescriptorReader
from evalstream.io.stream import StreamSource
from evalstream.model.block import Block
from evalstream.model.options import Options
from evalstream.parsing import json as parsing
from evalstream.parsing.schema_files import builtin_schema
from evalstream.parsing.strict_json import parse_exactly


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that lasts as long as this module's tests."""
    return tmp_path_factory.mktemp("properties")


@given(
    data=odd_files(),
    length=st.integers(1, 4000),
    head=st.integers(0, 3000),
    most=st.sampled_from([0, 1]),
)
@bounded(max_examples=examples(100))
def test_any_cut_of_a_file_gives_the_same(
    folder: Path, data: bytes, length: int, head: int, most: int
) -> None:
    path = folder / "cut.jsonl"
    path.write_bytes(data)
    context, source = context_for(data, most), FileSource(str(path), LONGEST)
    source.head(head)
    parts = [*source.blocks(length)]
    source.close()
    whole = Block(str(path), 0, len(data), data, final=True)
    assert outcome(context, parts) == outcome(context, [whole] if data else [])


@given(
    data=odd_files(),
    length=st.integers(1, 4000),
    head=st.integers(0, 3000),
    piece=st.integers(1, 3000),
)
@bounded(max_examples=examples(100))
def test_any_cut_of_a_stream_gives_the_same(
    data: bytes, length: int, head: int, piece: int
) -> None:
    context = context_for(data, 0)
    whole = Block("rows.jsonl", 0, len(data), data, final=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "READ_BYTES", piece)
        seen = outcome(context, _streamed(data, length, head))
    assert seen == outcome(context, [whole] if data else [])


@pytest.mark.parametrize("mark", [b"", MARK, b"\xff\xfe", deep(b"\xfe\xff")])
@each("beyond", range(-3, 5))
def test_no_cut_decides_whether_a_marked_line_is_too_long(
    folder: Path, mark: bytes, beyond: int
) -> None:
    row = line_of(sound_rows(count=1)[0])[:-1]
    data = mark + row.ljust(LONGEST + beyond) + b"\n"
    path = folder / "marked.jsonl"
    path.write_bytes(data)
    context = context_for(data, 0)
    expected = outcome(context, [Block(str(path), 0, len(data), data, final=True)])
    assert [one.code for one in expected[0]].count("ES003") == (
        beyond + (0 if mark == MARK else len(mark)) > 0
    )
    for length in (1, 2, 3, 4, LONGEST, LONGEST + 1):
        source = FileSource(str(path), LONGEST)
        assert outcome(context, source.blocks(length)) == expected
        source.close()
        streamed = [block._replace(path=str(path)) for block in _streamed(data, length, length)]
        assert outcome(context, streamed) == expected


@given(
    data=odd_files(),
    length=st.integers(1, 4000),
    most=st.sampled_from([1, 2, 5]),
    engine=st.sampled_from(["auto", "rust"]),
)
@bounded(max_examples=examples(150))
def test_what_is_not_shown_needs_no_words(data: bytes, length: int, most: int, engine: str) -> None:
    data = data + b"\n" + data
    context = context_for(data, most, engine=engine)
    blocks = [*_streamed(data, length, 0)]
    assert outcome(context, blocks, skips_unshown=True) == outcome(context, blocks)


def _streamed(data: bytes, length: int, head: int) -> Iterator[Block]:
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "wb") as file:
            file.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        source = StreamSource(DescriptorReader(reading), "rows.jsonl", LONGEST, idle_seconds=0.0)
        assert data.startswith(source.head(head))
        source.start_digest(["md5"])
        blocks = [block for block in source.blocks(length) if block is not None]
        assert sum(block.length for block in blocks) == len(data) == source.size
        yield from blocks
    finally:
        writer.join()
        os.close(reading)


@pytest.mark.parametrize(
    ("form", "most"),
    [
        (form, most) if (form == "text") == bool(most) else deep(form, most)
        for form in sorted(REPORTERS)
        for most in (0, 2)
    ],
)
def test_serial_and_pool_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, most: int
) -> None:
    data = MARK + b"\r\n".join(_odd_lines() * 2)
    rows, aggregate = write_run(tmp_path, data)
    options = {"max_findings": most, "max_line_bytes": LONGEST}
    serial = reported(rows, tmp_path, form, aggregate, jobs=1, **options)
    _force_pool(monkeypatch)
    pooled = reported(rows, tmp_path, form, aggregate, jobs=2, **options)
    assert pooled == serial
    assert serial[0] == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_long_stream_is_digested_from_its_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows(count=40)))
    _force_pool(monkeypatch)
    head = StreamSource.head
    monkeypatch.setattr(StreamSource, "head", lambda source: head(source, 5000))
    monkeypatch.setattr(readers, "READ_BYTES", 1000)
    fifo = tmp_path / "run.fifo"
    os.mkfifo(fifo)
    with fifo_filled(fifo, rows):
        report = evalstream.check(fifo, aggregate=aggregate, jobs=jobs)
    assert (report.exit_code, report.counts.get("ES501")) == (0, None)
    assert report.runs[0].rows == 40


def fifo_filled(fifo: Path, source: Path) -> subprocess.Popen[bytes]:
    """Let another process write a file into a named pipe."""
    return subprocess.Popen(["/bin/sh", "-c", 'cat "$1" > "$2"', "sh", str(source), str(fifo)])


def _force_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_pass, "WORTH_A_POOL_BYTES", 0)
    monkeypatch.setattr(row_pass, "SMALLEST_BLOCK_BYTES", 700)
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 700)


def _reader(version: str, engine: str) -> RowReader:
    options = Options(schema_version=version, engine=engine)
    return RowReader(
        EngineContext(options=options, selection=CATALOGUE.selection(options), version=version)
    )


READER = {(version, engine): _reader(version, engine) for version in VERSIONS for engine in ENGINES}
REFERENCE = {
    version: jsonschema.Draft7Validator(builtin_schema(versions.instance_schema_name(version)))
    for version in VERSIONS
}


@each("engine", ENGINES)
@pytest.mark.parametrize("version", VERSIONS)
def test_accepted_rows_have_no_violation_and_the_reference_agrees(
    version: str, engine: str
) -> None:
    subject, reference = READER[version, engine], REFERENCE[version]

    @given(row=mutants(version))
    @bounded(max_examples=examples(100))
    def agree(row: dict[str, Any]) -> None:
        line = line_of(row)[:-1]
        valid = reference.is_valid(json.loads(line))
        accepted = valid_row(subject, line) is not None
        violations = subject.explain(line, torn=False)[1]
        assert not (accepted and violations)
        assert valid == (not violations)
        assert valid or not accepted

    agree()


@each("engine", ENGINES)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_sound_row_is_accepted(version: str, engine: str) -> None:
    for row in sound_rows(version):
        assert valid_row(READER[version, engine], line_of(row)) == row


@pytest.mark.parametrize(("version", "engine"), in_turn(VERSIONS, ENGINES))
def test_one_violation_is_found_at_its_pointer(version: str, engine: str) -> None:
    subject, reference = READER[version, engine], REFERENCE[version]
    for row in sound_rows(version, 6):
        for place in some(list(places(row)), 24):
            removed, retyped = json.loads(json.dumps(row)), json.loads(json.dumps(row))
            del at(removed, place[:-1])[place[-1]]
            wrong = 7 if isinstance(at(row, place), (str, list, dict)) else {"a": ["wrong"]}
            at(retyped, place[:-1])[place[-1]] = wrong
            for mutant, where in ((removed, place[:-1]), (retyped, place)):
                if reference.is_valid(mutant):
                    continue
                violations = subject.explain(line_of(mutant), torn=False)[1]
                found = {violation.pointer for violation in violations}
                assert parsing.pointer(_blamed(mutant, where, place)) in found, (place, violations)


def _blamed(mutant: dict[str, Any], where: Place, place: Place) -> Place:
    """Return the place of a reported fault: a whole map of strings is judged member by member."""
    del mutant, place
    return where


@each(
    ("number", "reader"),
    in_turn(["1e999", "-1e999", "NaN", "Infinity", "-Infinity"], list(READER)),
    group=1,
)
def test_a_number_that_is_not_finite_is_found_anywhere(
    number: str, reader: tuple[str, str]
) -> None:
    version, subject = reader[0], READER[reader]
    for row in sound_rows(version, 3):
        row["metadata"]["inner"] = {"list": [0.5], "map": {"x/y": 0.5}}
        for place in places(row):
            spoilt = json.loads(json.dumps(row))
            at(spoilt, place[:-1])[place[-1]] = "@number@"
            line = line_of(spoilt).replace(b'"@number@"', number.encode())
            assert valid_row(subject, line) is None, place
            violations = subject.explain(line, torn=False)[1]
            assert parsing.pointer(place) in {f.pointer for f in violations if f.code == "ES108"}


@given(data=st.one_of(st.binary(max_size=300), spoilt_bytes(bytes_of(sound_rows(count=3)))))
@bounded(max_examples=examples(100))
@pytest.mark.parametrize("engine", ENGINES)
def test_no_bytes_crash_the_check(folder: Path, data: bytes, engine: str) -> None:
    path = folder / f"spoilt-{engine}.jsonl"
    path.write_bytes(data)
    code, found = checked(path, engine=engine)
    assert code in (0, 1, 3)
    assert found


JSON_PIECES = [
    "{", "}", "[", "]", ",", ":", '"', '""', '"a"', '"a":', '{"a":1}', "1", "0", "-", "-0", "01",
    "1.", ".5", "1e5", "1E+5", "1e-400", "1e308", "1.7976931348623159e308", "true", "null", "nan",
    "NaN", "Infinity", "\\", '\\"', "\\u00e9", "\\ud800", "\\udc00", "\\ud83d\\ude00", "\\x", "\t",
    " ", "\n", "\r", "\0", "\x1f", "\x7f", "\u2028", "\u00a0", "\ufeff", "é", "/*", "9" * 25,
    "0.1", "123456789.123456789e-5", "5e-324", "2.2250738585072011e-308", "9007199254740993.0",
]  # fmt: skip
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=3), inner)),
    max_leaves=8,
)


@st.composite
def json_like(draw: st.DrawFn) -> bytes:
    """Draw text that is JSON or nearly so."""
    if draw(st.booleans()):
        return "".join(draw(st.lists(st.sampled_from(JSON_PIECES), max_size=10))).encode()
    text = json.dumps(draw(JSON_VALUES), ensure_ascii=draw(st.booleans()))
    data = text.encode(errors="surrogatepass")
    return draw(spoilt_bytes(data, 2)) if draw(st.booleans()) else data


@given(text=json_like())
@bounded(max_examples=examples(800))
def test_what_the_fast_parser_takes_the_exact_one_takes_alike(text: bytes) -> None:
    try:
        value = parsing.fast(text)
    except ValueError:
        return
    parsed = parse_exactly(text, parsing.FAST_DEPTH)
    if _holds_infinity(value):
        assert {issue.name for issue in parsed.issues} == {"non-finite-number"}
        return
    assert parsed.issues == []
    assert repr(parsed.value) == repr(value)


_TEXTS = st.one_of(st.text(st.characters(exclude_categories=[])), st.just("\x7f\x1b/\u2028:1e5"))
_SCALARS = st.one_of(_TEXTS, st.floats(), st.integers(), st.sampled_from([1e16, 2**64, None, True]))


@given(
    value=st.recursive(
        _SCALARS, lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner), max_leaves=9
    ),
    is_sorted=st.booleans(),
)
@bounded(max_examples=examples(800))
def test_the_standard_library_writes_json_as_orjson_does_or_not_at_all(
    value: Any, is_sorted: bool
) -> None:
    option = orjson.OPT_SORT_KEYS if is_sorted else None
    try:
        written = parsing.encode_alike(value, is_sorted=is_sorted)
    except UnicodeEncodeError:
        with pytest.raises(TypeError):
            orjson.dumps(value, option=option)
    else:
        assert written is None or written == orjson.dumps(value, option=option)


def test_usual_values_are_written_without_orjson() -> None:
    usual = {"line": 3, "score": 0.65, "checksum": "9e1" * 20, "texts": ["ü", -1, None, True]}
    assert parsing.encode_alike(usual, is_sorted=False) == orjson.dumps(usual)
    assert parsing.encode_alike([1e16], is_sorted=False) is None


@given(number=st.floats(allow_nan=False, allow_infinity=False), form=st.sampled_from("refg"))
@bounded(max_examples=examples(300))
def test_both_parsers_read_the_same_numbers(number: float, form: str) -> None:
    text = (repr(number) if form == "r" else f"{number:.25{form}}").encode()
    assert repr(parsing.fast(text)) == repr(parse_exactly(text, 9).value)


@each("digits", [4299, 4300, 4301])
@pytest.mark.parametrize("sign", ["", "-"])
def test_both_parsers_have_the_same_longest_integer(digits: int, sign: str) -> None:
    text = f"{sign}{'9' * digits}".encode()
    sound = not parse_exactly(text, 9).issues
    assert sound == (digits <= 4300)
    assert _taken(text) <= sound


@each("depth", [198, 199, 200, 201, 202, 5000])
@pytest.mark.parametrize("inner", [b"", b"1", b"{}", b'{"a":1}'])
def test_the_fast_parser_takes_nothing_too_deep(depth: int, inner: bytes) -> None:
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        if opening != b"[" and not inner:
            continue
        text = opening * depth + inner + closing * depth
        assert _taken(text) <= (not parse_exactly(text, 200).issues)


def _taken(text: bytes) -> bool:
    try:
        parsing.fast(text)
    except ValueError:
        return False
    return True


def _holds_infinity(value: Any) -> bool:
    return any(
        isinstance(found, float) and not math.isfinite(found)
        for found in [value, *(at(value, place) for place in places(value))]
    )


@pytest.mark.parametrize("engine", ["auto", "rust"])
def test_a_number_never_counts_as_a_judgement(engine: str) -> None:
    rows = sound_rows(count=2)
    for row in rows:
        row["evaluation"] |= {"score": 0, "is_correct": False}
    rows[0]["evaluation"]["is_correct"] = 0
    for data in (bytes_of(rows), bytes_of(rows[::-1])):
        block = Block("rows.jsonl", 0, len(data), data, final=True)
        _, _, tally = outcome(context_for(data, 0, engine=engine), [block])
        assert [scores.judged for scores in tally.scores.values()] == [1]


@pytest.mark.parametrize("engine", ["auto", "rust"])
def test_what_is_not_selected_is_not_noticed_either(engine: str) -> None:
    (row,) = sound_rows(count=1)
    data = bytes_of([row | {"answer_attribution": []}])
    block = Block("rows.jsonl", 0, len(data), data, final=True)
    for select, expected in ((("ES4",), 0), (("ES3", "ES4"), 1)):
        options = Options(select=select, engine=engine)
        within = probe_context(options, Aggregate(aggregate_of("0.2.0", data, 1)), data)
        assert outcome(within, [block])[2].notices.total() == expected
