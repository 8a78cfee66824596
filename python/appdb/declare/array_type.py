"""Array types: reading `Array[(768,), Float]`, printing, and comparing."""

from appdb.declare.errors import AppFileError
from appdb.kinds._base import ColumnType

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "string")
# Other names in NumPy and in common use. A Float of an array is a float32, as in embeddings.
_NAMES = {"str": "string", "str_": "string", "bool_": "bool", "int": "int64", "float": "float64", "double": "float64"}
_KINDS = {"float": "float32", "int": "int64", "bool": "bool", "string": "string"}
_MAX_DIMENSIONS = 6
_HOW = "Write for example db.Array[(768,), db.Float], db.Array[(None, 3), 'int32'] or db.Array[db.Float]."


def array_type(item):
    """Parses the brackets of Array. Raises AppFileError for anything but a shape and dtype."""
    if isinstance(item, tuple) and len(item) == 2 and (_is_shape(item[0]) or _is_shape(item[1])):
        shape, dtype = item if _is_shape(item[0]) else (item[1], item[0])
        return {"kind": "array", "dtype": _dtype(dtype), "shape": _shape(shape)}
    if _is_shape(item):
        raise AppFileError(f"Array[{item!r}] has no dtype.", _HOW)
    return {"kind": "array", "dtype": _dtype(item), "shape": None}


def numpy_hint(hint):
    """Parses numpy.typing.NDArray[...] as an array type of any shape; None for other hints. Refuses plain
    numpy.ndarray."""
    origin = getattr(hint, "__origin__", hint)
    if (getattr(origin, "__module__", None), getattr(origin, "__qualname__", None)) != ("numpy", "ndarray"):
        return None
    arguments = getattr(hint, "__args__", ())
    element = getattr(arguments[1], "__args__", ()) if len(arguments) == 2 else ()
    if len(element) != 1 or not isinstance(element[0], type):
        raise AppFileError("numpy.ndarray does not say what its elements are.", _HOW)
    return {"kind": "array", "dtype": _dtype(element[0]), "shape": None}


def display_array(array):
    """Prints an array type in the form of plans: `Array[(768,), float32]`."""
    dtype = "str" if array["dtype"] == "string" else array["dtype"]
    shape = array["shape"]
    return f"Array[{dtype}]" if shape is None else f"Array[{tuple(shape)}, {dtype}]"


def fits(array, wanted):
    """Whether every value of one array type belongs to another: equal dtypes, and a shape that is not wider."""
    if array["dtype"] != wanted["dtype"]:
        return False
    if wanted["shape"] is None or array["shape"] is None:
        return wanted["shape"] is None
    if len(array["shape"]) != len(wanted["shape"]):
        return False
    return all(most is None or most == length for length, most in zip(array["shape"], wanted["shape"]))


def _is_shape(value):
    return isinstance(value, (tuple, list)) and all(item is None or type(item) is int for item in value)


def _shape(value):
    if not 1 <= len(value) <= _MAX_DIMENSIONS:
        raise AppFileError(f"An array has 1 to {_MAX_DIMENSIONS} dimensions; {value!r} has {len(value)}.", _HOW)
    for length in value:
        if length is not None and not 1 <= length < 2**31:
            raise AppFileError(
                f"The shape {value!r} has the length {length}; a length is 1 or more.",
                "Write None where it may be any.",
            )
    return list(value)


def _dtype(value):
    kind = getattr(value, "kind", None)
    module = getattr(value, "__module__", None)
    if isinstance(value, str):
        name = value
    elif isinstance(value, type) and issubclass(value, ColumnType):
        name = _KINDS.get(kind, value.__name__)
    elif isinstance(value, type) and module == "numpy":
        name = value.__name__
    elif type(value).__module__.partition(".")[0] == "numpy":  # numpy.dtype("<U5") and similar ones.
        name = "string" if kind == "U" else getattr(value, "name", repr(value))
    elif value in (int, float, str, bool):
        wanted = {int: "db.Int", float: "db.Float (float32) or 'float64'", str: "db.String", bool: "db.Bool"}[value]
        raise AppFileError(f"The dtype of an Array is not Python's {value.__name__}.", f"Write {wanted}.")
    else:
        raise AppFileError(f"{value!r} is not a dtype of an Array.", _HOW)
    name = _NAMES.get(name, name)
    if name not in DTYPES:
        raise AppFileError(f"An Array of {name} is not supported.", f"The dtypes are {', '.join(DTYPES)}.")
    return name
