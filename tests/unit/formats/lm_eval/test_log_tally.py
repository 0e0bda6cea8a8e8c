"""What blocks of rows amount to together."""

from each import each

from evalstream.formats.lm_eval.log_tally import LogTotals, Rerun, RowsTally


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
