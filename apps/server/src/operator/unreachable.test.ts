import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { tryLock } from "@appdb/system/processes/numbered-lock";
import { expect, onTestFinished, test } from "vitest";
import { SERVER_PATHS } from "../config/config.ts";
import { roleLock } from "../config/server-home.ts";
import { unreachable } from "./unreachable.ts";

const ROLES = ["control-plane"] as const;
const absentFrom = () => Object.assign(new Error("connect ENOENT /run/.s.PGSQL.5432"), { code: "ENOENT" });

test("a server that runs without its PostgreSQL is not called stopped", () => {
  const home = mkdtempSync(join(tmpdir(), "appdb-unreachable-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const config = { home, roles: ROLES, database: { url: undefined, pg_bin: undefined } };
  const locks = join(home, SERVER_PATHS.locks);
  mkdirSync(locks, { recursive: true });
  const lock = tryLock(locks, roleLock("control-plane"));
  if (lock.outcome === "acquired") onTestFinished(() => lock.release());
  const log = join(home, SERVER_PATHS.postgresLog);
  const hint = `Read ${log} and remove the cause. The server then starts its PostgreSQL again.`;
  const what = `The server of the home ${home} runs (process ${process.pid}), but its PostgreSQL does not.`;
  expect(unreachable(config, absentFrom())).toMatchObject({ code: "server_unreachable", message: what, hint });
  mkdirSync(dirname(log), { recursive: true });
  const lines = [
    'FATAL:  could not write lock file "postmaster.pid": No space left on device',
    "FATAL:  terminating connection due to unexpected postmaster exit",
    "LOG:  database system is shut down",
  ];
  writeFileSync(log, lines.map((line) => `2026-11-27 03:00:00.000 UTC [12] ${line}\n`).join(""));
  expect(unreachable(config, absentFrom()).message).toBe(
    `${what} It said last: could not write lock file "postmaster.pid": No space left on device.`,
  );
  appendFileSync(log, "postgres: could not find the database system\nExpected to find it in a folder\n");
  expect(unreachable(config, absentFrom()).message).toBe(`${what} It said last: could not find the database system.`);
});

test("distinguishes a hanging PostgreSQL from a stopped server", () => {
  const config = { home: "/home", roles: ROLES, database: { url: undefined, pg_bin: undefined } };
  for (const cause of [undefined, absentFrom()]) {
    expect(unreachable(config, cause)).toMatchObject({
      message: "No server of the home /home is running, so neither is its PostgreSQL.",
      hint: "Start the server first: npm start",
    });
  }
  expect(unreachable(config, new Error("timeout exceeded when trying to connect"))).toMatchObject({
    code: "server_unreachable",
    message: "The PostgreSQL of the home /home does not answer: timeout exceeded when trying to connect.",
    hint: "Try again; then read /home/server/logs/postgres.log and restart the server.",
  });
});
