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
    ran = subprocess.run(
        [sys.executable, "-m", "evalstream", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode not in {0, 1}:
        raise RuntimeError(f"evalstream {' '.join(arguments)}: {ran.stderr}")
    return ran.stdout
