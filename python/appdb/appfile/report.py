"""Makes the error for an application file that cannot be read: file, line, source line, and what to write."""

import builtins
import os
import re

from appdb._folder import LIBRARY_FOLDER
from appdb._imports import load
from appdb._later import missing_module
from appdb.appfile.lacking import lacking_lines, package_of
from appdb.declare import deferred
from appdb.declare.errors import AppFileError, did_you_mean, nearest
from appdb.declare.packages import PackagesLacking
from appdb.worker.failures import is_of_environment


def error_document(error, root, app):
    """Returns the `error` part of the document for any error of importing the file."""
    if isinstance(error, PackagesLacking):
        source = error.source if error.source is not None else _place(error, root)
        detail, hint = _all_lacking(error.detail, error.lines, error.hint, source, root, app)
        return _document(error.code, detail, hint, source, root)
    if isinstance(error, AppFileError):
        source = error.source if error.source is not None else _place(error, root)
        return _document(error.code, error.detail, error.hint, source, root)
    if isinstance(error, SyntaxError) and error.filename:
        source = (error.filename, error.lineno or 1)
        if not _inside(root, error.filename):
            source = _place(error, root)
        return _document("app_invalid", f"Syntax error: {error.msg}.", "Correct the line.", source, root)
    source = _place(error, root)
    detail, hint = _worded(error, source, root, app)
    return _document("app_invalid", detail, hint, source, root)


def _worded(error, source, root, app):
    if isinstance(error, ModuleNotFoundError) and error.name:
        return _missing_module(error, source, root, app)
    if isinstance(error, ImportError):
        return _failed_import(error)
    if isinstance(error, NameError) and error.name:
        return _column_of_base(error) or _unknown_name(error, source)
    if isinstance(error, SystemExit):
        return (
            "The file ended the program (sys.exit) while it was read.",
            "Take the call out, or put it under `if __name__ == '__main__':`.",
        )
    if is_of_environment(error):
        return (
            f"The environment variable {_text(error)} is not set, and is read while the file is.",
            f"Set it, for a hosted database by: cli secret set <db_uri> {str(error.args[0])[:100]}=<value>; or read it in "
            "the function that needs it.",
        )
    if isinstance(error, (TypeError, AttributeError)):
        from appdb.appfile.misuse import reworded

        own = reworded(error)
        if own is not None:
            return own
    detail = f"{type(error).__name__} while the file was read: {_text(error)}"
    return detail, "Correct the line; code that must not run at import belongs into functions."


# Python's message for a missing name of a library module; it drops the module's own message.
_OUR_NAME = re.compile(r"cannot import name '(\w+)' from '(appdb(?:\.\w+)*)'")


def _failed_import(error):
    # Python adds the path of the module's file, which is private.
    text = _text(error).replace(f" ({error.path})", "") if error.path else _text(error)
    ours = _OUR_NAME.match(text)
    if ours is not None:
        try:
            getattr(load(ours[2]), ours[1])
        except AppFileError as own:
            return own.detail, own.hint
    if "circular import" in text:
        return f"Modules import each other in a circle: {text}.", "Move what both need into a third module."
    return f"An import failed: {text}.", "Check the name, and that the package's version has it."


def _missing_module(error, source, root, app):
    name = error.name
    if name.startswith("appdb."):
        own = missing_module(name)
        return own.detail, own.hint
    detail = f"The module '{name}' is not there."
    if source and _inside(root, source[0]):
        folder = os.path.dirname(os.path.realpath(source[0]))
        neighbour = os.path.join(folder, *name.split("."))
        if folder != root and (os.path.isfile(neighbour + ".py") or os.path.isdir(neighbour)):
            path = os.path.relpath(neighbour, root).replace(os.sep, ".")
            return detail, f"Imports start at the project's root: import {path}"
    line = package_of(name.split(".")[0])
    hint = f"Add '{re.split('[<>=]', line)[0]}' to the project's requirements, or correct the import."
    return _all_lacking(detail, [line], hint, source, root, app)


def _all_lacking(detail, lines, hint, source, root, app):
    """Detail and hint with all other packages that the file needs, so that no next try names another one."""
    files = dict.fromkeys(os.path.realpath(path) for path in (os.path.join(root, app or ""), *(source or ())[:1]))
    found = [line for path in files if _inside(root, path) for line in lacking_lines(path, root)]
    others = [line for line in dict.fromkeys(found) if line not in lines]
    if not others:
        return detail, hint
    hint = f"Add to requirements.txt: {' and '.join([*lines, *others])}"
    return f"{detail} The file also needs {' and '.join(others)}.", hint


def _column_of_base(error):
    """(detail, hint) for the name of a base's column alone in the body of a view; else None."""
    table = getattr(_innermost(error).tb_frame.f_locals, "table", None)
    for below in table.view.lineage if getattr(table, "view", None) is not None else ():
        if error.name in below.columns:
            return (
                f"'{error.name}' is a column of {below.model}; the body of a view names its own columns only.",
                f"Write {below.model}.{error.name}",
            )
    return None


def _unknown_name(error, source):
    name = error.name
    hint = f"Import or define '{name}' above this line."
    home = _library_home(name)
    if source:
        later, known = _class_names(source, name)
        if later is not None:
            return (
                f"'{name}' is read before it is declared: it is declared later, on line {later}.",
                f"Move the declaration of '{name}' above line {source[1]}; a column reads earlier ones only.",
            )
        if name in known:
            return (
                f"'{name}' is a column of this class; a comprehension, a lambda or a def inside the class does not see it.",
                f"Write the values out, or make them in a function of the module that is given {name}.",
            )
        if home is not None:
            return f"The name '{name}' is not imported.", f"Add: from {home} import {name}"
        near = nearest(name, [*known, *_global_names(error)])
        # Builtin names are near to nearly everything.
        if near in dir(builtins) and near not in known and near[:1] != name[:1]:
            near = None
        if known or near:
            return f"No column or name '{name}' here.", did_you_mean(name, [near] if near else (), hint)
    if home is not None:
        return f"The name '{name}' is not imported.", f"Add: from {home} import {name}"
    return f"The name '{name}' is not defined.", hint


def _library_home(name):
    """The library module with this name, for a file without its import."""
    for home in ("appdb", "appdb.functions", "appdb.serving"):
        try:
            getattr(load(home), name)
        except (AppFileError, AttributeError):
            continue
        return home
    return None


def _class_names(source, name):
    """For a line inside a class: the later line that declares `name`, and the names declared above."""
    tree = deferred.parse(source[0])
    best = None
    for node in deferred.walk(tree) if tree is not None else ():
        if type(node).__name__ == "ClassDef" and node.lineno <= source[1] <= node.end_lineno:
            best = node
    later, known = None, []
    for node in deferred.walk(best) if best is not None else ():
        targets = [node.target] if type(node).__name__ == "AnnAssign" else getattr(node, "targets", [])
        for target in targets:
            if type(target).__name__ == "Name":
                if target.id == name and target.lineno > source[1] and later is None:
                    later = target.lineno
                elif target.lineno < source[1]:
                    known.append(target.id)
    return later, known


def _global_names(error):
    return [name for name in _innermost(error).tb_frame.f_globals if not name.startswith("_")]


def _innermost(error):
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _builtin_names():
    return [name for name in dir(builtins) if not name.startswith("_")]


def _place(error, root):
    """The innermost line of the project that led to the error."""
    found, trace = None, error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if _inside(root, filename) and not _ours(filename):
            found = (filename, trace.tb_lineno)
        trace = trace.tb_next
    return found


def _inside(root, filename):
    if filename.startswith("<"):  # "<frozen os>" is not a file, and would look like one in the current folder.
        return False
    path = os.path.realpath(filename)
    parts = path.split(os.sep)
    return path.startswith(root + os.sep) and "site-packages" not in parts and "dist-packages" not in parts


def _ours(filename):
    return os.path.realpath(filename).startswith(os.path.realpath(LIBRARY_FOLDER) + os.sep)


def _document(code, detail, hint, source, root):
    document = {"code": code, "detail": detail, "hint": hint, "source": None, "written": None}
    if source:
        path = os.path.realpath(source[0])
        relative = os.path.relpath(path, root).replace(os.sep, "/") if _inside(root, path) else os.path.basename(path)
        document["source"] = {"file": relative, "line": source[1]}
        document["written"] = _line(path, source[1])
    return document


def _line(path, number):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
    except OSError:
        return None
    return lines[number - 1].strip()[:500] if 0 < number <= len(lines) else None


def _text(error):
    try:
        text = str(error)
    except Exception:  # An exception class of the application whose __str__ fails.
        text = "(its text cannot be printed)"
    return text[:2000].encode("utf-8", "backslashreplace").decode()
