"""Runs under the harnesses' Python: convert a log with upstream's converter.

Arguments: the harness, the log, and the folder of the pairs. The converter refuses Inspect's mock
provider, so an Inspect log is converted from a copy beside the pairs that names another one:
`OUTPUT/source/NAME`. That copy is the log of the pairs.
"""

import sys
from pathlib import Path

from every_eval_ever.cli import main

harness, log, output = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
chosen = ["--include-samples"] if harness == "lm_eval" else []
if harness == "inspect":
    from inspect_ai.log import read_eval_log, write_eval_log

    content = read_eval_log(str(log))
    content.eval.model = "hf/acme/acorn-1b"
    for sample in content.samples or ():
        sample.output.model = "acme/acorn-1b"
    log = output.parent / f"{output.name}-source" / log.name
    log.parent.mkdir(parents=True)
    write_eval_log(content, str(log))
sys.exit(
    main(
        [
            "convert",
            harness,
            "--log_path",
            str(log),
            "--output_dir",
            str(output),
            "--source_organization_name",
            "acme",
            *chosen,
        ]
    )
)
