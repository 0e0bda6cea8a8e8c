"""Each change of a sound log is found, and no sound log is refused."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from lm_eval_logs import DIGESTS, RESULTS, TASK, digest, results, row, rows, task_hash, text, write

import evalstream

Log = tuple[list[dict[str, Any]], dict[str, Any]]
Change = Callable[[list[dict[str, Any]], dict[str, Any]], object]


def put(holder: Any, *path: Any) -> None:
    """Set a member: the last part of the path is its value."""
    *places, name, value = path
    for place in places:
        holder = holder[place]
    holder[name] = value


def findings(folder: Path, samples: Any, document: dict[str, Any] | None) -> dict[str, int]:
    """Return how often each code is reported of samples with their results."""
    path = write(folder, samples, document)
    aggregate = None if document is None else str(folder / RESULTS)
    run = evalstream.check([str(path)], aggregate=aggregate).runs[0]
    return dict(run.counts)


def changed(change: Change, filters: tuple[str, ...] = ("none",)) -> Log:
    """Return a sound log with a change."""
    samples = rows(filters=filters)
    document = results(samples)
    change(samples, document)
    return samples, document


def without(name: str) -> Change:
    """Return the change that removes a member of all rows."""
    return lambda samples, _: [one.pop(name) for one in samples]


def forged_doc(samples: list[dict[str, Any]], _: dict[str, Any]) -> None:
    doc = samples[1]["doc"]
    doc["question"] = "another"
    samples[1]["doc_hash"] = digest(json.dumps(doc, indent=2, ensure_ascii=False))


def no_digests(samples: list[dict[str, Any]], _: dict[str, Any]) -> None:
    for one in samples:
        for name in DIGESTS:
            del one[name]


def no_metrics(samples: list[dict[str, Any]], _: dict[str, Any]) -> None:
    del samples[0]["acc"]
    samples[0]["metrics"] = []


def dropped_with_hash(samples: list[dict[str, Any]], document: dict[str, Any]) -> None:
    del samples[1]
    put(document, "task_hashes", TASK, task_hash(samples))


ROWS: dict[str, tuple[str, Change]] = {
    "doc": ("LME201", lambda samples, _: put(samples, 1, "doc", "question", "x")),
    "float": ("LME201", lambda samples, _: put(samples, 1, "doc", "weight", 0.2)),
    "order of members": (
        "LME201",
        lambda samples, _: put(samples, 1, "doc", dict(reversed(samples[1]["doc"].items()))),
    ),
    "prompt": (
        "LME202",
        lambda samples, _: put(samples, 1, "arguments", "gen_args_0", "arg_0", "x"),
    ),
    "no prompt": ("LME202", lambda samples, _: put(samples, 1, "arguments", {})),
    "target": ("LME203", lambda samples, _: put(samples, 1, "target", "x")),
    "target of another type": ("LME101", lambda samples, _: put(samples, 1, "target", 2)),
    "digest": ("LME103", lambda samples, _: put(samples, 1, "doc_hash", "x")),
    "no digest": ("LME101", lambda samples, _: samples[1].pop("doc_hash")),
    "no digests": ("LME204", no_digests),
    "doc with its hash": ("LME204", forged_doc),
    "order": ("LME204", lambda samples, _: samples.reverse()),
    "dropped": ("LME204", lambda samples, _: samples.pop()),
    "dropped, with the hash": ("LME207", dropped_with_hash),
    "repeated": ("LME205", lambda samples, _: samples.append(samples[1])),
    "rerun": ("LME104", lambda samples, _: samples.extend(copy.deepcopy(samples))),
    "doc_id": ("LME207", lambda samples, _: put(samples, 1, "doc_id", 99)),
    "doc_id as text": ("LME101", lambda samples, _: put(samples, 1, "doc_id", "1")),
    "negative doc_id": ("LME101", lambda samples, _: put(samples, 1, "doc_id", -1)),
    "filter": ("LME206", lambda samples, _: put(samples, 1, "filter", "other")),
    "no filter": ("LME101", without("filter")),
    "no answers": ("LME101", lambda samples, _: samples[1].pop("resps")),
    "score": ("LME301", lambda samples, _: put(samples, 1, "acc", 1.0)),
    "score that is NaN": ("LME301", lambda samples, _: put(samples, 1, "acc", float("nan"))),
    "score that no double holds": ("LME301", lambda samples, _: put(samples, 1, "acc", 10**400)),
    "score that is a number as text": ("LME303", lambda samples, _: put(samples, 1, "acc", "1")),
    "score that is a text": ("LME301", lambda samples, _: put(samples, 1, "acc", "x")),
    "score that is null": ("LME301", lambda samples, _: put(samples, 1, "acc", None)),
    "score that is a list": ("LME301", lambda samples, _: put(samples, 1, "acc", [1.0])),
    "no list of metrics": ("LME101", lambda samples, _: samples[1].pop("metrics")),
    "score that is missing": ("LME102", lambda samples, _: samples[1].pop("acc")),
    "scores moved": ("LME302", lambda samples, _: [put(one, "acc", 0.625) for one in samples]),
    "no metrics": ("LME207", no_metrics),
    "metric twice": ("LME102", lambda samples, _: put(samples, 1, "metrics", ["acc", "acc"])),
    "metric beside": (
        "LME305",
        lambda samples, _: samples.__setitem__(1, row(1, acc=0.0, brevity=1.0)),
    ),
}
"""Changes of rows, each with a code that must be reported."""

FIGURES = ("results", TASK)
DOCUMENT: dict[str, tuple[str, Change]] = {
    "mean": ("LME301", lambda _, document: put(document, *FIGURES, "acc,none", 0.6251)),
    "mean, nearly": ("LME301", lambda _, document: put(document, *FIGURES, "acc,none", 0.62500001)),
    "mean that is NaN": (
        "LME301",
        lambda _, document: put(document, *FIGURES, "acc,none", float("nan")),
    ),
    "mean as text": ("LME301", lambda _, document: put(document, *FIGURES, "acc,none", "0.625")),
    "mean that is true": ("LME106", lambda _, document: put(document, *FIGURES, "acc,none", True)),
    "no mean": ("LME305", lambda _, document: document["results"][TASK].pop("acc,none")),
    "figure of no row": ("LME301", lambda _, document: put(document, *FIGURES, "f,none", 0.5)),
    "error": ("LME302", lambda _, document: put(document, *FIGURES, "acc_stderr,none", 0.1)),
    "negative error": (
        "LME302",
        lambda _, document: put(document, *FIGURES, "acc_stderr,none", -1),
    ),
    "effective": ("LME207", lambda _, document: put(document, "n-samples", TASK, "effective", 3)),
    "effective as text": (
        "LME106",
        lambda _, document: put(document, "n-samples", TASK, "effective", "4"),
    ),
    "effective as object": (
        "LME106",
        lambda _, document: put(document, "n-samples", TASK, "effective", {}),
    ),
    "original, higher": (
        "LME207",
        lambda _, document: put(document, "n-samples", TASK, "original", 5),
    ),
    "sample_len that is null": (
        "LME106",
        lambda _, document: put(document, *FIGURES, "sample_len", None),
    ),
    "original": ("LME207", lambda _, document: put(document, "n-samples", TASK, "original", 3)),
    "sample_len": ("LME207", lambda _, document: put(document, *FIGURES, "sample_len", 3)),
    "sample_len as text": (
        "LME106",
        lambda _, document: put(document, *FIGURES, "sample_len", "4"),
    ),
    "hash": ("LME204", lambda _, document: put(document, "task_hashes", TASK, "0" * 64)),
    "hash as null": ("LME106", lambda _, document: put(document, "task_hashes", TASK, None)),
    "no hash": ("LME204", lambda _, document: document["task_hashes"].clear()),
    "no task": ("LME208", lambda _, document: document["results"].clear()),
    "filter twice": (
        "LME105",
        lambda _, document: put(document, "configs", TASK, "filter_list", [{"name": "none"}] * 2),
    ),
    "filter of no row": (
        "LME206",
        lambda _, document: document["configs"][TASK]["filter_list"].append({"name": "strict"}),
    ),
}
"""Changes of results, each with a code that must be reported."""


@pytest.mark.parametrize("filters", [("none",), ("strict-match", "flex,ible")])
@each("values", [(1.0, 0.0, 0.5), (1.0,), (0.1,) * 7, (1e100, -1e100, 1e-100)])
def test_a_sound_log_has_no_findings(
    tmp_path: Path, values: tuple[float, ...], filters: tuple[str, ...]
) -> None:
    samples = rows(values, filters)
    assert findings(tmp_path, samples, results(samples)) == {}


@each("name", ROWS)
def test_a_changed_row_is_found(tmp_path: Path, name: str) -> None:
    code, change = ROWS[name]
    assert code in findings(tmp_path, *changed(change))


@each("name", DOCUMENT)
def test_changed_results_are_found(tmp_path: Path, name: str) -> None:
    code, change = DOCUMENT[name]
    assert code in findings(tmp_path, *changed(change))


@each("path", [("date",), ("config", "limit"), ("n-samples", TASK, "original")])
def test_integers_that_no_double_holds_are_read(tmp_path: Path, path: tuple[str, ...]) -> None:
    assert "ES010" not in findings(
        tmp_path, *changed(lambda _, document: put(document, *path, 10**400))
    )


def test_an_object_with_a_repeated_key_may_be_noise(tmp_path: Path) -> None:
    samples = rows()
    path = write(tmp_path, text(samples) + b'{"log": 1, "log": 2}\n', results(samples))
    report = evalstream.check(path, skip_noise=True, noise="log")
    assert (report.counts["ES006"], report.runs[0].rows) == (1, len(samples))


def test_a_torn_tail_is_not_a_rerun(tmp_path: Path) -> None:
    samples = rows()
    found = findings(tmp_path, text(samples)[:-40], results(samples))
    assert found.keys() == {"ES104", "ES805", "LME303"}


@pytest.mark.parametrize(("newline", "syntax"), [(b"", "ES105"), (b"\n", "ES103")])
def test_a_rerun_after_a_torn_row_is_found(tmp_path: Path, newline: bytes, syntax: str) -> None:
    samples = rows()
    whole = text(samples)
    third = len(text(samples[:3]))
    found = findings(tmp_path, whole[: third - 40] + newline + whole, results(samples))
    assert syntax in found
    assert found.keys() & {"LME104", "LME205"}


def test_an_empty_file_is_not_passed(tmp_path: Path) -> None:
    document = results(rows())
    path = write(tmp_path, b"", document)
    run = evalstream.check([str(path)], aggregate=str(tmp_path / RESULTS)).runs[0]
    assert run.verdict != "passed"


def test_samples_alone_are_not_passed(tmp_path: Path) -> None:
    path = write(tmp_path, rows(), None)
    assert evalstream.check([str(path)]).runs[0].verdict == "unconfirmed"
