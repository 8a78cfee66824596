"""Aggregates over rows in an order, and windows: what calls give, and what is refused."""

import pytest

MODEL = """
class A(Base, name="a"):
    id: db.Int
    g: db.String | None
    n: db.Int
    f: db.Float
    p: db.Image
"""
CLASSES = """
@db.uda(requires_order_by=True)
class joined(db.Aggregator):
    def __init__(self, by: str = ""): self.by, self.parts = by, []
    def update(self, text: str): self.parts.append(text)
    def value(self) -> str: return self.by.join(self.parts)
@db.uda(allows_window=True)
class total(db.Aggregator):
    def __init__(self): self.sum = 0
    def update(self, n: int): self.sum += n
    def value(self) -> int: return self.sum
@db.uda(requires_order_by=True, allows_window=True, allows_std_agg=False)
class path(db.Aggregator):
    def __init__(self): self.parts = ""
    def update(self, text: str | None): self.parts += text or "-"
    def value(self) -> str: return self.parts
"""


def selected(project, query):
    document = project.manifest(f"{CLASSES}{MODEL}\n@db.query\ndef q():\n    return {query}\n")
    return {one["name"]: one["expr"] for one in document["queries"][0]["query"]["select"]}


def names(nodes):
    return [node["name"] for node in nodes]


def test_an_ordered_aggregate_is_sorted_by_its_first_argument(project):
    made = selected(project, "A.select(a=joined(A.id, A.g, by='-'), b=total(A.n), c=fn.make_list(A.n, order_by=A.g))")
    assert (made["a"]["node"], names(made["a"]["order_by"]), names(made["a"]["args"])) == ("aggregate", ["id"], ["g"])
    assert made["a"]["order_by"][0]["of"] == "a" and made["a"]["kwargs"]["by"]["value"] == "-"
    assert made["b"]["node"] == "aggregate" and "order_by" not in made["b"]
    assert (made["c"]["node"], names(made["c"]["order_by"])) == ("aggregate", ["g"])


def test_keys_make_a_window(project):
    made = selected(
        project,
        "A.select(a=fn.sum(A.n, order_by=A.id), b=fn.count(order_by=[A.g, A.id], group_by=A.g), c=fn.max(A.n, group_by=A.g),"
        " d=total(A.n, order_by=A.id), e=path(A.id, A.g), f=path(A.id, A.g, group_by=A.g), h=fn.mean(A.f, order_by=A.id))",
    )
    assert {one["node"] for one in made.values()} == {"window"}
    assert {name: (names(one["group_by"]), names(one["order_by"])) for name, one in made.items()} == {
        "a": ([], ["id"]),
        "b": (["g"], ["g", "id"]),
        "c": (["g"], []),
        "d": ([], ["id"]),
        "e": ([], ["id"]),
        "f": (["g"], ["id"]),
        "h": ([], ["id"]),
    }
    assert made["b"]["args"] == [] and not made["b"]["nullable"] and made["a"]["nullable"]
    assert made["d"]["is_udf"] and not made["d"]["nullable"]


def test_a_null_that_skips_a_call_makes_the_value_of_a_window_nullable(project):
    source = CLASSES + MODEL.replace("n: db.Int\n", "n: db.Int | None\n")
    document = project.manifest(source + "\n@db.query\ndef q():\n    return A.select(x=total(A.n, order_by=A.id))\n")
    assert document["queries"][0]["query"]["select"][0]["expr"]["nullable"]


REFUSED = {
    "joined(A.g)": "joined() is called without its argument 'text'.",
    "joined(3, A.g)": "joined() sorts its rows by its first argument, a column; it is given 3.",
    "joined(text=A.g)": "joined() is called without its first argument, by which it sorts its rows.",
    "joined(A.p, A.g)": "joined() sorts its rows by its first argument; p is Image, which has no order.",
    "joined(A.g, order_by=A.id)": "joined() sorts its rows by its first argument and has no order_by=.",
    "joined(A.id, A.g, group_by=A.n)": "joined() has no windows, so it takes no group_by=.",
    "total(A.n, order_by=3)": "total(order_by=) takes columns, not 3.",
    "total(A.n, order_by=[])": "total() has an empty order_by=.",
    "fn.sum(A.n, order_by='id')": "sum(order_by=) takes columns, not 'id'.",
    "fn.sum(A.n, order_by=A.p)": "sum(order_by=) cannot sort by p, which is Image.",
    "fn.make_list(A.n, group_by=A.g)": "make_list() makes one list of a group's rows and has no group_by=.",
    "fn.sum(A.n, since=A.g)": "sum() has no argument 'since'.",
    "fn.sum(A.n, A.id)": "sum() takes one column.",
    "fn.sum(fn.sum(A.n, order_by=A.id))": "select() takes an aggregate of an aggregate: sum(sum(n, order_by=id)).",
    "fn.sum(A.n, order_by=fn.sum(A.n))": "select() takes an aggregate of an aggregate: sum(n, order_by=sum(n)).",
    "fn.sum(A.n) + fn.sum(A.n, order_by=A.id)": (
        "select() holds sum(n) + sum(n, order_by=id), a value of each row; this query makes one row of many."
    ),
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_call_is_refused_by_name(project, call):
    error = project.error(f"{CLASSES}{MODEL}\n@db.query\ndef q():\n    return A.select(x={call})\n")
    assert error["detail"] == REFUSED[call] and error["hint"]


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("oder_by=A.id", "Did you mean 'order_by'?"),
        ("partition_by=A.g", "Write group_by="),
        ("asc=False", "order_by=-Docs.n"),
    ],
)
def test_an_unknown_argument_of_an_aggregate_is_named(project, argument, hint):
    error = project.error(f"{MODEL}\n@db.query\ndef q():\n    return A.select(x=fn.sum(A.n, {argument}))\n")
    assert error["detail"] == f"sum() has no argument '{argument.partition('=')[0]}'."
    assert hint in error["hint"]


def test_an_ordered_aggregate_with_windows_is_a_window_with_group_by(project):
    classes = CLASSES.replace(", allows_window=True, allows_std_agg=False", ", allows_window=True")
    code = f"{classes}{MODEL}\n@db.query\ndef q():\n    return A.select(x=path(A.id, A.g, group_by=A.n))\n"
    found = project.manifest(code)["queries"][0]["query"]["select"][0]["expr"]
    error = project.error(code.replace("path(A.id, A.g, group_by=A.n)", "path(A.id, A.g, order_by=A.n)"))
    assert error["hint"] == "Write path(Docs.n, text). For a window, add group_by=."
    assert found["node"] == "window" and names(found["order_by"]) == ["id"] and names(found["group_by"]) == ["n"]


CLAUSES = {
    "A.where(fn.sum(A.n, order_by=A.id) > 1)": "where() holds sum(n, order_by=id) > 1",
    "A.group_by(fn.sum(A.n, order_by=A.id)).select(n=fn.count())": "group_by() holds sum(n, order_by=id)",
    "A.group_by(A.g).select(A.g, x=fn.count(A.g, order_by=A.g))": "select() holds count(g, order_by=g)",
}


@pytest.mark.parametrize("query", CLAUSES)
def test_a_window_is_refused_where_rows_are_chosen(project, query):
    error = project.error(f"{MODEL}\n@db.query\ndef q():\n    return {query}\n")
    assert error["detail"].startswith(CLAUSES[query])


def test_a_window_is_refused_in_a_column(project):
    error = project.error(CLASSES + MODEL + "class B(Base, name='b'):\n    n: db.Int\n    x = total(n, order_by=n)\n")
    assert "total" in error["detail"] and "query" in error["hint"]
    error = project.error("class B(Base, name='b'):\n    n: db.Int\n    x = fn.sum(n, order_by=n)\n")
    assert "many rows" in error["detail"] and "@query" in error["hint"]


DECLARED = {
    "@db.uda(requires_order_by='n')": ["requires_order_by", "'n'"],
    "@db.uda(allows_std_agg=False)": ["allows_std_agg=False", "allows_window=True"],
}


@pytest.mark.parametrize("decorator", DECLARED)
def test_a_declaration_is_refused(project, decorator):
    body = "class t(db.Aggregator):\n    def update(self, x: int): pass\n    def value(self) -> int: return 1\n"
    error = project.error(f"{decorator}\n{body}{MODEL}")
    text = error["detail"] + " " + error["hint"]
    assert all(word in text for word in DECLARED[decorator])


def test_a_parameter_with_the_name_of_a_key_is_refused(project):
    body = "@db.uda\nclass t(db.Aggregator):\n    def update(self, order_by: int): pass\n    def value(self) -> int: return 1\n"
    error = project.error(body + MODEL)
    assert error["detail"] == "The aggregate t has a parameter 'order_by', which calls of aggregates have already."
