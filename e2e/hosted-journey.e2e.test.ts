import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { openTestProject, ROOT, type TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Hosted, signInCommand, startHosted } from "./support/hosted.ts";
import { printedExit, readPrintedSteps } from "./support/pages/printed-steps.ts";
import { expectExit, expectProblem, writeFile } from "./support/served.ts";

const MAIN = "cloud://acme:main";
const STAGING = "cloud://acme:staging";

/** From an organization to rows in its database with the command. Each test continues from the previous one. */
describe("a user who deploys an application to a hosted database", () => {
  let project: TestProject;
  let hosted: Hosted;
  let key: string;

  beforeAll(async () => {
    project = openTestProject();
    cpSync(join(ROOT, "examples", "quickstart"), project.folder, { recursive: true });
    hosted = await startHosted(project);
    await hosted.setUp("ann@example.com");
    await signInCommand(project, hosted);
  });
  afterAll(async () => {
    await project[Symbol.asyncDispose]();
  });

  const json = async (...words: string[]) => JSON.parse((await expectExit(project, 0, ...words, "--json")).stdout);
  const rows = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${hosted.url}/v1/orgs/acme/databases/main/tables/${path}`, {
      method,
      headers: { "x-api-key": key, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: JSON.parse(await response.text()) };
  };

  test("finds main AVAILABLE shortly after creating the organization", async () => {
    await expectExit(project, 0, "org", "create", "acme");
    key = (await json("key", "create", "backend")).api_key;
    await eventually(
      async () => expect((await expectExit(project, 0, "db", "status", MAIN)).stdout).toContain("main  AVAILABLE\n"),
      { timeout_ms: 60_000 },
    );
    expect((await expectExit(project, 0, "db", "list")).stdout).toContain(`${MAIN}  AVAILABLE`);
    expect((await expectProblem(project, 1, "db", "delete", MAIN, "-f")).code).toBe("database_protected");
  });

  test("sees the update's plan, confirms it, and uploads the files", async () => {
    const diff = await expectExit(project, 2, "db", "diff", MAIN);
    expect(diff.stdout).toContain(`~ ${MAIN}`);
    expect(diff.stderr).toContain(`service.toml has no entry for ${MAIN}; defaults are used.`);
    expect(diff.stderr).toContain("Without uv.lock or requirements.txt the image has the base library alone.");
    expect((await expectProblem(project, 3, "db", "update", MAIN)).code).toBe("confirmation_required");
    const updated = await expectExit(project, 0, "db", "update", MAIN, "-f");
    expect(updated.stdout).toMatch(/\ncloud:\/\/acme:main generation \d+ done\n$/);
    expect(updated.stderr).toContain(`next: cli schema update app.py ${MAIN}\n`);
    expect((await expectExit(project, 0, "db", "diff", MAIN)).stdout).toContain("up to date");
    expect((await expectExit(project, 0, "db", "update", MAIN, "-f")).stdout).not.toContain("generation");
  });

  test("makes the tables from the uploaded files and gets a report when the local ones differ", async () => {
    const diff = await expectExit(project, 2, "schema", "diff", "app.py", MAIN);
    expect(diff.stdout).toContain(`+ ${MAIN}/docs`);
    const updated = await expectExit(project, 0, "schema", "update", "app.py", MAIN);
    expect(updated.stdout).toContain(`created    ${MAIN}/docs\n`);
    await expectExit(project, 0, "schema", "diff", "app.py", MAIN);
    const { stdout: app } = await project.type("cat app.py");
    writeFile(project, "app.py", `${app}\n\nclass Later(Base, name="later"):\n    note: db.String\n`);
    expect((await expectExit(project, 2, "schema", "diff", "app.py", MAIN)).stdout).toContain(`+ ${MAIN}/later`);
    const blocked = await expectProblem(project, 1, "schema", "update", "app.py", MAIN);
    expect(blocked).toMatchObject({
      code: "project_files_differ",
      hint: expect.stringContaining(`cli db update ${MAIN}`),
    });
    await expectExit(project, 0, "db", "update", MAIN, "-f");
    await expectExit(project, 0, "schema", "update", "app.py", MAIN);
  });

  test("inserts and reads rows with a key, computed columns included", async () => {
    const made = await rows("POST", "docs/rows", { title: "Hello", body: "World. More." });
    expect(made, JSON.stringify(made)).toMatchObject({ status: 200, json: { title_upper: "HELLO" } });
    expect((await rows("GET", "docs/rows")).json.rows).toMatchObject([{ title: "Hello", title_upper: "HELLO" }]);
    expect((await rows("POST", "docs/rows", { titel: "x" })).status).toBe(422);
  });

  test("stops and starts it with its rows and reads its log", async () => {
    expect((await expectExit(project, 0, "db", "stop", MAIN)).stdout).toContain("STOPPED");
    const refused = await expectProblem(project, 1, "db", "update", MAIN, "-f");
    expect(refused).toMatchObject({ code: "database_not_available", hint: `Wake it first: cli db start ${MAIN}` });
    expect((await expectExit(project, 0, "db", "start", MAIN)).stdout).toContain("AVAILABLE");
    expect((await rows("GET", "docs/rows")).json.rows).toMatchObject([{ title: "Hello" }]);
    await expectExit(project, 0, "db", "restart", MAIN);
    const { stdout: log } = await expectExit(project, 0, "db", "logs", MAIN);
    expect(log.trim()).not.toBe("");
    expect(log).not.toContain(key);
  });

  test("creates another one, deletes it by name, and undeletes it", async () => {
    expect((await expectExit(project, 2, "db", "diff", STAGING)).stdout).toContain("will be created");
    await expectExit(project, 0, "db", "update", STAGING, "-f");
    expect((await json("db", "status", STAGING)).state).toBe("AVAILABLE");
    expect((await expectProblem(project, 3, "db", "delete", STAGING)).code).toBe("confirmation_required");
    const deleted = await expectExit(project, 0, "db", "delete", STAGING, "-f");
    expect(deleted.stdout).toBe("Deleted database 'staging'.\n");
    expect(deleted.stderr).toContain(`Restore it with: cli db undelete ${STAGING}\n`);
    await expectExit(project, 0, "db", "undelete", STAGING);
    expect((await json("db", "status", STAGING)).state).toBe("STOPPED");
    await expectExit(project, 0, "db", "delete", STAGING, "--now", "-f");
    await eventually(async () => expect((await project.cli("db", "status", STAGING)).code).toBe(1));
  });

  test("follows the guide from its own folder to a rollback", async () => {
    // completed above: the sign-in and the organization
    expect(readPrintedSteps("docs/guide.md", "before").flatMap(({ lines }) => lines)).toEqual([
      "cli login",
      "cli org create acme",
    ]);
    const folder = join(project.folder, "..", "guide");
    mkdirSync(folder);
    const app = join(folder, "app.py");
    const said: [line: string, stdout: string][] = [];
    const find = (pattern: RegExp) => pattern.exec(said.map(([, stdout]) => stdout).join("\n"))?.[0] ?? "";
    const steps = readPrintedSteps("docs/guide.md", "hosted");
    expect(steps.length).toBeGreaterThan(5);
    for (const { language, lines } of steps) {
      if (language === "python") {
        writeFileSync(
          app,
          readFileSync(app, "utf8").replace(/^ {4}title_upper = .*\n/m, (line) => `${line}${lines.join("\n")}\n`),
        );
        continue;
      }
      for (const line of lines) {
        const typed = line
          .replace("<address>", find(/http:\/\/127\.0\.0\.1:\d+\/ingest/))
          .replace("sk_...", find(/sk_[a-z0-9]+_\S+/));
        const done = await project.type(`cd ../guide && ${typed}`);
        expect(done.code, `${line}\n${done.stdout}${done.stderr}`).toBe(printedExit(line));
        said.push([line, done.stdout]);
      }
    }
    const saidTo = (begin: string) => said.filter(([line]) => line.startsWith(begin)).map(([, stdout]) => stdout);
    expect(JSON.parse(saidTo("curl")[0] ?? "")).toMatchObject({ title_upper: "HELLO", summary: "Hello" });
    expect(saidTo("cli service logs")[0]).toContain("/docs");
    expect(saidTo("cli schema update")[1]).toContain("shout");
    expect((await json("service", "list", MAIN)).services).toMatchObject([{ state: "AVAILABLE", release: 1 }]);
  });
});
