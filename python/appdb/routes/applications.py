"""The user's own application object: found in the file's globals, described in the manifest with its routers."""

import os
import sys

from appdb.declare.errors import AppFileError, listed
from appdb.declare.names import check_service_name

_ASGI = ("scope", "receive", "send")


def application_of(module):
    """(name, object) of the ASGI application in a module's globals, or None. Raises AppFileError for several."""
    found = [(name, value) for name, value in vars(module).items() if not name.startswith("_") and _is_asgi(value)]
    whole = [(name, value) for name, value in found if hasattr(value, "router")]  # FastAPI's and similar ones.
    candidates = {id(value): (name, value) for name, value in reversed(whole or found)}
    if len(candidates) > 1:
        named = [(name, value) for name, value in candidates.values() if name == "app"]
        if not named:
            raise AppFileError(
                f"The file has several application objects: {listed(sorted(name for name, _ in candidates.values()))}.",
                "Name the one to serve app, or mount the others in it.",
                (module.__file__, 1),
            )
        return named[0]
    return next(iter(candidates.values()), None)


def _is_asgi(value):
    if isinstance(value, type) or not callable(value):
        return False
    function = value if hasattr(value, "__code__") else getattr(type(value), "__call__", None)
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    names = code.co_varnames[: code.co_argcount]
    return names[-3:] == _ASGI and len(names) == (3 if function is value else 4)


def application_service(module, name, app, routers, places, root):
    """The manifest form of the service with an application object."""
    for route in (route for _, router in routers for route in router._routes):
        if getattr(route, "check_name", None) is not None:
            route.check_name()
    for variable, router in routers:
        if not router._is_included:
            raise AppFileError(
                f"The router '{variable}' is not in the application object '{name}'.",
                f"Write {name}.include_router({variable}), or remove one of them from the file.",
                router._source,
            )
    openapi = _openapi(app, name, module)
    paths = _taken_paths(openapi)
    routes, ids = [], []
    for _, router in routers:
        for route in router._routes:
            own = route_id(router, route, root)
            if own in ids:
                raise AppFileError(
                    f"Two routes of {router._prefix}{route.path} are declared on one line.",
                    "Declare each on a separate line.",
                    route.source,
                )
            ids.append(own)
            path = paths.get(own, router._prefix + route.path)
            routes.append({**route.document(), "path": path, "source": places.of(route.source)})
    return {
        "name": check_service_name(module.__name__.rpartition(".")[2]),
        "prefix": "",
        "routes": routes,
        "app": {
            "id": f"{module.__name__}:{name}",
            "module": module.__name__,
            "name": name,
            "routes": ids,
            "openapi": openapi,
        },
        "source": places.of((module.__file__, 1)),
    }


def route_id(router, route, root):
    """The id of a route in an application object across processes: its place in the code, method and path."""
    file = os.path.relpath(os.path.realpath(route.source[0]), root).replace(os.sep, "/")
    return f"{file}:{route.source[1]} {route.method.upper()} {router._prefix}{route.path}"


def _openapi(app, name, module):
    describe = getattr(app, "openapi", None)
    if not callable(describe):
        return None
    import json

    from appdb.http.answers import BadAnswer, to_json

    try:
        return json.loads(to_json(describe()))
    except BadAnswer as error:
        detail = f"The description of the application object '{name}' is not valid JSON: {error}."
    except Exception as error:
        detail = f"The application object '{name}' cannot describe itself: {type(error).__name__}: {error}."
    raise AppFileError(detail, f"{name}.openapi() must return an OpenAPI document.", (module.__file__, 1)) from None


def _taken_paths(openapi):
    """The paths of routers' routes in the application object, by id; removes the marks from its description."""
    found = {}
    for path, operations in ((openapi or {}).get("paths") or {}).items():
        for operation in operations.values():
            if isinstance(operation, dict) and "x-route" in operation:
                found[operation.pop("x-route")] = path
    return found


def load_application(wanted):
    """The application object of a manifest, in the worker. Raises Missing."""
    from appdb.worker.failures import Missing
    from appdb.worker.loading import module_of

    found = getattr(module_of(wanted["module"]), wanted["name"], None)
    if found is None or not _is_asgi(found):
        raise Missing(f"module {wanted['module']} has no application object '{wanted['name']}'")
    return found


def become_fastapi(router):
    """Makes a router work as FastAPI's in `app.include_router(router)`: with its routes, and as the same object, by
    which FastAPI recognises it."""
    from fastapi import APIRouter
    from fastapi import Request as FastRequest
    from starlette.responses import Response as FastResponse

    router.__class__ = type("IncludedRouter", (APIRouter, type(router)), {})
    APIRouter.__init__(router, prefix=router._prefix, tags=list(router._tags) or None)
    router._is_included = True
    root = os.path.realpath(sys.path[0])
    for route in router._routes:
        shown = route.document().get("openapi", {})
        if getattr(route, "for_fastapi", False):
            own = route.handler.endpoint
            options = {name: route.options.get(name) for name in ("response_model", "status_code")}
        else:
            own = _endpoint(router, route, FastRequest, FastResponse)
            options = {"response_model": None}
        router.add_api_route(
            route.path,
            own,
            methods=[route.method.upper()],
            include_in_schema=shown is not None,
            name=getattr(route, "function", own).__name__,
            summary=(shown or {}).get("summary"),
            openapi_extra={**(shown or {}), "x-route": route_id(router, route, root)},
            **options,
        )


def _endpoint(router, route, request_type, response_type):
    async def answer(request):
        from appdb.http.worker import HttpWorker

        worker = HttpWorker.current
        if worker is None:
            raise RuntimeError("routes of a router are only answered in a service")
        body = await _body_of(request, worker.body_bytes)
        if body is None:
            status, headers, data = await worker.refuse_body(request.scope)
        elif getattr(route, "handler", None) is not None and hasattr(route, "call"):
            status, headers, data = await worker.answer_inside(route, request.scope, body)
        else:
            status, headers, data = await worker.ask_route(route_id(router, route, os.path.realpath(worker.root)), request.scope, body)
        made = response_type(data, status)
        made.raw_headers.extend((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers)
        return made

    answer.__name__ = f"route_{route.path.strip('/').replace('/', '_') or 'root'}"
    answer.__annotations__ = {"request": request_type}
    return answer


async def _body_of(request, most):
    """The whole body, or None for one of more than `most` bytes, whose rest is not read."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            return None
        pieces.append(piece)
    return b"".join(pieces)
