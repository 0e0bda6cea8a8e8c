"""The edit scripts of the rules about logs of Inspect: changes to a small sound log."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from inspect_archive import members_of, packed, sound_log

from edits.case import Case, change, fit

ON_LOG = re.compile(r"log (/\S*) (?:= (.+)|removed)")
SHOWN = re.compile(r"log has (.+)")
ON_MEMBER = re.compile(r"member (\S+) (/\S*) (?:= (.+)|removed)")
MEMBER_GONE = re.compile(r"member (\S+) missing")
MEMBER_ADDED = re.compile(r"member (\S+) added = (.+)")
MEMBER_MOVED = re.compile(r"member (\S+) named (\S+)")
MEMBER_REPEATED = re.compile(r"member (\S+) repeated")
MEMBER_DAMAGED = re.compile(r"member (\S+) damaged")


def apply(script: str, folder: Path) -> Case:
    """Edit the sound log in `folder`: as JSON, or as an archive after the line `archive`.

    `log /pointer = JSON` changes the log before it is packed, and `member NAME …` one member of the
    archive after that. A member is `added`, `missing`, `named` otherwise, `repeated` with a change,
    or `damaged`: one of its bytes is changed, and its CRC-32 is not. After `needs mmh3` the test
    is skipped without that library.
    """
    lines = [line for line in map(str.strip, script.splitlines()) if line]
    if "needs mmh3" in lines:
        pytest.importorskip("mmh3", reason="the digest of attachments is that of mmh3")
    log = sound_log()
    for found in filter(None, map(ON_LOG.fullmatch, lines)):
        change(log, found[1], found[2])
    for found in filter(None, map(SHOWN.fullmatch, lines)):
        log = fit(log, json.loads(found[1]))
    folder.mkdir(parents=True, exist_ok=True)
    if "archive" not in lines:
        path = folder / "run.json"
        path.write_text(json.dumps(log, indent=2) + "\n", encoding="utf-8")
        return Case(path, None, documents={"log": path})
    path = folder / "run.eval"
    path.write_bytes(_archive(log, lines))
    return Case(path, None, documents={"log": path})


def _archive(log: dict[str, Any], lines: list[str]) -> bytes:
    members = list(members_of(log).items())
    spoiled = None
    for line in lines:
        names = [name for name, _ in members]
        if found := ON_MEMBER.fullmatch(line):
            change(members[names.index(found[1])][1], found[2], found[3])
        elif found := MEMBER_GONE.fullmatch(line):
            del members[names.index(found[1])]
        elif found := MEMBER_ADDED.fullmatch(line):
            members.append((found[1], json.loads(found[2])))
        elif found := MEMBER_MOVED.fullmatch(line):
            index = names.index(found[1])
            members[index] = (found[2], members[index][1])
        elif found := MEMBER_REPEATED.fullmatch(line):
            members.append((found[1], {**members[names.index(found[1])][1], "invalidated": True}))
        elif found := MEMBER_DAMAGED.fullmatch(line):
            spoiled = found[1]
        elif line != "archive" and not (ON_LOG.fullmatch(line) or SHOWN.fullmatch(line)):
            raise ValueError(f"no such directive: {line}")
    with warnings.catch_warnings(action="ignore"):  # of repeated names
        data = packed(members, 0 if spoiled else 8)
    return damaged(data, spoiled) if spoiled else data


def damaged(data: bytes, name: str) -> bytes:
    """Change a letter in the stored bytes of a member, behind its header."""
    begin = data.index(name.encode()) + len(name)
    place = data.index(b'"answer": "4', begin) + len(b'"answer": "')
    return data[:place] + b"5" + data[place + 1 :]
