import { appError } from "@appdb/contract/errors";
import type { SqlPool } from "@appdb/engine/ports";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, expect, test, vi } from "vitest";
import { awaitCatalog } from "./await-catalog.ts";

afterEach(() => vi.restoreAllMocks());

test("a database that does not answer for long is logged once, with the next step", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  let tries = 0;
  const query: SqlPool["query"] = async () => {
    tries += 1;
    now += 1_000;
    const hint = "The machine or the database has too much to do. Try again in a moment.";
    throw appError("database_unavailable", { detail: "PostgreSQL did not answer in time.", hint });
  };
  const log = createSilentLog();
  const waiting = awaitCatalog({ query } as unknown as SqlPool, [], new Promise(() => undefined), log);
  await expect(waiting).rejects.toMatchObject({ code: "database_unavailable" });
  expect(tries).toBeGreaterThan(50);
  expect(log.lines).toMatchObject([
    {
      level: "warn",
      message: "the database does not answer yet, the pod tries again",
      fields: { after_ms: 4_000, until_ms: 60_000, err: { hint: expect.stringContaining("too much to do") } },
    },
  ]);
});
