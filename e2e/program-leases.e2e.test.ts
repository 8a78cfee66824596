import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { eventually } from "@appdb/testkit/eventually";
import type { TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { startWithAcme } from "./support/hosted.ts";
import { PRINTED, program, runFile, runNotebook, startProgram } from "./support/programs.ts";
import { expectExit, makeProject, writeFile } from "./support/served.ts";

const MAIN = "cloud://acme:main";
/** Programs end at once, and their leases with them. Killed ones leave leases, which end a minute after their last renewal. */
const LONG = process.env.APPDB_FAULTS === "long";
const ENDED_MS = LONG ? 120_000 : 20_000;

const OTHER = `import appdb as db
docs = db.get_table("${MAIN}/docs")
docs.insert(id=3, body="c")
print(docs.order_by(docs.id).collect()["summary"])
`;
const AFTER = `import appdb as db
docs = db.get_table("${MAIN}/docs")
try:
    docs.insert(id=5, body="c")
except db.Error as error:
    print(error.code, error.detail, error.hint, sep="\\n")
print(docs.insert(id=4, body="d", on_error="ignore"))
print(docs.order_by(docs.id).collect()["summary"], docs.errors()[0]["function"], docs.errors()[0]["errortype"])
`;

const SLEPT = `import os
import time

import appdb as db

docs = db.create_table("${MAIN}/docs", {"id": db.Int, "body": db.String}, primary_key="id")
docs.insert(id=1, body="a")


@db.udf
def loud(body: str) -> str:
    return body.upper()


docs.add_computed_column(loud=loud(docs.body))
open("slept.ready", "w").close()
while not os.path.exists("woken"):
    time.sleep(0.05)
print(docs.select(x=loud(docs.body + "!")).collect()["x"])
docs.insert([{"id": 2, "body": "b"}])


@db.udf
def loud(body: str) -> str:
    return body.upper() + "?"


docs.add_computed_column(loud=loud(docs.body), if_exists="replace")
print(docs.order_by(docs.id).collect()["loud"])
`;

const cancelled = (target: string) => `import time

import appdb as db

docs = db.create_table("${target}/slow", {"id": db.Int})
docs.insert([{"id": id} for id in range(400)])


@db.udf
def slow(number: int) -> int:
    time.sleep(0.05)
    return number


try:
    docs.add_computed_column(slow=slow(docs.id))
except db.Error as error:
    print(error.code, error.hint)
`;

/** Runs right after the wake, while the program that has the function only waits. */
const WOKEN = `import appdb as db
docs = db.get_table("${MAIN}/docs")
docs.insert(id=3, body="c")
print(docs.order_by(docs.id).collect()["loud"])
docs.where(docs.id == 3).delete()
`;

/** Folders of the leases of all databases. */
function leases(project: TestProject): string[] {
  const databases = join(project.home, "server", "databases");
  return readdirSync(databases).flatMap((id) => {
    const folder = join(databases, id, "data", "programs");
    return existsSync(folder) ? readdirSync(folder) : [];
  });
}

const noLease = (project: TestProject) =>
  eventually(async () => expect(leases(project)).toEqual([]), { timeout_ms: ENDED_MS });

test.concurrent("a notebook defines, uses and redefines functions on a hosted database", async () => {
  await using project = await makeProject("");
  await startWithAcme(project);
  expect(await runNotebook(project, MAIN)).toEqual(PRINTED);
  await noLease(project);
}, 240_000);

test.concurrent(`a function of a started file works on a hosted database until the program ${LONG ? "is killed" : "ends"}`, async () => {
  await using project = await makeProject("");
  await startWithAcme(project);
  const [first, second] = await Promise.all([
    startProgram(project, "first", program("first", "?", `${MAIN}/docs`)),
    startProgram(project, "second", program("second", " 2", `${MAIN}/others`)),
  ]);
  expect(leases(project)).toHaveLength(2);
  expect(await runFile(project, "other.py", OTHER)).toBe("['a?', 'b?', 'c?']\n");
  second.kill(LONG ? "SIGTERM" : "SIGINT");
  first.kill(LONG ? "SIGKILL" : "SIGINT");
  await Promise.all([first, second].map((child) => child.exitCode ?? child.signalCode ?? once(child, "exit")));
  await noLease(project);
  expect((await runFile(project, "after.py", AFTER)).split("\n")).toEqual([
    "function_missing",
    "No row was inserted: row 1: Column docs.summary: it needs summarize, which is missing: it was defined in a notebook or program that has ended.",
    "Nothing was stored. Move the function into a module of the project, for example functions.py, and run add_computed_column() again with if_exists='replace'.",
    "<inserted 1 row, 1 failed cell>",
    "['a?', 'b?', 'c?', None] summarize ProgramEnded",
    "",
  ]);
}, 400_000);

test.concurrent("a program continues after its database slept", async () => {
  await using project = await makeProject("", { env: { SERVICE_PODS: "" } });
  await startWithAcme(project);
  const child = await startProgram(project, "slept", SLEPT, "pipe");
  await expectExit(project, 0, "db", "stop", MAIN);
  expect(leases(project)).toEqual([]);
  await expectExit(project, 0, "db", "start", MAIN);
  expect(await runFile(project, "woken.py", WOKEN)).toBe("['A', 'C']\n");
  const [output] = await Promise.all([text(child.stdout as Readable), writeFile(project, "woken", "")]);
  expect(output).toBe("['A!']\n['A?', 'B?']\n");
  expect(leases(project)).toEqual([]);
}, 240_000);

test("a cancelled call names itself and the list of jobs, on local and hosted targets", async () => {
  await using project = await makeProject("");
  await startWithAcme(project);
  await expectExit(project, 0, "daemon", "start");
  for (const target of ["main", MAIN]) {
    const printed = runFile(project, "cancelled.py", cancelled(target));
    await eventually(
      async () => {
        const listed = await expectExit(project, 0, "jobs", "list", target, "--json");
        const [job] = JSON.parse(listed.stdout).jobs as { id: string; state: string }[];
        expect(job?.state).toBe("running");
        await expectExit(project, 0, "jobs", "cancel", target, job?.id ?? "");
      },
      { timeout_ms: 60_000 },
    );
    expect(await printed).toBe(
      `job_cancelled To run it, make the same call again. See its job: cli jobs list ${target} --all\n`,
    );
  }
}, 240_000);
