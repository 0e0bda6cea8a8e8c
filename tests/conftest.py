"""What all tests share: helpers, and the option that rewrites goldens and transcripts."""

import gc
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from evalstream.formats.eee import row_engine
from evalstream.formats.helm import reader as helm_reader
from evalstream.formats.lm_eval import row_engine as lm_eval_row_engine
from evalstream.io import readers

# Helpers are imported by their names alone; test modules never import from each other.
sys.path.insert(0, str(Path(__file__).parent / "support"))
from commands import share_server
from depth import examples, is_deep, set_depth
from each import case_labels
from skips import MOST_SKIPPED

Compare = Callable[[Path, str], None]

COLLECT_AFTER = 20_000
"""How many new containers start a search for garbage, which else takes a twelfth of the time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--rewrite`, which writes goldens instead of comparing them, and `--few-skips`."""
    parser.addoption(
        "--rewrite", action="store_true", help="rewrite expectations and the schema of settings"
    )
    parser.addoption("--few-skips", action="store_true", help="fail if too many tests are skipped")
    parser.addoption("--deep", action="store_true", help="search far (tests/support/depth.py)")


def let_files_of_any_size_take_the_fast_path() -> None:
    """Let the rows of small files take the fast path, too, in every test.

    Without this they take the exact path alone, as loading the scanner takes longer than checking
    them. A test of the exact path sets the option `engine` to "rust" or "portable". Processes that
    a test starts decide by size, as for a user.
    """
    row_engine.WORTH_A_SCANNER_BYTES = 0  # type: ignore[misc]
    helm_reader.WORTH_BYTES = 0  # type: ignore[misc]
    lm_eval_row_engine.WORTH_BYTES = 0  # type: ignore[misc]


def pytest_configure(config: pytest.Config) -> None:
    """Choose how far tests search, before their modules are imported."""
    set_depth(deep=config.getoption("--deep"))
    # A ledger remembers files that were just written: a ctime cannot be set.
    readers.YOUNG_NANOSECONDS = -(10**18)  # type: ignore[misc]
    let_files_of_any_size_take_the_fast_path()
    # Tests stay out of the workflow that runs them: its checkout, and its job summary.
    for name in ("GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY"):
        os.environ.pop(name, None)
    # A busy machine must not fail a property.
    settings.register_profile(
        "untimed",
        deadline=None,
        max_examples=examples(100),
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("untimed")
    if not is_deep():
        # Reading the constants of all sources, which are drawn now and then, takes seconds.
        providers._get_local_constants = Constants
    # Several processes share one server of the program.
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        share_server()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let `-k` find a test by each of its cases."""
    item.extra_keyword_matches.update(case_labels(item))


def pytest_collection_finish() -> None:
    """Keep what was collected out of every later search for garbage, and whole in forks."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


def pytest_report_header() -> str:
    """Say what differs from a user's call."""
    return "fast path: for files of any size (tests/conftest.py)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is deep, unless that is asked for, and run last what leaves threads behind.

    Workers see what a test patched only if they are forked, and they are forked only from a process
    with one thread.
    """
    if not is_deep():
        deep = [item for item in items if item.get_closest_marker("deep") is not None]
        config.hook.pytest_deselected(items=deep)
        items[:] = [item for item in items if item.get_closest_marker("deep") is None]
    items.sort(key=lambda item: item.get_closest_marker("leaves_threads") is not None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a session in which more tests were skipped than `MOST_SKIPPED` allows."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not session.config.getoption("--few-skips"):
        return
    skipped = len(reporter.stats.get("skipped", ()))
    if skipped > MOST_SKIPPED:
        reporter.write_line(
            f"\n{skipped} tests were skipped, more than {MOST_SKIPPED} (--few-skips)"
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def compare(request: pytest.FixtureRequest) -> Compare:
    """Compare a text with a file of expectations, or rewrite the file."""

    def compared(path: Path, seen: str) -> None:
        if request.config.getoption("--rewrite"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(seen, encoding="utf-8")
        assert path.exists(), f"{path} is missing; write it with: pytest --rewrite"
        hint = f"{path} is not up to date; read the diff of: scripts/test --rewrite"
        assert seen == path.read_text(encoding="utf-8"), hint

    return compared


@pytest.fixture
def compare_json(compare: Compare) -> Callable[[Path, Any], None]:
    """Compare a value with a JSON file of expectations, or rewrite the file."""

    def compared(path: Path, seen: Any) -> None:
        compare(path, json.dumps(seen, indent=2, ensure_ascii=False) + "\n")

    return compared
