"""Changes of rows that concern what rules look at: hashes, references, transcripts, tokens."""

import random
from typing import Any, Final

from rows import COVERED

from fuzz import values
from fuzz.mutators import Edit, Maker, Row, assign, holder
from fuzz.templates import transcript_key, with_hash

CHOICES: Final = ("4", "5", "six", "Paris", "London ", "stra\u00dfe", "A", "1", "B", "", "0")
REFERENCES: Final = (
    "5", "A", "b", "(C)", "D.", "Z", "0", "1", "2", "3", "4", "10", "01", "SIX", "STRASSE", "paris",
    "London", "", " ", "1.0", "\u0661", "AA", "c)", "A\nfirst", "(b)\r\nx", "\x1c2 ", "00005", "[a",
    "Z\n",
)  # fmt: skip

ANSWERS: Final = ("source", "extracted_value", "extraction_method")


def hashes(chance: random.Random, version: str) -> Edit:
    """Spoil the hash, or compute it in another way."""
    manner = chance.randrange(12)
    recipe, odd = chance.choice([*COVERED]), values.value(chance)
    algorithm = "md5" if chance.random() < 0.3 else "sha256"

    def edit(row: Row, draw: random.Random) -> None:
        if manner < 4:
            with_hash(row, recipe, algorithm)
        digest: Any = row.get("sample_hash")
        if manner == 4:
            row.pop("sample_hash", None)
        elif manner == 5:
            row["sample_hash"] = None
        elif manner == 6:
            row["sample_hash"] = odd
        elif manner == 7:
            row["sample_hash"] = f"{draw.getrandbits(256):064x}"
        elif manner > 7 and digest.__class__ is str:
            dressed = (digest.upper(), f"sha256:{digest}", digest[:-1], digest[:-1] + "g")
            row["sample_hash"] = dressed[manner - 8]

    return edit


def references(chance: random.Random, version: str) -> Edit:
    """Set the reference, the choices, or both."""
    varied, manner = chance.random() < 0.5, chance.randrange(4)
    count, size = chance.choice((0, 1, 1, 2, 3, 30)), chance.choice((0, 1, 2, 4, 26, 300))
    seed = chance.getrandbits(32)

    def edit(row: Row, draw: random.Random) -> None:
        draw = draw if varied else random.Random(seed)
        sample = row.get("input")
        if sample.__class__ is not dict:
            return
        if manner != 0:
            texts = [draw.choice(REFERENCES) for _ in range(count)]
            single = version == "0.2.0" and draw.random() < 0.9
            sample["reference"] = "".join(texts[:1]) if single else texts
        if manner != 1:
            sample["choices"] = [draw.choice(CHOICES) for _ in range(size)]

    return edit


def turns(chance: random.Random, version: str) -> Edit:
    """Spoil numbers, roles, calls or answers in a transcript."""
    key, place = transcript_key(version), chance.randrange(6)
    name = chance.choice(("turn_idx", "role", "tool_call_id", "content", "tool_calls"))
    manner, value = chance.randrange(5), values.value(chance)
    ids = ["call-1", "c0", "c1", "c9", "", "call-1"]
    some = chance.sample(ids, chance.randrange(4))

    def edit(row: Row, _: random.Random) -> None:
        transcript = row.get(key)
        if transcript.__class__ is not list or place >= len(transcript):
            return
        turn = transcript[place]
        if manner == 0:
            del transcript[place]
        elif manner == 1:
            transcript.insert(0, turn)
        elif turn.__class__ is not dict:
            return
        elif manner == 2:
            turn["tool_call_id"] = some if version != "0.2.0" or len(some) > 1 else "call-1"
        elif manner == 3:
            turn["tool_calls"] = [{"id": one, "name": "x"} for one in some]
        else:
            turn[name] = value

    return edit


def answers(chance: random.Random, version: str) -> Edit:
    """Set the attributed answers, or one member of the first."""
    manner, count = chance.randrange(3), chance.choice((0, 1, 2, 2, 3))
    seed = chance.getrandbits(32)
    name, value = chance.choice(("turn_idx", "source", "is_terminal")), values.value(chance)
    if chance.random() < 0.5:
        name, value = chance.choice(ANSWERS), values.string(chance)

    def edit(row: Row, _: random.Random) -> None:
        known = row.get("answer_attribution")
        if known.__class__ is not list or not known or known[0].__class__ is not dict:
            return
        if manner:
            known[0][name] = value
            return
        draw = random.Random(seed)
        first = known[0]
        row["answer_attribution"] = [
            {**first, "is_terminal": draw.random() < 0.5, "turn_idx": draw.choice((0, 3, 9))}
            for _ in range(count)
        ]

    return edit


def exact_answers(chance: random.Random, version: str) -> Edit:
    """Say that the answer is an exact match, or nearly so, of a text that may be the reference."""
    method = chance.choice(("exact_match", "exact_match", "Exact match", " exact-match", "exact"))
    texts = (
        *REFERENCES,
        *CHOICES,
        "banana",
        "the answer is 5",
        "5.0",
        "9" * 30,
        "\u0665",
        "\u00e9",
        "e\u0301",
    )

    def edit(row: Row, draw: random.Random) -> None:
        known = row.get("answer_attribution")
        if known.__class__ is not list or not known or known[0].__class__ is not dict:
            return
        known[0] |= {"extraction_method": method, "extracted_value": draw.choice(texts)}
        sample = row.get("input")
        if sample.__class__ is dict and draw.random() < 0.5:
            text = draw.choice(texts)
            sample["reference"] = text if version == "0.2.0" else [text]
        if sample.__class__ is dict and draw.random() < 0.5:
            sample.pop("choices", None)

    return edit


def scores(chance: random.Random, version: str) -> Edit:
    """Set the score, whether it is correct, and the error."""
    varied, seed = chance.random() < 0.5, chance.getrandbits(32)
    error = chance.choice((..., ..., None, "", " ", "\u00a0", "timeout", "\x1c"))

    def edit(row: Row, draw: random.Random) -> None:
        draw = draw if varied else random.Random(seed)
        evaluation = row.get("evaluation")
        if evaluation.__class__ is not dict:
            return
        plain = (0, 1, 0.0, 1.0, 0.5, 0.25, -1, 2, 7, 100, 0.1 + 0.2)
        evaluation["score"] = draw.choice(plain) if draw.random() < 0.8 else values.value(draw)
        evaluation["is_correct"] = draw.random() < 0.5
        if error is not ...:
            row["error"] = error

    return edit


def usage(chance: random.Random, version: str) -> Edit:
    """Set tokens and times, many of which do not fit."""
    varied, seed = chance.random() < 0.5, chance.getrandbits(32)
    names = ("input_tokens", "output_tokens", "total_tokens", "reasoning_tokens",
             "input_tokens_cache_read", "input_tokens_cache_write")  # fmt: skip
    times = ("latency_ms", "time_to_first_token_ms", "generation_time_ms")

    def edit(row: Row, draw: random.Random) -> None:
        draw = draw if varied else random.Random(seed)
        kinds = (0, 1, 2, 3, 5, 8) if draw.random() < 0.8 else (0.1, 0.7, 1.8, 2, 3.3, 7.3, 1e15)
        some = {name: draw.choice(kinds) for name in names[: draw.randrange(3, 7)]}
        if draw.random() < 0.5:
            _sum_up(some, draw)
        clock = {name: draw.choice((0, 1, 2.5, 100, 100.00000001, None)) for name in times}
        for place, values_ in (("token_usage", some), ("performance", clock)):
            if draw.random() < 0.7:
                row[place] = values_
                if draw.random() < 0.2:
                    values_[draw.choice([*values_])] = values.value(draw)

    return edit


def _sum_up(usage: dict[str, Any], draw: random.Random) -> None:
    """Set the total to a sum, in an order of its own: sums of fractions depend on it."""
    total = usage["input_tokens"] + usage["output_tokens"]
    more = [*usage][3:]
    for name in draw.sample(more, draw.randrange(len(more) + 1)):
        total += usage[name]
    usage["total_tokens"] = total


def marks(chance: random.Random, version: str) -> Edit:
    """Set what tells the repeats of a sample apart."""
    name, value = chance.choice(("epoch", "repeat", "trial", "seed", "note")), values.value(chance)
    numbered = chance.random() < 0.5

    def edit(row: Row, draw: random.Random) -> None:
        metadata = row.get("metadata")
        if metadata.__class__ is not dict:
            metadata = row["metadata"] = {}
        metadata[name] = str(draw.randrange(3)) if numbered else value

    return edit


def samples(chance: random.Random, version: str) -> Edit:
    """Set the sample_id: odd, repeated, or equal for different inputs."""
    manner, value = chance.randrange(5), values.value(chance)
    few = chance.choice((1, 2, 10))

    def edit(row: Row, draw: random.Random) -> None:
        number = draw.randrange(few)
        kinds = (value, f"s{number}", number, f"{number}", float(number))
        row["sample_id"] = kinds[manner]

    return edit


def kinds(chance: random.Random, version: str) -> Edit:
    """Set the interaction type, with or without what belongs to it."""
    kind = chance.choice(("single_turn", "multi_turn", "agentic", "chat", "", None))
    place = chance.choice(
        (("output",), ("messages",), ("interactions",), ("input", "raw"), ("metrics",))
    )
    value = chance.choice((..., None, [], {}, {"raw": "x"}, {"raw": ["x"]}, "x", {"num_turns": 1}))

    def edit(row: Row, _: random.Random) -> None:
        if kind:
            row["interaction_type"] = kind
        if value is not ...:
            assign(row, place, value)

    return edit


def inputs(chance: random.Random, version: str) -> Edit:
    """Set the question: odd, equal for many rows, or with the answer in it."""
    text = chance.choice(
        ("", " ", "\u2003", "same", "Q\nassistant: The answer is 5.", "What is 2 + 3? 5", "q\u0000")
    )
    value = text if chance.random() < 0.7 else values.value(chance)

    def edit(row: Row, _: random.Random) -> None:
        sample = holder(row, ("input", "raw"))
        if sample.__class__ is dict:
            sample["raw"] = value

    return edit


MEANINGFUL: Final[tuple[tuple[Maker, int], ...]] = (
    (hashes, 4), (references, 4), (turns, 4), (answers, 4), (exact_answers, 4),
    (scores, 4), (usage, 4), (marks, 2),
    (samples, 3), (kinds, 2), (inputs, 2),
)  # fmt: skip
"""Changes of members by what they mean, and how often each is drawn."""
