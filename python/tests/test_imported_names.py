"""Names in files for other systems: accepted where this library has them, else refused with the right reason."""

import pytest
from conftest import texts
from test_manifest_errors import MODEL, check

LATER = "not supported yet"
UDF = "Call the provider in a function marked @db.udf"

IMPORTS = {
    "from appdb.functions.openai import chat_completions": ["appdb.functions.openai", LATER, UDF],
    "import appdb.functions.huggingface as hf": ["appdb.functions.huggingface", LATER, UDF],
    "from appdb.functions.anthropic import messages": ["appdb.functions.anthropic", LATER, UDF],
    "from appdb.functions import together": ["appdb.functions.together", LATER, UDF],
    "from appdb.functions.video import frame_iter": ["appdb.functions.video has no", "Did you mean 'frame_iterator'?"],
    "from appdb.functions import document_splitter": ["has no 'document_splitter'", "Write fn.document.document_splitter"],
    "from appdb.iterators import frame_iterator": ["Write: from appdb.functions.video import frame_iterator"],
    "from appdb.iterators import Words": ["appdb.iterators has no 'Words'", "@db.iterator"],
    "from appdb.iterators.pages import Pages": ["no module 'iterators.pages'", "appdb.functions.document"],
    "x = fn.string.uper": ["appdb.functions.string has no 'uper'", "Did you mean 'upper'?"],
    "from appdb.functions.string import uper": ["appdb.functions.string has no 'uper'", "Did you mean 'upper'?"],
    "from appdb import Router": ["appdb has no 'Router'", "Write: from appdb.serving import Router"],
    "from appdb import Index": ["appdb has no 'Index'", "Write db.BtreeIndex(column)."],
    "from appdb import upper": ["appdb has no 'upper'", "Write: from appdb.functions import upper"],
    "from appdb import udff": ["appdb has no 'udff'", "Did you mean 'udf'?"],
    "from appdb.functions.strng import upper": ["no namespace 'strng'", "Did you mean 'string'?"],
    "import appdb as pxt; base = pxt.PxtIterator": ["needs no base", "@db.iterator", "__next__(self) -> Part"],
    "from appdb.io import export_sql": ["appdb.io has no 'export_sql'", "export_sql= of add_insert_route()"],
    "from appdb.ext import functions": ["appdb.ext", LATER],
    "from appdb.iterators.document import DocumentSplitter": ["from appdb.functions.document import document_splitter"],
    "from appdb.catalog.model import TableModel": ["appdb has no module 'catalog'", "appdb.serving"],
}


@pytest.mark.parametrize("source", IMPORTS)
def test_an_import_is_refused_with_its_reason(project, source):
    check(project.error(source + "\n"), source, *IMPORTS[source])


CALLS = {
    "A.cursor()": ["A.cursor() runs a query", "no database is available", "@db.query"],
    "A.collect()": ["A.collect() runs a query", "@db.query"],
    "A.select(A.n).show()": [".show() runs a query", "@db.query"],
    "A.insert({'n': 1})": ["A.insert() changes rows", "no database is available", "router.add_insert_route(A"],
    "A.list_views()": ["A.list_views", LATER],
    "A.is_bound": ["A.is_bound", LATER],
    "A.count() == 0": ["A query has no value", "@db.query"],
    "not A.count()": ["A query has no value", "@db.query"],
    "[row for row in A.where(A.n > 1)]": ["not run while the file is read", "@db.query"],
}


@pytest.mark.parametrize("call", CALLS)
def test_a_query_is_not_run_while_the_file_is_read(project, call):
    check(project.error(f"{MODEL}x = {call}\n"), call, *CALLS[call])


HANDLERS = {
    "return A.select(A.n).collect()": ["A.select() begins a query", "the handler f cannot run", "@db.query"],
    "return {'n': A.count()}": ["A.count() begins a query", "@db.query"],
    "rows = [r for r in A.where(A.n == 1)]": ["A.where() begins a query", "@db.query"],
    "return db.get_table('a').count()": ["appdb.get_table is not supported yet", "Name the model"],
}


@pytest.mark.parametrize("body", HANDLERS)
def test_a_query_in_a_handler_is_refused(project, body):
    source = f"{MODEL}router = Router(name='api')\n@router.get('/f')\ndef f():\n    {body}\n"
    check(project.error(source), body, *HANDLERS[body])


def test_a_handler_may_use_the_words_of_queries_for_other_things(project):
    project.manifest(
        f"""{MODEL}
@db.query
def all_of():
    return A.where(A.n > 0)
router = Router(name='api')
@router.get('/f')
def f():
    A = [1, 2]
    return A.count(1)
@router.post('/g')
def g(n: int):
    A.insert({{'n': n, 's': 'x'}})
    return [all_of(), 'abc'.count('b')]
"""
    )


def test_a_file_with_handlers_alone_needs_no_table(project):
    (service,) = project.manifest("router = Router(name='api')\n@router.get('/f')\ndef f(): return 1\n")["services"]
    assert (service["name"], len(service["routes"])) == ("api", 1)


def test_query_and_required_are_names_of_the_library(project):
    manifest = project.manifest(
        """
class A(Base, name='a'):
    n: db.Required[db.Int]
    tags: db.Required[db.Json[list[db.String]]]
    k = db.Column(type=db.Required[db.String], primary_key=True)

@db.query
def q(n: int) -> db.Query:
    return A.where(A.n == n)

@db.query
def later(n: int) -> "db.Query":
    return A.where(A.n == n)
"""
    )
    (table,) = manifest["tables"]
    assert [(one["name"], one["type"]["kind"], one["nullable"]) for one in table["columns"]] == [
        ("n", "int", False),
        ("tags", "json", False),
        ("k", "string", False),
    ]
    assert [one["name"] for one in manifest["queries"]] == ["later", "q"]


REQUIRED = {
    "n: db.Required": ["Required without a type", "db.Required[db.String]"],
    "n: db.Required[db.Int | None]": ["both required and nullable", "'| None'"],
    "n: db.Required[int]": ["the Python type int", "n: db.Int"],
}


@pytest.mark.parametrize("column", REQUIRED)
def test_required_wants_a_type_that_is_not_nullable(project, column):
    check(project.error(f"class A(Base, name='a'):\n    {column}\n"), column, *REQUIRED[column])


INDEXED = """
@db.udf
def embed(s: str) -> db.Array[(3,), db.Float]:
    return [1.0, 2.0, 3.0]

class Docs(Base, name='docs'):
    text: db.String
    vector: db.Array[(3,), db.Float]
    __indexes__ = [db.EmbeddingIndex(text, embedding=embed), db.EmbeddingIndex(vector)]

@db.query
def near(q: str, v: list):
    return Docs.order_by({0}, asc=False).select(Docs.text)
"""


@pytest.mark.parametrize(
    "written, same",
    [
        ("Docs.text.similarity(q)", "Docs.text.similarity(string=q)"),
        ("Docs.text.similarity('x')", "Docs.text.similarity(string='x')"),
        ("Docs.text.similarity([1, 2, 3])", "Docs.text.similarity(vector=[1, 2, 3])"),
        ("Docs.vector.similarity([1, 2, 3])", "Docs.vector.similarity(vector=[1, 2, 3])"),
    ],
)
def test_similarity_takes_its_value_without_a_name(project, written, same):
    def query(text):
        return project.manifest(INDEXED.replace("{0}", text))["queries"][0]["query"]

    assert query(written) == query(same)


@pytest.mark.parametrize("written", ["Docs.text.similarity(q, q)", "Docs.text.similarity(q, string=q)"])
def test_similarity_takes_one_value(project, written):
    error = project.error(INDEXED.replace("{0}", written))
    assert "is given several values" in error["detail"] and error["written"], error

COLUMN = "class A(Base, name='a'):\n    n: db.Int\n    s: db.String\n    data: db.Json\n    x = {}\n"
PYTHON = ["A column is given to code of Python", "@db.udf"]

MISUSES = {
    "int(n)": ["int() cannot convert n", "n.astype(db.Int)"],
    "float(n)": ["float() cannot convert n", "n.astype(db.Float)"],
    "repr(n)": ["holds the column n as Python shows it", "n.astype(db.String)"],
    "f'{n!r}!'": ["holds the column n as Python shows it"],
    "', '.join([s, s])": PYTHON,
    "__import__('json').dumps(data)": PYTHON,
    "__import__('re').sub('a', 'b', s)": PYTHON,
    "open(s).read()": PYTHON,
    "n << 2": PYTHON,
    "s in ['a', 'b']": ["has no truth value", "column.isin([...])"],
    "max(n, 3)": ["has no truth value", "@udf"],
    "s if n else 'x'": ["has no truth value", "@udf"],
    "n and s": ["has no truth value", "& | ~"],
    "s.like('a%')": ["has no 'like'", ".contains(...)"],
    "n.between(1, 3)": ["has no 'between'", "(column >= least)"],
    "s.upper": ["The method s.upper is used", "s.upper()"],
    "db.Column(type=db.Int, nullable=False)": ["no option 'nullable'", "| None"],
    "db.router()": ["appdb has no 'router'", "Write: from appdb.serving import Router"],
    "db.Column(value=db.uuid7())": ["appdb has no 'uuid7'", "Write: from appdb.functions import uuid7"],
    "db.Column(type=db.Text)": ["appdb has no 'Text'", "Write db.String."],
    "db.Column(type=db.DateTime)": ["appdb has no 'DateTime'", "Write db.Timestamp."],
}


@pytest.mark.parametrize("written", MISUSES)
def test_a_column_is_no_value_of_python(project, written):
    check(project.error(COLUMN.format(written)), written, *MISUSES[written])


VERBS = {
    "A.where(n=n)": ["where() takes a condition, not n=", "where(A.n == ...)"],
    "A.order_by(A.n, desc=True)": ["order_by() has no option desc=", "asc=False"],
    "A.order_by(A.n, False)": ["order_by() takes columns, not False", "asc=False"],
    "A.order_by('-n')": ["not the text '-n'", "order_by(A.n, asc=False)"],
    "A.order_by(A.n.desc())": ["has no 'desc'", "asc=False"],
    "A.select('s')": ["select() takes columns, not the text 's'", "Write A.s"],
    "A.limit(1, 2, 3)": ["limit() is given too many arguments", "n, offset"],
    "A.limit(limit=3)": ["limit() has no argument 'limit'", "n, offset"],
    "A.filter(A.n == n)": ["has no 'filter'", "A.where(...)"],
    "A.where(A.n == n).offset(3)": ["has no 'offset'", "limit(n, offset=...)"],
    "A.where(A.n == n).first()": ["has no 'first'", "one_row=True"],
}


@pytest.mark.parametrize("written", VERBS)
def test_a_verb_of_another_system_is_told_in_ours(project, written):
    source = f"{MODEL}@db.query\ndef q(n: int):\n    return {written}\n"
    check(project.error(source), written, *VERBS[written])


OPTIONS = {
    "model_base(name='x')": ["model_base() has no argument 'name'", "cls_name"],
    "ResourcePool('x', per_second=3)": ["ResourcePool() has no argument 'per_second'", "per_minute"],
    "udf(batchsize=3)(len)": ["@udf has no option 'batchsize'", "Did you mean 'batch_size'?"],
}


@pytest.mark.parametrize("written", OPTIONS)
def test_an_unknown_option_is_told_with_those_that_exist(project, written):
    check(project.error(f"x = db.{written}\n"), written, *OPTIONS[written])


@pytest.mark.parametrize("written", ["router.head('/x')", "router.on_event('startup')", "router.add_insert_route(t=A)"])
def test_a_router_names_what_it_has(project, written):
    check(project.error(f"{MODEL}router = Router()\n{written}\n"), written, "add_insert_route")

SERVING = {
    "from appdb.serving import Routr": ["appdb.serving has no 'Routr'", "Did you mean 'Router'?"],
    "from appdb.serving import UploadFile": ["appdb.serving has no 'UploadFile'", "from fastapi import UploadFile"],
}


@pytest.mark.parametrize("source", SERVING)
def test_what_serving_does_not_have_is_told(project, source):
    check(project.error(source + "\n"), source, *SERVING[source])


APPLICATION = """
class Route:
    def __init__(self, endpoint):
        self.endpoint = endpoint

class Application:
    def __init__(self, routes, startup):
        self.routes, self.router = routes, self
        self.on_startup, self.on_shutdown, self.lifespan_context = startup, [], None

    async def __call__(self, scope, receive, send):
        pass

def listed():
    return {0}

def begin():
    {1}

app = Application([Route(listed)], [begin])
"""


@pytest.mark.parametrize(
    "endpoint, hook, line",
    [
        ("A.select(A.n).collect()", "pass", "return A.select"),
        ("1", "print(A.count())", "print(A.count"),
        ("db.get_table('a')", "pass", "get_table"),
    ],
)
def test_a_query_in_an_application_object_is_refused(project, endpoint, hook, line):
    error = project.error(MODEL + APPLICATION.replace("{0}", endpoint).replace("{1}", hook))
    check(error, line, "@db.query")


def test_an_application_object_needs_no_table(project):
    (service,) = project.manifest(APPLICATION.replace("{0}", "1").replace("{1}", "pass"))["services"]
    assert service["app"]["id"] == "app:app"


ASYNC = MODEL + """
import asyncio

@db.query
def all_of(n: int = 1):
    return A.where(A.n > n)

router = Router(name='api')

@router.post('/g')
async def g(n: int):
    {0}
"""


@pytest.mark.parametrize(
    "body, name",
    [
        ("return A.insert({'n': n, 's': 'x'})", "A.insert()"),
        ("A.delete(n=n)", "A.delete()"),
        ("return all_of()[0]", "all_of()"),
        ("return [row['n'] for row in all_of(2)]", "all_of()"),
    ],
)
def test_a_query_that_an_async_handler_does_not_await_is_refused(project, body, name):
    check(project.error(ASYNC.replace("{0}", body)), body, f"{name} is not awaited", "await")


@pytest.mark.parametrize(
    "body",
    [
        "return await A.insert({'n': n, 's': 'x'})",
        "return (await all_of())[0]",
        "return await asyncio.gather(all_of(1), all_of(2))",
        "later = all_of(1); return await later",
    ],
)
def test_an_async_handler_awaits_in_its_own_way(project, body):
    project.manifest(ASYNC.replace("{0}", body))


FORGOTTEN = {
    "upper(s)": ["'upper' is not imported", "from appdb.functions import upper"],
    "String": ["'String' is not imported", "from appdb import String"],
    "nope": ["No column or name 'nope'", "Import or define 'nope'"],
    "uper(s)": ["No column or name 'uper'"],
}


@pytest.mark.parametrize("written", FORGOTTEN)
def test_a_name_that_is_not_imported_is_told(project, written):
    source = f"import appdb as db\nBase = db.model_base()\nclass A(Base, name='a'):\n    s: db.String\n    x = {written}\n"
    check(project.error(source, head=''), written, *FORGOTTEN[written])


def test_a_star_import_gives_functions_and_keeps_builtins(project):
    source = "from appdb.functions import *\nclass A(Base, name='a'):\n    s: db.String\n    up = upper(s)\n    n = s.len()\nassert sum([1]) == 1\n"
    assert texts(project.table(source))["up"] == "upper(s)"
