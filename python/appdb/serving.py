"""`Router`: the HTTP routes of a service, declared over models."""

import sys

from appdb.declare.declared import caller
from appdb.declare.errors import AppFileError, UnknownAttribute, did_you_mean, later
from appdb.declare.names import check_service_name
from appdb.routes import compute, delete, insert, query, update
from appdb.routes._base import check_full_path, check_path, checked_prefix, shape_of
from appdb.routes.including import checked_cors, checked_tags, include, refuse_late

_VERBS = ("get", "post", "put", "patch", "delete")
# Attributes that FastAPI reads first when a router is included in an application object.
_TWIN = frozenset("routes on_startup on_shutdown lifespan_context _contains_router".split())
_LATER = frozenset("add_api_route api_route middleware".split())


class Router:
    """The routes of one service. Its name is `name`, or the variable that holds the router.

    A route with `background=True`, or `background=Background(attempts=3, expires=3600)`, returns a job at once,
    which runs the route later; `GET /_jobs/<id>` returns its status.
    """

    def __init__(self, name=None, prefix="", tags=None, cors=None, **unknown):
        if unknown:
            option = next(iter(unknown))
            raise AppFileError(
                f"Router has no option '{option}'.",
                did_you_mean(option, ("name", "prefix", "tags", "cors"), "It has name=, prefix=, tags= and cors=."),
            )
        self._name = None if name is None else check_service_name(name)
        self._prefix = checked_prefix(prefix)
        self._tags = checked_tags(tags)
        self._cors = checked_cors(cors)
        self._routes = []
        self._inner = []
        self._is_included = False
        self._source = caller(1)

    def include_router(self, router, prefix="", tags=None):
        """Includes the routes of another router, with their paths after `prefix`. That router is then not a separate
        service.

        Raises AppFileError for a path in use.
        """
        include(self, router, prefix, tags)

    def _holds(self, router):
        return any(inner is router or inner._holds(router) for inner in self._inner)

    add_insert_route = insert.add_insert_route
    add_compute_route = compute.add_compute_route
    add_update_route = update.add_update_route
    add_delete_route = delete.add_delete_route
    insert_route = insert.insert_route
    update_route = update.update_route
    compute_route = compute.compute_route
    add_query_route = query.add_query_route

    def __getattr__(self, name):
        if name in _VERBS:
            from appdb.routes.handler import declare

            return lambda path=None, **options: declare(self, name, path, options, caller(1))
        if name in _TWIN and "fastapi" in sys.modules:
            from appdb.routes.applications import become_fastapi

            become_fastapi(self)
            return getattr(self, name)
        if name.startswith("websocket"):
            from appdb.http.types import no_websockets

            raise no_websockets(f"Router.{name}")
        if name in _LATER:
            raise later(f"Router.{name}", f"Use {_ROUTES}.")
        if name.startswith("_"):
            raise AttributeError(name)
        raise UnknownAttribute(
            f"Router has no '{name}'.",
            did_you_mean(name, _VERBS, f"It has {_ROUTES}, and the decorators {', '.join(_VERBS)}."),
        )

    def _take_path(self, kind, path, method="post"):
        refuse_late(self)
        if path != "" or not kind.may_be_prefix or not self._prefix:
            check_path(kind, path)
        full = self._prefix + path
        check_full_path(full)
        for route in self._routes:
            if shape_of(self._prefix + route.path) == shape_of(full) and route.method == method:
                raise AppFileError(
                    f"{method.upper()} {full} is declared twice; the first time on line {route.source[1]}.", "Choose another path."
                )


for _name, _method in list(vars(Router).items()):
    if _name.removeprefix("add_").endswith("_route"):
        _method.__qualname__ = f"Router.{_name}"  # The name in Python's errors.
_ROUTES = ", ".join(name for name in vars(Router) if name.startswith("add_"))
FastAPIRouter = Router


def __dir__():
    return sorted({"AppFileError", "FastAPIRouter", "HTTPException", "Router", "Cors", "Background", "SqlExport", *_HTTP})


_HTTP = frozenset(
    "Request Response StreamingResponse JSONResponse PlainTextResponse HTMLResponse RedirectResponse HTTPError".split()
)


def __getattr__(name):
    if name in _HTTP or name == "HTTPException":
        from appdb.http import types

        value = globals()[name] = getattr(types, "HTTPError" if name == "HTTPException" else name)
        return value
    if name == "Cors":
        from appdb.routes.including import Cors

        return Cors
    if name == "Background":
        from appdb.routes.background import Background

        return Background
    if name == "SqlExport":
        from appdb.routes.sql_export import SqlExport

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
