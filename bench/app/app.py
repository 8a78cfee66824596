"""Tables with the same two columns, to separate the costs of an insert: key, SQL, Python, much Python, waiting.
One more table is for reads, and three are for views."""

import appdb as db
from appdb.functions import upper, uuid7
from appdb.functions.string import string_splitter
from appdb.serving import Router

from shorten import ask, shorten

TableModel = db.model_base()


class Plain(TableModel, name="plain"):
    title: db.String
    body: db.String


class Keyed(TableModel, name="keyed"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    body: db.String


class Cased(TableModel, name="cased"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    body: db.String
    title_upper = upper(title)


class Shortened(TableModel, name="shortened"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    body: db.String
    summary = shorten(body)


class Chained(TableModel, name="chained"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    body: db.String
    first = shorten(body)
    second = shorten(first)
    third = shorten(second)
    fourth = shorten(third)
    fifth = shorten(fourth)


class Asked(TableModel, name="asked"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    body: db.String
    answer = ask(title)


class Listed(TableModel, name="listed"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    n: db.Int
    price: db.Float
    made_at: db.Timestamp
    note: db.String | None
    __indexes__ = [db.BtreeIndex(n)]


class Stocked(TableModel, name="stocked"):
    sku = db.Column(type=db.Int, primary_key=True)
    n: db.Int
    note: db.String
    twice = n * 2


class Renamed(TableModel, name="renamed"):
    sku = db.Column(type=db.Int, primary_key=True)
    body: db.String
    note: db.String | None
    summary = shorten(body)


class Rated(TableModel, name="rated"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    stars: db.Int


class Viewed(TableModel, name="viewed"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    stars: db.Int


class Best(TableModel, name="best", base=Viewed.where(Viewed.stars > 3)):
    title_upper = upper(Viewed.title)


class Document(TableModel, name="documents"):
    id = db.Column(value=uuid7(), primary_key=True)
    body: db.String


class Chunk(TableModel, name="chunks", base=Document, iterator=string_splitter(Document.body, "char_limit", limit=400)):
    text_upper = upper(text)


@db.query
def by_id(id: db.UUID):
    return Listed.where(Listed.id == id).select(Listed.title, Listed.n)


@db.query
def listed(first: int):
    chosen = Listed.where(Listed.n >= first).order_by(Listed.n).limit(100)
    return chosen.select(Listed.title, Listed.n, Listed.price, Listed.made_at, Listed.note)


@db.query
def made_of(n: int):
    return Listed.where(Listed.n == n).select(Listed.title, Listed.price)


@db.query
def plain_of(title: str):
    return Plain.where(Plain.title == title).select(Plain.body)


bench = Router(name="bench")
bench.add_insert_route(Plain, path="/plain", inputs=[Plain.title, Plain.body], outputs=[Plain.title])
bench.add_insert_route(Keyed, path="/keyed", inputs=[Keyed.title, Keyed.body], outputs=[Keyed.id])
bench.add_insert_route(Cased, path="/cased", inputs=[Cased.title, Cased.body], outputs=[Cased.id, Cased.title_upper])
bench.add_insert_route(
    Shortened, path="/shortened", inputs=[Shortened.title, Shortened.body], outputs=[Shortened.id, Shortened.summary]
)
for viewed in (Rated, Viewed):
    inputs = [viewed.title, viewed.stars]
    bench.add_insert_route(viewed, path=f"/{viewed.__name__.lower()}", inputs=inputs, outputs=[viewed.id])
bench.add_insert_route(Document, path="/documents", outputs=[Document.id])
bench.add_compute_route(Cased, path="/upper", inputs=[Cased.title], outputs=[Cased.title_upper])
bench.add_compute_route(Shortened, path="/summary", inputs=[Shortened.body], outputs=[Shortened.summary])
bench.add_insert_route(
    Chained, path="/chained", inputs=[Chained.title, Chained.body], outputs=[Chained.id, Chained.fifth]
)
bench.add_insert_route(Asked, path="/asked", inputs=[Asked.title, Asked.body], outputs=[Asked.id, Asked.answer])
bench.add_query_route(path="/by_id", query=by_id, one_row=True)
bench.add_query_route(path="/listed", query=listed)
bench.add_query_route(path="/made_of", query=made_of, method="get")
bench.add_query_route(path="/plain_of", query=plain_of, method="get")
bench.add_update_route(Stocked, path="/stocked", outputs=[Stocked.sku, Stocked.n, Stocked.twice])
bench.add_update_route(Renamed, path="/renamed", outputs=[Renamed.sku, Renamed.summary])
