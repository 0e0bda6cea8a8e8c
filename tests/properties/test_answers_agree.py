"""What most rows keep to: the scanner and the exact path flag the same of every row."""

import random
from typing import Any

import pytest
from depth import some
from each import each
from fast_rows import AGENTIC, MULTI, SINGLE, agreed, claiming, context, sound, written

VALUES = (
    *(
        "A",
        "B",
        "(c)",
        "d.",
        "5",
        "12",
        "1200",
        "-3",
        "0",
        "yes",
        "No",
        "true",
        "maybe",
        "26",
        "27",
    ),
    *("the long way", "5 * 2", "x" * 33, "ok " * 30, "way/home", "\x7f B\x00", "...", "1,200.0"),
    *("105", "100", "invalid", "red", "blue", " 5", "5 ", "AB", "A.", "7", "\u00e9"),
)
UNMATCHED = "Scoring pattern not matched in output: "
OUTPUTS = (
    *(UNMATCHED, f"{UNMATCHED}5", f"{UNMATCHED}\u00e9 B", UNMATCHED[:-1], f" {UNMATCHED}A"),
    *(
        "The answer is B.",
        "**D**",
        "A. Paris",
        "B: x",
        "a long way",
        "5 million, or 2",
        "1/2 = 0.5",
    ),
    *(
        "No.",
        "YES!",
        " yes ",
        "",
        " ",
        "x\ny B\n",
        "\n\nB",
        'q "B"',
        "\u00e9 12",
        "\u0665 2",
        "\tD",
    ),
    *("I.", "2 + 3 = 5", "a/b C", "C*", "[E]", "x:F", "-H-", "Answer:\nG"),
)
QUESTIONS = (
    *("What is 2?", "what is 2", "What is  2?", "What is _?", "A?", "?", 'Wh"at', "tell."),
    *("x" * 999 + "?", "x" * 1001),
)
CHOICES = (None, [], ["A", "B", "C"], ["1", "2", "3"], ["B", "A"], ["red", "blue"], ["12", "27"])
PROMPTS = ("<u>{}</u>", "{}", "no", "")


def drawn_row(draw: random.Random, number: int) -> Any:
    """Return a row whose texts may keep to a habit, break it, or say nothing of it."""
    row, raw = sound(SINGLE, "0.3.0"), draw.choice(QUESTIONS)
    asked = draw.choice((raw, raw[1:-1], raw.capitalize()))
    outputs = draw.choices(VALUES + OUTPUTS, k=draw.choice((0, 1, 1, 1, 2)))
    answer = row["answer_attribution"][0] | {
        "extracted_value": draw.choice((*VALUES, *outputs)),
        "source": draw.choice(("output.raw", "output.raw", "output.raw[0]")),
        "extraction_method": draw.choice(("regex", "exact_match")),
    }
    return row | {
        "sample_id": f"s{number}",
        "input": {
            "raw": raw,
            "formatted": draw.choice(PROMPTS).format(asked),
            "reference": draw.choices(VALUES, k=draw.choice((1, 1, 3))),
            "choices": draw.choice(CHOICES),
        },
        "output": {"raw": outputs},
        "answer_attribution": draw.choice(([answer], [answer], [answer], [], [answer, answer])),
        "evaluation": {"score": draw.choice((0, 1.0, 0.5)), "is_correct": draw.random() < 0.5},
    }


def drawn_transcript(draw: random.Random, number: int) -> Any:
    """Return a row of several turns, mostly without an answer that is attributed."""
    row = sound(draw.choice((AGENTIC, MULTI)), "0.3.0")
    asked = row["input"] | {
        "reference": draw.choices(VALUES, k=draw.choice((1, 1, 3))),
        "choices": draw.choice((None, None, *CHOICES)),
    }
    for turn in row["messages"]:
        turn["content"] = draw.choice((turn["content"], *VALUES, *OUTPUTS))
    row["messages"] += draw.choice(([], row["messages"][-1:]))
    is_judged = draw.choice(({"score": 1.0, "is_correct": True}, {"score": 0, "is_correct": False}))
    return row | {
        "sample_id": f"t{number}",
        "input": asked,
        "answer_attribution": draw.choice(([], [], row["answer_attribution"])),
        "evaluation": row["evaluation"] | is_judged,
    }


def searching(library: str, scorer: str = "match") -> Any:
    """Return an aggregate with results that look for references in answers."""
    document = claiming("0.3.0") | {"eval_library": {"name": library, "version": "1"}}
    for result in document["evaluation_results"]:
        text = f"accuracy from scorer {scorer}" if library == "inspect_ai" else "exact_match"
        names = {"evaluation_description": text, "metric_name": text.partition(" ")[0]}
        result["metric_config"] = result["metric_config"] | names
    return document


@pytest.mark.parametrize(
    "aggregate",
    [
        *(claiming("0.3.0"), searching("inspect_ai"), searching("inspect_ai", "includes")),
        searching("lm_eval"),
    ],
    ids=["usual", "match", "includes", "lm_eval"],
)
@each("seed", some(range(200), 40))
def test_habits_are_flagged_alike(seed: int, aggregate: Any) -> None:
    draw = random.Random(seed)
    within = context("0.3.0", "json-list", aggregate=aggregate)
    rows = [drawn_row(draw, number) for number in range(6)]
    rows += [drawn_transcript(draw, number) for number in range(2)]
    agreed(within, *(written(row, ensure_ascii=seed % 2 == 0) for row in rows))
