"""`@expr_udf`: a function whose body is an expression; a call means that expression over its arguments."""

from appdb.declare.arguments import checked
from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError
from appdb.declare.types import display
from appdb.expressions.expr import Expr, cast, literal
from appdb.udfs.calls import bind, has_columns
from appdb.udfs.signatures import COROUTINE, check_body, innermost, refused, signature_of


class ExprUdf:
    """Expands to its body's expression over columns; over plain values it just runs."""

    def __init__(self, function):
        self.function = function
        self.__module__ = function.__module__
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.written = innermost(function)
        self.signature = signature_of(self.written, "expression", wants_result=False)
        # The body must make an expression of any arguments; errors are reported at its place.
        stand_ins = {
            p.name: Expr(p.kind, p.nullable, {"node": "parameter", "name": p.name}, p.name)
            for p in self.signature.parameters
        }
        self._expand(stand_ins)

    def __call__(self, *args, **kwargs):
        if Phase.running or not has_columns(args, kwargs):
            return self.function(*args, **kwargs)
        parameters = self.signature.parameters
        positional, named, _ = bind(self.__name__, parameters, args, kwargs)
        by_place = [p.name for p in parameters if p.goes_by_place]
        given = {**dict(zip(by_place, positional)), **named}
        for parameter in parameters:
            if parameter.name not in given:
                given[parameter.name] = parameter.default
        return self._expand(given)

    def _expand(self, given):
        args, kwargs = [], {}
        for parameter in self.signature.parameters:
            if parameter.mode == "keyword_only":
                kwargs[parameter.name] = given[parameter.name]
            else:
                args.append(given[parameter.name])
        Phase.declaring += 1
        try:
            made = self.function(*args, **kwargs)
        finally:
            Phase.declaring -= 1
        if made is None:
            raise refused(self.written, f"The expression {self.__name__} returns None.", "Return an expression.")
        expr = made if isinstance(made, Expr) else literal(made)
        if self.signature.result is None or expr._kind == self.signature.result[0]:
            return expr
        kind = self.signature.result[0]
        try:
            return cast(expr, kind)
        except AppFileError as error:
            detail = f"The expression {self.__name__} gives {display(expr._kind)}; its hint says {display(kind)}."
            raise refused(self.written, detail, error.hint) from None

    def __repr__(self):
        return f"<expression {self.__module__}:{self.__qualname__}>"


@checked
def expr_udf(function=None):
    """Marks a function that makes an expression of its arguments: `@expr_udf def total(price: float, n: int): return
    price * n`. Its body runs while the file is read, never over rows, so it may be a lambda or a closure.

    Raises AppFileError when the body makes no expression.
    """
    if function is None:
        return expr_udf
    if not hasattr(function, "__code__"):
        raise AppFileError("@expr_udf requires a function written with def.", "Mark a def.")
    check_body(innermost(function))
    if function.__code__.co_flags & COROUTINE:
        raise refused(function, f"The expression {function.__name__} is async.", "Write it with def.")
    return ExprUdf(function)
