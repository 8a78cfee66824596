"""A function of the library: its signature, and what a call of it over columns or over plain values gives."""

from appdb._calls import Parameter, bind, has_columns, printed
from appdb._declaring import Phase
from appdb._expr import call


class Builtin:
    """A function of the library. Over columns it gives an expression, over plain values the value itself."""

    __slots__ = ("id", "name", "parameters", "kind", "nullable", "bind", "is_property")

    def __init__(self, id, kind, parameters, nullable=False, bind=None, is_property=False):
        self.id = id
        self.name = id.rpartition(".")[2]
        self.parameters = parameters
        self.kind = kind
        self.nullable = nullable
        self.bind = bind  # own binding, for functions that take any arguments
        self.is_property = is_property  # written `ts.year`, without parentheses

    def __call__(self, *args, **kwargs):
        if Phase.running or not (has_columns(args, kwargs) or not self.parameters):
            from appdb._forms import form

            return form(self.id)(*args, **kwargs)
        positional, named, skips = (self.bind or bind)(self.name, self.parameters, args, kwargs)
        # Several namespaces have a `len` and an `abs`: printed, each is told apart.
        shown = self.name if self.id.startswith(("string.", "uuid.")) or self.id == "timestamp.now" else self.id
        text = printed(shown, positional, named)
        return call(self.id, positional, self.kind, self.nullable or skips, text, kwargs=named)

    def __repr__(self):
        return f"<function {self.id}>"


class Namespace:
    """The functions of one namespace while its module writes them down: `functions` has all of them, by name."""

    __slots__ = ("name", "first", "functions")

    def __init__(self, name, kind):
        self.name = name
        self.first = Parameter("self", kind, mode="positional_only")
        self.functions = {}

    def method(self, name, kind, *parameters, **options):
        """A function whose first argument is the value it is a method of."""
        return self.function(name, kind, self.first, *parameters, **options)

    def function(self, name, kind, *parameters, **options):
        """A function with all of its parameters named."""
        made = self.functions[name] = Builtin(f"{self.name}.{name}", kind, parameters, **options)
        return made

    def unknown(self, name):
        """What the module's `__getattr__` does: raises the error for a function that the namespace does not have."""
        if name.startswith("_"):
            raise AttributeError(name)
        from appdb._errors import UnknownAttribute, did_you_mean
        from appdb._later import later_function

        coming = later_function(name, f"appdb.functions.{self.name}")
        if coming is not None:
            raise coming
        raise UnknownAttribute(
            f"appdb.functions.{self.name} has no '{name}'.",
            did_you_mean(name, self.functions, "docs/functions.md lists its functions."),
        )


def find(id):
    """Returns the function of the library with this id: `find("json.get")`."""
    from appdb._imports import load

    namespace, _, name = id.partition(".")
    return load(f"appdb.functions.{namespace}").FUNCTIONS[name]
