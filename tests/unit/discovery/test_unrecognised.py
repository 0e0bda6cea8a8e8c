"""Whatever lies in a searched folder is checked, or counted and named as not checked."""

import builtins
import gzip
import json
import os
import shutil
import socket
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from depth import in_turn, is_deep
from each import each
from paths import EXAMPLES, PAIRS

import evalstream
from evalstream.api.check import merge
from evalstream.discovery.inputs import find_runs
from evalstream.discovery.unrecognised import NAMED, Leftovers
from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report
from evalstream.model.run import Run

PAIR = PAIRS / "0.3.0"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand above a folder with one sound pair in it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(PAIR, "store")
    return Path("store")


@pytest.fixture
def rows(store: Path) -> Path:
    """The rows of the pair."""
    return next(store.rglob("*_samples.jsonl"))


def left_in(report: Report) -> Finding | None:
    """Return the findings on files that were not checked."""
    return next((one for one in report if one.code == "ES007"), None)


def counts_of(report: Report) -> dict[str, int]:
    """Return how many files of each kind were not checked."""
    finding = left_in(report)
    return {} if finding is None else dict(finding.found)


def outcome(path: Path | str, **settings: Any) -> tuple[int, dict[str, int]]:
    """Return the exit code of a check, and how many files of each kind were not checked."""
    report = evalstream.check(path, jobs=1, **settings)
    return report.exit_code, counts_of(report)


def make(store: Path, name: str, what: str | bytes) -> None:
    """Put a file, a link (`-> target`), a FIFO, a socket or a device's stand-in into a folder."""
    path = store / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(what, bytes):
        path.write_bytes(what)
    elif what == "fifo":
        os.mkfifo(path)
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.relpath(path))
    else:
        path.symlink_to(what.removeprefix("-> "))


LIKE = "JSON files with members of known documents"
JSON = "JSON files of unknown formats"
ROWS = "files named like rows"
OUT = "links that lead out of the folder"
NOWHERE = "links that lead nowhere"
SPECIAL = "FIFOs, sockets or devices"
OPEN = [
    ("a.json", b'{"schema_version": "0.3.0"}', LIKE),
    ("b/c.JSON", b'{"model_info": {}, "x": 1}', LIKE),
    ("one_row.json", b'{"evaluation_id": "e", "sample_id": "s", "model_id": "m"}', LIKE),
    ("x_samples.jsonl.zip", b"PK", ROWS),
    ("run.jsonl.tmp", b"{}", ROWS),
    ("run.NDJSON.7z", b"7z", ROWS),
    ("data.jsonl", b'{"prompt": "a", "completion": "b"}\n', ROWS),
    ("answers.jsonl", b'{"question_id": 1, "model_id": "m", "choices": []}\n', ROWS),
    ("columns.jsonl", json.dumps({f"c{n}": n for n in range(300)}).encode() + b"\n", ROWS),
    ("steps.jsonl", b'{"schema_version": "0-draft", "model_id": "m", "step": 1}\n', ROWS),
    ("long.jsonl", b'{"prompt": "a", "text": "%s"}\n' % (b"t" * 300_000), ROWS),
    ("names.jsonl", b'["a", "b"]\n["c"]\n', ROWS),
    ("benchmarks.jsonl", b'{"schema_version": "1.0", "bearers": {}, "analysts": []}\n', ROWS),
    ("dangling.jsonl", "-> nowhere.jsonl", NOWHERE),
    ("dangling", "-> nowhere", NOWHERE),
    ("circle.json", "-> circle.json", NOWHERE),
    ("out.jsonl", "-> ../outside/rows.jsonl", OUT),
    ("out.json", "-> ../outside/claims.json", OUT),
    ("out", "-> ../outside", OUT),
    ("away.jsonl", "-> /dev/null", OUT),
    ("above", "-> ..", OUT),
    ("pipe.jsonl", "fifo", SPECIAL),
    ("pipe", "fifo", SPECIAL),
    ("server", "socket", SPECIAL),
    ("aggregate.json.gz", b'{"evaluation_results": []}', LIKE),
]
FIRST = {kind: name for name, _, kind in reversed(OPEN)}.values()
"""A name of each kind."""

MINDED = [
    ("config.json", b'{"jobs": 2}', JSON),
    ("summary.json", b'{"summary": {}, "items": []}', JSON),
    ("nan.json", b'{"MC1": 0.5, "MC2": NaN, "x": "%s"}' % (b"x" * 300_000), JSON),
    ("lines.json", b'{"id": 1, "answer": "a"}\n{"id": 2, "answer": "b"}\n', JSON),
    ("questions.json", b'{"format_version": "1", "items": ["%s"]}' % (b"q" * 300_000), JSON),
    (
        "words.json",
        json.dumps(
            {f"w{n}": ["w"] for n in range(300)}
            | {
                "instance": ["x"],
                "symmetric": ["y"],
                "results": 1,
                "versions": 2,
                "configs": 3,
                "config": 4,
            }
        ).encode(),
        JSON,
    ),
    ("runs.json", b'{"tests": [{"id": "1", "input": "a"}], "runs": [{"pass_rate": 1}]}', JSON),
    ("times.json", b'{"elapsed_time": "02:23:09", "gpu": "A"}', JSON),
    ("list.json", b"[]", JSON),
    ("empty.json", b"{}", JSON),
    ("number.JSON", b"7", JSON),
    ("deep/er/settings.json", b'{"a": {"schema_version": "0.3.0"}}', JSON),
    ("trajectory.json", b'{"schema_version": "ATIF-v1.6", "steps": []}', JSON),
]
NOTED = [
    ("README.md", b"# Results", "files of other kinds"),
    ("figure.png", b"\x89PNG", "files of other kinds"),
    ("notes.yaml", b"a: 1", "files of other kinds"),
    ("blank.yaml", b"", "files of other kinds"),
    ("link.md", "-> nowhere.md", "files of other kinds"),
    (".hidden.jsonl", b"{}", "hidden names"),
    (".git/config.json", b"{}", "hidden names"),
    ("flat/entries.jsonl", b'{"object_uuid": "u", "object_path": "p", "sha256": "d"}\n',
     "manifests, indexes and lists of entries of a datastore"),
]  # fmt: skip


@each(("name", "what", "kind"), OPEN)
def test_what_may_hold_data_leaves_the_verdict_open(
    store: Path, name: str, what: str | bytes, kind: str
) -> None:
    Path("outside").mkdir()
    Path("outside/rows.jsonl").write_bytes(b"{}\n")
    Path("outside/claims.json").write_bytes(b'{"evaluation_results": []}')
    make(store, name, what)
    report = evalstream.check(store, jobs=1)
    assert (report.exit_code, counts_of(report), report.passed) == (3, {kind: 1}, False)
    (pair, left) = report.runs
    assert (pair.verdict, left.file, left.verdict) == ("passed", "store", "incomplete")
    assert name in (left.incomplete_reason or "")
    finding = left_in(report)
    assert finding is not None
    assert (finding.file, finding.severity) == ("store", Severity.WARNING)
    if not (is_deep() or name in FIRST):
        return
    assert outcome(store, strict=True)[0] == 1
    assert outcome(store, profile="datastore")[0] == 1
    assert outcome(store, ignore=("ES007",)) == (3, {})
    assert outcome(store, exclude=[name.rsplit("/", maxsplit=1)[-1]], strict=True) == (0, {})


@each(("name", "what", "kind"), MINDED)
def test_other_json_is_one_warning_that_settles(
    store: Path, name: str, what: bytes, kind: str
) -> None:
    make(store, name, what)
    report = evalstream.check(store, jobs=1)
    assert (report.exit_code, counts_of(report), report.passed) == (0, {kind: 1}, True)
    assert len(report.runs) == report.totals.runs == 1
    assert report.counts == {"ES007": 1}
    strict = evalstream.check(store, jobs=1, strict=True)
    assert (strict.exit_code, [run.verdict for run in strict.runs]) == (1, ["passed", "failed"])
    assert outcome(store, profile="datastore") == (1, {kind: 1})
    settled = evalstream.check(store, jobs=1, strict=True, exclude=[name])
    assert (settled.exit_code, settled.counts, settled.totals.excluded) == (0, {}, 1)


@each(("name", "what", "kind"), NOTED)
def test_what_is_no_data_is_noted(store: Path, name: str, what: str | bytes, kind: str) -> None:
    make(store, name, what)
    for settings in ({}, {"strict": True}, {"strict": True, "profile": "datastore"}):
        report = evalstream.check(store, jobs=1, **settings)
        assert (report.exit_code, counts_of(report), report.passed) == (0, {kind: 1}, True)
        finding = left_in(report)
        assert finding is not None
        assert finding.severity is Severity.INFO


@each("ending", [".JSONL", ".jsonlines", ".JsonLines", ".Ndjson", ".jsonl.GZ", ".JSONL.xz"])
def test_rows_are_rows_whatever_the_case_of_their_ending(
    rows: Path, store: Path, ending: str
) -> None:
    data = rows.read_bytes()
    if ending.lower().endswith((".gz", ".xz")):
        import gzip
        import lzma

        data = (gzip if ending.endswith("GZ") else lzma).compress(data)
    rows.unlink()
    stem = str(rows).removesuffix(".jsonl")
    Path(stem + ending).write_bytes(data)
    aggregate = stem.removesuffix("_samples") + ".json"
    for named in (store, aggregate, stem + ending):
        report = evalstream.check(named, jobs=1)
        (run,) = report.runs
        assert (run.file, run.aggregate, run.rows) == (stem + ending, aggregate, 8)
        assert not counts_of(report)
    Path(stem + ending).write_bytes(data[:-40])
    assert evalstream.check(store, jobs=1).exit_code == 1


def test_rows_of_any_ending_are_found_alone(store: Path, rows: Path) -> None:
    shutil.copy(rows, "store/x_samples.JSONL")
    report = evalstream.check(store, jobs=1)
    assert {run.file for run in report.runs} == {str(rows), "store/x_samples.JSONL"}


def test_an_array_of_rows_is_checked(store: Path, rows: Path) -> None:
    lines = list(map(json.loads, rows.read_bytes().splitlines()))
    Path("store/rows.json").write_text(json.dumps(lines))
    Path("store/lines.json").write_bytes(rows.read_bytes())
    report = evalstream.check(store, jobs=1, ignore=("ES9", "ES4"))
    assert {run.file: run.rows for run in report.runs} == {
        "store/rows.json": 8, "store/lines.json": 8, str(rows): 8,
    }  # fmt: skip


def test_a_broken_aggregate_is_still_an_error(store: Path) -> None:
    for text in (b"{", b'{"evaluation_results": [', b'{"model_info": 1', b"\xff\xfe{"):
        Path("store/broken.json").write_bytes(text)
        assert outcome(store) == (1, {})


def test_a_broken_file_of_no_known_format_fails_by_its_name_or_rows(store: Path) -> None:
    for text in (b'{"name": "x", "dep', b'{\n  // with comments\n  "files": []\n}'):
        Path("store/other.json").write_bytes(text)
        assert outcome(store) == (0, {"broken JSON files of unknown formats": 1})
        assert evalstream.check("store/other.json").counts == {"ES103": 1}
    Path("store/stats.json").write_bytes(text)
    assert evalstream.check(store).counts["ES103"] == 1
    shutil.copytree(EXAMPLES / "harpia", store / "harpia")
    Path("store/harpia/input.json").write_bytes(b'{"tasks": [')
    assert evalstream.check(store).counts["ES103"] == 2
    shutil.rmtree(store / "harpia")
    Path("store/other.jsonl").write_bytes(b"{}\n")
    assert evalstream.check(store).counts["ES103"] == 2


def test_links_inside_are_walked_once(store: Path, rows: Path) -> None:
    Path("store/again.jsonl").symlink_to(os.path.relpath(rows, store))
    Path("store/folder").symlink_to("data")
    Path("store/loop").symlink_to(".")
    Path("store/absolute.jsonl").symlink_to(rows.absolute())
    report = evalstream.check(store, jobs=1)
    assert (report.exit_code, report.counts, len(report.runs)) == (0, {}, 1)


def test_a_link_to_what_is_not_walked_is_followed_inside(store: Path, rows: Path) -> None:
    """As in a cache, where data files have names without an ending."""
    blob = store / "blobs" / "0123"
    blob.parent.mkdir()
    rows.rename(blob)
    rows.symlink_to(os.path.relpath(blob, rows.parent))
    report = evalstream.check(store, jobs=1)
    assert [run.file for run in report.runs] == [str(rows)]
    assert (report.exit_code, counts_of(report)) == (0, {"files of other kinds": 1})
    blob.write_bytes(blob.read_bytes()[:-30])
    assert evalstream.check(store, jobs=1).exit_code == 1


def test_a_link_to_a_hidden_folder_leaves_the_verdict_open(store: Path) -> None:
    make(store, ".cache/run.jsonl", b"{}\n")
    make(store, "cache", "-> .cache")
    assert outcome(store) == (3, {"links to hidden folders": 1, "hidden names": 1})


def test_kinds_are_counted_exactly_and_the_first_are_named(store: Path) -> None:
    for number in range(30, 0, -1):
        make(store, f"z/{number:02}.json", b"{}")
        make(store, f"{number:02}.jsonl.zip", b"")
    finding = left_in(evalstream.check(store, jobs=1))
    assert finding is not None
    assert finding.found == {ROWS: 30, JSON: 30}
    named = ", ".join(f"{number:02}.jsonl.zip" for number in range(1, NAMED + 1))
    assert f"30 {ROWS} ({named}, …), 30 {JSON} (z/01.json, " in finding.message
    assert finding.message.startswith("60 names were not checked: ")


def test_leftovers_are_bounded_and_sorted() -> None:
    left = Leftovers()
    tracemalloc.start()
    for number in range(20_000):
        left.add("json", f"{(number * 7919) % 20_000:05}.json")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    found = left.of("x")
    assert found is not None
    assert peak < 1 << 16
    assert (found.kinds[0].number, found.kinds[0].first[0]) == (20_000, "00000.json")


def test_patterns_search_as_folders_do(store: Path) -> None:
    make(store, "x.jsonl.zip", b"")
    for pattern in ("store/**", "store/", "./store", "st*/**"):
        assert outcome(pattern) == (3, {ROWS: 1})
        assert outcome(pattern, exclude=["*.zip"]) == (0, {})


@each(
    ("pattern", "expected"),
    [
        ("*.json", {"x", "b"}), ("logs", {"x", "y", "b"}), ("logs/*", {"x", "y", "b"}),
        ("logs/x.json", {"x"}), ("x.json", {"x"}), ("*", {"x", "y", "b", "pair"}), ("s", set()),
        ("[xy].js*", {"x", "y"}), ("logs/", {"x", "y", "b"}), ("store/logs/*", set()),
    ],
)  # fmt: skip
def test_patterns_of_exclusion(store: Path, pattern: str, expected: set[str]) -> None:
    make(store, "logs/x.json", b"{}")
    make(store, "logs/deep/b.json", b"{}")
    make(store, "logs/y.jsonl", b"{}\n")
    report = evalstream.check(store, jobs=1, exclude=[pattern], select=("ES0",))
    files = {run.file or "" for run in report.runs}
    still = {"y": "store/logs/y.jsonl" in files, "pair": any("_samples" in one for one in files)}
    left = left_in(report)
    message = "" if left is None else left.message
    still |= {"x": "logs/x.json" in message, "b": "logs/deep/b.json" in message}
    if pattern == "*.json":
        still["pair"] = True  # its rows are left, without their aggregate
    assert {name for name, is_there in still.items() if not is_there} == expected
    assert bool(report.totals.excluded) == bool(expected)


def test_excluded_rows_are_not_checked_in_secret(store: Path, rows: Path) -> None:
    report = evalstream.check(store, jobs=1, exclude=["*_samples.jsonl"])
    assert (report.exit_code, report.totals.excluded, report.totals.rows) == (3, 1, 0)
    assert rows.exists()


def test_reports_say_what_was_excluded(store: Path, tmp_path: Path) -> None:
    from evalstream.io.output import Output
    from evalstream.reporters.json import JsonReporter
    from evalstream.reporters.text import TextReporter

    make(store, "config.json", b"{}")
    told = tmp_path / "told"
    with Output(str(told)) as output:
        evalstream.check(store, exclude=["config.json"], reporter=JsonReporter(output))
    document = json.loads(told.read_text())
    assert (document["totals"]["excluded"], document["totals"]["runs"]) == (1, 1)
    with Output(str(told)) as output:
        evalstream.check(store, exclude=["config.json"], reporter=TextReporter(output))
    assert told.read_text().splitlines()[-1] == "1 name left out by --exclude"


def test_our_own_reports_are_no_rows(store: Path) -> None:
    Path("store/bad.jsonl").write_text('{"evaluation_id": "e", "sample_id": "s"}\n')
    accepted, rejected = "store/good.jsonl", "store/rejected.jsonl"
    evalstream.check("store/bad.jsonl", accepted=accepted, rejected=rejected)
    assert counts_of(evalstream.check(store, jobs=1)) == {
        "empty files": 1,
        "reports of evalstream": 1,
    }


def test_shards_and_workers_say_the_same(store: Path, tmp_path: Path) -> None:
    from evalstream.batch.parts import PartReporter
    from evalstream.io.output import Output

    for name, what, _ in [*OPEN[:5], *MINDED, *NOTED]:
        make(store, name, what)
    for number in range(5):
        shutil.copytree(PAIR, store / "more" / str(number))
    settings: dict[str, Any] = {"exclude": ["number.*"], "ignore": ("ES9",)}
    expected = evalstream.check(["store", "store/data"], jobs=1, **settings)
    assert expected.totals.excluded == 1
    assert counts_of(expected)[JSON] == 12
    several = evalstream.check(["store", "store/data"], jobs=2, **settings)
    parts = []
    for number in (1, 2, 3):
        parts.append(tmp_path / f"{number}.jsonl")
        with Output(str(parts[-1])) as output:
            reporter = PartReporter(output)
            shard = f"{number}/3"
            evalstream.check(["store", "store/data"], shard=shard, reporter=reporter, **settings)
    merged = merge(parts)
    for other in (several, merged):
        assert list(other) == list(expected)
        assert [run.file for run in other.runs] == [run.file for run in expected.runs]
        assert other.totals.as_dict() == expected.totals.as_dict()
        assert other.exit_code == expected.exit_code == 3


def test_a_ledger_skips_the_runs_and_says_the_rest_again(store: Path, tmp_path: Path) -> None:
    make(store, "config.json", b"{}")
    ledger = tmp_path / "ledger"
    os.utime(store, (1, 1))
    first = evalstream.check(store, ledger=ledger, jobs=1)
    again = evalstream.check(store, ledger=ledger, jobs=1)
    assert list(first) == list(again)
    assert counts_of(again) == {JSON: 1}


def test_a_folder_with_nothing_else_is_nothing_to_check(tmp_path: Path) -> None:
    make(tmp_path, "config.json", b"{}")
    report = evalstream.check(tmp_path)
    assert (report.exit_code, report.counts, report.passed) == (3, {"ES005": 1, "ES007": 1}, False)


def test_found_is_what_lies_there(store: Path) -> None:
    make(store, "config.json", b"{}")
    finding = left_in(evalstream.check(store))
    assert finding is not None
    assert (finding.found, finding.expected, finding.pointer) == ({JSON: 1}, None, None)
    assert CATALOGUE["ES007"].severity is Severity.WARNING


def test_a_named_file_is_never_left_over(store: Path) -> None:
    make(store, "x.jsonl.zip", b"")
    runs = list(find_runs([str(next(store.rglob("*.json"))), "store/x.jsonl.zip"]))
    assert isinstance(runs[0], Run)
    assert not isinstance(runs[1], Run)


HIDING = {
    "a finding": {"code": "ES1", "name": "n", "severity": "error", "file": "f", "message": "m"},
    "an index": {"object_uuid": "u", "object_path": "p", "sha256": "d"},
    "an event": {"event": "run.started"},
    "a summary": {"summary": {"tool": 1, "runs": []}},
}


@each(("kind", "packed"), in_turn(list(HIDING), [False, True]))
def test_no_first_line_hides_the_rows_behind_it(
    store: Path, rows: Path, kind: str, packed: bool
) -> None:
    first = HIDING[kind]
    lines = json.dumps(first).encode() + b"\n" + rows.read_bytes()
    name = "other.jsonl.gz" if packed else "other.jsonl"
    make(store, name, gzip.compress(lines) if packed else lines)
    shutil.copytree(EXAMPLES / "infereval", store / "infereval")
    assert outcome(store)[0] in (1, 3)
    # Lines of one kind alone are what they seem to be.
    alone = json.dumps(first).encode() * 1 + b"\n" + json.dumps(first).encode() + b"\n"
    make(store, name, gzip.compress(alone) if packed else alone)
    assert outcome(store)[0] == 0


def test_no_first_line_hides_what_cannot_be_read(store: Path) -> None:
    line = json.dumps(HIDING["a finding"]).encode() + b"\n"
    make(store, "other.jsonl.gz", gzip.compress(line * 4_000) + b"\x1f\x8b\x08")
    assert outcome(store)[0] == 1


def test_a_report_with_long_lines_is_one(store: Path) -> None:
    line = {**HIDING["a finding"], "message": "x" * 700_000}
    make(store, "other.jsonl", (json.dumps(line) + "\n").encode() * 3)
    assert outcome(store)[0] == 0


def test_members_of_an_aggregate_are_not_hidden_by_others(store: Path) -> None:
    make(store, "other.json", json.dumps({**HIDING["a finding"], "model_info": {}}).encode())
    assert outcome(store) == (3, {LIKE: 1})


@pytest.mark.parametrize("target", ["-> nowhere", "-> ../outside.txt"])
def test_a_link_is_named_like_rows_as_a_file_is(store: Path, target: str) -> None:
    Path("outside.txt").touch()
    make(store, "other.jsonl.txt", target)
    assert outcome(store)[0] == 3


@each("name", ["other.yaml", "other.eval", "other.parquet", "other.yaml.gz"])
def test_what_cannot_be_read_may_be_data(
    store: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    make(store, name, b"a: 1\n")
    for owner in (os, builtins):
        opened = owner.open

        def refusing(path: Any, *arguments: Any, opened: Any = opened, **named: Any) -> Any:
            if str(path).endswith(name):
                raise PermissionError(13, "Permission denied")
            return opened(path, *arguments, **named)

        monkeypatch.setattr(owner, "open", refusing)
    report = evalstream.check(store)
    assert (report.exit_code, report.counts["ES001"]) == (3, 1)


def test_an_empty_file_fails_by_its_name_or_its_other_half(store: Path) -> None:
    make(store, "errors.jsonl", b"")
    assert outcome(store) == (0, {"empty files": 1})
    assert evalstream.check(store / "errors.jsonl").counts["ES504"] == 1
    make(store, "prices.json", b"")
    assert outcome(store) == (0, {"empty files": 2})
    make(store, "errors.json", b'{"evaluation_results": []}')
    make(store, "results_1.jsonl", b"")
    make(store, "blank.jsonl", b"\n")
    make(store, "prices.jsonl", b"{}\n")
    counts = evalstream.check(store).counts
    assert (counts["ES504"], counts["ES103"]) == (3, 1)


@each("name", ["other.jsonl", "other.json", "other.eval", "other.json.gz"])
@pytest.mark.parametrize(
    ("text", "command"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n", "git lfs pull"),
        (b"/annex/objects/SHA256E-s7--0\n", "git annex get"),
    ],
)
def test_a_pointer_is_not_the_file(store: Path, name: str, text: bytes, command: str) -> None:
    make(store, name, text)
    for path in (store, store / name):
        report = evalstream.check(path)
        (found,) = (one for one in report if one.severity is Severity.ERROR)
        assert (report.exit_code, found.code, command in found.message) == (3, "ES001", True)
