"""A store on a hub: one pinned listing, and then only the files that must be read."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from each import each
from fake_hub import FakeHub
from made_store import make_record, make_store, object_at, uuid_of, write_record

import evalstream
from evalstream.api.store import admit, verify
from evalstream.io.remote import hub as hub_files
from evalstream.io.remote import retry
from evalstream.io.remote.hub import parse_hub
from evalstream.io.remote.store import ETAG
from evalstream.store import verify as verify_module

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")

pytestmark = pytest.mark.leaves_threads

SPARE = 10


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """Serve a made store, and forget what earlier tests learned of it."""
    served = FakeHub(folder=make_store(tmp_path / "served"))
    monkeypatch.setenv("HF_ENDPOINT", f"http://{served.address}")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(hub_files, "_KNOWN", hub_files._Listings())
    monkeypatch.setattr(retry, "PAUSE_SECONDS", 0.01)
    yield served
    served.close()


def files_in(folder: Path, *below: str) -> int:
    """Return the number of files below some folders."""
    return sum(one.is_file() for name in below for one in (folder / name).rglob("*"))


def test_a_sound_store_passes_with_one_request_a_file(hub: FakeHub) -> None:
    hub.page = 7
    report = verify(hub.url)
    assert (report.exit_code, set(report.counts)) == (0, set())
    pages = -(-files_in(hub.folder, "") // 7)
    assert hub.count("/tree/") == pages
    assert len(hub.paths) == 1 + pages + files_in(hub.folder, "flat", "data")
    assert {f"/{hub_files.ENDPOINT}" in path for path in hub.paths} == {False}


def test_level_manifest_reads_no_object(hub: FakeHub) -> None:
    assert verify(hub.url, level="manifest").exit_code == 0
    assert hub.count("/objects/") == hub.count("/resolve/" + "c" * 40 + "/data/") == 0


def test_digests_of_the_host_save_reading_and_the_verdict_says_so(hub: FakeHub) -> None:
    report = verify(hub.url, trust_host_digests=True)
    assert report.exit_code == 0
    aggregates = len(list((hub.folder / "flat/objects").rglob("*.json")))
    rows = len(list((hub.folder / "flat/objects").rglob("*.jsonl")))
    assert hub.count("/resolve/" + "c" * 40 + "/flat/objects/") == aggregates
    assert hub.count("/resolve/" + "c" * 40 + "/data/") == 0
    (checked,) = [one.text for one in report.runs[0].checked if "trusted" in one.text]
    assert f"{aggregates + 2 * rows:,} not read" in checked


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("ending", [".json", "_samples.jsonl"])
def test_a_forged_object_is_found(hub: FakeHub, ending: str, trust: bool) -> None:
    path = object_at(hub.folder, uuid_of(0), ending)
    path.write_bytes(path.read_bytes().replace(b"0", b"1", 1))
    assert "ES924" in verify(hub.url, trust_host_digests=trust).counts


@pytest.mark.parametrize("trust", [False, True])
def test_a_forged_file_of_data_is_found(hub: FakeHub, trust: bool) -> None:
    (path,) = (hub.folder / "data").rglob(f"{uuid_of(0)}.json")
    path.write_bytes(path.read_bytes().replace(b"0.75", b"0.95", 1))
    assert set(verify(hub.url, trust_host_digests=trust).counts) == {"ES927"}


def test_a_second_run_by_ledger_reads_no_object(hub: FakeHub, tmp_path: Path) -> None:
    ledger = tmp_path / "store.ledger"
    first = verify(hub.url, ledger=ledger)
    hub.reset()
    second = verify(hub.url, ledger=ledger)
    assert (first.exit_code, second.exit_code) == (0, 0)
    paths = [one for name in ("flat/objects", "data") for one in (hub.folder / name).rglob("*")]
    read = sum(one.stat().st_size for one in paths if one.is_file())
    assert [one.runs[0].bytes for one in (first, second)] == [read, 0]
    assert hub.count("/objects/") == hub.count("/resolve/" + "c" * 40 + "/data/") == 0


def test_limits_are_waited_for(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_files, "MOST_PAUSE_SECONDS", 0.01)
    hub.limits = [{"Retry-After": "7"}, {"RateLimit": '"api";r=0;t=55'}]
    assert verify(hub.url, level="manifest").exit_code == 0
    assert not hub.limits


def test_limits_and_errors_cost_one_request_each(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_files, "MOST_PAUSE_SECONDS", 0.01)
    hub.limits, hub.broken = [{"Retry-After": "7"}, {"Retry-After": "soon"}], 2
    assert verify(hub.url).exit_code == 0
    assert len(hub.paths) == 1 + 1 + files_in(hub.folder, "flat", "data") + 4


@pytest.mark.parametrize("headers", [{"Retry-After": "86400"}, {}])
def test_a_limit_without_end_is_not_waited_for_without_end(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    monkeypatch.setattr(hub_files, "MOST_PAUSE_SECONDS", 0.01)
    hub.limits = [headers] * 100
    report = verify(hub.url)
    assert (report.exit_code, len(hub.paths)) == (3, retry.TRIES)


def test_a_hub_that_breaks_down_amid_the_files_leaves_the_check_incomplete(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = FakeHub._send

    def send_or_fail(self: FakeHub, folder: Path, name: str, part: str | None) -> Any:
        is_object = name.startswith("flat/objects/")
        return hub_answer(503) if is_object else send(self, folder, name, part)

    monkeypatch.setattr(FakeHub, "_send", send_or_fail)
    report = verify(hub.url)
    assert (report.exit_code, set(report.counts)) == (3, {"ES001"})
    assert hub.count("/flat/objects/") <= retry.TRIES * files_in(hub.folder, "flat/objects")


def test_a_hub_that_answers_nothing_more_ends_the_check(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_module, "_MOST_UNREAD", 3)
    contents = ("flat/objects/", "data/")
    send = FakeHub._send

    def send_or_fail(self: FakeHub, folder: Path, name: str, part: str | None) -> Any:
        return hub_answer(403) if name.startswith(contents) else send(self, folder, name, part)

    monkeypatch.setattr(FakeHub, "_send", send_or_fail)
    report = verify(hub.url, level="rows")
    assert (report.exit_code, len(report.runs)) == (3, 1)
    messages = [one.message for one in report]
    assert any("3 files in a row cannot be read" in one for one in messages)
    assert len(messages) < files_in(hub.folder, "flat/objects")


def test_a_spent_limit_delays_the_next_request() -> None:
    assert hub_files._asked_pause({"RateLimit": '"api";r=0;t=55'}) == 55
    assert hub_files._asked_pause({"RateLimit": '"api";r=3;t=55'}) == 0
    assert hub_files._asked_pause({"Retry-After": "12"}) == 12
    assert hub_files._asked_pause({"Retry-After": "99999"}) == hub_files.MOST_PAUSE_SECONDS


@pytest.mark.parametrize("fault", ["refuses", "cuts"])
def test_passing_faults_are_tried_again(hub: FakeHub, fault: str) -> None:
    setattr(hub.faults, fault, 2)
    assert verify(hub.url).exit_code == 0


@pytest.mark.parametrize("status", [403, 500])
def test_a_hub_that_does_not_answer_leaves_the_check_incomplete(hub: FakeHub, status: int) -> None:
    hub.faults.status = status
    report = verify(hub.url)
    assert (report.exit_code, set(report.counts)) == (3, {"ES001"})


def test_a_page_that_fails_for_good_leaves_the_check_incomplete(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.page = 7
    monkeypatch.setattr(FakeHub, "_list", lambda *_: hub_answer(503))
    assert verify(hub.url).exit_code == 3


def hub_answer(status: int) -> Any:
    """Return an answer without a body."""
    from stores import Answer

    return Answer(status, {}, b"{}")


@pytest.mark.parametrize("ending", [".json", "_samples.jsonl"])
def test_bytes_that_are_not_those_of_the_listing_are_not_taken(hub: FakeHub, ending: str) -> None:
    hub.spoiled = object_at(hub.folder, uuid_of(0), ending).relative_to(hub.folder).as_posix()
    report = verify(hub.url)
    assert (report.exit_code, set(report.counts)) == (3, {"ES001"})
    assert "not those of the hub's listing" in next(iter(report)).message


def test_check_of_a_folder_reads_each_file_once(hub: FakeHub) -> None:
    report = evalstream.check(f"{hub.url}/data", ignore=("ES805",), jobs=1)
    assert report.exit_code == 0
    assert len(report.runs) == 6
    names = [path for path in hub.paths if "/resolve/" in path]
    # An aggregate without rows beside it is read to see what it is, and again to check it.
    bare = 2 * 2
    assert len(names) <= files_in(hub.folder, "data") + bare
    assert len(hub.paths) <= len(names) + 1 + SPARE


def test_check_of_one_file_needs_no_listing(hub: FakeHub) -> None:
    name = object_at(hub.folder, uuid_of(0)).relative_to(hub.folder).as_posix()
    report = evalstream.check(f"{hub.url}@refs%2Fpr%2F7/{name}", ignore=("ES805",))
    assert [run.verdict for run in report.runs] == ["unconfirmed"] or report.exit_code == 0
    assert hub.count(name) <= 4


@pytest.mark.parametrize(("forged", "code"), [(False, 0), (True, 1)])
def test_admit_takes_the_url_of_a_request(
    hub: FakeHub, tmp_path: Path, forged: bool, code: int
) -> None:
    hub.request = Path(shutil.copytree(hub.folder, tmp_path / "request"))
    write_record(hub.request, make_record(8))
    if forged:
        (path,) = (hub.request / "data").rglob(f"{uuid_of(0)}.json")
        path.write_bytes(path.read_bytes().replace(b"0.75", b"0.95"))
    report = admit([f"{hub.url}@refs/pr/7"], hub.url)
    assert report.exit_code == code
    assert set(report.counts) == ({"ES927"} if forged else set())
    assert hub.count("/tree/") == 2
    assert len(report.runs) == 2


@each(
    ("url", "place"),
    [
        ("hf://datasets/org/name", ("datasets", "org/name", "main", "")),
        ("hf://datasets/org/name@v1/a/b.json", ("datasets", "org/name", "v1", "a/b.json")),
        ("hf://datasets/o/n@refs/pr/7/a", ("datasets", "o/n", "refs/pr/7", "a")),
        ("hf://datasets/o/n@refs%2Fpr%2F7/a/", ("datasets", "o/n", "refs/pr/7", "a")),
        ("hf://org/model/a", ("models", "org/model", "main", "a")),
    ],
)
def test_urls_are_parsed(url: str, place: tuple[str, ...]) -> None:
    assert tuple(parse_hub(url)) == place


@pytest.mark.parametrize(("ending", "kind"), [("_samples.jsonl", "sha256"), (".json", "blob")])
def test_the_mark_of_a_file_is_its_digest(hub: FakeHub, ending: str, kind: str) -> None:
    name = object_at(hub.folder, uuid_of(0), ending).relative_to(hub.folder).as_posix()
    one = hub_files.HubObject(f"{hub.url}/{name}", "hf")
    mark = one.get_info().marks[ETAG]
    one.close()
    assert mark.startswith(f"{kind}:")
