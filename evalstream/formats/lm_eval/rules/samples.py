"""Rules over the rows of a samples file: which samples they are, and what the results say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, TypeGuard

from evalstream.formats.lm_eval.log_tally import FilterTotals
from evalstream.formats.lm_eval.task_facts import NO_FILTER, TaskFacts
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import counted
from evalstream.parsing.json import pointer
from evalstream.rules.base import Rule


def _rerun(facts: TaskFacts) -> Iterator[Violation]:
    rerun = None if facts.is_several_filters else facts.totals.rerun()
    if rerun is not None:
        yield LME104.violation(
            f"the rows begin again on line {rerun.line:,}: {counted(rerun.rows, 'row')} follow, "
            f"{rerun.repeats:,} of them repeat earlier ones",
            count=rerun.repeats,
        )


def _repeated(facts: TaskFacts) -> Iterator[Violation]:
    first = facts.totals.first_repeat()
    if first is None or facts.is_several_filters or facts.totals.rerun() is not None:
        return
    name, doc_id, line = first
    of = f" and filter {name!r}" if name else ""
    yield LME205.violation(
        f"{counted(facts.totals.repeats, 'row')} of a sample that an earlier row has, the first "
        f"on line {line:,} (doc_id {doc_id}{of})",
        count=facts.totals.repeats,
    )


def _uneven(facts: TaskFacts) -> Iterator[Violation]:
    """Report filters that lack docs which another filter has, and those without any row."""
    yield from _absent(facts)
    filters = facts.totals.filters
    if len(filters) < 2 or facts.totals.is_scattered or not facts.is_whole:
        return
    fullest_name, fullest = max(filters.items(), key=lambda one: one[1].ids.count)
    for name, rows in filters.items():
        missing = fullest.ids.missing_in(rows.ids)
        if missing is not None:
            yield _uneven_violation(name, rows, fullest_name, fullest, missing)


def _absent(facts: TaskFacts) -> Iterator[Violation]:
    if facts.known is None or not facts.totals.rows or NO_FILTER in facts.totals.filters:
        return
    task, results = facts.known
    names = results.filters(task)
    for name in dict.fromkeys(names):
        if name not in facts.totals.filters:
            path = "configs", task, "filter_list", names.index(name), "name"
            yield LME206.violation(f"no row has filter {name!r}", pointer=pointer(path), found=name)


def _uneven_violation(
    name: str, rows: FilterTotals, other: str, fullest: FilterTotals, missing: int
) -> Violation:
    return LME206.violation(
        f"filter {name!r} has {counted(rows.ids.count, 'sample')} and filter {other!r} has "
        f"{fullest.ids.count:,}; the first that is missing has doc_id {missing}"
    )


def _task_hash(facts: TaskFacts) -> Iterator[Violation]:
    actual = facts.totals.task_hash()
    if facts.known is None:
        return
    task, results = facts.known
    declared = results.task_hash(task)
    if declared == actual or not facts.totals.rows:
        return
    if declared is None:
        yield _undeclared(task)
        return
    if actual is None:
        if facts.totals.bare:
            yield _undigested(task, declared, facts.totals.bare)
        return
    if facts.totals.rerun() is not None and not facts.is_several_filters:
        return  # the hash is of one run alone
    yield LME204.violation(
        f"task_hashes has another hash for {task} than that of the digests of its rows",
        pointer=pointer(("task_hashes", task)),
        expected=actual,
        found=declared,
    )


def _undeclared(task: str) -> Violation:
    return LME204.violation(
        f"task_hashes has no hash for {task}, and its rows have digests",
        pointer="/task_hashes",
        severity=Severity.WARNING,
    )


def _undigested(task: str, declared: object, rows: int) -> Violation:
    return LME204.violation(
        f"task_hashes has a hash for {task}, and digests are missing in {counted(rows, 'row')}",
        pointer=pointer(("task_hashes", task)),
        found=declared,
        count=rows,
    )


def _sample_count(facts: TaskFacts) -> Iterator[Violation]:
    totals = facts.totals
    if facts.known is None or totals.is_scattered or totals.repeats or totals.unkeyed:
        return
    task, results = facts.known
    declared, counts = results.samples(task), facts.totals.metric_counts
    effective, original = declared.get("effective"), declared.get("original")
    if _is_count(effective) and effective not in facts.sample_counts:
        yield _miscounted(("n-samples", task, "effective"), effective, facts.totals.samples)
    length = results.entry(task).get("sample_len")
    if _is_count(length) and length not in (counts or {0, totals.samples}):
        fullest = max(counts, default=facts.totals.samples)
        yield _unscored(("results", task, "sample_len"), length, fullest)
    if not (_is_count(effective) and _is_count(original)):
        return
    if original < effective:
        yield LME207.violation(
            f"original is {original:,}, fewer than the {effective:,} that were evaluated",
            pointer=pointer(("n-samples", task, "original")),
            expected={"minimum": effective},
            found=original,
        )
    elif effective in facts.sample_counts:
        if totals.samples < original and results.call.get("limit", 0) is None:
            yield _unlimited(task, totals.samples, original)
        is_all = facts.totals.samples == original
        yield from _beyond(facts, task, original, is_all=is_all)


def _unlimited(task: str, samples: int, original: int) -> Violation:
    return LME207.violation(
        f"the rows have {samples:,} of {counted(original, 'sample')}: the call had no limit, and "
        "results do not record what --samples chose",
        pointer=pointer(("n-samples", task, "original")),
        found=original,
        severity=Severity.INFO,
    )


def _beyond(facts: TaskFacts, task: str, original: int, *, is_all: bool) -> Iterator[Violation]:
    """Report doc_ids beyond the dataset, and gaps where all of the dataset was evaluated."""
    for name, rows in facts.totals.filters.items():
        if rows.ids.count < facts.totals.samples:
            continue  # it lacks samples that another filter has
        of = f" of filter {name!r}" if name else ""
        if rows.ids.highest >= original:
            yield LME207.violation(
                f"doc_id {rows.ids.highest}{of} is beyond the {counted(original, 'sample')} "
                "of the dataset",
                pointer=pointer(("n-samples", task, "original")),
                found=original,
            )
        elif is_all and (gap := rows.ids.first_gap()) < original:
            yield LME207.violation(
                f"all samples were evaluated, and the rows{of} lack doc_id {gap}",
                pointer=pointer(("n-samples", task, "effective")),
                found=original,
            )


def _is_count(value: Any) -> TypeGuard[int]:
    return value.__class__ is int


def _miscounted(path: tuple[str, ...], declared: int, found: int) -> Violation:
    return LME207.violation(
        f"{path[-1]} is {declared:,}, and the rows have {counted(found, 'sample')}",
        pointer=pointer(path),
        expected=found,
        found=declared,
    )


def _unscored(path: tuple[str, ...], declared: int, found: int) -> Violation:
    return LME207.violation(
        f"sample_len is {declared:,}, and the fullest metric is in {counted(found, 'row')}",
        pointer=pointer(path),
        expected=found,
        found=declared,
    )


def _filters(facts: TaskFacts) -> Iterator[Violation]:
    """Report filters that the configuration has twice."""
    if facts.known is None:
        return
    task, results = facts.known
    names = results.filters(task)
    times = Counter(names)
    for place, name in enumerate(names):
        if times[name] > 1 and names.index(name) != place:
            yield LME105.violation(
                f"two filters of {task} are called {name!r}; rows show one of them",
                pointer=pointer(("configs", task, "filter_list", place, "name")),
                found=name,
            )


def _unknown_task(facts: TaskFacts) -> Iterator[Violation]:
    if facts.results is None or not facts.is_whole:
        return
    if facts.task is None:
        yield LME208.violation("the results do not say which task these samples are of")
    elif facts.task not in set(facts.results.tasks):
        yield LME208.violation(f"the results have no task {facts.task!r}")


LME104: Final = Rule(
    "LME104",
    "appended-rerun",
    Severity.ERROR,
    "the rows begin again part-way: a later run was appended to the file of an earlier one",
    """
    What it finds: a row with the filter and the doc_id of the first row, after which all samples
    come once more. The harness opens samples files for appending.

    Why it matters: the results are those of one run, and the file holds the rows of two.

    How to fix: Keep the rows of the run that the results are of: those before or from the line that
    the finding names.

    Bad:
        row 5:
          {"doc_id": 0}

    Good:
        row 4:
          {"doc_id": 3}
    """,
    record=_rerun,
)

LME105: Final = Rule(
    "LME105",
    "repeated-filter",
    Severity.WARNING,
    "two filters of a task have the same name",
    """
    What it finds: a name that `filter_list` of a task's configuration has twice.

    Why it matters: the harness keeps the responses of one filter for each name, so that the other
    one was not scored, or rows of both look alike.

    How to fix: Give each filter a name of its own and evaluate again.

    Bad:
        results:
          {"configs": {"word_sums": {"filter_list": [{"name": "none"}, {"name": "none"}]}}}

    Good:
        results:
          {"configs": {"word_sums": {"filter_list": [{"name": "none"}]}}}
    """,
    record=_filters,
)

LME204: Final = Rule(
    "LME204",
    "task-hash-mismatch",
    Severity.ERROR,
    "the hash of a task in task_hashes is not that of its rows",
    """
    What it finds: a declared hash that is not the SHA-256 of doc_hash, prompt_hash and target_hash of
    all rows in their order, and rows without these digests beside a declared hash. It is a warning
    where the rows have digests and the results have no hash, as from a call of the harness from
    Python that does not hand over the samples.

    Why it matters: rows were removed, added, moved or exchanged after the evaluation, or the results
    belong to another run. The hash does not cover responses and scores.

    How to fix: Restore both files from their source.

    Bad:
        results:
          {"task_hashes": {
            "word_sums": "0000000000000000000000000000000000000000000000000000000000000000"}}

    Good:
        results:
          {"task_hashes": {
            "word_sums": "84d6a19cf9eebd32931324c371897598bdbe297a274422d231574f02c6042207"}}
    """,
    record=_task_hash,
)

LME205: Final = Rule(
    "LME205",
    "repeated-doc",
    Severity.ERROR,
    "two rows of one filter have the same doc_id",
    """
    What it finds: rows whose filter and doc_id an earlier row has. Repeated answers to one question
    are in `resps` of one row, never in rows of their own.

    Why it matters: the sample counts twice in every figure.

    How to fix: Restore the file from its source.

    Bad:
        row 3:
          {"doc_id": 1}

    Good:
        row 3:
          {"doc_id": 2}
    """,
    record=_repeated,
)

LME206: Final = Rule(
    "LME206",
    "uneven-filters",
    Severity.ERROR,
    "a filter lacks samples that another filter has",
    """
    What it finds: filters over different samples, and filters of the configuration without rows. The
    harness writes a row for each sample under each filter.

    Why it matters: rows were removed, and the figures of the filters are over different samples.

    How to fix: Restore the file from its source.

    Bad:
        row 7:
          {"doc_id": 2, "filter": "strict"}

    Good:
        row 8:
          {"doc_id": 3, "filter": "strict"}
    """,
    record=_uneven,
)

LME207: Final = Rule(
    "LME207",
    "doc-count-mismatch",
    Severity.ERROR,
    "n-samples or sample_len is not the number of samples in the rows, or a doc_id is beyond them",
    """
    What it finds: `effective` of n-samples that is not the number of distinct doc_ids; sample_len that
    is not the number of rows with the fullest metric; a doc_id that is not below `original`; a gap
    in the doc_ids where all samples of the dataset were evaluated. It is an info where the rows
    have fewer samples than `original` and the call had no limit: `--samples` chooses samples, and
    the results do not record them.

    Why it matters: samples are missing or were added, so that the figures are of another set.

    How to fix: Restore both files from their source. Samples that `--samples` chose are right as
    they are: name the choice beside the figures, as the results do not.

    Bad:
        results:
          {"n-samples": {"word_sums": {"original": 5, "effective": 5}}}

    Good:
        results:
          {"n-samples": {"word_sums": {"original": 4, "effective": 4}}}
    """,
    record=_sample_count,
)

LME208: Final = Rule(
    "LME208",
    "unknown-task",
    Severity.ERROR,
    "the results have no task of the name that the samples file has",
    """
    What it finds: a samples file whose task the results beside it do not know.

    Why it matters: nothing of the rows can be compared with the results.

    How to fix: Name the results of the same call with --aggregate, or give the file the name that
    the harness gives it: samples_TASK_TIME.jsonl.

    Bad:
        results:
          {"results": {"other": {}}}

    Good:
        results:
          {"results": {"word_sums": {}}}
    """,
    record=_unknown_task,
)

ABOUT_ROWS: Final = (LME104, LME205, LME206)
"""Rules whose findings are about the samples file, unless they have a pointer into the results."""

ABOUT_RESULTS: Final = (LME105, LME204, LME207, LME208)
"""Rules whose findings are about the results."""

RULES: Final = (LME104, LME105, LME204, LME205, LME206, LME207, LME208)
