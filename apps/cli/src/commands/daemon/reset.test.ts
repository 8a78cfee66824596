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

const world = (more = {}) => ({ has_daemon: false, context: { config: { ...CONFIG, home } }, ...more });

test("reset names what goes and what stays, and does nothing before it is answered", async () => {
  const ran = await runCli("daemon reset", world());
  expect(ran.exit).toBe(3);
  expect(ran.stderr).toContain(`In ${home} these go, and with them every local database\n    postgres, services\n`);
  expect(ran.stderr).toContain("These stay: ");
  expect((await runCli("daemon reset", world({ answer: false }))).exit).toBe(3);
  expect(existsSync(join(home, "postgres"))).toBe(true);
});

test("reset removes the local data and leaves sign-ins and the server alone", async () => {
  const ran = await runCli("daemon reset -f --json", world());
  expect(ran.exit).toBe(0);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    home,
    removed: ["postgres", "services"],
    kept: ["server", "sessions.json"],
  });
  expect(readdirSync(home).sort()).toEqual(["server", "sessions.json"]);
  expect((await runCli("daemon reset", world())).stdout).toBe(`${home} has no local data.\n`);
});
