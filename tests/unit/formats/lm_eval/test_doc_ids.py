"""The doc_ids of a filter are what a set of them would be."""

from array import array

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st

from evalstream.formats.lm_eval.doc_ids import CHUNK, DocDigests, DocIds, IdRuns

PLACES = st.integers(0, 5) | st.integers(CHUNK - 3, CHUNK + 3) | st.integers(0, 3 * CHUNK)


@st.composite
def rows(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Return doc_ids with the lines they stand on, many of them one after the other."""
    found: list[tuple[int, int]] = []
    line = 1
    for start, count, step in draw(
        st.lists(st.tuples(PLACES, st.integers(1, 6), st.integers(1, 3)), max_size=6)
    ):
        for doc_id in range(start, start + count):
            found.append((doc_id, line))
            line += step
    return found


def ids_of(found: list[tuple[int, int]], shift: int = 0) -> DocIds:
    """Return the ids of some rows."""
    runs, ids = IdRuns(), DocIds()
    for doc_id, line in found:
        runs.add(doc_id, line)
    for run in runs.runs:
        ids.add(run, shift)
    return ids


@given(rows(), st.integers(0, 9))
def test_ids_are_those_of_a_set(found: list[tuple[int, int]], shift: int) -> None:
    ids, seen, repeats = ids_of(found, shift), set(), []
    for doc_id, line in found:
        if doc_id in seen:
            repeats.append((line + shift, doc_id))
        seen.add(doc_id)
    assert (ids.count, ids.repeats) == (len(seen), len(repeats))
    assert ids.first_repeat == (repeats[0] if repeats else None)
    assert ids.highest == max(seen, default=-1)
    assert ids.first_gap() == next(one for one in range(4 * CHUNK) if one not in seen)


@given(rows(), rows())
def test_the_lowest_missing_id_is_found(
    some: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    missing = {doc_id for doc_id, _ in some} - {doc_id for doc_id, _ in others}
    assert ids_of(some).find_missing(ids_of(others)) == min(missing, default=None)


@each("kept", [[(0, 5), (1, 6), (7, 8)], [(7, 4), (1, 6), (7, 8), (0, 5)], [(1, 6), (1, 7)], []])
@pytest.mark.parametrize("wanted", [[0, 1, 2, 7, 9], [0, 1], [1], [1, 7], []])
def test_docs_have_the_last_digest_that_was_kept(
    kept: list[tuple[int, int]], wanted: list[int]
) -> None:
    docs = DocDigests()
    for doc_id, digest in kept:
        docs.add(range(doc_id, doc_id + 1), array("Q", [digest]))
    found = {key: one for batch in docs.select(wanted) for key, one in zip(*batch, strict=True)}
    assert found == {**dict.fromkeys(wanted, 0), **{k: v for k, v in kept if k in wanted}}


def test_digests_of_many_docs_come_in_their_order() -> None:
    docs, count = DocDigests(), 2 * CHUNK + 3
    docs.add(range(count), array("Q", range(1, count + 1)))
    found = [digest for _, digests in docs.select(range(count)) for digest in digests]
    assert found == list(range(1, count + 1))
