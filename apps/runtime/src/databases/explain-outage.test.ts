import { type AppError, appError } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import { describeFailure, explainOutage } from "./explain-outage.ts";

const refused = appError("database_unavailable", {
  detail: "PostgreSQL does not answer.",
  meta: { sqlstate: "57P03" },
});
const failed = appError("postgres_failed", {
  detail: "PostgreSQL could not be started: code 1.",
  hint: "See the log.",
});
const withFailure = (failure: AppError | undefined) => ({ failure: () => failure });

test("an error of a PostgreSQL that cannot be started has the reason and what to do", () => {
  expect(explainOutage(refused, withFailure(failed))).toMatchObject({
    code: "database_unavailable",
    message: "PostgreSQL could not be started: code 1.",
    hint: expect.stringContaining("Correct the cause; PostgreSQL then starts automatically."),
    meta: { sqlstate: "57P03" },
  });
  expect(describeFailure(withFailure(failed))?.detail).toBe("PostgreSQL could not be started: code 1.");
});

test("an error without a known reason has the command that shows it", () => {
  expect(explainOutage(refused, withFailure(undefined))).toMatchObject({
    message: "PostgreSQL does not answer.",
    hint: expect.stringContaining("cli health"),
  });
  expect(explainOutage(refused, {})).toMatchObject({ hint: expect.stringContaining("cli health") });
  expect(describeFailure({})).toBeUndefined();
});

test("other errors stay as they are, and the disk explains itself", () => {
  const own = appError("database_unavailable", { detail: "It is starting.", hint: "Try again in a moment." });
  expect(explainOutage(own, withFailure(undefined))).toBe(own);
  const timeout = appError("query_timeout", { detail: "It took too long." });
  expect(explainOutage(timeout, withFailure(failed))).toBe(timeout);
  const full = appError("disk_full", { detail: "The disk is full.", hint: "Free space on that disk." });
  expect(explainOutage(own, withFailure(full))).toBe(own);
  expect(describeFailure(withFailure(full))).toEqual({ detail: "The disk is full.", hint: "Free space on that disk." });
});
