"""The rule over contradictions, about single rows: whether they were asked for as their task says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import dumps, loads
from typing import Any

from evalstream.formats.lm_eval.row import hashed_prompt
from evalstream.formats.lm_eval.rules.contradictions import LME306
from evalstream.formats.lm_eval.scoring_plan import CHOICE, ScoringPlan, render_question
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing import json


def find_request_contradictions(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Violation]:
    """Report a row that was asked for otherwise than the configuration of its task says.

    All rows of a task are asked for alike, so that one tells.
    """
    yield from _examples(row, plan)
    yield from _prompt(row, plan)
    yield from _continuations(row, plan)
    shown = json.resolve(row, ("arguments", "gen_args_0", "arg_1"))
    is_known = isinstance(shown, dict) and plan.generation is not None
    if is_known and dumps(shown, sort_keys=True) != plan.generation:
        yield LME306.violation(
            "the row was generated with other arguments than generation_kwargs",
            "/arguments/gen_args_0/arg_1",
            expected=loads(plan.generation or ""),
            found=shown,
        )
    answers = row.get("resps")
    listed = answers if isinstance(answers, list) else []
    given = {len(one) for one in listed if isinstance(one, list)}
    if plan.repeats is not None and given and given != {plan.repeats}:
        yield LME306.violation(
            "the row has another number of answers than the repeats of its task",
            "/resps",
            expected=plan.repeats,
            found=max(given),
        )


def _prompt(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Violation]:
    """Report a prompt without the instruction, the description or the question that it must have.

    Servers get their messages as JSON.
    """
    prompt = hashed_prompt(row)
    if prompt is None or prompt.startswith("[{"):
        return
    where = {"pointer": "/arguments/gen_args_0/arg_0", "found": prompt}
    for text in plan.openings:
        if text not in prompt:
            message = "the prompt lacks the instruction or the description of its task"
            yield LME306.violation(message, expected=text, **where)
    question = None if plan.question is None else render_question(plan.question, row.get("doc"))
    # Choices that are inputs stand in the place of a number.
    is_choice = question is not None and question.strip().isdecimal()
    if question and not is_choice and question.rstrip("\n") not in prompt:
        message = "the prompt lacks the question that doc_to_text makes of its doc"
        yield LME306.violation(message, expected=question, severity=Severity.WARNING, **where)


def _continuations(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Violation]:
    """Report choices that are asked for with another delimiter, or are not those of the task."""
    requests = row.get("arguments")
    if plan.output_type != CHOICE or plan.is_chat or not isinstance(requests, dict):
        return
    shown = [json.member(one, "arg_1") for one in requests.values()]
    wanted = [f"{plan.delimiter}{one}" for one in plan.choices]
    for place, text in enumerate(one for one in shown if isinstance(one, str)):
        expected = wanted[place % len(wanted)] if wanted else plan.delimiter
        if not text.startswith(plan.delimiter) or (wanted and text not in wanted):
            yield LME306.violation(
                "a choice is not that of the configuration, after its delimiter",
                f"/arguments/gen_args_{place}/arg_1",
                expected=expected,
                found=text,
                severity=Severity.WARNING,
            )
            return


def _examples(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Violation]:
    """Report a prompt with more or fewer examples before its question than the task has."""
    if plan.question is None:
        return
    prompt, question = hashed_prompt(row), render_question(plan.question, row.get("doc"))
    if prompt is None or not question or not prompt.endswith(question):
        return
    before, number = prompt[: -len(question)], None
    if plan.shots == 0:
        number = 1 if before else None
    elif not plan.separator:
        return
    elif before.count(plan.separator) < plan.shots:
        number = before.count(plan.separator)
    elif len(begins := plan.question.partition("{{")[0].strip()) > 1 and "{{" in plan.question:
        found = before.startswith(begins) + before.count(f"{plan.separator}{begins}")
        number = found if found > plan.shots else None
    if number is not None:
        number_of_examples = "examples" if plan.shots == 0 else count_noun(number, "example")
        yield LME306.violation(
            f"the prompt has {number_of_examples} before its question, "
            f"and num_fewshot is {plan.shots:,}",
            "/arguments/gen_args_0/arg_0",
            expected=question if plan.shots == 0 else plan.shots,
            found=prompt,
        )
