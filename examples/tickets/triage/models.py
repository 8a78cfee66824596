"""The tickets that are open."""

from typing import TypedDict

import appdb as db
import appdb.functions as fn

from .history import Base, earlier_tickets, worst_tickets
from .text import euros, greeting, headline, topics, urgency


class Message(TypedDict):
    author: str
    text: str
    internal: bool


class Tickets(Base, name="tickets"):
    """A ticket comes in with the messages so far; everything below them is made of what was sent."""

    id = db.Column(value=fn.uuid7(), primary_key=True)
    customer = db.Column(type=db.String)
    subject = db.Column(type=db.String)
    opened: db.Timestamp
    language = db.Column(type=db.String | None)
    claim = db.Column(type=db.String | None)
    messages = db.Column(type=db.Json[list[Message]])

    # Text: functions, and the same as methods.
    title = fn.strip(fn.removeprefix(subject.strip(), "Re:"))
    is_reply = subject.strip().startswith("Re:")
    domain = customer.partition("@")[2].astype(db.String)
    slug = title.lower().replace_re("[^a-z0-9]+", "-").strip("-")
    head = headline(customer, subject)

    # Json: steps, slices, every element, and expressions over the elements.
    first_text = messages[0].text.astype(db.String)
    last_author = messages[-1].author
    first_authors = messages[:2].author  # a slice goes on with each of its elements
    public = fn.filter(messages, lambda message: message.internal == False)  # noqa: E712
    lengths = fn.map(messages, lambda message: message.text.astype(db.String).len())
    by_author = fn.sort(messages["*"].author)
    count = messages.len()

    # Functions of ours, which read each other's results.
    topics = topics(messages["*"].text)
    urgency = urgency(subject, first_text, extra=count // 3)
    greeting = greeting(customer, language)
    hello = fn.format("{0}\n\nabout '{subject}' ...", greeting, subject=title)

    # Fails for some claims. A column that reads a failed one fails likewise, and its error names the cause.
    amount = euros(claim)
    fee = round(amount * 0.1 + 5, 2)
    is_readable = amount.errortype == None  # noqa: E711

    # Queries: asked when the ticket comes in, and stored with it.
    earlier = earlier_tickets(customer)[0].astype(db.Int)
    worst = worst_tickets(customer, at_least=24.0)

    __indexes__ = [db.BtreeIndex(customer), db.BtreeIndex(urgency)]
