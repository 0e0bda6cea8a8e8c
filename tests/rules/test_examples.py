"""The examples that the rules' documentation shows are true of the rules' cases."""

import json
from pathlib import Path

import pytest
from edits import apply_case
from rule_examples import Block, blocks, contains, document, shows_line

from evalstream.formats.registry import CATALOGUE
from evalstream.rules.base import Rule

NOT_JSON_ALONE = {
    "ES001": "the file is missing",
    "ES002": "the defect is in the compressed bytes",
    "ES003": "the line is too long to be shown",
    "ES004": "the defect is what happens during the check",
    "ES005": "the defect is in the name of the input",
    "ES006": "the line is not JSON",
    "ES007": "an option is the difference",
    "ES010": "the defect is not in a document",
    "ES011": "the list of ids is the difference",
    "ES012": "the digests are the difference",
    "ES101": "the defect is in the bytes",
    "ES102": "the defect is in the bytes",
    "ES103": "the line is not JSON",
    "ES104": "the line is not JSON",
    "ES105": "the line is not one JSON value",
    "ES106": "the defect is in the bytes",
    "ES107": "a parsed object has each key once",
    "ES108": "NaN is not JSON",
    "ES109": "the line is not a row",
    "ES110": "the line is blank",
    "ES111": "the defect is the missing newline",
    "ES112": "the defect is in the end of the line",
    "ES113": "an option is the difference",
    "ES402": "a hash does not show what it covers",
    "ES403": "a hash does not show what it covers",
    "ES404": "a hash does not show what it covers",
    "ES501": "a checksum does not show what it covers",
    "ES503": "the number of rows is in no row",
    "ES504": "the file has no rows",
    "ES505": "the layout of the rows is seen in their bytes",
    "ES507": "the name of the rows file is in no document",
    "ES607": "the row is missing",
    "ES902": "which files lie beside each other is in no document",
    "INS101": "the defect is in the bytes of an archive",
    "INS102": "the defect is in the directory of an archive",
    "INS103": "the defect is in the directory of an archive",
    "INS104": "the defect is in the directory of an archive",
    "INS106": "the defect is in a member of an archive",
    "INS108": "the member is missing",
    "INS205": "the defect is in the name of a member",
    "INS206": "the defect is in a member of an archive",
    "EVG402": "the rule reports every value, so that only a folder without reports is good",
}
"""Rules whose examples have prose or bytes, and why JSON alone does not show the defect."""

both_sides = pytest.mark.parametrize("side", ["bad", "good"])
every_rule = pytest.mark.parametrize("rule", CATALOGUE.values(), ids=CATALOGUE.keys())


def shown(rule: Rule, side: str) -> list[Block]:
    """Return the parts of one of the two examples of a rule."""
    return blocks(rule.bad if side == "bad" else rule.good)


@both_sides
@every_rule
def test_what_an_example_shows_is_in_the_files_of_the_case(
    rule: Rule, side: str, tmp_path: Path
) -> None:
    case = apply_case(rule.code, side, tmp_path)
    for block in shown(rule, side):
        if block.line:
            assert shows_line(case, block), block
        elif block.label is not None:
            whole = document(case, block.label, tmp_path)
            part = json.loads(block.text)
            assert contains(whole, part), block
            assert not block.label.endswith("of the rows") or len(part) == len(whole), block


@every_rule
def test_an_example_is_json_unless_a_reason_is_given(rule: Rule) -> None:
    parts = shown(rule, "bad") + shown(rule, "good")
    is_json = all(block.label is not None and block.line is None for block in parts)
    assert is_json == (rule.code not in NOT_JSON_ALONE)


@every_rule
def test_the_two_examples_differ_and_are_short(rule: Rule) -> None:
    assert rule.bad != rule.good
    assert max(len(rule.bad.splitlines()), len(rule.good.splitlines())) <= 16


def test_only_known_rules_have_a_reason() -> None:
    assert set(NOT_JSON_ALONE) <= set(CATALOGUE)


@pytest.mark.parametrize(
    ("whole", "part", "is_contained"),
    [
        ({"a": 1, "b": 2}, {"b": 2}, True),
        ({"a": 1}, {"b": 2}, False),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": None}, {"a": None}, True),
        ({}, {"a": None}, False),
        ([1, 2, 3], [1, 3], True),
        ([1, 2, 3], [3, 1], False),
        ([1], [1, 1], False),
        ([{"a": 1, "b": 2}, {"a": 3}], [{"b": 2}, {"a": 3}], True),
        ({"a": [{"b": []}]}, {"a": [{"b": {}}]}, False),
    ],
)
def test_a_part_is_contained_in_order_and_by_type(
    whole: object, part: object, is_contained: bool
) -> None:
    assert contains(whole, part) is is_contained


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ('{"schema_version": "0.2.0", …}', True),
        ('{"schema_version": "0.2.0", …}\\n', True),
        ('{… "evaluation": {"score": 1.0, …}, …}', True),
        ('{… "evaluation": {"score": 0.0, …}, …}', False),
        ('{"schema_version": "0.2.0", …}\\r\\n', False),
        ('{"schema_version": "0.2.0"}', False),
        ("\\xef\\xbb\\xbf{…}", False),
        ("…", True),
    ],
)
def test_a_line_is_shown_from_its_first_byte_to_its_last(
    text: str, is_shown: bool, tmp_path: Path
) -> None:
    case = apply_case("ES307", "good", tmp_path)
    assert shows_line(case, Block("line 1, as bytes", text)) is is_shown


def test_the_last_line_is_shown_with_its_end(tmp_path: Path) -> None:
    block = Block("line 8, the last, as bytes", "{…}")
    assert shows_line(apply_case("ES111", "bad", tmp_path / "bad"), block)
    assert not shows_line(apply_case("ES111", "good", tmp_path / "good"), block)
