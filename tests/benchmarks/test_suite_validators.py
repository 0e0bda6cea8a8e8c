"""The suite accepts no contender without proof, and its budgets can be missed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import evalstream
from benchmarks import __main__ as command_line
from benchmarks.contenders import CONTENDERS, FLOOR
from benchmarks.contenders.contract import Command, Material
from benchmarks.generate import blocks
from benchmarks.generate.runs import Run, generate, generate_small
from benchmarks.harness.budgets import BUDGETS, Budget, State, verdicts
from benchmarks.harness.chart import chart
from benchmarks.harness.measure import Measurement
from benchmarks.harness.proof import require_proof, task_of
from benchmarks.harness.results import Results, exit_code
from benchmarks.harness.rounds import Numbers, WrongAnswer, answer
from benchmarks.harness.tables import Section, write_region
from benchmarks.suites.validators import COLUMNS, Found, bars, parse_arguments, section_of
from benchmarks.suites.workloads import WORKLOADS, Scale

MACHINE = {"cpu_model": "any", "cpu_count": 2, "python": "3", "load_average": [0, 0, 0]}


def board(seconds: float, peak: int) -> Found:
    """Let every contender take the same on every workload, with a floor of one second."""

    def took(duration: float) -> Measurement:
        return Measurement(duration, duration, 0.0, peak, 0, "", "")

    def numbers(workload: str, contender: str) -> Numbers:
        ours = took(seconds / 4 if contender == "evalstream-2" else seconds)
        rounds = () if workload == "memory" else (ours, ours)
        return Numbers(rounds, tuple(took(1.0) for _ in rounds), ours)

    run = Run(Path("rows"), Path("aggregate"), 20, 60_000)
    material = Material(Path(), (run,) * 5_000, "0.2.0")
    return {
        (name, contender): (material, numbers(name, contender))
        for name, workload in WORKLOADS.items()
        for contender in workload.contenders
    }


@pytest.mark.parametrize(
    ("seconds", "state"), [(0.9, State.HELD), (60.0, State.MISSED)], ids=["fast", "slow"]
)
def test_budgets_are_held_and_missed(seconds: float, state: State) -> None:
    states = {one.budget.name: one.state for one in verdicts(board(seconds, 100_000_000))}
    first, *others = [budget for budget, _ in BUDGETS]
    assert first.unit == "times"
    quotients = {budget.name for budget in others if budget.unit in ("times", "%")}
    for name in states.keys() - quotients:
        assert states[name] is (State.HELD if "memory" in name else state), name
    assert all(states[name] is State.HELD for name in quotients)


def test_too_much_memory_misses_its_budgets() -> None:
    found = verdicts(board(0.9, 400_000_000))
    assert [one.budget.name for one in found if one.state is State.MISSED] == [
        "peak memory, mixed rows",
        "peak memory, the largest file",
    ]


def test_what_was_not_measured_is_not_held() -> None:
    assert {one.state for one in verdicts({})} == {State.UNKNOWN}


def test_small_sizes_judge_no_budget() -> None:
    found = verdicts(board(60.0, 400_000_000), judges=False)
    assert {one.state for one in found} == {State.UNJUDGED}


@pytest.mark.parametrize("name", ["evalstream-1", "evalstream-stdin", "evalstream-all"])
def test_our_own_contenders_pass_the_proof(name: str) -> None:
    require_proof(CONTENDERS[name], "0.2.0")


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
    section, found = section_of(WORKLOADS["small"], material, [impostor], 1)
    assert not found
    assert section.errors
    assert [line[0] for line in section.lines] == [FLOOR.label, impostor.label]


def test_rows_left_out_are_found_out(tmp_path: Path) -> None:
    run = generate_small(tmp_path, number=0, rows=2, version="0.2.0", seed=1)
    more = Material(tmp_path, (replace(run, rows=3),), "0.2.0")
    with pytest.raises(WrongAnswer, match="all rows"):
        answer(task_of(CONTENDERS["evalstream-1"], more))


def test_many_runs_are_sound_and_all_different(tmp_path: Path) -> None:
    material = WORKLOADS["many"].make(tmp_path, Scale(0, 0, 3, 1))
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
    section = Section("any", COLUMNS)
    section.skip("one", "skipped: not installed", "schema")
    section.fail("other", WrongAnswer("a | b\nc"), "schema")
    found = board(2.0, 1)
    text = Results(MACHINE, [section], verdicts(found)).markdown()
    assert "| one | schema | skipped: not installed | | | | |" in text.replace("  ", " ")
    assert "| other | schema | error: a \\| b c | | | | |" in text.replace("  ", " ")
    root = ET.fromstring(chart(bars(found)))
    assert root.tag.endswith("svg")
    assert "one run of 20 rows, version 0.3.0" in "".join(root.itertext())


@pytest.mark.parametrize("arguments", [("--pairs", "0"), ("--only", "mixed,other")])
def test_unknown_names_and_no_pairs_are_refused(arguments: tuple[str, str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse_arguments(arguments)


def test_missed_budgets_and_wrong_answers_fail_a_suite(capsys: pytest.CaptureFixture[str]) -> None:
    held = Section("any", COLUMNS)
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
