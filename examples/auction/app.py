"""An auction house: lots, the bids for them, and boards in the hall that show at once what was bid.

    cli schema update app.py main
    cli service update app.py main -f
"""

import appdb as db
import appdb.functions as fn
from appdb.serving import Router

Base = db.model_base()


class Lots(Base, name="lots"):
    """What is sold. Prices are whole cents."""

    number = db.Column(type=db.Int, primary_key=True)
    title = db.Column(type=db.String)
    reserve: db.Int | None
    hammer = db.Column(type=db.Int | None)  # what the hammer fell at; null while bids are taken
    buyer = db.Column(type=db.String | None)

    is_open = hammer == None  # noqa: E711
    # Null as long as nobody has bought it.
    premium = hammer * 24 // 100
    invoice = hammer + premium
    line = fn.format("lot {}: {} to {}", number, title, buyer)


class Bids(Base, name="bids"):
    id = db.Column(value=fn.uuid7(), primary_key=True)
    lot = db.Column(type=db.Int)
    paddle = db.Column(type=db.String)
    cents = db.Column(type=db.Int)
    note: db.String | None

    shown = fn.format("{} bids {:.2f}", paddle, cents / 100)

    __indexes__ = [db.BtreeIndex(lot, cents)]


@db.query
def lot(number: int):
    return Lots.where(Lots.number == number)


@db.query
def board(lot: int):
    """The bids for a lot, the highest on top, of equal ones the earlier. As a stream it is the board in the hall."""
    return (
        Bids.where(Bids.lot == lot)
        .order_by(Bids.cents, asc=False)
        .order_by(Bids.id)
        .select(Bids.paddle, Bids.cents, Bids.note)
    )


@db.query
def standing(lot: int):
    """One row, whether there are bids or not."""
    return Bids.where(Bids.lot == lot).select(bids=fn.count(), highest=fn.max(Bids.cents))


@db.query
def evening():
    """What the whole evening looks like: a row for each lot that has bids."""
    return Bids.group_by(Bids.lot).select(Bids.lot, bids=fn.count(), highest=fn.max(Bids.cents)).order_by(Bids.lot)


@db.query
def bid_of(lot: int, cents: int):
    """Who bid exactly that? Nobody is 404, several are 409."""
    return Bids.where((Bids.lot == lot) & (Bids.cents == cents)).select(Bids.paddle, Bids.shown)


house = Router(prefix="/house")

house.add_insert_route(Lots, path="/lots", inputs=[Lots.number, Lots.title, Lots.reserve])
house.add_query_route(path="/lot", query=lot, method="get", one_row=True)
house.add_update_route(
    Lots, path="/lots/knock-down", inputs=[Lots.hammer, Lots.buyer], outputs=[Lots.line, Lots.invoice]
)

house.add_insert_route(Bids, path="/bids", outputs=[Bids.id, Bids.shown])
house.add_update_route(Bids, path="/bids/note", inputs=[Bids.note], outputs=[Bids.note])
house.add_delete_route(Bids, path="/bids/withdraw")
house.add_query_route(path="/bids/of", query=bid_of, method="get", one_row=True)

# Queries like others. Asked for with `accept: text/event-stream` they stay open and say what changes.
house.add_query_route(path="/board", query=board, method="get")
house.add_query_route(path="/board", query=board)
house.add_query_route(path="/standing", query=standing, method="get", one_row=True)
house.add_query_route(path="/evening", query=evening, method="get")

# What would it cost with the premium? Computed as for a row of lots, and not stored.
house.add_compute_route(Lots, path="/calculator", inputs=[Lots.hammer], outputs=[Lots.premium, Lots.invoice])
