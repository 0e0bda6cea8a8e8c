"""What the program prints, and the files that the reference reads."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"


@cache
def printed(*arguments: str) -> str:
    """Return what `evalstream` prints to standard output, called in the checkout."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    # A report must not depend on the workflow that builds the pages, nor add to its summary.
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("GITHUB_")}
    ran = subprocess.run(
        [sys.executable, "-m", "evalstream", *arguments],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode not in {0, 1}:
        raise RuntimeError(f"evalstream {' '.join(arguments)}: {ran.stderr}")
    return ran.stdout
