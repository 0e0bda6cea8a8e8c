"""How to install the libraries of an extra, for messages.

No package index has our name, so anyone could take it there: a command never names it alone.
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Mapping
from typing import Any, Final

NAME: Final = "evalstream"

PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder of the package that runs."""

_PYTHON_VERSION: Final = r"python_version\s*(<|>=)\s*['\"](\d+)\.(\d+)['\"]"
_COMPARE: Final = {"<": operator.lt, ">=": operator.ge}


def install_command(extra: str) -> str:
    """Return the shell command that installs an extra into the Python that runs.

    It fits the way in which this copy was installed: from a checkout, a repository or an archive.
    For any other copy it names the libraries of the extra.
    """
    import shlex

    checkout = os.path.dirname(PACKAGE)
    is_checkout = _names_us(os.path.join(checkout, "pyproject.toml"))
    wanted = ["--editable", f"{checkout}[{extra}]"] if is_checkout else _by_metadata(extra)
    if not wanted:
        return f"pip, from where this copy of {NAME} came from, with the extra {extra}"
    return f"{_pip()} install {shlex.join(wanted)}"


def install_library(name: str) -> str:
    """Return the shell command that installs a library into the Python that runs."""
    return f"{_pip()} install {name}"


def _names_us(project: str) -> bool:
    """Tell whether a `pyproject.toml` is the one of this package."""
    try:
        with open(project, "rb") as file:
            return f'\nname = "{NAME}"\n'.encode() in file.read()
    except OSError:
        return False


def _by_metadata(extra: str) -> list[str]:
    """Return what to install, by the metadata of this copy; nothing if it has none."""
    # Only a message about something missing needs it.
    from importlib import metadata

    for one in metadata.distributions(name=NAME):
        if os.path.realpath(str(one.locate_file(NAME))) == os.path.realpath(PACKAGE):
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
    return f"{NAME}[{extra}] @ {url}{below}"


def _libraries(requirements: list[str], extra: str) -> list[str]:
    """Return the requirements of an extra that hold for the Python that runs."""
    import re

    found = []
    for one in requirements:
        library, _, marker = one.partition(";")
        versions = re.findall(_PYTHON_VERSION, marker)
        fits = all(
            _COMPARE[sign](sys.version_info[:2], (int(major), int(minor)))
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
