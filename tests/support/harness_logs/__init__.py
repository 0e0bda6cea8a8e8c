"""Real logs of both harnesses, made on the spot with their mock models, and their pairs."""

import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from paths import REPOSITORY

PYTHON = Path(
    os.environ.get("EVALSTREAM_HARNESSES", REPOSITORY / ".venv-harnesses" / "bin" / "python")
)
needs_harnesses = pytest.mark.skipif(
    not PYTHON.exists(), reason="scripts/harnesses was not run, and EVALSTREAM_HARNESSES is not set"
)


def _run(driver: str, *arguments: str) -> str:
    """Run a driver of this folder under the harnesses' Python; return what it prints."""
    script = Path(__file__).with_name(driver)
    offline = {
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "INSPECT_DISPLAY": "none",
        "DISABLE_MULTIPROC": "1",
    }
    done = subprocess.run(
        [str(PYTHON), str(script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **offline},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@cache
def inspect_logs(folder: Path) -> Path:
    """Write all Inspect logs below a folder, once: `NAME-eval/*.eval` and `NAME-json/*.json`."""
    _run("inspect_driver.py", str(folder))
    return folder


def inspect_schema() -> str:
    """Return the schema of Inspect's logs as `schemas/inspect/log.json` has it."""
    return _run("inspect_schema_driver.py")


@cache
def inspect_figure_logs(folder: Path) -> Path:
    """Write an Inspect log for each metric and reducer below a folder, once: `NAME/*.json`."""
    _run("inspect_figures_driver.py", str(folder))
    return folder


@cache
def lm_eval_logs(folder: Path) -> Path:
    """Write all runs of lm-eval below a folder, once: `RUN/acme__acorn-1b/*`."""
    _run("lm_eval_driver.py", str(folder))
    return folder


@cache
def lm_eval_metric_logs(folder: Path) -> Path:
    """Write a log for each metric of lm-eval below a folder, once: `RUN/acme__acorn-1b/*`."""
    _run("lm_eval_metrics_driver.py", str(folder))
    return folder


def inspect_log(folder: Path, name: str, layout: str = "eval") -> Path:
    """Return the file of one Inspect log."""
    (found,) = (folder / f"{name}-{layout}").iterdir()
    return found


def convert(harness: str, logs: Sequence[Path], folder: Path) -> dict[Path, Path]:
    """Let upstream's converter turn logs into pairs; return their folders, of those it accepted.

    Logs of Inspect's mock model are converted from a copy that names another provider, since the
    converter refuses the mock one; see `open_source`.
    """
    outputs = [folder / f"{number}" for number, _ in enumerate(logs)]
    given = [str(path) for both in zip(logs, outputs, strict=True) for path in both]
    said = _run("converter_driver.py", harness, *given).split()
    accepted = (line == "True" for line in said)
    return {log: out for log, out, is_one in zip(logs, outputs, accepted, strict=True) if is_one}


def source_of(harness: str, log: Path, output: Path) -> Path:
    """Return the log that the pairs in a folder come from."""
    return log if harness == "lm_eval" else output.parent / f"{output.name}-source" / log.name
