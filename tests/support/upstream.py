"""The format's own validator: where it is, and how to ask it."""

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from paths import REPOSITORY

PYTHON = Path(
    os.environ.get("EVALSTREAM_UPSTREAM", REPOSITORY / ".venv-upstream" / "bin" / "python")
)
needs_upstream = pytest.mark.skipif(
    not PYTHON.exists(), reason="scripts/upstream was not run, and EVALSTREAM_UPSTREAM is not set"
)


class Said(NamedTuple):
    """What upstream says of a file: kinds and messages of its errors and its warnings."""

    errors: tuple[tuple[str, str], ...]
    warnings: tuple[tuple[str, str], ...]

    @property
    def refused(self) -> bool:
        """Whether its gate refuses the file: what has warnings is not merged either."""
        return bool(self.errors or self.warnings)


def answers(questions: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Put questions to upstream, all in one process; see upstream_driver."""
    asked = "".join(json.dumps(question) + "\n" for question in questions)
    driver = Path(__file__).with_name("upstream_driver.py")
    answer = subprocess.run(
        [str(PYTHON), str(driver)], input=asked, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in answer.stdout.splitlines()]


def said_of(paths: Iterable[Path]) -> list[Said]:
    """Let upstream's validate command judge files."""
    found = answers(("file", str(path)) for path in paths)
    return [Said(*(tuple((kind, text) for kind, text in some) for some in one)) for one in found]
