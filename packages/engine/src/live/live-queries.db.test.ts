import type { EventReader } from "@appdb/testkit/event-reader";
import { LiveClient as Client } from "@appdb/testkit/live-client";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { RouteRequest } from "../routes/route.ts";
import { LIVE_APP } from "./testing/live-app.ts";

/** Live queries on a real database: the events that a reader gets after commits of any client. */
let app: TestApplication;

let opened: EventReader[] = [];

beforeAll(async () => {
  app = await openTestApplication(LIVE_APP, { live_queries: 60, live_bytes: 200_000 });
});

afterEach(async () => {
  for (const reader of opened) await reader[Symbol.asyncDispose]();
  opened = [];
  await run("truncate notes, rooms");
});

afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
});

async function stream(path: string, options?: Partial<RouteRequest>): Promise<EventReader> {
  const reader = await app.stream(path, options);
  opened.push(reader);
  return reader;
}

const run = (text: string) => app.sql.query({ text });
const add = (name: string, room: string, n = 1) => app.post("/notes", { name, room, n, doc: null });
const nameOf = (event: Awaited<ReturnType<EventReader["next"]>>) => event?.event;

/** How often a table was read since the last look at the statements. */
const runsOf = (table: string) => app.statements().filter(({ text }) => text.includes(`from ${table}`)).length;

test("the result comes first, then each commit's changes, from any client", async () => {
  await add("a", "lobby", 1);
  await add("b", "lobby", 5);
  await add("x", "hall", 3);
  const client = new Client(await stream("/in_room?room=lobby"));
  expect(await client.take()).toBe("result");
  expect(client.rows).toEqual([
    { name: "a", n: 1 },
    { name: "b", n: 5 },
  ]);
  for (let at = 0; at < 20; at++) await add(`m${String(at).padStart(2, "0")}`, "lobby", 9);
  await client.until([
    { name: "a", n: 1 },
    { name: "b", n: 5 },
    ...Array.from({ length: 20 }, (_none, at) => ({ name: `m${String(at).padStart(2, "0")}`, n: 9 })),
  ]);
  const events = client.events;
  // As psql and other programs do.
  await run("update notes set n = 7 where name = 'a'");
  expect(await client.take()).toBe("change");
  expect(client.rows.slice(0, 3)).toEqual([
    { name: "b", n: 5 },
    { name: "a", n: 7 },
    { name: "m00", n: 9 },
  ]);
  await run("update notes set room = 'hall' where name = 'b'");
  expect(await client.take()).toBe("change");
  expect(client.rows[0]).toEqual({ name: "a", n: 7 });
  await run("update notes set room = 'lobby', n = 0 where name = 'x'");
  expect(await client.take()).toBe("change");
  expect(client.rows[0]).toEqual({ name: "x", n: 0 });
  await run("delete from notes where name = 'a'");
  expect(await client.take()).toBe("change");
  expect(client.rows[1]).toEqual({ name: "m00", n: 9 });
  await run("truncate notes");
  await client.until([]);
  expect(client.events).toBe(events + 5);
});

test("a commit that touches no matching rows reruns nothing", async () => {
  await add("a", "lobby");
  const client = new Client(await stream("/in_room?room=lobby"));
  await client.take();
  app.statements();
  await run("insert into notes (_row, name, room) values (uuidv7(), 'x', 'hall')");
  await run("update notes set n = 3 where name = 'x'");
  await run("update notes set n = 3 where name = 'nobody'");
  await run("insert into notes (_row, name, room, n) values (uuidv7(), 'b', 'lobby', 2)");
  expect(await client.take()).toBe("change");
  expect(app.statements().filter(({ text }) => text.includes('from "public"."notes"'))).toHaveLength(1);
});

test("a rollback sends no event, and one transaction sends one event", async () => {
  for (let at = 0; at < 9; at++) await add(`before ${at}`, "lobby");
  const client = new Client(await stream("/in_room?room=lobby"));
  await client.take();
  await app.sql
    .transaction(async (connection) => {
      await connection.query({ text: "insert into notes (_row, name, room) values (uuidv7(), 'undone', 'lobby')" });
      throw new Error("undone");
    })
    .catch(() => undefined);
  await app.sql.transaction(async (connection) => {
    for (const name of ["a", "b", "c"]) {
      await connection.query({
        text: `insert into notes (_row, name, room, n) values (uuidv7(), '${name}', 'lobby', 1)`,
      });
    }
  });
  expect(await client.take()).toBe("change");
  expect(client.rows).toHaveLength(12);
});

test("queries with limits, joins, aggregates, groups and Python send their changes", async () => {
  await add("a", "lobby", 2);
  await add("b", "lobby", 4);
  const open = async (path: string) => new Client(await stream(path));
  const clients = await Promise.all(
    [
      "/first?room=lobby",
      "/counted?room=lobby",
      "/by_room",
      "/titled?room=lobby",
      "/in_python?room=lobby",
      "/named?room=lobby",
    ].map(open),
  );
  const [first, counted, grouped, titled, inPython, named] = clients as [
    Client,
    Client,
    Client,
    Client,
    Client,
    Client,
  ];
  for (const client of clients) expect(await client.take()).toBe("result");
  expect([counted.rows, grouped.rows, named.rows]).toEqual([
    [{ c: 2, total: 6 }],
    [{ room: "lobby", c: 2 }],
    ["a", "b"],
  ]);
  await add("c", "lobby", 1);
  await first.until([{ name: "c" }, { name: "a" }]);
  await counted.until([{ c: 3, total: 7 }]);
  await grouped.until([{ room: "lobby", c: 3 }]);
  await named.until(["a", "b", "c"]);
  await inPython.until([{ name: "a" }, { name: "b" }, { name: "c" }]);
  expect(inPython.ids).toEqual([]);
  await run("insert into rooms (_row, room, title) values (uuidv7(), 'lobby', 'The lobby')");
  await titled.until(["a", "b", "c"].map((name) => ({ name, title: "The lobby" })));
  await add("d", "hall", 1);
  await grouped.until([
    { room: "hall", c: 1 },
    { room: "lobby", c: 3 },
  ]);
});

test("values that are long, odd or many find their queries", async () => {
  const rooms = [
    "",
    "ü".repeat(60),
    "x".repeat(300),
    "a;1;2;\"'\\\n\t",
    ...Array.from({ length: 40 }, (_none, at) => `room number ${at} ${"y".repeat(60)}`),
  ];
  const clients = await Promise.all(
    rooms.map(async (room) => new Client(await stream(`/in_room?room=${encodeURIComponent(room)}`))),
  );
  for (const client of clients) await client.take();
  app.statements();
  await app.sql.query({
    text: `insert into notes (_row, name, room, n)
      select uuidv7(), 'row ' || i, r, 1 from unnest($1::text[]) with ordinality as t(r, i)
      union all select uuidv7(), 'other ' || i, 'elsewhere ' || i, 1 from generate_series(1, 300) i`,
    values: [rooms],
  });
  for (const [at, client] of clients.entries()) await client.until([{ name: `row ${at + 1}`, n: 1 }]);
  // One commit, for any number of queries. The truncate of the previous test may arrive only now.
  expect(runsOf('"public"."notes"')).toBeLessThanOrEqual(4);
  await run(
    "insert into notes (_row, name, room, n) select uuidv7(), 'many ' || i, 'elsewhere ' || i, 1 from generate_series(1, 3000) i",
  );
  await run("update notes set n = 2 where name = 'row 1'");
  await clients[0]?.until([{ name: "row 1", n: 2 }]);
});

test("a reader that resumes with its last event id gets only news", async () => {
  await add("a", "lobby");
  const before = await stream("/in_room?room=lobby");
  const result = await before.next();
  await before[Symbol.asyncDispose]();
  const headers = { "last-event-id": result?.id ?? "" };
  const again = await stream("/in_room?room=lobby", { headers });
  await add("b", "lobby", 2);
  expect(await again.next()).toMatchObject({ event: "change", data: { added: [{ at: 1, row: { name: "b", n: 2 } }] } });
  const missed = await stream("/in_room?room=lobby", { headers });
  expect(await missed.next()).toMatchObject({ event: "result", data: { rows: [{ name: "a" }, { name: "b" }] } });
});

test("a slow reader gets many commits as one event", async () => {
  const [slow, quick] = await Promise.all([stream("/in_room?room=lobby"), stream("/in_room?room=lobby")]);
  await slow.next();
  const watching = new Client(quick);
  await watching.take();
  for (let at = 0; at < 30; at++) {
    await add(`n${String(at).padStart(2, "0")}`, "lobby", at);
    await watching.until(Array.from({ length: at + 1 }, (_none, n) => ({ name: `n${String(n).padStart(2, "0")}`, n })));
  }
  const late = await slow.next();
  expect(nameOf(late)).toBe("result");
  expect(late?.data.rows).toHaveLength(30);
});

test("refuses too many streams, too large results and pages by name", async () => {
  const readers = await Promise.all(Array.from({ length: 60 }, () => stream("/every")));
  await expect(stream("/every")).rejects.toThrow(/503.*live_queries|503.*SERVICE_LIVE_QUERIES/);
  await readers[0]?.[Symbol.asyncDispose]();
  const client = new Client(await stream("/every"));
  await client.take();
  expect(nameOf(await readers[1]?.next())).toBe("result");
  await run(
    "insert into notes (_row, name, room) select uuidv7(), repeat('x', 900) || i, 'r' from generate_series(1, 200) i",
  );
  const problem = { event: "problem", data: { code: "overloaded", meta: { limit: "live_bytes" } } };
  expect(await readers[1]?.next()).toMatchObject(problem);
  expect(await readers[1]?.next()).toBeUndefined();
  // A reader without any event gets only the problem: the result ended with the query.
  expect(await readers[2]?.next()).toMatchObject(problem);
  expect(await readers[2]?.next()).toBeUndefined();
  await expect(stream("/every")).rejects.toThrow(/SERVICE_LIVE_BYTES/);
  expect(await app.get("/every?page_size=2", { headers: { accept: "text/event-stream" } })).toMatchObject({
    status: 422,
    json: { code: "invalid_request" },
  });
});

test("a query that starts to fail reports the problem and ends", async () => {
  await add("a", "lobby", 1);
  const reader = await stream("/divided");
  expect(nameOf(await reader.next())).toBe("result");
  await add("b", "lobby", 3);
  expect(await reader.next()).toMatchObject({ event: "problem", data: { code: "function_failed", status: 400 } });
  expect(await reader.next()).toBeUndefined();
  await expect(stream("/divided")).rejects.toThrow(/400/);
});

test("queries that rerun together get the same results as alone", async () => {
  const rooms = Array.from({ length: 12 }, (_none, at) => `r${at}`);
  const clients: Client[] = [];
  for (const path of ["in_room", "first", "counted", "titled", "named"]) {
    for (const room of rooms) clients.push(new Client(await stream(`/${path}?room=${room}`)));
  }
  for (const client of clients) await client.take();
  await run(
    "insert into rooms (_row, room, title) select uuidv7(), 'r' || i, 'Title ' || i from generate_series(0, 8) i",
  );
  await run(`insert into notes (_row, name, room, n)
    select uuidv7(), 'note ' || i, 'r' || i % 12, nullif((i * 7) % 5, 2) from generate_series(1, 60) i`);
  for (const [at, client] of clients.entries()) {
    const path = ["in_room", "first", "counted", "titled", "named"][Math.floor(at / rooms.length)];
    const { json } = await app.get(`/${path}?room=r${at % rooms.length}`);
    await client.until(path === "counted" ? [json] : (json.rows ?? json));
  }
});

test("a Json value of several lines arrives whole", async () => {
  await app.sql.query({
    text: "insert into notes (_row, name, room, doc) values (uuidv7(), 'a', 'lobby', $1)",
    values: ['{\n "a":\r\n 1}'],
  });
  const reader = await stream("/docs?room=lobby");
  expect((await reader.next())?.data.rows).toEqual([{ doc: { a: 1 } }]);
});

test("reports a locked table, which can be watched later", async () => {
  await using served = await app.serve(LIVE_APP);
  await app.sql.transaction(async (connection) => {
    await connection.query({ text: "insert into notes (_row, name, room) values (uuidv7(), 'held', 'lobby')" });
    await expect(served.stream("/every")).rejects.toThrow(/503.*transaction holds the table/);
  });
  const client = new Client(await served.stream("/every"));
  await client.take();
  expect(client.rows).toEqual([{ name: "held" }]);
}, 30_000);

test("a writer with only write permission is not refused, and sends events", async () => {
  const client = new Client(await stream("/in_room?room=lobby"));
  await client.take();
  await run("create role scribe; grant insert, update on notes to scribe");
  await app.sql.transaction(async (connection) => {
    await connection.query({ text: "set local role scribe" });
    await connection.query({ text: "insert into notes (_row, name, room, n) values (uuidv7(), 'a', 'lobby', 1)" });
  });
  await client.until([{ name: "a", n: 1 }]);
  await run("drop owned by scribe; drop role scribe");
});

test("a transaction that began before the watch sends events for later writes", async () => {
  await app.sql.transaction(async (connection) => {
    await connection.query({ text: "set transaction isolation level repeatable read" });
    await connection.query({ text: "select count(*) from notes" });
    const client = new Client(await stream("/in_room?room=lobby"));
    await client.take();
    await connection.query({ text: "insert into notes (_row, name, room, n) values (uuidv7(), 'a', 'lobby', 1)" });
    await connection.query({ text: "commit" });
    await client.until([{ name: "a", n: 1 }]);
    await connection.query({ text: "begin" });
  });
});

test("missed changes arrive after the listening connection was lost", async () => {
  const client = new Client(await stream("/in_room?room=lobby"));
  await client.take();
  await app.sql.transaction(async (connection) => {
    await connection.query({
      text: "select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%' and datname = current_database()",
    });
    await connection.query({ text: "insert into notes (_row, name, room, n) values (uuidv7(), 'a', 'lobby', 1)" });
  });
  await client.until([{ name: "a", n: 1 }]);
});

test("watches do not block writers while a table is renamed or changed", async () => {
  const client = new Client(await stream("/in_room?room=lobby"));
  await client.take();
  // In one transaction: between two commits a run would miss the column and end its stream.
  await app.sql.transaction(async (connection) => {
    await connection.query({ text: "alter table notes rename column room to place" });
    await connection.query({ text: "insert into notes (_row, name, place, n) values (uuidv7(), 'a', 'lobby', 1)" });
    await connection.query({ text: "alter table notes rename column place to room" });
  });
  await run("update notes set n = 2");
  await client.until([{ name: "a", n: 2 }]);
});

test("ignores foreign messages on the channel", async () => {
  const client = new Client(await stream("/in_room?room=lobby"));
  await client.take();
  for (const payload of [
    "x",
    ";1;1;{",
    ";1;1;null",
    ';1;1;{"table":"a"}',
    "id;1;2;part",
    ';1;1;{"table":1,"rows":[1]}',
  ]) {
    await app.sql.query({ text: "select pg_notify('appdb_live', $1)", values: [payload] });
  }
  await add("a", "lobby");
  await client.until([{ name: "a", n: 1 }]);
});

test("equal live queries share runs, and triggers are active only while watched", async () => {
  await using served = await app.serve(LIVE_APP);
  const enabled = async () => {
    const { rows } = await run("select count(*) from pg_trigger where tgname like 'appdb_live%' and tgenabled <> 'D'");
    return Number(rows[0]?.[0]);
  };
  await app.endpoints[Symbol.asyncDispose]();
  expect(await enabled()).toBe(0);
  // The watch of a service that died.
  await run(
    "insert into appdb.live_watches (table_id, owner, until) select id, gen_random_uuid(), now() - interval '1 second' from appdb.tables where name = 'notes'",
  );
  const readers = await Promise.all(Array.from({ length: 20 }, () => served.stream("/in_room?room=lobby")));
  for (const reader of readers) await reader.next();
  expect(await enabled()).toBe(4);
  app.statements();
  await run("insert into notes (_row, name, room, n) values (uuidv7(), 'a', 'lobby', 2)");
  for (const reader of readers) expect((await reader.next())?.data.rows).toEqual([{ name: "a", n: 2 }]);
  expect(app.statements().filter(({ text }) => text.includes('from "public"."notes"'))).toHaveLength(1);
  await served.endpoints[Symbol.asyncDispose]();
  for (const reader of readers) expect(await reader.next()).toBeUndefined();
  expect(await enabled()).toBe(0);
  expect((await run("select count(*) from appdb.live_watches")).rows).toEqual([["0"]]);
});
