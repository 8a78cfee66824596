import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Expr } from "@appdb/contract/expressions";
import type { Query } from "@appdb/contract/query";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { READS, SERVICE_CONNECTIONS } from "@appdb/engine/catalog/reader-connections";
import type { ReadLimits } from "@appdb/engine/catalog/waiting-change";
import { NDJSON_ROWS } from "@appdb/engine/data-queries/ndjson-rows";
import { runMessages } from "@appdb/engine/data-queries/testing/read-result";
import { explainQueryRefusal } from "@appdb/engine/query-plans/query-refusals";
import { changeWhenFree } from "@appdb/engine/schema/apply-schema";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { tcpDsn } from "@appdb/postgres/client/socket-dsn";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";
import { usePsqlBench } from "../testing/psql-bench.ts";
import type { PsqlSession } from "./psql-sessions.ts";

const log = createSilentLog();
const { app, bench, one, openSession, sessions } = usePsqlBench({
  afterAll,
  beforeAll,
  log,
  open: openTestApplication,
});

const COUNT: Expr = {
  node: "aggregate",
  fn: "count",
  is_udf: false,
  args: [],
  kwargs: {},
  type: { kind: "int" },
  nullable: false,
};
/** Reads docs, and works for hours in little memory. */
const LONG_READ = "select count(*) from (select generate_series(1, 1000000000000) from docs) n";
/** The same for the data API. */
const LONG_QUERY: Query = {
  from: { table: "docs", as: "d0" },
  joins: Array.from({ length: 24 }, (_, at) => ({ kind: "cross", table: "docs", as: `d${at + 1}`, on: null })),
  where: null,
  group_by: [],
  select: [{ name: "rows", expr: COUNT }],
  distinct: false,
  order_by: [],
  limit: null,
  offset: null,
  tail: null,
  sample: null,
};
const RUNNING =
  "select count(*) from pg_stat_activity where state = 'active' and query ~ '1000000000000|d24' and datname = current_database() and pid <> pg_backend_pid()";
const WAITS = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
const HOURS: ReadLimits = { read_ms: 3_600_000, begun_ms: 500 };

test("waits for the reads that began before a change, and ends the others, however they overlap", async () => {
  await using session = await openSession();
  await using service = connections(`${SERVICE_CONNECTIONS} q`);
  await using dataApi = connections(`test${READS}`);
  const before = new AbortController();
  const first = query(before.signal);
  await isShown(RUNNING, "1");
  const change = lockDocs(HOURS);
  await isShown(WAITS, "1");
  const readers: (() => Promise<unknown>)[] = [
    () => query(),
    () => session.run(LONG_READ, "set statement_timeout = 0"),
    () => asService(() => service.query({ text: LONG_READ })),
    () => runMessages({ sql: dataApi, udf: noWorkers }, LONG_QUERY),
  ];
  const ends = readers.map(() => new Set<unknown>());
  let isDone = false;
  const reading = readers.map(async (read, at) => {
    while (!isDone) ends[at]?.add(await codeOf(read()));
  });
  await isShown(RUNNING, "5");
  // the change has waited for it, and did not end it
  before.abort();
  expect(await codeOf(first)).toBe("interrupted");
  // each reader begins again and again
  await change;
  isDone = true;
  await Promise.all([endReads(reading), ...reading]);
  const [queries, psql, ...others] = ends.map((codes) => [...codes]);
  expect([queries, ...others]).toEqual([["schema_changed"], ["schema_changed"], ["schema_changed"]]);
  // the second one is that of the guard, on a slow machine
  expect(["57014", "57P01"]).toEqual(expect.arrayContaining(psql ?? []));
});

test("a read that began before a change ends at its limit, and its reader learns why", async () => {
  const read = query();
  read.catch(() => undefined);
  await isShown(RUNNING, "1");
  await lockDocs({ read_ms: 3_000, begun_ms: 500 });
  await expect(read).rejects.toMatchObject({
    code: "schema_changed",
    message: expect.stringContaining("A change of a table waited for this read"),
    hint: "Read again when the change is done.",
  });
});

test("a client of psql learns why a change ended its statement, and can send others", async () => {
  await using open = await openSession();
  await using tunnel = await openTunnel(open.session);
  const read = tunnel.query({ text: LONG_READ });
  read.catch(() => undefined);
  await isShown(RUNNING, "1");
  await lockDocs({ read_ms: 0, begun_ms: 0 });
  await expect(read).rejects.toMatchObject({
    sqlstate: "57014",
    message: expect.stringContaining("A change of a table waited for this statement"),
    hint: "Send the statement again when the change is done.",
  });
  expect((await tunnel.query({ text: "select count(*) from docs" })).rows).toEqual([["3"]]);
});

test("a change ends no transaction that writes", async () => {
  await using service = connections(`${SERVICE_CONNECTIONS} q`);
  await service.transaction(async (connection) => {
    await connection.query({ text: "update docs set price = 1 where id = 1" });
    let now = 0;
    const clock = { now: () => (now += 6_000) };
    const limits = { read_ms: 0, begun_ms: 0 };
    await expect(lockDocs(limits, clock)).rejects.toMatchObject({ code: "schema_lock_timeout" });
    await connection.query({ text: "update docs set price = 2 where id = 1" });
  });
  expect(await one("select price from docs where id = 1")).toBe("2");
});

/** A statement of `cli query`. */
function query(signal = new AbortController().signal): Promise<void> {
  const request = { sql: LONG_READ, folder: "", explain: false, timeout_ms: undefined, limit: undefined };
  return bench().reads.run(request, { format: NDJSON_ROWS, send: async () => undefined, signal });
}

function connections(name: string) {
  return createPgPool({ dsn: app().dsn, max: 2, application_name: name, log });
}

function noWorkers(): never {
  throw new Error("The query calls no function.");
}

/** A pool whose connections go the way of those of `cli psql`. */
async function openTunnel({ id, password, user }: PsqlSession) {
  const server = createServer(async (client) => {
    const { answers, guard, socket } = await sessions().connect(id);
    await Promise.allSettled([pipeline(client, guard, socket), pipeline(socket, answers, client)]);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const dsn = tcpDsn({ host: "127.0.0.1", port, database: sessions().database, user, password });
  const pool = createPgPool({ dsn, max: 1, application_name: "test", log });
  return {
    query: pool.query.bind(pool),
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      server.close();
    },
  };
}

async function asService(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    throw explainQueryRefusal("q", DEFAULT_LIMITS, error);
  }
}

async function codeOf(read: Promise<unknown>): Promise<unknown> {
  try {
    return await read;
  } catch (error) {
    const { code, sqlstate } = error as { readonly code?: string; readonly sqlstate?: string };
    return code ?? sqlstate;
  }
}

/** Cancels reads until none of these is left. */
async function endReads(reading: readonly Promise<unknown>[]): Promise<void> {
  let areOver = false;
  const over = Promise.all(reading).then(() => {
    areOver = true;
  });
  while (!areOver) {
    await one(RUNNING.replace("count(*)", "count(pg_cancel_backend(pid))"));
    await Promise.race([over, sleep(50)]);
  }
}

/** Locks docs as a change of its columns does. */
async function lockDocs(limits: ReadLimits, clock = { now: Date.now }): Promise<void> {
  const deps = { sql: app().sql, clock, log, read_limits: limits };
  const text = "lock table docs in access exclusive mode";
  await changeWhenFree(deps, { target: "main" }, (connection) => connection.query({ text }));
}

async function isShown(text: string, count: string): Promise<void> {
  await eventually(async () => expect(await one(text)).toBe(count));
}
