"""Routes of the help desk. The tables, functions and queries behind them lie in the package `triage`.

cli schema update app.py main
cli service run app.py main
"""

from appdb.serving import Router
from triage import history, queries
from triage.models import Tickets

desk = Router(prefix="/desk")

desk.add_insert_route(history.Closed, path="/closed")
# A claim that cannot be read must not lose the ticket: its cells are null, and the errors are kept beside them.
desk.add_insert_route(
    Tickets,
    path="/tickets",
    inputs=["customer", "subject", "opened", "language", "claim", "messages"],
    on_error="ignore",
)
# The same table, and a claim that cannot be read is an answer of 400.
desk.add_insert_route(Tickets, path="/tickets/strict", outputs=[Tickets.id, Tickets.amount, Tickets.fee])
# What a ticket would come out as, while its form is being filled in.
desk.add_compute_route(
    Tickets,
    path="/preview",
    inputs=[Tickets.customer, Tickets.subject, Tickets.messages],
    outputs=[Tickets.slug, Tickets.urgency, Tickets.earlier],
)

desk.add_query_route(path="/queue", query=queries.queue, method="get")
desk.add_query_route(path="/failed-claims", query=queries.failed_claims, method="get")
desk.add_query_route(path="/about", query=queries.about, method="get")
desk.add_query_route(path="/louder", query=queries.louder_than)
desk.add_query_route(path="/conversation", query=queries.conversation, method="get", one_row=True)
desk.add_query_route(path="/languages", query=queries.by_language, method="get")
# A query that a column is made of may have a route as well; a scalar one answers a bare list.
desk.add_query_route(path="/earlier", query=history.earlier_tickets, method="get")
desk.add_query_route(path="/worst", query=history.worst_tickets)
