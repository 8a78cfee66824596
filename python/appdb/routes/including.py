"""Routers inside routers, and CORS rules."""

from appdb.declare.errors import AppFileError, listed
from appdb.http.handler_checks import check_tags
from appdb.routes._base import checked_prefix


def include(router, other, prefix, tags):
    """Adds the routes of `other` to `router`, with their paths after `prefix`. They are then not a separate service."""
    import copy  # Loaded when it is needed: it takes a millisecond.

    from appdb.serving import Router

    if not isinstance(other, Router):
        raise AppFileError(f"include_router takes a router, not {type(other).__name__}.", "Write include_router(items)")
    if other is router or other._holds(router):
        raise AppFileError("A router is included in itself.", "Include another router.")
    if other._cors is not None:
        raise AppFileError(
            "A router with cors= is included in another one.", "Write cors= at the outer router; it counts for all routes."
        )
    prefix, tags = checked_prefix(prefix) + other._prefix, checked_tags(tags)
    other._is_included = True
    router._inner.append(other)
    for route in other._routes:
        path = prefix + route.path
        router._take_path(type(route), path, route.method)
        taken = copy.copy(route)
        taken.path = path
        more = [*tags, *other._tags]
        if more and hasattr(taken, "options"):
            taken.options = {**taken.options, "tags": [*more, *(taken.options.get("tags") or ())]}
        router._routes.append(taken)


def refuse_late(router):
    """Raises AppFileError for a route of a router that was already included: it would be unreachable."""
    if router._is_included:
        raise AppFileError(
            "A route is added to a router that was included before.", "Move include_router() below the routes."
        )


def checked_tags(tags):
    """Tags as a list. Raises AppFileError."""
    check_tags(tags)
    return list(tags or ())


class Cors:
    """CORS rules: origins that may call a service from a browser: `Router(cors=Cors(["https://app.example"]))`.

    `methods` and `headers` are the allowed ones, by default all methods of the routes and the headers that services
    support. With `credentials` the browser sends cookies. `max_age` is the cache time in seconds.
    """

    def __init__(self, origins, methods=None, headers=None, credentials=False, max_age=600):
        self.origins = _texts("origins", origins)
        self.methods = None if methods is None else [name.upper() for name in _texts("methods", methods)]
        self.headers = None if headers is None else _texts("headers", headers)
        for origin in self.origins:
            _check_origin(origin)
        if credentials not in (True, False) or type(max_age) is not int or not 0 <= max_age <= 86400:
            raise AppFileError("credentials= is True or False, max_age= seconds up to a day.", "Write max_age=600")
        if credentials and "*" in self.origins:
            raise AppFileError(
                "cors= lets every page use the credentials of a visitor.", "Name the origins, or omit credentials=."
            )
        self.credentials = credentials
        self.max_age = max_age

    def document(self):
        """In manifest form."""
        return {
            "origins": self.origins,
            "methods": self.methods,
            "headers": self.headers,
            "credentials": self.credentials,
            "max_age_s": self.max_age,
        }


def checked_cors(cors):
    """`cors=` of a router in manifest form. Raises AppFileError."""
    if cors is None:
        return None
    return (cors if isinstance(cors, Cors) else Cors([cors] if isinstance(cors, str) else cors)).document()


def _texts(what, values):
    values = [values] if isinstance(values, str) else list(values) if hasattr(values, "__iter__") else []
    if not values or not all(isinstance(value, str) and value.isascii() and value.isprintable() for value in values):
        raise AppFileError(f"{what}= of cors is a list of texts.", 'Write Cors(["https://app.example"])')
    return values


def _check_origin(origin):
    scheme, mark, rest = origin.partition("://")
    if origin != "*" and (not mark or not scheme or not rest or "/" in rest or "*" in rest or rest != rest.lower()):
        raise AppFileError(
            f"cors= names {origin!r}, which is not an origin.", f"Write only scheme and host, such as {listed(['https://app.example'])}."
        )
