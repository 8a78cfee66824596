"""`@uda`: an aggregate of the application, a class that takes rows one by one and then returns its value."""

from appdb.declare.arguments import checked
from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError, later
from appdb.expressions.aggregates import WINDOW_KEYS, aggregate, printed_keys, sort_keys, window
from appdb.expressions.expr import Expr
from appdb.declare.types import display
from appdb.kinds import rules
from appdb.udfs.calls import NO_DEFAULT, Parameter, bind, has_columns
from appdb.udfs.programs import function_id
from appdb.udfs.signatures import COROUTINE, GENERATOR, Signature, check_importable, innermost, parameters_of, refused, signature_of

_EXAMPLE = "Write: class total(db.Aggregator): with update(self, n: int) -> None and value(self) -> int"


class Aggregator:
    """The base of aggregates: `__init__` starts a group, `update` takes a row, `value` ends it."""

    def update(self, *args):
        """Takes the values of one row."""
        raise NotImplementedError(f"{type(self).__name__} has no update()")

    def value(self):
        """The value of the rows so far."""
        raise NotImplementedError(f"{type(self).__name__} has no value()")


class Uda:
    """An aggregate with an id of module and name. Over columns it gives an expression of a query."""

    kind = "aggregate"
    number = 0
    is_async = is_concurrent = False
    batch_size = timeout_s = resource_pool = None

    def __init__(self, made, requires_order_by=False, allows_std_agg=True, allows_window=False):
        self.made = made
        self.requires_order_by = requires_order_by
        self.allows_std_agg = allows_std_agg
        self.allows_window = allows_window
        self.id = function_id(made)
        self.__module__ = made.__module__
        self.__name__ = made.__name__
        self.__qualname__ = made.__qualname__
        self.__doc__ = made.__doc__
        self.source = place_of_class(made)
        self.written = self
        update, value = _method(made, "update"), _method(made, "value")
        self.updated = parameters_of(update, "method", skip=1)[0]
        self.settings = _settings(made, {parameter.name for parameter in self.updated})
        self.parameters = [*self.updated, *self.settings]
        _check_names(made, self.parameters)
        self.result = _result(value)
        self.signature = Signature(self.parameters, self.result)

    @property
    def owner(self):
        """The object in the module under the aggregate's name."""
        return self

    def __call__(self, *args, **kwargs):
        name = self.__name__
        if Phase.running or not has_columns(args, kwargs):
            raise AppFileError(
                f"{name}(...) is called with plain values; an aggregate takes columns, in a query.",
                f"Write it in .select(...), or use the class by hand: {name}.made()",
            )
        if getattr(self.made, "needs", ()):
            from appdb.declare.packages import require

            require(self.made.needs, f"{name}()")
        order, args = self._order(args, kwargs)
        group = self._window_keys("group_by", kwargs) if "group_by" in kwargs else ()
        kwargs = {key: value for key, value in kwargs.items() if key not in WINDOW_KEYS}
        self._refuse_missing(args, kwargs)
        positional, named, skips = bind(name, self.parameters, args, kwargs)
        for parameter in self.settings:
            given = named.get(parameter.name)
            if given is not None and given._reads:
                raise AppFileError(
                    f"{name}() gets '{parameter.name}' once for all rows of a group; {given._text} differs by row.",
                    "Give it a constant.",
                )
        is_window = not self.allows_std_agg or group or (order and not self.requires_order_by)
        text = self._printed(order, group, positional, named)
        kind, nullable = self.result
        if is_window:
            result = (kind, nullable or skips)
            return window(self.id, text, result, positional, named, order=order, group=group, function=self)
        return aggregate(self.id, text, self.result, positional, named, order=order, function=self)

    def _order(self, args, kwargs):
        """What rows are sorted by, and the other arguments."""
        name = self.__name__
        if not self.requires_order_by:
            return (self._window_keys("order_by", kwargs) if "order_by" in kwargs else (), args)
        example = f"Write {name}({', '.join(['Docs.n', *(one.name for one in self.updated)])})"
        if "order_by" in kwargs:
            window = ". For a window, add group_by=." if self.allows_window and self.allows_std_agg else ""
            raise AppFileError(f"{name}() sorts its rows by its first argument and has no order_by=.", f"{example}{window}")
        if not args:
            raise AppFileError(f"{name}() is called without its first argument, by which it sorts its rows.", example)
        key = args[0]
        if not isinstance(key, Expr):
            raise AppFileError(f"{name}() sorts its rows by its first argument, a column; it is given {key!r}.", example)
        if not rules(key._kind).is_ordered:
            raise AppFileError(
                f"{name}() sorts its rows by its first argument; {key._text} is {display(key._kind)}, which has no order.",
                example,
            )
        return (key,), args[1:]

    def _window_keys(self, option, kwargs):
        if not self.allows_window:
            raise AppFileError(
                f"{self.__name__}() has no windows, so it takes no {option}=.",
                f"Remove {option}= and use group_by() of the query, or mark the class @uda(allows_window=True).",
            )
        return sort_keys(self.__name__, option, kwargs[option])

    def _printed(self, order, group, positional, named):
        given = [one._text for one in positional] + [f"{key}={one._text}" for key, one in named.items()]
        if self.requires_order_by:
            return f"{self.__name__}({', '.join([order[0]._text, *given, *printed_keys(group_by=group)])})"
        return f"{self.__name__}({', '.join([*given, *printed_keys(order_by=order, group_by=group)])})"

    def _refuse_missing(self, args, kwargs):
        """Names a missing argument before the types of the others, which may have taken its place."""
        for parameter in self.updated[len(args) :]:
            if parameter.name not in kwargs and parameter.default is NO_DEFAULT:
                first = ["what to sort by"] if self.requires_order_by else []
                raise AppFileError(
                    f"{self.__name__}() is called without its argument '{parameter.name}'.",
                    f"It takes: {', '.join([*first, *(one.name for one in self.parameters)])}",
                )

    def __repr__(self):
        return f"<uda {self.id}>"


@checked
def uda(
    made=None,
    *,
    requires_order_by=False,
    allows_std_agg=True,
    allows_window=False,
    type_substitutions=None,
):
    """Marks a class with `update()` and `value()` as an aggregate: `@uda class total(db.Aggregator):`.

    `update` takes the values of a row; rows with a null for a non-nullable parameter are skipped. Parameters of
    `__init__` are named and constant. `requires_order_by`: calls begin with what rows are sorted by, which `update` does
    not get. `allows_window`: calls may have order_by= and group_by=, and then give each row the value of the rows up to
    it; with `allows_std_agg=False` they always do. Raises AppFileError when another process could not import the class.
    """
    flags = {"requires_order_by": requires_order_by, "allows_std_agg": allows_std_agg, "allows_window": allows_window}
    for option, flag in flags.items():
        if flag is not True and flag is not False:
            raise AppFileError(f"@uda({option}=) is True or False, not {flag!r}.", f"Write {option}=True or omit it.")
    if not allows_std_agg and not allows_window:
        raise AppFileError(
            "@uda(allows_std_agg=False) leaves no way to call the aggregate.", "Add allows_window=True, or remove it."
        )
    if type_substitutions is not None:
        raise later("@uda(type_substitutions=)", "Write one class for each type.")
    if made is None:
        return lambda marked: uda(marked, **flags)
    if not isinstance(made, type):
        raise AppFileError(f"@uda marks {getattr(made, '__name__', made)!r}, which is not a class.", _EXAMPLE)
    check_importable(made, "an aggregate", place_of_class(made), may_travel=True)
    return Uda(made, **flags)


def _check_names(made, parameters):
    for parameter in parameters:
        if parameter.name in WINDOW_KEYS:
            raise AppFileError(
                f"The aggregate {made.__name__} has a parameter '{parameter.name}', which calls of aggregates have already.",
                "Give it another name.",
                place_of_class(made),
            )


def _method(made, name):
    method = getattr(made, name, None)
    if method is None or method is getattr(Aggregator, name):
        raise AppFileError(f"The aggregate {made.__name__} has no {name}().", _EXAMPLE, place_of_class(made))
    method = innermost(method)
    if not hasattr(method, "__code__") or method.__code__.co_flags & (COROUTINE | GENERATOR):
        raise AppFileError(
            f"{made.__name__}.{name} is not a plain method: it is async, or yields.", _EXAMPLE, place_of_class(made)
        )
    return method


def _settings(made, taken):
    """Parameters of `__init__`: named, and optional or given in every call."""
    begin = made.__init__
    if begin is object.__init__:
        return []
    begin = innermost(begin)
    if not hasattr(begin, "__code__"):
        return []
    settings = []
    for parameter in parameters_of(begin, "method", skip=1)[0]:
        if parameter.name in taken:
            detail = f"The aggregate {made.__name__} has '{parameter.name}' in __init__ and in update."
            raise refused(begin, detail, "Give one of them another name.")
        settings.append(Parameter(parameter.name, parameter.kind, parameter.nullable, parameter.default, "keyword_only"))
    return settings


def _result(value):
    return signature_of(value, "method", skip=1).result


def place_of_class(made):
    """The place of the class: its first method's file, the line of its first decorator."""
    import sys

    module = sys.modules.get(made.__module__)
    file = getattr(module, "__file__", None)
    line = getattr(made, "__firstlineno__", None)  # Python 3.13 and newer.
    if line is None and file is not None:
        from appdb.declare.deferred import parse, statements

        tree = parse(file)
        for node in statements(tree) if tree is not None else ():
            if type(node).__name__ == "ClassDef" and node.name == made.__name__:
                line = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    return (file or "", line or 1)


