"""Write logs of Inspect as archives, whole and in every way damaged."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOG = Path(__file__).with_name("inspect_log.json")
"""A small sound log: two samples, two epochs, one scorer."""

START, HEADER = "_journal/start.json", "header.json"
SUMMARIES, REDUCTIONS = "summaries.json", "reductions.json"
SHOWN = ("id", "epoch", "input", "target", "metadata", "scores", "model_usage", "uuid")


def sound_log() -> dict[str, Any]:
    """Return the sound log."""
    log: dict[str, Any] = json.loads(LOG.read_text(encoding="utf-8"))
    return log


def members_of(log: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of an archive that holds a log, in the order of the harness."""
    header = {name: part for name, part in log.items() if name not in ("samples", "reductions")}
    samples = log.get("samples") or []
    members: dict[str, Any] = {START: {name: log[name] for name in ("version", "eval", "plan")}}
    members |= {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in samples}
    summaries = [summary_of(one) for one in samples]
    members |= {"_journal/summaries/1.json": summaries, SUMMARIES: summaries}
    if log.get("reductions") is not None:
        members[REDUCTIONS] = log["reductions"]
    # Each member is a value of its own, as it is in a file.
    whole: dict[str, Any] = json.loads(json.dumps({**members, HEADER: header}))
    return whole


def summary_of(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary of a sample."""
    summary = {name: sample[name] for name in SHOWN if name in sample}
    if sample.get("error") is not None:
        summary["error"] = sample["error"]["message"]
    return summary


def packed(members: Mapping[str, Any] | list[tuple[str, Any]], method: int = 8) -> bytes:
    """Return an archive of members; those that are not bytes are written as JSON."""
    target = io.BytesIO()
    pairs = members.items() if isinstance(members, Mapping) else members
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, value in pairs:
            text = value if isinstance(value, bytes) else json.dumps(value).encode()
            archive.writestr(zipfile.ZipInfo(name), text, method)
    return target.getvalue()


def unpacked(path: Path) -> dict[str, Any]:
    """Return the members of an archive by name, as JSON values where they are."""
    found: dict[str, Any] = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            try:
                found[name] = json.loads(archive.read(name))
            except (ValueError, zipfile.BadZipFile):
                found[name] = None
    return found
