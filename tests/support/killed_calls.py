"""Calls of every command that writes, killed at any moment: what is there before, after, and next.

Run it with a number of kills: `python tests/support/killed_calls.py 200`.
"""

import hashlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from commands import DEVNULL, SECONDS, Process, command, environment, run_command
from made_store import make_store
from paths import EXAMPLES
from rows import DETAILS, aggregate_of, bytes_of, sound_rows

ROWS_IN_RUN = 600
TIME = "2026-11-26T12:00:00Z"
SHARED_MEMORY = Path("/dev/shm")


class Call(NamedTuple):
    """A command line, the outputs that it writes at its end, and those that grow meanwhile."""

    arguments: Sequence[str]
    outputs: Sequence[str] = ()
    live: Sequence[str] = ()


CALLS = {
    "text": Call(("check", "run.jsonl", "-o", "out"), ["out"]),
    "json": Call(("check", "run.jsonl", "mend", "-f", "json", "-o", "out"), ["out"]),
    "html": Call(("check", "run.jsonl", "-f", "html", "-o", "out"), ["out"]),
    "tee": Call(("check", "run.jsonl", "--tee", "out", "--force"), live=["out"]),
    "split": Call(
        ("check", "run.jsonl", "--accepted", "a", "--rejected", "b", "--force"),
        ["a", "b", "b.findings.jsonl"],
    ),
    "seal to": Call(("check", "run.jsonl", "--seal-to", "open.json")),
    "seal": Call(("seal", "run.jsonl", "--aggregate", "open.json")),
    "salvage": Call(("salvage", "run.jsonl", "--to", "out", "--force"), ["out", "out.rest.jsonl"]),
    "merge": Call(("merge", "part.jsonl", "-f", "json", "-o", "out"), ["out"]),
    "report": Call(("report", "part.jsonl", "-f", "sarif", "-o", "out"), ["out"]),
    "fix": Call(("fix", "mend", "--write")),
    "migrate": Call(("migrate", "old", "--to", "new", "--fill", "--decide", "all")),
    "compare": Call(("compare", "run.jsonl", "more.jsonl", "--no-verify", "-o", "out"), ["out"]),
    "thresholds": Call(("thresholds", "config", "--task", "sums", "-o", "out", "--force"), ["out"]),
    "attest": Call(("attest", "run.jsonl", "--unsigned", "--time", TIME, "-o", "out"), ["out"]),
    "ledger": Call(("check", ".", "--ledger", "book"), live=["book", "book-journal"]),
    "store": Call(("store", "verify", "store", "--ledger", "book"), live=["book", "book-journal"]),
    "baseline": Call(("check", "run.jsonl", "--write-baseline", "out"), ["out"]),
}


def make_inputs(folder: Path) -> None:
    """Write what the calls read: runs, some of them to be sealed, mended or migrated."""
    rows = sound_rows(count=ROWS_IN_RUN)
    data = bytes_of(rows)
    document = aggregate_of("0.2.0", data, ROWS_IN_RUN)
    score = sum(float(row["evaluation"]["score"]) for row in rows) / ROWS_IN_RUN
    document["evaluation_results"][0]["score_details"] = {"score": score}
    for name in ("run.jsonl", "more.jsonl"):
        (folder / name).write_bytes(data)
    _write_document(folder / "run.json", document, "run.jsonl")
    unsealed = {key: value for key, value in document.items() if key != DETAILS}
    (folder / "open.json").write_bytes(_dumped(unsealed))
    mended = data.replace(b"\n", b"\r\n")
    (folder / "mend").mkdir()
    (folder / "mend/run.jsonl").write_bytes(mended)
    torn = aggregate_of("0.2.0", mended, ROWS_IN_RUN)
    torn["evaluation_results"][0]["score_details"] = {"score": score}
    _write_document(folder / "mend/run.json", torn, "run.jsonl")
    place = folder / "old/data/sums/acme/acorn-7b"
    place.mkdir(parents=True)
    stem = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a00"
    (place / f"{stem}_samples.jsonl").write_bytes(data)
    _write_document(
        place / f"{stem}.json", document, f"data/sums/acme/acorn-7b/{stem}_samples.jsonl"
    )
    shutil.copytree(EXAMPLES / "evalguard", folder / "config")
    make_store(folder / "store")
    run(folder, ("check", "run.jsonl", "--shard", "1/1", "-o", "part.jsonl"))


def _write_document(path: Path, document: dict[str, object], rows: str) -> None:
    details = {**document[DETAILS], "file_path": rows}  # type: ignore[dict-item]
    path.write_bytes(_dumped({**document, DETAILS: details}))


def _dumped(document: object) -> bytes:
    return json.dumps(document, indent=2).encode()


def run(folder: Path, arguments: Sequence[str]) -> tuple[int, bytes]:
    """Run a call to its end; return its exit code and what it printed."""
    temporary = folder.parent / "temporary"
    temporary.mkdir(exist_ok=True)
    done = run_command(
        command(*arguments),
        cwd=folder,
        env={**environment(), "TMPDIR": str(temporary)},
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    return done.returncode, done.stdout + done.stderr


VARYING = re.compile(rb'"(?:seconds|key|values)":(?:"[0-9a-f]*"|[0-9.e-]+)')
"""What differs in two reports or baselines of the same runs."""


def state_of(folder: Path) -> dict[str, str]:
    """Return the digest of each file below a folder without what varies, by its path."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(
            VARYING.sub(b"", path.read_bytes())
        ).hexdigest()
        for path in paths
    }


def killed(folder: Path, arguments: Sequence[str], number: int, seconds: float) -> int:
    """Start a call, send it a signal after some seconds, and return its exit code."""
    temporary = folder.parent / "temporary"
    with Process(
        command(*arguments),
        cwd=folder,
        env={**environment(), "TMPDIR": str(temporary)},
        stdout=DEVNULL,
        stderr=DEVNULL,
        start_new_session=True,
    ) as process:
        time.sleep(seconds)
        if number == signal.SIGKILL and process.poll() is None:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        return process.wait(SECONDS)


def segments() -> set[str]:
    """Return the names of shared memory; those of semaphores live for an instant.

    Folders are those of tests (`scripts/environment`).
    """
    entries = os.scandir(SHARED_MEMORY) if SHARED_MEMORY.is_dir() else ()
    return {one.name for one in entries if not one.name.startswith("sem.") and not one.is_dir()}


class Trial:
    """One call in a folder of its own: what it makes if nobody kills it, and how long it takes."""

    def __init__(self, call: Call, place: Path, inputs: Path) -> None:
        self.call, self._inputs, self.folder = call, inputs, place / "work"
        self.start()
        self.before = state_of(self.folder)
        began = time.monotonic()
        self.code, _ = run(self.folder, call.arguments)
        self.seconds = time.monotonic() - began
        self.after = state_of(self.folder)

    def start(self) -> None:
        """Write the inputs anew."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self._inputs, self.folder)

    def kill(self, number: int, seconds: float) -> list[str]:
        """Kill the call, make it again, and return what is wrong."""
        self.start()
        memory = segments()
        code = killed(self.folder, self.call.arguments, number, seconds)
        wrong = [] if code in self._codes(number) else [f"exit code {code}"]
        for name, digest in state_of(self.folder).items():
            # After SIGTERM an output is complete, and says that the verdict is partial.
            is_partial = code == 128 + number and name in self.call.outputs
            if name in self.call.live or is_partial or ".evalstream" in name:
                continue
            if digest not in (self.before.get(name), self.after.get(name)):
                wrong.append(f"{name} is neither what it was nor what it becomes")
        wrong += [f"{name} is lost" for name in self.before if not (self.folder / name).exists()]
        again, said = run(self.folder, self.call.arguments)
        if again != self.code:
            wrong.append(f"the next call gives {again}, not {self.code}: {said.decode()[-300:]}")
        now = state_of(self.folder)
        for name in {*now, *self.after} - set(self.call.live):
            if now.get(name) != self.after.get(name):
                wrong.append(f"after the next call {name} differs")
        left = [str(path) for path in self.folder.rglob(".*evalstream*")]
        left += map(str, (self.folder.parent / "temporary").iterdir())
        left += sorted(segments() - memory)
        return wrong + [f"{one} is left" for one in left]

    def _codes(self, number: int) -> tuple[int, ...]:
        own = (self.code,)
        return (*own, -number) if number == signal.SIGKILL else (*own, 128 + number, -number)


def kill_all(kills: int, names: Sequence[str], seed: int = 7) -> list[str]:
    """Kill the calls of these names in turn, and return what is wrong."""
    chance, wrong = random.Random(seed), []
    with tempfile.TemporaryDirectory(prefix="killed-") as folder:
        place = Path(folder)
        inputs = place / "inputs"
        inputs.mkdir()
        make_inputs(inputs)
        trials: dict[str, Trial] = {}
        for number, name in zip(range(kills), itertools.cycle(names), strict=False):
            if name not in trials:
                (place / name).mkdir()
                trials[name] = Trial(CALLS[name], place / name, inputs)
            stop = chance.choice((signal.SIGKILL, signal.SIGTERM))
            after = chance.random() * trials[name].seconds
            found = trials[name].kill(stop, after)
            wrong += [f"{number} {name}, {stop.name} after {after:.3f} s: {one}" for one in found]
    return wrong


if __name__ == "__main__":
    found = kill_all(int(sys.argv[1]), list(CALLS))
    print("\n".join(found) or "nothing is wrong")
    sys.exit(bool(found))
