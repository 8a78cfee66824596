"""Runs expression trees (packages/contract/src/expressions.ts). It defines the meaning that every SQL form must match.

A tree is compiled once to closures. A row is a list of stored values (values.py): the inputs, then the steps'
results in order. Each closure takes the row and returns a Python object, None for null.
"""

from appdb.expressions.elements import compile_dict, compile_element, compile_item, compile_list, compile_path
from appdb.expressions.operators import CHECKED, OPERATORS, one_of_list
from appdb.kinds import casting, rules
from appdb.values import decoder, encoder
from appdb.worker.calling import Call, CellError, compile_call


_ITERATING = ("op.iterate", "op.reread")
_NULL_TESTS = ("op.is_null", "op.is_not_null")


def compile_step(expr, places, functions):
    """Compiles one computed column to a function from a row to the stored value.

    `places` has each column's index in the row, `functions` each UDF's callable by its id. The compiled function
    raises CellError if the cell has no value.
    """
    if expr["node"] == "udf":
        return _udf(expr, places, functions, decode=False)
    if expr["node"] == "column":
        return _stored(places[expr["name"]])
    if expr["node"] == "call" and expr["fn"] == "op.check_media":
        return _media_check(expr, places)
    if condition_and_value(expr)[0] is not None:
        return _when(expr, places, functions)
    if expr["node"] == "call" and expr["fn"] in _ITERATING:
        return _iterating(expr, places, functions)
    value = _compile(expr, places, functions)
    encode, function = encoder(expr["type"]), _name(expr)
    if expr["node"] == "call" and expr["fn"].startswith("op.") and expr["type"]["kind"] in CHECKED:
        return value  # Operators check their own results.

    def step(row):
        result = value(row)
        try:
            return None if result is None else encode(result)
        except Exception as error:
            raise CellError(function, error) from error

    return step


def compile_value(expr, places, functions):
    """Compiles an expression to a function from a row to the Python object, as functions take it. Raises CellError."""
    return _compile(expr, places, functions)


def _media_check(expr, places):
    """Decodes the given file of a column. Later steps read the result, so that a file is decoded once."""
    (column,) = expr["args"]
    place, check = places[column["name"]], rules(expr["type"]["kind"]).check(expr["type"])

    def checked(row):
        value = row[place]
        try:
            return None if value is None else check(value)
        except Exception as error:
            raise CellError(column["name"], error) from error

    return checked


def _when(expr, places, functions):
    """A value for the rows of a view: it is computed only where the condition is true."""
    met, _ = condition_of(expr, places, functions)
    step = compile_step(expr["args"][1], places, functions)
    return lambda row: step(row) if met(row) is True else None


def _iterating(expr, places, functions):
    """A call of an iterator: all its rows, or one output of one row. The result is in stored form."""
    from appdb.iterators.making import compile_output, compile_rows

    call = expr["args"][0]
    args = [_compile(arg, places, functions) for arg in call["args"]]
    kwargs = {key: _compile(arg, places, functions) for key, arg in call["kwargs"].items()}
    if expr["fn"] == "op.iterate":
        return compile_rows(expr, functions, args, kwargs)
    return compile_output(expr, functions, args, kwargs, _compile(expr["args"][1], places, functions))


def condition_and_value(expr):
    """The condition of a view's column and its value for the view's rows; (None, the expression) for others."""
    if expr["node"] == "call" and expr["fn"] == "op.when":
        return expr["args"]
    return None, expr


def condition_of(expr, places, functions):
    """(the condition of a view's column as a function of a row, the columns that it reads); (None, ...) for others."""
    condition, _ = condition_and_value(expr)
    if condition is None:
        return None, frozenset()
    return _compile(condition, places, functions), columns_read(condition)


def columns_read(expr):
    """Returns the names of the columns that an expression reads."""
    if expr["node"] == "column":
        return {expr["name"]}
    return set().union(*map(columns_read, parts_of(expr)))


def cell_errors_read(expr):
    """Returns (column, part) of each cell error that an expression reads, in order."""
    if expr["node"] == "cell_error":
        return [(expr["column"], expr["part"])]
    found = []
    for part in parts_of(expr):
        found += [read for read in cell_errors_read(part) if read not in found]
    return found


def parts_of(expr):
    """The direct parts of an expression."""
    node = expr["node"]
    if node in ("call", "udf", "aggregate"):
        return [*expr["args"], *expr["kwargs"].values()]
    if node == "path":
        return [expr["base"]]
    if node == "dict":
        return [entry["value"] for entry in expr["entries"]]
    if node == "query":
        return list(expr["args"].values())
    return expr["items"] if node == "list" else []


def _compile(expr, places, functions):
    node = expr["node"]
    if node == "column":
        return _column(expr, places)
    if node == "literal":
        return _literal(expr)
    if node == "path":
        return compile_path(_compile(expr["base"], places, functions), expr["steps"])
    if node == "item":
        return compile_item(expr["depth"])
    if node == "cell_error":
        return _stored(places[expr["column"], expr["part"]])
    if node == "udf":
        return _udf(expr, places, functions, decode=True)
    if node == "query":
        return _query(expr, places, functions)
    if node == "dict":
        keys = [entry["key"] for entry in expr["entries"]]
        return compile_dict(keys, [_compile(part, places, functions) for part in parts_of(expr)])
    if node == "list":
        return compile_list([_compile(part, places, functions) for part in expr["items"]])
    if expr["fn"] == "op.when":
        met, value = (_compile(part, places, functions) for part in expr["args"])
        return lambda row: value(row) if met(row) is True else None
    if expr["fn"] == "op.reread":
        return _decoded(_iterating(expr, places, functions), expr["type"])
    if expr["fn"] in _NULL_TESTS and expr["args"][0]["node"] in ("column", "literal"):
        args = [_undecoded(expr["args"][0], places)]
    else:
        args = [_compile(arg, places, functions) for arg in expr["args"]]
    if "." not in expr["fn"]:
        return _mapping(expr, args[0], compile_element(args[1]))
    if expr["fn"] == "op.cast":
        convert = casting(expr["args"][0]["type"]["kind"], expr["type"]["kind"])
        return _guarded("op.cast", convert, args[0])
    if expr["fn"] == "op.in" and expr["kwargs"]:
        return one_of_list(args[0], _compile(expr["kwargs"]["options"], places, functions))
    if expr["fn"] in OPERATORS:
        args = [_zoned(arg) if _may_lack_zone(part) else arg for part, arg in zip(expr["args"], args)]
        return OPERATORS[expr["fn"]](args, expr, CellError)
    return _library_call(expr, args, places, functions)


def _column(expr, places):
    place, decode = places[expr["name"]], decoder(expr["type"])
    if decode is None:
        return _stored(place)

    def column(row):
        value = row[place]
        return None if value is None else decode(value)

    return column


def _decoded(stored, type):
    """A function from a row to a stored value, as one to the Python object."""
    decode = decoder(type)
    if decode is None:
        return stored

    def decoded(row):
        value = stored(row)
        return None if value is None else decode(value)

    return decoded


def _undecoded(expr, places):
    """The value of a column or constant as it is stored: a file is not read to compare it with null."""
    if expr["node"] == "column":
        return _stored(places[expr["name"]])
    return lambda row: expr["value"]


def _stored(place):
    def column(row):
        return row[place]

    return column


def _literal(expr):
    type, value = expr["type"], expr["value"]
    if value is None:
        return lambda row: None
    kind, decode = rules(type["kind"]), decoder(type)

    def constant(row=None):
        stored = kind.from_literal(value, type)
        return stored if decode is None else decode(stored)

    if not kind.is_shared:
        return constant
    shared = constant()
    return lambda row: shared


def _may_lack_zone(expr):
    return expr["node"] == "call" and rules(expr["type"]["kind"]).is_zoned


def _zoned(timestamp):
    """Adds UTC to a time that has lost its zone (`ts.strip_timezone()`), like a column, so that it can be compared."""
    from datetime import timezone

    def zoned(row):
        value = timestamp(row)
        return value if value is None or value.tzinfo is not None else value.replace(tzinfo=timezone.utc)

    return zoned


def _mapping(expr, values, element):
    """A function over list elements: its form gets the list and a function of one element. Null without a list."""
    from appdb.functions.lists import FUNCTIONS

    name, form = expr["fn"], FUNCTIONS[expr["fn"]].python
    options = {key: arg["value"] for key, arg in expr["kwargs"].items()}

    def mapping(row):
        found = values(row)
        if type(found) is not list:
            return None
        try:
            return form(found, element(row), **options)
        except CellError:
            raise
        except Exception as error:
            raise CellError(name, error) from error

    return mapping


def _guarded(function, convert, argument):
    def guarded(row):
        value = argument(row)
        if value is None:
            return None
        try:
            return convert(value)
        except Exception as error:
            raise CellError(function, error) from error

    return guarded


def _library_call(expr, args, places, functions):
    from appdb.functions._builtin import find

    called = find(expr["fn"])
    name, form = called.id, called.python
    kwargs = {key: _compile(arg, places, functions) for key, arg in expr["kwargs"].items()}
    # A null skips the call if its parameter is not nullable.
    skipping = _skipping(called.parameters, len(args))
    encode, decode = encoder(expr["type"]), decoder(expr["type"])
    checked = not called.is_trusted

    def library_call(row):
        values = [arg(row) for arg in args]
        named = {key: arg(row) for key, arg in kwargs.items()}
        for key, value in enumerate(values):
            if value is None and key in skipping:
                return None
        for key, value in named.items():
            if value is None and key in skipping:
                return None
        try:
            result = form(*values, **named)
            if checked and decode is None and result is not None:
                encode(result)
            return result
        except Exception as error:
            raise CellError(name, error) from error

    if len(args) == 1 and not kwargs and 0 in skipping:
        return _one_argument(name, form, args[0], encode if checked and decode is None else None)
    return library_call


def _one_argument(name, form, argument, check):
    def one_argument(row):
        value = argument(row)
        if value is None:
            return None
        try:
            result = form(value)
            if check is not None and result is not None:
                check(result)
            return result
        except Exception as error:
            raise CellError(name, error) from error

    return one_argument


def _skipping(parameters, count):
    skipping = {place for place in range(min(count, len(parameters))) if not parameters[place].nullable}
    by_name = {
        parameter.name for parameter in parameters if parameter.mode != "positional_only" and not parameter.nullable
    }
    return skipping | by_name


def _udf(expr, places, functions, decode):
    args = [_compile(arg, places, functions) for arg in expr["args"]]
    kwargs = {key: _compile(arg, places, functions) for key, arg in expr["kwargs"].items()}
    return compile_call(expr, functions, args, kwargs, decode)


def compile_arguments(expr, places, functions):
    """Compiles a `udf` node for a later call: its Call, with results in stored form."""
    args = [_compile(arg, places, functions) for arg in expr["args"]]
    kwargs = {key: _compile(arg, places, functions) for key, arg in expr["kwargs"].items()}
    return Call(expr, functions, args, kwargs, decode=False)


def _query(expr, places, functions):
    """A query whose result is needed at once, as over the elements of a list."""
    arguments, decode, ask = compile_query(expr, places, functions), decoder(expr["type"]), functions.outside

    def query(row):
        value = ask.query(*arguments(row))
        return None if value is None else decode(value)

    return query


def compile_query(expr, places, functions):
    """Compiles a `query` node for a later request: from a row to (its id, stored values and types by parameter)."""
    name = expr["query"]
    types = {key: arg["type"] for key, arg in expr["args"].items()}
    args = {key: compile_step(arg, places, functions) for key, arg in expr["args"].items()}
    return lambda row: (name, {key: arg(row) for key, arg in args.items()}, types)


def _name(expr):
    if expr["node"] == "call":
        return expr["fn"]
    return expr["node"]
