"""Values in rows by their pointers, as the compiled scanner finds them."""

import json
import random

import pytest
from each import each

from evalstream.parsing.json import resolve_pointer
from evalstream.parsing.native.binding import library
from evalstream.parsing.native.scanner import find_values, json_path

NAMES = ("a", "é", "a/b", "~", "0", "1", 'long name with spaces that takes "more" than a lane')
LEAVES = (0, -1.5e-7, True, False, None, "", "}],:\\", 'quote " and é😀', "x" * 100, {}, [])


def some_value(chance: random.Random, depth: int) -> object:
    """Return a value with containers in each other."""
    if not depth or chance.random() < 0.3:
        return chance.choice(LEAVES)
    if chance.random() < 0.4:
        return [some_value(chance, depth - 1) for _ in range(chance.randrange(3))]
    names = chance.sample(NAMES[:-1], chance.randrange(4))
    return {name: some_value(chance, depth - 1) for name in names}


def some_pointer(chance: random.Random) -> str:
    """Return a pointer, which may lead nowhere."""
    names = chance.choices([*NAMES, "2", "01", "", "x"], k=chance.randrange(4))
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)


@each("seed", range(20))
def test_values_are_those_at_their_pointers(seed: int) -> None:
    loaded = library()
    if loaded is None:
        pytest.skip("there is no scanner")
    chance, data, starts, pointers, expected = random.Random(seed), b"", [], [], []
    for _ in range(50):
        row = {"id": 1, "": 0, **{name: some_value(chance, 3) for name in NAMES[:-1]}}
        spaced = chance.choice([(",", ":"), (", ", ": "), (" ,\t", " : ")])
        for pointer in [some_pointer(chance) for _ in range(20)]:
            starts.append(len(data))
            pointers.append(pointer)
            expected.append(resolve_pointer(row, pointer))
        data += b" " * chance.randrange(2)
        data += json.dumps(row, ensure_ascii=False, separators=spaced).encode() + b"\r\n"
    texts = find_values(loaded, data, starts, [*map(json_path, pointers)])
    found = [json.loads(text) if text else None for text in texts]
    assert found == expected
    assert sum(bool(text) for text in texts) > 100
