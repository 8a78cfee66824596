"""An application with each construct of an expression. Applying it twice shows no difference.

Tests of the library print each column and parse it again; those of the engine apply the file and compare it with the
stored tables.
"""

from datetime import date, datetime, timedelta, timezone
from uuid import UUID

import appdb as db
import appdb.functions as fn
from appdb.functions import uuid7
from appdb.serving import Router
from appdb.udfs.calls import NO_DEFAULT

Base = db.model_base()
BIG = 2**63 - 1
NAMESPACES = ("string", "json", "math", "timestamp", "date", "uuid")
# The argument for a parameter, where a column of that type would not work.
ARGUMENTS = {
    "pattern": "a+",
    "form": "NFC",
    "side": "right",
    "tz": "Europe/Berlin",
    "format": "%Y-%m-%d",
    "timespec": "seconds",
    "sep": ",",
    "fillchar": "*",
    "digits": 2,
    "width": 20,
}


@db.udf
def mixed(
    text: str,
    number: float,
    maybe: int | None,
    doc: dict,
    when: datetime = datetime(2024, 2, 29, 12, tzinfo=timezone.utc),
    *,
    tags: list,
    limit: int = 3,
    note: str | None = None,
) -> dict:
    return {"text": text, "number": number, "maybe": maybe, "doc": doc, "tags": tags[:limit], "note": note}


@db.udf
def half(n: int) -> float:
    return n / 2


@db.udf
def size(raw: bytes) -> int:
    return len(raw)


@db.udf
def risky(n: int) -> int:
    return 100 // n


def columns(body, prefix, expressions):
    """Declares a computed column for each expression."""
    for number, expression in enumerate(expressions):
        body[f"{prefix}_{number}"] = expression


def operators(a, b):
    """All operators of arithmetic over two operands, one of them a column."""
    return [a + b, a - b, a * b, a / b, a // b, a % b, a**b]


def comparisons(a, b):
    return [a == b, a != b, a < b, a <= b, a > b, a >= b]


def casts(value, kinds):
    return [value.astype(kind) for kind in kinds]


def sums(value, count):
    """A sum whose depth is its number of terms."""
    for step in range(count):
        value = value + step
    return value


def nested(value, count):
    for step in range(count):
        value = [value, {"step": step}]
    return value


def calls(by_kind):
    """A call of each function of the library: with the required arguments, and with all of them."""
    made = []
    for namespace in NAMESPACES:
        for name, function in getattr(fn, namespace).FUNCTIONS.items():
            if f"{namespace}.{name}" in ("string.format", "uuid.uuid7", "uuid.uuid4", "timestamp.now"):
                continue
            must, may = {}, {}
            for parameter in function.parameters:
                value = ARGUMENTS.get(parameter.name, by_kind[parameter.kind])
                if parameter.mode == "positional_only":
                    must[parameter.name] = value
                elif parameter.default is NO_DEFAULT:
                    must[parameter.name] = value
                else:
                    may[parameter.name] = value
            first = [must.pop(p.name) for p in function.parameters if p.mode == "positional_only"]
            made.append(function(*first, **must))
            if may:
                made.append(function(*first, **must, **may))
    return made


def slug(text: str) -> str:
    return text.lower().replace(" ", "-")


class Every(Base, name="every"):
    id = db.Column(value=uuid7(), primary_key=True)
    n: db.Int
    m: db.Int | None
    f: db.Float | None
    s: db.String
    b: db.Bool | None
    c: db.Bool
    t: db.Timestamp
    d: db.Date
    u: db.UUID
    j: db.Json
    raw: db.Binary | None
    vec: db.Array[(3,), db.Float] | None
    shaped: db.Json[{"k": int, "tags": list[str]}] | None

    columns(vars(), "arithmetic", operators(n, m) + operators(n, 2) + operators(2.5, f) + operators(f, n) + operators(-3, n))
    columns(vars(), "mixed", [n + b, b * 2, s + "x", "x" + s, s * 2, 3 * s, -n, +b, -f, -(n + 1), n - -1, n**-1, (-n) ** 2, -(n**2)])
    columns(vars(), "nested", [(n + m) * 2 - (n - (m - 1)), 2 ** (n**m), (2**n) ** m, n / (m / 2), n % (m % 3), (n < m) == b, ~(~b)])
    columns(vars(), "numbers", [abs(n), abs(f), abs(n - 5), round(f), round(f, 2), round(n), round(n, -1), round(f, m), abs(-1 * n) ** 2])
    columns(vars(), "ints", comparisons(n, m) + comparisons(n, 7) + comparisons(2.5, n) + comparisons(b, 1))
    columns(vars(), "texts", comparisons(s, "é'\"\\ \n\t%_😀") + [s == "", s != "None"])
    columns(vars(), "moments", comparisons(t, datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))) + [t > "2024-01-01"])
    columns(vars(), "days", comparisons(d, date(2024, 2, 29)) + [d < "2024-03-01"])
    columns(vars(), "ids", comparisons(u, UUID(int=10)) + [u == "0000000000000000000000000000000A"])
    columns(vars(), "nulls", [n == None, m != None, j == None, j.a != None, (n + 1) == None])  # noqa: E711
    columns(vars(), "logic", [b & c, b | c, ~b, ~(b & c) | (n > 1), (b | c) & ~c, b & (n == 1) & (s == "x"), b & True])
    columns(vars(), "among", [n.isin([1, 2]), n.isin([1, None, m]), n.isin([]), n.isin({3, 1, 2}), s.isin({"b", "a", "é"}), f.isin([1, 2.5])])
    columns(vars(), "among_more", [t.isin(["2024-01-01"]), d.isin([date(2024, 1, 1)]), u.isin([UUID(int=1)]), j.a.isin([1, "x", None, [1], {"b": n}]), b.isin([True]), (n + 1).isin([n]), n.isin(j.tags), (s + "x").isin(j["*"])])
    columns(vars(), "paths", [j.a, j["a b"], j["it's \"x\" \\"], j.a.b[0], j[-1], j.a["*"].b, j["*"], j.a[1:], j.a[:-1], j.a[::2], j.a[1:9:3].b[0], j["class"], j["astype"], j["errortype"], j[""], j["é"], j["1"], j["_x"]])
    columns(vars(), "json", [j == 1, j.a == "x", j.a != True, j == {"b": 1, "a": [1, 2.5, None]}, j.a == [], j.a == j.b, j.k + 1, -j.k, +j.k, j.k * n, j.k < 5, j.name < "x", abs(j.k), j.k / j.k, t == j.at, j.a == d])
    columns(vars(), "copies", [n, m, f, s, b, t, d, u, j, raw, vec, shaped])
    columns(vars(), "bytes", [raw == b"a\x00'\\", raw != None, raw.isin([b"", b"x"]), b"\x00\xff'\\", size(raw), vec == None, size(b"abc")])  # noqa: E711
    columns(vars(), "shapes", [shaped.k, shaped.tags[0], shaped == {"k": 1, "tags": []}, shaped["tags"]["*"], {"in": shaped}])
    columns(vars(), "casts", [n.astype(db.String), n.astype(db.Float), n.astype(db.Bool), n.astype(db.Json), f.astype(db.Int), f.astype(db.String), f.astype(db.Json), b.astype(db.Int), b.astype(db.String), b.astype(db.Json)])
    columns(vars(), "casts_more", casts(s, [db.Int, db.Float, db.Timestamp, db.Date, db.UUID, db.Json]) + [t.astype(db.String), t.astype(db.Date), t.astype(db.Json), d.astype(db.String), d.astype(db.Timestamp), d.astype(db.Json), u.astype(db.String), u.astype(db.Json), (n + 1).astype(db.String)])
    columns(vars(), "parts", casts(j.a, [db.String, db.Int, db.Float, db.Bool, db.Timestamp, db.Date, db.UUID]))
    columns(vars(), "constants", [1, -1, BIG, -BIG - 1, 0, 1.5, -0.0, 1e22, 5e-324, 1.7976931348623157e308, True, False, "", "x", "é'\"\\ \n\t\x01\x7f\u2028😀 {} %s $1 --", "x" * 20_000])
    columns(vars(), "constants_more", [datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=timezone.utc), datetime(1, 1, 1), date(9999, 12, 31), UUID(int=2**128 - 1), {}, [], {"b": 1, "a": [1, 2.0, -0.0, 10**30, None, True, "é\n"]}, [[[]], {}], {"": {"é'\"": "\\"}}, [date(2024, 1, 1), UUID(int=1)], (1, 2)])
    columns(vars(), "composed", [{"a": n, "b": [1, s, {"c": None, "d": f}], "e": {}}, [n, 1, "é", 1.5, True, None, -1, date(2024, 1, 1)], {"t": t, "d": d, "u": u, "j": j, "p": j.a["*"]}, [[n]], {"": n, "é'\"\\\n": m}, (n, [j.k + 1, j]), {"a": n > 1, "b": n == None}, {"x": half(n)}])  # noqa: E711
    columns(vars(), "calls", [mixed(s, f, m, j, tags=[1, n]), mixed(s, 2, None, {"a": n}, tags=[]), mixed("x", n, 1, {}, t, tags=j.tags, limit=9, note=s), mixed(s, n, m, j.a, datetime(2024, 1, 1), tags=[], note=None), half(n + 1), half(half(n).astype(db.Int)) + 1])
    columns(vars(), "applied", [s.apply(slug), (n + 1).apply(str), s.apply(ascii, col_type=db.String), j.apply(repr, db.String), s.apply(slug).upper()])
    columns(vars(), "fn", calls({"string": s, "int": n, "float": f, "bool": b, "timestamp": t, "date": d, "uuid": u, "json": j}))
    columns(vars(), "format", [fn.string.format("{} {x:>4} {{}} {}", s, n, x=f), fn.string.format(s), fn.string.format("{0}{0}", None)])
    columns(vars(), "ids_made", [fn.uuid.uuid4(), fn.uuid.uuid7(), fn.uuid.uuid4().astype(db.String)])
    columns(vars(), "methods", [s.upper().lower().strip("x"), s.len() + 1, fn.string.upper(s + "x").replace("a", "b"), t.year + t.month, j.tags.len()])
    columns(vars(), "lists", [fn.map(j.a.b, lambda x: x.b), fn.map(j.tags, lambda x, n=n: {"t": x, "n": n}), fn.filter(j.tags, lambda x: x != "b"), fn.sort(j.tags), fn.sort(j.l, lambda x: -x), fn.map(j.ll, lambda x, s=s: fn.map(x, lambda y: [x, y, s])), fn.sort(j.tags, asc=False), j.tags.map(lambda x: x.astype(db.String).upper()), fn.map(j.ll, lambda x: half(x.astype(db.Int)))])
    columns(vars(), "long", ["-".join(["part"] * 500) + s, s.isin([f"value {k}" for k in range(500)])])
    deep = sums(n, 150)
    deeper = nested(n, 60)
    # Columns that read others in stored form.
    berlin = t.astimezone("Europe/Berlin")
    read = [berlin.hour, berlin.isoformat(), berlin == t, t.astimezone("Europe/Berlin").hour]
    packed = {"f": f, "t": berlin, "n": n, "j": j}
    unpacked = [packed.f, packed.t, packed.j["*"], packed == {"n": n, "j": j, "t": berlin, "f": f}, packed.n + 1]
    halves = half(n)
    quarter = halves / 2 + n
    cased = s.upper() + "ß"
    cased_again = cased.lower() == s + "ß"
    risk = risky(n)
    failed = risk.errortype
    told = fn.string.format("{}: {}", risk.errortype, risk.errormsg)
    is_failed = risk.errortype != None  # noqa: E711


every = Router(name="every")
every.add_insert_route(Every, path="/every", on_error="ignore", inputs=[Every.n, Every.m, Every.f, Every.s, Every.b, Every.c, Every.t, Every.d, Every.u, Every.j, Every.raw, Every.vec, Every.shaped])
