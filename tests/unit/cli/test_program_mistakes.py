"""Command lines with a mistake: the message says what is wrong and what was meant; exit 2."""

import subprocess
from pathlib import Path

import pytest
from commands import closed_pipe, command, run_command
from each import each
from paths import EXAMPLES, REPOSITORY

from evalstream.formats import PREFIXES

MISTAKES = {
    "chek": "No such command 'chek'",
    "--versoin": "No such option",
    "--strict check": "No such option",
    "schema lst": "No such command 'lst'",
    "check x --agregate y": "No such option",
    "check x -x": "; see: evalstream check --help",
    "check x -fjsno": "--format: unknown value 'jsno'; did you mean json? known are: text",
    "check x --fail-on eror": "--fail-on: unknown value 'eror'; did you mean error? known are:",
    "check x --pass vald": "--pass: unknown value 'vald'; did you mean valid? known are: all",
    "check x --profile datastor": "unknown profile 'datastor'; did you mean datastore? known",
    "check x --schema-version 0.2": "unknown schema version '0.2'; did you mean 0.2.",
    "check x --engine rsut": "unknown engine 'rsut'; did you mean rust? known are: auto",
    "check x --input-format infereva": "unknown format 'infereva'; did you mean infereval? kno",
    "rules sample-hash-mismach": "did you mean sample-hash-mismatch? see: evalstream rules",
    "explain": "Missing argument 'CODES'; see: evalstream explain --help",
    "ledger x --verdict faild": "--verdict: unknown value 'faild'; did you mean failed? known",
    "ledger x --code ES4O1": "name 'ES4O1'; did you mean ES401",
    "completion bahs": "SHELL: unknown value 'bahs'; did you mean bash? known are: bash, zsh, fish",
    "seal -": "no aggregate was found for the rows: name it with --aggregate FILE; --create begins",
    "seal --aggregate a": "Missing argument 'ROWS'",
    "check x --aggregate": "'--aggregate' requires an argument; see: evalstream check --help",
    "check x --output --strict": "for a value of that name: --output=--strict",
    "check x -o --help": "option -o needs a value, and --help reads as another option; for a va",
    "check x --output --new": "--new reads as another option; for a value of that name: --out",
    "check x -j2 -o -v": "option -o needs a value, and -v reads as another option; for a value of ",
    "check x -qo --strict": "option -qo needs a value, and --strict reads as another option; for",
    "check x --strict=1": "'--strict' does not take a value; see: evalstream check --help",
    "check x -j many": "Invalid value for '--jobs' / '-j': ",
    "check x --idle-timeout soon": "Invalid value for '--idle-timeout': ",
    "formats x": "unexpected extra argument",
    "check x -qv": "--verbose and --quiet cannot be combined",
    "check x --shard 1/2 -v": "--shard cannot be combined with --verbose",
    f"check x --ignore {','.join(PREFIXES.values())}": "--ignore leaves no rule to check",
    "check x --inputs a --inputs-file b": "--inputs-file b and --inputs a contradict each other",
    "check x --input-format auto --format-name eee": "--input-format auto and --format-name eee",
}


def run(line: str, folder: Path = EXAMPLES) -> subprocess.CompletedProcess[str]:
    """Run the program with the words of a line."""
    return run_words(line.split(), folder)


def run_words(words: list[str], folder: Path = EXAMPLES) -> subprocess.CompletedProcess[str]:
    """Run the program with words, which may be empty."""
    return run_command(
        command(*words),
        cwd=folder,
        env={"PYTHONPATH": str(REPOSITORY), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@each("line", MISTAKES)
def test_a_mistake_is_named_with_what_was_meant(line: str) -> None:
    done = run(line)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("evalstream: ")
    assert MISTAKES[line] in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_check_without_input_is_answered_with_examples() -> None:
    done = run("check")
    assert (done.returncode, done.stdout) == (2, "")
    examples = [one for one in done.stderr.splitlines() if one.startswith("  ")]
    assert len(examples) == 3
    assert all("evalstream " in one for one in examples)
    assert done.stderr.endswith(" --help\n")


@pytest.mark.parametrize("line", ["", "schema"])
def test_a_line_without_a_command_names_the_help(line: str) -> None:
    done = run(line)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(" --help\n")


@each("line", ["check --version", "rules ES401 -V", "schema list --version"])
def test_each_command_shows_the_version(line: str) -> None:
    done = run(line)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run("--version").stdout


def test_a_file_may_be_named_like_the_flag_of_the_version() -> None:
    done = run("check -- --version")
    assert (done.returncode, "--version" in done.stdout) == (3, True)


@each(
    ("words", "flags"),
    [
        ("help", "--help"),
        ("help check", "check --help"),
        ("help schema show", "schema show --help"),
        ("help schema", "schema --help"),
        ("help help", "--help"),
        ("schema --version", "--version"),
    ],
)
def test_help_is_a_word_as_well_as_a_flag(words: str, flags: str) -> None:
    assert run(words).stdout == run(flags).stdout != ""


def test_help_takes_one_command() -> None:
    done = run("help check seal")
    assert (done.returncode, done.stdout) == (2, "")
    assert "help takes one command, such as: evalstream help check" in done.stderr


@each("line", ["--help", "-h", "check --help", "schema --help", "rules -h"])
def test_help_goes_to_standard_output(line: str) -> None:
    done = run(line)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Usage: evalstream") == 1


@each("line", ["--help", "check --help", "rules", "completion bash"])
def test_a_closed_pipe_ends_help_and_lists_quietly(line: str) -> None:
    with closed_pipe() as pipe:
        done = run_command(command(*line.split()), stdout=pipe, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, b"")


def test_both_names_of_an_option_may_agree() -> None:
    done = run("check run.jsonl --input-format eee --format-name eee -q")
    assert done.returncode == 0
    assert done.stderr == (
        "evalstream: --format-name is a former name of --input-format, and the next version does "
        "not take it\n"
    )
    assert run("check run.jsonl --input-format eee -q").stderr == ""


@each(
    "words",
    [
        ["check", ""],
        ["check", "", "run.jsonl"],
        ["check", "run.jsonl", "--aggregate", ""],
        ["compare", "", "run.jsonl"],
        ["seal", "run.jsonl", "--aggregate", ""],
    ],
)
def test_an_empty_name_is_wrong_usage(words: list[str]) -> None:
    """A shell makes such a word of a variable without a value; nothing would be checked."""
    done = run_words(words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "empty" in done.stderr
