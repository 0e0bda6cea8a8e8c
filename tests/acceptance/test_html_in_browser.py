"""The page in a browser: it fits narrow and wide windows, has no errors, and is dark if asked to.

Each page is looked at in a frame of another one, whose script measures it. Needs Chromium.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from comparison_fixture import flip, many_runs, report, subtasks, written
from depth import deep
from paths import EXAMPLES, REPOSITORY

import evalstream
from evalstream.reporters.html import HtmlReporter

sys.path.insert(0, str(REPOSITORY / "scripts"))

from html_example import write

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

FRAME = """<!doctype html><meta charset="utf-8"><body>
<iframe style="border:0;width:{width}px;height:2000px" srcdoc="{page}"></iframe>
<pre id="measured"></pre>
<script>
addEventListener("load", () => {{
  const page = document.querySelector("iframe").contentDocument;
  const seen = (one) => one.getBoundingClientRect().height > 0;
  const table = page.querySelector("table.runs");
  const cells = (column) => [...page.querySelectorAll("table.runs tbody tr")].filter(seen)
    .map((row) => row.cells[column].textContent);
  const runs = {{}};
  if (table) {{
    runs.all = cells(0);
    const choice = page.querySelector("form.filter select");
    choice.value = "failed";
    choice.dispatchEvent(new Event("input", {{bubbles: true}}));
    runs.failed = cells(0);
    runs.count = page.querySelector("form.filter output").textContent;
    choice.value = "";
    choice.dispatchEvent(new Event("input", {{bubbles: true}}));
    table.tHead.rows[0].cells[3].querySelector("button").click();
    runs.errors = cells(3).map(Number);
    table.tHead.rows[0].cells[1].querySelector("button").click();
    runs.names = cells(1);
  }}
  document.getElementById("measured").textContent = JSON.stringify({{
    width: page.documentElement.scrollWidth,
    sections: [...page.querySelectorAll("h1, h2")].filter(seen).map((one) => one.textContent),
    pictures: [...page.querySelectorAll("svg")].filter(seen).length,
    runs,
    background: getComputedStyle(page.body).backgroundColor,
    color: getComputedStyle(page.body).color,
  }});
}});
</script>"""


@cache
def pages() -> dict[str, str]:
    """Return the page of one made-up run, and that of a batch."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        write(str(path))
        kept: list[str] = []

        class Sink:
            def write(self, data: str | bytes) -> None:
                kept.append(str(data))

        evalstream.check(EXAMPLES, reporter=HtmlReporter(Sink()))
        compared = {
            "two runs": written("html", report(), [flip()]),
            "three runs": written("html", many_runs(), [flip(answer_a="x" * 900)]),
            "subtasks": written("html", subtasks()),
        }
        return {"alone": path.read_text(), "batch": "".join(kept), **compared}


MEASURED: dict[tuple[str, int, bool], dict[str, Any]] = {}


def measured(which: str, width: int, tmp_path: Path, *, dark: bool = False) -> dict[str, Any]:
    """Return what a browser measures of a page. Fails if it logs an error."""
    if (which, width, dark) not in MEASURED:
        MEASURED[which, width, dark] = measure(which, width, tmp_path, dark=dark)
    return MEASURED[which, width, dark]


def measure(which: str, width: int, tmp_path: Path, *, dark: bool) -> dict[str, Any]:
    """Have a browser measure a page."""
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(width=width, page=html.escape(pages()[which])))
    command = [
        CHROMIUM or "",
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        *("--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom", frame.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert ":CONSOLE" not in done.stderr
    found = re.search(r'<pre id="measured">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None
    result: dict[str, Any] = json.loads(html.unescape(found.group(1)))
    return result


@pytest.mark.parametrize("width", [400, deep(1200)])
@pytest.mark.parametrize("which", ["alone", "batch"])
def test_a_page_fits_its_window_and_shows_its_sections(
    which: str, width: int, tmp_path: Path
) -> None:
    seen = measured(which, width, tmp_path)
    assert seen["width"] <= width
    assert any("Failed" in title for title in seen["sections"])
    assert any("Findings" in title for title in seen["sections"])
    # The pictures of a batch are in the folded details of its runs.
    assert which == "batch" or seen["pictures"] > 0


def test_the_table_of_runs_sorts_and_filters(tmp_path: Path) -> None:
    runs = measured("batch", 1200, tmp_path)["runs"]
    assert len(runs["failed"]) == sum("Failed" in verdict for verdict in runs["all"])
    assert 0 < len(runs["failed"]) < len(runs["all"])
    assert runs["count"] == f"{len(runs['failed'])} of {len(runs['all'])} listed"
    assert runs["errors"] == sorted(runs["errors"], reverse=True)
    assert len(set(runs["errors"])) > 1
    assert len(runs["names"]) == len(runs["all"])


def test_a_dark_page_has_other_colours(tmp_path: Path) -> None:
    light, dark = (measured("alone", 400, tmp_path, dark=dark) for dark in (False, True))
    assert light["background"] != dark["background"]
    assert light["color"] != dark["color"]


@pytest.mark.parametrize("which", ["three runs", deep("two runs"), deep("subtasks")])
@pytest.mark.parametrize("width", [360, deep(1280)])
def test_a_comparison_fits_the_window(which: str, width: int, tmp_path: Path) -> None:
    seen = measured(which, width, tmp_path)
    assert seen["width"] <= width
    assert "Differences" in seen["sections"]
    assert seen["pictures"] > 0


def test_a_comparison_is_dark_if_asked_to(tmp_path: Path) -> None:
    shown = [measured("three runs", 1280, tmp_path, dark=dark) for dark in (False, True)]
    assert shown[0]["background"] != shown[1]["background"]
