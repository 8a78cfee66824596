"""The board of a team: tasks with a list of steps, which are rows of their own, and views that filter the tasks.

    cli schema update app.py main
    cli service update app.py main -f
"""

from typing import TypedDict

import appdb as db
from appdb.functions import count, format, sum
from appdb.functions.json import list_iterator
from appdb.serving import Router
from labels import labels

Base = db.model_base()

URGENT = 3


class Step(TypedDict):
    text: str
    hours: int


class Tasks(Base, name="tasks"):
    key = db.Column(type=db.String, primary_key=True)
    title: db.String
    owner: db.String | None
    state = db.Column(type=db.String, default="open")
    points = db.Column(type=db.Int, default=1)
    steps = db.Column(type=db.Json[list[Step]], default=[])


class Steps(Base, name="steps", base=Tasks, iterator=list_iterator(Tasks.steps)):
    """The list in each task, an element a row."""

    # Outputs of the iterator are names in this body, which type checkers cannot know.
    line = format("{0}.{1} {2}", Tasks.key, pos, text)  # pyright: ignore
    __indexes__ = [db.BtreeIndex(hours)]  # pyright: ignore


class Labels(Base, name="labels", base=Tasks, iterator=labels(Tasks.title, mark="#")):
    """The words of the titles that begin with a mark, by an iterator of this project."""


class Open(Base, name="open", base=Tasks.where(Tasks.state == "open")):
    card = format("{0} ({1})", Tasks.title, Tasks.points)


class Urgent(Base, name="urgent", base=Open.where(Open.points >= URGENT)):
    """A view of a view: open tasks with many points."""


class Unowned(Base, name="unowned", base=Open.where(Open.owner == None).select(Open.key, Open.card)):
    """It shows two columns of its base."""


@db.query
def open_tasks():
    return Open.order_by(Open.key).select(Open.key, Open.card)


@db.query
def urgent():
    return Urgent.order_by(Urgent.key).select(Urgent.key, Urgent.card, Urgent.points)


@db.query
def unowned():
    return Unowned.order_by(Unowned.key)


@db.query
def steps_of(key: str):
    return Steps.where(Steps.key == key).order_by(Steps.pos).select(Steps.line, Steps.hours)


@db.query
def long_steps(least: int = 4):
    """Long steps of open tasks."""
    found = Steps.where((Steps.hours >= least) & (Steps.state == "open"))
    return found.order_by(Steps.hours, asc=False).order_by(Steps.key, Steps.pos).select(Steps.line, Steps.hours, Steps.owner)


@db.query
def load():
    """The hours of each owner, over the steps of their tasks."""
    found = Steps.where(Steps.owner != None).group_by(Steps.owner).order_by(Steps.owner)
    return found.select(Steps.owner, steps=count(Steps.pos), hours=sum(Steps.hours))


@db.query
def labeled(label: str):
    return Labels.where(Labels.label == label).order_by(Labels.key).select(Labels.key, Labels.title)


board = Router()
board.add_insert_route(Tasks, path="/tasks", outputs=[Tasks.key, Tasks.state, Tasks.points])
board.add_update_route(Tasks, path="/tasks/update", outputs=[Tasks.key, Tasks.state, Tasks.points])
board.add_delete_route(Tasks, path="/tasks/delete")
board.add_compute_route(Open, path="/open/preview", inputs=[Open.title, Open.state, Open.points], outputs=[Open.card])
board.add_query_route(path="/open", query=open_tasks, method="get")
board.add_query_route(path="/urgent", query=urgent, method="get")
board.add_query_route(path="/unowned", query=unowned, method="get")
board.add_query_route(path="/tasks/{key}/steps", query=steps_of, method="get")
board.add_query_route(path="/steps/long", query=long_steps, method="get")
board.add_query_route(path="/load", query=load, method="get")
board.add_query_route(path="/labels/{label}", query=labeled, method="get")
