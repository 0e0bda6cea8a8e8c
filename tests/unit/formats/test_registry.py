"""What every format offers, and that the registry alone knows which formats there are."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each

from evalstream.discovery.inputs import OPTIONS
from evalstream.engine.layout import FOREIGN, FORMATS_OF_LOGS
from evalstream.formats import PREFIXES
from evalstream.formats.base import AnyFormat, load_rules, other_formats
from evalstream.formats.registry import (
    CATALOGUE,
    FORMATS,
    MAIN,
    NAMES,
    detect_kind,
    folder_format,
    main_format,
    paired_format,
)
from evalstream.io.beginning import Beginning
from evalstream.parsing.schema_files import schema_documents
from evalstream.rules.catalogue import SHARED_RULES

CHECKOUT = Path(__file__).parents[3]
PACKAGE = CHECKOUT / "evalstream"
EXAMPLES = CHECKOUT / "examples"

EACH = pytest.mark.parametrize("one", FORMATS.values(), ids=NAMES)


def shown(text: bytes, *formats: str) -> tuple[str, str] | None:
    """Return what a document of some bytes shows to be."""
    return detect_kind(Beginning("", text, lambda: text), formats or NAMES)


@EACH
def test_a_format_is_known_by_the_name_of_its_folder(one: AnyFormat) -> None:
    assert (PACKAGE / "formats" / one.name / "format.py").is_file()
    assert FORMATS[one.name] is one


PARTS = {"check": ("checker", "check"), "answers": ("compared", "answers")}
"""The modules and functions that the methods of formats call, where a format has no such method."""


def names_of_parameters(function: Callable[..., Any]) -> list[str]:
    """Return the names of what a function takes, without the mark of those that it does not use."""
    return [name.lstrip("_") for name in inspect.signature(function).parameters]


@EACH
def test_the_modules_of_a_format_have_the_functions_that_its_methods_call(one: AnyFormat) -> None:
    for method, (module, name) in PARTS.items():
        own, is_called = vars(type(one)), method != "answers" or one.has_answers
        if method in own or not hasattr(one, method) or not is_called:
            continue
        functions = getattr(one, method), getattr(one.load(module), name)
        wanted, found = map(names_of_parameters, functions)
        assert found == wanted[: len(found)]
        assert wanted[len(found) :] in ([], ["detect"])


@EACH
def test_the_codes_of_a_format_begin_with_its_prefix(one: AnyFormat) -> None:
    codes = [rule.code for rule in load_rules(one.name)]
    assert codes
    assert all(re.fullmatch(rf"{PREFIXES[one.name]}\d+", code) for code in codes)
    assert all(CATALOGUE[code].code == code for code in codes)


def test_the_catalogue_has_the_rules_of_all_formats_and_those_they_share() -> None:
    rules = [*SHARED_RULES, *(rule for one in FORMATS.values() for rule in load_rules(one.name))]
    assert sorted(CATALOGUE) == sorted(rule.code for rule in rules)


@EACH
def test_versions_are_those_that_have_schemas(one: AnyFormat) -> None:
    documents = [(version, name) for version, names in one.versions.items() for name in names]
    schemas = (name.split("/") for name in schema_documents())
    assert documents == [(version, name) for of, version, name in schemas if of == one.name]


@EACH
def test_a_format_names_options_that_can_be_refused(one: AnyFormat) -> None:
    assert one.options <= OPTIONS.keys()


def test_the_main_format_understands_every_option() -> None:
    assert main_format().options == OPTIONS.keys()


@EACH
def test_documents_go_together_in_one_way(one: AnyFormat) -> None:
    paired, whole = paired_format(one.name), folder_format(one.name)
    assert [one.name == MAIN, paired is one, whole is one].count(True) == 1
    assert one.grouping == ("documents" if paired else "folder" if whole else "rows")


@EACH
def test_data_of_a_format_never_change(one: AnyFormat) -> None:
    with pytest.raises(AttributeError):
        one.name = "other"  # type: ignore[misc]


def test_every_folder_of_a_format_is_listed() -> None:
    folders = {path.parent.name for path in (PACKAGE / "formats").glob("*/format.py")}
    assert folders == {*NAMES}, "PREFIXES in formats/__init__.py lists them"
    listed = other_formats().partition(" are ")[2].partition(" (")[0]
    assert sorted(NAMES) == listed.split(", ")


def test_the_main_format_is_as_sure_as_any() -> None:
    """It is asked first, so that no other has to be loaded."""
    assert main_format().is_sure


def test_another_name_is_not_a_format() -> None:
    assert "other" not in FORMATS
    with pytest.raises(KeyError):
        FORMATS["other"]


@each(
    ("path", "kind"),
    [
        ("run.jsonl", ("eee", "instance")),
        ("aggregate.json", ("eee", "aggregate")),
        ("infereval/evaluation.json", ("infereval", "evaluation")),
        ("infereval/benchmark.json", ("infereval", "benchmark")),
        ("harpia/log.jsonl", ("harpia", "log")),
        ("harpia/output.json", ("harpia", "output")),
        ("harpia/input.json", ("harpia", "input")),
        ("evalguard/thresholds/advice.json", ("evalguard", "threshold")),
        ("swe_bench/acme__acorn-7b.tiny.json", ("swe_bench", "report")),
        ("swe_bench/preds.jsonl", ("swe_bench", "predictions")),
        ("swe_bench/submission/results/results.json", ("swe_bench", "results")),
        ("swe_bench/submission/results/resolved_by_repo.json", ("swe_bench", "groups")),
        ("swe_bench/submission/per_instance_details.json", ("swe_bench", "details")),
        ("swe_bench/logs/run_evaluation/tiny/run.json", ("swe_bench", "settings")),
        ("helm/pens-model=acme_acorn-7b/stats.json", ("helm", "stats")),
        ("helm/pens-model=acme_acorn-7b/per_instance_stats.json", ("helm", "per_instance_stats")),
        ("helm/pens-model=acme_acorn-7b/scenario_state.json", ("helm", "scenario_state")),
        ("helm/pens-model=acme_acorn-7b/run_spec.json", ("helm", "run_spec")),
        ("helm/pens-model=acme_acorn-7b/scenario.json", ("helm", "scenario")),
    ],
)
def test_documents_are_recognised_by_their_content(path: str, kind: tuple[str, str]) -> None:
    text = (EXAMPLES / path).read_bytes()
    assert shown(text) == kind
    other = shown(text, *(name for name in NAMES if name != kind[0]))
    # Without its own format, a log of a harness is one that must be converted.
    assert other is None or (other[0] == FOREIGN and kind[0] in FORMATS_OF_LOGS.values())
    assert kind[1] in FORMATS[kind[0]].places


def test_signs_of_a_harness_log_are_surer_than_a_shape() -> None:
    text = b'{"eval": {"task": "t", "model": "m"}, "status": "success", "metric": 1,'
    text += b' "parameters": {}, "result": 1}'
    assert shown(text, "harpia") == (FOREIGN, "Inspect: a log")


def test_a_list_of_objects_with_ids_may_be_anything() -> None:
    text = b'{"things": [{"id": 1, "input": "x"}]}'
    assert shown(text) == ("harpia", "unsure")
    assert FORMATS["harpia"].places["unsure"] == "inputs"


@each(
    "layer",
    [
        "cli",
        "api/check.py",
        "batch",
        "discovery",
        "engine",
        "rules",
        "stats",
        "reporters",
        "executors",
        "io",
    ],
)
def test_no_other_part_imports_a_format(layer: str) -> None:
    place = PACKAGE / layer
    modules = place.rglob("*.py") if place.is_dir() else [place]
    imported = re.compile(rf"evalstream\.formats\.({'|'.join(NAMES)})\b")
    assert not [module for module in modules if imported.search(module.read_text())]


def test_a_check_loads_no_format_but_that_of_its_files() -> None:
    code = (
        "import sys, evalstream\n"
        "evalstream.check(['examples/run.jsonl'], aggregate='examples/aggregate.json')\n"
        "print('\\n'.join(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CHECKOUT
    )
    loaded = done.stdout.split()
    others = [name for name in NAMES if name != MAIN]
    assert not [name for name in loaded if name.startswith(tuple(_modules_of(others)))]
    assert not {"evalstream.discovery.search", "evalstream.discovery.peek"} & {*loaded}


def _modules_of(names: list[str]) -> list[str]:
    return [f"evalstream.formats.{name}" for name in names]
