"""Typical user functions: a few string operations, and a call that waits."""

import asyncio

import appdb as db


@db.udf
def shorten(text: str) -> str:
    words = text.split()
    return " ".join(words[:3]) + ("..." if len(words) > 3 else "")


@db.udf
async def ask(text: str) -> str:
    await asyncio.sleep(5 if text == "slow" else 0.05)
    return text.upper()
