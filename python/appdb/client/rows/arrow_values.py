"""Values of Arrow arrays as Python objects, and the types that the fields of our tables and files are marked with."""

import json

from appdb.kinds import DISPLAY

#: Metadata of a field: the type of its column, as JSON. The older mark has the name of the kind only.
MARK, _OLD_MARK = b"appdb.type", b"appdb.kind"
#: Metadata of a file: the types of its columns by name, as JSON.
FILE_MARK = b"appdb.columns"


class Unfit:
    """In the place of a value that no column can store. The reader of rows names it by row and column."""

    __slots__ = ("reason",)

    def __init__(self, reason):
        self.reason = reason


def marked_schema(columns, schema, is_file=False):
    """The schema whose fields have the types of their columns, so that a table of them has the same columns.

    `is_file`: a file has the types as one text, too, which readers without Arrow know."""
    types = {column.name: json.dumps(column.type, ensure_ascii=False) for column in columns}
    for place, column in enumerate(columns):
        field = schema.field(place)
        schema = schema.set(place, field.with_metadata({**(field.metadata or {}), MARK: types[column.name].encode()}))
    if not is_file:
        return schema
    members = ",".join(f"{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in types.items())
    return schema.with_metadata({**(schema.metadata or {}), FILE_MARK: f"{{{members}}}".encode()})


def types_of(schema):
    """The types of columns by name, as far as the fields of a schema are marked, or have Arrow's type of JSON."""
    of_file = _read((schema.metadata or {}).get(FILE_MARK))
    found = {}
    for field in schema:
        metadata = field.metadata or {}
        type = _read(metadata.get(MARK)) or of_file.get(field.name)
        if type is None and (metadata.get(_OLD_MARK) == b"json" or is_arrow_json(field.type)):
            type = {"kind": "json"}
        if isinstance(type, dict) and type.get("kind") in DISPLAY:
            found[field.name] = type
    return found


def is_arrow_json(type):
    """Whether it is Arrow's type of JSON."""
    return getattr(type, "extension_name", "") == "arrow.json"


def _read(text):
    """The object of a mark; an empty one for a mark that others wrote or cut."""
    try:
        found = json.loads(text or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def values_of(array):
    """The values of an array. Maps are dicts, and a value that Python or JSON cannot have is Unfit."""
    try:
        values = array.to_pylist()
    except (OverflowError, ValueError, ArithmeticError):
        values = [_value(scalar) for scalar in array]
    read = _map_reader(array.type)
    return values if read is None else [None if value is None else read(value) for value in values]


def _value(scalar):
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return Unfit("the text is not UTF-8")
    except (OverflowError, ValueError, ArithmeticError):
        return Unfit("a date or timestamp is beyond the years 1 to 9999")


def _map_reader(type):
    """The function that makes the maps inside of values dicts; None for a type without maps."""
    from pyarrow import types

    if types.is_map(type):
        return _dict_reader(_map_reader(type.item_type))
    if types.is_struct(type):
        fields = [type.field(at) for at in range(type.num_fields)]
        readers = {field.name: read for field in fields if (read := _map_reader(field.type)) is not None}
        return _members(readers) if readers else None
    if hasattr(type, "value_type") and not types.is_dictionary(type):
        read = _map_reader(type.value_type)
        return None if read is None else lambda items: _within(items, lambda: [_one(read, item) for item in items])
    return None


def _dict_reader(read):
    def made(pairs):
        found = {}
        for key, value in pairs:
            if type(key) is not str:
                return Unfit(f"a map has the key {key!r:.60}, and JSON has texts as keys")
            if key in found:
                return Unfit(f"a map has the key {key!r:.60} twice")
            found[key] = value if read is None else _one(read, value)
        return found

    return lambda pairs: _within(pairs, lambda: made(pairs))


def _members(readers):
    def made(value):
        return {name: _one(readers[name], item) if name in readers else item for name, item in value.items()}

    return lambda value: _within(value, lambda: made(value))


def _one(read, value):
    return None if value is None else read(value)


def _within(value, make):
    return value if type(value) is Unfit else make()


def json_value(text):
    """The value of a text that is marked as JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return Unfit(f"the file says that it is JSON, and {text[:60]!r} is not")
