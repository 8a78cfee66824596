"""Functions of the program itself, as a request sends them: by value, each under a name made from its content."""

import os
import sys
from base64 import b64encode
from io import BytesIO

from appdb._folder import LIBRARY_FOLDER
from appdb.appfile.sources import sha256_hex
from appdb.declare.errors import Error
from appdb.udfs.programs import PREFIX, of_pytest, place_of_id, without_token
from appdb.udfs.wrappers import reduced

#: Of one function with all that it uses.
_MOST_BYTES = 24_000_000


class Sent:
    """Functions of the program: their content, and the names that replace those of the program.

    `copied`: ids of functions of modules that are sent too, with all that they use of these modules of the project.
    """

    def __init__(self, functions, copied=(), modules=()):
        self._contents = {}  # By place, or by the id of a copied function.
        owners = {place: one.owner for one in functions for place in [place_of_id(one.id)] if place is not None}
        for place, owner in owners.items():
            self._contents[place] = _content(owner)
        for one in functions:
            if one.id in copied:
                self._contents[_whole(one.id)] = _content(one.owner, modules)
        self._digests = {place: sha256_hex(content) for place, content in self._contents.items()}

    def __bool__(self):
        return bool(self._contents)

    def document(self):
        """The `program` of a request."""
        modules = [b64encode(content).decode() for content in dict.fromkeys(self._contents.values())]
        return {"pid": os.getpid(), "modules": modules}

    def modules(self):
        """The contents by the names of their modules."""
        return {_module(self._digests[place]): content for place, content in self._contents.items()}

    def has(self, id):
        """Whether a function is sent."""
        return self._digest_of(id) is not None

    def filled(self, document):
        """The document of a function: with the digest of what is sent, and the name of its module for workers."""
        digest = self._digest_of(document["id"])
        return document if digest is None else {**document, "digest": digest, "module": _module(digest)}

    def _digest_of(self, id):
        return self._digests.get(place_of_id(id) or _whole(id))

    def named(self, value):
        """A document in which the functions have their names for workers."""
        if isinstance(value, str):
            digest = self._digest_of(value) if ":" in value else None
            return value if digest is None else f"{_module(digest)}:{value.partition(':')[2]}"
        if isinstance(value, dict):
            if value.get("node") == "literal":
                return value
            return {key: self.named(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.named(one) for one in value]
        return value


def _whole(id):
    """The id of a function without the number of an overload."""
    return id.partition("#")[0]


def _module(digest):
    return f"{PREFIX}{digest[:32]}"


def import_folders():
    """Folders from which the program imports its own modules, besides those of its Python."""
    prefixes = {os.path.realpath(prefix) + os.sep for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    found = []
    for entry in sys.path:
        path = os.path.realpath(entry or os.getcwd())
        installed = {"site-packages", "dist-packages"} & set(path.split(os.sep))
        if os.path.isdir(path) and not installed and not path.startswith(tuple(prefixes)):
            found.append(path)
    return found


def _content(owner, modules=()):
    name = owner.__name__
    # A program that runs again finds the functions of its columns.
    pickled = without_token(_pickled(owner, name, modules))
    content = b"appdb %d.%d\n" % sys.version_info[:2] + pickled
    if len(content) <= _MOST_BYTES:
        return content
    raise Error(
        f"{name} and the values that it uses have {len(content)} bytes; a worker takes {_MOST_BYTES}.",
        "Read the values from a file inside the function, or move both into a module of the project.",
        "request_too_large",
    )


def _pickled(owner, name, modules):
    cloudpickle = _cloudpickle(name)
    copied = [*modules, *(module for module in list(sys.modules.values()) if _is_of_tests(module))]
    for module in copied:
        cloudpickle.register_pickle_by_value(module)
    try:
        return _dumped(cloudpickle, (name, owner))
    except Exception as error:
        variable = _culprit(cloudpickle, owner)
        raise Error(
            f"{name} cannot be sent to a worker{variable}: {error}",
            "Make the value inside the function, or move both into a module of the project, for example functions.py.",
            "app_invalid",
        ) from error
    finally:
        for module in copied:
            cloudpickle.unregister_pickle_by_value(module)


def _dumped(cloudpickle, value):
    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, obj):
            found = reduced(obj, lambda value: _is_by_value(cloudpickle, value))
            return super().reducer_override(obj) if found is None else found

    with BytesIO() as file:
        Pickler(file).dump(value)
        return file.getvalue()


def _is_by_value(cloudpickle, value):
    """Whether a wrapper belongs to the program, and not to a module that a worker imports."""
    module = sys.modules.get(value.__module__)
    if module is None or value.__module__ in ("__main__", *cloudpickle.list_registry_pickle_by_value()):
        return True
    for name in value.__qualname__.split("."):
        module = getattr(module, name, None)
    return module is not value


def _cloudpickle(name):
    try:
        import cloudpickle
    except ImportError as error:
        raise Error(
            f"{name} is defined in this program, not in a module. To send it to a worker, appdb needs cloudpickle.",
            "Install it: pip install 'appdb[data]'. Or move the function into a module of the project.",
            "environment_failed",
        ) from error
    return cloudpickle


def _is_of_tests(module):
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and not file.startswith(LIBRARY_FOLDER) and of_pytest(module)


def _culprit(cloudpickle, owner):
    """Names the first value that a function uses and that cannot be pickled."""
    from appdb.udfs.code_text import named_values

    for name, value in named_values(owner):
        try:
            _dumped(cloudpickle, value)
        except Exception:
            return f", because it uses '{name}' ({type(value).__module__}.{type(value).__qualname__})"
    return ""
