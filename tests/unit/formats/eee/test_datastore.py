"""The directory that a model's identity addresses, and files that lie in another one."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from paths import PAIRS

import evalstream
from evalstream.formats.eee.datastore import (
    Address,
    TargetPlace,
    Unaddressable,
    derive_address,
    new_name,
    parse_path,
    place_for,
    read_collection,
    read_uuid,
)
from evalstream.model.finding import Severity
from evalstream.rules.catalogue import DATASTORE, DEFAULT

UUID = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57"
(PAIR,) = (PAIRS / "0.3.0").rglob(f"{UUID}.json")
UNSAFE = "has a character that is not allowed in a path"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in an empty folder, deep enough that nothing above it counts."""
    store = tmp_path / "a" / "b" / "c" / "store"
    store.mkdir(parents=True)
    monkeypatch.chdir(store)


def put(folder: str, name: str = UUID, **model_info: Any) -> str:
    """Put an aggregate without rows into a folder, for a model; None removes a member."""
    document = json.loads(PAIR.read_bytes())
    del document["detailed_evaluation_results"]
    changed = document["model_info"] | model_info
    document["model_info"] = {key: value for key, value in changed.items() if value is not None}
    path = Path(folder, f"{name}.json")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document))
    return str(path)


def told(path: str, **settings: Any) -> list[tuple[Severity, str | None, Any, Any]]:
    """Return severity, pointer, found and expected of each ES910."""
    report = evalstream.check(path, **settings)
    return [
        (finding.severity, finding.pointer, finding.found, finding.expected)
        for finding in report
        if finding.code == "ES910"
    ]


@each(
    ("identity", "developer", "expected"),
    [
        ("acme/acorn-7b", None, ("acme", "acorn-7b")),
        ("acme/acorn-7b", "Another Company", ("acme", "acorn-7b")),
        ("acme/acorn-7b", "unknown", ("acme", "acorn-7b")),
        ("Acme/Acorn-7B", None, ("Acme", "Acorn-7B")),
        ("openai/azure/gpt-4o", None, ("openai", "azure_gpt-4o")),
        ("a/b/c/d", None, ("a", "b_c_d")),
        ("ollama/qwen2.5:0.5b", None, ("ollama", "qwen2.5_0.5b")),
        ("a:b/c:d/e:f", None, ("a_b", "c_d_e_f")),
        (" acme / acorn / 7b ", None, ("acme", "acorn_7b")),
        ("acme/\u00a0acorn\u2003", None, ("acme", "acorn")),
        ("acorn-7b", "acme", ("acme", "acorn-7b")),
        ("acorn:7b", " ac:me ", ("ac_me", "acorn_7b")),
        ("acme/.hidden", None, ("acme", ".hidden")),
        ("acme/console", None, ("acme", "console")),
        ("acme/unknown-7b", None, ("acme", "unknown-7b")),
        ("acme/database", None, ("acme", "database")),
        ("acme/con:1", None, ("acme", "con_1")),
    ],
)
def test_an_identity_addresses_a_directory(
    identity: str, developer: str | None, expected: tuple[str, str]
) -> None:
    assert derive_address(identity, developer) == Address(*expected)


@each(
    ("identity", "developer", "member", "reason"),
    [
        ("", "acme", "id", "is empty"),
        (" ", "acme", "id", "is empty"),
        ("acme/", None, "id", "is empty"),
        ("/acorn", None, "id", "is empty"),
        ("acme//acorn", None, "id", "is empty"),
        ("acme/ /acorn", None, "id", "is empty"),
        ("unknown/acorn", "acme", "id", 'is "unknown"'),
        ("acme/UNKNOWN", "acme", "id", 'is "unknown"'),
        ("data/acorn", None, "id", "root"),
        ("acme/data", None, "id", "root"),
        ("acme/..", None, "id", "full stop"),
        ("acme/acorn.", None, "id", "full stop"),
        ("acme/acorn?", None, "id", UNSAFE),
        ("acme/a\\b", None, "id", UNSAFE),
        ("acme/a\x1fb", None, "id", UNSAFE),
        ("acme/NUL.7b", None, "id", "device"),
        ("com1/acorn", None, "id", "device"),
        ("acorn", None, "developer", "is missing"),
        ("acorn", "", "developer", "is empty"),
        ("acorn", "Unknown", "developer", 'is "unknown"'),
        ("acorn", "acme/labs", "developer", UNSAFE),
        ("aux", "acme", "id", "device"),
    ],
)
def test_an_identity_that_addresses_none_says_why(
    identity: str, developer: str | None, member: str, reason: str
) -> None:
    address = derive_address(identity, developer)
    assert isinstance(address, Unaddressable)
    assert address.member == member
    assert reason in address.reason


@pytest.mark.parametrize("profile", [DEFAULT, DATASTORE])
@each(
    ("folder", "model_info"),
    [
        ("acme/acorn-7b", {}),
        ("acme/acorn-7b", {"developer": None}),
        ("Qwen/Qwen3-32B", {"id": "Qwen/Qwen3-32B", "developer": "alibaba"}),
        ("openai/azure_gpt-4o", {"id": "openai/azure/gpt-4o"}),
        ("ollama/qwen2.5_0.5b", {"id": "ollama/qwen2.5:0.5b"}),
        ("acme/acorn-7b", {"id": "acorn-7b", "developer": "acme"}),
    ],
)
def test_a_file_in_its_models_directory_is_fine(
    folder: str, model_info: dict[str, Any], profile: str
) -> None:
    path = put(f"data/bench/{folder}", **model_info)
    report = evalstream.check(path, profile=profile)
    assert "ES910" not in report.counts
    assert "ES901" not in report.counts


@each(
    ("folder", "model_info", "addressed"),
    [
        ("acme/acorn-70b", {}, "acme/acorn-7b"),
        ("Acme/acorn-7b", {}, "acme/acorn-7b"),
        ("alibaba/Qwen3-32B", {"id": "Qwen/Qwen3-32B", "developer": "alibaba"}, "Qwen/Qwen3-32B"),
        ("openai/gpt-4o", {"id": "openai/azure/gpt-4o"}, "openai/azure_gpt-4o"),
        ("acme/acorn-7b", {"id": "acorn-7b", "developer": "Acme Inc"}, "Acme Inc/acorn-7b"),
    ],
)
def test_a_file_in_another_directory_is_found(
    folder: str, model_info: dict[str, Any], addressed: str
) -> None:
    path = put(f"data/bench/{folder}", **model_info)
    place = (None, f"data/bench/{folder}", f"data/bench/{addressed}")
    assert told(path) == [(Severity.WARNING, *place)]
    assert told(os.path.abspath(path)) == [(Severity.WARNING, *place)]
    assert told("data", profile=DATASTORE) == [(Severity.ERROR, *place)]
    assert evalstream.check(path, select=("ES910",), strict=True).exit_code == 1
    assert evalstream.check(path, select=("ES910",), profile=DATASTORE).exit_code == 1


@each(
    ("model_info", "pointer", "found"),
    [
        ({"id": "acme//acorn"}, "/model_info/id", "acme//acorn"),
        ({"id": "acorn-7b", "developer": None}, "/model_info", None),
        ({"id": "acorn-7b", "developer": "unknown"}, "/model_info/developer", "unknown"),
    ],
)
def test_an_identity_without_a_directory_is_found(
    model_info: dict[str, Any], pointer: str, found: Any
) -> None:
    path = put("data/bench/acme/acorn-7b", **model_info)
    assert told(path) == [(Severity.WARNING, pointer, found, None)]
    assert told(path, profile=DATASTORE) == [(Severity.ERROR, pointer, found, None)]


@pytest.mark.parametrize("model_info", [{"id": 7}, {"id": "acorn-7b", "developer": 7}])
def test_what_has_the_wrong_type_is_left_to_the_schema(model_info: dict[str, Any]) -> None:
    path = put("data/bench/acme/birch-7b", **model_info)
    assert told(path, profile=DATASTORE) == []
    assert "ES202" in evalstream.check(path).counts


@each(
    ("folder", "name"),
    [
        ("runs/bench/acme/birch-7b", UUID),
        ("data/acme/birch-7b", UUID),
        ("data/store/bench/acme/birch-7b", UUID),
        ("data/bench/acme/birch:7b", UUID),  # ES901's, under the profile
        ("data/bench/acme/birch-7b", "results"),  # some other folder that is called data
        ("flat/objects/0f/8a", UUID),
    ],
)
def test_a_file_elsewhere_has_no_directory_to_compare_with(folder: str, name: str) -> None:
    assert told(put(folder, name)) == []


def test_under_the_profile_the_name_of_the_file_does_not_matter() -> None:
    path = put("data/bench/acme/birch-7b", "results")
    for select in ((), ("ES910",)):
        assert [one[0] for one in told(path, profile=DATASTORE, select=select)] == [Severity.ERROR]


def test_rows_of_a_pair_are_not_told_of_again() -> None:
    folder = Path("data/tiny-arithmetic/acme/birch-7b")
    folder.mkdir(parents=True)
    for path in PAIR.parent.iterdir():
        shutil.copy(path, folder)
    document = json.loads((folder / PAIR.name).read_bytes())
    rows = folder / f"{UUID}_samples.jsonl"
    document["detailed_evaluation_results"]["file_path"] = rows.as_posix()
    (folder / PAIR.name).write_text(json.dumps(document))
    report = evalstream.check(".", profile=DATASTORE)
    assert report.counts == {"ES910": 1}
    assert [os.path.relpath(finding.file) for finding in report] == [str(folder / PAIR.name)]


@each(
    "url",
    [
        "https://host/resolve/main/data/c/acme/acorn%207b/{}.json",
        "HTTPS://user@host:443/data/c/acme/acorn%207b/{}.json?download=true",
        "s3://bucket/data/c/acme/acorn 7b/{}.json",
    ],
)
def test_the_place_of_an_object_is_its_path(url: str) -> None:
    place = parse_path(url.format(UUID))
    assert place.inside
    assert place.path == f"data/c/acme/acorn 7b/{UUID}.json"


def test_a_percent_sign_in_a_key_is_one() -> None:
    assert parse_path(f"s3://bucket/data/c/acme/a%20b/{UUID}.json").folders[-1] == "a%20b"


@each(
    ("path", "uuid"),
    [
        (f"data/c/d/m/{UUID}.json", UUID),
        (f"{UUID.upper()}.json", UUID),
        ("018f3c5e-7b1d-7e62-9a4f-2c6d8e1b3a57.json", "018f3c5e-7b1d-7e62-9a4f-2c6d8e1b3a57"),
        (f"s3://bucket/flat/objects/0f/8a/{UUID}.json", UUID),
        (f"{UUID}.jsonl", None),
        (UUID, None),
        (f"{UUID}/aggregate.json", None),
        (f"0.0.1-{UUID}.json", None),
        (f"{UUID}_samples.json", None),
        (f"{UUID.replace('-', '')}.json", None),
        (f"{UUID}\n.json", None),
        ("run.json", None),
    ],
)
def test_the_uuid_in_a_name(path: str, uuid: str | None) -> None:
    assert read_uuid(path) == uuid


DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)


@given(DIGESTS, DIGESTS)
def test_a_name_is_a_uuid_that_follows_from_sources_and_target(one: str, other: str) -> None:
    name = new_name(one, other, "0.3.0")
    assert uuid.UUID(name).version == 4
    assert uuid.UUID(name).variant == uuid.RFC_4122
    assert name == new_name(one, other, "0.3.0")
    others = {new_name(one, other, "0.2.3"), new_name(one, None, "0.3.0")}
    assert name not in others
    assert one == other or name != new_name(other, one, "0.3.0")


def test_a_place_follows_from_the_model() -> None:
    place = place_for("c", "acme/a:b/x", None)
    assert place == TargetPlace("c", "acme", "a_b_x")
    assert place.rows("u") == "data/c/acme/a_b_x/u_samples.jsonl"
    assert place.aggregate("u") == "data/c/acme/a_b_x/u.json"
    assert place_for("c", "gpt2", "openai") == TargetPlace("c", "openai", "gpt2")


@each(
    ("collection", "model", "developer", "reason"),
    [
        ("a/b", "acme/x", None, "cannot be a folder"),
        ("..", "acme/x", None, "cannot be a folder"),
        ("", "acme/x", None, "cannot be a folder"),
        ("c", "x", None, "developer"),
        ("c", "x", "unknown", "unknown"),
        ("c", "../x", None, "id gives no folder"),
    ],
)
def test_what_cannot_be_a_folder_has_no_place(
    collection: str, model: str, developer: str | None, reason: str
) -> None:
    found = place_for(collection, model, developer)
    assert isinstance(found, str)
    assert reason in found


def test_the_collection_is_that_of_a_datastore() -> None:
    assert read_collection("/x/data/c/d/m/u.json") == "c"
    assert read_collection("/x/c/d/m/u.json") is None
