"""Checks that a tag, the version of the package and the changelog agree.

Usage: python release_check.py v1.2.3; the exit code is 0 if they do.
"""

import re
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def problems(tag: str, version: str, changelog: str) -> list[str]:
    """Return what does not agree, in sentences."""
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, but evalstream/_version.py has {version}")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, changelog, re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading: ## [{version}] - YYYY-MM-DD")
    return found


def main(tag: str) -> int:
    """Print what does not agree; return how much that is."""
    version = runpy.run_path(str(ROOT / "evalstream" / "_version.py"))["__version__"]
    found = problems(tag, version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    for one in found:
        print(one, file=sys.stderr)
    return len(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
