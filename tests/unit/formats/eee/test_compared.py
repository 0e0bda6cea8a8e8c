"""What a row gives to a comparison is the same from its line and from the parsed row."""

import json
from pathlib import Path
from typing import Any

import pytest
from compared_records import collected
from rows import sound_rows

from evalstream.stats import sample_digests

INPUTS: list[Any] = [
    {"raw": "Wo  \ufb01?", "reference": ["a"], "choices": ["\u00c4", "b"]},
    {"raw": "\u00dcber  uns", "reference": [], "choices": ["x"]},
    {"raw": "\u00fcber uns", "reference": ["b"], "choices": ["X "]},
    {"raw": "unter uns", "reference": ["b"]},
    {"raw": 1, "reference": "a"},
    None,
]


@pytest.mark.parametrize("cluster", [None, "/input/raw"])
def test_the_cluster_of_a_line_is_that_of_its_row(tmp_path: Path, cluster: str | None) -> None:
    rows = sound_rows(count=2 * len(INPUTS))
    for row, shown in zip(rows, 2 * INPUTS, strict=True):
        row["input"] = {**row["input"], **shown} if shown else shown
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fast, exact = (
        {
            line: one.cluster
            for (line, _), one in collected(path, "sample_id", cluster, **more)[1].items()
        }
        for more in ({}, {"engine": "rust"})
    )
    assert fast == exact
    assert len(fast) == 2 * len(INPUTS)
    assert fast[1] == fast[7] != fast[2]
    assert (fast[2] == fast[3]) is (cluster is None)
    assert fast[3] != fast[4]
    assert fast[6] == 0


@pytest.mark.parametrize(("raw", "most"), [("Caf\u00e9?", 64), ("Cafe\u0301?", 200)])
def test_letters_that_join_no_other_are_folded_by_the_scanner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: str, most: int
) -> None:
    digested = []
    digest = sample_digests.folded_digest
    monkeypatch.setattr(
        sample_digests, "folded_digest", lambda *texts: digested.append(texts) or digest(*texts)
    )
    path = tmp_path / "run.jsonl"
    rows = sound_rows(count=200)
    for number, row in enumerate(rows):
        row["input"] = {**row["input"], "raw": f"{raw} {number}"}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = collected(path)
    assert len({one.cluster for one in found.samples.values()}) == 200
    assert len(digested) <= most
    assert len(digested) == 200 or most == 64
