"""All packages that a file needs and the environment lacks. The first missing one ends its reading."""

import ast
import os
import sys
from importlib.machinery import PathFinder

from appdb._folder import LIBRARY_FOLDER
from appdb._imports import load
from appdb.declare.packages import LINES_BY_MODULE, line_of, is_there

# Packages whose name differs from that of their module.
_NAMES = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


def package_of(module):
    """The line of requirements.txt for a module: the package's name, with the version that the library needs."""
    return LINES_BY_MODULE.get(module, _NAMES.get(module, module))


def lacking_lines(path, root):
    """The lines of requirements.txt for all that a file imports, and its types and functions need, in its order."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return []
    reading = _Reading(root)
    reading.visit(tree)
    return list(dict.fromkeys([*reading.lines, *reading.lines_of_functions()]))


class _Reading(ast.NodeVisitor):
    """What a file needs, without what it tries or imports for type checkers."""

    def __init__(self, root):
        self.root = root
        self.lines = []
        self._library = set()  # Names of the library in the file: appdb, db.
        self._attributes = set()
        self._kinds = set()

    def visit_Try(self, node):
        """An import that the file tries is not needed."""
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_If(self, node):
        """Imports for type checkers are not needed."""
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self.generic_visit(node)

    def visit_Import(self, node):
        """Notes missing modules and the names of the library."""
        for alias in node.names:
            if alias.name == "appdb":
                self._library.add(alias.asname or alias.name)
            self._need_module(alias.name)

    def visit_ImportFrom(self, node):
        """Notes a missing module, and types of the library."""
        if node.level > 0 or node.module is None:
            return
        self._need_module(node.module)
        if node.module == "appdb":
            for alias in node.names:
                self._need_type(alias.name)

    def visit_Attribute(self, node):
        """Notes types of the library, and names that may be functions."""
        self._attributes.add(node.attr)
        if isinstance(node.value, ast.Name) and node.value.id in self._library:
            self._need_type(node.attr)
        self.generic_visit(node)

    def lines_of_functions(self):
        """The lines for functions of the file's media that need more than their type."""
        for kind in sorted(self._kinds):
            found = vars(load(f"appdb.functions.{kind}"))
            for name in sorted(self._attributes & found.keys()):
                self._need_packages(getattr(found[name], "needs", ()))
        return self.lines

    def _need_type(self, name):
        import appdb

        type = getattr(appdb, name, None)
        self._need_packages(getattr(type, "needs", ()))
        functions = os.path.join(LIBRARY_FOLDER, "functions", f"{name.lower()}.py")
        if name[:1].isupper() and os.path.isfile(functions):
            self._kinds.add(name.lower())

    def _need_packages(self, packages):
        self.lines.extend(line_of(name) for name in packages if not is_there(name))

    def _need_module(self, name):
        module = name.partition(".")[0]
        beside = os.path.join(self.root, module)
        if module in sys.stdlib_module_names or sys.modules.get(module) is not None:
            return
        if os.path.isfile(beside + ".py") or os.path.isdir(beside) or PathFinder.find_spec(module) is not None:
            return
        self.lines.append(package_of(module))
