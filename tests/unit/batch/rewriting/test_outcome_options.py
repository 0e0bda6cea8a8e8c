"""Options of a check that would hide what runs violate: fix and migrate leave them out."""

from pathlib import Path

import pytest
from each import each
from rows import bytes_of, sound_rows, write_run

from evalstream import fix, migrate
from evalstream.batch.rewriting.outcome import ChangeStatus
from evalstream.model.errors import UsageError
from evalstream.model.options import Options

LAX = [
    Options(ignore=("ES4", "ES602"), jobs=1),
    Options(select=("ES112",), jobs=1),
    Options(per_file_ignores=("*=ES4", "*=ES602"), jobs=1),
    Options(recipe="none", jobs=1),
]


@each("options", LAX[:3])
def test_rules_that_are_left_out_still_refuse(options: Options, tmp_path: Path) -> None:
    rows = [row | {"model_id": "other/model"} for row in sound_rows("0.2.0")]
    (tmp_path / "old").mkdir()
    write_run(tmp_path / "old", bytes_of(rows))
    (outcome,) = migrate(
        tmp_path / "old", tmp_path / "new", collection="c", fill=True, options=options
    ).outcomes
    assert outcome.status is ChangeStatus.REFUSED
    assert not list(tmp_path.joinpath("new").rglob("*.json*"))


@each("options", LAX)
def test_a_repair_does_not_hide_a_wrong_hash(options: Options, tmp_path: Path) -> None:
    made = sound_rows("0.2.0")
    made[0]["sample_hash"] = "0" * 64
    write_run(tmp_path, bytes_of(made).replace(b"\n", b"\r\n"))
    (outcome,) = fix(tmp_path, write=True, options=options).outcomes
    assert outcome.status is ChangeStatus.PARTLY
    assert "ES401" in outcome.reasons[1]


@pytest.mark.parametrize("options", [Options(jobs=-1), Options(max_line_bytes=0)])
def test_limits_that_make_no_sense_are_refused(options: Options, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must"):
        fix(tmp_path, options=options)
    with pytest.raises(UsageError, match="must"):
        migrate(tmp_path, tmp_path / "new", options=options)
