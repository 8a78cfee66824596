"""Handlers as routes: how a router keeps one, and how the worker finds it again by its name."""

from appdb.declare.errors import AppFileError
from appdb.http.handler_checks import check_options, without_parameters
from appdb.http.handlers import Handler, check_function, operation
from appdb.routes._base import Route
from appdb.udfs.signatures import innermost

_ASYNC = 0x80 | 0x200  # Coroutine, async generator.
_HOME = "__appdb_routes__"


class HandlerRoute(Route):
    """One route of a handler. A function may have several: `number` is its index, in the order of the decorators."""

    kind = "handler"
    example = '@router.get("/items")'
    may_be_prefix = True
    without_parameters = staticmethod(without_parameters)

    def __init__(self, method, path, function, options, source):
        super().__init__(method, path, None, source)
        self.function = function
        self.options = options
        inner = innermost(function)
        self.for_fastapi = _is_for_fastapi(inner)
        if self.for_fastapi:
            from appdb.http.handler_fastapi import FastApiHandler

            self.handler = FastApiHandler(inner, function, path, method, options)
        else:
            self.handler = Handler(inner, path, method)
        routes = function.__dict__.setdefault(_HOME, [])
        self.number = len(routes)
        routes.append(self)
        self.id = self.handler.id + (f"#{self.number}" if self.number else "")
        self.is_async = self.for_fastapi or bool(inner.__code__.co_flags & _ASYNC)
        self.status = options.get("status_code") or 200
        self.adapter = _adapter(options.get("response_model"))

    def call(self, request):
        """Reads the arguments from a request and calls the function. Raises Refused for invalid ones."""
        if self.for_fastapi:
            return self.handler.answer(request)
        return self.function(**self.handler.read(request))

    def check_name(self):
        """Raises AppFileError when the module has another object under the function's name, so that a lookup would miss
        it."""
        import sys

        name = self.handler.function.__name__
        found = getattr(sys.modules.get(self.handler.function.__module__), name, None)
        # An included router has copies of its routes.
        if not any(route.handler is self.handler for route in getattr(found, _HOME, ())):
            raise AppFileError(
                f"The handler {name} of {self.path} is hidden by another object of that name.",
                "Give each handler its own name.",
                self.source,
            )

    def _parts(self):
        function = self.handler.function
        if self.for_fastapi:
            fragment = self.handler.operation(self.options)
        else:
            fragment = operation(self.handler, self.path, self.options)
        return {
            "handler": {"id": self.id, "module": function.__module__, "name": function.__name__},
            "openapi": fragment if self.options.get("include_in_schema", True) else None,
            "timeout_s": self.options.get("timeout"),
        }


def declare(router, method, path, options, source):
    """The decorator of a handler: `@router.get("/items/{item_id}")`."""
    check_options(method, options)
    router._take_path(HandlerRoute, path, method)

    def mark(function):
        check_function(function, path)
        router._routes.append(HandlerRoute(method, path, function, options, source))
        return function

    return mark


def route_of(wanted):
    """The HandlerRoute of a manifest's handler. Raises Missing when the code has none."""
    from appdb.worker.failures import Missing
    from appdb.worker.loading import module_of

    module = module_of(wanted["module"])
    number = int(wanted["id"].partition("#")[2] or 0)
    routes = getattr(getattr(module, wanted["name"], None), _HOME, ())
    if number >= len(routes):
        raise Missing(f"module {wanted['module']} has no handler '{wanted['name']}'")
    return routes[number]


def _is_for_fastapi(function):
    import sys

    # A file that does not import it has none of its parameters.
    if "starlette" not in sys.modules:
        return False
    from appdb.http.handler_fastapi import is_for_fastapi

    return is_for_fastapi(function)


def _adapter(model):
    if model is None:
        return None
    from pydantic import TypeAdapter

    adapter = TypeAdapter(model)
    return lambda value: adapter.dump_python(adapter.validate_python(value, from_attributes=True), mode="json")
