"""Declarations of rules: the front matter of their pages, and the table that the build makes."""

from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from each import each
from paths import REPOSITORY

from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import Severity, Status
from evalstream.rules import base, pages
from evalstream.rules.base import Repair, RepairAction, declare_rule
from evalstream.rules.front_matter import TABLE, read_front_matter, write_table

ACTION = RepairAction.WRITE_TEXT

PAGE = """---
name: negative-seed
severity: warning
summary: "a seed: below 0"
former_names: ["seed-sign", "seed"]
optional: true
status: preview
needs: source
---

## What it finds
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Take pages from an empty folder."""
    monkeypatch.setattr(pages, "page_folders", lambda: (str(tmp_path),))
    return tmp_path


def test_a_rule_that_the_table_lacks_is_declared_by_its_page(folder: Path) -> None:
    (folder / "TS901.md").write_text(PAGE)
    rule = declare_rule("TS901", reads=("/seed",), in_scanner=True)
    assert (rule.code, rule.name, rule.severity) == ("TS901", "negative-seed", Severity.WARNING)
    assert (rule.summary, rule.former_names) == ("a seed: below 0", ("seed-sign", "seed"))
    assert (rule.optional, rule.status, rule.needs) == (True, Status.PREVIEW, "source")
    assert (rule.reads, rule.in_scanner, rule.in_store) == (("/seed",), True, False)


def test_a_checkout_without_the_table_has_the_same_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    table = base._load_table()
    monkeypatch.setattr(base, "_load_table", dict)
    assert {code: base._read_declaration(code) for code in CATALOGUE} == table


@each(
    ("before", "after", "error"),
    [
        ("optional", "optonal", TypeError),
        ("severity: warning", "severity: severe", KeyError),
        ("severity: warning\n", "", KeyError),
        ("name: negative-seed\n", "", TypeError),
        ("preview", "draft", ValueError),
        ("---\nname", "name", ValueError),
    ],
)
def test_a_wrong_declaration_is_refused(
    folder: Path, before: str, after: str, error: type[Exception]
) -> None:
    (folder / "TS901.md").write_text(PAGE.replace(before, after, 1))
    with pytest.raises(error):
        declare_rule("TS901")


@each(
    ("is_refused", "repair", "checks"),
    [
        (True, Repair(ACTION, "mends", limit="some"), {"row": print}),
        (True, Repair(ACTION, "mends", limit="some"), {"row": print, "run": print}),
        (True, Repair(ACTION, "mends", limit="some"), {}),
        (False, Repair(ACTION, "mends", limit="some"), {"run": print}),
        (False, Repair(ACTION, "mends", limit="some", severity=Severity.INFO), {"row": print}),
        (False, Repair(ACTION, "mends", is_safe=False, limit="some"), {"row": print}),
        (False, Repair(ACTION, "mends"), {"row": print}),
    ],
)
def test_a_repair_that_a_check_of_rows_cannot_count_is_refused(
    folder: Path, *, is_refused: bool, repair: Repair, checks: dict[str, Any]
) -> None:
    (folder / "TS901.md").write_text(PAGE)
    refusal = pytest.raises(ValueError, match=r"^TS901: .* has no limit")
    with refusal if is_refused else nullcontext():
        declare_rule("TS901", repair=repair, **checks)


def test_front_matter_is_the_yaml_that_others_read_in_it() -> None:
    for code in CATALOGUE:
        page = Path(pages.page_path(code)).read_text("utf-8")
        declared = {name: list(one) if isinstance(one, tuple) else one
                    for name, one in read_front_matter(page).items()}  # fmt: skip
        assert declared == yaml.safe_load(page.split("---\n")[1]), code


def test_a_code_with_two_pages_is_refused(tmp_path: Path) -> None:
    for code, folder in (("TS901", "rules"), ("TS902", "rules"), ("TS901", "formats/one/rules")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / f"{code}.md").write_text(PAGE)
    with pytest.raises(ValueError, match="two pages declare the rule TS901"):
        write_table(tmp_path)
    (tmp_path / "formats" / "one" / "rules" / "TS901.md").unlink()
    write_table(tmp_path)
    assert "TS902" in (tmp_path / "rules" / f"{TABLE}.py").read_text()


def test_the_table_of_the_build_is_that_of_the_pages(tmp_path: Path) -> None:
    """Where it fails, scripts/run or scripts/test was not called since a page changed."""
    (tmp_path / "rules").mkdir()
    for folder in pages.page_folders():
        for page in Path(folder).glob("*.md"):
            (tmp_path / "rules" / page.name).write_bytes(page.read_bytes())
    write_table(tmp_path)
    built = Path(str(import_module(f"evalstream.rules.{TABLE}").__file__))
    assert built.read_bytes() == (tmp_path / "rules" / f"{TABLE}.py").read_bytes()
    assert built.is_relative_to(REPOSITORY)
    assert [path.name for path in built.parent.glob(".*.py*")] == []
