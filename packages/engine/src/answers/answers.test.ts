import { appError } from "@appdb/contract/errors";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { SqlError } from "../ports.ts";
import { answerError, logOfPeople } from "./answers.ts";

test("a client that disconnects is not an error", () => {
  const log = createSilentLog();
  const gone = AbortSignal.abort();
  expect(answerError(gone.reason, "r-1", log, gone)).toMatchObject({ status: 499, body: "" });
  expect(log.lines).toEqual([expect.objectContaining({ level: "info", message: "client went away" })]);
});

test("the end of a body that a client cut is not an error, another reset is", () => {
  const log = createSilentLog();
  const cut = Object.assign(new Error("aborted"), { code: "ECONNRESET" });
  expect(answerError(cut, "r-1", log).status).toBe(499);
  expect(answerError(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }), "r-2", log).status).toBe(500);
});

test("a failure while a client disconnects is still logged", () => {
  const log = createSilentLog();
  const answer = answerError(new TypeError("a fault of ours"), "r-2", log, AbortSignal.abort());
  expect(answer.status).toBe(500);
  expect(answer.body).not.toContain("a fault of ours");
  expect(log.lines).toEqual([expect.objectContaining({ level: "error" })]);
});

test("a client error is logged as info", () => {
  const log = createSilentLog();
  expect(answerError(appError("not_found", { detail: "There is no such row." }), "r-3", log).status).toBe(404);
  expect(log.lines).toEqual([expect.objectContaining({ level: "info", message: "request refused" })]);
});

test("temporary refusals get a Retry-After header; an unknown outcome does not", () => {
  const log = createSilentLog();
  const away = answerError(appError("database_unavailable", { detail: "It is starting." }), "r-4", log);
  expect([away.status, away.headers["retry-after"]]).toEqual([503, "1"]);
  const unknown = answerError(appError("commit_unknown", { detail: "It broke." }), "r-5", log);
  expect([unknown.status, unknown.headers["retry-after"]]).toEqual([503, undefined]);
});

test("a temporary refusal logs its cause in one line, other failures a stack", () => {
  const log = createSilentLog();
  const cause = new Error("connect ENOENT /run/.s.PGSQL.5432");
  answerError(appError("database_unavailable", { detail: "It is starting.", cause }), "r-6", log);
  answerError(appError("commit_unknown", { detail: "It broke.", cause }), "r-7", log);
  expect(log.lines.map(({ fields }) => fields)).toEqual([
    expect.objectContaining({ cause: cause.message }),
    expect.objectContaining({ err: cause }),
  ]);
  expect(log.lines[0]?.fields).not.toHaveProperty("err");
});

test("an exception of application code is logged as an error and stays 400", () => {
  const log = createSilentLog();
  const failed = appError("function_failed", { detail: "RuntimeError: no quota" });
  const answer = answerError(failed, "r-6", log);
  expect([answer.status, answer.headers["x-failed"]]).toEqual([400, "function_failed"]);
  const refused = answerError(appError("not_found", { detail: "No such row." }), "r-7", createSilentLog());
  expect(refused.headers).not.toHaveProperty("x-failed");
  expect(log.lines).toEqual([expect.objectContaining({ level: "error", message: "request failed" })]);
});

test("an exception of application code is information where people read the answer", () => {
  const log = createSilentLog();
  answerError(appError("function_missing", { detail: "It has ended." }), "r-8", logOfPeople(log));
  answerError(new TypeError("a fault of ours"), "r-9", logOfPeople(log));
  expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
    ["info", "request refused"],
    ["error", "request failed"],
  ]);
});

test.each([
  new SqlError('could not extend file "base/1/2_fsm": No space left on device', { sqlstate: "53100" }),
  appError("database_unavailable", { detail: "It accepts no connection.", meta: { sqlstate: "53100" } }),
])("PostgreSQL without disk space is not an internal error", (full) => {
  const log = createSilentLog();
  const { body, status } = answerError(full, "r-6", log);
  expect([status, JSON.parse(String(body))]).toEqual([507, expect.objectContaining({ code: "disk_full" })]);
  expect(body).not.toContain("base/1");
  expect(log.lines).toEqual([
    expect.objectContaining({ level: "warn", fields: expect.objectContaining({ status: 507 }) }),
  ]);
});
