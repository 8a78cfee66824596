"""What the library keeps: books, members, loans."""

import appdb as db
from appdb.functions import format, join, lower, uuid7
from udfs import initials, last_day, sort_title

Base = db.model_base()


class Books(Base, name="books", comment="One row a title; the library has one copy of each."):
    # The caller's own key. `comment=` becomes the field's description in /openapi.json.
    isbn = db.Column(db.String, primary_key=True, comment="With or without hyphens, as printed.")

    title = db.Column(type=db.String)
    subtitle = db.Column(type=db.String | None)
    author = db.Column(type=db.String, comment="Surname first: 'Le Guin, Ursula K.'")
    subjects = db.Column(type=db.String)  # "utopias; anarchism", as the old card index had it
    published = db.Column(type=db.String)  # ISO text, as exact as it is known: "1974", "1974-05", "1974-05-01"
    branch = db.Column(type=db.String)
    shelf = db.Column(type=db.Int | None)
    # The library has a column called like a function and one called like a verb of queries; a column wins.
    len: db.Int | None
    count: db.Int

    # Functions of ours, as functions and as methods. These run inside PostgreSQL where that gives what Python gives.
    digits = isbn.replace_re("[^0-9X]", "")
    agency = digits.slice(0, 3)
    names = author.split(", ")
    by = join(" ", names[::-1])
    # A null inside of format() is the word None: `heading` says so, `full_title` asks a function instead.
    heading = format("{title} ({subtitle})", title=title, subtitle=subtitle)
    full_title = sort_title(title, subtitle)
    # shelf is null for a book that has no place yet, and then so is the mark: a null argument gives null.
    place = shelf.astype(db.String).zfill(4)
    mark = branch.slice(0, 1).upper() + place + "-" + names[0].astype(db.String).slice(stop=3).upper()
    topics = subjects.split("; ")
    topic_count = topics.len()
    is_placed = shelf != None  # noqa: E711  comparing with None asks for null, here as in a query

    __indexes__ = [db.BtreeIndex(author), db.BtreeIndex(published), db.BtreeIndex(branch, shelf, name="by_place")]


class Members(Base, name="members"):
    # Made once, at the insert; keys of this kind sort by time.
    id = db.Column(value=uuid7(), primary_key=True)
    name = db.Column(type=db.String)
    email = db.Column(type=db.String)
    joined = db.Column(type=db.Timestamp)
    born = db.Column(type=db.Date | None)

    email_key = lower(email)
    short = initials(name)
    # Properties and methods of a timestamp; it is kept in UTC.
    joined_year = joined.year
    joined_on = joined.date()
    joined_text = joined.isoformat(sep=" ", timespec="minutes")
    joined_weekday = joined.weekday()
    # The 29th of February has no birthday in most years; add_days(365) always has a day.
    first_year_ends = joined.date().add_days(365)
    age_joining = joined.year - born.year

    __indexes__ = [db.BtreeIndex(email_key)]


class Loans(Base, name="loans", has_default_idxs=True):
    # Three columns are the key together: one member may take a book again on another day.
    isbn = db.Column(type=db.String, primary_key=True)
    member = db.Column(type=db.UUID, primary_key=True)
    taken = db.Column(type=db.Date, primary_key=True)
    due = db.Column(type=db.Date | None)
    returned = db.Column(type=db.Date | None)

    # A function of the application's own gets None where its parameter may be None.
    last_day = last_day(taken, due)
    is_out = returned == None  # noqa: E711
    # Null until the book is back.
    days = returned.toordinal() - taken.toordinal()
    is_late = returned > last_day
    taken_on = taken.strftime("%d.%m.%Y")
    is_weekend = taken.weekday().isin([5, 6])
