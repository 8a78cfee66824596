"""Tickets of former years, and what a new ticket wants to know of them."""

import appdb as db
import appdb.functions as fn

Base = db.model_base()


class Closed(Base, name="closed_tickets"):
    number = db.Column(type=db.Int, primary_key=True)
    customer = db.Column(type=db.String)
    subject: db.String
    hours: db.Float
    is_happy: db.Bool | None

    __indexes__ = [db.BtreeIndex(customer)]


@db.query(return_scalar=True)
def earlier_tickets(customer: str):
    """How many there were. A scalar query gives the list of its values, here of one."""
    return Closed.where(Closed.customer == customer).select(fn.count())


@db.query
def worst_tickets(customer: str, at_least: float = 10.0):
    return (
        Closed.where((Closed.customer == customer) & (Closed.hours >= at_least))
        .order_by(Closed.hours, asc=False)
        .limit(2)
        .select(Closed.number, Closed.hours)
    )
