"""The commands `rules` and `explain`."""

import json
from typing import Any

import pytest
from each import each

from evalstream.cli.command import load_command
from evalstream.formats.registry import CATALOGUE, NAMES
from evalstream.model.finding import BAD, FOUND
from evalstream.parsing.json_schema import compile_schema
from evalstream.parsing.schema_files import builtin_schema

SCHEMA = builtin_schema("rules")


def shown(capsys: pytest.CaptureFixture[str], name: str, *codes: str, form: str = "text") -> str:
    """Return what a command writes about rules."""
    given = {"codes": list(codes) or None, "form": form, "digest": False, "color": "auto"}
    command = load_command(name)
    command.function(**command.bind(given))
    return capsys.readouterr().out


def test_all_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "rules").splitlines()
    assert [line.split()[0] for line in lines] == list(CATALOGUE)


@each("text", ["ES401", "es401", "sample-hash-mismatch"])
def test_one_rule_is_explained(capsys: pytest.CaptureFixture[str], text: str) -> None:
    expected = CATALOGUE["ES401"].explain() + "\n"
    assert shown(capsys, "rules", text) == shown(capsys, "explain", text) == expected


def test_former_names_name_their_rule(capsys: pytest.CaptureFixture[str]) -> None:
    former = [(name, rule) for rule in CATALOGUE.values() for name in rule.former_names]
    assert former
    for name, rule in former:
        assert shown(capsys, "rules", name) == f"{rule.explain()}\n"


def test_several_arguments_give_each_rule_once_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    listed = shown(capsys, "rules", "ES50", "checksum-mismatch", "ES401").splitlines()
    codes = [line.split()[0] for line in listed]
    assert codes == ["ES401", *(code for code in CATALOGUE if code.startswith("ES50"))]
    both = shown(capsys, "rules", "ES501", "ES401")
    texts = [CATALOGUE[code].explain() for code in ("ES401", "ES501")]
    assert both == "{}\n\n{}\n".format(*texts)


def test_a_beginning_of_codes_is_explained_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "explain", "ES70")
    assert text.count("How to fix:") == len(CATALOGUE.find("ES70"))


@each("codes", [(), ("ES4", "EVG", "INF1", "HAR"), ("ES401",)])
def test_json_fits_its_schema(capsys: pytest.CaptureFixture[str], codes: tuple[str, ...]) -> None:
    written: dict[str, Any] = json.loads(shown(capsys, "rules", *codes, form="json"))
    assert list(compile_schema(SCHEMA).errors(written)) == []
    assert list(written) == list(SCHEMA["properties"])
    for one in written["rules"]:
        rule = CATALOGUE[one["code"]]
        assert list(one) == list(SCHEMA["$defs"]["rule"]["properties"])
        assert (one["name"], one["severity"]) == (rule.name, rule.severity.label)
        assert one["help"]["finds"] == rule.sections()[FOUND]
        assert one["examples"]["bad"] == rule.sections()[BAD]


def test_json_names_the_formats_of_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    written = json.loads(shown(capsys, "rules", "ES001", "ES401", "HAR101", form="json"))
    formats = {one["code"]: one["formats"] for one in written["rules"]}
    assert formats == {"ES001": list(NAMES), "ES401": ["eee"], "HAR101": ["harpia"]}


def test_markdown_is_a_table_or_sections(capsys: pytest.CaptureFixture[str]) -> None:
    table = shown(capsys, "rules", "ES2", form="markdown").splitlines()
    assert len(table) == 2 + len(CATALOGUE.find("ES2"))
    assert all(line.count("|") - line.count("\\|") == 5 for line in table)
    section = shown(capsys, "explain", "ES401", form="markdown")
    assert section.startswith("## ES401: sample-hash-mismatch\n")
    assert "\n### How to fix\n" in section
    assert section.count("```") == 4
