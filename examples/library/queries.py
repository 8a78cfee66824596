"""What people ask. A query runs when a route is called; its parameters are those of the function."""

from datetime import date

import appdb as db
from appdb.functions import count, max
from models import Books, Loans, Members


@db.query
def search(text: str, branch: str = ""):
    """Titles that contain the text, in any case; an empty branch means every one."""
    return (
        Books.where(Books.title.contains(text, case=False) & ((branch == "") | (Books.branch == branch)))
        .select(Books.isbn, Books.title, Books.by, Books.mark)
        .order_by(Books.full_title)
    )


@db.query
def exact(text: str):
    return Books.where(Books.title.contains(text)).select(Books.isbn).order_by(Books.isbn)


@db.query
def book(isbn: str):
    return Books.where(Books.isbn == isbn)


@db.query
def published(since: str, before: str):
    """ISO text sorts as time does: '1974' < '1974-05' < '1974-05-01' < '1975'."""
    return (
        Books.where((Books.published >= since) & (Books.published < before))
        .order_by(Books.published)
        .order_by(Books.isbn)
        .select(Books.published, Books.title)
    )


@db.query
def authors():
    return Books.select(author=Books.author).distinct().order_by(Books.author)


@db.query
def unplaced():
    return Books.where(Books.shelf == None).order_by(Books.isbn).select(Books.isbn, Books.mark, Books.is_placed)  # noqa: E711


@db.query
def in_branches(n: int = 3, skip: int = 0):
    """order_by takes a column that is not selected; limit a number or a parameter."""
    return (
        Books.where(Books.branch.isin(["mill", "harbour"]) & (Books.count > 0))
        .order_by(Books.len, asc=False)
        .limit(n, offset=skip)
        .select(Books.title)
    )


@db.query
def first_books():
    return Books.order_by(Books.isbn).head(2).select(Books.isbn)


@db.query
def last_books(n: int = 2):
    """The last rows, in the order of the query."""
    return Books.order_by(Books.isbn).tail(n).select(Books.isbn)


@db.query
def how_many(branch: str):
    return Books.where(Books.branch == branch).count()


@db.query
def overdue(on: date):
    """Books that should be back by that day, the longest overdue first."""
    return (
        Loans.where((Loans.returned == None) & (Loans.last_day < on))  # noqa: E711
        .join(Books, on=Loans.isbn == Books.isbn)
        .join(Members, on=Loans.member == Members.id)
        .select(
            Books.title,
            member=Members.name,
            since=Loans.last_day,
            weekday=Loans.last_day.isoweekday(),
            remind=Loans.last_day.add_days(14).isoformat(),
        )
        .order_by(Loans.last_day)
        .order_by(Books.title)
    )


@db.query
def never_lent():
    """A left join keeps the books that no loan matches; the columns of the loan are null there."""
    return (
        Books.join(Loans, on=Books.isbn == Loans.isbn, how="left")
        .where(Loans.taken == None)  # noqa: E711
        .order_by(Books.isbn)
        .select(Books.isbn, Books.title, taken=Loans.taken)
    )


@db.query
def stocktaking():
    """A full join finds what is on one side alone: books never lent, and loans of books that are in no list."""
    return (
        Books.join(Loans, on=Books.isbn == Loans.isbn, how="full")
        .where((Books.isbn == None) | (Loans.isbn == None))  # noqa: E711
        .select(listed=Books.isbn, lent=Loans.isbn, last_day=Loans.last_day)
        .order_by(Books.isbn)
        .order_by(Loans.isbn)
    )


@db.query
def readers():
    """Members with their loans. A right join keeps members without any; count(column) counts those that are not null."""
    return (
        Loans.join(Members, on=Loans.member == Members.id, how="right")
        .group_by(Members.name)
        .select(Members.name, loans=count(Loans.isbn), latest=max(Loans.taken))
        .order_by(count(Loans.isbn), asc=False)
        .order_by(Members.name)
    )


@db.query
def loan(isbn: str, member: db.UUID, taken: date):
    return Loans.where((Loans.isbn == isbn) & (Loans.member == member) & (Loans.taken == taken)).select(
        Loans.last_day, Loans.days, Loans.is_late, Loans.is_out
    )


@db.query
def member(email: str):
    return Members.where(Members.email_key == email.lower())


@db.query(return_scalar=True)
def emails(joined_since: date):
    return Members.where(Members.joined_on >= joined_since).select(Members.email).order_by(Members.email_key)
