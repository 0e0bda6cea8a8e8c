"""Tests of types from schemas: they run, or compile, and have the members of the schemas."""

import dataclasses
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from depth import some
from each import each
from paths import EXAMPLES

from evalstream.model.errors import CannotCheck, MissingExtra, install_command
from evalstream.parsing import type_definitions as module
from evalstream.parsing.json_schema import compile_schema
from evalstream.parsing.schema_files import builtin_schema
from evalstream.parsing.type_definitions import (
    PYTHON,
    TYPESCRIPT,
    combined_schema,
    type_definitions,
    type_names,
)

VERSIONS = [name for name in type_names() if name.count("/") == 1]


def loaded(text: str) -> dict[str, Any]:
    """Run definitions of Python, and return their names."""
    made = ModuleType("types_of_schemas")
    sys.modules[made.__name__] = made  # data classes look there for the names in annotations
    exec(compile(text, "types", "exec"), made.__dict__)
    return made.__dict__


@each("name", type_names())
def test_a_combined_schema_accepts_what_its_parts_accept(name: str) -> None:
    schema = combined_schema(name)
    assert compile_schema(schema).fits({})
    for document, reference in schema["properties"].items():
        part = schema["$defs"][reference["$ref"].rpartition("/")[2]]
        whole = builtin_schema(name if name.endswith(document) else f"{name}/{document}")
        assert part["properties"].keys() == whole.get("properties", {}).keys()


def test_definitions_of_one_name_stay_apart() -> None:
    names = combined_schema("evalguard/v1")["$defs"]
    assert {"ThresholdRangeItem", "ThresholdThresholdRangeItem"} & names.keys()
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", some(VERSIONS, 1))
def test_data_classes_run(name: str) -> None:
    text = type_definitions(name, PYTHON)
    assert text.startswith(f'"""Type definitions of {name}, generated ')
    names = loaded(text)
    assert dataclasses.is_dataclass(names["Documents"])


def test_data_classes_hold_an_example_whatever_a_project_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.datamodel-codegen]\nclass-name = "Other"\n')
    monkeypatch.chdir(tmp_path)
    names = loaded(type_definitions("evalguard/v1/threshold", PYTHON))
    assert "Other" not in names
    example = json.loads((EXAMPLES / "evalguard" / "thresholds" / "advice.json").read_text())
    held = names["Threshold"](**example)
    assert (held.task, held.thresholds) == (example["task"], example["thresholds"])
    with pytest.raises(TypeError):
        names["Threshold"](task="advice")


@each("name", VERSIONS)
def test_interfaces_compile(name: str, tmp_path: Path) -> None:
    tsc = shutil.which("tsc")
    if shutil.which(module.TOOL) is None or tsc is None:
        pytest.skip("needs json2ts of json-schema-to-typescript, and tsc of typescript")
    (tmp_path / "types.ts").write_text(type_definitions(name, TYPESCRIPT))
    done = subprocess.run(
        [tsc, "--noEmit", "--strict", "types.ts"], cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_without_a_generator_its_installation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("types"))):
        type_definitions("report", PYTHON)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(MissingExtra, match="npm install --global json-schema-to-typescript"):
        type_definitions("report", TYPESCRIPT)


def test_a_generator_that_fails_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / module.TOOL
    tool.write_text("#!/bin/sh\necho out of order >&2\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(CannotCheck, match="out of order"):
        type_definitions("report", TYPESCRIPT)
