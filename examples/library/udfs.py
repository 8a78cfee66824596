"""Functions that compute columns: any Python functions with type hints, known by module and name."""

from datetime import date, timedelta

import appdb as db

LOAN_DAYS = 21


@db.udf
def last_day(taken: date, due: date | None, *, days: int = LOAN_DAYS) -> date:
    """The day a book must be back: what the librarian wrote, else three weeks, and no Sunday."""
    day = due or taken + timedelta(days=days)
    return day + timedelta(days=1) if day.weekday() == 6 else day


@db.udf
def initials(name: str) -> str:
    return "".join(word[0].upper() for word in name.split())


@db.udf
def sort_title(title: str, subtitle: str | None) -> str:
    """"The Dispossessed" stands under D."""
    for article in ("The ", "A ", "An "):
        if title.startswith(article):
            title = f"{title[len(article) :]}, {article.strip()}"
            break
    return title if subtitle is None else f"{title}: {subtitle}"
