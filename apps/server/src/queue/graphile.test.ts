import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { graphileLogger } from "./graphile.ts";

test("workers that wait for PostgreSQL tell of it for people who debug alone; any other error is one", () => {
  const log = createSilentLog();
  const logger = graphileLogger(log);
  const lost = new Error("Client has encountered a connection error and is not queryable");
  logger.error("Error occurred attempting to UNLISTEN", { error: lost });
  const broken = new TypeError("x is undefined");
  logger.error("Task failed", { error: broken });
  expect(log.lines).toMatchObject([
    { level: "debug", message: "the reconciler waits for PostgreSQL" },
    { level: "error", message: "the reconciler met an error", fields: { err: broken, said: "Task failed" } },
  ]);
});
