"""Logs that are sound though they look unusual, and changes that only they allow."""

import gzip
import json
from pathlib import Path
from typing import Any

from each import each
from lm_eval_logs import DIGESTS, RESULTS, TASK, digest, results, row, rows, text, write

import evalstream
from evalstream.model.claim import State, count_states
from evalstream.model.run_summary import RunSummary


def run_of(folder: Path, samples: Any, document: dict[str, Any]) -> RunSummary:
    """Return what a check of samples with their results says."""
    path = write(folder, samples, document)
    return evalstream.check([str(path)], aggregate=str(folder / RESULTS)).runs[0]


def renamed(old: str, new: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a sound log whose metric `acc` has another name."""
    samples = rows()
    document = results(samples)
    for one in samples:
        one[new] = one.pop(old)
        one["metrics"] = [new]
    entry = document["results"][TASK]
    for end in ("_stderr", ""):
        entry[f"{new}{end},none"] = entry.pop(f"{old}{end},none")
    document["configs"][TASK]["metric_list"][0]["metric"] = new
    document["higher_is_better"][TASK] = {new: True}
    return samples, document


@each("name", ["acc,norm", "acc_stderr", "acc_stderr,x", "é/~"])
def test_a_metric_may_have_any_name(tmp_path: Path, name: str) -> None:
    samples, document = renamed("acc", name)
    run = run_of(tmp_path / "sound", samples, document)
    assert (run.verdict, dict(run.counts)) == ("passed", {})
    assert count_states(run.claims) == {"confirmed": 4, "rounded": 0, "refuted": 0, "open": 0}
    document["results"][TASK][f"{name},none"] = 0.61
    document["results"][TASK][f"{name}_stderr,none"] = 0.61
    assert run_of(tmp_path / "changed", samples, document).counts.keys() == {"LME301", "LME302"}


def test_rows_without_any_metric_count_as_none(tmp_path: Path) -> None:
    """Multiple choice with --predict_only."""
    samples = rows()
    document = results(samples)
    for one in samples:
        del one["acc"]
        one["metrics"] = []
    document["results"][TASK] = {"alias": TASK, "sample_len": 0}
    document["n-samples"][TASK]["effective"] = 0
    run = run_of(tmp_path / "sound", samples, document)
    assert (run.verdict, dict(run.counts)) == ("unconfirmed", {"ES805": 1})
    document["n-samples"][TASK]["effective"] = 3
    assert run_of(tmp_path / "changed", samples, document).counts.keys() == {"LME207"}


def test_a_task_in_python_may_add_up_in_its_own_way(tmp_path: Path) -> None:
    samples, document = renamed("acc", "exact")
    del document["configs"][TASK]["metric_list"]
    document["results"][TASK]["exact,none"] = 62.5
    assert run_of(tmp_path, samples, document).counts.keys() == {"ES805", "LME303"}


def test_usual_metrics_are_means_without_a_list_of_metrics(tmp_path: Path) -> None:
    samples = rows()
    document = results(samples)
    del document["configs"][TASK]["metric_list"]
    assert not run_of(tmp_path / "sound", samples, document).counts
    document["results"][TASK]["acc,none"] = 0.61
    assert run_of(tmp_path / "changed", samples, document).counts.keys() == {"LME301"}


def test_the_last_of_two_entries_says_how_a_metric_is_added_up(tmp_path: Path) -> None:
    samples = rows()
    document = results(samples)
    entries = document["configs"][TASK]["metric_list"]
    entries.append({"metric": "acc", "aggregation": "nanmean"})
    assert run_of(tmp_path, samples, document).counts.keys() == {"LME302"}


def test_the_source_of_an_aggregation_is_not_shown(tmp_path: Path) -> None:
    samples = rows()
    document = results(samples)
    source = "def add(items):\n    return sum(items)\n"
    document["configs"][TASK]["metric_list"][0]["aggregation"] = source
    document["results"][TASK] |= {"acc,none": 0.7, "acc_stderr,none": "N/A"}
    path = write(tmp_path, samples, document)
    report = evalstream.check([str(path)], aggregate=str(tmp_path / RESULTS))
    assert {finding.code for finding in report.findings} == {"ES805", "LME303"}
    assert not any("sum(items)" in finding.message for finding in report.findings)


def old_layout(folder: Path, samples: list[dict[str, Any]], document: dict[str, Any]) -> None:
    """Write a log as releases before 0.4.3 did: an array of rows, and results without counts."""
    for one in samples:
        for name in (*DIGESTS, "filter", "metrics"):
            del one[name]
        one["arguments"] = [["Q", {}]]
    for name in ("n-samples", "task_hashes", "lm_eval_version", "group_subtasks"):
        del document[name]
    del document["results"][TASK]["sample_len"]
    document["results"]["other_sums"] = {"acc,none": 1.0}
    folder.mkdir()
    (folder / f"pretrained__acorn_{TASK}.jsonl").write_text(json.dumps(samples, indent=2))
    (folder / "results.json").write_text(json.dumps(document, indent=2))


def test_samples_of_older_releases_are_found_by_their_names(tmp_path: Path) -> None:
    samples = rows()
    document = results(samples)
    old_layout(tmp_path / "log", samples, document)
    runs = evalstream.check([str(tmp_path / "log")]).runs
    of_samples = next(run for run in runs if run.rows)
    alone = next(run for run in runs if not run.rows)
    assert (of_samples.verdict, dict(of_samples.counts)) == ("passed", {})
    assert {claim.state for claim in of_samples.claims} == {State.CONFIRMED}
    # A task of the results has no samples.
    assert alone.verdict == "unconfirmed"
    assert {claim.label for claim in alone.claims} == {"acc,none of other_sums"}
    del document["results"]["other_sums"]
    (tmp_path / "log" / "results.json").write_text(json.dumps(document))
    runs = evalstream.check([str(tmp_path / "log")]).runs
    assert [(run.verdict, dict(run.counts)) for run in runs] == [("passed", {})] * 2


def test_samples_without_a_time_are_not_compared_with_any_of_several_results(
    tmp_path: Path,
) -> None:
    samples = rows()
    document = results(samples)
    old_layout(tmp_path / "log", samples, document)
    document["results"][TASK]["acc,none"] = 0.25
    (tmp_path / "log" / "results_of_another_call.json").write_text(json.dumps(document))
    runs = evalstream.check([str(tmp_path / "log")]).runs
    assert [run.verdict for run in runs] == ["unconfirmed"] * 3


def test_nothing_verified_is_not_passed(tmp_path: Path) -> None:
    samples = rows()
    document = results(samples)
    document["configs"][TASK]["metric_list"][0]["aggregation"] = "def most(items): return 1"
    document["results"][TASK] |= {"acc,none": 0.7, "acc_stderr,none": "N/A"}
    old_layout(tmp_path / "log", samples, document)
    runs = evalstream.check([str(tmp_path / "log")]).runs
    assert {run.verdict for run in runs} == {"unconfirmed"}


def test_results_without_hashes_are_complete_with_their_samples(tmp_path: Path) -> None:
    samples = rows()
    document = results(samples)
    del document["task_hashes"]
    write(tmp_path, samples, document)
    runs = evalstream.check([str(tmp_path)]).runs
    assert [run.verdict for run in runs] == ["passed", "passed"]
    assert [dict(run.counts) for run in runs] == [{"LME204": 1}, {}]


def test_results_that_were_published_alone_are_unconfirmed(tmp_path: Path) -> None:
    samples = rows()
    document = results(samples)
    document["task_hashes"]["other_sums"] = "0" * 64
    path = write(tmp_path, samples, document)
    run = next(run for run in evalstream.check([str(tmp_path)]).runs if not run.rows)
    assert (run.verdict, run.counts["LME209"]) == ("failed", 1)
    # Results with another time in their name may be those of samples that would refute them.
    other = path.rename(path.with_name("samples_tiny_sums_2026-01-01T00-00-00.000000.jsonl"))
    run = next(run for run in evalstream.check([str(tmp_path)]).runs if not run.rows)
    assert (run.verdict, run.counts["LME209"]) == ("failed", 2)
    other.unlink()
    (run,) = evalstream.check([str(tmp_path)]).runs
    assert (run.verdict, run.counts["LME209"]) == ("unconfirmed", 2)


def test_digests_that_were_removed_everywhere_are_missed(tmp_path: Path) -> None:
    samples = rows()
    document = results(samples)
    del document["task_hashes"]
    for one in samples:
        for name in DIGESTS:
            del one[name]
    assert run_of(tmp_path, samples, document).counts["LME101"] == len(samples)


def grouped() -> dict[str, Any]:
    """Return results of a group of two tasks, with the task itself."""
    document = results(rows())
    entry = document["results"][TASK]
    other = {"alias": "b", "acc,none": 1.0, "acc_stderr,none": 0.0, "sample_len": 2}
    total = (entry["acc,none"] * 4 + 2) / 6
    error = (3 * entry["acc_stderr,none"] ** 2 * 4 / 4 / 6) ** 0.5
    group = {
        "alias": "all",
        "sample_len": 6,
        "acc,none": total,
        "acc_stderr,none": error,
        "sample_count": {"acc,none": 6},
    }
    document["results"] |= {"b": other, "all": group}
    document["groups"] = {"all": dict(group)}
    document["group_subtasks"] = {"all": [TASK, "b"]}
    document["task_hashes"] = {}
    return document


def group_findings(folder: Path, document: dict[str, Any]) -> list[str | None]:
    """Return the pointers of the findings about groups."""
    folder.mkdir()
    (folder / RESULTS).write_text(json.dumps(document))
    report = evalstream.check([str(folder / RESULTS)])
    return [one.pointer for one in report.findings if one.code == "LME304"]


def test_groups_in_each_other_are_looked_through_once(tmp_path: Path) -> None:
    document = grouped()
    nested = {f"g{number}": [f"g{number + 1}"] * 2 for number in range(100)}
    document["group_subtasks"] |= nested | {"g100": ["all", "g0"]}
    document["results"]["g0"] = dict(document["results"]["all"])
    assert group_findings(tmp_path / "log", document) == []


def test_a_group_that_holds_itself_confirms_nothing(tmp_path: Path) -> None:
    document = grouped()
    document["results"]["own"] = {"acc,none": 0.99, "sample_len": 1}
    document["group_subtasks"]["own"] = ["own"]
    group_findings(tmp_path / "log", document)
    (run,) = evalstream.check([str(tmp_path / "log" / RESULTS)]).runs
    assert {one.state.value for one in run.claims if one.is_score} == {"open"}


def test_a_sound_group_has_no_findings(tmp_path: Path) -> None:
    assert group_findings(tmp_path / "log", grouped()) == []


@each(
    ("path", "value"),
    [
        (("acc,none",), 0.9),
        (("acc_stderr,none",), 0.9),
        (("acc_stderr,none",), -0.1),
        (("f1,none",), 0.9),
        (("acc,strict",), 0.75),
        (("sample_len",), 7),
        (("sample_count", "acc,none"), 4),
    ],
)
def test_a_changed_group_is_found(tmp_path: Path, path: tuple[str, ...], value: Any) -> None:
    document = grouped()
    holder = document["results"]["all"]
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    document["groups"] = {"all": json.loads(json.dumps(document["results"]["all"]))}
    assert group_findings(tmp_path / "log", document) == [f"/results/all/{'/'.join(path)}"]


def test_groups_that_differ_from_results_are_found(tmp_path: Path) -> None:
    document = grouped()
    document["groups"]["all"]["sample_len"] = 5
    assert group_findings(tmp_path / "log", document) == ["/groups/all/sample_len"]


@each("one", ["results", "groups"])
def test_a_figure_that_one_of_them_lacks_is_found(tmp_path: Path, one: str) -> None:
    document = grouped()
    del document[one]["all"]["acc_stderr,none"]
    (other,) = {"results", "groups"} - {one}
    found = group_findings(tmp_path / "log", document)
    assert found == [f"/{other}/all/acc_stderr,none"]


def test_rows_with_several_metrics_of_other_lengths(tmp_path: Path) -> None:
    samples = [row(0, acc=1.0), row(1, acc=0.0, maybe=1), row(2, acc=1.0, maybe=0)]
    document = results(samples)
    document["results"][TASK] |= {"maybe,none": 0.5, "maybe_stderr,none": 0.5}
    document["configs"][TASK]["process_results"] = "def score(doc, results): ..."
    assert not run_of(tmp_path, samples, document).counts
    assert text(samples).count(b"maybe") == 4


def test_large_values_of_both_signs_may_leave_rounding(tmp_path: Path) -> None:
    """The harness adds up doubles in their order, here to 0 instead of 1e-9 / 3."""
    samples = rows((1e9 / 3, 1e-9, -1e9 / 3))
    document = results(samples)
    document["results"][TASK]["acc,none"] = (1e9 / 3 + 1e-9 - 1e9 / 3) / 3
    assert not run_of(tmp_path / "sound", samples, document).counts
    document["results"][TASK]["acc,none"] = 0.01
    assert run_of(tmp_path / "changed", samples, document).counts.keys() == {"LME301"}


def test_compressed_results_are_not_called_invalid(tmp_path: Path) -> None:
    samples = rows()
    write(tmp_path, samples, results(samples))
    plain = tmp_path / RESULTS
    (tmp_path / f"{RESULTS}.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    for run in evalstream.check([str(tmp_path)]).runs:
        assert (run.verdict, run.counts.keys() - {"ES001"}) == ("incomplete", set())
        assert "compressed" in str(run.incomplete_reason)


@each(("aggregation", "state"), [("mean", "confirmed"), ("def mine(items): ...", "open")])
def test_a_group_is_no_surer_than_its_tasks(tmp_path: Path, aggregation: str, state: str) -> None:
    samples = [{**one, "mine": one["acc"], "metrics": ["acc", "mine"]} for one in rows()]
    document = results(samples)
    listed = {"metric": "mine", "aggregation": aggregation, "higher_is_better": True}
    document["configs"][TASK]["metric_list"].append(listed)
    document["higher_is_better"][TASK]["mine"] = True
    entry = document["results"][TASK]
    # The harness computes the error of a mean alone.
    is_mean = aggregation == "mean"
    entry["mine,none"] = entry["acc,none"] if is_mean else 0.3
    entry["mine_stderr,none"] = entry["acc_stderr,none"] if is_mean else "N/A"
    document["results"]["all"] = {**entry, "alias": "all"}
    document["groups"] = {"all": dict(document["results"]["all"])}
    document["group_subtasks"] = {"all": [TASK]}
    write(tmp_path, samples, document)
    claims = [one for run in evalstream.check(tmp_path).runs for one in run.claims]
    states = [one.state.value for one in claims if one.label.startswith("mine,none")]
    assert states == [state, state]


def test_the_first_row_may_be_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    samples = rows()
    for one in samples:
        one["doc"]["context"] = "word " * 70_000
        one["doc_hash"] = digest(json.dumps(one["doc"], indent=2, ensure_ascii=False))
    path = write(tmp_path, samples, results(samples))
    for named in (tmp_path, path):
        assert {run.verdict for run in evalstream.check(named).runs} == {"passed"}


@each("is_old", [True, False])
def test_the_figures_of_results_may_be_more_than_what_is_looked_at(
    tmp_path: Path, is_old: bool
) -> None:
    document = results(rows())
    if is_old:
        document = {key: document[key] for key in ("results", "versions", "config")}
    document["results"] |= {f"task{n}": {"acc,none": 0.5, "x": "x" * 90} for n in range(2_500)}
    (tmp_path / "figures.json").write_text(json.dumps(document))
    (run,) = evalstream.check(tmp_path).runs
    assert (run.format, len(run.claims)) == ("lm_eval", 2_502)
