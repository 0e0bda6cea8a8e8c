"""Aggregates that are migrated: nothing is lost, every change is reported, and numbers stay."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from each import each
from spelled_json import leaves, parse

from evalstream.formats.eee.changes.aggregate import AggregateMigration, NewSeal, Source
from evalstream.formats.eee.changes.moves import AggregateRefused
from evalstream.formats.eee.changes.supplied import Supplied
from evalstream.model.changes import Applied

SOURCE = Source("a.json", "f" * 64)
SEAL = NewSeal("data/c/d/m/0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57_samples.jsonl", "0" * 64, 3)
RESULT = '{"evaluation_name": "e", "score_details": {"score": 0.50}}'
FILL = Supplied(fill=True)


def aggregate_with(**members: str) -> str:
    """Return an aggregate of 0.2.0; `members` are JSON texts by name."""
    texts = {
        "schema_version": '"0.2.0"',
        "evaluation_id": '"e/m/1"',
        "source_metadata": "{}",
        "model_info": '{"name": "m", "id": "a/m"}',
        "evaluation_results": f"[{RESULT}]",
        **members,
    }
    return "{" + ", ".join(f'"{name}": {text}' for name, text in texts.items()) + "}"


def migrated(
    text: str, supplied: Supplied = FILL, seal: NewSeal | None = None, source: Source = SOURCE
) -> tuple[Any, list[Applied]]:
    data, applied = AggregateMigration(text.encode(), "0.3.0", supplied).migrate(source, seal)
    return json.loads(data), applied


def reported(applied: list[Applied]) -> Mapping[str, str]:
    """Return the kinds of change by place."""
    return {one.change.pointer: one.change.kind.name for one in applied}


def origin(document: Any) -> Any:
    return json.loads(document["source_metadata"]["additional_details"]["migrated_from"])


@each("earlier", ['{"a": 1.50}', "[1, 2]", "5e3", "true", '"x"'])
def test_an_earlier_record_of_the_source_stays_within(earlier: str) -> None:
    metadata = f'{{"additional_details": {{"migrated_from": {earlier}, "other": 1.0}}}}'
    document, _ = migrated(aggregate_with(source_metadata=metadata))
    found = origin(document)["migrated_from"]
    assert parse(found if earlier != '"x"' else f'"{found}"') == parse(earlier)
    assert document["source_metadata"]["additional_details"]["other"] == "1.0"


def test_an_earlier_record_that_is_null_says_nothing() -> None:
    metadata = '{"additional_details": {"migrated_from": null}}'
    document, _ = migrated(aggregate_with(source_metadata=metadata))
    assert "migrated_from" not in origin(document)


@each(("version", "kept"), [("3.10", "3.10"), ("[1, 2]", "[1,2]"), ("true",) * 2])
def test_a_version_of_the_harness_that_is_not_text_is_kept(version: str, kept: str) -> None:
    library = f'{{"name": "x", "version": {version}, "additional_details": null}}'
    document, applied = migrated(aggregate_with(eval_library=library))
    assert document["eval_library"] == {
        "name": "x",
        "version": "unknown",
        "additional_details": {"migrated.version": kept},
    }
    kinds = [
        one.change.kind.name for one in applied if "eval_library/version" in one.example.pointer
    ]
    assert kinds == ["kept", "eval-library"]


@each(("own", "kept"), [('"unknown"', "unknown"), ("5", "5"), ("null", None)])
def test_a_developer_in_whose_place_another_is_supplied_is_kept(own: str, kept: str | None) -> None:
    model = f'{{"name": "m", "id": "m", "developer": {own}}}'
    supplied = Supplied(fill=True, developers={"m": "acme"})
    document, _ = migrated(aggregate_with(model_info=model), supplied)
    assert document["model_info"]["developer"] == "acme"
    assert document["model_info"]["additional_details"].get("migrated.developer") == kept


@each(
    ("seal", "changed"),
    [
        (
            {"format": "json", "file_path": "x", "hash_algorithm": "md5", "checksum": "ab" * 16},
            {"format": "seal", "file_path": "file-path", "hash_algorithm": "algorithm"}
            | {"checksum": "seal", "total_rows": "seal"},
        ),
        (
            {"format": "jsonl", "file_path": SEAL.file_path, "checksum": SEAL.checksum},
            {"hash_algorithm": "seal", "total_rows": "seal"},
        ),
        ({"format": "jsonl", **SEAL._asdict(), "hash_algorithm": "sha256", "note": "stays"}, {}),
    ],
)
def test_every_part_of_the_seal_that_changes_is_reported(
    seal: Mapping[str, Any], changed: Mapping[str, str]
) -> None:
    text = aggregate_with(detailed_evaluation_results=json.dumps(seal))
    document, applied = migrated(text, seal=SEAL)
    found = document["detailed_evaluation_results"]
    assert found == {**seal, "format": "jsonl", "hash_algorithm": "sha256", **SEAL._asdict()}
    prefix = "/detailed_evaluation_results/"
    of_seal = {place: kind for place, kind in reported(applied).items() if place.startswith(prefix)}
    assert of_seal == {prefix + name: kind for name, kind in changed.items()}


def test_a_seal_is_set_among_other_members_in_their_layout() -> None:
    seal = '{"total_rows": 3.0,\n  "note": "é", "checksum": true}'
    text = aggregate_with(detailed_evaluation_results=seal)
    data, _ = AggregateMigration(text.encode(), "0.3.0", FILL).migrate(SOURCE, SEAL)
    written = (
        '{"total_rows": 3.0,\n  "note": "é", "checksum": "' + SEAL.checksum + '",\n  "format": '
        '"jsonl",\n  "file_path": "' + SEAL.file_path + '",\n  "hash_algorithm": "sha256"}'
    )
    assert written in data.decode()
    text = aggregate_with(detailed_evaluation_results="[1]")
    with pytest.raises(AggregateRefused, match="/detailed_evaluation_results is not an object"):
        migrated(text, seal=SEAL)


def test_changes_within_a_shared_source_of_data_are_reported() -> None:
    source = '{"dataset_name": "d", "sample_ids": [1, 2], "additional_details": {"a": 1.0}}'
    text = aggregate_with(schema_version='"0.1.0"', source_data=source)
    document, applied = migrated(text)
    assert document["evaluation_results"][0]["source_data"] == {
        "dataset_name": "d",
        "sample_ids": ["1", "2"],
        "additional_details": {"a": "1.0"},
        "source_type": "other",
    }
    assert reported(applied)["/source_data"] == "moved"
    place = "/evaluation_results/*/source_data"
    assert reported(applied)[f"{place}/sample_ids/*"] == "to-text"
    assert reported(applied)[f"{place}/additional_details/*"] == "to-text"
    examples = {one.example.pointer for one in applied}
    assert {"/source_data/sample_ids/1", "/source_data/additional_details/a"} <= examples


def test_texts_in_the_place_of_objects_become_members_of_them() -> None:
    result = '{"evaluation_name": "e", "generation_config": {"additional_details": "t=0"}}'
    model = '{"name": "m", "id": "a/m", "inference_engine": "vllm"}'
    text = aggregate_with(evaluation_results=f"[{RESULT}, {result}]", model_info=model)
    document, applied = migrated(text)
    assert document["model_info"]["inference_engine"] == {"name": "vllm"}
    details = document["evaluation_results"][1]["generation_config"]["additional_details"]
    assert details == {"migrated.additional_details": "t=0"}
    moved = {one.example.pointer for one in applied if one.change.kind.name == "moved"}
    assert moved >= {
        "/model_info/inference_engine",
        "/evaluation_results/1/generation_config/additional_details",
    }


@each(
    ("source", "kind", "need"),
    [
        ('{"hf_repo": "a/b"}', "hf_dataset", None),
        ('{"hf_repo": null}', "other", "source_data.source_type is missing"),
        ('{"source_type": "url"}', "url", None),
        ('["https://example.org"]', "url", "source_data.dataset_name is missing"),
        ('"pens"', None, None),
    ],
)
def test_a_shared_source_of_data_has_its_kind_or_lacks_it(
    source: str, kind: str | None, need: str | None
) -> None:
    text = aggregate_with(schema_version='"0.1.0"', source_data=source)
    document, _ = migrated(text)
    found = document["evaluation_results"][0].get("source_data")
    assert (found and found["source_type"]) == kind
    needs = AggregateMigration(text.encode(), "0.3.0", Supplied()).needs
    about = [one.what for one in needs if one.what.startswith("source_data")]
    assert about == ([] if need is None else [need])


def test_a_list_of_addresses_gets_the_dataset_that_is_supplied_for_the_result() -> None:
    text = aggregate_with(schema_version='"0.1.0"', source_data='["https://example.org"]')
    supplied = Supplied(tables={"dataset": {"e": "the set"}}, fill=True)
    document, _ = migrated(text, supplied)
    (result,) = document["evaluation_results"]
    assert result["source_data"] == {
        "dataset_name": "the set",
        "source_type": "url",
        "url": ["https://example.org"],
    }


@each("number", ["1.0", "1e5", "0.10", "-0", "123456789012345678901234567890"])
def test_numbers_keep_their_spelling(number: str) -> None:
    score = f'{{"score": {number}, "details": {{"a": {number}}}}}'
    result = f'{{"evaluation_name": "e", "score_details": {score}}}'
    text = aggregate_with(evaluation_results=f"[{result}]", extra=f'{{"n": {number}}}')
    data, _ = AggregateMigration(text.encode(), "0.3.0", FILL).migrate(SOURCE, None)
    found = parse(data)
    assert f'"score": {number}' in data.decode()
    assert found["evaluation_results"][0]["score_details"]["details"] == {"a": number}
    kept = found["source_metadata"]["additional_details"]["migrated.extra"]
    assert kept == f'{{"n":{number}}}'
    assert not leaves(parse(text)) - leaves(found)


def test_the_same_source_gives_the_same_bytes() -> None:
    text = aggregate_with(extra='"x"').encode()
    first, second = (AggregateMigration(text, "0.3.0", FILL) for _ in range(2))
    assert first.migrate(SOURCE, SEAL) == second.migrate(SOURCE, SEAL)


@pytest.mark.parametrize("declared", ["0.2.0", "instance_level_eval_0.2.0"])
def test_a_version_is_known_in_either_form(declared: str) -> None:
    document, _ = migrated(aggregate_with(schema_version=f'"{declared}"'))
    assert document["schema_version"] == "0.3.0"
    assert origin(document)["version"] == "0.2.0"


@each(
    ("members", "reason"),
    [
        ({"schema_version": '"0.0.1"'}, "version 0.0.1 is not known"),
        ({"schema_version": '"a <b>"'}, "schema_version is not known"),
        ({"schema_version": "3"}, "schema_version is missing"),
        ({"source_metadata": '"x"'}, "/source_metadata is missing or not an object"),
        ({"eval_library": '"lm-eval"'}, "/eval_library is not an object"),
        (
            {"a": "1", "source_metadata": '{"additional_details": {"migrated.a": "2"}}'},
            "/source_metadata/additional_details already has a member migrated.a",
        ),
    ],
)
def test_what_has_no_place_is_refused(members: Mapping[str, str], reason: str) -> None:
    with pytest.raises(AggregateRefused, match=re.escape(reason)):
        migrated(aggregate_with(**members))


def test_a_newer_version_is_refused() -> None:
    text = aggregate_with(schema_version='"0.3.0"').encode()
    with pytest.raises(AggregateRefused, match=r"version 0\.3\.0 is newer than 0\.2\.3"):
        AggregateMigration(text, "0.2.3", FILL)


def test_what_is_missing_is_listed_with_the_options() -> None:
    needs = AggregateMigration(aggregate_with().encode(), "0.3.0", Supplied()).needs
    assert [(need.what, need.options) for need in needs] == [
        ("eval_library.name is missing", "--eval-library NAME@VERSION or --fill"),
        ("eval_library.version is missing", "--eval-library NAME@VERSION or --fill"),
        (
            "model_info.additional_details.deployment_type is missing",
            "--deployment TYPE/AVAILABILITY or --fill",
        ),
        (
            "model_info.additional_details.model_availability is missing",
            "--deployment TYPE/AVAILABILITY or --fill",
        ),
    ]
