"""Sketches as data: the edges of bins, and the way to JSON and back."""

import json
from itertools import pairwise

import pytest
from each import each

from evalstream.model.sketch import Histogram, Sketch, Strip

STRIP = Strip(4, (4, 3), (4, 2), (2.5, 0.0), (0, 1), (0, 0), (7, 0), 7)
SKETCHES = [
    Sketch(STRIP),
    Sketch(
        STRIP,
        Histogram("linear", 0.25, -2, (1, 0, 5)),
        {"input": Histogram("log", 2.0**0.25, 40, (3,), 2), "total": Histogram("log", 4.0, 0, ())},
        Histogram("log", 2.0, -3, (1, 1)),
    ),
]


@pytest.mark.parametrize("sketch", SKETCHES)
def test_a_sketch_is_the_same_after_json(sketch: Sketch) -> None:
    assert Sketch.from_dict(json.loads(json.dumps(sketch.as_dict()))) == sketch


@each("name", ["strip", "scores", "tokens", "latency"])
def test_a_sketch_without_a_key_is_not_valid(name: str) -> None:
    encoded = SKETCHES[1].as_dict()
    del encoded[name]
    with pytest.raises(KeyError):
        Sketch.from_dict(encoded)


def test_zeros_are_written_only_if_there_are_some() -> None:
    assert "zeros" not in Histogram("log", 2.0, 0, (1,)).as_dict()
    assert Histogram("log", 2.0, 0, (1,), 3).as_dict()["zeros"] == 3


def test_linear_edges_are_multiples_of_the_width() -> None:
    bins = Histogram("linear", 0.25, -2, (1, 0, 5))
    assert [bins.edge(number) for number in range(4)] == [-0.5, -0.25, 0.0, 0.25]


def test_logarithmic_edges_double_as_often_as_the_width_says() -> None:
    bins = Histogram("log", 2.0**0.25, 40, (1,) * 8)
    assert [bins.edge(number) for number in (0, 4, 8)] == [2.0**10, 2.0**11, 2.0**12]
    edges = [bins.edge(number) for number in range(9)]
    assert all(low < high for low, high in pairwise(edges))
    assert Histogram("log", 4.0, -1, (1,)).edge(0) == 0.25
