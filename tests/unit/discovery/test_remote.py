"""Runs below a prefix in a store: found like those of a folder, page by page."""

import gzip
import json
import os
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from paths import EXAMPLES
from remote_stores import (
    CREDENTIALS,
    SECRETS,
    Store,
    authority,
    bucket,
    quick_retries,
    s3,
    site,
    web,
)

import evalstream
from evalstream.discovery import remote
from evalstream.discovery.inputs import find_runs
from evalstream.discovery.unrecognised import Unrecognised
from evalstream.io.names import NO_ENDING, rows_named_like
from evalstream.io.remote import Listed, list_objects, listing, read_each, retry
from evalstream.io.remote.reader import READERS
from evalstream.model.run import NoInput, Run

fsspec = pytest.importorskip("fsspec")

__all__ = ["authority", "bucket", "quick_retries", "s3", "site", "web"]

pytestmark = pytest.mark.leaves_threads

DETAILS = "detailed_evaluation_results"


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    """Forget connections to the servers of other tests, and what is kept in memory."""
    from s3fs import S3FileSystem

    S3FileSystem.clear_instance_cache()
    yield
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


@pytest.fixture(params=["s3", "memory"])
def store(request: pytest.FixtureRequest) -> Any:
    """A store that lists, of each kind in turn, with a place of its own."""
    if request.param == "s3":
        found = request.getfixturevalue("s3")
        place = f"of-{request.node.name.replace('[', '-').replace(']', '')}"
        return Place(
            f"{found.prefix}/{place}", lambda name, data: found.keep(f"{place}/{name}", data)
        )
    memory = fsspec.filesystem("memory")
    return Place("memory://results", lambda name, data: memory.pipe(f"/results/{name}", data))


class Place:
    """A prefix in a store, and how objects come to be there."""

    def __init__(self, prefix: str, keep: Any) -> None:
        self.prefix, self._keep = prefix, keep

    def put(self, *names: str, declared: str | None = None) -> None:
        """Keep rows, or aggregates that declare a path."""
        details = {} if declared is None else {DETAILS: {"file_path": declared}}
        document = json.dumps({"evaluation_results": [], **details}).encode()
        for name in names:
            self._keep(name, document if name.endswith(".json") else b"{}\n")

    def found(self, below: str = "/") -> list[Any]:
        """Return the pairs found, below the prefix."""
        runs = find_runs([self.prefix + below])
        return [self._plain(run) for run in runs if not isinstance(run, Unrecognised)]

    def _plain(self, run: Run | NoInput) -> Any:
        if isinstance(run, NoInput):
            return run.reason
        return tuple(
            name and name.removeprefix(f"{self.prefix}/") for name in (run.rows, run.aggregate)
        )


def test_a_prefix_is_like_a_folder(store: Place) -> None:
    store.put("z.jsonl", "b/two_samples.jsonl", "b/two.json", "a/one.jsonl", "a/one.json")
    store.put("a/.hidden/x.jsonl", ".x.jsonl", "a/notes.txt", "ab.c/x.jsonl", "ab/x.jsonl")
    store.put("a/claims.json", declared="rows/x.jsonl")
    store.put("a/rows/x.jsonl")
    expected = [
        ("z.jsonl", None),
        ("a/rows/x.jsonl", "a/claims.json"),
        ("a/one.jsonl", "a/one.json"),
        ("ab/x.jsonl", None),
        ("ab.c/x.jsonl", None),
        ("b/two_samples.jsonl", "b/two.json"),
    ]
    assert store.found() == store.found("") == store.found("//") == expected
    assert store.found("/a") == expected[1:3]
    assert store.found("/none/") in ([NOTHING], ["it could not be listed: not found"])
    runs = list(find_runs([store.prefix, f"{store.prefix}/z.jsonl", f"{store.prefix}/b/two.json"]))
    assert len([run for run in runs if isinstance(run, Run)]) == len(expected)


NOTHING = "the prefix holds nothing that can be checked"


def test_runs_are_those_that_a_folder_would_have(store: Place) -> None:
    names = {
        "x.json": "other.jsonl", "other.jsonl": None, "y.json": None, "y.jsonl.gz": None,
        "gone.json": "no/such.jsonl", "data/m/a.json": "data/m/r.jsonl", "data/m/r.jsonl": None,
        "data/m/b.json": "r.jsonl", "q_samples.jsonl": None, "q.json": "q_samples.jsonl",
        "config.json": "", "config.jsonl": None, "lonely.jsonl": None, "l.json": "../lonely.jsonl",
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for name, declared in names.items():
            if name == "config.json":
                store._keep(name, b"{}")
                data = b"{}"
            else:
                store.put(name, declared=declared)
                details = {DETAILS: {"file_path": declared}} if declared else {}
                data = json.dumps({"evaluation_results": [], **details}).encode()
            place = Path(folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        local = [
            tuple(name and os.path.relpath(name, folder) for name in (run.rows, run.aggregate))
            for run in find_runs([folder])
            if isinstance(run, Run)
        ]
    assert store.found() == local


def test_what_no_format_takes_is_counted(store: Place) -> None:
    store.put("a/x_samples.jsonl", "a/x.json")
    for name, data in (
        ("a/run.jsonl.zip", b""), ("README.md", b""), ("config.json", b"{}"), ("list.json", b"[]"),
        ("b/like.json", b'{"schema_version": "0.3.0"}'), ("metric.yaml", METRIC),
        ("x.yml", b"a: 1"),
    ):  # fmt: skip
        store._keep(name, data)
    left = list(find_runs([f"{store.prefix}/"]))[-1]
    assert isinstance(left, Unrecognised)
    assert left.leaves_open
    assert {one.kind: (one.number, one.first) for one in left.kinds} == {
        "rows_like": (1, ("a/run.jsonl.zip",)),
        "aggregate_like": (1, ("b/like.json",)),
        "stored_document": (1, ("metric.yaml",)),
        "json": (2, ("config.json", "list.json")),
        "other": (2, ("README.md", "x.yml")),
    }
    excluded = list(find_runs([f"{store.prefix}/"], exclude=["*.zip", "b", "*.y*ml", "*g.json"]))
    assert isinstance(excluded[-1], Unrecognised)
    assert (excluded[-1].excluded, excluded[-1].leaves_open) == (5, False)


METRIC = b"id: m\nname: m\ndirection: higher_is_better\n"


def test_packed_documents_are_looked_at_like_local_ones(store: Place) -> None:
    for name, data in (
        ("like.json.gz", gzip.compress(b'{"schema_version": "0.3.0"}')),
        ("cut.json.gz", gzip.compress(b'{"evaluation_results": []}')[:-12]),
        ("other.json.gz", gzip.compress(b'{"a": 1}')),
    ):
        store._keep(name, data)
    for name in ("evaluation.json", "benchmark.json"):
        store._keep(f"i/{name}.gz", gzip.compress((EXAMPLES / "infereval" / name).read_bytes()))
    run, left = find_runs([f"{store.prefix}/"])
    assert getattr(run, "format", None) == "infereval"
    assert isinstance(left, Unrecognised)
    assert left.leaves_open
    assert {one.kind: one.first for one in left.kinds} == {
        "aggregate_like": ("cut.json.gz", "like.json.gz"),
        "json": ("other.json.gz",),
    }


def test_an_object_that_cannot_be_read_is_told(
    store: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("metric.yaml", "alone.json", "x.json", "packed.json.gz"):
        store._keep(name, b"{}")
    store._keep("x.jsonl", b"{}\n")

    def read(urls: Any, _: int) -> Iterator[OSError]:
        return (PermissionError("access denied") for _ in urls)

    monkeypatch.setattr(remote.remote, "read_each", read)
    found = list(find_runs([f"{store.prefix}/"]))
    assert [one for one in found if isinstance(one, NoInput)] == [
        NoInput(f"{store.prefix}/{name}", "it cannot be read: access denied", readable=False)
        for name in ("alone.json", "metric.yaml", "packed.json.gz")
    ]
    # The check of a pair by name reads its aggregate again.
    (run,) = (one for one in found if isinstance(one, Run))
    assert (run.rows, run.aggregate) == (f"{store.prefix}/x.jsonl", f"{store.prefix}/x.json")


@pytest.mark.parametrize(
    ("name", "format_name"),
    [("harpia/log.jsonl", "harpia"), ("swe_bench/preds.jsonl", "swe_bench")],
)
def test_rows_of_other_formats_are_not_taken_for_faulty_ones(
    name: str, format_name: str, s3: Store
) -> None:
    s3.keep("others/rows.jsonl", (EXAMPLES / name).read_bytes())
    for url in (f"{s3.prefix}/others/rows.jsonl", f"{s3.prefix}/others/"):
        report = evalstream.check(url, jobs=1)
        assert (report.exit_code, report.counts) == (3, {"ES008": 1})
        assert f"--input-format {format_name}" in next(iter(report)).message
    # Whoever names a format has its rules.
    url = f"{s3.prefix}/others/rows.jsonl"
    assert evalstream.check(url, jobs=1, input_format=format_name).exit_code == 0
    assert evalstream.check(url, jobs=1, input_format="eee").exit_code == 1


def test_documents_of_other_formats_are_found_in_a_store(store: Place) -> None:
    examples = EXAMPLES
    for name in ("evaluation.json", "benchmark.json"):
        store._keep(f"i/{name}", (examples / "infereval" / name).read_bytes())
    store._keep("log.json", b'{"status": "success", "eval": {"task": "t", "model": "m"}}')
    runs = list(find_runs([f"{store.prefix}/"]))
    assert [getattr(run, "format", None) for run in runs] == ["infereval", "inspect"]
    run = runs[0]
    assert isinstance(run, Run)
    assert (run.format, run.rows) == ("infereval", f"{store.prefix}/i/evaluation.json")
    assert run.aggregate == f"{store.prefix}/i/benchmark.json"
    (log,) = find_runs([f"{store.prefix}/log.json"])
    assert log == Run(f"{store.prefix}/log.json", None, format="inspect")
    store._keep("helm.json", b'{"adapter_spec": {}, "request_states": []}')
    (helm,) = find_runs([f"{store.prefix}/helm.json"])
    assert helm == Run(None, f"{store.prefix}/helm.json", format="helm")
    store._keep("job.json", b'{"n_total_trials": 1, "stats": {"evals": {}}}')
    (job,) = find_runs([f"{store.prefix}/job.json"])
    assert "Harbor" in getattr(job, "reason", "")


def test_what_a_list_tells_goes_with_the_run(s3: Store) -> None:
    s3.keep("told/x_samples.jsonl", b"{}\n")
    s3.keep("told/x.json", b"{}")
    s3.keep("told/y.jsonl", b"{}\n" * 2)
    one, two = find_runs([f"{s3.prefix}/told/"])
    assert isinstance(one, Run)
    assert isinstance(two, Run)
    assert (one.size, two.size) == (3, 6)
    assert one.mark is not None
    etag, _, moment = one.mark.partition(" ")
    assert etag.strip('"').isalnum()
    # An object that is put back has its old ETag again, and another time.
    assert datetime.fromisoformat(moment).year >= 2026
    assert one.mark != two.mark
    s3.keep("told/x_samples.jsonl", b"[]\n")
    again = next(find_runs([f"{s3.prefix}/told/"]))
    assert isinstance(again, Run)
    assert again.mark != one.mark


def test_aggregates_with_their_rows_beside_them_are_not_read(s3: Store) -> None:
    for number in range(3):
        s3.keep(f"named/{number}_samples.jsonl", b"{}\n")
        s3.keep(f"named/{number}.json", b"{}")
    s3.server.reset()
    assert len(list(find_runs([f"{s3.prefix}/named/"]))) == 3
    assert len(s3.server.paths) == 1


def test_lists_come_page_by_page(s3: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        s3.keep(f"pages/{number}.jsonl", b"{}\n")
    _small_pages(monkeypatch, 3)
    pages = list(list_objects(f"{s3.prefix}/pages"))
    assert [len(page) for page in pages] == [3, 3, 1]
    assert pages[2][0].path == "6.jsonl"
    s3.server.reset()
    s3.server.faults.spares, s3.server.faults.refuses = 1, 2
    assert [len(page) for page in list_objects(f"{s3.prefix}/pages/")] == [3, 3, 1]
    assert len(s3.server.paths) == 5


def test_a_key_may_begin_with_a_slash(s3: Store) -> None:
    s3.keep("/slash/x.jsonl", b"{}\n")
    s3.keep("slash/y.jsonl", b"{}\n")
    for below, name in (("//slash/", "x.jsonl"), ("/slash/", "y.jsonl")):
        (run,) = find_runs([f"{s3.prefix}{below}"])
        assert run == Run(f"{s3.prefix}{below}{name}", None, size=3, mark=getattr(run, "mark", ""))


def _small_pages(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    from s3fs import S3FileSystem

    call = S3FileSystem._call_s3

    async def small(files: Any, method: str, *rest: Any, **options: Any) -> Any:
        more = {"MaxKeys": size} if method == "list_objects_v2" else {}
        return await call(files, method, *rest, **options, **more)

    monkeypatch.setattr(S3FileSystem, "_call_s3", small)
    monkeypatch.setattr(S3FileSystem, "call_s3", fsspec.asyn.sync_wrapper(small), raising=False)


@pytest.mark.parametrize(("status", "reason"), [(403, "access denied"), (503, "tried 5 times")])
def test_a_list_that_breaks_off_is_no_list(
    s3: Store, monkeypatch: pytest.MonkeyPatch, status: int, reason: str
) -> None:
    for number in range(4):
        s3.keep(f"broken/{number}.jsonl", b"{}\n")
    _small_pages(monkeypatch, 2)
    s3.server.faults.status = status
    (nothing,) = find_runs([f"{s3.prefix}/broken/"])
    assert isinstance(nothing, NoInput)
    assert not nothing.readable
    assert reason in nothing.reason
    for secret in (*SECRETS, *CREDENTIALS.values()):
        assert secret not in nothing.reason
    s3.server.reset()
    s3.server.faults.spares, s3.server.faults.refuses = 1, 99
    (nothing,) = find_runs([f"{s3.prefix}/broken/"])
    assert isinstance(nothing, NoInput)
    assert not nothing.readable


@pytest.mark.parametrize("wrong", [{}, {"Name": "results"}])
def test_the_page_of_a_proxy_is_not_the_last_page_of_a_list(
    s3: Store, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str]
) -> None:
    first = {"IsTruncated": True, "NextContinuationToken": "a", "Contents": [{"Key": "x/1.jsonl"}]}

    def answer(*_: Any, **request: Any) -> Any:
        return wrong if "ContinuationToken" in request else first

    monkeypatch.setattr("s3fs.S3FileSystem.call_s3", answer)
    (nothing,) = find_runs([f"{s3.prefix}/x/"])
    assert isinstance(nothing, NoInput)
    assert (nothing.readable, nothing.reason) == (
        False,
        "it could not be listed: the server did not send a list of objects (tried 5 times)",
    )


def test_what_is_told_of_a_list_names_it(s3: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(retry, "notify", told.append)
    s3.server.faults.refuses = 1
    assert list(list_objects(f"{s3.prefix}/told-of/")) == [[]]
    (notice,) = told
    begin = f"{s3.prefix}/told-of/: the server answered 503 (Service Unavailable); attempt 2 of 5"
    assert notice.startswith(begin)


def test_a_server_that_turns_in_circles_is_left(s3: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([("a", True), ("a", True), (None, True)])

    def answer(*_: Any, **__: Any) -> Any:
        token, is_cut = next(answers)
        return {"IsTruncated": is_cut, "NextContinuationToken": token}

    monkeypatch.setattr("s3fs.S3FileSystem.call_s3", answer)
    for _ in range(2):
        with pytest.raises(OSError, match="did not send the token"):
            list(list_objects(f"{s3.prefix}/x/"))
        answers = iter([(None, True)])


def test_the_web_has_no_lists(web: Store) -> None:
    with pytest.raises(OSError, match="cannot list"):
        list(list_objects(f"{web.prefix}/data/"))
    with pytest.raises(OSError, match="chained URLs"):
        list(list_objects("simplecache::s3://bucket/x/"))


def test_a_store_without_buckets_has_objects_at_its_root() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/rows.jsonl", b"{}\n")
    memory.pipe("/folder/x.jsonl", b"{}\n")
    (rows,) = find_runs(["memory://rows.jsonl"])
    (below,) = find_runs(["memory://folder"])
    assert rows == Run("memory://rows.jsonl", None)
    assert isinstance(below, Run)
    assert below.rows == "memory://folder/x.jsonl"
    every = [run.rows for run in find_runs(["memory:///"]) if isinstance(run, Run)]
    assert every == ["memory:///rows.jsonl", "memory:///folder/x.jsonl"]


def test_patterns_match_objects(store: Place) -> None:
    store.put("data/a/x_samples.jsonl", "data/a/x.json", "data/b/y.jsonl", "data/b/c/z.jsonl")
    store.put("data/b/notes.txt", "data/.h/x.jsonl")
    pair, y, z = (
        ("data/a/x_samples.jsonl", "data/a/x.json"),
        ("data/b/y.jsonl", None),
        ("data/b/c/z.jsonl", None),
    )
    assert store.found("/data/*/*.json") == [pair]
    assert store.found("/data/**/[yz].jsonl") == [y, z]
    assert store.found("/data/*") == store.found("/da*") == store.found("/*/") == [pair, y, z]
    assert store.found("/data/b/*.*") == [NO_ENDING, y]
    (reason,) = store.found("/data/*.json")
    assert "matches no file" in reason
    (excluded,) = find_runs([f"{store.prefix}/data/b/*.jsonl"], exclude=["*.jsonl"])
    assert isinstance(excluded, NoInput)
    assert "the pattern has 1 match, which --exclude '*.jsonl' leaves out" in excluded.reason
    store.put("data/b/[q].jsonl")
    assert store.found("/data/b/[q].jsonl") == [("data/b/[q].jsonl", None)]


def test_a_pattern_in_a_store_that_refuses_is_told(s3: Store) -> None:
    s3.server.faults.status = 403
    (nothing,) = find_runs([f"{s3.prefix}/x/*.json"])
    assert isinstance(nothing, NoInput)
    assert (nothing.readable, nothing.reason) == (False, "access denied")


def test_names_that_cannot_be_kept_apart_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "open_url", lambda *_: iter([[Listed("a\0b.jsonl")]]))
    with pytest.raises(OSError, match="NUL"):
        list(list_objects("memory://x"))


def test_objects_are_read_some_at_once_in_order(s3: Store) -> None:
    urls = []
    for number in range(READERS * 2 + 3):
        s3.keep(f"each/{number}", b"x" * number)
        urls.append(f"{s3.prefix}/each/{number}")
    urls.insert(5, f"{s3.prefix}/each/none")
    sizes = [len(data) if isinstance(data, bytes) else None for data in read_each(urls, 12)]
    expected = [number if number <= 12 else None for number in range(len(urls) - 1)]
    assert sizes == [*expected[:5], None, *expected[5:]]


def test_a_whole_prefix_is_checked(s3: Store) -> None:
    assert retry.TRIES
    s3.keep("checked/x.jsonl", b"not json\n")
    report = evalstream.check(f"{s3.prefix}/checked/", select=("ES0", "ES1"), jobs=1)
    assert report.exit_code == 1
    assert report.runs[0].file == f"{s3.prefix}/checked/x.jsonl"
    report = evalstream.check(f"{s3.prefix}/empty-of-all/", jobs=1)
    assert (report.exit_code, report.counts) == (3, {"ES005": 1})


def test_no_other_name_is_guessed_from_a_signed_url(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(remote, "is_readable", asked.append)
    for url in ("https://host.example/x_samples.jsonl?sig=1", "HTTPS://host.example/x.jsonl?s=1"):
        assert remote.found_at(url) == Run(url, None)
    assert not asked


@pytest.mark.parametrize(
    ("declared", "asked"),
    [
        ("data/a b.jsonl", "https://host.example/run/a%20b.jsonl"),
        ("data/x%2F..%2F..%2Fy.jsonl", "https://host.example/run/x%252F..%252F..%252Fy.jsonl"),
        ("data/..", None),
        ("data/.", None),
    ],
)
def test_a_declared_name_leads_to_no_other_folder(
    declared: str, asked: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = {"detailed_evaluation_results": {"file_path": declared}, "evaluation_results": []}
    found: list[str] = []
    monkeypatch.setattr(remote.remote, "read_whole", lambda *_: json.dumps(document).encode())
    monkeypatch.setattr(remote, "is_readable", found.append)
    remote.found_at("https://host.example/run/x.json")
    named = [] if asked is None else [asked]
    assert found == [*named, *rows_named_like("https://host.example/run/x.json")]


def test_no_query_is_part_of_the_names_beside_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "is_readable", lambda url: url == "s3://bucket/x.json")
    rows = "s3://bucket/x_samples.jsonl?versionId=1"
    assert remote.found_at(rows) == Run(rows, "s3://bucket/x.json")
