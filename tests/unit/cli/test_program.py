"""How the program ends: with other exit codes on request, and never better than it knows."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import command, environment, run_command
from depth import deep
from each import each
from paths import EXAMPLES

SOUND = ("run.jsonl", "--aggregate", "aggregate.json")
TAMPERED = ("tampered",)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Copy the examples, and rows of them to a folder without an aggregate."""
    folder = Path(shutil.copytree(EXAMPLES, tmp_path / "examples"))
    (folder / "alone").mkdir()
    shutil.copy(folder / "run.jsonl", folder / "alone" / "run.jsonl")
    return folder


def ended(*arguments: str, folder: Path, data: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    return run_command(
        command(*arguments),
        cwd=folder,
        input=data,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )


@each(
    ("arguments", "own", "eee", "zero"),
    [
        (SOUND, 0, 0, 0),
        (("alone/run.jsonl",), 0, 2, 0),
        (TAMPERED, 1, 1, 0),
        (("missing.jsonl",), 3, 1, 3),
        deep((*TAMPERED, "missing.jsonl"), 3, 1, 3),
        ((), 2, 1, 2),
        deep(("run.jsonl", "--no-such-option"), 2, 1, 2),
        deep(("run.jsonl", "--select", "ES99"), 2, 1, 2),
        (("run.jsonl", "--format", "unknown"), 2, 1, 2),
    ],
)
def test_exit_codes_have_the_meaning_that_is_asked_for(
    arguments: tuple[str, ...], own: int, eee: int, zero: int, folder: Path
) -> None:
    codes = [
        (more, ended("check", *arguments, *more, folder=folder).returncode, code)
        for more, code in (
            ((), own),
            (("--exit-codes", "eee"), eee),
            (("--exit-codes=eee", "--strict"), 1 if eee else 0),
            (("--exit-zero",), zero),
        )
    ]
    assert all(found == expected for _, found, expected in codes), codes


@each(
    ("arguments", "code", "said"),
    [
        (("check", *SOUND, "--exit-zero", "--exit-codes", "eee"), 1, "cannot be combined"),
        (("check", "run.jsonl", "--seal-to", "new.json", "--exit-zero"), 2, "--seal-to"),
        (("check", "run.jsonl", "--seal-to", "new.json", "--exit-codes", "eee"), 1, "--seal-to"),
        (("seal", "run.jsonl", "--aggregate", "aggregate.json", "--exit-zero"), 2, "--exit-zero"),
        (("check", "run.jsonl", "--missing-ok"), 2, "--missing-ok requires --files-from"),
    ],
)
def test_options_that_would_hide_a_failure_are_refused(
    arguments: tuple[str, ...], code: int, said: str, folder: Path
) -> None:
    before = (folder / "aggregate.json").read_bytes()
    end = ended(*arguments, folder=folder)
    assert end.returncode == code
    assert said in end.stderr
    assert (folder / "aggregate.json").read_bytes() == before
    assert not (folder / "new.json").exists()


def test_parts_are_merged_with_the_exit_code_that_is_asked_for(folder: Path) -> None:
    for part in ("1", "2"):
        ended("check", "tampered", "--shard", f"{part}/2", "-o", f"part{part}", folder=folder)
    for arguments, code in (((), 1), (("--exit-zero",), 0), (("--exit-codes", "eee"), 1)):
        assert ended("merge", "part1", "part2", *arguments, folder=folder).returncode == code
    damaged = ended("merge", "part1", "--exit-zero", folder=folder)
    assert damaged.returncode == 3
    assert ended("merge", "part1", "--exit-codes", "eee", folder=folder).returncode == 1


def test_a_list_from_version_control_is_a_gate(folder: Path) -> None:
    (folder / "README.md").write_text("# Results\n")
    gate = ("check", "--files-from", "-", "--missing-ok", "--format", "eee", "--exit-codes", "eee")
    end = ended(*gate, folder=folder, data="README.md\ngone.json\naggregate.json\n")
    assert (end.returncode, end.stderr) == (0, "")
    assert [one["valid"] for one in json.loads(end.stdout)] == [True, True]
    end = ended(*gate, folder=folder, data="README.md\ngone.json\n")
    assert (end.returncode, end.stdout) == (1, "[]\n")


def test_a_text_that_is_no_path_is_an_input_that_cannot_be_read(folder: Path) -> None:
    done = ended("check", '{"sample_id": "1"}', folder=folder)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("ES001 unreadable-input: 1 error\n")
    for name in ("compare", "fix", "seal"):
        done = ended(name, '{"sample_id": "1"}', folder=folder)
        assert (done.returncode, "is JSON, not a path" in done.stderr) == (2, True)
    done = ended("check", "run.jsonl", "", folder=folder)
    assert done.returncode == 2
    assert done.stderr.endswith("input 2 is an empty text, not a path\n")
