"""The command `fix`: what it repairs, what it refuses, and what it leaves alone."""

import errno
import gzip
import hashlib
import json
import mmap
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from changed_runs import files_of
from commands import command, environment, run_command
from each import each
from forked import Case, exit_codes
from paths import EXAMPLES
from rows import aggregate_of, bytes_of, sound_rows, write_run

import evalstream
from evalstream.api.changes import ChangedRuns, fix, migrate
from evalstream.batch.rewriting import fix as fix_module
from evalstream.batch.rewriting.fix import FixJob
from evalstream.batch.rewriting.outcome import ChangeStatus
from evalstream.io.digest import RunningDigest
from evalstream.io.progress import Progress
from evalstream.model.errors import CannotWrite, UsageError
from evalstream.model.exit_codes import ExitCode
from evalstream.model.options import Options
from evalstream.model.run_summary import RunSummary

DETAILS = "detailed_evaluation_results"
ALONE = Options(jobs=1)
MARK = b"\xef\xbb\xbf"


def fixed(path: Path, **named: Any) -> ChangedRuns:
    """Fix a path in place, in this process."""
    return fix(path, write=True, options=ALONE, **named)


def document(path: Path) -> dict[str, Any]:
    """Read an aggregate."""
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value


def edit(path: Path, **members: Any) -> None:
    """Write members of an aggregate's seal; None removes one."""
    value = document(path)
    value[DETAILS] |= members
    value[DETAILS] = {key: one for key, one in value[DETAILS].items() if one is not None}
    path.write_text(json.dumps(value))


FORMATTED = re.compile(rb'"formatted": "[^"]*", ')


def nulls(data: bytes) -> bytes:
    """Write null for an optional member of the input of each row."""
    return FORMATTED.sub(b'"formatted": null, ', data)


def ran(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run a command; return its exit code, and what it writes."""
    done = run_command(
        command(*arguments), cwd=folder, env=environment(), capture_output=True, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@each(
    ("spoil", "code"),
    [
        (lambda data: MARK + data, "ES102"),
        (lambda data: data.replace(b"\n", b"\r\n"), "ES112"),
        (lambda data: data.replace(b"\n", b"\n \n", 1), "ES110"),
        (lambda data: data.removesuffix(b"\n"), "ES111"),
    ],
)
def test_lines_are_repaired_byte_for_byte_and_sealed_anew(
    spoil: Callable[[bytes], bytes], code: str, tmp_path: Path
) -> None:
    data = bytes_of(sound_rows())
    rows, aggregate = write_run(tmp_path, spoil(data), count=8)
    before = evalstream.check(tmp_path)
    assert before.counts[code]
    assert before.totals.fixable == before.counts[code]
    (outcome,) = fixed(tmp_path).outcomes
    assert (outcome.status, outcome.target) == (ChangeStatus.WRITTEN, str(rows))
    assert rows.read_bytes() == data
    sealed = document(aggregate)[DETAILS]
    assert sealed["checksum"] == hashlib.sha256(data).hexdigest()
    after = evalstream.check(tmp_path)
    assert after.passed
    assert not after.totals.fixable


def test_nulls_go_and_every_other_byte_stays(tmp_path: Path) -> None:
    spelled = bytes_of(sound_rows()).replace(b'"score": 1.0', b'"score": 1.000e0')
    spoilt = nulls(spelled)
    rows, _ = write_run(tmp_path, spoilt)
    assert evalstream.check(tmp_path).runs[0].fixable == {"ES204": 8}
    fixed(tmp_path)
    assert rows.read_bytes() == FORMATTED.sub(b"", spelled)
    assert evalstream.check(tmp_path).passed


def test_values_in_maps_of_texts_become_text(tmp_path: Path) -> None:
    made = sound_rows("0.3.0")
    made[0]["metadata"] = {"epoch": 1, "gone": None, "list": [1, 2.50]}
    rows, _ = write_run(tmp_path, bytes_of(made), "0.3.0")
    assert evalstream.check(tmp_path).runs[0].fixable == {"ES208": 3}
    fixed(tmp_path)
    first = json.loads(rows.read_bytes().split(b"\n")[0])
    assert first["metadata"] == {"epoch": "1", "list": "[1,2.5]"}


def test_digests_and_versions_get_their_plain_form(tmp_path: Path) -> None:
    made = sound_rows()
    made[0]["sample_hash"] = made[0]["sample_hash"].upper()
    made[1]["sample_hash"] = f"sha256:{made[1]['sample_hash']}"
    made[2]["schema_version"] = "instance_level_eval_0.2.0"
    rows, aggregate = write_run(tmp_path, bytes_of(made))
    edit(aggregate, checksum=document(aggregate)[DETAILS]["checksum"].upper(), hash_algorithm=None)
    counted = evalstream.check(tmp_path).runs[0].fixable
    assert counted == {"ES215": 1, "ES405": 2, "ES502": 2}
    fixed(tmp_path)
    assert rows.read_bytes() == bytes_of(sound_rows())
    assert document(aggregate)[DETAILS]["hash_algorithm"] == "sha256"
    report = evalstream.check(tmp_path)
    assert report.passed
    assert not report.totals.fixable


def test_a_path_is_written_only_where_the_checksum_proves_it(tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows()))
    edit(aggregate, file_path="/home/old/other.jsonl")
    assert evalstream.check(rows, aggregate=aggregate).runs[0].fixable == {"ES507": 1}
    fixed(rows, aggregate=aggregate)
    assert document(aggregate)[DETAILS]["file_path"] == rows.name
    edit(aggregate, file_path="/home/old/other.jsonl", checksum=None)
    assert not evalstream.check(rows, aggregate=aggregate).totals.fixable
    assert fixed(rows, aggregate=aggregate).outcomes[0].status is ChangeStatus.UNCHANGED


def test_a_path_that_the_version_does_not_allow_stays(tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows("0.3.0")), "0.3.0")
    edit(aggregate, file_path="data/a/b/c/0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a58_samples.jsonl")
    report = evalstream.check(rows, aggregate=aggregate)
    assert report.counts["ES507"]
    assert not report.totals.fixable
    before = aggregate.read_bytes()
    fixed(rows, aggregate=aggregate)
    assert aggregate.read_bytes() == before


def test_another_repair_leaves_a_path_without_a_finding(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "c" / "d" / "m"
    folder.mkdir(parents=True)
    rows, aggregate = write_run(folder, MARK + bytes_of(sound_rows()), count=8)
    edit(aggregate, file_path=rows.name)
    fixed(tmp_path)
    assert document(aggregate)[DETAILS]["file_path"] == rows.name


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"checksum": "0" * 64}, "ES501"),
        ({"checksum": "n/a"}, "ES502"),
        ({"total_rows": 7}, "ES503"),
    ],
)
def test_a_wrong_seal_is_refused(members: dict[str, Any], code: str, tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, MARK + bytes_of(sound_rows()), count=8)
    edit(aggregate, **members)
    files = rows.read_bytes(), aggregate.read_bytes()
    assert not evalstream.check(tmp_path).totals.fixable
    result = fixed(tmp_path)
    assert result.outcomes[0].status is ChangeStatus.REFUSED
    (reason,) = result.outcomes[0].reasons
    assert reason.startswith(f"{code} ")
    assert f": /{DETAILS}" in reason
    assert " line " not in reason
    assert result.exit_code == 1
    assert files == (rows.read_bytes(), aggregate.read_bytes())


def test_torn_rows_are_refused_with_a_pointer_to_salvage(tmp_path: Path) -> None:
    data = MARK + bytes_of(sound_rows())[:-40]
    rows, _ = write_run(tmp_path, data, count=8)
    assert not evalstream.check(tmp_path).totals.fixable
    (outcome,) = fixed(tmp_path).outcomes
    assert outcome.status is ChangeStatus.REFUSED
    assert outcome.reasons[0].startswith("ES104 truncated-record: line 8: ")
    assert "evalstream salvage" in outcome.reasons[0]
    assert rows.read_bytes() == data


def test_an_array_of_rows_is_left(tmp_path: Path) -> None:
    made = sound_rows()
    for row in made:
        row["input"]["formatted"] = None
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps(made))
    assert not evalstream.check(rows).totals.fixable
    assert fixed(rows).outcomes[0].status is ChangeStatus.PARTLY
    assert json.loads(rows.read_bytes()) == made


def test_compressed_rows_stay_compressed_and_untouched_ones_stay(tmp_path: Path) -> None:
    data = bytes_of(sound_rows())
    packed = gzip.compress(data.replace(b"\n", b"\r\n"), mtime=0)
    rows, aggregate = tmp_path / "run_samples.jsonl.gz", tmp_path / "run.json"
    rows.write_bytes(packed)
    value = aggregate_of("0.2.0", packed, 8, "run_samples.jsonl")
    aggregate.write_text(json.dumps(value))
    fixed(tmp_path)
    assert gzip.decompress(rows.read_bytes()) == data
    stored = rows.read_bytes()
    assert document(aggregate)[DETAILS]["checksum"] == hashlib.sha256(stored).hexdigest()
    edit(aggregate, checksum=hashlib.sha256(stored).hexdigest().upper())
    for way in ({"to": tmp_path / "copy"}, {"write": True}):
        (outcome,) = fix([rows], aggregate=aggregate, options=ALONE, **way).outcomes  # type: ignore[arg-type]
        assert outcome.status is ChangeStatus.WRITTEN
        assert not outcome.row_changes
    assert rows.read_bytes() == stored == (tmp_path / "copy" / rows.name).read_bytes()
    assert evalstream.check(rows, aggregate=aggregate).passed


def test_unsafe_repairs_are_made_only_when_asked_for(tmp_path: Path) -> None:
    made = [row | {"evaluation_id": "another"} for row in sound_rows()]
    rows, aggregate = write_run(tmp_path, bytes_of(made))
    assert not evalstream.check(tmp_path).totals.fixable
    assert fixed(tmp_path).outcomes[0].status is ChangeStatus.PARTLY
    assert rows.read_bytes() == bytes_of(made)
    assert fixed(tmp_path, unsafe=True).outcomes[0].status is ChangeStatus.WRITTEN
    wanted = document(aggregate)["evaluation_id"]
    repaired = [json.loads(line) for line in rows.read_bytes().splitlines()]
    assert {row["evaluation_id"] for row in repaired} == {wanted}
    assert {row["metadata"]["migrated.evaluation_id"] for row in repaired} == {"another"}


def test_rows_of_several_runs_do_not_get_one_id(tmp_path: Path) -> None:
    made = sound_rows()
    made[3]["evaluation_id"] = "another"
    rows, _ = write_run(tmp_path, bytes_of(made))
    (outcome,) = fixed(tmp_path, unsafe=True).outcomes
    assert outcome.status is ChangeStatus.REFUSED
    assert "several runs" in outcome.reasons[0]
    assert rows.read_bytes() == bytes_of(made)


def test_select_limits_the_repairs(tmp_path: Path) -> None:
    rows, _ = write_run(tmp_path, MARK + bytes_of(sound_rows()) + b"\n", count=8)
    fixed(tmp_path, select=("blank-line",))
    assert rows.read_bytes() == MARK + bytes_of(sound_rows())
    with pytest.raises(UsageError, match="names no rule with a repair"):
        fixed(tmp_path, select=("ES501",))


def test_rows_without_an_aggregate_and_an_unsealed_pair_get_no_seal(tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, MARK + bytes_of(sound_rows()), count=8)
    edit(aggregate, checksum=None, hash_algorithm=None, total_rows=None)
    before = aggregate.read_bytes()
    fixed(tmp_path)
    assert aggregate.read_bytes() == before
    aggregate.unlink()
    rows.write_bytes(MARK + bytes_of(sound_rows()))
    result = fixed(rows)
    assert result.outcomes[0].status is ChangeStatus.WRITTEN
    assert result.exit_code == 0
    assert rows.read_bytes() == bytes_of(sound_rows())
    assert not aggregate.exists()


def test_mode_and_links_stay(tmp_path: Path) -> None:
    data = MARK + bytes_of(sound_rows())
    (tmp_path / "real").mkdir()
    rows, aggregate = write_run(tmp_path / "real", data, count=8)
    rows.chmod(0o640)
    aggregate.chmod(0o604)
    link = tmp_path / rows.name
    link.symlink_to(rows)
    fixed(link, aggregate=aggregate)
    assert link.is_symlink()
    assert rows.read_bytes() == bytes_of(sound_rows())
    assert (rows.stat().st_mode & 0o777, aggregate.stat().st_mode & 0o777) == (0o640, 0o604)
    assert sorted(os.listdir(rows.parent)) == sorted([rows.name, aggregate.name])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_rows_stay_where_the_aggregate_cannot_be_written(tmp_path: Path) -> None:
    data = MARK + bytes_of(sound_rows())
    rows, aggregate = write_run(tmp_path, data, count=8)
    (tmp_path / "closed").mkdir()
    moved = aggregate.rename(tmp_path / "closed" / aggregate.name)
    (tmp_path / "closed").chmod(0o500)
    (outcome,) = fixed(rows, aggregate=moved).outcomes
    assert outcome.status is ChangeStatus.UNWRITTEN
    assert rows.read_bytes() == data


def test_a_folder_that_takes_no_files_is_named_and_leaves_the_others_to_be_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tempfile.mkdtemp

    def mkdtemp(suffix: str, prefix: str, folder: str) -> str:
        if folder.endswith("closed"):
            raise PermissionError(13, "Permission denied", "a name of our own")
        return make(suffix, prefix, folder)

    for name in ("closed", "open"):
        (tmp_path / name).mkdir()
        write_run(tmp_path / name, MARK + bytes_of(sound_rows()), count=8)
    monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
    closed, open_ = fixed(tmp_path).outcomes
    assert closed.reasons == (f"{tmp_path}/closed cannot be written: Permission denied",)
    assert (closed.status, closed.exit_code) == (ChangeStatus.UNWRITTEN, ExitCode.UNCHECKED)
    assert open_.status is ChangeStatus.WRITTEN


@pytest.mark.parametrize("is_copy", [False, True])
def test_an_aggregate_in_another_folder_is_replaced_there(is_copy: bool, tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, MARK + bytes_of(sound_rows()), count=8)
    (tmp_path / "other").mkdir()
    moved = aggregate.rename(tmp_path / "other" / aggregate.name)
    edit(moved, file_path=f"../{rows.name}")
    names = {path.name for path in tmp_path.rglob("*")}
    place = {"to": tmp_path / "out"} if is_copy else {"write": True}
    (outcome,) = fix(rows, aggregate=moved, options=ALONE, **place).outcomes
    assert outcome.status is ChangeStatus.WRITTEN
    assert {path.name for path in tmp_path.rglob("*")} - {"out"} == names
    base = tmp_path / "out" if is_copy else tmp_path
    digest = hashlib.sha256((base / rows.name).read_bytes()).hexdigest()
    assert document(base / "other" / aggregate.name)[DETAILS]["checksum"] == digest


@pytest.mark.parametrize(("name", "reads"), [("fix", 2), ("migrate", 1)])
def test_rows_are_digested_as_often_as_they_are_read_and_once_as_they_are_written(
    name: str, reads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = MARK + bytes_of(sound_rows())
    (tmp_path / "in").mkdir()
    write_run(tmp_path / "in", data, count=8)
    digested: list[bytes] = []
    update = RunningDigest.update

    def noted(digest: RunningDigest, piece: bytes) -> None:
        digested.append(bytes(piece))
        update(digest, piece)

    monkeypatch.setattr(RunningDigest, "update", noted)
    if name == "fix":
        results = fix(tmp_path / "in", to=tmp_path / "out", options=ALONE)
    else:
        named: dict[str, Any] = {"collection": "sums", "fill": True, "decide": "all"}
        results = migrate(tmp_path / "in", tmp_path / "out", options=ALONE, **named)
    assert [one.status for one in results.outcomes] == [ChangeStatus.WRITTEN]
    (new,) = (tmp_path / "out").rglob("*.jsonl")
    assert b"".join(digested) == data * reads + new.read_bytes()


def test_rows_that_change_after_their_check_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write to mapped memory moves no time of a file whose page has changed before."""
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 10**12)  # the file looks old
    data, check = MARK + bytes_of(sound_rows()), fix_module.check_any
    rows, aggregate = write_run(tmp_path, data, count=8)
    before, changed = aggregate.read_bytes(), data.replace(b"0", b"1", 1)
    with rows.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:] = data

        def check_and_change(*given: Any) -> RunSummary:
            summary = check(*given)
            mapped[:] = changed
            return summary

        monkeypatch.setattr(fix_module, "check_any", check_and_change)
        (outcome,) = fixed(tmp_path).outcomes
    assert outcome.status is ChangeStatus.REFUSED
    assert "ES501" in outcome.reasons[0]
    assert (rows.read_bytes(), aggregate.read_bytes()) == (changed, before)


def test_a_file_that_changes_as_its_repair_gets_its_place_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time of modification is set back, and the new rows wait for the disk meanwhile."""
    rows, aggregate = write_run(tmp_path, MARK + bytes_of(sound_rows()), count=8)
    before, changed = aggregate.read_bytes(), rows.read_bytes().replace(b"0", b"1", 1)
    sync = fix_module.sync_file

    def change_and_sync(path: str) -> None:
        times = rows.stat().st_atime_ns, rows.stat().st_mtime_ns
        rows.write_bytes(changed)
        os.utime(rows, ns=times)
        sync(path)

    monkeypatch.setattr(fix_module, "sync_file", change_and_sync)
    (outcome,) = fixed(tmp_path).outcomes
    assert outcome.status is ChangeStatus.UNREAD
    assert outcome.reasons == ("the files changed while they were repaired",)
    assert (rows.read_bytes(), aggregate.read_bytes()) == (changed, before)


@pytest.mark.parametrize("has_links", [True, False])
def test_rows_keep_their_place_where_the_aggregate_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    rows, aggregate = write_run(tmp_path, MARK + bytes_of(sound_rows()), count=8)
    before, replace = files_of(tmp_path), os.replace

    def replace_all_but_a_mount(source: str, target: str) -> None:
        if target == str(aggregate):
            raise OSError(errno.EBUSY, "Device or resource busy", source, None, target)
        replace(source, target)

    def link(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "replace", replace_all_but_a_mount)
    if not has_links:
        monkeypatch.setattr(os, "link", link)
    more = tmp_path / "more"
    more.mkdir()
    write_run(more, MARK + bytes_of(sound_rows()), count=8)
    mounted, free = fixed(tmp_path).outcomes
    assert mounted.status is ChangeStatus.UNWRITTEN
    assert mounted.reasons == (f"{aggregate} cannot be written: Device or resource busy",)
    assert free.status is ChangeStatus.WRITTEN
    shutil.rmtree(more)
    assert (files_of(tmp_path) == before) is has_links
    assert sorted(os.listdir(tmp_path)) == sorted([rows.name, aggregate.name])


def write_flat(folder: Path, count: int) -> None:
    """Write runs with a byte order mark into one folder."""
    folder.mkdir()
    for number in range(count):
        rows, aggregate = write_run(folder, MARK + bytes_of(sound_rows()), count=8)
        rows.rename(folder / f"{number}.jsonl")
        edit(aggregate, file_path=f"{number}.jsonl")
        aggregate.rename(folder / f"{number}.json")


def test_a_folder_is_listed_as_often_for_many_runs_as_for_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[str] = []
    scandir, listdir = os.scandir, os.listdir
    monkeypatch.setattr(os, "scandir", lambda path=".": (listed.append(path), scandir(path))[1])
    monkeypatch.setattr(os, "listdir", lambda path=".": (listed.append(path), listdir(path))[1])
    times = []
    for count in (2, 5):
        folder = tmp_path / str(count)
        write_flat(folder, count)
        statuses = [one.status for one in fixed(folder).outcomes]
        assert statuses == [ChangeStatus.WRITTEN] * count
        times.append(listed.count(str(folder)))
        assert len(listdir(folder)) == 2 * count
    assert times[0] == times[1]


def test_a_copy_has_the_layout_of_the_source_and_replaces_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "a"
    folder.mkdir(parents=True)
    rows, aggregate = write_run(folder, MARK + bytes_of(sound_rows()), count=8)
    files = rows.read_bytes(), aggregate.read_bytes()
    for _ in range(2):
        result = fix(tmp_path / "in", to=tmp_path / "out", options=ALONE)
        assert result.exit_code == 0
    assert files == (rows.read_bytes(), aggregate.read_bytes())
    assert evalstream.check(tmp_path / "out").passed
    copy = tmp_path / "out" / "a" / rows.name
    copy.write_bytes(b"{}\n")
    (outcome,) = fix(tmp_path / "in", to=tmp_path / "out", options=ALONE).outcomes
    assert outcome.status is ChangeStatus.REFUSED
    assert "is another file" in outcome.reasons[0]
    assert copy.read_bytes() == b"{}\n"


def test_the_command_shows_and_changes_nothing_until_told(tmp_path: Path) -> None:
    rows, _ = write_run(tmp_path, nulls(bytes_of(sound_rows())))
    data = rows.read_bytes()
    code, text, err = ran(tmp_path, "fix", rows.name)
    assert (code, err) == (1, "")
    assert rows.read_bytes() == data
    assert f"{rows.name}: would be fixed (8 rows)" in text
    assert "null-dropped /input/formatted: null in an optional member dropped: 8 rows" in text
    assert "    /input/formatted\n    - null\n" in text
    assert ran(tmp_path, "fix", rows.name, "--write")[0] == 0
    assert ran(tmp_path, "fix", rows.name)[0] == 0
    assert ran(tmp_path, "fix")[0] == 2


def test_check_says_how_much_is_fixable(tmp_path: Path) -> None:
    rows, _ = write_run(tmp_path, nulls(bytes_of(sound_rows())))
    _, out, _ = ran(tmp_path, "check", rows.name)
    assert "\n8 fixable with evalstream fix\n" in out
    _, out, _ = ran(tmp_path, "check", rows.name, "--format", "json")
    report = json.loads(out)
    assert report["totals"]["fixable"] == 8
    assert report["runs"][0]["fixable"] == {"ES204": 8}
    schema = ran(tmp_path, "check", rows.name, "--schema-version", "0.2.0")
    assert "fixable" not in schema[1]


def test_each_finding_says_whether_fix_mends_it(tmp_path: Path) -> None:
    spoilt = nulls(bytes_of(sound_rows()))
    own = json.loads(spoilt.partition(b"\n")[0])["evaluation_id"].encode()
    rows, _ = write_run(
        tmp_path, spoilt.replace(own, b"another-key").replace(b'"score": 0.0', b'"score": -0.5')
    )
    for form in ("concise", "text"):
        lines = ran(tmp_path, "check", rows.name, "--format", form)[1].splitlines()
        marked = [line for line in lines if "null" in line and "ES204" not in line[:5]]
        assert any(line.endswith("[fix]") or "[fix] (" in line for line in marked), form
        assert any("evaluation_id differs" in line and "[fix --unsafe]" in line for line in lines)
        assert not any("[fix" in line for line in lines if "score" in line)
        last = "8 fixable with evalstream fix, 8 fixable with evalstream fix --unsafe"
        assert any(line.endswith(last) for line in lines)
    # A torn last row makes fix refuse the run, whatever else it could mend.
    rows.write_bytes(rows.read_bytes() + b'{"schema')
    out = ran(tmp_path, "check", rows.name)[1]
    assert "fixable" not in out
    assert "16 with a repair in runs that evalstream fix refuses" in out


def test_what_fails_alike_is_one_line(tmp_path: Path) -> None:
    data = nulls(bytes_of(sound_rows()))
    data = re.sub(rb'("evaluation": .*?"is_correct": )true', rb'\1"yes"', data)
    wrong = data.count(b'"is_correct": "yes"')
    write_run(tmp_path, data)
    (outcome,) = fixed(tmp_path).outcomes
    assert outcome.status is ChangeStatus.PARTLY
    first, *others = outcome.reasons
    assert first.endswith("without a repair")
    (line,) = [one for one in others if one.startswith("ES202")]
    assert line.startswith("ES202 wrong-type: lines ")
    assert f"({wrong} findings)" in line
    assert "/evaluation/is_correct" in line


def test_a_run_that_fits_another_version_names_the_command_that_renews_it(tmp_path: Path) -> None:
    found = sound_rows("0.2.0")
    for row in found:
        row["input"]["reference"] = [row["input"]["reference"]]
    rows, _ = write_run(tmp_path, bytes_of(found))
    finding = next(
        one for one in evalstream.check(tmp_path) if one.line is None and one.code == "ES216"
    )
    assert finding.severity is evalstream.Severity.WARNING
    assert finding.message.endswith("; evalstream migrate RUN --to DIR writes it as 0.3.0")
    alone = tmp_path / "alone" / rows.name
    alone.parent.mkdir()
    shutil.copy(rows, alone)
    messages = [one.message for one in evalstream.check(alone) if one.code == "ES216"]
    assert messages
    assert not any("migrate" in message for message in messages)


def test_a_copy_never_leaves_its_folder(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    rows, aggregate = write_run(tmp_path / "rows", MARK + bytes_of(sound_rows()), count=8)
    other = tmp_path / "aggregates" / aggregate.name
    other.parent.mkdir()
    aggregate.rename(other)
    edit(other, file_path=f"rows/{rows.name}")
    before = files_of(tmp_path)
    (outcome,) = fix(rows, aggregate=other, to=tmp_path / "a" / "b", options=ALONE).outcomes
    assert outcome.status is ChangeStatus.WRITTEN
    assert (tmp_path / "a" / "b" / "aggregates" / aggregate.name).is_file()
    assert (tmp_path / "a" / "b" / "rows" / rows.name).is_file()
    for pattern in ("rows/*.jsonl", "*/*.jsonl"):
        fix(str(tmp_path / pattern), to=tmp_path / "a" / "c", options=ALONE)
    written = {path for path in files_of(tmp_path) if path not in before}
    assert {path.relative_to(tmp_path).parts[:2] for path in written} <= {("a", "b"), ("a", "c")}


def test_the_matches_of_a_pattern_keep_their_folders(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "in" / name).mkdir(parents=True)
        write_run(tmp_path / "in" / name, MARK + bytes_of(sound_rows()), count=8)
    fix(str(tmp_path / "in" / "*" / "*.jsonl"), to=tmp_path / "out", options=ALONE)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"one", "two"}
    assert evalstream.check(tmp_path / "out").passed


def test_an_aggregate_outside_the_shared_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "rows").mkdir(parents=True)
    rows, aggregate = write_run(folder, MARK + bytes_of(sound_rows()), count=8)
    edit(aggregate, file_path=f"rows/{rows.name}")
    rows.rename(folder / "rows" / rows.name)
    codes, root = frozenset[str](), str(folder / "rows")
    job = FixJob(codes, True, str(tmp_path / "out"), root, ALONE, Progress(shown=False))
    assert job.target(str(folder / "rows" / "x")) == str(tmp_path / "out" / "x")
    with pytest.raises(ValueError, match="the folder that all inputs share"):
        job.target(str(aggregate))


@pytest.mark.parametrize("is_copy", [False, True])
def test_a_disk_that_is_full_at_the_aggregate_changes_nothing(
    is_copy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    write_run(tmp_path / "in", MARK + bytes_of(sound_rows()), count=8)
    before = files_of(tmp_path)
    target = tmp_path / ("out" if is_copy else "in")
    synced = os.fsync

    def fsync(descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if path.startswith(str(target)) and path.endswith(".json"):
            raise OSError(28, "No space left on device")
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(CannotWrite, match=rf"{target}/[\w-]+\.json cannot be written: No space"):
        fix(tmp_path / "in", write=not is_copy, to=target if is_copy else None, options=ALONE)
    assert files_of(tmp_path) == before


def test_salvage_is_advised_for_torn_rows_and_not_for_another_encoding(tmp_path: Path) -> None:
    data = bytes_of(sound_rows())
    for rows, is_torn in ((data[:-9], True), (data.decode().encode("utf-16"), False)):
        (tmp_path / "run.jsonl").write_bytes(rows)
        (outcome,) = fixed(tmp_path / "run.jsonl").outcomes
        assert outcome.status is ChangeStatus.REFUSED
        assert outcome.reasons[0].endswith("see evalstream salvage") is is_torn


def test_formats_without_repairs_are_only_checked(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "harpia", tmp_path / "harpia")
    before = files_of(tmp_path)
    for outcome in fixed(tmp_path).outcomes:
        assert outcome.status is ChangeStatus.UNCHANGED
        assert outcome.exit_code == 0
    for path in before:
        path.write_bytes(path.read_bytes().replace(b'"id"', b'"di"'))
    assert ChangeStatus.PARTLY in {outcome.status for outcome in fixed(tmp_path).outcomes}


@pytest.mark.parametrize("name", ["fix", "migrate"])
def test_files_that_hold_no_data_leave_nothing_open(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    for example in ("run.jsonl", "aggregate.json"):
        shutil.copy(EXAMPLES / example, folder)
    for other in ("README.md", "LICENSE", "plot.png", "convert.py", ".gitignore", "x.json"):
        (folder / other).write_text("{}")
    options = ["--to", str(tmp_path / "new"), "--collection", "sums", "--fill", "--decide", "all"]
    case = Case(folder, [name, ".", *(["--write"] if name == "fix" else options)])
    assert exit_codes([case]) == [0], (tmp_path / "out").read_text()
    # A link that leads nowhere may have led to rows.
    (folder / "lost.jsonl").symlink_to("nowhere.jsonl")
    assert exit_codes([case]) == [3]


def test_leftovers_of_a_killed_call_go_without_a_word(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    for example in ("run.jsonl", "aggregate.json"):
        shutil.copy(EXAMPLES / example, folder)
    before = {path.name for path in folder.iterdir()}
    (folder / ".run.jsonl.0.evalstream").write_text("half")
    (folder / ".aggregate.json.3.evalstream").write_text("half")
    (folder / ".migrate-abc.evalstream").mkdir()
    os.link(folder / "run.jsonl", folder / ".run.jsonl.1.evalstream")
    assert exit_codes([Case(folder, ["check", ".", "--verbose"])]) == [0]
    assert "not checked" not in (tmp_path / "out").read_text()
    assert exit_codes([Case(folder, ["fix", ".", "--write"])]) == [0]
    assert {path.name for path in folder.iterdir()} == before
    assert ".evalstream" not in (tmp_path / "out").read_text()


@pytest.mark.parametrize("is_dry", [True, False])
def test_rows_of_two_aggregates_are_repaired_in_a_copy_alone(is_dry: bool, tmp_path: Path) -> None:
    """The seal of the second would not fit what the first repair left."""
    folder = tmp_path / "in"
    folder.mkdir()
    rows, aggregate = write_run(folder, MARK + bytes_of(sound_rows()), count=8)
    other = shutil.copy(aggregate, folder / "other.json")
    for path in (aggregate, other):
        edit(path, file_path=rows.name)
    before = files_of(folder)
    outcomes = fix(folder, write=not is_dry, options=ALONE).outcomes
    assert [one.status for one in outcomes] == [ChangeStatus.REFUSED] * 2
    assert outcomes[0].reasons[0].startswith(f"another aggregate names {rows} as well")
    assert files_of(folder) == before
    assert fix(folder, to=tmp_path / "out", options=ALONE).exit_code == 0
    assert evalstream.check(tmp_path / "out").passed
