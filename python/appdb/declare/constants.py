"""Constants in an application file: the Python values that a column can hold directly."""

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError
from appdb.kinds import DISPLAY, rules
from appdb.kinds._base import ColumnType
from appdb.values import INT_MAX, INT_MIN, encoder, short_int


# Python functions with a new value per call, and their replacements.
FOR_EACH_ROW = {
    **dict.fromkeys(("datetime.now", "datetime.utcnow", "datetime.today"), "now()"),
    "uuid4": "uuid4()",
    "uuid1": "uuid7()",
    "uuid7": "uuid7()",
}


def plain(value):
    """Unwraps a constant: a member of a StrEnum or IntEnum becomes its text or number, a scalar of NumPy or pandas its value."""
    if type(value) in (str, int, float, bool, dict, list):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        if value.dtype.kind == "M":
            return value.astype("datetime64[us]").item()  # That of nanoseconds is an int.
        return value.item()
    if hasattr(value, "to_pydatetime") and value == value:
        return value.to_pydatetime(warn=False)  # A Timestamp of pandas. One that does not equal itself is NaT.
    return value


def literal_value(value):
    """Returns (kind, manifest value) of a Python constant."""
    kind = type(value)
    _doubt(kind, value)
    if kind is str:
        if "\0" in value or not _encodable(value):
            raise AppFileError("A text constant holds a NUL or half a character.", "Remove it from the text.")
        if "<" in value and ": " in value:
            _refuse_shown(value)
        return "string", value
    if kind is bool:
        return "bool", value
    if kind is int:
        if not INT_MIN <= value <= INT_MAX:
            raise AppFileError(
                f"The constant {short_int(value)} does not fit an Int (64 bits).", "Write it as a Float."
            )
        return "int", str(value)
    if kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise AppFileError(f"The constant {value} cannot be stored as a Float.", "Use a finite number.")
        return "float", value
    if kind in (bytes, bytearray):
        return "binary", wire_value("binary", value)
    if kind.__module__ == "numpy" and getattr(value, "ndim", 0) > 0:
        return _array(value)
    if kind.__module__ != "builtins":
        for name in DISPLAY:
            if any(module == kind.__module__ for module, _ in rules(name).hints):
                try:
                    return name, wire_value(name, value)
                except TypeError:
                    continue
    raise _no_value(value)


def _refuse_shown(value):
    """Refuses a text that contains the repr() of a column."""
    import re

    kinds = "|".join(DISPLAY.values())
    shown = re.search(rf"<(?:{kinds})(?:\[.*?\])?(?: \| None)?: (.+?)>", value)
    if shown is not None:
        raise AppFileError(
            f"A text holds the column {shown[1]} as Python shows it: the text is made once, when the file is read.",
            f"Write {shown[1]}.astype(db.String), or appdb.functions.string.format('... {{}} ...', {shown[1]}).",
        )


def wire_value(kind, value):
    """A constant of a kind in manifest form. Raises any error of the encoder."""
    from appdb.declare.types import manifest_type

    _doubt(type(value), value)
    stored = encoder(manifest_type(kind))(value)
    return rules(kind).to_literal(stored, manifest_type(kind))


def _doubt(cls, value):
    """Records a constant that code may have computed."""
    if cls.__module__ in ("datetime", "uuid") or (cls in (str, int, float) and len(str(value)) > 5) or cls in (dict, list):
        Phase.has_doubtful = True


def _array(value):
    from appdb.declare.array_type import array_type
    from appdb.declare.types import Kind

    kind = Kind(array_type((tuple(value.shape), value.dtype)))
    try:
        return kind, wire_value(kind, value)
    except (TypeError, ValueError, OverflowError) as error:
        raise AppFileError(f"The constant array cannot be stored: {error}.", "Use finite numbers.") from None


def literal_text(kind, value, wire):
    """Prints a constant in source form."""
    return rules(kind).printed(value, wire)


def _encodable(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_value(value):
    if isinstance(value, type) and issubclass(value, ColumnType):
        return AppFileError(
            f"The type {value.__name__} is used where a value is expected.", "Write name: Type for a column."
        )
    if type(value).__name__ == "IteratorCall":
        return AppFileError(
            f"{value.text} gives many rows, and a column has one value in each row.",
            "Compute a list in a function marked @udf, and call that.",
        )
    if callable(value):
        written = getattr(value, "written", None)
        if written is not None:
            return AppFileError(f"The method {written} is used where a value is expected.", f"Call it: {written}()")
        name = getattr(value, "__name__", None) or getattr(value, "name", type(value).__name__)
        made = FOR_EACH_ROW.get(getattr(value, "__qualname__", None))
        if made is not None:
            return AppFileError(
                f"The function {value.__qualname__} is used where a value is expected.",
                f"Use {made} of appdb.functions, which makes a value for each new row.",
            )
        return AppFileError(
            f"The function {name} is used where a value is expected.",
            f"Call it: {name}(...), or give it its name above the class.",
        )
    return AppFileError(
        f"A value of the Python type {type(value).__name__} cannot be a constant of a column.",
        "Use text, a number, True or False, a datetime, a date, a UUID, a dict or a list.",
    )
