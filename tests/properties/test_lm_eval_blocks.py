"""Samples of lm-eval give the same findings and totals however their bytes are cut and checked."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from depth import deep
from hypothesis import given
from hypothesis import strategies as st
from lm_eval_logs import RESULTS, digest, results, row, text, write

import evalstream
from evalstream.engine import row_pass
from evalstream.executors import pool
from evalstream.formats.base import load_catalogue
from evalstream.formats.lm_eval import row_engine
from evalstream.formats.lm_eval.log_tally import LogTotals
from evalstream.formats.lm_eval.row_engine import LogContext, LogEngine
from evalstream.model.block import Lines
from evalstream.model.options import Options
from evalstream.parsing.native.lm_eval import SampleScanner

OPTIONS = Options(max_findings=0)
CONTEXT = LogContext(OPTIONS, load_catalogue("lm_eval").selection(OPTIONS))

VALUES = st.sampled_from([0.0, 1.0, 0.5, True, -3, 1e-9, None, "x", float("nan")])


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Return the bytes of a line, mostly of a sound row."""
    metrics = draw(st.dictionaries(st.sampled_from(["acc", "f1"]), VALUES, max_size=2))
    name = draw(st.sampled_from(["none", "strict"]))
    made: dict[str, Any] = row(draw(st.integers(0, 5)), filter_name=name, **metrics)
    if draw(st.booleans()):
        del made["filter"], made["metrics"]
    way = draw(st.integers(0, 11))
    if way == 0:
        del made[draw(st.sampled_from(sorted(made)))]
    if way == 1:
        made["doc_hash"] = "0" * 64
    line = json.dumps(made, ensure_ascii=False).encode()
    if way == 2:
        line = draw(st.sampled_from([b"", b"{}", line[:-9], b"\xff", line + line]))
    return line + b"\n"


def sides(data: bytes, cuts: list[int]) -> tuple[Any, Any, LogTotals]:
    """Return findings by line, counts by code, and the totals of lines that are cut into blocks."""
    engine, totals, before, size = LogEngine(CONTEXT), LogTotals(), 0, 0
    found, counts = [], {}
    whole = data.splitlines(keepends=True)
    for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        block = b"".join(whole[start:stop])
        done = engine.run(Lines(block, size, final=stop == len(whole)))
        totals.merge(done.own, before)
        found += [(one.violation, before + one.line) for one in done.violations]
        for code, times in done.counts.items():
            counts[code] = counts.get(code, 0) + times
        before += done.tally.lines
        size += len(block)
    return found, counts, totals


def amounts(totals: LogTotals) -> Any:
    """Return all that rows amount to."""
    kept = {**totals.filters, **dict(enumerate(totals.parts))}
    filters = {
        name: (one.rows, one.ids.count, one.ids.repeats, one.ids.first_repeat, one.ids.highest)
        for name, one in kept.items()
    }
    metrics = {
        (name, metric): (
            values.rows,
            values.others,
            values.texts,
            values.sums.unscored,
            values.sums.mean(),
            values.sums.variance(sample=True),
        )
        for name, one in kept.items()
        for metric, values in one.metrics.items()
    }
    numbers = totals.rows, totals.hashed, totals.undigested, totals.bare, totals.unkeyed
    return filters, metrics, numbers, totals.task_hash(), totals.rerun(), totals.first_repeat()


@given(st.lists(lines(), max_size=12), st.data())
def test_any_cut_gives_the_same(block: list[bytes], data: st.DataObject) -> None:
    places = st.lists(st.integers(0, len(block)), max_size=5)
    cuts = sorted(data.draw(places))
    whole, cut = sides(b"".join(block), []), sides(b"".join(block), cuts)
    assert cut[:2] == whole[:2]
    assert amounts(cut[2]) == amounts(whole[2])


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the samples of a log of several blocks with many defects, and a rerun."""
    chance = random.Random(7)
    samples = [
        row(number, filter_name=name, acc=chance.choice([0.0, 1.0, 0.1]), len=number * 0.1)
        for name in ("strict", "loose")
        for number in range(600)
    ]
    document = results(samples)
    for one in chance.sample(samples, 30):
        one[chance.choice(["target", "acc", "doc_id", "filter", "doc_hash"])] = "x"
    data = text(samples + samples[:140]).replace(b'"doc_id": 77,', b'"doc_id" 77,')
    return write(tmp_path_factory.mktemp("log"), data, document)


def report(path: Path, **options: Any) -> tuple[Any, Any]:
    """Return the findings of a check, and the totals, without the time it took."""
    checked = evalstream.check(
        [str(path)], aggregate=str(path.parent / RESULTS), max_findings=0, **options
    )
    run = checked.runs[0]
    totals = run.verdict, dict(run.counts), run.checked, run.claims, run.incomplete_reason
    return [one.as_dict() for one in checked.findings], totals


def test_any_executor_gives_the_same(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_pass, "SMALLEST_BLOCK_BYTES", 100_000)
    assert log.stat().st_size > 3 * row_pass.SMALLEST_BLOCK_BYTES
    one, pool = report(log, executor="serial"), report(log, executor="pool", jobs=2)
    assert one == pool
    assert len(one[0]) > 20


@pytest.mark.parametrize("size", [3_000, deep(70_000)])
def test_any_size_of_blocks_gives_the_same(
    log: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = report(log, executor="serial")
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", size)
    assert report(log, executor="serial") == expected


def filtered_log(folder: Path, order: str, *, forged: str | None = None) -> Path:
    """Write a log of three filters that the scanner reads; one row of the last may be forged."""
    names = ("none", "strict", "loose")
    places = [(name, number) for name in names for number in range(120)]
    if order == "interleaved":
        places.sort(key=lambda place: place[1])
    if order == "shuffled":
        random.Random(3).shuffle(places)
    samples = [row(number, filter_name=name, acc=float(number == 6)) for name, number in places]
    for one in samples:
        del one["doc"]["big"]  # the scanner leaves exponents
        one["doc_hash"] = digest(json.dumps(one["doc"], indent=2, ensure_ascii=False))
    document = json.loads(json.dumps(results(samples)).replace('"acc', '"exact_match'))
    changed = samples[places.index(("loose", 77))]
    if forged == "resps":
        changed["resps"], changed["filtered_resps"] = [["8"]], ["8"]
    if forged == "arguments":
        changed["arguments"]["gen_args_0"]["arg_1"] = {"until": ["\n", "\n"]}
    return write(folder, text(samples).replace(b'"acc', b'"exact_match'), document)


@pytest.mark.parametrize(
    ("order", "forged"),
    [
        ("one after the other", None),
        ("one after the other", "resps"),
        ("interleaved", None),
        ("interleaved", "arguments"),
        ("shuffled", None),
        ("shuffled", "resps"),
        deep("one after the other", "arguments"),
        deep("interleaved", "resps"),
        deep("shuffled", "arguments"),
    ],
)
def test_filters_are_compared_in_any_order(
    tmp_path: Path, order: str, forged: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filtered_log(tmp_path, order, forged=forged)
    monkeypatch.setattr(row_pass, "SMALLEST_BLOCK_BYTES", 100_000)
    taken: list[int] = []
    count_taken(taken, monkeypatch)
    expected = report(log, executor="serial")
    assert [one["code"] for one in expected[0]] == ([] if forged is None else ["LME206"])
    assert sum(taken) > 300
    assert report(log, executor="pool", jobs=2) == expected
    monkeypatch.setattr(row_pass, "WORTH_A_POOL_BYTES", 0)
    monkeypatch.setattr(pool, "backend", None)
    assert report(log, jobs=2) == expected  # in threads
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 7_000)
    assert report(log, executor="serial") == expected
    monkeypatch.setattr(row_engine, "sample_scanner", lambda: None)
    assert report(log, executor="serial") == expected


def count_taken(taken: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Note how many rows the scanner takes in each call."""
    take = SampleScanner.take

    def noted(scanner: SampleScanner, *place: int) -> int:
        taken.append(take(scanner, *place))
        return taken[-1]

    monkeypatch.setattr(SampleScanner, "take", noted)
