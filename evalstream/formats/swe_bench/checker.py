"""Check a run of SWE-bench: read its documents, then hold them against each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Final

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.swe_bench.claims import (
    judge_metadata,
    judge_outcomes,
    judge_report,
    judge_results,
)
from evalstream.formats.swe_bench.files import is_plain_file
from evalstream.formats.swe_bench.format import FORMAT
from evalstream.formats.swe_bench.reader import RunReader
from evalstream.formats.swe_bench.rules import instances as about_instances
from evalstream.formats.swe_bench.rules import lists as about_lists
from evalstream.formats.swe_bench.rules.figures import check_list_figures
from evalstream.formats.swe_bench.views import PlacedInFile
from evalstream.io.document import document_bytes
from evalstream.io.names import is_local, printable
from evalstream.io.progress import Progress
from evalstream.model.claim import JudgedClaim
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding, Severity
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import Checked, RunSummary
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun
from evalstream.stats.claims.judgement import Judgement

PATCH: Final = "patch.diff"


def check(
    run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
) -> RunSummary:
    """Check one run or submission and pass its findings to `show`, in order."""
    documents = DocumentCheck(run, options, show, FORMAT.catalogue)
    progress.begin(documents.name, 0)
    reader = RunReader(documents)
    for path in filter(None, (run.aggregate, run.rows, *run.beside)):
        STOPPING.check()
        before = documents.size
        reader.read(path)
        progress.advance(documents.size - before, len(reader.found.outcomes))
    progress.end()
    return _Judge(documents, reader).summary()


class _Judge:
    """Holds the documents of a run against each other."""

    def __init__(self, documents: DocumentCheck, reader: RunReader) -> None:
        self._documents, self._reader, self._found = documents, reader, reader.found
        self._note = reader.note
        self._compared = self._equal = self._unreported = 0

    def summary(self) -> RunSummary:
        """Note what contradicts, judge the claims, and return the verdict."""
        found = self._found
        if found.report is not None:
            self._note(about_lists.check_report_lists(found.report))
        if found.results is not None:
            self._note(about_lists.check_result_lists(found.results))
            for path, groups in found.groups:
                self._note(about_lists.check_groups(path, groups, found.results))
        self._note(about_instances.check_outcomes(found))
        self._note(about_instances.check_predictions(found))
        self._note(self._patches())
        claims: list[JudgedClaim] = []
        for path, judgements in self._iterate_judged():
            self._note(check_list_figures(path, judgements))
            claims += (one.claim for one in judgements)
        request, samples = self._documents.options.samples, self._documents.collector.samples
        if request is not None and samples is not None:
            # Few checks are for a comparison.
            from evalstream.formats.swe_bench.compared import collect_samples

            collect_samples(samples, request, self._found)
        aggregate = self._documents.run.aggregate
        summary = self._documents.close(
            rows=self._reader.count,
            version=self._version(),
            claims=claims,
            claims_file=None if aggregate is None else printable(aggregate),
        )
        summary.checked = tuple(self._iterate_checked())
        return summary

    def _iterate_judged(self) -> Iterator[tuple[str, list[Judgement]]]:
        """Iterate over the documents that make claims, with their judged claims."""
        found = self._found
        if found.report is not None:
            yield found.report.path, list(judge_report(found.report, found))
        if found.results is not None and (found.outcomes or found.details is None):
            yield found.results.path, list(judge_results(found.results, found))
        if found.metadata is not None:
            path, metadata = found.metadata
            info = metadata.get("info")
            details = {} if found.details is None else found.details[1]
            if isinstance(info, dict):
                yield path, list(judge_metadata(info, details))
        if found.report is None and found.results is None and found.outcomes:
            path = next(iter(found.outcomes.values())).path
            yield path, list(judge_outcomes(found))

    def _patches(self) -> Iterator[PlacedInFile]:
        """Yield the predictions that differ from the patches in the logs."""
        for one, path in self._find_patches():
            STOPPING.check()
            prediction = (self._found.predictions or {}).get(one)
            patch = None if prediction is None else self._read_patch(path)
            if prediction is None or patch is None:
                continue
            self._compared += 1
            self._unreported += one not in self._found.outcomes
            if (prediction.patch or "").encode(errors="surrogatepass") == patch:
                self._equal += 1
                continue
            message = f"the {PATCH} of {one} has {len(patch):,} bytes and is another patch"
            # An instance without a report may have stopped before its patch was written.
            severity = None if one in self._found.outcomes else Severity.WARNING
            shown = {"found": prediction.patch, "severity": severity}
            yield prediction.about(about_instances.SWE306, message, "model_patch", **shown)

    def _find_patches(self) -> Iterator[tuple[str, str]]:
        """Iterate over the instances whose patch may be in the logs, and its path.

        One without a report has its folder beside those of others, unless its prediction is empty:
        the patch there may then be of another call.
        """
        found, folders = self._found, dict[str, None]()
        for one, outcome in found.outcomes.items():
            if is_local(outcome.path):
                folder = os.path.dirname(outcome.path)
                folders[os.path.dirname(folder)] = None
                yield one, os.path.join(folder, PATCH)
        evaluated = None if found.report is None else found.report.places("error")
        for one, prediction in (found.predictions or {}).items():
            is_name = os.path.basename(one) == one and one not in ("", os.curdir, os.pardir)
            is_open = is_name and one not in found.outcomes and not prediction.is_empty
            if len(folders) == 1 and is_open and (evaluated is None or one in evaluated):
                yield one, os.path.join(*folders, one, PATCH)

    def _read_patch(self, path: str) -> bytes | None:
        """Return the patch that was evaluated, None where it is not in the logs."""
        if os.path.islink(os.path.dirname(path)) or not is_plain_file(path):
            return None
        try:
            return document_bytes(path, self._documents.watch)
        except (OSError, CannotCheck) as error:
            self._documents.cannot(f"{printable(path)} cannot be read: {error}")
            return None

    def _iterate_checked(self) -> Iterator[Checked]:
        """Yield the checks that were made beside those of the claims."""
        outcomes = self._found.outcomes.values()
        if outcomes:
            number = sum(
                one.derived is not None and one.derived == one.declared for one in outcomes
            )
            text = f"{number:,} of {count_noun(len(outcomes), 'outcome')} as their tests say"
            yield Checked(text, number == len(outcomes))
        if self._found.predictions is not None and outcomes:
            number = len(outcomes) + self._unreported
            text = f"{self._equal:,} of {count_noun(number, 'patch', 'patches')} as predicted"
            is_ok = None if self._compared < number else True
            yield Checked(text, False if self._equal < self._compared else is_ok)

    def _version(self) -> str | None:
        report = self._found.report
        found = None if report is None else report.value.get("schema_version")
        return str(found) if isinstance(found, int) else None
