"""The reception desk of a museum: a table of visits, and around it what people wrote by hand.

    cli schema update app.py main
    cli service update app.py main -f
"""

import asyncio
from datetime import date
from typing import Literal
from uuid import UUID

import appdb as db
import appdb.functions as fn
from appdb.serving import Cors, HTMLResponse, HTTPError, RedirectResponse, Request, Response, Router
from paper import Badge, closing_minutes, opening, page_of_visits, read_visits, svg

Base = db.model_base()


class Visits(Base, name="visits"):
    id = db.Column(value=fn.uuid7(), primary_key=True)
    name = db.Column(type=db.String)
    host = db.Column(type=db.String)
    day = db.Column(type=db.Date)

    greeting = fn.format("{} to see {}", name, host)

    __indexes__ = [db.BtreeIndex(day)]


@db.query
def visits(day: date):
    return Visits.where(Visits.day == day).order_by(Visits.name).select(Visits.name, Visits.greeting)


# Pages of the museum's own site may call the service from a browser, and no others.
PAGES = Cors(["https://museum.example"], headers=["content-type"], max_age=60)

desk = Router(prefix="/desk", tags=["desk"], cors=PAGES)

desk.add_insert_route(Visits, path="/visits", outputs=[Visits.greeting])
desk.add_query_route(path="/visits", query=visits, method="get")


@desk.get("/hours/{day}")
def hours(day: date, language: Literal["en", "de"] = "en"):
    """When the museum is open on a day.

    Arguments come from the path and the URL by their type hints; what does not fit is refused before this runs.
    """
    if day.year > 2100:
        raise HTTPError(404, "Nobody knows that yet.")
    words = {"en": "closed", "de": "geschlossen"}
    found = opening(day)
    return {"day": day, "hours": words[language] if found is None else f"{found[0]}:00-{found[1]}:00"}


@desk.get("/hours/regular")
def regular_hours():
    """A path that is written out comes before one with a parameter."""
    return {"tuesday": "10:00-18:00", "thursday": "10:00-21:00", "monday": None}


@desk.post("/lists/read")
async def read_list(request: Request, day: date):
    """Makes rows of a list that a secretary wrote, a line for each visit. Takes any body, and stores nothing."""
    try:
        return read_visits(await request.text(), day)
    except ValueError as error:
        raise HTTPError(422, str(error)) from None


@desk.get("/lists/{day}/page")
async def page(day: date) -> HTMLResponse:
    """A page for the wall. A handler asks queries, and awaits them where it is async."""
    return HTMLResponse(page_of_visits(day, await visits(day)))


@desk.post("/welcome", status_code=201)
def welcome(name: str, host: str, day: date):
    """Says so when a guest is here already. (Only a key could tell two who come at the same moment.)"""
    if any(row["name"] == name for row in visits(day)):
        raise HTTPError(409, f"{name} is here already.")
    return Visits.insert({"name": name, "host": host, "day": day})


@desk.put("/visits/{visit_id}")
async def change(visit_id: UUID, host: str):
    """Changes a row; columns that are left out keep their values. Where there is no such row the answer is 404."""
    row = await Visits.update({"id": visit_id, "host": host})
    return {"greeting": row["greeting"]}


@desk.delete("/visits/{visit_id}")
async def leave(visit_id: UUID):
    return {"gone": await Visits.delete(id=visit_id) == 1}


@desk.get("/closing")
async def closing(minutes: int = 3):
    """What is yielded goes out as it comes: text as text. What is refused is refused before the first piece."""
    if not 0 <= minutes <= 60:
        raise HTTPError(422, "Nobody waits that long.")
    async for text in closing_minutes(minutes):
        yield text


@desk.get("/lockers")
def lockers(first: int = 1, count: int = 2):
    """Objects go out as JSON, one a line. A plain generator runs in a thread."""
    if count > 100:
        raise HTTPError(422, "There are 100 lockers.")
    for number in range(first, first + count):
        yield {"locker": number, "wing": "east" if number % 2 else "west"}


@desk.put("/lockers/{number}")
def rename(number: int, label: dict[str, str], loud: bool = False):
    """A PUT with a body of its own; the rest comes from path and URL."""
    if number > 99:
        raise LookupError(f"there is no locker {number}")  # nobody was to see that: 400, with its name
    return {"number": number, "label": {key: text.upper() if loud else text for key, text in label.items()}}


@desk.patch("/lockers/{number}", timeout=0.2)
async def repair(number: int):
    """Takes longer than it may: the client is told after 0.2 s, and nobody else has to wait."""
    await asyncio.sleep(60)
    return {"number": number}


@desk.delete("/lockers/{number}", status_code=202)
def empty(number: int):
    return None


@desk.get("/map")
def elsewhere(floor: int = 0) -> RedirectResponse:
    if not 0 <= floor <= 3:
        raise HTTPError(404, "The house has three floors.")
    return RedirectResponse(f"/desk/lockers?first={floor * 100}&count=1", 303)


# A router of its own, for the part that prints; the service is the one that includes it.
badges = Router(prefix="/badges", tags=["badges"])


@badges.post("/print", status_code=201)
def print_badge(badge: Badge) -> Response:
    """A body by a dataclass, an answer that is not valid JSON."""
    return Response(svg(badge), 201, {"x-level": badge.level}, "image/svg+xml")


@badges.post("/sizes")
async def sizes(names: list[str], points: float = 12.0):
    return {name: round(len(name) * points * 0.6, 1) for name in names}


desk.include_router(badges)
