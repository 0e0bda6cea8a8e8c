"""The server behind `commands.py`: it has the program loaded, and forks for each call.

Each connection is a call: it sends a request with the descriptors of the standard streams, and gets
the process id, and at the end the exit code. The server ends with its standard input.
"""

import atexit
import gc
import marshal
import os
import select
import signal
import socket
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from io import StringIO
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NoReturn

import evalstream
import evalstream.__main__ as program
from evalstream import check, compare
from evalstream.cli.typer_app import run_by_typer
from evalstream.io.output import Output
from evalstream.model.errors import UsageError
from evalstream.reporters import REPORTERS, reporter_type


def load(examples: Path) -> None:
    """Load what calls use: all modules, and what some calls load and make on their way."""
    for _, name, _ in walk_packages(evalstream.__path__, "evalstream."):
        # Dask takes long, and the scanner is not a module.
        if "dask" not in name and not name.endswith("libscanner"):
            import_module(name)
    import_module("tomllib")  # which reads the settings of a folder
    for form in REPORTERS:
        with Output(os.devnull) as output:
            check(examples, jobs=1, reporter=reporter_type(form)(output))
    store = examples / "compare" / "data" / "tiny_sums" / "acme"
    compare([store / "acorn-7b", store / "acorn-3b"])
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        for line in ("--help", "check --help", "check --no-such", "check x -f no"):
            with suppress(SystemExit, UsageError):
                run_by_typer(line.split())
    gc.collect()
    gc.freeze()


def serve(listener: socket.socket) -> None:
    """Fork for each connection until standard input closes."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    calls: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([listener, wake, 0], [], [])
        if wake in ready:
            os.read(wake, 4096)
            report_ended(calls)
        if listener in ready:
            start(listener.accept()[0], calls)
        if 0 in ready:
            return


def report_ended(calls: dict[int, socket.socket]) -> None:
    """Send the exit codes of children that have ended."""
    for pid in list(calls):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with suppress(OSError), calls.pop(pid) as call:
                call.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def start(call: socket.socket, calls: dict[int, socket.socket]) -> None:
    """Fork a child that runs a request, and send its process id."""
    head, streams, _, _ = socket.recv_fds(call, 8, 3)
    size, data = int.from_bytes(head, "big"), b""
    while len(data) < size:
        data += call.recv(size - len(data))
    request = marshal.loads(data)
    pid = os.fork()
    if not pid:
        try:
            run(request, streams)
        finally:
            os._exit(99)
    if request["has_own_group"]:
        os.setpgid(pid, pid)  # so that it is one as soon as the other end knows the process
    for number in streams:
        os.close(number)
    call.sendall(b"%d\n" % pid)
    calls[pid] = call


def run(request: dict[str, Any], streams: list[int]) -> NoReturn:
    """Become a process that was started with the request, and run the program."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if request["has_own_group"]:
        os.setpgid(0, 0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 256)
    for number in request["closed"]:
        os.close(number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    open_streams()
    sys.argv = ["evalstream", *request["arguments"]]
    code: object = 1
    try:
        program.main()
    except SystemExit as end:
        code = end.code
    finally:
        end_process(code if isinstance(code, int) else 1)


def open_streams() -> None:
    """Make the standard streams as Python does at its start."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            stream = None
        else:
            stream = open(  # noqa: SIM115 - as long as the process
                number,
                mode,
                encoding="utf-8",
                errors="backslashreplace" if number == 2 else "strict",
                newline="\n" if mode == "w" else None,
                closefd=False,
            )
            if mode == "w" and (number == 2 or os.isatty(number)):
                stream.reconfigure(line_buffering=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def end_process(code: int) -> NoReturn:
    """End as Python does, but for taking all modules apart."""
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = 120
    os._exit(code)


if __name__ == "__main__":
    os.setsid()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        # Calls wait meanwhile.
        listener.listen(64)
        print(flush=True)
        load(Path(sys.argv[2]))
        serve(listener)
    os.unlink(sys.argv[1])
