"""Nothing that a call reads is written over by it, however it was found; nor is what is foreign."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from depth import is_deep, some
from each import each
from forked import Case, contents, errors_of, exit_codes
from paths import EXAMPLES
from rows import DETAILS, aggregate_of, bytes_of, sound_rows
from unsealed import unsealed

import evalstream
from evalstream.io.output import Output
from evalstream.io.overwriting import UNMARKED, Outputs
from evalstream.io.temporary import temporary_names
from evalstream.model.errors import CannotWrite, UsageError
from evalstream.reporters import REPORTERS

GOOD = bytes_of(sound_rows())
ROWS, AGGREGATE = "run_samples.jsonl", "run.json"
HARPIA = ("log.jsonl", "output.json", "input.json")


def pair(folder: Path, rows: str = ROWS, aggregate: str = AGGREGATE) -> None:
    """Write rows and an aggregate that belong together by their names."""
    for name in (rows, aggregate):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / rows).write_bytes(GOOD)
    document = aggregate_of("0.2.0", GOOD, 8)
    document[DETAILS]["file_path"] = rows
    (folder / aggregate).write_text(json.dumps(document))


def copied(example: str) -> Callable[[Path], None]:
    """Return what copies a folder of the examples."""

    def copy(folder: Path) -> None:
        shutil.copytree(EXAMPLES / example, folder, dirs_exist_ok=True)

    return copy


def two_pairs(folder: Path) -> None:
    """Write two runs."""
    pair(folder)
    pair(folder / "more", "b.jsonl", "b.json")


def listed(folder: Path) -> None:
    """Write a run, and a list that names its rows."""
    pair(folder)
    (folder / "list.txt").write_text(f"{ROWS}\n")


def with_schema(folder: Path) -> None:
    """Write a run, and a schema that all rows fit."""
    pair(folder)
    (folder / "schema.json").write_text('{"type": "object"}')


def linked(folder: Path) -> None:
    """Write a run whose rows and aggregate are links."""
    pair(folder, f"real/{ROWS}", f"real/{AGGREGATE}")
    for name in (ROWS, AGGREGATE):
        (folder / name).symlink_to(f"real/{name}")


class Way(NamedTuple):
    """A way in which files come to be read: what lies there, how it is named, what is read."""

    make: Callable[[Path], None]
    arguments: Sequence[str]
    read: Sequence[str]
    single: bool = True
    stdin: str | None = None


WAYS = {
    "named rows": Way(pair, [ROWS], [ROWS, AGGREGATE]),
    "named aggregate": Way(pair, [AGGREGATE], [ROWS, AGGREGATE]),
    "both named": Way(pair, [ROWS, "--aggregate", AGGREGATE], [ROWS, AGGREGATE]),
    "rows by file_path": Way(
        lambda folder: pair(folder, "other/rows.jsonl", "claims.json"),
        ["claims.json"],
        ["claims.json", "other/rows.jsonl"],
    ),
    "aggregate that declares them": Way(
        lambda folder: pair(folder, "free.jsonl", "claims.json"),
        ["free.jsonl"],
        ["free.jsonl", "claims.json"],
    ),
    "pattern": Way(pair, ["*_samples.jsonl"], [ROWS, AGGREGATE]),
    "list": Way(listed, ["--files-from", "list.txt"], [ROWS, AGGREGATE, "list.txt"]),
    "links": Way(linked, [ROWS], [f"real/{ROWS}", f"real/{AGGREGATE}"]),
    "standard input": Way(pair, ["-", "--aggregate", AGGREGATE], [ROWS, AGGREGATE], stdin=ROWS),
    "list on standard input": Way(
        listed, ["--files-from", "-"], ["list.txt", ROWS], stdin="list.txt"
    ),
    "schema": Way(with_schema, [ROWS, "--schema", "schema.json"], ["schema.json", AGGREGATE]),
    "scheduler": Way(
        with_schema,
        [ROWS, "--executor", "dask", "--dask-scheduler-file", "schema.json"],
        ["schema.json"],
    ),
    "folder": Way(two_pairs, ["."], [ROWS, AGGREGATE, "more/b.jsonl", "more/b.json"], single=False),
    "folder below": Way(two_pairs, ["more", AGGREGATE], ["more/b.json", ROWS], single=False),
    "patterns": Way(two_pairs, ["**/*.json"], [ROWS, "more/b.jsonl"], single=False),
    "harpia": Way(
        copied("harpia"),
        ["log.jsonl", "--aggregate", "output.json", "--inputs-file", "input.json"],
        HARPIA,
    ),
    "harpia folder": Way(copied("harpia"), ["."], HARPIA, single=False),
    "infereval": Way(
        copied("infereval"),
        ["evaluation.json", "--aggregate", "benchmark.json"],
        ["evaluation.json", "benchmark.json"],
        single=False,
    ),
    "infereval folder": Way(
        copied("infereval"), ["."], ["evaluation.json", "benchmark.json"], single=False
    ),
    "evalguard folder": Way(
        copied("evalguard"), ["."], ["reports/acorn-7b.yaml", "tasks/sums.yaml"], single=False
    ),
    "evalguard document": Way(
        copied("evalguard"),
        ["reports/acorn-7b.yaml", "--aggregate", "."],
        ["reports/acorn-7b.yaml", "tasks/sums.yaml"],
        single=False,
    ),
}

ANY_RUNS = [["--output", "{}"], ["--ledger", "{}"], ["--shard", "1/1", "--output", "{}"]]
ONE_RUN = [
    ["--tee", "{}"],
    ["--accepted", "{}"],
    ["--rejected", "{}"],
    ["--pass", "all", "--output", "{}"],
    ["--pass", "valid", "--tee", "{}"],
]


def plain(_folder: Path, path: str) -> str:
    """Name a file as it is."""
    return path


def roundabout(_folder: Path, path: str) -> str:
    """Name a file by another path."""
    return f"./here/../{path}"


def absolute(folder: Path, path: str) -> str:
    """Name a file from the root on."""
    return str(folder / path)


def by_link(folder: Path, path: str) -> str:
    """Name a file by a link to it."""
    os.symlink(folder / path, folder.parent / "link")
    return "../link"


def by_hard_link(folder: Path, path: str) -> str:
    """Name a file by another name that it has."""
    os.link(folder / path, folder.parent / "hard-link")
    return "../hard-link"


def by_linked_folder(folder: Path, path: str) -> str:
    """Name a file below a link to its folder."""
    os.symlink(folder, folder.parent / "linked-folder")
    return f"../linked-folder/{path}"


SPELLINGS = [plain, roundabout, absolute, by_link, by_hard_link, by_linked_folder]


def all_cases() -> Iterator[tuple[str, Way, str, list[str]]]:
    """Iterate over the ways, the files that are read that way, and options that would hit them."""
    for name, way in WAYS.items():
        for path in way.read:
            for option in [*ANY_RUNS, *(ONE_RUN if way.single else [])]:
                yield f"{name}: {' '.join(option)} over {path}", way, path, option


def test_no_check_writes_over_what_it_reads(tmp_path: Path) -> None:
    cases, told, before = [], [], []
    spellings = itertools.cycle(SPELLINGS)
    for number, (told_as, way, path, option) in enumerate(some(list(all_cases()), 24)):
        folder = tmp_path / f"{number}" / "here"
        folder.mkdir(parents=True)
        way.make(folder)
        (folder / "here").mkdir()
        spelling = next(spellings)
        output = spelling(folder, path)
        given = [word.format(output) for word in option]
        cases.append(Case(folder, ["check", *way.arguments, *given, "--force"], way.stdin))
        told.append(f"{told_as}, {spelling.__name__}")
        before.append(contents(folder))
    assert len(cases) >= 24
    for case, code, told_as, was in zip(cases, exit_codes(cases), told, before, strict=True):
        assert contents(case.folder) == was, told_as
        assert (code, "would overwrite" in errors_of(case)) == (2, True), (
            told_as, errors_of(case),
        )  # fmt: skip


def test_other_commands_do_not_either(tmp_path: Path) -> None:
    cases = []

    def case(name: str, make: Callable[[Path], None], *arguments: str, **more: str) -> None:
        folder = tmp_path / name / "here"
        folder.mkdir(parents=True)
        make(folder)
        cases.append(Case(folder, arguments, **more))

    def torn(folder: Path) -> None:
        pair(folder)
        pair(folder, "x.rest.jsonl", "x.json")

    def sidecar(folder: Path) -> None:
        pair(folder, "bad.findings.jsonl", "bad.findings.json")

    def parts(folder: Path) -> None:
        (folder / "part").write_text('{"part": {}}\n')

    def book(folder: Path) -> None:
        pair(folder)
        evalstream.check(folder / ROWS, ledger=folder / "book")

    seal = ("seal", ROWS, "--aggregate", AGGREGATE, "--force")
    case("seal tee rows", pair, *seal, "--tee", ROWS)
    case("seal tee aggregate", pair, *seal, "--tee", AGGREGATE)
    case("seal output rows", pair, *seal, "--output", ROWS)
    case("seal output aggregate", pair, *seal, "--output", AGGREGATE)
    case("dry run", pair, *seal, "--dry-run", "--output", AGGREGATE)
    case("seal rows in rows", pair, "seal", ROWS, "--aggregate", ROWS, "--force")
    case("seal stdin", pair, "seal", "-", *seal[2:], "--tee", ROWS, stdin=ROWS)
    case("sealed rows", pair, "check", ROWS, "--seal-to", ROWS, "--force")
    case("sealed schema", with_schema, "check", ROWS, "--schema", "schema.json",
         "--seal-to", "schema.json", "--force")  # fmt: skip
    case("sidecar", sidecar, "check", "bad.findings.jsonl", "--rejected", "bad")
    case("salvage to", pair, "salvage", ROWS, "--to", f"./{ROWS}")
    case("salvage rest", pair, "salvage", ROWS, "--to", "x", "--rest", ROWS)
    case("salvage usual rest", torn, "salvage", "x.rest.jsonl", "--to", "x")
    case("salvage stdin", pair, "salvage", "-", "--to", ROWS, stdin=ROWS)
    case("merge", parts, "merge", "part", "--output", "part", "--force")
    case("ledger", book, "ledger", "book", "--output", "book", "--force")
    case("ledger's journal", book, "ledger", "book", "--output", "book-journal", "--force")
    case("report and copy", pair, "check", ROWS, "--tee", "x", "--output", "./x")
    case("report and ledger", pair, "check", ROWS, "--ledger", "x", "--output", "x")
    case("report and journal", pair, "check", ROWS, "--ledger", "x", "--output", "x-journal")
    case("rows that are not there", pair, "check", "no.jsonl", "--output", "./no.jsonl")
    case("late", pair, "check", "-", "--aggregate", "late.json", "--tee", "./late.json")
    case("standard output", pair, "check", ROWS, stdout=ROWS)
    case("passed on", pair, "check", ROWS, "--pass", "all", "--output", "x", stdout=AGGREGATE)
    before = [contents(case.folder) for case in cases]
    for one, code, was in zip(cases, exit_codes(cases), before, strict=True):
        assert (code, contents(one.folder)) == (2, was), (one.arguments, errors_of(one))


def test_a_file_of_rows_that_is_empty_does_not_become_a_ledger(tmp_path: Path) -> None:
    pair(tmp_path)
    (tmp_path / "empty_samples.jsonl").write_bytes(b"")
    with pytest.raises(UsageError, match="would overwrite"):
        evalstream.check(tmp_path, ledger=tmp_path / "empty_samples.jsonl")
    assert (tmp_path / "empty_samples.jsonl").read_bytes() == b""


def test_what_the_caller_writes_is_compared_too(tmp_path: Path) -> None:
    pair(tmp_path)
    with pytest.raises(UsageError, match="would overwrite"):
        evalstream.check(tmp_path / ROWS, outputs=[tmp_path / AGGREGATE])
    assert evalstream.check(tmp_path / ROWS, outputs=[tmp_path / "other"]).exit_code == 0


def test_several_runs_are_not_copied_over_each_other(tmp_path: Path) -> None:
    two_pairs(tmp_path)
    with pytest.raises(UsageError, match="exactly one rows file"):
        evalstream.check(f"{tmp_path}/**/*.jsonl", tee=str(tmp_path / "copy"))


def test_outputs_are_told_by_what_they_are(tmp_path: Path) -> None:
    for name in ("file", "other"):
        (tmp_path / name).write_text(name)
    os.link(tmp_path / "file", tmp_path / "hard")
    (tmp_path / "link").symlink_to("missing")
    outputs = Outputs([f"{tmp_path}/{name}" for name in ("hard", "link")] + ["/dev/null", "-"])
    assert outputs.output_at(f"{tmp_path}/file") == f"{tmp_path}/hard"
    assert outputs.output_at(f"{tmp_path}/x/../missing") == f"{tmp_path}/link"
    for path in (f"{tmp_path}/other", "/dev/null", "s3://bucket/file", "nul\0", f"{tmp_path}"):
        assert outputs.output_at(path) is None
    assert not Outputs(["/dev/null", "s3://bucket/file"])
    with pytest.raises(UsageError, match="another output"):
        Outputs([f"{tmp_path}/file", f"{tmp_path}/hard"])


FOREIGN = {
    "notes.txt": "my notes\n",
    "rows.jsonl": GOOD.decode(),
    "data.json": '{"schema": 1, "rows": []}',
    "table.csv": "file,rows\na,1\n",
    "list.json": "[]",
    "blank.txt": "\n\n",
    "bytes": "\0\1\2",
}


def test_other_files_are_no_reports(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    pair(folder)
    for name, text in FOREIGN.items():
        (folder / name).write_text(text)
    cases = [Case(folder, ["check", ROWS, "--output", name]) for name in FOREIGN]
    assert set(exit_codes(cases)) == {2}
    assert {name: (folder / name).read_text() for name in FOREIGN} == FOREIGN


OUTPUTS = {
    "report": ("check", ROWS, "--output", "{}"),
    "report beside rows": ("check", ROWS, "--pass", "all", "--output", "{}"),
    "part": ("check", ".", "--shard", "1/1", "--output", "{}"),
    "ledger": ("check", ROWS, "--ledger", "{}"),
    "baseline": ("check", ROWS, "--write-baseline", "{}"),
    "copy": ("check", ROWS, "--tee", "{}"),
    "accepted rows": ("check", ROWS, "--accepted", "{}"),
    "rejected rows": ("check", ROWS, "--rejected", "{}"),
    "report of a seal": ("seal", ROWS, "--aggregate", AGGREGATE, "--output", "{}"),
    "copy of a seal": ("seal", ROWS, "--aggregate", AGGREGATE, "--tee", "{}"),
    "whole rows": ("salvage", ROWS, "--to", "{}"),
    "other bytes": ("salvage", ROWS, "--to", "whole.jsonl", "--rest", "{}"),
    "merged report": ("merge", "part", "--output", "{}"),
    "stored report": ("report", "part", "--output", "{}"),
    "export": ("ledger", "book", "--output", "{}"),
    "comparison": ("compare", ROWS, "copied.jsonl", "--no-verify", "--output", "{}"),
    "report of repairs": ("fix", ".", "--report", "{}"),
    "report of a migration": ("migrate", ".", "--to", "../new", "--fill", "--report", "{}"),
    "ledger of a migration": ("migrate", ".", "--to", "../new", "--fill", "--ledger", "{}"),
    "answer": ("thresholds", "config", "--task", "sums", "--output", "{}"),
}
"""A call for each output that a command names. A sealed file is an input, which is edited."""

AGAIN = {"report", "part", "ledger", "baseline", "export", "comparison", "report of repairs"}
"""Outputs with a mark of evalstream: calls replace those of earlier ones."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write what the calls of OUTPUTS read: runs, a part, a ledger and a configuration."""
    folder = tmp_path_factory.mktemp("inputs") / "here"
    folder.mkdir()
    pair(folder)
    (folder / "copied.jsonl").write_bytes(GOOD)
    shutil.copytree(EXAMPLES / "evalguard", folder / "config")
    made = (("check", ROWS, "--shard", "1/1", "-o", "part"), ("check", ROWS, "--ledger", "book"))
    assert exit_codes([Case(folder, list(call)) for call in made]) == [0, 0]
    return folder


def all_files(folder: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@each("output", some(list(OUTPUTS), 10))
def test_what_is_foreign_is_not_replaced(tmp_path: Path, inputs: Path, output: str) -> None:
    folder, place = tmp_path / "here", tmp_path / "other.jsonl"
    shutil.copytree(inputs, folder)
    before = all_files(folder)
    call = [part.format("../other.jsonl") for part in OUTPUTS[output]]
    theirs = bytes_of(sound_rows(count=3))
    place.write_bytes(theirs)
    assert exit_codes([Case(folder, call)]) == [2]
    assert place.read_bytes() == theirs
    assert "../other.jsonl exists and is not" in (tmp_path / "errors").read_text()
    assert all_files(folder) == before
    assert exit_codes([Case(folder, [*call, "--force"])])[0] in (0, 1, 3)
    assert place.read_bytes() != theirs
    # An empty file, as mktemp makes it, holds nothing that could be lost.
    (folder / "whole.jsonl").unlink(missing_ok=True)
    place.write_bytes(b"")
    for _ in range(2 if output in AGAIN else 1):
        assert exit_codes([Case(folder, call)])[0] in (0, 1, 3)


def test_an_answer_does_not_replace_a_document_that_it_is_read_from(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    shutil.copytree(EXAMPLES / "evalguard", folder)
    before = all_files(folder)
    call = ["thresholds", ".", "--task", "sums", "--output", "tasks/sums.yaml", "--force"]
    assert exit_codes([Case(folder, call)]) == [2]
    assert all_files(folder) == before
    assert "would overwrite the input" in (tmp_path / "errors").read_text()


def test_findings_of_rejected_rows_do_not_replace_other_files(tmp_path: Path) -> None:
    pair(tmp_path)
    (tmp_path / "bad.jsonl.findings.jsonl").write_text("my notes")
    with pytest.raises(UsageError, match=r"findings\.jsonl exists and is not"):
        evalstream.check(tmp_path / ROWS, rejected=str(tmp_path / "bad.jsonl"))
    assert (tmp_path / "bad.jsonl.findings.jsonl").read_text() == "my notes"
    assert not (tmp_path / "bad.jsonl").exists()


def test_a_manifest_does_not_replace_another_file(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "evalguard", tmp_path, dirs_exist_ok=True)
    place = tmp_path / "evalguard.manifest.json"
    place.write_text('{"name": "my manifest"}')
    with pytest.raises(UsageError, match="not a manifest"):
        evalstream.seal(tmp_path)
    assert place.read_text() == '{"name": "my manifest"}'
    for overwrite in (True, False):
        assert evalstream.seal(tmp_path, overwrite=overwrite).runs[0].sealed == str(place)


@each("option", ["tee", "accepted", "rejected", "write_baseline", "ledger"])
def test_functions_do_not_replace_what_is_foreign(tmp_path: Path, option: str) -> None:
    pair(tmp_path)
    place = tmp_path / "notes.txt"
    place.write_text("my notes")
    with pytest.raises(UsageError, match="exists and is not"):
        evalstream.check(tmp_path / ROWS, **{option: str(place)})
    assert place.read_text() == "my notes"
    report = evalstream.check(tmp_path / ROWS, **{option: str(place)}, overwrite=True)
    assert report.exit_code == 0
    assert place.read_bytes() != b"my notes"


def test_salvage_does_not_replace_what_is_foreign(tmp_path: Path) -> None:
    pair(tmp_path)
    before = (tmp_path / AGGREGATE).read_bytes()
    with pytest.raises(UsageError, match="exists and is not empty"):
        evalstream.salvage(tmp_path / ROWS, to=tmp_path / AGGREGATE)
    assert (tmp_path / AGGREGATE).read_bytes() == before
    evalstream.salvage(tmp_path / ROWS, to=tmp_path / AGGREGATE, overwrite=True)
    assert (tmp_path / AGGREGATE).read_bytes() == GOOD


def test_what_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    place = tmp_path / "copy.jsonl"
    output = Output(str(place), kind=UNMARKED)
    output.write("ours")
    place.write_bytes(b"somebody else's")
    with pytest.raises(UsageError, match="exists"):
        output.__exit__(None, None, None)
    assert place.read_bytes() == b"somebody else's"
    assert os.listdir(tmp_path) == ["copy.jsonl"]


def test_the_former_meaning_of_force_seals_with_a_warning(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path, sound_rows(), {"score": 0.1})
    folder = tmp_path / "here"
    folder.mkdir()
    call = ["seal", str(rows), "--aggregate", str(aggregate)]
    assert exit_codes([Case(folder, call)]) == [1]
    assert DETAILS not in json.loads(aggregate.read_text())
    # Where it is needed to replace a file, it means that alone.
    (folder / "notes.txt").write_text("my notes")
    assert exit_codes([Case(folder, [*call, "--tee", "notes.txt", "--force"])]) == [1]
    assert DETAILS not in json.loads(aggregate.read_text())
    assert exit_codes([Case(folder, [*call, "--force"])]) == [1]
    assert DETAILS in json.loads(aggregate.read_text())
    assert "use --seal-anyway" in (tmp_path / "errors").read_text()
    with pytest.deprecated_call(match="seal_anyway"):
        assert evalstream.seal(rows, aggregate, force=True).runs[0].sealed


def test_reports_of_any_form_replace_each_other(tmp_path: Path) -> None:
    """Sound, faulty, partial and unchecked runs, alone and together, in every form."""
    runs = {
        "sound": [ROWS, "--aggregate", AGGREGATE],
        "faulty": ["faulty.jsonl"],
        "missing": ["none.jsonl"],
        "both": [ROWS, "faulty.jsonl"],
        "empty": ["hollow"],
        "harpia": [str(EXAMPLES / "harpia")],
        "passed": [ROWS, "--pass", "all"],
        "part": [".", "--shard", "1/2"],
        "idle": [".", "--shard", "40/50"],
    }
    cases = []
    for name, arguments in runs.items():
        folder = tmp_path / name / "here"
        folder.mkdir(parents=True)
        pair(folder)
        (folder / "hollow").mkdir()
        (folder / "faulty.jsonl").write_bytes(GOOD + b"{torn\n")
        # What became of the runs is told alike in all forms; two of them stand for the others.
        is_whole = name == "sound" or (is_deep() and name == "faulty")
        told = REPORTERS if is_whole else ("text", "json") if is_deep() else ("json",)
        forms = [["--format", form] for form in told] if "--shard" not in arguments else [[]]
        known = Case(folder, ["check", ROWS, "--format", "json", "--output", "../report"])
        cases.append(known)
        for form in forms:
            cases += [Case(folder, ["check", *arguments, *form, "--output", "../report"]), known]
    for case, code in zip(cases, exit_codes(cases), strict=True):
        assert code in (0, 1, 3), (case.arguments, errors_of(case))
        assert "is not a report" not in errors_of(case)


def test_exports_of_a_ledger_replace_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    two_pairs(folder)
    cases = [Case(folder, ["check", ".", "--ledger", "../book"])]
    for form, more in itertools.product(("text", "csv", "jsonl"), ([], ["--verdict", "failed"])):
        call = ["ledger", "../book", "--format", form, *more, "--output", "../table"]
        cases += [Case(folder, call)] * 2
    for case, code in zip(cases, exit_codes(cases), strict=True):
        assert code == 0, (case.arguments, errors_of(case))


def test_a_ledger_replaces_only_what_it_is_told_to(tmp_path: Path) -> None:
    pair(tmp_path)
    book = tmp_path / "book"
    book.write_text("my notes")
    with pytest.raises(UsageError, match="overwrite"):
        evalstream.check(tmp_path / ROWS, ledger=book)
    assert book.read_text() == "my notes"
    for _ in range(2):
        report = evalstream.check(tmp_path / ROWS, ledger=book, overwrite=True)
        assert report.exit_code == 0
    # The second time it is a ledger, and stays what it is.
    assert book.read_bytes().startswith(b"SQLite format 3")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CannotWrite):
        evalstream.check(tmp_path / ROWS, ledger=tmp_path / "folder", overwrite=True)


def test_a_report_beside_what_is_searched_is_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    two_pairs(folder)
    calls = [["check", ".", "--format", "json", "--output", "report.json"]] * 2
    calls += [["check", ".", "--output", "report.txt", "--ledger", "book"]] * 2
    for code in exit_codes([Case(folder, call) for call in calls]):
        assert code == 0


def test_sealing_is_no_overwriting(tmp_path: Path) -> None:
    rows, aggregate = unsealed(tmp_path, sound_rows())
    other = os.path.relpath(aggregate)
    report = evalstream.check(rows, aggregate=aggregate, seal_to=other)
    assert (report.exit_code, report.runs[0].sealed) == (0, other)


def test_a_temporary_file_that_is_read_is_not_taken_for_one(tmp_path: Path) -> None:
    left = tmp_path / ".good.jsonl.0.evalstream"
    left.write_bytes(GOOD)
    with pytest.raises(UsageError, match=r"good\.jsonl would overwrite"):
        evalstream.salvage(left, to=tmp_path / "good.jsonl")
    with pytest.raises(UsageError, match=r"good\.jsonl would overwrite"):
        evalstream.check(left, accepted=str(tmp_path / "good.jsonl"))
    assert left.read_bytes() == GOOD


def test_a_temporary_file_of_one_output_is_not_another(tmp_path: Path) -> None:
    output, copy = str(tmp_path / "report.txt"), str(tmp_path / ".report.txt.0.evalstream")
    for outputs in ([output, copy], [copy, output]):
        with pytest.raises(UsageError, match="another output"):
            Outputs(outputs)


@pytest.mark.parametrize("way", ["tee", "accepted", "rejected"])
def test_a_copy_stays_where_no_row_came(tmp_path: Path, way: str) -> None:
    copy, fresh = tmp_path / "copy.jsonl", tmp_path / "fresh.jsonl"
    copy.write_bytes(GOOD)
    for place in (copy, fresh):
        report = evalstream.check(tmp_path / "nowhere.jsonl", **{way: str(place)}, overwrite=True)
        assert report.exit_code == 3
    assert copy.read_bytes() == GOOD
    assert not fresh.exists()
    # Rows that are there, and none of them, are another thing.
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    evalstream.check(empty, **{way: str(copy)}, overwrite=True)
    assert copy.read_bytes() == b""


def test_rows_that_are_not_there_go_nowhere(tmp_path: Path) -> None:
    document = aggregate_of("0.2.0", GOOD, 8)
    del document[DETAILS]
    document["source_metadata"]["source_type"] = "documentation"
    (tmp_path / AGGREGATE).write_text(json.dumps(document))
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(GOOD)
    with pytest.raises(UsageError, match="has no rows to route"):
        evalstream.check(tmp_path / AGGREGATE, tee=str(copy), overwrite=True)
    assert copy.read_bytes() == GOOD


def test_a_report_on_standard_error_is_not_written_over_an_input(tmp_path: Path) -> None:
    pair(tmp_path)
    said = "exec evalstream check run_samples.jsonl --pass all 2>>run.json >/dev/null"
    before = json.loads((tmp_path / AGGREGATE).read_text())
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", said], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 2
    text = (tmp_path / AGGREGATE).read_text()
    assert json.JSONDecoder().raw_decode(text)[0] == before


def test_no_ledger_is_begun_beside_the_journal_of_another_program(tmp_path: Path) -> None:
    pair(tmp_path)
    journal = tmp_path / "runs.db-journal"
    journal.write_bytes(b"notes")
    for _ in range(2):
        for overwrite in (False, True):
            with pytest.raises(CannotWrite, match="has no ledger"):
                evalstream.check(tmp_path / ROWS, ledger=tmp_path / "runs.db", overwrite=overwrite)
        (tmp_path / "runs.db").touch()
    (tmp_path / "runs.db").write_bytes(b"no ledger")
    with pytest.raises(CannotWrite, match="has no ledger"):
        evalstream.check(tmp_path / ROWS, ledger=tmp_path / "runs.db", overwrite=True)
    assert journal.read_bytes() == b"notes"
    assert (tmp_path / "runs.db").read_bytes() == b"no ledger"


def test_a_planted_link_to_a_folder_is_no_other_output(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / ".out.0.evalstream").symlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / "pipe")
    assert Outputs([str(tmp_path / "out"), str(tmp_path / "pipe")])


def test_a_call_that_was_killed_while_it_put_its_output_in_place_is_made_again(
    tmp_path: Path,
) -> None:
    output = tmp_path / "out"
    output.write_text("a report")
    (temporary, *_) = temporary_names(str(output))
    os.link(output, temporary)
    assert Outputs([str(output)])
    with pytest.raises(UsageError, match="another output"):
        Outputs([str(output), temporary])
