import { freePort } from "@appdb/testkit/free-ports";
import type { TestProject } from "@appdb/testkit/test-project";
import { expectExit, makeProject } from "./served.ts";

const APP = `
import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router

@db.udf
def measure(text: str) -> int:
    return len(text)

class Events(db.model_base(), name="events"):
    id = db.Column(value=uuid7(), primary_key=True)
    token: db.String
    shout = upper(token)
    size = measure(token)

ingest = Router()
ingest.add_insert_route(Events, path="/events", inputs=[Events.token],
                        outputs=[Events.id, Events.token, Events.shout, Events.size])
`;

/** Target of kills: a table with an SQL column and a Python column, and its insert route. */
export interface ServedEvents extends AsyncDisposable {
  readonly project: TestProject;
  /** Address of the route; its port stays the same across restarts. */
  readonly url: string;
}

export async function serveEvents(): Promise<ServedEvents> {
  const project = await makeProject(APP);
  const end = () => project[Symbol.asyncDispose]();
  try {
    const port = await freePort();
    await expectExit(project, 0, "schema", "update", "app.py", "main");
    await expectExit(project, 0, "service", "update", "app.py", "main", "-f", "--port", String(port));
    return { project, url: `http://127.0.0.1:${port}/events`, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}
