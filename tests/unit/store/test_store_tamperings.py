"""What somebody may do to a store, honest or not: found before and after the nightly rebuild."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from depth import some
from each import each
from made_store import (
    NEW,
    OLD,
    ROWS,
    Entry,
    edit_entries,
    entries_file,
    entries_text,
    latest_manifest,
    make_record,
    make_store,
    manifest_of,
    manifest_text,
    object_at,
    publish,
    read_entries,
    rebuild,
    rows_beside,
    seal_manifest,
    sha,
    uuid_of,
    write,
    write_record,
)

from evalstream.api.store import verify

LATER = "2026-01-03T03:00:00+00:00"
Tampering = Callable[[Path], object]

FIRST, SECOND, THIRD, BARE = uuid_of(0), uuid_of(1), uuid_of(2), uuid_of(3)
"""Records that the older snapshot lists, too; the last one has no rows."""

RECENT = uuid_of(4)
"""A record that only the latest snapshot lists."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the store that every case copies."""
    return make_store(tmp_path_factory.mktemp("sound"))


def found(root: Path, level: str, **options: Any) -> set[str]:
    """Return the codes of errors and warnings in a store."""
    report = verify(root, level=level, **options)
    assert (report.exit_code == 0) == (not report.totals.verdicts.get("failed"))
    return {one.code for one in report if one.severity.label != "info"} - {"ES805"}


def data_of(root: Path, uuid: str) -> Path:
    """Return the file of a record in data/."""
    (path,) = (root / "data").rglob(f"{uuid}.json")
    return path


def forge(text: bytes) -> bytes:
    """Return a record with a better score; its size stays the same."""
    assert b'"score": 0.75' in text
    return text.replace(b'"score": 0.75', b'"score": 0.95')


def change(path: Path, edit: Callable[[bytes], bytes]) -> None:
    """Edit a file."""
    path.write_bytes(edit(path.read_bytes()))


def longer(text: bytes) -> bytes:
    """Return a forged record of another size."""
    return forge(text).replace(b"0.95", b"0.9501")


def entry_of(entries: list[Entry], uuid: str) -> Entry:
    """Return the entry of a UUID."""
    return next(one for one in entries if one["object_uuid"] == uuid)


def edit_entry(uuid: str, **members: Any) -> Tampering:
    """Return a tampering that changes an entry, under a manifest that fits."""
    return lambda root: edit_entries(root, lambda entries: entry_of(entries, uuid).update(members))


def forge_together(root: Path, uuid: str = FIRST, created_at: str = NEW) -> None:
    """Forge an object, its file in data/ and its entry together, under a new manifest."""
    for path in (object_at(root, uuid), data_of(root, uuid)):
        change(path, forge)
    data = object_at(root, uuid).read_bytes()

    def reseal(entries: list[Entry]) -> None:
        entry_of(entries, uuid).update(sha256=sha(data), size_bytes=len(data))

    edit_entries(root, reseal, created_at)


def older(root: Path) -> Path:
    """Return the folder of the older snapshot."""
    latest = entries_file(root).parent
    (folder,) = (one for one in latest.parent.iterdir() if one != latest)
    return folder


def older_entries(root: Path) -> list[Entry]:
    """Return the entries of the older snapshot."""
    lines = (older(root) / "entries.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def forge_older(root: Path) -> None:
    """Forge a record, and the entries of the older snapshot so that they agree."""
    forge_together(root)
    mine = entry_of(read_entries(root), FIRST)
    lines = older_entries(root)
    entry_of(lines, FIRST).update(sha256=mine["sha256"])
    (older(root) / "entries.jsonl").write_bytes(entries_text(lines))


def edit_manifest(**members: Any) -> Tampering:
    """Return a tampering that changes the core of the latest manifest and names it anew."""

    def tamper(root: Path) -> None:
        old = latest_manifest(root)
        own = ("created_at", "entries_path", "manifest_core_sha256", "manifest_path")
        core = {name: value for name, value in old.items() if name not in own}
        new = seal_manifest({**core, **members}, NEW)
        shutil.move((root / old["manifest_path"]).parent, (root / new["manifest_path"]).parent)
        write(root / new["manifest_path"], manifest_text(new))
        write(root / "flat/latest_manifest.json", manifest_text(new))

    return tamper


def edit_latest(edit: Callable[[bytes], bytes]) -> Tampering:
    """Return a tampering with the latest manifest alone."""
    return lambda root: change(root / "flat/latest_manifest.json", edit)


def edit_both(edit: Callable[[bytes], bytes]) -> Tampering:
    """Return a tampering with the latest manifest and its versioned copy."""

    def tamper(root: Path) -> None:
        copy = root / latest_manifest(root)["manifest_path"]
        for path in (root / "flat/latest_manifest.json", copy):
            change(path, edit)

    return tamper


def roll_back(root: Path) -> None:
    """Let the latest manifest be that of the older snapshot, with its indexes."""
    lines = older_entries(root)
    publish(root, lines, OLD)


def swap(root: Path) -> None:
    """Swap two objects."""
    one, other = object_at(root, FIRST), object_at(root, THIRD)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def rename(root: Path, uuid: str, name: str) -> None:
    """Publish a record under another UUID, in data/, as object and as entry."""
    path = data_of(root, uuid)
    rows_beside(path).rename(path.with_name(name + ROWS))
    path.rename(path.with_name(f"{name}.json"))
    object_at(root, uuid).rename(object_at(root, uuid).with_name(f"{name}.json"))

    def reseal(entries: list[Entry]) -> None:
        entry = entry_of(entries, uuid)
        place = f"flat/objects/{name[:2]}/{name[2:4]}/{name}"
        entry.update(object_uuid=name, object_path=f"{place}.json")
        entry.update(instance_level_path=f"{place}{ROWS}")
        entry["legacy_path"] = entry["legacy_path"].replace(uuid, name)
        entries.sort(key=lambda one: str(one["legacy_path"]))

    edit_entries(root, reseal)


def add_twice(root: Path) -> None:
    """List a record a second time, at another path."""

    def repeat(entries: list[Entry]) -> None:
        copy = dict(entry_of(entries, BARE))
        copy["legacy_path"] = copy["legacy_path"].replace("acorn-7b", "birch-7b")
        entries.append(copy)
        entries.sort(key=lambda one: str(one["legacy_path"]))

    edit_entries(root, repeat)


def add_data(name: str, data: bytes = b"{}") -> Tampering:
    """Return a tampering that writes a file into data/."""
    return lambda root: write(root / "data/tiny-logic/acme/acorn-7b" / name, data)


def reverse_entries(root: Path) -> None:
    """Publish the entries in another order."""
    edit_entries(root, lambda entries: entries.reverse())


def drop_entry(root: Path) -> None:
    """Publish without a record whose files are all there."""
    edit_entries(root, lambda entries: entries.remove(entry_of(entries, RECENT)))


def edit_lines(edit: Callable[[bytes], bytes]) -> Tampering:
    """Return a tampering with the text of the entries, under manifest and indexes that fit it."""

    def tamper(root: Path) -> None:
        old = latest_manifest(root)
        text = edit(entries_file(root).read_bytes())
        own = ("created_at", "entries_path", "manifest_core_sha256", "manifest_path")
        core = {name: value for name, value in old.items() if name not in own}
        core.update(entries_sha256=sha(text), entries_size_bytes=len(text))
        new = seal_manifest(core, NEW)
        shutil.move((root / old["manifest_path"]).parent, (root / new["manifest_path"]).parent)
        write(root / new["manifest_path"], manifest_text(new))
        write(root / "flat/latest_manifest.json", manifest_text(new))
        for path in (new["entries_path"], "flat/indexes/by_legacy_path.jsonl"):
            write(root / path, text)

    return tamper


def relink(path: Path, target: Path) -> None:
    """Put a link in the place of a file."""
    path.unlink()
    path.symlink_to(target)


def add_deeper(root: Path) -> None:
    """List a record a second time, in a deeper folder and under its own file of data/."""
    path = data_of(root, BARE)
    write(path.parent / "deeper" / path.name, path.read_bytes())

    def repeat(entries: list[Entry]) -> None:
        copy = dict(entry_of(entries, BARE))
        copy["legacy_path"] = copy["legacy_path"].replace(BARE, f"deeper/{BARE}")
        entries.append(copy)
        entries.sort(key=lambda one: str(one["legacy_path"]))

    edit_entries(root, repeat)


def decompose(root: Path) -> None:
    """Name a folder in data/ in composed letters, and in the entry in decomposed ones."""
    path = data_of(root, BARE)
    path.parent.rename(path.parent.with_name("caf\u00e9-7b"))
    names = {path.parent.name: "cafe\u0301-7b"}

    def rename_folder(entries: list[Entry]) -> None:
        for one in entries:
            for old, new in names.items():
                if one["benchmark"] == entry_of(entries, BARE)["benchmark"]:
                    one["legacy_path"] = one["legacy_path"].replace(f"/{old}/", f"/{new}/")
        entries.sort(key=lambda one: str(one["legacy_path"]))

    edit_entries(root, rename_folder)


def bring_back(root: Path) -> None:
    """Withdraw a record and its object, and add it again with a better score."""
    path = data_of(root, FIRST)
    text, rows = path.read_bytes(), rows_beside(path).read_bytes()
    withdraw(root)
    rebuild(root, LATER)
    for ending in (".json", ROWS):
        object_at(root, FIRST, ending).unlink()
    write(path, forge(text))
    write(rows_beside(path), rows)
    rebuild(root, "2026-01-04T03:00:00+00:00")


def hide_rows(root: Path) -> None:
    """Say in its entry that a record has no rows."""

    def hide(entries: list[Entry]) -> None:
        one = entry_of(entries, FIRST)
        for name in ("instance_level_path", "instance_sha", "instance_level_size_bytes"):
            del one[name]
        one["instance_level_available"] = False

    edit_entries(root, hide)


def roll_back_as_new(root: Path) -> None:
    """Let the latest manifest be that of the older snapshot, with a later time."""
    lines = older_entries(root)
    publish(root, lines, LATER)


def date_older(created_at: str) -> Tampering:
    """Return a tampering with the time of the older snapshot, which its digest does not cover."""
    return lambda root: change(
        older(root) / "manifest.json", lambda text: text.replace(OLD.encode(), created_at.encode())
    )


TAMPERINGS: dict[str, tuple[Tampering, str, str]] = {
    # manifests
    "a count in the manifest": (edit_manifest(aggregate_file_count=7), "manifest", "ES920"),
    "a false list of versions": (
        edit_manifest(eval_schema_versions=["0.2.0"]),
        "manifest",
        "ES920",
    ),
    "another digest of entries": (edit_manifest(entries_sha256="0" * 64), "manifest", "ES921"),
    "a member more in the manifest": (edit_manifest(note="x"), "manifest", "ES920"),
    "only the latest manifest": (edit_latest(lambda text: text + b"\n"), "manifest", "ES920"),
    "both manifests, not their name": (
        edit_both(lambda text: text.replace(b'"benchmark_count": 2', b'"benchmark_count": 9')),
        "manifest",
        "ES920",
    ),
    "entries path that leaves the store": (
        edit_both(lambda text: text.replace(b'"flat/manifests/sha256_', b'"../../etc/sha256_')),
        "manifest",
        "ES920",
    ),
    "versioned copy deleted": (
        lambda root: (root / latest_manifest(root)["manifest_path"]).unlink(),
        "manifest",
        "ES920",
    ),
    "a rollback": (roll_back, "manifest", "ES920"),
    "latest manifest no JSON": (edit_latest(lambda text: text[:40]), "manifest", "ES920"),
    # entries
    "a byte of the entries": (
        lambda root: change(entries_file(root), lambda text: text.replace(b"a", b"b", 1)),
        "manifest",
        "ES921",
    ),
    "entries deleted": (lambda root: entries_file(root).unlink(), "manifest", "ES921"),
    "entries not in order": (reverse_entries, "manifest", "ES921"),
    "an unknown key": (edit_entry(FIRST, note="x"), "manifest", "ES921"),
    "a digest in capitals": (edit_entry(FIRST, sha256="A" * 64), "manifest", "ES921"),
    "a size as text": (edit_entry(FIRST, size_bytes="12"), "manifest", "ES921"),
    "an entry dropped": (drop_entry, "manifest", "ES927"),
    "a UUID twice": (add_twice, "manifest", "ES922"),
    "a path out of the store": (
        edit_entry(FIRST, object_path="../../etc/hostname"),
        "manifest",
        "ES922",
    ),
    "a legacy path out of the store": (
        edit_entry(FIRST, legacy_path=f"data/../../{FIRST}.json"),
        "manifest",
        "ES922",
    ),
    "another collection": (edit_entry(FIRST, benchmark="tiny-logic"), "manifest", "ES922"),
    "another stem": (
        edit_entry(FIRST, legacy_path=f"data/tiny-arithmetic/acme/acorn-7b/{RECENT}.json"),
        "manifest",
        "ES922",
    ),
    "a UUID as 32 digits": (
        lambda root: rename(root, FIRST, FIRST.replace("-", "")),
        "manifest",
        "ES922",
    ),
    "a UUID of version 1": (
        lambda root: rename(root, FIRST, FIRST.replace("-4e62-", "-1e62-")),
        "manifest",
        "ES922",
    ),
    "rows of another object": (
        lambda root: edit_entries(
            root,
            lambda entries: entry_of(entries, FIRST).update(
                instance_level_path=entry_of(entries, THIRD)["instance_level_path"]
            ),
        ),
        "manifest",
        "ES922",
    ),
    "another record type": (edit_entry(FIRST, record_type="instance"), "manifest", "ES922"),
    "a false schema version": (
        lambda root: (edit_entry(FIRST, eval_schema_version="0.2.2")(root),),
        "rows",
        "ES921",
    ),
    # objects
    "an object deleted": (lambda root: object_at(root, FIRST).unlink(), "manifest", "ES923"),
    "rows of an object deleted": (
        lambda root: object_at(root, FIRST, ROWS).unlink(),
        "manifest",
        "ES923",
    ),
    "a folder in an object's place": (
        lambda root: (object_at(root, FIRST).unlink(), object_at(root, FIRST).mkdir()),
        "manifest",
        "ES923",
    ),
    "an object of another size": (
        lambda root: change(object_at(root, FIRST), longer),
        "manifest",
        "ES924",
    ),
    "an object of the same size": (
        lambda root: change(object_at(root, FIRST), forge),
        "bytes",
        "ES924",
    ),
    "rows of an object changed": (
        lambda root: change(
            object_at(root, FIRST, ROWS), lambda text: text.replace(b"2 + 3", b"2 + 4", 1)
        ),
        "bytes",
        "ES924",
    ),
    "two objects swapped": (swap, "bytes", "ES924"),
    "an object unlisted": (
        lambda root: write(object_at(root, uuid_of(77)), b"{}"),
        "manifest",
        "ES925",
    ),
    "an object in a foreign folder": (
        lambda root: write(root / "flat/objects/ff/ff" / f"{FIRST}.json", b"{}"),
        "manifest",
        "ES925",
    ),
    # indexes
    "an index changed": (
        lambda root: change(
            root / "flat/indexes/by_legacy_path.jsonl", lambda text: text.replace(b"a", b"b", 1)
        ),
        "manifest",
        "ES926",
    ),
    "an index of a collection cut": (
        lambda root: change(
            root / "flat/indexes/by_collection/tiny-logic.jsonl", lambda text: text[:-9]
        ),
        "manifest",
        "ES926",
    ),
    "an index of a collection missing": (
        lambda root: (root / "flat/indexes/by_collection/tiny-logic.jsonl").unlink(),
        "manifest",
        "ES926",
    ),
    # data
    "a data file of another size": (
        lambda root: change(data_of(root, FIRST), longer),
        "bytes",
        "ES927",
    ),
    "a data file of the same size": (
        lambda root: change(data_of(root, FIRST), forge),
        "bytes",
        "ES927",
    ),
    "rows in data changed": (
        lambda root: change(
            rows_beside(data_of(root, FIRST)), lambda text: text.replace(b"2 + 3", b"2 + 4", 1)
        ),
        "bytes",
        "ES927",
    ),
    "a number of another type": (
        lambda root: change(
            data_of(root, FIRST), lambda text: text.replace(b'"max_score": 1', b'"max_score": 1.0')
        ),
        "bytes",
        "ES927",
    ),
    "a member twice": (
        lambda root: change(
            data_of(root, FIRST),
            lambda text: text.replace(b'"score": 0.75', b'"score": 0.95, "score": 0.75'),
        ),
        "bytes",
        "ES927",
    ),
    "a UUID reused in another folder": (
        lambda root: write(
            root / "data/tiny-logic/acme/birch-7b" / f"{FIRST}.json",
            longer(data_of(root, FIRST).read_bytes()),
        ),
        "manifest",
        "ES927",
    ),
    "rows without a record": (add_data(f"{uuid_of(78)}{ROWS}", b"{}\n"), "manifest", "ES927"),
    "a file of no record": (add_data("notes.txt"), "manifest", "ES927"),
    # snapshots
    "forged together": (forge_together, "manifest", "ES928"),
    "forged together, and the past": (forge_older, "manifest", "ES929"),
    "an older manifest changed": (
        lambda root: change(
            older(root) / "manifest.json", lambda text: text.replace(b'": 4', b'": 5', 1)
        ),
        "manifest",
        "ES929",
    ),
    "entries of an older manifest gone": (
        lambda root: (older(root) / "entries.jsonl").unlink(),
        "manifest",
        "ES929",
    ),
    "an older folder renamed": (
        lambda root: older(root).rename(older(root).with_name(f"sha256_{'0' * 64}")),
        "manifest",
        "ES929",
    ),
    # what a second look would not see
    "a UUID twice, in a deeper folder": (add_deeper, "manifest", "ES922"),
    "a UUID in capitals": (lambda root: rename(root, FIRST, FIRST.upper()), "manifest", "ES922"),
    "an object that is a link to another": (
        lambda root: relink(object_at(root, FIRST), object_at(root, THIRD)),
        "bytes",
        "ES924",
    ),
    "an object that is a link to nowhere": (
        lambda root: relink(object_at(root, FIRST), root / "nowhere"),
        "manifest",
        "ES923",
    ),
    "an object that is a link to itself": (
        lambda root: relink(object_at(root, FIRST), object_at(root, FIRST)),
        "manifest",
        "ES923",
    ),
    "an object with bytes behind it": (
        lambda root: change(object_at(root, FIRST), lambda text: text + b"{}"),
        "manifest",
        "ES924",
    ),
    "an object in a folder in capitals": (
        lambda root: shutil.move(
            object_at(root, FIRST), root / "flat/objects" / FIRST[:2] / f"{FIRST[2:4]}X"
        ),
        "manifest",
        "ES923",
    ),
    "a member twice in the manifest": (
        edit_both(
            lambda text: text.replace(
                b'  "benchmark_count": 2,', b'  "benchmark_count": 9,\n  "benchmark_count": 2,'
            )
        ),
        "manifest",
        "ES920",
    ),
    "a time that is none": (
        edit_both(lambda text: text.replace(NEW.encode(), b"yesterday")),
        "manifest",
        "ES920",
    ),
    "an older snapshot in the future": (
        date_older("2027-01-01T03:00:00+00:00"),
        "manifest",
        "ES920",
    ),
    "an older snapshot at no time": (date_older("2026-01-01"), "manifest", "ES929"),
    "a rollback as new": (roll_back_as_new, "manifest", "ES927"),
    "a member twice in an entry": (
        edit_lines(
            lambda text: text.replace(
                b'"record_type"', b'"record_type": "instance", "record_type"', 1
            )
        ),
        "manifest",
        "ES921",
    ),
    "line ends of another system": (
        edit_lines(lambda text: text.replace(b"\n", b"\r\n")),
        "manifest",
        "ES921",
    ),
    "a blank line in the entries": (edit_lines(lambda text: text + b"\n"), "manifest", "ES921"),
    "a mark before the entries": (
        edit_lines(lambda text: b"\xef\xbb\xbf" + text),
        "manifest",
        "ES921",
    ),
    "entries nested without end": (
        edit_lines(lambda text: text + b"[" * 100_000 + b"\n"),
        "manifest",
        "ES921",
    ),
    "entries without letters of any language": (
        edit_lines(lambda text: text.replace(b"acorn-7b", b"\\ud800-7b", 1)),
        "manifest",
        "ES927",
    ),
    "a size with a fraction": (edit_entry(FIRST, size_bytes=12.0), "manifest", "ES921"),
    "a false size": (edit_entry(FIRST, size_bytes=12), "manifest", "ES924"),
    "a false size of rows": (edit_entry(FIRST, instance_level_size_bytes=12), "manifest", "ES924"),
    "letters decomposed": (decompose, "manifest", "ES927"),
    "a version that no record has": (
        edit_entry(FIRST, eval_schema_version="9.9.9"),
        "rows",
        "ES921",
    ),
    "a record brought back with a better score": (bring_back, "manifest", "ES928"),
    "rows that the entry hides": (hide_rows, "manifest", "ES927"),
    "rows gone from data": (
        lambda root: rows_beside(data_of(root, FIRST)).unlink(),
        "manifest",
        "ES927",
    ),
    "a collection in capitals": (
        lambda root: (root / "data/tiny-logic").rename(root / "data/Tiny-Logic"),
        "manifest",
        "ES927",
    ),
    "an index out of order": (
        lambda root: change(
            root / "flat/indexes/by_legacy_path.jsonl",
            lambda text: b"".join(sorted(text.splitlines(keepends=True), reverse=True)),
        ),
        "manifest",
        "ES926",
    ),
    "a data file that is a link to another": (
        lambda root: relink(data_of(root, FIRST), data_of(root, THIRD)),
        "bytes",
        "ES927",
    ),
}

HEALED = {
    "only the latest manifest",
    "a rollback",
    "an entry dropped",
    "a UUID twice",
    "an index changed",
    "an index of a collection cut",
    "an index of a collection missing",
    "an index out of order",
    "a rollback as new",
    "rows that the entry hides",
}
"""Tamperings that a rebuild undoes: it writes the entries and indexes anew from data/."""

WITHDRAWN = {"rows gone from data"}
"""What a rebuild takes for a withdrawal, which `store diff` lists."""


@each("level", ["manifest", "bytes", "rows"])
def test_a_sound_store_is_sound_at_every_level(sound: Path, level: str) -> None:
    assert found(sound, level) == set()


@each("name", TAMPERINGS)
def test_a_tampering_is_found(sound: Path, tmp_path: Path, name: str) -> None:
    tamper, level, code = TAMPERINGS[name]
    root = tmp_path / "store"
    shutil.copytree(sound, root)
    tamper(root)
    assert code in found(root, level)


@each("name", some(list(TAMPERINGS), 12))
def test_a_tampering_is_found_after_a_rebuild(sound: Path, tmp_path: Path, name: str) -> None:
    tamper, _, _ = TAMPERINGS[name]
    root = tmp_path / "store"
    shutil.copytree(sound, root)
    tamper(root)
    try:
        write_record(root, make_record(9))
        rebuild(root, LATER)
    except (KeyError, OSError, RecursionError, ValueError):
        return  # the nightly job breaks off, and publishes nothing
    assert bool(found(root, "rows")) == (name not in HEALED | WITHDRAWN)


def reserialise(text: bytes) -> bytes:
    """Write a record in one line, with its members in another order."""
    return json.dumps(json.loads(text), sort_keys=True).encode()


def move(root: Path) -> None:
    """Move a record, and its rows, to another collection."""
    path = data_of(root, FIRST)
    target = root / "data/tiny-moved/acme/acorn-7b"
    target.mkdir(parents=True)
    for one in (path, rows_beside(path)):
        one.rename(target / one.name)


def withdraw(root: Path) -> None:
    """Delete a record of data/, and its rows."""
    path = data_of(root, FIRST)
    rows_beside(path).unlink()
    path.unlink()


def attach(root: Path) -> None:
    """Add rows to a record that had none."""
    write(rows_beside(data_of(root, BARE)), b"{}\n")


def retire(root: Path) -> None:
    """Delete a whole collection of data/."""
    shutil.rmtree(root / "data/tiny-logic")


def trim(root: Path) -> None:
    """Delete an older snapshot whose objects later ones list."""
    shutil.rmtree(older(root))


def deepen(root: Path) -> None:
    """Move a record into a deeper folder, with letters that entries escape."""
    path = data_of(root, BARE)
    target = path.parent / "caf\u00e9" / path.name
    target.parent.mkdir()
    path.rename(target)


def bring_back_as_it_was(root: Path) -> None:
    """Withdraw a record, and add it again as it was."""
    path = data_of(root, FIRST)
    text, rows = path.read_bytes(), rows_beside(path).read_bytes()
    withdraw(root)
    rebuild(root, "2026-01-02T12:00:00+00:00")
    write(path, text)
    write(rows_beside(path), rows)


def link_objects(root: Path) -> None:
    """Keep objects elsewhere, with links in their places."""
    for number, path in enumerate(sorted((root / "flat/objects").rglob("*.json"))):
        target = root.with_name("elsewhere") / str(number)
        target.parent.mkdir(exist_ok=True)
        path.rename(target)
        path.symlink_to(target)


HONEST: dict[str, Tampering] = {
    "a record moved deeper": deepen,
    "a record brought back": bring_back_as_it_was,
    "objects kept elsewhere": link_objects,
    "nothing": lambda root: None,
    "a new record": lambda root: write_record(root, make_record(9)),
    "a record moved": move,
    "a record withdrawn": withdraw,
    "rows attached later": attach,
    "a collection retired": retire,
    "an older snapshot trimmed": trim,
    "a record written anew": lambda root: change(data_of(root, FIRST), reserialise),
    "rows written anew": lambda root: change(
        rows_beside(data_of(root, FIRST)), lambda text: text.replace(b'": "', b'":"')
    ),
    "files that are not looked at": lambda root: (
        write(root / "README.md", b"x"),
        write(root / "data/README.md", b"x"),
        write(root / ".gitattributes", b"x"),
        write(root / "viewer_parquets/a.parquet", b"x"),
        write(root / "flat/README.md", b"x"),
        write(root / "flat/manifests/README.md", b"x"),
        write(root / "flat/indexes/by_benchmark/x/aggregate.jsonl", b"x"),
        write(root / "flat/indexes/by_collection/gone.jsonl", b"x"),
    ),
}


@each("name", HONEST)
def test_an_honest_change_passes(sound: Path, tmp_path: Path, name: str) -> None:
    root = tmp_path / "store"
    shutil.copytree(sound, root)
    HONEST[name](root)
    rebuild(root, LATER)
    assert found(root, "bytes") == set()


def test_a_store_that_is_not_rebuilt_yet_differs_from_its_data(sound: Path, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(sound, root)
    write_record(root, make_record(9))
    assert found(root, "manifest") == {"ES927"}


def test_the_published_manifest_is_canonical(sound: Path) -> None:
    manifest = latest_manifest(sound)
    assert manifest_of(read_entries(sound), NEW) == manifest
    assert (sound / "flat/latest_manifest.json").read_bytes() == manifest_text(manifest)
