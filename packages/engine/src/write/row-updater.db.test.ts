import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "appdb-updates-"));
const BEGAN = join(folder, "began");
const GO = join(folder, "go");

/** A function with a number above 1000 signals its start and waits until the test releases it. */
const APP = `
import os, time

import appdb as db
from appdb.functions import upper
from appdb.serving import Router

Base = db.model_base()

@db.udf
def half(n: int) -> float:
    if n > 1000:
        open("${BEGAN}", "w").close()
        while not os.path.exists("${GO}"):
            time.sleep(0.01)
    return n / 2

@db.udf
def mix(n: int, tip: int) -> float:
    return half(n) + tip

class Rides(Base, name="rides"):
    km = db.Column(type=db.Int, primary_key=True)
    n: db.Int
    tip: db.Int
    note: db.String | None
    kind: db.String | None
    more: db.String | None
    kinds = kind + more
    twice = n * 2
    fare = half(n)
    total = fare + tip
    mixed = mix(n, tip)
    loud = upper(note)
    __indexes__ = [db.BtreeIndex(note), db.BtreeIndex(kind, n)]

class Texts(Base, name="texts"):
    slug = db.Column(type=db.String, primary_key=True)
    n: db.Int

api = Router(name="api")
api.add_insert_route(Rides, path="/rides", on_error="ignore")
api.add_update_route(Rides, path="/change")
api.add_update_route(Rides, path="/kind", inputs=[Rides.more])
api.add_delete_route(Rides, path="/drop")
api.add_delete_route(Rides, path="/drop/note", match_columns=[Rides.note])
api.add_delete_route(Rides, path="/drop/kind", match_columns=[Rides.kind, Rides.n])
api.add_insert_route(Texts, path="/texts")
api.add_update_route(Texts, path="/texts/change")
api.add_delete_route(Texts, path="/texts/drop")
`;

let tested: TestApplication;
let others: ServedRoutes[];

beforeEach(async () => {
  for (const file of [BEGAN, GO]) rmSync(file, { force: true });
  tested = await openTestApplication(APP);
  others = [];
});

afterEach(async () => {
  for (const other of others) await other[Symbol.asyncDispose]();
  await tested?.[Symbol.asyncDispose]();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Resolves when the function has started. `work` then runs while the function waits. */
async function whileItRuns(work: () => Promise<unknown>): Promise<void> {
  await eventually(() => expect(existsSync(BEGAN)).toBe(true));
  await work();
  writeFileSync(GO, "");
}

async function rows(text: string): Promise<readonly (readonly (string | null)[])[]> {
  return (await tested.sql.query({ text })).rows;
}

/** Another service on the same tables. */
async function another(app = APP): Promise<ServedRoutes> {
  const served = await tested.serve(app);
  others.push(served);
  return served;
}

const FITS = "select bool_and(twice = n * 2 and fare = n / 2.0 and total = fare + tip and mixed = total) from rides";

test("concurrent updates by two services all count and keep computed columns consistent", async () => {
  const other = await another();
  for (let km = 0; km < 6; km++) await tested.post("/rides", { km, n: 1, tip: 1, note: "x" });
  const work = Array.from({ length: 60 }, (_, at) => at);
  const update = (service: ServedRoutes, at: number, from: number) => {
    const km = (from === 1 ? at : 59 - at) % 6;
    // Two need Python for different columns of one row, and one does not.
    const body = [
      { km, n: at },
      { km, tip: at },
      { km, note: `${from} ${at}` },
    ][at % 3];
    return service.post("/change", body);
  };
  const answers = await Promise.all(work.flatMap((at) => [update(tested, at, 1), update(other, at, 2)]));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  for (const { json } of answers) {
    const total = json.n / 2 + json.tip;
    expect([json.twice, json.fare, json.total, json.mixed]).toEqual([json.n * 2, json.n / 2, total, total]);
    expect(json.loud).toBe(json.note.toUpperCase());
  }
  expect(await rows(FITS)).toEqual([["t"]]);
});

test("recomputes a row that changed while a function ran", async () => {
  await tested.post("/rides", { km: 1, n: 2, tip: 1 });
  const updating = tested.post("/change", { km: 1, n: 2000 });
  await whileItRuns(() => rows("update rides set tip = 100 where km = 1"));
  const answer = await updating;
  expect(answer).toMatchObject({ status: 200, json: { n: 2000, tip: 100, total: 1100, mixed: 1100 } });
  expect(await rows("select n, tip, fare, total, mixed from rides")).toEqual([["2000", "100", "1000", "1100", "1100"]]);
});

test("SQL columns of a locked row are computed from its committed values", async () => {
  await tested.post("/rides", { km: 1, n: 2, tip: 1, kind: "a" });
  const answer = await tested.sql.withConnection(async (connection) => {
    await connection.query({ text: "begin" });
    await connection.query({ text: "update rides set kind = 'b' where km = 1" });
    const updating = tested.post("/kind", { km: 1, more: "c" });
    await eventually(async () => expect(await rows(WAITING)).toEqual([["1"]]));
    await connection.query({ text: "commit" });
    return updating;
  });
  expect(answer).toMatchObject({ status: 200, json: { kind: "b", more: "c", kinds: "bc" } });
  expect(await rows("select kinds from rides")).toEqual([["bc"]]);
});

const WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

test("a row deleted while a function runs is not found and stays deleted", async () => {
  await tested.post("/rides", { km: 1, n: 2, tip: 1 });
  const updating = tested.post("/change", { km: 1, n: 2000 });
  await whileItRuns(async () => expect((await tested.post("/drop", { km: 1 })).json).toEqual({ num_rows: 1 }));
  expect((await updating).json.code).toBe("row_not_found");
  expect(await rows("select count(*) from rides")).toEqual([["0"]]);
});

test("concurrent updates and deletes are batched and sorted by key", async () => {
  const keys = ["c", "a", "d", "b", "e"];
  for (const slug of keys) await tested.post("/texts", { slug, n: 1 });
  const both = async () => {
    tested.statements();
    await Promise.all(keys.map((slug) => tested.post("/texts/change", { slug, n: 2 })));
    await Promise.all(keys.map((slug) => tested.post("/texts/drop", { slug })));
    return tested.statements().map(({ values }) => values?.[0]);
  };
  expect(await both()).toEqual(['{"a","b","c","d","e"}', '{"a","b","c","d","e"}']);
});

test("an update marks only new dependents of the sent columns as pending", async () => {
  await tested.post("/rides", { km: 1, n: 2, tip: 1, note: "x" });
  const added = APP.replace(
    "    loud = upper(note)\n",
    "    loud = upper(note)\n    thrice = n * 3\n    said = upper(note)\n",
  );
  await tested.finish(await tested.update(added));
  expect(await rows("select thrice, said, _errors from rides")).toEqual([["6", "X", null]]);
  const answer = await tested.post("/change", { km: 1, n: 5 });
  expect(answer).toMatchObject({ status: 200, json: { n: 5, twice: 10, fare: 2.5 } });
  expect(await rows("select thrice, said, _errors from rides")).toEqual([["6", "X", '{"thrice": "pending"}']]);
  const jobs = await rows("select id from appdb.jobs where kind = 'close_pending' and state = 'queued'");
  await tested.finish(jobs.map(([id]) => id ?? ""));
  expect(await rows("select thrice, said, _errors from rides")).toEqual([["15", "X", null]]);
});

test("a reader of a pending cell is pending until that cell is computed", async () => {
  await tested.post("/rides", { km: 1, n: 2, tip: 1 });
  await rows(`update rides set _errors = '{"fare": "pending"}', fare = null`);
  const answer = await tested.post("/change", { km: 1, tip: 7 });
  expect(answer).toMatchObject({ status: 200, json: { tip: 7, fare: null, total: null } });
  expect(await rows("select _errors from rides")).toEqual([['{"fare": "pending", "total": "pending"}']]);
  expect(await rows("select count(*) from appdb.jobs where kind = 'close_pending'")).toEqual([["1"]]);
  // Its value is computed after the value that it reads.
  const again = await tested.post("/change", { km: 1, n: 4 });
  expect(again.json).toMatchObject({ fare: 2, total: 9 });
  expect(await rows("select _errors from rides")).toEqual([[null]]);
});

test("updates and deletes of a service with a dropped column get 409", async () => {
  await tested.post("/rides", { km: 1, n: 2, tip: 1, note: "x" });
  await tested.update(
    APP.replace("    kind: db.String | None\n", "")
      .replace("kind + more", "more")
      .replace(", db.BtreeIndex(kind, n)", "")
      .replace(/api.add_delete_route\(Rides, path="\/drop\/kind".*\n/, ""),
  );
  for (const [path, body] of [
    ["/change", { km: 1, note: "y" }],
    ["/change", { km: 1, n: 9 }],
    ["/drop", { km: 1 }],
    ["/drop/note", { note: "x" }],
  ] as const) {
    expect(await tested.post(path, body)).toMatchObject({ status: 409, json: { code: "schema_changed" } });
  }
  expect(await rows("select n, note from rides")).toEqual([["2", "x"]]);
});

test("an older service finds rows of a renamed table", async () => {
  await tested.post("/texts", { slug: "a", n: 1 });
  await tested.update(
    APP.replace('class Texts(Base, name="texts")', 'class Texts(Base, name="pages", renamed_from="texts")'),
  );
  expect((await tested.post("/texts/change", { slug: "a", n: 2 })).json).toEqual({ slug: "a", n: 2 });
  expect((await tested.post("/texts/drop", { slug: "a" })).json).toEqual({ num_rows: 1 });
});

test("updates and deletes use the matching index", async () => {
  await rows(
    "insert into rides (_row, km, n, tip, note, kind) select uuidv7(), i, i, 1, 'note ' || i, 'kind ' || i % 100 from generate_series(1, 5000) i",
  );
  await rows("insert into texts (_row, slug, n) select uuidv7(), 'slug ' || i, i from generate_series(1, 5000) i");
  await rows("vacuum analyze rides, texts");
  tested.statements();
  const posts: readonly (readonly [string, object])[] = [
    ["/change", { km: 7, note: "y" }],
    ["/change", { km: 8, n: 3 }],
    ["/drop", { km: 9 }],
    ["/drop/note", { note: "note 10" }],
    ["/drop/kind", { kind: "kind 11", n: 11 }],
    ["/texts/change", { slug: "slug 12", n: 0 }],
    ["/texts/drop", { slug: "slug 13" }],
  ];
  for (const [path, body] of posts) expect((await tested.post(path, body)).status).toBe(200);
  const seen = tested.statements().filter(({ text }) => text.includes("rides") || text.includes("texts"));
  expect(seen.length).toBe(posts.length + 1);
  await tested.sql.withConnection(async (connection) => {
    for (const [at, { text, values }] of seen.entries()) {
      await connection.query({ text: `prepare "s${at}" as ${text}` });
      const given = (values ?? []).map((value) => (value === null ? "null" : `'${String(value)}'`));
      const plan = await connection.query({ text: `explain execute "s${at}" (${given.join(", ")})` });
      expect(plan.rows.map(([line]) => line).join("\n")).not.toMatch(/Seq Scan on (rides|texts)/);
      expect(plan.rows.map(([line]) => line).join("\n")).toMatch(/Index Scan/);
    }
  });
});
