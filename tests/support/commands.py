"""Commands of this package as processes: started, fed, read and waited for.

`run_command` and `Process` are `subprocess.run` and `subprocess.Popen` for `command`. Their
processes fork from one in which the program is loaded, as a start of Python takes five times as
long. Whatever depends on the start (options and environment of Python, the first milliseconds)
needs a process of `subprocess`.
"""

import atexit
import io
import marshal
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from paths import EXAMPLES, REPOSITORY, SUPPORT

PIPE, DEVNULL, STDOUT = subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT

SHARED_SERVER = "EVALSTREAM_TESTS_SERVER"
"""The variable of the environment that holds the path of a server for several processes."""

SECONDS = 120
"""After so long a process that does not end is stuck, however busy the machine is."""


def command(*arguments: str) -> list[str]:
    """Return a command that checks something with this package."""
    return [sys.executable, "-m", "evalstream", *arguments]


def environment() -> dict[str, str]:
    """Return an environment in which the command finds this package."""
    return {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        # Older versions of typer use what click will drop.
        "PYTHONWARNINGS": "error,ignore::DeprecationWarning:typer",
    }


def share_server() -> None:
    """Let the processes that this one starts use a server that ends with this one."""
    os.environ[SHARED_SERVER] = _server()


@cache
def _server() -> str:
    """Start a server, which ends with this process, and return the path of its socket.

    One that is shared is not started again.
    """
    if shared := os.environ.get(SHARED_SERVER):
        return shared
    path = os.path.join(tempfile.mkdtemp(prefix="program-"), "socket")
    server = subprocess.Popen(
        [sys.executable, SUPPORT / "program_server.py", path, EXAMPLES],
        stdin=PIPE,
        stdout=PIPE,
        cwd=REPOSITORY,
        env={**environment(), "OPENBLAS_NUM_THREADS": "1"},
    )

    def end() -> None:
        server.communicate()
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)

    atexit.register(end)
    assert server.stdout is not None
    if not server.stdout.readline():
        raise RuntimeError("the server of the program does not start; the reason is on stderr")
    return path


def shell_environment(folder: Path) -> dict[str, str]:
    """Return an environment in which shells find `evalstream`, the same everywhere.

    The program is a script in a folder `bin`, which is made; a server runs its calls.
    """
    programs = folder / "bin"
    programs.mkdir()
    client = [sys.executable, "-IS", str(SUPPORT / "program_client.py"), _server()]
    (programs / "evalstream").write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n')
    (programs / "evalstream").chmod(0o755)
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONWARNINGS": environment()["PYTHONWARNINGS"],
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
    }


@contextmanager
def closed_pipe() -> Iterator[int]:
    """Make a pipe that nobody reads, and give the end for writing."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


class Process:
    """A call of the program, with the interface of `subprocess.Popen`.

    `closed` are descriptors that are so from the beginning.
    """

    def __init__(
        self,
        words: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        text: bool = False,
        bufsize: int = -1,
        start_new_session: bool = False,
        closed: Sequence[int] = (),
    ) -> None:
        given = [os.fspath(word) for word in words]
        start = command()
        assert given[: len(start)] == start, given
        arguments = given[len(start) :]
        request = {
            "arguments": arguments,
            "folder": str(Path(cwd or ".").absolute()),
            "environment": dict(os.environ if env is None else env),
            "has_own_group": start_new_session,
            "closed": list(closed),
        }
        self.args = given
        self.returncode: int | None = None
        self._waiting = threading.Lock()
        self._to_close: list[int] = []
        self.stdin, self.stdout, self.stderr = None, None, None
        ends = [self._open(0, stdin, bufsize, text=text), self._open(1, stdout, bufsize, text=text)]
        ends.append(ends[1] if stderr == STDOUT else self._open(2, stderr, bufsize, text=text))
        data = marshal.dumps(request)
        self._call = socket.socket(socket.AF_UNIX)
        self._call.connect(_server())
        socket.send_fds(self._call, [len(data).to_bytes(8, "big")], ends)
        self._call.sendall(data)
        for number in self._to_close:
            os.close(number)
        self.pid = self._read_number()

    def _open(self, number: int, stream: Any, bufsize: int, *, text: bool) -> int:
        """Return the descriptor that the child gets as this one of its standard streams."""
        if stream is None:
            return number
        if stream == DEVNULL:
            self._to_close.append(os.open(os.devnull, os.O_RDWR))
            return self._to_close[-1]
        if stream != PIPE:
            return stream if isinstance(stream, int) else int(stream.fileno())
        read, write = os.pipe()
        theirs, ours = (read, write) if number == 0 else (write, read)
        self._to_close.append(theirs)
        mode = "rb" if number else "wb"
        pipe: IO[Any] = open(ours, mode, bufsize)  # noqa: SIM115 - as long as the process
        if text:
            pipe = io.TextIOWrapper(pipe, encoding="utf-8", write_through=True)
        setattr(self, ("stdin", "stdout", "stderr")[number], pipe)
        return theirs

    def _read_number(self) -> int:
        line = b""
        while not line.endswith(b"\n"):
            piece = self._call.recv(1)
            if not piece:
                raise ConnectionError("the server has ended")
            line += piece
        return int(line)

    def poll(self) -> int | None:
        """Return the exit code, if the process has ended and no other thread waits for it."""
        if self._waiting.acquire(blocking=False):
            try:
                self._read_code(0)
            except subprocess.TimeoutExpired:
                pass
            finally:
                self._waiting.release()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code. Raises TimeoutExpired after some seconds."""
        with self._waiting:
            return self._read_code(timeout)

    def _read_code(self, timeout: float | None) -> int:
        if self.returncode is None:
            self._call.settimeout(timeout)
            try:
                self.returncode = self._read_number()
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._call.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process has not ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, data: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Write all input, and return all that the process writes."""
        written: dict[str, Any] = {}

        def read(name: str, pipe: IO[Any]) -> None:
            written[name] = pipe.read()

        def write(pipe: IO[Any]) -> None:
            with suppress(BrokenPipeError), pipe:
                pipe.write(data or ("" if isinstance(pipe, io.TextIOBase) else b""))

        threads = [
            threading.Thread(target=read, args=(name, pipe), daemon=True)
            for name, pipe in (("out", self.stdout), ("errors", self.stderr))
            if pipe is not None
        ]
        if self.stdin is not None:
            threads.append(threading.Thread(target=write, args=(self.stdin,), daemon=True))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout)
            if thread.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(timeout)
        return written.get("out"), written.get("errors")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        self.wait()


def run_command(
    words: Sequence[str | os.PathLike[str]],
    *,
    input: Any = None,  # noqa: A002 - as the library has it
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **more: Any,
) -> "subprocess.CompletedProcess[Any]":
    """Run the program to its end, as `subprocess.run` does."""
    if input is not None:
        more["stdin"] = PIPE
    if capture_output:
        more |= {"stdout": PIPE, "stderr": PIPE}
    with Process(words, **more) as process:
        try:
            out, errors = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.wait(), out, errors)
    if check:
        done.check_returncode()
    return done


def started(*arguments: str, folder: Path, **more: Any) -> Process:
    """Start a check that reads from a pipe."""
    return Process(
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


def until(process: Process, size: int) -> bytes:
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
