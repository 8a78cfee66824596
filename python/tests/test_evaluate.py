"""The values of expressions, row by row, in the worker."""

import re

import pytest
from conftest import compute_cases

MODEL = """
class A(Base, name='a'):
    n: db.Int | None
    m: db.Int | None
    f: db.Float | None
    s: db.String | None
    b: db.Bool | None
    c: db.Bool | None
    t: db.Timestamp | None
    d: db.Date | None
    u: db.UUID | None
    j: db.Json | None
"""
NAMES = "n m f s b c t d u j".split()


BIG = 2**63 - 1
GIVES = [
    ("n // m", dict(n=-7, m=2), -4),
    ("n % m", dict(n=-7, m=3), 2),
    ("n % m", dict(n=7, m=-3), -2),
    ("n / m", dict(n=7, m=2), 3.5),
    ("n ** 2", dict(n=-3), 9),
    ("n ** -1", dict(n=4), 0.25),
    ("n + f", dict(n=1, f=0.5), 1.5),
    ("f // 2", dict(f=-7), -4.0),
    ("f + 1", dict(f=3), 4.0),
    ("2 - n", dict(n=5), -3),
    ("-n", dict(n=5), -5),
    ("n + m", dict(n=BIG, m=0), BIG),
    ("n + m", dict(n=None, m=0), None),
    ("s + '!'", dict(s="a"), "a!"),
    ("s * 2", dict(s="ab"), "abab"),
    ("2 * s", dict(s="ab"), "abab"),
    ("n == m", dict(n=1, m=1), True),
    ("n == f", dict(n=2**53 + 1, f=float(2**53)), False),
    ("n != m", dict(n=1), None),
    ("n == None", dict(), True),
    ("n != None", dict(), False),
    ("s < 'b'", dict(s="B"), True),
    ("(n > 1) & (m > 1)", dict(n=0), False),
    ("(n > 1) & (m > 1)", dict(n=2), None),
    ("(n > 1) | (m > 1)", dict(n=2), True),
    ("(n > 1) | (m > 1)", dict(n=0), None),
    ("~b", dict(b=True), False),
    ("~b", dict(), None),
    ("b == True", dict(b=True), True),
    ("n.isin([1, 2])", dict(n=2), True),
    ("t < t", dict(t="2024-01-01T00:00:00Z"), False),
    ("j.a", dict(j='{"a":{"b":[1,2]}}'), '{"b":[1,2]}'),
    ("j.a.b[1]", dict(j='{"a":{"b":[1,2]}}'), "2"),
    ("j['a']['b'][-1]", dict(j='{"a":{"b":[1,2]}}'), "2"),
    ("j.a.b[7]", dict(j='{"a":{"b":[1,2]}}'), None),
    ("j.a.b.c", dict(j='{"a":{"b":[1,2]}}'), None),
    ("j.a", dict(j='{"a":null}'), None),
    ("j['astype']", dict(j='{"astype":1}'), "1"),
    ("j.a == 1", dict(j='{"a":1.0}'), True),
    ("j.a == 1", dict(j='{"a":true}'), False),
    ("j.a == 'x'", dict(j='{"a":"x"}'), True),
    ("j.a == None", dict(j='{"a":null}'), True),
    ("j == j", dict(j='{"a":[1,{"b":2}],"c":3}'), True),
    ("n.astype(db.String)", dict(n=12), "12"),
    ("f.astype(db.String)", dict(f=0.1), "0.1"),
    ("b.astype(db.String)", dict(b=True), "True"),
    ("t.astype(db.String)", dict(t="2024-01-01T00:00:00.5Z"), "2024-01-01T00:00:00.500000Z"),
    ("d.astype(db.String)", dict(d="2024-01-01"), "2024-01-01"),
    ("u.astype(db.String)", dict(u="00000000-0000-0000-0000-00000000000a"), "00000000-0000-0000-0000-00000000000a"),
    ("(f * -0.0).astype(db.String)", dict(f=1.5), "-0.0"),
    ("f.astype(db.Int)", dict(f=-2.9), -2),
    ("s.astype(db.Int)", dict(s=" 12 "), 12),
    ("s.astype(db.Float)", dict(s="1e3"), 1000.0),
    ("s.astype(db.Timestamp)", dict(s="2024-01-01T00:00:00+02:00"), "2023-12-31T22:00:00Z"),
    ("s.astype(db.Date)", dict(s="2024-02-29"), "2024-02-29"),
    ("s.astype(db.UUID)", dict(s="0000000000000000000000000000000A"), "00000000-0000-0000-0000-00000000000a"),
    ("s.astype(db.Json)", dict(s="x"), '"x"'),
    ("t.astype(db.Date)", dict(t="2024-01-01T23:00:00Z"), "2024-01-01"),
    ("d.astype(db.Timestamp)", dict(d="2024-01-01"), "2024-01-01T00:00:00Z"),
    ("n.astype(db.Bool)", dict(n=0), False),
    ("b.astype(db.Int)", dict(b=True), 1),
    ("j.a.astype(db.Int)", dict(j='{"a":7.0}'), 7),
    ("j.a.astype(db.Float)", dict(j='{"a":7}'), 7.0),
    ("j.a.astype(db.String)", dict(j='{"a":"x"}'), "x"),
    ("j.a.astype(db.String)", dict(j='{"a":[1, 2]}'), "[1,2]"),
    ("j.a.astype(db.Bool)", dict(j='{"a":false}'), False),
    ("j.a.astype(db.Date)", dict(j='{"a":"2024-01-01"}'), "2024-01-01"),
    ("upper(j.a)", dict(j='{"a":"x"}'), "X"),
    ("s.upper().lower().len()", dict(s="ŒÎß"), 4),
    ("fn.string.format('{} {x:>4} {}', s, n, x=f)", dict(s="a", f=1.5), "a  1.5 None"),
]  # fmt: skip


def results(root, cases):
    rows = [(case[0], [case[1].get(name) for name in NAMES]) for case in cases]
    return dict(zip([(case[0], str(case[1])) for case in cases], compute_cases(root, MODEL, rows)))


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    return results(tmp_path_factory.mktemp("given"), GIVES)


@pytest.mark.parametrize(("expression", "row", "value"), GIVES)
def test_gives(given, expression, row, value):
    result = given[expression, str(row)]
    assert (result, type(result)) == (value, type(value))


FAILS = [
    ("n / 0", dict(n=1), "op.truediv", "ZeroDivisionError"),
    ("n // m", dict(n=1, m=0), "op.floordiv", "ZeroDivisionError"),
    ("f % 0", dict(f=1), "op.mod", "ZeroDivisionError"),
    ("n + 1", dict(n=BIG), "op.add", "OverflowError"),
    ("-n", dict(n=-BIG - 1), "op.neg", "OverflowError"),
    ("n ** m", dict(n=9, m=10**15), "op.pow", "OverflowError"),
    ("n ** m", dict(n=2, m=-1), "op.pow", "ValueError"),
    ("n ** m", dict(n=0, m=-1), "op.pow", "ZeroDivisionError"),
    ("f ** 0.5", dict(f=-1), "op.pow", "ValueError"),
    ("f * 10", dict(f=1e308), "op.mul", "OverflowError"),
    ("f ** 2", dict(f=1e308), "op.pow", "OverflowError"),
    ("s.astype(db.Int)", dict(s="x"), "op.cast", "ValueError"),
    ("s.astype(db.Float)", dict(s="nan"), "op.cast", "OverflowError"),
    ("f.astype(db.Int)", dict(f=1e30), "op.cast", "OverflowError"),
    ("j.a.astype(db.Int)", dict(j='{"a":"7"}'), "op.cast", "TypeError"),
    ("j.a.astype(db.Int)", dict(j='{"a":true}'), "op.cast", "TypeError"),
    ("upper(s.index('x'). astype(db.String))", dict(s="a"), "string.index", "ValueError"),
    ("s.match('(')", dict(s="a"), "string.match", "error|PatternError"),
    ("fn.string.join(',', j)", dict(j="[1]"), "string.join", "TypeError"),
    ("fn.string.format('{3}', s)", dict(s="a"), "string.format", "IndexError"),
    ("fn.string.format('{:c}', n)", dict(n=0), "string.format", "ValueError"),
]


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    return results(tmp_path_factory.mktemp("failed"), FAILS)


@pytest.mark.parametrize(("expression", "row", "function", "kind"), FAILS)
def test_fails(failed, expression, row, function, kind):
    error = failed[expression, str(row)]
    assert isinstance(error, dict), error
    assert (error["kind"], error["function"]) == ("raised", function)
    assert re.fullmatch(kind, error["type"]) and error["message"]


def test_a_type_that_is_printed_and_stored_agrees(project):
    columns = project.columns(
        MODEL
        + "    x = (n + m) * 2 - -n"
        + """
    y1 = ~(b & c) | (n > 1)
    y2 = (n + 1) ** 2 ** m
    y3 = j.a['b c'][0].astype(db.String).upper()
    y4 = s.find('x', end=3) == None
    y5 = -(n + 1)
    y6 = (n - (m - 1)) / (f * 2)
    y7 = n.astype(db.Float)
"""
    )
    assert [c["computed"]["text"] for c in columns.values() if c["computed"]] == [
        "(n + m) * 2 - -n",
        "~(b & c) | (n > 1)",
        "(n + 1) ** 2 ** m",
        "upper(j.a['b c'][0].astype(String))",
        "find(s, 'x', end=3) == None",
        "-(n + 1)",
        "(n - (m - 1)) / (f * 2)",
        "n.astype(Float)",
    ]


def test_nullability_follows_the_expression(project):
    columns = project.columns(
        """
        @db.udf
        def maybe(x: str) -> str | None:
            return None
        @db.udf
        def always(x: str | None) -> str:
            return ''
        class A(Base, name='a'):
            n: db.Int
            o: db.Int | None
            s: db.String
            p: db.String | None
            j: db.Json
            a1 = n + 1
            a2 = n + o
            a3 = upper(s)
            a4 = upper(p)
            a5 = maybe(s)
            a6 = always(p)
            a7 = o == None
            a8 = j.x
            a9 = (n > 1) & (o > 1)
            b1 = uuid7()
            b2 = s.strip(p)
        """
    )
    nullable = {name: c["nullable"] for name, c in columns.items() if c["computed"]}
    assert nullable == dict(
        a1=False, a2=True, a3=False, a4=True, a5=True, a6=False, a7=False, a8=True, a9=True, b1=False, b2=False
    )


def test_a_dependent_reads_what_is_stored(compute):
    values, errors = compute(
        """
        from datetime import datetime, timedelta, timezone
        @db.udf
        def moment(n: int) -> datetime:
            return datetime(2024, 1, 1, 5, tzinfo=timezone(timedelta(hours=7)))
        @db.udf
        def hour(t: datetime) -> int:
            return t.hour
        @db.udf
        def pair(n: int) -> dict:
            return {'p': (n, n)}
        @db.udf
        def change(d: dict) -> str:
            d['p'].append(3)
            return type(d['p']).__name__ + str(len(d['p']))
        @db.udf
        def third(n: int) -> float:
            return n
        @db.udf
        def name(x: float) -> str:
            return type(x).__name__
        class A(Base, name='a'):
            n: db.Int
            t = moment(n)
            h = hour(t)
            h2 = hour(moment(n))
            p = pair(n)
            c1 = change(p)
            c2 = change(p)
            c3 = change(pair(n))
            f = third(n)
            f1 = name(f)
            f2 = name(third(n))
            f3 = name(n)
        """,
        [1],
    )
    assert errors == [None]
    assert (values[0]["t"], values[0]["h"], values[0]["h2"]) == ("2023-12-31T22:00:00Z", 22, 22)
    assert (values[0]["c1"], values[0]["c2"], values[0]["c3"]) == ("list3", "list3", "list3")
    assert (values[0]["f1"], values[0]["f2"], values[0]["f3"]) == ("float", "float", "float")


def test_uuid7_grows_and_is_made_for_each_row(compute):
    values, _ = compute(
        "class A(Base, name='a'):\n    n: db.Int\n    k = uuid7()\n    r = fn.uuid.uuid4()\n",
        *[[n] for n in range(500)],
    )
    keys = [value["k"] for value in values]
    assert keys == sorted(set(keys)) and len(keys) == 500
    assert {key[14] for key in keys} == {"7"} and {key[19] for key in keys} <= set("89ab")
    assert {value["r"][14] for value in values} == {"4"}
