"""Shards of a folder: each run in one of them, for all links, names and declared paths."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from depth import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstream.batch.plan import FolderPartition, Shard
from evalstream.discovery.folder_pairs import FolderPairs
from evalstream.discovery.inputs import find_runs

FOLDERS = ("", "a/", "a/b/", "data/x/", "c-/", ".hidden/")
STEMS = ("one", "one_samples", "one-", "run", "aggregate", "two")
ENDINGS = (".json", ".jsonl", "_samples.jsonl", "_samples.jsonl.gz", ".JSONL", ".yaml", ".txt")
DECLARED = (
    "one.jsonl",
    "one_samples.jsonl",
    "run.jsonl",
    "a/one.jsonl",
    "b/run.jsonl",
    "data/x/two_samples.jsonl",
    "../one.jsonl",
    "/etc/hostname",
    ".hidden/run.jsonl",
    "nowhere.jsonl",
)
TEXTS = (
    "",
    "{",
    "[]",
    '{"name": "other"}',
    '{"schema_version": "0.2.1", "evaluation_id": "x"}',
    '{"results": {}, "configs": {}, "versions": {}, "n-shot": {}}',
    '{"eval": {}, "plan": {}, "version": 2, "status": "success"}',
)
PATHS = st.builds(lambda *parts: "".join(parts), *map(st.sampled_from, (FOLDERS, STEMS, ENDINGS)))
PAIRS = st.tuples(st.just("pair"), st.sampled_from(FOLDERS), st.sampled_from(STEMS))
FILES = st.one_of(
    st.tuples(st.just("aggregate"), PATHS, st.sampled_from((*DECLARED, None))),
    st.tuples(st.just("rows"), PATHS, st.none()),
    st.tuples(st.just("text"), PATHS, st.sampled_from(TEXTS)),
    st.tuples(st.just("link"), PATHS, st.sampled_from((*DECLARED, "a", "."))),
    PAIRS,
)


def aggregate_of(declared: str | None) -> str:
    details = {} if declared is None else {"detailed_evaluation_results": {"file_path": declared}}
    return json.dumps({"schema_version": "0.2.1", "evaluation_id": "x", **details})


def make(root: Path, files: list[tuple[str, str, str | None]]) -> None:
    """Make a drawn tree; a later file replaces an earlier one."""
    for kind, path, more in files:
        if kind == "pair":
            stem = f"{path}{more}"
            make(root, [("rows", f"{stem}_samples.jsonl", None)])
            make(root, [("aggregate", f"{stem}.json", f"{Path(stem).name}_samples.jsonl")])
            continue
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink():
            continue
        place.unlink(missing_ok=True)
        if kind == "link":
            os.symlink(more or "", place)
        elif kind == "aggregate":
            place.write_text(aggregate_of(more))
        else:
            place.write_text(more or '{"sample_id": "1"}\n')


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    folder = Path(mkdtemp())
    yield folder
    shutil.rmtree(folder)


@settings(max_examples=examples(400))
@given(st.lists(PAIRS, min_size=2, max_size=12), st.lists(FILES, max_size=6), st.integers(2, 5))
def test_each_run_of_a_drawn_tree_is_in_one_shard_and_in_its_place(
    base: Path, pairs: list[tuple[str, str, str]], files: list[tuple[str, str, str]], of: int
) -> None:
    root = Path(mkdtemp(dir=base)) / "tree"
    root.mkdir()
    make(root, [*pairs, *files])
    whole = list(find_runs([str(root)]))
    found: list[tuple[int, object]] = []
    digests = set()
    for number in range(1, of + 1):
        partition = FolderPartition(FolderPairs(str(root), ()), Shard(number, of))
        digests.add(partition.digest)
        runs = list(partition.number_runs(find_runs([str(root)])))
        found += [(one.number, one.found) for one in runs if one.is_own]
        assert not partition.is_whole or [one.found for one in runs] == whole
        assert len(runs) > 1 or partition.is_whole
    assert max(Counter(number for number, _ in found).values()) == 1
    assert [one for _, one in sorted(found, key=lambda item: item[0])] == whole
    assert len(digests) == 1
    shutil.rmtree(root.parent)
