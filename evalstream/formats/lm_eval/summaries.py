"""What was verified of a log of lm-eval, as the line of the verdict and the figures say it."""

from __future__ import annotations

from collections.abc import Iterator

from evalstream.formats.lm_eval.recompute import Outcome, Recomputed
from evalstream.formats.lm_eval.task_facts import TaskFacts
from evalstream.formats.lm_eval.views import number_of
from evalstream.model.report import Checked, Figures, ResultSummary
from evalstream.model.text import counted
from evalstream.stats.claims.rounding import as_float


def checked_alone(
    of_groups: int, compared: int, logged: frozenset[str], beside: frozenset[str] | None
) -> Iterator[Checked]:
    """Say what was verified of results without the samples."""
    if of_groups:
        text = f"{compared:,} of {counted(of_groups, 'claim')} of groups recomputed"
        yield Checked(text, True if compared == of_groups else None)
    if logged and beside is not None:
        text = f"samples of {len(logged & beside):,} of {counted(len(logged), 'task')} found"
        yield Checked(text, logged <= beside)


def checked(facts: TaskFacts, claims: list[Recomputed], rows: int) -> Iterator[Checked]:
    """Say what was verified: the task's hash, the digests of the rows, the number of samples."""
    totals = facts.totals
    if not rows:
        return
    if facts.known is not None:
        task, results = facts.known
        declared, actual = results.task_hash(task), totals.task_hash()
        if declared is None:
            yield Checked("no task hash to verify", None)
        elif actual is None:
            yield Checked("task hash not verified", None)
        else:
            is_ok = declared == actual
            yield Checked("task hash ok" if is_ok else "task hash not ok", is_ok)
        effective = results.samples(task).get("effective")
        is_number = effective.__class__ is int
        if is_number and not totals.is_scattered:
            is_ok = effective in facts.sample_counts
            yield Checked("sample count ok" if is_ok else "sample count not ok", is_ok)
        elif not is_number:
            yield Checked("no sample count to verify", None)
    elif facts.results is not None:
        yield Checked("nothing of the results verified", None)
    hashed = f"doc, prompt and target hashes ok in {totals.hashed:,} of {counted(rows, 'row')}"
    yield Checked(hashed, True if totals.hashed == rows else None)
    if claims:
        closed = sum(one.outcome is not Outcome.OPEN for one in claims)
        text = f"{closed:,} of {counted(len(claims), 'claim')} recomputed"
        yield Checked(text, True if closed == len(claims) else None)


def summaries(facts: TaskFacts, claims: list[Recomputed]) -> Iterator[ResultSummary]:
    """Yield each metric that the results claim, with what its rows amount to."""
    errors = {(one.claim.metric, one.claim.filter): one for one in claims if one.claim.is_stderr}
    for one in claims:
        claim = one.claim
        if claim.is_stderr:
            continue
        error = errors.get((claim.metric, claim.filter))
        values = facts.values(claim)
        rows = 0 if values is None else values.rows
        own = None if one.outcome is Outcome.OPEN else _number(one.value)
        own_error = None if error is None or error.outcome is Outcome.OPEN else error.value
        both = [one, *([] if error is None else [error])]
        yield ResultSummary(
            claim.key,
            None,
            rows,
            Figures(
                _number(claim.value),
                None,
                None if error is None else _number(error.claim.value),
                None,
            ),
            None if own is None else Figures(own, None, _number(own_error), rows),
            len(both),
            sum(each.outcome is not Outcome.OPEN for each in both),
        )


def _number(value: object) -> float | None:
    """Return a figure as a float, None for one that is no finite number."""
    exact = number_of(value)
    return None if exact is None else as_float(exact)
