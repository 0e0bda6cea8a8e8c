"""Blocks of rows: sound ones, many with one defect, few with rare ones, and lines of garbage."""

import math
import random
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import orjson
from rows import COVERED, Place, Row

from evalstream.formats.eee import versions
from fuzz import lines
from fuzz.leaks import LEAKS
from fuzz.meaningful import MEANINGFUL
from fuzz.mutators import GENERAL, Edit, Maker, thin_object, vary_value
from fuzz.templates import (
    EVALUATION,
    MODEL,
    NAMES,
    NEW,
    RESULT_IDS,
    real_rows,
    templates,
    with_hash,
)

_MAKERS: Final = [maker for maker, times in (*GENERAL, *MEANINGFUL, *LEAKS) for _ in range(times)]
MOST_ROWS: Final = 2000
_TEMPLATE_VERSIONS: Final = versions.INSTANCE_VERSIONS


class Style(NamedTuple):
    """What the rows of a block have in common."""

    version: str
    recipe: str
    algorithm: str
    bodies: tuple[bytes, ...]
    writer: lines.Writer
    defects: tuple[tuple[Edit, float], ...]
    rare: float
    bytewise: float
    garbage: float
    several_results: bool


def some_lines(
    chance: random.Random, most: int = MOST_ROWS, places: Sequence[Place] = ()
) -> list[bytes]:
    """Return the lines of a block, each with its line end; at some places their values vary."""
    count = max(1, round(math.exp(chance.uniform(0, math.log(most)))))
    varied = [
        (chance.choice((vary_value, thin_object))(chance, "", place), chance.choice((1, 0.5)))
        for place in places
    ]
    styles = [_style(chance, varied)]
    if chance.random() < 0.15:
        styles.append(_style(chance, varied))
    end = b"\r\n" if chance.random() < 0.1 else b"\n"
    found = [_line(chance.choice(styles), number, chance) + end for number in range(count)]
    _repeat(found, chance)
    if chance.random() < 0.1:
        found[0] = lines.MARK + found[0]
    if chance.random() < 0.25:
        found[-1] = _torn(found[-1], chance)
    return found


def _style(chance: random.Random, varied: Sequence[tuple[Edit, float]]) -> Style:
    version = chance.choice(_TEMPLATE_VERSIONS)
    bodies = templates(version)
    if chance.random() < 0.7:
        bodies = tuple(chance.sample(bodies, chance.randrange(1, 4)))
    real = real_rows(version)
    if real and chance.random() < 0.7:
        bodies = tuple(chance.choices(real, k=chance.randrange(1, 6)))
    preferred = versions.VERSIONS[version].preferred_recipe
    recipe = chance.choice((preferred, preferred, preferred, "", *COVERED))
    clean = chance.random() < 0.1
    times = 0 if clean else chance.choice((0, 1, 1, 2, 3))
    defects = (*varied, *(_defect(chance, version) for _ in range(times)))
    return Style(
        version,
        recipe,
        "md5" if chance.random() < 0.07 else "sha256",
        bodies,
        chance.choice(lines.WRITERS),
        defects,
        0 if clean else chance.choice((0, 0.003, 0.05, 0.4, 1)),
        0 if clean else chance.choice((0, 0, 0, 0.01, 0.2)),
        0 if clean else chance.choice((0, 0, 0, 0.01, 0.1)),
        chance.random() < 0.4,
    )


def _defect(chance: random.Random, version: str) -> tuple[Edit, float]:
    """Return a change, and what share of the rows has it."""
    return _maker(chance)(chance, version), chance.choice((1, 1, 1, 0.9, 0.5, 0.1))


def _maker(chance: random.Random) -> Maker:
    return chance.choice(_MAKERS)


def _line(style: Style, number: int, chance: random.Random) -> bytes:
    if style.garbage and chance.random() < style.garbage:
        return chance.choice(lines.GARBAGE)
    row: Row = orjson.loads(chance.choice(style.bodies))
    _name(row, style, number, chance)
    if style.recipe:
        with_hash(row, style.recipe, style.algorithm)
    keeps_hash = chance.random() < 0.2
    for edit, share in style.defects:
        if share == 1 or chance.random() < share:
            edit(row, chance)
    if style.rare and chance.random() < style.rare:
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            _maker(chance)(chance, style.version)(row, chance)
    if style.recipe and not keeps_hash:
        _hash_again(row, style)
    line = lines.written(row, style.writer)
    if style.bytewise and chance.random() < style.bytewise:
        line = lines.spoilt(line, chance).replace(b"\n", b"")
    return line


def _name(row: Row, style: Style, number: int, chance: random.Random) -> None:
    """Give a row its sample, its question and its result."""
    row["evaluation_id"], row["model_id"] = EVALUATION, MODEL
    row["sample_id"] = number if row.get("sample_id").__class__ is int else f"s{number}"
    sample: Any = row.get("input")
    if sample.__class__ is not dict:
        sample = row["input"] = {"raw": "", "reference": ""}
    sample["raw"] = f"{number}: {sample.get('raw')}"
    if style.several_results:
        place = number % 3
        row["evaluation_name"] = NAMES[place]
        if style.version in NEW and chance.random() < 0.9:
            row["evaluation_result_id"] = RESULT_IDS[place]
            sample["raw"] = f"{number // 3}: question"
            row["sample_id"] = f"s{number // 3}"


def _hash_again(row: Row, style: Style) -> None:
    """Compute the hash anew where a change left a right one that no longer fits."""
    digest: Any = row.get("sample_hash")
    if digest.__class__ is str and len(digest) in (32, 64) and digest == digest.lower():
        with_hash(row, style.recipe, style.algorithm)


def _repeat(found: list[bytes], chance: random.Random) -> None:
    """Repeat some lines."""
    share = chance.choice((0, 0, 0.02, 0.3))
    for place in range(1, len(found)):
        if share and chance.random() < share:
            found[place] = found[chance.randrange(place)]


def _torn(line: bytes, chance: random.Random) -> bytes:
    """Return a last line without its newline, or cut anywhere."""
    whole = line.rstrip(b"\r\n")
    return whole if chance.random() < 0.5 else whole[: chance.randrange(len(whole) + 1)]
