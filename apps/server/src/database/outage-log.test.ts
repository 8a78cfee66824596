import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { createOutageLog } from "./outage-log.ts";

const away = Object.assign(new Error("connect ENOENT"), { code: "ENOENT", syscall: "connect" });

test("logs an outage of PostgreSQL once, until the part works again, and other failures always", () => {
  const log = createSilentLog();
  const outage = createOutageLog(log);
  const warned = () => log.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
  outage.failed(away, "could not look");
  outage.failed(away, "could not look");
  expect(log.lines[0]).toMatchObject({ level: "warn", fields: { reason: "connect ENOENT" } });
  expect(warned()).toEqual(["could not look"]);
  outage.worked();
  outage.failed(away, "could not look again");
  expect(warned()).toEqual(["could not look", "could not look again"]);
  const other = new TypeError("x is undefined");
  outage.failed(other, "broken", { db: "d" });
  outage.failed(other, "broken", { db: "d" });
  expect(warned()).toEqual(["could not look", "could not look again", "broken", "broken"]);
  expect(log.lines.at(-1)?.fields).toEqual({ err: other, db: "d" });
});
