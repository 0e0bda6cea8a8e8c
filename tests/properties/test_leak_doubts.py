"""The scanner doubts every row in which a rule about leaks finds something, and few others."""

import json
from collections.abc import Callable
from inspect import unwrap
from pathlib import Path
from typing import Any

import pytest
from corpus import CORPUS, needs_corpus
from depth import deep, examples, in_turn, is_deep, some
from each import each
from fast_rows import (
    MULTI,
    OPEN,
    agreed,
    bare,
    changed,
    context,
    limit,
    outcome,
    slowly,
    sound,
    taken,
)
from hypothesis import example, given
from hypothesis import strategies as st
from rows import PREFERRED, VERSIONS, Row, bounded

import evalstream
from benchmarks.generate.runs import generate
from evalstream.formats.eee import catalogue, fast_path
from evalstream.formats.eee.catalogue import ROW_RULES
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.row_engine import RowEngine
from evalstream.formats.eee.rules import leak
from evalstream.model.block import Lines

VERSION = "0.3.0"
SECRETS = context(VERSION, select=("ES316",))
HASHED = [context(VERSION, PREFERRED[VERSION], select=(code,)) for code in ("ES316", "ES312")]
ANSWERS = context(VERSION, select=("ES312",))

KEY = "q8Zr41xTmmP0vWb7Ld2KsYh5Nc9JtGf3Re6Ua1XoPz"
LETTERS = "qwZrTmPvWbLdKsYhNcJtGfReUaXoPzIkBn"
TOKENS = (
    "sk-" + KEY[:20],
    "sk-zQ9Zx0z4ZTz8P9vWz7zL",
    "sk-proj-" + KEY[:14] + "-" + KEY[:2],
    *(f"gh{kind}_{KEY[:36]}" for kind in "pousr"),
    "github_pat_" + KEY[:20] + "_" + KEY[:20],
    "glpat-" + KEY[:20],
    "hf_" + LETTERS[:30],
    "xoxb-" + KEY[:12],
    "AKIA" + LETTERS[:16].upper(),
    "ASIA" + KEY[:16].upper(),
    "AIza" + KEY[:35],
    f"eyJ{KEY[:15]}.eyJ{KEY[5:20]}.{KEY[:20]}",
    f"eyJ-abcdefghij_klmno.eyJ-abcdefghij_klmno.{KEY[:20]}",
    "Bearer " + KEY[:24],
    "bearer   " + f"{KEY[:5]}/{KEY[5:]}",
    "-----BEGIN PRIVATE KEY-----\n" + KEY[:40],
    f"-----BEGIN RSA PRIVATE KEY----- {KEY[:4]} and {KEY[:30]}/{KEY[:9]}",
)
"""A key or token of each form that the rule knows, most of them as short as they can be."""

NAMES = (
    "api_key", "OPENAI-API-KEY", "apiKey", "client_secret", "aws_secret_access_key", "db.password",
    "passwd", "passphrase", "authToken", "refresh-token", "hf_token", "privateKey", "token\n",
    "password\n", "pa\u017f\u017fword", "pa\u017f\u017fwd", "pas\u017fphra\u017fe", "to\u212aen",
    "ap\u0131_key", "api_\u212aey", "clientSecret", "SECRET",
)  # fmt: skip
"""Names of secrets; in some of them characters above ASCII count as letters of ASCII."""


def spelled(text: str, escaped: set[int]) -> str:
    """Write a string as JSON with some of its characters escaped."""
    return "".join(
        ("\\/" if one == "/" else f"\\u{ord(one):04x}")
        if place in escaped and ord(one) < 0x10000
        else json.dumps(one, ensure_ascii=False)[1:-1]
        for place, one in enumerate(text)
    )


def line_with(row: Row, escaped: set[int], **texts: str) -> bytes:
    """Write a row; texts come, with escapes, in the places of their names."""
    line = json.dumps(row)
    for name, text in texts.items():
        line = line.replace(f'"@{name}"', f'"{spelled(text, escaped)}"')
    return line.encode()


def base(number: int = OPEN) -> Row:
    """Return a sound row that has no hash, and no choices."""
    return bare(sound(number, VERSION))


def assistants(row: Row, key: str = "messages") -> list[int]:
    """Return the places of the assistant's turns."""
    return [place for place, turn in enumerate(row[key]) if turn["role"] == "assistant"]


def hex_of(one: str) -> str:
    """Name a character in the names of tests."""
    return f"{ord(one):04x}"


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[RowContext, bytes], list[Row]]:
    """Return a function that returns the rows of a block which the rules look at in Python."""
    seen: list[Row] = []

    def watched(rule: Any) -> Any:
        def bind(within: RowContext) -> Any:
            check = rule.row(within)
            return lambda row: seen.append(row) or check(row)

        return rule._replace(row=bind) if rule.code in {"ES312", "ES316"} else rule

    monkeypatch.setattr(catalogue, "ROW_RULES", tuple(map(watched, ROW_RULES)))
    monkeypatch.setattr(catalogue, "enabled_row_rules", unwrap(catalogue.enabled_row_rules))
    monkeypatch.setattr(fast_path, "_setting", unwrap(fast_path._setting))
    monkeypatch.setattr(fast_path, "_build_tables", unwrap(fast_path._build_tables))

    def look(within: RowContext, data: bytes) -> list[Row]:
        seen.clear()
        RowEngine(within).run(Lines(data, final=True))
        return [*seen]

    return look


PLACES_OF_TOKENS = 64 if is_deep() else 36
"""More than the bytes that the scanner looks at together."""


@each(
    ("token", "before"),
    [
        *in_turn(TOKENS, ["", "\u00e9"]),
        *(deep(token, before) for token in TOKENS for before in ("-", "x\n", "/", '"')),
    ],
)
def test_a_token_is_found_wherever_it_is(token: str, before: str) -> None:
    texts = [" " * place + before + token + " " * (place % 3) for place in range(PLACES_OF_TOKENS)]
    for row in (changed(base(), "metadata/note", "@text"), {**base(), "error": "@text"}):
        data = b"".join(line_with(row, set(), text=text) + b"\n" for text in texts)
        found = outcome(SECRETS, data)
        assert found == outcome(slowly(SECRETS), data)
        assert len(found.violations) == len(texts)


@each("token", TOKENS)
def test_a_token_is_found_however_it_is_written(token: str) -> None:
    row = changed(base(), "metadata/note", "@text")
    for text in (token, f"\u4e2d{token}", f"\n{token}"):
        lines = [line_with(row, {place, 0}, text=text) for place in range(len(text))]
        lines += [line_with(row, {*range(len(text))}, text=text)]
        found = outcome(SECRETS, b"\n".join(lines) + b"\n")
        assert len(found.violations) == len(lines)


@each("token", TOKENS)
def test_a_token_is_found_in_a_name(token: str) -> None:
    row = base()
    row["metadata"] = {**row["metadata"], f"my {token}": "1"}
    assert not agreed(SECRETS, line_with(row, set()))


@each("name", NAMES)
@pytest.mark.parametrize(
    "value", ["q8Zr41xTmmP0-!vW", "  \n q8Zr41xTmmP0 ", deep("'q8Zr41xTmmP0'")]
)
def test_a_secret_is_found_under_its_name(name: str, value: str) -> None:
    row = base()
    row["metadata"] = {**row["metadata"], name: "@value"}
    written, key = json.dumps(name)[1:-1].encode(), spelled(name, set()).encode()
    lines = [
        line_with(row, escaped, value=value).replace(b'": "', separator).replace(written, one)
        for escaped in (set(), {0}, {len(value) - 1})
        for separator in (b'": "', b'"\t :  "', b'":"')
        for one in {written, key}
    ]
    data = b"\n".join(lines) + b"\n"
    found = outcome(SECRETS, data)
    assert found == outcome(slowly(SECRETS), data)
    assert len(found.violations) == len(lines)


SOUND_TEXTS = (
    "a task-specific, risk-averse-and-long-winded approach", "sk-", "xoxo", "hf_hub", "KEY-----",
    "-----BEGIN PUBLIC KEY-----", "bearer of bad news", "eyJust", "AKIA and ASIA",
    "\u4e2d\u6587" * 40, "0123456789abcdef" * 4, "<div class='github_path'>", "|" + "-" * 60 + "|",
    "https://a.b/c?d=e&f",
)  # fmt: skip
SOUND_MEMBERS = (
    ("stop_token", "<|endoftext|>"), ("token", "\u4f60\u597d"), ("password", "not in the text"),
    ("answer_key", "an-answer-with-a-long-name"), ("keys", "q8Zr41xTmmP0"), ("secret", "none"),
    ("max_tokens", "123456789012345"), ("bucket", "q8Zr41xTmmP0vWb7"),
    ("order", "q8Zr41xTmmP0vWb7"),
)  # fmt: skip


def test_rows_that_only_look_alike_are_not_flagged(
    looked_at: Callable[[RowContext, bytes], list[Row]],
) -> None:
    rows = [changed(base(), "metadata/note", text) for text in SOUND_TEXTS]
    rows += [changed(base(), f"metadata/{name}", value) for name, value in SOUND_MEMBERS]
    for ascii_alone in (True, False):
        lines = [json.dumps(row, ensure_ascii=ascii_alone).encode() + b"\n" for row in rows]
        assert not looked_at(SECRETS, b"".join(lines))


@pytest.mark.parametrize("mix", ["mixed", "unicode", "agentic"])
def test_sound_rows_are_hardly_flagged(
    looked_at: Callable[[RowContext, bytes], list[Row]], tmp_path: Path, mix: str
) -> None:
    size = 2_000_000 if mix == "agentic" else 300_000
    run = generate(tmp_path, size=size, mix=mix, version=VERSION, seed=1)
    data = run.rows_path.read_bytes()
    secrets, answers = (looked_at(within, data) for within in HASHED)
    assert not secrets
    assert len(answers) <= run.rows / 20


FRAGMENTS = st.sampled_from(
    [
        *TOKENS,
        *SOUND_TEXTS,
        *LETTERS,
        "sk-",
        " ",
        "-",
        "_",
        "\n",
        "\\",
        '"',
        "\u00e9",
        "\u2003",
        "/",
        "=",
        "1",
    ]
)
TEXTS = st.lists(FRAGMENTS | st.from_regex(leak._SECRET.pattern), max_size=4).map("".join)
PLACES = st.sets(st.integers(0, 60), max_size=3)


@given(note=TEXTS, raw=TEXTS, name=st.sampled_from(NAMES) | TEXTS, value=TEXTS, escaped=PLACES)
@example(note="", raw="", name="token", value="\u2003q8Zr41xTmmP0", escaped=set())
@bounded(max_examples=examples(120))
def test_no_secret_is_overlooked(
    note: str, raw: str, name: str, value: str, escaped: set[int]
) -> None:
    row = changed(base(), "metadata", {"a": "@note", "@name": "@value"})
    row = changed(row, "input/raw", "@raw")
    line = line_with(row, escaped, note=note, raw=raw, value=value)
    agreed(SECRETS, line.replace(b'"@name"', f'"{spelled(name, set())}"'.encode()))


ANSWER = "It is forty-two, I think"
PIECES = (
    ANSWER, "A: ", "assistant:", "\n", " ", "\t", "?", "\u2003", "\u00e9\u4e2d", "5", "42", "a",
    "b", "Yes", "\\", '"', "/", "\x1c", "\u3000", "a longer sentence about nothing", "1" * 300,
)  # fmt: skip
QUESTIONS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)


@given(raw=QUESTIONS, said=QUESTIONS, cut=st.integers(0, 50), escaped=PLACES, more=PLACES)
@bounded(max_examples=examples(150))
def test_no_answer_is_overlooked(
    raw: str, said: str, cut: int, escaped: set[int], more: set[int]
) -> None:
    for answer in (said, raw[-cut:]):
        row = changed(base(), "input/raw", "@raw")
        for place, value in (("input/reference", ["@said", "x"]), ("output/raw", ["x", "@said"])):
            line = line_with(changed(row, place, value), more, said=answer)
            agreed(ANSWERS, line.replace(b'"@raw"', f'"{spelled(raw, escaped)}"'.encode()))
        row = changed(base(MULTI), "input/raw", "@raw")
        turn = assistants(row)[0]
        line = line_with(changed(row, f"messages/{turn}/content", "@said"), more, said=answer)
        line = line.replace(b'"@raw"', f'"{spelled(raw, escaped)}"'.encode())
        agreed(ANSWERS, line)
        agreed(ANSWERS, line.replace(b'"assistant"', b'"\\u0061ssistant"'))


SPACES = "".join(filter(str.isspace, map(chr, range(0x3001))))


@each("space", SPACES, ids=hex_of)
def test_white_space_around_an_answer_does_not_hide_it(space: str) -> None:
    for ascii_alone in (True, False):
        for raw in (f"What is it?\n{ANSWER}{space}", f"What is it?\n{ANSWER}{space}\t"):
            row = changed(base(), "input/raw", raw)
            row = changed(row, "output/raw", [f"{space}{ANSWER} {space}"])
            assert not agreed(ANSWERS, json.dumps(row, ensure_ascii=ascii_alone).encode())
        row = changed(base(), "input/raw", f"What is it? 42{space}")
        row = changed(row, "input/reference", [f"{space}42{space}"])
        assert not agreed(ANSWERS, json.dumps(row, ensure_ascii=ascii_alone).encode())


BEFORE = (
    "",
    "\n",
    ": ",
    "Bob:\t",
    "a",
    "a ",
    " " * 8,
    "a" + " " * 9,
    "a" + " " * 8,
    "\u4e2d",
    "\r",
)
AFTER = ("", "\n", " \t\r\n", "a", " a", " " * 8 + "a", " " * 9 + "a", "\u4e2d", "\u2003\n")


@each(
    ("before", "after"),
    [
        (before, after)
        for number, before in enumerate(BEFORE)
        for place, after in enumerate(AFTER)
        if is_deep() or (number + place) % 3 == 0
    ],
    group=16,
)
def test_an_answer_is_looked_for_on_lines_of_its_own(
    looked_at: Callable[[RowContext, bytes], list[Row]], before: str, after: str
) -> None:
    row = base(MULTI)
    turn = assistants(row)[0]
    lines = []
    for filler in ("", "a", "\n", f"\n{ANSWER} not"):
        for answer in (ANSWER, 5 * ANSWER):
            single = changed(base(), "input/raw", f"{filler}{before}{answer}{after}")
            single = changed(single, "output/raw", ["x", answer])
            several = changed(row, "input/raw", single["input"]["raw"])
            several = changed(several, f"messages/{turn}/content", f" {answer}\n")
            lines += [line_with(one, set()) for one in (single, several)]
    data = b"\n".join(lines) + b"\n"
    found = outcome(slowly(ANSWERS), data)
    assert outcome(ANSWERS, data) == found
    finds = {one.line - 1 for one in found.violations}
    others = [line + b"\n" for number, line in enumerate(lines) if number not in finds]
    assert all(taken(ANSWERS, line) == (number not in finds) for number, line in enumerate(lines))
    assert not looked_at(ANSWERS, b"".join(others))


def test_an_answer_that_begins_like_many_lines_is_found() -> None:
    start = "a" * 64
    row = changed(base(MULTI), "input/raw", f"{start} b\n" * 40 + f"{start} c")
    for end in ("c", "d"):
        content = f"messages/{assistants(row)[0]}/content"
        assert not agreed(ANSWERS, line_with(changed(row, content, f"{start} {end}"), set()))


@each("version", VERSIONS)
@pytest.mark.parametrize("value", [ANSWER, [ANSWER], ["x", ANSWER], [1, ANSWER], [[ANSWER]], [], 1])
def test_an_answer_is_found_where_the_schema_wants_another_kind(version: str, value: Any) -> None:
    within = context(version, select=("ES312",))
    key = "interactions" if version == "0.2.0" else "messages"
    for number, place in ((OPEN, "output/raw"), (OPEN, "input/reference"), (MULTI, "content")):
        row = changed(bare(sound(number, version)), "input/raw", f"What is it?\n{ANSWER}")
        path = f"{key}/{assistants(row, key)[0]}/{place}" if number == MULTI else place
        line = line_with(changed(row, path, value), set())
        agreed(within, line)
        finds = outcome(slowly(within), line + b"\n").violations != []
        assert finds == (value == ANSWER or (isinstance(value, list) and ANSWER in value))


@each("number", [0, 19, 63, 64, 65])
def test_an_answer_is_found_among_many(number: int) -> None:
    assert limit("MOST_OUTPUTS") == 64
    row = changed(base(), "input/raw", f"What is it?\n{ANSWER}")
    row = changed(row, "output/raw", ["no"] * number + [ANSWER])
    assert not agreed(ANSWERS, line_with(row, set()))


def test_an_answer_is_found_in_one_of_many_turns() -> None:
    row = changed(base(MULTI), "input/raw", f"What is it?\n{ANSWER}\nWhat else?")
    many = limit("MOST_SAID")
    turn = row["messages"][assistants(row)[0]]
    for number in (1, many - 1, many):
        row["messages"] = [
            {**turn, "turn_idx": place, "content": ANSWER if place == number else "No."}
            for place in range(number + 1)
        ]
        row["evaluation"]["num_turns"] = number + 1
        assert not agreed(ANSWERS, line_with(row, set()))


@needs_corpus
@each("path", some(sorted((CORPUS / "eee-pairs").glob("*/")), 20), lambda path: path.name, group=16)
def test_both_ways_find_the_same_leaks_in_real_rows(path: Path) -> None:
    codes = ("ES312", "ES316")
    quickly, slow = (evalstream.check(path, engine=name, select=codes) for name in ("auto", "rust"))
    assert list(quickly) == list(slow)
