"""Migrations that are killed: the target holds whole runs or nothing, and the source stays."""

import hashlib
import json
import os
import random
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from changed_runs import errors_in, files_of
from commands import DEVNULL, SECONDS, Process, command, environment
from rows import aggregate_of, bytes_of, sound_rows

KILLS = int(os.environ.get("EVALSTREAM_KILLS", "8"))
"""How often a migration is killed: set it higher to look for rare moments."""

DETAILS = "detailed_evaluation_results"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store of three small runs and a larger one."""
    store = tmp_path_factory.mktemp("source")
    place = store / "data" / "tiny-arithmetic" / "acme" / "acorn-7b"
    place.mkdir(parents=True)
    for number, count in enumerate((8, 16, 24, 5_000)):
        rows = sound_rows(count=count)
        for row in rows:
            row["evaluation_id"] = f"foreign-{number}"
        data = bytes_of(rows)
        document = aggregate_of("0.2.0", data, count)
        document["evaluation_id"] = f"tiny-arithmetic/acme/acorn-7b/{number}"
        scores = [float(row["evaluation"]["score"]) for row in rows]
        document["evaluation_results"][0]["score_details"] = {"score": sum(scores) / count}
        stem = f"0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a{number:02}"
        document[DETAILS]["file_path"] = f"data/tiny-arithmetic/acme/acorn-7b/{stem}_samples.jsonl"
        (place / f"{stem}_samples.jsonl").write_bytes(data)
        (place / f"{stem}.json").write_text(json.dumps(document))
    return store


def started(source: Path, target: Path) -> Process:
    """Start a migration."""
    options = ("--fill", "--decide", "all", "-j", "2", "--to", str(target))
    return Process(
        command("migrate", str(source), *options),
        env=environment(),
        stdout=DEVNULL,
        stderr=DEVNULL,
        start_new_session=True,
    )


def assert_whole(target: Path) -> int:
    """Require rows with the declared digest beside each aggregate; return how many there are."""
    aggregates = list((target / "data").rglob("*.json"))
    for path in aggregates:
        seal = json.loads(path.read_bytes())[DETAILS]
        rows = path.with_name(f"{path.stem}_samples.jsonl").read_bytes()
        assert hashlib.sha256(rows).hexdigest() == seal["checksum"]
        assert rows.count(b"\n") == seal["total_rows"]
    return len(aggregates)


def test_a_killed_migration_leaves_whole_runs(source: Path, tmp_path: Path) -> None:
    before = files_of(source)
    target, complete = tmp_path / "target", tmp_path / "complete"
    began = time.monotonic()
    assert started(source, complete).wait(SECONDS) == 0
    length = time.monotonic() - began
    wanted = {path.relative_to(complete): data for path, (data, _) in files_of(complete).items()}
    assert assert_whole(complete) == 4
    chance = random.Random(7)
    for _ in range(KILLS):
        process = started(source, target)
        time.sleep(chance.random() * length)
        if chance.random() < 0.5:
            process.send_signal(signal.SIGKILL)
        else:
            # Under load a call may have ended before.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait(SECONDS)
        assert_whole(target)
        if chance.random() < 0.3:
            shutil.rmtree(target, ignore_errors=True)
    assert started(source, target).wait(SECONDS) == 0
    made = {path.relative_to(target): data for path, (data, _) in files_of(target).items()}
    assert made == wanted
    assert files_of(source) == before
    assert not errors_in(target, profile="datastore")
