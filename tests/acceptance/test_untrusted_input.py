"""Nothing outside of what was named is opened, whatever the files say: SECURITY.md."""

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from depth import deep, examples, in_turn, some
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import EXAMPLES, PAIRS, REPOSITORY

import evalstream
from evalstream.discovery.counterpart import allowed_folder, places
from evalstream.discovery.inputs import find_runs
from evalstream.io.containment import FolderBoundary, OutsideFolder
from evalstream.model.errors import UsageError
from evalstream.model.finding import Severity
from evalstream.model.run import Run

PAIR = PAIRS / "0.3.0"
DETAILS = "detailed_evaluation_results"
SECRET = b'{"evaluation_id": "secret", "password": "hunter2"}\n'


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with a store in it, and secrets above and beside the store."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(PAIR, "store")
    for secret in ("secret/rows.jsonl", "secret.jsonl", "neighbour/data/c/d/m/rows.jsonl"):
        Path(secret).parent.mkdir(parents=True, exist_ok=True)
        Path(secret).write_bytes(SECRET)
    return Path("store")


@pytest.fixture
def claims(store: Path) -> Path:
    """The aggregate of the store."""
    return next(store.rglob("*.json"))


@pytest.fixture
def rows(store: Path) -> Path:
    """The rows of the store."""
    return next(store.rglob("*.jsonl"))


def declare(claims: Path, path: Any) -> None:
    """Change what an aggregate declares as the path of its rows."""
    document = json.loads(claims.read_bytes())
    document[DETAILS]["file_path"] = path
    claims.write_text(json.dumps(document))


def watched(*paths: str, jobs: int = 1, profile: str = "") -> tuple[set[str], str]:
    """Check paths in a fork; return what it opened or listed, and what it said."""
    told, said = Path("told").absolute(), Path("said").absolute()
    told.unlink(missing_ok=True)
    with warnings.catch_warnings():
        # The thread of pytest-xdist holds no lock that the child needs.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            said.write_text(_check_heard(told, paths, jobs, profile))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    return set(told.read_bytes().decode(errors="replace").splitlines()), said.read_text()


def _check_heard(told: Path, paths: Sequence[str], jobs: int, profile: str) -> str:
    """Check paths and write down all that is opened or listed meanwhile; return its output."""
    file, settings = told.open("ab", buffering=0), {"profile": profile} if profile else {}

    def hear(event: str, given: tuple[Any, ...]) -> None:
        if (
            event in ("open", "os.listdir", "os.scandir", "os.link", "os.rename", "os.remove")
            and isinstance(given[0], str | bytes)
            and given[0] != str(told.with_name("said"))
        ):
            file.write(os.fsencode(os.path.abspath(given[0])) + b"\n")

    sys.addaudithook(hear)
    report = evalstream.check(list(paths), jobs=jobs, **settings)
    runs = [f"{run.as_dict()} {run.incomplete_reason}" for run in report.runs]
    return "\n".join([*(str(one.as_dict()) for one in report), *runs, str(report.exit_code)])


def outside(opened: set[str]) -> set[str]:
    """Return what was opened of the working folder beyond the store."""
    here = os.path.realpath(".")
    return {
        path
        for path in opened
        if (path == here or path.startswith(f"{here}/")) and not path.startswith(f"{here}/store")
    } - {f"{here}/told"}


LEADING_OUT = [
    "/etc/passwd",
    "../secret.jsonl",
    "../../../../../../secret.jsonl",
    "../../../../../../secret/rows.jsonl",
    "../../../../../../../../../../../../etc/passwd",
    "data/../../secret.jsonl",
    "./../x.jsonl",
    "/proc/self/environ",
    "//etc/passwd",
]
NOWHERE = ["etc/passwd", "secret.jsonl", "secret/rows.jsonl", "neighbour/data/c/d/m/rows.jsonl",
           "data/.ssh/id.jsonl", "~/x.jsonl", "$HOME/x.jsonl", "file:///etc/passwd",
           "s3://bucket/x.jsonl", "..", "C:\\x.jsonl", "data"]  # fmt: skip


@pytest.mark.parametrize(
    ("declared", "named"), in_turn([*LEADING_OUT, *NOWHERE], ["store", "claims"])
)
def test_a_declared_path_never_leads_out(
    store: Path, claims: Path, rows: Path, declared: str, named: str
) -> None:
    rows.unlink()
    declare(claims, declared)
    path = str(store if named == "store" else claims)
    report = evalstream.check(path, jobs=1, ignore=("ES2",))
    (run,) = report.runs
    assert (run.file, run.rows, run.aggregate) == (None, 0, str(claims))
    assert run.verdict != "passed"
    leads_out = declared in LEADING_OUT or declared == ".."
    assert report.exit_code == (1 if leads_out else 3)
    assert report.counts == {"ES009" if leads_out else "ES001": 1}
    (finding,) = report
    assert finding.pointer == "/detailed_evaluation_results/file_path"
    if leads_out:
        assert (finding.found, finding.severity) == (declared, Severity.ERROR)
    assert "hunter2" not in f"{list(report)}{report.runs}"
    ignored = evalstream.check(path, jobs=1, ignore=("ES2", "ES009"))
    assert ignored.exit_code == 3
    datastore = evalstream.check(path, jobs=1, profile="datastore", select=("ES0", "ES902"))
    assert datastore.counts == {"ES009" if leads_out else "ES902": 1}


@pytest.mark.parametrize(
    ("declared", "jobs"),
    [
        ("../secret.jsonl", 1),
        ("/etc/passwd", 2),
        *(deep(name, jobs) for name in ("../secret.jsonl", "secret.jsonl") for jobs in (1, 2)),
        deep("/etc/passwd", 1),
    ],
)
def test_nothing_outside_is_opened_or_listed(
    store: Path, claims: Path, rows: Path, declared: str, jobs: int
) -> None:
    rows.unlink()
    declare(claims, declared)
    shutil.copytree(store, "store/more")
    for link, target in (
        ("store/link.jsonl", "../secret.jsonl"), ("store/link.json", "../secret.jsonl"),
        ("store/folder", "../secret"), ("store/link.yaml", "../secret.jsonl"),
        ("store/data/rows.jsonl", "/etc/passwd"), ("store/up", "../.."),
        ("store/x_samples.jsonl", "../secret.jsonl"), ("store/a", "b"), ("store/b", "a"),
    ):  # fmt: skip
        Path(link).symlink_to(target)
    Path("store/x.json").write_bytes(claims.read_bytes())
    ways = [
        (paths, profile)
        for paths in (["store"], [str(claims), "store/x.json"], ["store/**"])
        for profile in ("datastore", "")
    ]
    for paths, profile in some(ways, 2):
        opened, said = watched(*paths, jobs=jobs, profile=profile)
        assert not outside(opened)
        assert "/etc/passwd" not in opened
        assert "hunter2" not in said
        assert any("/store" in path for path in opened)


def test_links_of_evalguard_are_not_followed_out(store: Path) -> None:
    shutil.copytree(EXAMPLES / "evalguard", "store/guard")
    Path("store/guard/metrics/out.yaml").symlink_to("../../../secret.jsonl")
    Path("store/guard/out").symlink_to("../../secret")
    opened, said = watched("store")
    assert not outside(opened)
    assert "EVG502" in said


@each(
    ("folder", "named", "beside", "remark"),
    [
        ("infereval", "evaluation.json", "benchmark.json", "there was no benchmark"),
        (
            *("helm/pens-model=acme_acorn-7b", "per_instance_stats.json", "scenario_state.json"),
            "0 of 8 instances scored again",
        ),
    ],
)
def test_a_document_leads_to_no_link_out_of_its_folder(
    store: Path, folder: str, named: str, beside: str, remark: str
) -> None:
    shutil.copytree(EXAMPLES / folder, "store/log", dirs_exist_ok=True)
    Path("store/log", beside).rename(f"secret/{beside}")
    Path("store/log", beside).symlink_to(f"../../secret/{beside}")
    opened, said = watched(f"store/log/{named}")
    assert not outside(opened)
    assert remark in said


def test_a_snapshot_of_the_hub_leads_to_its_own_blobs_alone(tmp_path: Path) -> None:
    repository = tmp_path / "hub" / "datasets--acme--results"
    snapshot, blobs = repository / "snapshots" / "0a1b2c", repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, name in enumerate(("run.jsonl", "aggregate.json")):
        shutil.copy(EXAMPLES / name, blobs / str(number))
        (snapshot / name).symlink_to(f"../../blobs/{number}")
    for named in (snapshot, snapshot.parent, *snapshot.iterdir()):
        report = evalstream.check(named)
        assert [run.verdict for run in report.runs] == ["passed"], named
        assert list(report) == []
    (tmp_path / "hub" / "secret.jsonl").write_bytes(SECRET)
    (blobs / "link").symlink_to("../../secret.jsonl")
    for target in ("../../blobs/link", "../../../secret.jsonl", "../../blobs/../../secret.jsonl"):
        (snapshot / "more.jsonl").symlink_to(target)
        report = evalstream.check(snapshot)
        assert [run.verdict for run in report.runs] == ["passed", "incomplete"], target
        (snapshot / "more.jsonl").unlink()
    blobs.rename(tmp_path / "elsewhere")
    blobs.symlink_to(tmp_path / "elsewhere")
    assert {run.verdict for run in evalstream.check(snapshot).runs} == {"incomplete"}


def test_rows_lead_to_no_aggregate_outside(store: Path, claims: Path, rows: Path) -> None:
    claims.rename("claims.json")
    claims.symlink_to(os.path.abspath("claims.json"))
    for named in (str(rows), "store"):
        opened, said = watched(named)
        assert not outside(opened)
        assert "'verdict': 'passed'" not in said


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_nothing_outside_is_asked_of_the_system(store: Path, claims: Path, rows: Path) -> None:
    rows.unlink()
    declare(claims, "secret.jsonl")
    for link, target in (("out.jsonl", "../secret.jsonl"), ("out", "../secret"),
                         ("out.json", "../secret/rows.jsonl")):  # fmt: skip
        (store / link).symlink_to(target)
    Path("store/y.json").write_bytes(claims.read_bytes())
    Path("store/y_samples.jsonl").symlink_to("../secret.jsonl")
    command = [sys.executable, "-m", "evalstream", "check", "store", str(claims), "store/y.json"]
    traced = subprocess.run(
        ["strace", "-f", "-qq", "-e", "trace=file", "-o", "calls", *command, "--jobs", "1"],
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    calls = Path("calls").read_text(errors="replace").splitlines()
    if not any("execve" in call for call in calls):
        pytest.skip(f"strace cannot trace here: {traced.stderr.decode()[:80]}")
    named = re.compile(r'"([^"]*)"')
    asked = {
        os.path.normpath(os.path.join(os.getcwd(), path))
        for call in calls
        if not call.split(" ", 1)[1].startswith("readlink")
        for path in named.findall(call.split(" = ")[0])
    }
    assert any(path.endswith("/store") for path in asked)
    here = os.path.realpath(".")
    assert not {path for path in asked if path.startswith((f"{here}/secret", f"{here}/neigh"))}


def test_rows_of_a_neighbouring_store_are_not_taken(store: Path, claims: Path, rows: Path) -> None:
    shutil.copytree("store", "copy")
    rows.unlink()
    inside = rows.relative_to("store")
    for declared in (f"../copy/{inside}", f"copy/{inside}", f"../../../../../copy/{inside}"):
        declare(claims, declared)
        for named in ("store", str(claims)):
            report = evalstream.check(named, jobs=1, ignore=("ES2",))
            assert not report.passed
            assert report.totals.rows == 0


def test_rows_beside_are_found_by_their_name_and_the_path_is_told(claims: Path, rows: Path) -> None:
    for declared in (f"/nowhere/{rows.name}", f"../../{rows.name}"):
        declare(claims, declared)
        for named in ("store", str(claims)):
            report = evalstream.check(named, jobs=1, ignore=("ES2",))
            assert (report.counts, report.totals.rows) == ({"ES507": 1}, 8)


def test_rows_are_found_above_data_and_beside(store: Path, claims: Path, rows: Path) -> None:
    for place, declared in (
        ("store/rows/x.jsonl", "rows/x.jsonl"),
        (f"{claims.parent}/deep/x.jsonl", "deep/x.jsonl"),
        (f"{claims.parent}/x.jsonl", "x.jsonl"),
        ("store/data/x.jsonl", "data/x.jsonl"),
    ):
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(rows, place)
        kept = rows.read_bytes()
        rows.unlink()
        declare(claims, declared)
        for named in ("store", str(claims)):
            report = evalstream.check(named, jobs=1, select=("ES0", "ES501"))
            assert [run.file for run in report.runs if run.aggregate] == [place], named
        rows.write_bytes(kept)
        Path(place).unlink()


def test_a_search_never_looks_above_its_folder(store: Path, claims: Path, rows: Path) -> None:
    shutil.move(rows, "store/x.jsonl")
    declare(claims, "x.jsonl")
    assert evalstream.check(claims, jobs=1, select=("ES0",)).totals.rows == 8
    report = evalstream.check("store/data", jobs=1, select=("ES0",))
    assert (report.totals.rows, report.exit_code) == (0, 3)


def test_an_aggregate_in_a_store_leads_to_no_other_place(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    declared = ["s3://other/x.jsonl", "/etc/passwd", "../../b/x.jsonl", "file:///etc/passwd",
                "x.jsonl?versionId=1", "simplecache::file:///etc/passwd", "a/b#c"]  # fmt: skip
    asked: list[str] = []
    exists = "evalstream.io.remote.exists"
    monkeypatch.setattr(exists, lambda url: asked.append(url) or False)
    for number, path in enumerate(declared):
        document = {"evaluation_results": [], DETAILS: {"file_path": path}}
        memory.pipe(f"/store/data/{number}.json", json.dumps(document).encode())
    memory.pipe("/b/x.jsonl", b"{}\n")
    for named in ("memory://store/", *(f"memory://store/data/{n}.json" for n in range(7))):
        for run in find_runs([named]):
            if isinstance(run, Run):
                assert run.rows is None
    assert asked
    assert all(url.startswith("memory://store/") for url in asked)
    assert not any(sign in url for url in asked for sign in ("?", "#", "::"))
    memory.store.clear()


@pytest.mark.parametrize(
    "reference", ["file:///etc/passwd", "http://127.0.0.1:9/x.json", "../secret.jsonl"]
)
def test_a_schema_refers_to_nothing_outside_itself(store: Path, rows: Path, reference: str) -> None:
    with pytest.raises(UsageError, match="not a usable JSON Schema"):
        evalstream.check(rows, schema=json.dumps({"$ref": reference}), jobs=1)


names = st.sampled_from(["a", "b", "data", "x.jsonl", "..", ".", ".h", "", "é", "a b"])
declarations = st.lists(names, min_size=1, max_size=6).map("/".join) | st.text(max_size=12)


@given(declared=declarations, folder=st.lists(names, max_size=4).map("/".join))
@settings(max_examples=examples(400), deadline=None)
def test_places_lie_below_the_root(declared: str, folder: str) -> None:
    folder = "/".join(part for part in folder.split("/") if part not in ("..", ".", ""))
    aggregate = f"{folder}/x.json" if folder else "x.json"
    for root in ("/srv/data/store", "/srv/store", "/", "s3://data/store/", "memory://"):
        for place in places(root, aggregate, declared):
            assert ".." not in place.split("/")[:-1]
            assert not place.startswith("/")


@each(
    ("path", "root"),
    [
        ("/a/b/x.json", "/a/b"), ("/a/data/b/x.json", "/a"), ("/a/data/b/data/c/x.json",
        "/a/data/b"), ("/data/a/x.json", "/data"), ("/x.json", "/"), ("/data/x.json", "/data"),
    ],
)  # fmt: skip
def test_the_root_of_a_named_file(path: str, root: str) -> None:
    assert allowed_folder(path) == root


def test_what_lies_in_the_root_of_the_disk_is_never_chosen() -> None:
    assert "etc/x.jsonl" not in list(places("/data", "a/x.json", "etc/x.jsonl"))
    assert list(places("/data", "a/x.json", "data/b/x.jsonl"))[1] == "b/x.jsonl"


parts = st.lists(st.sampled_from(["a", "b", "c", "..", ".", "l", "m", "out"]), max_size=5)


@given(links=st.lists(st.tuples(parts, parts), max_size=4), path=parts)
@settings(max_examples=examples(200), deadline=None)
def test_a_path_resolves_as_the_system_does_or_not_at_all(
    tmp_path_factory: pytest.TempPathFactory, links: Any, path: list[str]
) -> None:
    top = tmp_path_factory.mktemp("resolved")
    root = top / "root"
    (root / "a" / "b").mkdir(parents=True)
    (top / "secret").mkdir()
    (root / "a" / "c").write_text("")
    (root / "out").symlink_to("../secret")
    for place, target in links:
        link = root.joinpath(*(part for part in place if part not in ("..", "."))) / "l"
        if link.parent.is_dir() and not os.path.lexists(link):
            link.symlink_to("/".join(target) or ".")
    joined = "/".join(path)
    try:
        found = FolderBoundary(str(root)).resolve(joined)
    except OutsideFolder:
        return
    real = os.path.realpath(root / joined)
    if found is not None and os.path.exists(real):
        assert os.path.realpath(root / found) == os.path.normpath(root / found)
        assert real.startswith(str(root))
        assert os.path.samefile(root / found, real)


def test_as_many_links_are_followed_as_linux_follows(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("")
    for number in range(41):
        (tmp_path / f"{number + 1}").symlink_to(f"{number}")
    boundary = FolderBoundary(str(tmp_path))
    assert (boundary.resolve("40"), boundary.resolve("41")) == ("0", None)


def test_links_within_a_store_are_followed_and_links_that_were_named(
    store: Path, claims: Path, rows: Path
) -> None:
    """A store may keep equal rows once, and a user may name a link to a folder of another."""
    Path("store/pool").mkdir()
    shutil.move(rows, "store/pool/x.jsonl")
    rows.symlink_to(os.path.relpath("store/pool/x.jsonl", rows.parent))
    for named in ("store", str(claims), str(rows)):
        report = evalstream.check(named, jobs=1, select=("ES0", "ES501"))
        assert [(run.file, run.aggregate) for run in report.runs if run.aggregate] == [
            (str(rows), str(claims))
        ]
    shutil.copytree("store", "elsewhere", symlinks=True)
    Path("near").mkdir()
    Path("near/data").symlink_to("../elsewhere/data")
    moved = Path("near", *claims.parts[1:])
    report = evalstream.check(moved, jobs=1, select=("ES0",))
    assert report.runs[0].aggregate == str(moved)
    assert report.totals.rows in (0, 8)
