import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { freePort } from "@appdb/testkit/free-ports";
import { type Finished, openTestProject, type TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";

interface Listed {
  readonly services: readonly {
    name: string;
    endpoint: string | null;
    port: number;
    state: string;
    error: string | null;
  }[];
}

test("a user creates, serves, changes and stops a project", async () => {
  await using project = openTestProject();
  await expectExit(project, 0, "init");
  await expectExit(project, 0, "service", "example", "--out", "app.py");

  // Nothing is created before it is requested.
  const pending = await expectExit(project, 2, "schema", "diff", "app.py", "main");
  expect(pending.stdout).toContain("+ main/docs");
  expect((await expectExit(project, 1, "service", "diff", "app.py", "main")).stdout).toContain("! ingest");
  const blocked = await expectExit(project, 1, "service", "update", "app.py", "main", "-f");
  expect(blocked.stderr).toContain("cli schema update app.py main");
  const early = await expectExit(project, 1, "service", "run", "app.py", "main", "--port", "0");
  expect(early.stderr).toContain("hint: ");
  expect(early.stderr).not.toContain("Traceback");

  await expectExit(project, 0, "schema", "update", "app.py", "main");
  await expectExit(project, 0, "schema", "diff", "app.py", "main");

  // In the background, on a stable port.
  const refused = await expectExit(project, 3, "service", "update", "app.py", "main");
  expect(refused.stderr).toContain("cli service update app.py main -f");
  await expectExit(project, 0, "service", "update", "app.py", "main", "-f");
  const first = await onlyService(project);
  expect(first).toMatchObject({ name: "ingest", catalog_path: "main", state: "AVAILABLE" });
  const row = await post(`${first.endpoint}/docs`, { title: "Hello", body: "World" });
  expect(row).toMatchObject({ status: 200, body: { title_upper: "HELLO", summary: "Hello" } });
  expect((await post(`${first.endpoint}/titles`, { title: "x" })).body).toEqual({ title_upper: "X" });

  await expectExit(project, 0, "service", "restart", "main/ingest");
  expect(await onlyService(project)).toMatchObject({ port: first.port, state: "AVAILABLE" });

  // A new computed column is filled; the running service continues and is restarted by the next update.
  edit(project, "    title_upper = upper(title)\n", "    title_upper = upper(title)\n    shout = upper(body)\n");
  const added = await expectExit(project, 0, "schema", "update", "app.py", "main");
  expect(added.stdout).toContain("column 'shout'");
  expect((await post(`${first.endpoint}/docs`, { title: "Still here" })).status).toBe(200);
  expect((await expectExit(project, 2, "service", "diff", "app.py", "main")).stdout).toContain("app.py changed");

  // Destructive changes are refused twice before they are applied.
  edit(project, "    shout = upper(body)\n", "");
  const destructive = await expectExit(project, 3, "schema", "update", "app.py", "main");
  expect(destructive.stderr).toContain("cli schema update app.py main --allow-destructive");
  const unanswered = await expectExit(project, 3, "schema", "update", "app.py", "main", "--allow-destructive");
  expect(unanswered.stderr).toContain("--allow-destructive -f");
  await expectExit(project, 2, "schema", "diff", "app.py", "main");
  await expectExit(project, 0, "schema", "update", "app.py", "main", "--allow-destructive", "-f");
  await expectExit(project, 0, "schema", "diff", "app.py", "main");

  // The daemon stops and returns with the first command; services return on their ports.
  await expectExit(project, 0, "daemon", "stop");
  expect(project.processes()).toEqual([]);
  await expectExit(project, 1, "daemon", "status");
  await eventually(async () =>
    expect(await onlyService(project)).toMatchObject({ port: first.port, state: "AVAILABLE" }),
  );
  const page = await fetch(`${first.endpoint}/docs`);
  expect([page.status, page.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/html")]);

  const log = await expectExit(project, 0, "service", "logs", "main/ingest", "--tail", "50");
  expect(log.stdout).toContain("service listens");
  await expectExit(project, 0, "service", "stop", "main/ingest");
  expect(await onlyService(project)).toMatchObject({ state: "STOPPED", endpoint: null });
  await expectExit(project, 0, "daemon", "stop");
  expect(project.processes()).toEqual([]);
}, 180_000);

test("reports a user's mistakes in one line with a hint and changes nothing", async () => {
  await using project = openTestProject();
  await expectExit(project, 0, "init");
  await expectExit(project, 0, "service", "example", "--out", "app.py");
  const good = readFileSync(join(project.folder, "app.py"), "utf8");

  const mistakes: readonly [what: string, app: string, code: string, said: RegExp][] = [
    ["a syntax error", `${good}\ndef broken(:\n`, "app_invalid", /app\.py:\d+/],
    ["an import that fails", `import no_such_module\n${good}`, "app_invalid", /no_such_module/],
    ["an unknown column", good.replace("upper(title)", "upper(titel)"), "app_invalid", /titel/],
    ["no model", "x = 1\n", "app_invalid", /app\.py/],
  ];
  for (const [what, app, code, said] of mistakes) {
    writeFileSync(join(project.folder, "app.py"), app);
    const ran = await project.cli("schema", "update", "app.py", "main", "--json");
    expect(ran.code, what).toBe(1);
    const problem = JSON.parse(ran.stdout);
    expect(problem.code, `${what}: ${ran.stdout}`).toBe(code);
    expect(problem.detail, what).toMatch(said);
    expect(ran.stderr, what).not.toContain("Traceback");
  }
  writeFileSync(join(project.folder, "app.py"), good);

  appendFileSync(join(project.folder, "service.toml"), "\n[[service.database]]\nname = 'cloud://<your-org>:main'\n");
  expect((await project.cli("schema", "diff", "app.py", "main")).code).toBe(2);
  appendFileSync(join(project.folder, "service.toml"), "memroy_mb = 512\n");
  const typo = await expectExit(project, 1, "schema", "diff", "app.py", "main");
  expect(typo.stderr).toMatch(/service\.toml:\d+: 'memroy_mb'.*did you mean 'memory_mb'/);
  writeFileSync(join(project.folder, "service.toml"), "");

  expect((await expectExit(project, 1, "schema", "diff", "app.py", "1main")).stderr).toContain("'1main' is not valid");
  const python = await expectExit(project, 1, "schema", "diff", "app.py", "main", "--python", "/no/such/python");
  expect(python.stderr).toContain("/no/such/python");
  // Nothing was created by any of these.
  expect(JSON.parse((await project.cli("schema", "diff", "app.py", "main", "--json")).stdout).summary.create).toBe(1);
});

test("reports a port in use before claiming to serve", async () => {
  await using project = openTestProject();
  await expectExit(project, 0, "init");
  await expectExit(project, 0, "service", "example", "--out", "app.py");
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  const port = await freePort();
  const other = createServer().listen(port, "127.0.0.1");
  try {
    const run = await expectExit(project, 1, "service", "run", "app.py", "main", "--port", String(port));
    expect(run.stdout).toBe("");
    expect(run.stderr).toContain(String(port));
    const update = await expectExit(
      project,
      1,
      "service",
      "update",
      "app.py",
      "main",
      "--port",
      String(port),
      "-f",
      "--json",
    );
    expect(JSON.parse(update.stdout)).toMatchObject({ code: "port_taken" });
  } finally {
    await new Promise((resolve) => other.close(resolve));
  }
});

test("twenty concurrent commands on an empty home start one daemon", async () => {
  await using project = openTestProject();
  await expectExit(project, 0, "init");
  await expectExit(project, 0, "service", "example", "--out", "app.py");
  const ran = await Promise.all(Array.from({ length: 20 }, () => project.cli("schema", "diff", "app.py", "main")));
  // slow ones say what they wait for
  const slow = /^(comparing with .*|app\.py has been running for .*)\n/gm;
  for (const { code, stderr } of ran) expect([code, stderr.replace(slow, "")]).toEqual([2, ""]);
  const status = JSON.parse((await project.cli("daemon", "status", "--json")).stdout);
  expect(status.running).toBe(true);
  await expectExit(project, 0, "daemon", "stop");
  expect(project.processes()).toEqual([]);
});

async function expectExit(project: TestProject, exit: number, ...args: string[]): Promise<Finished> {
  const ran = await project.cli(...args);
  expect(ran.code, `cli ${args.join(" ")}\n${ran.stdout}${ran.stderr}`).toBe(exit);
  return ran;
}

async function onlyService(project: TestProject): Promise<Listed["services"][number]> {
  const { services } = JSON.parse((await expectExit(project, 0, "service", "list", "main", "--json")).stdout) as Listed;
  expect(services).toHaveLength(1);
  return services[0] as Listed["services"][number];
}

function edit(project: TestProject, before: string, after: string): void {
  const path = join(project.folder, "app.py");
  const text = readFileSync(path, "utf8");
  expect(text).toContain(before);
  writeFileSync(path, text.replace(before, after));
}

async function post(url: string, body: object): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
