"""How the program starts: what a signal does meanwhile, and what standard input turns out to be."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from commands import PIPE, SECONDS, Process, command, environment, run_command, until
from depth import is_deep
from each import each
from paths import EXAMPLES
from rows import bytes_of, sound_rows, write_run

from evalstream.model.signals import pause_interruptions

MOST_MODULES = 132
"""How many modules of evalstream a plain check loads; each takes 0.3 ms."""


def test_signals_wait_until_libraries_are_loaded() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        with pause_interruptions():
            # Other threads of this process would take a signal that is sent to all of it.
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            assert not heard
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_package_is_loaded_without_a_break() -> None:
    code = (
        "import os, signal, sys\n"
        "class Loader:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'jiter': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Loader())\n"
        "try:\n"
        "    from evalstream import check\n"
        "except KeyboardInterrupt:\n"
        "    print('jiter' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


SLOW = "typer click rich pydantic dataclasses inspect orjson msgspec tempfile tqdm multiprocessing"
SLOW += " ctypes jsonschema_rs fastjsonschema pathlib email urllib.parse html threading queue heapq"
SLOW += " unicodedata glob tomllib hashlib pickle json"


@each(
    "inputs, libraries, modules",
    [
        (["run.jsonl", "--aggregate", "aggregate.json"], "weakref fnmatch sqlite3", MOST_MODULES),
        (["run.jsonl"], "", MOST_MODULES + 30),
        (["."], "", MOST_MODULES + 35),
    ],
    ids=["a pair", "rows alone", "a folder"],
)
def test_a_plain_check_loads_little(
    inputs: list[str], libraries: str, modules: int, tmp_path: Path
) -> None:
    """It also compiles no text: the first one takes as long as ten modules of evalstream."""
    for name in ("run.jsonl", "aggregate.json"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    code = (
        "import builtins, sys\n"
        "compile, texts = builtins.compile, []\n"
        "def noted(text, *rest, **named):\n"
        "    texts.extend([text] if isinstance(text, str) else [])\n"
        "    return compile(text, *rest, **named)\n"
        "builtins.compile = noted\n"
        "from evalstream.cli import main\n"
        f"sys.argv = ['evalstream', 'check', *{inputs}, '--isolated']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        f"    slow = {set(f'{SLOW} {libraries}'.split())}\n"
        "    ours = [name for name in sys.modules if name.partition('.')[0] == 'evalstream']\n"
        "    print(end.code, sorted(slow & sys.modules.keys()), texts, len(ours))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    ended, loaded, texts, ours = done.stdout.splitlines()[-1].split()
    assert (ended, loaded, texts) == ("0", "[]", "[]")
    assert int(ours) <= modules


def test_threads_begin_before_slow_libraries_are_loaded() -> None:
    """The rows of a large file wait for all that is loaded before."""
    code = (
        "import os, sys, threading\n"
        "from evalstream.engine import row_pass\n"
        "from evalstream.formats.eee import row_engine\n"
        "row_pass.WORTH_A_POOL_BYTES = row_engine.WORTH_A_SCANNER_BYTES = 0\n"
        "def start(thread):\n"
        "    slow = {'orjson', 'uuid', 'dataclasses', 'inspect', 'pathlib', 'urllib.parse', 'glob',"
        " 'msgspec', 'jsonschema_rs', 'tempfile', 'datetime', 'multiprocessing'}\n"
        "    print(thread.name.partition('-')[0], sorted(slow & sys.modules.keys()), flush=True)\n"
        "    os._exit(0)\n"
        "threading.Thread.start = start\n"
        "from evalstream.cli import main\n"
        "sys.argv = ['evalstream', 'check', 'run.jsonl', '--aggregate', 'aggregate.json',"
        " '--isolated', '--jobs', '2']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=EXAMPLES
    )
    assert done.stdout == "evalstream []\n"


def test_what_should_be_declared_is_told_without_a_library_more(tmp_path: Path) -> None:
    rows = tmp_path / "run.jsonl"
    rows.write_bytes((EXAMPLES / "run.jsonl").read_bytes())
    aggregate = json.loads((EXAMPLES / "aggregate.json").read_bytes())
    aggregate["detailed_evaluation_results"]["file_path"] = "other.jsonl"
    (tmp_path / "aggregate.json").write_text(json.dumps(aggregate))
    code = (
        "import sys, evalstream\n"
        "report = evalstream.check('run.jsonl', aggregate='aggregate.json')\n"
        "print([one.code for one in report], 'msgspec' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "['ES507'] False\n"


@pytest.mark.parametrize(
    ("before", "last"), [("", "at once"), ("atexit.register(print, 'last words')", "last words")]
)
def test_a_plain_check_ends_at_once_unless_something_waits_for_its_end(
    before: str, last: str
) -> None:
    code = (
        "import atexit, os, sys\n"
        "from evalstream import __main__\n"
        "leave = os._exit\n"
        "os._exit = lambda code: (os.write(1, b'at once'), leave(code))\n"
        f"{before}\n"
        "sys.argv = ['evalstream', 'check', 'run.jsonl', '--aggregate', 'aggregate.json']\n"
        "__main__.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=EXAMPLES
    )
    assert done.stdout.startswith("passed: ")
    assert done.stdout.rstrip().endswith(last)


def test_a_check_of_several_runs_loads_no_rules_of_other_formats(tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        write_run(folder, bytes_of(sound_rows()))
    code = (
        "import sys, evalstream\n"
        "report = evalstream.check('.', executor='serial')\n"
        "names = (name.split('.') for name in sys.modules)\n"
        "print(len(report.runs), {name[2] for name in names if name[3:4] == ['rules']})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "2 {'eee'}\n"


@pytest.mark.parametrize("text", ['{\n "foo": 1\n}\n', '{"a": [\n1,\n2]}'])
def test_an_unknown_document_is_no_rows_however_it_comes(tmp_path: Path, text: str) -> None:
    place = tmp_path / "x.json"
    place.write_text(text)
    named, piped = (
        run_command(command("check", name), input=text, capture_output=True, text=True, check=False)
        for name in (str(place), "-")
    )
    assert named.returncode == piped.returncode == 3
    assert piped.stdout == named.stdout.replace(str(place), "<stdin>")


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_one_document_behind_another_is_seen_however_late(pause: float) -> None:
    with Process(command("check", "-"), stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b'{\n "foo": 1\n}\n')
        process.stdin.flush()
        time.sleep(pause)
        process.communicate(b'{\n "foo": 2\n}\n')
    assert process.returncode == 1


@each("text", ['{\n "foo": 1\n', '{"foo": 1}\n', '{"foo": 1}\n{"foo": 2}\n', "{\n"])
def test_what_is_no_document_counts_as_rows(text: str) -> None:
    words = command("check", "-")
    done = run_command(words, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 1


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_in_the_first_instants_has_its_exit_code(tmp_path: Path, number: int) -> None:
    """A script says that Python itself has started; then a signal comes, whatever is loaded."""
    script = tmp_path / "begin.py"
    # Under nohup children ignore hangups.
    script.write_text(
        "import os, signal\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "from evalstream import __main__\nos.write(1, b'x')\n__main__.main()\n"
    )
    # Each signal has moments of its own; in a deep search each has all of them.
    for step in range(20) if is_deep() else range(2 * SIGNALS.index(number), 20, 6):
        with subprocess.Popen(
            [sys.executable, str(script), "check", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        ) as process:
            assert process.stdout is not None
            assert process.stdout.read(1) == b"x"
            time.sleep(step / 100)
            process.send_signal(number)
            _, errors = process.communicate(timeout=SECONDS)
        assert b"Traceback" not in errors
        assert process.returncode == 128 + number, (step, errors)


def test_nothing_is_imported_before_signals_are_answered() -> None:
    code = "import evalstream, sys; print([one for one in sys.modules if 'evalstream.' in one])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['evalstream._version']\n"


def test_a_hangup_that_the_caller_ignores_stays_ignored(tmp_path: Path) -> None:
    with subprocess.Popen(
        ["nohup", *command("check", "-", "--pass", "all")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        cwd=tmp_path,
    ) as process:
        assert process.stdin is not None
        data = (EXAMPLES / "run.jsonl").read_bytes()
        process.stdin.write(data)
        process.stdin.flush()
        assert until(process, len(data)) == data
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=SECONDS)
    assert process.returncode == 0
