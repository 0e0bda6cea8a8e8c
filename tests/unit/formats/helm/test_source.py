"""What a run of HELM gives to the comparison with what was converted from it."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.formats.eee import source_results
from evalstream.formats.helm import source
from evalstream.formats.helm.source import HelmSource, open_source
from evalstream.io import spill_table
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.source_log import Wanted

RUN = EXAMPLES / "helm" / "pens-model=acme_acorn-7b"


def opened(path: Path, *names: str) -> HelmSource:
    """Open a log for a run with results of some names."""
    found = open_source(str(path), Options(), Wanted(frozenset(names), None))
    assert found is not None
    return found


@each("path", [RUN, RUN / "stats.json", RUN / "scenario_state.json"])
def test_a_run_is_opened_by_its_folder_or_a_file(path: Path) -> None:
    with closing(opened(path)) as log:
        samples = list(log.samples())
        assert [one.id for one in samples] == [f"id{place // 2}" for place in range(8)]
        assert log.models == {"acme/acorn-7b"}
        assert log.stated["source_data/samples_number"] == (4,)
        assert log.stated["source_data/dataset_name"] == ("pens",)


def test_a_copy_has_the_scores_of_the_first_entry_of_its_id() -> None:
    """The converter looks for the first entry with the id, whatever its perturbation."""
    with closing(opened(RUN)) as log:
        one, copy, *_ = log.samples()
    assert one.scores == copy.scores
    assert set(one.scores) == {"exact_match:test"}
    assert one.default == one.scores["exact_match:test"]


def test_results_are_the_first_statistics_of_each_id() -> None:
    with closing(opened(RUN)) as log:
        results = {one.id: one for one in log.results or ()}
    assert set(results) == {
        "exact_match:test",
        "exact_match:test:misspelling",
        "exact_match:test:robustness",
        "exact_match:test:fairness",
    }
    assert results["exact_match:test:misspelling"].score == 0.75
    for name, perturbation in (("exact_match:test", ""), ("exact_match:test:fairness", "fairness")):
        stated = results[name].stated
        assert stated["score_details/details/split"] == ("test",)
        assert stated["score_details/details/perturbation"] == (perturbation,)
    assert all(one.is_required for one in results.values())


@each("model", [["acme/acorn-7b"], [[]], 7])
def test_a_model_that_is_no_text_is_none(model: Any, tmp_path: Path) -> None:
    shutil.copytree(RUN, tmp_path / "run")
    path = tmp_path / "run" / "run_spec.json"
    spec = json.loads(path.read_bytes())
    spec["adapter_spec"]["model"] = model
    path.write_text(json.dumps(spec))
    with closing(opened(tmp_path / "run")) as log:
        list(log.samples())
        assert log.models == set()


def test_early_converters_did_not_write_every_result() -> None:
    with closing(opened(RUN, "exact_match test on pens")) as log:
        results = log.results or ()
    assert not any(one.is_required for one in results)
    assert "exact_match test on pens" in results[0].names


def test_a_row_of_any_result_is_enough_where_none_is_required(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(
        json.dumps({"evaluation_results": [{"evaluation_name": "exact_match test on pens"}]})
    )
    row = {"evaluation_result_id": "exact_match:test", "evaluation": {"score": 1.0}}
    rows = [json.dumps({**row, "sample_id": f"id{place // 2}"}) for place in range(8)]

    def missing() -> list[str]:
        (tmp_path / "run.jsonl").write_text("\n".join(rows))
        report = evalstream.check(
            tmp_path / "run.jsonl", aggregate=tmp_path / "run.json", source=str(RUN)
        )
        return [one.message for one in report if one.code == "ES650"]

    assert missing() == []
    del rows[0]
    assert missing() == ["no row has sample id0 (request 1) of the log"]


def test_members_are_those_of_the_request() -> None:
    state = json.loads((RUN / "scenario_state.json").read_bytes())["request_states"][0]
    with closing(opened(RUN)) as log:
        first = next(iter(log.samples()))
    assert first.members["input/raw"] == (state["request"]["prompt"],)
    text = state["result"]["completions"][0]["text"]
    assert first.members["output/raw/*"] == (text,)
    assert first.members["answer_attribution/*/extracted_value"] == (text.strip(),)
    assert first.members["performance/generation_time_ms"] == (500.0,)
    assert first.members["token_usage/input_tokens"] == (7,)


def test_everything_that_the_log_states_has_a_name_in_reports() -> None:
    with closing(opened(RUN)) as log:
        list(log.samples())
        stated = [log.stated, log.stated_of_run, *(one.stated for one in log.results or ())]
    assert all(source_results._name(place) for some in stated for place in some)


def test_other_paths_are_no_log_and_a_run_without_requests_is_refused(tmp_path: Path) -> None:
    wanted = Wanted(frozenset(), None)
    assert open_source(str(tmp_path), Options(), wanted) is None
    assert open_source(str(EXAMPLES / "run.jsonl"), Options(), wanted) is None
    shutil.copy(RUN / "stats.json", tmp_path)
    with pytest.raises(CannotCheck, match="scenario_state"):
        open_source(str(tmp_path), Options(), wanted)


@pytest.mark.parametrize("batch", [1, 3])
def test_facts_are_the_same_however_many_are_kept_together(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def facts() -> tuple[object, ...]:
        with closing(opened(RUN)) as log:
            return list(log.samples()), log.results, log.stated

    whole = facts()
    monkeypatch.setattr(spill_table, "BATCH", batch)
    assert facts() == whole


def test_the_ids_of_a_large_run_are_not_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, ids in ((8, 8), (7, None)):
        monkeypatch.setattr(source, "MOST_IDS", most)
        with closing(opened(RUN)) as log:
            list(log.samples())
            stated = log.stated["source_data/sample_ids"]
        assert (len(stated[0]) if stated else None) == ids


def test_a_run_without_statistics_has_scores_by_its_references(tmp_path: Path) -> None:
    shutil.copy(RUN / "run_spec.json", tmp_path)
    state = json.loads((RUN / "scenario_state.json").read_bytes())
    for place, text in ((0, " 0 "), (1, "1"), (2, "1")):
        state["request_states"][place]["result"]["completions"][0]["text"] = text
    state["request_states"][3]["result"]["completions"] = []
    (tmp_path / "scenario_state.json").write_text(json.dumps(state))
    with closing(opened(tmp_path)) as log:
        assert log.results == ()
        samples = list(log.samples())
        assert [one.default.own for one in samples] == [1, 0, 1, 0, 0, 0, 0, 0]
        assert not any("token_usage/input_tokens" in one.members for one in samples)


def test_the_numbers_of_samples_are_those_of_entries_and_of_the_split(tmp_path: Path) -> None:
    shutil.copytree(RUN, tmp_path, dirs_exist_ok=True)
    stats = json.loads((RUN / "stats.json").read_bytes())
    for number in (None, 9):
        for one in stats:
            if one["name"]["name"] == "num_instances":
                one["mean"] = number
        (tmp_path / "stats.json").write_text(json.dumps([one for one in stats if one.get("mean")]))
        with closing(opened(tmp_path)) as log:
            assert {one.counts for one in log.results or ()} == {frozenset({4, number} - {None})}


def test_the_samples_of_a_worst_case_without_originals_are_all_ids(tmp_path: Path) -> None:
    """A run whose augmentation leaves out the originals has no count of its split."""
    shutil.copytree(RUN, tmp_path, dirs_exist_ok=True)
    for name in ("stats.json", "per_instance_stats.json"):
        found = json.loads((RUN / name).read_bytes())
        kept = [one for one in found if (one.get("name") or one).get("perturbation")]
        (tmp_path / name).write_text(json.dumps(kept))
    with closing(opened(tmp_path)) as log:
        counts = {one.id: one.counts for one in log.results or ()}
    assert counts["exact_match:test:robustness"] == {4}


@pytest.mark.parametrize(
    ("name", "text"), [("per_instance_stats.json", b'[{"a": 1}]'), ("stats.json", b"{")]
)
def test_documents_that_cannot_be_read_are_not_compared(
    name: str, text: bytes, tmp_path: Path
) -> None:
    shutil.copytree(RUN, tmp_path, dirs_exist_ok=True)
    (tmp_path / name).write_bytes(text)
    with pytest.raises(CannotCheck, match="cannot be read"):
        opened(tmp_path)
