import { eventually } from "@appdb/testkit/eventually";
import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, expectExit, makeProject, post, query, serveProject } from "./support/served.ts";

const TIMEOUT_MS = 3_000;
const APP = `
import os
import time
import appdb as db
from appdb.functions import uuid7
from appdb.serving import Router

@db.udf
def act(what: str) -> int:
    time.sleep(0.02)
    if what == "raise":
        raise LookupError("no such shelf")
    if what == "wrong type":
        return "seven"
    if what == "too large":
        return 2**63
    if what == "print":
        print("this was printed by act")
    if what == "exit":
        os._exit(7)
    if what == "loop":
        while True:
            pass
    if what == "sleep":
        time.sleep(3600)
    if what == "grow":
        held = []
        while True:
            held.append(bytearray(2_000_000))
    return len(what)

class Jobs(db.model_base(), name="jobs"):
    id = db.Column(value=uuid7(), primary_key=True)
    what: db.String
    result = act(what)

work = Router()
work.add_insert_route(Jobs, path="/jobs", inputs=[Jobs.what], outputs=[Jobs.id, Jobs.result])
work.add_compute_route(Jobs, path="/try", inputs=[Jobs.what], outputs=[Jobs.result])
`;

/** The function's action, and its caller's error. */
const FAILURES: readonly [what: string, code: string, type: string, message: RegExp, detail: RegExp][] = [
  ["raise", "function_failed", "LookupError", /no such shelf/, /app:act raised LookupError: .*app\.py:12/],
  ["wrong type", "function_failed", "TypeError", /expected int, got str/, /expected int, got str/],
  ["too large", "function_failed", "OverflowError", /9223372036854775808/, /9223372036854775808/],
  ["exit", "worker_died", "WorkerDied", /exit code 7/, /exit code 7/],
  ["loop", "function_timeout", "TimeoutError", /3 s/, /longer than 3 s/],
  ["sleep", "function_timeout", "TimeoutError", /3 s/, /longer than 3 s/],
  ["grow", "worker_out_of_memory", "MemoryError", /memory/, /memory/],
];
/** Running neighbours on each side of the bad row. */
const NEIGHBOURS = 10;

let project: TestProject;
let url: string;

beforeAll(async () => {
  project = await makeProject(APP, {
    env: { SERVICE_FUNCTION_TIMEOUT_MS: String(TIMEOUT_MS), SERVICE_WORKER_MEMORY_MB: "128" },
  });
  url = await serveProject(project);
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

function expectFailure(answer: Answer, failure: (typeof FAILURES)[number]): void {
  const [, code, type, message, detail] = failure;
  expect(answer.status, answer.text).toBe(400);
  expect(answer.json).toMatchObject({
    status: 400,
    code,
    hint: expect.stringContaining("Nothing was stored"),
    meta: { table: "jobs", column: "result", function: "app:act", type, message: expect.stringMatching(message) },
  });
  expect(answer.json.detail).toMatch(/^Column jobs\.result: /);
  expect(answer.json.detail).toMatch(detail);
}

test.each(FAILURES)("behaviour 14: a function that does %j fails only its request", async (...failure) => {
  const [what] = failure;
  const neighbours = (side: string) =>
    Array.from({ length: NEIGHBOURS }, (_, index) => post(`${url}/jobs`, { what: `${what} ${side} ${index}` }));
  const [before, bad, after] = [neighbours("before"), post(`${url}/jobs`, { what }), neighbours("after")];
  expectFailure(await bad, failure);
  for (const answer of await Promise.all([...before, ...after])) expect(answer.status, answer.text).toBe(200);
  const [stored] = await query(
    project,
    `select count(*), count(*) filter (where result = length(what)), count(*) filter (where what = '${what}'),
       count(_errors) from jobs where what like '${what}%'`,
  );
  expect(stored).toEqual([String(2 * NEIGHBOURS), String(2 * NEIGHBOURS), "0", "0"]);
  // the next caller finds a working worker
  expect((await post(`${url}/try`, { what: "fine" })).json).toEqual({ result: 4 });
});

test("a function fails a compute route like an insert", async () => {
  const [raised, , , exited] = FAILURES;
  for (const failure of [raised, exited]) {
    if (failure !== undefined) expectFailure(await post(`${url}/try`, { what: failure[0] }), failure);
  }
});

test("output of a function goes only to the service's log", async () => {
  const answer = await post(`${url}/jobs`, { what: "print" });
  expect(answer.status, answer.text).toBe(200);
  expect(Object.keys(answer.json)).toEqual(["id", "result"]);
  await eventually(async () => {
    const log = await expectExit(project, 0, "service", "logs", "main/work", "--tail", "500");
    expect(log.stdout).toContain("this was printed by act");
  });
});

test("reports a function that ends its process to all twenty callers", async () => {
  const all = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      post(`${url}/jobs`, { what: index % 2 === 0 ? "exit" : `crowd ${index}` }),
    ),
  );
  expect(all.map((answer) => answer.status)).toEqual(all.map((_, index) => (index % 2 === 0 ? 400 : 200)));
  expect(new Set(all.map((answer) => answer.json.code))).toEqual(new Set(["worker_died", undefined]));
  expect(await query(project, "select count(*), count(distinct what) from jobs where what like 'crowd%'")).toEqual([
    ["20", "20"],
  ]);
  expect(await query(project, "select count(*) from jobs where what = 'exit'")).toEqual([["0"]]);
});
