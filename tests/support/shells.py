"""Ask the completion of real shells for candidates."""

import os
import pty
import select
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path

from evalstream.cli.program import COMMANDS, declared

SECONDS = 30

_BASH = """
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(( $# - 1 ))
_evalstream
printf '%s\\n' "${COMPREPLY[@]}"
"""

_ZSH = """
autoload -Uz compinit; compinit -u -D
source SCRIPT
compadd() {
    local -a found
    if (( $@[(I)-[OAD]] )); then builtin compadd "$@"; return; fi
    builtin compadd -O found "$@"
    print -rl -- $found >> FOUND
    builtin compadd "$@"
}
report() { zle expand-or-complete; print -r -- done >> FOUND }
zle -N report
bindkey '^I' report
unsetopt list_beep
PROMPT='READY> '
"""


@cache
def script(shell: str) -> str:
    """Return the completion script of a shell."""
    module = __import__(f"evalstream.cli.shells.{shell}", fromlist=["script"])
    text: str = module.script([declared(name) for name in COMMANDS])
    return text


def has(shell: str) -> bool:
    """Tell whether a shell is installed."""
    return shutil.which(shell) is not None


def candidates(shell: str, line: str, folder: Path) -> set[str]:
    """Return what a shell proposes for the end of a command line, in a folder."""
    place = folder.parent / f"completion.{shell}"
    place.write_text(script(shell))
    return _ASK[shell](place, line, folder)


def _bash(place: Path, line: str, folder: Path) -> set[str]:
    # As bash does, the equals sign is a word.
    words = line.replace("=", " = ").split() + ([""] if line.endswith(" ") else [])
    command = ["bash", "-c", _BASH, "bash", str(place), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert done.stderr == ""
    return set(done.stdout.split())


def _fish(place: Path, line: str, folder: Path) -> set[str]:
    code = f"source {place}; complete -C '{line}'"
    environment = {"HOME": str(folder.parent), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["fish", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=environment,
    )
    assert done.stderr == ""
    return {one.split("\t")[0] for one in done.stdout.splitlines()}


def _zsh(place: Path, line: str, folder: Path) -> set[str]:
    """Type the line and a tab into an interactive zsh whose compadd writes down what it adds."""
    home, found = folder.parent, folder.parent / "found"
    found.unlink(missing_ok=True)
    rc = _ZSH.replace("SCRIPT", str(place)).replace("FOUND", str(found))
    (home / ".zshrc").write_text(rc)
    process, terminal = pty.fork()
    if not process:
        os.chdir(folder)
        environment = {"ZDOTDIR": str(home), "TERM": "dumb", "PATH": os.environ["PATH"]}
        os.execvpe("zsh", ["zsh", "-d", "-i"], environment)
    seen, is_typed, end = b"", False, time.monotonic() + SECONDS
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.05)[0]:
            seen += os.read(terminal, 65536)
        if b"READY> " in seen and not is_typed:
            os.write(terminal, f"{line}\t".encode())
            is_typed = True
        if found.exists() and found.read_text().endswith("done\n"):
            break
    os.close(terminal)
    os.waitpid(process, 0)
    return {*found.read_text().split("\n")} - {"done", ""}


_ASK = {"bash": _bash, "fish": _fish, "zsh": _zsh}
