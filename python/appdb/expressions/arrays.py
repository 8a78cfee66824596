"""Arrays at the column boundary: conversion of NumPy arrays or nested lists to the stored form, and back.

The stored form is [shape, elements]: the shape as a list, the elements in C order, as little-endian bytes, or as a
list of text. An array with an empty outermost list has the shape [0], whatever its other lengths.
"""

import sys

from appdb.kinds.string import from_string
from appdb.values import WrongType, type_name

# dtype -> code of the array module, and of struct.
_CODES = {
    "bool": "B",
    "uint8": "B",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "float32": "f",
    "float64": "d",
}
# dtype -> kinds of NumPy's dtypes whose values it can hold.
_SOURCES = {"bool": "b", "float32": "fiu", "float64": "fiu"}
_MAX_DIMENSIONS = 6


def array_encoder(array):
    """Returns the function from nested lists, or a NumPy array or similar, to the stored form of the array type.

    It raises WrongType for other elements, ValueError for another shape, OverflowError beyond the dtype's range.
    """
    dtype, shape = array["dtype"], array["shape"]
    numpy = _numpy()

    def from_array(value):
        if numpy is not None and hasattr(value, "dtype") and hasattr(value, "shape"):
            found = numpy.asarray(value)
            if found.dtype.kind in _SOURCES.get(dtype, "iu") and dtype != "string":
                _check_shape(found.shape, shape)
                return [_stored_shape(found.shape), _from_numpy(numpy, found, dtype)]
        if hasattr(value, "tolist"):
            value = value.tolist()
        if not isinstance(value, (list, tuple)):
            raise WrongType(f"expected an array of {dtype} (nested lists, or numpy.ndarray), got {type_name(value)}")
        lengths, flat = _flatten(value)
        _check_shape(lengths, shape)
        return [_stored_shape(lengths), _elements(dtype, flat, lengths)]

    return from_array


def array_decoder(array):
    """Returns the function from the stored form to a new NumPy array, or to nested lists without NumPy."""
    dtype, shape = array["dtype"], array["shape"]
    numpy = _numpy()

    def lengths(stored):
        # For an array without elements, only the outermost length was kept.
        return [0, *(length or 0 for length in shape[1:])] if stored == [0] and shape is not None else stored

    def to_numpy(stored):
        if dtype == "string":
            return numpy.array(stored[1], dtype=str).reshape(lengths(stored[0]))
        elements = numpy.frombuffer(stored[1], dtype=numpy.dtype(dtype).newbyteorder("<"))
        return elements.astype(dtype).reshape(lengths(stored[0]))

    def to_lists(stored):
        return _nested(_unpacked(dtype, stored[1]), stored[0])

    return to_lists if numpy is None else to_numpy


def array_json(array, stored):
    """The JSON text of a stored array, for constants in a manifest; floats in Python's form."""
    from appdb.values import to_json

    return to_json(_nested(_unpacked(array["dtype"], stored[1]), stored[0]))


def _numpy():
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def _stored_shape(lengths):
    return [0] if lengths[0] == 0 else [int(length) for length in lengths]


def _check_shape(lengths, shape):
    if shape is not None and (
        len(lengths) != len(shape) or any(n is not None and n != m for n, m in zip(shape, lengths))
    ):
        # The lists of an empty array do not show the lengths below.
        if tuple(lengths) == (0,) and shape[0] in (None, 0):
            return
        raise ValueError(f"expected an array of shape {tuple(shape)}, got shape {tuple(lengths)}")
    if not 1 <= len(lengths) <= _MAX_DIMENSIONS:
        raise ValueError(f"an array has 1 to {_MAX_DIMENSIONS} dimensions, not {len(lengths)}")
    if 0 in lengths[1:]:
        raise ValueError(f"only the first length of an array may be 0; the shape is {tuple(lengths)}")


def _from_numpy(numpy, found, dtype):
    target = numpy.dtype(dtype).newbyteorder("<")
    if dtype == "bool" or found.size == 0:
        return found.astype(target).tobytes()
    if target.kind == "f":
        with numpy.errstate(over="ignore"):
            stored = found.astype(target)
        finite = numpy.isfinite(stored)
        if not finite.all():
            place = _place(int(numpy.argmin(finite)), found.shape)
            raise ValueError(f"element {place} is not a finite {dtype}: {found.reshape(-1)[int(numpy.argmin(finite))]}")
        return stored.tobytes()
    limits = numpy.iinfo(target)
    if int(found.min()) < limits.min or int(found.max()) > limits.max:
        raise OverflowError(f"an element does not fit {dtype}, {limits.min} to {limits.max}")
    return found.astype(target).tobytes()


def _flatten(value):
    """The lengths of nested lists, and their elements in order. Raises ValueError for lists of different lengths."""
    lengths, level = [], value
    while isinstance(level, (list, tuple)) and len(lengths) <= _MAX_DIMENSIONS:
        lengths.append(len(level))
        level = level[0] if level else None
        if getattr(level, "ndim", 0) > 0 and hasattr(level, "tolist"):
            level = level.tolist()
    flat = value
    for depth, length in enumerate(lengths[1:], 1):
        inner = []
        for number, item in enumerate(flat):
            if hasattr(item, "tolist"):
                item = item.tolist()
            if not isinstance(item, (list, tuple)) or len(item) != length:
                raise ValueError(f"the list at {_place(number, lengths[:depth])} does not have {length} elements")
            inner.extend(item)
        flat = inner
    return lengths, flat


def _elements(dtype, flat, lengths):
    if dtype == "string":
        return [_checked(dtype, item, number, lengths) for number, item in enumerate(flat)]
    from array import array

    plain = {"bool": {bool}, "float32": {int, float}, "float64": {int, float}}.get(dtype, {int})
    if not set(map(type, flat)) <= plain:
        flat = [_checked(dtype, item, number, lengths) for number, item in enumerate(flat)]
    try:
        packed = array(_CODES[dtype], flat)
    except OverflowError:
        raise OverflowError(f"element {_misfit(dtype, flat, lengths)} does not fit {dtype}") from None
    if dtype.startswith("float"):
        from math import isfinite

        if not all(map(isfinite, packed)):
            number = next(number for number, item in enumerate(packed) if not isfinite(item))
            raise ValueError(f"element {_place(number, lengths)} is not a finite {dtype}: {flat[number]}")
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _misfit(dtype, flat, lengths):
    from struct import error, pack

    for number, item in enumerate(flat):
        try:
            pack(f"={_CODES[dtype]}", item)
        except (error, OverflowError):
            return _place(number, lengths)
    return ""


def _checked(dtype, item, number, lengths):
    """An element as Python's own scalar; unwraps NumPy scalars and subclasses."""
    if hasattr(item, "item") and getattr(item, "ndim", None) == 0:
        item = item.item()
    if dtype == "string":
        if isinstance(item, str):
            return from_string(item)
    elif dtype == "bool":
        if isinstance(item, bool):
            return item
    elif isinstance(item, (int, float)) and not isinstance(item, bool):
        if dtype.startswith("float"):
            return float(item)
        if isinstance(item, int):
            return int(item)
    raise WrongType(f"element {_place(number, lengths)}: expected {dtype}, got {type_name(item)}")


def _place(number, lengths):
    place = ""
    for length in reversed(lengths):
        number, at = divmod(number, length)
        place = f"[{at}]{place}"
    return place


def _unpacked(dtype, elements):
    if dtype == "string":
        return elements
    from array import array

    unpacked = array(_CODES[dtype])
    unpacked.frombytes(elements)
    if sys.byteorder == "big":
        unpacked.byteswap()
    return [item != 0 for item in unpacked] if dtype == "bool" else unpacked.tolist()


def _nested(flat, shape):
    for length in reversed(shape[1:]):
        flat = [flat[start : start + length] for start in range(0, len(flat), length)]
    return flat
