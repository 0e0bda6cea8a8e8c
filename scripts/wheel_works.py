"""Tests an installed wheel: its scanner is loaded, a sound pair passes, a tampered one fails.

Usage: python wheel_works.py EXAMPLES [--pure]; the exit code is 0 if all of it holds.
"""

import subprocess
import sys
from pathlib import Path

WITHOUT_SCANNER = "without its scanner"


def evalstream(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed program with the Python that runs this."""
    command = [sys.executable, "-m", "evalstream", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main(examples: Path, *, pure: bool) -> int:
    """Return the number of things that do not hold, and print each."""
    pair = [str(examples / "run.jsonl"), "--aggregate", str(examples / "aggregate.json")]
    version, sound = evalstream("--version"), evalstream("check", *pair)
    tampered = evalstream("check", str(examples / "tampered"))
    held = {
        f"it has {'no' if pure else 'its'} scanner": (WITHOUT_SCANNER in version.stdout) == pure,
        "the sound pair passes": sound.returncode == 0,
        "the tampered pair fails": tampered.returncode == 1 and "ES501" in tampered.stdout,
    }
    print(version.stdout.strip())
    for text, holds in held.items():
        print(f"{'ok' if holds else 'NOT OK'}: {text}")
    if not all(held.values()):
        print(version.stderr, sound.stdout, sound.stderr, tampered.stderr, sep="\n")
    return len(held) - sum(held.values())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), pure="--pure" in sys.argv[2:]))
