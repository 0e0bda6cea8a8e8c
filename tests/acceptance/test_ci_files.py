"""What runs elsewhere, in hooks, actions and workflows, agrees with the program and its pages."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import EXAMPLES, REPOSITORY

from evalstream.cli import main

CI_PAGE = (REPOSITORY / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
HOOK_PAGE = (REPOSITORY / "docs" / "how-to" / "pre-commit.md").read_text(encoding="utf-8")
SCRIPT = REPOSITORY / "scripts" / "github_action"


def document(name: str) -> Any:
    return yaml.safe_load((REPOSITORY / name).read_text(encoding="utf-8"))


ACTION = document("action.yml")
HOOKS = {one["id"]: one for one in document(".pre-commit-hooks.yaml")}


def test_the_page_names_every_input_and_output_of_the_action() -> None:
    for name in (*ACTION["inputs"], *ACTION["outputs"]):
        assert f"`{name}`" in CI_PAGE, name


def test_each_input_reaches_the_script() -> None:
    (step,) = (one for one in ACTION["runs"]["steps"] if one.get("id") == "check")
    script = SCRIPT.read_text(encoding="utf-8")
    used = set(re.findall(r"EVALSTREAM_[A-Z]+", script)) - {"EVALSTREAM_"}
    forms = {f"EVALSTREAM_{form.upper()}" for form in ("sarif", "junit", "html")}
    assert used | forms == set(step["env"])
    values = " ".join(step["env"].values())
    for name in ACTION["inputs"]:
        assert f"inputs.{name} " in values or f"inputs.{name} }}" in values, name
    # An expression in a shell script would let an input run as a program.
    for one in ACTION["runs"]["steps"]:
        assert "${{" not in one.get("run", "")


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_each_hook_is_documented_and_runs_the_program(name: str) -> None:
    assert f"id: {name}\n" in HOOK_PAGE
    assert HOOKS[name]["entry"].split() == ["evalstream", "check", "--isolated"]
    assert HOOKS[name]["language"] == "python"


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("results/a.json", True),
        ("a_samples.jsonl.gz", True),
        ("x.ndjson.zst", True),
        ("README.md", False),
        ("a.jsonl.txt", False),
    ],
)
def test_hooks_see_evaluation_files(file: str, wanted: bool) -> None:
    for hook in HOOKS.values():
        assert bool(re.search(hook["files"], file)) is wanted


def test_scripts_of_workflows_are_there() -> None:
    for path in (REPOSITORY / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        assert yaml.safe_load(text)["jobs"]
        for script in re.findall(r"(?:scripts|\.ci)/[\w.]+", text):
            assert (REPOSITORY / script).is_file(), script


def test_a_release_fills_every_place_and_checks_it(tmp_path: Path) -> None:
    release = runpy.run_path(str(REPOSITORY / "scripts" / "release.py"))
    extra = [REPOSITORY / name for name in ("CHANGELOG.md", "action.yml", "evalstream/_version.py")]
    for path in [*release["texts"](REPOSITORY), *extra]:
        copy = tmp_path / path.relative_to(REPOSITORY)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)

    def missing(tag: str) -> list[str]:
        return [one for one in release["problems"](tmp_path, tag) if "not pinned" not in one]

    before = missing("v1.2.0")
    for wanted in (
        "the tag is v1.2.0, but evalstream/_version.py has ",
        "CHANGELOG.md has no heading: ## [",
        "pyproject.toml has OWNER/REPOSITORY",
        "SECURITY.md has CONTACT_ADDRESS",
        "docs/how-to/ci.md names v",
        "README.md says that evalstream is in no package index",
    ):
        assert any(one.startswith(wanted) for one in before), wanted
    for version in ("1.2.0", "1.2.1"):
        release["fill"](tmp_path, version, "acme/evalstream", "security@acme.example")
        assert missing(f"v{version}") == []
    assert missing("v1.2.0")[0] == "the tag is v1.2.0, but evalstream/_version.py has 1.2.1"
    page = (tmp_path / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
    assert "uses: acme/evalstream@v1.2.1\n" in page
    assert "git+https://github.com/acme/evalstream@v1.2.1" in page
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "\npip install evalstream\npip install 'evalstream[compressed,remote]' " in readme


def test_actions_are_pinned_except_one_that_the_release_asks_for() -> None:
    release = runpy.run_path(str(REPOSITORY / "scripts" / "release.py"))
    (found,) = (one for one in release["problems"](REPOSITORY, "v0") if "not pinned" in one)
    publisher = "pypa/gh-action-pypi-publish@release/v1"
    assert found == f".github/workflows/release.yml: {publisher} is not pinned to a commit"
    assert publisher.partition("@")[0] in (REPOSITORY / "CONTRIBUTING.md").read_text()


@pytest.fixture
def action(tmp_path: Path) -> Path:
    """A copy of the script whose environment is the one of these tests."""
    folder = tmp_path / "action" / "scripts"
    folder.mkdir(parents=True)
    text = SCRIPT.read_text(encoding="utf-8")
    install = re.search(r'^"\$\{EVALSTREAM_PYTHON.*?\n(?=evalstream=)', text, re.M | re.S)
    assert install is not None, "the step that installs evalstream"
    program = folder / "evalstream"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m evalstream "$@"\n')
    program.chmod(0o755)
    text = text.replace(install[0], "").replace("$work/venv/bin/evalstream", str(program))
    copy = folder / "github_action"
    copy.write_text(text)
    copy.chmod(0o755)
    return copy


def run_action(
    action: Path, folder: Path, checkout: Path = EXAMPLES, **inputs: str
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(main.__code__.co_filename).parents[2]),
        "RUNNER_TEMP": str(folder),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        **{f"EVALSTREAM_{name.upper()}": value for name, value in inputs.items()},
    }
    return subprocess.run(
        [str(action)], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


def test_the_action_passes_a_sound_pair(action: Path, tmp_path: Path) -> None:
    done = run_action(action, tmp_path, paths="run.jsonl\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit-code=0\n" in (tmp_path / "output").read_text()
    assert "passed" in (tmp_path / "summary.md").read_text()


def test_the_action_fails_a_tampered_pair_and_writes_every_report(
    action: Path, tmp_path: Path
) -> None:
    files = {form: str(tmp_path / f"report.{form}") for form in ("sarif", "junit", "html")}
    done = run_action(action, tmp_path, paths="\n tampered\n".replace(" ", ""), **files)
    assert done.returncode == 1, done.stdout + done.stderr
    output = (tmp_path / "output").read_text()
    assert "exit-code=1\n" in output
    assert "::error file=" in done.stdout
    assert "ES501" in (tmp_path / "summary.md").read_text()
    for form, file in files.items():
        assert f"{form}={file}\n" in output
        assert "ES501" in Path(file).read_text(encoding="utf-8")


def test_inputs_of_the_action_are_not_run(action: Path, tmp_path: Path) -> None:
    harm = tmp_path / "harm"
    done = run_action(action, tmp_path, paths=f"$(touch {harm})\n`touch {harm}`; touch {harm}")
    assert done.returncode == 3
    assert not harm.exists()
    wrong = run_action(action, tmp_path, paths="run.jsonl", arguments="--nonsense")
    assert wrong.returncode == 2
    assert "::error" in wrong.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a tampered run, and settings that leave out every rule that it breaks."""
    folder = tmp_path / "checkout"
    shutil.copytree(EXAMPLES / "tampered", folder)
    (folder / "evalstream.toml").write_text('select = ["ES1"]\n')
    return folder


def test_the_action_reads_settings_only_if_it_is_told_to(
    action: Path, checkout: Path, tmp_path: Path
) -> None:
    done = run_action(action, tmp_path, checkout)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "settings from" not in done.stderr
    for told in ({"config": "evalstream.toml"}, {"isolated": "false"}):
        done = run_action(action, tmp_path, checkout, **told)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "evalstream: settings from evalstream.toml: select\n" in done.stderr
    both = run_action(action, tmp_path, checkout, isolated="true", config="evalstream.toml")
    assert both.returncode == 0


def test_the_action_runs_no_module_of_the_checkout(checkout: Path, tmp_path: Path) -> None:
    harm = tmp_path / "harm"
    for name in ("venv", "pip", "ensurepip", "evalstream", "orjson", "sitecustomize"):
        (checkout / f"{name}.py").write_text(f"open({str(harm)!r}, 'w')\n")
    # The folder of the action has no constraints: what follows the environment fails.
    script = tmp_path / "action" / "scripts" / "github_action"
    script.parent.mkdir(parents=True)
    shutil.copy(SCRIPT, script)
    environment = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path)}
    done = subprocess.run(
        [str(script)],
        cwd=checkout,
        env={**environment, "EVALSTREAM_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "constraints.txt" in done.stdout + done.stderr
    assert not harm.exists()


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_hooks_read_settings_only_if_they_are_named(name: str, checkout: Path) -> None:
    def code(*arguments: str) -> int:
        _, *entry = HOOKS[name]["entry"].split()
        command = [sys.executable, "-P", "-m", "evalstream", *entry, *arguments, "."]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        return subprocess.run(command, cwd=checkout, env=environment, check=False).returncode

    assert code() == 1
    assert code("--config=evalstream.toml") == 0
