"""Every construct of an expression: Python parses the printed form into the same expression."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project, environment

APP = Path(__file__).with_name("every_construct.py")

# Parses the printed columns with the file's names, and writes the resulting nodes.
AGAIN = """
import json, sys
import app
import appdb as db
import appdb.functions as fn
from appdb.declare.declaring import Phase
from appdb.expressions.expr import Expr, lift
from datetime import date, datetime
from uuid import UUID

class Timestamp(db.Timestamp):
    def __new__(cls, text):
        return datetime.fromisoformat(text)

class Date(db.Date):
    def __new__(cls, text):
        return date.fromisoformat(text)

class Uuid(db.UUID):
    def __new__(cls, text):
        return UUID(text)

names = {**fn.string.FUNCTIONS, **fn.uuid.FUNCTIONS, **{space: getattr(fn, space) for space in app.NAMESPACES if space != "string"}}
names.update({"abs": abs, "round": round, "map": fn.map, "filter": fn.filter, "sort": fn.sort, "mixed": app.mixed, "half": app.half, "risky": app.risky, "size": app.size})
names.update({"slug": app.slug, "str": str, "ascii": ascii, "repr": repr})
names.update({kind: getattr(db, kind) for kind in "String Int Float Bool Json".split()})
names.update({"Timestamp": Timestamp, "Date": Date, "UUID": Uuid})
columns = app.Every.__appdb_table__.columns
names.update({name: column.ref for name, column in columns.items() if name != "id"})
Phase.declaring += 1
nodes = {name: lift(eval(c.value._text, names))._node for name, c in columns.items() if c.value is not None}
json.dump(nodes, sys.stdout)
"""


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("every"))
    shutil.copy(APP, project.root / "app.py")
    return project


@pytest.fixture(scope="module")
def document(every):
    return every.manifest()


def computed(document):
    return {c["name"]: c["computed"] for c in document["tables"][0]["columns"] if c["computed"] is not None}


def test_what_is_printed_of_a_column_is_read_as_the_same_expression(every, document):
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, '.')\n{AGAIN}"],
        cwd=every.root,
        env=environment(),
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    nodes = json.loads(done.stdout)
    for name, column in computed(document).items():
        assert nodes[name] == column["expr"], column["text"]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # Python may warn about printed forms without parentheses.
def test_parentheses_stand_only_where_they_are_needed(document):
    import ast

    for column in computed(document).values():
        text = column["text"]
        tree = ast.dump(ast.parse(text, mode="eval"))
        for match in re.finditer(r"\(", text) if len(text) < 400 else ():
            end = closing(text, match.start())
            without = text[: match.start()] + text[match.start() + 1 : end] + text[end + 1 :]
            try:
                same = ast.dump(ast.parse(without, mode="eval")) == tree
            except SyntaxError:
                same = False
            assert not same, text


def closing(text, start):
    depth, at, quote = 0, start, None
    while True:
        letter = text[at]
        if quote is not None:
            at += letter == "\\"
            quote = None if text[at] == quote and letter != "\\" else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                return at
        at += 1


def test_the_same_file_gives_the_same_document_in_every_process(every, document):
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "appdb.manifest", "app.py"],
            cwd=every.root,
            env=environment(PYTHONHASHSEED=seed),
            capture_output=True,
            timeout=60,
        )
        assert json.loads(done.stdout) == document


def test_no_kind_of_node_is_forgotten(document):
    text = json.dumps(document)
    found = set(re.findall(r'"node": "(\w+)"', text))
    assert found == {"column", "literal", "call", "udf", "path", "dict", "list", "cell_error", "item"}
    operators = set(re.findall(r'"fn": "op\.(\w+)"', text))
    assert operators == set(
        "add sub mul truediv floordiv mod pow neg eq ne lt le gt ge and or not is_null is_not_null cast in abs round".split()
    )
