import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { startTestPostgres } from "@appdb/testkit/test-postgres";
import { expect, test } from "vitest";
import { LostBackends } from "../client/lost-backends.ts";
import { createPgPool } from "../client/pg-pool.ts";
import { withLogin } from "../client/socket-dsn.ts";
import { readerName } from "./reader-role.ts";
import { createSessionRole, dropSessionRole, ensureSessionGroup } from "./session-role.ts";

/** Works for hours in one function, which looks for neither a cancel nor the end of its connection. */
const DEAF = "select length(translate(repeat('a', 1000000), repeat('b', 1000000), ''))";
const DEAF_COUNT =
  "select count(*) from pg_stat_activity where state = 'active' and query like 'select length(translate(repeat%'";

test("statements that outlive their sessions are counted, and a third has them killed", async () => {
  await using postgres = await startTestPostgres();
  await using pool = createPgPool({ dsn: postgres.dsn, max: 1, application_name: "test" });
  const one = async (text: string) => (await pool.query({ text })).rows[0]?.[0];
  await pool.query({ text: `create role ${readerName("postgres")} nologin` });
  await ensureSessionGroup(postgres.dsn);
  const log = createSilentLog();
  const lost = new LostBackends(log);
  const open = async () => {
    const role = await createSessionRole(postgres.dsn, {
      database: "postgres",
      password: "a long password",
      ends_at: new Date(Date.now() + 600_000),
      connections: 2,
      schemas: ["public"],
      writes: false,
    });
    const dsn = withLogin(postgres.dsn, { user: role.name, password: role.password });
    const session = createPgPool({ dsn, max: 1, grace_ms: 100, application_name: "session" });
    return { name: role.name, session };
  };
  for (const after of ["1", "2", "0"]) {
    const { name, session } = await open();
    const left = new AbortController();
    const running = session.query({ text: DEAF, signal: left.signal }).catch((error: unknown) => error);
    await eventually(async () =>
      expect(await one(`${DEAF_COUNT} and usename = '${name}' and query_start < now() - interval '0.5 s'`)).toBe("1"),
    );
    left.abort();
    await running;
    await dropSessionRole(postgres.dsn, name, lost);
    await eventually(async () => expect(await one(DEAF_COUNT)).toBe(after));
    expect(await one(`select count(*) from pg_roles where rolname = '${name}'`)).toBe("0");
    await session[Symbol.asyncDispose]();
  }
  expect(log.lines.map(({ message }) => message).at(-1)).toContain("killed");
}, 120_000);
