"""The fast path judges values as the exact path does: numbers, scores, tokens, turns, sources."""

import itertools
import json
from functools import lru_cache
from hashlib import sha256
from typing import Any

import pytest
from depth import examples
from each import each
from fast_rows import (
    AGENTIC,
    BARE,
    HASHED,
    IDS,
    MULTI,
    OPEN,
    SINGLE,
    agreed,
    asking,
    bare,
    changed,
    claiming,
    context,
    escaped,
    limit,
    outcome,
    sound,
    taken,
    written,
)
from hypothesis import given
from hypothesis import strategies as st
from rows import VERSIONS, Row, aggregate_of, bounded

from evalstream.formats.eee import row_view
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.rules.source import LIKE_LOG, UNLIKE_LOG


@each("text", ["single_turn", "agentic", "output.raw", "tool", "assistant", "user", "call-1"])
@pytest.mark.parametrize("number", [SINGLE, AGENTIC, MULTI])
def test_words_that_are_written_with_escapes_do_not_mislead(number: int, text: str) -> None:
    within, plainly = HASHED["0.2.0"], f'"{text}"'.encode()
    line = written(sound(number))
    violations: list[tuple[bytes, bytes]] = [
        (b"", b""),
        (b'"tool_call_id": "call-1"', b'"content": "x"'),
        (b'"num_turns": 4', b'"num_turns": 5'),
        (b'"turn_idx": 0', b'"turn_idx": 1'),
        (b'"tool_calls_count": 1', b'"tool_calls_count": 0'),
        (b'"tool_calls": [{', b'"tool_calls": [{"id": "call-1", "name": "a"}, {'),
    ]
    for old, new in violations:
        spoilt = line.replace(old, new) if old else line
        for place in (0, -1):
            assert plainly not in spoilt or not agreed(
                within, spoilt.replace(plainly, escaped(text, place))
            )
        for place in range(spoilt.count(plainly)):
            parts = spoilt.split(plainly)
            head, rest = plainly.join(parts[: place + 1]), plainly.join(parts[place + 1 :])
            assert not agreed(within, head + escaped(text) + rest)


def test_choices_beyond_ascii_that_begin_otherwise_are_no_matches() -> None:
    within = BARE["0.3.0"]
    base = bare(sound(SINGLE, "0.3.0"))
    decided = [
        ("fine", " Fire \u00fc"),
        ("", "x\u00fc"),
        ("fine", "fine, \u00fc"),
        ("fine", "bu\u00df"),
    ]
    left = [("fine", "fine\u00a0"), ("FINE ", "\u00a0fine"), ("fine", "\ufb01ne"), ("k", "\u212a")]
    left += [
        ("", "\u00a0"),
        ("fine", "fine \u00a0"),
        ("fine", "fine \u00fc"),
        ("fine", "fine\u00fc"),
    ]
    left += [
        ("strass", "stra\u00df"),
        ("s", "\u017f"),
        ("fine", "fin\uff45"),
        ("fine", "fin\u00e9"),
    ]
    for cases, is_decided in ((decided, True), (left, False)):
        for reference, choice in cases:
            changes = {"reference": [reference], "choices": ["other", choice, 30 * "x"]}
            row = {**base, "input": {**base["input"], **changes}}
            for line in (written(row), written(row, ensure_ascii=False)):
                assert agreed(within, line) == is_decided, (reference, choice)


def test_choices_are_held_against_references_as_they_are_written() -> None:
    within = BARE["0.3.0"]
    base = bare(sound(SINGLE, "0.3.0"))
    for reference, choices, is_taken in (
        (["5"], ["5", "6"], True), (["5", "6"], ["6", "5"], True), (["a"], ["x"], True),
        (["B"], ["x", "y"], True), (["C"], ["x", "y"], False), (["2"], ["x", "y"], True),
        (["3"], ["x", "y"], False), (["0"], ["x"], True), (["00002"], ["x", "y"], False),
        (["002"], ["x", "y"], True), (["9999"], ["x"], False), ([""], ["x"], False),
        ([], ["x"], True), ([""], [""], True), (["x", "z"], ["x", "y"], False),
        (["\u00fc"], ["\u00fc"], True), (["u"], [], True), (["nobody"], None, True),
        (["@"], ["x"], False), (["`"], ["x"], False), (["{"], 30 * ["x"], False),
        (["["], 30 * ["x"], False), (["z"], 26 * ["x"], True), (["Z"], 25 * ["y"], False),
        (["9"], 9 * ["x"], True), (["9"], 8 * ["x"], False), (["0002"], ["x", "y"], True),
        ([":"], 30 * ["x"], False), (["/"], 30 * ["x"], False), (["1:"], 30 * ["x"], False),
        (["0/"], 30 * ["x"], False), (["aa"], 30 * ["x"], False), (["a1"], 30 * ["x"], False),
        (["1a"], 30 * ["x"], False), ([" 1"], ["x"], True), (["(A)"], ["x"], True),
        (["+1"], ["x"], False), (["-1"], ["x"], False), (["[b]:"], ["x", "y"], False),
        (["(b."], ["x", "y"], True), (["a\nbecause"], ["x"], True), (["("], ["x"], False),
        (["X "], ["x"], True), (["x"], ["\tX\r\n"], True), (["x"], ["\u00fc", " X"], True),
        (["c\x00"], ["x"], False), (["))"], ["x"], False), (["00"], ["x"], True),
    ):  # fmt: skip
        row = changed(changed(base, "input/reference", reference), "input/choices", choices)
        is_ascii = "".join(reference).isascii() or is_taken
        for line in (written(row), written(row, ensure_ascii=False)):
            assert agreed(within, line) == is_ascii, (reference, choices)
            assert outcome(within, line + b"\n").tally.notices.total() == (not is_taken)
    line = written(changed(base, "input/reference", ["fife"]))
    assert agreed(within, line.replace(b'["5", "6"]', b'["fif\\u00e9", "fife"]'))
    assert not agreed(within, line.replace(b'["5", "6"]', b'["fif\\u0065", "x"]'))
    # How letters beyond ASCII are folded is for Python to say.
    for odd in ("FIFE\u00fc", "\ufb01fe", "\u00a0fife", "\u0662"):
        choices = json.dumps([odd, "x"]).encode()
        assert not agreed(within, line.replace(b'["5", "6"]', choices))
    line = line.replace(b"fife", b"f\\u0069fe").replace(b'"5",', b'"f\\u0069fe",')
    assert not agreed(within, line)


def with_calls(count: int, answered: int = 0, version: str = "0.3.0") -> Row:
    """Return an agentic row with so many calls, some of which one turn answers."""
    row = bare(sound(AGENTIC, version))
    key = "messages" if version == "0.3.0" else "interactions"
    row[key][1]["tool_calls"] = [{"id": f"c{number}", "name": "x"} for number in range(count)]
    row[key][2]["tool_call_id"] = [f"c{number}" for number in range(answered)]
    row["evaluation"]["tool_calls_count"] = count
    return row


@pytest.mark.parametrize("spare", [0, 1])
def test_what_there_is_room_for_is_taken(spare: int) -> None:
    within, base = BARE["0.3.0"], bare(sound(OPEN, "0.3.0"))
    calls, answered = limit("MOST_CALLS") + spare, limit("MOST_ANSWERED") + spare
    many = [f"{number}" for number in range(limit("MOST_CHOICES") + spare)]
    listed = [f"{number}" for number in range(limit("MOST_REFERENCES") + spare)]
    keys = {f"k{number}": "x" for number in range(limit("MOST_KEYS") + spare)}
    for row in (
        with_calls(calls, 1),
        with_calls(answered, answered),
        changed(changed(base, "input/choices", many), "input/reference", ["1"]),
        changed(base, "input/reference", listed),
        changed(base, "metadata", keys),
        changed(base, "metadata", {**keys, "epoch": "1", "seed": "2"}),
    ):
        assert agreed(within, written(row)) == (not spare)
    doubled = changed(base, "metadata", {**keys, "@": "x"})
    assert not agreed(within, written(doubled).replace(b'"@"', b'"k0"'))


def test_one_of_many_calls_is_at_violation() -> None:
    within, most = BARE["0.3.0"], limit("MOST_CALLS")
    row = with_calls(most, 3)
    line = written(row)
    assert agreed(within, line, line, written(bare(sound(AGENTIC, "0.3.0"))))
    for old, new in (
        (f'"c{most - 1}"', '"c0"'),
        ('["c0", "c1", "c2"]', '["c0", "c1", "d2"]'),
        ('"role": "tool"', '"role": "tool", "tool_calls": [{"id": "c5", "name": "x"}]'),
        (f'"tool_calls_count": {most}', f'"tool_calls_count": {most - 1}'),
    ):
        other = line.replace(old.encode(), new.encode())
        assert other != line
        assert not agreed(within, other)
    later = [*with_calls(3, 2)["messages"]]
    later[1], later[2] = {**later[1], "tool_call_id": ["c0"]}, {**later[2], "tool_call_id": ["c9"]}
    assert not agreed(within, written({**with_calls(3, 2), "messages": later}))


@pytest.mark.parametrize("number", [AGENTIC, MULTI])
@each("version", VERSIONS)
def test_counts_that_are_no_numbers_are_judged_alike(version: str, number: int) -> None:
    row = sound(number, version)
    for name in ("num_turns", "tool_calls_count"):
        for count in (None, ..., "4", True, [4], 0.5, -1, 4, 4.0, 2**70, 1e300):
            agreed(HASHED[version], written(changed(row, f"evaluation/{name}", count)))
    if number == MULTI:
        assert taken(HASHED[version], written(changed(row, "evaluation/tool_calls_count", ...)))


@pytest.mark.parametrize(("version", "answered"), [("0.2.0", "d0"), ("0.3.0", ["d0"])])
def test_no_turn_answers_its_own_calls(version: str, answered: Any) -> None:
    row = bare(sound(AGENTIC, version))
    key, turn = ("interactions", "messages")[version == "0.3.0"], {"role": "assistant"}
    calls = {"tool_calls": [{"id": "d0", "name": "x"}, {"id": "d1", "name": "y"}]}
    first, last = {**turn, **calls, "turn_idx": 4}, {"turn_idx": 5, "role": "user"}
    row["evaluation"] |= {"num_turns": 6, "tool_calls_count": 3}
    for where in (first, last):
        turns = [*row[key], first, last]
        turns[where["turn_idx"]] = {"tool_call_id": answered, **where}
        assert agreed(BARE[version], written({**row, key: turns})) == (where is last)
        turns[where["turn_idx"]] = {**where, "tool_call_id": answered}
        assert agreed(BARE[version], written({**row, key: turns})) == (where is last)


@lru_cache(maxsize=1)
def unbounded() -> RowContext:
    """Return a context that bounds no scores, and sums them up."""
    document = claiming("0.2.0")
    for result in document["evaluation_results"]:
        result["metric_config"] = {}
    return context("0.2.0", "concat", aggregate=document)


def scoring(number: str) -> bytes:
    """Write a row with a score that is not correct."""
    line = written(sound()).replace(b'"is_correct": true', b'"is_correct": false')
    return line.replace(b'"score": 1.0', f'"score": {number}'.encode())


NUMBER_PLACES = [
    '"score": 1.0',
    '"total_tokens": 28',
    '"epoch": 1',
    '"latency_ms": 210.5',
    '"num_turns": 1',
]

LENGTHS = [1, 14, 15, 16, 17, 18, 19, 20, 25, 62, 63, 64, 65, 400, 4300, 4301, 20_000]


@each("digits", LENGTHS)
def test_numbers_of_any_length_are_judged_alike(digits: int) -> None:
    line = written(bare(sound()))
    forms = ["{}", "-{}", "{}.5", "0.{}", "1e{:.30}", "-1E-{:.3}", "0{}", "1.{}e1", "0.0{}E+0"]
    lines = []
    for place, form in itertools.product(NUMBER_PLACES, forms):
        number = form.format("1" * digits)
        longer = line.replace(place.encode(), f"{place.partition(' ')[0]} {number}".encode())
        lines.append(longer)
    agreed(BARE["0.2.0"], *lines)


def test_each_target_is_held_against_its_own_hash() -> None:
    """The scanner remembers short texts by their last character, and the hashes of them."""
    within, base = HASHED["0.3.0"], sound(OPEN, "0.3.0")
    texts = ["1", "01", "A", "a1", "", "r" * 15, "r" * 16, "r" * 17, "q" + "r" * 15, "11"]
    others = texts[1:] + texts[:1]
    lines = []
    for hashed in (texts, others, texts, others):
        for text, other in zip(texts, hashed, strict=True):
            digest = sha256(other.encode()).hexdigest()
            row = asking(base, within, reference=[text], formatted=None)
            lines.append(written({**row, "metadata": {"target_hash": digest}}))
    assert agreed(within, *lines)
    forms = outcome(within, b"".join(line + b"\n" for line in lines)).tally.hash_forms
    assert (forms.count(LIKE_LOG), forms.count(UNLIKE_LOG)) == (2 * len(texts), 2 * len(texts))


@each("name", IDS)
def test_a_row_has_other_ids_than_the_row_before(name: str) -> None:
    within, base = BARE["0.3.0"], bare(sound(SINGLE, "0.3.0"))
    others = [base[name] + "x", base[name][:-1], "x" + base[name][1:], "", None, ...]
    for other in others:
        agreed(within, *map(written, (base, changed(base, name, other), base, base)))


def test_sums_of_fractions_depend_on_their_order() -> None:
    usage = {"input_tokens": 1.8, "output_tokens": 7.3, "total_tokens": 19.799999999999997}
    more = {
        "input_tokens_cache_write": 9.8,
        "input_tokens_cache_read": 0.9,
        "reasoning_tokens": 3.3,
    }
    for counts in ({**usage, **more}, {**usage, "total_tokens": 1.8 + 7.3}, usage):
        agreed(BARE["0.3.0"], written({**bare(sound(SINGLE, "0.3.0")), "token_usage": counts}))


@each(
    ("number", "is_taken"),
    [
        ("1", True), ("1.0", True), ("1e0", True), ("10e-1", True), ("0.1E1", True), ("1.00", True),
        ("1.0000000000000000001", True), ("0.99999999999999999999", True), ("1E+0", True),
        ("0.5", True), ("0", True), ("-0", True), ("-0.0", True), ("1e-400", True), ("0.1", True),
        ("5e-324", True), ("0." + 40 * "3", True), ("0." + 61 * "3", True), ("1e400", False),
        ("0." + 62 * "3", False), ("-1e400", False), ("1e999999999999", False), ("1e5", True),
        ("1.5", True), ("true", True), ("null", False), ("NaN", False), ("Infinity", False),
        ("-1", True), ("01", False), ("1.", False), (".5", False), ("+1", False), ("1e", False),
        ("1e+", False), ("0x1", False), ("1_0", False), ("1 1", False), ("--1", False),
        ("-", False), ("1,0", False), ("1e5.0", False), ("1d5", False), ("1f", False),
        ("123456789012345", True), ("1234567890123456", False), ("9007199254740993", False),
        ("9007199254740993.0", True), ("1" + 18 * "0", False), ("0e0", True), ("0.0e5", True),
        ("1.0e-0", True), ("-1e-400", True), ("0.3333333333333333148", True),
    ],
)  # fmt: skip
def test_scores_are_read_alike(number: str, is_taken: bool) -> None:
    wrong = scoring(number)
    line = wrong.replace(b'"is_correct": false', b'"is_correct": true')
    within = unbounded()
    score = 1.0 if number == "true" else float(number) if is_taken else None
    assert agreed(within, line) == (score not in (None, 0))
    assert agreed(within, wrong) == (score not in (None, 1))


@given(
    numbers=st.lists(
        st.tuples(
            st.one_of(st.floats(0, 1), st.floats(allow_nan=False, allow_infinity=False)),
            st.sampled_from(["r", ".17e", ".25e", ".16g", ".40f", ".15f", ".14f", ".5g"]),
        ),
        min_size=1,
        max_size=4,
    )
)
@bounded(max_examples=examples(150))
def test_scores_sum_up_alike(numbers: list[tuple[float, str]]) -> None:
    texts = [repr(one) if form == "r" else format(one, form) for one, form in numbers]
    agreed(unbounded(), *map(scoring, texts))


@pytest.mark.parametrize("sign", ["", "-"])
def test_decimals_are_rounded_alike(sign: str) -> None:
    digits = "9007199254740993", "9007199254740991", "9999999999999999", "900719925474099", "123"
    more = (
        "17976931348623157",
        "45035996273704985",
        "200000000000000005",
        "999999999999999",
        "3" * 30,
    )
    for text in (*digits, *more):
        numbers = [f"{text[:place]}.{text[place:]}" for place in range(1, len(text))]
        numbers += [f"0.{zeros * '0'}{text}" for zeros in (0, 1, 2, 7, 15, 20)]
        numbers += [f"{text[:1]}.{text[1:]}e{power}" for power in (-330, -308, -22, 5, 22, 23, 290)]
        numbers += [f"{text}.0", f"{text}.5"]
        assert agreed(unbounded(), *(scoring(sign + number) for number in numbers)), text


@each(
    ("metric", "taken_scores"),
    [
        ({}, [-5, 0, 0.5, 1, 5]),
        ({"min_score": 0, "max_score": 1}, [0, 0.5, 1]),
        ({"min_score": -5}, [-5, 0, 0.5, 1, 5]),
        ({"max_score": 0.5}, [-5, 0]),  # the best score, and not called correct
        ({"score_type": "binary", "max_score": 5}, [0, 1]),
        ({"min_score": 0.25, "max_score": 0.75}, [0.5]),
        ({"min_score": 1, "max_score": 0}, []),
        ({"min_score": "-Infinity", "max_score": "Infinity"}, [-5, 0, 0.5, 1, 5]),
        ({"min_score": 10**400}, []),
    ],
)
def test_scores_are_within_all_bounds(metric: Row, taken_scores: list[float]) -> None:
    document = aggregate_of("0.2.0", b"", 0)
    document["evaluation_results"][0]["metric_config"] = metric
    within = context("0.2.0", "concat", aggregate=document)
    found = []
    for score in (-5, 0, 0.5, 1, 5):
        row = changed(sound(), "evaluation", {"score": score, "is_correct": score == 1})
        found += [score] * agreed(within, written(row))
    assert found == taken_scores


@pytest.mark.parametrize("version", VERSIONS)
def test_token_counts_add_up(version: str) -> None:
    within = BARE[version]
    nothing = [...] if version == "0.2.0" else [..., None]
    extras = "input_tokens_cache_write", "input_tokens_cache_read", "reasoning_tokens"
    lines, expected = [], []
    for counts in itertools.product([*nothing, 0, 5, 100], repeat=3):
        known = {
            name: count for name, count in zip(extras, counts, strict=True) if count is not ...
        }
        added = [count for count in known.values() if count is not None]
        sums = {sum(some) + 30 for size in range(4) for some in itertools.combinations(added, size)}
        for total in (29, 30, 31, 35, 40, 130, 135, 230, 330, 331):
            usage = {"input_tokens": 20, "output_tokens": 10, "total_tokens": total, **known}
            lines.append(written({**bare(sound(SINGLE, version)), "token_usage": usage}))
            leaves_out = total == 30 and known.get("reasoning_tokens") == 100
            expected.append(total in sums and not leaves_out)
    agreed(within, *lines)
    assert [taken(within, line) for line in lines] == expected


SOURCES_OF_ANSWERS = {
    True: ["output.raw", "answer", "zeta", "Answer", "Zeta", "m", "x.output.raw", "a b", "z" * 500],
    False: [
        "", " ", "@x", "[x", "`x", "{x", "1x", "\u00fc", " answer", "output", "output.raw[0]",
        "outputs", "output_column", "output.reasoning_trace", "interactions[0].content", "messages",
        "messages[0]", "messages[0].content", "interactions", "a\\b", "a\nb", "_", "\noutput.raw",
        "output.raw ",
    ],
}  # fmt: skip


def test_sources_of_answers_are_judged_alike() -> None:
    for is_taken, sources in SOURCES_OF_ANSWERS.items():
        for source in sources:
            row = changed(bare(sound()), "answer_attribution/0/source", source)
            assert agreed(BARE["0.2.0"], written(row)) == is_taken, source
    for version, key in (("0.2.0", "interactions"), ("0.3.0", "messages")):
        for turn, named in itertools.product(range(-1, 6), repeat=2):
            row = changed(bare(sound(MULTI, version)), "answer_attribution/0/turn_idx", turn)
            row = changed(row, "answer_attribution/0/source", f"{key}[{named}].content")
            # The first turn and the third one are those of the user.
            assert agreed(BARE[version], written(row)) == (turn == named and named in (1, 3))
        row = changed(bare(sound(MULTI, version)), "answer_attribution/0/turn_idx", 3)
        row = changed(row, "answer_attribution/0/source", f"{key}[03].content")
        assert agreed(BARE[version], written(row))
        for source in (f"{key}[3]", f"{key}[].content", f"{key}[3].contents", f"{key}[3", "x"):
            row = changed(bare(sound(MULTI, version)), "answer_attribution/0/source", source)
            assert not agreed(BARE[version], written(row))


SPACES = [chr(point) for point in range(0x3001) if chr(point).isspace()]


@each("place", ["sample_id", "input/raw", "evaluation_id", "evaluation_name"])
def test_white_space_says_nothing(place: str) -> None:
    within = BARE["0.2.0"]
    for text in ["", *SPACES, "".join(SPACES), *map(("\u3000" + "{}" + " ").format, SPACES)]:
        row = changed(bare(sound()), place, text)
        assert not taken(within, written(row, ensure_ascii=False)), repr(text)
        assert not taken(within, written(row)), repr(text)
    for point in (0x21, 0x7E, 0xC0, 0x7FF, 0x3040, 0x4000, 0xD7FF, 0xE000, 0x1F600):
        row = changed(bare(sound()), place, f" {chr(point)}")
        assert agreed(within, written(row, ensure_ascii=False)), hex(point)


@pytest.mark.parametrize("library_name", ["unknown", "inspect_ai", "lm_eval"])
@pytest.mark.parametrize("member", ["generation_time_ms", "time_to_first_token_ms"])
@each("time", [0, 210.5, 210.50000001, 211, "0", None, -1])
def test_times_are_within_the_latency(library_name: str, member: str, time: Any) -> None:
    document = aggregate_of("0.3.0", b"", 0)
    document["eval_library"] = {"name": library_name, "version": "1"}
    within = context("0.3.0", "json-list", aggregate=document)
    row = changed(sound(SINGLE, "0.3.0"), f"performance/{member}", time)
    is_timed = member != "generation_time_ms" or library_name == "lm_eval"
    expected = time in (0, 210.5, None) or (not is_timed and time not in ("0", -1))
    assert agreed(within, written(row)) == expected
    for other in (
        {member: time},
        {"latency_ms": None, member: time},
        {"latency_ms": 0, member: time},
    ):
        agreed(within, written({**row, "performance": other}))


@pytest.mark.parametrize("number", [SINGLE, AGENTIC, MULTI])
def test_half_a_row_of_another_kind_is_not_taken(number: int) -> None:
    for version, within in HASHED.items():
        key = "interactions" if version == "0.2.0" else "messages"
        whole = {kind: sound(kind, version) for kind in (SINGLE, AGENTIC, MULTI)}
        row = whole[number]
        assert agreed(within, written(row))
        for kind in row_view.INTERACTION_TYPES:
            # A row with calls of tools may also be called multi_turn.
            expected = kind == row["interaction_type"] or (number, kind) == (
                AGENTIC,
                row_view.MULTI_TURN,
            )
            assert agreed(within, written({**row, "interaction_type": kind})) == expected
        for output, turns in itertools.product(
            [..., None, whole[SINGLE]["output"]],
            [..., None, [], whole[AGENTIC][key], whole[MULTI][key]],
        ):
            other = changed(changed(row, "output", output), key, turns)
            agreed(within, written(other))
            agreed(within, written({**other, "answer_attribution": []}))
