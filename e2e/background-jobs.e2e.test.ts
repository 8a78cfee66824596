import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { expectExit, makeProject, post, query, read, serveProject, writeFile } from "./support/served.ts";
import { findVictims, kill } from "./support/victims.ts";

/** A function that works on "slow" until the test has seen it run. */
const APP = `
import os
import time
import appdb as db
from appdb.functions import uuid7
from appdb.serving import Background, Router

@db.udf
def measure(text: str) -> int:
    while text == "slow" and not os.path.exists(os.path.join(os.path.dirname(__file__), "seen")):
        time.sleep(0.05)
    return len(text)

class Texts(db.model_base(), name="texts"):
    id = db.Column(value=uuid7(), primary_key=True)
    text: db.String
    size = measure(text)

@db.query
def longer(than: int):
    return Texts.where(Texts.size > than).select(Texts.text)

api = Router(prefix="/v1")
api.add_insert_route(Texts, path="/texts", inputs=[Texts.text], outputs=[Texts.size], background=Background(expires=60))
api.add_query_route(path="/longer", query=longer, method="get", background=True)
`;
/** Covers a dead process's lease, the service's restart, and the function itself. */
const HEAL_MS = 120_000;

test("a background job survives kill -9 and stores its row once", async () => {
  await using project = await makeProject(APP, { env: { SERVICE_FUNCTION_TIMEOUT_MS: "120000" } });
  const endpoint = (await serveProject(project)).replace(/\/$/, "");
  const sent = await post(`${endpoint}/v1/texts`, { text: "slow" });
  expect(sent).toMatchObject({ status: 200, json: { job_url: `${endpoint}/_jobs/${sent.json.id}` } });
  const look = async (url: string) => await read(await fetch(url));
  expect((await look(sent.json.job_url)).headers.get("retry-after")).toBe("1");
  await eventually(async () =>
    expect(await query(project, "select state from appdb.background")).toEqual([["running"]]),
  );
  const listed = JSON.parse((await expectExit(project, 0, "jobs", "list", "main", "--json")).stdout);
  expect(listed.jobs).toMatchObject([{ id: sent.json.id, kind: "background", state: "running" }]);
  for (const pid of findVictims("service", project.home)) kill(pid);
  writeFile(project, "seen", "");
  const done = await eventually(
    async () => {
      const told = await look(sent.json.job_url);
      expect(told.json.status).toBe("done");
      return told.json;
    },
    { timeout_ms: HEAL_MS },
  );
  expect(done.result).toEqual({ size: 4 });
  expect(await query(project, "select text, size from texts")).toEqual([["slow", "4"]]);

  const asked = await look(`${endpoint}/v1/longer?than=3`);
  await eventually(async () => {
    expect((await look(asked.json.job_url)).json.result).toEqual({ rows: [{ text: "slow" }] });
  });
  const cancelled = await read(await fetch(asked.json.job_url, { method: "DELETE" }));
  expect(cancelled).toMatchObject({ status: 409, json: { code: "job_not_cancellable" } });
  const document = (await look(`${endpoint}/openapi.json`)).json;
  expect(Object.keys(document.paths)).toContain("/_jobs/{id}");
}, 240_000);
