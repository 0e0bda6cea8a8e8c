"""Another file in the place of a ledger."""

from contextlib import closing
from pathlib import Path

import pytest

from evalstream.batch.ledger.database import open_for_writing
from evalstream.model.errors import UsageError


def test_another_file_is_replaced_only_where_that_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_bytes(b"notes of somebody")
    with pytest.raises(UsageError, match="is not a ledger"):
        open_for_writing(str(path))
    assert path.read_bytes() == b"notes of somebody"
    with closing(open_for_writing(str(path), overwrite=True)):
        assert path.read_bytes() != b"notes of somebody"
