"""Runs under the harnesses' Python: convert logs with upstream's converter.

Arguments: the harness, and pairs of a log and the folder of its pairs; a line for each says whether
the converter accepted it. It refuses Inspect's mock provider, so a log of Inspect is converted from
a copy that names another one: `OUTPUT-source/NAME`. That copy is the log of the pairs.
"""

import contextlib
import io
import sys
from pathlib import Path

from every_eval_ever.cli import main


def renamed(log: Path, output: Path) -> Path:
    """Write the copy of a log of Inspect that names another provider."""
    from inspect_ai.log import read_eval_log, write_eval_log

    content = read_eval_log(str(log))
    content.eval.model = "hf/acme/acorn-1b"
    for sample in content.samples or ():
        sample.output.model = "acme/acorn-1b"
    copy = output.parent / f"{output.name}-source" / log.name
    copy.parent.mkdir(parents=True)
    write_eval_log(content, str(copy))
    return copy


def is_converted(harness: str, log: Path, output: Path) -> bool:
    """Convert a log, and tell whether the converter accepted it."""
    source = renamed(log, output) if harness == "inspect" else log
    chosen = ["--include-samples"] if harness == "lm_eval" else []
    given = ["--log_path", str(source), "--output_dir", str(output)]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            main(["convert", harness, *given, "--source_organization_name", "acme", *chosen])
    except Exception:  # noqa: BLE001 - the command itself ends with a traceback here
        return False
    return True


if __name__ == "__main__":
    names = [Path(name) for name in sys.argv[2:]]
    for one, target in zip(names[::2], names[1::2], strict=True):
        print(is_converted(sys.argv[1], one, target), flush=True)
