"""The command `migrate`: what it writes, what it refuses, and that it leaves sources alone."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from changed_runs import files_of
from commands import command, environment, run_command
from paths import EXAMPLES
from rows import aggregate_of, bytes_of, sound_rows

import evalstream
from evalstream import ChangedRuns, Outcome, migrate
from evalstream.batch.rewriting import migrate as migrate_module
from evalstream.batch.rewriting import outcome as rewriting_outcome
from evalstream.batch.rewriting.outcome import ChangeStatus
from evalstream.io import readers
from evalstream.model.errors import CannotWrite, UsageError
from evalstream.model.options import Options

ALONE = Options(jobs=1)
STEM = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57"
LIBRARY = "example-harness@1.0"


def source(folder: Path, name: str = STEM, **members: Any) -> Path:
    """Write a pair of version 0.2.0 where a datastore has it; `members` are set in the rows."""
    place = folder / "data" / "tiny-arithmetic" / "acme" / "acorn-7b"
    place.mkdir(parents=True, exist_ok=True)
    data = bytes_of([row | members for row in sound_rows("0.2.0")])
    (place / f"{name}_samples.jsonl").write_bytes(data)
    document = aggregate_of("0.2.0", data, 8, f"{name}_samples.jsonl")
    (place / f"{name}.json").write_text(json.dumps(document, indent=2))
    return folder


def migrated(path: Path, to: Path, **named: Any) -> ChangedRuns:
    return migrate(path, to, eval_library=LIBRARY, options=ALONE, **named)


def only(runs: ChangedRuns) -> Outcome:
    (outcome,) = runs.outcomes
    return outcome


def ran(*arguments: str, folder: Path) -> tuple[int, str, str]:
    done = run_command(
        command(*arguments), cwd=folder, env=environment(), capture_output=True, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_pair_is_written_sealed_and_passes_as_a_datastore(tmp_path: Path) -> None:
    old = source(tmp_path / "old")
    before = files_of(old)
    outcome = only(migrated(old, tmp_path / "new"))
    assert outcome.status is ChangeStatus.WRITTEN
    assert outcome.exit_code == 0
    aggregate = Path(outcome.target or "")
    document = json.loads(aggregate.read_bytes())
    sealed = document["detailed_evaluation_results"]
    rows = tmp_path / "new" / sealed["file_path"]
    assert hashlib.sha256(rows.read_bytes()).hexdigest() == sealed["checksum"]
    assert sealed["total_rows"] == 8
    assert document["eval_library"] == {"name": "example-harness", "version": "1.0"}
    origin = json.loads(document["source_metadata"]["additional_details"]["migrated_from"])
    (old_aggregate,) = old.rglob("*.json")
    assert origin["sha256"] == hashlib.sha256(old_aggregate.read_bytes()).hexdigest()
    assert origin["uuid"] == STEM
    assert origin["version"] == "0.2.0"
    assert origin["sealed"] is True
    report = evalstream.check(tmp_path / "new", profile="datastore", strict=True, ignore=["ES402"])
    assert report.exit_code == 0, list(report)
    assert files_of(old) == before
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"data"}


@pytest.mark.parametrize("lacks", [("checksum",), ("total_rows",), ("checksum", "total_rows")])
def test_a_result_says_that_its_source_was_not_sealed(
    tmp_path: Path, lacks: tuple[str, ...]
) -> None:
    old = source(tmp_path / "old")
    (path,) = old.rglob("*.json")
    document = json.loads(path.read_bytes())
    for name in lacks:
        del document["detailed_evaluation_results"][name]
    path.write_text(json.dumps(document))
    outcome = only(migrated(old, tmp_path / "new"))
    assert outcome.checked is not None
    assert outcome.checked.counts["ES509"] == 1
    (finding,) = (one for one in evalstream.check(tmp_path / "new") if one.code == "ES509")
    assert (finding.severity.label, finding.message) == (
        "info",
        "sealed by migrate from an unsealed source",
    )
    # The next migration keeps the record within its own.
    aggregate = Path(outcome.target or "")
    text = aggregate.read_text().replace('"0.3.0"', '"0.2.3"')
    rows = json.loads(text)["detailed_evaluation_results"]["file_path"]
    aggregate.write_text(text)
    data = (tmp_path / "new" / rows).read_bytes()
    assert data.count(b'"0.3.0"') == 8
    again = only(migrated(tmp_path / "new", tmp_path / "newer"))
    assert again.checked is not None
    assert again.checked.counts["ES509"] == 1


def test_an_id_that_is_replaced_stays_in_each_row(tmp_path: Path) -> None:
    old = source(tmp_path / "old", evaluation_id="another/run/1")
    assert only(migrated(old, tmp_path / "new", decide=["all"])).status is ChangeStatus.WRITTEN
    (path,) = (tmp_path / "new").rglob("*.jsonl")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert {row["metadata"]["migrated.evaluation_id"] for row in rows} == {"another/run/1"}


def test_a_second_call_finds_the_result_and_changes_nothing(tmp_path: Path) -> None:
    old, new = source(tmp_path / "old"), tmp_path / "new"
    migrated(old, new)
    before = files_of(new)
    again = only(migrated(old, new))
    assert again.status is ChangeStatus.PRESENT
    assert again.exit_code == 0
    assert files_of(new) == before
    itself = only(migrated(new, tmp_path / "newer"))
    assert itself.status is ChangeStatus.PRESENT
    assert not (tmp_path / "newer" / "data").exists()


def test_a_dry_run_says_what_becomes_of_a_run_and_where(tmp_path: Path) -> None:
    old, new = source(tmp_path / "old"), tmp_path / "new"
    states = []
    for spoil in (False, True):
        announced = only(migrated(old, new, dry_run=True))
        assert new.exists() is spoil
        done = only(migrated(old, new))
        assert (announced.status, announced.target) == (done.status, done.target)
        states.append(done.status)
        (rows,) = new.rglob("*.jsonl")
        rows.write_bytes(rows.read_bytes() + b"\n" * spoil)
    assert states == [ChangeStatus.WRITTEN, ChangeStatus.PRESENT]
    assert only(migrated(old, new, dry_run=True)).status is ChangeStatus.REFUSED


def test_another_target_folder_gets_the_same_bytes(tmp_path: Path) -> None:
    old = source(tmp_path / "old")
    for jobs in (1, 2):
        migrate(old, tmp_path / f"{jobs}", eval_library=LIBRARY, options=Options(jobs=jobs))
    one, two = (
        {path.relative_to(folder): data for path, (data, _) in files_of(folder).items()}
        for folder in (tmp_path / "1", tmp_path / "2")
    )
    assert one == two


def test_what_is_there_and_was_changed_is_refused(tmp_path: Path) -> None:
    old, new = source(tmp_path / "old"), tmp_path / "new"
    migrated(old, new)
    (rows,) = new.rglob("*.jsonl")
    rows.write_bytes(rows.read_bytes().replace(b'"score": 1.0', b'"score": 0.0', 1))
    again = only(migrated(old, new))
    assert again.status is ChangeStatus.REFUSED
    assert any("ES501" in reason for reason in again.reasons)


def test_missing_values_are_listed_with_their_options(tmp_path: Path) -> None:
    old = source(tmp_path / "old")
    outcome = only(migrate(old, tmp_path / "new", options=ALONE))
    assert outcome.status is ChangeStatus.REFUSED
    assert [need.what for need in outcome.needs] == [
        "eval_library.name is missing",
        "eval_library.version is missing",
    ]
    assert all("--eval-library" in need.options for need in outcome.needs)
    assert not (tmp_path / "new" / "data").exists()
    filled = only(migrate(old, tmp_path / "new", fill=True, options=ALONE))
    assert filled.status is ChangeStatus.WRITTEN
    assert json.loads(Path(filled.target or "").read_bytes())["eval_library"]["name"] == "unknown"


def test_decisions_are_asked_for(tmp_path: Path) -> None:
    old, new = source(tmp_path / "old", evaluation_id="another"), tmp_path / "new"
    refused = only(migrated(old, new))
    assert refused.status is ChangeStatus.REFUSED
    assert not new.exists()
    assert "--decide evaluation-id" in refused.reasons[0]
    assert "8 rows" in refused.reasons[0]
    outcome = only(migrated(old, new, decide=["evaluation-id"]))
    assert outcome.status is ChangeStatus.WRITTEN
    (change,) = [
        seen
        for change, seen in outcome.row_changes.seen.items()
        if change.kind.name == "evaluation-id"
    ]
    assert change.times == 8
    assert change.lines == (1, 2, 3)


@pytest.mark.parametrize("own", [None, "unknown", "acme"])
def test_a_developer_is_supplied_where_the_run_names_none(tmp_path: Path, own: str | None) -> None:
    old = source(tmp_path / "old", model_id="gpt2")
    (aggregate,), (rows,) = old.rglob("*.json"), old.rglob("*.jsonl")
    document = aggregate_of("0.2.0", rows.read_bytes(), 8, rows.name)
    document["model_info"] |= {"id": "gpt2", "developer": own}
    aggregate.write_text(json.dumps(document))
    named = only(migrated(old, tmp_path / "new", developer=["gpt2=openai"]))
    assert named.status is ChangeStatus.WRITTEN
    developer = own if own == "acme" else "openai"
    assert json.loads(Path(named.target or "").read_bytes())["model_info"]["developer"] == developer
    assert f"/data/tiny-arithmetic/{developer}/gpt2/" in (named.target or "")
    if own != "acme":
        assert only(migrated(old, tmp_path / "newer")).status is ChangeStatus.REFUSED


def test_other_formats_are_not_migrated(tmp_path: Path) -> None:
    outcomes = migrated(EXAMPLES / "harpia", tmp_path / "new").outcomes
    assert outcomes
    assert {outcome.reasons for outcome in outcomes} == {
        ("runs of the format harpia are not migrated",)
    }


def test_rows_of_several_runs_do_not_get_one_id(tmp_path: Path) -> None:
    old = source(tmp_path / "old")
    (rows,), (aggregate,) = old.rglob("*.jsonl"), old.rglob("*.json")
    lines = rows.read_bytes().replace(b"tiny-arithmetic/acme/acorn-7b/1760000000", b"another")
    third = lines.replace(b"another", b"a third", 1)
    for data, reason in ((third, "several runs"), (lines, None)):
        rows.write_bytes(data)
        document = aggregate_of("0.2.0", data, 8, rows.name)
        aggregate.write_text(json.dumps(document))
        outcome = only(migrated(old, tmp_path / "new", decide=["evaluation-id"]))
        assert outcome.status is (ChangeStatus.REFUSED if reason else ChangeStatus.WRITTEN)
        assert reason is None or reason in outcome.reasons[0]


@pytest.mark.parametrize("member", ["checksum", "total_rows"])
def test_a_wrong_seal_is_not_washed_clean(tmp_path: Path, member: str) -> None:
    old = source(tmp_path / "old")
    (path,) = old.rglob("*.json")
    document = json.loads(path.read_bytes())
    document["detailed_evaluation_results"][member] = "ab" * 32 if member == "checksum" else 7
    path.write_text(json.dumps(document))
    outcome = only(migrated(old, tmp_path / "new"))
    assert outcome.status is ChangeStatus.REFUSED
    assert ("ES501" if member == "checksum" else "ES503") in outcome.reasons[0]


def test_rows_that_fail_are_not_placed(tmp_path: Path) -> None:
    old = source(tmp_path / "old", model_id="other/model")
    outcome = only(migrated(old, tmp_path / "new"))
    assert outcome.status is ChangeStatus.REFUSED
    assert any("ES602" in reason for reason in outcome.reasons)
    assert not any(".migrate-" in reason for reason in outcome.reasons)
    assert not list((tmp_path / "new").rglob("*.json*"))


def test_torn_rows_are_refused_with_the_line(tmp_path: Path) -> None:
    old = source(tmp_path / "old")
    (rows,) = old.rglob("*.jsonl")
    rows.write_bytes(rows.read_bytes()[:-20])
    outcome = only(migrated(old, tmp_path / "new"))
    assert outcome.status is ChangeStatus.REFUSED
    assert "line 8" in outcome.reasons[0]
    assert "evalstream salvage" in outcome.reasons[0]


def test_a_ledger_remembers_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, ledger = source(tmp_path / "old"), tmp_path / "new", tmp_path / "ledger"
    with monkeypatch.context() as young:
        young.setattr(readers, "YOUNG_NANOSECONDS", 3600 * 10**9)
        assert only(migrated(old, new, ledger=ledger)).status is ChangeStatus.WRITTEN
        assert only(migrated(old, new, ledger=ledger)).is_remembered is False
    second = only(migrated(old, new, ledger=ledger))
    third = only(migrated(old, new, ledger=ledger))
    assert (second.is_remembered, third.is_remembered) == (False, True)
    assert third.target == second.target
    assert only(migrated(old, new, ledger=ledger, fill=True)).is_remembered is False
    (rows,) = new.rglob("*.jsonl")
    rows.write_bytes(rows.read_bytes() + b"\n")
    assert only(migrated(old, new, ledger=ledger)).is_remembered is False


def test_shards_migrate_all_runs_once(tmp_path: Path) -> None:
    old = tmp_path / "old"
    names = [f"{number}{STEM[1:]}" for number in range(5)]
    for number, name in enumerate(names):
        source(old, name, evaluation_name=f"name-{number}")
    whole = migrated(old, tmp_path / "whole")
    parts = [migrated(old, tmp_path / "parts", shard=f"{number}/2") for number in (1, 2)]
    assert sum(len(part.outcomes) for part in parts) == len(whole.outcomes) == 5
    placed = [
        {path.relative_to(folder) for path in folder.rglob("*.json*")}
        for folder in (tmp_path / "whole", tmp_path / "parts")
    ]
    assert placed[0] == placed[1]


def test_the_command_reports_and_exits_as_it_says(tmp_path: Path) -> None:
    call = ["migrate", str(EXAMPLES / "run.jsonl"), "--aggregate", str(EXAMPLES / "aggregate.json")]
    call += ["--to", "new", "--report", "report.jsonl"]
    code, out, _ = ran(*call, folder=tmp_path)
    assert code == 1
    assert "--collection NAME" in out
    assert "--eval-library NAME@VERSION" in out
    supplied = ["--collection", "c", "--fill", "--diff"]
    code, out, _ = ran(*call, *supplied, "--dry-run", folder=tmp_path)
    assert code == 0
    assert "1 would be written" in out
    assert not (tmp_path / "new" / "data").exists()
    code, out, _ = ran(*call, *supplied, "--no-values", folder=tmp_path)
    assert code == 0
    assert "The answer is" not in out
    assert "mechanical changes" in out
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_bytes().splitlines()]
    assert [line.get("status") for line in lines] == ["written", None]
    assert lines[1]["summary"]["runs"]["written"] == 1
    assert (tmp_path / lines[0]["target"]).is_file()


def test_a_file_of_values_is_read(tmp_path: Path) -> None:
    (tmp_path / "values.toml").write_text('[collection]\n"*" = "c"\n[eval_library]\n"*" = "x@1"\n')
    call = ["migrate", str(EXAMPLES / "run.jsonl"), "--aggregate", str(EXAMPLES / "aggregate.json")]
    code, _, _ = ran(*call, "--to", "new", "--map", "values.toml", folder=tmp_path)
    assert code == 0
    for text, message in (("[x]", "unknown table"), ("a = ", "not valid TOML")):
        (tmp_path / "values.toml").write_text(text)
        code, _, error = ran(*call, "--to", "new", "--map", "values.toml", folder=tmp_path)
        assert code == 2
        assert message in error
    code, _, error = ran(*call, "--to", "new", "--map", "none.toml", folder=tmp_path)
    assert code == 2
    assert "none.toml" in error


def test_calls_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown version '0\.2\.0'"):
        migrate(tmp_path, tmp_path / "new", to_version="0.2.0")
    with pytest.raises(UsageError, match="not a URL"):
        migrate(tmp_path, "https://example.org/new")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="not a folder"):
        migrate(tmp_path, tmp_path / "file")
    with pytest.raises(UsageError, match="did you mean output"):
        migrate(tmp_path, tmp_path / "new", decide=["outputs"])


def test_aggregates_alone_are_migrated_and_said_to_be_unconfirmed(tmp_path: Path) -> None:
    old = source(tmp_path / "old")
    (rows,) = old.rglob("*.jsonl")
    rows.unlink()
    (path,) = old.rglob("*.json")
    lacking = only(migrated(old, tmp_path / "new"))
    assert lacking.status is ChangeStatus.REFUSED
    assert "missing" in lacking.reasons[0]
    document = json.loads(path.read_bytes())
    del document["detailed_evaluation_results"]
    path.write_text(json.dumps(document))
    outcome = only(migrated(old, tmp_path / "new"))
    assert outcome.status is ChangeStatus.WRITTEN
    assert outcome.is_unconfirmed
    assert outcome.exit_code == 0


def test_a_failure_between_both_files_leaves_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    old = source(tmp_path / "old")
    migrated(old, tmp_path / "new")
    (complete,) = (tmp_path / "new").rglob("*.json")
    name = complete.name
    real = os.rename

    def rename(one: str, other: str) -> None:
        full() if str(other).endswith(name) else real(one, other)

    monkeypatch.setattr(os, "link", full)
    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(CannotWrite, match="No space left"):
        migrated(old, tmp_path / "newer")
    assert not [path for path in (tmp_path / "newer").rglob("*") if path.is_file()]


def test_a_folder_that_cannot_be_made_is_an_error_of_the_call(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="/dev/null/new cannot be written: Not a directory"):
        migrated(source(tmp_path / "old"), Path("/dev/null/new"))


def test_a_result_that_another_call_wrote_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = source(tmp_path / "old"), tmp_path / "new"
    checked = rewriting_outcome.check_any

    def check_while_another_call_writes(*given: Any) -> Any:
        monkeypatch.undo()
        assert only(migrated(old, new)).status is ChangeStatus.WRITTEN
        files.update(files_of(new / "data"))
        return checked(*given)

    files: dict[Path, Any] = {}
    monkeypatch.setattr(rewriting_outcome, "check_any", check_while_another_call_writes)
    outcome = only(migrated(old, new, rehash="json-list"))
    assert outcome.status is ChangeStatus.PRESENT
    assert outcome.exit_code == 0
    assert files_of(new / "data") == files
    assert evalstream.check(new).passed


def test_rows_that_change_between_their_check_and_their_migration_are_not_placed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = iter(range(9))
    monkeypatch.setattr(migrate_module, "file_state", lambda _path: next(states))
    outcome = only(migrated(source(tmp_path / "old"), tmp_path / "new", rehash="json-list"))
    assert outcome.reasons == ("the rows changed between their check and their migration",)
    assert not list((tmp_path / "new").rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("declared", "said"), [("0.0.1", "version 0.0.1 is not"), ("a value", "schema_version is not")]
)
def test_only_versions_are_named(tmp_path: Path, declared: str, said: str) -> None:
    old = source(tmp_path / "old")
    (path,) = old.rglob("*.json")
    path.write_text(path.read_text().replace('"0.2.0"', f'"{declared}"'))
    (reason,) = only(migrated(old, tmp_path / "new")).reasons
    assert reason.startswith(said)
    assert declared in reason or declared == "a value"


def test_a_total_that_is_not_a_number_is_refused_without_its_value(tmp_path: Path) -> None:
    old = source(tmp_path / "old")
    (path,) = old.rglob("*.json")
    document = json.loads(path.read_bytes())
    document["detailed_evaluation_results"]["total_rows"] = "eight"
    path.write_text(json.dumps(document))
    (reason,) = only(migrated(old, tmp_path / "new")).reasons
    assert reason == "total_rows is not a number, but the number of rows is 8 (ES503)"


def test_a_report_never_replaces_a_source(tmp_path: Path) -> None:
    old = source(tmp_path / "old")
    before = files_of(old)
    for path in before:
        for arguments in (("migrate", "old", "--to", "new"), ("fix", "old")):
            code, _, errors = ran(*arguments, "--report", str(path), "--force", folder=tmp_path)
            assert code == 2
            assert "would overwrite the input" in errors
            assert ran(*arguments, "--report", str(path), folder=tmp_path)[0] == 2
    assert files_of(old) == before


STOPPED_CHECK = """
import os, runpy, signal, sys
from evalstream.batch.rewriting import {module}

def stopped(*given, checked={module}.check_any):
    os.kill(os.getpid(), signal.SIGTERM)
    return checked(*given)

{module}.check_any = stopped
sys.argv = ["evalstream", *sys.argv[1:]]
runpy.run_module("evalstream", run_name="__main__")
"""


@pytest.mark.parametrize("name", ["migrate", "fix"])
def test_a_signal_during_a_check_stops_the_call(name: str, tmp_path: Path) -> None:
    source(tmp_path / "old")
    source(tmp_path / "old", "1" + STEM[1:])
    before = files_of(tmp_path / "old")
    module = "outcome" if name == "migrate" else "fix"
    values = ["--eval-library", LIBRARY] if name == "migrate" else []
    script = STOPPED_CHECK.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", script, name, "old", "--to", "new", "-j", "1", *values],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 143, done.stderr
    assert files_of(tmp_path / "old") == before
    assert not [path for path in (tmp_path / "new").rglob("*") if path.is_file()]


def test_an_aggregate_beyond_the_limits_is_not_parsed(tmp_path: Path) -> None:
    old = source(tmp_path / "old")
    (path,) = old.rglob("*.json")
    document = json.loads(path.read_bytes())
    document["many"] = [0] * 500_001
    path.write_text(json.dumps(document))
    outcome = only(migrated(old, tmp_path / "new"))
    assert outcome.status is ChangeStatus.UNREAD
    assert "500,000 values, the limit" in outcome.reasons[0]
    assert outcome.row_count == 0
