"""Array[...] and Json[...]: their manifest form, and their printed form in plans."""

import json
from pathlib import Path
from typing import Any, Literal, NotRequired, Optional, TypedDict

import numpy
import numpy.typing
import pytest

import appdb as db
from appdb.declare.errors import AppFileError
from appdb.declare.types import column_type, display, hint_type, manifest_type


class Point(TypedDict):
    x: float
    y: "int | None"


class Named(TypedDict, total=False):
    b: str
    a: list[Point]


class Mixed(TypedDict):
    id: int
    tag: NotRequired[Optional[str]]


# Source form, manifest form, printed form. packages/contract/src/types.test.ts prints the same types.
CASES = json.loads((Path(__file__).parent / "displayed_types.json").read_text())
NAMES = {"db": db, "np": numpy, "Any": Any, "Literal": Literal, "Point": Point, "Named": Named, "Mixed": Mixed}


@pytest.mark.parametrize("written,full,printed", CASES, ids=[case[0] for case in CASES])
def test_a_type_is_read_and_printed(written, full, printed):
    kind, nullable = column_type(eval(written, NAMES), "c")
    assert manifest_type(kind) == full
    assert display(kind, nullable) == printed


REFUSED = {
    "db.Array": "without a dtype",
    "db.Array[(3,)]": "has no dtype",
    "db.Array[(0,), db.Int]": "a length is 1 or more",
    "db.Array[(-1,), db.Int]": "a length is 1 or more",
    "db.Array[(), db.Int]": "1 to 6 dimensions",
    "db.Array[(1,) * 7, db.Int]": "1 to 6 dimensions",
    "db.Array[(2,), 'float16']": "float16 is not supported",
    "db.Array[(2,), np.uint32]": "uint32 is not supported",
    "db.Array[(2,), db.Timestamp]": "Timestamp is not supported",
    "db.Array[(2,), float]": "not Python's float",
    "db.Array[3, db.Float]": "not a dtype",
    "db.Array[db.Int][db.Int]": "already has its brackets",
    "db.Json[db.Array[db.Int]]": "cannot hold Array",
    "db.Json[{'a': db.Binary}]": "cannot hold Binary",
    "db.Json[{1: db.Int}]": "keys of a JSON object are text",
    "db.Json[dict[int, str]]": "keys of a JSON object are text",
    "db.Json[[db.Int, db.String]]": "one type",
    "db.Json[(...,)]": "repeats the type",
    "db.Json[object]": "does not describe a JSON value",
    "db.Json['int']": "does not describe a JSON value",
    "db.Json.schema([1])": "as a dict, not list",
    "db.Json.schema({'minimum': float('nan')})": "not JSON",
}


@pytest.mark.parametrize("written", REFUSED)
def test_what_is_no_type_is_refused_with_what_to_write(written):
    with pytest.raises(AppFileError, match=REFUSED[written]) as refused:
        column_type(eval(written, NAMES), "c")
    assert refused.value.hint


def test_hints_of_functions_take_bytes_and_arrays_of_numpy():
    assert hint_type(bytes, "x") == ("binary", False)
    kind, nullable = hint_type(numpy.typing.NDArray[numpy.float32], "x")
    assert (manifest_type(kind), nullable) == ({"kind": "array", "dtype": "float32", "shape": None}, False)
    with pytest.raises(AppFileError, match="does not say what its elements are"):
        hint_type(numpy.ndarray, "x")
