"""Commands of this package as processes: started, fed, read and waited for."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paths import REPOSITORY

SECONDS = 30


def command(*arguments: str) -> list[str]:
    """Return a command that checks something with this package."""
    return [sys.executable, "-m", "evalstream", *arguments]


def environment() -> dict[str, str]:
    """Return an environment in which the command finds this package."""
    return {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONWARNINGS": "error,ignore::DeprecationWarning:typer",
    }


def started(*arguments: str, folder: Path, **more: Any) -> "subprocess.Popen[bytes]":
    """Start a check that reads from a pipe."""
    return subprocess.Popen(
        command(*arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(),
        bufsize=0,
        **more,
    )


def filtered(data: bytes, *arguments: str, folder: Path) -> tuple[int, bytes, str]:
    """Send rows through a check; return its exit code, what came out, and what it said."""
    with started("check", "-", *arguments, folder=folder) as process:
        out, errors = process.communicate(data, timeout=SECONDS)
    return process.returncode, out, errors.decode()


def until(process: "subprocess.Popen[bytes]", size: int) -> bytes:
    """Read so many bytes of a process's output."""
    assert process.stdout is not None
    got = b""
    while len(got) < size and (piece := os.read(process.stdout.fileno(), 1 << 16)):
        got += piece
    return got


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something holds, and fail if it does not for long."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def filtered_arguments(arguments: list[str], folder: Path) -> tuple[int, bytes, str]:
    """Run a check with these arguments and no input."""
    with started("check", *arguments, folder=folder) as process:
        out, errors = process.communicate(timeout=SECONDS)
    return process.returncode, out, errors.decode()
