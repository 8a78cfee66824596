import { spawnSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { describe, expect, test } from "vitest";
import { send } from "../../support/hosted.ts";
import { fileEntry } from "../../support/tree.ts";
import type { AttackTarget, Tenant } from "./attack-target.ts";
import { TENANT_APP } from "./tenant-app.ts";

/**
 * Registers attacks of code that has escaped the application's sandbox and runs as its database's user ("pod level").
 */
export function testPodAttacks(open: () => AttackTarget): void {
  describe("a process of a database's user", () => {
    test("reads no log of others through links in its folders", async () => {
      const target = open();
      const { mallory, victim } = target;
      const id = `canary-${randomBytes(6).toString("hex")}`;
      const called = await fetch(`${victim.tools}/whoami`, {
        headers: { "x-api-key": victim.key, "x-request-id": id },
      });
      expect(called.status).toBe(200);
      const logs = (tenant: Tenant) => tenant.ask("GET", "/databases/main/services/tools/logs?tail=1000");
      await eventually(async () => expect((await logs(victim)).text).toContain(id));
      const own = await serviceId(mallory);
      const ofVictim = await serviceId(victim);
      // where 0.8.0 stores them, and log files in any folder of the user
      asPod(
        target,
        `mv services services.was; mkdir services && ln -s ../../${victim.database_id}/services/${ofVictim} services/${own}`,
      );
      const victims = findFolders(target.project.home, "log").filter((path) => path.includes(victim.database_id));
      for (const folder of victims) {
        for (const name of readdirSync(folder)) {
          asPod(
            target,
            `[ -d log ] && ln -sfn '${join(folder, name)}' 'log/${name}'; ln -sfn '${join(folder, name)}' '${name}'`,
          );
        }
      }
      const seen = [await logs(mallory), await mallory.ask("GET", "/databases/main/logs?tail=1000")];
      // a pod whose own log is a link does not start again
      asPod(target, "find . log -maxdepth 1 -type l -delete");
      asPod(target, "[ -d services.was ] && { rm -rf services; mv services.was services; }");
      for (const { text } of seen) expect(text).not.toContain(id);
    });

    test("changes no mode or owner of server folders through links", async () => {
      const target = open();
      const { mallory, project } = target;
      const probe = join(dirname(project.home), "probe");
      mkdirSync(probe, { mode: 0o700 });
      const own = await serviceId(mallory);
      const planted = asPod(
        target,
        `mv services services.was; mkdir services && ln -s '${probe}' services/${own}; touch touched && rm touched`,
      );
      // the attacker can write its own files
      expect(planted).toContain(0);
      await mallory.ask("POST", "/databases/main/services/tools/restart");
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      const { mode, uid } = statSync(probe);
      const left = readdirSync(probe);
      rmSync(probe, { recursive: true });
      asPod(target, "[ -d services.was ] && { rm -rf services; mv services.was services; }");
      await mallory.ask("POST", "/databases/main/services/tools/restart");
      await eventually(
        async () => expect(await send(`${mallory.tools}/whoami`, mallory.key, "GET")).toMatchObject({ status: 200 }),
        { timeout_ms: 60_000 },
      );
      expect({ mode: (mode & 0o777).toString(8), uid, left }).toEqual({ mode: "700", uid: 0, left: [] });
    });

    test("deletes no database of others through a link as services folder", async () => {
      const target = open();
      const { project, victim } = target;
      const databases = join(project.home, "server", "databases");
      const kept = join(databases, victim.database_id, "canary");
      writeFileSync(kept, "kept");
      const orphan = join(servicesOf(target, victim), randomUUID());
      mkdirSync(orphan);
      expect(asPod(target, "[ -e services ] && mv services services.was; ln -s .. services")).toContain(0);
      await target.restart();
      // the start has removed what it must remove
      await eventually(() => expect(existsSync(orphan)).toBe(false), { timeout_ms: 60_000 });
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      expect(existsSync(kept)).toBe(true);
      rmSync(kept);
      asPod(target, "rm services; [ -e services.was ] && mv services.was services");
      await eventually(
        async () => expect(await send(`${victim.tools}/whoami`, victim.key, "GET")).toMatchObject({ status: 200 }),
        { timeout_ms: 60_000 },
      );
    });
  });

  describe("an application file that signals its process group", () => {
    test.each([
      ["SIGKILL", 9],
      ["SIGUSR1", 10],
    ])("reaches no process of its pod with %s while it is read", async (_, signal) => {
      const { mallory } = open();
      await mallory.settles("AVAILABLE");
      const pods = async () => (await mallory.ask("GET", "/databases/main")).json.pods;
      const before = await pods();
      const honest = await planSchema(mallory, TENANT_APP);
      expect(honest, honest.text).toMatchObject({ status: 200 });
      const attacked = await planSchema(mallory, `import os\nos.kill(0, ${signal})\n${TENANT_APP}`);
      expect(attacked.status, attacked.text).toBeGreaterThanOrEqual(400);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      await mallory.settles("AVAILABLE");
      // service instances change with other tests; the engine is in the database's pod
      const told = (list: { id: string; started_at: string; restarts: number }[]) =>
        list
          .filter(({ id }) => id.startsWith("db-"))
          .map(({ id, restarts, started_at: startedAt }) => ({ id, restarts, started_at: startedAt }));
      expect(told(before)).toHaveLength(1);
      expect(told(await pods())).toEqual(told(before));
      expect(await planSchema(mallory, TENANT_APP)).toMatchObject({ status: 200 });
    });
  });
}

async function planSchema(tenant: Tenant, app: string) {
  await tenant.upload([app]);
  const body = { app_file: "app.py", folders: [], file_digests: null, files: [fileEntry("app.py", app)] };
  return await tenant.ask("POST", "/databases/main/schema/plan", body);
}

async function serviceId(tenant: Tenant): Promise<string> {
  return (await tenant.ask("GET", "/databases/main/services/tools")).json.id;
}

/** Folders of this name below the home's server, without following links. */
function findFolders(home: string, name: string): string[] {
  const found = spawnSync("find", [join(home, "server"), "-maxdepth", "6", "-type", "d", "-name", name], {
    encoding: "utf8",
  });
  return found.stdout.split("\n").filter((line) => line !== "");
}

/** Folder of a database's services. */
function servicesOf({ project }: AttackTarget, { database_id: databaseId }: Tenant): string {
  const own = join(project.home, "server", "services", databaseId);
  return existsSync(own) ? own : join(project.home, "server", "databases", databaseId, "services");
}

/**
 * Runs a script as the attacker database's user in each of that user's folders, like a process that escaped the
 * application's sandbox. Returns the exit statuses.
 */
function asPod({ mallory, project }: AttackTarget, script: string): (number | null)[] {
  const root = join(project.home, "server");
  const found = spawnSync(
    "find",
    [root, "-maxdepth", "5", "-type", "d", "-path", `*${mallory.database_id}*`, "-not", "-user", "root", "-prune"],
    { encoding: "utf8" },
  );
  const owned = found.stdout.split("\n").filter((line) => line !== "");
  return owned.flatMap((cwd) => {
    const folder = statSync(cwd, { throwIfNoEntry: false });
    // the scratch folder of an instance that just ended
    if (folder === undefined) return [];
    const { gid, uid } = folder;
    const user = ["--reuid", String(uid), "--regid", String(gid), "--clear-groups", "sh", "-c", script];
    return [spawnSync("setpriv", user, { cwd, stdio: "ignore" }).status];
  });
}
