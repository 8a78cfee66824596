"""Handlers of a router with FastAPI's parameters: Body, Cookie, Depends, File, Form, Header, Path, Query, UploadFile.

FastAPI itself parses such a request, as in an application object; errors and responses are those of a router.
"""

import asyncio
from functools import partial

from appdb.declare.errors import AppFileError
from appdb.http.handlers import Refused, _content, _dedented, _first_line, _hints, _redirects, _sentence, path_names, refused
from appdb.http.types import Request, Response
from appdb.udfs.signatures import ASYNC_GENERATOR, COROUTINE, GENERATOR, check_importable
from appdb.worker.asking import present_call

_FRAMEWORK = ("fastapi", "starlette")
_OF_REQUESTS = frozenset(("UploadFile", "BackgroundTasks", "Response"))


def is_for_fastapi(function):
    """Whether a parameter of a function is one of FastAPI's."""
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if any(_is_framework(type(default)) for default in defaults):
        return True
    hints = {name: hint for name, hint in _hints(function).items() if name != "return"}
    return any(_is_marked(hint) for hint in hints.values())


def _is_framework(kind):
    return getattr(kind, "__module__", "").partition(".")[0] in _FRAMEWORK


def _is_marked(hint):
    if any(_is_framework(type(mark)) for mark in getattr(hint, "__metadata__", ())):
        return True
    if isinstance(hint, type) and _is_framework(hint) and hint.__name__ in _OF_REQUESTS:
        return True
    return any(_is_marked(part) for part in getattr(hint, "__args__", ()))


class FastApiHandler:
    """A function whose arguments FastAPI parses. Raises AppFileError for an unsupported signature."""

    def __init__(self, function, outer, path, method, options):
        check_importable(function, "a handler")
        if function.__code__.co_flags & (GENERATOR | ASYNC_GENERATOR):
            raise refused(
                function,
                f"The handler {function.__name__} yields and has parameters of FastAPI.",
                "Return a StreamingResponse of fastapi.responses.",
            )
        self.function = function
        self.id = f"{function.__module__}:{function.__name__}"
        self._check_path(path)
        self._check_types()
        self.endpoint = _endpoint(function, outer)
        self._method = method
        self._path = path
        self._route = self._made(path, method, options)

    def answer(self, request):
        """The ASGI application that sends the response of a request."""
        return _Answer(self._route, request.path_params)

    def operation(self, options):
        """The operation object in OpenAPI form, without errors and id."""
        from fastapi.openapi.utils import get_openapi

        from appdb.http.handler_pydantic import _inlined

        document = get_openapi(title="-", version="-", routes=[self._route])
        (operations,) = document["paths"].values()
        read = operations[self._method]
        schemas = document.get("components", {}).get("schemas", {})
        doc = _dedented(self.function.__doc__)
        name = options.get("name") or self.function.__name__
        summary = options.get("summary") or _first_line(doc) or _sentence(name)
        found = {"summary": summary}
        description = options.get("description") or doc
        if description and description != summary:
            found["description"] = description
        if options.get("tags"):
            found["tags"] = list(options["tags"])
        if options.get("deprecated"):
            found["deprecated"] = True
        for part in ("parameters", "requestBody"):
            if part in read:
                found[part] = _inlined({"$defs": schemas, "part": _renamed(read[part])})["part"]
        status = "3XX" if _redirects(self) else str(options.get("status_code") or 200)
        description = options.get("response_description") or "Response."
        found["responses"] = {status: {"description": description, **_content(self, options)}}
        return found

    def _check_path(self, path):
        code = self.function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        for name in path_names(path):
            if name not in names:
                raise refused(
                    self.function,
                    f"The path has the parameter '{name}', which {self.function.__name__} does not take.",
                    f"Add a parameter {name}: str",
                )

    def _check_types(self):
        for name, hint in _hints(self.function).items():
            if name == "return" or not isinstance(hint, type) or not hint.__module__.startswith("appdb."):
                continue
            if issubclass(hint, Request):
                told = f"Write {name}: fastapi.Request, which FastAPI gives a handler."
            else:
                told = "Write a type of Python: str, int, float, bool, dict, a dataclass, or a pydantic model."
            where = f"The parameter '{name}' of {self.function.__name__}"
            raise refused(self.function, f"{where} has a type that FastAPI does not read: {hint.__name__}.", told)

    def _made(self, path, method, options):
        from fastapi.routing import APIRoute

        try:
            return APIRoute(
                path or "/",
                self.endpoint,
                methods=[method.upper()],
                response_model=options.get("response_model"),
                status_code=options.get("status_code"),
                name=self.function.__name__,
            )
        except AppFileError:
            raise
        except Exception as error:  # Any problem that FastAPI finds in a signature.
            detail = f"FastAPI does not take the handler {self.function.__name__}: {_first_line(str(error))}."
            hint = "Correct its parameters, or write the types that a router reads."
            if "python-multipart" in str(error):
                hint = "Add 'python-multipart' to the project's requirements; FastAPI reads forms and files by it."
            raise refused(self.function, detail, hint) from None


class _Answer:
    """Sends itself, like a Starlette response."""

    raw_headers = ()

    def __init__(self, route, path_params):
        self._route = route
        self._path_params = path_params

    async def __call__(self, scope, receive, send):
        from contextlib import AsyncExitStack

        from fastapi.exceptions import RequestValidationError

        try:
            # FastAPI's own application does this around a route: files of a form are closed after the response.
            async with AsyncExitStack() as stack:
                scope = {**scope, "path_params": dict(self._path_params), "fastapi_middleware_astack": stack}
                await self._route.app(scope, receive, send)
        except RequestValidationError as error:
            raise _misfit(error.errors()) from None


def _misfit(found):
    errors = [("".join(f"/{part}" for part in one["loc"][1:]), f"{one['msg']}.") for one in found]
    if any(one["type"] == "json_invalid" for one in found):
        return Refused("invalid_json", "The body is not JSON.")
    detail = errors[0][1] if len(errors) == 1 else f"{len(errors)} values are invalid."
    return Refused("invalid_request", detail, errors)


def _endpoint(function, outer):
    """The function as FastAPI calls it: with its own signature and parsed hints, and with results converted to
    FastAPI's."""
    from inspect import signature

    is_async = bool(function.__code__.co_flags & COROUTINE)

    async def endpoint(**arguments):
        if is_async:
            return _given(await outer(**arguments))
        call = present_call.get(None)
        # FastAPI's own threads have no time limit, and a stuck one would be lost to the process.
        run = asyncio.to_thread if call is None else call.in_thread
        return _given(await run(partial(outer, **arguments)))

    hints = _hints(function)
    shown = signature(function)
    parameters = [one.replace(annotation=hints.get(name, str)) for name, one in shown.parameters.items()]
    endpoint.__signature__ = shown.replace(parameters=parameters, return_annotation=shown.empty)
    endpoint.__name__, endpoint.__doc__ = function.__name__, function.__doc__
    return endpoint


def _given(value):
    if not isinstance(value, (Response, bytes, bytearray, memoryview)):
        return value
    from starlette.responses import Response as Made

    from appdb.http.answers import BadAnswer, answer_of

    answer = answer_of(value)
    if type(answer.body) is not bytes:
        raise BadAnswer("its response yields, which a handler with parameters of FastAPI cannot pass on")
    made = Made(answer.body, answer.status)
    made.raw_headers.extend((name.encode("latin-1"), text.encode("latin-1")) for name, text in answer.headers)
    return made


def _renamed(node):
    """Rewrites references into the document's components as references to definitions next to the part."""
    if isinstance(node, list):
        return [_renamed(item) for item in node]
    if not isinstance(node, dict):
        return node
    place = "#/components/schemas/"
    return {
        key: value.replace(place, "#/$defs/") if key == "$ref" and isinstance(value, str) else _renamed(value)
        for key, value in node.items()
    }
