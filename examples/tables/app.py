"""Tables with columns of most types, keys, computed columns, functions, indexes and a query. Take what you need, then:

cli schema check app.py
cli schema update app.py main
"""

# A name declared with a colon is a column on the lines below it; type checkers cannot know that.
# pyright: reportUnboundVariable=false, reportUnknownArgumentType=false

from typing import TypedDict

import appdb as db
from appdb.functions import lower, upper, uuid7
from appdb.serving import Router

Base = db.model_base()


class Address(TypedDict):
    """What a Json value has to look like."""

    street: str
    city: str


@db.udf
def initials(name: str) -> str:
    """Any Python function with type hints can compute a column."""
    return "".join(word[0].upper() for word in name.split())


@db.udf
def price_class(cents: int | None, limit: int = 5_000) -> str:
    """A parameter that may be None gets null; the others are never called with it."""
    if cents is None:
        return "unknown"
    return "high" if cents > limit else "low"


class Customers(Base, name="customers", comment="Whoever buys something."):
    # Made once, when a row is inserted; keys of this kind sort by time.
    id = db.Column(value=uuid7(), primary_key=True)
    # Stored columns: what a request sends. `| None` means that it may be left out.
    name: db.String
    email = db.Column(type=db.String, comment="Where the receipt goes.")
    address = db.Column(type=db.Json[Address] | None)
    born: db.Date | None
    is_member: db.Bool
    signed_up: db.Timestamp
    referrer: db.UUID | None
    photo: db.Binary | None
    # Three numbers; `None` instead of a length takes any.
    position: db.Array[(3,), "float32"] | None
    # Computed columns: kept by the database, from the columns above.
    email_lower = lower(email)
    short = initials(name)
    city = address.city

    __indexes__ = [db.BtreeIndex(email_lower), db.BtreeIndex(name, born, name="by_name")]


class Articles(Base, name="articles", has_default_idxs=True):
    # Two columns are the key together; a request sends them.
    shop = db.Column(type=db.String, primary_key=True)
    number = db.Column(type=db.Int, primary_key=True)
    title: db.String
    price: db.Float | None
    cents: db.Int | None
    tags: db.Json | None
    # Renamed from `label` without losing a value: renamed_from= may stay in the file.
    caption = db.Column(type=db.String | None, renamed_from="label")
    title_upper = upper(title)
    class_of_price = price_class(cents, limit=10_000)
    # Computed columns may read each other.
    shown = title_upper + " (" + class_of_price + ")"


@db.query
def in_shop(shop: str, above: int = 0):
    """A question with parameters: the next twenty articles of a shop. A route asks it with values."""
    wanted = (Articles.shop == shop) & (Articles.number > above)
    return Articles.where(wanted).order_by(Articles.number).select(Articles.number, Articles.shown).limit(20)


# A service is called after its variable. Start it with: cli service run app.py main
reports = Router()

# GET /articles?shop=here&above=20 answers {"rows": [...]}; without a value `above` is 0.
reports.add_query_route(path="/articles", query=in_shop, method="get")
