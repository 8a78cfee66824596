"""An address book: people, and the groups that they are in. Two services, one for each.

    cli schema update app.py main
    cli service update app.py main -f
"""

from datetime import date
from uuid import UUID

import appdb as db
import appdb.functions as fn
from appdb.serving import Router
from udfs import dialled, initials

Base = db.model_base()


class People(Base, name="people"):
    id = db.Column(value=fn.uuid7(), primary_key=True)
    name = db.Column(type=db.String)
    email = db.Column(type=db.String | None)
    phone = db.Column(type=db.String | None)
    city = db.Column(type=db.String | None)
    born: db.Date | None

    # An update computes anew what reads a column that it sends, and leaves the rest as it is.
    monogram = initials(name)
    dial = dialled(phone)
    mailbox = fn.lower(email)
    heading = fn.format("{} ({})", name, monogram)

    __indexes__ = [db.BtreeIndex(mailbox), db.BtreeIndex(city)]


class Members(Base, name="members"):
    """Who is in which group, and as what. Two columns are the key: nobody is in a group twice."""

    group = db.Column(type=db.String, primary_key=True)
    person = db.Column(type=db.UUID, primary_key=True)
    role = db.Column(type=db.String | None)
    until: db.Date | None

    badge = fn.format("{}: {}", group, fn.upper(role))

    __indexes__ = [db.BtreeIndex(person)]


@db.query
def person(id: UUID):
    return People.where(People.id == id)


@db.query
def listed(city: str | None = None):
    return (
        People.where((city == None) | (People.city == city))  # noqa: E711
        .order_by(People.name)
        .select(People.name, People.dial, People.mailbox)
    )


@db.query
def members(group: str):
    """A group with the names of its members."""
    return (
        Members.join(People, on=Members.person == People.id)
        .where(Members.group == group)
        .order_by(People.name)
        .select(People.name, Members.role, Members.until, Members.badge)
    )


@db.query
def group_sizes():
    return Members.group_by(Members.group).select(Members.group, size=fn.count()).order_by(Members.group)


people = Router(prefix="/people", tags=["people"])

people.add_insert_route(People, path="/add", outputs=[People.id, People.heading, People.dial, People.mailbox])
people.add_query_route(path="/get", query=person, method="get", one_row=True)
people.add_query_route(path="/list", query=listed, method="get")
# A body is the id and any of the other columns: what it leaves out keeps its value, null clears.
people.add_update_route(People, path="/change")
# Only the city may be sent here, and only this comes back.
people.add_update_route(People, path="/move", inputs=[People.city], outputs=[People.name, People.city])
people.add_delete_route(People, path="/remove")
# All who live in a city; with null, all of whom nobody knows where they live.
people.add_delete_route(People, path="/remove-city", match_columns=[People.city])


@people.insert_route(People, path="/cards", inputs=[People.name, People.phone, People.email])
def card(*, id: UUID, name: str, dial: str | None, mailbox: str | None) -> dict[str, str]:
    """Stores a person and answers a visiting card. It is made before the row is stored: no card, no person."""
    if dial is None and mailbox is None:
        raise ValueError(f"a card of {name} would say nothing")
    lines = [f"FN:{name}"]
    if dial is not None:
        lines.append(f"TEL:{dial}")
    if mailbox is not None:
        lines.append(f"EMAIL:{mailbox}")
    return {"id": str(id), "vcard": "\n".join(["BEGIN:VCARD", "VERSION:4.0", *lines, "END:VCARD"])}


@people.update_route(People, path="/birthday", inputs=[People.born])
async def birthday(*, name: str, born: date | None) -> str:
    """Functions of routes may wait, too. If this one raises, the row stays as it was."""
    if born is None:
        return f"{name} keeps it secret."
    if born.year < 1900:
        raise ValueError(f"{name} would be the oldest person on earth")
    return f"{name} has a birthday on {born:%d %B}."


groups = Router(prefix="/groups", tags=["groups", "people"])

groups.add_insert_route(Members, path="/join")
groups.add_update_route(Members, path="/change", outputs=["role", "until", "badge"])  # columns go by name as well
groups.add_delete_route(Members, path="/leave")
groups.add_delete_route(Members, path="/close", match_columns=[Members.group])
groups.add_delete_route(Members, path="/leave-as", match_columns=[Members.group, Members.role])
groups.add_query_route(path="/members", query=members, method="get")
groups.add_query_route(path="/sizes", query=group_sizes, method="get")
