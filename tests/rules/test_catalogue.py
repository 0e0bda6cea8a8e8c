"""Tests that guard the catalogue: codes, names and documentation."""

import json
import re
import subprocess
import sys
from pathlib import Path

from paths import FINDINGS, PAIRS

from evalstream.cli.command import load_command, named_command
from evalstream.cli.program import read_plain
from evalstream.formats import PREFIXES
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.row_engine import EngineContext
from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.rules.pages import page_folders

HEADINGS = ["What it finds", "Why it matters", "How to fix", "Bad", "Good"]

VERBS_OF_CURES = {"check", "use", "verify"}
WORDS_OF_DUTY = {"must", "should"}

FIELDS = [
    "code",
    "column",
    "count",
    "expected",
    "file",
    "fix",
    "found",
    "keyword",
    "line",
    "message",
    "name",
    "offset",
    "pointer",
    "sample_id",
    "severity",
]
"""Every field that a finding may carry, sorted."""


def test_every_rule_has_one_page_and_every_page_a_rule() -> None:
    pages = [path for folder in page_folders() for path in Path(folder).glob("*.md")]
    assert sorted(path.stem for path in pages) == sorted(CATALOGUE)


def test_every_page_has_all_headings_and_two_short_examples_that_differ() -> None:
    for code, rule in CATALOGUE.items():
        texts = rule.sections()
        assert list(texts) == HEADINGS, code
        assert all(texts.values()), code
        assert texts["Bad"] != texts["Good"], code
        assert max(len(texts[side].splitlines()) for side in ("Bad", "Good")) <= 16, code


def test_every_summary_is_a_phrase() -> None:
    for code, rule in CATALOGUE.items():
        assert rule.summary, code
        assert not rule.summary.endswith("."), code


def test_every_name_says_the_defect_in_kebab_case() -> None:
    for rule in CATALOGUE.values():
        assert re.fullmatch(rf"({'|'.join(PREFIXES.values())})[0-9]{{3}}", rule.code), rule.code
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name), rule.code
        words = rule.name.split("-")
        assert words[0] not in VERBS_OF_CURES, rule.code
        assert not WORDS_OF_DUTY & set(words), rule.code


def test_every_code_keeps_its_name() -> None:
    for code, rule in CATALOGUE.items():
        findings = json.loads((FINDINGS / f"{code}.json").read_text("utf-8"))["findings"]
        assert {one["name"] for one in findings if one["code"] == code} == {rule.name}


def test_rules_by_ids_look_at_nothing_else() -> None:
    ids = ("schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id")
    line = (PAIRS / "0.3.0-two-results").rglob("*.jsonl")
    row = json.loads(next(line).read_bytes().splitlines()[0])
    results = Aggregate({"evaluation_results": [{"evaluation_name": "n"}]}).joinable
    context = EngineContext(
        Options(),
        evaluation_id="another",
        model_id="another",
        evaluation_names=frozenset({"another"}),
        results=(results[0]._replace(id="another"),),
    )
    by_ids = [rule for rule in CATALOGUE.values() if rule.by_ids and rule.row]
    assert by_ids
    for rule in by_ids:
        check = rule.row(context) if rule.row else None
        assert check is not None, rule.code
        assert list(check(row)) == list(check({key: row[key] for key in ids})), rule.code


def test_codes_and_names_are_unique() -> None:
    assert len({rule.name for rule in CATALOGUE.values()}) == len(CATALOGUE)
    assert [rule.code for rule in CATALOGUE.values()] == sorted(CATALOGUE)


def test_findings_carry_the_fields_of_the_contract() -> None:
    assert sorted(Finding._fields) == FIELDS


def test_every_rule_has_at_most_one_function_for_each_document() -> None:
    for code, rule in CATALOGUE.items():
        functions = (rule.run, rule.aggregate, rule.record)
        assert sum(function is not None for function in functions) <= 1, code
        assert rule.row is None or rule.record is None, code


def test_no_name_begins_codes() -> None:
    for rule in CATALOGUE.values():
        for name in (rule.name, *rule.former_names):
            assert not any(code.startswith(name.upper()) for code in CATALOGUE), name


def test_a_code_loads_the_rules_of_its_format_alone() -> None:
    code = (
        "import sys\n"
        "from evalstream.formats.registry import CATALOGUE\n"
        "assert [rule.code for rule in CATALOGUE.find('es401')] == ['ES401']\n"
        "print(sorted(name for name in sys.modules if name.endswith('.rules.benchmarks')))\n"
        "assert CATALOGUE.find('no-such-rule') == []\n"
        "print(sorted(name for name in sys.modules if name.endswith('.rules.benchmarks')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n['evalstream.formats.infereval.rules.benchmarks']\n"


def test_remedies_name_commands_that_are_read() -> None:
    for code, rule in CATALOGUE.items():
        for span in re.findall(r"`(evalstream [^`]+)`", " ".join(rule.fix.split())):
            words = re.sub(r"\bN\b", "8", span).split()[1:]
            name = named_command(words)
            assert name is not None, (code, span)
            rest = words[len(name.split()) :]
            assert not rest or read_plain(load_command(name), rest) is not None, (code, span)
