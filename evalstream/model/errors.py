"""Exceptions of evalstream: failures of a run itself; defects of the data are findings.

EvalstreamError
├── UsageError        the options or arguments are not valid         exit 2
├── CannotWrite       an output could not be written                 exit 3
├── InternalError     a bug, met while one input was worked on       exit 3
└── CannotCheck       an input could not be read                     exit 3
    ├── MissingExtra  a library for this input is not installed
    ├── BrokenCompression  a compressed stream is damaged or truncated
    ├── WorkerLost    a worker process died on the same block again
    └── ExecutorLost  the executor is gone, such as the scheduler of a cluster
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from re import Match


class EvalstreamError(Exception):
    """Base of every exception that evalstream raises on purpose."""


class UsageError(EvalstreamError):
    """The options or arguments contradict each other or name something unknown.

    The message names options as keywords of Python; `on_command_line` has its flags.
    """

    @property
    def on_command_line(self) -> str:
        """The message with the flags of the command line."""
        return super().__str__()

    def __str__(self) -> str:
        import re

        # What follows these words is something to type.
        said, words, command = re.split(_TO_TYPE, self.on_command_line, maxsplit=1)
        return re.sub(_FLAG, _keyword, said) + words + command


class NotAPath(UsageError, TypeError):
    """A text in place of a path is JSON."""


_TO_TYPE: Final = r"(evalstream |only the command line |; give |$)"
_FLAG: Final = r"(?<![\w-])--(?!config\b)([a-z][a-z-]+)"
"""A flag that has a keyword; settings files are a matter of the command line alone."""

_KEYWORDS: Final = {
    "pass": "passing",
    "no-values": "show_values=False",
    "no-verify": "verify=False",
    "map": "tables",
    "force": "overwrite",
}
"""Keywords that are not the flag with underscores."""


def _keyword(flag: Match[str]) -> str:
    return _KEYWORDS.get(flag[1], flag[1].replace("-", "_"))


class CannotWrite(EvalstreamError):
    """Rows or a seal could not be written to their target; the check ends."""


class InternalError(EvalstreamError):
    """A bug: an unexpected exception.

    `kind` is the name of its type, and `place` is module:function:line of our code. Neither holds a
    value of the input.
    """

    def __init__(self, kind: str, place: str) -> None:
        super().__init__(kind, place)
        self.kind, self.place = kind, place

    def __str__(self) -> str:
        """Return a sentence for people, which asks for a report."""
        return (
            f"internal error: {self.kind} in {self.place}; please report it with this line "
            "(evalstream explain ES010)"
        )


class CannotCheck(EvalstreamError):
    """An input, or a part of it, could not be read; it is never reported as passed."""


class MissingExtra(CannotCheck):
    """An optional library is needed and not installed; the message names the pip command."""


class BrokenCompression(CannotCheck):
    """A compressed stream is corrupt, truncated, or followed by bytes outside any member."""


class WorkerLost(CannotCheck):
    """A block of rows killed its worker process again when run alone."""


class ExecutorLost(CannotCheck):
    """The executor is gone, such as the scheduler of a cluster; no more tasks can run."""


TRACEBACK: Final = "EVALSTREAM_TRACEBACK"
"""The environment variable that, if it is set, has the traceback of each one printed on stderr."""

_PACKAGE: Final = __name__.partition(".")[0]
_PANIC: Final = "PanicException"
"""The error of a library in Rust that panics; it is not an Exception."""


def describe_error(error: BaseException) -> str:
    """Return the text of an error, in the operating system's words if it is a system error."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def internal_error(error: BaseException) -> InternalError:
    """Return an exception as an internal error.

    Raises `error` itself if it is not one: evalstream raised it on purpose, the system refused
    something (OSError), or it ends the process.
    """
    if isinstance(error, InternalError):
        return error
    is_expected = isinstance(error, (EvalstreamError, OSError))
    if is_expected or not (isinstance(error, Exception) or type(error).__name__ == _PANIC):
        raise error
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    return InternalError(type(error).__name__, _error_place(error))


def _error_place(error: BaseException) -> str:
    """Return where the exception left our code, as module:function:line."""
    place, step = "unknown place", error.__traceback__
    while step is not None:
        module = str(step.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] == _PACKAGE:
            place = f"{module}:{step.tb_frame.f_code.co_qualname}:{step.tb_lineno}"
        step = step.tb_next
    return place


PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder of the package that runs."""

_PYTHON_VERSION: Final = r"python_version\s*(<|>=)\s*['\"](\d+)\.(\d+)['\"]"
_COMPARISONS: Final = {"<": operator.lt, ">=": operator.ge}


def install_command(extra: str) -> str:
    """Return the shell command that installs an extra into the Python that runs.

    It fits the way in which this copy was installed: from a checkout, a repository or an archive.
    For any other copy it names the libraries of the extra: no package index has our name, so anyone
    could take it there, and a command never names it alone.
    """
    import shlex

    checkout = os.path.dirname(PACKAGE)
    is_checkout = _names_us(os.path.join(checkout, "pyproject.toml"))
    wanted = ["--editable", f"{checkout}[{extra}]"] if is_checkout else _by_metadata(extra)
    if not wanted:
        return f"pip, from where this copy of {_PACKAGE} came from, with the extra {extra}"
    return f"{_pip()} install {shlex.join(wanted)}"


def install_library(name: str) -> str:
    """Return the shell command that installs a library into the Python that runs."""
    return f"{_pip()} install {name}"


def _names_us(project: str) -> bool:
    """Tell whether a `pyproject.toml` is the one of this package."""
    try:
        with open(project, "rb") as file:
            return f'\nname = "{_PACKAGE}"\n'.encode() in file.read()
    except OSError:
        return False


def _by_metadata(extra: str) -> list[str]:
    """Return what to install, by the metadata of this copy; nothing if it has none."""
    # Only a message about something missing needs it.
    from importlib import metadata

    for one in metadata.distributions(name=_PACKAGE):
        if os.path.realpath(str(one.locate_file(_PACKAGE))) == os.path.realpath(PACKAGE):
            url = _url(one.read_text("direct_url.json"), extra)
            return [url] if url else _libraries(one.requires or [], extra)
    return []


def _url(text: str | None, extra: str) -> str:
    """Return the requirement of a copy with a direct URL (PEP 610), "" for any other copy."""
    if text is None:
        return ""
    import json
    from urllib.parse import unquote

    origin: Mapping[str, Any] = json.loads(text)
    url, version_control = origin["url"], origin.get("vcs_info")
    if "dir_info" in origin:
        folder = unquote(url.removeprefix("file://"))
        return f"{folder}[{extra}]" if _names_us(os.path.join(folder, "pyproject.toml")) else ""
    if version_control:
        url = f"{version_control['vcs']}+{url}@{version_control['commit_id']}"
    below = f"#subdirectory={origin['subdirectory']}" if origin.get("subdirectory") else ""
    return f"{_PACKAGE}[{extra}] @ {url}{below}"


def _libraries(requirements: list[str], extra: str) -> list[str]:
    """Return the requirements of an extra that hold for the Python that runs."""
    import re

    found = []
    for one in requirements:
        library, _, marker = one.partition(";")
        versions = re.findall(_PYTHON_VERSION, marker)
        fits = all(
            _COMPARISONS[sign](sys.version_info[:2], (int(major), int(minor)))
            for sign, major, minor in versions
        )
        if fits and re.search(rf"extra\s*==\s*['\"]{extra}['\"]", marker):
            found.append(library.strip())
    return found


def _pip() -> str:
    """Return the command that runs the pip of the Python that runs."""
    import shlex
    import shutil

    folder = os.path.dirname(os.path.abspath(sys.executable))
    beside = os.path.join(folder, "pip")
    if shutil.which("pip") == beside:
        return "pip"
    if os.access(beside, os.X_OK):
        return shlex.quote(beside)
    # -P: a pip.py in the working directory is not run.
    return f"{shlex.quote(sys.executable or 'python3')} -P -m pip"
