import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { VERSION } from "@appdb/contract/version";
import { canMount } from "@appdb/testkit/can-mount";
import { eventually } from "@appdb/testkit/eventually";
import { openTestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { expectExit, expectProblem, listServices, makeProject, post, query, serveProject } from "./support/served.ts";
import { mountSmallDisk } from "./support/small-disk.ts";

const APP = `
import os

import appdb as db
from appdb.functions import uuid7
from appdb.serving import Router

@db.udf
def keep(text: str) -> int:
    with open(os.path.join(os.environ["SERVICE_HOME"], "kept"), "w") as file:
        return file.write(text * 1_000)

Base = db.model_base()

class Notes(Base, name="notes"):
    id = db.Column(value=uuid7(), primary_key=True)
    text: db.String
    size = text.len()

class Kept(Base, name="kept"):
    text = db.Column(type=db.String, primary_key=True)
    size = keep(text)

api = Router()
api.add_insert_route(Notes, path="/notes", inputs=[Notes.text], outputs=[Notes.id, Notes.size])
api.add_compute_route(Notes, path="/sizes", inputs=[Notes.text], outputs=[Notes.size])
api.add_insert_route(Kept, path="/kept", inputs=[Kept.text], outputs=[Kept.size], on_error="ignore")
`;

test("an unwritable home is named with the setting and nothing is created", async () => {
  await using project = openTestProject();
  writeFileSync(join(project.folder, "app.py"), APP);
  await expectExit(project, 0, "init");
  writeFileSync(project.home, "a file where the home should be");
  for (const verb of [
    ["schema", "update", "app.py", "main"],
    ["service", "list"],
    ["daemon", "start"],
  ]) {
    const problem = await expectProblem(project, 1, ...verb);
    expect(problem, verb.join(" ")).toMatchObject({
      code: "home_not_writable",
      detail: expect.stringContaining(`The home folder ${project.home} cannot be written`),
      hint: expect.stringContaining("SERVICE_HOME"),
    });
  }
  expect((await project.cli("daemon", "status")).code).toBe(1);
  expect(project.processes()).toEqual([]);
});

test("refuses a folder without write access as home", async () => {
  await using project = openTestProject();
  const theirs = join(dirname(project.home), "theirs");
  mkdirSync(theirs, { mode: 0o555 });
  // root may write anywhere except where the system itself refuses
  const home = join(process.getuid?.() === 0 ? "/sys" : theirs, "home");
  for (const verb of ["service list", "daemon start"]) {
    const ran = await project.type(`SERVICE_HOME='${home}' cli ${verb} --json`);
    expect(ran.code, ran.stderr).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      code: "home_not_writable",
      detail: expect.stringMatching(/^The home folder .*home cannot be written: (permission denied|.*read-only)\.$/),
    });
  }
  expect(existsSync(home)).toBe(false);
});

test.runIf(process.platform === "linux")(
  "refuses a home where the system creates no folder without waiting",
  async () => {
    await using project = openTestProject();
    const ran = await project.type("SERVICE_HOME=/proc/no-home cli db list --local --json");
    expect(ran.code, ran.stderr).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "home_not_writable" });
    const doctor = await project.type("SERVICE_HOME=/proc/no-home cli doctor");
    expect(doctor.stdout).toContain("The home folder /proc/no-home cannot be written");
  },
);

test("a command in a removed folder reports it", async () => {
  await using project = openTestProject();
  const ran = await project.type("mkdir gone && cd gone && rmdir ../gone && cli db list --local");
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain("error: The current folder no longer exists.\nhint: Go to a folder that exists: cd ~");
});

test("every verb refuses a newer database with both versions", async () => {
  await using project = await makeProject(APP);
  const url = await serveProject(project);
  expect((await post(`${url}/notes`, { text: "kept" })).status).toBe(200);
  await query(project, "insert into appdb.migrations (id, breaking, product_version) values (900, true, '9.1.0')");
  // the next daemon finds it like a user who returned to an older installation
  await expectExit(project, 0, "daemon", "stop");
  for (const verb of [
    ["schema", "diff", "app.py", "main"],
    ["schema", "update", "app.py", "main"],
    ["service", "update", "app.py", "main", "-f"],
    ["service", "run", "app.py", "main", "--port", "0"],
  ]) {
    expect(await expectProblem(project, 1, ...verb), verb.join(" ")).toMatchObject({
      code: "catalog_too_new",
      detail: expect.stringMatching(`written by version 9\\.1\\.0 .*format 900.*this is version ${VERSION}`),
      hint: "Upgrade this installation: pip install --upgrade 'appdb[serve]>=9.1.0'",
    });
  }
  await eventually(async () => {
    const [service] = await listServices(project);
    expect(service).toMatchObject({ state: "FAILED", error: expect.stringContaining("9.1.0") });
  });
  expect(await query(project, "select text, size from notes")).toEqual([["kept", "4"]]);
  expect(await query(project, "select max(id) from appdb.migrations")).toEqual([[900]]);
});

test.skipIf(!canMount())("a full disk refuses rows, loses none and recovers", { timeout: 180_000 }, async () => {
  await using project = openTestProject();
  writeFileSync(join(project.folder, "app.py"), APP);
  await using disk = mountSmallDisk(project, 120);
  await expectExit(project, 0, "init");
  const url = await serveProject(project);
  const daemon = JSON.parse((await expectExit(project, 0, "daemon", "status", "--json")).stdout);
  const kept = new Set<string>();
  const insert = async (text: string) => {
    const answer = await post(`${url}/notes`, { text });
    if (answer.status === 200) kept.add(answer.json.id);
    return answer;
  };
  expect((await insert("before")).status).toBe(200);
  disk.fill();

  const refused = await eventually(async () => {
    const answer = await insert(randomText(200_000));
    expect(answer.status, answer.text).not.toBe(200);
    return answer;
  });
  expect(refused.json).toMatchObject({ status: 507, code: "disk_full", hint: expect.stringMatching(/free space/i) });
  expect(refused.text).not.toMatch(/base\/|pg_|extend/);
  for (let count = 0; count < 30; count += 1) expect((await insert(randomText(200_000))).status).toBe(507);
  const lines = Array.from({ length: 300 }, () => JSON.stringify({ text: randomText(20_000) })).join("\n");
  const headers = { "content-type": "application/x-ndjson" };
  const bulk = await fetch(`${url}/notes`, { method: "POST", headers, body: lines });
  expect([bulk.status, await bulk.json()]).toMatchObject([507, { code: "disk_full" }]);
  const made = await post(`${url}/kept`, { text: randomText(10_000) });
  expect([made.status, made.json]).toMatchObject([
    507,
    { code: "disk_full", hint: expect.stringMatching(/free space/i) },
  ]);
  expect((await post(`${url}/sizes`, { text: "four" })).json).toEqual({ size: 4 });

  // A service killed meanwhile waits for space, and its daemon continues.
  const [service] = await listServices(project);
  process.kill(service?.pid ?? 0, "SIGKILL");
  await eventually(async () => expect((await listServices(project))[0]?.state).toBe("STARTING"));
  disk.free();
  await eventually(async () => expect((await insert("after")).status).toBe(200), { timeout_ms: 60_000 });
  const stored = await query(project, "select id from notes");
  expect(new Set(stored.map(([id]) => id))).toEqual(kept);
  expect(JSON.parse((await expectExit(project, 0, "daemon", "status", "--json")).stdout).pid).toBe(daemon.pid);
  expect(existsSync(join(project.home, "daemon.json"))).toBe(true);
});

if (!canMount()) process.stderr.write("NOT TESTED HERE: a full disk needs root and the right to mount a small one.\n");

/** PostgreSQL would compress repetitive text; random text uses its full length on disk. */
function randomText(length: number): string {
  let text = "";
  while (text.length < length) text += Math.random().toString(36).slice(2);
  return text;
}
