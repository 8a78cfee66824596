"""What the people of the help desk ask."""

import appdb as db
import appdb.functions as fn

from .models import Tickets
from .text import urgency


@db.query
def queue(limit: int = 10):
    """The most urgent first; of equal ones whoever waits longer."""
    return (
        Tickets.order_by(Tickets.urgency, asc=False)
        .order_by(Tickets.opened)
        .limit(limit)
        .select(Tickets.customer, Tickets.title, Tickets.urgency, Tickets.earlier)
    )


@db.query
def failed_claims():
    """Cells that have an error, which can be read like values."""
    return (
        Tickets.where(Tickets.amount.errortype != None)  # noqa: E711
        .order_by(Tickets.opened)
        .select(
            Tickets.claim,
            why=Tickets.amount.errortype,
            message=Tickets.amount.errormsg,
            fee=Tickets.fee,
            fee_error=Tickets.fee.errortype,
        )
    )


@db.query
def about(topic: str):
    return Tickets.where(Tickets.topics.contains(topic)).order_by(Tickets.opened).select(Tickets.slug, Tickets.topics)


@db.query
def louder_than(least: int, mark: str = "?"):
    """A function of ours in a condition: these rows are computed in Python while the query runs."""
    score = urgency(Tickets.subject, "", loud=mark)
    return Tickets.where(score >= least).order_by(Tickets.subject).select(Tickets.subject, score=score)


@db.query
def conversation(id: db.UUID):
    return Tickets.where(Tickets.id == id).select(
        Tickets.hello,
        shown=Tickets.public["*"].text,
        first={"by": Tickets.messages[0].author, "words": Tickets.first_text.split().len()},
    )


@db.query
def by_language():
    return (
        Tickets.group_by(Tickets.language)
        .select(Tickets.language, tickets=fn.count(), urgent=fn.max(Tickets.urgency), claims=fn.sum(Tickets.amount))
        .order_by(Tickets.language)
    )
