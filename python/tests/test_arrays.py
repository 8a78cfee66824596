"""Arrays at the column boundary, with NumPy and without."""

import math

import numpy as np
import pytest

from appdb.expressions import arrays
from appdb.kinds import rules
from appdb.values import WrongType, decoder, encoder

INF = math.inf


def array(dtype, shape=None):
    return {"kind": "array", "dtype": dtype, "shape": shape}


@pytest.fixture(params=["with numpy", "without numpy"])
def has_numpy(request, monkeypatch):
    if request.param == "without numpy":
        monkeypatch.setattr(arrays, "_numpy", lambda: None)
    return request.param == "with numpy"


def as_lists(value):
    return value.tolist() if hasattr(value, "tolist") else value


EXACT = [
    (array("float64", [3]), [0.1, -0.0, 5e-324], [0.1, -0.0, 5e-324]),
    (array("float64"), [[1, 2.5], [True + 1, 4]], [[1.0, 2.5], [2.0, 4.0]]),
    (array("float32"), [0.1, 3.4028234663852886e38, 1e-45], [0.10000000149011612, 3.4028234663852886e38, 2**-149]),
    (array("int64"), [2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
    (array("int32", [None, 1]), ((1,), (-(2**31),)), [[1], [-(2**31)]]),
    (array("uint8"), [0, 255], [0, 255]),
    (array("int8"), [[[-128]]], [[[-128]]]),
    (array("int16"), [32767], [32767]),
    (array("bool", [2, 2]), [[True, False], [False, True]], [[True, False], [False, True]]),
    (array("string"), ["a", "", "ü🎉"], ["a", "", "ü🎉"]),
    (array("float32", [None, 3]), [], []),
    (array("float32"), [], []),
]


@pytest.mark.parametrize("full,value,expected", EXACT)
def test_an_array_comes_back_as_it_was_stored(full, value, expected, has_numpy):
    stored = encoder(full)(value)
    back = decoder(full)(stored)
    assert (type(back) is np.ndarray) == has_numpy
    found = as_lists(back)
    assert repr(found) == repr(expected)
    assert encoder(full)(back) == stored


@pytest.mark.parametrize("full,value,expected", EXACT)
def test_a_numpy_array_is_stored_as_its_lists_are(full, value, expected):
    dtype = str if full["dtype"] == "string" else full["dtype"]
    assert encoder(full)(np.array(value, dtype=dtype)) == encoder(full)(value)


def test_numpy_arrays_of_other_layouts_and_dtypes_are_converted_where_nothing_is_lost():
    wanted = encoder(array("float32", [2, 2]))([[1, 2], [3, 4]])
    for given in (
        np.array([[1, 3], [2, 4]], dtype="int64").T,
        np.array([[1, 2], [3, 4]], dtype=">f8"),
        np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]),
        [np.array([1, 2]), np.array([3.0, 4.0])],
        [[np.float32(1), np.int8(2)], [3, np.float64(4)]],
    ):
        assert encoder(array("float32", [2, 2]))(given) == wanted
    assert encoder(array("uint8"))(np.array([255], dtype="int64")) == [[1], b"\xff"]


def test_an_array_is_a_functions_own_to_change():
    full = array("float32", [2])
    stored = encoder(full)([1, 2])
    decoder(full)(stored)[0] = 9
    assert decoder(full)(stored).tolist() == [1.0, 2.0]


def test_an_empty_array_has_the_shape_that_its_type_says():
    assert decoder(array("float32", [None, 3]))([[0], b""]).shape == (0, 3)
    assert decoder(array("string", [None, 3]))([[0], []]).shape == (0, 3)
    assert decoder(array("float32"))([[0], b""]).shape == (0,)
    assert encoder(array("float32", [None, 3]))(np.zeros((0, 3))) == [[0], b""]


REFUSED = [
    (array("float32", [3]), [1, 2], ValueError, r"expected an array of shape \(3,\), got shape \(2,\)"),
    (array("float32", [3]), [[1, 2, 3]], ValueError, r"got shape \(1, 3\)"),
    (array("float32", [3]), [], ValueError, r"got shape \(0,\)"),
    (array("float32"), [[1, 2], [3]], ValueError, r"the list at \[1\] does not have 2 elements"),
    (array("float32"), [[[1], [2]], [[3], 4]], ValueError, r"the list at \[1\]\[1\] does not have 1 elements"),
    (array("float32"), [[1], 2], ValueError, r"the list at \[1\]"),
    (array("float32"), [1, [2]], WrongType, r"element \[1\]: expected float32, got list"),
    (array("float32"), [[]], ValueError, "only the first length"),
    (array("float32"), 5, WrongType, "expected an array of float32 .* got int"),
    (array("float32"), "abc", WrongType, "got str"),
    (array("float32"), [1, None], WrongType, r"element \[1\]: expected float32, got None"),
    (array("float32"), [[1], ["x"]], WrongType, r"element \[1\]\[0\]: expected float32, got str"),
    (array("float32"), [True], WrongType, "got bool"),
    (array("float32"), [1, math.nan], ValueError, r"element \[1\] is not a finite float32: nan"),
    (array("float64"), [[1, -INF]], ValueError, r"element \[0\]\[1\] is not a finite float64: -inf"),
    (array("float32"), [1e39], ValueError, "not a finite float32"),
    (array("float64"), [10**400], OverflowError, r"element \[0\] does not fit float64"),
    (array("uint8"), [0, 256], OverflowError, r"element \[1\] does not fit uint8"),
    (array("int64"), [2**63], OverflowError, r"element \[0\] does not fit int64"),
    (array("int32"), [1.0], WrongType, "expected int32, got float"),
    (array("bool"), [1], WrongType, "expected bool, got int"),
    (array("string"), [1], WrongType, "expected string, got int"),
    (array("string"), ["a\0"], ValueError, "NUL"),
    (array("string"), ["\ud800"], ValueError, "surrogate"),
    (array("float32"), [[[[[[[1]]]]]]], ValueError, "1 to 6 dimensions"),
]


@pytest.mark.parametrize("full,value,error,message", REFUSED)
def test_what_is_no_array_of_the_type_is_refused_with_its_place(full, value, error, message, has_numpy):
    with pytest.raises(error, match=message):
        encoder(full)(value)


REFUSED_OF_NUMPY = [
    (array("float32"), np.array([1.0, np.nan]), ValueError, r"element \[1\] is not a finite float32: nan"),
    (array("float32"), np.array([[1e39]]), ValueError, r"element \[0\]\[0\] is not a finite float32"),
    (array("uint8"), np.array([-1]), OverflowError, "does not fit uint8, 0 to 255"),
    (array("int64"), np.array([2**63], dtype="uint64"), OverflowError, "does not fit int64"),
    (array("int32"), np.array([1.5]), WrongType, "expected int32, got float"),
    (array("bool"), np.array([1]), WrongType, "expected bool, got int"),
    (array("float32"), np.array([True]), WrongType, "got bool"),
    (array("float32"), np.float32(1), ValueError, "0"),
    (array("float32"), np.zeros((2, 0)), ValueError, "only the first length"),
    (array("float32", [None, 3]), np.zeros((0, 4)), ValueError, r"got shape \(0, 4\)"),
    (array("float32"), np.array(["a"]), WrongType, "got str"),
]


@pytest.mark.parametrize("full,value,error,message", REFUSED_OF_NUMPY)
def test_what_is_no_array_of_the_type_is_refused_of_numpy_too(full, value, error, message):
    with pytest.raises(error, match=message):
        encoder(full)(value)


def test_a_constant_array_is_read_from_its_json_text(has_numpy):
    type = array("float32", [2])

    def read(text):
        return decoder(type)(rules("array").from_literal(text, type))


    assert as_lists(read("[0.5,2]")) == [0.5, 2.0]
    assert read("[1,2]") is not read("[1,2]")


def test_bytes_are_stored_as_bytes():
    encode = encoder("binary")
    assert [encode(value) for value in (b"\x00\xff", bytearray(b"a"), memoryview(b"b"))] == [b"\x00\xff", b"a", b"b"]
    assert decoder("binary") is None
    with pytest.raises(WrongType, match="expected bytes, got str"):
        encode("text")
