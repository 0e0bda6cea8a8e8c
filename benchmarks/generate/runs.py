"""Writes runs: a rows file of a wanted size and the aggregate that seals it."""

from __future__ import annotations

import argparse
import hashlib
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import orjson

from benchmarks.generate import aggregates
from benchmarks.generate.blocks import Line, Plan, block_of, lines
from benchmarks.generate.composer import Identity
from benchmarks.generate.dialect import DIALECTS
from benchmarks.generate.faults import RUN_CODES
from benchmarks.generate.mixes import MIXES

USUAL_VERSIONS = ("0.2.0", "0.3.0")
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True)
class Run:
    """A generated run: its two files, the number of rows and the bytes of the rows file.

    `findings` are the exact numbers of findings by code, None where they are not known.
    """

    rows_path: Path
    aggregate_path: Path
    rows: int
    bytes: int
    findings: Mapping[str, int] | None = None


def generate(
    folder: Path,
    *,
    size: int,
    mix: str,
    seed: int,
    version: str | None = None,
    faulty: bool = False,
) -> Run:
    """Write a run of at most `size` bytes of rows into the folder.

    The same arguments give the same bytes. The version is 0.2.0 or the only one of the mix. With
    `faulty` every row has at least one error, and the aggregate still seals the file. Raises
    ValueError when `size` has no room for one row, for a version that the mix does not have, and
    for faults in rows of a converter, which have their own.
    """
    plan = Plan(mix, version_of(mix, version), identity_in(mix), seed, faulty)
    if faulty and MIXES[mix].writer != "generator":
        message = f"{mix} rows are as they are, and cannot be made faulty"
        raise ValueError(message)
    names, identity = _names(plan), plan.identity
    if MIXES[mix].has_file_ids:
        plan = replace(plan, identity=replace(identity, evaluation_id=Path(names[0]).stem))
    with closing(lines(plan, size)) as endless:
        run = write_run(folder, plan, names, _at_most(endless, size), identity=identity)
    if run.rows == 0:
        message = f"{size} bytes have no room for one row"
        raise ValueError(message)
    return run


def version_of(mix: str, version: str | None) -> str:
    """Return the version of a mix's rows. Raises ValueError where the mix has another one."""
    only = MIXES[mix].version
    known = USUAL_VERSIONS if only is None else (only,)
    if version is not None and version not in known:
        message = f"{mix} rows exist in {' and '.join(known)} only, not in {version}"
        raise ValueError(message)
    return version or known[0]


def identity_in(mix: str) -> Identity:
    """Return the identity of a run with these rows, with the result's id of their writer."""
    identity = aggregates.identity_of(0)
    ids = {"generator": identity.result_id, "lm-eval": "acc", "inspect": None}
    return replace(identity, result_id=ids[MIXES[mix].writer])


def generate_small(folder: Path, *, number: int, rows: int, version: str, seed: int) -> Run:
    """Write the small run with this number, which counts from 0: so many mixed rows."""
    plan = Plan("mixed", version, aggregates.identity_of(number), seed)
    return write_run(folder, plan, _names(plan), block_of(plan, number, rows))


def write_run(
    folder: Path,
    plan: Plan,
    names: tuple[str, str],
    rows: Iterable[Line],
    option: int = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
    identity: Identity | None = None,
) -> Run:
    """Write rows and the aggregate that seals them, under these names below the folder.

    The aggregate has the identity of the rows unless it is given another one.
    """
    rows_path, aggregate_path = (folder / name for name in names)
    rows_path.parent.mkdir(parents=True, exist_ok=True)
    findings = Counter(MIXES[plan.mix].run_codes + (RUN_CODES if plan.is_faulty else ()))
    written = _write_rows(rows_path, rows, findings)
    if written.rows:
        aggregate = aggregates.aggregate_of(
            DIALECTS[plan.version], identity or plan.identity, names[0], written
        )
        aggregate_path.write_bytes(orjson.dumps(aggregate, option=option))
    # In a later version one null is three findings: of the row, the run and the fit of versions.
    is_known = not (plan.is_faulty and DIALECTS[plan.version].is_current)
    known = findings if is_known else None
    return Run(rows_path, aggregate_path, written.rows, written.bytes, known)


def store_names(seed: str, model: str, collection: str = aggregates.COLLECTION) -> tuple[str, str]:
    """Name the rows file and the aggregate as the datastore does; the seed gives the uuid."""
    name = uuid.UUID(int=Random(f"names {seed}").getrandbits(128), version=4)
    stem = f"data/{collection}/{aggregates.DEVELOPER}/{model}/{name}"
    return f"{stem}_samples.jsonl", f"{stem}.json"


def parse_size(text: str) -> int:
    """Read a number of bytes such as 300M; the units are decimal."""
    unit = UNITS.get(text[-1:].upper())
    return int(text) if unit is None else int(float(text[:-1]) * unit)


def _names(plan: Plan) -> tuple[str, str]:
    """Name the rows file and the aggregate as the version wants them."""
    if DIALECTS[plan.version].is_current:
        return store_names(str(plan.seed), aggregates.MODEL)
    return "run.jsonl", "aggregate.json"


def _at_most(endless: Iterator[Line], size: int) -> Iterator[Line]:
    """Stop before the row that would not fit."""
    total = 0
    for line in endless:
        total += len(line.data)
        if total > size:
            return
        yield line


def _write_rows(path: Path, rows: Iterable[Line], findings: Counter[str]) -> aggregates.Written:
    """Write the rows; hash and add up what is written, and count the findings of the rows."""
    digest = hashlib.sha256()
    number = total = 0
    score_sum = square_sum = 0.0
    with path.open("wb", buffering=1 << 20) as file:
        for line in rows:
            file.write(line.data)
            digest.update(line.data)
            findings.update(line.codes)
            number, total = number + 1, total + len(line.data)
            score_sum += line.score
            square_sum += line.score**2
    return aggregates.Written(number, total, score_sum, square_sum, digest.hexdigest())


def main(arguments: Sequence[str]) -> int:
    """Write a run as the command line asks and print where it is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks generate", description=__doc__)
    parser.add_argument("--size", type=parse_size, default="300M")
    parser.add_argument("--mix", choices=sorted(MIXES), default="mixed")
    parser.add_argument(
        "--version", choices=sorted(DIALECTS), help="(default: 0.2.0, or the mix's)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", dest="folder")
    parser.add_argument("--faulty", action="store_true", help="put errors into every row")
    parser.add_argument("--seed", type=int, default=1)
    options = vars(parser.parse_args(arguments))
    try:
        run = generate(options.pop("folder"), **options)
    except ValueError as error:
        parser.error(str(error))
    print(f"{run.rows_path}: {run.rows} rows, {run.bytes} bytes; sealed by {run.aggregate_path}")
    for code, number in sorted((run.findings or {}).items()):
        print(f"{code}: {number} findings expected")
    return 0
