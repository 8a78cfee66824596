import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CONFIG, runCli } from "../../testing/fake-context.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "appdb-reset-"));
  for (const name of ["postgres", "services", "server"]) mkdirSync(join(home, name));
  writeFileSync(join(home, "sessions.json"), "{}");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const given = (more = {}) => ({ has_daemon: false, context: { config: { ...CONFIG, home } }, ...more });

test("reset lists what it deletes and keeps and waits for the answer", async () => {
  const ran = await runCli("daemon reset", given());
  expect(ran.exit).toBe(3);
  expect(ran.stderr).toContain(`In ${home} this is deleted, with every local database\n    postgres, services\n`);
  expect(ran.stderr).toContain("These stay: ");
  expect((await runCli("daemon reset", given({ answer: false }))).exit).toBe(3);
  expect(existsSync(join(home, "postgres"))).toBe(true);
});

test("reset removes local data and keeps sign-ins and the server", async () => {
  const ran = await runCli("daemon reset -f --json", given());
  expect(ran.exit).toBe(0);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    home,
    removed: ["postgres", "services"],
    kept: ["server", "sessions.json"],
  });
  expect(readdirSync(home).sort()).toEqual(["server", "sessions.json"]);
  expect((await runCli("daemon reset", given())).stdout).toBe(`${home} has no local data.\n`);
});
