"""ES0: rules about inputs and streams, which the driver reports before and around the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from evalstream.model.finding import Severity, Violation
from evalstream.model.options import Options
from evalstream.rules.base import FileFacts, Rule


def _changed_while_read(facts: FileFacts) -> Iterator[Violation]:
    if facts.changed:
        yield changed_while_read(facts.changed)


def changed_while_read(change: str) -> Violation:
    """Return the violation for a file of a run that changed while it was read."""
    return ES004.violation(f"the file changed while it was read: {change}")


ROW_MARK: Final = b'"schema_version"'
"""Present in a line that contains a row, also if the row is torn or has text before it."""


def noise_check(options: Options) -> Callable[[bytes], bool]:
    """Return a function that decides whether a line that is not a valid row is noise.

    With `--noise` a line is noise if the pattern matches in it. Otherwise it is noise if it does
    not begin as an object and does not contain a row.
    """
    if not options.skip_noise:
        return lambda _: False
    if options.noise is not None:
        from evalstream.parsing.linear_regex import linear_search

        is_found = linear_search(options.noise)
        return lambda line: is_found(line.decode(errors="replace"))
    return lambda line: not line.lstrip().startswith(b"{") and ROW_MARK not in line


def _noise_skipped(facts: FileFacts) -> Iterator[Violation]:
    for _, count, line in facts.tally.noise:
        message = f"lines that are not rows were skipped (first {facts.at(line)})"
        yield ES006.violation(message, count=count)


ES001: Final = Rule(
    "ES001",
    "unreadable-input",
    Severity.ERROR,
    "cannot open or read an input",
    """
    What it finds: a file that is missing, may not be read, or fails part-way; also an aggregate
    whose declared rows file is missing. Other inputs still run.

    Why it matters: data that could not be read was not checked. The exit code is 3, whatever else
    was found.

    How to fix: Correct the path or the file's permissions, then check again. Where declared rows
    are missing, put the rows file next to its aggregate, or name both: `evalstream check ROWS
    --aggregate FILE`.

    Bad:
        run.jsonl does not exist.

    Good:
        run.jsonl exists and is readable.
    """,
)

ES002: Final = Rule(
    "ES002",
    "broken-compression",
    Severity.ERROR,
    "a compressed file is damaged, cut off, or followed by other bytes",
    """
    What it finds: a gzip, zstandard, bzip2 or xz file (recognised by its first bytes) that cannot
    be decompressed to its end, with the number of rows before the break, or one whose library is
    not installed. The rows before the break are checked.

    Why it matters: the rows after the break are lost, and their number is unknown.

    How to fix: Copy the file again from its source, and check the copy. If no sound copy exists,
    `evalstream salvage FILE --to ROWS.jsonl` saves the rows before the break. For a missing
    library: the reason of the verdict names the command that installs it.

    Bad:
        run.jsonl is a gzip file whose last 20 bytes are missing.

    Good:
        run.jsonl is a complete gzip file.
    """,
)

ES003: Final = Rule(
    "ES003",
    "line-too-long",
    Severity.ERROR,
    "a line is longer than --max-line-bytes",
    """
    What it finds: a line of more than `--max-line-bytes` bytes (default: 64 MiB). It is skipped up
    to its newline; the next lines are checked.

    Why it matters: the limit keeps memory bounded, and such a line is usually a lost newline.

    How to fix: Restore the lost newlines: run the writer again, one row per line. If the row
    really is so long, raise `--max-line-bytes`.

    Bad:
        With --max-line-bytes 300, every line of run.jsonl is too long.

    Good:
        With --max-line-bytes 100000, no line of run.jsonl is too long.
    """,
)

ES004: Final = Rule(
    "ES004",
    "changed-while-read",
    Severity.ERROR,
    "a file changed during the check, or the checked bytes are not the bytes of the checksum",
    """
    What it finds: a rows file, an aggregate or another document of a run that another process
    wrote to or replaced during the check: its size, modification time, change time (ctime), inode
    or device is different at the end. Where workers read the rows themselves, the bytes that they
    checked are compared with the bytes of the checksum, whatever the times say. Only as many bytes
    are checked as the file had at the start. New permissions, a new owner and one more hard link
    change the ctime as well, and look the same as a write. A stream cannot be checked for changes.
    The verdict is incomplete, whatever else was found, and the exit code is 3.

    Why it matters: the verdict would be about a half-written file, or about two halves of two
    files.

    How to fix: Check again when the writer has finished, or check a copy of the file. To check a
    file while it grows, use `--follow`.

    Bad:
        Another process appends a row to run.jsonl during the check.

    Good:
        run.jsonl stays the same during the check.
    """,
    run=_changed_while_read,
    about_paths=True,
)

ES005: Final = Rule(
    "ES005",
    "nothing-to-check",
    Severity.ERROR,
    "no data file matched, or the file has no format that can be checked",
    """
    What it finds: a folder without rows or aggregates, a name with an unknown extension, a JSON
    document of no known format, or an aggregate where rows are expected. The exit code is 3,
    whatever else was found.

    Why it matters: a check that looked at nothing must not look like a check that passed.

    How to fix: Name a rows file, an aggregate, or a folder that holds them. If the file has a
    known format that was not detected, name it with `--input-format`; `evalstream formats` lists
    the formats.

    Bad:
        The input is notes.txt, and .txt is not the ending of a known format.

    Good:
        The input is run.jsonl.
    """,
)

ES006: Final = Rule(
    "ES006",
    "noise-skipped",
    Severity.INFO,
    "lines between the rows were skipped under --skip-noise",
    """
    What it finds: with `--skip-noise`, the lines that are not JSON objects and hold no row, with
    their number; with `--noise`, the lines that are not a sound row and in which the regular
    expression finds a match. They do not count as rows, and the checksum may be that of the file
    with or without them.

    Why it matters: lines that were not checked are always reported, also where the user asked to
    skip them.

    How to fix: Write log messages to stderr or to another file, so that the rows file holds rows
    only. If the skipped lines are expected, nothing needs to be done.

    Bad:
        With --skip-noise:
        line 1, as bytes:
          INFO 14:03 next batch

    Good:
        With --skip-noise:
        line 1, as bytes:
          {"schema_version": "0.2.0", …}
    """,
    run=_noise_skipped,
)

ES007: Final = Rule(
    "ES007",
    "unrecognised-file",
    Severity.WARNING,
    "a searched folder holds files that no format recognises",
    """
    What it finds: files in a searched folder, or below a prefix in a store, that were not checked:
    one finding for each folder that was given, with a count for each kind and the first five
    names. Files named like rows (`run.jsonl.zip`), JSON with members of a known document, links
    that lead nowhere or out of the folder, FIFOs, sockets and devices may hold data: they make the
    verdict incomplete (exit code 3). Other JSON (`config.json`, `[]`) is only a warning. Files of
    other kinds (`README.md`) and hidden names are an info. `--exclude PATTERN` leaves names out.
    With `--profile datastore` everything except an info is an error. A list (`--files-from`) has
    one info: names that are gone under `--missing-ok`, and files that are not evaluation files.

    Why it matters: a file that was not checked must not pass unnoticed with the others.

    How to fix: Move files that are not results out of the folder, or leave them out with
    `--exclude PATTERN`. Unpack or rename files that do hold rows, so that they are checked.

    Bad:
        The input is a folder with this file, which has no known format:
        config.json:
          {"jobs": 2}

    Good:
        The input is the same folder, with --exclude config.json:
        config.json:
          {"jobs": 2}
    """,
)

ES008: Final = Rule(
    "ES008",
    "foreign-format",
    Severity.ERROR,
    "a log of an evaluation harness that is not converted yet",
    """
    What it finds: a file whose content is a log of HELM, LightEval, promptfoo, OpenAI evals or
    simple-evals; with --input-format eee also one of Inspect or lm-evaluation-harness, whose logs
    are checked as they are otherwise. The finding names the harness and the command that converts
    the log to Every Eval Ever, where one exists. The exit code is 3.

    Why it matters: such a log has its own format, so checking it as rows would report an error for
    every line and say nothing about the results.

    How to fix: Convert the log with the command that the finding names, and check the converted
    files. Leave the log itself out with `--exclude PATTERN`.

    Bad:
        log.json:
          {"adapter_spec": {"method": "generation"}, "request_states": []}

    Good:
        aggregate:
          {
            "schema_version": "0.2.0",
            "evaluation_id": "tiny-arithmetic/acme/acorn-7b/1760000000",
            "evaluation_results": [{
              "evaluation_name": "tiny-arithmetic",
              "score_details": {"score": 0.75}
            }]
          }
    """,
)

ES009: Final = Rule(
    "ES009",
    "outside-the-input",
    Severity.ERROR,
    "a declared path leads out of the input that was given",
    """
    What it finds: an aggregate whose `file_path` is absolute, climbs with `..`, or leads through a
    link out of the input that was given, and whose rows are not at a permitted place. Declared
    rows are searched for in the aggregate's own folder and in the folder above the nearest folder
    `data`, never outside the searched folder. The declared path is not opened. Where rows with the
    declared name are next to the aggregate, ES507 reports the path instead.

    Why it matters: an aggregate may come from an untrusted source. A path in it must not choose
    which files of this machine are read, nor take rows from a neighbouring store.

    How to fix: Put the rows file next to its aggregate, then run `evalstream seal` to write a new
    file_path. If you trust the path, name both files: `evalstream check ROWS --aggregate FILE`.

    Bad:
        aggregate:
          {
            "detailed_evaluation_results": {
              "format": "jsonl",
              "file_path": "../../elsewhere/rows.jsonl"
            }
          }

    Good:
        aggregate:
          {"detailed_evaluation_results": {"format": "jsonl", "file_path": "run.jsonl"}}
    """,
)

ES010: Final = Rule(
    "ES010",
    "internal-error",
    Severity.ERROR,
    "a bug of evalstream or of a library ended the check of this run",
    """
    What it finds: an exception that nobody raised on purpose, while evalstream searched for this
    run, checked it, compared it or remembered it. The finding holds the exception's type and its
    place in the code, and no value of the input. The verdict is never passed, nothing is sealed or
    written for the run, and all other runs get their verdict. The exit code is 3 when nothing else
    went wrong.

    Why it matters: a run that was not checked to its end must not pass, and one input must not take
    the verdict of another away.

    How to fix: Send the finding to the maintainers, with the file if you may share it. With the
    environment variable EVALSTREAM_TRACEBACK=1 the check prints the whole traceback on stderr; read
    it before you send it, as it may hold values of the input. Leave the file out with
    `--exclude PATTERN` meanwhile.

    Bad:
        A function of evalstream raises KeyError while run.jsonl is checked.

    Good:
        run.jsonl is checked to its end.
    """,
)

ES011: Final = Rule(
    "ES011",
    "unexpected-samples",
    Severity.ERROR,
    "the run scores other samples than --expect-ids lists",
    """
    What it finds: with `--expect-ids FILE`, samples of the file that no row scores, scored samples
    that are not in the file, and samples with another number of rows than the file gives. The file
    is a JSON array of ids, or has an id a line, and after a tab the number of its rows.

    Why it matters: a run without its hard samples has a whole seal and a right mean. Only the
    benchmark knows which samples there are.

    How to fix: Score the samples that are missing, and leave out those of other benchmarks. If the
    list is that of another version of the benchmark, name the right one.

    Bad:
        The list has arith-009, which no row scores.

    Good:
        The list has the ids of rows 1 to 8.
    """,
    needs="expect_ids",
)

ES012: Final = Rule(
    "ES012",
    "changed-samples",
    Severity.ERROR,
    "the samples or their answers are not those that --expect-digests lists",
    """
    What it finds: with `--expect-digests FILE`, samples whose answer or score differs from the file,
    samples of the file that the run does not have, and new ones. `--sample-digests FILE` writes such
    a file: for each sample in the order of the input a digest of its id and its repeat, and a digest
    of its answer and its scores. Rows without a sample id have none.

    Why it matters: the seal of a copy can be renewed. The digests were written when the run was, and
    tell which samples changed since.

    How to fix: Restore the copy from the run whose digests these are, or name the right file.

    Bad:
        The score of row 8 is another one than when the digests were written.

    Good:
        All rows are as they were.
    """,
    needs="expect_digests",
)

RULES: Final = (ES001, ES002, ES003, ES004, ES005, ES006, ES007, ES008, ES009, ES010, ES011, ES012)
