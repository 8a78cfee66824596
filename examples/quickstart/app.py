"""One table and the service that fills it. Change a line, then: cli schema update app.py main"""

# A name declared with a colon (`title: db.String`) is a column on the lines below it; type checkers cannot know that.
# pyright: reportUnboundVariable=false, reportUnknownArgumentType=false

import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router

Base = db.model_base()


@db.udf
def excerpt(text: str, length: int = 40) -> str:
    """Shortens a text to whole words. Any Python function with type hints can compute a column."""
    if len(text) <= length:
        return text
    return text[:length].rsplit(" ", 1)[0] + " ..."


class Docs(Base, name="docs"):
    """Documents that people send in."""

    # Made once, when a row is inserted; keys of this kind sort by time.
    id = db.Column(value=uuid7(), primary_key=True)

    # Stored columns: what a request sends. `| None` means that it may be left out.
    title: db.String
    body: db.String | None

    # Computed columns: kept by the database, from the columns above.
    title_upper = upper(title)
    summary = excerpt(title, length=12)

    __indexes__ = [db.BtreeIndex(title)]


# The service is called after its variable: `ingest`.
ingest = Router()

# POST /docs stores a row and answers with these columns.
ingest.add_insert_route(
    Docs,
    path="/docs",
    inputs=[Docs.title, Docs.body],
    outputs=[Docs.id, Docs.title_upper, Docs.summary],
)

# POST /titles computes and stores nothing.
ingest.add_compute_route(Docs, path="/titles", inputs=[Docs.title], outputs=[Docs.title_upper])
