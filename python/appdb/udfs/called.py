"""The functions that columns and queries call, in manifest form."""

import os
import sys

from appdb.appfile.sources import first_line, sha256_hex
from appdb.declare.constants import wire_value
from appdb.declare.errors import AppFileError
from appdb.declare.types import manifest_type
from appdb.udfs.calls import NO_DEFAULT
from appdb.udfs.code_text import code_text
from appdb.udfs.programs import place_of_id


def called_functions(expressions, may_travel=False):
    """The application functions in `(where, expression or None)` pairs, by id, each found again under its name.

    `may_travel`: functions of the program itself are sent with the request. Raises AppFileError for them otherwise, if a
    module has another object under the name, and for an unknown resource pool.
    """
    found = {}
    for where, expression in expressions:
        for function in expression._functions if expression is not None else ():
            if function.id in found or not hasattr(function, "owner"):  # A query is not a function of the worker.
                continue
            found[function.id] = function
            if place_of_id(function.id) is None:
                _check_found(function, where)
            elif not may_travel:
                raise _of_program(function)
            _check_pool(function)
    return found


def function_documents(functions, places, modules):
    """The functions in the manifest; `modules` has the project's files: shown path by real path."""
    users = _Users(places, modules)
    return [_document(functions[id], places, users) for id in sorted(functions)]


def query_document(query, places):
    """A query in the manifest."""
    return {
        "id": query.id,
        "module": query.__module__,
        "name": query.__name__,
        "comment": query.__doc__,
        "parameters": [_parameter(parameter, query.__name__, query.source) for parameter in query.parameters],
        "return_scalar": query.return_scalar,
        "query": query.document,
        "source": places.of(query.source, query.__module__),
    }


def pool_documents(functions):
    """The resource pools that the functions name."""
    from appdb.declare.pools import ResourcePool

    names = sorted({function.resource_pool for function in functions.values() if function.resource_pool is not None})
    return [ResourcePool.declared[name].document() for name in names]


def module_documents(modules):
    """The project's own files with their digests."""
    found = []
    for path, name in sorted(modules.items(), key=lambda item: item[1]):
        with open(path, "rb") as file:
            found.append({"path": name, "sha256": sha256_hex(file.read())})
    return found


def _check_found(function, where):
    owner = function.owner
    module = sys.modules.get(owner.__module__)
    if getattr(module, owner.__name__, None) is not owner:
        raise AppFileError(
            f"The name '{owner.__name__}' of module {owner.__module__} is no longer the UDF that {where} calls.",
            "Give the function and the other object different names.",
            first_line(function.written),
        )


def _of_program(function):
    name = function.owner.__name__
    return AppFileError(
        f"{name} is defined in this program; an update of all tables needs functions that a module has.",
        "Move it into a module of the project, for example functions.py, or add its columns by add_computed_column().",
        first_line(function.written),
    )


def _check_pool(function):
    name = function.resource_pool
    if name is None:
        return
    from appdb.declare.pools import ResourcePool

    if name not in ResourcePool.declared:
        raise AppFileError(
            f"{function.owner.__name__} uses the resource pool '{name}', which is not declared.",
            f'Write db.ResourcePool("{name}", max_concurrent=20) in a module that the application imports.',
            first_line(function.written),
        )


def _document(function, places, users):
    owner = function.owner
    kind, nullable = function.result
    return {
        "id": function.id,
        "module": place_of_id(function.id) or owner.__module__,
        "name": owner.__name__,
        "parameters": [
            _parameter(parameter, owner.__name__, first_line(function.written), function.signature.batched)
            for parameter in function.parameters
        ],
        "result": {"type": manifest_type(kind), "nullable": nullable},
        "digest": sha256_hex(code_text(function.written, places).encode("utf-8", "surrogatepass")),
        "uses": users.of(place_of_id(function.id) or owner.__module__),
        "kind": function.kind,
        "overload": function.number,
        "is_async": function.is_async,
        "batch_size": function.batch_size,
        "timeout_s": function.timeout_s,
        "resource_pool": function.resource_pool,
        "source": places.of(first_line(function.written), owner.__module__),
    }


def _parameter(parameter, name, place, batched=()):
    document = {
        "name": parameter.name,
        "type": manifest_type(parameter.kind),
        "nullable": parameter.nullable,
        "kind": "keyword_only" if parameter.mode == "keyword_only" else "positional",
    }
    if parameter.name in batched:
        document["is_batched"] = True
    if parameter.default is not NO_DEFAULT:
        document["default"] = _default(parameter, name, place)
    return document


def _default(parameter, name, place):
    if parameter.default is None:
        return None
    try:
        return wire_value(parameter.kind, parameter.default)
    except (TypeError, ValueError, OverflowError) as error:
        raise AppFileError(
            f"The default of the parameter '{parameter.name}' of {name} does not fit its type: {error}.",
            "Change the default or the type hint.",
            place,
        ) from None


class _Users:
    """The project files that a module's code may use: its own and its imports, transitively."""

    def __init__(self, places, modules):
        self._places = places
        self._paths = modules
        self._direct = {}
        self._all = {}

    def of(self, module):
        """Sorted paths, as in the manifest's `modules`."""
        if module not in self._all:
            seen, waiting = set(), [module]
            while waiting:
                name = waiting.pop()
                if name not in seen:
                    seen.add(name)
                    waiting.extend(self._imports(name))
            self._all[module] = sorted({self._paths[path] for path in map(self._path, seen) if path is not None})
        return self._all[module]

    def _imports(self, module):
        if module not in self._direct:
            path = self._path(module)
            # `from pkg.part import x` also runs and uses the parent packages.
            parents = [module[:at] for at, sign in enumerate(module) if sign == "."]
            named = self._places.imported_names(path, module) if path is not None else ()
            self._direct[module] = [*parents, *(name for name in named if name in sys.modules)]
        return self._direct[module]

    def _path(self, module):
        file = getattr(sys.modules.get(module), "__file__", None)
        path = os.path.realpath(file) if isinstance(file, str) else None
        return path if path in self._paths else None
