"""`@uda`: an aggregate of the application, a class that takes rows one by one and then returns its value."""

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError, later
from appdb.expressions.expr import Expr
from appdb.udfs.calls import NO_DEFAULT, Parameter, bind, has_columns, printed
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

    def __init__(self, made):
        self.made = made
        self.id = f"{made.__module__}:{made.__qualname__}"
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
        self._refuse_missing(args, kwargs)
        positional, named, skips = bind(name, self.parameters, args, kwargs)
        for parameter in self.settings:
            given = named.get(parameter.name)
            if given is not None and given._reads:
                raise AppFileError(
                    f"{name}() gets '{parameter.name}' once for all rows of a group; {given._text} differs by row.",
                    "Give it a constant.",
                )
        node = {
            "node": "aggregate",
            "fn": self.id,
            "is_udf": True,
            "args": [arg._node for arg in positional],
            "kwargs": {key: arg._node for key, arg in named.items()},
        }
        kind, nullable = self.result
        parts = (*positional, *named.values())
        return Expr(kind, nullable, node, printed(name, positional, named), parts=parts, function=self)

    def _refuse_missing(self, args, kwargs):
        """Names a missing argument before the types of the others, which may have taken its place."""
        for parameter in self.updated[len(args) :]:
            if parameter.name not in kwargs and parameter.default is NO_DEFAULT:
                raise AppFileError(
                    f"{self.__name__}() is called without its argument '{parameter.name}'.",
                    f"It takes: {', '.join(one.name for one in self.parameters)}",
                )

    def __repr__(self):
        return f"<uda {self.id}>"


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
    `__init__` are named and constant. Raises AppFileError when another process could not import the class, and for
    orders and windows, which are not supported yet.
    """
    if requires_order_by or not allows_std_agg:
        raise later("An aggregate that wants its rows in an order (requires_order_by=, allows_std_agg=False)")
    if type_substitutions is not None:
        raise later("@uda(type_substitutions=)", "Write one class for each type.")
    if made is None:
        return uda
    if not isinstance(made, type):
        raise AppFileError(f"@uda marks {getattr(made, '__name__', made)!r}, which is not a class.", _EXAMPLE)
    check_importable(made, "an aggregate", place_of_class(made))
    return Uda(made)


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


