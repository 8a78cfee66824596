import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { SESSION_PREFIX } from "@appdb/engine/catalog/reader-connections";
import type { Logger, SqlPool } from "@appdb/engine/ports";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { withLogin } from "@appdb/postgres/client/socket-dsn";
import { digitsOf } from "@appdb/postgres/cluster/reader-role";
import type { BlockLimits } from "../data-reads/psql-block-guard.ts";
import { PsqlSessions } from "../data-reads/psql-sessions.ts";
import { SqlReads } from "../data-reads/sql-reads.ts";

export const APP = `
from typing import Iterator, TypedDict

import appdb as db
from appdb.serving import Router

Base = db.model_base()


class Word(TypedDict):
    word: str


@db.iterator
def words(text: str) -> Iterator[Word]:
    for word in text.split():
        yield {"word": word}


@db.udf
def shout(text: str) -> str:
    return text.upper()


class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    price: db.Float | None
    made: db.Timestamp | None
    day: db.Date | None
    pair: db.Array[(2,), "float64"] | None
    loud = shout(title)
    length = title.len()


class Words(Base, name="words", base=Doc, iterator=words(Doc.title)):
    twice = word + word


r = Router(name="q")
r.add_insert_route(Doc, path="/docs")
`;

const ROWS = [
  { id: 1, title: "one apple", price: 3 },
  { id: 2, title: "two", price: 7.5 },
  { id: 3, title: "three", price: 50 },
];

/** Tests wait less. A change waits for longer than this in sum. */
const BLOCK_LIMITS: BlockLimits = { blocking_ms: 600, running_ms: 7_000 };

interface BenchInput<App> {
  /** Of `APP`, with `ROWS` in docs. */
  readonly app: App;
  readonly log: Logger;
}

type Bench<App extends TestedApp> = Awaited<ReturnType<typeof openPsqlBench<App>>>;

interface TestedApp extends AsyncDisposable {
  readonly dsn: string;
  readonly sql: SqlPool;
  post(path: string, body: unknown): Promise<unknown>;
}

/** What a test file has: the hooks of its runner, and the function that opens an application. */
interface TestFile<App> {
  beforeAll(work: () => Promise<void>): void;
  afterAll(work: () => Promise<void>): void;
  readonly open: (source: string) => Promise<App>;
  readonly log: Logger;
}

/** Sessions of psql for all tests of a file, in the database of one application. */
export function usePsqlBench<App extends TestedApp>({ afterAll, beforeAll, log, open }: TestFile<App>) {
  let app: App;
  let bench: Bench<App>;
  beforeAll(async () => {
    app = await open(APP);
    await app.post("/docs", ROWS);
    bench = await openPsqlBench({ app, log });
  });
  afterAll(async () => {
    await bench?.[Symbol.asyncDispose]();
    await app?.[Symbol.asyncDispose]();
  });
  return {
    app: () => app,
    bench: () => bench,
    sessions: () => bench.sessions,
    one: ((text) => bench.one(text)) as Bench<App>["one"],
    openSession: ((...as) => bench.openSession(...as)) as Bench<App>["openSession"],
    roles: () => bench.roles(),
  };
}

/** Sessions of psql in the database of an application. */
async function openPsqlBench<App extends { readonly dsn: string; readonly sql: SqlPool }>({
  app,
  log,
}: BenchInput<App>) {
  await app.sql.query({ text: "create table unlisted (a int)" });
  const database = new URL(app.dsn).pathname.slice(1);
  const common = { database, dsn: app.dsn, sql: app.sql, superuser_dsn: app.dsn, application_name: "test", log };
  const reads = new SqlReads({
    ...common,
    max_row_bytes: DEFAULT_LIMITS.result_bytes,
    limits: DEFAULT_LIMITS,
  });
  let isFull = false;
  const sessions = new PsqlSessions({
    ...common,
    sql_reads: reads,
    block_limits: BLOCK_LIMITS,
    admitWrites: async () => {
      if (isFull) throw new Error("full");
    },
  });
  const one = async (text: string) => (await app.sql.query({ text })).rows[0]?.[0];
  return {
    app,
    reads,
    sessions,
    database,
    fillDisk: (full: boolean) => {
      isFull = full;
    },
    one,
    /** Number of its sessions: others of the same server are in other databases. */
    roles: () =>
      one(`select count(*) from pg_roles where starts_with(rolname, '${SESSION_PREFIX}${digitsOf(database)}_')`),
    /** Opens a session, and runs statements in it as psql would: each on its own, with the settings that an attacker chooses. */
    async openSession(writes = false, folder = "", caller = "person 1") {
      const session = await sessions.open({ caller, folder, writes });
      const dsn = withLogin(app.dsn, { user: session.user, password: session.password });
      const pool = createPgPool({ dsn, max: 1, application_name: "test", log });
      return {
        session,
        run: async (text: string, before = "select 1") =>
          await pool.withConnection(async (connection) => {
            await connection.query({ text: before });
            return (await connection.query({ text })).rows;
          }),
        async [Symbol.asyncDispose]() {
          await pool[Symbol.asyncDispose]();
          await sessions.close(session);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await sessions[Symbol.asyncDispose]();
      await reads[Symbol.asyncDispose]();
    },
  };
}
