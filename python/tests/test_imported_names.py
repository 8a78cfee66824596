"""Names that files of other systems import or call: taken where this library has them, else refused with the right reason."""

import pytest
from test_manifest_errors import MODEL, check

LATER = "not supported yet"
UDF = "Call the provider in a function marked @db.udf"

IMPORTS = {
    "from appdb.functions.openai import chat_completions": ["appdb.functions.openai", LATER, UDF],
    "import appdb.functions.huggingface as hf": ["appdb.functions.huggingface", LATER, UDF],
    "from appdb.functions.anthropic import messages": ["appdb.functions.anthropic", LATER, UDF],
    "from appdb.functions import together": ["appdb.functions.together", LATER, UDF],
    "from appdb.functions.video import frame_iterator": ["appdb.functions.video", LATER, "@db.udf"],
    "from appdb.functions.audio import audio_splitter": ["appdb.functions.audio", LATER, "@db.udf"],
    "from appdb.functions.document import document_splitter": ["appdb.functions.document", LATER, "@db.udf"],
    "from appdb.functions.string import string_splitter": ["appdb.functions.string.string_splitter", LATER, "a list"],
    "x = fn.json.list_iterator": ["appdb.functions.json.list_iterator", LATER],
    "x = fn.string.uper": ["appdb.functions.string has no 'uper'", "Did you mean 'upper'?"],
    "from appdb.functions.string import uper": ["appdb.functions.string has no 'uper'", "Did you mean 'upper'?"],
    "from appdb import udff": ["appdb has no 'udff'", "Did you mean 'udf'?"],
    "from appdb.functions.strng import upper": ["no namespace 'strng'", "Did you mean 'string'?"],
    "from appdb.io import export_parquet": ["appdb.io", LATER],
    "from appdb.iterators.document import DocumentSplitter": ["appdb.iterators", LATER],
    "from appdb.catalog.model import TableModel": ["appdb has no module 'catalog'", "appdb.serving"],
}


@pytest.mark.parametrize("source", IMPORTS)
def test_an_import_is_refused_with_its_reason(project, source):
    check(project.error(source + "\n"), source, *IMPORTS[source])


CALLS = {
    "A.cursor()": ["A.cursor() runs a query", "no database is at hand", "@db.query"],
    "A.collect()": ["A.collect() runs a query", "@db.query"],
    "A.select(A.n).show()": [".show() runs a query", "@db.query"],
    "A.insert({'n': 1})": ["A.insert() changes rows", "no database is at hand", "router.add_insert_route(A"],
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
