import { appError } from "@appdb/contract/errors";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { answerError } from "./answers.ts";

test("a client that goes away is no error of anybody", () => {
  const log = createSilentLog();
  const gone = AbortSignal.abort();
  expect(answerError(gone.reason, "r-1", log, gone)).toMatchObject({ status: 499, body: "" });
  expect(log.lines).toEqual([expect.objectContaining({ level: "info", message: "client went away" })]);
});

test("what fails while a client goes away is still told", () => {
  const log = createSilentLog();
  const answer = answerError(new TypeError("a fault of ours"), "r-2", log, AbortSignal.abort());
  expect(answer.status).toBe(500);
  expect(answer.body).not.toContain("a fault of ours");
  expect(log.lines).toEqual([expect.objectContaining({ level: "error" })]);
});

test("what a caller did wrong is a line of information", () => {
  const log = createSilentLog();
  expect(answerError(appError("not_found", { detail: "There is no such row." }), "r-3", log).status).toBe(404);
  expect(log.lines).toEqual([expect.objectContaining({ level: "info", message: "request refused" })]);
});
