import { EventEmitter } from "node:events";
import { createSilentLog } from "@appdb/testkit/silent-log";
import type pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { errorFields, fromDatabaseError, isDatabaseLost, logConnectionErrors } from "./pool.ts";

test("logs connections that are lost together in one line, with each reason once", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const pool = new EventEmitter();
  const log = createSilentLog();
  logConnectionErrors(pool as pg.Pool, log);
  const clients = Array.from({ length: 5 }, () => new EventEmitter());
  for (const client of clients) pool.emit("connect", client);
  for (const client of clients) client.emit("error", new Error("Connection terminated unexpectedly"));
  pool.emit("error", new Error("write EPIPE"));
  vi.advanceTimersByTime(1_000);
  const line = {
    level: "warn",
    message: "connections to PostgreSQL were lost; new ones will be opened",
    fields: { reason: "Connection terminated unexpectedly; write EPIPE" },
  };
  expect(log.lines).toEqual([line]);
  clients[0]?.emit("error", new Error("write EPIPE"));
  vi.advanceTimersByTime(1_000);
  expect(log.lines).toEqual([line, { ...line, fields: { reason: "write EPIPE" } }]);
});

test("the error of a lost PostgreSQL depends on what the request does, and a full disk has its own", () => {
  const away = Object.assign(new Error("connect ENOENT /run/.s.PGSQL.5432"), { code: "ENOENT" });
  expect(fromDatabaseError(away)).toMatchObject({ hint: expect.stringContaining("Idempotency-Key") });
  expect(fromDatabaseError(away, true)).toMatchObject({
    code: "database_unavailable",
    message: "The control plane's PostgreSQL does not answer. Nothing was changed.",
    hint: "Try again in a moment. If it persists, ask the operator of the server: its /health has the cause.",
  });
  const full = Object.assign(new Error("could not extend file"), { code: "53100" });
  expect(fromDatabaseError(full)).toMatchObject({
    code: "disk_full",
    message: "The disk of the server is full: the control plane's PostgreSQL cannot write.",
    hint: expect.stringContaining("Ask the operator of the server to free space on its disk"),
  });
  expect(isDatabaseLost(full)).toBe(true);
});

test("logs only the reason while PostgreSQL is away, and other errors in full", () => {
  const away = Object.assign(new Error("the database system is starting up"), { code: "57P03" });
  expect(errorFields(away)).toEqual({ reason: "the database system is starting up" });
  const other = new TypeError("x is undefined");
  expect(errorFields(other)).toEqual({ err: other });
});
