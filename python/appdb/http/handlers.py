"""Handlers: the arguments of each, read from its signature, and its OpenAPI description."""

from appdb.declare.errors import AppFileError, did_you_mean
from appdb.http.handler_kinds import Kind, Misfit, Unknown, kind_of
from appdb.udfs.signatures import ASYNC_GENERATOR, GENERATOR, VARARGS, VARKEYWORDS, check_importable, refused

_NO_DEFAULT = object()
PATH, URL, BODY, REQUEST = "path", "query", "body", "request"


_HINTS = {
    "invalid_json": "Send one JSON value, in UTF-8.",
    "invalid_request": "/openapi.json says what the route takes.",
    "unsupported_media_type": "Send the header: content-type: application/json",
}
# A body of a megabyte can contain a hundred thousand invalid values, or one very long name.
_MAX_ERRORS = 20
_LONGEST = 1000


class Refused(Exception):
    """An invalid request for a handler. `errors` are pairs of pointer and sentence, of which the first are reported;
    `code` is from errors.ts."""

    def __init__(self, code, detail, errors=()):
        super().__init__(detail)
        self.code = code
        self.detail = detail[:_LONGEST]
        self.hint = _HINTS[code]
        self.errors = [{"pointer": p[:_LONGEST], "detail": text[:_LONGEST]} for p, text in errors[:_MAX_ERRORS]]


class Argument:
    """A parameter of a handler and the source of its value."""

    __slots__ = ("name", "source", "kind", "default")

    def __init__(self, name, source, kind, default):
        self.name = name
        self.source = source
        self.kind = kind
        self.default = default

    @property
    def is_required(self):
        """True when a request must set it."""
        return self.default is _NO_DEFAULT


class Handler:
    """A function that answers requests. Raises AppFileError for a signature without request types."""

    def __init__(self, function, path, method):
        self.function = function
        self.id = f"{function.__module__}:{function.__name__}"
        self.arguments = _arguments(function, path_names(path), method)
        self._by_name = {one.name: one for one in self.arguments}
        self._bodies = [one for one in self.arguments if one.source is BODY]
        self._takes_request = any(one.source is REQUEST for one in self.arguments)

    def read(self, request):
        """The keyword arguments for a request. Raises Refused, with an entry for each invalid value."""
        given, errors = {}, []
        for name, text in request.path_params.items():
            self._take(given, errors, name, lambda kind, text=text: kind.from_text(text))
        for name, texts in request.query_lists.items():
            argument = self._by_name.get(name)
            if argument is None or argument.source is not URL:
                if not self._takes_request:
                    errors.append((f"/{name}", self._unknown(name)))
                continue
            self._take(given, errors, name, lambda kind, texts=texts: _from_url(kind, texts))
        if self._bodies:
            self._read_body(request, given, errors)
        for one in self.arguments:
            if one.source is REQUEST:
                given[one.name] = request
            elif one.name not in given and one.is_required and not any(p.startswith(f"/{one.name}") for p, _ in errors):
                if one.source is not BODY or len(self._bodies) > 1:
                    errors.append((f"/{one.name}", f"The parameter '{one.name}' is required."))
        if errors:
            first = f"; `errors` lists the first {_MAX_ERRORS}" if len(errors) > _MAX_ERRORS else ""
            detail = errors[0][1] if len(errors) == 1 else f"{len(errors)} values are invalid{first}."
            raise Refused("invalid_request", detail, errors)
        return given

    def _take(self, given, errors, name, read):
        argument = self._by_name[name]
        try:
            given[name] = read(argument.kind)
        except Misfit as misfit:
            errors.extend((f"/{name}{pointer}", detail) for pointer, detail in misfit.errors)

    def _read_body(self, request, given, errors):
        if not request.data and all(not one.is_required for one in self._bodies):
            return
        value = json_of(request)
        if len(self._bodies) == 1:
            one = self._bodies[0]
            try:
                given[one.name] = one.kind.from_json(value)
            except Misfit as misfit:
                errors.extend(misfit.errors)
            return
        if type(value) is not dict:
            raise Refused("invalid_request", "The body is not an object.", [("", "Expected an object.")])
        for name in value:
            if self._by_name.get(name) in self._bodies:
                self._take(given, errors, name, lambda kind, name=name: kind.from_json(value[name]))
            else:
                errors.append((f"/{name}", self._unknown(name)))

    def _unknown(self, name):
        known = [one.name for one in self.arguments if one.source is not REQUEST]
        return f"No parameter named '{name}'. {did_you_mean(name, known, 'Omit it.')}"


def path_names(path):
    """The names of a path's parameters, in order."""
    return [part[1:-1] for part in path.split("/") if part.startswith("{") and part.endswith("}")]


def json_of(request):
    """The JSON value of a request's body. Raises Refused."""
    import json

    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        sent = f"content type {media}" if media else "no content type"
        raise Refused("unsupported_media_type", f"The request has {sent}; the handler takes application/json.")
    try:
        value = json.loads(request.data, parse_constant=_refuse_constant)
        if b"\\u" in request.data:  # Only this makes text that cannot be stored or sent again.
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeDecodeError:
        raise Refused("invalid_json", "The body is not UTF-8.") from None
    except UnicodeEncodeError:
        detail = "The body contains a lone surrogate, which is not a valid character."
        raise Refused("invalid_request", detail, [("", detail)]) from None
    except RecursionError:
        raise Refused("invalid_json", "The body is nested too deep.") from None
    except ValueError as error:
        what = str(error).partition("; use sys.")[0]  # For numbers with thousands of digits.
        raise Refused("invalid_json", f"The body is not JSON: {what}.") from None


def _refuse_constant(word):
    raise ValueError(f"{word} is not valid JSON")


def _from_url(kind, texts):
    if kind.is_list:
        return kind.from_text(texts)
    text = texts[-1]
    if text == "" and kind.nullable and kind.schema.get("type") != ["string", "null"]:
        return None
    return kind.from_text(text)


def _arguments(function, names_in_path, method):
    code = function.__code__
    check_importable(function, "a handler")
    if code.co_flags & (VARARGS | VARKEYWORDS):
        raise refused(function, f"The handler {function.__name__} takes *args or **kwargs.", "Name each parameter.")
    if code.co_posonlyargcount:
        raise refused(
            function, f"The handler {function.__name__} has positional-only parameters.", "Remove the '/'."
        )
    hints, count = _hints(function), code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    defaults = dict(function.__kwdefaults__ or {})
    positional = function.__defaults__ or ()
    defaults.update(zip(names[count - len(positional) : count], positional))
    for name in names_in_path:
        if name not in names:
            raise refused(
                function,
                f"The path has the parameter '{name}', which {function.__name__} does not take.",
                did_you_mean(name, names, f"Add a parameter {name}: str"),
            )
    return [_argument(function, name, hints, defaults, name in names_in_path, method) for name in names]


def _argument(function, name, hints, defaults, is_in_path, method):
    default = defaults.get(name, _NO_DEFAULT)
    where = f"The parameter '{name}' of {function.__name__}"
    hint = hints.get(name, str if name not in hints else None)
    if _is_request(hint):
        return Argument(name, REQUEST, None, default)
    try:
        kind = kind_of(hint)
    except Unknown:
        raise refused(
            function,
            f"{where} has a type that a request cannot carry.",
            "Write str, int, float, bool, list[...], dict, a dataclass, or a pydantic model (and require pydantic).",
        ) from None
    if is_in_path:
        if kind.from_text is None or kind.is_list:
            raise refused(function, f"{where} is in the path, which holds one text.", f"Write {name}: str or int")
        return Argument(name, PATH, kind, _NO_DEFAULT)
    if kind.from_text is not None and not (kind.is_list and method not in ("get", "delete")):
        return Argument(name, URL, kind, default)
    if method == "get":
        raise refused(
            function, f"{where} would be read from the body, which a GET does not have.", "Serve it by @router.post."
        )
    return Argument(name, BODY, kind, default)


def _hints(function):
    from typing import get_type_hints

    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise refused(
            function,
            f"A type hint of {function.__name__} names '{error.name}', which the module does not have.",
            "Import it at the top of the module, not only while type checking.",
        ) from None


def _is_request(hint):
    return isinstance(hint, type) and any(base.__name__ == "Request" for base in hint.__mro__)


def operation(handler, path, options):
    """The operation object of a handler in OpenAPI form, without errors and id."""
    function = handler.function
    doc = _dedented(function.__doc__)
    summary = options.get("summary") or _first_line(doc) or _sentence(options.get("name") or function.__name__)
    description = options.get("description") or doc
    found = {"summary": summary}
    if description and description != summary:
        found["description"] = description
    if options.get("tags"):
        found["tags"] = list(options["tags"])
    if options.get("deprecated"):
        found["deprecated"] = True
    parameters = [_parameter(one) for one in handler.arguments if one.source in (PATH, URL)]
    if parameters:
        found["parameters"] = parameters
    body = _body_schema([one for one in handler.arguments if one.source is BODY])
    if body is not None:
        found["requestBody"] = body
    status = "3XX" if _redirects(handler) else str(options.get("status_code") or 200)
    found["responses"] = {status: {"description": options.get("response_description") or "Response.", **_content(handler, options)}}
    return found


def _sentence(name):
    return name.replace("_", " ").capitalize()


def _parameter(one):
    schema = one.kind.schema or {"type": "string"}
    if one.source is URL and not one.is_required and _is_json(one.default):
        schema = {**schema, "default": one.default}
    return {"name": one.name, "in": one.source, "required": one.source is PATH or one.is_required, "schema": schema}


def _is_json(value):
    return value is None or type(value) in (str, int, float, bool) and value == value and abs(value if type(value) is float else 0) != float("inf")


def _body_schema(bodies):
    if not bodies:
        return None
    if len(bodies) == 1:
        schema, required = bodies[0].kind.schema, bodies[0].is_required
    else:
        names = [one.name for one in bodies if one.is_required]
        properties = {one.name: one.kind.schema for one in bodies}
        schema = {"type": "object", "properties": properties, "required": names, "additionalProperties": False}
        required = bool(names)
    return {"required": required, "content": {"application/json": {"schema": schema}}}


def _redirects(handler):
    from appdb.http.types import RedirectResponse

    hint = _hints(handler.function).get("return")
    return isinstance(hint, type) and issubclass(hint, RedirectResponse)


def _content(handler, options):
    from appdb.http.types import Response

    if options.get("status_code") in (204, 304):
        return {}
    hint = options.get("response_model") or _hints(handler.function).get("return")
    if hint is bytes:
        return {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
    if handler.function.__code__.co_flags & (GENERATOR | ASYNC_GENERATOR):
        return {}  # The first piece determines the type; client generators warn about "*/*".
    if isinstance(hint, type) and issubclass(hint, Response):
        media = hint.media_type
        if media is None:
            return {}
        return {"content": {media: {"schema": {} if media == "application/json" else {"type": "string"}}}}
    try:
        kind = Kind(None, None, {}) if hint is None else kind_of(hint)
    except Unknown:
        return {}
    return {"content": {"application/json": {"schema": kind.schema}}}


def _dedented(text):
    from inspect import cleandoc

    return cleandoc(text) if isinstance(text, str) else ""


def _first_line(text):
    return text.split("\n", 1)[0].strip().rstrip(".") if text else ""


def check_function(function, path):
    """Raises AppFileError unless a route accepts this function."""
    if not hasattr(function, "__code__"):
        shown = getattr(function, "__name__", type(function).__name__)
        raise AppFileError(
            f"The route {path} is given {shown}, which is not a function written with def.", "Put @router.get above a def."
        )
