"""Compare how the rows of lm-eval were asked for with the configuration of their task.

Source: `ConfigurableTask.construct_requests` in api/task.py of lm_eval 0.4.0 to 0.4.13.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import dumps, loads
from typing import Any

from evalstream.formats.lm_eval.questions import render_question
from evalstream.formats.lm_eval.row import hashed_prompt, hashed_target
from evalstream.formats.lm_eval.rules.contradictions import LME306
from evalstream.formats.lm_eval.scoring_plan import CHOICE, LIKELIHOOD, ROLLING, ScoringPlan
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing import json
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import object_or_empty


def find_request_contradictions(
    row: Mapping[str, Any], plan: ScoringPlan, *, is_first: bool
) -> Iterator[Violation]:
    """Report a row that was asked for otherwise than the configuration of its task says.

    Examples are counted in the first row of a block alone: all rows of a task have as many.
    """
    if is_first:
        yield from _examples(row, plan)
    if not plan.is_telling:
        return
    lost = [name for name in plan.members if name not in object_or_empty(row.get("doc"))]
    if lost and isinstance(row.get("doc"), dict):
        message = f"the doc has no member {lost[0]!r}, which the configuration needs"
        yield LME306.violation(message, "/doc", severity=Severity.WARNING)
    yield from _prompt(row, plan)
    yield from _continuations(row, plan)
    yield from _generation(row, plan)
    yield from _answers(row, plan)


def is_padded(row: Mapping[str, Any], plan: ScoringPlan) -> bool:
    """Tell whether a request of a row has more answers than the task repeats it."""
    return plan.repeats is not None and max(_count_answers(row), default=0) > plan.repeats


def _count_answers(row: Mapping[str, Any]) -> list[int]:
    """Return the number of answers to each request of a row."""
    answers = row.get("resps")
    listed = answers if isinstance(answers, list) else []
    return [len(one) for one in listed if isinstance(one, list)]


def _answers(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Violation]:
    """Report another number of answers than there are requests, and repeats of each.

    On several devices the last request of one is repeated until all have equally many (`evaluate`
    in evaluator.py of lm_eval).
    """
    numbers, requests = _count_answers(row), row.get("arguments")
    if plan.repeats is None or not numbers:
        return
    *others, last = numbers
    is_whole = last > 0 and plan.repeats > 0 and last % plan.repeats == 0
    if not is_whole or any(one != plan.repeats for one in others):
        message = "the row has another number of answers than the repeats of its task"
        found = min(numbers) if is_whole else last
        yield LME306.violation(message, "/resps", expected=plan.repeats, found=found)
    elif isinstance(requests, dict) and len(requests) != len(numbers):
        message = "the row has answers to another number of requests than it shows"
        yield LME306.violation(message, "/resps", expected=len(requests), found=len(numbers))


def _generation(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Violation]:
    """Report other arguments of the generation than those of the task.

    Models of early releases add some of their own to those of single requests.
    """
    requests = row.get("arguments")
    if not isinstance(requests, dict) or plan.generation is None:
        return
    shown = object_or_empty(json.resolve(requests, ("gen_args_0", "arg_1")))
    expected = loads(plan.generation)
    wanted = dumps(expected, sort_keys=True)
    if dumps(shown, sort_keys=True) == wanted:
        return
    known = {name: value for name, value in shown.items() if name in expected}
    has_all = dumps(known, sort_keys=True) == wanted
    yield LME306.violation(
        "the row was generated with other arguments than generation_kwargs",
        "/arguments/gen_args_0/arg_1",
        expected=expected,
        found=shown,
        severity=Severity.WARNING if has_all else None,
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
    question = _question(row, plan)
    if question and question.strip() not in prompt:
        message = "the prompt lacks the question that doc_to_text makes of its doc"
        yield LME306.violation(message, expected=question, severity=Severity.WARNING, **where)


def _continuations(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Violation]:
    """Report texts whose likelihood was asked for, and that are not those of the task.

    They are the choices behind the delimiter, or the target alone.
    """
    requests = row.get("arguments")
    if not isinstance(requests, dict) or not plan.filters:
        return  # the task may be in Python
    if plan.output_type == CHOICE:
        yield from _choices(row, requests, plan)
    elif plan.output_type in {LIKELIHOOD, ROLLING}:
        place = "arg_1" if plan.output_type == LIKELIHOOD else "arg_0"
        shown, target = json.resolve(requests, ("gen_args_0", place)), hashed_target(row)
        if (shown is None or isinstance(shown, str)) and shown != target:
            message = "the text that was asked for is not the target"
            yield _other_text(message, "gen_args_0", place, target, shown)


def _choices(
    row: Mapping[str, Any], requests: Mapping[str, Any], plan: ScoringPlan
) -> Iterator[Violation]:
    # Without a prompt, early releases ask for the choice alone.
    asked = [
        (name, one["arg_0"], one["arg_1"])
        for name, one in requests.items()
        if json.member(one, "arg_0") and isinstance(one.get("arg_1"), str)
    ]
    texts = [text for _, _, text in asked]
    if any(prompt != asked[0][1] for _, prompt, _ in asked):
        if any(text != texts[0] for text in texts):
            name, prompt, _ = next(one for one in asked if one[1] != asked[0][1])
            message = "the choices of the row were asked for behind several prompts"
            yield _other_text(message, name, "arg_0", asked[0][1], prompt)
        return  # choices that are inputs
    if plan.is_chat:
        return
    choices = plan.list_choices(row.get("doc"))
    wanted = [f"{plan.delimiter}{one}" for one in choices or ()]
    for place, (name, _, text) in enumerate(asked):
        expected = wanted[place % len(wanted)] if wanted else plan.delimiter
        if text != expected if wanted else not text.startswith(plan.delimiter):
            message = "a choice is not that of the configuration, after its delimiter"
            yield _other_text(message, name, "arg_1", expected, text)
            return


def _other_text(message: str, name: str, member: str, expected: Any, found: Any) -> Violation:
    place = pointer(("arguments", name, member))
    shown = {"expected": expected, "found": found}
    return LME306.violation(message, place, severity=Severity.WARNING, **shown)


def check_gold(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Violation]:
    """Report a target that is not the text, number or list that doc_to_target names.

    The harness reads a text in brackets as a list.
    """
    if plan.gold is None:
        return
    found, doc = hashed_target(row), row.get("doc")
    is_text = plan.is_gold_text and isinstance(doc, dict) and plan.gold not in doc
    gold = plan.gold if is_text else json.member(doc, plan.gold)
    is_list = isinstance(gold, list)
    is_plain = type(gold) in {str, int, float} and not str(gold).startswith("[")
    if (is_plain or is_list) and found is not None and str(gold) != found:
        message = f"the target is not {plan.gold} of its doc, which doc_to_target names"
        message = "the target is not the text of doc_to_target" if is_text else message
        yield LME306.violation(message, "/target", expected=str(gold), found=found)


def lacks_example(row: Mapping[str, Any], plan: ScoringPlan) -> bool:
    """Tell whether a row has one example fewer than its task, as where its own doc was drawn."""
    number = _odd_number(row, plan) if plan.draws_own else None
    return number is not None and number + 1 == plan.shots


def _examples(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Violation]:
    """Report a prompt with more or fewer examples before its question than the task has."""
    number = _odd_number(row, plan)
    if number is not None and not lacks_example(row, plan):
        number_of_examples = "examples" if plan.shots == 0 else count_noun(number, "example")
        yield LME306.violation(
            f"the prompt has {number_of_examples} before its question, "
            f"and num_fewshot is {plan.shots:,}",
            "/arguments/gen_args_0/arg_0",
            expected=_question(row, plan) if plan.shots == 0 else plan.shots,
            found=hashed_prompt(row),
        )


def _odd_number(row: Mapping[str, Any], plan: ScoringPlan) -> int | None:
    """Return the number of examples of a prompt, None if it is that of the task or unknown."""
    prompt, question = hashed_prompt(row), _question(row, plan)
    if plan.shots is None or not (prompt and question and prompt.endswith(question)):
        return None
    before = prompt[: -len(question)]
    if plan.shots == 0:
        return 1 if before else None
    if not plan.separator:
        return None
    if (found := before.count(plan.separator)) < plan.shots:
        return found
    begins, has_fields, _ = (plan.question or "").partition("{{")
    if not has_fields or len(begins := begins.strip()) < 2:
        return None
    found = before.startswith(begins) + before.count(f"{plan.separator}{begins}")
    return found if found > plan.shots else None


def _question(row: Mapping[str, Any], plan: ScoringPlan) -> str | None:
    """Return the question of a row, None for a number, whose choices may be inputs in its place."""
    found = None if plan.question is None else render_question(plan.question, row.get("doc"))
    return None if found is None or found.strip().isdecimal() else found
