"""Why rows that were not rewritten as a whole are refused."""

import pytest
from each import each

from evalstream.batch.rewriting.migrate import refuse_partial
from evalstream.engine.block_rewriting import LeftRow
from evalstream.engine.rewriting import RewrittenRows
from evalstream.model.errors import CannotCheck

SOURCE = {"stored": {"sha256": "0" * 64}}


def test_whole_rows_are_not_refused() -> None:
    refuse_partial(RewrittenRows("rows", rows=2, source=SOURCE), "migrated")


@each(
    ("rows", "error", "reason"),
    [
        (
            RewrittenRows("rows", incomplete_reason="it is torn", changed="it grew"),
            CannotCheck,
            "it is torn",
        ),
        (
            RewrittenRows("rows", source=SOURCE, changed="it grew"),
            CannotCheck,
            "the rows changed while they were read: it grew",
        ),
        (
            RewrittenRows("rows", source=SOURCE, unsuited="it is UTF-16"),
            ValueError,
            "the rows cannot be migrated: it is UTF-16",
        ),
        (
            RewrittenRows(
                "rows",
                source=SOURCE,
                left=(LeftRow(3, "a"), LeftRow(5, "b"), LeftRow(7, "a")),
                left_count=1234,
            ),
            ValueError,
            "1,234 rows cannot be migrated; line 3: a; line 5: b",
        ),
    ],
)
def test_each_reason_is_said_once_with_its_first_line(
    rows: RewrittenRows, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error) as raised:
        refuse_partial(rows, "migrated")
    assert str(raised.value) == reason
