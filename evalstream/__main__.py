"""Where the program begins, as `evalstream` and as `python -m evalstream`.

Signals end it with their exit codes from here on, while everything else is still to be imported.
"""

import atexit
import gc
import os
import signal
import sys
from types import FrameType
from typing import Final, NoReturn

COLLECT_AFTER: Final = 50_000
"""How many new containers start a garbage collection: more than most checks load and make.

Checks leave few cycles behind, and the first collection takes a tenth of a small run.
"""


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    # What is loaded lives to the end, so that a garbage collection meanwhile is in vain.
    gc.set_threshold(COLLECT_AFTER)
    from evalstream.cli import main as run_command_line

    try:
        run_command_line()
    except SystemExit as end:
        _leave(end.code)
        raise


def _leave(code: object) -> None:
    """End the process where nothing else is to be done at its end.

    Else Python takes all modules apart, which takes longer than the check of a small run.
    """
    if "threading" in sys.modules or atexit._ncallbacks() or not isinstance(code, int):  # noqa: SLF001 - nothing else tells
        return
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


def _stop_at_once(number: int, _frame: FrameType | None) -> NoReturn:
    """End the process, in which nothing has begun that must be undone."""
    name = signal.Signals(number).name
    os.write(2, f"evalstream: stopped by {name} before anything was checked\n".encode())
    os._exit(128 + number)


def _answer_signals() -> None:
    """Have signals end the program, but those that its caller ignores, as nohup does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop_at_once)


_answer_signals()

if __name__ == "__main__":
    main()
