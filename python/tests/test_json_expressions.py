"""The values of Json expressions, implied conversions and lists, row by row."""

import pytest
from conftest import compute_cases

MODEL = """
class A(Base, name='a'):
    n: db.Int | None
    m: db.Int | None
    f: db.Float | None
    s: db.String | None
    b: db.Bool | None
    t: db.Timestamp | None
    d: db.Date | None
    u: db.UUID | None
    j: db.Json | None
"""
NAMES = "n m f s b t d u j".split()
NESTED = '{"a":[{"b":1},{},{"b":null},{"b":[1,2]}],"l":[1,2,3,4],"d":{"x":1},"ll":[[1,2],[3]],"name":"bob","k":3}'
UUID = "00000000-0000-0000-0000-00000000000a"

GIVES = [
    ("j.a['*'].b", dict(j=NESTED), "[1,null,null,[1,2]]"),
    ("j.a[1:].b", dict(j=NESTED), "[null,null,[1,2]]"),
    ("j.a['*'].b[0]", dict(j=NESTED), "[null,null,null,1]"),
    ("j.l[::2]", dict(j=NESTED), "[1,3]"),
    ("j.l[::-1]", dict(j=NESTED), "[4,3,2,1]"),
    ("j.l[-2:]", dict(j=NESTED), "[3,4]"),
    ("j.l[7:]", dict(j=NESTED), "[]"),
    ("j.ll['*'][0]", dict(j=NESTED), "[1,3]"),
    ("j.ll['*']['*']", dict(j=NESTED), "[[1,2],[3]]"),
    ("j.ll[:1][0]", dict(j=NESTED), "[1]"),
    ("j.d['*']", dict(j=NESTED), None),
    ("j.name['*']", dict(j=NESTED), None),
    ("j.name[0:1]", dict(j=NESTED), None),
    ("j.nope['*'].b", dict(j=NESTED), None),
    ("j['*']", dict(), None),
    ("j.k + 1", dict(j=NESTED), 4.0),
    ("-j.k", dict(j=NESTED), -3.0),
    ("+j.k", dict(j=NESTED), 3.0),
    ("j.k * j.k", dict(j=NESTED), 9.0),
    ("n + j.k", dict(j=NESTED, n=1), 4.0),
    ("n + j.none", dict(j=NESTED, n=1), None),
    ("j.k < 5", dict(j=NESTED), True),
    ("j.name < 'c'", dict(j=NESTED), True),
    ("j.none < 5", dict(j=NESTED), None),
    ("j.k == True", dict(j='{"k":1}'), False),
    ("j.k == 3.0", dict(j=NESTED), True),
    ("j.k == n", dict(j=NESTED, n=3), True),
    ("j.d == {'x': 1.0}", dict(j=NESTED), True),
    ("j.l == [1, 2, 3, 4]", dict(j=NESTED), True),
    ("j.l == [n, 2, 3, 4]", dict(j=NESTED, n=1), True),
    ("n + b", dict(n=1, b=True), 2),
    ("b + b", dict(b=True), 2),
    ("b / 2", dict(b=True), 0.5),
    ("-b", dict(b=True), -1),
    ("+b", dict(b=True), 1),
    ("+n", dict(n=-3), -3),
    ("b == 1", dict(b=True), True),
    ("b < f", dict(b=False, f=0.5), True),
    ("abs(n)", dict(n=-3), 3),
    ("abs(f)", dict(f=-0.5), 0.5),
    ("abs(b)", dict(b=True), 1),
    ("abs(j.k)", dict(j='{"k":-3}'), 3.0),
    ("abs(n)", dict(), None),
    ("round(f)", dict(f=2.5), 2.0),
    ("round(f)", dict(f=3.5), 4.0),
    ("round(f, 1)", dict(f=2.25), 2.2),
    ("round(f, -1)", dict(f=25.0), 20.0),
    ("round(f, n)", dict(f=2.675, n=2), 2.67),
    ("round(f, n)", dict(f=2.675), None),
    ("round(n)", dict(n=5), 5),
    ("round(n, -1)", dict(n=25), 20),
    ("n.isin([2, m])", dict(n=3, m=3), True),
    ("n.isin([2, m])", dict(n=3), None),
    ("n.isin([2, m])", dict(n=2), True),
    ("n.isin([2, None])", dict(n=3), None),
    ("n.isin([1, 2.0, True])", dict(n=2), True),
    ("n.isin({1, 2})", dict(n=3), False),
    ("n.isin((1, 2))", dict(), None),
    ("n.isin([])", dict(), False),
    ("s.isin(['a', 'b'])", dict(s="b"), True),
    ("d.isin(['2024-01-01'])", dict(d="2024-01-01"), True),
    ("u.isin(['0000000000000000000000000000000A'])", dict(u=UUID), True),
    ("j.k.isin([1, 'x', [1], None])", dict(j='{"k":[1.0]}'), True),
    ("j.k.isin([1, 'x', True])", dict(j='{"k":false}'), False),
    ("n.isin(j.l)", dict(n=3, j=NESTED), True),
    ("n.isin(j.l)", dict(n=9, j=NESTED), False),
    ("n.isin(j.l)", dict(j=NESTED), None),
    ("n.isin(j.d)", dict(n=1, j=NESTED), None),
    ("b.isin(j.l)", dict(b=True, j=NESTED), False),
    ("s.isin(j.a['*'].b)", dict(s="x", j=NESTED), None),
    ("~n.isin([2, None])", dict(n=3), None),
    ("t > '2024-01-01T00:00:00+02:00'", dict(t="2023-12-31T23:00:00Z"), True),
    ("t >= '2024-01-01'", dict(t="2024-01-01T00:00:00Z"), True),
    ("d < '2024-01-02'", dict(d="2024-01-01"), True),
    ("u == '0000000000000000000000000000000A'", dict(u=UUID), True),
    ("{'a': n, 'b': [1, s, {'c': None, 'd': f}], 'e': {}}", dict(n=1, s="x"), '{"a":1,"b":[1,"x",{"c":null,"d":null}],"e":{}}'),
    ("[n, 1, 'é', 1.5, True, None]", dict(n=2), '[2,1,"é",1.5,true,null]'),
    ("(n, [j.k, j])", dict(n=2, j='{"k":1e2}'), '[2,[100.0,{"k":100.0}]]'),
    ("{'t': t, 'd': d, 'u': u}", dict(t="2024-01-01T00:00:00Z", d="2024-01-01", u=UUID),
     '{"t":"2024-01-01T00:00:00Z","d":"2024-01-01","u":"' + UUID + '"}'),
    ("{'b': 2, 'a': [1, None, 2.5]}", dict(), '{"b":2,"a":[1,null,2.5]}'),
    ("[]", dict(), "[]"),
    ("5", dict(), 5),
    ("'x'", dict(), "x"),
    ("True", dict(), True),
    ("1.5", dict(), 1.5),
]  # fmt: skip


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    rows = [(case[0], [case[1].get(name) for name in NAMES]) for case in GIVES]
    found = compute_cases(tmp_path_factory.mktemp("given"), MODEL, rows)
    return dict(zip([(case[0], str(case[1])) for case in GIVES], found))


@pytest.mark.parametrize(("expression", "row", "value"), GIVES)
def test_gives(given, expression, row, value):
    result = given[expression, str(row)]
    assert (result, type(result)) == (value, type(value))


ERRORS = """
@db.udf
def risky(n: int) -> int:
    return 10 // n
class A(Base, name='a'):
    n: db.Int
    r = risky(n)
    twice = r * 2
    kind = r.errortype
    told = fn.string.format('{}: {}', twice.errortype, r.errormsg)
    is_bad = r.errortype != None
"""


def test_a_cell_error_can_be_read_by_columns_that_are_computed_with_it(compute):
    values, errors = compute(ERRORS, [5], [0])
    assert values[0] == dict(r=2, twice=4, kind=None, told="None: None", is_bad=False)
    message = "integer division or modulo by zero"
    assert values[1] == dict(
        r=None, twice=None, kind="ZeroDivisionError", told=f"CellError: {message}", is_bad=True
    )
    assert errors[0] is None and sorted(errors[1]) == ["r", "twice"]


def test_a_stored_cell_error_is_read_from_the_row(project, workers):
    table = project.manifest(ERRORS)["tables"][0]
    worker = workers(project.root)
    steps = [c for c in table["columns"] if c["name"] in ("kind", "is_bad")]
    worker.steps = [c["name"] for c in steps]
    pick = ("name", "type", "nullable")
    worker.send(
        {
            "t": "graph",
            "graph": 1,
            "inputs": [{"name": "_errors", "type": {"kind": "json"}, "nullable": True}],
            "steps": [{**{key: c[key] for key in pick}, "expr": c["computed"]["expr"]} for c in steps],
            "functions": [],
        }
    )
    stored = ['{"r":{"type":"KeyError","message":"x","function":"f"}}', '{"r":"pending"}', None]
    values, errors, _ = worker.run([stored])
    assert [values[n] for n in range(3)] == [
        dict(kind="KeyError", is_bad=True),
        dict(kind=None, is_bad=False),
        dict(kind=None, is_bad=False),
    ]
    assert errors == {}


def test_members_of_enums_and_numpy_scalars_are_what_they_stand_for(project):
    columns = project.columns(
        """
        from enum import Enum, IntEnum
        import numpy as np
        class Kind(str, Enum):
            NEW = "new"
        class Level(IntEnum):
            HIGH = 3
        class A(Base, name='a'):
            s: db.String
            n: db.Int
            x1 = s == Kind.NEW
            x2 = n + Level.HIGH
            x3 = s.isin(list(Kind))
            x4 = {"kind": Kind.NEW, "level": [Level.HIGH, n], "half": np.float64(0.5)}
            x5 = n * np.int32(2)
            x6 = Kind.NEW
            x7 = {Kind.NEW: n}[Kind.NEW] + n
            x8 = {Kind.NEW: s}
            x9 = x4[Kind.NEW]
        """
    )
    assert [c["computed"]["text"] for c in columns.values() if c["computed"]] == [
        "s == 'new'",
        "n + 3",
        "s.isin(['new'])",
        "{'kind': 'new', 'level': [3, n], 'half': 0.5}",
        "n * 2",
        "'new'",
        "n + n",
        "{'new': s}",
        "x4.new",
    ]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("x = n.errortype", ["n.errortype", "n is neither"]),
        ("x = s + 1", ["'+' does not work on String and Int: s + 1", "for example s.astype(db.Int)"]),
        ("x = (n + 1) + s", ["Convert one side, for example (n + 1).astype(db.String)."]),
        ("x = d < t", ["'<' does not work on Date and Timestamp", "d.astype(db.Timestamp)"]),
        ("x = d < 'tomorrow'", ["'tomorrow' is not a valid Date", "2024-12-31"]),
        ("x = {1: n}", ["text as keys, not 1", "'1'"]),
        ("x = {'a': object(), 'b': n}", ["object"]),
        ("x = {'a': float('nan')}", ["not a JSON value"]),
        ("x = j[::0]", ["never 0"]),
        ("x = j['a':2]", ["['a':2]", "whole numbers"]),
        ("x = j[n]", ["Json path", "not n"]),
        ("x = s[1:]", ["s[1:]", ".slice(start, stop)"]),
        ("x = n.isin('abc')", ["isin wants a list", "'abc'"]),
        ("x = n.isin(['a'])", ["'isin' does not work on Int and String"]),
        ("x = round(n, 1.5)", ["digits", "Float"]),
        ("x = round(s)", ["'round' does not work on String: round(s)"]),
        ("x = abs(d)", ["'abs' does not work on Date"]),
        ("x = +s", ["'+' does not work on String: +s"]),
        ("x = j < j", ["'<' does not work on Json: j < j", "astype"]),
        ("x = [s.astype(k) for k in (db.Int, db.Json)]", ["'s' is a column of this class; a comprehension", "given s"]),
        ("x = f'{n} pieces'", ["An f-string cannot hold the column n", "format('... {} ...', n)"]),
        ("x = __import__('functools').reduce(lambda a, _: a + 1, range(300), n)", ["deeper than 200"]),
        ("x = (lambda v: v.append(v) or v)([n])", ["contains itself"]),
    ],
)
def test_what_has_no_meaning_is_refused_where_it_stands(project, written, words):
    error = project.error(MODEL + f"    {written}\n")
    assert error["code"] == "app_invalid", error
    for word in words:
        assert word in error["detail"] + error["hint"], error
