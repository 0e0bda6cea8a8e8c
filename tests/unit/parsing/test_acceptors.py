"""The code that the build writes for the schemas of rows and aggregates."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from paths import REPOSITORY, SCHEMAS
from rows import sound_rows

from evalstream.parsing import schema_files
from evalstream.parsing.acceptor_code import write_acceptors
from evalstream.parsing.schema_files import builtin_validator, schema_documents

NAME = "eee/0.2.0/instance"
OURS = [name for name in schema_documents() if name.startswith("eee/")]
BUILT = REPOSITORY / "evalstream" / "parsing" / "acceptors"


def test_the_build_wrote_the_code_of_every_schema_of_rows_and_aggregates(tmp_path: Path) -> None:
    write_acceptors(SCHEMAS / "eee", tmp_path)
    fresh = {file.name: file.read_text() for file in tmp_path.glob("*.py")}
    assert len(fresh) == len(OURS)
    assert fresh == {file.name: file.read_text() for file in BUILT.glob("*.py")}
    assert all(schema_files._built_code(name) for name in OURS)


def test_code_of_another_schema_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(SCHEMAS, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(schema_files, "_folder", lambda: str(tmp_path))
    assert schema_files._built_code(NAME)
    file = tmp_path / f"{NAME}.schema.json"
    file.write_bytes(file.read_bytes() + b"\n")
    assert schema_files._built_code(NAME) is None


def test_an_engine_is_loaded_for_the_errors_and_for_many_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[str] = []
    compile_with = schema_files._compile_named

    def compiled(name: str, engine: str) -> Any:
        loaded.append(name)
        return compile_with(name, engine)

    monkeypatch.setattr(schema_files, "_compile_named", compiled)
    monkeypatch.setattr(schema_files, "FEW_VALUES", 9)
    validator = builtin_validator.__wrapped__(NAME)
    rows = sound_rows(count=8)
    assert all(map(validator.accepts, rows))
    infinite = {**rows[0], "metadata": {"seconds": float("inf")}}
    assert not validator.accepts(infinite)
    assert not loaded
    assert not validator.accepts({})
    assert all(map(validator.accepts, rows))
    assert loaded == [NAME]
    assert list(validator.errors({}))
    assert loaded == [NAME]
