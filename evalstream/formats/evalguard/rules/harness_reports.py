"""Say what was checked of the raw output of lm-evaluation-harness."""

from __future__ import annotations

from evalstream.formats.evalguard import documents, report
from evalstream.formats.evalguard.views import Subject
from evalstream.model.text import count_noun


def describe_report(subject: Subject) -> str:
    """Return what was checked of a raw report: most of its tasks have no documents in a folder."""
    document, folder = subject
    values = list(report.iterate_values(document))
    said = (
        f"the report is raw output of lm-evaluation-harness with {count_noun(len(values), 'value')}"
    )
    if not folder.followed:
        return f"{said}, which were not compared with thresholds"
    unknown = sum(not is_known_metric(subject, value) for value in values)
    if not unknown:
        return f"{said}, each compared with the thresholds of its task"
    return f"{said}, {unknown:,} of them for tasks or metrics without a document in the folder"


def is_known_metric(subject: Subject, value: report.Reported) -> bool:
    """Return whether task and metric of a value have documents, or may have unread ones."""
    folder = subject.folder
    has_task = value.task is not None and folder.knows(documents.TASK, value.task)
    return has_task and folder.knows(documents.METRIC, value.metric)
