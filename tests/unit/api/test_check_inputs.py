"""Which inputs go with options about one run."""

import shutil
from pathlib import Path

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
