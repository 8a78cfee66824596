"""What a request says of the program's code: its functions, and for a local database how to run them."""

import os
import sys

from appdb._folder import LIBRARY_FOLDER
from appdb.appfile.collect import project_modules
from appdb.appfile.sources import Places
from appdb.client.programs import Sent, import_folders
from appdb.declare.errors import Error
from appdb.udfs.called import called_functions, function_documents, module_documents, pool_documents
from appdb.udfs.programs import place_of_id

#: Variables that functions do not see: those of the program alone, and credentials for the control plane.
_OWN = (
    *("PYTEST_CURRENT_TEST", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "__PYVENV_LAUNCHER__"),
    *("SERVICE_API_KEY", "SERVICE_LOCAL_DATABASE_URL", "SERVICE_DATABASE_URL", "SERVICE_TOKEN"),
)


class Code:
    """The project of the program: its root, and the places of its files."""

    def __init__(self, functions=(), copied=()):
        self.root = os.path.realpath(_root([one for one in functions if place_of_id(one.id) is None]))
        self.places = Places(self.root)
        self.sent = Sent(functions, copied, _imported(self.root) if copied else ())

    def documents(self, functions):
        """The `functions` and `resource_pools` of a request."""
        if not functions:
            return {"functions": [], "resource_pools": []}
        documents = function_documents(functions, self.places, project_modules(self.root))
        return {
            "functions": [self.sent.filled(document) for document in documents],
            "resource_pools": pool_documents(functions),
        }

    def digests(self, documents):
        """The digests of the project files that functions of modules use, by path. A hosted database has its own files."""
        paths = {path for one in documents if not self.sent.has(one["id"]) for path in one["uses"]}
        files = module_documents({os.path.join(self.root, path): path for path in paths})
        return {file["path"]: file["sha256"] for file in files} or None

    def runtime(self):
        """How the daemon runs the functions: this Python, from the root of the project."""
        return {
            "python": sys.executable,
            "python_source": "the program that uses the library",
            "project_root": self.root,
            "library_paths": _library_paths(import_folders() if self.sent else ()),
            "env": {name: value for name, value in os.environ.items() if name not in _OWN},
        }


def request_code(database, callers, lasts=True, copied=()):
    """The code of a request, for `(place, expression or None)` pairs: (Code, its part of the request).

    A hosted database gets the functions of the program before the request. `lasts`: a column may call them after it.
    `copied`: ids of functions of modules that it gets too. Raises Error for functions that cannot be sent.
    """
    functions = called_functions(callers, may_travel=True)
    code = Code(functions.values(), copied)
    documents = {**code.documents(functions), "runtime": code.runtime() if database.is_local else None}
    if not database.is_local:
        documents["digests"] = code.digests(documents["functions"])
    if not code.sent:
        return code, documents
    if database.is_local:
        return code, {**documents, "program": code.sent.document()}
    own = [code.sent.named(one) for one in documents["functions"] if code.sent.has(one["id"])]
    database.lease().keep(code.sent.modules(), own, lasts)
    return code, documents


def sent_with_code(database, callers, send):
    """The result of `send(copied)`, a query with `callers`, which is sent again with copies of the functions of modules
    if a hosted database does not know them, or has other files. Raises Error.
    """
    ids = {id for id in called_functions(callers, may_travel=True) if place_of_id(id) is None}
    known = database.copied & ids
    try:
        return send(known)
    except Error as error:
        if database.is_local or error.code not in ("function_missing", "project_files_differ") or known == ids:
            raise
        missing = error
    try:
        answer = send(ids)
    except Error as error:
        # Copying needs cloudpickle and a permission. A program without them gets the first error.
        raise missing if error.code in ("forbidden", "environment_failed") else error
    database.copied |= ids
    return answer


def _imported(root):
    """The imported modules of the project."""
    files = project_modules(root)
    found = []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and os.path.realpath(file) in files and module.__name__ != "__main__":
            found.append(module)
    return found


def _library_paths(more):
    import msgpack

    found = [os.path.dirname(LIBRARY_FOLDER.rstrip(os.sep)), os.path.dirname(os.path.dirname(msgpack.__file__)), *more]
    return list(dict.fromkeys(os.path.realpath(path) for path in found))


def _root(functions):
    """The folder from which the program imports the functions; without any, that of the project or the current one."""
    roots = {}
    for function in functions:
        module = sys.modules.get(function.owner.__module__)
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and not _is_installed(file):
            roots.setdefault(_import_folder(module.__name__, os.path.realpath(file)), function.owner)
    if len(roots) > 1:
        named = " and ".join(f"{owner.__module__} ({folder})" for folder, owner in roots.items())
        raise Error(
            f"The functions are in modules of several folders: {named}.",
            "Put them into one project, and start the program from its root.",
            "app_outside_project",
        )
    return next(iter(roots), None) or _project() or os.getcwd()


def _is_installed(file):
    parts = file.split(os.sep)
    return "site-packages" in parts or "dist-packages" in parts or file.startswith(LIBRARY_FOLDER)


def _import_folder(name, file):
    folder = os.path.dirname(file)
    levels = name.count(".") + (os.path.basename(file) == "__init__.py")
    for _ in range(levels):
        folder = os.path.dirname(folder)
    return folder


def _project():
    folder = os.getcwd()
    while True:
        if os.path.exists(os.path.join(folder, "service.toml")):
            return folder
        if _configures(os.path.join(folder, "pyproject.toml")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _configures(pyproject):
    import tomllib

    try:
        with open(pyproject, "rb") as file:
            return "service" in tomllib.load(file).get("tool", {})
    except (OSError, ValueError):
        return False
