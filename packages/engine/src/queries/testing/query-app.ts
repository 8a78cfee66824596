/** An application with a query of every kind, for tests over HTTP. */
export const QUERY_APP = `
import appdb as db
import appdb.functions as fn
from appdb.serving import Router

Base = db.model_base()


class Items(Base, name="items"):
    sku = db.Column(db.String, primary_key=True)
    kind: db.String | None
    n: db.Int | None
    price: db.Float | None
    ok: db.Bool | None
    day: db.Date | None
    at: db.Timestamp | None
    tag: db.UUID | None
    doc: db.Json | None
    half = n / 2
    __indexes__ = [db.BtreeIndex(kind)]


class Kinds(Base, name="kinds"):
    name = db.Column(db.String, primary_key=True)
    rank: db.Int


@db.udf
def same(x: str | None) -> str | None:
    return x


@db.udf
def same_int(x: int | None) -> int | None:
    return x


@db.udf
def yes(x: str) -> bool:
    return True


@db.udf
def fails(x: int) -> int:
    raise ValueError(f"no {x}")


r = Router(name="q")
r.add_insert_route(Items, path="/items", inputs=["sku", "kind", "n", "price", "ok", "day", "at", "tag", "doc"])
r.add_insert_route(Kinds, path="/kinds")


def serve(function, **options):
    marked = db.query(return_scalar=options.pop("scalar", False))(function)
    r.add_query_route(path="/" + function.__name__, query=marked, method="get", **options)
    return marked


def every(): return Items
every = serve(every)
def by_sku(sku: str): return Items.where(Items.sku == sku).select(Items.n, Items.sku, up=fn.upper(Items.sku))
by_sku = serve(by_sku, one_row=True)
def by_kind(kind: str): return Items.where(Items.kind == kind).select(Items.sku)
by_kind = serve(by_kind, scalar=True)
def from_kind(kind: str): return Items.where(Items.kind >= kind).order_by(Items.kind).select(Items.kind)
from_kind = serve(from_kind, scalar=True)
def one_of_kind(kind: str): return Items.where(Items.kind == kind)
one_of_kind = serve(one_of_kind, one_row=True)
def maybe(kind: str = "", n: int | None = None):
    return Items.where(((kind == "") | (Items.kind == kind)) & ((n == None) | (Items.n == n))).select(Items.sku)
maybe = serve(maybe, scalar=True)
def ordered(asc_first: int = 0, lim: int = 100, off: int = 0):
    return Items.order_by(Items.n).order_by(Items.sku, asc=False).select(Items.sku).limit(lim, off)
ordered = serve(ordered, scalar=True)
def ordered_desc(): return Items.select(Items.sku).order_by(Items.n, asc=False)
ordered_desc = serve(ordered_desc, scalar=True)
def ordered_python(lim: int = 100): return Items.order_by(same_int(Items.n)).order_by(same(Items.sku), asc=False).select(Items.sku).limit(lim)
ordered_python = serve(ordered_python, scalar=True)
def filtered_python(n: int): return Items.where(yes(Items.sku) & (Items.n > n)).order_by(Items.sku).select(Items.sku)
filtered_python = serve(filtered_python, scalar=True)
def filtered(n: int): return Items.where(Items.n > n).order_by(Items.sku).select(Items.sku)
filtered = serve(filtered, scalar=True)
def first_filtered_python(lim: int, off: int = 0): return Items.where(yes(Items.sku)).select(Items.sku).limit(lim, off)
first_filtered_python = serve(first_filtered_python, scalar=True)
def head(): return Items.order_by(Items.sku).select(Items.sku).head(2)
head = serve(head, scalar=True)
def tail(n: int = 2): return Items.order_by(Items.sku).select(Items.sku).tail(n)
tail = serve(tail, scalar=True)
def tail_python(n: int = 2): return Items.order_by(same(Items.sku)).select(Items.sku).tail(n)
tail_python = serve(tail_python, scalar=True)
def total(): return Items.where(Items.n > 0).count()
total = serve(total, scalar=True, one_row=True)
def total_python(): return Items.where(yes(Items.sku)).count()
total_python = serve(total_python, scalar=True, one_row=True)
def groups(): return Items.group_by(Items.kind).select(Items.kind, fn.count(), total=fn.sum(Items.n), low=fn.min(Items.sku), high=fn.max(Items.price), mean=fn.mean(Items.n), skus=fn.make_list(Items.sku), share=fn.sum(Items.n) / fn.count(Items.sku)).order_by(Items.kind)
groups = serve(groups)
def groups_python(): return Items.group_by(same(Items.kind)).select(same(Items.kind), fn.count(), total=fn.sum(same_int(Items.n)), low=fn.min(same(Items.sku)), high=fn.max(Items.price), mean=fn.mean(Items.n), skus=fn.make_list(Items.sku), share=fn.sum(Items.n) / fn.count(Items.sku)).order_by(same(Items.kind))
groups_python = serve(groups_python)
def groups_by_count(): return Items.group_by(Items.kind).select(Items.kind).order_by(same_int(fn.count(Items.sku)), asc=False).order_by(Items.kind)
groups_by_count = serve(groups_by_count, scalar=True)
def nothing(): return Items.where(Items.n > 1000).select(s=fn.sum(Items.n), c=fn.count(Items.n), r=fn.count(), lo=fn.min(Items.at), m=fn.mean(Items.price), l=fn.make_list(Items.n))
nothing = serve(nothing)
def no_groups(): return Items.where(Items.n > 1000).group_by(Items.kind).select(Items.kind)
no_groups = serve(no_groups, scalar=True)
def extremes(): return Items.select(fn.min(Items.ok), fn.max(Items.ok), fn.max(Items.day), fn.min(Items.at), lists=fn.make_list(Items.price), days=fn.make_list(Items.day), ats=fn.make_list(Items.at))
extremes = serve(extremes, one_row=True)
def too_much(): return Items.select(fn.sum(Items.n * 0 + 9223372036854775807))
too_much = serve(too_much)
def distinct(): return Items.select(Items.kind).distinct()
distinct = serve(distinct, scalar=True)
def distinct_desc(): return Items.order_by(Items.kind, asc=False).select(Items.kind).distinct().limit(2)
distinct_desc = serve(distinct_desc, scalar=True)
def distinct_python(): return Items.select(same(Items.kind)).distinct()
distinct_python = serve(distinct_python, scalar=True)
def inner(): return Items.join(Kinds, on=Items.kind == Kinds.name).order_by(Items.sku).select(Items.sku, Kinds.rank)
inner = serve(inner)
def left(): return Items.join(Kinds, on=Items.kind == Kinds.name, how="left").order_by(Items.sku).select(Items.sku, Kinds.rank)
left = serve(left)
def right(): return Items.join(Kinds, on=Items.kind == Kinds.name, how="right").order_by(Kinds.name).order_by(Items.sku).select(Items.sku, Kinds.name)
right = serve(right)
def full_of_any(): return Items.join(Kinds, on=(Items.kind < Kinds.name) & (Items.sku != "b"), how="full").order_by(Items.sku).order_by(Kinds.name).select(Items.sku, Kinds.name)
full_of_any = serve(full_of_any)
def full_of_one(): return Items.join(Kinds, on=Items.kind == Items.kind, how="full").count()
full_of_one = serve(full_of_one, scalar=True, one_row=True)
def full(): return Items.join(Kinds, on=Items.kind == Kinds.name, how="full").order_by(Items.sku).order_by(Kinds.name).select(Items.sku, Kinds.name)
full = serve(full)
def cross(): return Items.join(Kinds, how="cross").count()
cross = serve(cross, scalar=True, one_row=True)
def left_python(): return Items.join(Kinds, on=Items.kind == Kinds.name, how="left").where(yes(Items.sku)).order_by(same(Items.sku)).select(same(Items.sku), same_int(Kinds.rank))
left_python = serve(left_python)
def sampled(): return Items.sample(n=3, seed=7).select(Items.sku)
sampled = serve(sampled, scalar=True)
def sampled_python(): return Items.where(yes(Items.sku)).sample(n=3, seed=7).select(Items.sku)
sampled_python = serve(sampled_python, scalar=True)
def fraction(): return Items.sample(fraction=0.5, seed=7).select(Items.sku)
fraction = serve(fraction, scalar=True)
def none_drawn(): return Items.sample(fraction=0).select(Items.sku)
none_drawn = serve(none_drawn, scalar=True)
def grouped_sample(): return Items.sample(n=4, seed=7).select(fn.count())
grouped_sample = serve(grouped_sample, scalar=True)
def signs(): return Items.where(Items.sku == "a").select(m=(0 - Items.n) % 3, d=(0 - Items.n) // 2, c=Items.half)
signs = serve(signs, one_row=True)
def divided(): return Items.order_by(Items.sku).select(10 / Items.n)
divided = serve(divided, scalar=True)
def divided_guarded(): return Items.where((Items.n != 0) & (10 / Items.n > 2)).order_by(Items.sku).select(Items.sku)
divided_guarded = serve(divided_guarded, scalar=True)
def divided_unguarded(): return Items.where(10 / Items.n > 2).order_by(Items.sku).select(Items.sku)
divided_unguarded = serve(divided_unguarded, scalar=True)
def parts(): return Items.where(Items.doc != None).order_by(Items.sku).select(Items.doc.a.b, x=Items.doc["quote ' here"])
parts = serve(parts)
def failing(): return Items.where(Items.n == 3).select(fails(Items.n))
failing = serve(failing)
def values(n: int, price: float, ok: bool, day: db.Date, at: db.Timestamp, tag: db.UUID, doc: db.Json | None = None):
    return Kinds.where(Kinds.name == "k1").select(n=n, price=price, ok=ok, day=day, at=at, tag=tag)
values = serve(values, one_row=True)
def columns_named(limit: str = "x"): return Items.where(Items.sku == "a").select(Items.sku, **{"a'; drop table items; --": Items.n, 'b"': Items.n, "c\\\\": Items.n})
columns_named = serve(columns_named)
def echo(text: str): return Items.where(Items.sku == "a").select(got=text, again=fn.upper(text), eq=Items.sku == text)
echo = serve(echo, one_row=True)
r.add_query_route(path="/every", query=every)
r.add_query_route(path="/by_sku", query=by_sku, one_row=True)
r.add_query_route(path="/maybe", query=maybe)
`;

/** The rows of its table `items`, in insertion order. */
export const QUERY_ROWS = [
  {
    sku: "a",
    kind: "k1",
    n: 7,
    price: 1.5,
    ok: true,
    day: "2024-02-29",
    at: "2024-01-01T00:00:00Z",
    doc: { a: { b: [1.5] } },
  },
  {
    sku: "b",
    kind: "k1",
    n: -2,
    price: null,
    ok: false,
    day: null,
    at: "2023-12-31T23:00:00-01:30",
    doc: { "quote ' here": 1 },
  },
  { sku: "c", kind: "k2", n: 3, price: 2, ok: null, day: "2020-01-01", at: null, doc: [1] },
  { sku: "d", kind: null, n: 0, price: -0.5, ok: true, day: null, at: null, doc: null },
  { sku: "É", kind: "k9", n: null, price: null, ok: null, day: null, at: null, doc: null },
  { sku: "z", kind: "k2", n: 3, price: 1e20, ok: false, day: null, at: null, doc: null },
] as const;
