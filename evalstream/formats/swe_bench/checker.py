"""Check a run of SWE-bench: read its documents, then hold them against each other."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.swe_bench.claims import (
    judge_metadata,
    judge_outcomes,
    judge_report,
    judge_results,
)
from evalstream.formats.swe_bench.documents import (
    DETAILS,
    GROUPS,
    INSTANCE,
    METADATA,
    NAME,
    NOUNS,
    PREDICTIONS,
    REPORT,
    REPORT_FILE,
    RESULTS,
    SETTINGS,
    detect_kind,
    is_outcome,
)
from evalstream.formats.swe_bench.files import is_plain_file
from evalstream.formats.swe_bench.format import FORMAT
from evalstream.formats.swe_bench.rules import documents as about_documents
from evalstream.formats.swe_bench.rules import instances as about_instances
from evalstream.formats.swe_bench.rules import lists as about_lists
from evalstream.formats.swe_bench.rules.figures import check_list_figures
from evalstream.formats.swe_bench.views import (
    Lists,
    PlacedInFile,
    Prediction,
    Submitted,
    iterate_predictions,
    read_outcome,
)
from evalstream.io.beginning import Beginning
from evalstream.io.document import document_bytes
from evalstream.io.file_names import is_yaml_name
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.io.remote import is_remote
from evalstream.model.claim import JudgedClaim
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding, Severity, Violation
from evalstream.model.options import Options
from evalstream.model.report import Checked, RunSummary
from evalstream.model.run import STDIN, Run
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun
from evalstream.parsing.json import pointer, type_name
from evalstream.parsing.json_values import parse_or_none
from evalstream.parsing.peek import LINES, PEEK_BYTES
from evalstream.rules.inputs import ES005
from evalstream.rules.syntax import ES103, ES109, read_object
from evalstream.stats.claims.judge import Judgement

PATCH: Final = "patch.diff"
NOT_OURS: Final = f"not a document of SWE-bench ({NAME})"


def check(
    run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
) -> RunSummary:
    """Check one run or submission and pass its findings to `show`, in order."""
    documents = DocumentCheck(run, options, show, FORMAT.catalogue)
    progress.begin(documents.name, 0)
    reader = _Reader(documents)
    for path in filter(None, (run.aggregate, run.rows, *run.beside)):
        STOPPING.check()
        before = documents.size
        reader.read(path)
        progress.advance(documents.size - before, len(reader.found.outcomes))
    progress.end()
    return _Judge(documents, reader.found).summary(reader.count)


class _Reader:
    """Reads the documents of a run, and notes what is wrong with each alone."""

    def __init__(self, documents: DocumentCheck) -> None:
        self._documents, self.found = documents, Submitted()

    @property
    def count(self) -> int:
        """The number of instances."""
        found = self.found
        details = () if found.details is None else found.details[1]
        report = () if found.report is None else found.report.union(about_documents.LISTS)
        sets = (found.outcomes, found.predictions or (), details)
        return max(len(report), *map(len, sets))

    def read(self, path: str) -> None:
        """Read one document of any kind."""
        text, name = self._documents.uncompressed(path), printable(path)
        if text is None:
            return
        if is_yaml_name(path):
            self._metadata(path, text)
            return
        if self._is_known_as_broken(path, text):
            return
        text = self._documents.without_mark(text, name)
        if os.path.basename(path) == REPORT_FILE and is_outcome(parse_or_none(text)):
            self._outcome(path, self._parse(path, text))
            return
        # The name decides whether a stream has lines; other names are those of files.
        seen = Beginning("" if path == STDIN else path, text[:PEEK_BYTES], lambda: text)
        kind = detect_kind(seen)
        if kind == PREDICTIONS and seen.seen.kind == LINES:
            self._take(path, self._lines(path, text))
            return
        value = self._parse(path, text)
        if value is not None and kind is None:
            self._documents.note(ES005.violation(f"this is {NOT_OURS}"), name)
            self._documents.cannot(f"{name}: this is {NOT_OURS}")
        elif value is not None and kind == PREDICTIONS:
            self._take(path, ((None, *one) for one in iterate_predictions(value)))
        elif value is not None:
            self._document(path, str(kind), value)

    def _is_known_as_broken(self, path: str, text: bytes) -> bool:
        """Tell whether a report of an instance is broken, and the run report says so.

        The harness lists such an instance as completed and as an error (`make_run_report`).
        """
        report, folder = self.found.report, os.path.basename(os.path.dirname(path))
        if report is None or os.path.basename(path) != REPORT_FILE:
            return False
        if folder not in report.places("completed") or folder not in report.places("error"):
            return False
        try:
            return "resolved" not in json.loads(text)[folder]
        except (ValueError, KeyError, TypeError, RecursionError):
            return True

    def _parse(self, path: str, text: bytes) -> Any:
        """Return the value of a JSON document, None if it cannot be read."""
        name = printable(path)
        parsed = self._documents.parse(text, name)
        if parsed is None:
            return None
        if not isinstance(parsed.value, (dict, list)):
            kind = type_name(parsed.value)
            self._documents.note(ES109.violation(f"a document must be an object, not {kind}"), name)
            self._documents.cannot(f"{name} could not be read")
            return None
        return parsed.value

    def _lines(self, path: str, text: bytes) -> Iterator[tuple[int, str, Any]]:
        """Iterate over the predictions on lines."""
        name, offset, lines = printable(path), 0, text.split(b"\n")
        for number, line in enumerate(lines, 1):
            if line.strip():
                is_torn, depth = number == len(lines), self._documents.options.max_depth
                reading = read_object(line, depth, torn=is_torn, noun="a prediction", offset=offset)
                for one in reading.violations:
                    self._documents.note(one.violation, name, number)
                if reading.value is None:
                    self._documents.cannot(f"a prediction of {name} could not be read")
                else:
                    yield number, "", reading.value
            offset += len(line) + 1

    def _take(self, path: str, records: Iterable[tuple[int | None, str, Any]]) -> None:
        """Take predictions, of which the last of an instance counts."""
        if self.found.predictions is not None:
            self._documents.cannot("several files of predictions: name the one that was evaluated")
            return
        taken: dict[str, Prediction] = {}
        name = printable(path)
        for line, place, record in records:
            violation = _find_malformed(place, record)
            if violation is None:
                one = record["instance_id"]
                if one in taken:
                    where, message = place + pointer(["instance_id"]), "a second prediction for it"
                    again = about_documents.SWE102.violation(message, pointer=where, found=one)
                    self._documents.note(again, name, line)
                model = record.get("model_name_or_path")
                taken[one] = Prediction(path, one, model, record.get("model_patch"), place, line)
            else:
                self._documents.note(violation, name, line)
                self._documents.cannot(f"a prediction of {name} could not be read")
        self.found.predictions = taken

    def _document(self, path: str, kind: str, value: Any) -> None:
        found = self.found
        if kind == REPORT:
            found.report = Lists(path, value, "_ids")
            self._note(about_documents.check_report(found.report))
        elif kind == RESULTS:
            found.results = Lists(path, value)
            self._note(about_documents.check_results(found.results))
        elif kind == INSTANCE:
            self._outcome(path, value)
        elif kind == DETAILS:
            found.details = path, value
        elif kind == GROUPS:
            found.groups.append((path, value))
        elif kind == SETTINGS:
            message = "the settings of a run hold nothing that can be checked"
            self._documents.note(ES005.violation(message), printable(path))
            self._documents.cannot(f"{printable(path)}: {message}")
        else:
            raise ValueError(f"no such kind of document: {kind}")

    def _outcome(self, path: str, value: dict[str, Any]) -> None:
        is_placed = os.path.basename(path) == REPORT_FILE
        folder = os.path.basename(os.path.dirname(path)) if is_placed else ""
        outcome = read_outcome(path, folder, value)
        if outcome is None:
            noun = NOUNS[INSTANCE]
            violation = about_documents.SWE101.violation(f"this is not {noun}", pointer="")
            self._note([PlacedInFile(path, violation)])
            self._documents.cannot(f"{printable(path)} could not be read as {noun}")
            return
        self._note(about_documents.check_outcome(outcome))
        self._note(about_instances.check_resolution(outcome))
        self._note(about_instances.check_patch(outcome))
        if folder and outcome.place:
            self._note(about_instances.check_folder(outcome, folder))
        self.found.outcomes[folder or outcome.id or path] = outcome

    def _metadata(self, path: str, text: bytes) -> None:
        """Read the metadata of a submission."""
        from evalstream.parsing.yaml import find_marks, read_yaml
        from evalstream.parsing.yaml_scalars import settle_scalars

        name = printable(path)
        try:
            seen = read_yaml(text, self._documents.options.max_depth)
        except CannotCheck as error:
            self._documents.cannot(f"{name} cannot be read: {error}")
            return
        if seen.issues:
            message = f"{NOUNS[METADATA]} cannot be read: {seen.issues[0].message}"
            self._documents.note(ES103.violation(message), name, seen.issues[0].line)
        if not seen.readable:
            self._documents.cannot(f"{name} could not be read")
            return
        value = seen.value if seen.is_plain else settle_scalars(seen.value, seen.marks.mark)[0]
        if isinstance(value, dict):
            self._documents.locate(partial(find_marks, seen.marks), name)
            self.found.metadata = path, value

    def _note(self, placed: Iterable[PlacedInFile]) -> None:
        note_placed(self._documents, placed)


class _Judge:
    """Holds the documents of a run against each other."""

    def __init__(self, documents: DocumentCheck, found: Submitted) -> None:
        self._documents, self._found = documents, found
        self._compared = self._equal = self._unreported = 0

    def summary(self, count: int) -> RunSummary:
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
        self._collect_samples()
        aggregate = self._documents.run.aggregate
        summary = self._documents.close(
            rows=count,
            version=self._version(),
            claims=claims,
            claims_file=None if aggregate is None else printable(aggregate),
        )
        summary.checked = tuple(self._iterate_checked())
        return summary

    def _collect_samples(self) -> None:
        request, samples = self._documents.options.samples, self._documents.collector.samples
        if request is not None and samples is not None:
            # Few checks are for a comparison.
            from evalstream.formats.swe_bench.compared import collect_samples

            collect_samples(samples, request, self._found)

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
            shown = {"pointer": prediction.place + "/model_patch", "found": prediction.patch}
            violation = about_instances.SWE306.violation(message, severity=severity, **shown)
            yield PlacedInFile(prediction.path, violation, prediction.line)

    def _find_patches(self) -> Iterator[tuple[str, str]]:
        """Iterate over the instances whose patch may be in the logs, and its path.

        One without a report has its folder beside those of others, unless its prediction is empty:
        the patch there may then be of another call.
        """
        found, folders = self._found, dict[str, None]()
        for one, outcome in found.outcomes.items():
            if outcome.path != STDIN and not is_remote(outcome.path):
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
        """Say what was verified beside the claims."""
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

    def _note(self, placed: Iterable[PlacedInFile]) -> None:
        note_placed(self._documents, placed)


def note_placed(documents: DocumentCheck, placed: Iterable[PlacedInFile]) -> None:
    """Note violations in the documents that they are about."""
    for path, violation, line in placed:
        documents.note(violation, printable(path), line)


def _find_malformed(place: str, record: Any) -> Violation | None:
    """Return the violation of a prediction that is malformed, None for a sound one."""
    if not isinstance(record, dict):
        message = f"a prediction must be an object, not {type_name(record)}"
        return about_documents.SWE101.violation(message, pointer=place, found=record)
    wanted = (("instance_id", False), ("model_name_or_path", True), ("model_patch", True))
    for name, may_be_null in wanted:
        found = record.get(name)
        if name not in record and name == "instance_id":
            return about_documents.SWE101.violation(f"{name} is missing", pointer=place)
        if not isinstance(found, str) and not (may_be_null and found is None):
            message = f"{name} must be a text, not {type_name(found)}"
            shown = {"expected": {"type": "string"}, "found": found}
            return about_documents.SWE101.violation(
                message, pointer=place + pointer([name]), **shown
            )
    return None
