import { type AddressInfo, connect, createServer } from "node:net";
import { TLSSocket } from "node:tls";
import { ResultTooLarge, type SqlPool, type Statement } from "@appdb/engine/ports";
import { eventually } from "@appdb/testkit/eventually";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPgPool } from "./pg-pool.ts";

let database: TestDatabase;
let pool: SqlPool;
/** A pool with one connection: reads that arrive while it is busy are sent together. */
let single: SqlPool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPgPool({ dsn: database.dsn, max: 3, application_name: "shared-trips test" });
  single = createPgPool({ dsn: database.dsn, max: 1, application_name: "victim" });
});

afterAll(async () => {
  await single[Symbol.asyncDispose]();
  await pool[Symbol.asyncDispose]();
  await database.drop();
});

/** Runs a statement with a row reader and returns the texts of the first fields. */
async function read(sql: SqlPool, statement: Statement): Promise<(string | null)[]> {
  let rows: (string | null)[] = [];
  const { row_count: rowCount } = await sql.query({
    ...statement,
    take_row: (bytes, start) => {
      const length = bytes.readInt32BE(start + 2);
      rows.push(length < 0 ? null : bytes.toString("utf8", start + 6, start + 6 + length));
    },
    restart: () => {
      rows = [];
    },
  });
  expect(rowCount).toBe(rows.length);
  return rows;
}

/** Prepares the statement on every connection and records it as fast. */
async function warm(sql: SqlPool, statement: Statement): Promise<void> {
  for (let times = 0; times < 40; times++) await read(sql, statement);
}

const SERIES = "select g::text || $2 from generate_series(1, $1::int) g";

function sleeping(seconds: number): Statement {
  return { name: "sleep", text: "select $1::float8::text, pg_sleep($1::float8)", values: [seconds] };
}

test("reads that wait together each get their own rows in order", async () => {
  const of = (rows: number, tail: string | null): Statement => ({ name: "series", text: SERIES, values: [rows, tail] });
  await warm(single, of(1, ""));
  for (const sql of [single, pool]) {
    const reads = Array.from({ length: 60 }, (_none, at) => read(sql, of(at * 7, `é${at}`)));
    expect(await Promise.all([...reads, read(sql, of(2, null))])).toEqual([
      ...reads.map((_none, at) => Array.from({ length: at * 7 }, (_row, row) => `${row + 1}é${at}`)),
      [null, null],
    ]);
  }
});

test("a refused read does not affect the others", async () => {
  const of = (by: number): Statement => ({ name: "divide", text: "select 12 / $1::int", values: [by] });
  await warm(single, of(1));
  const outcomes = await Promise.allSettled([1, 0, 2, 0, 3].map((by) => read(single, of(by))));
  expect(outcomes).toMatchObject([
    { value: ["12"] },
    { reason: { name: "SqlError", sqlstate: "22012" } },
    { value: ["6"] },
    { reason: { name: "SqlError", sqlstate: "22012" } },
    { value: ["4"] },
  ]);
  expect(await read(single, of(4))).toEqual(["3"]);
});

test("a row reader that throws fails only its own read", async () => {
  const of = (rows: number): Statement => ({ name: "thrown", text: SERIES, values: [rows, ""] });
  await warm(single, of(1));
  const throwing = (rows: number) =>
    single.query({
      ...of(rows),
      take_row: () => {
        throw new TypeError("no such row");
      },
      restart: () => undefined,
    });
  const outcomes = await Promise.allSettled([
    read(single, of(1)),
    throwing(1),
    read(single, of(2)),
    throwing(1_000_000),
    read(single, of(3)),
  ]);
  const reason = new TypeError("no such row");
  expect(outcomes).toEqual([
    { status: "fulfilled", value: ["1"] },
    { status: "rejected", reason },
    { status: "fulfilled", value: ["1", "2"] },
    { status: "rejected", reason },
    { status: "fulfilled", value: ["1", "2", "3"] },
  ]);
  expect(await read(single, of(4))).toEqual(["1", "2", "3", "4"]);
});

test("refuses only a result that is too large", async () => {
  const of = (rows: number): Statement => ({ name: "series", text: SERIES, values: [rows, ""], max_bytes: 100_000 });
  await warm(single, of(1));
  const sizes = [5, 3_000_000, 5000, 3_000_000, 7, 9000];
  const outcomes = await Promise.allSettled(sizes.map((rows) => read(single, of(rows))));
  const numbers = (to: number) => Array.from({ length: to }, (_none, at) => String(at + 1));
  expect(outcomes).toEqual([
    { status: "fulfilled", value: numbers(5) },
    { status: "rejected", reason: expect.any(ResultTooLarge) },
    { status: "fulfilled", value: numbers(5000) },
    { status: "rejected", reason: expect.any(ResultTooLarge) },
    { status: "fulfilled", value: numbers(7) },
    { status: "fulfilled", value: [...numbers(9000)] },
  ]);
});

test("cancelling a caller affects only its own running or waiting read", async () => {
  await warm(single, sleeping(0));
  const away = [new AbortController(), new AbortController(), new AbortController()];
  const [before, running, waiting] = away.map(({ signal }) => signal);
  away[0]?.abort();
  const outcomes = Promise.allSettled([
    read(single, { ...sleeping(0), signal: before }),
    read(single, sleeping(0)),
    read(single, { ...sleeping(60), signal: running }),
    read(single, sleeping(0)),
    read(single, { ...sleeping(60), signal: waiting }),
    read(single, sleeping(0)),
  ]);
  await eventually(async () => {
    const seen = await pool.query({
      text: "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and datname = $1",
      values: [database.name],
    });
    expect(seen.rows).toEqual([["1"]]);
  });
  away[2]?.abort();
  away[1]?.abort();
  const left = { reason: { name: "SqlError", sqlstate: "57014" } };
  expect(await outcomes).toMatchObject([left, { value: ["0"] }, left, { value: ["0"] }, left, { value: ["0"] }]);
});

test("a broken connection ends sent reads and the next use another", async () => {
  await warm(single, sleeping(0));
  const outcomes = Promise.allSettled([read(single, sleeping(60)), read(single, sleeping(60))]);
  for (let ended = 0; ended < 2; ) {
    const { rows } = await pool.query({
      text: `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'victim' and wait_event = 'PgSleep' and datname = $1`,
      values: [database.name],
    });
    ended += rows.length;
    const done = await Promise.race([outcomes.then(() => true), new Promise((resolve) => setTimeout(resolve, 20))]);
    if (done === true) break;
  }
  const broke = { reason: { code: "commit_unknown" } };
  expect(await outcomes).toMatchObject([broke, broke]);
  expect(await read(single, sleeping(0))).toEqual(["0"]);
});

test("reads over TLS get each their own rows, in order", async () => {
  await using proxy = await openTlsProxy(database.dsn);
  const { port } = proxy;
  const ssl = { ...TLS, pskCallback: () => ({ psk: KEY, identity: "test" }), checkServerIdentity: () => undefined };
  const dsn = { ...LOOPBACK, port, database: database.name, ssl };
  await using sql = createPgPool({ dsn, max: 2, application_name: "tls" });
  const of = (rows: number, tail: string): Statement => ({ name: "series", text: SERIES, values: [rows, tail] });
  await warm(sql, of(1, ""));
  const reads = Array.from({ length: 40 }, (_none, at) => read(sql, of(at * 50, `é${at}`)));
  expect(await Promise.all(reads)).toEqual(
    reads.map((_none, at) => Array.from({ length: at * 50 }, (_row, row) => `${row + 1}é${at}`)),
  );
  expect(proxy.encrypted).toBeGreaterThan(0);
});

const LOOPBACK = {
  host: "127.0.0.1",
  user: "postgres",
  password: undefined,
  application_name: undefined,
  binds_channel: false,
  is_public: false,
};
const KEY = Buffer.alloc(32, 7);
/** A key that both sides know stands in for certificates. */
const TLS = { ciphers: "PSK+HIGH:@SECLEVEL=0", maxVersion: "TLSv1.2" } as const;

/** Takes encrypted connections to a server that listens on a unix socket: the PostgreSQL of the tests is built without TLS. */
async function openTlsProxy(dsn: string) {
  const folder = new URL(dsn.replace("///", "//localhost/")).searchParams.get("host");
  const counts = { encrypted: 0 };
  const server = createServer((plain) => {
    // the request for TLS is one message of eight bytes
    plain.once("data", () => {
      const options = { ...TLS, isServer: true, pskCallback: () => KEY };
      const encrypted = new TLSSocket(plain, options);
      plain.write("S");
      counts.encrypted += 1;
      const onwards = connect(`${folder}/.s.PGSQL.5432`);
      for (const socket of [encrypted, onwards]) socket.on("error", () => plain.destroy());
      encrypted.pipe(onwards).pipe(encrypted);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get encrypted() {
      return counts.encrypted;
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}
