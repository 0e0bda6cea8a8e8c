"""Which inputs go with options about one run."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.model.errors import UsageError


@each("name", ["source", "expect_digests", "sample_digests"])
def test_options_about_one_run_refuse_two(tmp_path: Path, name: str) -> None:
    for number in range(2):
        shutil.copy(EXAMPLES / "run.jsonl", tmp_path / f"run-{number}.jsonl")
    with pytest.raises(UsageError, match=f"{name} goes with exactly one run"):
        evalstream.check(tmp_path, **{name: str(tmp_path / "other")})


@each(
    ("options", "message"),
    [
        ({"tee": "https://example.org/run.jsonl"}, "only local files are written"),
        ({"seal_to": "none.json"}, "the aggregate to seal does not exist"),
    ],
)
def test_rows_are_not_routed_to_what_cannot_be_written(
    options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        evalstream.check(EXAMPLES / "run.jsonl", jobs=1, **options)
