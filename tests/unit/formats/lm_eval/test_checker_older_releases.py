"""What releases of the harness write in another way than the newest, and changes of it."""

from pathlib import Path
from typing import Any

from each import each
from lm_eval_logs import RESULTS, TASK, digest, results, rows, task_hash, write

import evalstream

Log = tuple[list[dict[str, Any]], dict[str, Any]]


def counts_of(folder: Path, log: Log) -> dict[str, int]:
    """Return the numbers of findings by code, and the verdict."""
    path = write(folder, *log)
    run = evalstream.check([str(path)], aggregate=str(folder / RESULTS)).runs[0]
    return {run.verdict: 0, **run.counts}


def date(document: dict[str, Any], release: str | None) -> None:
    """Make results those of a release; early ones wrote no release, n-samples or sample_len."""
    document["lm_eval_version"] = release
    if release is None:
        del document["n-samples"]
    if not str(release).startswith(("0.4.12", "0.4.13", "9")):
        for entry in document["results"].values():
            entry.pop("sample_len", None)


def asked(own: set[int], shots: int = 2, docs: int = 20) -> Log:
    """Return a log with examples from the evaluated docs, some of which were drawn themselves."""
    samples = rows((1.0, 0.0) * (docs // 2))
    for one in samples:
        before = "Q: 8 + 1\n\n" * (shots - (one["doc_id"] in own))
        prompt = f"{before}Q: {one['doc']['question']}"
        one["arguments"]["gen_args_0"]["arg_0"] = prompt
        one["prompt_hash"] = digest(prompt)
    document = results(samples)
    document["configs"][TASK] |= {
        "num_fewshot": 2,
        "test_split": "test",
        "doc_to_text": "Q: {{question}}",
        "doc_to_target": "{{answer|string}}",
        "output_type": "generate_until",
        "generation_kwargs": {"until": ["\n"]},
        "process_results": "def process(doc, results): ...",
    }
    document["n-shot"][TASK] = 2
    date(document, "0.4.9.2")
    return samples, document


@each("own", [{0}, {0, 1, 2}, {7}, set[int]()])
def test_a_doc_that_was_drawn_for_itself_is_left_out(tmp_path: Path, own: set[int]) -> None:
    samples, document = asked(own)
    for split in ("test", "train"):  # which may have an equal doc
        document["configs"][TASK]["training_split"] = split
        assert counts_of(tmp_path, (samples, document)) == {"passed": 0}


@each(
    ("own", "shots", "split"),
    [
        (set(range(20)), 2, "test"),
        (set(range(20)), 2, "train"),
        (set(), 1, "test"),
        ({0}, 1, "test"),
    ],
)
def test_other_examples_are_missed(tmp_path: Path, own: set[int], shots: int, split: str) -> None:
    samples, document = asked(own, shots)
    document["configs"][TASK]["training_split"] = split
    assert counts_of(tmp_path, (samples, document)) == {"failed": 0, "LME306": 1}


def test_newer_releases_lack_no_example(tmp_path: Path) -> None:
    samples, document = asked({0})
    date(document, "0.4.11")
    assert counts_of(tmp_path, (samples, document)) == {"failed": 0, "LME306": 1}


@each(
    ("release", "number"), [("0.4.9.2", 2), ("0.4.12", 1), ("0.4.12.dev0", 1), ("0.4.10.dev0", 1)]
)
def test_results_have_no_habits_of_a_release_before_their_members(
    tmp_path: Path, release: str, number: int
) -> None:
    samples, document = asked({0})
    document["results"][TASK]["sample_len"] = len(samples)
    document["lm_eval_version"] = release
    assert counts_of(tmp_path, (samples, document)) == {"failed": 0, "LME306": number}


@each(("docs", "verdict"), [(4, "unconfirmed"), (2, "unconfirmed"), (0, "failed")])
def test_few_docs_may_all_lack_an_example(tmp_path: Path, docs: int, verdict: str) -> None:
    samples, document = asked(set(range(4)), docs=docs or 2)
    if not docs:  # an example more than there are docs
        document["configs"][TASK]["num_fewshot"] = document["n-shot"][TASK] = 3
        for one in samples:
            prompt = "Q: 8 + 1\n\n" + one["arguments"]["gen_args_0"]["arg_0"]
            one["arguments"]["gen_args_0"]["arg_0"] = prompt
            one["prompt_hash"] = digest(prompt)
        document["task_hashes"][TASK] = task_hash(samples)
    assert counts_of(tmp_path, (samples, document)) == {verdict: 0, "LME306": 1}


def test_a_changed_question_is_seen_beside_a_description(tmp_path: Path) -> None:
    samples, document = asked(set())
    config = document["configs"][TASK]
    config |= {"fewshot_config": {"doc_to_text": config["doc_to_text"]}}
    config["doc_to_text"] = "Which? {{question}}"
    assert counts_of(tmp_path, (samples, document)) == {"passed": 0, "LME306": 1}


@each(
    ("release", "better", "said", "expected"),
    [
        ("0.4.9", True, None, {}),
        (None, True, None, {}),
        ("0.4.9", False, False, {}),
        ("0.4.12", False, None, {}),
        ("0.4.12", None, None, {"LME306": 1}),
        ("0.4.13", True, None, {"LME306": 1}),
        ("0.4.13", False, None, {}),
        ("9" * 5000, False, None, {}),
    ],
)
def test_higher_values_of_ter_were_better_once(
    tmp_path: Path,
    release: str | None,
    better: bool | None,
    said: bool | None,
    expected: dict[str, int],
) -> None:
    samples = rows()
    document = results(samples)
    entry = {"metric": "ter"} if said is None else {"metric": "ter", "higher_is_better": said}
    document["configs"][TASK]["metric_list"].append(entry)
    document["configs"][TASK]["process_results"] = "def process(doc, results): ..."
    document["higher_is_better"][TASK]["ter"] = better
    date(document, release)
    assert counts_of(tmp_path, (samples, document)) == {
        "failed" if expected else "passed": 0,
        **expected,
    }


def chosen(release: str = "0.4.9.2") -> Log:
    """Return a log of which `--samples` chose three docs, in a release that does not count them."""
    samples = rows((1.0, 0.0, 0.5))
    document = results(samples)
    document["n-samples"][TASK] = {"original": 9, "effective": 9}
    date(document, release)
    return samples, document


def test_rows_that_may_be_chosen_confirm_nothing(tmp_path: Path) -> None:
    found = {"unconfirmed": 0, "ES805": 1, "LME207": 1, "LME303": 3}
    assert counts_of(tmp_path, chosen()) == found


@each(
    "change",
    [
        lambda _samples, document: document["results"][TASK].update({"acc,none": 0.75}),
        lambda _samples, document: document.update({"task_hashes": {TASK: "0" * 64}}),
        lambda _samples, document: document.update({"lm_eval_version": "0.4.13"}),
        lambda _samples, document: document["n-samples"][TASK].update({"effective": 8}),
        lambda _samples, document: document["config"].update({"limit": 9}),
        lambda samples, _document: samples.pop(),
    ],
)
def test_changes_of_chosen_rows_are_refuted(tmp_path: Path, change: Any) -> None:
    samples, document = chosen()
    change(samples, document)
    assert "failed" in counts_of(tmp_path, (samples, document))


@each(
    ("given", "found", "is_same"),
    [
        ("pretrained=acme/acorn,seed=3,fast=True", {"seed": 3, "fast": True}, True),
        ({"pretrained": "acme/acorn", "seed": 3}, {"seed": 3, "pretrained": "acme/acorn"}, True),
        ("pretrained=acme/acorn,seed=3", {"seed": 4}, False),
        ({"pretrained": "acme/acorn", "dtype": "float16"}, {"dtype": "bfloat16"}, False),
        ("pretrained=acme/acorn,tokenizer=a", {"tokenizer": "b", "other": 1}, True),
    ],
)
def test_arguments_of_the_model_are_those_of_the_metadata(
    tmp_path: Path, given: Any, found: dict[str, Any], is_same: bool
) -> None:
    samples = rows()
    document = results(samples)
    document["config"]["model_args"] = given
    document["configs"][TASK]["metadata"] = {"version": 1.0, **found}
    counts = counts_of(tmp_path, (samples, document))
    assert counts == ({"passed": 0} if is_same else {"passed": 0, "LME306": 1})


def unnamed() -> Log:
    """Return a log with two filters that its rows do not name, as before 0.4.7."""
    samples = rows((1.0, 0.0, 0.5, 1.0), ("strict", "flexible"))
    for one in samples[:2]:
        one["acc"] = 0.25
    document = results(samples)
    date(document, "0.4.5")
    for one in samples:
        for name in ("filter", "metrics"):
            del one[name]
    return samples, document


def test_rows_belong_to_the_filters_in_their_order(tmp_path: Path) -> None:
    samples, document = unnamed()
    path = write(tmp_path, samples, document)
    run = evalstream.check([str(path)], aggregate=str(tmp_path / RESULTS)).runs[0]
    assert (run.verdict, dict(run.counts)) == ("passed", {})
    assert [claim.state.value for claim in run.claims] == ["confirmed"] * 5


@each(
    ("change", "code"),
    [
        (
            lambda _samples, document: document["results"][TASK].update({"acc,strict": 0.6}),
            "LME301",
        ),
        (lambda samples, _document: samples[5].update({"acc": 0.75}), "LME301"),
        (lambda samples, _document: samples.reverse(), "LME204"),
        (lambda samples, _document: samples[6].update({"filtered_resps": ["8"]}), "LME211"),
        (
            lambda samples, _document: samples[6]["arguments"]["gen_args_0"].update(arg_1={}),
            "LME206",
        ),
        (lambda _samples, document: document["n-samples"][TASK].update({"effective": 8}), "LME207"),
    ],
)
def test_changes_of_unnamed_filters_are_refuted(tmp_path: Path, change: Any, code: str) -> None:
    samples, document = unnamed()
    change(samples, document)
    counts = counts_of(tmp_path, (samples, document))
    assert "failed" in counts
    assert code in counts


def matched(*, has_filters: bool) -> Log:
    """Return a log as release 0.4.0 wrote it: requests are lists, and targets are not texts."""
    samples, document = unnamed() if has_filters else (rows((1.0, 0.0)), results(rows((1.0, 0.0))))
    for one in samples:
        one["exact_match"] = float(one["doc_id"] == 6)
        one["target"] = one["doc_id"] + 1
        one["arguments"] = [["Q: 8 + 1", {"until": ["\n"]}]]
        for name in ("acc", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash"):
            one.pop(name, None)
    for name in ("task_hashes", "n-samples", "lm_eval_version"):
        del document[name]
    names = ["strict", "flexible"] if has_filters else ["none"]
    document["results"][TASK] = {f"exact_match,{name}": 0.0 for name in names}
    document["configs"][TASK]["metric_list"] = [{"metric": "exact_match", "aggregation": "mean"}]
    document["configs"][TASK]["doc_to_target"] = "number"
    document["higher_is_better"] = {TASK: {"exact_match": True}}
    for one in samples:
        one["doc"]["number"] = one["target"]
    return samples, document


@each("has_filters", [False, True])
def test_scores_of_rows_without_a_filter_are_derived(tmp_path: Path, *, has_filters: bool) -> None:
    samples, document = matched(has_filters=has_filters)
    assert counts_of(tmp_path, (samples, document)) == {"passed": 0}
    samples[0]["exact_match"] = 1.0
    assert counts_of(tmp_path, (samples, document))["LME210"] == 1
    samples[0] |= {"target": 7}
    assert "LME210" not in counts_of(tmp_path, (samples, document))
    assert counts_of(tmp_path, (samples, document))["LME306"] == 1


NUMBERS = {"function": "regex", "regex_pattern": "[0-9]+"}


@each("is_changed", [False, True])
def test_rows_of_other_filters_confirm_nothing(tmp_path: Path, *, is_changed: bool) -> None:
    samples, document = unnamed()
    first, second = document["configs"][TASK]["filter_list"]
    second["filter"] = [NUMBERS, *first["filter"]]
    for place, one in enumerate(samples):
        one["resps"] = [["8 of 9"]]
        one["filtered_resps"] = ["8" if (place >= 4) != is_changed else "8 of 9"]
    found = {"unconfirmed": 0, "ES805": 1, "LME303": 5} if is_changed else {"passed": 0}
    assert counts_of(tmp_path, (samples, document)) == found


def test_rows_of_several_processes_are_in_no_known_order(tmp_path: Path) -> None:
    """Each process writes its docs for each filter, so that ids begin anew more often."""
    samples, document = unnamed()
    mixed = [*samples[0::2][:2], *samples[4::2], *samples[1:4:2], *samples[5::2]]
    document["task_hashes"] = results([{**one, "filter": "none"} for one in mixed])["task_hashes"]
    assert counts_of(tmp_path, (mixed, document)) == {"unconfirmed": 0, "ES805": 1, "LME303": 5}


@each("names", [("strict",), ("strict", "flexible")])
def test_a_figure_that_was_removed_is_missed(tmp_path: Path, names: tuple[str, ...]) -> None:
    samples, document = unnamed()
    samples = samples[: 4 * len(names)]
    config = document["configs"][TASK]
    config["filter_list"] = config["filter_list"][: len(names)]
    document["task_hashes"][TASK] = task_hash(samples)
    entry = document["results"][TASK]
    for name in {"strict", "flexible"} - set(names):
        del entry[f"acc,{name}"], entry[f"acc_stderr,{name}"]
    assert counts_of(tmp_path / "whole", (samples, document)) == {"passed": 0}
    entry["other,strict"] = entry.pop("acc,strict")
    del entry["acc_stderr,strict"]
    assert "LME305" in counts_of(tmp_path / "removed", (samples, document))


@each(("version", "release", "found"), [
    ("Yaml", None, {}), ("Yaml", "0.4.9", {"LME306": 1}), (2, None, {"LME306": 1}),
])  # fmt: skip
def test_the_first_release_says_no_version_of_a_task(
    tmp_path: Path, version: str | int, release: str | None, found: dict[str, int]
) -> None:
    samples = rows((1.0, 0.0))
    document = results(samples)
    document["versions"][TASK] = version
    document["configs"][TASK]["metadata"] = {"version": 1.0}
    date(document, release)
    counts = counts_of(tmp_path, (samples, document))
    assert {key: one for key, one in counts.items() if key == "LME306"} == found


@each(("shots", "first", "is_found"), [(0, "inner", False), (0, TASK, True), (3, "inner", True)])
def test_a_group_of_groups_may_have_no_examples(
    tmp_path: Path, shots: int, first: str, is_found: bool
) -> None:
    """The harness takes those of its first member, which it may not have counted yet."""
    samples = rows((1.0, 0.0))
    document = results(samples)
    document["configs"][TASK]["num_fewshot"] = 2
    document["n-shot"] = {TASK: 2, "inner": 2, "outer": shots}
    date(document, "0.4.3")
    document["group_subtasks"] = {"outer": [first], "inner": [TASK]}
    path = tmp_path / RESULTS
    write(tmp_path, samples, document)
    found = [one.pointer for one in evalstream.check([str(path)]) if one.code == "LME306"]
    assert found == ["/n-shot/outer"] * is_found


@each(
    ("release", "value", "verdict"),
    [
        *[("0.4.12", 1.0, "passed"), ("0.4.12", 0.5, "failed")],
        *[("0.4.11", 0.5, "passed"), ("0.4.11", 1.0, "failed"), (None, 0.5, "passed")],
    ],
)
def test_the_median_was_the_middle_row(
    release: str | None, value: float, verdict: str, tmp_path: Path
) -> None:
    samples = rows((1.0, 0.0, 0.5, 1.0))
    document = results(samples)
    for one in samples:
        one["own"], one["metrics"] = one.pop("acc"), ["own"]
    date(document, release)
    metric = {"metric": "own", "aggregation": "median", "higher_is_better": True}
    process = "def process(doc, results): ..."
    document["configs"][TASK] |= {"process_results": process, "metric_list": [metric]}
    document["config"]["bootstrap_iters"] = 0
    document["higher_is_better"] = {TASK: {"own": True}}
    document["results"][TASK] = {"alias": TASK, "own,none": value, "own_stderr,none": "N/A"}
    assert verdict in counts_of(tmp_path, (samples, document))
