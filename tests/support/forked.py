"""Many command lines in one process that forks for each: starting Python is what takes time."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commands import environment

_DRIVER = """
import json, os, sys

from importlib import import_module
from pkgutil import iter_modules

from evalstream import cli

# Each child would import them anew.
for module in iter_modules(cli.__path__, "evalstream.cli."):
    import_module(module.name)


def run(case):
    os.chdir(case["folder"])
    os.dup2(os.open(case["stdin"] or os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, case["stdout"] or "../out"), (2, "../errors")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), number)
    for number in case["closed"]:
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)
    sys.argv = ["evalstream", *case["arguments"]]
    cli.main()


codes = []
for case in json.load(sys.stdin):
    child = os.fork()
    if not child:
        try:
            run(case)
        except SystemExit as end:
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
            os._exit(end.code or 0)
        finally:
            os._exit(99)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(codes))
"""


class Case(NamedTuple):
    """A command line to be run in a folder, the parent of which takes what it says.

    The descriptors that are `closed` are so from the beginning.
    """

    folder: Path
    arguments: Sequence[str]
    stdin: str | None = None
    stdout: str | None = None
    closed: Sequence[int] = ()


def exit_codes(cases: Sequence[Case]) -> list[int]:
    """Run command lines one after the other, and return their exit codes."""
    said = [{**case._asdict(), "folder": str(case.folder)} for case in cases]
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER],
        input=json.dumps(said),
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    codes: list[int] = json.loads(done.stdout)
    return codes


def errors_of(case: Case) -> str:
    """Return what a command line said on standard error."""
    return (case.folder.parent / "errors").read_text()


def contents(folder: Path) -> dict[str, Any]:
    """Return what lies in a folder: names, and what files hold or links lead to."""
    return {
        str(path.relative_to(folder)): path.readlink() if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
