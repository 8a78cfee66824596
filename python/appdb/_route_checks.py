"""What a route may say: its path, its options, the columns and parameters that it names. Raises AppFileError."""

from appdb._calls import NO_DEFAULT
from appdb._errors import AppFileError, did_you_mean, later, listed
from appdb._expr import ColumnRef, Expr
from appdb._model import ModelMeta

_PATH_MARKS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~/")
_PAGES = ("page_size", "cursor")
_RESERVED = ("/health", "/openapi.json")

_OPTIONS = {
    "insert": ("path", "inputs", "outputs", "on_error", "export_sql", "background"),
    "compute": ("path", "inputs", "outputs", "background"),
    "update": ("path", "inputs", "outputs", "on_error", "export_sql", "background"),
    "delete": ("path", "match_columns", "background"),
    "query": ("path", "query", "inputs", "one_row", "method", "background"),
}


def checked_options(kind, options):
    """The Background of a route, None without one. Raises AppFileError for an option that it does not have (yet)."""
    for name, value in options.items():
        if name == "background":
            continue
        if name not in ("uploadfile_inputs", "return_fileresponse", "export_sql"):
            raise AppFileError(
                f"add_{kind}_route has no option '{name}'.",
                did_you_mean(name, _OPTIONS[kind], f"Its options are {', '.join(_OPTIONS[kind])}."),
            )
        if value:
            if name == "export_sql":
                from appdb._sql_export import export_of

                export_of(kind, {name: value})
            raise later(f"{name}= of a route", f"Leave {name}= out.")
    if not options.get("background"):
        return None
    from appdb._background import background_of

    return background_of(options["background"])


def check_model(kind, model):
    """Raises AppFileError unless `model` is a model of the application."""
    if not isinstance(model, ModelMeta):
        shown = type(model).__name__
        raise AppFileError(f"add_{kind}_route takes a model first, not {shown}.", "Name the class of the model.")
    if "__appdb_table__" not in model.__dict__:
        raise AppFileError(f"{model.__name__} is the base of the models, not a model.", "Name one of its models.")


def check_on_error(on_error):
    """Raises AppFileError unless `on_error` is one of its two words."""
    if on_error not in ("abort", "ignore"):
        raise AppFileError(f"on_error= is 'abort' or 'ignore', not {on_error!r}.", 'Write on_error="ignore"')


def check_query(query):
    """Raises AppFileError unless `query` is marked @query."""
    from appdb._named_query import NamedQuery

    if isinstance(query, NamedQuery):
        return
    name = getattr(query, "__name__", repr(query))
    if query is None:
        raise AppFileError("add_query_route names no query.", 'Write add_query_route(path="/newest", query=newest)')
    raise AppFileError(f"add_query_route expected a query, got {name}.", f"Mark {name} with @db.query.")


def query_inputs(query, inputs, path):
    """The parameters of `query` that a route takes. Raises AppFileError for unknown, doubled and missing ones."""
    parameters = {parameter.name: parameter for parameter in query.parameters}
    for name in _PAGES:
        if name in parameters:
            raise AppFileError(
                f"The query {query.__name__} has a parameter '{name}', by which clients of {path} ask for pages.",
                "Call the parameter otherwise.",
            )
    if inputs is None:
        return [*parameters]
    if isinstance(inputs, str) or not hasattr(inputs, "__iter__"):
        raise AppFileError("inputs= is a list of parameter names.", 'Write inputs=["name"]')
    names = []
    for name in inputs:
        if name not in parameters:
            raise AppFileError(
                f"inputs= names {name!r}, which is not a parameter of {query.__name__}.",
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


def checked_prefix(prefix):
    """`prefix` if it is one. Raises AppFileError."""
    if not isinstance(prefix, str):
        raise AppFileError(f"prefix= is text, not {type(prefix).__name__}.", 'Write prefix="/v1"')
    if prefix == "":
        return prefix
    if not prefix.startswith("/") or prefix.endswith("/"):
        raise AppFileError(
            f"The prefix '{prefix}' does not begin with '/', or ends with one.", f"Write '/{prefix.strip('/')}'"
        )
    check_path("prefix", prefix)
    return prefix


def shape_of(path):
    """The path without the names of its parameters: two routes of one shape are one."""
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))


def check_path(kind, path):
    """Raises AppFileError unless `path` is one that a route of this kind can have."""
    if not isinstance(path, str):
        hint = '@router.get("/items")' if kind == "handler" else f'add_{kind}_route(Model, path="/items")'
        raise AppFileError(f"The route has no path ({path!r}).", f"Write {hint}")
    if not path.startswith("/"):
        raise AppFileError(f"The path '{path}' does not begin with '/'.", f"Write '/{path}'")
    if kind == "handler":
        from appdb._handler_checks import without_parameters

        path = without_parameters(path)
    if "{" in path or ":" in path:
        hint = "Send the value in the body."
        if kind == "query":
            hint = 'Make it a parameter of the query: clients send it in the body, or with method="get" as /path?name=value'
        raise AppFileError(f"The path '{path}' has a parameter; routes take none.", hint)
    wrong = [mark for mark in path if mark not in _PATH_MARKS]
    if wrong:
        raise AppFileError(
            f"The path '{path}' holds {wrong[0]!r}.", "Use letters a-z, digits and - _ . ~ between the slashes."
        )
    if "//" in path or (path.endswith("/") and path != "/") or "/./" in path + "/" or "/../" in path + "/":
        raise AppFileError(
            f"The path '{path}' has an empty or dotted part.", "Write '/part/part', without a slash at the end."
        )


def names_of(what, table, columns):
    """Names of columns that were given as columns or names. Raises AppFileError for unknown and doubled ones."""
    if isinstance(columns, (str, Expr)) or not hasattr(columns, "__iter__"):
        raise AppFileError(f"{what}= is a list of columns.", f"Write {what}=[{table.model}.column]")
    names = []
    for column in columns:
        name = _name_of(what, table, column)
        if name in names:
            raise AppFileError(f"{what}= names '{name}' twice.", "Name it once.")
        names.append(name)
    return names


def outputs_of(model, outputs, function, on_error):
    """The Answerer of a decorated function (None without one) and the names of the outputs. Raises AppFileError."""
    table = model.__appdb_table__
    names = None if outputs is None else names_of("outputs", table, outputs)
    if function is None:
        return None, [*table.columns] if names is None else names
    from appdb._answerers import answerer_of

    return answerer_of(function, table, names, on_error == "ignore")


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
            f"{what}= contains {shown}, which is not a column.", "Name a column, as Model.column or in quotes."
        )
    if column.lower() not in table.columns:
        raise AppFileError(
            f"{what}= names '{column}', which is not a column of {table.model}.",
            did_you_mean(column, table.columns, f"Its columns are {listed(table.columns)}."),
        )
    return column.lower()


def may_be_left_out(column):
    """Whether a request may store a row without a value for a stored column."""
    return column.ref._nullable or column.default is not None


def read_by(table, names):
    """The stored columns that the named ones are computed from, in declared order."""
    wanted = set(names)
    for column in reversed(table.columns.values()):  # a column reads earlier ones only
        if column.name in wanted and column.value is not None:
            wanted.update(ref._name for ref in column.value._reads)
    return [c.name for c in table.columns.values() if c.name in wanted and c.value is None]


def check_full_path(full):
    """Raises AppFileError for a path, prefix included, that every service answers itself."""
    if full in _RESERVED or full.startswith("/_"):
        raise AppFileError(f"The path {full} is kept for the service itself.", "Choose another path.")
