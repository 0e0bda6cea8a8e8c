"""Odd values: numbers, strings and keys that readers of JSON treat differently."""

import random
from typing import Any, Final

from fuzz.literals import again, escaped_key, literal

_NUMBERS: Final = (
    b"0", b"1", b"-1", b"-0", b"-0.0", b"0.0", b"1.0", b"2.0", b"4.0", b"1e0", b"1E+0", b"10e-1",
    b"0.1", b"0.5", b"0.30000000000000004", b"1.01", b"2", b"3", b"5", b"7", b"100", b"99.5",
    b"1e400", b"-1e400", b"1e-400", b"1e308", b"1.7976931348623159e308", b"5e-324",
    b"9007199254740993", b"9007199254740993.0", b"9007199254740992", b"999999999999999",
    b"9999999999999999", b"123456789012345678", b"1234567890123456789", b"12345678901234567890",
    b"-12345678901234567890", b"18446744073709551616", b"100000000000000000000.0", b"1e22",
    b"1.00000000000000000001", b"0.9999999999999999999999", b"-3", b"-0.5", b"9" * 400,
)  # fmt: skip
_NO_NUMBERS: Final = (
    b"NaN", b"Infinity", b"-Infinity", b"01", b"-", b"+1", b".5", b"1.", b"1e", b"0x10", b"1_0",
    b"True", b"None", b"nul", b"truefalse", b"'x'", b"", b"1 2", b"9" * 5000,
)  # fmt: skip
_STRINGS: Final = (
    "", " ", "\t", "\r", "\u00a0", "\u2003", "\u3000", "\u0085", "\u200b", "\ufeff", "\x1c",
    "\x7f", "\u1680", "\u2028", " x ", "x", "a", "A", "B.", "(c)", "[D]", "E:", "0", "1", "2",
    "12", "01", "-1", "1.0", "4", "5", "SIX", "Six", "stra\u00dfe", "STRASSE", "\u0130",
    "caf\u00e9", "cafe\u0301", "\U0001f600", "null", "true", "single_turn", "multi_turn",
    "agentic", "Single_Turn", "tool", "assistant", "Assistant", "user", "model", "function",
    "output.raw", "output.raw[0]", "output", "outputs", "Output.raw", "output.reasoning_trace",
    "interactions[0].content", "messages[0].content", "messages[3].content",
    "interactions[3].content", "messages[04].content", "messages[99].content",
    "messages[-1].content", "messages[3].tool_calls[0]", "messages", "completions[0].text",
    "call-1", "c0", "c1", "call-2", "5" * 64, "0.2.0", "0.3.0", "\\", '"', "a\x1eb", "a\x1fb",
    "x" * 300,
)  # fmt: skip
_WRITTEN_STRINGS: Final = (
    rb'"\u0041"', rb'"\u0035"', rb'"5\u0000"', rb'"\u0020"', rb'"\u00a0"', rb'"\u2003\t"',
    rb'"\/"', rb'"\ud83d\ude00"', rb'"\ud800"', rb'"\udc00x"', rb'"\ude00\ud83d"', rb'"\u00e9"',
    rb'"\u000a"', rb'"single\u005fturn"', rb'"output\u002eraw"', rb'"c\u0061ll-1"', rb'"\uFFFF"',
    rb'"\ufeff"', b'"\xff"', b'"\xc3"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\x00"',
    b'"\x1f"', b'"\t"', rb'"\x41"', rb'"\u12"', b'"\\"', b'"\x7f"', b'"\xef\xbf\xbe"',
)  # fmt: skip
_SECRETS: Final = (
    "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2, "sk-" + "Ab3dEf6hIj9lMn2pQr5t",
    "AKIA" + "IOSF0DNN7EXA12PL", "Bearer " + "Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2", "The answer is 5.",
    "password",
)  # fmt: skip
_KEYS: Final = (
    "note", "", "a/b", "~0", "api_key", "scores", "score ", "Score", "is_corect", "sampel_id",
    "sample_ids", "evaluation_result_ids", "model", "modelid", "interaction", "interactions",
    "messages", "metrics", "num_turns", "evaluation_result_id", "raw", "references", "choice",
    "additional_details", "additional_detail", "arguments", "tool_call_ids", "total_token",
    "latency", "latency_s", "is_terminal", "turn_index", "content", "epoch", "repeat", "trial",
    "seed", "is_correct_applicable", "error", "errors", "hash", "sample_hash", "caf\u00e9",
    "\U0001f600", "\u0441core", "\x7f", "x" * 200, "__proto__", "schema_version", "version",
    "metadata", "performance", "token_usage", "answer_attribution", "output", "input",
)  # fmt: skip
_WRITTEN_KEYS: Final = (
    rb'"sc\u006fre"', rb'"\u0000"', rb'"\ud800"', rb'"a\"b"', rb'"a\\b"', b'"\xff"', rb'"\u00e9"',
    b'"', b"1", b"null", b'"\t"',
)  # fmt: skip

NUMBERS: Final = tuple(map(literal, _NUMBERS))
STRINGS: Final = (*_STRINGS, *map(literal, _WRITTEN_STRINGS))
KEYS: Final = _KEYS


def number(chance: random.Random) -> Any:
    """Return a number in one of its spellings."""
    return chance.choice(NUMBERS)


def string(chance: random.Random) -> Any:
    """Return a string; some are invalid."""
    return chance.choice(_SECRETS if chance.random() < 0.03 else STRINGS)


def value(chance: random.Random) -> Any:
    """Return a value of any kind; few are invalid JSON."""
    kind = chance.random()
    if kind < 0.25:
        return None
    if kind < 0.35:
        return chance.random() < 0.5
    if kind < 0.6:
        return number(chance)
    if kind < 0.78:
        return string(chance)
    if kind < 0.8:
        return literal(chance.choice(_NO_NUMBERS))
    if kind < 0.9:
        return [_simple(chance) for _ in range(chance.randrange(4))]
    return {key(chance): _simple(chance) for _ in range(chance.randrange(4))}


def key(chance: random.Random) -> str:
    """Return a key, mostly one that is like a known one."""
    kind = chance.random()
    if kind < 0.85:
        return chance.choice(_KEYS)
    if kind < 0.93:
        return escaped_key(chance.choice(_KEYS) or "x", chance.randrange(3))
    if kind < 0.96:
        return again(chance.choice(_KEYS))
    return literal(chance.choice(_WRITTEN_KEYS))


def _simple(chance: random.Random) -> Any:
    kind = chance.random()
    if kind < 0.2:
        return chance.choice((None, True, False, [], {}, [[]], {"": {}}, [None, "a"]))
    return number(chance) if kind < 0.5 else string(chance)
