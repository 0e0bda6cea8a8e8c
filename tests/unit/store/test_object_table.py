"""The table of records that the snapshots of a store list."""

from evalstream.store.layout import RECORD, SAMPLES, Content, Entry
from evalstream.store.object_table import CHOSEN, LISTED, ObjectTable


def test_rows_that_an_older_snapshot_lists_alone_are_added() -> None:
    table = ObjectTable()
    aggregate, rows = Content("ab" * 32, 300), Content("cd" * 32, 70_000)
    for number in range(3):
        uuid, path = f"00000000-0000-4000-8000-00000000000{number}", f"data/{number}.json"
        assert table.add(Entry(uuid, path, "c", "0.3.0", aggregate, None), LISTED | CHOSEN) is None
    record = table.find("00000000-0000-4000-8000-000000000001")
    assert record is not None
    record.add_rows(rows)
    assert (record.content(RECORD), record.content(SAMPLES)) == (aggregate, rows)
    assert record.has_path("data/1.json")
    last = table.find("00000000-0000-4000-8000-000000000002")
    assert last is not None
    assert (last.content(RECORD), last.content(SAMPLES)) == (aggregate, None)
