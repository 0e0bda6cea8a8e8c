"""Blocks of rows: lines and tallies count, rows that cannot be rewritten are left with a reason."""

import hashlib
import json
import pickle

from each import each
from rows import line_of, sound_rows

from evalstream.formats.eee.changes.row_rewriter import SALVAGE, RowRepairs, RowRewriter
from evalstream.formats.eee.changes.rows import RowMigration
from evalstream.formats.eee.changes.supplied import DECISIONS
from evalstream.rules.base import RepairAction

ROWS = sound_rows("0.2.0", 4)


def block(*lines: bytes) -> bytes:
    return b"".join(line.removesuffix(b"\n") + b"\n" for line in lines)


def test_rows_are_rewritten_line_by_line_and_their_changes_counted() -> None:
    rewritten = RowRewriter(RowMigration("0.3.0")).rewrite(block(*map(line_of, ROWS)))
    assert rewritten.rows == 4
    assert rewritten.left == []
    assert [json.loads(line)["schema_version"] for line in rewritten.data.splitlines()] == [
        "0.3.0"
    ] * 4
    (version,) = [
        seen for change, seen in rewritten.tally.seen.items() if change.kind.name == "version"
    ]
    assert version.times == 4
    assert version.lines == (1, 2, 3)


@each(
    ("line", "reason"),
    [
        (b"{", "invalid-json"),
        (b'{"a":1,"a":1}', "duplicate-key"),
        (b'{"a":"\xff"}', "invalid-utf8"),
        (b'{"a":NaN}', "non-finite-number"),
        (b'{"a":"\\ud800"}', "unpaired-surrogate"),
        (b"[" * 300 + b"]" * 300, "too-deep"),
        (b'{"a":1}{"a":1}', "spliced-record"),
    ],
)
def test_rows_that_cannot_be_read_are_left(line: bytes, reason: str) -> None:
    data = block(line_of(ROWS[0]), line, line_of(ROWS[1]))
    for how in (RowMigration("0.3.0"), RowRepairs("0.2.0", {RepairAction.DROP_NULL})):
        rewritten = RowRewriter(how).rewrite(data)
        assert rewritten.rows == 2
        (left,) = rewritten.left
        assert left.line == 2
        assert left.reason.startswith(reason)
        assert left.reason.endswith(SALVAGE)


def test_rows_that_need_a_decision_are_left_with_the_option() -> None:
    rewriter = RowRewriter(RowMigration("0.3.0", evaluation_id="other"))
    rewritten = rewriter.rewrite(block(*map(line_of, ROWS)))
    assert rewritten.rows == 0
    assert rewritten.data == b""
    (reason,) = {row.reason for row in rewritten.left}
    assert reason == (
        "evaluation_id is not that of the aggregate; --decide evaluation-id writes that of the"
        " aggregate"
    )


def test_hashes_are_computed_anew_only_where_that_is_decided() -> None:
    rows = [*ROWS[:3], {name: text for name, text in ROWS[3].items() if name != "sample_hash"}]
    data = block(*map(line_of, rows))
    rewritten = RowRewriter(RowMigration("0.3.0", rehash=True)).rewrite(data)
    new = [json.loads(line) for line in rewritten.data.splitlines()]
    for row in new[:3]:
        text = json.dumps(
            {"raw": row["input"]["raw"], "reference": row["input"]["reference"]},
            sort_keys=True,
            separators=(",", ":"),
        )
        assert row["sample_hash"] == hashlib.sha256(text.encode()).hexdigest()
    assert "sample_hash" not in new[3]
    kept = RowRewriter(RowMigration("0.3.0")).rewrite(data).data.splitlines()
    assert [json.loads(line).get("sample_hash") for line in kept] == [
        row.get("sample_hash") for row in rows
    ]


def test_a_pickled_rewriter_does_the_same() -> None:
    data = block(*map(line_of, ROWS))
    for how in (
        RowMigration("0.3.0", "x", {}, frozenset(DECISIONS), rehash=True),
        RowRepairs("0.2.0", frozenset({RepairAction.DROP_NULL})),
    ):
        rewriter = RowRewriter(how)
        assert pickle.loads(pickle.dumps(rewriter)).rewrite(data) == rewriter.rewrite(data)
