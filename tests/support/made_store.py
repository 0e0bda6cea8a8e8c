"""A small public store, made as its publisher makes it, and rebuilt as the nightly job does."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from paths import PAIRS

OLD = "2026-01-01T03:00:00+00:00"
NEW = "2026-01-02T03:00:00+00:00"
ROWS = "_samples.jsonl"

_PAIR = PAIRS / "0.3.0"
_UUID = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57"
_COLLECTIONS = ("tiny-arithmetic", "tiny-logic")
_MODELS = ("acorn-7b", "birch-7b", "cedar-7b")

Entry = dict[str, Any]


def uuid_of(number: int) -> str:
    """Return the UUID of a record by its number."""
    return f"{number * 40_503 % 65_536:04x}3c5e-7b1d-4e62-9a4f-2c6d8e{number:06x}"


class Record(NamedTuple):
    """A record: its path in data/, its bytes, and those of its rows, if it has some."""

    path: str
    aggregate: bytes
    rows: bytes | None


def make_record(number: int) -> Record:
    """Return a sound record; every fourth has no rows."""
    collection, model = _COLLECTIONS[number % 2], _MODELS[number % 3]
    folder = f"data/{collection}/acme/{model}"
    (rows_file,) = _PAIR.rglob("*.jsonl")
    (aggregate_file,) = _PAIR.rglob("*.json")
    evaluation = f"{collection}/acme/{model}/{1760000000 + number}"
    changes = {
        "tiny-arithmetic/acme/acorn-7b/1760000000": evaluation,
        '"arith-': f'"arith-{number}-',
        "acme/acorn-7b": f"acme/{model}",
        f"data/tiny-arithmetic/acme/{model}": folder,
        _UUID: uuid_of(number),
        '"1760000000"': f'"{1760000000 + number}"',
        "Acme Evaluations": f"Acme Evaluations {number}",
    }
    aggregate, rows = aggregate_file.read_text("utf-8"), rows_file.read_text("utf-8")
    for old, new in changes.items():
        aggregate, rows = aggregate.replace(old, new), rows.replace(old, new)
    members = json.loads(aggregate)
    data = rows.encode()
    if number % 4 == 3:
        del members["detailed_evaluation_results"]
    else:
        members["detailed_evaluation_results"]["checksum"] = hashlib.sha256(data).hexdigest()
    text = json.dumps(members, indent=2) + "\n"
    path = f"{folder}/{uuid_of(number)}.json"
    return Record(path, text.encode(), None if number % 4 == 3 else data)


def make_store(root: Path, records: int = 6, older: int | None = 4) -> Path:
    """Write a store of some records, with an older snapshot of its first records if asked for."""
    for number in range(records):
        write_record(root, make_record(number))
        if number + 1 == older:
            rebuild(root, OLD)
    rebuild(root, NEW)
    return root


def write_record(root: Path, record: Record) -> None:
    """Write a record into data/."""
    path = root / record.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(record.aggregate)
    if record.rows is not None:
        rows_beside(path).write_bytes(record.rows)


def rows_beside(path: Path) -> Path:
    """Return the rows beside an aggregate."""
    return path.with_name(path.stem + ROWS)


def object_at(root: Path, uuid: str, ending: str = ".json") -> Path:
    """Return the path of an object."""
    return root / "flat/objects" / uuid[:2] / uuid[2:4] / f"{uuid}{ending}"


def sha(data: bytes) -> str:
    """Return a digest in hex digits."""
    return hashlib.sha256(data).hexdigest()


def latest_manifest(root: Path) -> dict[str, Any]:
    """Return the latest manifest."""
    found: dict[str, Any] = json.loads((root / "flat/latest_manifest.json").read_bytes())
    return found


def entries_file(root: Path) -> Path:
    """Return the file of the latest entries."""
    return root / str(latest_manifest(root)["entries_path"])


def read_entries(root: Path) -> list[Entry]:
    """Return the latest entries."""
    return [json.loads(line) for line in entries_file(root).read_bytes().splitlines()]


def entries_text(entries: list[Entry]) -> bytes:
    """Write entries as the publisher does."""
    return "".join(json.dumps(one, sort_keys=True) + "\n" for one in entries).encode()


def manifest_of(entries: list[Entry], created_at: str) -> dict[str, Any]:
    """Return the manifest of entries as the publisher makes it."""
    text = entries_text(entries)
    companions = sum(one["instance_level_available"] for one in entries)
    core: dict[str, Any] = {
        "source": {"type": "legacy_data_tree", "path": "data"},
        "eval_schema_versions": sorted({one["eval_schema_version"] for one in entries}),
        "benchmark_count": len({one["benchmark"] for one in entries}),
        "aggregate_file_count": len(entries),
        "instance_level_file_count": companions,
        "total_file_count": len(entries) + companions,
        "entries_sha256": sha(text),
        "entries_size_bytes": len(text),
    }
    return seal_manifest(core, created_at)


def seal_manifest(core: dict[str, Any], created_at: str) -> dict[str, Any]:
    """Add what a manifest says about itself."""
    digest = sha(json.dumps(core, sort_keys=True, separators=(",", ":")).encode())
    folder = f"flat/manifests/sha256_{digest}"
    return {
        **core,
        "created_at": created_at,
        "entries_path": f"{folder}/entries.jsonl",
        "manifest_core_sha256": digest,
        "manifest_path": f"{folder}/manifest.json",
    }


def manifest_text(manifest: dict[str, Any]) -> bytes:
    """Write a manifest as the publisher does."""
    return (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode()


def publish(root: Path, entries: list[Entry], created_at: str) -> None:
    """Write snapshot, latest manifest and all indexes of entries."""
    manifest, text = manifest_of(entries, created_at), entries_text(entries)
    write(root / manifest["entries_path"], text)
    write(root / manifest["manifest_path"], manifest_text(manifest))
    write(root / "flat/latest_manifest.json", manifest_text(manifest))
    write(root / "flat/indexes/by_legacy_path.jsonl", text)
    for collection in {one["benchmark"] for one in entries}:
        own = [one for one in entries if one["benchmark"] == collection]
        write(root / f"flat/indexes/by_collection/{collection}.jsonl", entries_text(own))


def write(path: Path, data: bytes) -> None:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def rebuild(root: Path, created_at: str) -> None:
    """Rebuild the flat view from data/ as the nightly job does, which compares sizes alone."""
    old = read_entries(root) if (root / "flat/latest_manifest.json").exists() else []
    by_path = {one["legacy_path"]: one for one in old}
    by_uuid = {one["object_uuid"]: one for one in old}
    entries = []
    for path in sorted((root / "data").rglob("*.json")):
        legacy = path.relative_to(root).as_posix()
        entry = by_path.get(legacy) or _entry_of_new(root, path, legacy, by_uuid)
        if entry is not None:
            entries.append(_with_rows(root, path, entry))
    entries.sort(key=lambda one: str(one["legacy_path"]))
    if not old or latest_manifest(root)["entries_sha256"] != sha(entries_text(entries)):
        publish(root, entries, created_at)
    live = {f"{one['benchmark']}.jsonl" for one in entries}
    for index in (root / "flat/indexes/by_collection").glob("*.jsonl"):
        if index.name not in live:
            write(root / "flat/indexes/retired" / index.name, index.read_bytes())
            index.unlink()


def _entry_of_new(root: Path, path: Path, legacy: str, by_uuid: dict[str, Entry]) -> Entry | None:
    """Return the entry of a path that the last snapshot lacks, None for a conflict."""
    data, collection = path.read_bytes(), legacy.split("/")[1]
    old = by_uuid.get(path.stem)
    object_path = object_at(root, path.stem)
    if object_path.exists() and json.loads(object_path.read_bytes()) != json.loads(data):
        return None
    if old is not None:
        return {**old, "legacy_path": legacy, "benchmark": collection}
    if not object_path.exists():
        write(object_path, data)
    stored = object_path.read_bytes()
    return {
        "object_uuid": path.stem,
        "object_path": object_path.relative_to(root).as_posix(),
        "sha256": sha(stored),
        "size_bytes": len(stored),
        "legacy_path": legacy,
        "benchmark": collection,
        "eval_schema_version": json.loads(data)["schema_version"],
        "record_type": "aggregate",
        "instance_level_available": False,
    }


def _with_rows(root: Path, path: Path, entry: Entry) -> Entry:
    """Attach rows that are new beside a record, and detach those that are gone."""
    rows = rows_beside(path)
    if rows.exists() == entry["instance_level_available"]:
        return entry
    own = ("instance_level_path", "instance_sha", "instance_level_size_bytes")
    bare = {name: value for name, value in entry.items() if name not in own}
    if not rows.exists():
        return {**bare, "instance_level_available": False}
    target = object_at(root, entry["object_uuid"], ROWS)
    if not target.exists():
        write(target, rows.read_bytes())
    data = target.read_bytes()
    return {
        **bare,
        "instance_level_available": True,
        "instance_level_path": target.relative_to(root).as_posix(),
        "instance_sha": sha(data),
        "instance_level_size_bytes": len(data),
    }


def edit_entries(root: Path, change: Callable[[list[Entry]], None], created_at: str = NEW) -> None:
    """Change the latest entries, and publish them under a new manifest that fits them."""
    before = latest_manifest(root)
    entries = read_entries(root)
    change(entries)
    shutil.rmtree((root / before["manifest_path"]).parent)
    publish(root, entries, created_at)


def uuids(root: Path) -> Iterator[str]:
    """Iterate over the UUIDs of the latest entries, in the order of their paths."""
    return (one["object_uuid"] for one in read_entries(root))
