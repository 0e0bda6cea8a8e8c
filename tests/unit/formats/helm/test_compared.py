"""Runs of HELM in comparisons: instances as samples, and the answers behind them."""

import json
import shutil
from pathlib import Path

import pytest
from compared_records import collected, compared
from paths import EXAMPLES

import evalstream

RUN = "pens-model=acme_acorn-7b"
ENTRIES, STATE = "per_instance_stats.json", "scenario_state.json"


@pytest.fixture(autouse=True)
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder with a copy of the example."""
    shutil.copytree(EXAMPLES / "helm" / RUN, tmp_path / "one")
    monkeypatch.chdir(tmp_path)


def test_each_entry_is_a_sample_of_its_scores_alone() -> None:
    found = collected(Path("one"))
    names = {label for _, label in found.samples}
    assert len(found.samples) == 8
    assert {name.rpartition(" / ")[2] for name in names} == {"exact_match"}
    assert any("misspelling" in name for name in names)
    assert sum(one.score for one in found.samples.values()) == 4
    assert found.checked.description.model == "acme/acorn-7b"


def test_inputs_identify_instances_and_copies() -> None:
    found = collected(Path("one"))
    assert len(set(found.identities().values())) == 8
    Path("one", STATE).unlink()
    assert not {one.high or one.low for one in collected(Path("one")).samples.values()} - {0}
    by_id = collected(Path("one"), by="sample_id")
    assert len(set(by_id.identities().values())) == 4


def test_answers_are_those_of_the_requests() -> None:
    found = collected(Path("one"))
    places = [(one.line, one.offset) for one in found.samples.values()]
    answers = found.answers(*places, (1, 1))
    said = [one["result"]["completions"][0]["text"] for one in json_state()["request_states"]]
    assert sorted(one.answer for one in answers[:-1] if one is not None) == sorted(said)
    assert answers[-1] is None


def json_state() -> dict[str, list[dict[str, dict[str, list[dict[str, str]]]]]]:
    """Return the state of the example."""
    found: dict[str, list[dict[str, dict[str, list[dict[str, str]]]]]] = json.loads(
        Path("one", STATE).read_bytes()
    )
    return found


def test_runs_are_paired_instance_by_instance() -> None:
    shutil.copytree("one", "two")
    entries = json.loads(Path("two", ENTRIES).read_bytes())
    Path("two", ENTRIES).write_text(json.dumps(entries[::2] + entries[1::2]))
    report, flips = compared("one", "two")
    assert not flips
    assert {one.alignment.matched for one in report.comparisons} == {4}


def test_ids_are_held() -> None:
    Path("ids.txt").write_text("".join(f"id{number}\n" for number in range(4)))
    assert not evalstream.check("one", jobs=1, expect_ids="ids.txt").counts
    Path("ids.txt").write_text("id0\nid9\n")
    assert set(evalstream.check("one", jobs=1, expect_ids="ids.txt").counts) == {"ES011"}
