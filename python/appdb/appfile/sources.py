"""Files of the project: their paths for people, the text of functions, digests."""

import os

from appdb.declare import deferred


class Places:
    """Converts file names to paths of the project, and finds a function's source text."""

    def __init__(self, root):
        self._root = root
        self._files = {}
        self._names = {}

    def of(self, source, module=None):
        name = self._name(source[0])
        if name is None:  # From an installed package: its module path. A manifest has no local paths.
            name = module.replace(".", "/") + ".py" if module else os.path.basename(source[0])
        return {"file": name, "line": source[1]}

    def _name(self, filename):
        """The file's path from the project's root; None if it is elsewhere. A big file has thousands of places."""
        if filename not in self._names:
            path = os.path.realpath(filename)
            inside = below(self._root, path)
            self._names[filename] = os.path.relpath(path, self._root).replace(os.sep, "/") if inside else None
        return self._names[filename]

    def source_text(self, written):
        """The lines of a function or class, including decorators; its bytecode and constants if it has no source."""
        file, line = first_line(written)
        lines, ends = self._parsed(file)[:2]
        last = ends.get(line)
        if last is None:
            return repr([_bytecode(code) for code in _codes(written)])
        return "\n".join(line.rstrip() for line in lines[line - 1 : last])

    def imported_names(self, filename, module):
        """Full names in a module's imports: modules, and possible modules inside them."""
        found = set()
        for node in self._parsed(filename)[2]:
            if type(node).__name__ == "Import":
                found.update(alias.name for alias in node.names)
                continue
            base = _imported_from(node, module, os.path.basename(filename) == "__init__.py")
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
        return found

    def _parsed(self, filename):
        """(lines, last line by first line of each def and class, imports)"""
        if filename not in self._files:
            ends, imports = {}, []
            tree = deferred.parse(filename)
            for node in deferred.statements(tree) if tree is not None else ():
                kind = type(node).__name__
                if kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
                    first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
                    ends[first] = node.end_lineno
                elif kind in ("Import", "ImportFrom"):
                    imports.append(node)
            lines = []
            if ends:
                with open(filename, encoding="utf-8", errors="surrogateescape", newline=None) as file:
                    lines = file.read().split("\n")
            self._files[filename] = (lines, ends, imports)
        return self._files[filename]


def first_line(written):
    """(file, line) of a function, or of a class with a known position (`source`)."""
    place = getattr(written, "source", None)
    if place is not None:
        return place
    code = written.__code__
    return code.co_filename, code.co_firstlineno


def _codes(written):
    if hasattr(written, "__code__"):
        return [written.__code__]
    return [member.__code__ for _, member in sorted(vars(written.made).items()) if hasattr(member, "__code__")]


def _bytecode(code):
    return code.co_code, code.co_names, [const for const in code.co_consts if not hasattr(const, "co_code")]


def _imported_from(node, module, is_package):
    """The absolute name of the module in `from ..pkg import x`."""
    if not node.level:
        return node.module
    package = module if is_package else module.rpartition(".")[0]
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    return f"{package}.{node.module}" if node.module and package else node.module or package


def below(folder, file):
    """True when a file lies inside a folder, links followed."""
    return isinstance(file, str) and os.path.realpath(file).startswith(folder.rstrip(os.sep) + os.sep)


def sha256_hex(data):
    """The SHA-256 of bytes, as hex."""
    try:
        from _sha2 import sha256  # The same function without loading OpenSSL, which takes longer than everything else.
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256
    return sha256(data).hexdigest()
