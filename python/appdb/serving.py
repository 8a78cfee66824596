"""`Router`: the HTTP routes of a service, declared over models."""

import sys

from appdb import _names
from appdb._declared import caller
from appdb._errors import AppFileError, UnknownAttribute, did_you_mean, later, listed
from appdb._including import checked_cors, checked_tags, include, refuse_late
from appdb._route_checks import (
    check_full_path,
    check_model,
    check_on_error,
    check_path,
    check_query,
    checked_options,
    checked_prefix,
    may_be_left_out,
    names_of,
    outputs_of,
    query_inputs,
    read_by,
    shape_of,
)
from appdb._routes import DeleteRoute, QueryRoute, RowRoute
from appdb._write_routes import delete_columns, update_columns

_VERBS = ("get", "post", "put", "patch", "delete")
# What FastAPI first looks at of a router that is included in an application object.
_TWIN = frozenset("routes on_startup on_shutdown lifespan_context _contains_router".split())
_ROUTES = "add_insert_route, add_update_route, add_delete_route, add_compute_route and add_query_route"
_LATER = frozenset("add_api_route api_route middleware".split())


class Router:
    """The routes of one service. Its name is `name`, or the variable that holds the router.

    A route with `background=True`, or `background=Background(attempts=3, expires=3600)`, answers a job at once, which does
    what the route does; `GET /_jobs/<id>` tells what has become of it.
    """

    def __init__(self, name=None, prefix="", tags=None, cors=None, **unknown):
        if unknown:
            option = next(iter(unknown))
            raise AppFileError(
                f"Router has no option '{option}'.",
                did_you_mean(option, ("name", "prefix", "tags", "cors"), "It has name=, prefix=, tags= and cors=."),
            )
        self._name = None if name is None else _names.service_name(name)
        self._prefix = checked_prefix(prefix)
        self._tags = checked_tags(tags)
        self._cors = checked_cors(cors)
        self._routes = []
        self._inner = []
        self._is_included = False
        self._source = caller(1)

    def include_router(self, router, prefix="", tags=None):
        """Takes the routes of another router in, their paths behind `prefix`; that is then no service of its own.

        Raises AppFileError when a path is taken twice.
        """
        include(self, router, prefix, tags)

    def _holds(self, router):
        return any(inner is router or inner._holds(router) for inner in self._inner)

    def add_insert_route(self, model, path=None, inputs=None, outputs=None, on_error="abort", **options):
        """Serves POST `path`: stores one row and answers its `outputs`, computed columns included.

        `inputs` are the accepted fields, by default all columns that are not computed; `outputs` are all columns by
        default. A computed column that fails refuses the row; with `on_error="ignore"` the row is stored, the cell is
        null, and its error is kept beside it. Raises AppFileError when a column is unknown, a needed one is left out, or
        the path is taken.
        """
        check_on_error(on_error)
        self._add("insert", model, path, inputs, outputs, options, caller(1), on_error)

    def add_compute_route(self, model, path=None, inputs=None, outputs=None, **options):
        """Serves POST `path`: computes `outputs` from `inputs` and stores nothing. Defaults as of an insert route."""
        self._add("compute", model, path, inputs, outputs, options, caller(1))

    def add_update_route(self, model, path=None, inputs=None, outputs=None, on_error="abort", **options):
        """Serves POST `path`: changes the row of a primary key and answers its `outputs`, by default all columns.

        A body is the key and any of `inputs`, by default all other columns that are not computed: what it leaves out
        keeps its value, null clears. What is computed from changed columns is computed again; if that fails the row stays
        as it was, or, with `on_error="ignore"`, the cell is null and its error is kept beside it. 404 where there is no
        such row. Raises AppFileError for a model without a key, and for inputs of the key or computed ones.
        """
        self._update(model, path, inputs, outputs, on_error, options, caller(1))

    def add_delete_route(self, model, path=None, match_columns=None, **options):
        """Serves POST `path`: deletes the rows that have all values of a body and answers `{"num_rows": n}`.

        A body names each of `match_columns`, by default the primary key; null finds rows without a value. Raises
        AppFileError for an empty list, and for a model without a key where no columns are named.
        """
        background = checked_options("delete", options)
        check_model("delete", model)
        self._take_path("delete", path)
        names = delete_columns(model, path, match_columns)
        self._routes.append(DeleteRoute(path, model, names, background, caller(1)))

    def insert_route(self, model, path=None, inputs=None, outputs=None, on_error="abort", **options):
        """Decorator: an insert route whose answer is what the function returns.

        The function is given the outputs as keyword-only arguments, by default those that it names, before the row is
        stored: if it raises, nothing is. It is returned unchanged. Raises AppFileError as `add_insert_route`, and for
        parameters that are no outputs or of another type.
        """
        check_on_error(on_error)
        source = caller(1)
        return lambda function: self._add("insert", model, path, inputs, outputs, options, source, on_error, function)

    def update_route(self, model, path=None, inputs=None, outputs=None, on_error="abort", **options):
        """Decorator: an update route whose answer is what the function returns. As `insert_route` otherwise."""
        source = caller(1)
        return lambda function: self._update(model, path, inputs, outputs, on_error, options, source, function)

    def compute_route(self, model, path=None, inputs=None, outputs=None, **options):
        """Decorator: a compute route whose answer is what the function returns. As `insert_route` otherwise."""
        source = caller(1)
        return lambda function: self._add("compute", model, path, inputs, outputs, options, source, "abort", function)

    def add_query_route(self, path=None, query=None, inputs=None, one_row=False, method="post", **options):
        """Serves `path`: runs a function marked @query and answers `{"rows": [...]}`, the bare list of a scalar query.

        `inputs` are the parameters that a request may give, by default all. With `one_row=True` the answer is the row
        itself: 404 where there is none, 409 where there are several. `method` is "post" (parameters in the body) or
        "get" (in the URL). Raises AppFileError for unknown parameters and paths that are taken.
        """
        background = checked_options("query", options)
        check_query(query)
        verb = method.lower() if isinstance(method, str) else method
        if verb not in ("post", "get"):
            raise AppFileError(f"method={method!r} is none of a query route.", 'Write method="get" or method="post"')
        if one_row is not True and one_row is not False:
            raise AppFileError(f"one_row= is True or False, not {one_row!r}.", "Write one_row=True")
        self._take_path("query", path, verb)
        names = query_inputs(query, inputs, path)
        self._routes.append(QueryRoute(verb, path, query, names, one_row, background, caller(1)))

    def __getattr__(self, name):
        if name in _VERBS:
            return lambda path=None, **options: self._handler(name, path, options, caller(1))
        if name in _TWIN and "fastapi" in sys.modules:
            from appdb._applications import become_fastapi

            become_fastapi(self)
            return getattr(self, name)
        if name.startswith("websocket"):
            from appdb._http_types import no_websockets

            raise no_websockets(f"Router.{name}")
        if name in _LATER:
            raise later(f"Router.{name}", f"Use {_ROUTES}.")
        if name.startswith("_"):
            raise AttributeError(name)
        raise UnknownAttribute(
            f"Router has no '{name}'.",
            did_you_mean(name, _VERBS, f"It has {_ROUTES}, and the decorators {', '.join(_VERBS)}."),
        )

    def _update(self, model, path, inputs, outputs, on_error, options, source, function=None):
        export = self._export("update", options)
        background = checked_options("update", options)
        check_on_error(on_error)
        check_model("update", model)
        self._take_path("update", path)
        key, names_in = update_columns(model, path, inputs)
        answerer, names_out = outputs_of(model, outputs, function, on_error)
        made = RowRoute("update", path, model, names_in, names_out, on_error, answerer, export, background, source, key)
        self._routes.append(made)
        return function

    def _add(self, kind, model, path, inputs, outputs, options, source, on_error="abort", function=None):
        export = self._export(kind, options)
        background = checked_options(kind, options)
        check_model(kind, model)
        table = model.__appdb_table__
        self._take_path(kind, path)
        stored = [c.name for c in table.columns.values() if c.value is None]
        names_in = stored if inputs is None else names_of("inputs", table, inputs)
        answerer, names_out = outputs_of(model, outputs, function, on_error)
        for name in names_in:
            if table.columns[name].value is not None:
                raise AppFileError(
                    f"Column '{name}' is computed and cannot be an input of {path}.", f"Take '{name}' out of inputs."
                )
        needed = stored if kind == "insert" else [*read_by(table, names_out)]
        missing = [n for n in needed if n not in names_in and not may_be_left_out(table.columns[n])]
        if missing:
            why = "every row has" if kind == "insert" else "the outputs are computed from"
            raise AppFileError(
                f"The inputs of {path} lack {listed(missing)}, which {why}.", f"Add {listed(missing)} to inputs."
            )
        made = RowRoute(kind, path, model, names_in, names_out, on_error, answerer, export, background, source)
        self._routes.append(made)
        return function

    @staticmethod
    def _export(kind, options):
        """Takes `export_sql=` out of the options of a route that may have it."""
        if options.get("export_sql") is None:
            return options.pop("export_sql", None)
        from appdb._sql_export import export_of

        return export_of(kind, options)

    def _handler(self, method, path, options, source):
        """The decorator of a handler: `@router.get("/items/{item_id}")`."""
        from appdb._handler_checks import check_options

        check_options(method, options)
        self._take_path("handler", path, method)

        def mark(function):
            from appdb._handler_routes import HandlerRoute
            from appdb._handlers import check_function

            check_function(function, path)
            self._routes.append(HandlerRoute(method, path, function, options, source))
            return function

        return mark

    def _take_path(self, kind, path, method="post"):
        refuse_late(self)
        if path != "" or kind != "handler" or not self._prefix:  # the prefix alone is a path of a handler
            check_path(kind, path)
        full = self._prefix + path
        check_full_path(full)
        for route in self._routes:
            if shape_of(self._prefix + route.path) == shape_of(full) and route.method == method:
                raise AppFileError(
                    f"{method.upper()} {full} is declared twice; the first time on line {route.source[1]}.", "Choose another path."
                )


FastAPIRouter = Router


def __dir__():
    return sorted({"AppFileError", "FastAPIRouter", "HTTPException", "Router", "Cors", "Background", "SqlExport", *_HTTP})


_HTTP = frozenset(
    "Request Response StreamingResponse JSONResponse PlainTextResponse HTMLResponse RedirectResponse HTTPError".split()
)


def __getattr__(name):
    if name in _HTTP or name == "HTTPException":
        from appdb import _http_types

        value = globals()[name] = getattr(_http_types, "HTTPError" if name == "HTTPException" else name)
        return value
    if name == "Cors":
        from appdb._including import Cors

        return Cors
    if name == "Background":
        from appdb._background import Background

        return Background
    if name == "SqlExport":
        from appdb._sql_export import SqlExport

        globals()[name] = SqlExport
        return SqlExport
    if name.startswith("_"):
        raise AttributeError(name)
    if name in ("UploadFile", "File", "Form", "Body", "Query", "Header", "Path", "Cookie", "Depends"):
        raise UnknownAttribute(f"appdb.serving has no '{name}'.", f"Import it from FastAPI: from fastapi import {name}")
    known = ("Router", "FastAPIRouter", "Cors", "Background", "SqlExport", "HTTPException", *sorted(_HTTP))
    raise UnknownAttribute(
        f"appdb.serving has no '{name}'.", did_you_mean(name, known, f"It has {', '.join(known)}.")
    )
