"""Ledgers of an attacker: nothing of them runs, hangs, loses a file, or ends in a traceback."""

import copy
import os
import random
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from commands import SECONDS, command, environment, run_command
from depth import some
from paths import EXAMPLES
from rows import bytes_of, sound_rows

import evalstream
from evalstream.batch.ledger import database, records
from evalstream.batch.ledger.entries import FORMS, entries, export_entries
from evalstream.model.errors import CannotCheck, CannotWrite, EvalstreamError

ROWS = "run.jsonl"


class Bytes:
    """An output that keeps nothing."""

    def write(self, _data: str | bytes) -> None:
        """Take some text or bytes."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a sound run, a faulty one, and a ledger that remembers both."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / ROWS, tmp_path / ROWS)
    faulty = bytes_of(sound_rows()).replace(b'"score": ', b'"score": "x", "was": ')
    (tmp_path / "faulty.jsonl").write_bytes(faulty)
    checked(ledger="runs.ledger")
    return tmp_path


def checked(**options: Any) -> tuple[int, list[tuple[str, dict[str, int], int]], list[Any]]:
    """Check both runs; return the exit code, what became of each, and the findings."""
    report = evalstream.check([ROWS, "faulty.jsonl"], jobs=1, **options)
    runs = [(run.verdict, run.counts, run.rows) for run in report.runs]
    return report.exit_code, runs, list(report)


def listed(path: str = "runs.ledger") -> None:
    """List a ledger in every form. Raises EvalstreamError."""
    for form in FORMS:
        export_entries(entries(path), form, Bytes())  # type: ignore[arg-type]


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the program; return its exit code and what it said on stderr."""
    done = run_command(
        command(*arguments),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stderr


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"

SCHEMAS = {
    "a trigger": [f"CREATE TRIGGER t BEFORE UPDATE ON run BEGIN {ENDLESS}; END"],
    "a trigger on insertion": [f"CREATE TRIGGER t AFTER INSERT ON run BEGIN {ENDLESS}; END"],
    "a view as a table": [
        "ALTER TABLE run RENAME TO other",
        f"CREATE VIEW run AS SELECT *, ({ENDLESS}) FROM other",
    ],
    "another view": [f"CREATE VIEW v AS {ENDLESS}"],
    "another table": ["CREATE TABLE other (a)"],
    "a generated column": [
        "ALTER TABLE run ADD COLUMN more INT GENERATED ALWAYS AS (length(name)) VIRTUAL"
    ],
    "an expression index": ["CREATE INDEX more ON run (abs(settled))"],
    "a partial index": ["CREATE INDEX more ON run (name) WHERE settled = 1"],
    "another collation": [
        "DROP INDEX run_by_name",
        "CREATE INDEX run_by_name ON run (name COLLATE NOCASE, key)",
    ],
    "no index": ["DROP INDEX run_by_name"],
    "statistics": ["ANALYZE"],
    "a shared page": [
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET rootpage = 2 WHERE name = 'chunk'",
    ],
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_ledger_with_anything_but_our_tables_is_refused(name: str, folder: Path) -> None:
    with closing(sqlite3.connect("runs.ledger", isolation_level=None)) as base:
        for statement in SCHEMAS[name]:
            base.execute(statement)
    before = Path("runs.ledger").read_bytes()
    for line in (["check", ROWS, "--ledger", "runs.ledger"], ["ledger", "runs.ledger"]):
        code, said = run(folder, *line)
        assert code == 3
        assert said.startswith("evalstream: runs.ledger: the ledger is damaged")
        assert said.count("\n") == 1
    assert Path("runs.ledger").read_bytes() == before


def test_the_table_of_migrations_may_be_there(folder: Path) -> None:
    with closing(sqlite3.connect("runs.ledger", isolation_level=None)) as base:
        base.execute(database.CREATE_MIGRATIONS)
    assert checked(ledger="runs.ledger")[0] == 1
    listed()


def hostile_journal(ledger: Path, victim: Path) -> bytes:
    """Return a rollback journal that names another file as the journal of several databases.

    https://www.sqlite.org/fileformat2.html#the_rollback_journal says how it begins, and the source
    of SQLite (pager.c, writeSuperJournal) how it ends.
    """
    magic, name = bytes.fromhex("d9d505f920a163d7"), os.fsencode(victim)
    pages = ledger.stat().st_size // 4096
    head = magic + struct.pack(">IIIII", 0, 1, pages, 512, 4096)
    end = struct.pack(">II", len(name), sum(name)) + magic
    return head.ljust(512, b"\0") + struct.pack(">I", (1 << 30) // 4096 + 1) + name + end


def test_a_journal_beside_a_ledger_deletes_no_other_file(folder: Path) -> None:
    victim = folder / "victim.txt"
    victim.write_text("precious\n")
    journal = folder / "runs.ledger-journal"
    journal.write_bytes(hostile_journal(folder / "runs.ledger", victim))
    for line in (["ledger", "runs.ledger"], ["check", ROWS, "--ledger", "runs.ledger"]):
        code, said = run(folder, *line)
        assert (code, victim.exists()) == (3, True)
        assert "this journal names another file" in said
    assert journal.exists()


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_file_with_the_name_of_a_companion_is_not_lost(ending: str, folder: Path) -> None:
    companion = folder / f"runs.ledger{ending}"
    companion.write_bytes(b"notes of somebody\n" * 100)
    for call in (lambda: checked(ledger="runs.ledger"), listed):
        with pytest.raises((CannotCheck, CannotWrite), match="or remove the"):
            call()
        assert companion.read_bytes() == b"notes of somebody\n" * 100


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
@pytest.mark.parametrize("is_foreign", [False, True])
def test_a_new_ledger_deletes_no_companion(is_foreign: bool, ending: str, folder: Path) -> None:
    companion = folder / f"new.ledger{ending}"
    companion.write_bytes(b"precious")
    if is_foreign:
        (folder / "new.ledger").write_bytes(b"notes")
    with pytest.raises((CannotCheck, CannotWrite), match="or remove the"):
        checked(ledger="new.ledger", overwrite=True)
    assert companion.read_bytes() == b"precious"


def test_a_statement_that_does_not_end_is_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "MOST_STEPS", 200_000)
    with (
        pytest.raises(CannotCheck, match="look-ups do not end"),
        database.open_for_reading("runs.ledger") as base,
    ):
        base.execute(ENDLESS).fetchone()


def test_a_value_that_unpacks_to_too_much_counts_as_damaged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "MOST_TEXT", 1000)
    assert records.decode(records.encode(["x" * 900], b"key"), b"key") == ["x" * 900]
    with pytest.raises(records.Damaged):
        records.decode(records.encode(["x" * 1100], b"key"), b"key")


def test_pages_that_do_not_advance_are_damage(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A name that is not UTF-8 is read as another one, which comes before it.
    monkeypatch.setattr("evalstream.batch.ledger.entries.PAGE", 2)
    with closing(sqlite3.connect("runs.ledger", isolation_level=None)) as base:
        base.execute("UPDATE run SET name = CAST(x'ff' AS TEXT)")
    with pytest.raises(CannotCheck, match="the ledger is damaged"):
        listed()


@pytest.mark.parametrize("seed", some(range(4), 1))
def test_changed_bytes_never_change_a_verdict(seed: int, folder: Path) -> None:
    """Every outcome is that of a check without a ledger, or a reason."""
    expected = checked()
    whole = Path("runs.ledger").read_bytes()
    chance = random.Random(seed)
    outcomes = {"same": 0, "refused": 0}
    for _ in range(int(os.environ.get("EVALSTREAM_LEDGER_MUTATIONS", "40"))):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 3, 30))):
            start = chance.choice((0, 100, len(data) // 2))
            data[chance.randrange(start, len(data))] = chance.choice(
                (0, 1, 255, chance.getrandbits(8))
            )
        for name in ("runs.ledger", "runs.ledger-journal"):
            Path(name).unlink(missing_ok=True)
        Path("runs.ledger").write_bytes(data)
        for call in (listed, lambda: checked(ledger="runs.ledger")):
            try:
                found = call()
            except EvalstreamError:
                outcomes["refused"] += 1
            else:
                assert found in (None, expected)
                outcomes["same"] += 1
    assert min(outcomes.values()) > 0


JUNK: tuple[Any, ...] = (
    None, [], {}, -1, 10**30, 1e308, 2.5, "x", "", True, [[[]]], {"a": 1}, "\ud800", "passed",
)  # fmt: skip


CHUNKS = "SELECT run, kind, number, data FROM chunk"
SET_CHUNK = "UPDATE chunk SET data = ? WHERE run = ? AND kind = ? AND number = ?"


def some_place(value: Any, chance: random.Random) -> tuple[Any, Any]:
    """Return a container within a value, and a key of it."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = chance.choice(keys)
        inner = value[key]
        if not isinstance(inner, (dict, list)) or not inner or chance.random() < 0.3:
            return value, key
        value = inner


def forge(change: Callable[[Any], Any]) -> None:
    """Change what a ledger remembers of each run, its findings too, with valid digests."""
    with closing(sqlite3.connect("runs.ledger", isolation_level=None)) as base:
        for row in base.execute(f"SELECT {records.COLUMNS} FROM run").fetchall():
            record = records.LedgerRecord(*row)
            summary = change(records.decode(record.summary, record.key))
            forged = record._replace(summary=records.encode(summary, record.key)).seal()
            base.execute(
                "UPDATE run SET summary = ?, digest = ? WHERE key = ?",
                (forged.summary, forged.digest, forged.key),
            )
        for key, kind, number, data in base.execute(CHUNKS).fetchall():
            place = records._position(key, kind, number)
            forged_data = records.encode(change(records.decode(data, place)), place)
            base.execute(SET_CHUNK, (forged_data, key, kind, number))


@pytest.mark.parametrize("seed", some(range(60), 10))
def test_forged_entries_end_with_a_reason_or_are_checked_again(seed: int, folder: Path) -> None:
    """A ledger is trusted: a sound forgery is believed. Nonsense is not, and breaks nothing."""
    chance = random.Random(seed)

    def change(value: Any) -> Any:
        changed = copy.deepcopy(value)
        holder, key = some_place(changed, chance)
        holder[key] = chance.choice(JUNK)
        return changed

    forge(change)
    for call in (listed, lambda: checked(ledger="runs.ledger")):
        try:
            call()
        except EvalstreamError as error:
            reason = str(error)
        else:
            continue
        assert "the ledger is damaged" in reason


def test_a_forged_entry_that_contradicts_itself_is_checked_again(folder: Path) -> None:
    expected = checked()

    def pass_it(value: Any) -> Any:
        is_failed = isinstance(value, dict) and value["verdict"] == "failed"
        return value | {"verdict": "passed"} if is_failed else value

    with closing(sqlite3.connect("runs.ledger", isolation_level=None)) as base:
        base.execute("UPDATE run SET verdict = 'passed' WHERE verdict = 'failed'")
    forge(pass_it)
    assert checked(ledger="runs.ledger") == expected


def test_a_chunk_that_is_no_json_ends_with_a_reason(folder: Path) -> None:
    with closing(sqlite3.connect("runs.ledger", isolation_level=None)) as base:
        for key, kind, number, _ in base.execute(CHUNKS).fetchall():
            place, body = records._position(key, kind, number), zlib.compress(b"[{")
            digest = records.xxh3_128_digest(place + body)
            base.execute(SET_CHUNK, (digest + body, key, kind, number))
    with pytest.raises(CannotCheck, match=r"runs\.ledger: the ledger is damaged; remove it"):
        checked(ledger="runs.ledger")
