"""Where the program begins, as `evalstream` and as `python -m evalstream`.

Signals end it with their exit codes from here on, while everything else is still to be imported.
"""

import os
import signal
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    from evalstream.cli import main as run_command_line

    run_command_line()


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
