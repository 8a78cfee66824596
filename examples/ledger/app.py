"""A ledger, as it was in its first year. v2/app.py is what it became; client.py goes from one to the other."""

from datetime import date

import appdb as db
from appdb.functions import count, format, max, min, sum
from appdb.serving import Router
from udfs import band, net_of, remark, reserve

Base = db.model_base()


class Accounts(Base, name="accounts"):
    code = db.Column(db.String, primary_key=True)
    name: db.String
    # Which side of the account an amount increases: 1 for debit, -1 for credit.
    sign: db.Int
    opened: db.Date


class Entries(Base, name="entries"):
    """Amounts are whole cents: an Int is exact to the last of its 64 bits."""

    # The key stands in two columns, and is the caller's own: to send an entry twice is refused, not stored twice.
    journal = db.Column(type=db.String, primary_key=True)
    line = db.Column(type=db.Int, primary_key=True)

    account: db.String
    cents = db.Column(type=db.Int)
    memo = db.Column(type=db.String)
    booked: db.Date
    percent = db.Column(type=db.Int)
    people = db.Column(type=db.Int | None)
    rate = db.Column(type=db.Float | None)

    # What // and % give for negative numbers is what they give in Python: they round down, towards minus infinity.
    euros = cents // 100
    rest = cents % 100
    amount = cents / 100
    # Half to even: 2.5 becomes 2.0 and 3.5 becomes 4.0.
    about = round(amount)
    # An entry for no people at all is refused, an entry that does not say how many is not shared.
    share = cents // people
    left_over = cents % people
    tax = round(cents * percent / 100).astype(db.Int)
    foreign = cents * rate
    shown = format("{:+.2f} {}", amount, memo)

    # Functions that read what others have computed, four deep.
    net = net_of(cents, percent)
    kept = reserve(net)
    size = band(kept, limit=1_000)
    note = remark(size, kept, memo)


@db.query
def balances(until: date):
    """The balance of each account at the end of a day; accounts without an entry have none."""
    return (
        Accounts.join(Entries, on=(Accounts.code == Entries.account) & (Entries.booked <= until), how="left")
        .group_by(Accounts.code, Accounts.name, Accounts.sign)
        .select(Accounts.code, balance=sum(Entries.cents) * Accounts.sign, entries=count(Entries.line))
        .order_by(Accounts.code)
    )


@db.query
def months(account: str):
    return (
        Entries.where(Entries.account == account)
        .group_by(Entries.booked.year, Entries.booked.month)
        .select(
            year=Entries.booked.year,
            month=Entries.booked.month,
            total=sum(Entries.cents),
            least=min(Entries.cents),
            most=max(Entries.cents),
            last=max(Entries.booked),
        )
        .order_by(Entries.booked.year)
        .order_by(Entries.booked.month)
    )


@db.query
def entry(journal: str, line: int):
    return Entries.where((Entries.journal == journal) & (Entries.line == line))


@db.query
def overspent(people: int = 2):
    """Arithmetic in a query has the same meaning as in a column."""
    return (
        Entries.where((Entries.cents // people < -50) & (Entries.cents % people == 1))
        .order_by(Entries.cents)
        .select(Entries.cents, each=Entries.cents // people, rest=Entries.cents % people)
    )


@db.query
def total(journal: str):
    return Entries.where(Entries.journal == journal).select(total=sum(Entries.cents))


ledger = Router(prefix="/v1")
ledger.add_insert_route(Accounts, path="/accounts")
ledger.add_insert_route(Entries, path="/entries")
ledger.add_compute_route(Entries, path="/split", inputs=[Entries.cents, Entries.people], outputs=[Entries.share, Entries.left_over])
ledger.add_compute_route(Entries, path="/tax", inputs=[Entries.cents, Entries.percent], outputs=[Entries.tax, Entries.net])
ledger.add_query_route(path="/balances", query=balances, method="get")
ledger.add_query_route(path="/months", query=months, method="get")
ledger.add_query_route(path="/entry", query=entry, method="get", one_row=True)
ledger.add_query_route(path="/overspent", query=overspent, method="get")
ledger.add_query_route(path="/total", query=total, method="get", one_row=True)
