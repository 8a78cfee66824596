"""Every mistake in an application file is reported with file, line, source line and what to write instead."""

import pytest
from conftest import HEAD

MODEL = "class A(Base, name='a'):\n    n: db.Int\n    s: db.String\n    opt: db.String | None\n    up = upper(s)\n"


def check(error, line, *words):
    assert error["code"] == "app_invalid", error
    told = error["detail"] + " " + error["hint"]
    for word in words:
        assert word in told, (word, error)
    lines = error["written"]
    assert error["source"]["file"] == "app.py"
    assert line in (lines or ""), error


CASES = {
    "a snapshot": ("x = db.create_snapshot('a', 'b')\n", "create_snapshot", ["not keep versions", "Branches", "point-in-time restore"]),
    "versions of a table": (MODEL + "x = A.get_versions()\n", "A.get_versions", ["A.get_versions", "not keep versions", "restore"]),
    "going back a version": (MODEL + "A.revert()\n", "A.revert", ["not keep versions", "restore"]),
    "a past version by its number": ("x = db.get_table('a:3')\n", "get_table('a:3')", ["'a:3'", "not keep versions", "point-in-time restore"]),
    "a table by its path": ("x = db.get_table('a')\n", "get_table('a')", ["appdb.get_table is not supported"]),
    "an iterator that is a number": (
        MODEL + "class V(Base, name='v', base=A, iterator=1):\n    m = 1\n",
        "class V(Base, name='v', base=A, iterator=1):",
        ["iterator= of the model V is 1, not a call of an iterator over columns", "string_splitter(Docs.body"],
    ),
    "an output of an iterator that a view declares": (
        "from appdb.functions.string import string_splitter\n"
        + MODEL
        + "class V(Base, name='v', base=A, iterator=string_splitter(A.s, 'sentence')):\n    text = A.up\n",
        "text = A.up",
        ["Column 'text' is an output of the iterator already", "another name"],
    ),
    "a column of the base that a view declares": (
        MODEL + "class V(Base, name='v', base=A):\n    n = upper(A.s)\n",
        "n = upper(A.s)",
        ["Column 'n' is a column of A already"],
    ),
    "two columns that had one name": (
        "class A(Base, name='a'):\n    x = db.Column(db.Int, renamed_from='n')\n    y = db.Column(db.Int, renamed_from='N')\n",
        "y = db.Column", ["renamed_from='n'", "'x'", "'y'"]
    ),
    "two tables that had one name": (
        "class A(Base, name='a', renamed_from='n'):\n    x: db.Int\nclass B(Base, name='b', renamed_from='n'):\n    x: db.Int\n",
        "class B", ["renamed_from='n'", "'a'", "'b'"]
    ),
    "a column that had its own name": (
        "class A(Base, name='a'):\n    x = db.Column(db.Int, renamed_from='X')\n", "x = db.Column", ["own name"]
    ),
    "a table that had its own name": (
        "class A(Base, name='a', renamed_from='A'):\n    x: db.Int\n", "class A", ["own name"]
    ),
    "a former name that no column can have": (
        "class A(Base, name='a'):\n    x = db.Column(db.Int, renamed_from='two words')\n", "x = db.Column", ["two words"]
    ),
    "a syntax error": ("class A(Base, name='a':\n    n: db.Int\n", "class A(Base", ["Syntax error"]),
    "an import of a package that is not there": ("import no_such_thing.sub\n", "import no_such", ["'no_such_thing'", "requirements"]),
    "an import of a package of another name": ("import sklearn.svm\n", "import sklearn", ["'sklearn'", "'scikit-learn'"]),
    "an import of a name that is not there": ("from os import no_such\n", "from os import", ["no_such"]),
    "a variable of the environment that is not set": (
        "import os\nx = os.environ['NO_SUCH_TOKEN']\n", "x = os.environ", ["'NO_SUCH_TOKEN'", "cli secret set <db_uri> NO_SUCH_TOKEN="]
    ),
    "an exception inside the standard library": (
        "import os\nx = os.getenv(5)\n", "x = os.getenv(5)", ["TypeError"]
    ),
    "an exception": ("x = 1 / 0\n", "x = 1 / 0", ["ZeroDivisionError"]),
    "a program that ends itself": ("import sys\nsys.exit(3)\n", "sys.exit(3)", ["sys.exit"]),
    "an unknown column": (
        "class A(Base, name='a'):\n    title: db.String\n    up = upper(titel)\n", "up = upper(titel)", ["'titel'", "'title'"]
    ),
    "an unknown name outside of a model": ("rooter = Ruter()\n", "Ruter()", ["'Ruter'", "'Router'"]),
    "a column that reads a later one": (
        "class A(Base, name='a'):\n    up = upper(title)\n    title: db.String\n",
        "up = upper(title)",
        ["'title'", "declared later, on line 10", "Move the declaration"],
    ),
    "a Python type": ("class A(Base, name='a'):\n    x: int\n", "x: int", ["Python type int", "x: db.Int"]),
    "a Python type that may be null": ("class A(Base, name='a'):\n    x: str | None\n", "x: str", ["x: db.String | None"]),
    "a type that is none": ("class A(Base, name='a'):\n    x: object\n", "x: object", ["object", "String"]),
    "an unknown type": ("class A(Base, name='a'):\n    x: db.Strin\n", "x: db.Strin", ["'Strin'", "'String'"]),
    "two tables of one name": (
        "class A(Base, name='a'):\n    n: db.Int\nclass B(Base, name='A'):\n    n: db.Int\n", "class B", ["'a'", "line 8", "B"]
    ),
    "two services of one name": (
        MODEL + "r = Router(name='x')\nx = Router()\n", "x = Router()", ["'x'", "lines 13 and 14"]
    ),
    "a column name with an underscore in front": ("class A(Base, name='a'):\n    _row: db.Int\n", "_row: db.Int", ["_row", "underscore"]),
    "a helper name with an underscore in front": ("class A(Base, name='a'):\n    n: db.Int\n    _errors = n\n", "_errors = n", ["_errors"]),
    "a name that PostgreSQL keeps": ("class A(Base, name='a'):\n    ctid: db.Int\n", "ctid: db.Int", ["PostgreSQL"]),
    "a word of Python": ("class A(Base, name='a'):\n    Class: db.Int\n", "Class: db.Int", ["Class", "Python"]),
    "a column name that is too long": (
        f"class A(Base, name='a'):\n    {'x' * 64}: db.Int\n", "xxx", ["64 bytes", "63"]
    ),
    "a primary key that is an array": (
        "class A(Base, name='a'):\n    v = db.Column(type=db.Array[(3,), db.Float], primary_key=True)\n",
        "v = db.Column",
        ["Array", "cannot be a primary key"],
    ),
    "a primary key of bytes": (
        "class A(Base, name='a'):\n    v = db.Column(type=db.Binary, primary_key=True)\n",
        "v = db.Column",
        ["Binary", "cannot be a primary key"],
    ),
    "an index on an array": (
        "class A(Base, name='a'):\n    v: db.Array[db.Float]\n    __indexes__ = [db.BtreeIndex(v)]\n",
        "__indexes__",
        ["Array", "B-tree index does not help"],
    ),
    "an index on bytes": (
        "class A(Base, name='a'):\n    v: db.Binary\n    __indexes__ = [db.BtreeIndex(v)]\n",
        "__indexes__",
        ["Binary", "B-tree index does not help"],
    ),
    "an index on images": (
        "class A(Base, name='a'):\n    v: db.Image\n    __indexes__ = [db.BtreeIndex(v)]\n",
        "__indexes__",
        ["Image", "B-tree index does not help"],
    ),
    "a default of an image": (
        "class A(Base, name='a'):\n    v = db.Column(type=db.Image, default='https://example.com/a.png')\n",
        "v = db.Column",
        ["Column 'v' is Image, which has no default.", "db.Image | None"],
    ),
    "a destination of a number": (
        "class A(Base, name='a'):\n    n: db.Int\n    x = db.Column(value=n, destination='s3://bucket')\n",
        "x = db.Column",
        ["destination="],
    ),
    "a list of images": (
        "class A(Base, name='a'):\n    v: db.Image\n@db.query\ndef q():\n    return A.select(vs=fn.make_list(A.v))\n",
        "fn.make_list(A.v)",
        ["make_list() cannot list files; v is Image."],
    ),
    "arrays that are compared": (
        "class A(Base, name='a'):\n    v: db.Array[db.Float]\n    w = v == v\n",
        "w = v",
        ["'==' does not work on Array[float32]"],
    ),
    "an array for a parameter of another shape": (
        "@db.udf\ndef f(v: db.Array[(3,), db.Float]) -> int:\n    return 1\n"
        "class A(Base, name='a'):\n    v: db.Array[(4,), db.Float]\n    w = f(v)\n",
        "w = f(v)",
        ["takes Array[(3,), float32] for 'v'", "is Array[(4,), float32]"],
    ),
    "a constant that is not an array of the parameter": (
        "@db.udf\ndef f(v: db.Array[(3,), db.Float]) -> int:\n    return 1\n"
        "class A(Base, name='a'):\n    w = f([1, 2])\n",
        "w = f(",
        ["The constant is not a valid Array[(3,), float32]", "shape (3,), got shape (2,)"],
    ),
    "a table name that is too long": (f"class A(Base, name='{'x' * 64}'):\n    n: db.Int\n", "class A", ["64 bytes"]),
    "a column name that is not English letters": ("class A(Base, name='a'):\n    größe: db.Int\n", "größe", ["größe"]),
    "a table name with a dot": ("class A(Base, name='a.b'):\n    n: db.Int\n", "class A", ["a.b"]),
    "a table without a name": ("class Docs(Base):\n    n: db.Int\n", "class Docs", ['name="docs"']),
    "an unknown keyword of a model": ("class A(Base, name='a', coment='x'):\n    n: db.Int\n", "class A", ["'coment'", "'comment'"]),
    "a model without columns": ("class A(Base, name='a'):\n    pass\n", "class A", ["no column"]),
    "a model that extends a model": (MODEL + "class B(A, name='b'):\n    n: db.Int\n", "class B", ["extends"]),
    "two columns of one name": ("class A(Base, name='a'):\n    n: db.Int\n    N: db.Float\n", "N: db.Float", ["twice", "line 9"]),
    "a type and a value": ("class A(Base, name='a'):\n    n: db.Int = 5\n", "n: db.Int = 5", ["type behind a colon"]),
    "a type and a Column": (
        "class A(Base, name='a'):\n    n: db.Int = db.Column(primary_key=True)\n", "n: db.Int = db.Column", ["type= or value="]
    ),
    "a column that is None": ("class A(Base, name='a'):\n    n = None\n", "n = None", ["n: db.String | None"]),
    "a type in the place of a value": ("class A(Base, name='a'):\n    n = db.Int\n", "n = db.Int", ["type"]),
    "a function that is not called": ("class A(Base, name='a'):\n    n: db.String\n    m = upper\n", "m = upper", ["upper(...)"]),
    "a method in a model": ("class A(Base, name='a'):\n    n: db.Int\n    def f(self):\n        pass\n", "def f(self)", ["f"]),
    "a type that is called": ("class A(Base, name='a'):\n    n: db.Int()\n", "n: db.Int()", ["without brackets"]),
    "a key that may be null": (
        "class A(Base, name='a'):\n    n = db.Column(type=db.Int | None, primary_key=True)\n", "primary_key=True", ["null"]
    ),
    "a key that is Json": ("class A(Base, name='a'):\n    n = db.Column(type=db.Json, primary_key=True)\n", "db.Json", ["Json"]),
    "an unknown option of a column": ("class A(Base, name='a'):\n    n = db.Column(db.Int, primary=True)\n", "primary=True", ["'primary'", "'primary_key'"]),
    "text plus a number": (MODEL + "    x = s + 1\n", "x = s + 1", ["String and Int", "s + 1"]),
    "a comparison of text with a number": (MODEL + "    x = s == 1\n", "x = s == 1", ["String and Int"]),
    "a Json value beside text": ("class A(Base, name='a'):\n    d: db.Json\n    x = d.a + 'x'\n", "x = d.a + 'x'", [".astype(db.Int)"]),
    "the order of two Json values": ("class A(Base, name='a'):\n    d: db.Json\n    x = d.a < d.b\n", "x = d.a < d.b", ["Json: d.a < d.b", ".astype(db.Int)"]),
    "& without parentheses": (MODEL + "    x = n > 1 & n < 3\n", "x = n > 1", ["parentheses"]),
    "and in place of &": (MODEL + "    x = (n > 1) and (n < 3)\n", "x = (n > 1) and", ["& | ~"]),
    "an if over a column": (MODEL + "    if n > 1:\n        y = 1\n", "if n > 1", ["truth value", "where(...)", "`if`", "@udf"]),
    "an if in a query": (
        MODEL + "@db.query\ndef q(k: int):\n    if A.n > k:\n        return A.select(A.n)\n", "if A.n > k:", ["where(...)"]
    ),
    "an if with and": (MODEL + "    if n > 1 and n < 3:\n        y = 1\n", "if n > 1 and", ["& | ~"]),
    "a misspelt __indexes__": (MODEL + "    __index__ = [db.BtreeIndex(n)]\n", "__index__ =", ["Write __indexes__"]),
    "another spelling of __indexes__": (MODEL + "    __indices__ = []\n", "__indices__ =", ["Write __indexes__"]),
    "indexes without underscores": (MODEL + "    indexes = [db.BtreeIndex(n)]\n", "indexes =", ["'indexes'", "Write __indexes__"]),
    "an index as a column": (MODEL + "    i = db.BtreeIndex(n)\n", "i = db.BtreeIndex", ["'i'", "Write __indexes__"]),
    "__tablename__": (
        "class A(Base, name='a'):\n    __tablename__ = 'docs'\n    n: db.Int\n", "__tablename__", ['Write class A(Base, name="docs"):']
    ),
    "__table_args__": (MODEL + "    __table_args__ = {}\n", "__table_args__ =", ["no meaning", "Remove it"]),
    "an f-string over a column": (MODEL + "    x = f'{s}!'\n", "x = f'{s}!'", ["f-string", "format"]),
    "str() of a column": (MODEL + "    x = str(n)\n", "x = str(n)", ["str()", "n.astype(db.String)"]),
    "%-formatting of a column": (MODEL + "    x = 'no. %s' % n\n", "x = 'no.", ["'%s'", "format"]),
    "is None beside a column": (MODEL + "    x = opt is None\n", "x = opt is None", ["'opt is None'", "constant False", "opt == None"]),
    "is not None inside an argument": (
        MODEL + "    x = fn.upper(s) == 'A'\n    y = (opt is not None) | (n > 1)\n", "y = (opt is not", ["constant True", "opt != None"]
    ),
    "is None in a query": (
        MODEL + "@db.query\ndef q(k: int):\n    return A.where((A.n > k) & (A.opt is None)).select(A.n)\n",
        "return A.where", ["'A.opt is None'", "A.opt == None"]
    ),
    "len() of a column": (MODEL + "    x = len(s)\n", "x = len(s)", [".len()"]),
    "in over a column": (MODEL + "    x = 'a' in s\n", "x = 'a' in s", [".contains"]),
    "a loop over a column": (MODEL + "    x = list(s)\n", "x = list(s)", ["looped"]),
    "a method that is none": (MODEL + "    x = s.uper()\n", "x = s.uper()", ["'uper'", "'upper'"]),
    "a constant beyond 64 bits": (MODEL + "    x = n + 9223372036854775808\n", "x = n +", ["9223372036854775808"]),
    "a constant that is not finite": (MODEL + "    x = n + float('inf')\n", "x = n +", ["inf"]),
    "a cast that cannot be": (MODEL + "    x = n.astype(db.UUID)\n", "x = n.astype", ["Int", "UUID"]),
    "a column of another model": (
        MODEL + "class B(Base, name='b'):\n    m: db.Int\n    x = m + A.n\n", "x = m + A.n", ["'n'", "another model"]
    ),
    "a wrong argument": (MODEL + "    x = upper(n)\n", "x = upper(n)", ["String", "Int", "astype"]),
    "a missing argument": (MODEL + "    x = s.replace('a')\n", "x = s.replace", ["'repl'"]),
    "too many arguments": (MODEL + "    x = upper(s, s)\n", "x = upper(s, s)", ["1 positional", "2 are given"]),
    "an unknown argument": (MODEL + "    x = s.find('a', form=1)\n", "x = s.find", ["'form'"]),
    "an argument given twice": (MODEL + "    x = s.find('a', substr='b')\n", "x = s.find", ["twice"]),
    "None for a parameter that takes none": (MODEL + "    x = s.find(None)\n", "x = s.find", ["None", "'substr'"]),
    "an unknown function": ("x = fn.uppr\n", "fn.uppr", ["'uppr'", "'upper'"]),
    "an unknown name of the library": ("x = db.Colum\n", "db.Colum", ["'Colum'", "'Column'"]),
    "an index of no column": (MODEL + "    __indexes__ = [db.BtreeIndex('m')]\n", "BtreeIndex('m')", ["'m'"]),
    "an index on Json": ("class A(Base, name='a'):\n    d: db.Json\n    __indexes__ = [db.BtreeIndex(d)]\n", "BtreeIndex(d)", ["Json"]),
    "an index of an expression": (MODEL + "    __indexes__ = [db.BtreeIndex(n + 1)]\n", "BtreeIndex(n + 1)", ["computed column"]),
    "two indexes on one column": (
        MODEL + "    __indexes__ = [db.BtreeIndex(n),\n      db.BtreeIndex(n)]\n", "db.BtreeIndex(n)", ["Two indexes"]
    ),
    "an index beside the default ones": (
        "class A(Base, name='a', has_default_idxs=True):\n    n: db.Int\n    __indexes__ = [db.BtreeIndex(n)]\n", "BtreeIndex(n)", ["has_default_idxs"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_told_clearly(project, name):
    source, line, words = CASES[name]
    check(project.error(source), line, *words)


ROUTES = {
    "a required column that is not an input": ("path='/a', inputs=[A.n]", ["'s'", "inputs"]),
    "an unknown input": ("path='/a', inputs=['n', 'ss']", ["'ss'", "'s'"]),
    "an unknown output": ("path='/a', outputs=['m']", ["'m'"]),
    "a computed input": ("path='/a', inputs=['n', 's', A.up]", ["'up'", "computed"]),
    "an input named twice": ("path='/a', inputs=['n', 's', A.n]", ["'n' twice"]),
    "an output that is an expression": ("path='/a', outputs=[A.n + 1]", ["n + 1"]),
    "inputs that are one text": ("path='/a', inputs='n'", ["list"]),
    "a column of another model": ("path='/a', outputs=[B.m]", ["B", "'m'"]),
    "a path without a slash": ("path='a'", ["'/a'"]),
    "no path": ("", ["no path"]),
    "a path with a parameter": ("path='/a/{n}'", ["parameter"]),
    "a path with a space": ("path='/a b'", ["' '"]),
    "a path that ends with a slash": ("path='/a/'", ["slash"]),
    "a path of the service": ("path='/health'", ["/health"]),
    "the path of the description": ("path='/openapi.json'", ["/openapi.json"]),
    "an unknown option": ("path='/a', input=[A.n]", ["'input'", "'inputs'"]),
    "a background of another type": ("path='/a', background=3", ["background", "not 3", "Background(attempts=3"]),
    "an upload": ("path='/a', uploadfile_inputs=[A.n]", ["uploadfile_inputs", "which is Int"]),
}


@pytest.mark.parametrize("name", ROUTES)
def test_a_route_is_refused_for(project, name):
    arguments, words = ROUTES[name]
    source = MODEL + f"class B(Base, name='b'):\n    m: db.Int\nr = Router()\nr.add_insert_route(A, {arguments})\n"
    check(project.error(source), "r.add_insert_route", *words)


def test_a_compute_route_needs_only_what_its_outputs_read(project):
    route = "r = Router()\nr.add_compute_route(A, path='/a', inputs=[A.n], outputs=[{}])\n"
    project.manifest(MODEL + route.format("A.n"))
    check(project.error(MODEL + route.format("A.up")), "add_compute_route", "'s'", "computed from")


def test_one_path_is_served_once(project):
    route = "r.add_compute_route(A, path='/b')\n"
    error = project.error(MODEL + "r = Router(prefix='/a')\nr.add_insert_route(A, path='/b')\n" + route)
    check(error, "add_compute_route", "/a/b", "line 14")


def test_a_person_may_serve_docs(project):
    project.manifest(MODEL + "r = Router()\nr.add_insert_route(A, path='/docs')\n")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("r = Router('1x')", ["1x"]),
        ("_r = Router()", ["_r", 'name="ingest"']),
        ("r = Router(prefix='v1')", ["'/v1'"]),
        ("r = Router(prefix='/v1/')", ["'/v1'"]),
        ("r = Router(tag=['x'])", ["'tags'"]),
        ("r = Router(); r.add_insert_route(Base, path='/a')", ["base"]),
        ("r = Router(); r.add_insert_route('a', path='/a')", ["str"]),
        ("r = Router(); r.add_query_route(path='/a')", ["names no query", "query=newest"]),
    ],
)
def test_a_router_is_refused(project, written, words):
    told = project.error(MODEL + written + "\n")
    check(told, written.split("\n")[0], *words)


LATER = [
    "class V(Base, name='v'):\n    x: bytes\n",
    "v = db.ConfigVar('bucket', str)\n",
    "from appdb.functions import openai\n",
    "t = db.get_table('a')\n",
]


@pytest.mark.parametrize("source", LATER)
def test_what_comes_later_is_refused_by_name(project, source):
    error = project.error(MODEL + source)
    assert error["code"] == "app_invalid"
    assert "not supported yet" in error["detail"] or "Python type bytes" in error["detail"], error
    assert error["source"]["line"] > 12


UDFS = {
    "a lambda": ("f = db.udf(lambda x: x)\n", ["lambda"]),
    "a closure": (
        "def make():\n    @db.udf\n    def f(x: int) -> int:\n        return x\n    return f\nf = make()\n",
        ["inside a function"],
    ),
    "a method": ("class C:\n    @db.udf\n    def f(x: int) -> int:\n        return x\n", ["method"]),
    "a generator": ("@db.udf\ndef f(x: int) -> int:\n    yield x\n", ["yields"]),
    "a parameter without a hint": ("@db.udf\ndef f(x) -> int:\n    return 1\n", ["'x'", "x: str"]),
    "a result without a hint": ("@db.udf\ndef f(x: int):\n    return 1\n", ["-> str"]),
    "a result that is None": ("@db.udf\ndef f(x: int) -> None:\n    pass\n", ["None"]),
    "any number of arguments": ("@db.udf\ndef f(*x: int) -> int:\n    return 1\n", ["*args"]),
    "a hint that is not a type": ("@db.udf\ndef f(x: set) -> int:\n    return 1\n", ["'x'", "set"]),
    "a hint that is not known": ("@db.udf\ndef f(x: 'Nope') -> int:\n    return 1\n", ["'Nope'"]),
    "a class": ("@db.udf\nclass F:\n    pass\n", ["F", "def"]),
}


@pytest.mark.parametrize("name", UDFS)
def test_a_function_cannot_be(project, name):
    source, words = UDFS[name]
    error = project.error(source)
    told = error["detail"] + error["hint"]
    assert all(word in told for word in words), error
    assert error["source"]["file"] == "app.py" and error["written"]


def test_a_function_whose_name_was_taken_is_told(project):
    error = project.error(
        "@db.udf\ndef f(x: int) -> int:\n    return x\nclass A(Base, name='a'):\n    n: db.Int\n    m = f(n)\nf = 1\n"
    )
    check(error, "@db.udf", "'f'", "'m'")


def test_a_default_of_another_type_is_told(project):
    error = project.error(
        "@db.udf\ndef f(x: int, y: str = 5) -> int:\n    return x\nclass A(Base, name='a'):\n    n: db.Int\n    m = f(n)\n"
    )
    check(error, "@db.udf", "'y'", "expected str, got int")
