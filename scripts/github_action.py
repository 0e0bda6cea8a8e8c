"""The steps of action.yml: python -I github_action.py name | install | check.

`name` names the environment by all that it is made of, for the cache of the workflow; `install`
makes it if it is not there; `check` checks once and writes the reports. Inputs come in EVALSTREAM_*
variables and reach no shell. -I: no module of the checkout runs.
"""

from __future__ import annotations

import hashlib
import os
import platform
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ACTION = Path(__file__).resolve().parents[1]
SOURCES = ("constraints.txt", "pyproject.toml", "README.md", "evalstream", "schemas", "scripts")
BUILT = {
    *("__pycache__", "acceptors", "declared_table.py"),
    *("libscanner.so", "libscanner.dylib", "libscanner.digest"),
}
"""Names that a build adds to the sources."""

REPORTS = ("sarif", "junit", "html")


def value(name: str, default: str = "") -> str:
    """Return an input of the action, or the default if it is empty."""
    return os.environ.get(f"EVALSTREAM_{name}") or default


def lines(name: str, default: str = "") -> list[str]:
    """Return the lines of an input that are not blank."""
    return [line for line in value(name, default).splitlines() if line.strip()]


def tell(**outputs: object) -> None:
    """Set outputs of the step; `_` in a name stands for `-`."""
    with open(os.environ.get("GITHUB_OUTPUT", os.devnull), "a", encoding="utf-8") as file:
        file.writelines(f"{name.replace('_', '-')}={one}\n" for name, one in outputs.items())


def temporary() -> str:
    """Return the folder for files of the job."""
    return os.environ.get("RUNNER_TEMP") or tempfile.gettempdir()


def new_folder() -> Path:
    """Make a folder for files of the job."""
    return Path(tempfile.mkdtemp(prefix="evalstream-", dir=temporary()))


def name_environment() -> int:
    """Tell the key of the cache and the folder of the environment."""
    made_of = hashlib.sha256()
    python = (sys.version, sys.base_prefix, platform.platform(terse=True), platform.machine())
    made_of.update(repr((python, value("EXTRAS"))).encode())
    for path in sources():
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        made_of.update(f"{path.relative_to(ACTION).as_posix()} {content}\n".encode())
    digest = made_of.hexdigest()[:32]
    tell(key=f"evalstream-{digest}", venv=os.path.join(temporary(), f"evalstream-{digest}"))
    return 0


def sources() -> Iterator[Path]:
    """Yield the files that an environment is made of."""
    for name in SOURCES:
        path = ACTION / name
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (one for one in found if one.is_file() and BUILT.isdisjoint(one.parts))


def install() -> int:
    """Make the environment unless it is there and works."""
    venv = Path(value("VENV"))
    program = venv / "bin" / "evalstream"
    if program.exists() and not subprocess.run([program, "--version"], check=False).returncode:
        return 0
    shutil.rmtree(venv, ignore_errors=True)
    subprocess.run([sys.executable, "-I", "-m", "venv", venv], check=True)
    pip = [venv / "bin" / "python", "-I", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    what = released_wheel(pip) or ACTION
    print(f"installing {what}", flush=True)
    file = new_folder() / "requirements.txt"
    extras = value("EXTRAS").replace(",", " ").split()
    wanted = ["core", "hatchling", *extras]
    calls: list[list[Path | str]] = [
        ["--no-deps", "--require-hashes", "--requirement", file],
        ["--no-deps", "--no-build-isolation", what],
    ]
    if write_requirements(file, *wanted):
        # An extra without hashes gets the versions that are known.
        if write_requirements(file, "--plain"):
            return 1
        calls = [["--constraint", file, f"{what}[{','.join(extras)}]"]]
    codes = (subprocess.run([*pip, "install", *one], check=False).returncode for one in calls)
    return next(filter(None, codes), 0)


def write_requirements(file: Path, *arguments: str) -> int:
    """Write the versions of packages to a file; return the exit code of the script."""
    command = [sys.executable, "-I", ACTION / "scripts" / "requirements.py", *arguments]
    with open(file, "wb") as output:
        return subprocess.run(command, stdout=output, check=False).returncode


def released_wheel(pip: list[Path | str]) -> Path | None:
    """Return the wheel that was released from the very commit of this action.

    None where the action runs at no release, no wheel fits this machine, or its attestation does
    not name the repository.
    """
    version = runpy.run_path(str(ACTION / "evalstream" / "_version.py"))["__version__"]
    repository, reference, tag = value("REPOSITORY"), value("REFERENCE"), f"v{version}"
    if not (repository and reference and shutil.which("gh")):
        return None
    commit = _output("gh", "api", f"repos/{repository}/commits/{tag}", "--jq", ".sha")
    if reference not in (tag, commit):
        return None
    released, chosen = new_folder(), new_folder()
    wanted = ("--repo", repository, "--pattern", "evalstream-*.whl", "--dir", released)
    if _output("gh", "release", "download", tag, *wanted) is None:
        return None
    local = ("--no-index", "--no-deps", "--find-links", released, "--dest", chosen)
    if _output(*pip, "download", *local, f"evalstream=={version}") is None:
        return None
    (wheel,) = chosen.iterdir()
    attested = _output("gh", "attestation", "verify", wheel, "--repo", repository)
    return None if attested is None else wheel


def _output(*command: Path | str) -> str | None:
    """Return what a command prints, None if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return None if done.returncode else done.stdout.strip()


def check() -> int:
    """Check once, write the reports, and return the exit code of the check."""
    program = Path(value("VENV")) / "bin" / "evalstream"
    settings = _settings()
    report = new_folder() / "report.jsonl"
    code = subprocess.run(
        [
            *(program, "check", "--format", "jsonl", "--output", report, "--force", *settings),
            *(["--quiet"] if settings == ["--isolated"] else []),
            *(["--sketches"] if value("HTML") else []),
            *(*lines("ARGUMENTS"), "--", *lines("PATHS", ".")),
        ],
        check=False,
    ).returncode
    tell(exit_code=code)
    if not (report.is_file() and report.stat().st_size):
        said = f"the check ended with exit code {code} and wrote no report"
        print(f"::error title=evalstream::{said}")
        return code
    tell(report=report)

    # `report` exits as the check did; so does this script, at its end.
    command = [program, "report", report, *settings]
    subprocess.run([*command, "--format", "github"], check=False)
    for form in REPORTS:
        path = value(form.upper())
        if not path:
            continue
        output = ("--format", form, "--output", path, "--force", "--quiet")
        subprocess.run([*command, *output], check=False)
        if not os.path.isfile(path):
            print(f"::error title=evalstream::no {form} report was written")
            return 3
        tell(**{form: path})
    return code


def _settings() -> list[str]:
    """Return the options about settings files.

    The checkout may be a stranger's: settings in it hold only if the workflow says so.
    """
    if value("CONFIG"):
        return ["--isolated", f"--config={value('CONFIG')}"]
    return [] if value("ISOLATED") == "false" else ["--isolated"]


STEPS = {"name": name_environment, "install": install, "check": check}

if __name__ == "__main__":
    sys.exit(STEPS[sys.argv[1]]())
