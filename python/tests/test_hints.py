"""Mistakes from other libraries and habits: each error shows what to write here."""

import sys

import pytest
from conftest import LIBRARY
from test_manifest_errors import check

MODEL = "class A(Base, name='a'):\n    n: db.Int\n    s: db.String\n"
QUERY = MODEL + "@db.query\ndef q(k: str):\n    return {}\n"

SLIPS = {
    "a function that is not imported": ("lower(s)", ["Add: from appdb.functions import lower"]),
    "an unknown name that is near a builtin": ("nope(s)", ["'nope'", "Import or define"]),
    "a method of SQL": ("s.like('a%')", ["'like'", "Write .contains(...)"]),
    "a method that is not called": ("s.upper", ["s.upper", "Call it: s.upper()"]),
    "int()": ("int(s)", ["int()", "Write s.astype(db.Int)"]),
    "float()": ("float(n + 1)", ["float()", "Write (n + 1).astype(db.Float)"]),
    "in": ("s in ['a', 'b']", ["no truth value", "isin"]),
    "not in": ("s not in ['a', 'b']", ["no truth value", "isin"]),
    "Python's max()": ("max(n, 3)", ["no truth value", "max()", "@udf"]),
    "and": ("(n > 1) and (n < 9)", ["no truth value", "Write & | ~"]),
}

QUERIES = {
    "a descending order as text": ("A.order_by('-n')", ["'-n'", "Write order_by(A.n, asc=False)"]),
    "a descending order in words": ("A.order_by('n desc')", ["Write order_by(A.n, asc=False)"]),
    "a group as text": ("A.group_by('s')", ["Write group_by(A.s)"]),
    "filter": ("A.filter(A.s == k)", ["'filter'", "Write A.where(...)"]),
    "a misspelt verb of a model": ("A.wher(A.s == k)", ["no column 'wher'", "Did you mean 'where'?"]),
    "a part of the rows as their number": ("A.sample(0.5)", ["not 0.5", "Write sample(fraction=0.5)"]),
    "filter of a query": ("A.select(A.s).filter(A.s == k)", ["'filter'", "Write .where(...)"]),
    "desc=": ("A.order_by(A.n, desc=True)", ["desc=", "asc=False"]),
    "where by name": ("A.where(s=k)", ["s=", "Write where(A.s == ...)"]),
    "two conditions": ("A.where(A.s == k, A.n == 1)", ["one condition", "&"]),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_in_a_column_is_told_with_what_to_write(project, name):
    written, words = SLIPS[name]
    check(project.error(MODEL + f"    x = {written}\n"), f"x = {written}", *words)


@pytest.mark.parametrize("name", QUERIES)
def test_a_slip_in_a_query_is_told_with_what_to_write(project, name):
    written, words = QUERIES[name]
    check(project.error(QUERY.format(written)), f"return {written}", *words)


FILES = "class A(Base, name='a'):\n    p: db.Image\n    s: db.String\n"
MEDIA = {
    "A.order_by(A.p)": ["order_by() cannot sort by", "Sort by a value of it that a function marked @udf computes."],
    "A.group_by(A.p).select(n=count())": ["Group by a value of it that a function marked @udf computes."],
    "A.where(A.p == k)": ["'==' does not work on Image and String", "Compute it in a function marked @udf."],
    "A.select(m=fn.max(A.p))": ["Compute a value of it in a function marked @udf, and aggregate that."],
}


@pytest.mark.parametrize("written", MEDIA)
def test_files_are_not_converted(project, written):
    source = f"{FILES}@db.query\ndef q(k: str):\n    return {written}\n"
    check(project.error(source), f"return {written}", *MEDIA[written])


def test_files_are_not_compared_for_distinct_rows(project):
    error = project.error(f"{FILES}@db.query\ndef q():\n    return A.select(A.p).distinct()\n")
    assert error["hint"] == "Select a value of it that a function marked @udf computes.", error


def test_a_file_for_a_text_is_told_with_the_type_to_declare(project):
    source = f"@db.udf\ndef size(p: str) -> int:\n    return 1\n\n{FILES}    x = size(p)\n"
    check(project.error(source), "x = size(p)", "takes String for 'p'; p is Image", "declare p: db.Image")


def test_a_mode_in_lower_case_is_told_with_the_mode(project):
    check(project.error("class A(Base, name='a'):\n    p: db.Image['rgb']\n"), "db.Image['rgb']", "Did you mean 'RGB'?")


def test_a_type_in_lower_case_is_told_with_the_type(project):
    check(project.error("class A(Base, name='a'):\n    p: db.image\n"), "p: db.image", "Write db.Image for the type")


def test_a_call_with_the_wrong_arguments_shows_what_is_taken(project):
    written = "r.add_query_route(q, path='/q')"
    source = QUERY.format("A.where(A.s == k)") + f"r = Router()\n{written}\n"
    check(project.error(source), written, "multiple values", "It takes: path, query, inputs, one_row, method.")


def test_a_column_that_is_called_like_another_librarys_verb_stays_a_column(project):
    document = project.manifest(
        "class A(Base, name='a'):\n    filter: db.String\n@db.query\ndef q():\n    return A.select(A.filter)\n"
        "r = Router()\nr.add_query_route(path='/q', query=q)\n"
    )
    assert document["services"][0]["routes"][0]["path"] == "/q"


@pytest.mark.parametrize("module, wanted", [("appdb", "Column"), ("appdb.functions", "upper"), ("appdb.serving", "Router")])
def test_completion_knows_the_public_names_and_no_others(module, wanted):
    import subprocess

    code = f"import {module} as m; print(*dir(m)); [getattr(m, name) for name in dir(m)]"
    done = subprocess.run([sys.executable, "-c", code], cwd=LIBRARY, capture_output=True, text=True, check=True)
    names = done.stdout.split()
    assert wanted in names
    assert not [name for name in names if name.startswith("_")]


def test_a_named_query_is_not_run_as_a_value(project):
    check(project.error(QUERY.format("A.where(A.s == k)") + "q('a').collect()\n"), "q('a')", "q() is the value of a column", "q().collect()")
