import { afterEach, expect, test } from "vitest";
import { openPodHarness, type PodHarness, type StartedPod } from "../testing/pod-harness.ts";

const TIMEOUT = 60_000;

const APP = `
import appdb as db
from texts.shorten import shorten

Base = db.model_base()


class Docs(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    short = shorten(title)
`;
const SHORTEN = `
import appdb as db


@db.udf
def shorten(title: str) -> str:
    return title[:4] + "."
`;

let harness: PodHarness;

afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

/** A database with the table docs, and the digest of its project files. */
async function openDocs(more: Record<string, string> = {}): Promise<{ pod: StartedPod; files: string }> {
  harness = openPodHarness();
  const files = harness.putTree({ "app.py": APP, "texts/shorten.py": SHORTEN, ...more });
  const pod = harness.start(await harness.spec());
  await pod.ready();
  const plan = await pod.ask("POST", "/v1/schema/plan", { app_file: "app.py", files, folders: [] });
  const { catalog_version } = plan.json<{ plan: { catalog_version: number } }>().plan;
  const applied = await pod.ask("POST", "/v1/schema/apply", {
    ...{ app_file: "app.py", files, folders: [], catalog_version },
    allow_destructive: false,
  });
  expect(applied.lines().at(-1)).toMatchObject({ event: "done", plan: { target: "cloud://acme:main" } });
  return { pod, files };
}

test("a new database is made of the template, takes a schema and rows with a function, and has them after a restart", {
  timeout: TIMEOUT,
}, async () => {
  const { pod, files } = await openDocs();
  const read = await pod.ask("POST", "/v1/manifest", { app_file: "app.py", files });
  expect(read.json()).toMatchObject({ imported: [{ path: "app.py" }, { path: "texts/shorten.py" }] });

  const one = await pod.ask("POST", "/v1/tables/docs/rows", { id: 1, title: "The first" });
  expect([one.status, one.json()]).toEqual([200, { id: 1, title: "The first", short: "The ." }]);
  const lines = [2, 3, 9007199254740993n].map((id) => `{"id":${id},"title":"Title ${id}"}\n`).join("");
  const many = await pod.ask("POST", "/v1/tables/docs/rows", lines, { "content-type": "application/x-ndjson" });
  expect([many.status, many.text.split("\n").length]).toEqual([200, 4]);
  const twice = await pod.ask("POST", "/v1/tables/docs/rows", { id: 1, title: "Again" });
  expect([twice.status, twice.json().code]).toEqual([409, "unique_violation"]);

  expect((await pod.ask("GET", "/v1/tables")).json()).toMatchObject({
    tables: [
      {
        path: "docs",
        rows: 4,
        errors: 0,
        columns: [{ name: "id", type: "Int", is_key: true }, {}, { value: "shorten(title)" }],
      },
    ],
  });
  await pod.ask("POST", "/v1/stop");
  expect(await pod.ended()).toBe(0);

  const again = harness.start(await harness.spec());
  await again.ready();
  const first = await again.ask("GET", "/v1/tables/docs/rows?limit=3");
  // the newest first, and every digit of a large number
  expect(first.text).toContain(
    '{"rows":[{"id":9007199254740993,"title":"Title 9007199254740993","short":"Titl."},{"id":3,',
  );
  const { next } = first.json<{ next: string }>();
  const second = await again.ask("GET", `/v1/tables/docs/rows?limit=3&cursor=${next}`);
  expect(second.json()).toEqual({ rows: [{ id: 1, title: "The first", short: "The ." }], next: null });
  const more = await again.ask("POST", "/v1/tables/docs/rows", { id: 5, title: "Later" });
  expect(more.json()).toEqual({ id: 5, title: "Later", short: "Late." });
});
