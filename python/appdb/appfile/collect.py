"""Imports an application file and collects its manifest (packages/contract/src/manifest.ts)."""

import os
import sys

from appdb import __version__
from appdb._folder import LIBRARY_FOLDER
from appdb._imports import load
from appdb.appfile.shadowing import shadowed_modules
from appdb.appfile.sources import Places, below
from appdb.declare.errors import AppFileError
from appdb.declare.names import check_service_name
from appdb.declare.null_tests import refuse_identity_tests
from appdb.declare.types import manifest_type
from appdb.udfs.called import called_functions, function_documents, module_documents, pool_documents, query_document

MANIFEST_VERSION = 1


class AppFileMissing(AppFileError):
    code = "app_file_not_found"


class AppFileOutside(AppFileError):
    code = "app_outside_project"


def manifest(root, app):
    """Returns the manifest of the file `app` (below `root`, or relative to the current folder).

    Raises AppFileError for refused declarations, and any error of importing the file.
    """
    path, module_name = _module_path(root, app)
    module = _load(root, path, module_name)
    places = Places(root)
    bases, routers, queries = _visible(module, root)
    tables = _tables(bases)
    queries = _queries(tables, queries)
    refuse_identity_tests(tables, queries)
    functions = called_functions(callers(tables, queries))
    application = _application(module)
    alone = [(variable, router) for variable, router in routers if not router._is_included]
    services = _services(routers if application is not None else alone)
    if routers or application is not None:
        from appdb.http.handler_queries import refuse_queries_in_handlers

        refuse_queries_in_handlers(routers, application, root)
    relative = os.path.relpath(path, root).replace(os.sep, "/")
    if not tables and application is None and not any(router._routes for _, router in alone):
        raise AppFileError(
            f"{relative} declares no table.",
            'Write Base = db.model_base() and class Docs(Base, name="docs"): with a column inside.',
            (path, 1),
        )
    return {
        **_documents(relative, tables, functions, queries, places, project_modules(root)),
        "services": _service_documents(module, application, routers, services, places, root),
        "warnings": shadowed_modules(root, relative) + _export_warnings(routers),
    }


def schema_manifest(root, file, base):
    """The manifest of the models of a base alone, for a program that updates their tables. Raises AppFileError."""
    places = Places(root)
    tables = _tables([base])
    queries = _queries(tables, [])
    refuse_identity_tests(tables, queries)
    functions = called_functions(callers(tables, queries))
    return {
        **_documents(file, tables, functions, queries, places, project_modules(root)),
        "services": [],
        "warnings": [],
    }


def _documents(file, tables, functions, queries, places, modules):
    return {
        "manifest_version": MANIFEST_VERSION,
        "library_version": __version__,
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "app_file": file,
        "tables": [table_document(table, places) for table in sorted(tables, key=lambda table: table.name)],
        "functions": function_documents(functions, places, modules),
        "queries": [query_document(query, places) for query in sorted(queries, key=lambda query: query.id)],
        "resource_pools": pool_documents(functions),
        "modules": module_documents(modules),
    }


def _module_path(root, app):
    path = os.path.realpath(app if os.path.isabs(app) or os.path.exists(app) else os.path.join(root, app))
    if not os.path.isfile(path):
        raise AppFileMissing(f"File {app} not found.", "Create one: cli service example --out app.py", ())
    relative = _from(root, path)
    if relative.startswith(os.pardir + os.sep) or os.path.isabs(relative):
        raise AppFileOutside(
            f"{app} is outside the project folder.",
            "Move it into the project, or run the command in its own project.",
            (),
        )
    stem, extension = os.path.splitext(relative)
    if extension != ".py":
        raise AppFileError(f"{app} is not a Python file.", "Name a file that ends in .py", ())
    parts = stem.split(os.sep)
    if any("." in part or part == "" for part in parts):
        raise AppFileError(
            f"{relative} cannot be imported: its name contains a dot.", "Rename it, for example to app.py.", ()
        )
    if parts[-1] == "__init__":
        raise AppFileError(f"{relative} is the front of a package.", "Name a module inside it.", ())
    return path, ".".join(parts)


def _from(root, path):
    try:
        return os.path.relpath(path, root)
    except ValueError:  # Another drive on Windows: no relative path exists.
        return path


def _load(root, path, module_name):
    sys.path[:] = [root, *(entry for entry in sys.path if entry not in ("", root))]
    taken = sys.modules.get(module_name)
    if taken is not None or module_name == "__main__":
        raise _shadowed(path, module_name)
    module = load(module_name)
    if os.path.realpath(getattr(module, "__file__", None) or "") != path:
        raise _shadowed(path, module_name)
    return module


def _shadowed(path, module_name):
    return AppFileError(
        f"The module name '{module_name}' belongs to Python or a package already.", "Rename the file.", (path, 1)
    )


def _visible(module, root):
    """Finds bases, routers and queries in the globals of the file and of the project modules that it imported by name.
    Includes the ones that these refer to; each once."""
    from appdb.declare.model import ModelMeta

    # A file without routes or queries need not load their modules.
    serving = sys.modules.get("appdb.serving")
    named_query = sys.modules.get("appdb.queries.named_query")
    bases, routers, queries = {}, {}, {}
    scopes = [module, *(value for value in vars(module).values() if _is_project_module(value, root))]
    for scope in scopes:
        for name, value in list(vars(scope).items()):
            if isinstance(value, ModelMeta):
                base = value if "__appdb_models__" in value.__dict__ else value.__mro__[1]
                bases[id(base)] = base
            elif serving is not None and isinstance(value, serving.Router):
                routers.setdefault(id(value), (name, value))
            elif named_query is not None and isinstance(value, named_query.NamedQuery):
                queries[id(value)] = value
    models = []
    for _, router in routers.values():
        for route in router._routes:
            queries.update((id(query), query) for query in route.queries)
            models.extend(route.models)
    for query in queries.values():
        models.extend(query.query._models)
    for model in models:
        base = model.__mro__[1]
        bases[id(base)] = base
    return list(bases.values()), list(routers.values()), list(queries.values())


def _is_project_module(value, root):
    return isinstance(value, type(sys)) and below(root, getattr(value, "__file__", None))


def _tables(bases):
    tables = {}
    for base in bases:
        for model in base.__appdb_models__:
            table = model.__appdb_table__
            before = tables.setdefault(table.name, table)
            if before is not table:
                raise AppFileError(
                    f"Two models have the table name '{table.name}': {before.model} and {table.model}.",
                    "Give one of them another name=.",
                    max(before.source, table.source, key=lambda source: source[1]),
                )
    return list(tables.values())


def _export_warnings(routers):
    exports = sys.modules.get("appdb.routes.sql_export")
    return [] if exports is None else exports.export_warnings([router for _, router in routers])


def _services(routers):
    services = {}
    for variable, router in routers:
        try:
            name = router._name or check_service_name(variable)
        except AppFileError as error:
            hint = f'{error.hint} Or name the service: Router(name="ingest").'
            raise AppFileError(error.detail, hint, router._source) from None
        if name in services:
            raise AppFileError(
                f"Two services have the name '{name}' (lines {services[name]._source[1]} and {router._source[1]}).",
                "Give one of the routers another name=.",
                router._source,
            )
        services[name] = router
    return services


def _queries(tables, visible):
    """The visible queries, and those that the tables' columns call."""
    named_query = sys.modules.get("appdb.queries.named_query")
    if named_query is None:
        return []
    found = {}
    called = [
        function
        for table in tables
        for column in (*table.columns.values(), *table.hidden.values())
        for function in (column.value._functions if column.value is not None else ())
        if isinstance(function, named_query.NamedQuery)
    ]
    for query in [*visible, *called]:
        before = found.setdefault(query.id, query)
        if before is not query:
            raise AppFileError(
                f"Two queries are called {query.id}.", "Rename one of them.", max(before.source, query.source)
            )
        for model in query.query._models:
            if not any(table is model.__appdb_table__ for table in tables):
                raise AppFileError(
                    f"The query {query.__name__} reads the model {model.__name__}, which the file does not show.",
                    f"Import {model.__name__} into the file.",
                    query.source,
                )
    return list(found.values())


def callers(tables, queries):
    """All expressions of the file, each with its place."""
    for table in tables:
        for column in (*table.columns.values(), *table.hidden.values()):
            yield f"column '{column.name}'", column.value
        if table.view is not None:
            yield f"base= of '{table.name}'", table.view.condition
            yield f"iterator= of '{table.name}'", table.view.iterator
        for index in table.indexes:
            for value in getattr(index, "embeds", {}).values():
                yield f"an embedding index of '{table.name}'", value
    for query in queries:
        for expr in query.query.expressions():
            yield f"query '{query.__name__}'", expr


def table_document(table, places):
    """A table in the manifest."""
    own = [column for column in table.columns.values() if column.name not in table.inherited]
    return {
        "name": table.name,
        "model": table.model,
        "comment": table.comment,
        "custom_metadata": table.custom_metadata,
        "columns": [
            *(column_document(column, places) for column in own if column.is_stored),
            *(hidden_document(column, places) for column in table.hidden.values()),
        ],
        **_unstored(own, places),
        **({} if table.view is None else {"view": table.view.document()}),
        "primary_key": [column.name for column in own if column.primary_key],
        "indexes": [index.document(places) for index in table.indexes],
        "has_default_idxs": table.has_default_idxs,
        "renamed_from": table.renamed_from,
        "source": places.of(table.source),
    }


def _unstored(columns, places):
    found = [column_document(column, places) for column in columns if not column.is_stored]
    return {"unstored": found} if found else {}


def column_document(column, places):
    """A column in the manifest."""
    value = column.value
    default = column.default
    return {
        "name": column.name,
        "type": manifest_type(column.ref._kind),
        "nullable": column.ref._nullable,
        "primary_key": column.primary_key,
        "computed": None if value is None else {"text": value._text, "expr": value._node},
        **({} if default is None else {"default": {"text": default._text, "expr": default._node}}),
        "comment": column.comment,
        "custom_metadata": column.custom_metadata,
        "renamed_from": column.renamed_from,
        "source": places.of(column.source),
    }


def hidden_document(column, places):
    """A column with the vectors of an index in the manifest."""
    return {**column_document(column, places), "type": column.type(), "nullable": True, "is_hidden": True}


def _application(module):
    """The application object of the file. Its finder is loaded only if one of the file's globals looks like such an
    object."""
    from appdb.routes.applications import application_of

    return application_of(module)


def _service_documents(module, application, routers, services, places, root):
    if application is None:
        return [_service(name, router, places) for name, router in sorted(services.items())]
    from appdb.routes.applications import application_service

    return [application_service(module, *application, routers, places, root)]


def _service(name, router, places):
    for route in router._routes:
        if getattr(route, "check_name", None) is not None:
            route.check_name()
    routes = [{**route.document(), "source": places.of(route.source)} for route in router._routes]
    return {
        "name": name,
        "prefix": router._prefix,
        "routes": routes,
        "tags": router._tags,
        "cors": router._cors,
        "source": places.of(router._source),
    }


def project_modules(root):
    """The project's own files among the imported ones: path for people by real path."""
    paths = {}
    passed_over = os.path.dirname(os.path.abspath(os.__file__)) + os.sep, LIBRARY_FOLDER  # Skips most modules by name.
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and not file.startswith(passed_over) and _is_project_file(root, file):
            path = os.path.realpath(file)
            if not os.path.isfile(path):  # A program from stdin, a module whose file was deleted.
                continue
            paths[path] = os.path.relpath(path, root).replace(os.sep, "/")
    return paths


def _is_project_file(root, file):
    parts = file.split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts or not below(root, file):
        return False
    environment = below(root, sys.prefix) and below(sys.prefix, file)
    ours = below(LIBRARY_FOLDER, file)
    return not (environment or ours)
