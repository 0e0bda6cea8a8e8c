"""Names and places of results: the same for the same source, and where a datastore has them."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstream.formats.eee.changes.naming import TargetPlace, new_name, place_for, read_collection

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


@pytest.mark.parametrize(
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
