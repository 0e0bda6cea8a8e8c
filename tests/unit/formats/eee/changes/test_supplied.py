"""Values for migrations: how options and files spell them, and which of them counts."""

import pytest
from each import each

from evalstream.formats.eee.changes.supplied import (
    DECISIONS,
    Deployment,
    HarnessLibrary,
    Supplied,
    supplied_from,
)
from evalstream.model.errors import UsageError

TABLES = {
    "collection": {"*": "rest", "*/gsm8k/*": "gsm8k"},
    "developer": {"gpt2": "openai"},
    "deployment": {"openai/*": "externally_managed/closed_weights"},
    "eval_library": {"*": "inspect_ai@0.3@dev"},
    "dataset": {"mmlu*": "mmlu"},
}


def test_options_come_before_tables_and_long_patterns_before_short_ones() -> None:
    tables = supplied_from({"tables": TABLES})
    assert tables.find_collection("x/gsm8k/a.json") == "gsm8k"
    assert tables.find_collection("x/a.json") == "rest"
    assert tables.find_developer("gpt2") == "openai"
    assert tables.find_developer("gpt3") is None
    assert tables.find_deployment("openai/x") == Deployment("externally_managed", "closed_weights")
    assert tables.find_deployment("acme/x") is None
    assert tables.find_library("acme/x") == HarnessLibrary("inspect_ai@0.3", "dev")
    assert tables.find_dataset("mmlu:art") == "mmlu"
    named = supplied_from(
        {
            "tables": TABLES,
            "collection": "c",
            "developer": ("gpt2=acme", "a=b=c"),
            "deployment": "self_deployed/open_weights",
            "eval_library": "x@1",
        }
    )
    assert named.find_collection("x/gsm8k/a.json") == "c"
    assert named.find_developer("gpt2") == "acme"
    assert named.find_developer("a=b") == "c"
    assert named.find_deployment("openai/x") == Deployment("self_deployed", "open_weights")
    assert named.find_library("acme/x") == HarnessLibrary("x", "1")


@each(
    ("key", "found"),
    [("a/gpt", "exact/closed_weights"), ("a/gpt2", "long"), ("a/x", "short"), ("m[1]", "brackets")],
)
def test_a_name_itself_comes_before_patterns(key: str, found: str) -> None:
    table = {"a/gpt*": "long", "a/gpt": "exact/closed_weights", "a/*": "short", "m[1]": "brackets"}
    assert supplied_from({"tables": {"developer": table}}).find_developer(key) == found


def test_the_option_for_a_deployment_says_nothing_of_judges() -> None:
    named = supplied_from({"tables": TABLES, "deployment": "self_deployed/open_weights"})
    judge = Deployment("externally_managed", "closed_weights")
    assert named.find_deployment("openai/x", is_judge=True) == judge
    assert named.find_deployment("acme/x", is_judge=True) is None


def test_decisions_are_listed_with_commas_and_all_of_them_at_once() -> None:
    assert Supplied().decisions == frozenset()
    assert supplied_from({"decide": ("output, transcript", "result-id")}).decisions == {
        "output",
        "transcript",
        "result-id",
    }
    assert supplied_from({"decide": ("all",)}).decisions == frozenset(DECISIONS)


@each(
    ("values", "message"),
    [
        ({"deployment": "self_deployed"}, "TYPE/AVAILABILITY"),
        ({"deployment": "selfdeployed/unknown"}, "did you mean self_deployed"),
        ({"deployment": "unknown/open"}, "did you mean open_weights|known are"),
        ({"eval_library": "inspect"}, "NAME@VERSION"),
        ({"eval_library": "@1"}, "NAME@VERSION"),
        ({"developer": ("gpt2",)}, "ID=DEV"),
        ({"developer": ("=x",)}, "ID=DEV"),
        ({"decide": ("outputs",)}, "did you mean output"),
        ({"rehash": "jsonlist"}, "did you mean json-list"),
        ({"tables": {"developers": {}}}, "did you mean developer"),
        ({"tables": {"developer": "x"}}, "not a table"),
        ({"tables": {"developer": {"x": 1}}}, "not a text"),
        ({"tables": {"deployment": {"x": "y"}}}, "TYPE/AVAILABILITY"),
        ({"tables": {"eval_library": {"x": "y"}}}, "NAME@VERSION"),
    ],
)
def test_what_makes_no_sense_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        supplied_from(values)
