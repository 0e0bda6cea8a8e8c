"""The options of commands: made from the options object, grouped in the help, and read back."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from commands import command, run_command
from each import each

from evalstream.engine.routing import SIDECAR
from evalstream.model.option_fields import Group
from evalstream.model.options import OPTIONS
from evalstream.settings.options import CHOICES

CHECKOUT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
EXAMPLES = CHECKOUT / "examples"


def run(*arguments: str, cwd: Path = EXAMPLES) -> subprocess.CompletedProcess[str]:
    """Run the program, in the folder of examples where no other one is named."""
    return run_command(
        command(*arguments),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={"COLUMNS": "400", "PYTHONPATH": str(CHECKOUT), "LC_ALL": "C.UTF-8", "TERM": "dumb"},
    )


@pytest.mark.parametrize("word", ["check", "seal"])
def test_help_lists_every_option_under_its_heading(word: str) -> None:
    told = run(word, "--help").stdout
    parts = dict(re.findall(r"╭─ (\w+) ─.*?\n(.*?)╰─", told, re.DOTALL))
    order = [group.value for group in Group if group.value in parts]
    assert [heading for heading in parts if heading in order] == order
    for name, option in OPTIONS.items():
        flag = (option.text.flags or (f"--{name.replace('_', '-')}",))[0]
        wanted = option.text.checks if word == "check" else option.text.seals
        if wanted:
            assert f"{flag} " in parts[option.text.group.value], flag
            for choice in CHOICES.get(name, ()):
                assert choice in parts[option.text.group.value], (flag, choice)
        for former in option.text.former:
            assert former not in told
    assert "--help" in told


def test_the_help_of_rejected_names_the_file_beside_it() -> None:
    assert f"FILE{SIDECAR}" in OPTIONS["rejected"].text.help


@each(
    ("usual", "other"),
    [
        (["--format", "json"], ["-f", "json"]),
        (["--jobs", "1", "--format", "json"], ["-j", "1", "-f", "json"]),
        (["--input-format", "eee", "--format", "json"], ["--format-name", "eee", "-f", "json"]),
    ],
)
def test_short_and_former_names_do_the_same(usual: list[str], other: list[str]) -> None:
    first, second = (run("check", "run.jsonl", *options) for options in (usual, other))
    assert first.returncode == second.returncode == 0
    one, two = (json.loads(done.stdout) for done in (first, second))
    one["runs"][0]["seconds"] = two["runs"][0]["seconds"] = 0
    assert one == two


@pytest.mark.parametrize("flag", ["--inputs-file", "--inputs"])
def test_an_inputs_file_has_one_name_and_a_former_one(flag: str) -> None:
    done = run("check", "harpia/log.jsonl", "--aggregate", "harpia/output.json", flag, "no.json")
    assert done.returncode == 3
    assert "no.json" in done.stdout


def test_names_of_rules_are_taken_for_codes() -> None:
    named = ["--select", "sample-hash-mismatch,es5", "--ignore", "malformed-checksum"]
    report = json.loads(run("check", "tampered", "--format", "json", *named).stdout)
    assert report["runs"][0]["selected"] == ["ES401", "ES5"]
    assert report["runs"][0]["ignored"] == ["ES502"]
    assert [finding["code"] for finding in report["findings"]] == ["ES401", "ES401", "ES501"]


def test_values_reach_the_check() -> None:
    options = ["--no-values", "--max-findings", "1", "--select", "ES4, ES5", "--ignore", "ES502"]
    done = run("check", "tampered", "--fail-on", "error", "--format", "json", *options)
    report = json.loads(done.stdout)
    assert report["runs"][0]["selected"] == ["ES4", "ES5"]
    assert report["runs"][0]["ignored"] == ["ES502"]
    assert [finding["code"] for finding in report["findings"]] == ["ES401", "ES501"]
    assert not any("found" in finding for finding in report["findings"])
    assert list(report["rules"]) == ["ES401", "ES501"]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--schema-version", "0.2.0", "against version 0.2.0, not the declared one"),
        ("--schema", "any.json", "rows against a given schema, not the declared one"),
    ],
)
def test_the_verdict_names_a_schema_that_replaced_the_declared_one(
    option: str, value: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "any.json").write_text("{}")
    for name in ("run.jsonl", "aggregate.json"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    seen = {
        form: run("check", "run.jsonl", option, value, "--format", form, cwd=tmp_path).stdout
        for form in ("text", "json", "html", "junit")
    }
    assert f"passed ({words}):" in seen["text"]
    assert words in seen["html"]
    schema = "given" if option == "--schema" else value
    assert json.loads(seen["json"])["runs"][0]["schema"] == schema
    assert f'<property name="schema" value="{schema}"/>' in seen["junit"]
