"""Changes of rows that concern leaks: answers in questions, and what looks like a secret."""

import random
from typing import Any, Final

from rows import Row

from fuzz.literals import literal
from fuzz.mutators import Edit, Maker, assign, some_place
from fuzz.templates import transcript_key

_FORMS: Final = (
    ("sk-", 20, "_-"), ("ghp_", 36, ""), ("ghs_", 36, ""), ("github_pat_", 40, "_"),
    ("glpat-", 20, "_-"), ("hf_", 30, ""), ("xoxb-", 10, "-"), ("xoxp-", 12, "-"), ("AKIA", 16, ""),
    ("ASIA", 16, ""), ("AIza", 35, "_-"), ("eyJ", 15, "_-"), ("Bearer ", 24, "._~+/-"),
    ("bearer  ", 24, "._~+/-"), ("-----BEGIN RSA PRIVATE KEY-----\n", 40, "+/"),
    ("-----BEGIN PRIVATE KEY-----", 40, "+/"),
)  # fmt: skip
"""The mark of each form, the shortest rest, and what it may have beside letters and digits."""

_NAMES: Final = (
    "api_key", "apiKey", "API-KEY", "x.password", "accessToken", "client_secret", "secret",
    "secretAccessKey", "secret_access_key", "token", "my_token", "TOKEN", "passwd", "passphrase",
    "refresh-token", "private_key", "privatekey", "pa\u017f\u017fword", "api_\u212aey",
    "to\u212aen",
    "password\n", "passwords", "xpassword", "total_tokens", "userPassword", "a\"secret", "tokens",
    "session_token", "\u00e9_password", "author", "authToken",
)  # fmt: skip
_AROUND: Final = (
    "", "", " ", "x", "9", "-", "_", ".", "\n", "\u00e9", "\U0001f600", '"', "\\", "/", "key=",
    ": ",
)  # fmt: skip
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_BLANKS: Final = (
    "", "", " ", "\n", "\t", "\r\n", "        ", "         ", "\u00a0", "\u3000", "\x1f",
    "\nA: ", "x", ". ", ":", "\n\n",
)  # fmt: skip


def _random_text(draw: random.Random, length: int, more: str = "") -> str:
    alphabet = draw.choice((_LETTERS, _LETTERS, _LETTERS[:52], "0123456789", "abcdef0123")) + more
    return "".join(draw.choices(alphabet, k=length))


def a_secret(draw: random.Random) -> str:
    """Return what looks like a secret, or nearly so, with something around it."""
    mark, shortest, more = draw.choice(_FORMS)
    rest = _random_text(draw, max(0, shortest + draw.choice((-1, 0, 0, 1, 2, 3, 5, 30))), more)
    if mark == "eyJ":
        rest = f"{rest}.eyJ{_random_text(draw, draw.choice((14, 15, 20)), '_-')}.{rest}abcdef"
    if draw.random() < 0.1:
        place = draw.randrange(len(rest) + 1)
        rest = rest[:place] + draw.choice((*_AROUND, "test", "xxxx")) + rest[place:]
    before = _random_text(draw, draw.randrange(60)) + " " if draw.random() < 0.5 else ""
    return before + draw.choice(_AROUND) + mark + rest + draw.choice(_AROUND)


def escaped(text: str, draw: random.Random) -> Any:
    """Return a text, or a placeholder for it in which some characters are escaped."""
    kind = draw.random()
    if kind < 0.6:
        return text
    share = draw.choice((0.02, 0.2, 1))
    form = draw.choice(("\\u{:04x}", "\\u{:04X}"))
    short = {"\n": "\\n", '"': '\\"', "\\": "\\\\", "/": "\\/", "\t": "\\t", "\r": "\\r"}
    parts = []
    for letter in text:
        if ord(letter) > 0xFFFF:
            parts.append("\\ud83d\\ude00")
        elif letter < " " or letter in '"\\' or draw.random() < share:
            parts.append(short.get(letter) or form.format(ord(letter)))
        else:
            parts.append(letter)
    return literal(f'"{"".join(parts)}"'.encode())


def secrets(chance: random.Random, version: str) -> Edit:
    """Put secrets somewhere: in texts, in names, under names that tell."""
    place, manner = some_place(chance, version), chance.randrange(3)
    where = ("metadata",) if chance.random() < 0.7 else ("input",)
    name = chance.choice(_NAMES)

    def edit(row: Row, draw: random.Random) -> None:
        if manner == 0:
            assign(row, place, escaped(a_secret(draw), draw))
            return
        key: Any = escaped(name if manner == 1 else a_secret(draw), draw)
        value = _random_text(draw, draw.choice((5, 11, 12, 13, 30)), draw.choice(("", "-_", " !")))
        kinds = (value, value, a_secret(draw), f' "{value}" ', [value], {"a": value}, 12345)
        chosen = draw.choice(kinds)
        if where == ("metadata",) and row.get("metadata").__class__ is not dict:
            row["metadata"] = {}
        assign(row, (*where, key), escaped(chosen, draw) if chosen.__class__ is str else chosen)

    return edit


def leaked_answers(chance: random.Random, version: str) -> Edit:
    """Put the output, a turn or the reference into the question."""
    key, manner = transcript_key(version), chance.randrange(3)
    length = chance.choice((1, 2, 18, 19, 20, 21, 63, 64, 65, 200))
    listed = version != "0.2.0"

    def edit(row: Row, draw: random.Random) -> None:
        words = draw.choices(("a", "bc", "42", "caf\u00e9", "is", "\U0001f600", "-"), k=length)
        said = " ".join(words)[: max(1, length)]
        blank = draw.choice(_BLANKS), draw.choice(_BLANKS), draw.choice(_BLANKS)
        times = draw.choice((1, 1, 2, 20))
        raw = "Q?" + blank[0] + (said + blank[1]) * times + draw.choice(("", "", "end"))
        told = escaped(blank[2] + said + draw.choice(_BLANKS), draw)
        sample = row.get("input")
        if sample.__class__ is not dict:
            return
        sample["raw"] = escaped(raw, draw)
        if draw.random() < 0.7:
            sample.pop("choices", None)
        if manner == 0:
            sample["reference"] = [told, "5"] if listed else told
        elif manner == 1 and row.get("output").__class__ is dict:
            row["output"]["raw"] = [told] if listed else told
        elif row.get(key).__class__ is list and row[key] and row[key][-1].__class__ is dict:
            row[key][-1]["content"] = told if draw.random() < 0.9 else [told]

    return edit


LEAKS: Final[tuple[tuple[Maker, int], ...]] = ((secrets, 3), (leaked_answers, 3))
"""Changes that concern leaks, and how often each is drawn."""
