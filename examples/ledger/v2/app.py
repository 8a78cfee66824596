"""A ledger, a year later. What differs from its first version is marked with NEW."""

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
    # NEW: a column that was not there is null in the rows that were.
    iban: db.String | None


# NEW: a table has another name and keeps its rows.
class Entries(Base, name="postings", renamed_from="entries"):
    """Amounts are whole cents: an Int is exact to the last of its 64 bits."""

    # The key stands in two columns, and is the caller's own: to send an entry twice is refused, not stored twice.
    journal = db.Column(type=db.String, primary_key=True)
    line = db.Column(type=db.Int, primary_key=True)

    account = db.Column(type=db.String)
    cents = db.Column(type=db.Int)
    # NEW: another name, and it may be null now. Without renamed_from= the old column would be dropped with its values.
    text = db.Column(type=db.String | None, renamed_from="memo")
    booked = db.Column(type=db.Date)
    # NEW: was an Int. Every Int of the table is a Float without loss, which the update checks before.
    percent = db.Column(type=db.Float)
    people = db.Column(type=db.Int | None)
    rate = db.Column(type=db.Float | None)

    # What // and % give for negative numbers is what they give in Python: they round down, towards minus infinity.
    euros = cents // 100
    rest = cents % 100
    amount = cents / 100
    # Half to even: 2.5 becomes 2.0 and 3.5 becomes 4.0.
    about = round(amount)
    # NEW: computed for the rows that are there.
    quarter = format("{}-Q{}", booked.year, (booked.month + 2) // 3)
    # An entry for no people at all is refused, an entry that does not say how many is not shared.
    share = cents // people
    left_over = cents % people
    # NEW: another rule. The rows are computed again, and with them what reads this column.
    tax = (cents * percent // 100).astype(db.Int)
    after_tax = cents - tax  # NEW
    foreign = cents * rate
    shown = format("{:+.2f} {}", amount, text)

    # Functions that read what others have computed, four deep.
    net = net_of(cents, percent)
    kept = reserve(net)
    size = band(kept, limit=500)  # NEW: was 1_000; `note` reads it
    note = remark(size, kept, text)

    # NEW: made while the service goes on.
    __indexes__ = [db.BtreeIndex(account, booked, name="by_account")]


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
def quarters(account: str):
    """NEW"""
    return (
        Entries.where(Entries.account == account)
        .group_by(Entries.quarter)
        .select(Entries.quarter, after_tax=sum(Entries.after_tax))
        .order_by(Entries.quarter)
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
ledger.add_query_route(path="/quarters", query=quarters, method="get")  # NEW
ledger.add_query_route(path="/entry", query=entry, method="get", one_row=True)
ledger.add_query_route(path="/overspent", query=overspent, method="get")
ledger.add_query_route(path="/total", query=total, method="get", one_row=True)
