"""What blocks of rows amount to together."""

import pytest
from each import each
from lm_eval_logs import rows, text

from evalstream.formats.lm_eval.log_tally import LogTotals, Rerun, RowsTally, iterate_answer_digests


def block(*doc_ids: int | None) -> RowsTally:
    """Return the tally of rows on consecutive lines; None is a row without a doc_id."""
    tally = RowsTally()
    rows = tally.filter("none")
    assert rows is not None
    for line, doc_id in enumerate(doc_ids, 1):
        tally.rows += 1
        if doc_id is None:
            tally.unkeyed += 1
        else:
            rows.rows += 1
            rows.ids.add(doc_id, line)
    return tally


@each("cut", range(6))
def test_a_rerun_is_found_behind_any_cut(cut: int) -> None:
    rows = [0, 1, None, 0, 1]
    totals = LogTotals()
    totals.merge(block(*rows[:cut]), 0)
    totals.merge(block(*rows[cut:]), cut)
    assert totals.rerun() == Rerun(4, 2, 2)


STEP = 3


def _tally(data: bytes, *, unkeyed: int = 0) -> RowsTally:
    """Return the tally of rows that stand on the lines of a text in the order of their docs."""
    tally = RowsTally(unkeyed=unkeyed)
    found = tally.filter("none")
    assert found is not None
    for number in range(data.count(b"\n")):
        found.ids.add(number, number + 1)
    return tally


@pytest.mark.parametrize("unkeyed", [0, 1])
def test_answers_of_each_third_doc_are_digested(unkeyed: int) -> None:
    data = text(rows([1.0] * 8))
    found = dict(iterate_answer_digests(data, _tally(data, unkeyed=unkeyed), STEP))
    assert found.keys() == {0, 3, 6}


def test_lines_that_do_not_begin_with_their_doc_are_left_out() -> None:
    data = text(rows([1.0] * 8))
    other = data.replace(b'{"doc_id": 3, ', b'{ "doc_id": 3, ')
    assert dict(iterate_answer_digests(other, _tally(other), STEP)).keys() == {0, 6}


@each("kept", [[(0, 5), (1, 6), (7, 8)], [(7, 4), (1, 6), (7, 8), (0, 5)], []])
def test_docs_have_the_last_digest_that_was_kept(kept: list[tuple[int, int]]) -> None:
    totals = LogTotals(has_docs=True)
    assert totals.docs is not None
    totals.docs.extend(word for pair in kept for word in pair)
    found = dict(totals.iterate_docs([0, 1, 2, 7, 9]))
    assert found == {**dict.fromkeys([0, 1, 2, 7, 9]), **dict(kept)}
