import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Answer,
  expectExit,
  expectProblem,
  listServices,
  makeProject,
  post,
  query,
  read,
  serveProject,
  writeFile,
} from "./support/served.ts";

/** User functions of every kind served together, and a service whose functions are removed. */
const APP = `
import appdb as db
from appdb.functions import upper
from appdb.serving import Router
from kinds import ask, lengths, shown, hasty
from parts.texts import marked
from words import short

Base = db.model_base()

class Docs(Base, name="docs"):
    title: db.String
    n: db.Int
    answer = ask.using(mark="?")(title)
    size = lengths(title)
    a = shown(title)
    b = shown(n)
    checked = hasty(n)
    mark = marked(title)

class Notes(Base, name="notes"):
    text: db.String
    start = short(text)

class Plain(Base, name="plain"):
    text: db.String
    loud = upper(text)

@db.query(return_scalar=True)
def starts():
    return Notes.order_by(Notes.text).select(Notes.start)

@db.query(return_scalar=True)
def shortened():
    return Notes.order_by(Notes.text).select(short(Notes.text))

mixed = Router()
mixed.add_query_route(path="/starts", query=starts, method="get")
mixed.add_query_route(path="/shortened", query=shortened, method="get")
mixed.add_insert_route(Docs, path="/docs", inputs=["title", "n"], outputs=["answer", "size", "a", "b", "checked", "mark"])
mixed.add_insert_route(Notes, path="/notes", inputs=["text"], outputs=["start"])
mixed.add_insert_route(Plain, path="/plain", inputs=["text"], outputs=["loud"])
`;
const KINDS = `
import asyncio
import appdb as db

api = db.ResourcePool("api", max_concurrent=4, retries=2)
tried = set()

class Busy(Exception):
    status_code = 429
    retry_after = 0.05

@db.udf(resource_pool=api)
async def ask(text: str, mark: str = "!") -> str:
    await asyncio.sleep(0.01)
    if text == "busy" and text not in tried:
        tried.add(text)
        raise Busy("come back later")
    return text + mark

@db.udf(batch_size=8)
def lengths(texts: db.Batch[str]) -> db.Batch[int]:
    return [len(text) for text in texts]

@db.udf
def shown(x: str) -> str:
    return x.upper()

@shown.overload
def _(x: int) -> str:
    return "#" + str(x)

@db.udf(timeout=2)
async def hasty(n: int) -> int:
    await asyncio.sleep(60 if n < 0 else 0)
    return n
`;
/** A package whose modules import each other by relative names, as Python allows. */
const TEXTS = `
import appdb as db
from . import measures
from .measures import OPEN

CLOSE = ")"

@db.udf
def marked(text: str) -> str:
    return text + OPEN + str(measures.size(text)) + CLOSE
`;
const MEASURES = `
from . import texts

OPEN = " ("

def size(text):
    return len(text) if texts.CLOSE else 0
`;
const WORDS = "import appdb as db\n\n@db.udf\ndef short(text: str) -> str:\n    return text[:3]\n";

let project: TestProject;
let url: string;

beforeAll(async () => {
  project = await makeProject(APP);
  writeFile(project, "kinds.py", KINDS);
  writeFile(project, "words.py", WORDS);
  mkdirSync(join(project.folder, "parts"));
  writeFile(project, "parts/texts.py", TEXTS);
  writeFile(project, "parts/measures.py", MEASURES);
  url = await serveProject(project);
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

async function get(path: string): Promise<Answer> {
  return read(await fetch(url + path));
}

async function restartAlone(): Promise<void> {
  const before = (await listServices(project))[0]?.pid ?? 0;
  process.kill(before, "SIGKILL");
  await eventually(
    async () => {
      const [now] = await listServices(project);
      expect(now?.state).toBe("AVAILABLE");
      expect(now?.pid).not.toBe(before);
    },
    { timeout_ms: 60_000 },
  );
}

test("functions of every kind compute one row, with retries of a busy provider", async () => {
  expect(await post(`${url}/docs`, { title: "hello", n: 3 })).toMatchObject({
    status: 200,
    json: { answer: "hello?", size: 5, a: "HELLO", b: "#3", checked: 3, mark: "hello (5)" },
  });
  expect((await post(`${url}/docs`, { title: "busy", n: 3 })).json.answer).toBe("busy?");
  const failed = await post(`${url}/docs`, { title: "late", n: -1 });
  expect([failed.status, failed.json.code, failed.json.meta.column]).toEqual([400, "function_timeout", "checked"]);
});

test("/metrics shows the counts of functions", async () => {
  await eventually(async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toMatch(/^appdb_function_rows_total\{function="kinds:shown#1"\} [1-9]/m);
    expect(text).toMatch(/^appdb_function_retries_total\{function="kinds:ask"\} 1$/m);
    expect(text).toMatch(/^appdb_function_errors_total\{function="kinds:hasty"\} 1$/m);
  });
});

test("inserts name a missing function while other routes continue", async () => {
  await post(`${url}/notes`, { text: "before" });
  writeFile(project, "words.py", WORDS.replace("def short", "def brief"));
  await restartAlone();
  const refused = await post(`${url}/notes`, { text: "after" });
  expect([refused.status, refused.json.code]).toEqual([409, "function_missing"]);
  expect(refused.json.detail).toContain("words:short");
  expect((await post(`${url}/docs`, { title: "still", n: 1 })).status).toBe(200);
  expect((await post(`${url}/plain`, { text: "here" })).json).toEqual({ loud: "HERE" });
  expect(await query(project, "select start from notes")).toEqual([["bef"]]);
  expect((await get("/starts")).json).toEqual(["bef"]);
  expect((await get("/shortened")).json).toMatchObject({ code: "function_missing", meta: { function: "words:short" } });
  const recomputed = await expectProblem(project, 1, "recompute", "main/notes", "start", "-f", "--on-error", "ignore");
  expect(recomputed.detail).toContain("words:short");
  expect((await get("/starts")).json).toEqual(["bef"]);
});

test("without its modules a service serves other routes, and tables can be dropped", async () => {
  writeFile(project, "words.py", "raise RuntimeError('no words')\n");
  writeFile(project, "kinds.py", "raise RuntimeError('no kinds')\n");
  await restartAlone();
  expect((await post(`${url}/plain`, { text: "alone" })).json).toEqual({ loud: "ALONE" });
  expect((await get("/starts")).json).toEqual(["bef"]);
  expect((await get("/shortened")).json.code).toBe("worker_unavailable");
  const refused = await post(`${url}/docs`, { title: "x", n: 1 });
  expect([refused.status, refused.json.code]).toEqual([503, "worker_unavailable"]);
  writeFile(
    project,
    "less.py",
    'import appdb as db\n\nclass Other(db.model_base(), name="other"):\n    text: db.String\n',
  );
  await expectExit(project, 0, "schema", "prune", "less.py", "main", "--allow-destructive", "-f");
  expect(await query(project, "select count(*) from pg_tables where schemaname = 'public'")).toEqual([["0"]]);
});
