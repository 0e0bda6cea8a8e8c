"""Repairing rows: the version stays, and so does all that has no finding with a fix."""

import json
from typing import Any

from each import each
from rows import sound_rows

from evalstream.formats.eee.changes.row_rewriter import RowRepairer, RowRepairs
from evalstream.rules.base import RepairAction

ACTIONS = frozenset(
    {
        RepairAction.DROP_NULL,
        RepairAction.WRITE_TEXT,
        RepairAction.WRITE_PLAIN_VERSION,
        RepairAction.WRITE_PLAIN_SAMPLE_HASH,
    }
)


def repaired(
    row: dict[str, Any],
    version: str = "0.2.0",
    actions: frozenset[RepairAction] = ACTIONS,
    **how: Any,
) -> dict[str, Any]:
    text, _ = RowRepairer(RowRepairs(version, actions, **how)).rewrite(json.dumps(row))
    result: dict[str, Any] = json.loads(text)
    return result


def row_of(version: str, **changes: Any) -> dict[str, Any]:
    return sound_rows(version, 1)[0] | changes


def test_nulls_in_optional_members_are_dropped_where_the_version_forbids_them() -> None:
    row = row_of("0.2.0", sample_hash=None, error=None, token_usage=None, metadata=None)
    new = repaired(row)
    assert "sample_hash" not in new
    assert "metadata" not in new
    assert new["error"] is None
    assert new["token_usage"] is None
    assert repaired(row, actions=ACTIONS - {RepairAction.DROP_NULL}) == row


def test_rows_of_a_variant_are_repaired_by_it() -> None:
    row = row_of("0.2.0")
    row["output"] |= {"raw": ["6"], "reasoning_trace": None}
    assert repaired(row) == row
    assert "reasoning_trace" not in repaired(row, "0.2.0+list")["output"]
    newer = row | {"schema_version": "0.2.2"}
    assert repaired(newer, "0.2.0+list") == repaired(newer, "0.2.2")


def test_required_members_keep_their_null() -> None:
    row = row_of("0.2.0", evaluation_name=None)
    assert repaired(row) == row


def test_values_in_maps_of_strings_become_text_where_the_version_has_such_maps() -> None:
    metadata = {"epoch": 1, "none": None, "list": [1.0]}
    assert repaired(row_of("0.3.0", metadata=metadata), "0.3.0")["metadata"] == {
        "epoch": "1",
        "list": "[1.0]",
    }
    old = row_of("0.2.0", metadata=metadata)
    assert repaired(old) == old
    new = row_of("0.3.0", metadata=metadata)
    assert repaired(new, "0.3.0", ACTIONS - {RepairAction.WRITE_TEXT}) == new


def test_each_row_is_repaired_by_its_own_version() -> None:
    row = row_of("0.3.0", metadata={"epoch": 1}, sample_hash=None)
    assert repaired(row, "0.2.0") == row | {"metadata": {"epoch": "1"}}


@each("digest", ["AB" * 32, "sha256:" + "ab" * 32, "MD5:" + "AB" * 16])
def test_digests_are_written_in_lower_case_without_a_prefix(digest: str) -> None:
    new = repaired(row_of("0.2.0", sample_hash=digest))
    assert new["sample_hash"] == digest.lower().rpartition(":")[2]


def test_the_annotation_form_of_a_version_becomes_its_number() -> None:
    row = row_of("0.2.0", schema_version="instance_level_eval_0.2.0")
    assert repaired(row)["schema_version"] == "0.2.0"
    assert repaired(row, actions=ACTIONS - {RepairAction.WRITE_PLAIN_VERSION}) == row


def test_unknown_versions_stay_and_are_repaired_by_the_nearest_one() -> None:
    row = row_of("0.3.0", schema_version="9.9", sample_hash=None, evaluation_result_id=None)
    new = repaired(row, "0.2.0")
    assert new["schema_version"] == "9.9"
    # The nearest version allows the one null and not the other.
    assert new["sample_hash"] is None
    assert "evaluation_result_id" not in new


def test_an_id_is_rewritten_only_on_demand() -> None:
    row = row_of("0.2.0")
    new = repaired(row, evaluation_id="x")
    assert new["evaluation_id"] == "x"
    assert new["metadata"]["migrated.evaluation_id"] == row["evaluation_id"]
    assert repaired(row, evaluation_id=row["evaluation_id"]) == row
