"""The examples on each rule's page: the bad one is found, and the good one is sound."""

import json
import math
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
import yaml
from depth import some
from each import each
from edits import apply_case
from inspect_archive import unpacked
from paths import FINDINGS

import evalstream
from evalstream.formats.registry import CATALOGUE
from evalstream.model.errors import UsageError
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.parsing.json import shorten
from evalstream.reporters.run_lines import run_line
from evalstream.rules.base import Rule

ALSO_WRONG = {
    "ES107": {"ES201", "ES215"},  # its line holds only what the rule is about, and so no row
    "ES508": {"ES405"},  # the example's sample hashes stay sha256
    "ES308": {"ES801", "ES803"},  # the score that was changed counts in no claim
    "ES701": {"ES801"},  # the rows refute a score that its metric cannot have
    "ES702": {"ES803"},  # the rows refute a negative error
    "ES703": {"ES803"},  # the rows refute an error that contradicts its deviation
    "ES606": {"ES603"},  # the id that was overwritten is missing
    "ES944": {"ES801", "ES803", "ES808"},  # why it does not pass
    "ES216": {"ES202"},  # what fails the one version
    "HLM201": {"HLM401"},  # an instance that stands twice moves every figure
    "HLM202": {"HLM401"},  # and so does one that is missing
    "HLM203": {"HLM202", "HLM401"},  # the instance whose id was changed is missing
    "ES215": {"ES202", "ES208"},  # a row of 0.2.0 is judged by the nearest version of 9.9
}
"""Errors of other rules that the bad example of a rule brings with it, and why."""

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader in C takes a tenth of the time, where PyYAML has it."""


def need_harness(rule: Rule) -> None:
    """Skip a test whose verdict needs the reader of the harness, if that is not installed."""
    if rule.code.startswith("INS"):
        pytest.importorskip("mmh3", reason="attachments of Inspect are verified with mmh3")


RULES = list(CATALOGUE.values())
every_rule = each("rule", RULES, CATALOGUE, group=20)
"""So that the examples of a rule can be run, with those beside it: `-k ES401`."""

some_rules = each("rule", some(RULES, 48), lambda rule: str(rule.code), group=20)


def check_bad(rule: Rule, folder: Path, **settings: Any) -> evalstream.Report:
    """Check the bad example of a rule in a folder, which reports name files relative to."""
    with chdir(folder):
        return apply_case(rule.code, "bad", Path()).check(**settings)


@every_rule
def test_the_bad_example_is_found_and_nothing_else_is_wrong(
    rule: Rule, tmp_path: Path, compare_json: Callable[[Path, Any], None]
) -> None:
    report = check_bad(rule, tmp_path)
    found = list(report)
    assert rule.code in {finding.code for finding in found}
    assert report.counts[rule.code] >= 1
    errors = {finding.code for finding in found if finding.severity is Severity.ERROR}
    others = errors - {rule.code}
    hint = f"the bad example of {rule.code} breaks {others}: keep their claims true with `changes`"
    assert others == ALSO_WRONG.get(rule.code, set()), hint
    for finding in found:
        assert_found_is_at_the_pointer(finding, tmp_path)
    if rule.severity is not Severity.ERROR:
        need_harness(rule)
    seen = {"exit": report.exit_code, "findings": [finding.as_dict() for finding in found]}
    compare_json(FINDINGS / f"{rule.code}.json", seen)


@every_rule
def test_the_good_example_is_sound(rule: Rule, tmp_path: Path) -> None:
    need_harness(rule)
    report = apply_case(rule.code, "good", tmp_path).check()
    assert rule.code not in report.counts
    assert report.exit_code == 0
    # The values in a report of EvalGuard have no rows that could confirm them.
    has_report = rule.code.startswith("EVG") and any(run.claims for run in report.runs)
    verdict = "unconfirmed" if has_report else "passed"
    assert {run.verdict for run in report.runs} == {verdict}


@some_rules
def test_an_ignored_rule_is_silent_and_the_verdict_names_it(rule: Rule, tmp_path: Path) -> None:
    # An optional rule alone would leave nothing to check.
    select = {"select": ("ES1", rule.code)} if rule.optional else {}
    if rule.needs in {"attestation", "expect_digests", "expect_ids"}:  # options of these rules
        with pytest.raises(UsageError, match=f"leave out rules that {rule.needs} needs"):
            check_bad(rule, tmp_path, ignore=(rule.code,))
        return
    report = check_bad(rule, tmp_path, ignore=(rule.code,), **select)
    assert rule.code not in report.counts
    assert rule.code not in {finding.code for finding in report}
    assert all(run.ignored == (rule.code,) for run in report.runs)
    assert all(f"without {rule.code})" in run_line(run) for run in report.runs)


@some_rules
def test_a_selected_rule_speaks_alone(rule: Rule, tmp_path: Path) -> None:
    # An attestation takes all of its rules.
    selected = "ES94" if rule.needs == "attestation" else rule.code
    report = check_bad(rule, tmp_path, select=(selected,))
    assert set(report.counts) == {rule.code}
    assert {finding.code for finding in report} == {rule.code}
    assert all(f"(only {selected})" in run_line(run) for run in report.runs)


def test_expected_values_of_the_data_are_hidden_with_those_found(tmp_path: Path) -> None:
    for rule in RULES:
        if rule.expects_data:
            need_harness(rule)
            folder = tmp_path / rule.code
            folder.mkdir()
            report = check_bad(rule, folder, show_values=False)
            shown = {(one.expected, one.found) for one in report if one.code == rule.code}
            assert shown == {(None, None)}, rule.code


def assert_found_is_at_the_pointer(finding: Finding, folder: Path) -> None:
    """Require that what a finding says it found is in the file, of its own type."""
    if finding.found is None or isinstance(finding.found, Excerpt) or finding.pointer is None:
        return
    stands = resolve_pointer(document_of(finding, folder), finding.pointer)
    if isinstance(stands, float) and not math.isfinite(stands):
        stands = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(stands, "NaN")
    assert finding.found == shorten(stands), finding
    assert type(finding.found) is type(shorten(stands)), finding


def document_of(finding: Finding, folder: Path) -> Any:
    """Return the document that a finding's pointer leads into: a row, or a whole file."""
    if finding.file.endswith(".eval"):
        return unpacked(folder / finding.file)
    text = (folder / finding.file).read_bytes()
    if finding.line is not None and finding.file.endswith(".jsonl"):
        return json.loads(text.split(b"\n")[finding.line - 1])
    return yaml.load(text, LOADER) if finding.file.endswith(".yaml") else json.loads(text)


def resolve_pointer(document: Any, pointer: str) -> Any:
    """Return what stands at a JSON Pointer. Raises LookupError where nothing does."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        document = document[int(name) if isinstance(document, list) else name]
    return document


def test_every_file_of_findings_is_that_of_a_rule() -> None:
    assert {path.stem for path in FINDINGS.iterdir()} == set(CATALOGUE)
