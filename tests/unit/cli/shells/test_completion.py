"""The completion scripts in real shells, where they are installed."""

import subprocess
from pathlib import Path

import pytest
from shells import candidates, has, script

from evalstream.cli.command import choices_of, flags_of
from evalstream.cli.program import COMMANDS, declared
from evalstream.formats.registry import CATALOGUE
from evalstream.reporters import REPORTERS

SHELLS = ("bash", "fish", "zsh")

FORMATS = {name for name in REPORTERS if name.startswith("json")}

EXPECTED = {
    "evalstream ch": {"check"},
    "evalstream check --fo": {"--format", "--force", "--follow"},
    "evalstream check --format js": FORMATS,
    "evalstream check --fail-on ": {"error", "warning", "info"},
    "evalstream check -o out --profile d": {"default", "datastore"},
    "evalstream rules ES40": {rule.code for rule in CATALOGUE.find("ES40")},
    "evalstream explain sample-h": {"sample-hash-mismatch"},
    "evalstream schema ": {"list", "show", "types"},
    "evalstream schema show rep": {"report"},
    "evalstream completion ": set(SHELLS),
    "evalstream ledger --under f": {"folder"},
}

each_shell = pytest.mark.parametrize("shell", SHELLS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file and a folder."""
    place = tmp_path / "here"
    (place / "folder").mkdir(parents=True)
    (place / "file.jsonl").touch()
    return place


@pytest.fixture(autouse=True)
def _installed(shell: str) -> None:
    if not has(shell):
        pytest.skip(f"{shell} is not installed")


@each_shell
@pytest.mark.parametrize("line", EXPECTED)
def test_candidates(shell: str, line: str, folder: Path) -> None:
    found = {one.rstrip("/") for one in candidates(shell, line, folder)}
    assert found - {"--help", "--version"} == EXPECTED[line]


@each_shell
def test_the_last_of_several_codes_is_completed(shell: str, folder: Path) -> None:
    found = candidates(shell, "evalstream check --select ES4,sample-hash-m", folder)
    assert {one.removeprefix("ES4,") for one in found} == {"sample-hash-mismatch"}


@each_shell
def test_a_value_after_an_equals_sign_is_completed(shell: str, folder: Path) -> None:
    found = candidates(shell, "evalstream check --format=js", folder)
    assert {one.removeprefix("--format=") for one in found} == FORMATS


@each_shell
@pytest.mark.parametrize("line", ["check ", "check --jobs 2 ", "check --output ", "seal "])
def test_files_are_completed(shell: str, line: str, folder: Path) -> None:
    found = candidates(shell, f"evalstream {line}fil", folder)
    # An empty answer leaves the word to the default of bash, which is files.
    assert found == (set() if shell == "bash" else {"file.jsonl"})


@each_shell
def test_a_number_is_not_completed(shell: str, folder: Path) -> None:
    assert candidates(shell, "evalstream check --jobs f", folder) == set()


@each_shell
def test_the_script_has_every_option_and_choice(shell: str) -> None:
    text = script(shell)
    for name in COMMANDS:
        for option in declared(name).options:
            for flag in "/".join(flags_of(option)).split("/"):
                assert flag.lstrip("-") in text
            assert all(choice in text for choice in choices_of(option))
            # Words are separated by spaces.
            assert not any(" " in choice for choice in choices_of(option))


@each_shell
def test_the_script_has_no_syntax_error(shell: str, folder: Path) -> None:
    place = folder / "script"
    place.write_text(script(shell))
    subprocess.run([shell, "-n", str(place)], check=True)
