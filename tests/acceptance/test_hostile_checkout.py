"""A check in the checkout of a stranger runs nothing of it, connects nowhere, and stays in it.

Two witnesses watch the program: the kernel, where strace is installed and permitted, and the audit
events of Python anywhere.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from depth import deep, some
from paths import EXAMPLES, REPOSITORY

from evalstream.model.exit_codes import ExitCode

URL: Final = "http://192.0.2.1/x"
"""An address that exists nowhere (RFC 5737)."""

SHADOWED: Final = (
    *(one for one in sys.stdlib_module_names if not one.startswith("_")),
    "sitecustomize", "usercustomize", "conftest", "evalstream", "dask", "distributed", "fsspec",
    "jiter", "jsonschema", "jsonschema_rs", "msgspec", "numpy", "orjson", "tqdm", "typer",
    "xxhash", "yaml",
)  # fmt: skip
"""The modules that the checkout has, too."""

FOUND_BY_OTHERS: Final = {
    "pyproject.toml": '[project.entry-points."evalstream.formats"]\nx = "harm"\n'
    '[tool.pytest.ini_options]\naddopts = "-p harm"\n[build-system]\nbuild-backend = "harm"\n',
    "setup.cfg": "[options.entry_points]\nevalstream =\n    x = harm\n",
    "harm.pth": "import harm\n",
    "pyvenv.cfg": "home = .\n",
    "pip.conf": f"[global]\nindex-url = {URL}\n",
    ".netrc": "machine 192.0.2.1 login a password b\n",
    ".env": f"INSPECT_LOG_DIR={URL}\nHF_ENDPOINT={URL}\nHF_DATASETS_TRUST_REMOTE_CODE=1\n"
    "PYTHONSTARTUP=harm.py\nPYTHONPATH=.\n",
    "dask.yaml": f"scheduler-address: {URL}\ndistributed:\n  worker:\n    preload: [harm.py]\n",
    "distributed.yaml": f"scheduler-address: {URL}\n",
    ".dask/dask.yaml": f"scheduler-address: {URL}\n",
    ".config/dask/dask.yaml": f"scheduler-address: {URL}\n",
    ".config/fsspec/conf.json": json.dumps({"file": {"protocol": "http"}}),
}
"""Files that Python, pip, Dask, Inspect and others read where they look for them."""

NOT_PERMITTED: Final = {
    "executor": "dask",
    "dask-address": "tcp://192.0.2.1:8786",
    "dask-scheduler-file": "../outside/scheduler.json",
    "ledger": "../outside/ledger",
    "baseline": "../outside/baseline.json",
    "schema": "../outside/schema.json",
}
"""Settings that lead out of the checkout."""

SETTINGS: Final = {
    "none": "",
    "harmless": 'strict = true\nignore = ["ES402"]\nexclude = ["gone/*"]\n',
    **{key: f"{key} = {json.dumps(value)}\n" for key, value in NOT_PERMITTED.items()},
    "all": "".join(f"{key} = {json.dumps(value)}\n" for key, value in NOT_PERMITTED.items()),
}

SYSTEM_CALLS: Final = (
    "%network,?open,?openat,?openat2,?creat,?execve,?execveat,?unlink,?unlinkat,?rename,?renameat,"
    "?renameat2,?mkdir,?mkdirat,?link,?linkat,?symlink,?symlinkat,?truncate,?chdir"
)

AUDITED: Final = """
import os, sys
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def hear(event, given):
    if event == "open" and isinstance(given[0], (str, bytes)):
        os.write(log, b"open " + os.fsencode(os.path.realpath(given[0])) + b"\\n")
    elif event.partition(".")[0] in ("socket", "subprocess", "http", "urllib", "ftplib", "pty"):
        os.write(log, f"{event} {given!r}\\n".encode())
    elif event in ("os.system", "os.exec", "os.posix_spawn", "os.spawn"):
        os.write(log, f"{event} {given!r}\\n".encode())
sys.addaudithook(hear)
from evalstream.cli import main
main()
"""


class Checkout(NamedTuple):
    """A hostile checkout, and what lies beside it."""

    folder: Path
    harm: Path
    script: Path
    temporary: Path
    log: Path


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Make a checkout with sound runs, and with all that could lead out of it."""
    found = Checkout(*(tmp_path / one for one in ("here", "harm", "bin/run", "temporary", "log")))
    for folder in (found.folder, found.script.parent, found.temporary, tmp_path / "outside"):
        folder.mkdir()
    # As the installed program: Python searches the folder of the script, not the working folder.
    script = "from evalstream.cli import main\nif __name__ == '__main__':\n    main()\n"
    found.script.write_text(script)
    for name in ("baseline.json", "scheduler.json", "schema.json", "rows.jsonl"):
        (tmp_path / "outside" / name).write_text("{}\n")
    _fill(found.folder, tmp_path / "outside")
    for name in (*SHADOWED, "harm"):
        (found.folder / f"{name}.py").write_text(
            f"open({str(found.harm)!r}, 'a').write({name!r})\n"
        )
    for name, text in FOUND_BY_OTHERS.items():
        path = found.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return found


def _fill(folder: Path, outside: Path) -> None:
    """Write a sound run, runs that point to other places, links that lead out, and schemas."""
    rows, claims = (EXAMPLES / "run.jsonl").read_bytes(), (EXAMPLES / "aggregate.json").read_text()
    (folder / "run.jsonl").write_bytes(rows)
    (folder / "aggregate.json").write_text(claims)
    for name, path in {
        "url": f"{URL}/rows.jsonl",
        "store": "s3://bucket/rows.jsonl",
        "absolute": str(outside / "rows.jsonl"),
        "above": "../../outside/rows.jsonl",
        "link": "link.jsonl",
    }.items():
        (folder / name).mkdir()
        moved = json.loads(claims)
        moved["$schema"] = moved["$ref"] = f"{URL}/schema.json"
        moved["detailed_evaluation_results"]["file_path"] = path
        (folder / name / "aggregate.json").write_text(json.dumps(moved))
    (folder / "link" / "link.jsonl").symlink_to(outside / "rows.jsonl")
    (folder / "linked").symlink_to(outside)
    (folder / "large.jsonl").write_bytes(rows * 300)
    shutil.copytree(EXAMPLES / "evalguard", folder / "evalguard")
    shutil.copytree(EXAMPLES / "tutorial" / "log", folder / "log")
    schemas = folder / "evalguard" / "schemas" / "v1"
    schemas.mkdir(parents=True)
    schema = {"$schema": f"{URL}/meta", "$id": f"{URL}/id", "$ref": f"{URL}/other.json#/a"}
    (schemas / "task.schema.yaml").write_text(json.dumps(schema))
    for name in ("sums", "advice"):
        task = folder / "evalguard" / "tasks" / f"{name}.yaml"
        task.write_text(f"{task.read_text()}\n$ref: {URL}/task.yaml\n")


def run(command: Sequence[str], checkout: Checkout) -> tuple[int, str, str]:
    """Run a command in the checkout; return its exit code and what it printed."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(checkout.temporary),
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(checkout.temporary),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        command,
        cwd=checkout.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def permitted(path: str, checkout: Checkout) -> bool:
    """Tell whether a check may open a path: its input, Python, libraries, devices."""
    folders = (
        checkout.folder, checkout.temporary, checkout.script.parent,
        REPOSITORY / "evalstream", REPOSITORY / "schemas",
        sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(),
        "/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64",
        "/usr/share/locale", "/usr/lib/locale", "/usr/share/zoneinfo", "/etc/localtime",
        "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/locale.alias", "/etc/ssl/openssl.cnf",
        # The cores that a container may use, and the memory that workers share.
        "/proc", "/sys/fs/cgroup", "/sys/devices/system/cpu", "/dev/null", "/dev/urandom",
        "/dev/shm",
    )  # fmt: skip
    # Python lists the folders in which it searches modules.
    return (
        path in sys.path
        or path == str(REPOSITORY)
        or any(
            Path(path).is_relative_to(os.path.realpath(one)) or Path(path).is_relative_to(one)
            for one in folders
        )
    )


def judge(done: tuple[int, str, str], settings: str, checkout: Checkout) -> None:
    """Assert that a check looked at the runs, or refused the settings, and did no harm."""
    code, out, errors = done
    if settings in NOT_PERMITTED:
        assert (code, out) == (ExitCode.USAGE, ""), errors
        assert f"evalstream.toml: {settings}: " in errors
    else:
        assert code in (ExitCode.FAILED, ExitCode.UNCHECKED), errors
        assert "passed: run.jsonl with aggregate.json: 8 rows" in out.replace(
            " (without ES402)", ""
        )
        assert "ES009" in out
    assert not checkout.harm.exists(), checkout.harm.read_text()
    assert {one.name for one in checkout.folder.parent.joinpath("outside").iterdir()} == {
        "baseline.json", "scheduler.json", "schema.json", "rows.jsonl",
    }  # fmt: skip


CASES: Final = [(name, ()) for name in SETTINGS if name != "all"] + [("all", ("--isolated",))]


def _strace() -> str | None:
    """Return why there is no strace, None if it works."""
    program = shutil.which("strace")
    if program is None:
        return "strace is not installed"
    works = subprocess.run([program, "-f", "-qq", "true"], capture_output=True, check=False)
    return "strace may not trace here" if works.returncode else None


@pytest.mark.skipif(_strace() is not None, reason=str(_strace()))
@pytest.mark.parametrize(("settings", "options"), some(CASES, 3))
def test_the_kernel_sees_no_socket_and_nothing_outside(
    settings: str, options: tuple[str, ...], checkout: Checkout
) -> None:
    (checkout.folder / "evalstream.toml").write_text(SETTINGS[settings])
    checkout.log.mkdir()
    strace = ["strace", "-ff", "-qq", "-y", "-s", "4096", "-e", f"trace={SYSTEM_CALLS}",
              "-o", str(checkout.log / "calls")]  # fmt: skip
    command = [*strace, sys.executable, str(checkout.script), "check", *options, "."]
    judge(run(command, checkout), settings, checkout)
    calls = [line for file in checkout.log.iterdir() for line in file.read_text().splitlines()]
    assert any("run.jsonl" in call for call in calls) == (settings not in NOT_PERMITTED)
    # One call starts Python. Workers are forked, and talk through pipes: not even AF_UNIX is used.
    assert len([call for call in calls if call.startswith("exec")]) == 1
    network = ("socket", "connect", "bind", "send", "recv", "listen", "accept", "getsockname")
    assert [call for call in calls if call.startswith(network)] == []
    opened = {path for call in calls for path in _paths(call, checkout.folder)}
    assert {path for path in opened if not permitted(path, checkout)} == set()


def _paths(call: str, folder: Path) -> Iterator[str]:
    """Yield the paths that a system call names, and the one that it opened after all links."""
    name, _, given = call.partition("(")
    if name.startswith(("exec", "+++", "---")):
        return
    below = re.match(r"(?:AT_FDCWD|\d+)<([^>]*)>", given)
    text = re.search(r'"((?:[^"\\]|\\.)*)"', given)
    if text is not None:
        yield os.path.normpath(os.path.join(below[1] if below else folder, text[1]))
    opened = re.search(r"\) = \d+<(/[^>]*)>", call)
    if opened is not None:
        yield opened[1]


@pytest.mark.parametrize(("settings", "options"), some(CASES, 4))
def test_python_sees_no_socket_and_nothing_outside(
    settings: str, options: tuple[str, ...], checkout: Checkout
) -> None:
    (checkout.folder / "evalstream.toml").write_text(SETTINGS[settings])
    checkout.script.write_text(AUDITED)
    command = [sys.executable, str(checkout.script), str(checkout.log), "check", *options, "."]
    judge(run(command, checkout), settings, checkout)
    events = [line.partition(" ") for line in checkout.log.read_text().splitlines()]
    assert [one for one in events if one[0] != "open"] == []
    opened = {path for _, _, path in events}
    assert f"{checkout.folder}/evalstream.toml" in opened or options
    assert {path for path in opened if not permitted(path, checkout)} == set()


@pytest.mark.parametrize("executor", ["pool", deep("dask")])
def test_workers_run_no_module_of_the_working_directory(executor: str, checkout: Checkout) -> None:
    if executor == "dask" and find_spec("distributed") is None:
        pytest.skip("needs Dask, the extra dask")
    command = [sys.executable, str(checkout.script), "check", "--executor", executor, "."]
    judge(run(command, checkout), "none", checkout)
