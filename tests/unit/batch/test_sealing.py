"""Tests of seals in documents of their own: folders of EvalGuard, evaluations of infereval."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.batch import sealing
from evalstream.model.errors import CannotWrite, UsageError
from evalstream.model.run_summary import RunSummary

MANIFEST = "evalguard.manifest.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / "evalguard", tmp_path / "config"))


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """Return an evaluation that says no hash, beside its benchmark."""
    shutil.copy(EXAMPLES / "infereval" / "benchmark.json", tmp_path)
    document = json.loads((EXAMPLES / "infereval" / "evaluation.json").read_text())
    del document["benchmark_hash"]
    path = tmp_path / "evaluation.json"
    path.write_text(json.dumps(document, indent=1))
    return path


def errors(path: Path, **options: Any) -> dict[str, int]:
    """Return how often each code fails the check of a path."""
    (run,) = evalstream.check(path, **options).runs
    return dict(run.failing)


def sealed(path: Path, *more: Any, **options: Any) -> RunSummary:
    """Seal the one run of a path."""
    (run,) = evalstream.seal(path, *more, **options).runs
    return run


def contents(path: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in path.rglob("*") if one.is_file()}


def test_a_sealed_folder_says_so(folder: Path) -> None:
    run = sealed(folder)
    # The report in the folder has no rows, so that its values are unconfirmed.
    assert (run.verdict, run.sealed) == ("unconfirmed", str(folder / MANIFEST))
    assert any("sha256 of 7 of 7 documents ok" in one.text and one.is_ok for one in run.checked)
    (checked,) = evalstream.check(folder).runs
    assert checked.checked == run.checked
    listed = json.loads((folder / MANIFEST).read_text())["documents"]
    assert [one["path"] for one in listed] == sorted(one["path"] for one in listed)
    assert {one["path"] for one in listed} == {
        file.relative_to(folder).as_posix() for file in folder.rglob("*.*") if file.name != MANIFEST
    }
    before = contents(folder)
    sealed(folder)
    assert contents(folder) == before


def test_a_folder_without_a_manifest_is_not_said_to_be_sealed(folder: Path) -> None:
    (run,) = evalstream.check(folder).runs
    assert (run.checked, run.sealed) == ((), None)


def test_each_change_of_a_sealed_folder_is_found(folder: Path) -> None:
    sealed(folder)
    whole = contents(folder)
    (folder / "metrics" / "accuracy.yaml").write_bytes(whole["accuracy.yaml"] + b"# changed\n")
    assert errors(folder) == {"EVG602": 1}
    (folder / "metrics" / "accuracy.yaml").write_bytes(whole["accuracy.yaml"])
    assert errors(folder) == {}
    (folder / "reports" / "acorn-7b.yaml").unlink()
    assert errors(folder) == {"EVG603": 1}
    (folder / "reports" / "acorn-7b.yaml").write_bytes(whole["acorn-7b.yaml"])
    (folder / "metrics" / "f1.yaml").write_text("id: f1\nname: F1\ndirection: higher_is_better\n")
    assert errors(folder) == {"EVG604": 1}


MALFORMED: dict[str, Any] = {
    "another algorithm": {"algorithm": "md5", "documents": []},
    "no documents": {"algorithm": "sha256"},
    "a path above": {"path": "../secret.yaml", "sha256": "0" * 64, "size": 1},
    "an absolute path": {"path": "/etc/hosts", "sha256": "0" * 64, "size": 1},
    "a path through nothing": {"path": "tasks//sums.yaml", "sha256": "0" * 64, "size": 1},
    "a path with a NUL": {"path": "a\0b", "sha256": "0" * 64, "size": 1},
    "a digest that is none": {"path": "tasks/sums.yaml", "sha256": "x" * 64, "size": 1},
}


@each("value", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_manifest_never_passes(folder: Path, value: Any) -> None:
    whole = value if "path" not in value else {"algorithm": "sha256", "documents": [value]}
    (folder / MANIFEST).write_text(json.dumps(whole))
    (run,) = evalstream.check(folder).runs
    assert run.verdict == "failed"
    assert set(run.failing) == {"EVG601"}
    assert not any(one.is_ok for one in run.checked)


@each("text", [b"", b"[]", b"{", b"\xff", b'{"algorithm": 1, "algorithm": 2}'])
def test_what_is_no_manifest_never_passes(folder: Path, text: bytes) -> None:
    (folder / MANIFEST).write_bytes(text)
    (run,) = evalstream.check(folder).runs
    assert run.verdict in {"failed", "incomplete"}


def test_a_path_that_is_listed_twice_is_an_error(folder: Path) -> None:
    sealed(folder)
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["documents"].append(manifest["documents"][0])
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert errors(folder) == {"EVG601": 1}


def test_what_is_left_out_of_a_check_leaves_it_open(folder: Path) -> None:
    sealed(folder)
    (run,) = evalstream.check(folder, exclude=["reports"]).runs
    assert run.verdict == "incomplete"
    assert "1 document of" in str(run.incomplete_reason)


def test_a_document_is_known_by_any_spelling_of_its_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed(folder)
    monkeypatch.chdir(folder.parent)
    (run,) = evalstream.check("./config/reports/acorn-7b.yaml", aggregate="config").runs
    assert run.verdict == "unconfirmed"
    assert any(one.is_ok for one in run.checked)


def test_a_folder_with_errors_is_not_sealed(folder: Path) -> None:
    (folder / "tasks" / "sums.yaml").write_text("id: sums\n")
    run = sealed(folder)
    assert (run.verdict, run.sealed) == ("failed", None)
    assert "it was not sealed" in str(run.incomplete_reason)
    assert not (folder / MANIFEST).exists()
    assert sealed(folder, seal_anyway=True).sealed is not None
    assert set(errors(folder)) == set(run.failing)


def test_nothing_is_said_to_fit_a_seal_that_is_not_there(folder: Path, pair: Path) -> None:
    (folder / "thresholds/sums.yaml").write_text("task: none\nthresholds: {}\n")
    for run in (sealed(folder), sealed(folder, dry_run=True), sealed(pair, dry_run=True)):
        assert (run.sealed, run.declared, run.checked) == (None, None, ())
    assert sealed(pair).declared is not None
    assert sealed(pair, dry_run=True).declared is not None


def test_what_was_not_checked_is_not_sealed_by_force_either(folder: Path) -> None:
    (folder / "tasks" / "sums.yaml").write_text("id: sums\n")
    (folder / "tasks" / "torn.yaml").write_text("id: [")
    run = sealed(folder, seal_anyway=True)
    assert (run.verdict, run.sealed) == ("failed", None)
    assert "--seal-anyway" not in str(run.incomplete_reason)


def test_a_dry_run_shows_the_manifest(folder: Path) -> None:
    run = sealed(folder, dry_run=True)
    assert '+    {"path": "metrics/accuracy.yaml"' in str(run.change)
    assert not (folder / MANIFEST).exists()


def test_a_link_out_of_the_folder_is_not_sealed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text("id: x\nname: x\ndirection: higher_is_better\n")
    (folder / "metrics" / "x.yaml").symlink_to(tmp_path / "outside.yaml")
    run = sealed(folder)
    assert (run.verdict, run.sealed) == ("failed", None)
    assert not (folder / MANIFEST).exists()


@pytest.mark.parametrize("is_inside", [True, False], ids=["inside", "outside"])
def test_no_manifest_is_written_through_a_link(
    folder: Path, tmp_path: Path, is_inside: bool
) -> None:
    target = (folder if is_inside else tmp_path) / "kept.txt"
    target.write_text("kept")
    (folder / MANIFEST).symlink_to(target)
    for force in (False, True):
        run = sealed(folder, seal_anyway=force)
        assert run.sealed is None
        assert "not a regular file" in str(run.incomplete_reason)
    assert target.read_text() == "kept"
    assert (folder / MANIFEST).is_symlink()


def test_a_pipe_in_place_of_the_manifest_does_not_block(folder: Path) -> None:
    os.mkfifo(folder / MANIFEST)
    run = sealed(folder)
    assert (run.verdict, run.sealed) == ("incomplete", None)
    assert "not a regular file" in str(run.incomplete_reason)


def test_a_document_beside_its_sealed_folder_is_checked(folder: Path) -> None:
    sealed(folder)
    document = folder / "reports" / "acorn-7b.yaml"
    (run,) = evalstream.check(document, aggregate=folder).runs
    assert run.verdict == "unconfirmed"
    assert any("sha256 of 7 of 7 documents ok" in one.text for one in run.checked)
    (folder / "metrics" / "accuracy.yaml").write_bytes(
        b"# changed\n" + (folder / "metrics" / "accuracy.yaml").read_bytes()
    )
    assert errors(document, aggregate=folder) == {"EVG602": 1}


def test_several_links_to_one_document_are_sealed_once(folder: Path) -> None:
    (folder / "metrics" / ".kept.yaml").write_text("id: x\nname: x\ndirection: higher_is_better\n")
    for name in ("x.yaml", "y.yaml"):
        (folder / "metrics" / name).symlink_to(".kept.yaml")
    assert sealed(folder, ignore=["EVG205"]).sealed is not None
    assert errors(folder) == {}


def test_the_manifest_is_named_with_its_folder(folder: Path) -> None:
    sealed(folder)
    (run,) = evalstream.check(folder / MANIFEST).runs
    assert run.verdict == "incomplete"
    assert "name the folder" in str(run.incomplete_reason)
    assert len(evalstream.check(folder.parent).runs) == 1


def test_an_evaluation_gets_the_hash_of_its_benchmark(pair: Path) -> None:
    given = pair.read_bytes()
    run = sealed(pair)
    assert (run.verdict, run.sealed) == ("passed", str(pair))
    document = json.loads(pair.read_text())
    example = json.loads((EXAMPLES / "infereval" / "evaluation.json").read_text())
    assert document["benchmark_hash"] == example["benchmark_hash"]
    kept = pair.read_bytes().replace(f'"{document["benchmark_hash"]}"'.encode(), b"")
    assert kept.replace(b',\n "benchmark_hash": ', b"") == given
    before = pair.read_bytes()
    assert sealed(pair, pair.parent / "benchmark.json").sealed is not None
    assert pair.read_bytes() == before


def test_a_hash_of_another_benchmark_is_not_replaced(pair: Path) -> None:
    document = {**json.loads(pair.read_text()), "benchmark_hash": "sha256:" + "0" * 64}
    pair.write_text(json.dumps(document))
    for force in (False, True):
        run = sealed(pair, seal_anyway=force)
        assert run.sealed is None
        assert "not that of this benchmark" in str(run.incomplete_reason)
    assert json.loads(pair.read_text()) == document


def test_without_its_benchmark_an_evaluation_is_not_sealed(pair: Path) -> None:
    (pair.parent / "benchmark.json").unlink()
    run = sealed(pair)
    assert (run.verdict, run.sealed) == ("incomplete", None)


def test_a_malformed_benchmark_seals_nothing(pair: Path) -> None:
    benchmark = pair.parent / "benchmark.json"
    benchmark.write_text(benchmark.read_text().replace('"items"', '"things"'))
    before = pair.read_bytes()
    run = sealed(pair, benchmark)
    assert run.sealed is None
    assert pair.read_bytes() == before


def test_an_evaluation_with_errors_is_sealed_only_by_force(pair: Path) -> None:
    document = json.loads(pair.read_text())
    document["items"][0]["model_verdict"] = "bad"
    pair.write_text(json.dumps(document))
    assert sealed(pair).sealed is None
    assert sealed(pair, seal_anyway=True).sealed is not None


def test_a_document_that_changes_meanwhile_is_not_sealed(
    pair: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changing(*arguments: Any) -> RunSummary:
        summary = real(*arguments)
        pair.write_bytes(pair.read_bytes() + b" ")
        return summary

    real = sealing.check_any
    monkeypatch.setattr(sealing, "check_any", changing)
    run = sealed(pair)
    assert (run.verdict, run.sealed) == ("incomplete", None)
    assert "changed meanwhile" in str(run.incomplete_reason)


@pytest.mark.skipif(os.getuid() == 0 or sys.platform == "win32", reason="root may write everywhere")
def test_a_folder_that_must_not_be_written_raises(folder: Path) -> None:
    folder.chmod(0o555)
    with pytest.raises(CannotWrite):
        sealed(folder)


@each(
    ("path", "message"),
    [
        ("harpia", "no place for a seal"),
        ("infereval/benchmark.json", "a benchmark has no place for a seal"),
        ("evalguard/tasks/sums.yaml", "one folder is sealed at a time"),
        (".", "exactly one run"),
    ],
)
def test_what_has_no_place_for_a_seal_is_refused(path: str, message: str, tmp_path: Path) -> None:
    examples = Path(shutil.copytree(EXAMPLES, tmp_path / "examples"))
    with pytest.raises(UsageError, match=message):
        evalstream.seal(examples / path)


@each("options", [{"create": True}, {"expect_rows": 2}, {"file_path": "a"}])
def test_options_of_rows_go_with_an_aggregate(folder: Path, options: Any) -> None:
    with pytest.raises(UsageError, match="go with aggregate alone"):
        evalstream.seal(folder, **options)
