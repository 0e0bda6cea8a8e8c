"""Logs that nobody means well with: links, pipes, huge numbers and odd patterns."""

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from lm_eval_logs import RESULTS, TASK, results, row, rows, write

import evalstream
from evalstream.formats.lm_eval import doc_ids
from evalstream.formats.lm_eval.log_tally import MOST_METRICS


def verdicts(*inputs: Path, **options: Any) -> list[str]:
    report = evalstream.check([str(one) for one in inputs], **options)
    return [str(run.verdict) for run in report.runs]


def link_out(path: Path) -> None:
    outside = path.parent.parent / path.name
    path.rename(outside)
    path.symlink_to(outside)


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("hide", [link_out, replace_by_pipe])
def test_results_that_are_no_file_of_the_folder_are_not_opened(tmp_path: Path, hide: Any) -> None:
    samples = write(tmp_path / "log", rows(), results(rows()))
    assert verdicts(samples) == ["passed"]
    hide(tmp_path / "log" / RESULTS)
    assert verdicts(samples) == ["unconfirmed"]
    assert verdicts(samples.parent) == ["unconfirmed", "incomplete"]


def test_samples_that_are_links_out_of_the_folder_are_not_opened(tmp_path: Path) -> None:
    samples = write(tmp_path / "log", rows(), results(rows()))
    link_out(samples)
    assert verdicts(tmp_path / "log" / RESULTS) == ["unconfirmed"]


def test_excluded_results_are_not_opened(tmp_path: Path) -> None:
    samples = write(tmp_path, rows(), results(rows()))
    assert verdicts(tmp_path, exclude=["results*"]) == ["unconfirmed"]
    assert verdicts(samples) == ["passed"]


def test_a_library_that_is_missing_fails_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = write(tmp_path, rows(), results(rows()))
    packed = samples.with_name(f"{samples.name}.zst")
    samples.rename(packed)
    packed.write_bytes(b"\x28\xb5\x2f\xfd")
    assert verdicts(packed, input_format="lm_eval") == ["failed"]
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    assert verdicts(packed, input_format="lm_eval") == ["incomplete"]


def test_metrics_beyond_the_limit_leave_figures_open(tmp_path: Path) -> None:
    more = {f"m{number}": 1.0 for number in range(MOST_METRICS)}
    samples = [{**one, **more, "metrics": ["acc", *more]} for one in rows()]
    document = results(samples)
    for name in more:
        document["results"][TASK] |= {f"{name},none": 1.0, f"{name}_stderr,none": 0.0}
    document["configs"][TASK]["metric_list"] += [{"metric": name} for name in more]
    document["higher_is_better"][TASK] |= dict.fromkeys(more, True)
    report = evalstream.check(str(write(tmp_path, samples, document)))
    assert report.runs[0].incomplete_reason == "there are too many metrics to add up"
    assert report.counts.keys() == {"LME303"}


def test_an_error_of_a_group_may_be_huge(tmp_path: Path) -> None:
    document = results(rows())
    figures = {"acc,none": 0.5, "acc_stderr,none": 1e200, "sample_len": 4}
    document["results"] |= {"group": figures, TASK: figures}
    document["group_subtasks"]["group"] = [TASK]
    (tmp_path / RESULTS).write_bytes(json.dumps(document).encode())
    assert verdicts(tmp_path / RESULTS) == ["unconfirmed"]


def test_an_error_of_huge_numbers_is_open(tmp_path: Path) -> None:
    samples = rows((1e200, -1e200, 1e199))
    document = results(rows((1.0, 0.0, 0.5)))
    document["results"][TASK] |= {"acc,none": 1e199, "acc_stderr,none": 1e199}
    document["configs"][TASK]["metric_list"][0] = {"metric": "worst", "aggregation": "median"}
    for one in samples:
        one["worst"], one["metrics"] = one.pop("acc"), ["worst"]
    entry = document["results"][TASK]
    entry["worst,none"], entry["worst_stderr,none"] = entry.pop("acc,none"), 1e199
    del entry["acc_stderr,none"]
    document["higher_is_better"] = {TASK: {"worst": True}}
    run = evalstream.check(str(write(tmp_path, samples, document))).runs[0]
    states = {claim.label: claim.state.value for claim in run.claims}
    assert states[f"worst,none of {TASK}"] == "confirmed"
    assert states[f"worst_stderr,none of {TASK}"] == "open"


def test_python_does_not_warn_of_a_pattern(tmp_path: Path) -> None:
    document = results(rows())
    steps = [{"function": "regex", "regex_pattern": "[[7]"}, {"function": "take_first"}]
    document["configs"][TASK]["filter_list"][0]["filter"] = steps
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert verdicts(write(tmp_path, rows(), document)) == ["passed"]
    assert not warned


def test_the_model_of_the_arguments_is_read_without_a_name(tmp_path: Path) -> None:
    document = results(rows())
    del document["model_name"]
    document["config"]["model_args"] = "pretrained=acme/acorn,pretrained=acme/oak"
    report = evalstream.check(str(write(tmp_path, rows(), document)))
    assert report.counts == {"LME306": 1}


def test_ids_in_too_many_places_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [row(place * doc_ids.CHUNK, acc=1.0) for place in range(3)]
    path = write(tmp_path, samples, results(samples))
    assert verdicts(path, jobs=1) != ["incomplete"]
    monkeypatch.setattr(doc_ids, "MOST_CHUNKS", 2)
    (run,) = evalstream.check(path, jobs=1).runs
    assert (run.verdict, run.incomplete_reason) == (
        "incomplete",
        "the doc_ids are too scattered to be compared with each other",
    )
