"""`Router`: the HTTP routes of a service, declared over models."""

from appdb import _names
from appdb._calls import NO_DEFAULT
from appdb._declared import caller
from appdb._errors import AppFileError, did_you_mean, later, listed
from appdb._expr import ColumnRef, Expr
from appdb._model import ModelMeta

_PATH_MARKS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~/")
_ROUTES = "add_insert_route, add_compute_route and add_query_route"
_RESERVED = ("/health", "/openapi.json")
_LATER = frozenset(
    "add_update_route add_delete_route insert_route update_route compute_route add_api_route"
    " include_router get post put patch delete api_route websocket middleware".split()
)


class Route:
    """One route over a model: a row of it in by `inputs`, its `outputs` out."""

    __slots__ = ("kind", "method", "path", "model", "inputs", "outputs", "on_error", "source")

    def __init__(self, kind, path, model, inputs, outputs, on_error, source):
        self.kind = kind
        self.method = "post"
        self.path = path
        self.model = model
        self.inputs = inputs
        self.outputs = outputs
        self.on_error = on_error
        self.source = source


class QueryRoute:
    """One route over a query: values of the parameters `inputs` in, rows out."""

    __slots__ = ("kind", "method", "path", "query", "inputs", "one_row", "source")

    def __init__(self, method, path, query, inputs, one_row, source):
        self.kind = "query"
        self.method = method
        self.path = path
        self.query = query
        self.inputs = inputs
        self.one_row = one_row
        self.source = source


class Router:
    """The routes of one service. Its name is `name`, or the variable that holds the router."""

    def __init__(self, name=None, prefix="", **unknown):
        if unknown:
            option = next(iter(unknown))
            raise AppFileError(
                f"Router has no option '{option}'.",
                did_you_mean(option, ("name", "prefix"), "It has name= and prefix=."),
            )
        self._name = None if name is None else _names.service_name(name)
        self._prefix = _checked_prefix(prefix)
        self._routes = []
        self._source = caller(1)

    def add_insert_route(self, model, path=None, inputs=None, outputs=None, on_error="abort", **options):
        """Serves POST `path`: stores one row and answers its `outputs`, computed columns included.

        `inputs` are the accepted fields, by default all columns that are not computed; `outputs` are all columns by
        default. A computed column that fails refuses the row; with `on_error="ignore"` the row is stored, the cell is
        null, and its error is kept beside it. Raises AppFileError when a column is unknown, a needed one is left out, or
        the path is taken.
        """
        if on_error not in ("abort", "ignore"):
            raise AppFileError(f"on_error= is 'abort' or 'ignore', not {on_error!r}.", 'Write on_error="ignore"')
        self._add("insert", model, path, inputs, outputs, options, caller(1), on_error)

    def add_compute_route(self, model, path=None, inputs=None, outputs=None, **options):
        """Serves POST `path`: computes `outputs` from `inputs` and stores nothing. Defaults as of an insert route."""
        self._add("compute", model, path, inputs, outputs, options, caller(1))

    def add_query_route(self, path=None, query=None, inputs=None, one_row=False, method="post", **options):
        """Serves `path`: runs a function marked @query and answers `{"rows": [...]}`, the bare list of a scalar query.

        `inputs` are the parameters that a request may give, by default all. With `one_row=True` the answer is the row
        itself: 404 where there is none, 409 where there are several. `method` is "post" (parameters in the body) or
        "get" (in the URL). Raises AppFileError for unknown parameters and paths that are taken.
        """
        _refuse_options("query", options)
        _check_query(query)
        verb = method.lower() if isinstance(method, str) else method
        if verb not in ("post", "get"):
            raise AppFileError(f"method={method!r} is none of a query route.", 'Write method="get" or method="post"')
        if one_row is not True and one_row is not False:
            raise AppFileError(f"one_row= is True or False, not {one_row!r}.", "Write one_row=True")
        self._check_path("query", path, verb)
        names = _query_inputs(query, inputs, path)
        self._routes.append(QueryRoute(verb, path, query, names, one_row, caller(1)))

    def __getattr__(self, name):
        if name in _LATER:
            raise later(f"Router.{name}", f"Use {_ROUTES}.")
        raise AttributeError(f"Router has no '{name}'. It has {_ROUTES}.")

    def _add(self, kind, model, path, inputs, outputs, options, source, on_error="abort"):
        _refuse_options(kind, options)
        _check_model(kind, model)
        table = model.__appdb_table__
        self._check_path(kind, path)
        stored = [c.name for c in table.columns.values() if c.value is None]
        names_in = stored if inputs is None else _names_of("inputs", table, inputs)
        names_out = [*table.columns] if outputs is None else _names_of("outputs", table, outputs)
        for name in names_in:
            if table.columns[name].value is not None:
                raise AppFileError(
                    f"Column '{name}' is computed and cannot be an input of {path}.", f"Take '{name}' out of inputs."
                )
        needed = stored if kind == "insert" else [*_read_by(table, names_out)]
        missing = [n for n in needed if n not in names_in and not table.columns[n].ref._nullable]
        if missing:
            why = "every row has" if kind == "insert" else "the outputs are computed from"
            raise AppFileError(
                f"The inputs of {path} lack {listed(missing)}, which {why}.", f"Add {listed(missing)} to inputs."
            )
        self._routes.append(Route(kind, path, model, names_in, names_out, on_error, source))

    def _check_path(self, kind, path, method="post"):
        _check_path(kind, path)
        full = self._prefix + path
        if full in _RESERVED or full.startswith("/_"):
            raise AppFileError(f"The path {full} is kept for the service itself.", "Choose another path.")
        for route in self._routes:
            if self._prefix + route.path == full and route.method == method:
                raise AppFileError(
                    f"{method.upper()} {full} is declared twice; the first time on line {route.source[1]}.", "Choose another path."
                )


FastAPIRouter = Router


def __getattr__(name):
    if name == "SqlExport":
        raise later("appdb.serving.SqlExport")
    raise AttributeError(f"appdb.serving has no '{name}'. It has Router.")


_OPTIONS = {
    "insert": ("path", "inputs", "outputs"),
    "compute": ("path", "inputs", "outputs"),
    "query": ("path", "query", "inputs", "one_row", "method"),
}


def _refuse_options(kind, options):
    for name, value in options.items():
        if name not in ("uploadfile_inputs", "return_fileresponse", "export_sql", "background"):
            raise AppFileError(
                f"add_{kind}_route has no option '{name}'.",
                did_you_mean(name, _OPTIONS[kind], f"Its options are {', '.join(_OPTIONS[kind])}."),
            )
        if value:
            raise later(f"{name}= of a route", f"Leave {name}= out.")


def _check_model(kind, model):
    if not isinstance(model, ModelMeta):
        shown = type(model).__name__
        raise AppFileError(f"add_{kind}_route takes a model first, not {shown}.", "Name the class of the model.")
    if "__appdb_table__" not in model.__dict__:
        raise AppFileError(f"{model.__name__} is the base of the models, not a model.", "Name one of its models.")


def _check_query(query):
    from appdb._named_query import NamedQuery

    if isinstance(query, NamedQuery):
        return
    name = getattr(query, "__name__", repr(query))
    if query is None:
        raise AppFileError("add_query_route names no query.", 'Write add_query_route(path="/newest", query=newest)')
    raise AppFileError(f"add_query_route is given {name}, which is no query.", f"Mark {name} with @db.query.")


def _query_inputs(query, inputs, path):
    parameters = {parameter.name: parameter for parameter in query.parameters}
    if inputs is None:
        return [*parameters]
    if isinstance(inputs, str) or not hasattr(inputs, "__iter__"):
        raise AppFileError("inputs= is a list of parameter names.", 'Write inputs=["name"]')
    names = []
    for name in inputs:
        if name not in parameters:
            raise AppFileError(
                f"inputs= names {name!r}, which is no parameter of {query.__name__}.",
                did_you_mean(str(name), parameters, f"Its parameters are {listed(parameters) or 'none'}."),
            )
        if name in names:
            raise AppFileError(f"inputs= names '{name}' twice.", "Name it once.")
        names.append(name)
    missing = [name for name, p in parameters.items() if name not in names and p.default is NO_DEFAULT]
    if missing:
        raise AppFileError(
            f"The inputs of {path} lack {listed(missing)}, which {query.__name__} needs.",
            f"Add {listed(missing)} to inputs, or give the parameter a default.",
        )
    return names


def _checked_prefix(prefix):
    if not isinstance(prefix, str):
        raise AppFileError(f"prefix= is text, not {type(prefix).__name__}.", 'Write prefix="/v1"')
    if prefix == "":
        return prefix
    if not prefix.startswith("/") or prefix.endswith("/"):
        raise AppFileError(
            f"The prefix '{prefix}' does not begin with '/', or ends with one.", f"Write '/{prefix.strip('/')}'"
        )
    _check_path("prefix", prefix)
    return prefix


def _check_path(kind, path):
    if not isinstance(path, str):
        raise AppFileError(f"The route has no path ({path!r}).", f'Write add_{kind}_route(Model, path="/docs")')
    if not path.startswith("/"):
        raise AppFileError(f"The path '{path}' does not begin with '/'.", f"Write '/{path}'")
    if "{" in path or ":" in path:
        raise AppFileError(f"The path '{path}' has a parameter; routes take none.", "Send the value in the body.")
    wrong = [mark for mark in path if mark not in _PATH_MARKS]
    if wrong:
        raise AppFileError(
            f"The path '{path}' holds {wrong[0]!r}.", "Use letters a-z, digits and - _ . ~ between the slashes."
        )
    if "//" in path or (path.endswith("/") and path != "/") or "/./" in path + "/" or "/../" in path + "/":
        raise AppFileError(
            f"The path '{path}' has an empty or dotted part.", "Write '/part/part', without a slash at the end."
        )


def _names_of(what, table, columns):
    if isinstance(columns, (str, Expr)) or not hasattr(columns, "__iter__"):
        raise AppFileError(f"{what}= is a list of columns.", f"Write {what}=[{table.model}.column]")
    names = []
    for column in columns:
        name = _name_of(what, table, column)
        if name in names:
            raise AppFileError(f"{what}= names '{name}' twice.", "Name it once.")
        names.append(name)
    return names


def _name_of(what, table, column):
    if isinstance(column, ColumnRef):
        if column._owner is not table:
            raise AppFileError(
                f"{what}= names '{column._name}' of the model {column._owner.model}; the route is for {table.model}.",
                f"Name columns of {table.model}.",
            )
        return column._name
    if not isinstance(column, str):
        shown = column._text if isinstance(column, Expr) else repr(column)
        raise AppFileError(
            f"{what}= holds {shown}, which is no column.", "Name a column, as Model.column or in quotes."
        )
    if column.lower() not in table.columns:
        raise AppFileError(
            f"{what}= names '{column}', which is no column of {table.model}.",
            did_you_mean(column, table.columns, f"Its columns are {listed(table.columns)}."),
        )
    return column.lower()


def _read_by(table, names):
    """The stored columns that the named ones are computed from, in declared order."""
    wanted = set(names)
    for column in reversed(table.columns.values()):  # a column reads earlier ones only
        if column.name in wanted and column.value is not None:
            wanted.update(ref._name for ref in column.value._reads)
    return [c.name for c in table.columns.values() if c.name in wanted and c.value is None]
