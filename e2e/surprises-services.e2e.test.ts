import { createServer } from "node:http";
import { eventually } from "@appdb/testkit/eventually";
import { freePort } from "@appdb/testkit/free-ports";
import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  editFile,
  expectExit,
  expectProblem,
  type Listed,
  listServices,
  makeProject,
  post,
  query,
  serveProject,
  snapshot,
  writeFile,
} from "./support/served.ts";

/** Known problems of other products, by number: services and the daemon. */
const APP = `
import os
import appdb as db
from appdb.serving import Router
from wording import greet

class Greetings(db.model_base(), name="greetings"):
    name: db.String
    text = greet(name)

greeter = Router()
greeter.add_insert_route(Greetings, path="/greet", inputs=["name"], outputs=["text"])
`;
const WORDING = `
import os
import appdb as db

@db.udf
def greet(name: str) -> str:
    return os.environ.get("GREETING", "Hello") + " " + name
`;

let project: TestProject;
let url: string;

beforeAll(async () => {
  project = await makeProject(APP);
  writeFile(project, "wording.py", WORDING);
  url = await serveProject(project);
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

async function greeter(): Promise<Listed> {
  const [service] = await listServices(project);
  if (service === undefined) throw new Error("the service is not listed");
  return service;
}

async function greet(): Promise<string> {
  return (await post(`${url}/greet`, { name: "Ada" })).json.text;
}

test("S8: a killed service returns on its port and a broken one is FAILED", async () => {
  const first = await greeter();
  process.kill(first.pid ?? 0, "SIGKILL");
  await eventually(async () => {
    const now = await greeter();
    expect(now).toMatchObject({ state: "AVAILABLE", port: first.port });
    expect(now.pid).not.toBe(first.pid);
  });
  expect(await greet()).toBe("Hello Ada");

  writeFile(project, "wording.py", "raise RuntimeError('the words are lost')\n");
  const restart = await expectExit(project, 1, "service", "restart", "main/greeter");
  expect(restart.stdout + restart.stderr).toContain("the words are lost");
  const failed = await eventually(
    async () => {
      const now = await greeter();
      expect(now.state).toBe("FAILED");
      return now;
    },
    { timeout_ms: 60_000 },
  );
  expect(failed).toMatchObject({
    port: first.port,
    endpoint: null,
    error: expect.stringContaining("the words are lost"),
  });
  writeFile(project, "wording.py", WORDING);
  await expectExit(project, 0, "service", "restart", "main/greeter");
  expect(await greeter()).toMatchObject({ state: "AVAILABLE", port: first.port });
  expect(await greet()).toBe("Hello Ada");
});

test("S9: a second service of the same name is refused", async () => {
  writeFile(project, "other.py", APP);
  for (const verb of ["diff", "update"]) {
    expect(await expectProblem(project, 1, "service", verb, "other.py", "main")).toMatchObject({
      code: "service_conflict",
      detail: `The service main/greeter belongs to app.py of ${project.folder}; other.py claims the same name.`,
      hint: expect.stringContaining("cli schema update other.py other && cli service update other.py other "),
    });
  }
  expect(await greet()).toBe("Hello Ada");
});

test("S12: only imported files restart a service, and they are named", async () => {
  for (const name of ["notes.txt", "deploy.sh", "unused.py"]) writeFile(project, name, "x = 1\n");
  await expectExit(project, 0, "service", "diff", "app.py", "main");
  const { pid } = await greeter();
  await expectExit(project, 0, "service", "update", "app.py", "main", "-f");
  expect((await greeter()).pid).toBe(pid);
  editFile(project, "wording.py", '"Hello"', '"Good day"');
  const pending = await expectExit(project, 2, "service", "diff", "app.py", "main");
  expect(pending.stdout).toContain("wording.py changed");
  await expectExit(project, 0, "service", "update", "app.py", "main", "-f");
  expect(await greet()).toBe("Good day Ada");
});

test("S13: run binds before reporting success and explains a failure", async () => {
  const port = await freePort();
  const other = createServer().listen(port, "127.0.0.1");
  try {
    const taken = await expectExit(project, 1, "service", "run", "app.py", "main", "--port", String(port));
    expect(taken.stdout).toBe("");
    expect(taken.stderr).toContain(`error: Port ${port} on 127.0.0.1 is in use by another program.\nhint: `);
    const update = await expectProblem(project, 1, "service", "update", "app.py", "main", "--port", String(port), "-f");
    expect(update).toMatchObject({ code: "port_taken", detail: `Port ${port} is in use by another program.` });
  } finally {
    await new Promise((resolve) => other.close(resolve));
  }
  const before = await snapshot(project);
  const missing = await expectExit(project, 1, "service", "run", "app.py", "empty", "--port", "0");
  expect(missing.stdout).toBe("");
  expect(missing.stderr).toMatch(/^error: .*\bgreetings\b.*\nhint: cli schema update app\.py empty\n$/m);
  expect(await snapshot(project)).toEqual(before);
  expect(await greet()).toBe("Good day Ada");
});

test("a database that a terminal serves is not deleted, even with -f", async () => {
  await expectExit(project, 0, "schema", "update", "app.py", "scratch");
  const running = project.start("cli service run app.py scratch --port 0");
  await eventually(() => expect(running.output()).toContain("Press Ctrl-C"), { timeout_ms: 60_000 });
  const refused = await expectProblem(project, 1, "db", "delete", "scratch", "-f");
  expect(refused).toMatchObject({
    code: "service_state",
    detail: "scratch is in use by cli service run, which serves greeter in a terminal.",
    hint: "Press Ctrl-C in that terminal, then delete the database.",
  });
  await running.interrupt("SIGINT");
  await expectExit(project, 0, "db", "delete", "scratch", "-f");
});

test("S14: --port moves a running service that is otherwise unchanged", async () => {
  const port = await freePort();
  await expectExit(project, 0, "service", "update", "app.py", "main", "-f", "--port", String(port));
  expect(await greeter()).toMatchObject({ port, state: "AVAILABLE", endpoint: `http://127.0.0.1:${port}` });
  url = `http://127.0.0.1:${port}`;
  expect(await greet()).toBe("Good day Ada");
  // and it keeps the new one
  await expectExit(project, 0, "service", "update", "app.py", "main", "-f");
  expect((await greeter()).port).toBe(port);
});

test("S15: a missing name is an error for each verb, also in JSON", async () => {
  for (const verb of ["stop", "restart", "logs"]) {
    const problem = await expectProblem(project, 1, "service", verb, "main/greter");
    expect(problem).toMatchObject({ code: "service_not_found", hint: "Did you mean main/greeter?" });
  }
  const dry = await expectExit(project, 0, "service", "prune", "app.py", "main", "--dry-run", "--json");
  expect(JSON.parse(dry.stdout)).toMatchObject({ ops: [], status: null });
  expect((await greeter()).state).toBe("AVAILABLE");
});

test("S16: a changed environment reaches the functions with the next update", async () => {
  const typed = (line: string) => project.type(`GREETING=Ahoy ${line}`);
  expect((await typed("cli schema diff app.py main")).code).toBe(0);
  const pending = await typed("cli service diff app.py main");
  expect(pending.code, pending.stderr).toBe(2);
  expect(pending.stdout).toContain("GREETING added");
  expect(pending.stdout).not.toContain("Ahoy");
  expect(await greet()).toBe("Good day Ada");
  expect((await typed("cli service update app.py main -f")).code).toBe(0);
  expect(await greet()).toBe("Ahoy Ada");
});

test("S10: the logs command reads the log of a local service", async () => {
  const answer = await post(`${url}/greet`, { nmae: "Ada" });
  await eventually(async () => {
    const log = await expectExit(project, 0, "service", "logs", "main/greeter", "--tail", "50");
    expect(log.stdout).toContain(answer.json.instance);
    expect(log.stdout).toContain("service listens");
  });
});

test("S22: questions are plain sentences and daemon stop leaves no PostgreSQL", async () => {
  editFile(project, "wording.py", '"Good day"', '"Servus"');
  const asked = await expectExit(project, 3, "service", "update", "app.py", "main");
  expect(asked.stderr).toContain(
    "Confirmation is required, but there is no terminal: Start or restart 1 service of main?",
  );
  expect(asked.stderr).toContain("hint: To confirm in advance: cli service update app.py main -f");
  const rows = await query(project, "select count(*) from greetings");
  await expectExit(project, 0, "daemon", "stop");
  expect(project.processes()).toEqual([]);
  // The next command restarts everything including the service.
  await eventually(async () => expect((await greeter()).state).toBe("AVAILABLE"), { timeout_ms: 60_000 });
  expect(await query(project, "select count(*) from greetings")).toEqual(rows);
});
