"""Rows as Parquet: what is written, with which types, and what is never written."""

import gzip
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from commands import Process, command, environment, run_command
from each import each
from killed_calls import ROWS_IN_RUN, make_inputs
from paths import EXAMPLES, PAIRS, REPOSITORY

import evalstream
from evalstream.api import export as exporting
from evalstream.api.export import RowSource
from evalstream.engine.row_lookup import every_row
from evalstream.model.errors import CannotCheck, CannotWrite, UsageError

parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow, the extra parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a sound pair."""
    for name in ("run.jsonl", "aggregate.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    return tmp_path


def records(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return found


def reseal(folder: Path, edit: Callable[[list[dict[str, Any]]], object]) -> None:
    """Edit the rows of the pair in a folder, and seal them anew."""
    rows = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    edit(rows)
    (folder / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    aggregate = folder / "aggregate.json"
    evalstream.seal(folder / "run.jsonl", aggregate, seal_anyway=True, overwrite=True)


def test_each_row_is_there_with_its_run_and_its_values(folder: Path) -> None:
    done = evalstream.export(folder / "run.jsonl", folder / "tables")
    assert (done.exit_code, done.files, done.rows, done.left_out) == (0, 1, 8, 0)
    data = (folder / "run.jsonl").read_bytes()
    for number, (line, found) in enumerate(
        zip(data.splitlines(), records(folder / "tables" / "run.jsonl.parquet"), strict=True), 1
    ):
        row = json.loads(line)
        assert found["run_id"] == row["evaluation_id"]
        assert (found["verdict"], found["line"]) == ("passed", number)
        assert found["file_sha256"] == hashlib.sha256(data).hexdigest()
        assert (found["file"], found["other"]) == ("run.jsonl", None)
        assert (found["score"], found["is_correct"]) == (
            row["evaluation"]["score"],
            row["evaluation"]["is_correct"],
        )
        for name, value in row.items():
            assert (found[name] if isinstance(value, str) else json.loads(found[name])) == value


def test_half_a_surrogate_pair_is_written_as_json(folder: Path) -> None:
    def edit(rows: list[dict[str, Any]]) -> None:
        rows[0]["metadata"]["emoji"] = rows[0]["error"] = "cut \ud83d"
        rows[0]["more"] = "\udc00"

    reseal(folder, edit)
    done = evalstream.export(folder / "run.jsonl", folder / "tables")
    assert (done.exit_code, done.rows) == (0, 8)
    row = records(folder / "tables" / "run.jsonl.parquet")[0]
    assert row["error"] == '"cut \\ud83d"'
    assert json.loads(row["metadata"])["emoji"] == "cut \ud83d"
    assert json.loads(row["other"]) == {"more": "\udc00"}


def test_types_are_the_same_whatever_the_rows_hold(folder: Path) -> None:
    def edit(rows: list[dict[str, Any]]) -> None:
        rows[0]["evaluation"]["score"] = 1
        rows[1]["metadata"] = {"any": [1, {"a": None}], "epoch": 1}
        rows[2]["score"] = "a member of its own"
        for row in rows[3:]:
            row.pop("token_usage", None)

    evalstream.export(folder / "run.jsonl", folder / "before")
    reseal(folder, edit)
    done = evalstream.export(folder / "run.jsonl", folder / "after")
    assert done.rows == 8, done.report
    tables = [folder / name / "run.jsonl.parquet" for name in ("before", "after")]
    before, after = (parquet.read_schema(path) for path in tables)
    assert before.equals(after)
    found = records(tables[1])
    assert json.loads(found[2]["other"]) == {"score": "a member of its own"}
    assert found[4]["token_usage"] is None
    newer = evalstream.export(PAIRS / "0.3.0", folder / "newer")
    assert newer.files == 1, newer.report
    (path,) = (folder / "newer").rglob("*.parquet")
    assert parquet.read_schema(path).equals(before)


@each(
    ("score", "expected"),
    [("10" * 200, None), ("true", 1.0), ("false", 0.0), ('"1"', None), ("0.1", 0.1)],
)
def test_a_value_that_its_column_cannot_hold_is_in_the_json_beside(
    tmp_path: Path, score: str, expected: float | None
) -> None:
    text = b'\xef\xbb\xbf{"sample_id": 1, "evaluation": {"score": %s}}' % score.encode()
    exporting.write_rows(str(tmp_path / "t"), RowSource("passed", "f", "0"), [(1, 0, text)])
    (row,) = records(tmp_path / "t")
    assert (row["score"], row["sample_id"]) == (expected, "1")
    assert json.loads(row["evaluation"]) == {"score": json.loads(score)}


def test_runs_that_do_not_pass_are_left_out(folder: Path) -> None:
    (folder / "bad").mkdir()
    for name in ("run.jsonl", "aggregate.json"):
        shutil.copy(folder / name, folder / "bad")
    text = (folder / "bad" / "run.jsonl").read_text()
    (folder / "bad" / "run.jsonl").write_text(text.replace('"score": 1.0', '"score": 0.0', 1))
    (folder / "alone").mkdir()
    shutil.copy(folder / "run.jsonl", folder / "alone")
    done = evalstream.export(folder, folder / "tables")
    assert (done.exit_code, done.files, done.left_out) == (1, 1, 2)
    (path,) = (folder / "tables").rglob("*.parquet")
    assert path == folder / "tables" / "run.jsonl.parquet"
    none = evalstream.export(folder / "alone", folder / "none")
    assert none.report.exit_code == 0
    assert (none.exit_code, none.files, none.left_out) == (1, 0, 1)
    assert not (folder / "none").exists()


def test_the_command_says_what_it_wrote(folder: Path) -> None:
    shutil.copytree(EXAMPLES / "infereval", folder / "passed")
    for inputs, code, words in (
        ("run.jsonl", 0, "wrote 8 rows of 1 run to tables"),
        ("run.jsonl", 2, "tables exists"),
        ("passed", 1, "left out 1 run: only those of Every Eval Ever that pass are written"),
    ):
        arguments = command("export", inputs, "--to", "tables" if code != 1 else "more")
        done = run_command(
            arguments, cwd=folder, env=environment(), capture_output=True, text=True, check=False
        )
        assert (done.returncode, words in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize(
    ("form", "words"),
    [("json", '"exit_code":1'), ("jsonl", '"exit_code":1'), ("junit", "<failure")],
)
def test_the_report_has_the_exit_code_of_the_command(folder: Path, form: str, words: str) -> None:
    (folder / "aggregate.json").unlink()
    arguments = command("export", "run.jsonl", "--to", "tables", "--format", form)
    done = run_command(
        arguments, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert words in done.stdout


def test_row_groups_are_written_as_rows_come(folder: Path) -> None:
    with patch.object(exporting, "GROUP_BYTES", 1500):
        evalstream.export(folder / "run.jsonl", folder / "tables")
    file = parquet.ParquetFile(folder / "tables" / "run.jsonl.parquet")
    assert file.metadata.num_row_groups > 2
    assert [row["line"] for row in file.read().to_pylist()] == list(range(1, 9))


def test_compressed_rows_and_names_below_the_folder(folder: Path) -> None:
    (folder / "store" / "a").mkdir(parents=True)
    data = (folder / "run.jsonl").read_bytes()
    (folder / "store" / "a" / "run.jsonl.gz").write_bytes(gzip.compress(data))
    shutil.copy(folder / "aggregate.json", folder / "store" / "a")
    done = evalstream.export(folder / "store", folder / "tables")
    assert done.rows == 8, done.report
    found = records(folder / "tables" / "a" / "run.jsonl.gz.parquet")
    stored = (folder / "store" / "a" / "run.jsonl.gz").read_bytes()
    assert {row["file_sha256"] for row in found} == {hashlib.sha256(stored).hexdigest()}


def test_a_file_that_changed_since_its_check_is_not_written(folder: Path) -> None:
    def change_then_read(path: str, *more: Any) -> Any:
        data = Path(path).read_bytes()
        Path(path).write_bytes(data.replace(b"0.0", b"1.0", 1))
        return every_row(path, *more)

    with (
        patch.object(exporting, "every_row", change_then_read),
        pytest.raises(CannotCheck, match="has changed"),
    ):
        evalstream.export(folder / "run.jsonl", folder / "tables")
    assert sorted(path.name for path in folder.iterdir()) == ["aggregate.json", "run.jsonl"]


def test_nothing_is_left_where_writing_fails(folder: Path) -> None:
    error = OSError(28, "No space left on device")
    with (
        patch.object(exporting, "sync_file", side_effect=error),
        pytest.raises(CannotWrite, match="No space"),
    ):
        evalstream.export(folder / "run.jsonl", folder / "tables")
    assert sorted(path.name for path in folder.iterdir()) == ["aggregate.json", "run.jsonl"]


def test_a_killed_call_leaves_all_or_nothing(tmp_path: Path) -> None:
    make_inputs(tmp_path)
    folder, names = tmp_path / "run", {"run.jsonl", "run.json"}
    folder.mkdir()
    for name in names:
        shutil.move(tmp_path / name, folder)
    call = command("export", "run.jsonl", "--to", "tables")
    began = time.monotonic()
    run_command(call, cwd=folder, env=environment(), check=True, capture_output=True)
    lasts = time.monotonic() - began
    for number, moment in enumerate((0.7, 1)):
        shutil.rmtree(folder / "tables", ignore_errors=True)
        stop = signal.SIGTERM if number % 2 else signal.SIGKILL
        with Process(call, cwd=folder, env=environment(), stderr=-3, stdout=-3) as done:
            time.sleep(lasts * moment)
            done.send_signal(stop)
        if (folder / "tables").exists():
            assert len(records(folder / "tables" / "run.jsonl.parquet")) == ROWS_IN_RUN
    shutil.rmtree(folder / "tables", ignore_errors=True)
    run_command(call, cwd=folder, env=environment(), check=True, capture_output=True)
    assert {path.name for path in folder.iterdir()} == {*names, "tables"}


def test_calls_that_make_no_sense(folder: Path) -> None:
    (folder / "full").mkdir()
    (folder / "full" / "file").write_text("x")
    for target in (folder / "full", folder / "run.jsonl", "s3://bucket/tables"):
        with pytest.raises(UsageError):
            evalstream.export(folder / "run.jsonl", target)
    with pytest.raises(UsageError, match="whole check"):
        evalstream.export(
            folder / "run.jsonl", folder / "t", options=evalstream.Options(ignore=("ES801",))
        )
    for name in ("a", "b"):
        (folder / name).mkdir()
        for file in ("run.jsonl", "aggregate.json"):
            shutil.copy(folder / file, folder / name)
    with pytest.raises(UsageError, match="two runs"):
        evalstream.export([folder / "a" / "run.jsonl", folder / "b" / "run.jsonl"], folder / "t")
    assert not (folder / "t").exists()


def test_without_the_library_the_message_says_how_to_install_it(folder: Path) -> None:
    (folder / "pyarrow.py").write_text("raise ImportError\n")
    without = environment()
    without["PYTHONPATH"] = f"{folder}{os.pathsep}{without['PYTHONPATH']}"
    done = subprocess.run(
        command("export", "run.jsonl", "--to", "tables"),
        cwd=folder,
        env=without,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "[parquet]" in done.stderr


def test_the_how_to_queries_what_it_exports(folder: Path) -> None:
    pytest.importorskip("duckdb", reason="needs duckdb")
    text = (REPOSITORY / "docs" / "how-to" / "export.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    evalstream.export(folder / "run.jsonl", folder / "tables")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert "0.75" in done.stdout
    assert "arith-00" in done.stdout


def test_memory_is_flat(folder: Path) -> None:
    row = json.loads((folder / "run.jsonl").read_text().splitlines()[0])
    row["metadata"] = {"text": "x" * 20_000}
    code = (
        "import resource, sys\n"
        "from evalstream.api.export import RowSource, write_rows\n"
        f"line = {json.dumps(row).encode()!r}\n"
        "rows = ((n, 0, line) for n in range(int(sys.argv[1])))\n"
        "write_rows(sys.argv[2], RowSource('passed', 'f', '0'), rows)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    peaks = []
    # Both have more than one group of rows.
    for count in (1_500, 4_500):
        call = [sys.executable, "-c", code, str(count), str(folder / f"{count}.parquet")]
        done = subprocess.run(call, env=environment(), capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    unit = 1 if resource.getpagesize() and sys.platform == "darwin" else 1024
    assert (peaks[1] - peaks[0]) * unit < 28 << 20
