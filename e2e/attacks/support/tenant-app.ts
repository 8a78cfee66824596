/** Application of both organizations: tables with computed columns, and a service with all kinds of routes. */
export const TENANT_APP = `import asyncio
import os
import time
import appdb as db
from appdb.functions import uuid7
from appdb.serving import Request, Router

Base = db.model_base()


@db.udf
def shout(text: str) -> str:
    return text.upper()


@db.udf
def nap(seconds: float, text: str) -> int:
    time.sleep(seconds)
    return len(text)


class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    shouted = shout(title)


class Naps(Base, name="naps"):
    id = db.Column(value=uuid7(), primary_key=True)
    seconds: db.Float
    text: db.String
    size = nap(seconds, text)


class Loot(Base, name="loot"):
    oid = db.Column(db.Int, primary_key=True)
    prosrc: db.String
    prolang: db.Int


tools = Router()
tools.add_insert_route(Docs, path="/docs")
tools.add_compute_route(Naps, path="/nap", inputs=[Naps.seconds, Naps.text], outputs=[Naps.size])
tools.add_insert_route(Loot, path="/loot")


@tools.get("/headers")
def headers(request: Request):
    return dict(request.headers)


@tools.get("/whoami")
def whoami():
    return {"uid": os.getuid(), "file": __file__}


@tools.get("/stream")
async def stream(seconds: int = 60):
    for second in range(seconds):
        yield {"second": second}
        await asyncio.sleep(1)
`;
