"""Tests of the harness's reader: what it keeps, and what it says."""

from types import SimpleNamespace
from typing import Any

from evalstream.formats.inspect.library import Library, LibraryRefusal


def test_nothing_of_a_sample_is_kept_for_the_next() -> None:
    sizes = []

    def load(value: dict[str, Any], *, context: dict[str, Any]) -> None:
        # The harness keeps each message in the context that it loads it with.
        sizes.append(len(context))
        context[value["id"]] = value

    models = SimpleNamespace(EvalSample=SimpleNamespace(model_validate=load))
    library = Library(models, dict)
    assert [library.refused_sample({"id": number}) for number in "abc"] == [None, None, None]
    assert sizes == [0, 0, 0]


def test_the_reason_of_a_refusal_is_kept() -> None:
    def load(value: dict[str, Any], *, context: object) -> None:
        raise KeyError(value["id"])

    models = SimpleNamespace(EvalSample=SimpleNamespace(model_validate=load))
    assert Library(models, lambda: None).refused_sample({"id": 1}) == LibraryRefusal(
        "KeyError: 1", ""
    )
