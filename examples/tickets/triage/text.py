"""What the computed columns of a ticket are made by: plain Python functions with type hints."""

import re

import appdb as db

ALARMING = {"down": 3, "outage": 3, "urgent": 2, "broken": 1, "refund": 1}


@db.udf
def urgency(subject: str, text: str, *, loud: str = "!", extra: int = 0) -> int:
    """Alarming words count, and each `loud` in the subject. What stands behind the * is given by name."""
    words = re.findall(r"[a-z]+", f"{subject} {text}".lower())
    return sum(ALARMING.get(word, 0) for word in words) + subject.count(loud) + extra


@db.udf
def euros(claim: str | None) -> float | None:
    """Reads an amount of money. Raises where there is none: the cell then says why, the ticket is kept."""
    if claim is None:  # a parameter that may be None gets null
        return None
    number = claim.removesuffix("EUR").replace(",", "").strip()
    if not number:
        raise LookupError("the claim is empty")
    return float(number)


@db.udf
def greeting(customer: str, language: str | None, formal: bool = True) -> str:
    """`language` may be null and is then passed on; a row without a customer would not call this at all."""
    name = customer.partition("@")[0].capitalize()
    if language == "de":
        return f"Guten Tag {name}," if formal else f"Hallo {name},"
    return f"Dear {name}," if formal else f"Hi {name},"


@db.udf
def topics(texts: list[str]) -> list[str]:
    """A Json list in, a Json list out: the words that begin with #, sorted, each once."""
    return sorted({word.lower() for text in texts for word in re.findall(r"#(\w+)", text)})


@db.expr_udf
def headline(customer: str, subject: str):
    """No function but a shorthand: each call stands for this expression, which runs inside PostgreSQL."""
    return customer.lower() + ": " + subject.strip()  # pyright: ignore
