"""What runs elsewhere, in hooks, actions and workflows, agrees with the program and its pages."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import DEVNULL, command, run_command, shell_environment
from depth import deep
from each import each
from paths import EXAMPLES, REPOSITORY

import evalstream

CI_PAGE = (REPOSITORY / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
HOOK_PAGE = (REPOSITORY / "docs" / "how-to" / "pre-commit.md").read_text(encoding="utf-8")
SCRIPT = REPOSITORY / "scripts" / "github_action.py"


def document(name: str) -> Any:
    return yaml.safe_load((REPOSITORY / name).read_text(encoding="utf-8"))


ACTION = document("action.yml")
HOOKS = {one["id"]: one for one in document(".pre-commit-hooks.yaml")}


def test_the_page_names_every_input_and_output_of_the_action() -> None:
    for name in (*ACTION["inputs"], *ACTION["outputs"]):
        assert f"`{name}`" in CI_PAGE, name


def test_each_input_reaches_the_script() -> None:
    steps = ACTION["runs"]["steps"]
    given = {name for one in steps for name in one.get("env", {}) if name.startswith("EVALSTREAM_")}
    read = re.findall(r"(?:value|lines)\(\"([A-Z]+)\"", SCRIPT.read_text(encoding="utf-8"))
    forms = {"SARIF", "JUNIT", "HTML"}
    assert {f"EVALSTREAM_{name}" for name in {*read} | forms | {"PYTHON"}} == given
    values = " ".join(str(one) for step in steps for one in (*step.get("env", {}).values(), step))
    for name in ACTION["inputs"]:
        assert f"inputs.{name} " in values or f"inputs.{name} }}" in values, name
    # An expression in a shell script would let an input run as a program.
    for one in steps:
        assert "${{" not in one.get("run", "")


def test_no_step_but_the_installation_has_a_token() -> None:
    steps = [one for one in ACTION["runs"]["steps"] if "GH_TOKEN" in one.get("env", {})]
    assert [one["run"].split()[-1] for one in steps] == ["install"]


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_each_hook_is_documented_and_runs_the_program(name: str) -> None:
    assert f"id: {name}\n" in HOOK_PAGE
    wanted = "evalstream check --isolated --format concise"
    assert HOOKS[name]["entry"].split()[:5] == wanted.split()
    assert HOOKS[name]["language"] == "python"


@each(
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


@each(
    ("file", "wanted"),
    [
        ("results/package.json", False),
        ("package-lock.json", False),
        ("web/tsconfig.build.json", False),
        (".eslintrc.json", False),
        (".vscode/settings.json", False),
        ("results/package.jsonl", True),
        ("results/my-package.json", True),
        (".evals/run.json", True),
        ("results/run.json", True),
    ],
)
def test_the_hook_of_changed_files_leaves_out_settings_of_other_tools(
    file: str, wanted: bool
) -> None:
    hook = HOOKS["evalstream"]
    assert bool(re.search(hook["files"], file) and not re.search(hook["exclude"], file)) is wanted


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

    rule = tmp_path / "evalstream" / "formats" / "eee" / "rules" / "ES399.md"
    rule.parent.mkdir(parents=True)
    rule.write_text("---\nname: new\nsince: NEXT\n---\n", encoding="utf-8")

    def missing(tag: str) -> list[str]:
        return [one for one in release["problems"](tmp_path, tag) if "not pinned" not in one]

    before = missing("v1.2.0")
    assert before[0].startswith("the tag is v1.2.0, but evalstream/_version.py has ")
    is_filled = release["REPOSITORY"] not in (tmp_path / "pyproject.toml").read_text()
    for wanted in (
        ()
        if is_filled
        else (
            "CHANGELOG.md has no heading: ## [",
            "evalstream/formats/eee/rules/ES399.md says: since: NEXT",
            "pyproject.toml has OWNER/REPOSITORY",
            "SECURITY.md has CONTACT_ADDRESS",
            "docs/how-to/ci.md names v",
            "README.md says that evalstream is in no package index",
            "docs/index.md says that evalstream is in no package index",
        )
    ):
        assert any(one.startswith(wanted) for one in before), wanted
    for version in ("1.2.0", "1.2.1"):
        release["fill"](tmp_path, version, "acme/evalstream", "security@acme.example")
        assert missing(f"v{version}") == []
    assert missing("v1.2.0")[0] == "the tag is v1.2.0, but evalstream/_version.py has 1.2.1"
    assert "\nsince: 1.2.0\n" in rule.read_text(encoding="utf-8")
    page = (tmp_path / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
    address = re.search(r"uses: (\w+/[\w-]+)@v1.2.1\n", page)
    assert address is not None
    assert is_filled or address[1] == "acme/evalstream"
    assert f"git+https://github.com/{address[1]}@v1.2.1" in page
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "\npip install evalstream\npip install 'evalstream[compare]' " in readme
    home = (tmp_path / "docs" / "index.md").read_text(encoding="utf-8")
    assert "From the package index:\n\n```sh\npip install evalstream\n```" in home


def test_actions_are_pinned_except_one_that_the_release_asks_for() -> None:
    release = runpy.run_path(str(REPOSITORY / "scripts" / "release.py"))
    found = {one for one in release["problems"](REPOSITORY, "v0") if "not pinned" in one}
    publisher = "pypa/gh-action-pypi-publish@release/v1"
    assert found <= {f".github/workflows/release.yml: {publisher} is not pinned to a commit"}
    assert publisher.partition("@")[0] in (REPOSITORY / "CONTRIBUTING.md").read_text()


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A folder in place of the environment of the action, with the program of these tests."""
    folder = tmp_path / "venv"
    folder.mkdir()
    shell_environment(folder)
    return folder


def run_action(
    venv: Path, folder: Path, checkout: Path = EXAMPLES, *, step: str = "check", **inputs: str
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "RUNNER_TEMP": str(folder),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "EVALSTREAM_VENV": str(venv),
        **{f"EVALSTREAM_{name.upper()}": value for name, value in inputs.items()},
    }
    return subprocess.run(
        [sys.executable, "-I", str(SCRIPT), step],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_action_passes_a_sound_pair(venv: Path, tmp_path: Path) -> None:
    done = run_action(venv, tmp_path, paths="run.jsonl\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit-code=0\n" in (tmp_path / "output").read_text()
    assert "passed" in (tmp_path / "summary.md").read_text()


def test_the_action_fails_a_tampered_pair_and_writes_every_report(
    venv: Path, tmp_path: Path
) -> None:
    files = {form: str(tmp_path / f"report.{form}") for form in ("sarif", "junit", "html")}
    done = run_action(venv, tmp_path, paths="\n tampered\n".replace(" ", ""), **files)
    assert done.returncode == 1, done.stdout + done.stderr
    output = (tmp_path / "output").read_text()
    assert "exit-code=1\n" in output
    assert "::error file=" in done.stdout
    assert "ES501" in (tmp_path / "summary.md").read_text()
    for form, file in files.items():
        assert f"{form}={file}\n" in output
        assert "ES501" in Path(file).read_text(encoding="utf-8")


def test_inputs_of_the_action_are_not_run(venv: Path, tmp_path: Path) -> None:
    harm = tmp_path / "harm"
    done = run_action(venv, tmp_path, paths=f"$(touch {harm})\n`touch {harm}`; touch {harm}")
    assert done.returncode == 3
    assert not harm.exists()
    wrong = run_action(venv, tmp_path, paths="run.jsonl", arguments="--nonsense")
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
    venv: Path, checkout: Path, tmp_path: Path
) -> None:
    done = run_action(venv, tmp_path, checkout)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "settings from" not in done.stderr
    for told in ({"config": "evalstream.toml"}, {"isolated": "false"}):
        done = run_action(venv, tmp_path, checkout, **told)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "evalstream: settings from evalstream.toml: select\n" in done.stderr
    both = run_action(venv, tmp_path, checkout, isolated="true", config="evalstream.toml")
    assert both.returncode == 0


def test_each_python_of_the_action_is_isolated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python that is isolated runs no module of the folder that it is started in."""
    calls: list[list[str]] = []

    def run(words: Sequence[Any], **_: Any) -> subprocess.CompletedProcess[str]:
        calls.append([str(word) for word in words])
        return subprocess.CompletedProcess(words, 0, "")

    monkeypatch.setenv("EVALSTREAM_VENV", str(tmp_path / "venv"))
    monkeypatch.setenv("RUNNER_TEMP", str(tmp_path))
    script = runpy.run_path(str(SCRIPT))
    monkeypatch.setattr(subprocess, "run", run)
    assert script["install"]() == 0
    assert [call[1] for call in calls] == ["-I"] * len(calls)
    assert [call[3] for call in calls] >= ["venv", "core", "pip", "pip"]


@pytest.mark.deep
def test_the_action_runs_no_module_of_the_checkout(checkout: Path, tmp_path: Path) -> None:
    harm = tmp_path / "harm"
    for name in ("venv", "pip", "ensurepip", "evalstream", "orjson", "sitecustomize", "tempfile"):
        (checkout / f"{name}.py").write_text(f"open({str(harm)!r}, 'w')\n")
    # The folder of the action has no versions: what follows the environment fails.
    script = tmp_path / "action" / "scripts" / "github_action.py"
    script.parent.mkdir(parents=True)
    (tmp_path / "action" / "evalstream").mkdir()
    shutil.copy(REPOSITORY / "evalstream" / "_version.py", tmp_path / "action" / "evalstream")
    for name in (SCRIPT.name, "requirements.py"):
        shutil.copy(SCRIPT.with_name(name), script.with_name(name))
    environment = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-I", str(script), "install"],
        cwd=checkout,
        env={**environment, "EVALSTREAM_VENV": str(tmp_path / "venv")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "constraints.txt" in done.stdout + done.stderr
    assert not harm.exists()


def test_an_environment_that_works_is_kept(venv: Path, tmp_path: Path) -> None:
    before = sorted(venv.rglob("*"))
    done = run_action(venv, tmp_path, step="install")
    assert done.returncode == 0, done.stderr
    assert sorted(venv.rglob("*")) == before


def test_the_name_of_the_environment_changes_with_what_it_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(SCRIPT))
    source = tmp_path / "action" / "constraints.txt"
    source.parent.mkdir()
    monkeypatch.setitem(script["sources"].__globals__, "ACTION", source.parent)
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))

    def key(content: str, extras: str = "") -> str:
        source.write_text(content)
        monkeypatch.setenv("EVALSTREAM_EXTRAS", extras)
        script["name_environment"]()
        return (tmp_path / "output").read_text().splitlines()[-2]

    assert key("a==1\n") == key("a==1\n")
    assert len({key("a==1\n"), key("a==2\n"), key("a==1\n", "remote")}) == 3


GH = """#!/bin/sh
case "$1 $2" in
  "api repos/acme/evalstream/commits/{tag}") echo {commit} ;;
  "release download") while [ "$1" != --dir ]; do shift; done; cp {wheel} "$2" ;;
  "attestation verify") exit {attested} ;;
  *) exit 9 ;;
esac
"""


@pytest.mark.parametrize(
    ("reference", "attested", "is_taken"),
    [
        ("TAG", 0, True),
        deep("c0ffee", 0, True),
        ("main", 0, False),
        deep("", 0, False),
        ("TAG", 1, False),
    ],
)
def test_the_wheel_of_the_very_commit_is_taken(
    reference: str, attested: int, is_taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = f"v{evalstream.__version__}"
    wheel = tmp_path / f"evalstream-{evalstream.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        name = f"evalstream-{evalstream.__version__}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: evalstream\nVersion: {evalstream.__version__}\n"
        archive.writestr(f"{name}/METADATA", metadata)
        archive.writestr(f"{name}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{name}/RECORD", "")
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(GH.format(tag=tag, commit="c0ffee", wheel=wheel, attested=attested))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("RUNNER_TEMP", str(tmp_path))
    monkeypatch.setenv("EVALSTREAM_REPOSITORY", "acme/evalstream")
    monkeypatch.setenv("EVALSTREAM_REFERENCE", reference.replace("TAG", tag))
    script = runpy.run_path(str(SCRIPT))
    taken = script["released_wheel"]([sys.executable, "-I", "-m", "pip"])
    assert (taken is not None and taken.name == wheel.name) is is_taken


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_hooks_read_settings_only_if_they_are_named(name: str, checkout: Path) -> None:
    def code(*arguments: str) -> int:
        _, *entry = HOOKS[name]["entry"].split()
        words = command(*entry, *arguments, ".")
        return run_command(words, cwd=checkout, stdout=DEVNULL, stderr=DEVNULL).returncode

    assert code() == 1
    assert code("--config=evalstream.toml") == 0


def test_settings_of_other_tools_do_not_fail_the_hook_of_whole_folders(tmp_path: Path) -> None:
    for name in ("run.jsonl", "aggregate.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    for name in ("package.json", "package-lock.json", "tsconfig.build.json"):
        (tmp_path / name).write_text('{"private": true}\n')
    _, *entry = HOOKS["evalstream-all"]["entry"].split()
    done = run_command(command(*entry, "--strict", "."), cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert b"3 names left out by --exclude" in done.stdout
