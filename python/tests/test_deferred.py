"""Python 3.14 evaluates annotations late. These tests do the same on every version."""

import ast
import sys

import pytest

from appdb.declare import body as model_body
from appdb.declare import deferred
from appdb.declare.errors import AppFileError

HEAD = "import appdb as db\nfrom appdb.functions import upper\nBase = db.model_base()\n"


class Late(ast.NodeTransformer):
    """Transforms class bodies like the compiler of 3.14: annotations move to a function at the end of the body."""

    def visit_ClassDef(self, node):
        found = []
        node.body = self.taken(node.body, found) or [ast.Pass()]
        names = ast.Dict([ast.Constant(n.target.id) for n in found], [n.annotation for n in found])
        executed = "{name: value for name, value in all_of_them().items() if name in __executed__}"
        maker = ast.parse(
            f"def __annotate_func__(format, all_of_them=lambda: 0, __executed__=__executed__):\n    return {executed}"
        )
        maker.body[0].args.defaults[0] = ast.Lambda(ast.parse("lambda: 0", mode="eval").body.args, names)
        node.body = [*ast.parse("__executed__ = set()").body, *node.body, *maker.body]
        return node

    def taken(self, statements, found):
        kept = []
        for statement in statements:
            if isinstance(statement, ast.AnnAssign) and statement.value is None:
                found.append(statement)
                mark = ast.parse(f"__executed__.add({statement.target.id!r})").body
                kept.extend(ast.copy_location(node, statement) for node in mark)
            else:
                if isinstance(statement, ast.If):
                    statement.body = self.taken(statement.body, found)
                    statement.orelse = self.taken(statement.orelse, found)
                kept.append(statement)
        return kept


@pytest.fixture
def declare(tmp_path, monkeypatch):
    monkeypatch.setattr(model_body, "DEFERRED", True)

    def run(body, head=HEAD):
        path = tmp_path / "late.py"
        path.write_text(head + body)
        tree = ast.parse(head + body)
        if sys.version_info < (3, 14):
            tree = ast.fix_missing_locations(Late().visit(tree))
        scope = {"__name__": "late"}
        exec(compile(tree, str(path), "exec"), scope)
        return scope

    return run


def columns(model):
    return [
        (c.name, c.ref._kind, c.ref._nullable, None if c.value is None else c.value._text, c.source[1])
        for c in model.__appdb_table__.columns.values()
    ]


def test_annotated_names_are_columns_and_keep_their_order(declare):
    scope = declare(
        "class A(Base, name='a'):\n    first: db.Int\n    title: db.String | None\n    up = upper(title)\n    last: 'db.Float'\n"
    )
    assert columns(scope["A"]) == [
        ("first", "int", False, None, 5),
        ("title", "string", True, None, 6),
        ("up", "string", True, "upper(title)", 7),
        ("last", "float", False, None, 8),
    ]


def test_a_name_is_the_function_until_it_is_declared(declare):
    scope = declare(
        "class A(Base, name='a'):\n    s: db.String\n    x = upper(s)\n    upper: db.Int\n    y = upper + 1\n"
    )
    assert [c[3] for c in columns(scope["A"])] == [None, "upper(s)", None, "upper + 1"]


def test_a_later_column_is_not_yet_there(declare):
    with pytest.raises(NameError):
        declare("class A(Base, name='a'):\n    up = upper(title)\n    title: db.String\n")


def test_models_are_built_inside_functions_with_conditions(declare):
    scope = declare(
        "def build(wide, kind=db.Int):\n"
        "    class A(Base, name='a' if wide else 'b'):\n"
        "        n: kind\n"
        "        if wide:\n"
        "            m: db.Float\n"
        "            t = n + m\n"
        "    return A\n"
        "W = build(True)\nN = build(False)\n"
    )
    assert [c[0] for c in columns(scope["W"])] == ["n", "m", "t"]
    assert [c[0] for c in columns(scope["N"])] == ["n"]


def test_a_column_of_a_branch_that_was_not_taken_is_told(declare):
    with pytest.raises(AppFileError, match="'m'"):
        declare("class A(Base, name='a'):\n    n: db.Int\n    if False:\n        m: db.Int\n    t = n + m\n")


def test_wrong_types_are_told_with_their_line(declare):
    with pytest.raises(AppFileError, match="Python type int"):
        declare("class A(Base, name='a'):\n    n: int\n")
    with pytest.raises(AppFileError, match="'Strin'"):
        declare("class A(Base, name='a'):\n    n: 'Strin'\n")


def test_annotations_of_a_future_import_still_work(declare, monkeypatch):
    source = HEAD + "class A(Base, name='a'):\n    s: db.String\n    t = upper(s)\n"
    scope = {"__name__": "late"}
    exec(compile("from __future__ import annotations\n" + source, "no such file", "exec"), scope)
    assert [c[0] for c in columns(scope["A"])] == ["s", "t"]


def test_models_of_one_file_are_each_found_and_an_edited_file_is_read_anew(declare):
    first = declare("class A(Base, name='a'):\n    x: db.String\n    y = upper(x)\nclass B(Base, name='b'):\n    z: db.Int\n    w = z + 1\n")
    assert [list(first[name].__appdb_table__.columns) for name in "AB"] == [["x", "y"], ["z", "w"]]
    second = declare("class A(Base, name='a'):\n    other: db.String\n    y = upper(other)\n")
    assert list(second["A"].__appdb_table__.columns) == ["other", "y"]


def test_a_big_file_is_parsed_once_and_searched_little(declare, monkeypatch):
    parsed, seen = [], []
    parse, statements = deferred.parse, deferred.statements

    def noting(node):
        for found in statements(node):
            seen.append(found)
            yield found

    monkeypatch.setattr(deferred, "parse", lambda filename: parsed.append(filename) or parse(filename))
    monkeypatch.setattr(deferred, "statements", noting)
    models = 50
    declare(
        "".join(
            f"class M{n}(Base, name='m{n}'):\n    a: db.String\n    b: db.String\n    c = upper(a)\n    d = upper(b)\n"
            for n in range(models)
        )
    )
    assert len(parsed) == 1
    # A class is searched from the top of the file: less than half of its statements on average.
    assert models <= len(seen) <= models * models * 5
