"""Lists from version control: names that are gone, files that are not ours, halves of pairs."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.discovery.input_list import inputs_from
from evalstream.model.exit_codes import ExitCode

ROWS, AGGREGATE = "run.jsonl", "run.json"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with a pair and with what else a repository holds; it is the current one."""
    shutil.copy(EXAMPLES / "run.jsonl", tmp_path / ROWS)
    text = (EXAMPLES / "aggregate.json").read_text(encoding="utf-8")
    (tmp_path / AGGREGATE).write_text(text)
    (tmp_path / "README.md").write_text("# Results\n")
    (tmp_path / "convert.py").write_text("x = 1\n")
    (tmp_path / "package.json").write_text('{"private": true}\n')
    workflows = tmp_path / ".github" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "ci.yml").write_text("on: push\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(
    names: Iterable[str], *, missing_ok: bool = False, **options: object
) -> evalstream.Report:
    """Check what a list names."""
    Path("names.txt").write_text("".join(f"{name}\n" for name in names))
    return evalstream.check(
        inputs_from("names.txt", missing_ok=missing_ok),
        jobs=1,
        **options,  # type: ignore[arg-type]  # each test gives options of the right types
    )


@pytest.mark.usefixtures("folder")
@each("names", [[ROWS], [AGGREGATE], [AGGREGATE, ROWS], [ROWS, AGGREGATE]])
def test_a_pair_is_checked_as_a_pair_whatever_half_a_list_names(names: list[str]) -> None:
    report = checked(["README.md", *names, "convert.py"])
    assert [(run.file, run.aggregate) for run in report.runs] == [(ROWS, AGGREGATE)]
    assert report.totals.other_files == 2


@pytest.mark.usefixtures("folder")
def test_files_that_are_not_evaluation_files_are_counted_in_one_info() -> None:
    report = checked(["README.md", "convert.py", ".github/workflows/ci.yml", ROWS])
    (note,) = [one for one in report if one.code == "ES007"]
    assert (note.file, note.severity.label) == ("names.txt", "info")
    assert "3 files that are not evaluation files" in note.message
    assert "README.md" in note.message
    assert report.totals.as_dict()["other_files"] == 3


@pytest.mark.usefixtures("folder")
def test_names_that_are_gone_are_an_error_unless_they_may_be() -> None:
    names = ["gone.json", "gone.jsonl", "gone.md", ROWS]
    report = checked(names)
    assert (report.counts["ES001"], report.exit_code) == (3, ExitCode.UNCHECKED)
    report = checked(names, missing_ok=True)
    assert "ES001" not in report.counts
    assert report.totals.as_dict()["missing"] == 3
    assert report.exit_code == checked([ROWS]).exit_code


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("names", [["gone.json"], ["README.md"], ["gone.json", "README.md"]])
def test_a_list_without_anything_to_check_never_passes(names: list[str]) -> None:
    report = checked(names, missing_ok=True)
    assert report.exit_code == ExitCode.UNCHECKED
    assert not report.passed


@pytest.mark.usefixtures("folder")
def test_the_count_does_not_depend_on_the_selected_rules() -> None:
    totals = checked(["gone.json", "README.md", ROWS], missing_ok=True, ignore=("ES007",)).totals
    assert (totals.missing, totals.other_files) == (1, 1)


@pytest.mark.usefixtures("folder")
@each("text", ['{"private": true}', "{}", "[]", '{"torn', "", "3"])
@pytest.mark.parametrize("name", ["results.json", "results.jsonl"])
def test_a_file_named_like_ours_is_reported_whatever_it_holds(name: str, text: str) -> None:
    Path(name).write_text(text)
    report = checked([name, AGGREGATE], missing_ok=True)
    assert name in {finding.file for finding in report}
    assert report.exit_code != ExitCode.PASSED


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["rows.txt", "rows.dat", "rows.jsonl.bak"])
def test_rows_under_another_name_are_reported(name: str) -> None:
    shutil.copy(ROWS, name)
    report = checked([name, AGGREGATE])
    assert report.counts.get("ES005") == 1
    assert report.exit_code != ExitCode.PASSED


@pytest.mark.usefixtures("folder")
def test_an_aggregate_whose_rows_are_gone_is_reported() -> None:
    Path(ROWS).unlink()
    document = json.loads(Path(AGGREGATE).read_bytes())
    assert document["detailed_evaluation_results"]
    report = checked([AGGREGATE, ROWS], missing_ok=True)
    assert report.totals.missing == 1
    assert report.counts["ES001"] == 1
    assert report.exit_code != ExitCode.PASSED


@pytest.mark.usefixtures("folder")
def test_a_link_that_leads_nowhere_is_not_gone() -> None:
    Path("run2.jsonl").symlink_to("nowhere.jsonl")
    report = checked(["run2.jsonl", ROWS], missing_ok=True)
    assert report.counts["ES001"] == 1
    assert not report.totals.missing


@pytest.mark.usefixtures("folder")
def test_excluded_names_are_left_out_of_a_list() -> None:
    report = checked(
        ["package.json", ".github/workflows/ci.yml", ROWS], exclude=("package.json", ".github")
    )
    assert report.totals.excluded == 2
    assert "ES005" not in report.counts


@pytest.mark.usefixtures("folder")
def test_the_document_of_a_format_for_folders_is_checked_in_its_folder() -> None:
    Path("tasks").mkdir()
    Path("tasks/sums.yaml").write_text("a: b\n")
    report = checked(["tasks/sums.yaml", ROWS])
    assert not report.totals.other_files
    assert {run.format for run in report.runs} == {"eee", "evalguard"}


@pytest.mark.usefixtures("folder")
def test_parts_of_a_batch_keep_the_counts(tmp_path: Path) -> None:
    names = ["README.md", "gone.json", ROWS]
    Path("names.txt").write_text("".join(f"{name}\n" for name in names))
    from evalstream.batch.parts import PartReporter
    from evalstream.io.output import Output

    for shard in (1, 2):
        with Output(f"part-{shard}") as output:
            evalstream.check(
                inputs_from("names.txt", missing_ok=True),
                shard=f"{shard}/2",
                reporter=PartReporter(output),
            )
    merged = evalstream.merge(["part-1", "part-2"])
    assert (merged.totals.missing, merged.totals.other_files) == (1, 1)
    assert merged.exit_code == checked(names, missing_ok=True).exit_code
