"""A parcel service: depots send parcels by the thousand, scanners send each scan until they know that it arrived.

    cli schema update app.py main
    cli service update app.py main -f
"""

import appdb as db
import appdb.functions as fn
from appdb.serving import Router
from udfs import check_digit

Base = db.model_base()


class Parcels(Base, name="parcels"):
    # Whoever sends a parcel gives it its number: a number that is taken is refused.
    code = db.Column(type=db.String, primary_key=True)
    depot = db.Column(type=db.String)
    grams = db.Column(type=db.Int)
    recipient: db.String
    booked: db.Timestamp | None

    check = check_digit(code)
    postage = 380 + grams // 500 * 95  # in cents
    country = code.slice(-2)

    __indexes__ = [db.BtreeIndex(depot, code), db.BtreeIndex(grams)]


class Scans(Base, name="scans"):
    """What scanners saw. The key is made here, so only an Idempotency-Key tells a scan from its repetition."""

    id = db.Column(value=fn.uuid7(), primary_key=True)
    code = db.Column(type=db.String)
    place: db.String
    seen = db.Column(type=db.Timestamp)

    __indexes__ = [db.BtreeIndex(code, seen)]


@db.query
def parcel(code: str):
    return Parcels.where(Parcels.code == code)


@db.query
def in_depot(depot: str):
    return Parcels.where(Parcels.depot == depot).order_by(Parcels.code).select(Parcels.code, Parcels.grams)


@db.query
def heaviest():
    """Many weigh the same: pages go on behind the right one all the same."""
    return Parcels.order_by(Parcels.grams, asc=False).order_by(Parcels.depot).select(Parcels.code, Parcels.grams)


@db.query
def totals():
    return (
        Parcels.group_by(Parcels.depot)
        .select(Parcels.depot, parcels=fn.count(), grams=fn.sum(Parcels.grams), postage=fn.sum(Parcels.postage))
        .order_by(Parcels.depot)
    )


@db.query(return_scalar=True)
def trace(code: str):
    """Where a parcel was, in the order of time: a list of places, without names for them."""
    return Scans.where(Scans.code == code).order_by(Scans.seen).select(Scans.place)


post = Router()

# One parcel as an object, many as an array or one a line: all of them are stored, or none.
post.add_insert_route(Parcels, path="/parcels", outputs=[Parcels.code, Parcels.check, Parcels.postage])
post.add_insert_route(Scans, path="/scans")
post.add_delete_route(Parcels, path="/parcels/remove")
post.add_update_route(Parcels, path="/parcels/weigh", inputs=[Parcels.grams], outputs=[Parcels.grams, Parcels.postage])

post.add_query_route(path="/parcel", query=parcel, method="get", one_row=True)
post.add_query_route(path="/depot", query=in_depot, method="get")
post.add_query_route(path="/heaviest", query=heaviest)
post.add_query_route(path="/totals", query=totals, method="get")
post.add_query_route(path="/trace", query=trace, method="get")
