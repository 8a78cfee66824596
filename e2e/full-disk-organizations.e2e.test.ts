import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { canMount } from "@appdb/testkit/can-mount";
import { eventually } from "@appdb/testkit/eventually";
import { openTestProject, type TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { type Hosted, isAvailable, signInCommand, startHosted } from "./support/hosted.ts";
import { expectExit, expectProblem, writeFile } from "./support/served.ts";
import { mountSmallDisk, type SmallDisk } from "./support/small-disk.ts";

const MAIN = "cloud://acme:main";
const APP = `
import appdb as db
from appdb.functions import uuid7

class Notes(db.model_base(), name="notes"):
    id = db.Column(value=uuid7(), primary_key=True)
    text: db.String
    size = text.len()
`;

const isPossible = canMount();
if (!isPossible && process.env.SANDBOX === "required")
  throw new Error("A full disk needs root and the right to mount.");

test.skipIf(!isPossible)(
  "a full machine disk refuses writes, loses nothing and recovers",
  { timeout: 240_000 },
  async () => {
    // the disk is smaller than the space reserved for the control plane
    await using project = openTestProject({ env: { SERVICE_DISK_FLOOR_GB: "0" } });
    await using disk = mountSmallDisk(project, 400);
    await using hosted = await startOnDisk(project, disk);
    writeFile(project, "app.py", APP);
    const key = await makeDatabase(project, hosted);
    const url = `${hosted.url}/v1/orgs/acme/databases/main/tables/notes/rows`;
    const ask = async (body?: object) => {
      const headers = { "x-api-key": key, "content-type": "application/json" };
      const response = await fetch(url, body === undefined ? { headers } : { headers, ...postOf(body) });
      return { status: response.status, json: JSON.parse(await response.text()) };
    };
    const kept = new Set<string>();
    const insert = async (text: string) => {
      const answer = await ask({ text });
      if (answer.status === 200) kept.add(answer.json.id);
      return answer;
    };
    const stored = async () => {
      const { json, status } = await ask();
      expect(status, JSON.stringify(json)).toBe(200);
      return new Set((json.rows as { id: string }[]).map(({ id }) => id));
    };
    expect((await insert("before")).status).toBe(200);
    disk.fill();

    const refused = await eventually(async () => {
      const answer = await insert(randomText());
      expect(answer.status, JSON.stringify(answer.json)).not.toBe(200);
      return answer;
    });
    expect(refused.json).toMatchObject({ status: 507, code: "disk_full", hint: expect.stringMatching(/free space/i) });
    for (let count = 0; count < 10; count += 1) expect((await insert(randomText())).status).toBe(507);
    expect(await stored()).toEqual(kept);
    writeFile(project, "app.py", `${APP}\n# ${randomText()}\n`);
    const problem = await expectProblem(project, 1, "db", "update", MAIN, "-f");
    expect(problem).toMatchObject({ status: 507, code: "disk_full", hint: expect.stringContaining("free space") });
    // it restarts with its reserve, if it still has that, and otherwise stays as it is
    const restart = await project.cli("db", "restart", MAIN);
    if (restart.code !== 0)
      expect(restart.stderr).toContain("PostgreSQL could not start again. Nothing was restarted.");
    await isAvailable(project, MAIN);
    expect(await stored()).toEqual(kept);

    disk.free();
    await eventually(async () => expect((await insert("after")).status).toBe(200), { timeout_ms: 60_000 });
    expect(await stored()).toEqual(kept);
    await expectExit(project, 0, "db", "update", MAIN, "-f");
    await expectExit(project, 0, "db", "restart", MAIN);
    expect(await stored()).toEqual(kept);
    expect(hosted.server.child.exitCode, hosted.server.output()).toBe(null);

    disk.fill();
    await hosted.server.interrupt("SIGTERM");
    expect(processesOf(project.home), hosted.server.output()).toEqual([]);
  },
);

/** The server on the small disk. It must end before the disk does, and with free space, because it cleans up. */
async function startOnDisk(project: TestProject, disk: SmallDisk): Promise<Hosted & AsyncDisposable> {
  const hosted = await startHosted(project);
  return {
    ...hosted,
    [Symbol.asyncDispose]: async () => {
      disk.free();
      await hosted.server.interrupt("SIGTERM");
    },
  };
}

/** An organization with the table in its database; returns one of its keys. */
async function makeDatabase(project: TestProject, hosted: Hosted): Promise<string> {
  await expectExit(project, 0, "init");
  await hosted.setUp("ann@example.com");
  await signInCommand(project, hosted);
  await expectExit(project, 0, "org", "create", "acme");
  const made = await expectExit(project, 0, "key", "create", "backend", "--json");
  await eventually(
    async () => expect((await expectExit(project, 0, "db", "status", MAIN)).stdout).toContain("AVAILABLE"),
    { timeout_ms: 60_000 },
  );
  await expectExit(project, 0, "db", "update", MAIN, "-f");
  await expectExit(project, 0, "schema", "update", "app.py", MAIN);
  return JSON.parse(made.stdout).api_key;
}

/** Command lines of processes that name the home: pods, their PostgreSQL servers, the gateway. */
function processesOf(home: string): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const lines = pids.map(
    (pid) => readIfExists(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"), ["ENOENT", "ESRCH"]) ?? "",
  );
  return lines.map((line) => line.replaceAll("\0", " ")).filter((line) => line.includes(home));
}

function postOf(body: object): RequestInit {
  return { method: "POST", body: JSON.stringify(body) };
}

/** PostgreSQL would compress repetitive text; random text uses its full length on disk. */
function randomText(): string {
  return randomBytes(100_000).toString("hex");
}
