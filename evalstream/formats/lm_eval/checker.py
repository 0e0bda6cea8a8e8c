"""Check a samples file of lm-eval with its results, or the results alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.row_lookup import every_row
from evalstream.engine.row_pass import RowsRead
from evalstream.formats.base import load_catalogue
from evalstream.formats.lm_eval.format import (
    NAME,
    SAMPLES,
    detect_kind,
    has_samples_without_results,
    results_time,
    samples_beside,
    samples_name,
    task_in_name,
)
from evalstream.formats.lm_eval.group_figures import judge_groups
from evalstream.formats.lm_eval.log_tally import LogTotals
from evalstream.formats.lm_eval.response_filters import may_take_long
from evalstream.formats.lm_eval.results_reading import NOUN, read_results
from evalstream.formats.lm_eval.row_engine import LogCollector, LogContext
from evalstream.formats.lm_eval.rules import results as about_results
from evalstream.formats.lm_eval.rules import samples as about_samples
from evalstream.formats.lm_eval.rules.contradictions import LIKELIHOODS, find_contradictions
from evalstream.formats.lm_eval.rules.samples import find_missing_examples, find_row_contradictions
from evalstream.formats.lm_eval.scoring_plan import ScoringPlan, iterate_patterns, plan_scoring
from evalstream.formats.lm_eval.task_claims import judge_task
from evalstream.formats.lm_eval.unsampled_figures import judge_unsampled
from evalstream.formats.lm_eval.views import Results, TaskFacts, with_results
from evalstream.io.beginning import read_beginning
from evalstream.io.names import Exclusion, is_remote, printable
from evalstream.io.progress import Progress
from evalstream.model.claim import Reason
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Show
from evalstream.model.options import Options, RowRouting
from evalstream.model.run import STDIN, Run
from evalstream.model.run_summary import Checked, RunSummary
from evalstream.model.text import count_noun
from evalstream.parsing.json import member, short_text, text_or_none
from evalstream.stats.claims.judgement import Judgement

if TYPE_CHECKING:
    from evalstream.stats.run_links import RunLinks

LEAST_ANSWERS: Final = 10
"""From this number of texts on, two models do not give the same ones by chance."""

COMPARED_ANSWERS: Final = 200
"""About so many log-likelihoods of a file are compared with those of other models."""

NO_SEAL: Final = "samples of lm-eval cannot be sealed: their results have no field for a seal"

NO_SAMPLES: Final = "there are no samples to recompute the figures from"
NO_RESULTS: Final = "there are no results to compare the rows with"


def check(run: Run, options: Options, show: Show, progress: Progress) -> RunSummary:
    """Check one run and pass its findings to `show`, in order.

    Raises UsageError if the samples are to be sealed, or if rows are to be routed without samples,
    and CannotWrite if rows cannot be written to their target.
    """
    if options.routing.seal_to is not None:
        raise UsageError(NO_SEAL)
    if run.rows is None and options.routing != RowRouting():
        raise UsageError("rows can be routed only from samples, and no samples were given")
    documents = DocumentCheck(run, options, show, load_catalogue(NAME))
    results = _results(documents)
    if run.rows is None:
        return _results_alone(documents, results)
    return _SamplesCheck(documents, results, progress).run(run.rows, show)


def _results(documents: DocumentCheck) -> Results | None:
    """Read the results, if there are any, and note violations of their structure.

    The harness writes figures that are not finite as NaN and Infinity, which is a warning here.
    """
    path = _results_path(documents.run)
    text = None if path is None else documents.uncompressed(path)
    if text is None or path is None:
        return None
    name, last = printable(path), read_results(text, documents.options)
    reading = documents.accept(last.reading, name, NOUN)
    if reading is None or reading.value is None:
        return None
    documents.note_all(last.violations(), name)
    return Results(reading.value)


def _results_path(run: Run) -> str | None:
    """Return the path of the results: they are an input of their own beside runs of samples."""
    return run.aggregate if run.inputs is None else run.inputs


def _results_alone(documents: DocumentCheck, results: Results | None) -> RunSummary:
    """Check the results without samples: their groups, and which samples are beside them.

    The figures of tasks whose samples are beside them are checked with these samples.
    """
    path = _results_path(documents.run)
    if results is None or path is None:
        return documents.close()
    name, groups = printable(path), dict(results.groups)
    # Beside runs of samples, results without a time are those of an early release.
    early = [] if documents.run.inputs is None else [*results.tasks]
    has_folder = path != STDIN and not is_remote(path) and bool(results_time(path) or early)
    found = samples_beside(path, early) if has_folder else {}
    beside = {one: found[one] for one in found if detect_kind(read_beginning(one)) == SAMPLES}
    tasks = frozenset(beside.values()) if has_folder else None
    # Beside runs of samples the results are an input: these runs compare the figures.
    exclusion = Exclusion(documents.options.exclude)
    kept = {one: task for one, task in beside.items() if not exclusion.covers_below(one)}
    compared = {} if documents.run.inputs is None else kept
    logged = frozenset(compared.values())
    reasons = _reasons_beside(results, compared, documents.options) if groups else {}
    of_groups = list(judge_groups(results, reasons))
    are_alone = not tasks and not has_samples_without_results(os.path.dirname(path))
    unsampled = [task for task in results.tasks if task not in logged and task not in groups]
    of_tasks = [
        judge_unsampled(
            results,
            figure,
            Reason.NO_ROWS if are_alone or (tasks and task not in tasks) else Reason.UNJOINED,
        )
        for task in unsampled
        for figure in results.figures(task)
    ]
    documents.note_all(about_results.check_unsampled(of_groups, of_tasks), name)
    documents.note_all(about_samples.check_unsampled_counts(results, unsampled), name)
    documents.note_all(find_contradictions(results, path), name)
    missing = about_results.check_missing_samples(results, tasks, are_alone=are_alone)
    documents.note_all(missing, name)
    claims = [judgement.claim for judgement in (*of_groups, *of_tasks)]
    has_scores = any(claim.is_score for claim in claims) or not logged
    summary = documents.close(
        version=_version(results), claims=claims if has_scores else None, claims_file=name
    )
    summary.claims = claims
    summary.checked = tuple(_describe_results(results, tasks, is_compared=bool(logged)))
    if summary.verdict == "unconfirmed" and not tasks:
        summary.remark = NO_SAMPLES
    return summary


def _reasons_beside(
    results: Results, beside: Mapping[str, str], options: Options
) -> dict[str, Reason | None]:
    """Return the tasks with samples beside the results, and what leaves their figures open.

    Only the number of rows tells whether `--samples` chose them.
    """
    reasons: dict[str, Reason | None] = {}
    for samples, task in beside.items():
        number, reason = results.count_unsaid(task), None
        if number is not None:
            reason = Reason.UNREAD
            with suppress(OSError, CannotCheck):
                rows = sum(1 for _ in every_row(samples, options))
                is_less = rows < number * max(1, len(set(results.filters(task))))
                reason = Reason.MISSING if is_less else None
        reasons[task] = reason
    return reasons


class _SamplesCheck:
    def __init__(
        self, documents: DocumentCheck, results: Results | None, progress: Progress
    ) -> None:
        self._documents, self._results, self._progress = documents, results, progress

    def run(self, path: str, show: Show) -> RunSummary:
        documents, results = self._documents, self._results
        plan = ScoringPlan() if results is None else plan_scoring(results, self._task())
        context = LogContext(
            documents.options,
            documents.context.selection,
            plan=plan,
            answer_step=self._choose_answers() if documents.options.links else 0,
        )
        collector = LogCollector(context, documents.name, show)
        rows = documents.check_rows(path, collector, self._progress, any_rows=True)
        return self._judge_rows(rows, collector)

    def _choose_answers(self) -> int:
        """Return of how many docs one has its answers compared with those of other models.

        No two models give the same log-likelihoods. Texts may be the same by chance.
        """
        task = self._task()
        if self._results is None or task is None:
            return 0
        kind = text_or_none(self._results.config(task).get("output_type"))
        number: Any = self._results.samples(task).get("effective")
        is_known = kind in LIKELIHOODS and number.__class__ is int and number > 0
        return max(1, number // COMPARED_ANSWERS) if is_known else 0

    def _judge_rows(self, rows: RowsRead, collector: LogCollector) -> RunSummary:
        documents, tally, totals = self._documents, collector.tally, collector.totals
        is_whole = rows.incomplete_reason is None and not tally.unread
        facts = TaskFacts(totals, self._task(totals), self._results, is_whole)
        judgements = list(judge_task(facts))
        self._note_facts(facts, judgements)
        if collector.samples is not None:
            from evalstream.formats.lm_eval.compared import describe_run

            describe_run(collector.samples, facts)
        if totals.is_scattered:
            documents.cannot("the doc_ids are too scattered to be compared with each other")
        if totals.is_crowded:
            documents.cannot("there are too many metrics to add up")
        if not tally.rows and rows.incomplete_reason is None:
            documents.cannot("the samples file has no rows")
        about = documents.run.aggregate
        summary = documents.close(
            rows=tally.rows,
            version=_version(self._results),
            claims=[judgement.claim for judgement in judgements],
            claims_file=None if about is None else printable(about),
        )
        summary.checked = tuple(_describe_rows(facts, tally.rows))
        for found in find_missing_examples(facts):
            summary.leave_unconfirmed(f"{found.message}, by chance or by a change")
        for reason in (*_find_unconfigured(facts), *_find_underived(facts)):
            summary.leave_unconfirmed(reason)
        if self._results is None and about is None and summary.verdict == "unconfirmed":
            summary.remark = NO_RESULTS
        if documents.options.links:
            summary.links = _links(facts, rows.digests)
        if totals.replaced:
            summary.leave_open(
                f"{count_noun(totals.replaced, 'doc_hash')} cannot be verified: "
                "docs show digests in the place of images"
            )
        return summary

    def _task(self, totals: LogTotals | None = None) -> str | None:
        """Return the task of the rows by the name of the file, or by the hash of `totals`."""
        path, results = self._documents.run.rows, self._results
        own = "" if path in (None, STDIN) else path or ""
        named = samples_name(own)
        if named is not None or results is None:
            return None if named is None else named.task
        known = list(results.logged_tasks) or list(results.tasks)
        among = known
        if totals is not None:
            actual = totals.task_hash()
            by_hash = [task for task in results.logged_tasks if results.task_hash(task) == actual]
            if len(by_hash) == 1:
                return by_hash[0]
            among = list(results.tasks)
        of_name = task_in_name(own, among) if own else None
        return known[0] if of_name is None and len(known) == 1 else of_name

    def _note_facts(self, facts: TaskFacts, judgements: list[Judgement]) -> None:
        documents, about = self._documents, self._documents.run.aggregate
        name = None if about is None else printable(about)
        for rule in (*about_samples.ABOUT_ROWS, *about_samples.ABOUT_RESULTS):
            for violation in rule.apply(facts):
                is_in_results = violation.pointer is not None or rule is about_samples.LME208
                documents.note(violation, name if is_in_results else None)
        documents.note_all(about_results.check_task_claims(judgements), name)
        documents.note_all(about_results.check_unclaimed(facts), name)
        documents.note_all(find_row_contradictions(facts), name)
        if facts.results is not None and about is not None and documents.run.inputs is None:
            documents.note_all(find_contradictions(facts.results, about, facts.task), name)


def _links(facts: TaskFacts, digests: Mapping[str, Mapping[str, str]]) -> RunLinks | None:
    """Return what links a log to others: its samples by the time of the call, and its answers.

    Rows name no model, so that two files of the same bytes have the same answers. Few short answers
    may be those of another model by chance; log-likelihoods are not, so that half of them tell.
    """
    if facts.task_results is None or facts.results is None or not facts.totals.rows:
        return None
    from evalstream.stats.log_links import LogLinks

    task, results = facts.task_results
    links = LogLinks(results.document.get("date"), task, results.model or "", _data(results, task))
    filters = sorted(facts.totals.filters.values(), key=lambda one: -one.ids.count)
    ids = filters[0].ids if filters else ()
    for doc_ids, digested in facts.totals.docs.select(ids):
        links.add_docs(doc_ids, digested)
    kind = text_or_none(results.config(task).get("output_type"))
    least = 2 if kind in LIKELIHOODS else LEAST_ANSWERS
    covered = digests.get("unpacked") or digests.get("stored")
    if facts.totals.samples >= least and covered and results.model:
        links.add_answers([(covered,), *facts.totals.answers.items()])
    return links.links


def _data(results: Results, task: str) -> list[Any]:
    """Return what names the docs of a task."""
    config = results.config(task)
    version = member(results.document.get("versions"), task)
    return [version, *(config.get(one) for one in ("dataset_path", "dataset_name", "test_split"))]


def _version(results: Results | None) -> str | None:
    """Return the release of the harness that wrote the results, None if they do not say it."""
    return None if results is None else text_or_none(results.document.get("lm_eval_version"))


def _describe_results(
    results: Results, beside: frozenset[str] | None, *, is_compared: bool
) -> Iterator[Checked]:
    """Yield how many tasks have samples, and whether runs of these judge their figures."""
    logged = frozenset(results.logged_tasks)
    if logged and beside is not None:
        tasks = logged.union(results.tasks) - {name for name, _ in results.groups}
        text = f"samples of {len(logged & beside):,} of {count_noun(len(tasks), 'task')} found"
        text += ", whose runs judge their figures" if is_compared else ""
        is_ok = None if logged < tasks else True
        yield Checked(text, is_ok if logged <= beside else False)


@with_results
def _find_unconfigured(_facts: TaskFacts, task: str, results: Results) -> Iterator[str]:
    """Yield what releases write of a task, and is missing or cannot be followed."""
    name, config = printable(task), results.config(task)
    if "n-shot" in results.document and not config:
        yield f"the results have no configuration of {name} to derive scores by"
    is_counted = results.samples(task).get("effective").__class__ is int
    if isinstance(results.document.get("lm_eval_version"), str) and not is_counted:
        yield f"the results do not tell how many samples of {name} there were"
    for pattern in iterate_patterns(config):
        if may_take_long(pattern):
            yield f"a pattern of {name} may take too long to be followed: {short_text(pattern)}"


def _find_underived(facts: TaskFacts) -> Iterator[str]:
    """Yield metrics that only some rows of a filter give: it scores all rows in one way.

    Scores by a function of the task may be those that the harness gives in some rows by chance.
    """
    known = facts.task_results
    is_own = known is not None and known[1].has_own_results(known[0])
    for name, rows in facts.totals.filters.items():
        for metric, values in rows.metrics.items():
            if (values.rows // 2 if is_own else 0) < values.derived < values.rows:
                of = printable(f"{metric} of filter {name}" if name else metric)
                number = count_noun(values.rows - values.derived, "row")
                yield f"{of} cannot be derived from {number}, and can be from all others"


def _describe_rows(facts: TaskFacts, rows: int) -> Iterator[Checked]:
    """Yield the verified facts: the task's hash, the digests of the rows, the number of samples."""
    totals = facts.totals
    if not rows:
        return
    if facts.task_results is not None:
        task, results = facts.task_results
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
    if totals.unfollowed:
        of_all = f"{totals.unfollowed:,} of {count_noun(rows, 'row')}"
        yield Checked(f"filtered answers not verified in {of_all}", None)
    hashed = f"doc, prompt and target hashes ok in {totals.hashed:,} of {count_noun(rows, 'row')}"
    yield Checked(hashed, True if totals.hashed == rows else None)
    scores = [values for one in totals.filters.values() for values in one.metrics.values()]
    derived, number = sum(one.derived for one in scores), sum(one.rows for one in scores)
    if derived < number:
        text = f"{derived:,} of {count_noun(number, 'score')} derived from the answers"
        yield Checked(text, None)
