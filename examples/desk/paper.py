"""What the desk reads and prints: lists, badges, pages."""

import asyncio
import html
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal


@dataclass
class Badge:
    name: str
    level: Literal["guest", "staff"] = "guest"
    rooms: list[int] | None = None


def opening(day: date) -> tuple[int, int] | None:
    """From when to when the museum is open; closed on Mondays, long on Thursdays."""
    if day.weekday() == 0:
        return None
    return 10, 21 if day.weekday() == 3 else 18


def read_visits(text: str, day: date) -> list[dict[str, Any]]:
    """A visit from each line `name; host`. Raises ValueError."""
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        name, mark, host = (part.strip() for part in line.partition(";"))
        if not (name and mark and host):
            raise ValueError(f"line {number} is not like 'name; host'")
        rows.append({"name": name, "host": host, "day": day})
    return rows


def svg(badge: Badge) -> bytes:
    color = {"guest": "gray", "staff": "red"}[badge.level]
    rooms = "" if badge.rooms is None else " ".join(map(str, badge.rooms))
    text = html.escape(f"{badge.name} {rooms}".strip())
    return f'<svg xmlns="http://www.w3.org/2000/svg"><text fill="{color}">{text}</text></svg>'.encode()


async def closing_minutes(minutes: int):
    """Says every minute that there is one less. Minutes are short here."""
    for left in range(minutes, 0, -1):
        await asyncio.sleep(0.01)
        yield f"{left} minutes\n"
    yield "Good night!\n"


def page_of_visits(day: date, rows: list[dict[str, Any]]) -> str:
    items = "".join(f"<li>{html.escape(row['greeting'])}</li>" for row in rows)
    return f"<h1>{day:%d %B %Y}</h1><ul>{items}</ul>"
