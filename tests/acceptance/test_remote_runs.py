"""Runs in stores: checked like files, with companions found, and nothing secret told."""

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from commands import command, run_command
from depth import is_deep
from paths import REPOSITORY
from remote_stores import CREDENTIALS, Store, authority, bucket, quick_retries, s3, site, store, web
from rows import aggregate_of, bytes_of, sound_rows

import evalstream
from evalstream.io.remote import RemoteReader

__all__ = ["authority", "bucket", "quick_retries", "s3", "site", "store", "web"]

pytestmark = pytest.mark.leaves_threads

GOOD = bytes_of(sound_rows())
ROWS, AGGREGATE = "x_samples.jsonl", "x.json"
SEALED = "the file's bytes are not those that were sealed"


@pytest.fixture(autouse=True)
def _anew() -> None:
    """Forget connections to the servers of other tests."""
    from s3fs import S3FileSystem

    S3FileSystem.clear_instance_cache()


def sealed(data: bytes, name: str = ROWS, **details: Any) -> bytes:
    """Return an aggregate that seals some bytes."""
    document = aggregate_of("0.2.0", data, 8, name)
    document["detailed_evaluation_results"] |= details
    return json.dumps(document).encode()


def mismatch_of(rows: str) -> str:
    """Return the message of the one checksum mismatch in some rows."""
    (finding,) = (one for one in evalstream.check(rows, jobs=1) if one.code == "ES501")
    return finding.message


def test_a_run_in_a_store_is_checked_like_a_file(store: Store) -> None:
    store.keep(ROWS, GOOD)
    store.keep(AGGREGATE, sealed(GOOD))
    rows, aggregate = f"{store.prefix}/{ROWS}", f"{store.prefix}/{AGGREGATE}"
    for inputs, beside in ((rows, aggregate), (rows, None), (aggregate, None)):
        report = evalstream.check(inputs, aggregate=beside, jobs=1)
        (run,) = report.runs
        assert (report.exit_code, report.counts, run.verdict) == (0, {}, "passed")
        assert (run.file, run.aggregate, run.rows) == (rows, aggregate, 8)
    store.keep(ROWS, GOOD.replace(b"arithmetic", b"arithmetik", 1))
    assert evalstream.check(rows, jobs=1).counts["ES501"] == 1


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (GOOD + GOOD[: GOOD.find(b"\n") + 1], "its first 8 lines match, so rows were appended"),
        (GOOD.replace(b"\n", b"\r\n"), "its line ends were changed from LF to CR LF"),
        (GOOD[:-1], "its final newline is missing"),
        (GOOD.replace(b"arithmetic", b"arithmetik", 1), ""),
    ],
)
def test_a_checksum_mismatch_of_an_object_is_explained(
    store: Store, stored: bytes, reason: str
) -> None:
    store.keep(ROWS, stored)
    store.keep(AGGREGATE, sealed(GOOD))
    assert mismatch_of(f"{store.prefix}/{ROWS}") == SEALED + (reason and f": {reason}")


def test_objects_that_changed_or_are_large_are_not_explained(
    web: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    appended = GOOD + GOOD[: GOOD.find(b"\n") + 1]
    web.keep(ROWS, appended)
    web.keep(AGGREGATE, sealed(GOOD))
    with monkeypatch.context() as patch:
        patch.setattr("evalstream.io.stream.REREAD_BYTES", 100)
        large = mismatch_of(f"{web.prefix}/{ROWS}")
    assert large == f"{SEALED}: not read again to find out why, because it has more than 100 bytes"
    again = RemoteReader.__init__
    web.server.paths.clear()

    def other_rows(reader: RemoteReader, url: str) -> None:
        if web.server.paths.count(f"/{ROWS}") > 1:
            # The first eight lines still match; those that were checked are gone.
            web.keep(ROWS, GOOD + GOOD[: GOOD.find(b"\n") + 1].upper())
        again(reader, url)

    monkeypatch.setattr(RemoteReader, "__init__", other_rows)
    assert mismatch_of(f"{web.prefix}/{ROWS}") == SEALED


def test_an_aggregate_that_changes_after_it_was_read_is_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.keep(ROWS, GOOD)
    store.keep(AGGREGATE, sealed(GOOD))
    answer = store.server.answer

    def change(handler: Any) -> Any:
        if handler.path.endswith(ROWS):
            store.keep(AGGREGATE, sealed(GOOD, source="another"))
        return answer(handler)

    monkeypatch.setattr(store.server, "answer", change)
    (run,) = evalstream.check(
        f"{store.prefix}/{ROWS}", aggregate=f"{store.prefix}/{AGGREGATE}", jobs=1
    ).runs
    assert (run.verdict, run.counts["ES004"]) == ("incomplete", 1)
    assert "the aggregate changed while" in str(run.incomplete_reason)


def test_each_key_is_shown_as_it_is_and_read(s3: Store) -> None:
    names = ["odd/a#1", "odd/a#2", "odd/a::b", "odd/a?1", "odd/a?2", "odd/a%2Fb"]
    for name in names:
        rows, last = f"{name}_samples.jsonl", name.removeprefix("odd/")
        s3.keep(quote(rows), GOOD)
        s3.keep(quote(f"{name}.json"), sealed(GOOD, f"{last}_samples.jsonl"))
    report = evalstream.check(f"{s3.prefix}/odd/", jobs=1)
    assert sorted(str(run.file) for run in report.runs) == sorted(
        f"{s3.prefix}/{name}_samples.jsonl" for name in names
    )
    assert {run.verdict for run in report.runs} == {"passed"}
    for ending in ("_samples.jsonl", ".json"):
        for name in names:
            (run,) = evalstream.check(f"{s3.prefix}/{name}{ending}", jobs=1).runs
            assert (run.verdict, run.aggregate) == ("passed", f"{s3.prefix}/{name}.json")


def test_packed_rows_and_arrays_are_read_from_a_store(store: Store) -> None:
    packed = gzip.compress(GOOD)
    array = json.dumps([json.loads(line) for line in GOOD.splitlines()]).encode()
    for name, data, details in (
        ("x_samples.jsonl.gz", packed, {}),
        ("rows.json", array, {"format": "json"}),
    ):
        store.keep(name, data)
        store.keep(AGGREGATE, sealed(data, name, **details))
        report = evalstream.check(
            f"{store.prefix}/{name}", aggregate=f"{store.prefix}/{AGGREGATE}", jobs=1
        )
        assert (report.exit_code, report.counts) == (0, {})


def test_a_local_aggregate_goes_with_remote_rows(store: Store, tmp_path: Path) -> None:
    store.keep(ROWS, GOOD)
    aggregate = tmp_path / "unsealed.json"
    document = json.loads(sealed(GOOD))
    document.pop("detailed_evaluation_results")
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(
        f"{store.prefix}/{ROWS}", aggregate=aggregate, seal_to=str(aggregate), jobs=1
    )
    assert (report.exit_code, report.runs[0].sealed) == (0, str(aggregate))
    assert evalstream.check(f"{store.prefix}/{ROWS}", aggregate=aggregate, jobs=1).passed


def test_what_is_not_there_is_no_pass(store: Store) -> None:
    for name in (ROWS, AGGREGATE):
        report = evalstream.check(f"{store.prefix}/none/{name}", jobs=1)
        assert (report.exit_code, report.counts) == (3, {"ES001": 1})
    store.keep(f"alone/{AGGREGATE}", sealed(GOOD, "gone.jsonl"))
    report = evalstream.check(f"{store.prefix}/alone/{AGGREGATE}", jobs=1)
    assert (report.exit_code, report.counts["ES001"]) == (3, 1)


def test_faults_of_a_server_are_mended_or_told(store: Store) -> None:
    store.keep(ROWS, GOOD)
    store.keep(AGGREGATE, sealed(GOOD))
    url, aggregate = f"{store.prefix}/{ROWS}", f"{store.prefix}/{AGGREGATE}"
    store.server.faults.refuses = 2
    store.server.faults.cuts = 1
    assert evalstream.check(url, aggregate=aggregate, jobs=1).passed
    store.server.faults.status = 503
    report = evalstream.check(url, aggregate=aggregate, jobs=1)
    assert (report.exit_code, report.counts) == (3, {"ES001": 2})
    assert report.runs[0].verdict == "incomplete"


def test_only_local_files_are_written(store: Store) -> None:
    store.keep(ROWS, GOOD)
    for way in ("tee", "accepted", "rejected", "seal_to"):
        with pytest.raises(evalstream.UsageError, match="only local files"):
            evalstream.check(f"{store.prefix}/{ROWS}", **{way: f"{store.prefix}/out"})


def test_nothing_secret_is_told(web: Store, s3: Store) -> None:
    web.keep(ROWS, GOOD[:-20])
    signed = web.prefix.replace("http://", "http://me:hunter2@") + f"/{ROWS}?X-Amz-Signature=abcdef"
    forms = ["text", "json", "github"]
    named = (signed, f"{s3.prefix}/{ROWS}", signed.replace(ROWS, "none.jsonl"))
    for number, inputs in enumerate(named):
        for form in forms if is_deep() else forms[number : number + 1]:
            done = run_command(
                command("check", inputs, "--format", form),
                capture_output=True,
                check=False,
                env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
                timeout=60,
            )
            said = (done.stdout + done.stderr).decode()
            assert done.returncode in (0, 1, 3)
            assert "evalstream" in said or ROWS in said or "none" in said
            for secret in ("hunter2", "abcdef", *CREDENTIALS.values()):
                assert secret not in said or re.fullmatch("us-.*|true", secret)


def test_workers_check_what_one_process_fetches(store: Store) -> None:
    data = GOOD * 3
    store.keep("many.jsonl", data)
    one, two = (
        evalstream.check(f"{store.prefix}/many.jsonl", jobs=jobs, max_findings=5) for jobs in (1, 2)
    )
    assert (list(one), one.counts) == (list(two), two.counts)


def test_salvage_reads_from_a_store(store: Store, tmp_path: Path) -> None:
    store.keep("torn.jsonl", GOOD[:-30])
    saved = evalstream.salvage(f"{store.prefix}/torn.jsonl", tmp_path / "good")
    assert (saved.exit_code, saved.rows) == (1, 7)
    assert GOOD.startswith((tmp_path / "good").read_bytes())
