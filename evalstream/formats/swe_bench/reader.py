"""Read the documents of a run of SWE-bench, and note the violations of each alone."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.swe_bench import views
from evalstream.formats.swe_bench.format import (
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
    detect_kind,
    is_outcome,
)
from evalstream.formats.swe_bench.rules import documents as about_documents
from evalstream.formats.swe_bench.rules import instances as about_instances
from evalstream.io.beginning import LINES, PEEK_BYTES, Beginning
from evalstream.io.names import is_yaml_name, printable
from evalstream.model.errors import CannotCheck
from evalstream.model.run import STDIN
from evalstream.parsing.json import FAST_DEPTH, is_finite, type_name
from evalstream.parsing.json_values import object_or_empty, parse_or_none
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.inputs import ES005
from evalstream.rules.syntax import ES103, ES109, read_object_quickly

NOT_OURS: Final = f"not a document of SWE-bench ({NAME})"


class RunReader:
    """Reads the documents of a run, and notes the violations of each alone."""

    def __init__(self, documents: DocumentCheck) -> None:
        self._documents, self.found = documents, views.Submitted()

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
        value = parse_or_none(text) if os.path.basename(path) == REPORT_FILE else None
        if is_outcome(value):
            kind: str | None = INSTANCE
        else:
            # The name decides whether a stream has lines; other names are those of files.
            seen = Beginning("" if path == STDIN else path, text[:PEEK_BYTES], lambda: text)
            kind = detect_kind(seen)
            if kind == PREDICTIONS and seen.seen.kind == LINES:
                self._add_predictions(path, self._lines(path, text))
                return
        value = self._parse(path, text, value)
        if value is None and os.path.basename(path) == REPORT_FILE:
            self.found.unread.add(os.path.basename(os.path.dirname(path)))
        if value is not None and kind is None:
            violation = ES005.violation(f"this is {NOT_OURS}")
            self._documents.refuse(violation, name, f"{name}: {violation.message}")
        elif value is not None and kind == PREDICTIONS:
            self._add_predictions(path, ((None, *one) for one in views.iterate_predictions(value)))
        elif value is not None:
            self._document(path, str(kind), value)

    def _is_known_as_broken(self, path: str, text: bytes) -> bool:
        """Tell whether a report of an instance is broken, and its instance an error.

        The harness lists such an instance as completed and as an error (`make_run_report`). Its
        evaluation on Modal leaves an empty report of each error (2.1.0 to 5.0.2,
        `run_instances_modal`), which is one without a run report, too.
        """
        if os.path.basename(path) != REPORT_FILE:
            return False
        report, folder = self.found.report, os.path.basename(os.path.dirname(path))
        if report is None:
            is_error = not text.strip() and not self._is_resolved(folder)
            self.found.empty += is_error
            return is_error
        if folder not in report.places("completed") or folder not in report.places("error"):
            return False
        try:
            return "resolved" not in json.loads(text)[folder]
        except (ValueError, KeyError, TypeError, RecursionError):
            return True

    def _is_resolved(self, one: str) -> bool:
        """Tell whether a submission calls an instance resolved."""
        results, details = self.found.results, self.found.details
        detail = {} if details is None else object_or_empty(details[1].get(one))
        return detail.get("resolved") is True or (
            results is not None and one in results.places("resolved")
        )

    def _parse(self, path: str, text: bytes, value: Any) -> Any:
        """Return the value of a JSON document, None if it cannot be read.

        It is `value`, which the quick parser gave, unless that can differ from the exact one.
        """
        name = printable(path)
        is_exact = self._documents.options.max_depth >= FAST_DEPTH and text[:1] in b"{["
        if value is None or not is_exact or not is_finite(value):
            parsed = self._documents.parse(text, name)
            if parsed is None:
                return None
            value = parsed.value
        if not isinstance(value, (dict, list)):
            kind = type_name(value)
            violation = ES109.violation(f"a document must be an object, not {kind}")
            self._documents.refuse(violation, name, f"{name} could not be read")
            return None
        return value

    def _lines(self, path: str, text: bytes) -> Iterator[tuple[int, str, Any]]:
        name, offset, lines = printable(path), 0, text.split(b"\n")
        for number, line in enumerate(lines, 1):
            if line.strip():
                is_torn, depth = number == len(lines), self._documents.options.max_depth
                reading = read_object_quickly(
                    line, depth, "a prediction", torn=is_torn, offset=offset
                )
                for one in reading.violations:
                    self._documents.note(one.violation, name, number)
                if reading.value is None:
                    self._lose_prediction(name)
                else:
                    yield number, "", reading.value
            offset += len(line) + 1

    def _add_predictions(self, path: str, records: Iterable[tuple[int | None, str, Any]]) -> None:
        """Add predictions, of which the last of an instance counts."""
        if self.found.predictions is not None:
            self._documents.cannot("several files of predictions: name the one that was evaluated")
            return
        found: dict[str, views.Prediction] = {}
        name = printable(path)
        for line, place, record in records:
            violation = about_documents.check_prediction(record, place)
            if violation is not None:
                self._documents.note(violation, name, line)
                self._lose_prediction(name)
                continue
            id_, model = record["instance_id"], record.get("model_name_or_path")
            one = views.Prediction(path, id_, model, record.get("model_patch"), place, line)
            if id_ in found:
                rule, message = about_documents.SWE102, "a second prediction for it"
                self.note([one.about(rule, message, "instance_id", found=id_)])
            found[id_] = one
        # Who was not submitted is known only with all of them.
        self.found.predictions = None if self.found.is_unpredicted else found

    def _lose_prediction(self, name: str) -> None:
        self.found.is_unpredicted = True
        self._documents.cannot(f"a prediction of {name} could not be read")

    def _document(self, path: str, kind: str, value: Any) -> None:
        found = self.found
        known = {REPORT: found.report, RESULTS: found.results, DETAILS: found.details}
        if known.get(kind) is not None:
            self._documents.cannot(f"{printable(path)} is a second document with {NOUNS[kind]}")
        elif kind == REPORT:
            found.report = views.Lists(path, value, "_ids")
            self.note(about_documents.check_report(found.report))
        elif kind == RESULTS:
            found.results = views.Lists(path, value)
            self.note(about_documents.check_results(found.results))
        elif kind == INSTANCE:
            self._outcome(path, value)
        elif kind == DETAILS:
            found.details = path, value
            self.note(about_documents.check_entries(path, value, about_documents.DETAIL, "details"))
        elif kind == GROUPS:
            found.groups.append((path, value))
            self.note(about_documents.check_entries(path, value, about_documents.GROUP, "a group"))
        else:
            message = "the settings of a run hold nothing that can be checked"
            name = printable(path)
            self._documents.refuse(ES005.violation(message), name, f"{name}: {message}")

    def _outcome(self, path: str, value: dict[str, Any]) -> None:
        is_placed = os.path.basename(path) == REPORT_FILE
        folder = os.path.basename(os.path.dirname(path)) if is_placed else ""
        outcome = views.read_outcome(path, value)
        if outcome is None:
            noun = NOUNS[INSTANCE]
            violation = about_documents.SWE101.violation(f"this is not {noun}", "")
            name = printable(path)
            self._documents.refuse(violation, name, f"{name} could not be read as {noun}")
            return
        self.note(about_documents.check_outcome(outcome))
        self.note(about_instances.check_resolution(outcome))
        self.note(about_instances.check_patch(outcome))
        self.note(about_instances.check_tests(outcome))
        if folder and outcome.place:
            self.note(about_instances.check_folder(outcome, folder))
        self.found.outcomes[folder or outcome.id or path] = outcome

    def _metadata(self, path: str, text: bytes) -> None:
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
        value, _ = settle_scalars(seen.value, seen.mark)
        self._documents.locate(partial(find_marks, seen.mark), name)
        self.note(about_documents.check_metadata(path, value))
        if isinstance(value, dict):
            self.found.metadata = path, value

    def note(self, placed: Iterable[views.PlacedInFile]) -> None:
        """Note violations in the documents that they are about."""
        for path, violation, line in placed:
            self._documents.note(violation, printable(path), line)


LOG: Final = "run_instance.log"
_REPORT: Final = " - INFO - report: "
_MOST_REPORT: Final = 1 << 24
"""Most bytes of a report in a log, at its end."""


def find_logged(path: str, one: str) -> str | None:
    """Return the report of an instance as its log has it, None for none. Raises OSError.

    It is the text of a Python object, of the last evaluation (2.0.0 to 5.0.2, `run_instance`).
    """
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _MOST_REPORT))
        end = file.read(_MOST_REPORT).decode(errors="replace")
    before, found, _ = end.rpartition(f"\nResult for {one}: resolved: ")
    text = before.rpartition(_REPORT)[2] if found else ""
    return text if text.startswith("{") and "\ufffd" not in text else None


OUTPUT: Final = "test_output.txt"
_MARK: Final = LazyPattern(rb">>>>> (?:Start|End) Test Output.*")
_MOST_BYTES: Final = 1 << 16
"""Most bytes of a line; the rest of a longer one says nothing."""
_READ_BYTES: Final = 1 << 16


_FAILED: Final = LazyPattern(
    rb"(?:FAILED|ERROR)\s+((\S+).*?)(?: - .*)?$"
    rb"|\s*+(?:not ok \d+ (.+)|--- FAIL: (.+) \([^()]*\)|(test\s+(\S+))\s+\.\.\.\s+FAILED"
    rb"|\[FAILED\]\s(.+)|(?:\xe2\x9c\x95|\xc3\x97)\s(.+?)(?:\s\(?\d+\s*m?s\)?)?"
    rb"|(test_\S+)(?: .*)? [EF]|(.+) \.\.\. (?:FAIL|ERROR))$"
)
"""A line that calls a test failed: of pytest, TAP, Go, Cargo, Jest, Vitest, SymPy and Django.

These are the runners of which the harness reads status and name from one line (swebench 5.0.2,
harness/log_parsers).
"""
_SIGNS_OF_FAILED: Final = (b"FAIL", b"ERROR", b"not ok", b"\xe2\x9c\x95", b"\xc3\x97", b" E", b" F")
"""Each line that calls a test failed has one of these."""

_PASSED: Final = LazyPattern(
    rb"(?:PASSED|XFAIL|SKIPPED)\s+((\S+).*?)(?: - .*)?$"
    rb"|\s*+(?:ok \d+ (.+)|--- (?:PASS|SKIP): (.+) \([^()]*\)|(test\s+(\S+))\s+\.\.\.\s+ok"
    rb"|\[PASSED\]\s(.+)|(?:\xe2\x9c\x93|\xe2\x97\x8b|\xe2\x86\x93)\s(.+?)(?:\s\(?\d+\s*m?s\)?)?"
    rb"|(test_\S+)(?: .*)? ok|(.+) \.\.\. (?:ok|OK| OK))$"
)
_SIGNS_OF_PASSED: Final = (
    *(b"PASS", b"XFAIL", b"SKIP", b"ok", b"OK"),
    *(b"\xe2\x9c\x93", b"\xe2\x97\x8b", b"\xe2\x86\x93"),
)


def find_failed(path: str, names: Collection[str]) -> list[str]:
    """Return those of some tests that a file of output only calls failed. Raises OSError.

    A test that both passed and failed is left out.
    """
    found = _iterate_names(path, _FAILED, _SIGNS_OF_FAILED)
    first = next(found, None)
    if first is None:
        return []
    named = {name.encode(errors="replace"): name for name in names}
    failed = {key for key in chain((first,), found) if key in named}
    if failed:
        failed.difference_update(_iterate_names(path, _PASSED, _SIGNS_OF_PASSED))
    return [name for key, name in named.items() if key in failed]


def _iterate_names(path: str, line: LazyPattern[bytes], signs: Sequence[bytes]) -> Iterator[bytes]:
    """Iterate over the tests that lines of one form name, all of which have one of some signs."""
    for text in _iterate_output(path):
        for sign in signs:
            at = text.find(sign) if sign[-1:] in text else -1
            while at >= 0:
                start, stop = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
                stop = len(text) if stop < 0 else stop
                found = line.match(text[start : min(stop, start + _MOST_BYTES)].rstrip())
                yield from filter(None, found.groups() if found else ())
                at = text.find(sign, stop)


def _iterate_output(path: str) -> Iterator[bytes]:
    """Iterate over the lines between the marks of the harness, about 64 KiB at a time.

    Since 3.0.5 the harness reads no more than what the first marks enclose (`get_logs_eval`).
    """
    is_output = False
    for text in _iterate_lines(path):
        start = 0
        for mark in _MARK.finditer(text):
            if is_output:
                yield text[start : text.rfind(b"\n", start, mark.start()) + 1]
                return
            is_output, start = b">>>>> Start" in mark[0], mark.end()
        if is_output:
            yield text[start:]


def _iterate_lines(path: str) -> Iterator[bytes]:
    """Iterate over whole lines of a file; of a line that is far too long the beginning is kept."""
    rest = b""
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(_READ_BYTES):
            text = rest + piece
            stop = text.rfind(b"\n") + 1
            yield text[:stop]
            rest = text[stop : stop + _MOST_BYTES]
    yield rest
