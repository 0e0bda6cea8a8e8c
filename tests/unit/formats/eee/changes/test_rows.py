"""Migrating rows: each kind of change, decisions, and rows that the target cannot hold."""

import json
from typing import Any

import pytest
from each import each
from rows import sound_rows

from evalstream.formats.eee.changes.rows import RowMigration, RowMigrator, RowRefused
from evalstream.formats.eee.changes.supplied import DECISIONS
from evalstream.parsing.schema_files import builtin_validator

ALL = frozenset(DECISIONS)


def old_row(**changes: Any) -> dict[str, Any]:
    return sound_rows("0.2.0", 1)[0] | changes


def migrated(row: dict[str, Any] | str, **how: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    text = row if isinstance(row, str) else json.dumps(row)
    new, applied = RowMigrator(RowMigration("0.3.0", **how)).rewrite(text)
    return json.loads(new), [(one.change.kind.name, one.change.pointer) for one in applied]


def transcript_row(**changes: Any) -> dict[str, Any]:
    call = {"id": "c1", "name": "add", "arguments": {"a": 2, "b": [1.0]}}
    turns = [
        {"turn_idx": 0, "role": "user", "content": "Add."},
        {"turn_idx": 1, "role": "assistant", "content": None, "tool_calls": [call]},
        {"turn_idx": 2, "role": "tool", "content": "5", "tool_call_id": "c1"},
    ]
    source = {
        "turn_idx": 2,
        "source": "interactions[2].content",
        "extracted_value": "5",
        "extraction_method": "exact_match",
        "is_terminal": True,
    }
    row = old_row(interaction_type="agentic", interactions=turns, answer_attribution=[source])
    del row["output"]
    return row | changes


def test_a_single_turn_row_fits_the_target_and_keeps_its_values() -> None:
    row = old_row(sample_id=7, metadata={"epoch": 1, "note": "x", "none": None})
    row["input"]["choices"] = None
    row["evaluation"] |= {"score": True, "is_correct": True}
    new, changes = migrated(row)
    assert builtin_validator("eee/0.3.0/instance").fits(new)
    assert new["schema_version"] == "0.3.0"
    assert new["sample_id"] == "7"
    assert new["input"]["reference"] == [row["input"]["reference"]]
    assert new["output"]["raw"] == [row["output"]["raw"]]
    assert new["metadata"] == {"epoch": "1", "note": "x"}
    assert new["evaluation"]["score"] == 1
    assert ("null-dropped", "/metadata/*") in changes
    assert ("to-number", "/evaluation/score") in changes


def test_a_transcript_is_renamed_with_all_that_names_it() -> None:
    new, changes = migrated(transcript_row())
    assert builtin_validator("eee/0.3.0/instance").fits(new)
    assert "interactions" not in new
    assert new["messages"][1]["tool_calls"][0]["arguments"] == {"a": "2", "b": "[1.0]"}
    assert new["messages"][2]["tool_call_id"] == ["c1"]
    assert new["answer_attribution"][0]["source"] == "messages[2].content"
    assert ("renamed", "/interactions") in changes
    assert ("renamed", "/answer_attribution/*/source") in changes
    assert ("to-list", "/interactions/*/tool_call_id") in changes


@each(
    ("row", "decision", "kept"),
    [
        (transcript_row(output={"raw": "5"}), "output", {"migrated.output": '{"raw":"5"}'}),
        (
            old_row(interactions=[{"turn_idx": 0, "role": "user"}]),
            "transcript",
            {"migrated.interactions": '[{"turn_idx":0,"role":"user"}]'},
        ),
        (
            old_row(messages=[{"turn_idx": 0, "role": "user"}]),
            "transcript",
            {"migrated.messages": '[{"turn_idx":0,"role":"user"}]'},
        ),
        (
            transcript_row(messages=[{"turn_idx": 0, "role": "user"}]),
            "transcript",
            {"migrated.messages": '[{"turn_idx":0,"role":"user"}]'},
        ),
    ],
)
def test_what_has_no_place_is_kept_in_metadata_if_that_is_decided(
    row: dict[str, Any], decision: str, kept: dict[str, str]
) -> None:
    with pytest.raises(RowRefused, match=f"--decide {decision} "):
        migrated(row, decisions=ALL - {decision})
    new, changes = migrated(row, decisions={decision})
    assert builtin_validator("eee/0.3.0/instance").fits(new)
    assert {name: new["metadata"][name] for name in kept} == kept
    assert decision in [name for name, _ in changes]


def test_unknown_members_are_kept() -> None:
    new, changes = migrated(old_row(metrics={"num_turns": 1}, note="as it is", **{"a/b": 1.0}))
    assert {
        name: text for name, text in new["metadata"].items() if name.startswith("migrated")
    } == {"migrated.metrics": '{"num_turns":1}', "migrated.note": "as it is", "migrated.a/b": "1.0"}
    assert changes.count(("kept", "/*")) == 3


@each("metadata", [None, {}, {"epoch": "1"}, "absent"])
def test_kept_members_find_metadata_in_any_state(metadata: Any) -> None:
    row = old_row(metadata=metadata, note=1)
    if metadata == "absent":
        del row["metadata"]
    new, _ = migrated(row)
    own = metadata if isinstance(metadata, dict) else {}
    assert new["metadata"] == own | {"migrated.note": "1"}


@each("metadata", [{"migrated.note": "2"}, [], 5])
def test_nothing_is_written_over(metadata: Any) -> None:
    with pytest.raises(RowRefused, match="metadata"):
        migrated(old_row(metadata=metadata, note=1))


@each(
    ("old", "new", "key"),
    [(None, None, "interactions"), ([], None, "interactions"), (None, [], "messages")],
)
def test_of_two_transcripts_the_empty_one_is_dropped(old: Any, new: Any, key: str) -> None:
    kind = "single_turn" if old is new else "multi_turn"
    row = old_row(interactions=old, messages=new, interaction_type=kind)
    if kind == "multi_turn":
        del row["output"]
    result, changes = migrated(row)
    assert builtin_validator("eee/0.3.0/instance").fits(result)
    assert "interactions" not in result
    assert (("renamed", "/interactions") in changes) == (key == "interactions")


def test_ids_are_rewritten_only_if_decided() -> None:
    row = old_row()
    assert (
        migrated(row, evaluation_id=row["evaluation_id"])[0]["evaluation_id"]
        == row["evaluation_id"]
    )
    with pytest.raises(RowRefused, match="--decide evaluation-id "):
        migrated(row, evaluation_id="other")
    new, changes = migrated(row, evaluation_id="other", decisions=ALL)
    assert new["evaluation_id"] == "other"
    assert new["metadata"]["migrated.evaluation_id"] == row["evaluation_id"]
    assert ("evaluation-id", "/evaluation_id") in changes


@each(
    ("own", "kept"),
    [("x/y", "x/y"), (5, "5"), (["x", 1], '["x",1]'), (None, None), ("other", None)],
)
def test_a_replaced_id_is_kept(own: Any, kept: str | None) -> None:
    row = old_row(evaluation_id=own, metadata=None)
    new, _ = migrated(row, evaluation_id="other", decisions=ALL)
    assert new["evaluation_id"] == "other"
    assert (new["metadata"] or {}).get("migrated.evaluation_id") == kept


def test_a_replaced_hash_is_kept() -> None:
    row = old_row()
    new, _ = migrated(row, evaluation_id=row["evaluation_id"], rehash=True)
    assert new["metadata"]["migrated.sample_hash"] == row["sample_hash"] != new["sample_hash"]


@pytest.mark.parametrize("absent", [True, False])
def test_a_result_id_follows_from_the_name_only_if_decided(absent: bool) -> None:
    row = old_row() if absent else old_row(evaluation_result_id=None)
    ids = {row["evaluation_name"]: "r1"}
    assert "evaluation_result_id" not in migrated(row, result_ids=ids)[0]
    assert "evaluation_result_id" not in migrated(row, result_ids={"x": "r1"}, decisions=ALL)[0]
    new, changes = migrated(row, result_ids=ids, decisions={"result-id"})
    assert new["evaluation_result_id"] == "r1"
    assert ("result-id", "/evaluation_result_id") in changes
    assert (
        migrated(row | {"evaluation_result_id": "own"}, result_ids=ids, decisions=ALL)[0][
            "evaluation_result_id"
        ]
        == "own"
    )


def test_numbers_keep_their_spelling() -> None:
    digits = "123456789012345678901234567890"
    text = json.dumps(old_row(sample_id=5, metadata={"a": 6}))
    text = text.replace('"sample_id": 5', f'"sample_id": {digits}').replace('"a": 6', '"a": 0.10e0')
    new, _ = migrated(text)
    assert new["sample_id"] == digits
    assert new["metadata"]["a"] == "0.10e0"


def test_a_migrated_row_is_migrated_to_itself() -> None:
    row = transcript_row(note=1)
    once = migrated(row)[0]
    again, changes = migrated(once)
    assert again == once
    assert changes == []


@each("text", ["[]", "5", '{"a":1,"a":2}', "{", "NaN"])
def test_what_is_no_row_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        RowMigrator(RowMigration("0.3.0")).rewrite(text)


@each("version", ["0.0.1", "0.1.0", "9.9.9", "", None, 2, ["0.2.0"]])
def test_a_row_of_an_unknown_version_is_refused(version: Any) -> None:
    with pytest.raises(RowRefused, match="not a known version"):
        migrated(old_row(schema_version=version), decisions=ALL)


@pytest.mark.parametrize("version", ["0.2.0", "instance_level_eval_0.2.0"])
def test_the_transcript_of_the_own_version_stays(version: str) -> None:
    row = transcript_row(messages=[{"turn_idx": 0, "role": "x"}], schema_version=version)
    new, _ = migrated(row, decisions=ALL)
    assert len(new["messages"]) == len(row["interactions"])
    assert new["metadata"]["migrated.messages"] == '[{"turn_idx":0,"role":"x"}]'
