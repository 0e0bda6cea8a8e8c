"""A bug that one input meets takes no verdict from another, and lets nothing pass or be written."""

import json
import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from depth import in_turn
from each import each
from inspect_archive import members_of, packed, sound_log
from lm_eval_logs import results as lm_eval_results
from lm_eval_logs import rows as lm_eval_rows
from lm_eval_logs import write as write_lm_eval
from paths import EXAMPLES
from rows import bytes_of, sound_rows, write_run

import evalstream
from evalstream.api.changes import fix, migrate
from evalstream.api.compare import compare
from evalstream.batch import packing, single
from evalstream.batch.batch import ALL_RUNS
from evalstream.model.errors import TRACEBACK
from evalstream.model.report import Report
from evalstream.model.run import Run

VICTIM = "victim"
TWO = EXAMPLES / "compare" / "data" / "tiny_sums" / "acme"

ERRORS = {
    "KeyError": KeyError("secret"),
    "RecursionError": RecursionError("secret"),
    "MemoryError": MemoryError("secret"),
    "PanicException": type("PanicException", (BaseException,), {})("secret"),
    "StrangeError": type("StrangeError", (Exception,), {"__reduce__": None})("secret"),
}
"""Exceptions by the names of their types; the last one cannot be pickled."""

CHECK_STEPS = (
    "evalstream.batch.single:options_for",
    "evalstream.engine.row_pass:open_rows",
    "evalstream.engine.row_pass:RowPass.open",
    "evalstream.engine.row_pass:Block.lines",
    "evalstream.formats.eee.row_engine:RowEngine.run",
    "evalstream.engine.collector:Collector.add",
    "evalstream.engine.collector:Collector.end_of_rows",
    "evalstream.formats.eee.checker:open_aggregate",
    "evalstream.formats.eee.file_violations:_run_violations",
    "evalstream.formats.eee.file_violations:find_nothing_confirmed",
    "evalstream.formats.eee.checker:summarise_run",
)
"""The steps of the check of rows, from their opening to the verdict."""


def folder_of(place: Path, runs: int = 3) -> Path:
    """Make a folder of sound runs, one of which is the victim."""
    for name in (*map("sound-{}".format, range(runs - 1)), VICTIM):
        (place / "data" / name).mkdir(parents=True)
        write_run(place / "data" / name, bytes_of(sound_rows(count=8 + len(name))))
    return place / "data"


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that lets a function raise while the victim is worked on."""
    current: list[Run] = []
    enter, leave = single.GuardedCheck.__enter__, single.GuardedCheck.__exit__

    def note(guarded: Any) -> Any:
        current.append(guarded._run)
        return enter(guarded)

    def forget(guarded: Any, *given: Any) -> bool:
        try:
            return leave(guarded, *given)
        finally:
            current.pop()

    def let(step: str, error: BaseException = ERRORS["KeyError"]) -> None:
        module, _, path = step.partition(":")
        *owners, name = path.split(".")
        owner: Any = import_module(module)
        for one in owners:
            owner = getattr(owner, one)
        real = getattr(owner, name)

        def broken(*given: Any, **named: Any) -> Any:
            if VICTIM in "".join(map(repr, (*current, *given))):
                raise error
            return real(*given, **named)

        monkeypatch.setattr(owner, name, broken)

    monkeypatch.setattr(single.GuardedCheck, "__enter__", note)
    monkeypatch.setattr(single.GuardedCheck, "__exit__", forget)
    return let


def verdicts(report: Report) -> dict[str, str]:
    """Return the verdicts by the folder of each run."""
    return {Path(run.file or run.aggregate or "").parent.name: run.verdict for run in report.runs}


def assert_only_the_victim_is_open(report: Report, kind: str = "KeyError") -> None:
    """Assert that all others pass, and that the finding shows no value and no path."""
    assert verdicts(report) == {"sound-0": "passed", "sound-1": "passed", VICTIM: "incomplete"}
    assert report.exit_code == 3
    (finding,) = (one for one in report if one.code == "ES010")
    assert f"internal error: {kind} in evalstream." in finding.message or kind == "KeyError"
    assert "secret" not in finding.message
    assert "/" not in finding.message
    (run,) = (run for run in report.runs if run.verdict == "incomplete")
    assert run.incomplete_reason
    assert finding.message in run.incomplete_reason


@pytest.mark.parametrize(("step", "jobs"), in_turn(CHECK_STEPS, [1, 2]))
def test_a_bug_in_a_step_of_the_check(
    step: str,
    jobs: int,
    tmp_path: Path,
    breaks: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packing, "WORTH_WORKERS", 1)
    folder = folder_of(tmp_path)
    breaks(step)
    assert_only_the_victim_is_open(evalstream.check(folder, jobs=jobs))


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("kind", ERRORS)
def test_every_kind_of_exception_counts(
    kind: str,
    jobs: int,
    tmp_path: Path,
    breaks: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packing, "WORTH_WORKERS", 1)
    folder = folder_of(tmp_path)
    breaks("evalstream.formats.eee.row_engine:RowEngine.run", ERRORS[kind])
    assert_only_the_victim_is_open(evalstream.check(folder, jobs=jobs), kind)


@pytest.mark.parametrize("error", [ERRORS["StrangeError"], ERRORS["PanicException"]])
def test_a_bug_in_a_worker_that_checks_blocks(
    error: BaseException,
    tmp_path: Path,
    breaks: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evalstream.engine.row_pass.WORTH_A_POOL_BYTES", 1)
    monkeypatch.setattr("evalstream.batch.scheduler.WORTH_A_POOL_BYTES", 1)
    folder = folder_of(tmp_path)
    breaks("evalstream.formats.eee.row_engine:RowEngine.run", error)
    assert_only_the_victim_is_open(evalstream.check(folder, jobs=2), type(error).__name__)


@pytest.mark.parametrize(
    "step",
    [
        "evalstream.discovery.peek:peek_document",
        "evalstream.discovery.pairing:Pairing._find_rows",
        "evalstream.discovery.search_folder:_Search._of",
    ],
)
def test_a_bug_in_the_search(step: str, tmp_path: Path, breaks: Callable[..., None]) -> None:
    folder = folder_of(tmp_path)
    breaks(step)
    report = evalstream.check(folder, jobs=1)
    assert report.exit_code == 3
    assert {report.counts["ES010"]} <= {1, 2}
    assert verdicts(report)["sound-0"] == verdicts(report)["sound-1"] == "passed"
    assert "passed" not in {run.verdict for run in report.runs if VICTIM in str(run.file)}


@pytest.mark.parametrize(
    "step",
    ["evalstream.discovery.search:Search._find_input", "evalstream.discovery.peek:peek_document"],
)
def test_a_bug_in_the_search_for_a_named_file(
    step: str, tmp_path: Path, breaks: Callable[..., None]
) -> None:
    folder = folder_of(tmp_path)
    breaks(step)
    report = evalstream.check([*sorted(folder.rglob("*.json"))], jobs=1)
    assert report.exit_code == 3
    assert report.counts["ES010"] == 1
    assert verdicts(report)["sound-0"] == verdicts(report)["sound-1"] == "passed"


def test_a_bug_in_pairing_other_documents(
    tmp_path: Path, breaks: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sound", VICTIM):
        shutil.copytree(EXAMPLES / "infereval", tmp_path / name)
    before = evalstream.check(tmp_path / "sound", jobs=1).runs[0].verdict
    breaks("evalstream.formats.infereval.pairs:looked_at")
    report = evalstream.check(tmp_path, jobs=1)
    assert report.exit_code == 3
    assert report.counts["ES010"] >= 1
    assert before in {run.verdict for run in report.runs if "sound" in str(run.file)}


OTHERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "harpia": (
        "evalstream.formats.harpia.checker:_view",
        lambda place: shutil.copytree(EXAMPLES / "harpia", place, dirs_exist_ok=True),
    ),
    "infereval": (
        "evalstream.engine.documents:DocumentCheck.close",
        lambda place: shutil.copytree(EXAMPLES / "infereval", place, dirs_exist_ok=True),
    ),
    "evalguard": (
        "evalstream.formats.evalguard.reader:FolderReader._parse_file",
        lambda place: shutil.copytree(EXAMPLES / "evalguard", place, dirs_exist_ok=True),
    ),
    "inspect": (
        "evalstream.formats.inspect.log_check:LogCheck.sample",
        lambda place: (place / "log.eval").write_bytes(packed(members_of(sound_log()))),
    ),
    "lm_eval": (
        "evalstream.formats.lm_eval.checker:_SamplesCheck._judge_rows",
        lambda place: write_lm_eval(place, lm_eval_rows(), lm_eval_results(lm_eval_rows())),
    ),
}
"""The other formats: a step of the check, and what writes a run into a folder."""


@pytest.mark.parametrize("name", OTHERS)
def test_a_bug_in_the_check_of_another_format(
    name: str, tmp_path: Path, breaks: Callable[..., None]
) -> None:
    step, write = OTHERS[name]
    (tmp_path / VICTIM).mkdir()
    write(tmp_path / VICTIM)
    (tmp_path / "sound-0").mkdir()
    write_run(tmp_path / "sound-0", bytes_of(sound_rows()))
    breaks(step)
    paths = [tmp_path / "sound-0", tmp_path / VICTIM]
    report = evalstream.check(paths, jobs=1)
    others = [run.verdict for run in report.runs if run.format == name]
    assert (report.exit_code, report.counts["ES010"]) == (3, 1)
    assert verdicts(report)["sound-0"] == "passed"
    assert "incomplete" in others


@pytest.mark.parametrize("how", [{"ignore": ("ES010",)}, {"select": ("ES3",)}])
def test_a_run_with_a_bug_never_passes(
    how: dict[str, Any], tmp_path: Path, breaks: Callable[..., None]
) -> None:
    folder = folder_of(tmp_path)
    breaks(CHECK_STEPS[4])
    for paths in (folder, folder / VICTIM):
        report = evalstream.check(paths, jobs=1, **how)
        assert verdicts(report)[VICTIM] == "incomplete"
        assert (report.exit_code, "ES010" in report.counts) == (3, False)


def test_findings_before_the_bug_stay(tmp_path: Path, breaks: Callable[..., None]) -> None:
    folder = folder_of(tmp_path)
    rows = sound_rows()
    rows[2] = {**rows[2], "evaluation": None}
    write_run(folder / VICTIM, bytes_of(rows))
    expected = evalstream.check(folder / VICTIM, jobs=1)
    breaks("evalstream.formats.eee.checker:summarise_run")
    report = evalstream.check(folder / VICTIM, jobs=1)
    assert list(report)[:-1] == list(expected)
    assert list(report)[-1].code == "ES010"
    (run,) = report.runs
    assert run.verdict == "failed"
    assert run.failing == expected.runs[0].failing
    assert "KeyError" in str(run.incomplete_reason)


@pytest.mark.parametrize(
    "step",
    [
        "evalstream.batch.ledger.ledger:Ledger.find_each",
        "evalstream.batch.ledger.ledger:Ledger.begin",
        "evalstream.batch.ledger.ledger:Ledger.record",
        "evalstream.batch.ledger.ledger:read_state",
        "evalstream.batch.cross_run.index:CrossRunIndex.add",
    ],
)
def test_a_bug_in_what_comes_after_the_check(
    step: str, tmp_path: Path, breaks: Callable[..., None]
) -> None:
    folder = folder_of(tmp_path)
    breaks(step)
    assert_only_the_victim_is_open(evalstream.check(folder, ledger=tmp_path / "ledger", jobs=1))


def test_a_bug_in_comparing_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(tmp_path)

    def broken(*_: Any) -> Iterator[Any]:
        raise KeyError
        yield

    monkeypatch.setattr("evalstream.batch.cross_run.index.find_matches", broken)
    report = evalstream.check(folder, jobs=1)
    assert report.exit_code == 3
    assert [run.verdict for run in report.runs] == ["passed"] * 3 + ["incomplete"]
    assert report.runs[-1].file == ALL_RUNS
    assert report.counts == {"ES010": 1}


def files_in(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, with their bytes."""
    return {str(one): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


@pytest.mark.parametrize("step", [*CHECK_STEPS, "evalstream.formats.eee.seal:prepare_seal"])
def test_a_run_with_a_bug_is_not_sealed(
    step: str, tmp_path: Path, breaks: Callable[..., None]
) -> None:
    folder = folder_of(tmp_path) / VICTIM
    (rows,) = folder.glob("*.jsonl")
    (aggregate,) = folder.glob("*.json")
    sealed = json.loads(aggregate.read_bytes())
    del sealed["detailed_evaluation_results"]["checksum"]
    aggregate.write_text(json.dumps(sealed))
    before = files_in(tmp_path)
    breaks(step)
    report = evalstream.seal(rows, aggregate, seal_anyway=True)
    assert report.exit_code == 3
    assert report.runs[0].sealed is None
    assert "it was not sealed" in str(report.runs[0].incomplete_reason)
    assert files_in(tmp_path) == before


@pytest.mark.parametrize(
    "step",
    [
        "evalstream.engine.documents:DocumentCheck.close",
        "evalstream.batch.sealing:_refusal",
        "evalstream.batch.sealing:_describe_change",
        "evalstream.batch.sealing:write",
    ],
)
def test_a_document_with_a_bug_is_not_sealed(
    step: str, tmp_path: Path, breaks: Callable[..., None]
) -> None:
    shutil.copytree(EXAMPLES / "infereval", tmp_path / VICTIM)
    evaluation = tmp_path / VICTIM / "evaluation.json"
    document = json.loads(evaluation.read_bytes())
    evaluation.write_text(json.dumps(document))
    before = files_in(tmp_path)
    breaks(step)
    report = evalstream.seal(evaluation, seal_anyway=True)
    assert (report.exit_code, report.counts.get("ES010")) == (3, 1)
    assert "it was not sealed" in str(report.runs[0].incomplete_reason)
    assert files_in(tmp_path) == before


@pytest.mark.parametrize(
    "step",
    [
        "evalstream.batch.rewriting.fix:_states",
        "evalstream.batch.rewriting.fix:_write_repaired",
        "evalstream.batch.rewriting.fix:rewrite_rows",
        "evalstream.batch.rewriting.fix:_put_in_place",
        *CHECK_STEPS[1:3],
    ],
)
def test_a_run_with_a_bug_is_not_fixed(
    step: str, tmp_path: Path, breaks: Callable[..., None]
) -> None:
    folder = folder_of(tmp_path)
    for one in folder.iterdir():
        rows = next(one.glob("*.jsonl"))
        write_run(one, rows.read_bytes().replace(b"\n", b"\r\n"))
    before = files_in(folder / VICTIM)
    breaks(step)
    runs = fix(folder, write=True)
    assert [one.status.value for one in runs.outcomes if VICTIM in str(one.rows)] == ["unread"]
    assert {one.status.value for one in runs.outcomes if VICTIM not in str(one.rows)} == {"written"}
    assert runs.exit_code == 3
    assert files_in(folder / VICTIM) == before


@pytest.mark.parametrize(
    "step",
    [
        "evalstream.batch.rewriting.migrate:_migrate",
        "evalstream.batch.rewriting.migrate:document_bytes",
        "evalstream.batch.rewriting.migrate:rewrite_rows",
        "evalstream.batch.rewriting.migrate:MigrationLedger.find",
        "evalstream.batch.rewriting.migrate:MigrationLedger.state",
    ],
)
def test_a_run_with_a_bug_is_not_migrated(
    step: str, tmp_path: Path, breaks: Callable[..., None]
) -> None:
    folder, target = folder_of(tmp_path), tmp_path / "new"
    breaks(step)
    runs = migrate(
        folder,
        target,
        collection="tests",
        fill=True,
        deployment="self_deployed/unknown",
        ledger=tmp_path / "ledger",
    )
    (victim,) = (one for one in runs.outcomes if VICTIM in str(one.rows))
    assert victim.status.value == "unread"
    assert "KeyError" in victim.reasons[0]
    assert runs.exit_code == 3
    assert not [name for name in files_in(target) if VICTIM in name] or not target.exists()


@each(
    "step",
    [
        "evalstream.batch.comparing.compare:joined_pair",
        "evalstream.batch.comparing.pairs:join_runs",
        "evalstream.batch.comparing.pairs:match_metrics",
        "evalstream.batch.comparing.compare:_estimate",
        "evalstream.batch.comparing.compare:find_confounders",
        "evalstream.engine.collector:Collector.add",
    ],
)
def test_runs_with_a_bug_are_not_compared(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, path = step.partition(":")

    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("secret")

    monkeypatch.setattr(f"{module}.{path}", broken)
    report = compare([TWO / "acorn-7b", TWO / "acorn-3b"])
    assert report.exit_code == 3
    assert "KeyError" in str(report.refused)
    assert not report.comparisons


def test_a_log_with_a_bug_leaves_the_run_open(
    tmp_path: Path, breaks: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path)
    (folder / "log.eval").write_bytes(packed(members_of(sound_log())))
    breaks("evalstream.formats.eee.source_check:SourceCheck.differences")
    report = evalstream.check(folder / VICTIM, source=str(folder / "log.eval"), jobs=1)
    assert (report.exit_code, report.counts.get("ES010")) == (3, 1)


def test_a_bug_of_a_reporter_ends_the_call(tmp_path: Path) -> None:
    class Broken:
        def finding(self, _finding: Any) -> None:
            raise KeyError("secret")

        def finish(self, _report: Report) -> None:
            raise AssertionError("there is nothing to report")

    folder = folder_of(tmp_path)
    write_run(folder / VICTIM, b"{}\n")
    with pytest.raises(KeyError):
        evalstream.check(folder / VICTIM, reporter=Broken(), jobs=1)


def test_the_traceback_is_printed_only_on_request(
    tmp_path: Path,
    breaks: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = folder_of(tmp_path)
    breaks(CHECK_STEPS[4])
    evalstream.check(folder, jobs=1)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv(TRACEBACK, "1")
    evalstream.check(folder, jobs=1)
    assert "Traceback" in capsys.readouterr().err
