"""The reference pages are complete, and the schema of the report fits every report."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from commands import command, run_command
from depth import deep, some
from each import each
from edits import apply_case
from paths import REPOSITORY

import evalstream
from evalstream.cli.command import COMMANDS, Command, option_flags
from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.parsing.json_schema import compile_schema
from evalstream.parsing.schema_files import report_schemas, schema_documents
from evalstream.parsing.schema_files import schema_text as text_of_schema
from evalstream.settings.load import settings_schema
from evalstream.settings.resolve import SETTINGS

sys.path.insert(0, str(REPOSITORY / "scripts"))

from reference.command_line import commands
from reference.markdown import prose, table
from reference.pages import pages as generated
from reference.rules import family

from evalstream.reporters import REPORTERS

SCHEMA = json.loads(text_of_schema("report"))
RULES = "reference/rules"
CHECKED = [
    ["examples/run.jsonl", "--aggregate", "examples/aggregate.json"],
    ["examples/run.jsonl"],
    ["examples/aggregate.json"],
    ["examples"],
    ["examples", "--sketches"],
    ["examples", "--exclude", "run.jsonl", "--ignore", "ES5"],
    ["examples/tampered", "--select", "ES4,ES5"],
    ["examples/infereval"],
    ["examples/evalguard"],
    ["examples/harpia"],
    ["missing.jsonl"],
]
"""Arguments of checks that give each kind of run: of each format, good, bad and incomplete."""

every_rule = each("rule", list(CATALOGUE.values()), lambda rule: str(rule.code))
every_command = pytest.mark.parametrize("command", commands(), ids=lambda one: one.name)
every_part = pytest.mark.parametrize("part", ["report", *SCHEMA["$defs"]])


@cache
def pages() -> dict[str, str]:
    """Return the pages, generated once, by calls that need no new Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "run", run_command)
        return generated()


def section(page: str, heading: str) -> str:
    """Return the text below a heading, to the next one of the same level."""
    _, _, rest = f"\n{pages()[page]}".partition(f"\n{heading}\n")
    assert rest, heading
    return rest.partition(f"\n{heading.partition(' ')[0]} ")[0]


def closed(schema: Any) -> Any:
    """Return a schema in which no object may have other keys than those that are described."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "required" in schema else {}
    return {key: closed(value) for key, value in schema.items()} | more


REPORT = compile_schema(closed(SCHEMA))
LINE, RUN = (
    compile_schema(closed({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]}))
    for name in ("line", "run")
)


def run(*arguments: str, folder: Path = REPOSITORY) -> str:
    """Return what the program prints."""
    ran = run_command(
        command(*arguments),
        cwd=folder,
        env={"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in {0, 1, 3}, ran.stderr
    return ran.stdout


def objects(value: Any, schema: dict[str, Any]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the keys of every object of a report, and those that the schema has for them."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    if isinstance(value, list):
        for one in value:
            yield from objects(one, schema["items"])
    elif isinstance(value, dict) and "properties" in schema:
        yield list(value), list(schema["properties"])
        for key, one in value.items():
            yield from objects(one, schema["properties"][key])


# Rules


@every_rule
def test_every_rule_has_a_page_with_all_its_texts(rule: Any) -> None:
    text = pages()[f"{RULES}/{rule.code}/index.md"]
    assert text.startswith(f"# {rule.code}: {rule.name}\n")
    for name in rule.former_names:
        assert f"`{name}`" in text
    for heading in rule.sections():
        assert f"\n## {heading}\n" in text
    assert f"| Severity | {rule.severity.label} |" in text
    assert f"| Since | {rule.since} |" in text


@every_rule
def test_every_rule_is_in_the_index_of_its_family(rule: Any) -> None:
    listed = section(f"{RULES}/index.md", f"## {family(rule.code)}")
    assert f"| [{rule.code}]({rule.code}/index.md) | `{rule.name}` |" in listed


def test_only_rules_have_pages() -> None:
    found = {path.split("/")[2] for path in pages() if path.startswith(RULES)}
    assert found == {"index.md", *CATALOGUE}


def test_optional_rules_and_severities_of_profiles_are_shown() -> None:
    assert "in the profile `datastore`" in pages()[f"{RULES}/ES901/index.md"]
    assert "Severity in the profile `datastore` | error" in pages()[f"{RULES}/ES507/index.md"]


def test_examples_are_code_blocks() -> None:
    assert '```json\n{"performance":' in pages()[f"{RULES}/ES310/index.md"]
    assert '```text\n{"schema_version": "0.2.0", …}\\n' in pages()[f"{RULES}/ES505/index.md"]


# Command line


def test_the_table_of_gates_says_what_a_check_makes_of_each_rule() -> None:
    rows = pages()["reference/gates.md"].split("\n| [")[1:]
    assert [row[: row.index("]")] for row in rows] == list(CATALOGUE)
    gates = [Options(), Options(strict=True), Options(profile="datastore")]
    for rule, row in zip(CATALOGUE.values(), rows, strict=True):
        for cell, options in zip(row.split(" | ")[2:], gates, strict=True):
            selection = CATALOGUE.selection(options)
            severity = selection.severity(rule.violation("wrong"))
            fails = selection.fails(rule.code, severity, options.threshold)
            shown = f"**{severity.label}**" if fails else severity.label
            expected = shown if rule.code in selection.enabled else "off"
            assert cell.strip(" |\n") == expected, rule.code


@every_command
def test_every_command_has_its_arguments_and_options(command: Command) -> None:
    text = section("reference/command-line.md", f"## {command.name}")
    for option in command.options:
        for flag in "/".join(option_flags(option)).split("/"):
            assert flag in text, flag
        for former in option.text.former:
            assert f"{former} " not in text
    for argument in command.arguments:
        assert f"`{argument.text.metavar}`" in text
    for example in command.examples:
        assert f"\n{example}\n" in text


def test_all_commands_are_listed() -> None:
    assert [one.name for one in commands()] == list(COMMANDS)


def test_defaults_and_choices_and_exit_codes_are_shown() -> None:
    text = pages()["reference/command-line.md"]
    assert "(default: 100)" in text
    assert "error|warning|info" in text
    for number in ("0", "1", "2", "3", "129, 130, 143", "141"):
        assert f"\n| {number} |" in text


@each("name", ["check", "seal", "merge", "salvage", "ledger"])
def test_commands_have_examples_of_other_pages(name: str) -> None:
    text = section("reference/command-line.md", f"## {name}")
    assert f"evalstream {name} " in text.partition("**Examples**")[2]


# Python


@each("name", evalstream.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    heading = name.replace("_", r"\_")
    text = section("reference/python.md", f"### {heading}")
    value = getattr(evalstream, name)
    fields = getattr(value, "_fields", getattr(value, "__data_fields__", ()))
    for field in fields:
        assert f"\n| `{field}` | `" in text, field
    assert len(text.split()) > 5


def test_signatures_have_types_and_defaults() -> None:
    text = pages()["reference/python.md"]
    assert "\n    inputs: Input | Iterable[Input]," in text
    assert ") -> Report" in text
    assert "| `fail_on` | `Severity` | `Severity.ERROR` |" in text
    assert "ForwardRef" not in text
    assert " object at 0x" not in text


def test_every_parameter_has_type_default_and_meaning() -> None:
    for name in evalstream.__all__:
        function = getattr(evalstream, name)
        if inspect.isfunction(function):
            text = section("reference/python.md", f"### {name.replace('_', chr(92) + '_')}")
            text = re.sub(r"`[^`]*`", lambda code: code[0].replace("|", "or"), text)
            rows = {line.split("`")[1]: line for line in text.splitlines() if line[:3] == "| `"}
            for one, given in inspect.signature(function).parameters.items():
                _, typed, default, meaning = rows[one].strip("|").split(" | ")
                assert typed, (name, one)
                assert bool(default.strip()) is (given.default is not given.empty), (name, one)
                assert len(meaning) > 10, (name, one)


def test_errors_are_listed_with_their_reason() -> None:
    text = section("reference/python.md", "### check")
    assert "\n| `UsageError` | for a call that makes no sense |\n" in text
    assert "\n| `OSError` |  |\n" in section("reference/python.md", "### merge")


# Settings


@each("key", SETTINGS)
def test_every_setting_is_documented(key: str) -> None:
    form = settings_schema()["properties"][key]
    (line,) = (
        line
        for line in pages()["reference/settings.md"].splitlines()
        if line.startswith(f"| `{key}` | ")
    )
    assert form["description"] in line.replace(r"\|", "|")
    assert "default" not in form or f"| `{json.dumps(form['default'])}` |" in line


# Reports and formats


def test_the_schema_of_the_report_is_listed() -> None:
    own = ["comparison", "report", "rules", "settings"]
    assert report_schemas() == own
    assert run("schema", "list").split() == [*schema_documents(), *own]
    assert json.loads(run("schema", "show", "report")) == SCHEMA


@every_part
def test_every_key_of_the_report_is_described(part: str) -> None:
    text = section("reference/report.md", f"### {part}")
    definition = SCHEMA if part == "report" else SCHEMA["$defs"][part]
    for key, value in definition.get("properties", {}).items():
        assert f"\n| `{key}` | " in text, key
        assert value["description"] in text.replace(r"\|", "|")


def test_every_report_format_has_an_example() -> None:
    assert set(REPORTERS) >= {"text", "json", "jsonl", "github"}
    for name in REPORTERS:
        shown = "<!doctype html>" if name == "html" else "ES901"  # of a page only the beginning
        assert shown in section("reference/report.md", f"## {name}").partition("```")[2]


def test_findings_have_the_keys_of_the_schema_in_its_order() -> None:
    # A finding says last whether it found an excerpt.
    assert tuple(SCHEMA["$defs"]["finding"]["properties"]) == (*Finding._fields, "excerpt")


@each("arguments", CHECKED, ids=" ".join)
def test_reports_fit_their_schema_and_its_order(arguments: list[str]) -> None:
    report = json.loads(run("check", *arguments, "--format", "json"))
    assert list(REPORT.errors(report)) == []
    for keys, described in objects(report, SCHEMA):
        assert keys == [key for key in described if key in keys]
    lines = run("check", *arguments, "--format", "jsonl").splitlines()
    assert [error for line in lines for error in LINE.errors(json.loads(line))] == []


@pytest.mark.parametrize("side", ["bad", deep("good")])
def test_reports_about_every_rule_fit_their_schema(side: str, tmp_path: Path) -> None:
    for code in some(list(CATALOGUE), 60):
        apply_case(code, side, tmp_path / code)
    report = json.loads(run("check", ".", "--format", "json", folder=tmp_path))
    assert list(REPORT.errors(report)) == []
    assert report["total"]


def test_a_sealed_run_and_an_unchanged_run_fit_the_schema(tmp_path: Path) -> None:
    for name in ("run.jsonl", "aggregate.json"):
        (tmp_path / name).write_bytes((REPOSITORY / "examples" / name).read_bytes())
    named = ("run.jsonl", "--aggregate", "aggregate.json")
    sealed = json.loads(run("seal", *named, "--format", "json", folder=tmp_path))
    for _ in range(2):
        checked = evalstream.check(tmp_path / "run.jsonl", ledger=tmp_path / "runs.ledger")
    unchanged = checked.runs[0].as_dict()
    assert "sealed" in sealed["runs"][0]
    assert "unchanged" in unchanged
    assert [*REPORT.errors(sealed), *RUN.errors(unchanged)] == []


def test_the_schema_refuses_other_keys_and_values() -> None:
    report = json.loads(run("check", "examples/run.jsonl", "--format", "json"))
    assert list(REPORT.errors({**report, "more": 1}))
    assert list(REPORT.errors({**report, "runs": [{**report["runs"][0], "verdict": "good"}]}))
    assert list(LINE.errors({"summary": {}}))


def test_all_formats_and_their_schemas_are_listed() -> None:
    text = pages()["reference/formats.md"]
    for name in schema_documents():
        assert f"`{name}`" in text
    for line in run("formats").splitlines():
        assert line.split()[0] in text


# Markdown


def test_prose_links_codes_and_keeps_code_spans() -> None:
    links = {"ES402": "../ES402/index.md"}
    shown = prose("See ES402, ES403\nand `ES402 <a>*`: <b> *", links)
    assert shown == "See [ES402](../ES402/index.md), ES403 and `ES402 <a>*`: &lt;b> \\*"


def test_pipes_are_escaped_outside_code_only() -> None:
    assert table(["a"], [["x | `y | z`"]]) == "| a |\n| --- |\n| x \\| `y | z` |\n"
    assert table(["a"], []) == ""
