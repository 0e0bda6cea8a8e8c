"""Runs and results as bytes: they come back as they were, and what is not valid never passes."""

import json
import os
import pickle
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import bytes_of, sound_rows, write_run

from evalstream.batch import wire
from evalstream.batch.packing import RunBundle, StoredResult, check_bundle
from evalstream.batch.plan import PlannedRun
from evalstream.batch.results import RunResult
from evalstream.batch.serialize import decode_stored_finding, decode_stored_run, encode_run
from evalstream.model.claim import JudgedClaim, State
from evalstream.model.finding import SAFE, UNSAFE, Excerpt, Finding, Severity
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import VERDICTS, Checked, RunSummary, Verified
from evalstream.parsing.json import dumps_exactly, loads_exactly
from evalstream.stats.run_links import (
    GREATEST_HASH64,
    ROW_BYTES,
    WORDS,
    LinkKey,
    RunLinks,
    decode_links,
    encode_links,
)

LINKED = Options(links=True, sketches=True, exclude=("*.bak",), noise="^#", skip_noise=True)

TEXTS = st.text(max_size=8)

NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)
VALUES = st.recursive(
    st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
COUNTS = st.dictionaries(st.sampled_from(["ES103", "ES401", "INF302"]), st.integers(1, 2**40))
FINDINGS = st.builds(
    Finding,
    code=st.sampled_from(["ES103", "ES401"]),
    name=TEXTS,
    severity=st.sampled_from(Severity),
    file=TEXTS,
    line=st.none() | st.integers(1, 2**63 - 1),
    column=st.none() | st.integers(1, 2**63 - 1),
    offset=st.none() | st.integers(0, 2**63 - 1),
    pointer=st.none() | TEXTS,
    keyword=st.none() | TEXTS,
    message=TEXTS,
    expected=st.none() | VALUES,
    found=st.none() | VALUES | st.builds(Excerpt, TEXTS, st.integers(0, 99)),
    sample_id=st.none() | TEXTS | st.integers(-(2**70), 2**70),
    count=st.none() | st.integers(1, 2**40),
    fix=st.sampled_from([None, SAFE, UNSAFE]),
)
VERIFIED = st.builds(
    Verified,
    checksum=st.none() | st.booleans(),
    row_count=st.none() | st.booleans(),
    hashes=st.integers(0, 2**40),
    rows=st.integers(0, 2**40),
)
CLAIMS = st.builds(
    JudgedClaim,
    pointer=TEXTS,
    label=TEXTS,
    kind=TEXTS,
    claimed=VALUES | st.none(),
    recomputed=VALUES | st.none(),
    state=st.sampled_from(State),
    reason=st.none() | TEXTS,
    rows=st.integers(0, 2**40),
    is_score=st.booleans(),
)


@st.composite
def summaries(draw: st.DrawFn) -> RunSummary:
    counts = draw(COUNTS)
    failing = {code: draw(st.integers(1, counts[code])) for code in list(counts)[:1]}
    reason = draw(st.none() | TEXTS)
    claims = draw(st.lists(CLAIMS, max_size=3))
    is_refuted = any(one.state is State.REFUTED for one in claims)
    possible = ["unconfirmed"] if is_refuted else VERDICTS
    verdicts = ["incomplete"] if counts or reason is not None else possible
    return RunSummary(
        file=draw(st.none() | TEXTS),
        aggregate=draw(st.none() | TEXTS),
        format="eee",
        inputs=draw(st.none() | TEXTS),
        version=draw(st.none() | TEXTS),
        rows=draw(st.integers(0, 2**40)),
        verdict="failed" if failing else draw(st.sampled_from(verdicts)),
        failing=failing,
        counts=counts,
        severities={Severity.ERROR: sum(counts.values())} if counts else {},
        seconds=draw(st.integers(0, 10**6)) / 1000,
        bytes=draw(st.integers(0, 2**60)),
        incomplete_reason=reason,
        claims=claims,
        verified=draw(st.none() | VERIFIED),
        checked=tuple(draw(st.lists(st.builds(Checked, TEXTS, st.none() | st.booleans())))),
        remark=draw(st.none() | TEXTS),
        fixable=failing,
    )


@given(summaries(), st.lists(FINDINGS, max_size=4))
def test_summaries_and_findings_come_back_as_they_were(
    summary: RunSummary, findings: list[Finding]
) -> None:
    sent = dumps_exactly(encode_run(summary)).encode()
    assert decode_stored_run(loads_exactly(sent)) == summary
    sent = dumps_exactly([finding.as_dict() for finding in findings]).encode()
    decoded = list(map(decode_stored_finding, loads_exactly(sent)))
    assert [one.as_dict() for one in decoded] == [one.as_dict() for one in findings]


@pytest.fixture
def bundle(tmp_path: Path) -> RunBundle:
    """Three runs, of which one fails, and one has a name that is not UTF-8."""
    runs = []
    for number, name in enumerate(["sound", "faulty", os.fsdecode(b"odd-\xff")]):
        place = tmp_path / name
        place.mkdir()
        rows = sound_rows()
        if name == "faulty":
            rows[0]["evaluation"] = None
        found, aggregate = write_run(place, bytes_of(rows))
        runs.append(PlannedRun(number + 5, Run(str(found), str(aggregate)), found.stat().st_size))
    return RunBundle(tuple(runs))


def shown(results: Sequence[RunResult | StoredResult]) -> list[Any]:
    """Return what results say, without times."""
    return [
        (
            one.number,
            {**one.summary.as_dict(), "seconds": 0},
            [finding.as_dict() for finding in one.findings],
            None if one.summary.links is None else encode_links(one.summary.links),
        )
        for one in results
    ]


@pytest.mark.parametrize("options", [Options(), LINKED])
def test_results_that_travelled_are_those_of_this_process(
    bundle: RunBundle, options: Options
) -> None:
    results = wire.remote_check(options)(bundle)
    assert shown(results) == shown(check_bundle(options, bundle))
    assert [one.summary.verdict for one in results] == ["passed", "failed", "passed"]


def test_neither_way_has_a_pickle(bundle: RunBundle, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("pickled")

    for name in ("dumps", "loads"):
        monkeypatch.setattr(pickle, name, refuse)
    assert [one.summary.rows for one in wire.remote_check(LINKED)(bundle)] == [8, 8, 8]


def test_a_run_that_raises_takes_no_other_with_it(
    bundle: RunBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = wire.check_planned

    def fragile(options: Options, planned: PlannedRun, progress: Any) -> RunResult:
        if planned.number == 6:
            raise RuntimeError("odd \udcff")
        return check(options, planned, progress)

    monkeypatch.setattr(wire, "check_planned", fragile)
    results = wire.remote_check(Options())(bundle)
    assert [one.summary.verdict for one in results] == ["passed", "incomplete", "passed"]
    assert results[1].summary.incomplete_reason == "RuntimeError: odd \\udcff"


def changed(change: Callable[[list[Any]], Any]) -> Callable[[bytes], bytes]:
    """Return the change of an answer whose three results are lists."""

    def act(data: bytes) -> bytes:
        results = msgspec.msgpack.decode(data)
        replaced = change(results)
        return msgspec.msgpack.encode(results if replaced is None else replaced)

    return act


def with_summary(**members: Any) -> Callable[[bytes], bytes]:
    """Return the change of the first summary of an answer."""

    def change(results: list[Any]) -> None:
        summary = json.loads(results[0][1])
        results[0][1] = json.dumps({**summary, **members}).encode()

    return changed(change)


WRONG_MESSAGES = {
    "garbage": lambda _: b"\xc1garbage",
    "empty": lambda _: b"",
    "a pickle": lambda _: pickle.dumps([("passed", 1)]),
    "truncated": lambda data: data[:-1],
    "longer": lambda data: data + b"\x00",
    "too few": changed(lambda results: results[:-1]),
    "too many": changed(lambda results: [*results, results[0]]),
    "other numbers": changed(lambda results: [[9, *one[1:]] for one in results]),
    "other order": changed(lambda results: results[::-1]),
    "a number of another type": changed(lambda results: [["5", *results[0][1:]], *results[1:]]),
    "more members": changed(lambda results: [[*one, 1] for one in results]),
    "no list": changed(lambda results: {"results": results}),
}


@each("change", WRONG_MESSAGES.values(), ids=WRONG_MESSAGES)
def test_a_message_that_is_not_valid_leaves_all_its_runs_unchecked(
    bundle: RunBundle, change: Callable[[bytes], bytes]
) -> None:
    check = wire.remote_check(Options())
    results = check.decode(bundle, change(check.answer(check.encode(bundle))))
    assert [one.number for one in results] == [5, 6, 7]
    assert {one.summary.verdict for one in results} == {"incomplete"}
    for one in results:
        assert "returned no valid result" in (one.summary.incomplete_reason or "")
        assert [finding.code for finding in one.findings] == ["ES001"]


def with_links(change: Callable[[list[Any]], None]) -> Callable[[bytes], bytes]:
    """Return the change of the first links of an answer."""
    return changed(lambda results: change(results[0][3]))


def first_key(links: list[Any], word: int) -> None:
    links[1]["ties"][0] = word


def cut_words(links: list[Any]) -> None:
    links[1]["words"] = links[1]["words"][: ROW_BYTES - 1]


WRONG_RESULTS = {
    "no JSON": changed(lambda results: results[0].__setitem__(1, b"{")),
    "no object": changed(lambda results: results[0].__setitem__(1, b"[]")),
    "too deep": changed(lambda results: results[0].__setitem__(1, b"[" * 100_000)),
    "no members": changed(lambda results: results[0].__setitem__(1, b"{}")),
    "no findings": changed(lambda results: results[0].__setitem__(2, b"7")),
    "a finding of nothing": changed(lambda results: results[0].__setitem__(2, b'[{"code": 1}]')),
    "a finding of other types": changed(
        lambda results: results[0].__setitem__(
            2, b'[{"code":"A","name":"","severity":"info","file":"","message":"","line":""}]'
        )
    ),
    "rows of another type": with_summary(rows="8"),
    "rows of a bool": with_summary(rows=True),
    "another verdict": with_summary(verdict="fine"),
    "a verdict of another type": with_summary(verdict=["passed"]),
    "passed, with failures": with_summary(failing={"ES401": 1}),
    "counts of another type": with_summary(counts={"ES401": "1"}),
    "an unknown severity": with_summary(severities={"fatal": 1}),
    "a note of another type": with_summary(note="yes"),
    "claims of another type": with_summary(claims={"list": [{"pointer": 1}]}),
    "a link that is negative": with_links(lambda links: first_key(links, -1)),
    "a link part of a row": with_links(cut_words),
    "a link of another type": with_links(lambda links: links.__setitem__(1, "x")),
}


@each("name", WRONG_RESULTS)
def test_a_result_that_is_not_valid_never_passes(bundle: RunBundle, name: str) -> None:
    check = wire.remote_check(LINKED)
    data = WRONG_RESULTS[name](check.answer(check.encode(bundle)))
    results = check.decode(bundle, data)
    first = results[0]
    assert first.summary.verdict == "incomplete"
    assert "returned no valid result" in (first.summary.incomplete_reason or "")
    if name != "a link of another type":
        # The message itself is valid, and so are the other results.
        assert [one.summary.verdict for one in results[1:]] == ["failed", "passed"]


@given(st.binary(max_size=200) | VALUES.map(dumps_exactly).map(str.encode))
def test_any_bytes_are_an_answer_that_does_not_pass(data: bytes) -> None:
    bundle = RunBundle((PlannedRun(0, Run("rows.jsonl", None), 1),))
    (result,) = wire.decode_answer(Options(), bundle, data)
    assert result.summary.verdict == "incomplete"


def test_links_that_do_not_fit_into_an_answer_leave_the_run_unchecked(
    bundle: RunBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MOST_LINK_BYTES", 7 * ROW_BYTES)
    results = wire.remote_check(LINKED)(bundle)
    assert {one.summary.verdict for one in results} == {"incomplete"}
    assert "it has 12 rows and answers, more than a worker can relate" in str(
        results[0].summary.incomplete_reason
    )


def test_the_greatest_hashes_come_back() -> None:
    links = RunLinks()
    links.record, links.evaluation = "r", GREATEST_HASH64
    words = array("Q", [GREATEST_HASH64] * WORDS)
    links.append(LinkKey(GREATEST_HASH64, 0, GREATEST_HASH64), words)
    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(encode_links(links, bytes)))
    assert encode_links(decode_links(sent, memoryview)) == encode_links(links)
