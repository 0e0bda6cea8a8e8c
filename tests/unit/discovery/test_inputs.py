"""Finding runs: the same as by the book, patterns, and memory that does not grow."""

import json
import os
import sqlite3
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import EXAMPLES
from reference_runs import NOTHING, Found, reference_runs

from evalstream.discovery.file_table import FileTable, listing_key, path_from_key
from evalstream.discovery.inputs import find_all, find_runs
from evalstream.discovery.peek import (
    AGGREGATE,
    BROKEN,
    OTHER,
    AggregatePeek,
    peek_aggregate,
    peek_document,
)
from evalstream.discovery.unrecognised import BROKEN as BROKEN_KIND
from evalstream.discovery.unrecognised import EMPTY, Unrecognised
from evalstream.io.names import printable
from evalstream.io.remote import Listed
from evalstream.io.spill_table import SpillTable
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.options import Options
from evalstream.model.run import NoInput, Run

DETAILS = "detailed_evaluation_results"
UNLIKE = AggregatePeek(BROKEN, detail=BROKEN_KIND)
FOLDERS = ("", "a/", "a/b/", "a.b/", "c/a/")
STEMS = ("a", "b", "a_samples", ".c", "é")
ENDINGS = (".json", ".json", ".jsonl", ".jsonl", ".ndjson", ".jsonl.gz", ".txt")


def aggregate(declared: Any = None) -> bytes:
    """Return an aggregate that declares a path, or nothing."""
    details = {} if declared is None else {DETAILS: {"file_path": declared}}
    return json.dumps({"evaluation_results": [], **details}).encode()


def put(name: str, content: bytes = b"{}\n") -> str:
    """Write a file below the working folder."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(content)
    return name


def found(*inputs: str) -> list[Found]:
    """Return the runs found, as the reference tells them."""
    return [_plain(run) for run in find_runs(inputs) if not isinstance(run, Unrecognised)]


def _plain(run: Run | NoInput) -> Found:
    if isinstance(run, NoInput):
        return NOTHING
    missing = None if run.missing is None else run.missing.rpartition(": ")[2]
    return run.rows, run.aggregate, missing


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work inside the temporary folder, so that names are short."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def apart() -> Iterator[None]:
    """Come back to the folder that the tests began in."""
    before = Path.cwd()
    yield
    os.chdir(before)


names = st.builds("{}{}{}".format, *map(st.sampled_from, (FOLDERS, STEMS, ENDINGS)))
rows_names = st.builds(
    "{}{}{}".format, *map(st.sampled_from, (FOLDERS, STEMS[:3], (".jsonl", ".ndjson", ".jsonl.gz")))
)
declarations = (
    st.none() | rows_names | rows_names.map("../{}".format) | rows_names.map("/x/{}".format)
)
documents = declarations.map(aggregate) | st.sampled_from(
    [b"{}", b"[]", b"[{", b'{"evaluation_results": [', b'{"other": 1}', b'{"a": 1, "a": 2}x', b"3"]
)
trees = st.dictionaries(names, documents, max_size=12)
links = st.lists(st.tuples(names, names | st.sampled_from(["a", "a/b", ".", ".."])), max_size=3)
inputs = st.lists(st.sampled_from([".", "./", "a", "./a", "a/b", "a.b", "c"]) | names, max_size=4)


@given(tree=trees, links=links, inputs=inputs)
@settings(max_examples=examples(200), deadline=None)
def test_the_runs_are_those_of_the_book(
    apart: None, tree: dict[str, bytes], links: list[tuple[str, str]], inputs: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # What is linked may be above, but not outside.
        os.mkdir(f"{folder}/inside")
        os.chdir(f"{folder}/inside")
        for name, content in tree.items():
            put(name, content)
        for name, target in links:
            if not os.path.lexists(name):
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).symlink_to(os.path.relpath(target, os.path.dirname(name) or "."))
        named = [".", *(name for name in inputs if _is_of_ours(name))]
        for some in (named, named[1:], named[::-1]):
            if some:
                assert found(*some) == reference_runs(some)
        os.chdir("/")


def _is_of_ours(name: str) -> bool:
    return os.path.isdir(name) or (
        os.path.isfile(name) and not name.endswith(".txt") and not _is_list(name)
    )


def _is_list(name: str) -> bool:
    return name.endswith(".json") and Path(name).read_bytes().startswith(b"[")


def test_two_aggregates_of_the_same_rows_are_two_runs(inside: None) -> None:
    put("rows.jsonl")
    put("one.json", aggregate("rows.jsonl"))
    put("two.json", aggregate("rows.jsonl"))
    assert found(".") == [("rows.jsonl", f"{one}.json", None) for one in ("one", "two")]


def test_rows_that_an_aggregate_elsewhere_declares_are_not_alone(inside: None) -> None:
    rows, claims = put("data/a/rows.jsonl"), "data/z/claims.json"
    put(claims, aggregate(rows))
    assert found(".") == found("data") == [(rows, claims, None)]
    # Seen from the folder of the rows, nothing claims them.
    assert found("data/a", ".") == [(rows, None, None), (rows, claims, None)]


def test_rows_claimed_through_a_link_are_not_alone(inside: None) -> None:
    put("rows.jsonl")
    Path("link.jsonl").symlink_to("rows.jsonl")
    put("claims.json", aggregate("link.jsonl"))
    assert found(".") == [("link.jsonl", "claims.json", None)]


def test_a_folder_beyond_a_link_keeps_its_name(inside: None) -> None:
    put("far/away/run.jsonl")
    put("far/run.jsonl")
    Path("near").symlink_to("far/away")
    assert found("near/..") == [
        ("near/../run.jsonl", None, None),
        ("near/../away/run.jsonl", None, None),
    ]


def test_names_that_are_no_utf8_are_found(inside: None) -> None:
    rows, claims = os.fsdecode(b"\xff_samples.jsonl"), os.fsdecode(b"\xff.json")
    put(f"data/{rows}")
    put(f"data/{claims}", aggregate())
    pair = [(f"data/{rows}", f"data/{claims}", None)]
    assert found("data") == found(f"data/{rows}") == found("data/*") == pair


@each("name", ["a\0b.jsonl", "\ud800.jsonl", "\0"])
def test_names_that_no_file_can_have_are_unreadable(inside: None, name: str) -> None:
    put("run.jsonl")
    nothing, run = find_runs([name, "run.jsonl"])
    assert isinstance(nothing, NoInput)
    assert not nothing.readable
    assert printable(nothing.path)
    assert run == Run("run.jsonl", None)


def test_pipes_and_sockets_in_a_folder_are_left_alone(inside: None) -> None:
    put("run.jsonl")
    os.mkfifo("run.json")
    os.mkfifo("other.json")
    assert found(".") == [("run.jsonl", None, None)]
    assert peek_aggregate("run.json") is None


def test_an_aggregate_that_is_too_large_is_told(inside: None) -> None:
    put("run.jsonl")
    with open("run.json", "wb") as file:
        file.truncate((256 << 20) + 1)
    nothing, run = find_runs(["."])
    assert isinstance(nothing, NoInput)
    assert nothing.path == "run.json"
    assert run == Run("run.jsonl", None)


def test_inputs_may_come_one_by_one(inside: None) -> None:
    put("run.jsonl")
    put("z.jsonl")
    for name in ("auto", "eee"):
        options = Options(input_format=name)
        for some in (["run.jsonl", "-", "z.jsonl"], ["-", "run.jsonl", "*.jsonl"]):
            runs = list(find_all(iter(some), None, None, options))
            assert sorted(_plain(run)[0] or "" for run in runs) == ["-", "run.jsonl", "z.jsonl"]
        with pytest.raises(UsageError):
            list(find_all(iter(()), None, None, options))
        with pytest.raises(UsageError):
            list(find_all(iter(["-", "run.jsonl", "-"]), None, None, options))
    with pytest.raises(UsageError, match="exactly one"):
        list(find_all(iter(["*.jsonl"]), "x.json", None, options))


@each("several", [["."], ["*.jsonl"], ["s3://bucket/x/"], ["a.jsonl", "b.jsonl"]])
def test_an_aggregate_goes_with_no_more_than_one_file(inside: None, several: list[str]) -> None:
    with pytest.raises(UsageError, match="exactly one"):
        list(find_all(iter(several), "x.json", None, Options()))


def test_standard_input_twice_is_refused_before_anything_is_found(inside: None) -> None:
    put("run.jsonl")
    for find in (
        find_runs(["run.jsonl", "-", "-"]),
        find_all(["run.jsonl", "-", "-"], None, None, Options()),
    ):
        with pytest.raises(UsageError, match="only once"):
            next(find)


def test_options_for_rows_are_refused_where_only_other_files_are_found(inside: None) -> None:
    put("evaluation.json", (EXAMPLES / "infereval" / "evaluation.json").read_bytes())
    with pytest.raises(UsageError, match="source does not go with files of infereval"):
        list(find_all(["."], None, None, Options(source="log")))


def test_a_file_that_is_gone_since_it_was_listed_is_no_run(
    inside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("run.jsonl")
    put("being_written.json", aggregate())
    monkeypatch.setattr("evalstream.discovery.local.peek_aggregate", lambda _: None)
    assert found(".") == [("run.jsonl", None, None)]


PATTERNS = [
    ("*.jsonl", ["b.jsonl"]),
    ("?.jsonl", ["b.jsonl"]),
    ("[a-c].jsonl", ["b.jsonl"]),
    ("[!b].jsonl", None),
    ("*", ["b.jsonl", "x/a.jsonl", "x/y/c.jsonl", "z/a.jsonl"]),
    ("*/", ["x/a.jsonl", "x/y/c.jsonl", "z/a.jsonl"]),
    ("./*/a.jsonl", ["x/a.jsonl", "z/a.jsonl"]),
    ("*/*.jsonl", ["x/a.jsonl", "z/a.jsonl"]),
    ("x/**/*.jsonl", ["x/a.jsonl", "x/y/c.jsonl"]),
    ("**/a.jsonl", ["x/a.jsonl", "z/a.jsonl"]),
    ("**/y/**/*.jsonl", ["x/y/c.jsonl"]),
    ("**/**/c.jsonl", ["x/y/c.jsonl"]),
    ("**", ["b.jsonl", "x/a.jsonl", "x/y/c.jsonl", "z/a.jsonl"]),
    ("x/**", ["x/a.jsonl", "x/y/c.jsonl"]),
    ("[x]/**", ["x/a.jsonl", "x/y/c.jsonl"]),
    ("z/*", ["z/a.jsonl"]),
    ("*/.h/*.jsonl", ["z/.h/h.jsonl"]),
    (".*.jsonl", [".h.jsonl"]),
    ("*/../b*", None),
    ("none/*.jsonl", None),
    ("b.jsonl/*", None),
    ("x/*.ndjson", None),
    ("[", None),
]


@each(("pattern", "expected"), PATTERNS)
def test_patterns_stand_for_what_they_match(
    inside: None, tmp_path: Path, pattern: str, expected: list[str] | None
) -> None:
    for name in ("b.jsonl", "x/a.jsonl", "x/y/c.jsonl", "z/a.jsonl", ".h.jsonl", "z/.h/h.jsonl"):
        put(name)
    Path("link.jsonl").symlink_to("x/a.jsonl")
    Path("x/loop").symlink_to("..", target_is_directory=True)
    for named in (pattern, f"{tmp_path}/{pattern}"):
        runs = list(find_runs([named]))
        if expected is None:
            (nothing,) = runs
            assert isinstance(nothing, NoInput)
            assert (nothing.path, nothing.readable) == (named, True)
            assert "pattern" in nothing.reason
            continue
        runs = [run for run in runs if not isinstance(run, Unrecognised)]
        rows = [os.path.relpath(run.rows or "") for run in runs if isinstance(run, Run)]
        assert (rows, len(runs)) == (expected, len(expected))


def test_a_file_that_is_called_like_a_pattern_is_that_file(inside: None) -> None:
    put("run[1].jsonl")
    put("run1.jsonl")
    assert found("run[1].jsonl") == [("run[1].jsonl", None, None)]
    assert found("run[12].jsonl") == [("run1.jsonl", None, None)]


def test_a_pattern_pairs_and_names_like_a_shell(inside: None) -> None:
    put("x_samples.jsonl")
    put("x.json", aggregate("x_samples.jsonl"))
    put("notes.txt")
    assert found("x*") == [("x_samples.jsonl", "x.json", None)]
    assert found("*") == [NOTHING, ("x_samples.jsonl", "x.json", None)]


def test_a_folder_that_a_pattern_cannot_look_into_is_told(
    inside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a/run.jsonl")
    put("b/run.jsonl")
    scandir = os.scandir

    def locked(path: str) -> Any:
        if path == "a":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", locked)
    nothing, run = find_runs(["*/*.jsonl"])
    assert isinstance(nothing, NoInput)
    assert (nothing.path, nothing.readable) == ("a", False)
    assert run == Run("b/run.jsonl", None)


paths = st.lists(st.text(st.characters(exclude_characters="/\0"), min_size=1), min_size=1)


@given(st.lists(paths.map("/".join)))
def test_paths_are_sorted_as_folders_are_listed(some: list[str]) -> None:
    def place(path: str) -> list[tuple[int, str]]:
        *folders, name = path.split("/")
        return [*((1, folder) for folder in folders), (0, name)]

    keys = sorted(map(listing_key, some))
    assert [path_from_key(key) for key in keys] == sorted(some, key=place)
    with closing(FileTable()) as tree:
        tree.add(map(Listed, some))
        assert [file.path for file in tree.files()] == sorted(set(some), key=place)


@each(
    ("text", "expected"),
    [
        (aggregate("x.jsonl"), AggregatePeek(AGGREGATE, "x.jsonl")),
        (aggregate(3), AggregatePeek(AGGREGATE)),
        (b'{"evaluation_results": null}', AggregatePeek(AGGREGATE)),
        (
            b'{"a": NaN, "detailed_evaluation_results": {"file_path": "x"}}',
            AggregatePeek(AGGREGATE, "x"),
        ),
        (
            b'{"a": 1, "a": 2, "detailed_evaluation_results": {"file_path": "x"}}',
            AggregatePeek(AGGREGATE, "x"),
        ),
        (b'{"a": "\xff"}', UNLIKE),
        (b'{"a": 1}', AggregatePeek(OTHER)),
        (b'{"a": 1}\n{"a": 2}\n', AggregatePeek(OTHER)),
        (b'{\n"a": 1}\n{\n"a": 2}\n', UNLIKE),
        (b'{\n// a comment\n"a": 1}', UNLIKE),
        (b'[{"a": 1}, {"a"', UNLIKE),
        (b"{'evaluation_id': 1}", AggregatePeek(BROKEN)),
        (b'{"evaluation_id": 1, "a"', AggregatePeek(BROKEN)),
        (b'[{"sample_hash": "a", "a"', AggregatePeek(BROKEN)),
        (b'{"results": {"a"', AggregatePeek(BROKEN)),
        (b'{"model_info": 1}\n{"model_info": 2}\n', AggregatePeek(BROKEN)),
        (b'{"a": [NaN, -Infinity]}', AggregatePeek(OTHER)),
        (b'{"a": "%s", "b": NaN}' % (b"a" * 300_000), AggregatePeek(OTHER)),
        (b'{"a": ' + b"[" * 400_000 + b"]" * 400_000 + b"}", UNLIKE),
        (b"[" * 400_000 + b"]" * 400_000, AggregatePeek(BROKEN)),
        (b" [1, 2]", AggregatePeek(OTHER)),
        (b"[1, 2", AggregatePeek(BROKEN)),
        (b"7", AggregatePeek(OTHER)),
        (b"", AggregatePeek(BROKEN, detail=EMPTY)),
        (b" ", AggregatePeek(BROKEN)),
    ],
)
def test_a_look_tells_aggregates_and_what_is_broken(text: bytes, expected: AggregatePeek) -> None:
    assert peek_document(text) == expected


@given(st.binary() | st.binary().map(lambda tail: aggregate("x.jsonl")[:-9] + tail))
def test_no_bytes_are_too_odd_for_a_look(text: bytes) -> None:
    assert peek_document(text).kind in range(1, 11)


def test_memory_does_not_grow_with_the_number_of_runs(inside: None) -> None:
    def peak(folder: str) -> int:
        tracemalloc.start()
        count = sum(1 for _ in find_runs([folder]))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count == len(os.listdir(folder)) // 2
        return peak

    for folder, count in (("warm", 10), ("few", 600), ("many", 1200)):
        for number in range(count):
            put(f"{folder}/{number}_samples.jsonl")
            put(f"{folder}/{number}.json", aggregate(f"{number}_samples.jsonl"))
    peak("warm")
    # Threads that other tests left behind may take memory meanwhile, but hardly each time.
    few, many = (min(peak(folder) for _ in range(2)) for folder in ("few", "many"))
    assert many < few + 600 * 100


def test_a_full_disk_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SpillTable("CREATE TABLE t (x)")) as kept:
        kept.rows("PRAGMA max_page_count = 2")
        with pytest.raises(CannotCheck, match="temporary files"):
            kept.change("INSERT INTO t VALUES (?)", [(b"x" * 9000,)])
        with pytest.raises(CannotCheck, match="temporary files"):
            kept.rows("SELECT nothing FROM t")


def test_what_is_kept_is_let_go(inside: None, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.jsonl")
    put("b.jsonl")
    opened: list[Any] = []

    class Watched(sqlite3.Connection):
        closed = False

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            opened.append(self)

        def close(self) -> None:
            self.closed = True
            super().close()

    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, **options: connect(*given, **options, factory=Watched)
    )
    runs = find_runs([".", "*"])
    next(runs)
    assert opened
    runs.close()  # type: ignore[attr-defined]
    assert all(one.closed for one in opened)
