"""The fast path of lm-eval's samples says what the exact path says, over any bytes."""

import hashlib
import json
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import pytest
from depth import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalstream.engine.result import BlockResult
from evalstream.formats.base import load_catalogue
from evalstream.formats.lm_eval import row_engine
from evalstream.formats.lm_eval.log_tally import LogTotals
from evalstream.formats.lm_eval.questions import render_question
from evalstream.formats.lm_eval.response_filters import NotFollowed, follows
from evalstream.formats.lm_eval.row_engine import LogContext, LogEngine
from evalstream.formats.lm_eval.scanned_rows import choose_scoring
from evalstream.formats.lm_eval.scoring_plan import TAKE_FIRST, ScoringPlan
from evalstream.model.block import Lines
from evalstream.model.data_class import replace
from evalstream.model.options import Options
from evalstream.parsing.native.lm_eval import sample_scanner

needs_scanner = pytest.mark.skipif(
    sample_scanner() is None, reason="evalstream is installed without its scanner"
)

OPTIONS = Options()
CONTEXT = LogContext(OPTIONS, load_catalogue("lm_eval").selection(OPTIONS), answer_step=2)

TEXTS = st.text(max_size=12) | st.sampled_from(
    ["\n", '"', "\\", "\t\b\f\r", "\x00\x1f\x7f", "é\u2028😀", "a/b", "\ud800", "0" * 64]
)
NUMBERS = (
    st.integers(-5, 5)
    | st.integers()
    | st.floats()
    | st.sampled_from([0.1, -0.0, 1e22, 1e-5, 0.0001, 123456789012345.6, 1e15, 1e16, 5e-324])
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
METRICS = st.dictionaries(
    st.sampled_from(["acc", "acc_norm", "f1", "exact_match", "é", "a,b"]),
    st.sampled_from([0.0, 1.0, True, False, 0, 1])
    | NUMBERS
    | st.sampled_from([None, [1, 0], "0.5", "x"]),
    max_size=3,
)


def digest(text: str) -> str:
    """Return the SHA-256 of a text, of one that has no UTF-8 as if it had."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """Return a row as the harness writes it."""
    doc, prompt, target = draw(VALUES), draw(TEXTS), draw(TEXTS)
    metrics = draw(METRICS)
    row = {
        "doc_id": draw(st.integers(0, 6)),
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": draw(VALUES)}},
        "resps": [[draw(TEXTS)]],
        "filtered_resps": [draw(TEXTS)],
        "filter": draw(st.sampled_from(["none", "strict", "é", ""])),
        "metrics": list(metrics),
        "doc_hash": digest(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": digest(prompt),
        "target_hash": digest(target),
        **metrics,
    }
    if draw(st.integers(0, 9)) == 0:
        changed = draw(st.sampled_from(sorted(row)))
        row[changed] = draw(VALUES)
    if draw(st.integers(0, 9)) == 0:
        del row[draw(st.sampled_from(sorted(row)))]
    return row


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Return the bytes of a row, in the spelling of the harness or in another one, or changed."""
    row = draw(rows())
    spelling = draw(st.sampled_from([{"ensure_ascii": False}, {}, {"separators": (",", ":")}]))
    text = json.dumps(row, **spelling).encode(errors="surrogatepass")
    way = draw(st.integers(0, 9))
    if way == 0 and text:
        place = draw(st.integers(0, len(text) - 1))
        text = text[:place] + draw(st.binary(max_size=2)) + text[place + 1 :]
    if way == 1:
        other = draw(st.sampled_from([b"1", b"{}", b' {"doc_id": 1}', b"\r", b" ", b"\\/"]))
        text += other
    if way == 2:
        text = text.replace(b": ", draw(st.sampled_from([b":  ", b" : ", b":\t"])))
    if way == 3:
        text = text.replace(b"\\n", b"\\u000a").replace(b"/", b"\\/")
    if way == 4:
        text = text.replace(
            b'"doc_id": ',
            draw(st.sampled_from([b'"doc_id": 1, "doc_id": ', b'"doc_id": -', b'"doc_id": 0'])),
        )
    return text


def checked(data: bytes, *, fast: bool, context: LogContext = CONTEXT) -> BlockResult:
    """Check a block on both paths together, or on the exact path alone."""
    engine = LogEngine(context)
    given_lines = Lines(data, final=True)
    if fast:
        return engine.run(given_lines)
    with patch.object(row_engine, "sample_scanner", lambda: None):
        return engine.run(given_lines)


def amounts(result: BlockResult) -> Any:
    """Return all that the rows of a block amount to."""
    totals = LogTotals()
    totals.merge(result.own, 0)
    filters = {
        name: (
            rows.rows,
            rows.ids.count,
            rows.ids.repeats,
            rows.ids.first_repeat,
            rows.ids.highest,
            rows.contents,
            {
                metric: (
                    values.derived,
                    values.sums.rows,
                    values.sums.total,
                    values.sums.squares,
                    values.sums.unscored,
                    values.others,
                    values.texts,
                )
                for metric, values in rows.metrics.items()
            },
        )
        for name, rows in totals.filters.items()
    }
    counts = totals.rows, totals.undigested, totals.hashed, totals.replaced, totals.unkeyed
    counts += totals.lacking, totals.unfollowed, len(totals.parts)
    found = totals.task_hash(), totals.rerun(), totals.first_repeat()
    return filters, counts, found, totals.answers


def sealed(row: dict[str, Any]) -> bytes:
    """Return the line of a row with right digests."""
    row |= {
        "doc_hash": digest(json.dumps(row["doc"], indent=2, ensure_ascii=False)),
        "prompt_hash": digest(row["arguments"]["gen_args_0"]["arg_0"]),
        "target_hash": digest(row["target"]),
    }
    return json.dumps(row, ensure_ascii=False).encode(errors="surrogatepass") + b"\n"


ORDINARY: dict[str, Any] = {
    "doc_id": 3,
    "doc": {},
    "target": "a",
    "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": " x"}},
    "resps": [[["-0.5", "False"]]],
    "filtered_resps": [["-0.5", "False"]],
    "filter": "none",
    "metrics": ["acc"],
    "acc": 1.0,
}


@needs_scanner
@given(st.lists(lines(), max_size=6))
@example([b"", *[sealed(ORDINARY)] * 3])
def test_both_paths_say_the_same(block: list[bytes]) -> None:
    data = b"".join(line.replace(b"\n", b"") + b"\n" for line in block)
    with patch.object(row_engine, "WORTH_BYTES", 0):
        fast, exact = checked(data, fast=True), checked(data, fast=False)
    assert fast.violations == exact.violations
    assert fast.counts == exact.counts
    assert (fast.tally.lines, fast.tally.rows) == (exact.tally.lines, exact.tally.rows)
    assert amounts(fast) == amounts(exact)


CHOICES = st.sampled_from(["a", "be", "é", 'an "äpfel"', "a\nb", "0", "1", "😀", "", " x", "\t\t"])
LIKELIHOODS = st.sampled_from(
    ["-1.5", "-1.5000001", "-3", "-3.0", "-0.75", "-1e-05", "-4.5", "nan", "-inf", "0.0", "x"]
)
TARGETS = st.sampled_from(["0", "1", "2", "7", "01", "-1", "True", "[0, 1]", "a", "é", "x", ""])
SCORES = st.sampled_from([0.0, 1.0, 1, 0, 0.5, True, None])


CHARACTERS = [*range(0x21), 0x22, 0x2F, 0x5C, 0x7F, 0xE9, 0x2028, 0xD800, 0x1F600]
SHORT = {'"': '\\"', "\\": "\\\\", "/": "\\/"}


def spellings(character: str) -> set[str]:
    """Return the ways to write a character in a JSON text."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    escaped = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    found = {character, escaped, escaped.upper().replace("U", "u"), SHORT.get(character, character)}
    return found | {json.dumps(character, ensure_ascii=False)[1:-1]}


@needs_scanner
def test_every_spelling_of_a_character_is_judged_alike() -> None:
    scanner = sample_scanner()
    assert scanner is not None
    for character in map(chr, CHARACTERS):
        row = json.loads(sealed({**ORDINARY, "doc": {"q": f"{character}1"}}))
        written = json.dumps(character, ensure_ascii=False)[1:-1]
        for spelling in spellings(character):
            text = json.dumps({**row, "doc": {"q": "HERE1"}}, ensure_ascii=False) + "\n"
            data = text.replace("HERE", spelling).encode(errors="surrogatepass")
            check_both_paths(data, CONTEXT)
            # A digest of the text as it is spelled is right for the spelling of Python alone.
            as_spelled = digest(f'{{\n  "q": "{spelling}1"\n}}').encode()
            check_both_paths(data.replace(row["doc_hash"].encode(), as_spelled), CONTEXT)
            if spelling == written and not "\ud800" <= character < "\ue000":
                scanner.start(data, 1 << 20)
                assert scanner.take(0, 1) == 1, spelling


@st.composite
def choice_lines(draw: st.DrawFn) -> bytes:
    """Return the line of a row with choices, whose scores may be right."""
    choices = draw(st.lists(CHOICES, min_size=1, max_size=4))
    delimiter = draw(st.sampled_from([" ", " ", " ", ""]))
    answers = [[draw(LIKELIHOODS), draw(st.sampled_from(["True", "False"]))] for _ in choices]
    resps: list[Any] = [[one] for one in answers]
    if draw(st.integers(0, 9)) == 0:
        resps[-1] = draw(st.sampled_from([[], [["-1", "True"]], [["-3", "True"]] * 2]))
    prompts = ["Q"] * len(choices)
    if draw(st.integers(0, 9)) == 0:
        prompts[-1] = draw(st.sampled_from(["R", 'Q"', "Qs", ""]))
    return sealed(
        {
            "doc_id": draw(st.integers(0, 6)),
            "doc": {"choices": choices},
            "target": draw(TARGETS),
            "arguments": {
                f"gen_args_{place}": {"arg_0": prompt, "arg_1": f"{delimiter}{choice}"}
                for place, (prompt, choice) in enumerate(zip(prompts, choices, strict=True))
            },
            "resps": resps,
            "filtered_resps": answers[: draw(st.sampled_from([None, None, None, -1]))],
            "filter": draw(st.sampled_from(["none", "none", "other"])),
            "metrics": ["acc", "acc_norm"],
            "acc": draw(SCORES),
            "acc_norm": draw(SCORES),
        }
    )


GOLDS = st.sampled_from([1, 1.5, -1, 10**30, True, None, [], {"gold": "a"}])


@st.composite
def answer_lines(draw: st.DrawFn) -> bytes:
    """Return the line of a row with an answer, whose match may be right."""
    answers = st.sampled_from(["a", "é", "a\n", "[", '["a"]', "a/b", "", "\x00", "a\x00", '"'])
    answer = draw(answers)
    filtered = draw(st.sampled_from([[answer], [answer], [], [answer, "b"], [[answer]]]))
    return sealed(
        {
            "doc_id": draw(st.integers(0, 6)),
            "doc": draw(st.none() | st.fixed_dictionaries({}, optional={"gold": answers | GOLDS})),
            "target": draw(answers | st.just(answer) | st.sampled_from(["1", "1.5", "[]", "True"])),
            "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": {}}},
            "resps": draw(st.sampled_from([[[answer]], [[answer, "b"]], [["b", answer]], []])),
            "filtered_resps": filtered,
            "filter": "none",
            "metrics": ["exact_match"],
            "exact_match": draw(SCORES),
        }
    ).replace(b"/", draw(st.sampled_from([b"/", b"\\/"])))


def planned(
    output_type: str,
    *metrics: str,
    is_chat: bool = False,
    gold: str | None = None,
    filters: tuple[tuple[str, str], ...] = (("none", TAKE_FIRST),),
) -> LogContext:
    """Return the context of rows whose scores are known; `gold` is the target without a member."""
    named = tuple((metric, "{}") for metric in metrics)
    plan = ScoringPlan(output_type, named, filters, " ", is_chat, gold=gold, is_gold_text=True)
    return LogContext(OPTIONS, CONTEXT.selection, plan=plan, answer_step=2)


@needs_scanner
@pytest.mark.parametrize("is_chat", [False, True])
@given(block=st.lists(choice_lines(), min_size=1, max_size=6))
@settings(max_examples=examples(300))
def test_both_paths_judge_choices_alike(block: list[bytes], is_chat: bool) -> None:
    context = planned("multiple_choice", "acc", "acc_norm", is_chat=is_chat)
    check_both_paths(b"".join(block), context)


@needs_scanner
@given(
    block=st.lists(answer_lines(), min_size=1, max_size=6),
    gold=st.sampled_from(["gold", "gold", "a", "1", "[]", '"', "é"]),
)
@settings(max_examples=examples(300))
def test_both_paths_judge_answers_alike(block: list[bytes], gold: str) -> None:
    check_both_paths(b"".join(block), planned("generate_until", "exact_match", gold=gold))


@st.composite
def likelihood_lines(draw: st.DrawFn) -> bytes:
    """Return the line of a row with one likelihood, whose scores may be right."""
    given = draw(LIKELIHOODS.filter(lambda one: one != "nan"))  # a finding with NaN equals no other
    flag = draw(st.sampled_from(["True", "False", "x"]))
    answers = [[given, flag]] * draw(st.sampled_from([1, 1, 1, 0, 2]))
    right = float(given) if given not in {"-inf", "x"} else 0.0
    return sealed(
        {
            "doc_id": draw(st.integers(0, 6)),
            "doc": {},
            "target": "a",
            "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": " a"}},
            "resps": draw(st.sampled_from([[answers], [answers], [answers, answers], []])),
            "filtered_resps": answers,
            "filter": draw(st.sampled_from(["none", "none", "other"])),
            "metrics": ["perplexity", "acc"],
            "perplexity": draw(st.sampled_from([right, right, right * (1 + 1e-9), None, -2])),
            "acc": draw(SCORES | st.just(float(flag == "True"))),
        }
    )


@needs_scanner
@given(block=st.lists(likelihood_lines(), min_size=1, max_size=6))
@settings(max_examples=examples(300))
def test_both_paths_judge_likelihoods_alike(block: list[bytes]) -> None:
    check_both_paths(b"".join(block), planned("loglikelihood", "perplexity", "acc"))


def check_both_paths(data: bytes, context: LogContext) -> None:
    with patch.object(row_engine, "WORTH_BYTES", 0):
        fast = checked(data, fast=True, context=context)
        exact = checked(data, fast=False, context=context)
    assert fast.violations == exact.violations
    assert amounts(fast) == amounts(exact)


SHARED = ("doc", "target", "arguments", "resps")
FILTERS = ("none", "é", "strict")
SPELLINGS: tuple[dict[str, Any], ...] = (
    *({"ensure_ascii": False},) * 4,
    {},
    {"separators": (",", ":")},
    {"indent": None, "separators": (" ,\t", "  :")},
)


def turned(value: Any) -> Any:
    """Return a value with the members of all its objects in the other order."""
    if isinstance(value, dict):
        return {name: turned(one) for name, one in reversed(value.items())}
    return [turned(one) for one in value] if isinstance(value, list) else value


@st.composite
def filtered_rows(draw: st.DrawFn) -> list[bytes]:
    """Return lines of docs under several filters, in any order, and perhaps changed or lost."""
    count = draw(st.integers(1, 4))
    docs = [draw(st.dictionaries(TEXTS, VALUES, max_size=4)) for _ in range(count)]
    answers = [draw(st.sampled_from(["a", "é", "a\n", "", "\x7f/"])) for _ in docs]
    settings_of_all = draw(VALUES)
    found = []
    for name in draw(st.sampled_from([FILTERS, FILTERS[:2], FILTERS[1:], ("none", "other")])):
        for place, (doc, answer) in enumerate(zip(docs, answers, strict=True)):
            row = {
                "doc_id": place,
                "doc": doc,
                "target": "a",
                "arguments": {"gen_args_0": {"arg_0": f"Q{place}", "arg_1": settings_of_all}},
                "resps": [[answer, "b"]],
                "filtered_resps": [answer],
                "filter": name,
                "metrics": ["exact_match"],
                "exact_match": float(answer == "a"),
            }
            way = draw(st.integers(0, 19))
            if way == 0:
                changed = draw(st.sampled_from(SHARED))
                value: Any = {
                    "doc": {**doc, "more": 1},
                    "target": "A",
                    "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": settings_of_all}},
                    "resps": [[answer, "c"]],
                }[changed]
                row[changed] = value
            elif way == 1:
                row = turned(row)
            elif way == 2:
                row["doc_id"] = draw(st.integers(0, 5))
            elif way == 3:
                continue
            line = sealed(row)
            spelling = draw(st.sampled_from(SPELLINGS))
            if spelling.get("ensure_ascii", True):
                text = json.dumps(json.loads(line), **spelling)
                line = text.encode(errors="surrogatepass") + b"\n"
            if draw(st.integers(0, 19)) == 0:
                line = line.replace(b"/", b"\\/").replace(b"\\n", b"\\u000a")
            found += [line] * (2 if draw(st.integers(0, 19)) == 0 else 1)
    return found if draw(st.booleans()) else draw(st.permutations(found))


@needs_scanner
@given(block=filtered_rows(), data=st.data())
@settings(max_examples=examples(400))
def test_both_paths_compare_filters_alike(block: list[bytes], data: st.DataObject) -> None:
    names = data.draw(st.sampled_from([FILTERS, FILTERS[:2]]))
    metrics = data.draw(st.sampled_from([(), ("exact_match",)]))
    filters = tuple((name, TAKE_FIRST) for name in names)
    context = planned("generate_until", *metrics, filters=filters)
    check_both_paths(b"".join(block), context)
    cut = data.draw(st.integers(0, len(block)))
    parts = b"".join(block[:cut]), b"".join(block[cut:])
    whole = checked(b"".join(block), fast=False, context=context).own
    with patch.object(row_engine, "WORTH_BYTES", 0):
        tallies = [checked(part, fast=True, context=context).own for part in parts]
    for name, rows_of_filter in whole.filters.items():
        cut_rows = [one.filters[name] for one in tallies if name in one.filters]
        assert sum(one.contents for one in cut_rows) == rows_of_filter.contents


DOC = {"b": 2, "a": {"d": [1.5, {}], "é": "\n"}, "ab": None}
SETTINGS = {"until": ["\n", {"z": 1, "y": 2}], "do_sample": False, "a": {}}


@needs_scanner
@pytest.mark.parametrize("change", [lambda value: value, turned], ids=["same", "turned"])
@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":"), (" ,", " : ")])
def test_rows_that_say_the_same_have_the_same_contents(
    change: Any, separators: tuple[str, str]
) -> None:
    def made(doc: Any, given: Any) -> dict[str, Any]:
        row = {**ORDINARY, "doc": doc, "resps": [["a", given]], "filtered_resps": ["a"]}
        row["arguments"] = {"gen_args_0": {"arg_0": "Q", "arg_1": given}}
        return row

    filters = (("none", TAKE_FIRST), ("strict", TAKE_FIRST))
    context = planned("generate_until", filters=filters)
    scanner = sample_scanner()
    assert scanner is not None
    row = json.loads(sealed(made(change(DOC), change(SETTINGS))))
    data = json.dumps(row, ensure_ascii=False, separators=separators).encode() + b"\n"
    scanner.start(data, 1 << 20, choose_scoring(context.plan))
    assert scanner.take(0, 1) == 1
    expected = checked(sealed(made(DOC, SETTINGS)), fast=False, context=context).own
    assert list(scanner.contents(0, 1)) == [expected.filters["none"].contents]
    other = checked(sealed(made(DOC, {**SETTINGS, "a": []})), fast=False, context=context).own
    assert expected.filters["none"].contents != other.filters["none"].contents


CHAINS = [
    *(TAKE_FIRST, '[{"function": "remove_whitespace"}, {"function": "take_first"}]'),
    '[{"function": "regex", "regex_pattern": "(-?[0-9]+)"}, {"function": "take_first"}]',
    '[{"function": "regex", "group_select": -1, "regex_pattern": "([a-z])|([0-9])"}]',
    '[{"function": "take_first_k", "k": 2}, {"function": "majority_vote"}]',
    '[{"function": "lowercase"}, {"function": "take_first"}]',
    '[{"function": "map", "mapping_dict": {"a": 1}}, {"function": "take_first"}]',
    '[{"function": "custom"}]',
    '[{"function": "regex", "regex_pattern": "("}]',
    *("[]", '[{"function": "uppercase"}]'),
]
MATCHES = [
    *("{}", '{"ignore_case": true}', '{"ignore_punctuation": true, "ignore_numbers": false}'),
    *('{"regexes_to_ignore": [",", "\\\\$"]}', '{"regexes_to_ignore": ["(a*)*b"]}'),
]
ANSWERS = [
    "a",
    " A",
    "-1",
    "$1,000",
    "x1 y2 3",
    "é\n",
    "[invalid]",
    "",
    "True",
    "['a', 'b']",
    "1.0",
]


@st.composite
def judged_rows(draw: st.DrawFn, filters: tuple[tuple[str, str], ...]) -> bytes:
    """Return the lines of rows whose answers, mostly, are those of their filters."""
    lines = []
    for doc_id in range(draw(st.integers(1, 5))):
        resps = [draw(st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=3))]
        target = draw(st.sampled_from(ANSWERS))
        for name, steps in filters:
            filtered: Any = resps[0][:1]
            with suppress(NotFollowed):
                filtered = follows(steps, resps, None)[1]
            if draw(st.integers(0, 14)) == 0:
                filtered = draw(st.sampled_from([[], ["other"], [None], [["a"]], filtered * 2]))
            row = {
                "doc_id": doc_id,
                "doc": {"gold": target},
                "target": target,
                "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": {}}},
                "resps": resps,
                "filtered_resps": filtered,
                "filter": name,
                "metrics": ["exact_match"],
                "exact_match": float(bool(filtered) and filtered[0] == target),
            }
            if draw(st.integers(0, 9)) == 0:
                row["exact_match"] = draw(st.sampled_from([0.0, 1.0, 1, True, None, 0.5, "1.0"]))
            lines.append(sealed(row))
    return b"".join(lines)


@needs_scanner
@given(data=st.data())
@settings(max_examples=examples(400))
def test_both_paths_follow_filters_alike(data: st.DataObject) -> None:
    chains = data.draw(st.lists(st.sampled_from(CHAINS), min_size=1, max_size=3))
    filters = tuple(zip(FILTERS, chains, strict=False))
    options = data.draw(st.sampled_from(MATCHES))
    is_own = data.draw(st.booleans())
    metrics = data.draw(st.sampled_from([(), (("exact_match", options),)]))
    plan = ScoringPlan("generate_until", metrics, filters, gold="gold", is_own=is_own)
    block = data.draw(judged_rows(filters))
    check_both_paths(block, LogContext(OPTIONS, CONTEXT.selection, plan=plan))


@needs_scanner
@pytest.mark.parametrize("wrong", [set(), {0}, {99}, {3, 4, 50}, set(range(100))])
def test_rows_around_a_wrong_answer_are_taken(wrong: set[int], monkeypatch: Any) -> None:
    steps = '[{"function": "uppercase"}, {"function": "take_first"}]'
    made = {**ORDINARY, "resps": [["a"]], "filter": "é"}
    lines = [
        sealed({**made, "doc_id": number, "filtered_resps": ["B" if number in wrong else "A"]})
        for number in range(100)
    ]
    context = planned("generate_until", filters=(("none", TAKE_FIRST), ("é", steps)))
    judged = []
    judge = row_engine.SampleChecker.violations
    monkeypatch.setattr(
        row_engine.SampleChecker,
        "violations",
        lambda self, record, line, certain: (
            judged.append(record["doc_id"]) or judge(self, record, line, certain=certain)
        ),
    )
    found = checked(b"".join(lines), fast=True, context=context)
    assert set(judged) == wrong
    assert [one.line for one in found.violations] == sorted(number + 1 for number in wrong)
    check_both_paths(b"".join(lines), context)


@needs_scanner
@pytest.mark.parametrize(
    ("steps", "left", "is_native"),
    [(TAKE_FIRST, 0, True), (TAKE_FIRST, 40, False), ('[{"function": "uppercase"}]', 0, False)],
)
def test_rows_go_to_threads_if_python_has_little_to_do(
    steps: str, left: int, is_native: bool
) -> None:
    context = planned("generate_until", filters=(("none", steps),))
    sound, other = sealed(ORDINARY), sealed({**ORDINARY, "doc": {"a": 1e22}})
    sample = sound * 60 + other * left + sound * 40
    assert LogEngine(context).is_native(sample + sound[:9]) is is_native


@needs_scanner
def test_rows_of_filters_without_a_plan_are_left() -> None:
    scanner = sample_scanner()
    assert scanner is not None
    for names, taken in ((("none", "é"), 1), (("é", "nona", "non", ""), 0)):
        filters = tuple((name, TAKE_FIRST) for name in names)
        how = choose_scoring(planned("generate_until", filters=filters).plan)
        scanner.start(sealed(ORDINARY), 1 << 20, how)
        assert scanner.take(0, 1) == taken


@needs_scanner
def test_right_scores_are_taken() -> None:
    choices = {
        "doc_id": 0,
        "doc": {},
        "target": "1",
        "arguments": {
            "gen_args_0": {"arg_0": "Q", "arg_1": " a"},
            "gen_args_1": {"arg_0": "Q", "arg_1": ' longer "é"'},
        },
        "resps": [[["-1.5", "True"]], [["-3.25", "False"]]],
        "filtered_resps": [["-1.5", "True"], ["-3.25", "False"]],
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "acc": 0.0,
        "acc_norm": 1.0,
    }
    scanner = sample_scanner()
    assert scanner is not None
    for gold, is_taken in ((None, 1), ("1", 1), ("gold", 0)):
        how = choose_scoring(planned("multiple_choice", "acc", "acc_norm", gold=gold).plan)
        scanner.start(sealed(choices), 1 << 20, how)
        assert scanner.take(0, 1) == is_taken
    scanner.start(sealed({**choices, "doc": {"gold": 1}}), 1 << 20, how)
    assert scanner.take(0, 1) == 1
    scanner.start(sealed({**choices, "doc": {"gold": 1}, "acc": 1.0}), 1 << 20, how)
    assert scanner.take(0, 1) == 0


@needs_scanner
def test_right_likelihoods_are_taken() -> None:
    row = {**ORDINARY, "metrics": ["acc", "perplexity"], "acc": 0, "perplexity": -0.5}
    context = planned("loglikelihood", "perplexity", "acc")
    monkey = patch.object(row_engine.SampleChecker, "violations", side_effect=AssertionError)
    with monkey, patch.object(row_engine, "WORTH_BYTES", 0):
        found = checked(sealed(row) * 9, fast=True, context=context)
    derived = {name: one.derived for name, one in found.own.filters["none"].metrics.items()}
    assert derived == {"perplexity": 9, "acc": 9}
    check_both_paths(sealed(row) + sealed({**row, "acc": 1}) + sealed(row), context)


@needs_scanner
def test_ordinary_rows_are_taken() -> None:
    doc = {"question": 'é "1"\n', "n": [1, 0.25, None, True, {}, []], "d": {"a": {"b": -7}}}
    row = {
        "doc_id": 3,
        "doc": doc,
        "target": "a\tb",
        "arguments": {"gen_args_0": {"arg_0": "Q:\n1", "arg_1": " x"}},
        "resps": [[["-0.5", "False"]]],
        "filtered_resps": [["-0.5", "False"]],
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "doc_hash": digest(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": digest("Q:\n1"),
        "target_hash": digest("a\tb"),
        "acc": 1.0,
        "acc_norm": 0,
    }
    data = json.dumps(row, ensure_ascii=False).encode() + b"\n"
    scanner = sample_scanner()
    assert scanner is not None
    scanner.start(data, 1 << 20)
    assert scanner.take(0, 1) == 1
    assert scanner.stop == len(data)
    (run,) = scanner.runs()
    assert (run.doc_id, run.line, run.rows) == (3, 1, 1)
    assert scanner.filter(run.filter) == b"none"
    assert scanner.metrics(run.metrics) == b'"acc", "acc_norm"'
    values = scanner.values(0, scanner.value_count)
    assert list(values) == [1.0, 0.0]


ASKED = st.sampled_from(
    ["a", "é", " a ", "\n", "o\n", "no", '"q"', "\\", "\u2028", "12", "", "a/b"]
)
TEMPLATES = (
    *(
        "{{q}}",
        " Q: {{q}}\n{{n}} \n",
        "{{q}}{{q}}",
        "q",
        "n",
        "Say:",
        "12",
        '{{ n }}é"\\',
        "{{none}}",
    ),
)
FORMS = ("generate_until", "loglikelihood", "loglikelihood_rolling", "multiple_choice")


@st.composite
def asked_plans(draw: st.DrawFn, output_type: str) -> ScoringPlan:
    """Return a plan that says how rows were asked for."""
    metric = {"multiple_choice": "acc", "generate_until": "exact_match"}.get(output_type)
    return ScoringPlan(
        output_type,
        ((metric, "{}"),) if metric else (),
        (("none", TAKE_FIRST),),
        " ",
        draw(st.booleans()),
        question=draw(st.sampled_from([None, *TEMPLATES])),
        generation=draw(st.sampled_from([None, '{"until": ["é"], "t": 0.5}'])),
        repeats=draw(st.sampled_from([None, 1, 1, 2, 0, -1])),
        openings=draw(st.sampled_from([(), ("Do.",), ("é\n", "o")])),
        choices=draw(st.sampled_from([(), (), ("a", "é")])),
        choice_field=draw(st.sampled_from([None, "choices", "q"])),
        gold=draw(st.sampled_from([None, "gold"])),
    )


@st.composite
def asked_lines(draw: st.DrawFn, plan: ScoringPlan) -> bytes:
    """Return the line of a row that was asked for as a plan says, or a little otherwise."""
    choices = draw(st.sampled_from([["a", "é"], ["a", "é"], ["a", "b"], ["a"], ["a", "é", "x"]]))
    doc = {"q": draw(ASKED), "n": draw(st.sampled_from([3, -4, 0, 10**20, 1.5, True, None, "7"]))}
    doc |= {"choices": draw(st.sampled_from([choices, choices, [1, "é"], "ab", []]))}
    doc |= {"gold": draw(st.sampled_from(["1", ["a", "é"], [], [1, None], 1]))}
    doc.pop(draw(st.sampled_from([*doc, "", "", ""])), None)
    question = render_question(plan.question or "", doc) or ""
    around = draw(
        st.sampled_from([("", ""), ("", ""), ("Do. é\no\n", " "), ("[{", ""), ("x", "y")])
    )
    prompt = (
        around[0] + draw(st.sampled_from([question, question, question.strip(), "n"])) + around[1]
    )
    target = draw(st.sampled_from(["1", "a", prompt, "['a', 'é']"]))
    asked = ["a"]
    arguments: Any = {"gen_args_0": {"arg_0": prompt}}
    if plan.output_type == "multiple_choice":
        asked = choices
        pairs = [(prompt, f"{draw(st.sampled_from([' ', ' ', ' ', '']))}{one}") for one in choices]
        pairs[-1] = draw(st.sampled_from([pairs[-1], pairs[-1], ("Q", " é"), ("", " é")]))
        arguments = {
            f"gen_args_{place}": {"arg_0": one, "arg_1": other}
            for place, (one, other) in enumerate(pairs)
        }
    elif plan.output_type != "loglikelihood_rolling":
        shown = draw(st.sampled_from([{"until": ["é"], "t": 0.5}, {"t": 0.5}, target, " a", None]))
        arguments["gen_args_0"]["arg_1"] = shown
    number = draw(st.sampled_from([1, 1, 1, 2, 0]))
    answer: Any = ["-0.5", "True"] if plan.output_type != "generate_until" else "a"
    resps = [[answer] * number for _ in asked]
    resps = draw(
        st.sampled_from([resps, resps, [*resps, [answer]], [], [*resps[:-1], [answer] * 2]])
    )
    row = {
        "doc_id": draw(st.integers(0, 6)),
        "doc": doc,
        "target": target,
        "arguments": arguments,
        "resps": resps,
        "filtered_resps": [answer for one in resps if one],
        "filter": "none",
        "metrics": ["acc"],
        "acc": draw(st.sampled_from([0.0, 1.0])),
    }
    return sealed(row).replace(b"/", draw(st.sampled_from([b"/", b"\\/"])))


@needs_scanner
@pytest.mark.parametrize("output_type", FORMS)
@given(data=st.data())
@settings(max_examples=examples(400))
def test_both_paths_compare_requests_alike(output_type: str, data: st.DataObject) -> None:
    plan = data.draw(asked_plans(output_type))
    block = data.draw(st.lists(asked_lines(plan), min_size=1, max_size=6))
    check_both_paths(b"".join(block), LogContext(OPTIONS, CONTEXT.selection, plan=plan))


@needs_scanner
@pytest.mark.parametrize("output_type", FORMS)
def test_rows_that_were_asked_for_as_their_task_says_are_taken(output_type: str) -> None:
    scanner, is_choice = sample_scanner(), output_type == "multiple_choice"
    assert scanner is not None
    choices, template = ["a/b", '"é"\n'], 'Q: {{q}}\n{{n}} "?"\n'
    doc = {"n": -3, "choices": choices, "more": {}, "q": "\u2028é\\\n"}
    prompt = f"Do.\n{render_question(template, doc)}"
    given_all = {"until": ["\n\n"], "temperature": 0.0}
    target = {"loglikelihood": " a", "loglikelihood_rolling": prompt}.get(output_type, "1")
    arguments = {
        "generate_until": [(prompt, given_all)],
        "loglikelihood": [(prompt, target)],
        "loglikelihood_rolling": [(prompt,)],
        "multiple_choice": [(prompt, f" {one}") for one in choices],
    }[output_type]
    answers: list[Any] = [["-3.5", "False"], ["-1.5", "True"]][-len(arguments) :]
    row = {
        **ORDINARY,
        "doc": doc,
        "target": target,
        "arguments": {
            f"gen_args_{place}": {f"arg_{at}": one for at, one in enumerate(request)}
            for place, request in enumerate(arguments)
        },
        "resps": [[one] for one in answers],
        "filtered_resps": answers,
    }
    metrics = (("acc", "{}"),) if is_choice else ()
    plan = ScoringPlan(
        output_type,
        metrics,
        (("none", TAKE_FIRST),),
        question=template,
        generation=json.dumps(given_all) if output_type == "generate_until" else None,
        repeats=1,
        openings=("Do.",),
        choice_field="choices",
    )
    changes: list[Any] = [
        {},
        {"question": "{{q}} {{n}}"},
        {"openings": ("Don't.",)},
        {"repeats": 2},
        {"generation": "{}"} if output_type == "generate_until" else {"choices": ("a",)},
        {"question": "q"},
        {"question": "Do."},
        {"question": "n"},
        {"question": "Don't."},
    ]
    taken = []
    for change in changes:
        scanner.start(sealed(row), 1 << 20, choose_scoring(replace(plan, **change)))
        taken.append(scanner.take(0, 1))
    is_free = output_type in {"loglikelihood", "loglikelihood_rolling"}
    assert taken == [1, 0, 0, 0, int(is_free), 1, 1, 1, 0]
