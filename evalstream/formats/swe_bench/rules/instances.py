"""SWE3: rules about instances: their reports and predictions against the lists."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from evalstream.formats.swe_bench.format import LOG_FOLDERS, model_folder
from evalstream.formats.swe_bench.rules.documents import LISTS, SWE204
from evalstream.formats.swe_bench.views import (
    DECIDING_TESTS,
    EMPTY_TESTS,
    TESTS,
    InstanceOutcome,
    Lists,
    PlacedInFile,
    Prediction,
    Submitted,
)
from evalstream.model.finding import Severity
from evalstream.model.text import count_noun
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import list_or_empty, object_or_empty
from evalstream.rules.base import Rule, declare_rule


def check_resolution(outcome: InstanceOutcome) -> Iterator[PlacedInFile]:
    """Yield an outcome that its own tests contradict."""
    if outcome.declared is not None and outcome.derived not in (None, outcome.declared):
        why = "tests_status has failures" if outcome.declared else "all tests are successes"
        if TESTS not in outcome.value:
            why = "there is no tests_status"
        message = f"resolved is {str(outcome.declared).lower()}, and {why}"
        shown = {"expected": outcome.derived, "found": outcome.declared}
        yield outcome.about(SWE302, message, "resolved", **shown)


def check_patch(outcome: InstanceOutcome) -> Iterator[PlacedInFile]:
    """Yield a resolved or tested instance whose patch the report calls missing or not applied."""
    wrong = {"patch_successfully_applied": False, "patch_exists": False, "patch_is_None": True}
    wrong["infra_failure"] = True  # of logs without results
    if not outcome.declared and TESTS not in outcome.value:
        return
    if not outcome.place:  # SWE-smith writes no id, and never that a patch was applied
        del wrong["patch_successfully_applied"]
    why = "resolved is true" if outcome.declared else f"there is a {TESTS}"
    for name, value in wrong.items():
        if outcome.value.get(name) is value:
            message = f"{why}, and {name} is {str(value).lower()}"
            yield outcome.about(SWE302, message, name, expected=not value, found=value)


def check_tests(outcome: InstanceOutcome) -> Iterator[PlacedInFile]:
    """Yield tests that decide nothing, and a resolved instance without the tests that decide."""
    if outcome.derived is None or TESTS not in outcome.value:
        return
    groups, first = outcome.value[TESTS], DECIDING_TESTS[0]
    for name in EMPTY_TESTS:
        tests = object_or_empty(groups.get(name)).values()
        if number := sum(len(list_or_empty(side)) for side in tests):
            message = f"{name} has {count_noun(number, 'test')}, and the harness puts none there"
            yield outcome.about(SWE302, message, TESTS, name, severity=Severity.WARNING)
    for name in DECIDING_TESTS:
        for test in sorted({*groups[name]["failure"]}.intersection(groups[name]["success"])):
            message = f"{test} is a success and a failure of {name}"
            yield outcome.about(SWE302, message, TESTS, name, found=test)
    if outcome.declared and not any(groups[first].values()):
        message = f"resolved is true, and {first} has no test"
        yield outcome.about(SWE302, message, TESTS, first, severity=Severity.WARNING)


def report_failed(outcome: InstanceOutcome, failed: Sequence[str]) -> Iterator[PlacedInFile]:
    """Yield the successful tests that failed by the output of the tests, as one violation."""
    if failed:
        more = f" and {len(failed) - 1:,} more" if len(failed) > 1 else ""
        message = f"test_output.txt says that {failed[0]}{more} failed, called a success here"
        shown = {"severity": Severity.WARNING, "count": len(failed), "found": failed[0]}
        yield outcome.about(SWE302, message, TESTS, **shown)


def check_logged(outcome: InstanceOutcome, logged: str) -> Iterator[PlacedInFile]:
    """Yield the members of a report that the log of its instance has otherwise.

    A call with rewrite_reports (3.0.0 and newer) writes reports and no logs: it may be sound.
    """
    # The log has the repr of the report. To parse it takes hundreds of bytes of memory for each byte.
    is_report = logged.startswith(f"{{{outcome.id!r}: ")
    for name, value in outcome.value.items() if is_report else ():
        if not _is_logged(logged, name, value):
            message = f"run_instance.log has another {name}"
            yield outcome.about(SWE302, message, name, severity=Severity.WARNING)


def _is_logged(logged: str, name: str, value: Any) -> bool:
    """Tell whether a log has a member, in whatever order the members of an object come."""
    if isinstance(value, dict):
        return all(_is_logged(logged, key, one) for key, one in value.items())
    return f"{name!r}: {value!r}" in logged


def check_folder(outcome: InstanceOutcome, folder: str) -> Iterator[PlacedInFile]:
    """Yield a report that is about another instance than the folder that it lies in."""
    if outcome.id != folder:
        message = f"this report is in the folder of {folder}, and is about {outcome.id}"
        yield outcome.about(SWE307, message)


def check_outcomes(run: Submitted) -> Iterator[PlacedInFile]:
    """Yield contradictions between the reports of instances and a run report or results."""
    if run.report is not None and run.outcomes:
        yield from _check_report_outcomes(run.report, run)
    if run.results is not None:
        yield from _check_result_outcomes(run.results, run)
    elif run.details is not None:
        yield from _check_details(
            run, {one: found.is_resolved for one, found in run.outcomes.items()}
        )


def check_folders(lists: Lists, folders: Iterable[str]) -> Iterator[PlacedInFile]:
    """Yield folders of instances in the logs that no list of a run report names."""
    known = lists.union(LISTS)
    for one in folders:
        if one not in known:
            message = f"the logs have a folder of {one}, which is in no list of the run report"
            yield lists.about(SWE303, message)


def check_predictions(run: Submitted) -> Iterator[PlacedInFile]:
    """Yield contradictions between the predictions and a run report or results."""
    if run.predictions is None:
        return
    if run.report is not None:
        yield from _check_report_predictions(run.report, run.predictions)
    if run.results is not None:
        for name in ("resolved", "generated", "no_generation"):
            for one in run.results.places(name):
                found = run.predictions.get(one)
                # One of white space is none for `get_model_report` (1.1.0 to 1.1.5).
                has_patch = found is not None and bool((found.patch or "").strip())
                if has_patch == (name == "no_generation"):
                    why = f"the predictions have {'a' if has_patch else 'no'} patch of it"
                    yield _contradict(SWE305, run.results, name, one, why)
    yield from _check_models(run)


def _check_report_outcomes(lists: Lists, run: Submitted) -> Iterator[PlacedInFile]:
    evaluated, errors = lists.union(("completed", "error", "empty_patch")), lists.places("error")
    reasons, unexplained = lists.value.get("failure_reasons"), set[str]()
    if isinstance(reasons, dict):
        unexplained = lists.union(("unresolved", "error")) - reasons.keys()
    for one, found in run.outcomes.items():
        reason = found.value.get("infra_failure_reason")
        # The run report classifies the same output and more (`make_run_report` of 5.0.0 to 5.0.2).
        if reason and one in unexplained:
            message = f"{one} has no reason here, and {reason} in its report"
            yield lists.about(SWE204, message, "failure_reasons")
        is_resolved = found.is_resolved
        wrong = {True: "unresolved", False: "resolved", None: ""}[is_resolved]
        if one in lists.places(wrong):
            word = "resolved" if is_resolved else "not resolved"
            yield _contradict(SWE301, lists, wrong, one, f"its report says that it is {word}")
        elif one in errors:
            yield _contradict(SWE301, lists, "error", one, "it has a report")
        elif one not in evaluated:
            message = f"{one} has a report, and the run report does not list it as evaluated"
            # Another call may have evaluated what this one did not submit.
            severity = Severity.ERROR if one in lists.places("submitted") else None
            yield found.about(SWE303, message, severity=severity)
    for one in lists.places("completed"):
        if one not in run.outcomes and one not in errors and one not in run.unread:
            yield lists.about_id(SWE304, "completed", one, f"was completed, {_NO_REPORT}")
    yield from _check_report_name(lists, run)


def _check_result_outcomes(lists: Lists, run: Submitted) -> Iterator[PlacedInFile]:
    resolved = lists.places("resolved")
    for one, found in run.outcomes.items():
        if one in resolved and found.is_resolved is False:
            why = "its report says that it is not resolved"
            yield _contradict(SWE301, lists, "resolved", one, why)
        elif one not in resolved and found.is_resolved:
            message = f"{one} is not in the list, and its report says that it is resolved"
            yield lists.about(SWE301, message, "resolved")
    for one in resolved if run.outcomes else ():
        if one not in run.outcomes and one not in run.unread:
            yield lists.about_id(SWE304, "resolved", one, f"is resolved, {_NO_REPORT}")
    yield from _check_details(run, dict.fromkeys(resolved, True))


def _check_details(run: Submitted, resolved: dict[str, bool | None]) -> Iterator[PlacedInFile]:
    """Yield details that differ from the results; what these do not list is not resolved."""
    if run.details is None:
        return
    path, details = run.details
    for one, detail in details.items():
        declared = detail.get("resolved") if isinstance(detail, dict) else None
        if run.results is None and one not in resolved:
            continue
        expected = resolved.get(one, False)
        if isinstance(declared, bool) and expected is not None and declared != expected:
            noun, verb = ("its report", "says") if run.results is None else ("the results", "say")
            words = f"{'does' if run.results is None else 'do'} not say" if declared else verb
            message = f"{noun} {words} that {one} is resolved"
            where, shown = pointer([one, "resolved"]), {"expected": expected, "found": declared}
            yield PlacedInFile(path, SWE301.violation(message, where, **shown))
    if run.results is not None:
        for one in run.results.places("resolved"):
            if one not in details:
                why = "the details do not have it"
                yield _contradict(SWE301, run.results, "resolved", one, why)


def _check_report_predictions(
    lists: Lists, predictions: dict[str, Prediction]
) -> Iterator[PlacedInFile]:
    # Releases before 2.0.3 evaluate empty patches, as the service does, and list none.
    lists_empty = lists.items("empty_patch") is not None
    of_evaluated = ("completed", "error") if lists_empty else ("resolved",)
    for one in lists.places("submitted"):
        if one not in predictions:
            yield _contradict(SWE305, lists, "submitted", one, "there is no prediction for it")
    for one, found in predictions.items():
        if lists.items("submitted") is not None and one not in lists.places("submitted"):
            message = f"the run report does not list {one} as submitted"
            yield found.about(SWE305, message, "instance_id", found=one)
        for name in of_evaluated if found.is_empty else ("empty_patch",):
            if one in lists.places(name):
                noun = "no patch" if found.is_empty else "a patch"
                yield _contradict(SWE305, lists, name, one, f"its prediction has {noun}")


def _check_models(run: Submitted) -> Iterator[PlacedInFile]:
    """Yield the predictions of another model than the first, or than the folder of the logs."""
    first: Prediction | None = None
    for found in (run.predictions or {}).values():
        first = first or found
        if found.model != first.model:
            message = f"the first prediction is of {first.model}"
            yield _report_model(found, message, first.model, Severity.WARNING)
            break
    _, folder = _read_folders(run)
    if first is None or first.model is None or not folder:
        return
    if model_folder(first.model) != folder:
        message = f"the logs are in the folder of the model {folder}"
        yield _report_model(first, message, folder)


def _read_folders(run: Submitted) -> tuple[str, str]:
    """Return the run id and the model by which the folders of the logs are named, or nothing."""
    path = next((found.path for found in run.outcomes.values()), "")
    parts = path.split("/")
    return (parts[-4], parts[-3]) if len(parts) >= 5 and parts[-5] in LOG_FOLDERS else ("", "")


def _check_report_name(lists: Lists, run: Submitted) -> Iterator[PlacedInFile]:
    """Yield a run report whose name has the run id of the logs, and another model."""
    run_id, model = _read_folders(run)
    name = os.path.basename(lists.path)
    if run_id and name.endswith(f".{run_id}.json") and name != f"{model}.{run_id}.json":
        message = f"the name of the run report is not that of the model of the logs, {model}"
        yield lists.about(SWE308, message, severity=Severity.WARNING, found=name)


def _report_model(
    prediction: Prediction, message: str, expected: str | None, severity: Severity | None = None
) -> PlacedInFile:
    path = () if prediction.model is None else ("model_name_or_path",)
    shown = {"expected": expected, "found": prediction.model, "severity": severity}
    return prediction.about(SWE308, message, *path, **shown)


def _contradict(rule: Rule, lists: Lists, name: str, one: str, why: str) -> PlacedInFile:
    """Return the violation of an id that should not be in a list."""
    return lists.about_id(rule, name, one, f"is in {lists.key(name)}, and {why}")


_NO_REPORT: Final = "and its report is not among the logs"

SWE301: Final = declare_rule("SWE301")
SWE302: Final = declare_rule("SWE302")
SWE303: Final = declare_rule("SWE303")
SWE304: Final = declare_rule("SWE304")
SWE305: Final = declare_rule("SWE305")
SWE306: Final = declare_rule("SWE306")
SWE307: Final = declare_rule("SWE307")
SWE308: Final = declare_rule("SWE308")

RULES: Final = (SWE301, SWE302, SWE303, SWE304, SWE305, SWE306, SWE307, SWE308)
