"""Two tables. Change a line, then: cli schema diff brief.py main"""

# A name declared with a colon is a column on the lines below it; type checkers cannot know that.
# pyright: reportUnboundVariable=false, reportUnknownArgumentType=false

import appdb as db
from appdb.functions import upper, uuid7

Base = db.model_base()


class Authors(Base, name="authors"):
    id = db.Column(value=uuid7(), primary_key=True)
    name: db.String
    name_upper = upper(name)


class Books(Base, name="books"):
    isbn = db.Column(type=db.String, primary_key=True)
    title: db.String
    pages: db.Int | None
