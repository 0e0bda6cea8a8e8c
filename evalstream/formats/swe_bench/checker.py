"""Check a run of SWE-bench: read its documents, then hold them against each other."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.base import load_catalogue
from evalstream.formats.swe_bench.claims import (
    judge_metadata,
    judge_outcomes,
    judge_report,
    judge_results,
)
from evalstream.formats.swe_bench.format import (
    NAME,
    REPORT_OF_INSTANCE,
    is_plain_file,
    list_folders,
)
from evalstream.formats.swe_bench.reader import LOG, OUTPUT, RunReader, find_failed, find_logged
from evalstream.formats.swe_bench.rules import documents as about_documents
from evalstream.formats.swe_bench.rules import instances as about_instances
from evalstream.formats.swe_bench.rules.documents import check_list_figures
from evalstream.formats.swe_bench.views import TESTS, PlacedInFile, Prediction, list_successes
from evalstream.io.containment import files_inside
from evalstream.io.inputs import document_bytes
from evalstream.io.names import is_local, printable
from evalstream.io.progress import Progress
from evalstream.model.claim import JudgedClaim
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Severity, Show
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import Checked, RunSummary
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun, join_words
from evalstream.parsing.json_values import object_or_empty
from evalstream.stats.claims.judgement import Judgement

if TYPE_CHECKING:
    from evalstream.stats.run_links import RunLinks

PATCH: Final = "patch.diff"
LEAST_PATCHES: Final = 10
_NAMED: Final = 3
"""How many instances without a patch in the logs are named."""


def check(run: Run, options: Options, show: Show, progress: Progress) -> RunSummary:
    """Check one run or submission and pass its findings to `show`, in order."""
    documents = DocumentCheck(run, options, show, load_catalogue(NAME))
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
        self._compared = self._equal = self._unreported = self._skipped = 0

    def summary(self) -> RunSummary:
        """Note what contradicts, judge the claims, and return the verdict."""
        found = self._found
        if found.report is not None:
            self._note(about_documents.check_report_lists(found.report))
        if found.results is not None:
            self._note(about_documents.check_result_lists(found.results))
        self._note(self._groups())
        self._note(about_instances.check_outcomes(found))
        if found.report is not None:
            self._note(about_instances.check_folders(found.report, self._list_unreported()))
        self._note(self._outputs())
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
        if self._documents.options.links:
            summary.links = self._links()
        return summary

    def _links(self) -> RunLinks | None:
        """Return what links the patches to those of other models; few may be the same by chance."""
        given = [one for one in (self._found.predictions or {}).values() if not one.is_empty]
        if len(given) < LEAST_PATCHES or given[0].model is None:
            return None
        from evalstream.stats.log_links import LogLinks

        links = LogLinks(None, NAME, given[0].model)
        links.add_answers((one.id, one.patch) for one in given)
        return links.links

    def _groups(self) -> Iterator[PlacedInFile]:
        """Yield the groups that differ from the results or, without results, from the details."""
        found = self._found
        details = None if found.details is None else found.details[1]
        resolved: Collection[str]
        if found.results is not None:
            resolved = found.results.places("resolved")
        elif details is not None:
            entries = details.items()
            resolved = [one for one, detail in entries if object_or_empty(detail).get("resolved")]
        else:
            return
        number = None if details is None else len(details)
        for path, groups in found.groups:
            yield from about_documents.check_groups(path, groups, resolved, number)

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

    def _outputs(self) -> Iterator[PlacedInFile]:
        """Yield what the output of the tests and the log beside a report say otherwise."""
        for outcome in self._found.outcomes.values():
            STOPPING.check()
            folder, names = os.path.dirname(outcome.path), list_successes(outcome)
            there = files_inside(folder, (OUTPUT, LOG)) if is_local(folder) else ()
            try:
                if names and OUTPUT in there:
                    failed = find_failed(os.path.join(folder, OUTPUT), names)
                    yield from about_instances.report_failed(outcome, failed)
                if outcome.place and outcome.id is not None and LOG in there:
                    logged = find_logged(os.path.join(folder, LOG), outcome.id)
                    if logged is not None:
                        yield from about_instances.check_logged(outcome, logged)
            except OSError as error:
                self._documents.cannot(f"{printable(str(error.filename))} cannot be read: {error}")

    def _patches(self) -> Iterator[PlacedInFile]:
        """Yield the predictions that differ from the patches in the logs."""
        missing: list[Prediction] = []
        for one, path in self._find_patches():
            STOPPING.check()
            prediction = (self._found.predictions or {}).get(one)
            patch = None if prediction is None else self._read_patch(path)
            if prediction is None or patch is None:
                is_lost = one in self._found.outcomes and not os.path.lexists(path)
                missing += [prediction] if prediction is not None and is_lost else []
                continue
            self._compared += 1
            self._unreported += one not in self._found.outcomes
            if (prediction.patch or "").encode(errors="surrogatepass") == patch:
                self._equal += 1
                continue
            size = count_noun(len(patch), "byte")
            message = f"the {PATCH} of {one} has {size} and is another patch"
            # An instance without a report may have stopped before its patch was written.
            severity = None if one in self._found.outcomes else Severity.WARNING
            shown = {"found": prediction.patch, "severity": severity}
            yield prediction.about(about_instances.SWE306, message, "model_patch", **shown)
        if missing:
            names = join_words([one.id for one in missing[:_NAMED]])
            message = f"the logs have the report and no {PATCH} of {names}"
            rule, number = about_instances.SWE306, len(missing)
            yield missing[0].about(
                rule, message, "model_patch", severity=Severity.WARNING, count=number
            )

    def _find_patches(self) -> Iterator[tuple[str, str]]:
        """Iterate over the instances whose patch may be in the logs, and its path.

        One without a report has its folder beside those of others. The patch there is of another
        call if the prediction is empty and, of one with a report, listed as an empty patch.
        """
        found, folders = self._found, dict[str, None]()
        skipped = {} if found.report is None else found.report.places("empty_patch")
        for one, outcome in found.outcomes.items():
            prediction = (found.predictions or {}).get(one)
            if one in skipped and prediction is not None and prediction.is_empty:
                self._skipped += 1
            elif is_local(outcome.path):
                folder = os.path.dirname(outcome.path)
                folders[os.path.dirname(folder)] = None
                yield one, os.path.join(folder, PATCH)
        evaluated = None if found.report is None else found.report.places("error")
        for one, prediction in (found.predictions or {}).items():
            is_name = os.path.basename(one) == one and one not in ("", os.curdir, os.pardir)
            is_open = is_name and one not in found.outcomes and not prediction.is_empty
            if len(folders) == 1 and is_open and (evaluated is None or one in evaluated):
                yield one, os.path.join(*folders, one, PATCH)

    def _list_unreported(self) -> list[str]:
        """Return the instances that have a folder in the logs of the run, and no report there."""
        placed = filter(is_local, (one.path for one in self._found.outcomes.values()))
        logs = {os.path.dirname(os.path.dirname(p)) for p in placed if REPORT_OF_INSTANCE.search(p)}
        names = (os.path.basename(path) for folder in sorted(logs) for path in list_folders(folder))
        return [name for name in names if name not in self._found.outcomes]

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
        tested = [one for one in outcomes if TESTS in one.value]
        if tested:
            number = sum(one.derived is not None and one.derived == one.declared for one in tested)
            text = f"{number:,} of {count_noun(len(tested), 'outcome')} as their tests say"
            yield Checked(text, number == len(tested))
        if untested := [one.declared is False for one in outcomes if TESTS not in one.value]:
            text = f"{count_noun(len(untested), 'outcome')} without tests"
            yield Checked(text, None if all(untested) else False)
        if number := self._found.empty:
            yield Checked(f"{count_noun(number, 'error')} with an empty report", None)
        if self._found.predictions is not None and outcomes:
            number = len(outcomes) + self._unreported - self._skipped
            text = f"{self._equal:,} of {count_noun(number, 'patch', 'patches')} as predicted"
            is_ok = None if self._compared < number else True
            yield Checked(text, False if self._equal < self._compared else is_ok)

    def _version(self) -> str | None:
        report = self._found.report
        found = None if report is None else report.value.get("schema_version")
        return str(found) if isinstance(found, int) else None
