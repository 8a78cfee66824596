"""A studio that draws pictures, slowly, for clients that do not like to wait.

    cli schema update app.py main
    cli service update app.py main -f
"""

from uuid import UUID

import appdb as db
import appdb.functions as fn
from appdb.serving import Background, Router
from drawing import draw, ink, press, stamp

Base = db.model_base()


class Renders(Base, name="renders", has_default_idxs=True):
    """What was ordered, and the picture. Every column that an index helps has one, by has_default_idxs."""

    id = db.Column(value=fn.uuid7(), primary_key=True)
    title = db.Column(type=db.String)
    re = db.Column(type=db.Float)
    im = db.Column(type=db.Float)
    zoom = db.Column(type=db.Float)
    rows = db.Column(type=db.Int)
    pause_ms = db.Column(type=db.Int)

    picture = draw(re, im, zoom, rows, pause_ms)
    dark = ink(picture)
    made = stamp(picture)
    caption = fn.format("{}: {} rows, {} dark", title, rows, dark)


class Prints(Base, name="prints"):
    """Pictures on paper, which nobody waits for: they are printed in the background."""

    id = db.Column(value=fn.uuid7(), primary_key=True)
    title = db.Column(type=db.String)
    copies = db.Column(type=db.Int)

    sheet = press(title, copies)


@db.query
def render(id: UUID):
    return Renders.where(Renders.id == id)


@db.query
def titled(title: str):
    return Renders.where(Renders.title == title).order_by(Renders.id).select(Renders.caption)


@db.query
def failed():
    """Orders without a picture, and why."""
    return (
        Renders.where(Renders.picture.errortype != None)  # noqa: E711
        .order_by(Renders.title)
        .select(Renders.title, kind=Renders.picture.errortype, why=Renders.picture.errormsg)
    )


@db.query
def printed(title: str):
    return Prints.where(Prints.title == title).select(Prints.sheet)


@db.query
def darkest(limit: int = 3):
    by_ink = Renders.order_by(Renders.dark, asc=False).order_by(Renders.title)
    return by_ink.limit(limit).select(Renders.title, Renders.dark)


studio = Router(prefix="/studio", tags=["renders"])

studio.add_insert_route(Renders, path="/renders", outputs=[Renders.id, Renders.picture, Renders.caption])
# An order that cannot be drawn is kept all the same, and drawn when it was put right.
studio.add_insert_route(Renders, path="/orders", outputs=[Renders.id, Renders.dark], on_error="ignore")
studio.add_update_route(
    Renders, path="/orders/change", outputs=[Renders.dark, Renders.made, Renders.caption], on_error="ignore"
)
studio.add_delete_route(Renders, path="/orders/cancel", match_columns=[Renders.title])
studio.add_compute_route(Renders, path="/preview", outputs=[Renders.picture, Renders.dark])
studio.add_query_route(path="/render", query=render, method="get", one_row=True)
studio.add_query_route(path="/titled", query=titled, method="get")
studio.add_query_route(path="/failed", query=failed, method="get")
studio.add_query_route(path="/darkest", query=darkest, method="get")

# Each answers a job at once. A press that jams is tried again, up to three times in all.
studio.add_insert_route(
    Prints, path="/prints", outputs=[Prints.sheet], background=Background(attempts=3, expires=3600)
)
studio.add_query_route(path="/printed", query=printed, method="get")
studio.add_query_route(path="/inventory", query=darkest, method="get", background=True)
