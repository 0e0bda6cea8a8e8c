"""Runs compared with each other: the findings and their order."""

from __future__ import annotations

import json
import pickle
import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from depth import examples
from each import each
from edits import apply_case
from hypothesis import given
from hypothesis import strategies as st
from rows import Row, aggregate_of, bounded, bytes_of, hashed, sound_rows
from sql_steps import count_steps
from xxhash import xxh3_64_intdigest

import evalstream
from evalstream.batch.cross_run import compare
from evalstream.batch.cross_run.index import BATCH, CrossRunFinding, CrossRunIndex
from evalstream.batch.single import check_any
from evalstream.formats.eee.row_view import record_digest
from evalstream.formats.eee.rules.datastore import ES903, ES904, ES905
from evalstream.io.progress import Progress
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding, Severity
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import RunSummary
from evalstream.stats import run_links as links_module
from evalstream.stats.run_links import (
    CHUNK_BYTES,
    LinkKey,
    RunLinks,
    decode_links,
    decode_words,
    encode_links,
    encode_words,
    input_hash64,
    make_link_key,
    pack_element_position,
    sample_hash64,
    unpack_element_position,
)

NO_DATA = (None, None, None)
CODES = frozenset({"ES903", "ES904", "ES905", "ES906", "ES908"})
UUID = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57"


def check_linked(rows: Path | None, aggregate: Path | None, **settings: Any) -> RunSummary:
    """Check a run as one of several."""
    run = Run(None if rows is None else str(rows), None if aggregate is None else str(aggregate))
    found: list[Finding] = []
    with Progress(shown=False) as progress:
        return check_any(run, Options(links=True, **settings), found.append, progress)


def add_run(index: CrossRunIndex, number: int, summary: RunSummary) -> None:
    """Add a run by its summary."""
    if summary.links is not None:
        index.add(number, summary.file, summary.aggregate, summary.links)


def told(summaries: Iterable[RunSummary], enabled: Iterable[str] = CODES) -> list[CrossRunFinding]:
    """Hold runs against each other, numbered as they come."""
    with closing(CrossRunIndex()) as across:
        for number, summary in enumerate(summaries):
            add_run(across, number, summary)
        return list(across.violations(frozenset(enabled)))


def codes(found: Iterable[CrossRunFinding]) -> list[tuple[int, str]]:
    """Return of which runs what was told."""
    return [(one.number, one.violation.code) for one in found]


class Pair(NamedTuple):
    """A run on disk."""

    rows: Path
    aggregate: Path

    def summary(self, **settings: Any) -> RunSummary:
        """Check the run as one of several."""
        return check_linked(*self, **settings)


def write_pair(
    folder: Path,
    rows: Sequence[Row],
    *,
    model: str = "acme/acorn-7b",
    time: int = 1760000000,
    version: str = "0.2.0",
    benchmark: str = "tiny-arithmetic",
    document: Row | None = None,
) -> Pair:
    """Write rows as those of a model's run, with their aggregate."""
    folder.mkdir(parents=True)
    identity = f"{benchmark}/{model}/{time}"
    named = [{**row, "evaluation_id": identity, "model_id": model} for row in rows]
    pair = Pair(folder / "a_samples.jsonl", folder / "a.json")
    pair.rows.write_bytes(bytes_of(named))
    aggregate = aggregate_of(version, pair.rows.read_bytes(), len(rows), pair.rows.name)
    aggregate |= {"evaluation_id": identity, "retrieved_timestamp": str(time), **(document or {})}
    aggregate["model_info"]["id"] = model
    pair.aggregate.write_text(json.dumps(aggregate))
    return pair


def changed(row: Row, raw: str, recipe: str = "concat") -> Row:
    """Return a row with another question."""
    return hashed({**row, "input": {**row["input"], "raw": raw}}, recipe)


def example_runs(code: str, side: str, folder: Path) -> list[RunSummary]:
    """Check the runs of a rule's case."""
    case = apply_case(code, side, folder)
    aggregates = sorted(case.rows.rglob("*.json"))
    return [check_linked(path.with_name(path.stem + "_samples.jsonl"), path) for path in aggregates]


@each("code", sorted(CODES))
def test_the_bad_examples_are_told_of(code: str, tmp_path: Path) -> None:
    assert code in {one.violation.code for one in told(example_runs(code, "bad", tmp_path))}


@each("code", sorted(CODES))
def test_the_good_examples_are_sound(code: str, tmp_path: Path) -> None:
    summaries = example_runs(code, "good", tmp_path)
    assert len(summaries) == 2
    assert told(summaries) == []
    assert all(summary.verdict == "passed" for summary in summaries)


class World(NamedTuple):
    """A made-up run: what it is called, and its rows as (sample, input) by their ties."""

    file: str | None
    aggregate: str | None
    record: str | None
    evaluation: int | None
    groups: dict[LinkKey, list[tuple[int, int]]]

    def summary(self) -> RunSummary:
        """Return the run as if it had been checked."""
        links = RunLinks(memory_limit=64)
        links.record, links.evaluation = self.record, self.evaluation
        links.take([(link_key, words.tobytes()) for link_key, words in self.words()])
        return RunSummary(self.file, self.aggregate, "eee", links=links)

    def words(self) -> Iterator[tuple[LinkKey, array[int]]]:
        """Iterate over the groups with their words; lines count on from group to group."""
        line = 0
        for link_key, rows in self.groups.items():
            words: array[int] = array("Q")
            for sample, shown in rows:
                line += 1
                digest = xxh3_64_intdigest(f"{sample} {shown}".encode()) if shown else 0
                words.extend((sample, digest, line, line * 10))
            yield link_key, words


def sensible(world: World) -> World:
    """Take away what a run cannot have without the file that it is in."""
    if world.file is None:
        world = world._replace(groups={})
    return world if world.aggregate else world._replace(record=None, evaluation=None)


WIDE = (1 << 63) + 5
some_link_key = st.builds(
    LinkKey, st.sampled_from([1, WIDE]), st.sampled_from([3, 4]), st.sampled_from([5, WIDE])
)
some_rows = st.lists(
    st.tuples(st.sampled_from([1, 2, WIDE]), st.sampled_from([0, 7, 8, WIDE])),
    min_size=1,
    max_size=4,
)
some_worlds = st.builds(
    World,
    st.sampled_from([None, "a", "b", "c", "C"]),
    st.sampled_from([None, "x", "y", f"{UUID}.json", f"y/{UUID}.json", f"Y/{UUID.upper()}.json"]),
    st.sampled_from([None, "same", "other"]),
    st.sampled_from([None, 1, WIDE]),
    st.dictionaries(some_link_key, some_rows, max_size=3),
).map(sensible)


def firsts(names: Iterable[str | None]) -> set[int]:
    """Return the first place of each name."""
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        if name is not None:
            places.setdefault(name, place)
    return set(places.values())


def expected_records(worlds: Sequence[World]) -> Iterator[tuple[Any, ...]]:
    """Say which aggregates are the same record as an earlier one."""
    own = firsts(world.aggregate for world in worlds)
    for number, world in enumerate(worlds):
        same = [earlier for earlier in range(number) if worlds[earlier].record == world.record]
        if world.record is not None and same and number in own:
            yield number, "ES903", worlds[same[0]].aggregate or "", None, None


def expected_files(worlds: Sequence[World], repeated: set[int]) -> Iterator[tuple[Any, ...]]:
    """Say which files overlap with earlier ones."""
    own_rows = firsts(world.file for world in worlds)
    holders: dict[tuple[int, int], list[int]] = {}
    with_rows = set()
    for number in sorted(own_rows):
        for link_key, rows in worlds[number].groups.items():
            with_rows.add((number, link_key.evaluation))
            for sample in {sample for sample, _ in rows}:
                holders.setdefault((link_key.result, sample), []).append(number)
    for number in sorted(own_rows):
        found: dict[int, list[int]] = {}
        for link_key, rows in worlds[number].groups.items():
            for sample in {sample for sample, _ in rows}:
                first = holders[link_key.result, sample][0]
                if first < number:
                    found.setdefault(link_key.evaluation, []).append(first)
        for before in found.values():
            name = worlds[min(before)].file or ""
            yield number, "ES904", name, len(before), len(set(before)) > 1
    yield from expected_claims(worlds, repeated, with_rows)


def expected_claims(
    worlds: Sequence[World], repeated: set[int], with_rows: set[tuple[int, int]]
) -> Iterator[tuple[Any, ...]]:
    """Say which aggregates are of an evaluation of earlier ones."""
    own = firsts(world.aggregate for world in worlds)
    claims = [number for number in sorted(own) if worlds[number].evaluation is not None]
    for number in claims:
        evaluation = worlds[number].evaluation
        earlier = [
            other
            for other in claims
            if other < number
            and worlds[other].evaluation == evaluation
            and not {(other, evaluation), (number, evaluation)} <= with_rows
        ]
        if earlier and number not in repeated:
            yield number, "ES904", worlds[earlier[0]].aggregate or "", None, None


def expected_uuids(worlds: Sequence[World]) -> Iterator[tuple[Any, ...]]:
    """Say which aggregates have the UUID of an earlier one that says something else."""
    named = [
        (number, Path(world.aggregate).stem.lower(), world)
        for number, world in enumerate(worlds)
        if world.aggregate is not None and UUID in world.aggregate.lower() and world.record
    ]
    for number, uuid, world in named:
        _, _, first = next(one for one in named if one[1] == uuid)
        if number in firsts(world.aggregate for world in worlds) and first.record != world.record:
            yield number, "ES906", first.aggregate, None, None


def expected_collisions(worlds: Sequence[World]) -> Iterator[tuple[Any, ...]]:
    """Say which names of files and folders differ in case alone from earlier ones."""
    spellings: dict[str, dict[str, str]] = {}
    for number, world in enumerate(worlds):
        for path in filter(None, (world.aggregate, world.file)):
            parts = path.split("/")
            for depth, name in enumerate(parts, 1):
                here = "/".join(parts[:depth])
                known = spellings.setdefault(here.lower(), {})
                if known and name not in known:
                    yield number, "ES908", next(iter(known.values())), here, None
                known.setdefault(name, here)


def expected_drift(worlds: Sequence[World]) -> Iterator[tuple[Any, ...]]:
    """Say which samples have other inputs than in the first run that has them."""
    leaders: dict[Any, tuple[int, list[tuple[int, int, int]]]] = {}
    members: dict[Any, set[int]] = {}
    for number, world in enumerate(worlds):
        for link_key, words in world.words():
            rows = list(zip(words[::4], words[1::4], words[2::4], strict=True))
            key = (link_key.benchmark, frozenset(Counter(row[:2] for row in rows).items()))
            leaders.setdefault(key, (number, rows))
            members.setdefault(key, set()).add(number)
    single = set()
    for key, (number, rows) in leaders.items():
        drifted = set()
        for sample, shown, line in rows:
            seen = [
                (other, place, with_input)
                for (benchmark, _), (other, others) in leaders.items()
                for at, with_input, place in others
                if benchmark == key[0] and at == sample and with_input
            ]
            origin = min(seen)[0] if seen else number
            inputs = {one[2] for one in seen if one[0] == origin}
            if shown and shown not in inputs:
                drifted.add((sample, shown))
                single.add((number, key[0], sample, shown, origin, min(seen)[1], line))
        if drifted:
            own = firsts(world.file for world in worlds)
            for member in members[key] & own - {number}:
                yield member, "ES905", worlds[number].file or "", len(drifted), None
    lines: dict[Any, int] = {}
    for *one, line in single:
        lines[tuple(one)] = min(line, lines.get(tuple(one), line))
    for (number, _, _, _, origin, place, *_), line in lines.items():
        yield number, "ES905", worlds[origin].file or "", line, place


def expected(worlds: Sequence[World]) -> list[tuple[Any, ...]]:
    """Say everything that is to be told of some runs, plainly and slowly."""
    records = list(expected_records(worlds))
    files = expected_files(worlds, {number for number, *_ in records})
    others = [*expected_uuids(worlds), *expected_collisions(worlds)]
    return sorted([*records, *files, *others, *set(expected_drift(worlds))], key=repr)


def seen_in(found: Iterable[CrossRunFinding]) -> list[tuple[Any, ...]]:
    """Return what was told in the terms of what is expected."""
    seen: list[tuple[Any, ...]] = []
    for one in found:
        words = one.violation.message.split()
        if one.violation.code in {"ES903", "ES906"}:
            seen.append((one.number, one.violation.code, words[-1], None, None))
        elif one.violation.code == "ES908":
            earlier = one.violation.message.partition(" from ")[2].partition(";")[0]
            seen.append((one.number, "ES908", earlier, one.violation.found, None))
        elif one.violation.pointer == "/evaluation_id":
            seen.append((one.number, "ES904", words[4].rstrip(";"), None, None))
        elif one.violation.code == "ES904":
            several = one.violation.message.endswith(" and other files")
            name = one.violation.message.removesuffix(" and other files").split()[-1]
            seen.append((one.number, "ES904", name, int(words[0]), several))
        elif one.line is None:
            seen.append((one.number, "ES905", words[-1], one.violation.count, None))
        else:
            assert one.offset == one.line * 10
            seen.append((one.number, "ES905", words[-1], one.line, int(words[-3])))
    return seen


@bounded(max_examples=examples(300))
@given(st.lists(some_worlds, max_size=5))
def test_what_is_told_is_what_a_plain_comparison_tells(worlds: list[World]) -> None:
    found = seen_in(told(world.summary() for world in worlds))
    assert sorted(found, key=repr) == expected(worlds)


@bounded(max_examples=examples(100))
@given(st.lists(some_worlds, max_size=6), st.randoms(use_true_random=False))
def test_neither_order_nor_machine_matters(worlds: list[World], chance: Any) -> None:
    plainly = told(world.summary() for world in worlds)
    with ExitStack() as opened:
        bases = [opened.enter_context(closing(CrossRunIndex())) for _ in range(6)]
        together, merged, again, *machines = bases
        for number in chance.sample(range(len(worlds)), len(worlds)):
            add_run(together, number, worlds[number].summary())
            add_run(chance.choice(machines), number, worlds[number].summary())
        for machine in chance.sample(machines, 3):
            for part in machine.parts():
                merged.add_part(json.loads(json.dumps(part)))
        for part in merged.parts():
            again.add_part(part)
        for across in (together, merged, again):
            assert list(across.violations(CODES)) == plainly
            assert list(across.violations(CODES)) == plainly
        assert list(merged.parts()) == list(together.parts()) == list(again.parts())


@bounded(max_examples=examples(100))
@given(st.lists(some_worlds, max_size=6))
def test_findings_come_in_the_order_of_a_report(worlds: list[World]) -> None:
    found = told(world.summary() for world in worlds)
    order = [
        (
            one.number,
            one.file in {world.aggregate for world in worlds},
            float("inf") if one.line is None else one.line,
            one.violation.code,
        )
        for one in found
    ]
    assert order == sorted(order)


def test_only_enabled_rules_speak(tmp_path: Path) -> None:
    rows = sound_rows()
    drifted = [changed(rows[0], "Another question?"), *rows[1:]]
    summaries = [
        write_pair(tmp_path / "a", rows).summary(),
        write_pair(tmp_path / "b", drifted).summary(),
        write_pair(tmp_path / "c", rows).summary(),
    ]
    assert codes(told(summaries)) == [(1, "ES905"), (1, "ES904"), (2, "ES904"), (2, "ES903")]
    for folder, pair in (("d", "a"), ("D", "b")):
        aggregate = tmp_path / folder / f"{UUID}.json"
        aggregate.parent.mkdir()
        aggregate.write_bytes((tmp_path / pair / "a.json").read_bytes())
        summaries.append(check_linked(None, aggregate))
    for code in CODES:
        assert {one.violation.code for one in told(summaries, {code})} == {code}
    assert told(summaries, set()) == []


def test_a_single_run_is_never_told_of(tmp_path: Path) -> None:
    rows = [*sound_rows(), *sound_rows()]
    assert told([write_pair(tmp_path / "a", rows).summary()]) == []


def test_runs_of_other_systems_and_empty_ones_are_left_out() -> None:
    nothing = RunSummary(None, None, "eee", links=RunLinks())
    assert told([RunSummary("a", None, "harpia"), nothing, nothing]) == []


def test_without_the_option_nothing_is_gathered(tmp_path: Path) -> None:
    pair = write_pair(tmp_path / "a", sound_rows())
    found: list[Finding] = []
    with Progress(shown=False) as progress:
        run = Run(str(pair.rows), str(pair.aggregate))
        assert check_any(run, Options(), found.append, progress).links is None


def test_a_drifted_sample_is_told_with_both_places(tmp_path: Path) -> None:
    rows = sound_rows()
    drifted = [rows[2], changed(rows[1], "How much is it?"), rows[0]]
    first = write_pair(tmp_path / "a", rows)
    second = write_pair(tmp_path / "b", drifted, model="acme/birch-7b")
    (one,) = told([first.summary(), second.summary()])
    offset = len(second.rows.read_bytes().splitlines(keepends=True)[0])
    assert one[:4] == (1, str(second.rows), 2, offset)
    assert one.violation == ES905.violation(
        f"the input differs from that of the same sample on line 2 of {first.rows}"
    )
    (one,) = told([second.summary(), first.summary()])
    assert one[:3] == (1, str(first.rows), 2)


@each(("at_once", "most"), [(1, 1_000), (3, 1_000), (1, 0)])
def test_however_shared_samples_are_looked_for_they_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, most: int
) -> None:
    monkeypatch.setattr(compare, "COUNTED_AT_ONCE", at_once)
    monkeypatch.setattr(compare, "MOST_COUNTED", most)
    rows = sound_rows()
    first = write_pair(tmp_path / "a", rows[:5])
    apart = write_pair(tmp_path / "b", rows[5:], model="acme/birch-7b")
    drifted = [changed(rows[6], "How much is it?"), rows[0]]
    third = write_pair(tmp_path / "c", drifted, model="acme/cedar-7b")
    assert told([first.summary(), apart.summary()]) == []
    (one,) = told([first.summary(), apart.summary(), third.summary()])
    assert one[:3] == (2, str(third.rows), 1)


def test_runs_with_the_same_drift_are_told_as_wholes(tmp_path: Path) -> None:
    rows = sound_rows()
    drifted = [changed(row, f"Another {row['sample_id']}?") for row in rows[:3]] + rows[3:]
    models = ["acme/acorn", "acme/birch", "acme/cedar", "acme/elder"]
    pairs = [
        write_pair(tmp_path / model, drifted if place else rows, model=model)
        for place, model in enumerate(models)
    ]
    found = told(pair.summary() for pair in pairs)
    assert [(one.number, one.line) for one in found] == [
        *[(1, line) for line in (1, 2, 3)],
        (2, None),
        (3, None),
    ]
    assert found[-1].violation == ES905.violation(
        f"the inputs of 3 samples differ from an earlier run in the same way as in {pairs[1].rows}",
        count=3,
    )


@pytest.mark.parametrize(
    "other",
    [
        {"benchmark": "tiny-geometry"},
        {"document": {"evaluation_results": [{"evaluation_name": "tiny-arithmetic"}]}},
    ],
)
def test_other_benchmarks_and_data_are_not_held_together(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    rows = sound_rows()
    drifted = [changed(row, "Something else?") for row in rows]
    first = write_pair(tmp_path / "a", rows)
    second = write_pair(tmp_path / "b", drifted, model="acme/birch-7b", **other)
    assert told([first.summary(), second.summary()]) == []


def test_versions_show_the_same_input(tmp_path: Path) -> None:
    first = write_pair(tmp_path / "a", sound_rows())
    second = write_pair(tmp_path / "b", sound_rows("0.3.0"), version="0.3.0", model="acme/birch-7b")
    assert told([first.summary(), second.summary()]) == []
    rows = sound_rows("0.3.0")
    rows[0] = changed(rows[0], "Another?", "json-list")
    third = write_pair(tmp_path / "c", rows, version="0.3.0", model="acme/cedar")
    assert codes(told([first.summary(), third.summary()])) == [(1, "ES905")]


def test_shuffled_choices_are_another_input(tmp_path: Path) -> None:
    rows = sound_rows()
    rows[0]["input"]["choices"] = ["5", "6"]
    other = [dict(row) for row in rows]
    other[0] = {**rows[0], "input": {**rows[0]["input"], "choices": ["6", "5"]}}
    first = write_pair(tmp_path / "a", rows)
    second = write_pair(tmp_path / "b", other, model="acme/birch-7b")
    assert codes(told([first.summary(), second.summary()])) == [(1, "ES905")]


def test_overlaps_are_counted_and_disjoint_shards_are_fine(tmp_path: Path) -> None:
    rows = sound_rows(count=12)
    first = write_pair(tmp_path / "a", rows[:4])
    second = write_pair(tmp_path / "b", rows[4:8])
    third = write_pair(tmp_path / "c", [*rows[2:5], *rows[8:]])
    fourth = write_pair(tmp_path / "d", rows[3:4])
    found = told(pair.summary() for pair in (first, second, third, fourth))
    assert [(one.number, one.file, one.violation) for one in found] == [
        (
            2,
            str(third.rows),
            ES904.violation(
                f"3 samples of the same evaluation are already in {first.rows} and other files"
            ),
        ),
        (
            3,
            str(fourth.rows),
            ES904.violation(f"1 sample of the same evaluation is already in {first.rows}"),
        ),
    ]


def test_the_same_record_is_told_whatever_the_order_of_its_keys(tmp_path: Path) -> None:
    pair = write_pair(tmp_path / "a", sound_rows())
    document = json.loads(pair.aggregate.read_text())
    again = dict(reversed(document.items()))
    again |= {"evaluation_id": "x/y/1", "retrieved_timestamp": "1"}
    again["detailed_evaluation_results"]["file_path"] = "elsewhere.jsonl"
    copy = tmp_path / "copy.json"
    copy.write_text(json.dumps(again))
    changed_score = tmp_path / "other.json"
    again["model_info"]["name"] = "Another"
    changed_score.write_text(json.dumps(again))
    summaries = [check_linked(None, path) for path in (pair.aggregate, copy, changed_score)]
    assert [(one.number, one.file, one.violation) for one in told(summaries[:2])] == [
        (1, str(copy), ES903.violation(f"the same record as {pair.aggregate}"))
    ]
    assert codes(told(summaries)) == [(1, "ES903"), (2, "ES904")]
    assert codes(told(summaries, {"ES904"})) == [(2, "ES904")]
    assert told([summaries[0], summaries[0], summaries[2]]) == []


def test_two_aggregates_without_rows_are_of_one_evaluation(tmp_path: Path) -> None:
    first = write_pair(tmp_path / "a", sound_rows())
    second = write_pair(tmp_path / "b", sound_rows(count=4))
    alone = check_linked(None, second.aggregate)
    (one,) = told([first.summary(), alone])
    assert one.violation == ES904.violation(
        f"the same evaluation as {first.aggregate}; only rows of both could distinguish them",
        pointer="/evaluation_id",
    )
    assert one.file == str(second.aggregate)


def test_one_file_under_two_aggregates_does_not_overlap_with_itself(tmp_path: Path) -> None:
    pair = write_pair(tmp_path / "a", sound_rows())
    document = json.loads(pair.aggregate.read_text())
    document["source_metadata"]["source_organization_name"] = "Others"
    other = tmp_path / "a" / "b.json"
    other.write_text(json.dumps(document))
    found = told([pair.summary(), check_linked(pair.rows, other)])
    assert [(one.number, one.file, one.violation.pointer) for one in found] == [
        (1, str(other), "/evaluation_id")
    ]


def test_elements_of_arrays_are_told_by_their_number(tmp_path: Path) -> None:
    rows = sound_rows()
    first = write_pair(tmp_path / "a", rows)
    lines = first.rows.read_bytes().splitlines()
    first.rows.write_bytes(b"[" + b",".join(lines) + b"]\n")
    drifted = [rows[0], changed(rows[1], "Else?"), *rows[2:]]
    second = write_pair(tmp_path / "b", drifted, model="acme/birch-7b")
    text = b"[\n" + b",\n".join(second.rows.read_bytes().splitlines()) + b"\n]\n"
    second.rows.write_bytes(text)
    (one,) = told([first.summary(), second.summary()])
    assert one.line == 3
    assert text[one.offset :].startswith(json.dumps(json.loads(text)[1]).encode())
    assert one.violation.pointer == "/1"
    assert one.violation.message.endswith(
        f"the input differs from that of the same sample in row 2 of {first.rows}"
    )


def linked(data: bytes, folder: Path, **settings: Any) -> list[dict[str, Any]]:
    """Return what ties rows to others, packed."""
    path = folder / "rows.jsonl"
    path.write_bytes(data)
    return encode_links(check_linked(path, None, **settings).links)


def test_both_speeds_and_all_block_sizes_gather_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalstream.engine import row_pass

    rows = sound_rows(count=800) + sound_rows("0.3.0", count=200)
    rows[5]["input"]["choices"] = ["a", "ü"]
    rows[6]["sample_id"] = 6
    rows[7]["input"]["reference"] = ["x", "y"]
    data = bytes_of(rows)
    slowly = linked(data, tmp_path, engine="portable")
    assert linked(data, tmp_path) == slowly
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 10_000)
    monkeypatch.setattr(links_module, "IN_MEMORY_BYTES", 1000)
    assert linked(data, tmp_path) == slowly
    assert sum(len(decode_words(one["words"])) for one in slowly[1:]) == 1000 * 32


@each(
    "line",
    [
        b'{"sample_id": "a"}',
        b'{"sample_id": "a", "evaluation_id": 1, "evaluation_name": "n"}',
        b'{"sample_id": "a", "evaluation_id": " ", "evaluation_name": "n"}',
        b'{"sample_id": ["a"], "evaluation_id": "e", "evaluation_name": "n"}',
        b'{"sample_id": "a", "sample_id": "b", "evaluation_id": "e", "evaluation_name": "n"}',
        b"[]",
        b"{",
    ],
)
def test_rows_that_cannot_be_told_apart_are_not_gathered(line: bytes, tmp_path: Path) -> None:
    assert len(linked(line + b"\n", tmp_path)) == 1


IDS: Row = {"sample_id": "a", "evaluation_id": "e", "evaluation_name": "n"}
HALF = "\ud800"


@each(
    "odd",
    [
        {},
        {"input": []},
        {"sample_id": HALF, "evaluation_id": HALF, "evaluation_name": HALF},
        {"input": {"raw": HALF, "reference": HALF, "choices": [HALF]}, "evaluation_result_id": []},
        {"sample_id": 1, "input": {"raw": "", "reference": [], "choices": {"a": 1}}},
        {"sample_id": True, "input": {"raw": "r", "reference": ["r"], "choices": [1, None]}},
    ],
)
def test_odd_rows_are_gathered_all_the_same(odd: Row, tmp_path: Path) -> None:
    assert len(linked(bytes_of([{**IDS, **odd}]), tmp_path, recipe="concat")) == 2


def test_an_aggregate_that_nests_too_deep_has_no_record() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    run = RunLinks()
    run.claim(record_digest({"evaluation_id": "e", "x": value}), "e")
    assert run.record is None
    assert run.evaluation is not None
    while value:
        value = value.pop()


@each("memory_limit", [0, 100, 1 << 30])
def test_links_survive_pickling_and_packing(memory_limit: int) -> None:
    link_key = [LinkKey(1, 2, 3), LinkKey(WIDE, WIDE, WIDE)]
    run = RunLinks(memory_limit)
    run.record, run.evaluation, run.is_array = "r", WIDE, True
    for block in range(3):
        for one in link_key:
            words = array("Q", range(block, block + 4 * 1500))
            run.take([(one, words.tobytes())], shift=block * 6000)
    for copy in (
        pickle.loads(pickle.dumps(run)),
        decode_links(json.loads(json.dumps(encode_links(run)))),
    ):
        assert encode_links(copy) == encode_links(run)
        assert list(copy.groups()) == list(run.groups())
        for one in link_key:
            assert b"".join(copy.chunks(one)) == b"".join(run.chunks(one))
    assert max(len(chunk) for chunk in run.chunks(link_key[0])) == CHUNK_BYTES


def test_no_more_groups_are_gathered_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links_module, "MOST_GROUPS", 2)
    word = array("Q", [1, 2, 3, 4]).tobytes()
    run = RunLinks()
    run.take([(LinkKey(1, place, 1), word) for place in (1, 2, 3, 1)])
    assert [group.rows for group in run.groups()] == [2, 1]
    (one,) = told([RunSummary("a", None, "eee", links=run)])
    assert one.violation.code == "ES904"
    assert one.violation.severity is Severity.INFO
    assert one.file == "a"


@each("words", ["", "?", "AAAA", "é", 5, None, encode_words(bytes(32))[:-8]])
def test_words_that_were_not_packed_are_refused(words: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        decode_words(words)


@each(
    "part",
    [
        {},
        {"run": 1},
        {"of": [1], "words": ""},
        {"of": [1, 2, 3]},
        {"of": [1, 2, 3], "words": "AAAA"},
        {"of": [1 << 70, 2, 3], "words": encode_words(bytes(32))},
        {
            "run": 1,
            "file": None,
            "aggregate": None,
            "record": None,
            "evaluation": None,
            "array": 0,
            "cut": 0,
            "groups": [[1, 2]],
        },
    ],
)
def test_parts_that_make_no_sense_are_refused(part: Any) -> None:
    with closing(CrossRunIndex()) as across, pytest.raises((KeyError, TypeError, ValueError)):
        across.add_part(part)


@each(
    "some",
    [
        [],
        [{}],
        [{**encode_links(RunLinks())[0]}, {}],
        [{**encode_links(RunLinks())[0]}, {"ties": [1], "words": encode_words(bytes(32))}],
        [{**encode_links(RunLinks())[0]}, {"ties": [1, 2, 3], "words": "AAAA"}],
    ],
)
def test_links_that_make_no_sense_are_refused(some: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        decode_links(some)


def test_a_database_that_cannot_be_kept_is_no_crash() -> None:
    across = CrossRunIndex()
    across.close()
    for number in range(1, BATCH):
        across.add(number, "a", None, RunLinks())
    with pytest.raises(CannotCheck, match="cannot compare the runs with each other"):
        across.add(BATCH, "a", None, RunLinks())
    with pytest.raises(CannotCheck):
        list(across.violations(CODES))
    assert sqlite3.threadsafety > 0


@given(st.integers(0, (1 << 31) - 1), st.integers(0, (1 << 32) - 1))
def test_elements_are_found_again(line: int, number: int) -> None:
    assert unpack_element_position(pack_element_position(line, number)) == (line, number)


def test_places_of_elements_beyond_all_bounds_still_fit_a_word() -> None:
    assert pack_element_position(1 << 40, 1 << 40) < 1 << 63


def test_words_tell_samples_and_inputs_apart() -> None:
    asked = [
        ("a", "b", ""),
        ("a", ["b"], ""),
        ("a", ["b", "c"], ""),
        ("a", "b", "c"),
        ("ab", "", ""),
        (HALF, "b", ""),
        ("a", HALF, ""),
    ]
    words = [input_hash64(1, *one) for one in asked]
    assert words[0] == words[1]
    assert len(set(words)) == len(asked) - 1
    assert len({sample_hash64(sample) for sample in ("1", 1, HALF, "", True)}) == 5
    # What is summed up must not be the same when two samples change their inputs.
    assert len({input_hash64(sample, *one) for sample in (1, 2) for one in asked[1:3]}) == 4


def test_link_keys_know_the_benchmark_whatever_the_model() -> None:
    row = {"evaluation_id": "b/m/1", "evaluation_name": "n"}
    other = {**row, "evaluation_id": "b/other/org/2"}
    link_key = [
        make_link_key(row, None, 0, NO_DATA),
        make_link_key(other, " ", 0, NO_DATA),
        make_link_key(row, None, 1, ("d", "r", None)),
    ]
    link_key += [
        make_link_key(row, None, 0, ("d", "r", "test")),
        make_link_key(other, None, 1, ("d", "r", None)),
    ]
    benchmarks = [one.benchmark for one in link_key if one is not None]
    assert benchmarks[0] == benchmarks[1] != benchmarks[2] == benchmarks[4] != benchmarks[3]
    assert len({one.evaluation for one in link_key if one is not None}) == 2
    assert len({one.result for one in link_key if one is not None}) == 4
    stray = {**row, "evaluation_id": "the-name-of-a-file"}
    assert make_link_key(stray, "b/m/1", 0, NO_DATA) == link_key[0]
    assert make_link_key({"evaluation_name": "n"}, "b/m/1", 0, NO_DATA) == link_key[0]


def test_the_aggregate_says_whose_the_rows_are(tmp_path: Path) -> None:
    rows = sound_rows()
    pairs = [write_pair(tmp_path / name, rows, time=time) for name, time in (("a", 1), ("b", 1))]
    for pair in pairs:
        said = pair.rows.read_bytes().replace(b"tiny-arithmetic/acme/acorn-7b/1", b"a-file's-name")
        pair.rows.write_bytes(said)
    summaries = [pair.summary() for pair in pairs]
    assert summaries[0].counts["ES601"] == len(rows)
    found = told(summaries, {"ES904"})
    assert [one.file for one in found] == [str(pairs[1].rows)]


def test_any_number_of_workers_tells_the_same(tmp_path: Path) -> None:
    rows = sound_rows()
    drifted = [changed(rows[0], "Another question?"), *rows[1:]]
    for number in range(80):
        model, place = f"acme/model-{number % 70}", tmp_path / f"{number:02d}"
        write_pair(place, drifted if number % 3 else rows, model=model)
    alone, together = (evalstream.check(tmp_path, jobs=jobs, select=CODES) for jobs in (1, 2))
    # Of the ten models that are there twice, those with the same rows are the same record.
    assert alone.counts == {"ES903": 3, "ES904": 10, "ES905": 53}
    assert list(alone) == list(together)
    assert alone.counts == together.counts


def indexed(kind: str, runs: int, rows: int = 20) -> sqlite3.Connection:
    """Make the tables of runs that have something of a kind in common."""
    base = sqlite3.connect("", isolation_level=None)
    base.executescript(compare.TABLES)
    for run in range(runs):
        half = run // 2
        record, uuid = half if kind == "records" else run, half if kind == "uuids" else run
        aggregate = f"{half}{'xX'[run % 2]}.json" if kind == "paths" else f"{run}.json"
        named = (f"{run}.jsonl", aggregate, record, half if kind == "claims" else run, 0, 0, uuid)
        base.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (run, *named))
        set_id = 0 if kind == "copied answers" else run
        result = 1 if kind == "overlaps" else run
        base.execute("INSERT INTO members VALUES (?, 0, ?, ?, ?)", (run, run, result, set_id))
        if set_id < run:
            continue
        words = array("q")
        for row in range(rows):
            common = {"answers": rows - 5, "drift": rows}.get(kind, 1)
            sample = row if row < common else run * rows + row
            drifted = run if kind == "drift" and not row else 0
            words.extend((sample, 1 + drifted, row + 1, row * 100))
        digest = rows if "answers" in kind else 1000 + run
        base.execute("INSERT INTO sets VALUES (?, 7, ?, ?, ?, ?, 0)", (run, run, digest, rows, run))
        base.execute("INSERT INTO chunks VALUES (?, 0, ?)", (run, words.tobytes()))
    return base


@each(
    "kind",
    ["records", "uuids", "claims", "overlaps", "answers", "copied answers", "drift", "paths"],
)
def test_the_work_grows_as_the_number_of_runs(kind: str) -> None:
    """SQLite chooses how to join, and each release may choose anew."""
    steps: list[int] = []
    found: list[compare.CrossRunMatch] = []
    for runs in (100, 200):
        with closing(indexed(kind, runs)) as base:
            wanted = {"records", "uuids", "files", "answers", "samples", "paths"}
            find = partial(compare.find_matches, base, wanted)
            steps.append(count_steps(base, lambda find=find: found.extend(find())))
    assert found
    assert steps[1] < 2.2 * steps[0]
