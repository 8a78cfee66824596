"""Functions of the library as methods and properties of values: `title.upper()`, `ts.year`, `doc.tags.len()`."""

from appdb.declare.errors import AppFileError, did_you_mean

# The namespaces with the methods of a value, by kind.
_HOMES = {
    "string": ("string",),
    "int": ("math", "timestamp", "date"),
    "float": ("math",),
    "timestamp": ("timestamp",),
    "date": ("date",),
    "uuid": ("uuid",),
    "json": ("json", "lists"),
    "array": ("array",),
    "image": ("image",),
    "audio": ("audio",),
    "video": ("video",),
    "document": ("document",),
}

# Other libraries' names of methods.
_ELSEWHERE = {
    "includes": "contains",
    "has": "contains",
    "is_in": "isin",
    "length": "len",
    "size": "len",
    "trim": "strip",
    "to_lower": "lower",
    "to_upper": "upper",
    "starts_with": "startswith",
    "ends_with": "endswith",
    "cast": "astype",
}


# Methods of other libraries, and their replacements here.
_OTHERWISE = {
    **dict.fromkeys(("like", "ilike"), "Write .contains(...), .startswith(...) or .match(...)."),
    **dict.fromkeys(("desc", "asc"), "Write order_by(Model.column, asc=False) for a descending order."),
    **dict.fromkeys(("is_", "is_not", "isnull", "notnull"), "Write == None or != None."),
    "in_": "Write .isin([...]).",
    "between": "Write (column >= least) & (column <= most).",
}


def instead_of(kind, name):
    """A hint for another library's method with this name; None if no such method is known."""
    if name in _OTHERWISE:
        return _OTHERWISE[name]
    wanted = _ELSEWHERE.get(name)
    if wanted not in ("isin", "astype") and (wanted is None or _method(kind, wanted) is None):
        return None
    return f"Write .{wanted}(...)"


def attribute(expr, name):
    """Returns the method or property `name` of a value; None if its type has none."""
    function = _method(expr._kind, name)
    if function is None:
        return None
    return function(expr) if function.is_property else _bound(function, expr, name)


def names(kind):
    """Returns the names of the methods and properties of a value of this kind."""
    return [name for functions in _homes(kind) for name, function in functions.items() if _takes(function, kind)]


def call_json_method(base, name, args, kwargs):
    """Calls a method of a Json value; raises AppFileError for an unknown name."""
    method = _method("json", name)
    if method is not None:
        return method(base, *args, **kwargs)
    hint = did_you_mean(name, names("json"), "A key of a Json value is read without parentheses.")
    if _method("string", name) is not None:
        hint = f"Say that it is text first: {base._text}.astype(db.String).{name}(...)"
    raise AppFileError(f"A Json value such as {base._text} has no method '{name}'.", hint)


def _method(kind, name):
    for functions in _homes(kind):
        function = functions.get(name)
        if function is not None and _takes(function, kind):
            return function
    return None


def _homes(kind):
    from appdb._imports import load

    for home in _HOMES.get(kind, ()):
        yield load(f"appdb.functions.{home}").FUNCTIONS


def _takes(function, kind):
    if not function.is_method:
        return False
    first = function.parameters[0].kind
    return first == kind or (first == "float" and kind == "int")


def _bound(function, first, name):
    def method(*args, **kwargs):
        return function(first, *args, **kwargs)

    method.written = f"{first._text}.{name}"
    return method
