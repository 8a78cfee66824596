"""The routes of a town library: a catalogue for everybody and a desk for librarians, two services of one file."""

from appdb.serving import Router
from models import Books, Loans, Members
import queries

# Each router is a service of its own, with its own address. The prefix stands before each of its paths.
catalogue = Router(prefix="/catalogue")
desk = Router(name="front-desk", prefix="/desk")

catalogue.add_query_route(path="/search", query=queries.search, method="get")
catalogue.add_query_route(path="/search", query=queries.search)  # the same under POST
catalogue.add_query_route(path="/exact", query=queries.exact, method="get")
catalogue.add_query_route(path="/book", query=queries.book, method="get", one_row=True)
catalogue.add_query_route(path="/published", query=queries.published, method="get")
catalogue.add_query_route(path="/authors", query=queries.authors, method="get")
catalogue.add_query_route(path="/branches", query=queries.in_branches, method="get")
catalogue.add_query_route(path="/first", query=queries.first_books, method="get")
catalogue.add_query_route(path="/last", query=queries.last_books, method="get")
catalogue.add_query_route(path="/count", query=queries.how_many, method="get", one_row=True)
# A label is computed and not stored: unlisted columns that may be null count as null.
catalogue.add_compute_route(
    Books, path="/label", inputs=[Books.title, Books.subtitle, Books.isbn], outputs=[Books.heading, Books.digits]
)
# Another one of the same table, with other inputs.
catalogue.add_compute_route(Books, path="/byline", inputs=["author"], outputs=["names", "by"])

desk.add_insert_route(
    Books,
    path="/books",
    outputs=[Books.isbn, Books.agency, Books.by, Books.full_title, Books.mark, Books.topics, Books.topic_count],
)
desk.add_insert_route(Members, path="/members")
desk.add_insert_route(
    Loans,
    path="/loans",
    inputs=[Loans.isbn, Loans.member, Loans.taken, Loans.due, Loans.returned],
    outputs=[Loans.last_day, Loans.is_out, Loans.days, Loans.is_late, Loans.taken_on, Loans.is_weekend],
)
desk.add_query_route(path="/overdue", query=queries.overdue, method="get")
desk.add_query_route(path="/overdue", query=queries.overdue)
desk.add_query_route(path="/never-lent", query=queries.never_lent, method="get")
desk.add_query_route(path="/stocktaking", query=queries.stocktaking, method="get")
desk.add_query_route(path="/unplaced", query=queries.unplaced, method="get")
desk.add_query_route(path="/readers", query=queries.readers, method="get")
desk.add_query_route(path="/loan", query=queries.loan, one_row=True)
desk.add_query_route(path="/member", query=queries.member, method="get", one_row=True)
desk.add_query_route(path="/emails", query=queries.emails, method="get")
