"""Runs of HELM: what is found, what is sound, and what stays open."""

import json
import math
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from depth import deep, in_turn, some
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.discovery.inputs import find_runs
from evalstream.formats.helm.requests import normalize_text
from evalstream.model.report import Report
from evalstream.model.run import Run
from evalstream.model.run_summary import Checked

RUN = "pens-model=acme_acorn-7b"
ENTRIES, STATISTICS = "per_instance_stats.json", "stats.json"
STATE, RUN_SPEC = "scenario_state.json", "run_spec.json"
MISSPELLED = {"name": "misspelling", "robustness": True, "fairness": False}
PERTURBED = {**MISSPELLED, "computed_on": "perturbed"}
WORST = {"computed_on": "worst"}
ONE_WORST, BEFORE = {**MISSPELLED, **WORST}, {**MISSPELLED, "computed_on": "original"}
ROBUST = {"name": "robustness", "robustness": True, "fairness": False, **WORST}
FAIR = {"name": "fairness", "robustness": False, "fairness": True, **WORST}


@pytest.fixture(autouse=True)
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a copy of the example."""
    shutil.copytree(EXAMPLES / "helm" / RUN, tmp_path / RUN)
    monkeypatch.chdir(tmp_path / RUN)


def edit(path: str, act: Callable[[Any], Any]) -> None:
    """Change a JSON document in place, or replace it with what `act` returns."""
    value = json.loads(Path(path).read_bytes())
    found = act(value)
    Path(path).write_text(json.dumps(value if found is None else found))


def check(*paths: str, **options: Any) -> Report:
    """Check files of the example, all of them if none is named."""
    return evalstream.check(list(paths or (".",)), jobs=1, **options)


def codes(report: Report) -> set[str]:
    """Return the codes of the findings of runs."""
    return set(report.counts)


def named(metric: str, perturbation: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the name of a statistic."""
    found: dict[str, Any] = {"name": metric, "split": "test"}
    return found if perturbation is None else {**found, "perturbation": perturbation}


def statistic(name: dict[str, Any], *values: float) -> dict[str, Any]:
    """Return a statistic over some values, as HELM computes it."""
    number, total = len(values), sum(values)
    squares = sum(value * value for value in values)
    found = {"name": name, "count": number, "sum": total, "sum_squared": squares}
    if not values:
        return found
    variance = max(0, squares / number - (total / number) ** 2)
    figures = {"min": min(values), "max": max(values), "mean": total / number}
    return {**found, **figures, "variance": variance, "stddev": math.sqrt(variance)}


def replace(stats: list[Any], one: dict[str, Any]) -> None:
    """Put a statistic in the place of the one of its name, or behind all others."""
    names = [known["name"] for known in stats]
    if one["name"] in names:
        stats[names.index(one["name"])] = one
    else:
        stats.append(one)


def score(entries: list[Any], place: int, name: str, *values: float) -> None:
    """Set the value of a metric in an entry."""
    found = next(one for one in entries[place]["stats"] if one["name"]["name"] == name)
    found.update(statistic(found["name"], *values))


UNDERIVED = ", but not by bits_per_byte, logprob_per_byte and perplexity"


@each(
    ("own", "named"),
    [
        (["exact_match@2"], "bits_per_byte, logprob_per_byte and perplexity"),
        (
            ["a", "b", "c", "d", "e"],
            "a, b, bits_per_byte, c, d, e, logprob_per_byte and perplexity",
        ),
        (
            ["a", "b", "c", "d", "e", "f"],
            "a, b, bits_per_byte, c, d, e, f, logprob_per_byte and 1 more",
        ),
    ],
)
def test_metrics_that_answers_were_not_held_against_are_named(own: list[str], named: str) -> None:
    def add(found: list[Any]) -> None:
        for stats in [one["stats"] for one in found] if "stats" in found[0] else [found]:
            known = [one for one in stats if one["name"]["name"] == "exact_match"]
            stats.extend(
                {**one, "name": {**one["name"], "name": name}} for one in known for name in own
            )

    edit(ENTRIES, add)
    edit(STATISTICS, add)
    ((text, _),) = check().runs[0].checked
    assert text == f"8 of 8 instances scored again, but not by {named}"


@pytest.mark.parametrize("strict", [False, True])
@each("path", [".", ENTRIES, STATISTICS, STATE, RUN_SPEC, "scenario.json"])
def test_any_document_stands_for_its_run(path: str, strict: bool) -> None:
    report = check(path, strict=strict)
    (run,) = report.runs
    assert (report.exit_code, codes(report), run.verdict) == (0, set(), "passed")
    assert (run.rows, len(run.claims)) == (8, 71)
    assert {claim.state.value for claim in run.claims} == {"confirmed"}
    assert [one.text for one in run.checked] == ["8 of 8 instances scored again" + UNDERIVED]


def test_all_documents_of_a_run_named_at_once_are_one_run() -> None:
    report = check(ENTRIES, STATISTICS, STATE)
    assert ([run.verdict for run in report.runs], codes(report)) == (["passed"], set())


def test_runs_in_one_folder_of_a_suite_are_runs_of_their_own() -> None:
    shutil.copytree(".", "../other")
    edit(f"../other/{STATISTICS}", lambda stats: replace(stats, statistic(named("exact_match"), 1)))
    report = check("..")
    assert sorted(run.verdict for run in report.runs) == ["failed", "passed"]


def test_files_of_summaries_are_no_documents_of_a_run() -> None:
    shown = [{"instance_id": "id0", "train_trial_index": 0, "predicted_text": "A", "stats": {}}]
    Path("display_predictions.json").write_text(json.dumps(shown))
    Path("instances.json").write_text(json.dumps([{"input": {"text": "?"}, "id": "id0"}]))
    report = check(".", strict=True)
    assert (report.exit_code, [run.rows for run in report.runs if not run.is_note]) == (0, [8])
    assert codes(report) <= {"ES007"}


OTHER_SHAPES = ["", "[]", "{}", "3", "null", '"x"', '{"a": 1}', '[{"instance_id": 1']


@each("document", [ENTRIES, STATISTICS, STATE, RUN_SPEC, "scenario.json"])
@pytest.mark.parametrize("text", [*some(OTHER_SHAPES, 3), "cut", "twice"])
def test_a_document_of_another_shape_belongs_to_the_run_of_its_folder(
    document: str, text: str
) -> None:
    whole = Path(document).read_text()
    Path(document).write_text({"cut": whole[:100], "twice": 2 * whole}.get(text, text))
    report = check(".")
    (run,) = report.runs
    assert (run.verdict, report.exit_code) != ("passed", 0)
    assert run.verdict == "failed" or (document, text) == (ENTRIES, "[]")


@pytest.mark.parametrize("text", ["[]", "{}"])
def test_files_with_common_names_beside_no_document_of_helm_are_no_run(text: str) -> None:
    for path in list(Path().iterdir()):
        path.unlink()
    for name in (STATISTICS, "scenario.json"):
        Path(name).write_text(text)
    report = check(".")
    assert "helm" not in {run.format for run in report.runs}
    assert codes(report) <= {"ES005", "ES007"}


def test_a_summary_with_the_name_of_the_requests_is_no_pass() -> None:
    Path(STATE).write_text('[{"instance_id": "id0", "train_trial_index": 0, "request": {}}]')
    (run,) = check(".").runs
    assert run.verdict == "failed"


MEMBERS = ["count", "sum", "sum_squared", "min", "max", "mean", "variance", "stddev"]


@each("member", MEMBERS)
def test_every_member_of_a_statistic_is_held(member: str) -> None:
    edit(STATISTICS, lambda stats: stats[7].update({member: 3}))
    report = check()
    assert report.exit_code == 1
    assert codes(report) <= {"HLM102", "HLM401"}


@each("member", MEMBERS)
def test_every_member_of_an_instance_s_statistic_is_held(member: str) -> None:
    edit(ENTRIES, lambda entries: entries[3]["stats"][3].pop("x", None))
    edit(ENTRIES, lambda entries: entries[3]["stats"][1].update({member: 3}))
    report = check()
    assert report.exit_code == 1
    assert "HLM102" in codes(report)


@each(
    "name",
    [
        named("exact_match"),
        named("exact_match", PERTURBED),
        named("exact_match", ROBUST),
        named("exact_match", FAIR),
        named("exact_match", ONE_WORST),
        named("exact_match", BEFORE),
        named("perplexity"),
        named("bits_per_byte", PERTURBED),
        named("logprob_per_byte"),
        named("num_instances"),
        named("num_instances", PERTURBED),
        named("training_co2_cost"),
    ],
)
def test_every_kind_of_figure_is_refuted_where_it_was_changed(name: dict[str, Any]) -> None:
    edit(STATISTICS, lambda stats: replace(stats, statistic(name, 0.875)))
    report = check()
    assert (report.exit_code, codes(report)) == (1, {"HLM401"})
    (finding,) = report
    assert finding.found == 0.875


def test_a_figure_of_a_split_that_no_instance_has_is_refuted() -> None:
    name = {"name": "exact_match", "split": "valid"}
    edit(STATISTICS, lambda stats: stats.append(statistic(name, 1.0)))
    assert codes(check()) == {"HLM401"}


def test_a_figure_without_values_of_instances_is_open() -> None:
    name = named("classification_macro_f1")
    edit(STATISTICS, lambda stats: stats.append(statistic(name, 1.0)))
    report = check()
    assert (report.exit_code, codes(report)) == (0, {"HLM402"})
    assert check(strict=True).exit_code == 1


def test_a_statistic_that_was_left_out_is_missed() -> None:
    edit(STATISTICS, lambda stats: [one for one in stats if one["name"] != named("exact_match")])
    assert codes(check()) == {"HLM403"}


@pytest.mark.parametrize("metric", ["perplexity", "bits_per_byte", "logprob_per_byte"])
def test_a_figure_of_log_probabilities_that_was_left_out_is_missed(metric: str) -> None:
    edit(STATISTICS, lambda stats: [one for one in stats if one["name"]["name"] != metric])
    assert codes(check()) == {"HLM403"}


def test_a_worst_case_that_was_left_out_is_missed() -> None:
    def is_worst(one: Any) -> bool:
        kind = one["name"].get("perturbation", {})
        return kind.get("name") == "fairness" and one["name"]["name"] == "exact_match"

    edit(STATISTICS, lambda stats: [one for one in stats if not is_worst(one)])
    report = check()
    assert codes(report) == {"HLM403"}
    assert any("other metrics have" in one.message for one in report.findings)


def test_a_worst_case_that_lacks_a_flag_is_no_other_one() -> None:
    def drop_flag(stats: list[Any]) -> None:
        kinds = (one["name"].get("perturbation", {}) for one in stats)
        next(kind for kind in kinds if kind.get("computed_on") == "worst").pop("fairness")

    edit(STATISTICS, drop_flag)
    assert "HLM403" not in codes(check())


def lose_one(entries: list[Any]) -> None:
    """Leave a metric out of one instance, as HELM does where it is NaN."""
    entries[2]["stats"] = [one for one in entries[2]["stats"] if one["name"]["name"] != "max_prob"]


def test_a_metric_that_some_instance_lacks_may_be_left_out() -> None:
    """HELM leaves out what is NaN: the instance's value, and all figures over it."""
    edit(ENTRIES, lose_one)
    edit(STATISTICS, lambda stats: [one for one in stats if not is_over_originals(one)])
    report = check(strict=True)
    assert (report.exit_code, codes(report)) == (0, set())


def is_over_originals(one: dict[str, Any]) -> bool:
    """Tell whether a figure is over the values of instances without a perturbation."""
    computed_on = one["name"].get("perturbation", {}).get("computed_on")
    return one["name"]["name"] == "max_prob" and computed_on != "perturbed"


def test_worst_cases_over_instances_that_lack_a_metric_are_open() -> None:
    """NaN among the values makes their least one depend on their order."""
    edit(ENTRIES, lose_one)

    def drop_plain(stats: list[Any]) -> list[Any]:
        return [one for one in stats if one["name"] != named("max_prob")]

    edit(STATISTICS, drop_plain)
    report = check()
    assert (report.exit_code, codes(report)) == (0, {"HLM402"})


def test_a_statistic_that_stands_twice_is_found() -> None:
    edit(STATISTICS, lambda stats: stats.insert(0, stats[7]))
    assert codes(check()) == {"HLM404"}


def test_two_classes_of_metrics_may_compute_one_metric() -> None:
    """The runner only logs a duplicate metric name; both aggregates and both entries stand."""
    edit(ENTRIES, lambda entries: entries + entries)
    edit(STATISTICS, lambda stats: stats + [one for one in stats if not is_count(one)])

    def name_twice(spec: dict[str, Any]) -> None:
        spec["metric_specs"].append(spec["metric_specs"][0])

    edit(RUN_SPEC, name_twice)
    report = check(strict=True)
    assert (report.exit_code, codes(report)) == (0, set())


def is_count(one: dict[str, Any]) -> bool:
    """Tell whether a statistic counts the instances."""
    return bool(one["name"]["name"] == "num_instances")


def test_an_entry_that_stands_twice_is_found_wherever_it_stands() -> None:
    edit(ENTRIES, lambda entries: entries.append(entries[2]))
    assert {"HLM201", "HLM401"} == codes(check())


def test_an_instance_that_was_dropped_with_its_figures_is_missed() -> None:
    """Figures computed again over the rest do not hide it."""
    numbers = recompute_without(3)
    assert numbers < 8
    report = check()
    assert {"HLM202"} <= codes(report)
    assert report.exit_code == 1


def recompute_without(worst: int) -> int:
    """Drop an unperturbed instance and its copy, and compute exact_match again."""
    entries = json.loads(Path(ENTRIES).read_bytes())
    kept = [one for one in entries if one["instance_id"] != f"id{worst}"]
    Path(ENTRIES).write_text(json.dumps(kept))
    return len(kept)


def test_an_instance_without_a_request_is_found() -> None:
    edit(STATE, lambda state: {**state, "request_states": state["request_states"][:-1]})
    assert codes(check()) == {"HLM203", "HLM401"}


def test_a_score_that_was_changed_with_all_its_figures_contradicts_the_answer() -> None:
    """All aggregates follow the changed score; only the answer does not."""

    def win(entries: list[Any]) -> None:
        for place in range(8):
            score(entries, place, "exact_match", 1)

    edit(ENTRIES, win)

    def follow(stats: list[Any]) -> None:
        for one in stats:
            if one["name"]["name"] == "exact_match":
                one.update(statistic(one["name"], 1.0))

    edit(STATISTICS, follow)
    report = check()
    assert (report.exit_code, codes(report)) == (1, {"HLM301"})
    assert report.counts["HLM301"] == 4


def raise_score(act: Callable[[list[Any], dict[str, Any]], None]) -> Report:
    """Raise a wrong score with all figures over it, hide that by `act`, and check the run."""
    entries, state = (json.loads(Path(path).read_bytes()) for path in (ENTRIES, STATE))
    place = next(at for at in (0, 2, 4, 6) if metric_of(entries[at], "exact_match") == 0)
    score(entries, place, "exact_match", 1)
    score(entries, place + 1, "exact_match", 1)
    act(entries[place : place + 2], state)
    Path(ENTRIES).write_text(json.dumps(entries))
    Path(STATE).write_text(json.dumps(state))

    def follow(stats: list[Any]) -> None:
        for one in stats:
            if one["name"]["name"] == "exact_match":
                is_perturbed = one["name"].get("perturbation", {}).get("computed_on") == "perturbed"
                found = entries[is_perturbed::2]
                values = [metric_of(entry, "exact_match") for entry in found]
                one.update(statistic(one["name"], sum(values) / len(values)))

    edit(STATISTICS, follow)
    return check()


def metric_of(entry: dict[str, Any], name: str) -> float:
    """Return the value of a metric in an entry."""
    return float(next(one["sum"] for one in entry["stats"] if one["name"]["name"] == name))


def requests_of(entries: list[Any], state: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the requests of the instance of some entries."""
    wanted = entries[0]["instance_id"]
    return [one for one in state["request_states"] if one["instance"]["id"] == wanted]


def drop_basic(entries: list[Any], _state: dict[str, Any]) -> None:
    for entry in entries:
        entry["stats"].pop(0)


def repeat_requests(entries: list[Any], state: dict[str, Any]) -> None:
    state["request_states"] += requests_of(entries, state)


def drop_tags(entries: list[Any], state: dict[str, Any]) -> None:
    for one in requests_of(entries, state):
        one["instance"]["references"][0]["tags"] = []
        one["instance"]["references"] = one["instance"]["references"][:1]


def drop_completions(entries: list[Any], state: dict[str, Any]) -> None:
    for one in requests_of(entries, state):
        one["result"]["completions"] = []


def test_encrypted_texts_leave_the_answers_unscored() -> None:
    def encrypt(state: Any, requests: int) -> None:
        for one in state["request_states"][:requests]:
            instance, request, result = one["instance"], one["request"], one["result"]
            outputs = [reference["output"] for reference in instance["references"]]
            for number, text in enumerate((instance["input"], *outputs, *result["completions"])):
                text["text"] = f"[encrypted_text_{number}]"
            request["prompt"] = "[encrypted_text_90]"
            if one.get("output_mapping"):
                letters = [*one["output_mapping"]]
                one["output_mapping"] = {one: f"[encrypted_text_{one}]" for one in letters}

    edit(STATE, lambda state: encrypt(state, 1))
    assert codes(check()) == {"HLM301"}
    edit(STATE, lambda state: encrypt(state, 99))
    report = check()
    assert (codes(report), report.runs[0].verdict) == (set(), "unconfirmed")


@each(
    ("act", "code", "severity"),
    [
        (drop_basic, "HLM202", "ERROR"),
        (repeat_requests, "HLM201", "ERROR"),
        (drop_tags, "HLM301", "ERROR"),
        (drop_completions, "HLM301", "ERROR"),
    ],
)
def test_a_score_that_is_hidden_from_its_request_is_found(
    act: Callable[[list[Any], dict[str, Any]], None], code: str, severity: str
) -> None:
    found = [one for one in raise_score(act) if one.code == code]
    assert {one.severity.name for one in found} == {severity}


def rename_class(run_spec: dict[str, Any]) -> None:
    for one in run_spec["metric_specs"]:
        one["class_name"] = "own.Metric"


def forget_metric(run_spec: dict[str, Any]) -> None:
    for one in run_spec["metric_specs"]:
        one["args"] = {"names": []}


def map_outputs(document: dict[str, Any]) -> None:
    document["adapter_spec"]["output_mapping_pattern"] = "(.*)"


@each("act", [rename_class, forget_metric])
def test_a_score_is_held_against_the_answer_whatever_the_run_declares(
    act: Callable[[dict[str, Any]], None],
) -> None:
    edit(RUN_SPEC, act)
    assert codes(raise_score(lambda _entries, _state: None)) == {"HLM301"}
    Path(RUN_SPEC).unlink()
    assert codes(check()) == {"HLM301"}


def test_answers_that_a_pattern_maps_confirm_nothing() -> None:
    edit(RUN_SPEC, map_outputs)
    edit(STATE, map_outputs)
    raise_score(lambda _entries, _state: None)
    (run,) = check().runs
    assert run.verdict == "unconfirmed"
    assert run.remark == "no answer was scored again by exact_match"


@each(("name", "value"), [("reference_index", 0), ("request_mode", "original")])
def test_one_request_is_not_of_one_reference_of_several(name: str, value: Any) -> None:
    def mark(found: Any) -> None:
        for request in found["request_states"]:
            request[name] = value

    edit(STATE, mark)
    report = check()
    assert (report.exit_code, codes(report)) == (1, {"HLM206"})
    assert report.runs[0].remark == "no answer was scored again by exact_match"


@each(("name", "fewer"), [("BasicReferenceMetric", 0), ("BasicReferenceMetric", 1), ("Other", 0)])
def test_several_requests_of_an_instance_are_sound_where_each_has_a_reference(
    name: str, fewer: int
) -> None:
    def part(state: dict[str, Any]) -> None:
        state["request_states"] = [
            {**one, "reference_index": place}
            for one in state["request_states"]
            for place in range(len(one["instance"]["references"]) - fewer)
        ]

    edit(STATE, part)
    for path in (RUN_SPEC, STATE):
        edit(path, lambda found: found["adapter_spec"].update(method="multiple_choice_separate"))
    edit(RUN_SPEC, lambda spec: spec["metric_specs"].append({"class_name": name, "args": {}}))
    report = check()
    verdict = "failed" if fewer else "passed" if name == "BasicReferenceMetric" else "unconfirmed"
    assert report.runs[0].verdict == verdict
    assert codes(report) == ({"HLM206"} if fewer else set())
    assert [one.text for one in report.runs[0].checked] == ["0 of 8 instances scored again"]


def test_without_requests_such_a_change_is_not_found_and_counts_are_open() -> None:
    Path(STATE).unlink()
    report = check()
    assert (report.exit_code, codes(report)) == (0, {"HLM402"})
    assert report.runs[0].remark == "no answer was scored again by exact_match"
    assert {claim.label.split(":")[0] for claim in report.runs[0].claims if claim.reason} == {
        "num_instances"
    }


@pytest.mark.parametrize("missing", [ENTRIES, STATISTICS])
def test_a_run_without_statistics_confirms_nothing(missing: str) -> None:
    Path(missing).unlink()
    report = check()
    assert [run.verdict for run in report.runs] == ["unconfirmed"]
    assert check(strict=True).exit_code == 1


def test_entries_in_another_order_leave_worst_cases_open_but_not_wrong() -> None:
    edit(ENTRIES, lambda entries: entries[::2] + entries[1::2])
    report = check()
    assert report.exit_code == 0
    assert {claim.state.value for claim in report.runs[0].claims} == {"confirmed", "open"}


def test_a_copy_of_another_perturbation_counts_in_its_own_figures() -> None:
    edit(ENTRIES, lambda entries: entries[1]["perturbation"].update(name="typos"))
    report = check()
    assert report.exit_code == 1
    assert "HLM103" in codes(report)


def test_the_name_of_a_perturbation_is_shown_as_json() -> None:
    name = {"kind": None}
    edit(ENTRIES, lambda entries: entries[1]["perturbation"].update(name=name))
    messages = [one.message for one in check() if one.code in {"HLM202", "HLM203"}]
    assert any('under {"kind":null}' in message for message in messages)


def test_names_of_early_releases_have_neither_split_nor_perturbation() -> None:
    """They were added to the entries in March 2023."""

    def age(entries: list[Any]) -> None:
        for entry in entries:
            for one in entry["stats"]:
                one["name"] = {"name": one["name"]["name"]}

    edit(ENTRIES, age)
    report = check()
    assert (report.exit_code, codes(report)) == (0, set())


def add_tokens(*, are_alone: bool) -> None:
    """Add the statistics of single requests, which releases up to 0.2.2 wrote into all runs.

    Dry runs have them alone.
    """
    values = {"estimated_num_tokens_cost": range(8), "num_completions": [1] * 8}

    def describe(entries: list[Any]) -> list[Any]:
        pairs = {one["instance_id"] + str(one.get("perturbation")): one for one in entries}
        added = [
            {**one, "stats": [statistic({"name": key}, its[at]) for key, its in values.items()]}
            for at, one in enumerate(pairs.values())
        ]
        return added if are_alone else entries + added

    edit(ENTRIES, describe)
    pooled = [statistic({"name": key}, *its) for key, its in values.items()]
    pooled.append(statistic({"name": "num_requests"}, 8))
    edit(STATISTICS, lambda stats: pooled if are_alone else stats + pooled)


def test_statistics_of_single_requests_are_pooled() -> None:
    """They have neither the split nor the perturbation of their instance."""
    add_tokens(are_alone=False)
    report = check(strict=True)
    assert (report.exit_code, codes(report), report.runs[0].rows) == (0, set(), 8)
    assert {claim.state.value for claim in report.runs[0].claims} == {"confirmed"}
    edit(STATISTICS, lambda stats: stats[-1].update(statistic({"name": "num_requests"}, 7)))
    assert codes(check()) == {"HLM401"}
    edit(ENTRIES, lambda entries: entries + entries[-1:])
    assert codes(check()) == {"HLM201", "HLM401"}


def add_first_tokens() -> None:
    """Add the statistics of 12 requests as release 0.1.0 did: 8 entries, all as of originals."""
    keys = ("estimated_num_tokens_cost", "num_completions")

    def describe(entries: list[Any]) -> list[Any]:
        copies = {one["instance_id"] + str(one.get("perturbation")): one for one in entries}
        stats = [statistic({"name": key}, 1) for key in keys]
        return entries + [
            {"instance_id": one["instance_id"], "train_trial_index": 0, "stats": stats}
            for one in copies.values()
        ]

    edit(ENTRIES, describe)
    pooled = [statistic({"name": key}, *[1] * 12) for key in keys]
    edit(STATISTICS, lambda stats: [*stats, *pooled, statistic({"name": "num_requests"}, 12)])


def test_the_first_release_has_entries_of_the_first_requests_alone() -> None:
    """Its entries name neither copy nor trial, and statistics are over all requests."""
    add_first_tokens()
    report = check()
    assert (report.exit_code, codes(report)) == (0, {"HLM402"})
    assert report.runs[0].verdict == "passed"
    edit(STATISTICS, lambda stats: stats[-1].update(statistic({"name": "num_requests"}, 7)))
    assert codes(check()) == {"HLM401", "HLM402"}


def test_the_slim_state_of_the_first_release_repeats_the_other() -> None:
    Path("scenario_state_slim.json").write_bytes(Path(STATE).read_bytes())
    report = check(strict=True)
    assert (report.exit_code, len(report.runs)) == (0, 1)


def test_a_request_for_each_reference_has_an_entry_for_each() -> None:
    add_tokens(are_alone=True)
    edit(ENTRIES, lambda entries: [one for one in entries for _ in range(4)])

    def ask(state: dict[str, Any]) -> None:
        state["adapter_spec"]["method"] = "multiple_choice_separate_original"
        state["request_states"] = [
            {**one, "reference_index": at, "request_mode": "original"}
            for one in state["request_states"]
            for at in range(4)
        ]
        for one in state["request_states"]:
            del one["output_mapping"]

    edit(STATE, ask)
    assert "HLM201" not in codes(check())
    edit(ENTRIES, lambda entries: entries + entries[-1:])
    assert "HLM201" in codes(check())


def test_a_dry_run_confirms_no_score() -> None:
    add_tokens(are_alone=True)
    report = check()
    assert (codes(report), report.runs[0].verdict) == ({"ES805"}, "unconfirmed")


def test_trials_are_averaged_before_they_are_merged() -> None:
    """count is the number of trials, and the mean is that of the means of trials."""
    edit(ENTRIES, lambda entries: entries + [{**one, "train_trial_index": 1} for one in entries])

    def repeat(state: dict[str, Any]) -> None:
        state["request_states"] += [
            {**one, "train_trial_index": 1} for one in state["request_states"]
        ]
        state["adapter_spec"]["num_train_trials"] = 2

    edit(STATE, repeat)
    edit(RUN_SPEC, lambda spec: spec["adapter_spec"].update(num_train_trials=2))

    def merge(stats: list[Any]) -> None:
        for one in stats:
            values = [one["mean"]] * 2 if one["count"] else []
            one.update(statistic(one["name"], *values))

    edit(STATISTICS, merge)
    report = check(strict=True)
    assert (report.exit_code, codes(report), report.runs[0].rows) == (0, set(), 16)
    edit(RUN_SPEC, lambda spec: spec["adapter_spec"].update(num_train_trials=3))
    edit(STATE, lambda state: state["adapter_spec"].update(num_train_trials=3))
    assert codes(check()) == {"HLM204"}


@each(
    ("name", "value"),
    [("num_train_instances", 3), ("prompt_truncated", 1), ("num_references", 5), ("max_prob", 1)],
)
def test_what_a_request_tells_itself_is_compared(name: str, value: int) -> None:
    def tell(entries: Any) -> None:
        for one in entries:
            one["stats"] = [
                statistic(stat["name"], value) if stat["name"]["name"] == name else stat
                for stat in one["stats"]
            ]

    def claim(found: Any) -> None:
        for place, one in enumerate(found):
            if one["name"]["name"] == name:
                found[place] = statistic(one["name"], value)

    edit(ENTRIES, tell)
    edit(STATISTICS, claim)
    assert codes(check()) == {"HLM301"}


def test_a_request_has_no_more_examples_than_the_run() -> None:
    for path in (RUN_SPEC, STATE):
        edit(path, lambda found: found["adapter_spec"].update(max_train_instances=0))
    edit(STATE, lambda found: found["request_states"][0].update(num_train_instances=1))
    assert "HLM206" in codes(check())


def test_true_is_no_number_of_an_adapter_or_a_request() -> None:
    edit(STATE, lambda state: state["adapter_spec"].update(num_trials=True))
    edit(STATE, lambda state: state["request_states"][1]["request"].update(temperature=True))
    places = {"/adapter_spec/num_trials", "/request_states/1/request/temperature"}
    assert {one.pointer for one in check() if one.code == "HLM206"} == places


@pytest.mark.parametrize(
    ("place", "value", "pointer"),
    [
        ("instance/input/text", "How many pens are in the box?", "request/prompt"),
        ("instance/input/text", "How many pens are in box 0", "request/prompt"),
        ("request/prompt", "How many pens are in box 0?", "request/prompt"),
        ("output_mapping", None, ""),
        ("result/completions", [{"text": "A"}, {"text": "B"}], "result/completions"),
        ("result/success", False, "result/success"),
        ("request/top_k_per_token", 5, "request/top_k_per_token"),
    ],
)
def test_a_request_asks_for_its_instance_as_the_adapter_says(
    place: str, value: Any, pointer: str
) -> None:
    *holders, key = place.split("/")

    def alter(state: dict[str, Any]) -> None:
        request = state["request_states"][0]
        for name in holders:
            request = request[name]
        request[key] = value

    edit(STATE, alter)
    found = [one.pointer for one in check() if one.code == "HLM206"]
    assert found == [f"/request_states/0/{pointer}".rstrip("/")]


def test_choices_stand_in_the_prompt_in_their_order() -> None:
    """With two of them exchanged, in the mapping too, a wrong answer is right."""

    def exchange(state: dict[str, Any]) -> None:
        request = state["request_states"][2]
        first, second, *_ = request["instance"]["references"]
        first["output"], second["output"] = second["output"], first["output"]
        request["output_mapping"] |= {"A": "1", "B": "0"}

    edit(STATE, exchange)
    assert "/request_states/2/request/prompt" in {one.pointer for one in check()}


@pytest.mark.parametrize("member", ["prompt_truncated", "substitutions", "method"])
def test_a_prompt_that_was_changed_on_its_way_is_not_compared(member: str) -> None:
    others = {"substitutions": [{"source": "a", "target": "b"}], "method": "own_method"}

    def cut(document: dict[str, Any]) -> None:
        if member in others:
            document["adapter_spec"][member] = others[member]
        for request in document.get("request_states", ()):
            request["request"]["prompt"] = "How"
            if member not in others:
                request[member] = True

    edit(RUN_SPEC, cut)
    edit(STATE, cut)
    assert codes(check()) <= {"HLM301"}  # what a request tells of its prompt is in the statistics


@pytest.mark.parametrize(
    ("path", "member", "value"),
    [
        (RUN_SPEC, "name", None),
        (RUN_SPEC, "scenario_spec", {"args": {}}),
        (RUN_SPEC, "metric_specs", [{"class_name": 1}]),
        (RUN_SPEC, "groups", "pens"),
        ("scenario.json", "tags", [1]),
        (STATE, "adapter_spec", None),
    ],
)
def test_members_that_the_harness_writes_have_its_types(path: str, member: str, value: Any) -> None:
    edit(path, lambda document: document.update({member: value}))
    assert ("HLM101", f"/{member}") in {(one.code, one.pointer) for one in check()}


def test_members_of_the_adapter_that_differ_are_named_by_their_pointers() -> None:
    edit(STATE, lambda state: state["adapter_spec"].update({"a/b": 1}))
    (finding,) = check()
    assert (finding.code, finding.pointer) == ("HLM206", "/adapter_spec/a~1b")


@each(
    ("name", "file", "is_other"),
    [
        ("helm.benchmark.scenarios.mmlu_scenario.MMLUScenario", "mmlu_scenario.py", False),
        ("helm.benchmark.scenarios.mmlu_scenario.MMLUScenario", "gsm_scenario.py", True),
        # A class of one's own may be named by the package that has it.
        ("acme.PensScenario", "gsm_scenario.py", False),
    ],
)
def test_the_scenario_is_the_declared_one(name: str, file: str, is_other: bool) -> None:
    path = f"https://github.com/stanford-crfm/helm/blob/main/src/helm/benchmark/scenarios/{file}"
    edit(RUN_SPEC, lambda spec: spec["scenario_spec"].update(class_name=name))
    edit("scenario.json", lambda scenario: scenario.update(definition_path=path))
    found = [(one.code, one.severity.label, one.pointer) for one in check()]
    assert found == ([("HLM206", "warning", "/definition_path")] if is_other else [])


@each(("method", "number"), [("generation", 2), ("multiple_choice_separate_original", 0)])
def test_each_metric_that_is_declared_is_one_of_instances(method: str, number: int) -> None:
    """The instances of each copy have all of them; requests for references give other ones."""
    metric = "quasi_exact_match"
    edit(RUN_SPEC, lambda spec: spec["metric_specs"][0]["args"]["names"].append(metric))
    for name in (RUN_SPEC, STATE):
        edit(name, lambda document: document["adapter_spec"].update(method=method))
    found = [one.message for one in check() if one.code == "HLM403"]
    assert len(found) == number
    assert all(f"the run declares {metric}, and no instance has {metric}" in one for one in found)


def test_requests_to_another_model_are_found() -> None:
    edit(STATE, lambda state: state["request_states"][2]["request"].update(model="acme/oak-7b"))
    report = check()
    assert codes(report) == {"HLM206"}
    (finding,) = report
    assert finding.pointer == "/request_states/2/request/model"
    assert finding.line is not None


@each(
    ("setting", "value", "method"),
    [
        ("model_deployment", "acme/oak-7b", "language_modeling"),
        ("temperature", 0.5, "multiple_choice_joint"),
        ("max_tokens", 7, "generation"),
        ("max_tokens", "7", "chat"),
        ("max_tokens", 0, None),
    ],
)
def test_requests_have_the_settings_of_the_adapter(
    setting: str, value: Any, method: str | None
) -> None:
    """Methods that do not sample text have settings of their own."""

    def ask(state: dict[str, Any]) -> None:
        state["adapter_spec"]["method"] = method or "multiple_choice_separate_original"
        for one in state["request_states"]:
            one["request"][setting] = value

    edit(STATE, ask)
    edit(RUN_SPEC, lambda spec: spec["adapter_spec"].update(
        method=method or "multiple_choice_separate_original"))  # fmt: skip
    found = [one.pointer for one in check(max_findings=0) if one.code == "HLM206"]
    number = 8 if method else 0
    assert found == [f"/request_states/{at}/request/{setting}" for at in range(number)]


@each(("setting", "value"), [("max_tokens", 1), ("temperature", 0), ("max_tokens", 2)])
def test_early_choices_are_asked_for_with_settings_of_their_own(setting: str, value: int) -> None:
    """The adapter of crfm-helm 0.2.0 to 0.2.2 asked for one token at temperature 0."""

    def ask(state: dict[str, Any]) -> None:
        del state["adapter_spec"]["multi_label"]
        state["request_states"][2]["request"][setting] = value

    edit(STATE, ask)
    assert "HLM206" in codes(check())
    edit(RUN_SPEC, lambda spec: spec["adapter_spec"].__delitem__("multi_label"))
    assert codes(check()) == (set() if value < 2 else {"HLM206"})


@each("letters", ["BACD", "ABDC", "BCDE"])
def test_exchanged_letters_of_choices_are_found(letters: str) -> None:
    """With them another answer is right, and all scores may follow."""
    mapping = dict(zip(letters, "0123", strict=True))
    edit(STATE, lambda state: state["request_states"][2].update(output_mapping=mapping))
    (finding,) = (one for one in check() if one.code == "HLM206")
    assert finding.pointer == "/request_states/2/output_mapping"
    assert finding.expected == {"A": "0", "B": "1", "C": "2", "D": "3"}


@each(
    ("letters", "adapter"),
    [
        ("ABCD", {"reference_prefix": "(a) "}),
        ("abcd", {"reference_prefix": "(a) "}),
        ("()*+", {"reference_prefix": "\n(A) "}),
        ("PQRS", {"reference_prefix_characters": list("PQRS")}),
        ("WXYZ", {"method": "own_method"}),
        ("WXYZ", {"method": {"name": "own_method"}}),
    ],
)
def test_letters_of_choices_are_those_of_the_adapter(letters: str, adapter: Any) -> None:
    """Early releases knew no letter but A, others count on from "("; others have own mappings."""
    edit(RUN_SPEC, lambda spec: spec["adapter_spec"].update(adapter))

    def rename(state: dict[str, Any]) -> None:
        state["adapter_spec"].update(adapter)
        for one in state["request_states"]:
            one["output_mapping"] = dict(zip(letters, "0123", strict=True))

    edit(STATE, rename)
    assert codes(check()).isdisjoint({"HLM206", "ES010"})


def test_language_models_have_an_entry_for_each_window() -> None:
    def window(spec: dict[str, Any]) -> None:
        spec["adapter_spec"]["method"] = "language_modeling"

    edit(RUN_SPEC, window)
    edit(STATE, window)
    for path in (ENTRIES, STATE):
        edit(path, repeat_windows)
    edit(STATISTICS, lambda stats: [one for one in stats if "worst" not in json.dumps(one)])
    edit(STATISTICS, lambda stats: [one for one in stats if "original" not in json.dumps(one)])
    report = check()
    assert (report.exit_code, codes(report)) == (0, set())
    assert report.runs[0].remark == "no answer was scored again by exact_match"
    edit(ENTRIES, lambda entries: score(entries, 3, "num_bytes", 8))
    (finding,) = (one for one in check() if one.code == "HLM301")
    assert (finding.pointer, finding.expected) == ("/3/stats", 2)
    edit(ENTRIES, lambda entries: entries.append(entries[-1]))
    assert "HLM201" in codes(check())


def repeat_windows(value: Any) -> Any:
    """Write every request or entry twice, one behind the other."""
    items = value if isinstance(value, list) else value["request_states"]
    doubled = [one for one in items for _ in range(2)]
    return doubled if isinstance(value, list) else {**value, "request_states": doubled}


def test_other_members_and_other_orders_are_sound() -> None:
    """Members that a release adds are not faults, and the slow path reads the same."""

    def add(entries: list[Any]) -> None:
        for entry in entries:
            entry["worker"] = 3
            for one in entry["stats"]:
                one["unit"] = "share"

    edit(ENTRIES, add)
    edit(STATE, lambda state: state.update(annotator_specs=[]))
    report = check(strict=True)
    assert (report.exit_code, codes(report)) == (0, set())


def test_ids_may_be_numbers() -> None:
    for path, key in ((ENTRIES, "instance_id"), (STATE, "id")):
        text = Path(path).read_text()
        for number in range(4):
            text = text.replace(f'"{key}": "id{number}"', f'"{key}": {number}')
        Path(path).write_text(text)
    report = check(strict=True)
    assert (report.exit_code, codes(report)) == (0, set())


@each("path", [ENTRIES, STATISTICS, STATE, RUN_SPEC])
def test_a_key_that_stands_twice_is_found_in_every_document(path: str) -> None:
    text = Path(path).read_text()
    keys = {ENTRIES: '"count": 1,', STATISTICS: '"count": 1,', STATE: '"success": true,'}
    key = keys.get(path, '"max_eval_instances": 4,')
    Path(path).write_text(text.replace(key, f"{key} {key}", 1))
    report = check()
    assert (report.exit_code, codes(report)) == (1, {"ES107"})


@each("path", [ENTRIES, STATISTICS, STATE, RUN_SPEC, "scenario.json"])
@pytest.mark.parametrize("share", [0.0, deep(0.001), 0.3, deep(0.7), 0.999])
def test_a_file_that_breaks_off_never_passes(path: str, share: float) -> None:
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[: int(len(data) * share)])
    assert check(path).exit_code != 0
    # A search takes what it does not recognise for no document of the run.
    assert codes(check(".")) or share == 0.0


STRANGE = ["NaN", "1e999", "-1", "true", "null"]
MORE_STRANGE = ["Infinity", "-Infinity", "1" * 400, '"1"', "[]"]
FIGURES = ["count", "sum", "mean", "stddev"]


@each(
    ("path", "figure"),
    [
        *in_turn([ENTRIES, STATISTICS], list(product(STRANGE, FIGURES))),
        *map(deep, product([ENTRIES, STATISTICS], product(MORE_STRANGE, FIGURES))),
    ],
)
def test_strange_numbers_never_pass(path: str, figure: tuple[str, str]) -> None:
    value, member = figure
    text = Path(path).read_text()
    place = text.index(f'"{member}": ')
    end = min(text.index(sign, place) for sign in ",\n")
    Path(path).write_text(f'{text[:place]}"{member}": {value}{text[end:]}')
    report = check()
    assert report.exit_code in (1, 3)


EMPTY = {(ENTRIES, "[]"), (STATISTICS, "[]"), (ENTRIES, "\ufeff[]"), (RUN_SPEC, "{}")}
"""Lists without items, and a specification that says nothing."""


@pytest.mark.parametrize("path", [ENTRIES, STATISTICS, STATE, RUN_SPEC])
@each(
    "text",
    [
        "[" * 5000,
        '{"a":' * 5000,
        "[{}]",
        deep("[1, null]"),
        "{}",
        "[]",
        deep("null"),
        "\x00",
        deep("\ufeff[]"),
        deep("[[]]"),
    ],
)
def test_documents_of_other_shapes_never_pass(path: str, text: str) -> None:
    Path(path).write_text(text)
    report = check(path)
    assert report.exit_code in (1, 3) or (path, text) in EMPTY
    assert codes(check("."))


def test_deep_and_long_elements_are_findings() -> None:
    edit(ENTRIES, lambda entries: entries[0].update(more="x" * 5000))
    assert codes(check(max_line_bytes=6000)) >= {"ES003"}
    text = Path(ENTRIES).read_text()
    Path(ENTRIES).write_text(text.replace('"x', "[" * 500 + '"x', 1))
    assert check().exit_code != 0


def test_infinite_values_are_as_helm_writes_them() -> None:
    """It writes Infinity, and a variance of NaN, where a value is infinite."""
    value = {"sum": math.inf, "sum_squared": math.inf, "max": math.inf, "mean": math.inf}
    value |= {"variance": math.nan, "stddev": math.nan}

    def lose(entries: list[Any]) -> None:
        for entry in entries:
            name = {**entry["stats"][0]["name"], "name": "seconds"}
            one = statistic(name, 1.0)
            if entry["instance_id"] == "id0" and "perturbation" not in entry:
                one = {**one, **value, "min": math.inf}
            entry["stats"].append(one)

    edit(ENTRIES, lose)
    plain = {**statistic(named("seconds"), 1.0), **value, "min": math.inf}
    fair, before = named("seconds", FAIR), named("seconds", BEFORE)

    def add(stats: list[Any]) -> None:
        stats += [plain, {**plain, "name": fair}, {**plain, "name": before}]
        for name in (PERTURBED, ROBUST, ONE_WORST):
            stats.append(statistic(named("seconds", name), 1.0))

    edit(STATISTICS, add)
    report = check()
    assert (report.exit_code, codes(report)) == (0, set())


def test_compressed_streams_are_read_and_small_documents_are_not() -> None:
    import gzip

    Path(f"{ENTRIES}.gz").write_bytes(gzip.compress(Path(ENTRIES).read_bytes()))
    Path(ENTRIES).unlink()
    report = check(f"{ENTRIES}.gz")
    assert {run.verdict for run in report.runs} <= {"passed", "unconfirmed"}


def test_the_documents_of_a_run_are_found() -> None:
    (run,) = find_runs(["."])
    assert isinstance(run, Run)
    assert (run.rows, run.aggregate, run.format) == (ENTRIES, STATISTICS, "helm")
    assert run.beside == (STATE, RUN_SPEC, "scenario.json")


def test_normal_texts_are_those_of_the_harness() -> None:
    assert normalize_text("  The Answer, is: an A.  ") == "answer is"


def test_a_repeated_member_of_an_entry_has_its_line() -> None:
    lines = Path(ENTRIES).read_text().splitlines(keepends=True)
    place = next(at for at, line in enumerate(lines) if "train_trial_index" in line)
    lines.insert(place, lines[place].rstrip(",\n") + ",\n")
    Path(ENTRIES).write_text("".join(lines))
    found = [one.line for one in check().findings if one.code == "ES107"]
    assert found == [place + 2]


@pytest.mark.parametrize("flag", ["robustness", "fairness"])
def test_a_worst_case_has_the_flags_of_its_kind(flag: str) -> None:
    def turn(stats: list[Any]) -> None:
        for one in stats:
            perturbation = one["name"].get("perturbation", {})
            if one["name"]["name"] == "exact_match" and perturbation.get("name") == "robustness":
                perturbation[flag] = not perturbation[flag]

    edit(STATISTICS, turn)
    assert codes(check()) == {"HLM401", "HLM403"}


def test_a_run_without_requests_says_that_nothing_was_scored_again() -> None:
    Path(STATE).unlink()
    (run,) = check().runs
    assert run.checked == (
        Checked("0 of 8 instances scored again, as no scenario_state.json was found", None),
    )


def test_a_score_over_a_part_of_the_instances_is_a_warning() -> None:
    def drop(entries: Any) -> None:
        stats = next(one["stats"] for one in entries if "perturbation" not in one)
        stats[:] = [one for one in stats if one["name"]["name"] != "exact_match"]

    edit(ENTRIES, drop)
    (found,) = [one for one in check() if one.code == "HLM202"]
    assert (found.severity.label, found.pointer) == ("warning", "/7/name")
    assert found.message == "3 of 4 instances have exact_match:test"
