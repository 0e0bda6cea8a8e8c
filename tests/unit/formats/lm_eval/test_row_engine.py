"""The answers of some docs are found by the places of their rows, and by a search where needed."""

import pytest
from lm_eval_logs import rows, text

from evalstream.formats.lm_eval.log_tally import RowsTally
from evalstream.formats.lm_eval.row_engine import iterate_answer_digests

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
