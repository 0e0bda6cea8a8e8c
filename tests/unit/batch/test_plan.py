"""Shards of a batch and their merge: each run once, the same report, and nothing amiss merged."""

import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from depth import deep, in_turn
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import bytes_of, sound_rows, write_run

import evalstream
from evalstream.api.check import merge
from evalstream.batch.parts import FORMAT_VERSION, PartFile, PartReporter
from evalstream.batch.plan import COST_OF_A_RUN, RunPlan, Shard, parse_shard
from evalstream.batch.results import ResultStore
from evalstream.discovery import folder_pairs
from evalstream.discovery.peek import AggregatePeek, peek_aggregate
from evalstream.io.output import Output
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Finding, Severity
from evalstream.model.run import Run
from evalstream.model.run_summary import RunSummary
from evalstream.reporters.json import JsonReporter
from evalstream.reporters.text import TextReporter

ARRAY = {
    "SLURM_ARRAY_TASK_ID": "7",
    "SLURM_ARRAY_TASK_MIN": "5",
    "SLURM_ARRAY_TASK_MAX": "8",
    "SLURM_ARRAY_TASK_COUNT": "4",
}


@each(
    ("text", "shard"),
    [
        ("3/100", Shard(3, 100)),
        ("1/1", Shard(1, 1)),
        ("slurm", Shard(3, 4)),
        ("slurm/100", Shard(7, 100)),
    ],
)
def test_shards_are_read(text: str, shard: Shard) -> None:
    assert parse_shard(text, ARRAY) == shard


@each(
    "text",
    ["", "3", "0/4", "5/4", "-1/4", "1/0", "a/b", "1/4/2", "slurm/6", "slurm/x", "1/9999999"],
)
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_shard(text, ARRAY)


@each(
    "changed",
    [
        {"SLURM_ARRAY_TASK_ID": ""},
        {"SLURM_ARRAY_TASK_MIN": "7", "SLURM_ARRAY_TASK_MAX": "7", "SLURM_ARRAY_TASK_COUNT": "1"},
        {"SLURM_ARRAY_TASK_COUNT": "3"},
    ],
)
def test_what_is_left_of_an_array_does_not_say_how_many_shards_there_are(
    changed: dict[str, str],
) -> None:
    with pytest.raises(UsageError, match="array"):
        parse_shard("slurm", {**ARRAY, **changed})


SIZES = st.lists(st.integers(0, 5_000_000), max_size=60)


@given(SIZES, st.integers(1, 7))
def test_each_run_is_in_one_shard_and_shards_are_even(sizes: list[int], of: int) -> None:
    runs = [Run(f"memory://{number}.jsonl", None, size=size) for number, size in enumerate(sizes)]
    plans = [RunPlan(iter(runs), Shard(number, of)) for number in range(1, of + 1)]
    numbers = [list(plan.numbers()) for plan in plans]
    assert sorted(number for some in numbers for number in some) == list(range(len(runs)))
    assert len({plan.digest for plan in plans}) == 1
    loads = [sum(sizes[number] + COST_OF_A_RUN for number in some) for some in numbers]
    largest = max(sizes, default=0) + COST_OF_A_RUN
    assert max(loads) - min(loads) <= largest
    assert [plan.own_count for plan in plans] == list(map(len, numbers))
    for plan in plans:
        plan.close()


def test_the_largest_come_first_and_streams_before_them(tmp_path: Path) -> None:
    for number, size in enumerate((5, 50, 5, 500)):
        (tmp_path / f"{number}.jsonl").write_bytes(b" " * size)
    runs = [Run(str(tmp_path / f"{number}.jsonl"), None) for number in range(4)]
    with closing(RunPlan(iter([*runs, Run("-", None)]))) as plan:
        assert [planned.number for planned in plan.by_size()] == [4, 3, 1, 0, 2]
        assert [planned.number for planned in plan.in_order()] == [0, 1, 2, 3, 4]
        assert plan.total == 560


def finding(number: int, line: int) -> Finding:
    return Finding(
        "ES108",
        "x",
        Severity.ERROR,
        f"{number}",
        line,
        None,
        None,
        None,
        None,
        "m",
        None,
        None,
        None,
        None,
    )


@given(st.permutations(range(12)), st.sets(st.integers(0, 11), max_size=4))
def test_runs_come_in_any_order_and_are_told_in_theirs(order: list[int], holes: set[int]) -> None:
    shown: list[tuple[str, int | None]] = []
    told: list[int] = []
    gathering = ResultStore(
        iter(range(12)),
        lambda found: shown.append((found.file, found.line)),
        lambda number, _summary, count: told.append(count and number),
    )
    taken = [number for number in order if number not in holes]
    for number in taken:
        some = (finding(number, line) for line in range(number))
        gathering.add(number, RunSummary(f"{number}", None, "eee", rows=number), some)
    gathering.finish()
    assert shown == [(f"{number}", line) for number in sorted(taken) for line in range(number)]
    assert told == sorted(taken)
    runs = gathering.runs()
    assert [run.rows for run in runs] == sorted(taken)
    assert len(runs) == len(taken)
    assert [run.rows for run in runs[2:4]] == sorted(taken)[2:4]
    assert runs[-1].rows == max(taken)
    with pytest.raises(IndexError):
        runs[len(taken)]
    with pytest.raises(IndexError):
        runs[-len(taken) - 1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Some runs, among them faulty ones and one that cannot be read."""
    monkeypatch.chdir(tmp_path)
    data = Path("data")
    for number in range(9):
        place = data / f"run-{number}"
        place.mkdir(parents=True)
        rows = sound_rows()
        if number in (2, 5):
            rows[0] = {**rows[0], "evaluation": None, "sample_hash": "\ud800"}
        write_run(place, bytes_of(rows) + (b'{"torn": ' if number == 5 else b""))
    (data / "run-7" / "lonely.json").write_text('{"evaluation_results": [')
    return data


def part(folder: Path, shard: str, **settings: Any) -> Path:
    """Check one shard and write its part."""
    path = folder.parent / f"part-{shard.replace('/', '-')}.jsonl"
    with Output(str(path)) as output:
        evalstream.check(folder, shard=shard, reporter=PartReporter(output), **settings)
    return path


def written(path: Path, reporter: Callable[[Output], Any], call: Callable[..., Any]) -> str:
    """Write a report, and return it without its times."""
    with Output(str(path)) as output:
        call(reporter=reporter(output))
    text = path.read_text(encoding="utf-8")
    if text.startswith("{"):
        said = json.loads(text)
        for run in said["runs"]:
            run["seconds"] = 0
        return json.dumps(said)
    return text


@each(
    ("of", "reporter"),
    [
        (1, TextReporter),
        (2, JsonReporter),
        (20, JsonReporter),
        *(deep(of, TextReporter) for of in (2, 5, 20)),
        *(deep(of, JsonReporter) for of in (1, 5)),
    ],
)
def test_merged_shards_are_the_report_of_one_check(
    folder: Path, of: int, reporter: Callable[[Output], Any]
) -> None:
    parts = [part(folder, f"{number}/{of}") for number in range(1, of + 1)]
    report = Path("report")
    merged = written(report, reporter, lambda **how: merge(parts[::-1], **how))
    whole = written(report, reporter, lambda **how: evalstream.check(folder, **how))
    assert merged == whole
    if of == 1:
        assert merge(parts).exit_code == evalstream.check(folder).exit_code == 1


def test_a_finding_comes_back_as_it_was(folder: Path) -> None:
    merged = merge([part(folder, "1/2"), part(folder, "2/2")])
    whole = evalstream.check(folder)
    assert list(merged) == list(whole)
    assert merged.counts == whole.counts


def test_a_part_that_is_missing_or_doubled_is_named(folder: Path) -> None:
    one, two, three = (part(folder, f"{number}/3") for number in (1, 2, 3))
    with pytest.raises(CannotCheck, match="missing shards of 3: 2"):
        merge([one, three])
    copy = Path("copy.jsonl")
    copy.write_bytes(two.read_bytes())
    with pytest.raises(CannotCheck, match=r"copy\.jsonl: shard 2 is given twice"):
        merge([one, two, three, copy])
    with pytest.raises(UsageError):
        merge([])


def test_parts_of_different_batches_are_not_merged(folder: Path) -> None:
    one, two = part(folder, "1/2"), part(folder, "2/2")
    other = part(folder, "2/3")
    with pytest.raises(CannotCheck, match="different number of shards"):
        merge([one, two, other])
    strict = part(folder, "2/2", strict=True)
    with pytest.raises(CannotCheck, match="different options"):
        merge([one, strict])
    (folder / "run-9").mkdir()
    write_run(folder / "run-9", bytes_of(sound_rows()))
    with pytest.raises(CannotCheck, match="different list of runs"):
        merge([one, part(folder, "2/2")])


@each("cut", [1, 2, 100, 2000])
def test_a_part_that_was_cut_off_is_named(folder: Path, cut: int) -> None:
    one, two = part(folder, "1/2"), part(folder, "2/2")
    two.write_bytes(two.read_bytes()[:-cut])
    with pytest.raises(CannotCheck, match=r"part-2-2\.jsonl: it is truncated"):
        merge([one, two])


def test_a_part_that_was_edited_is_named(folder: Path) -> None:
    one, two = part(folder, "1/2"), part(folder, "2/2")
    text = two.read_bytes()
    for edited in (text.replace(b"failed", b"passed", 1), text.split(b"\n", 1)[1]):
        two.write_bytes(edited)
        with pytest.raises(CannotCheck, match=r"part-2-2\.jsonl"):
            merge([one, two])


@pytest.mark.parametrize("layout", [FORMAT_VERSION - 1, FORMAT_VERSION + 1])
def test_a_part_of_another_layout_is_refused(folder: Path, layout: int) -> None:
    one, two = part(folder, "1/2"), part(folder, "2/2")
    old = b'{"part":{"layout":%d' % FORMAT_VERSION
    two.write_bytes(two.read_bytes().replace(old, b'{"part":{"layout":%d' % layout))
    with pytest.raises(CannotCheck, match="written by another version"):
        merge([one, two])


@each("text", [b"", b"\n", b"{}\n", b'{"part": 3}\n', b'{"part": {}}\n', b"\xff\n"])
def test_what_is_no_part_is_refused(folder: Path, text: bytes) -> None:
    two = Path("two.jsonl")
    two.write_bytes(text)
    with pytest.raises(CannotCheck, match=r"two\.jsonl"):
        merge([part(folder, "1/2"), two])


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pairs whose names show them, with faults, and other files beside them."""
    monkeypatch.chdir(tmp_path)
    data = Path("data")
    for number in range(12):
        place = data / f"run-{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        rows = sound_rows()
        if number in (2, 5):
            rows[0] = {**rows[0], "evaluation": None, "sample_hash": "\ud800"}
        name_pair(*write_run(place, bytes_of(rows)), place / f"r{number}")
    (data / "README.md").write_text("# Runs")
    (data / "run-1" / "r4b.jsonl").write_bytes(bytes_of(sound_rows()))
    return data


def name_pair(rows: Path, aggregate: Path, stem: Path) -> None:
    """Give a pair the names that a store gives it."""
    record = json.loads(aggregate.read_bytes())
    record["detailed_evaluation_results"]["file_path"] = f"{stem.name}_samples.jsonl"
    rows.rename(f"{stem}_samples.jsonl")
    aggregate.unlink()
    Path(f"{stem}.json").write_text(json.dumps(record))


@pytest.mark.parametrize(("of", "claims_another"), in_turn([2, 3], [False, True]))
def test_divided_pairs_give_the_report_of_one_check(
    pairs: Path, of: int, claims_another: bool
) -> None:
    if claims_another:
        other = pairs / "run-0" / "r6.json"
        other.write_text(other.read_text().replace("r6_samples.jsonl", "r9_samples.jsonl"))
    parts = [part(pairs, f"{number}/{of}") for number in range(1, of + 1)]
    planned = [PartFile(str(one)).trailer.planned for one in parts]
    assert planned[-1] == 15 if claims_another else 14
    assert claims_another or planned[:-1] == [None] * (of - 1)
    merged = written(Path("report"), JsonReporter, lambda **how: merge(parts, **how))
    whole = written(Path("report"), JsonReporter, lambda **how: evalstream.check(pairs, **how))
    assert merged == whole


def test_a_shard_opens_the_aggregates_of_its_pairs_alone(
    pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def look(path: str) -> AggregatePeek | None:
        opened.append(path)
        return peek_aggregate(path)

    monkeypatch.setattr(folder_pairs, "peek_aggregate", look)
    runs = PartFile(str(part(pairs, "1/3"))).trailer.runs
    assert len(opened) == runs < 6


def test_parts_of_divided_pairs_that_changed_are_not_merged(pairs: Path) -> None:
    one = part(pairs, "1/2")
    (pairs / "run-0" / "r99_samples.jsonl").write_bytes(bytes_of(sound_rows()))
    with pytest.raises(CannotCheck, match="different list of runs"):
        merge([one, part(pairs, "2/2")])


def test_a_pair_that_is_lost_between_shards_is_missed(pairs: Path) -> None:
    one = part(pairs, "1/2")
    for aggregate in pairs.glob("*/r*.json"):
        aggregate.write_text('{"summary": {}}')
    with pytest.raises(CannotCheck, match="because files changed"):
        merge([one, part(pairs, "2/2")])


def test_pairs_that_change_in_opposite_ways_between_shards_are_missed(pairs: Path) -> None:
    """One is in no shard then, and the other in two: their number is right."""
    own = [run.summary.aggregate for run in PartFile(str(part(pairs, "1/2"))).runs()]
    first, second = (Path(str(aggregate)) for aggregate in own[:2])
    data, other = first.read_bytes(), b'{"summary": {}}'
    first.write_bytes(other)
    one = part(pairs, "1/2")
    first.write_bytes(data)
    second.write_bytes(other)
    with pytest.raises(CannotCheck, match="because files changed"):
        merge([one, part(pairs, "2/2")])


def test_an_output_among_the_inputs_of_another_shard_is_refused(pairs: Path) -> None:
    for rows in pairs.glob("*/r*_samples.jsonl"):
        refused = pytest.raises(UsageError, match="would overwrite the input")
        with Output(os.devnull) as output, refused:
            evalstream.check(pairs, shard="1/3", outputs=[rows], reporter=PartReporter(output))
