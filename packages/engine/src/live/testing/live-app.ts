/** Notes in rooms, and queries of every kind that can be watched. */
export const LIVE_APP = `
import appdb as db
import appdb.functions as fn
from appdb.serving import Router

Base = db.model_base()


class Notes(Base, name="notes"):
    name = db.Column(db.String, primary_key=True)
    room: db.String
    n: db.Int | None
    doc: db.Json | None
    loud = fn.upper(name)


class Rooms(Base, name="rooms"):
    room = db.Column(db.String, primary_key=True)
    title: db.String


@db.udf
def same(x: str) -> str:
    return x


r = Router(name="q")
r.add_insert_route(Notes, path="/notes")


def serve(function, **options):
    marked = db.query(return_scalar=options.pop("scalar", False))(function)
    r.add_query_route(path="/" + function.__name__, query=marked, method=options.pop("method", "get"), **options)
    return marked


def in_room(room: str): return Notes.where(Notes.room == room).select(Notes.name, Notes.n).order_by(Notes.n)
in_room = serve(in_room)
def named(room: str): return Notes.where(Notes.room == room).select(Notes.name)
named = serve(named, scalar=True)
def first(room: str): return Notes.where(Notes.room == room).order_by(Notes.n).select(Notes.name).limit(2)
first = serve(first)
def counted(room: str): return Notes.where(Notes.room == room).select(c=fn.count(), total=fn.sum(Notes.n))
counted = serve(counted, one_row=True)
def by_room(): return Notes.group_by(Notes.room).select(Notes.room, c=fn.count()).order_by(Notes.room)
by_room = serve(by_room)
def titled(room: str): return Notes.join(Rooms, on=Notes.room == Rooms.room, how="left").where(Notes.room == room).select(Notes.name, Rooms.title)
titled = serve(titled)
def in_python(room: str): return Notes.where(same(Notes.room) == room).select(Notes.name)
in_python = serve(in_python)
def docs(room: str): return Notes.where(Notes.room == room).select(Notes.doc)
docs = serve(docs)
def every(): return Notes.select(Notes.name)
every = serve(every)
def divided(): return Notes.select(x=fn.sum(Notes.n * 4611686018427387904))
divided = serve(divided)
`;
