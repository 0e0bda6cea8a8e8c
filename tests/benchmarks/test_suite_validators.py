"""The suite accepts no contender without proof, and its budgets can be missed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from depth import deep
from each import each

import evalstream
from benchmarks import __main__ as command_line
from benchmarks.contenders import CONTENDERS, FLOOR
from benchmarks.contenders.contract import ROOT, Command, Material
from benchmarks.generate import blocks
from benchmarks.generate.mixes import MIXES
from benchmarks.generate.runs import Run, generate, generate_small
from benchmarks.harness.budgets import BUDGETS, Budget, Figure, State, Verdict, verdicts
from benchmarks.harness.chart import chart
from benchmarks.harness.measure import Measurement
from benchmarks.harness.proof import require_proof, task_of
from benchmarks.harness.results import Results, exit_code
from benchmarks.harness.rounds import Numbers, WrongAnswer, answer
from benchmarks.harness.tables import Section, write_region
from benchmarks.suites import materials, workloads
from benchmarks.suites.materials import Scale
from benchmarks.suites.validators import (
    Found,
    bars,
    columns_of,
    measure_workload,
    parse_arguments,
    section_of,
)
from benchmarks.suites.workloads import WORKLOADS, Workload

SMALL = Scale(size=60_000, memory_size=60_000, many=3, boards=3, seed=1)
MACHINE = {"cpu_model": "any", "cpu_count": 2, "python": "3", "load_average": [0, 0, 0]}


GROWING = ("wide", "memory", "gzip", "zstd", "wrong")


def board(ours: float, *, is_growing: bool = False, peak: int = 50_000_000) -> Found:
    """Let each contender take 2 seconds with a floor of 1 second, and ours another time.

    With `is_growing` evalstream is slow on runs of many rows, and large in the largest file.
    """

    def took(duration: float, memory: int) -> Measurement:
        return Measurement(duration, duration, 0.0, memory, 0, "", "")

    def numbers(workload: Workload, contender: str) -> Numbers:
        is_ours = contender.startswith("evalstream") and contender != "evalstream-1"
        factor = 2 if is_growing and workload.name in GROWING else 1
        one = took(factor * (ours if is_ours else 2.0), factor * peak)
        rounds = (one, one) if workload.least_pairs else ()
        return Numbers(rounds, tuple(took(1.0, 1) for _ in rounds), one)

    run = Run(Path("rows"), Path("aggregate"), 20, 60_000)
    material = Material(Path(), (run,) * 5_000, "0.2.0")
    return {
        (name, contender): (material, numbers(workload, contender))
        for name, workload in WORKLOADS.items()
        for contender in workload.contenders
    }


@each(("budget", "figure"), BUDGETS, ids=[one.name for one, _ in BUDGETS])
def test_each_budget_is_held_and_missed(budget: Budget, figure: Figure) -> None:
    held = Verdict(budget, figure(board(0.5)))
    assert (held.state, held.misses_aim) == (State.HELD, False)
    slow = Verdict(budget, figure(board(60.0, is_growing=True, peak=131_000_000)))
    assert slow.state is State.MISSED


def test_the_names_of_budgets_differ() -> None:
    names = {budget.name for budget, _ in BUDGETS}
    assert len(names) == len(BUDGETS)


def test_the_readme_names_every_workload_contender_and_mix() -> None:
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    names = {*WORKLOADS, *CONTENDERS, *MIXES}
    assert {name for name in names if f"`{name}`" not in text} == set()


def test_what_was_not_measured_is_not_held() -> None:
    assert {one.state for one in verdicts({})} == {State.UNKNOWN}


def test_small_sizes_judge_no_budget() -> None:
    found = verdicts(board(60.0), judges=False)
    assert {one.state for one in found} == {State.UNJUDGED}


@pytest.mark.parametrize(
    ("name", "workload"),
    [
        ("evalstream-stdin", "mixed"),
        deep("evalstream-schema", "own-schema"),
        ("evalstream-all", "faulty"),
        deep("evalstream-1", "mixed"),
        deep("evalstream-optional", "mixed"),
        deep("evalstream-schema", "mixed"),
        deep("evalstream-1", "gzip"),
        deep("evalstream-1", "zstd"),
        deep("evalstream-1", "array"),
        ("evalstream-1", "aggregates"),
    ],
)
def test_our_own_contenders_pass_the_proof(name: str, workload: str) -> None:
    require_proof(CONTENDERS[name], "0.2.0", WORKLOADS[workload].trial)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_the_floor_decompresses_every_byte(tmp_path: Path, name: str) -> None:
    workload = WORKLOADS[name]
    material = workload.make(tmp_path, SMALL)
    answer(task_of(workload.floor, material))
    (run,) = material.runs
    other = replace(material, runs=(replace(run, bytes=run.bytes + 1),))
    with pytest.raises(WrongAnswer, match="all rows"):
        answer(task_of(workload.floor, other))


def test_a_compression_without_a_library_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workloads, "can_compress", lambda kind: kind != "zst")
    section = measure_workload(tmp_path, WORKLOADS["zstd"], parse_arguments(["--quick"]), {})
    ((_, _, why, *_),) = section.lines
    assert why == "skipped: no library for zst is installed"


@pytest.mark.parametrize("name", ["one-null", "other-choice"])
def test_other_findings_than_the_generator_knows_are_wrong(tmp_path: Path, name: str) -> None:
    material = WORKLOADS[name].make(tmp_path, SMALL)
    assert material.findings
    answer(task_of(CONTENDERS["evalstream-1"], material))
    (run,) = material.runs
    fewer = {code: number - 1 for code, number in material.findings.items()}
    other = replace(material, runs=(replace(run, findings=fewer),))
    with pytest.raises(WrongAnswer, match="all rows"):
        answer(task_of(CONTENDERS["evalstream-1"], other))


@pytest.mark.deep
def test_a_ledger_must_answer_for_every_run(tmp_path: Path) -> None:
    material = WORKLOADS["unchanged"].make(tmp_path, SMALL)
    answer(task_of(CONTENDERS["evalstream-1"], material))
    new = replace(material, ledger=tmp_path / "new.ledger")
    with pytest.raises(WrongAnswer, match="all rows"):
        answer(task_of(CONTENDERS["evalstream-1"], new))


def test_rows_are_found_beside_a_document_and_in_few_runs(tmp_path: Path) -> None:
    beside = materials.beside_document(tmp_path / "beside", SMALL)
    answer(task_of(CONTENDERS["evalstream-1"], beside))
    wide = materials.wide_runs(tmp_path / "wide", SMALL)
    assert [run.rows for run in wide.runs] == [materials.WIDE_ROWS]


def ignoring_violations(material: Material) -> Command:
    return Command([*CONTENDERS["evalstream-1"].command(material).words, "--ignore", "ES"])


@pytest.mark.parametrize(
    "command",
    [
        lambda material: Command(["true"]),
        lambda material: Command([sys.executable, "-c", "raise SystemExit(1)"]),
        ignoring_violations,
    ],
    ids=["does nothing", "refuses everything", "ignores faults"],
)
def test_a_contender_that_does_not_judge_is_found_out(
    command: Callable[[Material], Command], tmp_path: Path
) -> None:
    impostor = replace(CONTENDERS["evalstream-1"], command=command)
    with pytest.raises(WrongAnswer):
        require_proof(impostor, "0.2.0")
    run = generate_small(tmp_path, number=0, rows=2, version="0.2.0", seed=1)
    material = Material(tmp_path, (run,), "0.2.0")
    workload = WORKLOADS["mixed"]
    section, found = section_of(workload, material, [impostor], 1)
    assert not found
    assert section.errors
    assert [line[0] for line in section.lines] == [FLOOR.label, impostor.label]


def test_rows_left_out_are_found_out(tmp_path: Path) -> None:
    run = generate_small(tmp_path, number=0, rows=2, version="0.2.0", seed=1)
    more = Material(tmp_path, (replace(run, rows=3),), "0.2.0")
    with pytest.raises(WrongAnswer, match="all rows"):
        answer(task_of(CONTENDERS["evalstream-1"], more))


def test_many_runs_are_sound_and_all_different(tmp_path: Path) -> None:
    material = WORKLOADS["many"].make(tmp_path, SMALL)
    report = evalstream.check(tmp_path)
    assert report.passed
    assert [run.rows for run in report.runs] == [20, 20, 20]
    assert len({run.rows_path.read_bytes() for run in material.runs}) == 3


def test_workers_write_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 30_000)
    written = []
    for least in (0, 1_000_000):
        monkeypatch.setattr(blocks, "WORTH_WORKERS", least)
        run = generate(tmp_path, size=100_000, mix="mixed", version="0.2.0", seed=1)
        written.append(run.rows_path.read_bytes())
    assert written[0] == written[1]


def test_tables_go_between_marks_or_into_a_whole_file(tmp_path: Path) -> None:
    marked, whole = tmp_path / "marked.md", tmp_path / "whole.md"
    marked.write_text("a\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nb\n")
    for path in (marked, whole):
        write_region(path, "new\n")
    assert marked.read_text() == "a\n<!-- bench:begin -->\nnew\n<!-- bench:end -->\nb\n"
    assert whole.read_text() == "new\n"


def test_absent_contenders_are_in_the_table_and_the_picture_is_well_formed() -> None:
    section = Section("any", columns_of(WORKLOADS["mixed"]))
    section.skip("one", "skipped: not installed", "schema")
    section.fail("other", WrongAnswer("a | b\nc"), "schema")
    found = board(2.0)
    text = Results(MACHINE, [section], verdicts(found)).markdown()
    assert "| one | schema | skipped: not installed | | | | |" in text.replace("  ", " ")
    assert "| other | schema | error: a \\| b c | | | | |" in text.replace("  ", " ")
    root = ET.fromstring(chart(bars(found)))
    assert root.tag.endswith("svg")
    assert "one run of 20 rows" not in "".join(root.itertext())
    assert "mixed rows of 3 kB, some agentic" in "".join(root.itertext())


@pytest.mark.parametrize("arguments", [("--pairs", "0"), ("--only", "mixed,other")])
def test_unknown_names_and_no_pairs_are_refused(arguments: tuple[str, str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse_arguments(arguments)


def test_missed_budgets_and_wrong_answers_fail_a_suite(capsys: pytest.CaptureFixture[str]) -> None:
    held = Section("any", columns_of(WORKLOADS["mixed"]))
    held.hold(Budget("speed", 2, "MB/s", is_floor=True, aim=5), 3)
    assert exit_code(Results(MACHINE, [held])) == 0
    assert capsys.readouterr().out.startswith("aim not reached: speed: 3 MB/s")
    held.hold(Budget("memory", 2, "MB"), 3)
    held.fail("one", WrongAnswer("why"))
    assert exit_code(Results(MACHINE, [held])) == 1
    *_, error, missed = capsys.readouterr().out.splitlines()
    assert error == "ERROR any: one: why"
    assert missed == "MISSED memory: 3 MB, at most 2 MB"


def test_suites_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in command_line.SUITES.values():
        assert callable(import_module(module).main)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "other"])
    assert command_line.main() == 2
