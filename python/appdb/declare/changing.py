"""Constants that differ each time the file is read: `datetime.now()`, `random.random()`, `uuid.uuid4()`.

Each update would find another expression, and each service another table than declared. A constant that is not
written in a project file is doubtful. The project's modules are then read a second time and compared.
"""

import os
import sys

from appdb.declare.errors import AppFileError
from appdb.kinds import rules

_OTHERWISE = "Write the constant itself, or make the value in a function marked @udf, which runs for each row."
_IN_QUERY = "Make it a parameter of the query; for the time of a request use now() of appdb.functions."


def refuse_changing(document, root, read):
    """Raises AppFileError for a constant of the manifest that differs in a second `read()`."""
    texts = _texts(document, root)
    if all(_is_written(value, kind, texts) for place in _places(document) for kind, value in _literals(place[1])):
        return
    again = _read_again(document, root, read)
    if again is None or again["modules"] != document["modules"]:
        return
    later = {key: expr for key, expr, _, _ in _places(again)}
    for key, expr, source, name in _places(document):
        if key in later and later[key] != expr:
            raise _changes(name, source, expr, later[key], root)


def _read_again(document, root, read):
    """The manifest of a second reading; None if the modules cannot be read twice."""
    import contextlib  # Loaded when it is needed: most files are read once, and it takes two milliseconds.

    files = {os.path.join(root, module["path"]) for module in document["modules"]}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and os.path.realpath(file) in files:
            del sys.modules[name]
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        try:
            return read()
        except KeyboardInterrupt:
            raise
        except BaseException:  # Code that can run only once (a port, a registry): its declarations are already known.
            return None


def _places(document):
    """(key, expression, source, name for people) of everything that may contain constants."""
    for table in document["tables"]:
        for column in table["columns"]:
            for member in ("computed", "default"):
                if column.get(member) is not None:
                    key = (table["name"], column["name"], member)
                    yield key, column[member]["expr"], column["source"], f"Column '{column['name']}'"
    for query in document["queries"]:
        yield (query["id"],), query["query"], query["source"], f"The query {query['name']}"


def _literals(node):
    if isinstance(node, dict):
        if node.get("node") == "literal":
            yield node["type"]["kind"], node["value"]
        for part in node.values():
            yield from _literals(part)
    elif isinstance(node, list):
        for part in node:
            yield from _literals(part)


def _texts(document, root):
    found = []
    for module in document["modules"]:
        with open(os.path.join(root, module["path"]), encoding="utf-8", errors="replace") as file:
            found.append(file.read())
    return "\n".join(found)


def _is_written(value, kind, texts):
    """Whether a constant is written in the files, so that no second reading is needed."""
    return value is None or rules(kind).is_written(value, texts)


def _changes(name, source, first, second, root):
    for (kind, one), (_, other) in zip(_literals(first), _literals(second)):
        if one != other:
            break
    hint = _IN_QUERY if name.startswith("The query") else rules(kind).instead or _OTHERWISE
    return AppFileError(
        f"{name} has a constant that is another one each time the file is read: {one!r:.60}, then {other!r:.60}.",
        hint,
        (os.path.join(root, source["file"]), source["line"]),
    )
