"""Remote input: every byte of an object in order, or a clean error; and never a credential."""

import gc
import os
import random
import re
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import SECONDS
from depth import deep
from each import each
from remote_stores import (
    BLOCK,
    BUCKET,
    DATA,
    SECRETS,
    Store,
    authority,
    bucket,
    quick_retries,
    s3,
    site,
    store,
    web,
)
from stores import Answer

from evalstream.io.names import is_remote, redact_url
from evalstream.io.remote import RemoteReader, exists, read_whole, reader, retry
from evalstream.model.errors import MissingExtra, install_command

__all__ = ["authority", "bucket", "quick_retries", "s3", "site", "store", "web"]

pytestmark = pytest.mark.leaves_threads

OTHER = random.Random(8).randbytes(len(DATA))


@pytest.fixture
def wrong(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What goes wrong; only stalls are given up soon, as a busy machine may seem to stall."""
    if request.param == "stalls":
        monkeypatch.setattr(retry, "STALL_SECONDS", 0.15)
    return str(request.param)


def all_of(url: str) -> bytes:
    """Read an object to its end; a lost byte or a word of a secret is a failure."""
    reader = RemoteReader(url)
    try:
        data = b"".join(iter(reader.read, b""))
        assert reader.read() == b""
        return data
    finally:
        reader.close()


def error_of(call: Callable[[], object]) -> OSError:
    """Return the error of a call, which holds no secret and nothing of what a library said."""
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the callers look at it
        call()
    error = caught.value
    assert error.__context__ is None
    assert error.__cause__ is None
    told = "".join(traceback.format_exception(error)) + repr(error.args)
    assert not [secret for secret in SECRETS if secret in told]
    return error


@each(
    ("path", "expected"),
    [
        ("s3://bucket/key", True),
        ("hf://datasets/user/name/a.jsonl", True),
        ("HTTPS://host/a.json", True),
        ("git+ssh://host/a", True),
        ("memory://a", True),
        ("-", False),
        ("a.jsonl", False),
        ("/data/a.jsonl", False),
        ("./s3:/bucket/key", False),
        ("runs/s3://bucket", False),
        ("://a", False),
        ("1s3://a", False),
        ("C:\\a", False),
        ("", False),
    ],
)
def test_tells_urls_from_paths(path: str, expected: bool) -> None:
    assert is_remote(path) is expected


@each(
    ("url", "expected"),
    [
        ("s3://bucket/a b/key.jsonl", "s3://bucket/a b/key.jsonl"),
        ("https://host:8080/a.jsonl", "https://host:8080/a.jsonl"),
        ("https://user:secret@host/a", "https://host/a"),
        ("https://user@host/a", "https://host/a"),
        ("https://user:se@cret@host:1/a", "https://host:1/a"),
        ("https://host/a?X-Amz-Signature=secret", "https://host/a"),
        ("https://host/a#secret", "https://host/a"),
        ("https://host?secret", "https://host"),
        ("https://user:se/cret@host/a", "https://…"),
        ("https://user:se?cret@host/a", "https://…"),
        ("https://user:se#cret@host/a", "https://…"),
        ("http://[::1]:80/a", "http://[::1]:80/a"),
        ("http://[::1]/a", "http://[::1]/a"),
        ("hf://datasets/user/name@main/a", "hf://datasets/user/name@main/a"),
        ("s3://arn:aws:s3:eu:123:accesspoint/a", "s3://arn:aws:s3:eu:123:accesspoint/a"),
        ("s3://bucket/a?b=c#d.jsonl", "s3://bucket/a?b=c#d.jsonl"),
        ("s3://bucket/a.jsonl?versionId=1", "s3://bucket/a.jsonl?versionId=1"),
        ("S3://user:secret@bucket/a#b", "S3://bucket/a#b"),
        ("gs://bucket/a#1", "gs://bucket/a#1"),
        ("hf://datasets/user/name/a#b", "hf://datasets/user/name/a#b"),
        ("abfs://box/a?sig=secret", "abfs://box/a"),
        ("a.jsonl", "a.jsonl"),
    ],
)
def test_shows_no_credentials_of_a_url(url: str, expected: str) -> None:
    assert redact_url(url) == expected


@pytest.mark.parametrize(
    "sizes", [[0, BLOCK + 1, 9 * BLOCK + 1], deep([1, BLOCK - 1, BLOCK, 2 * BLOCK, 6 * BLOCK - 1])]
)
def test_reads_every_byte_in_order(store: Store, sizes: list[int]) -> None:
    for size in sizes:
        data = random.Random(size).randbytes(size)
        reader = RemoteReader(store.url(data))
        assert reader.size == size
        assert b"".join(iter(reader.read, b"")) == data
        assert reader.read() == b""
        assert reader.describe_change() is None
        reader.close()


def test_returns_pieces_of_bounded_size(web: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "PIECE_BYTES", 300)
    url = web.url()
    pieces = list(iter(RemoteReader(url).read, b""))
    assert max(map(len, pieces)) == 300
    assert b"".join(pieces) == DATA


def test_reads_a_part_of_a_signed_url_as_it_was_signed(web: Store) -> None:
    url = web.url(name="a%2Fb.jsonl") + "?sig=a%2Bb%2Fc=="
    assert all_of(url) == DATA
    assert set(web.server.paths) == {"/a%2Fb.jsonl?sig=a%2Bb%2Fc=="}


def test_reads_a_url_that_nobody_encoded(web: Store) -> None:
    web.url(name="a%20b%C3%A9.jsonl")
    assert all_of(f"{web.prefix}/a bé.jsonl") == DATA


def test_sends_the_credentials_of_a_url(web: Store) -> None:
    address = web.url().removeprefix("http://")
    assert all_of(f"http://user:{SECRETS[2]}@{address}") == DATA
    assert all(headers["Authorization"].startswith("Basic ") for headers in web.server.headers)


@pytest.mark.parametrize(
    "wrong", ["refuses", "cuts", "shortens", "shifts", "stalls"], indirect=True
)
def test_tries_again_after_a_fault(store: Store, wrong: str) -> None:
    url = store.url()
    store.faults.spares = 2
    setattr(store.faults, wrong, 3)
    assert all_of(url) == DATA


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("refuses", "the server answered 503"),
        ("cuts", "the connection was interrupted|of the [0-9,]+ bytes of a block"),
        ("shortens", "of a block|another range"),
        ("shifts", "another range than"),
        ("stalls", "did not answer in time"),
    ],
    indirect=["wrong"],
)
def test_gives_up_in_the_end(
    store: Store, wrong: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "TRIES", 2)
    url = store.url()
    reader = RemoteReader(url)
    setattr(store.faults, wrong, 1000)
    error = error_of(lambda: list(iter(reader.read, b"")))
    assert re.search(reason, str(error)), error
    assert "(tried 2 times)" in str(error)
    assert error_of(reader.read) is error
    reader.close()


def test_gives_up_a_block_that_trickles(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = RemoteReader(store.url())
    monkeypatch.setattr(retry, "BLOCK_SECONDS", 0.2)
    store.faults.spares = 2
    store.faults.stalls = 2
    assert b"".join(iter(reader.read, b"")) == DATA
    assert len(store.server.asked) >= 1 + 8 + 2
    reader.close()


@each(
    ("place", "reason"),
    [
        ("/rows.jsonl", "the server redirects every request"),
        ("file:///etc/hostname", "the server redirects to what is not a web address"),
    ],
)
def test_tells_that_a_server_leads_elsewhere(web: Store, place: str, reason: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(web.server, "answer", lambda _: Answer(302, {"location": place}, b""))
        assert str(error_of(partial(RemoteReader, web.url()))) == reason


def test_a_page_of_html_is_no_object_that_was_looked_for(web: Store) -> None:
    page = Answer(200, {"content-type": "text/html; charset=utf-8"}, b"<html>Not here</html>")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(web.server, "answer", lambda _: page)
        assert not exists(web.url())
        # What was named is read as it is.
        assert read_whole(web.url(), 1000) == page.body
    assert exists(web.url())


def test_tells_that_credentials_have_expired(s3: Store) -> None:
    from botocore.exceptions import ClientError

    answer = {"Error": {"Code": "ExpiredToken"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    reason = retry.classify_error(ClientError(answer, "GetObject"))
    assert (reason.message, reason.permanent) == ("the credentials have expired", True)
    # The answer to a request for a head says no more than its status.
    s3.faults.status = 400
    with pytest.raises(OSError, match="as it does to expired credentials") as error:
        RemoteReader(s3.url())
    # Objects that may be there are not taken for missing ones.
    assert not isinstance(error.value, PermissionError)


@each("status", [403, 404, 500])
def test_tells_why_an_object_cannot_be_opened(store: Store, status: int) -> None:
    url = store.url()
    store.faults.status = status
    error = error_of(partial(RemoteReader, url))
    kinds = {403: PermissionError, 404: FileNotFoundError, 500: OSError}
    assert type(error) is kinds[status]


def test_tells_that_an_object_is_not_there(store: Store) -> None:
    url = store.url()
    assert exists(url)
    assert not exists(f"{url}.gone")
    assert type(error_of(lambda: RemoteReader(f"{url}.gone"))) is FileNotFoundError
    store.faults.status = 403
    assert type(error_of(lambda: exists(url))) is PermissionError


def test_tells_that_a_server_cannot_be_reached(s3: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "TRIES", 2)
    monkeypatch.setattr(retry, "STALL_SECONDS", 0.7)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    for url in (f"s3://{BUCKET}/a", f"http://u:{SECRETS[2]}@127.0.0.1:9/a?sig={SECRETS[1]}"):
        assert str(error_of(partial(RemoteReader, url))).startswith("cannot reach the server")


def test_tells_that_there_are_no_credentials(
    s3: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setattr(retry, "STALL_SECONDS", 0.8)
    error = error_of(lambda: RemoteReader(s3.url()))
    assert type(error) is PermissionError
    assert str(error) == "no credentials found"


@pytest.mark.parametrize("bad", ["s3://not_a*bucket/a", f"s3://key:{SECRETS[0]}@results/a"])
def test_tells_that_a_url_makes_no_sense(s3: Store, bad: str) -> None:
    assert "does not accept this URL" in str(error_of(lambda: RemoteReader(bad)))


def test_tells_a_folder_from_an_object(s3: Store, tmp_path: Path) -> None:
    s3.url(name="folder/rows.jsonl")
    for url in (f"{s3.prefix}/folder", f"file://{tmp_path}"):
        assert type(error_of(partial(RemoteReader, url))) is IsADirectoryError
        assert not exists(url)


def test_notices_that_an_object_changes_part_way(store: Store) -> None:
    url = store.url()
    reader = RemoteReader(url)
    data = reader.read()
    store.url(OTHER)

    def rest() -> None:
        nonlocal data
        while piece := reader.read():
            data += piece

    assert str(error_of(rest)) == "the object changed while it was read"
    assert DATA.startswith(data)
    assert reader.describe_change() == "its ETag changed since it was opened"
    reader.close()


@pytest.mark.parametrize("more", [-1, 1])
def test_notices_another_size_where_there_are_no_marks(web: Store, more: int) -> None:
    web.faults.hides_marks = True
    url = web.url()
    reader = RemoteReader(url)
    web.url(OTHER[:-1] if more < 0 else OTHER + b"x")
    assert "the object changed" in str(error_of(lambda: list(iter(reader.read, b""))))
    told = f"{len(DATA):,} bytes when it was opened, {len(DATA) + more:,} at the end"
    assert reader.describe_change() == told


def test_says_that_an_object_is_gone(store: Store) -> None:
    reader = RemoteReader(store.url())
    store.faults.status = 404
    assert reader.describe_change() == "it no longer exists"


def test_trusts_the_marks_of_blocks_where_the_end_cannot_be_asked(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "TRIES", 1)
    reader = RemoteReader(store.url())
    assert b"".join(iter(reader.read, b"")) == DATA
    store.faults.status = 500
    assert reader.describe_change() is None


def test_says_that_a_change_cannot_be_ruled_out(
    web: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "TRIES", 1)
    web.faults.hides_marks = True
    reader = RemoteReader(web.url())
    web.faults.status = 500
    told = reader.describe_change()
    assert told is not None
    assert told.startswith("it could not be read again: the server answered 500")


@pytest.mark.parametrize("hides_size", [False, True])
@each("data", [b"", b"1", DATA])
def test_reads_in_one_pass_without_ranges(web: Store, data: bytes, hides_size: bool) -> None:
    url = web.url(data)
    web.faults.ignores_ranges, web.faults.hides_size = True, hides_size
    reader = RemoteReader(url)
    assert reader.size == (0 if hides_size else len(data))
    assert b"".join(iter(reader.read, b"")) == data
    assert reader.describe_change() is None
    reader.close()
    assert len(web.server.asked) == 3


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [("cuts", "was interrupted"), ("stalls", "did not answer in time")],
    indirect=["wrong"],
)
def test_cannot_resume_without_ranges(web: Store, wrong: str, reason: str) -> None:
    url = web.url()
    web.faults.ignores_ranges, web.faults.spares = True, 1
    setattr(web.faults, wrong, 1)
    assert reason in str(error_of(lambda: all_of(url)))


def test_tries_the_beginning_again_without_ranges(web: Store) -> None:
    url = web.url()
    web.faults.ignores_ranges, web.faults.spares, web.faults.refuses = True, 1, 2
    assert all_of(url) == DATA


def test_reads_one_object_without_ranges(web: Store) -> None:
    url = web.url()
    web.faults.ignores_ranges = True
    reader = RemoteReader(url)
    web.url(OTHER)
    assert "the object changed" in str(error_of(reader.read))


def test_takes_no_whole_object_for_a_part(web: Store) -> None:
    url = web.url(DATA[:BLOCK])
    reader = RemoteReader(url)
    web.faults.ignores_ranges = True
    assert "did not send the requested range" in str(error_of(reader.read))


def test_reads_whole_objects_of_bounded_size(store: Store) -> None:
    url = store.url()
    assert read_whole(url, len(DATA)) == DATA
    before = len(store.server.asked)
    assert "more than" in str(error_of(lambda: read_whole(url, len(DATA) - 1)))
    assert len(store.server.asked) == before + 1


def test_bounds_what_it_reads_of_an_object_without_a_size(web: Store) -> None:
    url = web.url()
    web.faults.ignores_ranges = web.faults.hides_size = True
    assert read_whole(url, len(DATA)) == DATA
    assert "more than" in str(error_of(lambda: read_whole(url, len(DATA) - 1)))


def test_holds_few_blocks_at_once(store: Store) -> None:
    reader = RemoteReader(store.url(DATA * 3))
    looks = len(store.server.asked)
    time.sleep(0.03)
    assert len(store.server.asked) == looks
    for taken in range(1, 6):
        reader.read()
        time.sleep(0.03)
        assert len(store.server.asked) - looks <= taken + retry.WORKERS
    reader.close()


def test_waits_for_the_next_block(web: Store) -> None:
    url = web.url(DATA[: BLOCK + 1])
    reader = RemoteReader(url)
    web.faults.stalls = 2
    assert not reader.wait(0.1)
    web.server._released.set()
    assert reader.wait(SECONDS)
    assert b"".join(iter(reader.read, b"")) == DATA[: BLOCK + 1]
    assert reader.wait(0)


def test_stops_when_it_is_closed(web: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "PAUSE_SECONDS", 60.0)
    reader = RemoteReader(web.url())
    web.faults.refuses = 1000
    assert not reader.wait(0.1)
    reader.close()
    assert reader.read() == b""


@each("scheme", ["memory", "file", "local"])
def test_reads_any_store_that_fsspec_knows(scheme: str, tmp_path: Path) -> None:
    files = pytest.importorskip("fsspec").filesystem(scheme)
    path = f"{tmp_path}/rows.jsonl"
    files.makedirs(str(tmp_path), exist_ok=True)
    files.pipe(path, DATA)
    url = f"{scheme}://{path}"
    reader = RemoteReader(url)
    assert reader.size == len(DATA)
    assert b"".join(iter(reader.read, b"")) == DATA
    assert reader.describe_change() is None
    assert exists(url)
    assert not exists(f"{url}.gone")
    files.pipe(path, OTHER)
    assert reader.describe_change() == "its modification time changed since it was opened"
    files.rm(path)
    assert reader.describe_change() == "it no longer exists"


def test_asks_for_the_generation_that_was_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    files: Any = pytest.importorskip("fsspec").AbstractFileSystem

    class Generations(files):  # type: ignore[misc]
        protocol = ("gs", "gcs")
        async_impl = True

        def info(self, path: str, **_: object) -> dict[str, object]:
            return {"name": path, "type": "file", "size": len(DATA), "generation": "17"}

        def cat_file(self, path: str, start: int, end: int, generation: str) -> bytes:
            asked.append(generation)
            return DATA[start:end]

    monkeypatch.setitem(pytest.importorskip("fsspec.registry")._registry, "gs", Generations)
    assert all_of("gs://bucket/a") == DATA
    assert set(asked) == {"17"}


class _Stuck:
    """A store whose calls never return, as those of some libraries do."""

    pins = False
    ended = threading.Event()

    def get_info(self) -> Any:
        return retry.with_timeout(self.ended.wait)


def test_leaves_a_call_behind_that_never_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "BLOCK_SECONDS", 0.02)
    monkeypatch.setattr(reader, "find_store", lambda _: _Stuck())
    assert "did not answer in time" in str(error_of(lambda: RemoteReader("memory://a")))
    _Stuck.ended.set()


@each(
    ("url", "module", "told"),
    [
        ("s3://bucket/a", "s3fs", "s3fs is not installed"),
        ("https://host/a", "aiohttp", "aiohttp is not installed"),
        ("s3://bucket/a", "fsspec", "fsspec is not installed"),
        ("gs://bucket/a", "gcsfs", "gcsfs is not installed"),
        ("hf://datasets/a/b/c", "aiohttp", "aiohttp is not installed"),
    ],
)
def test_names_what_is_not_installed(
    url: str, module: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = pytest.importorskip("fsspec.registry")
    # A hub is read by the file system of the web.
    scheme = url.partition(":")[0].replace("hf", "https")
    monkeypatch.delitem(registry._registry, scheme, raising=False)
    for name in [*sys.modules, module]:
        if name == module or name.startswith(f"{module}."):
            monkeypatch.setitem(sys.modules, name, None)
    if module == "aiohttp":
        monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    with pytest.raises(MissingExtra) as caught:
        RemoteReader(url)
    own = f" {module}" if module == "gcsfs" else ""
    install = install_command("remote")
    assert str(caught.value) == f"{told}; install it with: {install}{own}"


@each("url", ["nosuch://a/b", "zip://a::s3://b/c", "a.jsonl"])
def test_refuses_what_it_cannot_read(url: str) -> None:
    error_of(partial(RemoteReader, url))


def test_names_the_schemes_where_one_is_unknown() -> None:
    pytest.importorskip("fsspec")
    error = error_of(partial(RemoteReader, "nosuch://user:secret@a/b"))
    assert str(error).startswith("no store has the scheme nosuch://; use s3://, gs://, hf://")


def test_leaves_no_word_of_credentials_behind(
    web: Store, s3: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "TRIES", 2)
    # Clients of earlier tests must not be finalised where the stack of botocore ends.
    gc.collect()
    address = web.url().removeprefix("http://")
    signed = f"http://user:{SECRETS[2]}@{address}?sig={SECRETS[1]}"
    for url, one in ((signed, web), (s3.url(), s3)):
        for status in (302, 400, 401, 404, 416, 503):
            one.faults.status = status
            error = error_of(partial(read_whole, url, 1 << 20))
            assert (str(error) == "the server redirects every request") == (
                one is s3 and status == 302
            )
            one.faults.status = 0


PROGRAM = """
import sys
import threading
from evalstream.io.remote import RemoteReader, retry
from evalstream.model.errors import install_command
retry.BLOCK_BYTES, retry.PAUSE_SECONDS = 1000, 0.001
retry.STALL_SECONDS = float(sys.argv[2])
reader = RemoteReader(sys.argv[1])
print(reader.wait(0.1))
while sys.argv[3:] and reader.read():
    pass
"""


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "dev", "-c", PROGRAM, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False, env=dict(os.environ)
    )


def test_does_not_keep_a_process_from_its_end(store: Store) -> None:
    url = store.url()
    # A look at an object is a GET on the web only.
    store.faults.spares, store.faults.stalls = int(store.prefix[0] == "h"), 1000
    done = _run(url, str(10 * SECONDS))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "False\n"


def test_leaves_no_word_of_credentials_in_what_a_process_prints(web: Store, s3: Store) -> None:
    address = web.url().removeprefix("http://")
    signed = f"http://user:{SECRETS[2]}@{address}?sig={SECRETS[1]}"
    urls = (signed, s3.url())
    for one in (web, s3):
        one.faults.spares, one.faults.cuts = 3, 1000
    with ThreadPoolExecutor() as pool:
        ended = list(pool.map(lambda url: _run(url, "5", "on"), urls))
    for done in ended:
        assert done.returncode == 1
        assert "OSError" in done.stderr or "ConnectionError" in done.stderr
        assert not [secret for secret in SECRETS if secret in done.stderr + done.stdout]


NOTICING = """
import sys
import threading
from evalstream.io.remote import RemoteReader, retry
retry.PAUSE_SECONDS, retry.TRIES, retry.NOTICE_SECONDS = 0.001, 2, 0.2
retry.STALL_SECONDS = 1.0
try:
    RemoteReader(sys.argv[1]).read()
except OSError as error:
    print(error)
"""


def test_tells_that_a_server_stalls_and_gives_up(web: Store) -> None:
    web.faults.stalls = 1000
    url = web.url()
    done = subprocess.run(
        [sys.executable, "-c", NOTICING, f"{url}?sig={SECRETS[1]}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=dict(os.environ),
    )
    assert "waiting for the server for" in done.stderr
    assert "attempt 2 of 2 follows" in done.stderr
    assert SECRETS[1] not in done.stderr
    assert "tried 2 times" in done.stdout
