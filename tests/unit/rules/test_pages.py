"""Pages of rules: read when a text is asked for, without what only tests read."""

import subprocess
import sys
from pathlib import Path

import pytest
from paths import EXAMPLES

import evalstream
from evalstream.formats.registry import CATALOGUE
from evalstream.rules import pages

PAGE = """## What it finds

A seed below 0.

## Bad

With --strict:

row 3:

```json
{
  "seed": -1
}
```

```changes
row 3 /error removed
```
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Take pages from an empty folder."""
    monkeypatch.setattr(pages, "page_folders", lambda: (str(tmp_path),))
    return tmp_path


def test_an_example_has_its_fences_indented_and_no_changes(folder: Path) -> None:
    (folder / "TS901.md").write_text(PAGE)
    page = pages.read_page("TS901")
    assert page["What it finds"] == "A seed below 0."
    assert page["Bad"] == 'With --strict:\nrow 3:\n  {\n    "seed": -1\n  }'
    shown = pages.without_changes(pages.read_sections("TS901")["Bad"])
    assert shown.endswith('"seed": -1\n}\n```')


def test_a_rule_without_a_page_is_named(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"TS902\.md"):
        pages.read_page("TS902")


def test_rules_are_loaded_without_their_pages() -> None:
    code = (
        "import sys\n"
        "from evalstream.formats.registry import CATALOGUE\n"
        "print(len(list(CATALOGUE.values())), 'evalstream.rules.pages' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{len(CATALOGUE)} False\n"


def test_a_check_reads_the_pages_of_what_it_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    read_sections = pages.read_sections

    def note(code: str) -> dict[str, str]:
        read.append(code)
        return read_sections(code)

    monkeypatch.setattr(pages, "read_sections", note)
    pages.read_page.cache_clear()
    report = evalstream.check(EXAMPLES / "tampered")
    assert report.counts
    assert read == list(report.counts)
