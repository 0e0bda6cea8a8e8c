"""The table of a tree's files: folders to list come in order, also those found on the way."""

from collections.abc import Mapping
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from evalstream.discovery import file_table
from evalstream.discovery.file_table import FileEntry, FileTable, listing_key

NAMES = st.sampled_from(["a", "ab", "a.b", "b", "é"])
TREES = st.recursive(st.just({}), lambda below: st.dictionaries(NAMES, below), max_leaves=40)


@given(TREES, st.integers(1, 4))
def test_folders_are_listed_once_and_in_order(tree: Mapping[str, object], page: int) -> None:
    before, file_table.PAGE = file_table.PAGE, page  # type: ignore[misc]
    try:
        with closing(FileTable()) as table:
            table.enter([*tree])
            listed = []
            for folder in table.folders():
                listed.append(folder.rstrip("/"))
                below = tree
                for name in folder.rstrip("/").split("/"):
                    below = below[name]  # type: ignore[assignment]
                table.enter([f"{folder}{name}" for name in below])
    finally:
        file_table.PAGE = before  # type: ignore[misc]
    everything = list(_paths(tree, ""))
    assert listed == sorted(everything, key=lambda path: listing_key(path, is_folder=True))


def test_a_file_is_known_as_listed_on_any_page() -> None:
    with closing(FileTable()) as table:
        names = [f"{number:04d}.json" for number in range(file_table.PAGE + 1)]
        table.add(FileEntry(name, size) for size, name in enumerate(names))
        sizes = {
            one.path: (
                one.size,
                table.find_listed_file(names[0]),
                table.find_listed_file(names[-1]),
            )
            for page in table.pages()
            for one in page
        }
    assert [size for size, _, _ in sizes.values()] == list(range(len(names)))
    ends = {(first and first.size, last and last.size) for _, first, last in sizes.values()}
    assert ends == {(0, file_table.PAGE)}


def _paths(tree: Mapping[str, object], above: str) -> list[str]:
    """Return the paths of all folders of a tree."""
    found = []
    for name, below in tree.items():
        found += [f"{above}{name}", *_paths(below, f"{above}{name}/")]  # type: ignore[arg-type]
    return found
