"""Only the modules of the kinds compare the kind of a value or route."""

import ast
from pathlib import Path

import pytest

from appdb.kinds import DISPLAY, rules

PACKAGE = Path(__file__).parent.parent / "appdb"
ROUTES = frozenset(path.stem for path in (PACKAGE / "routes").glob("[a-z]*.py"))
# Declarations about one kind: the kinds that an operator takes and gives.
OF_ONE = {
    "expressions/algebra.py": "operators and the kinds that they give",
    "declare/array_type.py": "dtypes of arrays, some of which are called as kinds are",
    "udfs/calls.py": "which kinds an argument of another kind becomes",
    "expressions/expr.py": "paths into Json values, and the signs of numbers",
    "http/handlers.py": "types of JSON Schema",
    "declare/indexes.py": "vectors are arrays, and made of texts and media",
    "declare/json_schema.py": "types of JSON Schema",
    "expressions/literals.py": "numbers within Json values",
    "udfs/overloads.py": "which of several functions is nearer",
    "expressions/operators.py": "operators over Json values",
    "expressions/paths.py": "paths into Json values",
    "queries/query.py": "a condition is a Bool, a bound an Int",
    "expressions/similarity.py": "what likeness is asked by",
    "client/cells.py": "an image is opened, other files are paths",
    "client/rows/csv_cells.py": "texts of CSV files",
    "client/rows/csv_types.py": "types that texts of CSV files look like",
    "client/rows/encoding.py": "whole Floats of data frames, for columns of Int",
    "client/rows/frames.py": "types of pandas and Arrow",
    "client/rows/inferring.py": "Ints and Floats in one column",
    "client/results.py": "images are shown in notebooks",
    "client/rows/sources.py": "whole Floats of spreadsheets, for columns of Int",
    "client/writing.py": "a condition is a Bool; texts of a response",
    "declare/views.py": "attributes of an iterator that are texts",
    "functions/__init__.py": "namespaces that are called as kinds are",
    "functions/_aggregates.py": "kinds that an aggregate takes",
    "functions/_methods.py": "namespaces of methods by kind",
    "functions/_results.py": "parts of Json results",
    "functions/lists.py": "elements of Json lists",
    "iterators/declared.py": "the text column of a splitter",
    "iterators/lists.py": "elements of Json lists",
    "iterators/reading.py": "values that are copied",
    "media/facts.py": "files with tracks",
    "media/writing.py": "containers of video and audio",
}
# A handler's calls of a model use the names of routes: `Items.insert(row)`.
VERBS_OF_MODELS = ("worker/asking.py", "http/handler_queries.py", "declare/model.py", "queries/other_verbs.py")


def named_kinds(source, kinds=DISPLAY):
    """Places in a source text that compare a kind with a kind's name, or list several."""

    def is_kind(node):
        return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in kinds

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and "kind" in ast.unparse(node):
            parts = [node.left, *node.comparators]
            parts += [item for part in parts if isinstance(part, (ast.Tuple, ast.List, ast.Set)) for item in part.elts]
            if any(is_kind(part) for part in parts):
                yield node
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)) and len(node.elts) > 1 and all(map(is_kind, node.elts)):
            yield node
        elif isinstance(node, ast.Dict) and sum(map(is_kind, node.keys)) > 2:
            yield node


def modules_outside(folder, exceptions):
    """The name and source text of each module of the library outside a folder, in folders of all depths."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(f"{folder}/") and name not in exceptions:
            yield name, path.read_text()


def test_all_folders_are_searched():
    names = {name for name, _ in modules_outside("kinds", ())}
    assert {"__init__.py", "client/tables.py", "media/documents/html_tokens.py"} <= names
    assert not [name for name in names if name.startswith("kinds/")]


@pytest.mark.parametrize(("exceptions", "kinds"), [(OF_ONE, DISPLAY), (VERBS_OF_MODELS, ROUTES)])
def test_each_exception_is_still_one(exceptions, kinds):
    assert [name for name in exceptions if not list(named_kinds((PACKAGE / name).read_text(), kinds))] == []


def test_only_the_modules_of_the_kinds_name_one():
    found = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, source in modules_outside("kinds", OF_ONE)
        for node in named_kinds(source)
    ]
    assert found == [], "Ask rules(kind) of appdb.kinds instead"


def test_only_the_modules_of_the_kinds_name_a_kind_of_route():
    found = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, source in modules_outside("routes", VERBS_OF_MODELS)
        for node in named_kinds(source, ROUTES)
    ]
    assert found == [], "Let the class of the route say it (appdb.routes)"


@pytest.mark.parametrize(
    "source",
    ['if route.kind != "handler": pass', 'STORED = ("insert", "update")', 'X = {"insert": 1, "compute": 2, "query": 3}'],
)
def test_a_named_kind_of_route_is_found(source):
    assert len(list(named_kinds(source, ROUTES))) == 1


@pytest.mark.parametrize(
    "source",
    ['if column.kind == "uuid": pass', 'NO_ORDER = ("json", "array")', 'X = {"int": 1, "float": 2, "bool": 3}'],
)
def test_a_named_kind_is_found(source):
    assert len(list(named_kinds(source))) == 1


@pytest.mark.parametrize("kind", DISPLAY)
def test_each_kind_has_rules_and_an_annotation(kind):
    import appdb

    assert getattr(appdb, DISPLAY[kind]).kind == kind
    assert set(rules(kind).casts) <= set(DISPLAY)
